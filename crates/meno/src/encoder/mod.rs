//! From the words of an utterance to [`Emissions`]: the only stage that sees networks.
//!
//! An [`Encoder`] has its weights and never changes; a `Session` has the buffers of one thread. A new kind of encoder is a
//! folder here, a variant of each, an architecture in the model file and a golden; the compiler lists the rest.

mod heads;
mod int8;
mod label_head;
mod labels;
#[cfg(feature = "onnx")]
pub(crate) mod onnx;
mod slot_gated;
mod span_head;
mod span_tagger;
mod transformer;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::{Arc, OnceLock};

use crate::emissions::Emissions;
use crate::features::{Features, Form, Token};
use crate::kernel::{Instructions, Kernels};
use crate::nn::{Layout, Network, Parameters};
#[cfg(feature = "onnx")]
use onnx::{OnnxEncoder, OnnxSession};

pub(crate) use int8::Int8Weights;
pub use label_head::Calibration;
pub(crate) use label_head::EntropyLoss;
pub(crate) use labels::{LabelTagger, Labelled, Reading};
pub use slot_gated::{SlotGated, SlotGatedShape, Workspace};
pub(crate) use slot_gated::{SlotGatedEncoder, SlotGatedSession};
pub(crate) use span_head::MAX_SCORED;
pub(crate) use span_tagger::{SpanTagger, SpanTaggerShape, TaggerWorkspace};
pub(crate) use span_tagger::{SpanTaggerEncoder, SpanTaggerSession};
pub(crate) use transformer::{
    Labels, Sequence, TransformerTagger, TransformerTaggerShape, TransformerWorkspace,
};
pub(crate) use transformer::{TransformerEncoder, TransformerSession};

/// What turns words into emissions; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Encoder {
    /// A label for each word, by attention and a gate (Goo et al., 2018).
    SlotGated(Arc<SlotGatedEncoder>),
    /// A BiLSTM whose heads say where spans are and which slots they fill.
    SpanTagger(Arc<SpanTaggerEncoder>),
    /// A pretrained encoder of the BERT family with such heads or such labels.
    Transformer(Arc<TransformerEncoder>),
    /// A tagger made elsewhere, as an ONNX graph.
    #[cfg(feature = "onnx")]
    Onnx(Arc<OnnxEncoder>),
}

impl Encoder {
    /// Where the weights lie, and the weights; none of a graph, which has its own.
    pub(crate) fn weights(&self) -> Option<(&Layout, &Parameters)> {
        match self {
            Encoder::SlotGated(encoder) => Some((encoder.network.layout(), &encoder.parameters)),
            Encoder::SpanTagger(encoder) => Some((encoder.network.layout(), &encoder.parameters)),
            Encoder::Transformer(encoder) => Some((encoder.network.layout(), &encoder.parameters)),
            #[cfg(feature = "onnx")]
            Encoder::Onnx(_) => None,
        }
    }

    /// Its weights of 8 bits, if it has any, and where they lie.
    pub(crate) fn int8(&self) -> Option<(&Layout, &Int8Weights)> {
        match self {
            Encoder::SpanTagger(encoder) => Some((encoder.network.int8(), encoder.int8.as_ref()?)),
            Encoder::Transformer(encoder) => Some((encoder.network.int8(), encoder.int8.as_ref()?)),
            _ => None,
        }
    }

    /// What one thread needs to run it.
    pub(crate) fn session(&self, kernels: Kernels, features: &Features) -> Session {
        match self {
            Encoder::SlotGated(encoder) => {
                Session::SlotGated(Box::new(SlotGatedSession::new(encoder.clone(), kernels)))
            }
            Encoder::SpanTagger(encoder) => {
                Session::SpanTagger(Box::new(SpanTaggerSession::new(encoder.clone(), kernels)))
            }
            Encoder::Transformer(encoder) => {
                Session::Transformer(Box::new(TransformerSession::new(encoder.clone(), kernels, features)))
            }
            #[cfg(feature = "onnx")]
            Encoder::Onnx(encoder) => Session::Onnx(Box::new(OnnxSession::new(encoder.clone()))),
        }
    }
}

/// Runs an encoder on utterances, those of the span tagger all at once.
pub(crate) enum Session {
    SlotGated(Box<SlotGatedSession>),
    SpanTagger(Box<SpanTaggerSession>),
    Transformer(Box<TransformerSession>),
    #[cfg(feature = "onnx")]
    Onnx(Box<OnnxSession>),
}

impl Session {
    /// Whether the form of a word has to be known.
    pub(crate) fn needs_form(&self, word: u32) -> bool {
        match self {
            Session::SlotGated(_) => false,
            Session::SpanTagger(session) => session.needs_form(word),
            Session::Transformer(_) => true,
            #[cfg(feature = "onnx")]
            Session::Onnx(session) => session.needs_form(),
        }
    }

    /// The emissions of the last utterance.
    pub(crate) fn emissions(&self) -> &Emissions {
        match self {
            Session::SlotGated(session) => &session.emissions,
            Session::SpanTagger(session) => &session.emissions,
            Session::Transformer(session) => &session.emissions,
            #[cfg(feature = "onnx")]
            Session::Onnx(session) => &session.emissions,
        }
    }

    /// The emissions of each of some utterances, which have falling length and are not empty: the words and their forms.
    pub(crate) fn emit(
        &mut self,
        utterances: &[(&[Token], &[Form])],
        mut each: impl FnMut(usize, &Emissions),
    ) {
        for (utterance, &(tokens, forms)) in utterances.iter().enumerate() {
            match self {
                Session::SlotGated(session) => each(utterance, session.emit(tokens)),
                // All at once.
                Session::SpanTagger(session) => return session.emit(utterances, each),
                Session::Transformer(session) => each(utterance, session.emit(tokens, forms)),
                #[cfg(feature = "onnx")]
                Session::Onnx(session) => each(utterance, session.emit(tokens, forms)),
            }
        }
    }
}

/// Work that is done once for all sessions on the same kernels.
#[derive(Debug)]
pub(crate) struct Once<T>(OnceLock<(Instructions, Arc<T>)>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Once(OnceLock::new())
    }
}

impl<T> Once<T> {
    fn get(&self, kernels: Kernels, prepare: impl Fn() -> T) -> Arc<T> {
        let (instructions, prepared) = self.0.get_or_init(|| (kernels.instructions(), Arc::new(prepare())));
        if *instructions == kernels.instructions() { prepared.clone() } else { Arc::new(prepare()) }
    }
}
