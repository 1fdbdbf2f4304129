//! Fits how likely readings are right, on utterances that the models were not trained on.

use super::policy::HeldOut;
use super::{Model, Worker};
use crate::decision::{
    Expected, Policy, PolicySettings, Trust, WRONG_ACT_COST, act_from_cost, act_from_risk, asked,
    reject_readings_above,
};
use crate::features::first_intent;
use crate::label;
use crate::uncertainty::{Confidence, Judged, ReadingScore, Signals};
use crate::utterance::Utterance;

/// What a reading of a part without some values counts, beside one of an utterance like those to come.
const WEIGHT_OF_PART: f64 = 0.5;

/// Utterances that were held out, as models read them that were trained without them.
pub(crate) struct Readings {
    /// Like those to come.
    natural: Vec<Judged>,
    /// With slot values that the model never saw, or beside them.
    new: Vec<Judged>,
    beside: Vec<Judged>,
}

impl Readings {
    /// By models of the parts of a corpus; `policy` is that of the model of the whole.
    pub(crate) fn of(
        policy: &Policy,
        natural: &[HeldOut<'_>],
        new: &[HeldOut<'_>],
        beside: &[HeldOut<'_>],
    ) -> Self {
        Readings {
            natural: judged(policy, natural, 1.0),
            new: judged(policy, new, WEIGHT_OF_PART),
            beside: judged(policy, beside, WEIGHT_OF_PART),
        }
    }

    fn fit(&self, is_in: impl Fn(usize) -> bool) -> Confidence {
        let all = [&self.natural, &self.new, &self.beside];
        let kept = all.iter().flat_map(|part| part.iter().enumerate().filter(|(idx, _)| is_in(*idx)));
        Confidence::fit(&kept.map(|(_, judged)| judged).collect::<Vec<_>>())
    }

    /// What is fitted, and what it gives on one half if it is fitted on the other.
    pub(crate) fn trust(&self, settings: &PolicySettings) -> Trust {
        let (mut known, mut new, mut questions) = (Vec::new(), Vec::new(), Vec::new());
        for half in 0..2 {
            let confidence = self.fit(|idx| idx % 2 != half);
            for (from, to) in [(&self.natural, &mut known), (&self.new, &mut new)] {
                let others = from.iter().skip(half).step_by(2);
                to.extend(others.map(|judged| (confidence.of(&judged.signals).reading, judged.reading)));
            }
            let others = self.natural.iter().skip(half).step_by(2);
            questions
                .extend(others.map(|judged| (confidence.of(&judged.signals).reading, judged.has_unknown)));
        }
        let act_from = match settings.risk {
            Some(risk) => act_from_risk(risk, &known),
            None => act_from_cost(settings.wrong_act_cost.unwrap_or(WRONG_ACT_COST)),
        };
        let (confidence, out_of_scope) = (self.fit(|_| true), ReadingScore::default());
        let scores = |readings: &[Judged]| -> Vec<f64> {
            let score =
                |judged: &Judged| out_of_scope.of(&confidence.of(&judged.signals), judged.foreignness);
            readings.iter().map(score).collect()
        };
        Trust {
            reject_above: reject_readings_above(scores(&self.natural), scores(&self.new)),
            confidence,
            out_of_scope,
            act_from,
            known: Expected::count(&known, act_from),
            new: Expected::count(&new, act_from),
            asked: asked(&questions),
        }
    }

    /// All of them, for weights that many corpora have in common.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Judged> {
        self.natural.iter().chain(&self.new).chain(&self.beside)
    }
}

fn judged(policy: &Policy, held_out: &[HeldOut<'_>], weight: f64) -> Vec<Judged> {
    let mut judged = Vec::new();
    for HeldOut { model, utterances } in held_out {
        let mut worker = (*model).clone().with_policy(policy.clone()).worker();
        let utterances = utterances.iter().filter(|utterance| !utterance.words.is_empty());
        judged.extend(utterances.map(|utterance| worker.judge(utterance, weight)));
    }
    judged
}

impl Worker {
    /// What speaks for and against the reading of the last utterance; nothing for models that label words.
    pub(super) fn signals(&self) -> Option<Signals> {
        let Model { features, .. } = &self.model;
        let (lexicon, wordings) = (features.lexicon.as_ref()?, features.wordings.as_ref()?);
        let tokens = &self.passage.encoded.tokens[..];
        let novelty: Vec<_> = self.passage.decoded.spans.iter().map(|span| self.novelty(span)).collect();
        let spans: Vec<_> =
            self.passage.decoded.spans.iter().map(|span| (span.slot, span.start, span.end)).collect();
        let intent = self.likeliest_intent().unwrap_or_default();
        let wording = wordings.compare(tokens.iter().map(|token| token.word), &spans, intent);
        Some(Signals::of(&self.passage.decoded, tokens, &novelty, lexicon, wording))
    }

    /// Reads an utterance and compares the reading with what is right.
    fn judge(&mut self, utterance: &Utterance, weight: f64) -> Judged {
        self.read(&utterance.words);
        let gold = label::spans(utterance.truth.as_ref().unwrap_or(&utterance.labels));
        let signals = self.signals().unwrap_or_default();
        let features = &self.model.features;
        let is_gold = |found: &crate::decoding::Hypothesis| {
            let slot = features.labels.slot(found.slot);
            gold.iter().any(|span| (span.start, span.end, &*span.slot) == (found.start, found.end, &**slot))
        };
        let spans: Vec<bool> = self.passage.decoded.spans.iter().map(is_gold).collect();
        let is_free = |range: &std::ops::Range<usize>| {
            !gold.iter().any(|span| span.start < range.end && range.start < span.end)
        };
        let outside = signals.outside.iter().map(|(range, _)| is_free(range)).collect();
        let named = self.likeliest_intent().map(|intent| features.intents.name(intent).clone());
        let intent = utterance.intent.is_empty()
            || named.is_some_and(|named| {
                *named == *first_intent(&utterance.intent)
                    || utterance.intent.split('#').any(|intent| intent == &*named)
            });
        let reading = intent && spans.len() == gold.len() && spans.iter().all(|right| *right);
        let foreignness = self.foreignness();
        let threshold = self.model.policy.threshold.as_ref();
        let is_unknown = |&uncertainty: &f64| threshold.is_some_and(|stored| stored.is_unknown(uncertainty));
        let has_unknown = self.assessment.spans.iter().any(is_unknown);
        Judged { signals, reading, spans, outside, intent, foreignness, has_unknown, weight }
    }
}
