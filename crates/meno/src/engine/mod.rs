//! A trained model and the workers that run it.
//!
//! A [`Model`] never changes and is cheap to clone; a [`Worker`] owns the buffers of one thread.

mod assessor;
mod policy;
mod states;
mod trust;
mod weight_format;

use std::cmp::Reverse;
use std::mem::{swap, take};
use std::ops::Range;
use std::sync::Arc;

use jiff::Zoned;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::answer::{Annotation, Choice, Decision, Parts};
#[cfg(feature = "train")]
use crate::decision::Trust;
use crate::decision::{Policy, Rejection, Verdict};
use crate::decoding::{Decoded, Decoder, Hypothesis, SpanRules};
use crate::description::Description;
#[cfg(all(feature = "onnx", feature = "train"))]
use crate::emissions::Emissions;
use crate::emissions::{Logits, Tags};
use crate::encoder::{Encoder, Session};
#[cfg(feature = "train")]
use crate::features::Ngrams;
use crate::features::{Encoded, Novelty, Token, UNKNOWN_WORD};
use crate::kernel::Kernels;
use crate::math::largest;
use crate::memory::{KnownValues, Recalled, Remembered, Rereading};
use crate::metrics::questions::Found;
use crate::metrics::{Evaluation, Mode};
use crate::resolve::{Shape, Shaped, is_value, resolve};
use crate::settings::TrainSettings;
use crate::syntax::phrase::Why;
use crate::syntax::{Syntax, SyntaxWorker};
use crate::text::{Normalizer, Tokens};
use crate::uncertainty::{Assessment, Evidence, Precision, Score, Scorer, SpanScore};
use crate::utterance::{KnownValue, Utterance};

pub use assessor::{Assessed, Assessor, Measure};
pub use weight_format::WeightFormat;

pub use crate::features::{Features, Vectors};
pub use crate::kernel::Instructions;
#[cfg(feature = "train")]
pub(crate) use policy::HeldOut;
#[cfg(feature = "train")]
pub(crate) use trust::Readings;

/// The longest utterance that is read as a whole; the attention over it takes memory with the square of this.
///
/// A longer text is read in pieces of this length, and its intent is that of the first piece. Nobody speaks so long,
/// but logs hold such lines.
pub const MAX_WORDS: usize = 512;

/// Utterances that go from stage to stage together.
pub const BATCH: usize = 64;
/// Of those, the most that an encoder is given at once.
const PACKED: usize = 16;

/// A trained tagger with all that it needs to read text. Clones share what is large.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) normalizer: Normalizer,
    pub(crate) features: Arc<Features>,
    pub(crate) encoder: Encoder,
    /// What the logit of being outside of all spans loses for a word that never was.
    pub(crate) outside_penalty: f64,
    /// How much the slots of its words count in where a span begins and ends.
    pub(crate) joint_slots: f64,
    pub(crate) policy: Arc<Policy>,
    pub(crate) known_values: Arc<KnownValues>,
    pub(crate) description: Arc<Description>,
    /// Where another was given than the one that is built in.
    pub(crate) syntax: Option<Syntax>,
    pub(crate) record: Record,
}

/// What is known of English before any training, for programs in which it is not built in (feature `english`). What is not
/// given is what is built in.
#[derive(Clone, Debug, Default)]
pub struct English {
    /// Vectors of words: what [`Vectors::from_bytes`] reads.
    pub vectors: Option<&'static Vectors>,
    /// The tagger and parser by which unknown words grow to phrases.
    pub syntax: Option<Syntax>,
}

impl English {
    pub(crate) fn vectors(&self) -> Option<&'static Vectors> {
        self.vectors.or_else(Vectors::built_in)
    }

    pub(crate) fn has_syntax(&self) -> bool {
        self.syntax.is_some() || cfg!(feature = "english")
    }
}

