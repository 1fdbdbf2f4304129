//! A trained model and the workers that run it.
//!
//! A [`Model`] never changes and is shared; a [`Worker`] owns the buffers of one thread.

mod assessor;
mod lexicon;
mod runner;
mod states;
mod tagger;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::corpus::{UNKNOWN, Utterance, tags};
use crate::decision::{Judged, JudgedConcept, RUNNERS_UP, Reason, RunnerUp, Threshold, mark};
use crate::decoding::Concept;
use crate::encoder::{Calibration, Instructions, Kernels, Parameters};
use crate::features::{Features, UNKNOWN as UNKNOWN_WORD};
use crate::logits::{Logits, largest, next_largest};
use crate::metrics::questions::Found;
use crate::metrics::{Evaluation, Mode};
use crate::spans::{Guess, Span, assemble};
use crate::syntax::phrase::{Rule, Why};
use crate::syntax::{Growth, Opinion, Pretence, Syntax, SyntaxWorker};
use crate::text::{Normalizer, Tokens};
use crate::uncertainty::Score;

pub use assessor::{Assessed, Assessor, Measure, PASSES};
pub(crate) use lexicon::Lexicon;
use runner::Runner;
pub(crate) use runner::concept_uncertainty;
pub use runner::{CONCEPT_SCORE, Evidence, Novelty};
pub(crate) use tagger::{SpanModel, Tagger};

/// The longest utterance that is read as a whole; the attention over it takes memory with the square of this.
///
/// A longer text is read in pieces of this length, and its intent is that of the first piece. Nobody speaks so long,
/// but logs hold such lines.
pub const MAX_WORDS: usize = 512;

/// A trained tagger with all that it needs to read text.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) normalizer: Normalizer,
    pub(crate) features: Features,
    pub(crate) tagger: Tagger,
    pub(crate) parameters: Parameters,
    pub(crate) record: Record,
    pub(crate) threshold: Option<Threshold>,
    pub(crate) phrases: Option<Phrases>,
}

/// How unknown words grow, and what finds the trees for it.
#[derive(Clone, Debug)]
pub(crate) struct Phrases {
    pub(crate) growth: Growth,
    syntax: Arc<Syntax>,
}

impl Phrases {
    pub(crate) fn new(growth: Growth) -> Self {
        Phrases { growth, syntax: Arc::new(Syntax::english()) }
    }
}

/// How a model came to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The settings of the training.
    pub settings: crate::train::TrainSettings,
    /// The fingerprint of the training corpus.
    pub corpus: String,
    /// The epoch whose parameters these are, from 1.
    pub epoch: usize,
    /// Slot F1 on the valid set, in percent.
    pub valid_slot_f1: f64,
    /// Intent accuracy on the valid set, in percent, if it has intents.
    pub valid_intent_accuracy: Option<f64>,
}

/// What a model says about an utterance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Annotation<'t> {
    /// The text as it was given.
    pub text: &'t str,
    /// The likeliest intent; `None` if there are no words or the corpus had no intents.
    pub intent: Option<Choice<'t>>,
    /// What to do about it.
    #[serde(flatten)]
    pub action: Action,
    /// The words.
    pub tokens: Vec<TokenLabel<'t>>,
    /// The slots, in the order of the text.
    pub spans: Vec<Span<'t>>,
}

/// What to do about an utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
pub enum Action {
    /// Do what it asks for.
    Act,
    /// Ask about a span first: the unknown one that is most in doubt.
    Ask {
        /// Its number among the spans, from 0.
        about: usize,
    },
    /// Refuse it: it is about something else than the corpus was.
    Reject,
}

impl Action {
    /// For an utterance with these spans, if it is not refused.
    pub(crate) fn of(spans: &[Span<'_>]) -> Self {
        let doubt = |span: &Span<'_>| span.guess.as_ref().map_or(0.0, |guess| guess.uncertainty);
        let unknown = spans.iter().enumerate().filter(|(_, span)| span.slot == UNKNOWN);
        match unknown.max_by(|a, b| doubt(a.1).total_cmp(&doubt(b.1)).then(b.0.cmp(&a.0))) {
            Some((about, _)) => Action::Ask { about },
            None => Action::Act,
        }
    }
}

/// A name and how likely it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice<'t> {
    /// The name.
    pub name: &'t str,
    /// Its probability.
    pub probability: f32,
}

