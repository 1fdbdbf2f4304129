//! A trained model and the workers that run it.
//!
//! A [`Model`] never changes and is shared; a [`Worker`] owns the buffers of one thread.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::corpus::Utterance;
use crate::encoder::{Instructions, Kernels, Parameters, Prepared, SlotGated, Workspace};
use crate::features::Features;
use crate::logits::{Logits, largest};
use crate::metrics::{Evaluation, Mode};
use crate::spans::{Span, assemble};
use crate::text::{Normalizer, Tokens};

/// A trained tagger with all that it needs to read text.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) normalizer: Normalizer,
    pub(crate) features: Features,
    pub(crate) network: SlotGated,
    pub(crate) parameters: Parameters,
    pub(crate) record: Record,
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
    /// The IOB2 label.
    pub label: &'t str,
    /// Its probability.
    pub probability: f32,
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
            prepared: self.network.prepare(kernels, &self.parameters, PREPARED),
            tokens: Tokens::default(),
            words: Vec::new(),
            workspace: Workspace::default(),
            logits: Logits::default(),
        }
    }
}

/// Words that a worker prepares: they make up nearly all text, and take 2 MB.
const PREPARED: usize = 1000;

/// Runs a model, one utterance at a time.
pub struct Worker<'m> {
    model: &'m Model,
    kernels: Kernels,
    prepared: Prepared,
    tokens: Tokens,
    words: Vec<u32>,
    workspace: Workspace,
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
        let form = |word| model.features.word(model.normalizer.vocabulary_form(word));
        self.words.clear();
        self.words.extend(self.tokens.iter().map(|token| form(token.word)));
        self.forward();
        self.logits.softmax(self.kernels);
        let labels: Vec<(&str, f32)> = self.labels().collect();
        let tokens = (self.tokens.iter().zip(&labels))
            .map(|(token, &(label, probability))| TokenLabel {
                text: &text[token.start..token.end],
                start: token.start,
                end: token.end,
                label,
                probability,
            })
            .collect();
        let labels: Vec<&str> = labels.into_iter().map(|(label, _)| label).collect();
        Annotation { text, intent: self.intent(), tokens, spans: assemble(text, &self.tokens, &labels) }
    }

    /// Labels for words that are given as they are, and the likeliest intent (empty if there is none).
    pub fn tag<S: AsRef<str>>(&mut self, words: &[S]) -> (Vec<&'m str>, &'m str) {
        let model = self.model;
        self.words.clear();
        self.words.extend(
            words.iter().map(|word| model.features.word(model.normalizer.vocabulary_form(word.as_ref()))),
        );
        self.forward();
        let labels = self.labels().map(|(label, _)| label).collect();
        (labels, self.intent().map_or("", |intent| intent.name))
    }

    fn forward(&mut self) {
        let network = &self.model.network;
        if self.words.is_empty() {
            self.logits.fill(network.shape().labels, std::iter::empty::<&[f32]>(), &[]);
            return;
        }
        let parameters = &self.model.parameters;
        network.infer(self.kernels, parameters, &self.prepared, &self.words, &mut self.workspace);
        let intents = network.intent_logits(&self.workspace).next().unwrap_or(&[]);
        self.logits.fill(network.shape().labels, network.slot_logits(&self.workspace), intents);
    }

    fn labels(&self) -> impl Iterator<Item = (&'m str, f32)> {
        let names = &self.model.features.labels;
        self.logits.slots().filter_map(largest).map(|(id, value)| (names.name(id), value))
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
