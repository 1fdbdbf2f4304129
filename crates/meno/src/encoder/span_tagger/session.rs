//! Runs a span tagger with its weights.

use std::sync::Arc;

use super::{PreparedTagger, SpanTagger, TaggerWorkspace};
use crate::emissions::{Emissions, Logits, Tags};
use crate::encoder::Once;
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
    prepared: Once<PreparedTagger>,
}

impl SpanTaggerEncoder {
    pub(crate) fn new(network: SpanTagger, parameters: Parameters) -> Self {
        SpanTaggerEncoder { network, parameters, prepared: Once::default() }
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
        let tags = Tags::Spans {
            boundaries: Vec::new(),
            transitions: encoder.network.transitions(&encoder.parameters),
            slots: Logits::default(),
        };
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

    pub(crate) fn emit(&mut self, tokens: &[Token], forms: &[Form]) -> &Emissions {
        let SpanTaggerEncoder { network, parameters, .. } = &*self.encoder;
        let w = &mut self.workspace;
        network.infer(self.kernels, parameters, &self.prepared, tokens, forms, w);
        let Emissions { tags, intents } = &mut self.emissions;
        intents.clear();
        intents.extend_from_slice(network.intent_logits(w).next().unwrap_or(&[]));
        if let Tags::Spans { boundaries, slots, .. } = tags {
            boundaries.clear();
            boundaries.extend(network.boundary_logits(w));
            slots.clear(network.shape().slots);
            slots.extend(network.slot_logits(w));
        }
        &self.emissions
    }
}