/// A word and its label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenLabel<'t> {
    /// The word as it stands in the text.
    pub text: &'t str,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The IOB2 label; `B-unknown` or `I-unknown` if the word is unknown.
    pub label: Cow<'t, str>,
    /// The probability of the tagger's first choice.
    pub probability: f32,
    /// How unsure the model is; `None` if it has no threshold.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt<'t>>,
}

/// How unsure a model is of a word, and what follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Doubt<'t> {
    /// The tagger's own label.
    pub first_choice: &'t str,
    /// How unsure it is; higher is less sure.
    pub uncertainty: f32,
    /// Whether that is over the threshold, or the word belongs to a phrase with one that is.
    pub unknown: bool,
    /// By what it was decided.
    pub reason: Reason<'t>,
    /// What joins it to an unknown word, by its number from 0, if it is not over the threshold itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grown: Option<Why>,
}

/// How text is cut into words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// As people type it: the model's own tokenizer.
    #[default]
    Text,
    /// Words separated by white space, as corpora have them.
    Words,
}

impl Model {
    /// The words, labels and intents it knows.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// How it reads text.
    pub fn normalizer(&self) -> &Normalizer {
        &self.normalizer
    }

    /// Whether all words of a text were in the training set.
    pub fn has_seen(&self, text: &str) -> bool {
        let is_known = |word: &str| self.features.word(self.normalizer.vocabulary_form(word)) != UNKNOWN_WORD;
        self.normalizer.read(text).iter().all(|token| is_known(token.word))
    }

    /// The slot types, in alphabetical order.
    pub fn slots(&self) -> Vec<String> {
        let labels = self.features.labels.names();
        let slots: BTreeSet<String> =
            labels.iter().flat_map(|label| tags::spans(&[label])).map(|span| span.slot).collect();
        slots.into_iter().collect()
    }

    /// How it came to be.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Above which uncertainty a word is unknown; `None` if nothing ever is.
    pub fn threshold(&self) -> Option<&Threshold> {
        self.threshold.as_ref()
    }

    /// The same model with another threshold.
    pub fn with_threshold(self, threshold: Option<Threshold>) -> Self {
        Model { threshold, ..self }
    }

    /// How unknown words grow to phrases; `None` if they do not.
    pub fn growth(&self) -> Option<&Growth> {
        self.phrases.as_ref().map(|phrases| &phrases.growth)
    }

    /// The same model with another growth.
    pub fn with_growth(self, growth: Option<Growth>) -> Self {
        Model { phrases: growth.map(Phrases::new), ..self }
    }

    /// The growth that finds most slots of in-domain utterances when their words are read as words never seen
    /// ([`Pretence::choose`]); `None` if the model has no threshold or nothing is gained.
    pub fn choose_growth(&self, rules: &[Rule], valid: &[Utterance]) -> Option<Growth> {
        let threshold = self.threshold.as_ref()?;
        let mut worker = self.worker();
        let pretence = Pretence::new(&mut Syntax::english().worker(), valid);
        let opinion = |utterance: &Utterance| {
            worker.tag(&utterance.words);
            worker.logits.softmax(worker.kernels);
            let probabilities =
                worker.logits.slots().filter_map(largest).map(|(_, probability)| probability).collect();
            Opinion { unknown: worker.over(threshold), probabilities }
        };
        let opinions: Vec<Opinion> = pretence.utterances.iter().map(opinion).collect();
        pretence.choose(rules, &opinions)
    }

    /// The score that finds most new concepts without syntax: the entropy if the model was trained to make it large
    /// (`docs/reproduction.md`).
    pub fn default_score(&self) -> Score {
        match &self.tagger {
            Tagger::SlotGated(network) if network.calibration().is_some() => Score::Entropy,
            _ => Score::SoftmaxEntropy,
        }
    }

    /// The lowest threshold that costs at most `budget` points of slot F1 on in-domain utterances, which should not be
    /// those of the training ([`Threshold::choose`]).
    pub fn choose_threshold(&self, score: Score, budget: f64, valid: &[Utterance]) -> Result<Threshold> {
        let mut worker = self.worker();
        if let Runner::SlotGated(runner) = &mut worker.runner {
            runner.score = Some(score);
        }
        let assess = |utterance: &Utterance| {
            let (labels, _) = worker.tag(&utterance.words);
            (labels, worker.runner.uncertainty().iter().map(|&u| f64::from(u)).collect::<Vec<_>>())
        };
        let assessed: Vec<_> = valid.iter().map(assess).collect();
        let judged: Vec<_> = (valid.iter().zip(&assessed))
            .map(|(utterance, (first_choices, uncertainty))| Judged {
                gold: &utterance.labels,
                first_choices,
                uncertainty,
            })
            .collect();
        Threshold::choose(score.name(), budget, &judged)
    }

