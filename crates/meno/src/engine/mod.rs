//! A trained model and the workers that run it.
//!
//! A [`Model`] never changes and is shared; a [`Worker`] owns the buffers of one thread.

mod assessor;
mod lexicon;
mod runner;
mod states;
mod tagger;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::corpus::Utterance;
use crate::decision::{Judged, RUNNERS_UP, Reason, RunnerUp, Threshold, mark};
use crate::encoder::{Calibration, Instructions, Kernels, Parameters};
use crate::features::Features;
use crate::logits::{Logits, largest, next_largest};
use crate::metrics::{Evaluation, Mode};
use crate::spans::{Span, assemble};
use crate::text::{Normalizer, Tokens};
use crate::uncertainty::Score;

pub use assessor::{Assessed, Assessor, Measure, PASSES};
pub(crate) use lexicon::Lexicon;
pub use runner::CONCEPT_SCORE;
use runner::Runner;
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
    /// The words.
    pub tokens: Vec<TokenLabel<'t>>,
    /// The slots, in the order of the text.
    pub spans: Vec<Span<'t>>,
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
    /// Whether that is over the threshold.
    pub unknown: bool,
    /// By what it was decided.
    pub reason: Reason<'t>,
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
            (labels, worker.uncertainty().iter().map(|&u| f64::from(u)).collect::<Vec<_>>())
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
        }
    }
}

/// Runs a model, one utterance at a time.
pub struct Worker<'m> {
    model: &'m Model,
    kernels: Kernels,
    runner: Runner<'m>,
    tokens: Tokens,
    logits: Logits,
}

impl<'m> Worker<'m> {
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
        self.logits.softmax(self.kernels);
        let choice = |(row, &id): (&[f32], &u32)| (model.features.labels.name(id), row[id as usize]);
        let choices: Vec<(&str, f32)> = self.logits.slots().zip(&ids).map(choice).collect();
        let first: Vec<&str> = choices.iter().map(|&(label, _)| label).collect();
        let labels = self.final_labels(&first);
        // Where an `I-` had to become `B-`, the tagger's own label begins the same span.
        let lasting = |(label, first)| if let Cow::Borrowed(label) = label { label } else { first };
        let lasting: Vec<&str> = labels.iter().cloned().zip(first).map(lasting).collect();
        let spans = assemble(text, &self.tokens, &lasting);
        let tokens = (self.tokens.iter().zip(labels).zip(&choices).enumerate())
            .map(|(token_idx, ((token, label), &(first_choice, probability)))| TokenLabel {
                text: &text[token.start..token.end],
                start: token.start,
                end: token.end,
                label,
                probability,
                doubt: self.doubt(token_idx, first_choice),
            })
            .collect();
        Annotation { text, intent: self.intent(), tokens, spans }
    }

    /// The first choices, with words over the threshold unknown.
    fn final_labels(&self, first_choices: &[&'m str]) -> Vec<Cow<'m, str>> {
        let Some(threshold) = &self.model.threshold else {
            return first_choices.iter().map(|&label| Cow::Borrowed(label)).collect();
        };
        let is_unknown = |&uncertainty: &f32| threshold.is_unknown(f64::from(uncertainty));
        let unknown: Vec<bool> = self.uncertainty().iter().map(is_unknown).collect();
        mark(first_choices, &unknown)
    }

    /// How unsure the model is of each word.
    fn uncertainty(&self) -> &[f32] {
        match &self.runner {
            Runner::SlotGated(runner) => &runner.uncertainty,
            Runner::Span(_) => &[],
        }
    }

    /// Where concepts are and which slots they fill, by the tagger's own probabilities of the last utterance.
    pub fn distributions(&self) -> Option<&crate::decoding::Distributions> {
        match &self.runner {
            Runner::SlotGated(_) => None,
            Runner::Span(runner) => Some(&runner.distributions),
        }
    }

    /// The logits of the intents of the last utterance.
    pub fn intent_logits(&self) -> &[f32] {
        self.logits.intents()
    }

    /// The concepts of the last utterance.
    pub fn concepts(&self) -> &[crate::decoding::Concept] {
        match &self.runner {
            Runner::SlotGated(_) => &[],
            Runner::Span(runner) => &runner.concepts,
        }
    }

    /// What is thought of a word whose probabilities are in the place of its logits.
    fn doubt(&self, token_idx: usize, first_choice: &'m str) -> Option<Doubt<'m>> {
        let threshold = self.model.threshold.as_ref()?;
        let names = &self.model.features.labels;
        let row = self.logits.slots().nth(token_idx)?;
        let runner_up = |(label, probability)| RunnerUp { label: names.name(label).into(), probability };
        let uncertainty = self.uncertainty()[token_idx];
        Some(Doubt {
            first_choice,
            uncertainty,
            unknown: threshold.is_unknown(f64::from(uncertainty)),
            reason: Reason {
                score: &threshold.score,
                threshold: threshold.value,
                runners_up: next_largest(row, RUNNERS_UP).into_iter().map(runner_up).collect(),
            },
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
