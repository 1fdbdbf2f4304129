//! Runs a span tagger with its weights.

use std::sync::Arc;

use super::{PreparedTagger, SpanTagger, TaggerWorkspace};
use crate::emissions::{Emissions, Tags};
use crate::encoder::{Int8Weights, Once};
use crate::features::{Form, Token};
use crate::kernel::Kernels;
use crate::nn::Parameters;

/// Words that are prepared once they are said: they make up nearly all text, and take 3 KB each.
const PREPARED: usize = 4000;

/// A network with its weights.
#[derive(Debug)]
pub(crate) struct SpanTaggerEncoder {
    pub(crate) network: SpanTagger,
    pub(crate) parameters: Parameters,
    /// What the parameters lack, if the network has LSTMs of 8 bits.
    pub(crate) int8: Option<Int8Weights>,
    prepared: Once<PreparedTagger>,
}

impl SpanTaggerEncoder {
    /// A network in floats, or with the weights that its parameters lack.
    pub(crate) fn new(network: SpanTagger, parameters: Parameters, int8: Option<Int8Weights>) -> Self {
        SpanTaggerEncoder { network, parameters, int8, prepared: Once::default() }
    }

    /// The same with LSTMs of 8 bits; `None` if it has them already.
    pub(crate) fn quantized(&self) -> Option<Self> {
        if self.int8.is_some() {
            return None;
        }
        let (network, parameters, int8) = self.network.quantize(&self.parameters);
        Some(SpanTaggerEncoder::new(network, parameters, Some(int8)))
    }

    fn prepare(&self, kernels: Kernels) -> Arc<PreparedTagger> {
        let n_words = self.network.shape().words.min(PREPARED);
        self.prepared.get(kernels, || self.network.prepare(&self.parameters, n_words))
    }
}

/// The buffers of one thread.
pub(crate) struct SpanTaggerSession {
    encoder: Arc<SpanTaggerEncoder>,
    kernels: Kernels,
    prepared: Arc<PreparedTagger>,
    workspace: TaggerWorkspace,
    pub emissions: Emissions,
}

impl SpanTaggerSession {
    pub(crate) fn new(encoder: Arc<SpanTaggerEncoder>, kernels: Kernels) -> Self {
        let tags = encoder.network.heads().tags(&encoder.parameters);
        SpanTaggerSession {
            prepared: encoder.prepare(kernels),
            encoder,
            kernels,
            workspace: TaggerWorkspace::default(),
            emissions: Emissions { tags, intents: Vec::new() },
        }
    }

    pub(crate) fn needs_form(&self, word: u32) -> bool {
        self.prepared.gates(word).is_none()
    }

    /// The emissions of utterances of falling length, with their forms, all at once.
    pub(crate) fn emit(
        &mut self,
        utterances: &[(&[Token], &[Form])],
        mut each: impl FnMut(usize, &Emissions),
    ) {
        let SpanTaggerEncoder { network, parameters, int8, .. } = &*self.encoder;
        let w = &mut self.workspace;
        network.infer(self.kernels, (parameters, int8.as_ref()), &self.prepared, utterances, w);
        let (heads, state) = (network.heads(), &w.heads);
        let (mut boundary_logits, mut slot_logits) = (heads.boundary_logits(state), heads.slot_logits(state));
        let mut span_scores = heads.span_scores(state);
        for (utterance, intent_logits) in heads.intent_logits(state).enumerate() {
            let n_words = utterances[utterance].0.len();
            self.emissions.intents.clear();
            self.emissions.intents.extend_from_slice(intent_logits);
            if let Tags::Spans { boundaries, slots, spans, .. } = &mut self.emissions.tags {
                boundaries.clear();
                boundaries.extend(boundary_logits.by_ref().take(n_words));
                slots.clear(network.shape().slots);
                slots.extend(slot_logits.by_ref().take(n_words));
                let (scores, rest) = span_scores.split_at(n_words * spans.longest);
                spans.scores.clear();
                spans.scores.extend_from_slice(scores);
                span_scores = rest;
            }
            each(utterance, &self.emissions);
        }
    }
}