    /// Above which strangeness ([`Worker::strangeness`]) an utterance is refused; `None` if none ever is.
    pub fn reject(&self) -> Option<f64> {
        match &self.tagger {
            Tagger::Span(model) => model.reject,
            Tagger::SlotGated(_) => None,
        }
    }

    /// Whether it judges concepts, not words.
    pub fn judges_concepts(&self) -> bool {
        matches!(self.tagger, Tagger::Span(_))
    }

    /// The same model with the thresholds of concepts and utterances that in-domain utterances give, which should not be
    /// those of the training. Concepts may cost `budget` points of slot F1; or else, if a share is given, at most that
    /// share of in-domain concepts is called unknown ([`Threshold::conformal`]).
    pub fn with_concept_thresholds(
        mut self,
        budget: f64,
        false_alarm: Option<f64>,
        valid: &[Utterance],
    ) -> Result<Self> {
        let (mut judged, mut n_gold, mut strangeness) = (Vec::new(), 0, Vec::new());
        let mut worker = self.worker();
        for utterance in valid.iter().filter(|utterance| !utterance.words.is_empty()) {
            worker.tag(&utterance.words);
            strangeness.push(worker.strangeness());
            let Runner::Span(runner) = &worker.runner else { continue };
            let gold = tags::spans(&utterance.labels);
            n_gold += gold.len();
            for (concept, &doubt) in runner.concepts.iter().zip(&runner.doubts) {
                let begin = self.features.labels.name(1 + 2 * concept.slot);
                let found = (concept.start, concept.end, tags::split(begin).1);
                let correct = gold.iter().any(|span| (span.start, span.end, span.slot.as_str()) == found);
                judged.push(JudgedConcept { uncertainty: doubt.into(), correct });
            }
        }
        drop(worker);
        let threshold = Threshold::for_concepts(CONCEPT_SCORE, budget, &judged, n_gold)?;
        self.threshold = Some(match false_alarm {
            None => threshold,
            Some(share) => threshold.conformal(share, &judged)?,
        });
        if let Tagger::Span(model) = &mut self.tagger {
            strangeness.sort_by(f64::total_cmp);
            let accepted = (strangeness.len() as f64 * ACCEPTED).ceil() as usize;
            model.reject = strangeness.get(accepted.max(1) - 1).copied();
        }
        Ok(self)
    }

    /// The bounds of its calibration.
    pub fn calibration(&self) -> Calibration {
        self.record.settings.calibrate.map(|settings| settings.bounds).unwrap_or_default()
    }

    /// What each label takes away from each other one (a row for each that loses), without what the ReLU cuts off;
    /// empty if the model is not calibrated.
    pub fn calibration_matrix(&self) -> Vec<Vec<f32>> {
        let Tagger::SlotGated(network) = &self.tagger else { return Vec::new() };
        let n_labels = network.shape().labels;
        let Some(matrix) = network.calibration() else { return Vec::new() };
        let values = self.parameters.values(matrix);
        let taken = |from: usize, by: usize| values[by * n_labels + from].max(0.0);
        (0..n_labels).map(|from| (0..n_labels).map(|by| taken(from, by)).collect()).collect()
    }

    /// Words of a corpus, which are taken as they are.
    fn word_ids<S: AsRef<str>>(&self, words: &[S]) -> Vec<u32> {
        words.iter().map(|word| self.features.word(self.normalizer.vocabulary_form(word.as_ref()))).collect()
    }

    /// A worker with the fastest kernels of this processor.
    pub fn worker(&self) -> Worker<'_> {
        self.worker_on(Kernels::best())
    }

    /// A worker with stated kernels, or `None` if this processor cannot run them.
    pub fn worker_with(&self, instructions: Instructions) -> Option<Worker<'_>> {
        Kernels::with(instructions).map(|kernels| self.worker_on(kernels))
    }

    fn worker_on(&self, kernels: Kernels) -> Worker<'_> {
        Worker {
            model: self,
            kernels,
            runner: Runner::new(self, kernels),
            tokens: Tokens::default(),
            logits: Logits::default(),
            syntax: self.phrases.as_ref().map(|phrases| phrases.syntax.worker()),
        }
    }
}

/// The share of in-domain utterances that are not refused.
const ACCEPTED: f64 = 0.995;

