//! The taggers that a model can have, and the one place that tells them apart.

use std::sync::{Arc, OnceLock};

use super::lexicon::Lexicon;
use crate::encoder::{
    Form, Instructions, Kernels, Layout, Network, Parameters, PreparedTagger, SlotGated, SpanTagger,
    SpanTaggerShape,
};
use crate::features::{Alphabet, Features};
use crate::train::{Sentence, TaggerSettings, TrainSettings};
use crate::vectors::Vectors;

/// What turns words into labels.
#[derive(Clone, Debug)]
pub(crate) enum Tagger {
    /// A label for each word, by attention and a gate.
    SlotGated(Box<SlotGated>),
    /// Where concepts are, and which slots they fill.
    Span(Box<SpanModel>),
}

impl Tagger {
    /// Where the parameters lie.
    pub fn layout(&self) -> &Layout {
        match self {
            Tagger::SlotGated(network) => network.layout(),
            Tagger::Span(model) => model.network.layout(),
        }
    }

    /// Gives up bits of trained weights where that makes inference sooner and the answers no worse.
    pub fn round(&self, parameters: &mut [f32]) {
        if let Tagger::Span(model) = self {
            model.network.round(parameters);
        }
    }

    /// Fills the padding of the heads, which must never win a softmax.
    pub fn pad(&self, parameters: &mut [f32]) {
        match self {
            Tagger::SlotGated(network) => network.pad(parameters),
            Tagger::Span(model) => model.network.pad(parameters),
        }
    }
}

/// A span tagger with what it knows of words besides its parameters.
#[derive(Clone, Debug)]
pub(crate) struct SpanModel {
    pub network: SpanTagger,
    pub alphabet: Alphabet,
    pub lexicon: Lexicon,
    /// What the log probability of being outside loses where a word never was.
    pub penalty: f64,
    /// Above which strangeness an utterance is refused; never if there is none.
    pub reject: Option<f64>,
    /// What all workers share, once there is one; by the kernels that made it.
    pub prepared: OnceLock<(Instructions, Arc<PreparedTagger>)>,
}

impl SpanModel {
    /// Words that are prepared: they make up nearly all text, and take 3 KB each.
    pub const PREPARED: usize = 4000;

    /// For a corpus and settings, with a network that has learnt nothing.
    pub fn fit(
        tagger: &TaggerSettings,
        settings: &TrainSettings,
        features: &Features,
        sentences: &[Sentence],
    ) -> Self {
        // Without letters all words of a length look the same.
        let spelt = if tagger.letters { &features.words.names()[1..] } else { &[] };
        let alphabet = Alphabet::fit(spelt.iter().map(String::as_str));
        let network = SpanTagger::new(SpanTaggerShape {
            words: features.words.len(),
            characters: alphabet.len(),
            slots: features.slots().len(),
            intents: features.intents.len(),
            embedding: settings.embedding,
            character: tagger.character,
            filters: tagger.filters,
            vector: if tagger.vectors { Vectors::english().width() } else { 0 },
            hidden: settings.hidden,
            layers: tagger.layers,
        });
        SpanModel {
            network,
            alphabet,
            lexicon: Lexicon::fit(features, sentences),
            penalty: tagger.outside_penalty,
            reject: None,
            prepared: OnceLock::new(),
        }
    }

    /// What is worked out once for these parameters, which must be the same each time.
    pub fn prepare(
        &self,
        kernels: Kernels,
        features: &Features,
        parameters: &Parameters,
    ) -> Arc<PreparedTagger> {
        let prepare = || {
            let words = features.words.names().iter().take(SpanModel::PREPARED);
            let forms: Vec<Form> = words.map(|word| self.form(word)).collect();
            Arc::new(self.network.prepare(kernels, parameters, &forms))
        };
        let (instructions, prepared) = self.prepared.get_or_init(|| (kernels.instructions(), prepare()));
        if *instructions == kernels.instructions() { prepared.clone() } else { prepare() }
    }

    /// What a word looks like.
    pub fn form(&self, word: &str) -> Form {
        let vector =
            if self.network.shape().vector == 0 { Vec::new() } else { Vectors::english().vector(word) };
        Form { vector, ..self.alphabet.form(word) }
    }
}
