//! Runs a transformer with its weights.

use std::sync::Arc;

use super::{Sequence, TransformerTagger, TransformerWorkspace};
use crate::emissions::{Emissions, Logits, Tags};
use crate::features::{Features, Form, Token};
use crate::kernel::Kernels;
use crate::nn::Parameters;

/// A network with its weights.
#[derive(Debug)]
pub(crate) struct TransformerEncoder {
    pub(crate) network: TransformerTagger,
    pub(crate) parameters: Parameters,
}

/// The buffers of one thread.
pub(crate) struct TransformerSession {
    encoder: Arc<TransformerEncoder>,
    kernels: Kernels,
    /// What stands before and after an utterance.
    ends: [u32; 2],
    sequence: Sequence,
    workspace: TransformerWorkspace,
    pub emissions: Emissions,
}

impl TransformerSession {
    pub(crate) fn new(encoder: Arc<TransformerEncoder>, kernels: Kernels, features: &Features) -> Self {
        let tags = Tags::Spans {
            boundaries: Vec::new(),
            transitions: encoder.network.heads().transitions(&encoder.parameters),
            slots: Logits::default(),
        };
        let pieces = features.forms.as_ref().and_then(|forms| forms.pieces.as_ref());
        TransformerSession {
            ends: pieces.map_or([0; 2], |pieces| [pieces.cls(), pieces.sep()]),
            encoder,
            kernels,
            sequence: Sequence::default(),
            workspace: TransformerWorkspace::default(),
            emissions: Emissions { tags, intents: Vec::new() },
        }
    }

    /// What is longer than the encoder reads is read in parts; the intent is that of the first.
    pub(crate) fn emit(&mut self, tokens: &[Token], forms: &[Form]) -> &Emissions {
        let TransformerEncoder { network, parameters } = &*self.encoder;
        let (w, [cls, sep]) = (&mut self.workspace, self.ends);
        let shape = network.shape();
        let Emissions { tags, intents } = &mut self.emissions;
        let Tags::Spans { boundaries, slots, .. } = tags else { unreachable!("made above") };
        boundaries.clear();
        slots.clear(shape.slots);
        let mut words = tokens.iter().map(|token| &forms[token.form as usize].pieces[..]).peekable();
        while words.peek().is_some() {
            self.sequence.begin(cls);
            while words.next_if(|word| self.sequence.push(word, shape.encoder.positions)).is_some() {}
            self.sequence.end(sep);
            network.infer(self.kernels, parameters, &self.sequence, w);
            if boundaries.is_empty() {
                intents.clear();
                intents.extend_from_slice(network.intent_logits(w).next().unwrap_or(&[]));
            }
            boundaries.extend(network.boundary_logits(w));
            slots.extend(network.slot_logits(w));
        }
        &self.emissions
    }
}