/// How a model came to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The settings of the training.
    pub settings: TrainSettings,
    /// The fingerprint of the training corpus.
    pub corpus: String,
    /// The code of its language (BCP 47), `und` if nobody stated it; `None` for English.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The epoch whose parameters these are, from 1.
    pub epoch: usize,
    /// Slot F1 on the valid set, in percent.
    pub valid_slot_f1: f64,
    /// Intent accuracy on the valid set, in percent, if it has intents.
    pub valid_intent_accuracy: Option<f64>,
}

/// How text is cut into words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokenization {
    /// As people type it: the model's own tokenizer.
    #[default]
    Raw,
    /// Words separated by white space, as corpora have them.
    Pretokenized,
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

    /// A known value of a slot, for the place of one that was not in the training set: one word, the most frequent that
    /// stands for nothing else. `None` if there is none, or if the model does not keep the values of slots.
    pub fn stand_in(&self, slot: &str) -> Option<&str> {
        self.features.stand_in(slot)
    }

    /// Whether the training set had a phrase as a value of a slot.
    fn has_value(&self, slot: &str, phrase: &str) -> bool {
        let tokens = self.normalizer.read(phrase);
        self.features.has_value(slot, tokens.iter().map(|token| self.normalizer.vocabulary_form(token.word)))
    }

    /// The slot of which the training set had a phrase as a value; the first if there are several.
    pub fn slot_of(&self, phrase: &str) -> Option<&str> {
        let mut slots = self.features.labels.paired_slots().iter();
        slots.find(|slot| self.has_value(slot, phrase)).map(|slot| &**slot)
    }

    /// The slot types, in alphabetical order.
    pub fn slots(&self) -> Vec<String> {
        self.features.labels.slots()
    }

    /// The values that its training corpus named outside of the utterances, for the slots that it has.
    pub fn known_values(&self) -> &[KnownValue] {
        self.known_values.values()
    }

    /// How to talk about its slots and intents: what its training corpus said, or what the names of the slots tell.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Says what the words of spans are, where their slot declares it. `now` is asked for the moment at which they were said once
    /// there is such a span.
    pub fn resolve(&self, annotation: &mut Annotation<'_>, shape: Shape, now: impl Fn() -> Zoned) {
        for span in &mut annotation.spans {
            let words = span.value.as_deref().unwrap_or(span.text);
            span.resolved = self.resolve_slot(&span.slot, words, shape, &now);
        }
    }

    /// As [`Model::resolve`]; what was taught to be another name for a time is that time.
    pub fn resolve_remembered(&self, remembered: &mut Remembered<'_>, shape: Shape, now: impl Fn() -> Zoned) {
        self.resolve(&mut remembered.annotation, shape, &now);
        for recalled in &remembered.memory {
            let Some(value) = &recalled.value else { continue };
            let mut spans = remembered.annotation.spans.iter_mut();
            if let Some(span) = spans.find(|span| (span.start, span.end) == (recalled.start, recalled.end)) {
                span.resolved = self.resolve_slot(&span.slot, value, shape, &now);
            }
        }
    }

    /// What words in a slot are; `None` if it declares nothing, `Some(None)` if it is not known for sure, as with all that is not
    /// English.
    pub fn resolve_slot(
        &self,
        slot: &str,
        words: &str,
        shape: Shape,
        now: impl Fn() -> Zoned,
    ) -> Option<Option<Box<Shaped>>> {
        let dimension = self.description.slots.get(slot)?.resolve?;
        let resolved = if self.is_english() { resolve(dimension, words, &now()) } else { None };
        Some(resolved.map(|resolved| Box::new(Shaped { resolved, shape })))
    }

    /// Whether some words are a time, a number or the like that one of its slots declares, whenever they are said.
    pub fn is_value(&self, words: &str) -> bool {
        self.is_english() && is_value(self.description.slots.values().filter_map(|slot| slot.resolve), words)
    }

    /// The same for one slot, or that its training set had the words in it.
    pub fn is_value_of(&self, slot: &str, words: &str) -> bool {
        let dimension = self.description.slots.get(slot).and_then(|slot| slot.resolve);
        self.has_value(slot, words) || self.is_english() && is_value(dimension, words)
    }

    /// Rejects what is most likely of an intent whose requests the corpus says are none of its business.
    fn reject<'t>(&self, mut annotation: Annotation<'t>) -> Annotation<'t> {
        let likely = annotation.intent.as_ref().filter(|intent| intent.probability >= 0.5);
        if likely.is_some_and(|intent| self.description.rejects(&intent.name)) {
            annotation.decision = Decision::Reject { because: Rejection::OutOfScope };
        }
        annotation
    }

    /// How it came to be.
    pub fn record(&self) -> &Record {
        &self.record
    }

    fn is_english(&self) -> bool {
        self.record.language.is_none()
    }

    /// Whether it is a tagger made elsewhere, as an ONNX graph.
    pub fn is_graph(&self) -> bool {
        match &self.encoder {
            #[cfg(feature = "onnx")]
            Encoder::Onnx(_) => true,
            _ => false,
        }
    }

    /// When words, spans and utterances are unknown.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The same model with the policy that was fitted on its valid set, by which it is better or worse there.
    #[cfg(feature = "train")]
    pub(crate) fn with_fitted_policy(mut self, policy: Policy) -> Self {
        self.record.valid_slot_f1 = policy.doubt.map_or(self.record.valid_slot_f1, |doubt| doubt.slot_f1);
        self.with_policy(policy)
    }

    /// The same model with a word on when its readings are acted upon.
    #[cfg(feature = "train")]
    pub(crate) fn with_trust(self, trust: Trust) -> Self {
        let policy = Policy { trust: Some(trust), ..(*self.policy).clone() };
        self.with_policy(policy)
    }

    /// The same model with another second opinion on intents, or with none.
    #[cfg(feature = "train")]
    pub(crate) fn with_ngrams(self, ngrams: Option<Ngrams>) -> Self {
        Model { features: Arc::new(Features { ngrams, ..(*self.features).clone() }), ..self }
    }

    /// The same model with another policy.
    pub fn with_policy(self, policy: Policy) -> Self {
        Model { policy: Arc::new(policy), ..self }
    }

    /// The same model with another threshold, above which words or spans are unknown.
    pub fn with_threshold(self, value: f64) -> Result<Self> {
        let policy = self.policy.with_threshold(value)?;
        Ok(self.with_policy(policy))
    }

    /// The score that finds most new concepts without syntax: for a slot-gated tagger the entropy if it was trained to make
    /// that large (`docs/reproduction.md`).
    pub(crate) fn default_scorer(encoder: &Encoder) -> Scorer {
        let of_labels = |is_calibrated| match is_calibrated {
            true => Scorer::Token(Score::Entropy),
            false => Scorer::Token(Score::SoftmaxEntropy),
        };
        match encoder {
            Encoder::SlotGated(encoder) => of_labels(encoder.network.calibration().is_some()),
            Encoder::Transformer(encoder) if encoder.network.spans().is_none() => {
                of_labels(encoder.network.calibration().is_some())
            }
            Encoder::SpanTagger(_) | Encoder::Transformer(_) => Scorer::Span(SpanScore::default()),
            #[cfg(feature = "onnx")]
            Encoder::Onnx(_) => Scorer::Token(Score::SoftmaxEntropy),
        }
    }

    /// What each label takes away from each other one (a row for each that loses), without what the ReLU cuts off;
    /// empty if the model is not calibrated.
    pub fn calibration_matrix(&self) -> Vec<Vec<f32>> {
        let matrix = match &self.encoder {
            Encoder::SlotGated(encoder) => encoder.network.calibration(),
            Encoder::Transformer(encoder) => encoder.network.calibration(),
            _ => None,
        };
        let (Some(matrix), Some((_, parameters))) = (matrix, self.encoder.weights()) else {
            return Vec::new();
        };
        let n_labels = matrix.columns();
        let values = parameters.values(matrix);
        let taken = |from: usize, by: usize| values[by * n_labels + from].max(0.0);
        (0..n_labels).map(|from| (0..n_labels).map(|by| taken(from, by)).collect()).collect()
    }

    /// The parser by which unknown words grow to phrases; without one they do not. The one that is built in is for English.
    fn syntax(&self) -> Option<Syntax> {
        let built_in = || Syntax::built_in().filter(|_| self.is_english());
        self.syntax.clone().or_else(built_in)
    }

    pub(crate) fn outside_penalty(&self, word: u32) -> f64 {
        match &self.features.lexicon {
            Some(lexicon) if !lexicon.was_outside(word) => self.outside_penalty,
            _ => 0.0,
        }
    }

    /// A worker with the fastest kernels of this processor.
    pub fn worker(&self) -> Worker {
        self.worker_on(Kernels::best())
    }

    /// A worker with stated kernels, or `None` if this processor cannot run them.
    pub fn worker_with(&self, instructions: Instructions) -> Option<Worker> {
        Kernels::with(instructions).map(|kernels| self.worker_on(kernels))
    }

    fn worker_on(&self, kernels: Kernels) -> Worker {
        Worker {
            session: self.encoder.session(kernels, &self.features),
            model: self.clone(),
            kernels,
            passages: Vec::new(),
            passage: Passage::default(),
            decoder: Decoder::default(),
            probabilities: Logits::default(),
            assessment: Assessment::default(),
            syntax: None,
        }
    }
}

