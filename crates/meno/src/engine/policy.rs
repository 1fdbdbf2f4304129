//! Fits the policy of a model on in-domain utterances, which should not be those of the training.

use super::{Model, Worker};
use crate::Result;
use crate::decision::{BUDGET, Doubt, SPAN_BUDGET, ScoredSpan, ScoredUtterance, Threshold};
use crate::decision::{ENOUGH_TO_REJECT, reject_above};
use crate::decision::{Growth, MaskedSlots, Phrases, Policy, PolicySettings, Predictions};
use crate::label;
use crate::math::largest;
use crate::syntax::phrase::Rule;
use crate::uncertainty::{Score, Scorer};
use crate::utterance::Utterance;

/// A model and in-domain utterances that it was not trained on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldOut<'a> {
    pub model: &'a Model,
    pub utterances: &'a [Utterance],
}

impl Model {
    /// The policy that suits in-domain utterances: the lowest threshold that costs at most a budget of slot F1 on them, or
    /// keeps a promise. Nothing is ever unknown by it if they have no slot.
    pub fn fit_policy(&self, settings: &PolicySettings, valid: &[Utterance]) -> Result<Policy> {
        settings.check()?;
        let never = Policy::never(Model::default_scorer(&self.encoder));
        if valid.iter().flat_map(|utterance| &utterance.labels).all(|label| label == "O") {
            return Ok(never);
        }
        match never.scorer {
            Scorer::Span(_) => {
                let held_out = HeldOut { model: self, utterances: valid };
                fit_span_policy(self.is_english(), never, settings, &[held_out])
            }
            Scorer::Token(score) => self.fit_token_policy(settings.score.unwrap_or(score), settings, valid),
        }
    }