/// How unlike the training set an utterance is: the log of how unsure the tagger is of its intent, and twice that of how
/// unsure it is of its words on average. The intent alone is less telling, for of a strange sentence it may be sure
/// (`docs/results.md`).
fn strangeness(logits: &Logits) -> f64 {
    const SURE: f64 = 1e-6;
    let intents = logits.intents();
    let highest = largest(intents).map_or(0.0, |(_, highest)| highest);
    let intent =
        1.0 - 1.0 / intents.iter().map(|logit| f64::from(logit - highest).exp()).sum::<f64>().max(1.0);
    // The rows of a span tagger are log probabilities.
    let doubts = logits.slots().filter_map(largest).map(|(_, ln)| -f64::from(ln));
    let (n, sum) = doubts.fold((0, 0.0), |(n, sum), doubt| (n + 1, sum + doubt));
    // Rounding may take a sure word below 0.
    (intent + SURE).ln() + 2.0 * (sum.max(0.0) / f64::from(n.max(1)) + SURE).ln()
}

/// Runs a model, one utterance at a time.
pub struct Worker<'m> {
    model: &'m Model,
    kernels: Kernels,
    runner: Runner<'m>,
    tokens: Tokens,
    logits: Logits,
    syntax: Option<SyntaxWorker<'m>>,
}