/// Runs a model, on one utterance or on many at once.
pub struct Worker {
    model: Model,
    kernels: Kernels,
    session: Session,
    /// The utterances that are on their way.
    passages: Vec<Passage>,
    /// The last one.
    passage: Passage,
    decoder: Decoder,
    /// Of the labels of each word.
    probabilities: Logits,
    assessment: Assessment,
    /// Made when something first grows.
    syntax: Option<SyntaxWorker>,
}

/// An utterance on its way to an answer; buffers to be used again for another one.
#[derive(Default)]
struct Passage {
    tokens: Tokens,
    encoded: Encoded,
    decoded: Decoded,
}

impl Worker {
    /// The model it runs.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What the model says of a text.
    pub fn annotate<'t>(&mut self, text: &'t str, tokenization: Tokenization) -> Annotation<'t> {
        let policy = self.model.policy.clone();
        self.annotate_by(&policy, text, tokenization)
    }

    /// As [`Worker::annotate`], with another policy than the model's.
    pub fn annotate_by<'t>(
        &mut self,
        policy: &Policy,
        text: &'t str,
        tokenization: Tokenization,
    ) -> Annotation<'t> {
        self.annotate_all_by(policy, &[text], tokenization).remove(0)
    }

    /// What the model says of each of some texts: the same as [`Worker::annotate`] says, sooner.
    pub fn annotate_all<'t>(&mut self, texts: &[&'t str], tokenization: Tokenization) -> Vec<Annotation<'t>> {
        let policy = self.model.policy.clone();
        self.annotate_all_by(&policy, texts, tokenization)
    }

    /// As [`Worker::annotate_all`], with another policy than the model's.
    pub fn annotate_all_by<'t>(
        &mut self,
        policy: &Policy,
        texts: &[&'t str],
        tokenization: Tokenization,
    ) -> Vec<Annotation<'t>> {
        let mut annotations = Vec::with_capacity(texts.len());
        for texts in texts.chunks(BATCH) {
            let mut passages = take(&mut self.passages);
            passages.resize_with(passages.len().max(texts.len()), Passage::default);
            for (text, passage) in texts.iter().zip(&mut passages) {
                self.tokenize(text, tokenization, &mut passage.tokens);
                self.encode(passage.tokens.iter().map(|token| token.word), &mut passage.encoded);
            }
            self.decode(&mut passages[..texts.len()]);
            for (text, passage) in texts.iter().zip(&mut passages) {
                swap(&mut self.passage, passage);
                annotations.push(self.answer(policy, text));
            }
            self.passages = passages;
        }
        annotations
    }

    /// What is said of the last utterance once it is decoded.
    fn answer<'t>(&mut self, policy: &Policy, text: &'t str) -> Annotation<'t> {
        self.assess(policy);
        let verdict = policy.decide(&self.assessment, &self.passage.decoded);
        let grown = self.grow(policy, text, &verdict);
        let annotation = self.assemble(policy, &verdict, grown, text);
        let annotation = self.model.known_values.mark(annotation, |word| self.model.has_seen(word));
        self.model.reject(annotation)
    }

    /// Reads the rest of a text again in which memory found concepts: with a known value in the place of each that the
    /// training set did not have, so that the words beside it are understood. If there is none it costs nothing.
    ///
    /// The text was annotated in the same way before, by another policy than the model's if there is one.
    pub fn read_again<'t>(
        &mut self,
        remembered: Remembered<'t>,
        policy: Option<&Policy>,
        tokenization: Tokenization,
    ) -> Remembered<'t> {
        let is_new = |recalled: &Recalled<'_>| !self.model.has_value(&recalled.slot, recalled.text);
        let stand_in =
            |recalled: &Recalled<'_>| self.model.stand_in(&recalled.slot).filter(|_| is_new(recalled));
        let Some(rereading) = Rereading::new(&remembered, stand_in) else { return remembered };
        let models = self.model.policy.clone();
        let second = self.annotate_by(policy.unwrap_or(&models), &rereading.text, tokenization);
        rereading.merge(remembered, second)
    }

    fn tokenize(&self, text: &str, tokenization: Tokenization, tokens: &mut Tokens) {
        match tokenization {
            Tokenization::Raw => self.model.normalizer.read_into(text, tokens),
            Tokenization::Pretokenized => self.model.normalizer.words_into(text, tokens),
        }
    }

    fn encode<'w>(&self, words: impl Iterator<Item = &'w str> + Clone, encoded: &mut Encoded) {
        let Model { normalizer, features, .. } = &self.model;
        let form = |word| normalizer.vocabulary_form(word);
        features.encode(words, form, |word| self.session.needs_form(word), encoded);
    }

    /// Runs the encoder on the pieces of utterances, those of about the same length together, and decodes what it says.
    fn decode(&mut self, passages: &mut [Passage]) {
        let Worker { model, session, decoder, .. } = self;
        let (encoded, mut decoded): (Vec<&Encoded>, Vec<&mut Decoded>) =
            passages.iter_mut().map(|Passage { encoded, decoded, .. }| (&*encoded, decoded)).unzip();
        decoded.iter_mut().for_each(|decoded| decoded.clear());
        let pieces = encoded
            .iter()
            .enumerate()
            .flat_map(|(idx, encoded)| encoded.tokens.chunks(MAX_WORDS).map(move |piece| (idx, piece)));
        let mut pieces: Vec<(usize, &[Token])> = pieces.collect();
        // The sort is stable, so that the pieces of an utterance keep their order.
        pieces.sort_by_key(|(_, piece)| Reverse(piece.len()));
        let mut rest = &pieces[..];
        while let Some((_, longest)) = rest.first() {
            let n_packed = (MAX_WORDS / longest.len()).min(PACKED).min(rest.len());
            let (batch, later) = rest.split_at(n_packed);
            rest = later;
            let utterances: Vec<_> =
                batch.iter().map(|&(idx, piece)| (piece, &encoded[idx].forms[..])).collect();
            session.emit(&utterances, |i, emissions| {
                let (idx, piece) = batch[i];
                let joins = |slot, parts: [Range<usize>; 2]| {
                    let lexicon = model.features.lexicon.as_ref();
                    lexicon.is_some_and(|lexicon| lexicon.joins(slot, parts.map(|words| &piece[words])))
                };
                let outside_penalty = |token_idx: usize| model.outside_penalty(piece[token_idx].word);
                let rules = SpanRules { outside_penalty, slot_weight: model.joint_slots, joins };
                decoder.decode(emissions, &rules, decoded[idx]);
            });
        }
        for (encoded, Decoded { intents, .. }) in encoded.iter().zip(decoded) {
            if let Some(ngrams) = model.features.ngrams.as_ref().filter(|_| !intents.is_empty()) {
                let n_intents = intents.n_columns();
                ngrams.join(&encoded.bag, &mut intents.padded_rows()[..n_intents]);
            }
        }
    }

    /// Says how unsure it all is, and leaves out what is too doubtful.
    fn assess(&mut self, policy: &Policy) {
        let novelty: Vec<Novelty> =
            self.passage.decoded.spans.iter().map(|span| self.novelty(span)).collect();
        let precision = Precision::Single(self.kernels);
        self.assessment.assess(&policy.scorer, &mut self.passage.decoded, novelty.into_iter(), precision);
        self.assessment.foreignness = self.passage.encoded.foreignness();
        policy.settle(&mut self.assessment, &mut self.passage.decoded);
        if let Some(trust) = &policy.trust {
            self.assessment.confidences = self.signals().map(|signals| trust.confidence.of(&signals));
            let foreignness = self.assessment.foreignness;
            let of = |confidences| trust.out_of_scope.of(confidences, foreignness);
            self.assessment.out_of_scope = self.assessment.confidences.as_ref().map(of);
        }
    }

    fn novelty(&self, span: &Hypothesis) -> Novelty {
        let tokens = &self.passage.encoded.tokens[span.start..span.end];
        let lexicon = self.model.features.lexicon.as_ref();
        lexicon.map_or(Novelty::default(), |lexicon| lexicon.novelty(span.slot, tokens))
    }

    /// Why words join those that are over the threshold.
    fn grow(&mut self, policy: &Policy, text: &str, verdict: &Verdict) -> Vec<Option<Why>> {
        self.probabilities.copy_from(&self.passage.decoded.posteriors);
        self.probabilities.softmax(self.kernels);
        let Some(growth) = policy.growth.as_ref().filter(|_| verdict.tokens.contains(&true)) else {
            return Vec::new();
        };
        if self.syntax.is_none() {
            self.syntax = self.model.syntax().map(|syntax| syntax.worker());
        }
        let probabilities = self.label_probabilities();
        let Some(syntax) = &mut self.syntax else { return Vec::new() };
        let words: Vec<&str> =
            self.passage.tokens.iter().map(|token| &text[token.start..token.end]).collect();
        growth.explain(&syntax.parse(&words), &verdict.tokens, &probabilities)
    }

    /// The probability of the label of each word.
    fn label_probabilities(&self) -> Vec<f32> {
        let labels = &self.passage.decoded.labels;
        self.probabilities.rows().zip(labels).map(|(row, &label)| row[label as usize]).collect()
    }

    fn assemble<'t>(
        &self,
        policy: &Policy,
        verdict: &Verdict,
        grown: Vec<Option<Why>>,
        text: &'t str,
    ) -> Annotation<'t> {
        let parts = Parts {
            labels: &self.model.features.labels,
            intents: self.intents(),
            decoded: &self.passage.decoded,
            probabilities: &self.probabilities,
            assessment: &self.assessment,
            policy,
            verdict,
            grown,
        };
        let places: Vec<(usize, usize)> =
            self.passage.tokens.iter().map(|token| (token.start, token.end)).collect();
        parts.assemble(text, &places)
    }

    /// The labels of the reading of words that are given as they are, and the likeliest intent (empty if there is none).
    pub fn tag<S: AsRef<str>>(&mut self, words: &[S]) -> (Vec<Arc<str>>, Arc<str>) {
        self.read(words);
        let Features { labels, intents, .. } = &*self.model.features;
        let reading = self.model.policy.reading(&self.assessment, &self.passage.decoded);
        let found = reading.into_iter().map(|label| labels.name(label).clone()).collect();
        (found, self.likeliest_intent().map_or("".into(), |intent| intents.name(intent).clone()))
    }

    /// The id of the likeliest intent of the last utterance; none if the corpus had no intents.
    fn likeliest_intent(&self) -> Option<u32> {
        self.passage.decoded.intents.rows().next().and_then(largest).map(|(intent, _)| intent)
    }

    /// Encodes, decodes and assesses words that are given as they are.
    fn read<S: AsRef<str>>(&mut self, words: &[S]) {
        let mut passage = take(&mut self.passage);
        self.encode(words.iter().map(AsRef::as_ref), &mut passage.encoded);
        self.decode(std::slice::from_mut(&mut passage));
        self.passage = passage;
        let policy = self.model.policy.clone();
        self.assess(&policy);
    }

    /// What the encoder says of words that are given as they are, at most [`MAX_WORDS`].
    #[cfg(all(feature = "onnx", feature = "train"))]
    pub(crate) fn emissions<S: AsRef<str>>(&mut self, words: &[S]) -> &Emissions {
        self.read(words);
        self.session.emissions()
    }

    /// The intents of the last utterance, the likeliest first; none if the corpus had no intents.
    pub fn intents(&self) -> Vec<Choice> {
        let mut probabilities = self.passage.decoded.intents.clone();
        probabilities.softmax(self.kernels);
        let row = probabilities.rows().next().unwrap_or(&[]);
        let names = self.model.features.intents.names();
        let named = row.iter().zip(names).filter(|(_, name)| !name.is_empty());
        let mut choices: Vec<Choice> =
            named.map(|(&probability, name)| Choice::new(name.clone(), probability)).collect();
        choices.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        choices
    }

    /// The spans of the last utterance that was tagged; none if the model labels words.
    pub fn found(&self) -> Vec<Found> {
        let labels = &self.model.features.labels;
        let verdict = self.model.policy.decide(&self.assessment, &self.passage.decoded);
        (self.passage.decoded.spans.iter().zip(&self.assessment.spans).zip(verdict.spans))
            .map(|((span, &uncertainty), unknown)| Found {
                start: span.start,
                end: span.end,
                slot: labels.slot(span.slot).clone(),
                uncertainty,
                unknown,
            })
            .collect()
    }

    /// How unlike the training set the last utterance is.
    pub fn out_of_scope(&self) -> f64 {
        self.model.policy.out_of_scope(&self.assessment, &self.passage.decoded)
    }

    /// How foreign the words of the last utterance are to the training set, from 0 to 1: about the share of them that it never
    /// had (`docs/languages.md`). A text in another language than the corpus' has more than a half.
    pub fn foreignness(&self) -> f64 {
        self.assessment.foreignness
    }

    /// Whether the last utterance is rejected.
    pub fn rejects(&self) -> bool {
        self.model.policy.decide(&self.assessment, &self.passage.decoded).reject.is_some()
    }

    /// What speaks for and against each span of the last utterance that was tagged, if it was read as a whole and the model
    /// finds spans; for experiments.
    pub fn evidence(&self) -> Vec<Evidence> {
        let Tags::Spans { slots, .. } = &self.session.emissions().tags else { return Vec::new() };
        if slots.len() != self.passage.encoded.tokens.len() {
            return Vec::new();
        }
        let evidence = |span: &Hypothesis| {
            let rows = slots.rows().skip(span.start).take(span.end - span.start);
            Evidence::new(span, rows, self.novelty(span))
        };
        self.passage.decoded.spans.iter().map(evidence).collect()
    }

    /// Counts how the model does on labelled utterances.
    pub fn evaluate(&mut self, utterances: &[Utterance], mode: Mode) -> Result<Evaluation> {
        let mut evaluation = Evaluation::new(mode);
        for utterance in utterances {
            let (labels, intent) = self.tag(&utterance.words);
            evaluation.add(&utterance.labels, &labels, &utterance.intent, &intent)?;
        }
        Ok(evaluation)
    }
}