    /// The same where several models, each trained on another part of the corpus, tell how this one will do, which was
    /// trained on all of it. They find whole spans.
    #[cfg(feature = "train")]
    pub(crate) fn fit_policy_on_folds(
        &self,
        settings: &PolicySettings,
        folds: &[HeldOut<'_>],
    ) -> Result<Policy> {
        settings.check()?;
        let never = Policy::never(Model::default_scorer(&self.encoder));
        let mut labels =
            folds.iter().flat_map(|fold| fold.utterances).flat_map(|utterance| &utterance.labels);
        if labels.all(|label| label == "O") {
            return Ok(never);
        }
        fit_span_policy(self.is_english(), never, settings, folds)
    }

    fn fit_token_policy(
        &self,
        score: Score,
        settings: &PolicySettings,
        valid: &[Utterance],
    ) -> Result<Policy> {
        let policy = Policy::never(Scorer::Token(score));
        let mut worker = self.clone().with_policy(policy.clone()).worker();
        let mut assess = |utterance: &Utterance| {
            let (labels, _) = worker.tag(&utterance.words);
            (labels, worker.assessment.tokens.clone())
        };
        let assessed: Vec<_> = valid.iter().map(&mut assess).collect();
        let labels: Vec<Vec<&str>> =
            assessed.iter().map(|(labels, _)| labels.iter().map(|label| &**label).collect()).collect();
        let scored: Vec<_> = (valid.iter().zip(&labels).zip(&assessed))
            .map(|((utterance, first_choices), (_, uncertainty))| ScoredUtterance {
                gold: &utterance.labels,
                first_choices,
                uncertainty,
            })
            .collect();
        let threshold = Threshold::choose(settings.budget.unwrap_or(BUDGET), &scored)?;
        let policy = Policy { threshold: Some(threshold), ..policy };
        let growth = match settings.phrases {
            Phrases::None => None,
            Phrases::Best => self.choose_growth(&policy, &Rule::ALL, valid),
            Phrases::By(rule) => self.choose_growth(&policy, &[rule], valid),
        };
        Ok(Policy { growth, ..policy })
    }

    /// The growth that finds most slots of in-domain utterances when their words are masked ([`MaskedSlots::choose`]);
    /// `None` if nothing is gained or there is no syntax model.
    pub fn choose_growth(&self, policy: &Policy, rules: &[Rule], valid: &[Utterance]) -> Option<Growth> {
        let mut worker = self.clone().with_policy(policy.clone()).worker();
        let masked = MaskedSlots::new(&mut self.syntax()?.worker(), valid);
        let predictions: Vec<Predictions> =
            masked.utterances.iter().map(|utterance| worker.predict(&utterance.words)).collect();
        masked.choose(rules, &predictions)
    }
}

fn fit_span_policy(
    is_english: bool,
    policy: Policy,
    settings: &PolicySettings,
    held_out: &[HeldOut<'_>],
) -> Result<Policy> {
    let (mut scored, mut n_gold, mut out_of_scope, mut foreignness) = (Vec::new(), 0, Vec::new(), Vec::new());
    for HeldOut { model, utterances } in held_out {
        let mut worker = (*model).clone().with_policy(policy.clone()).worker();
        for utterance in utterances.iter().filter(|utterance| !utterance.words.is_empty()) {
            worker.tag(&utterance.words);
            out_of_scope.push(worker.out_of_scope());
            foreignness.push(worker.foreignness());
            let gold = label::spans(&utterance.labels);
            n_gold += gold.len();
            scored.extend(worker.found().into_iter().map(|found| ScoredSpan {
                uncertainty: found.uncertainty,
                correct: gold.iter().any(|span| found.is(span)),
            }));
        }
    }
    let threshold = Threshold::for_spans(settings.budget.unwrap_or(SPAN_BUDGET), &scored, n_gold)?;
    let doubt = Doubt::fit(&scored, n_gold);
    let threshold = match (settings.false_alarm, doubt) {
        (Some(share), _) => threshold.conformal(share, &scored)?,
        (None, Some(doubt)) => threshold.at_most(doubt.above, &scored),
        (None, None) => threshold,
    };
    let policy = Policy { threshold: Some(threshold), doubt, reject: reject_above(out_of_scope), ..policy };
    let reject_foreign = reject_foreign(is_english, &policy, held_out, foreignness);
    Ok(Policy { reject_foreign, ..policy })
}

/// An utterance of which about half is known is in the language of the corpus.
const FOREIGN: f64 = 0.5;
/// Of utterances in another language, at most this share may be acted upon without a limit of their own.
const ACTED_UPON: f64 = 0.05;

/// Above which foreignness utterances are rejected; none if the policy does without such a limit.
///
/// It does where it is measured to: for English, with enough utterances held out. Of few the out-of-scope score has no
/// quantile to speak of, and of a corpus in another language the vectors of English words make it take English for known
/// (`docs/languages.md`).
fn reject_foreign(
    is_english: bool,
    policy: &Policy,
    held_out: &[HeldOut<'_>],
    foreignness: Vec<f64>,
) -> Option<f64> {
    let n_most = (ACTED_UPON * foreignness.len() as f64) as usize;
    if is_english && foreignness.len() >= ENOUGH_TO_REJECT && n_acted_upon(policy, held_out) <= n_most {
        return None;
    }
    reject_above(foreignness).map(|highest| highest.max(FOREIGN))
}

/// How many utterances in a language that nobody speaks are acted upon: those held out, each word read backwards.
fn n_acted_upon(policy: &Policy, held_out: &[HeldOut<'_>]) -> usize {
    let mut n_acted_upon = 0;
    for HeldOut { model, utterances } in held_out {
        let mut worker = (*model).clone().with_policy(policy.clone()).worker();
        for utterance in utterances.iter().filter(|utterance| !utterance.words.is_empty()) {
            let backwards = |word: &String| word.chars().rev().collect();
            worker.tag(&utterance.words.iter().map(backwards).collect::<Vec<String>>());
            let verdict = policy.decide(&worker.assessment, &worker.passage.decoded);
            n_acted_upon += usize::from(verdict.reject.is_none() && !verdict.spans.contains(&true));
        }
    }
    n_acted_upon
}

impl Worker {
    /// Which words are over the threshold, and the probabilities of the likeliest labels.
    fn predict(&mut self, words: &[String]) -> Predictions {
        self.tag(words);
        self.probabilities.copy_from(&self.passage.decoded.posteriors);
        self.probabilities.softmax(self.kernels);
        Predictions {
            unknown: self.model.policy.decide(&self.assessment, &self.passage.decoded).tokens,
            probabilities: self.probabilities.rows().filter_map(largest).map(|(_, p)| p).collect(),
        }
    }
}