impl<'m> Worker<'m> {
    /// The model it runs.
    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// Labels the words of a text.
    pub fn annotate<'t>(&mut self, text: &'t str, reading: Reading) -> Annotation<'t>
    where
        'm: 't,
    {
        let model = self.model;
        match reading {
            Reading::Text => model.normalizer.read_into(text, &mut self.tokens),
            Reading::Words => model.normalizer.words_into(text, &mut self.tokens),
        }
        let words = self.tokens.iter().map(|token| model.normalizer.vocabulary_form(token.word));
        self.runner.read(words, &mut self.logits);
        let ids = self.runner.labels(&self.logits);
        let rejects = !ids.is_empty() && self.rejects();
        self.logits.softmax(self.kernels);
        let choice = |(row, &id): (&[f32], &u32)| (model.features.labels.name(id), row[id as usize]);
        let choices: Vec<(&str, f32)> = self.logits.slots().zip(&ids).map(choice).collect();
        let first: Vec<&str> = choices.iter().map(|&(label, _)| label).collect();
        let over =
            model.threshold.as_ref().map_or(vec![false; first.len()], |threshold| self.over(threshold));
        let grown = self.grow(text, &over, &choices);
        let unknown: Vec<bool> = over.iter().zip(&grown).map(|(&over, why)| over || why.is_some()).collect();
        let labels = match (&model.threshold, &self.runner) {
            (Some(_), Runner::Span(runner)) => runner.labels_with_unknown(&first),
            (Some(_), Runner::SlotGated(_)) => mark(&first, &unknown),
            (None, _) => first.iter().map(|&label| Cow::Borrowed(label)).collect(),
        };
        // Where an `I-` had to become `B-`, the tagger's own label begins the same span.
        let lasting = |(label, first)| if let Cow::Borrowed(label) = label { label } else { first };
        let lasting: Vec<&str> = labels.iter().cloned().zip(first).map(lasting).collect();
        let mut spans = assemble(text, &self.tokens, &lasting);
        if let Runner::Span(runner) = &self.runner {
            let concepts = runner.concepts.iter().zip(&runner.doubts);
            for (span, (concept, &uncertainty)) in spans.iter_mut().zip(concepts) {
                let begin = model.features.labels.name(1 + 2 * concept.slot);
                let Concept { probability, limits, .. } = *concept;
                span.guess = Some(Guess { slot: tags::split(begin).1, probability, limits, uncertainty });
            }
        }
        let action = if rejects { Action::Reject } else { Action::of(&spans) };
        let tokens = (self.tokens.iter().zip(labels).zip(&choices).zip(grown).enumerate())
            .map(|(token_idx, (((token, label), &(first_choice, probability)), grown))| TokenLabel {
                text: &text[token.start..token.end],
                start: token.start,
                end: token.end,
                label,
                probability,
                doubt: self.doubt(token_idx, first_choice, unknown[token_idx], grown),
            })
            .collect();
        Annotation { text, intent: self.intent(), action, tokens, spans }
    }

    /// Which words of the last pass are over a threshold of its score.
    fn over(&self, threshold: &Threshold) -> Vec<bool> {
        self.runner.uncertainty().iter().map(|&u| threshold.is_unknown(f64::from(u))).collect()
    }

    /// Why words join those that are over the threshold.
    fn grow(&mut self, text: &str, over: &[bool], choices: &[(&str, f32)]) -> Vec<Option<Why>> {
        match (&self.model.phrases, &mut self.syntax) {
            (Some(Phrases { growth, .. }), Some(syntax)) if over.contains(&true) => {
                let words: Vec<&str> =
                    self.tokens.iter().map(|token| &text[token.start..token.end]).collect();
                let probabilities: Vec<f32> = choices.iter().map(|&(_, probability)| probability).collect();
                growth.explain(&syntax.parse(&words), over, &probabilities)
            }
            _ => vec![None; over.len()],
        }
    }

    /// The concepts of the last utterance; none if the model judges words.
    pub fn found(&self) -> Vec<Found<'m>> {
        let Runner::Span(runner) = &self.runner else { return Vec::new() };
        let slot = |slot: u32| tags::split(self.model.features.labels.name(1 + 2 * slot)).1;
        (runner.concepts.iter().zip(&runner.doubts).zip(runner.unknown()))
            .map(|((concept, &doubt), unknown)| Found {
                start: concept.start,
                end: concept.end,
                slot: slot(concept.slot),
                uncertainty: doubt.into(),
                unknown,
            })
            .collect()
    }

    /// How unlike the training set the utterance is that was tagged last ([`Worker::tag`]).
    pub fn strangeness(&self) -> f64 {
        strangeness(&self.logits)
    }

    /// Whether the last utterance is refused.
    pub fn rejects(&self) -> bool {
        self.model.reject().is_some_and(|highest| self.strangeness() > highest)
    }

    /// What speaks for and against each concept of the last utterance, if the model judges concepts; for experiments.
    pub fn evidence(&self) -> Vec<Evidence> {
        match &self.runner {
            Runner::Span(runner) if runner.n_words() <= MAX_WORDS => runner.evidence(),
            _ => Vec::new(),
        }
    }

    /// What is thought of a word whose probabilities are in the place of its logits.
    fn doubt(
        &self,
        token_idx: usize,
        first_choice: &'m str,
        unknown: bool,
        grown: Option<Why>,
    ) -> Option<Doubt<'m>> {
        let threshold = self.model.threshold.as_ref()?;
        let names = &self.model.features.labels;
        let row = self.logits.slots().nth(token_idx)?;
        let runner_up = |(label, probability)| RunnerUp { label: names.name(label).into(), probability };
        Some(Doubt {
            first_choice,
            uncertainty: self.runner.uncertainty()[token_idx],
            unknown,
            reason: Reason {
                score: &threshold.score,
                threshold: threshold.value,
                runners_up: next_largest(row, RUNNERS_UP).into_iter().map(runner_up).collect(),
            },
            grown,
        })
    }

    /// The tagger's own labels for words that are given as they are, and the likeliest intent (empty if there is none).
    pub fn tag<S: AsRef<str>>(&mut self, words: &[S]) -> (Vec<&'m str>, &'m str) {
        let model = self.model;
        let words = words.iter().map(|word| model.normalizer.vocabulary_form(word.as_ref()));
        self.runner.read(words, &mut self.logits);
        let labels = self.runner.labels(&self.logits);
        let labels = labels.into_iter().map(|id| model.features.labels.name(id)).collect();
        (labels, self.intent().map_or("", |intent| intent.name))
    }

    fn intent(&self) -> Option<Choice<'m>> {
        let (id, probability) = largest(self.logits.intents())?;
        let name = self.model.features.intents.name(id);
        (!name.is_empty()).then_some(Choice { name, probability })
    }

    /// The intents of the text that was annotated last, the likeliest first; none if the corpus had no intents.
    pub fn intents(&self) -> Vec<Choice<'m>> {
        let choice = |(&probability, name): (&f32, &'m String)| Choice { name, probability };
        let choices = self.logits.intents().iter().zip(self.model.features.intents.names()).map(choice);
        let mut choices: Vec<Choice<'m>> = choices.filter(|choice| !choice.name.is_empty()).collect();
        choices.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        choices
    }

    /// Counts how the model does on labelled utterances.
    pub fn evaluate(&mut self, utterances: &[Utterance], mode: Mode) -> Result<Evaluation> {
        let mut evaluation = Evaluation::new(mode);
        for utterance in utterances {
            let (labels, intent) = self.tag(&utterance.words);
            evaluation.add(&utterance.labels, &labels, &utterance.intent, intent)?;
        }
        Ok(evaluation)
    }
}
