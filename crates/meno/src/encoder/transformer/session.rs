//! Runs a transformer with its weights.

use std::sync::Arc;

use super::weights::{Bf16Weights, Weights};
use super::{Heads, Sequence, TransformerTagger, TransformerWorkspace};
use crate::emissions::{Emissions, Logits, Tags};
use crate::encoder::Int8Weights;
use crate::encoder::label_head::{Calibration, LabelHead, PreparedHead};
use crate::encoder::labels::take;
use crate::features::{Features, Form, Token};
use crate::kernel::{Kernels, round_to_bf16};
use crate::nn::{Network, Parameters};

/// A network with its weights.
#[derive(Debug)]
pub(crate) struct TransformerEncoder {
    pub(crate) network: TransformerTagger,
    pub(crate) parameters: Parameters,
    /// What the parameters lack, if the network has weights of 8 bits.
    pub(crate) int8: Option<Int8Weights>,
    bf16: Option<Bf16Weights>,
    /// How logits of labels become concentrations.
    pub(crate) calibration: Calibration,
}

impl TransformerEncoder {
    /// A network in floats, or with the weights that its parameters lack.
    pub(crate) fn new(
        network: TransformerTagger,
        parameters: Parameters,
        int8: Option<Int8Weights>,
        calibration: Calibration,
    ) -> Self {
        let bf16 = if int8.is_some() { None } else { Bf16Weights::of(&network, &parameters) };
        TransformerEncoder { network, parameters, int8, bf16, calibration }
    }

    fn weights(&self) -> Weights<'_> {
        match (&self.int8, &self.bf16) {
            (Some(int8), _) => Weights::Int8(int8),
            (None, Some(bf16)) => Weights::Bf16(bf16),
            (None, None) => Weights::Floats,
        }
    }

    /// The same with weights of 8 bits; `None` if it has them already.
    pub(crate) fn quantized(&self) -> Option<Self> {
        if self.int8.is_some() {
            return None;
        }
        let (network, parameters, int8) = self.network.quantize(&self.parameters);
        Some(TransformerEncoder::new(network, parameters, Some(int8), self.calibration))
    }

    /// The same with matrices and tables that fit 16 bits; `None` if they have 8.
    pub(crate) fn rounded_to_bf16(&self) -> Option<Self> {
        if self.int8.is_some() {
            return None;
        }
        let (network, mut parameters) = (self.network.clone(), self.parameters.clone());
        for (_, tensor) in network.layout().tensors().filter(|(_, tensor)| tensor.rows() > 1) {
            tensor.of_mut(&mut parameters).iter_mut().for_each(|weight| *weight = round_to_bf16(*weight));
        }
        Some(TransformerEncoder::new(network, parameters, None, self.calibration))
    }

    /// What the label head works with, if there is one.
    pub(crate) fn prepare(&self, kernels: Kernels) -> Option<PreparedHead> {
        let head = self.network.labels()?;
        Some(head.prepare(kernels, &self.parameters, self.calibration))
    }

    /// What it says of an utterance, if it labels words: logits, states and log concentrations, and their entropies.
    pub(crate) fn label(
        &self,
        kernels: Kernels,
        sequence: &Sequence,
        w: &mut TransformerWorkspace,
        [logits, states, concentrations]: [&mut Logits; 3],
        entropies: &mut Vec<f32>,
    ) {
        let (Some(head), Some(prepared)) = (self.network.labels(), self.prepare(kernels)) else { return };
        self.network.infer(kernels, &self.parameters, self.weights(), sequence, w);
        take(logits, self.network.label_logits(w));
        take(states, self.network.states(w));
        let (n, state) = (w.firsts.len(), &mut w.heads.labels.label);
        entropies.clear();
        entropies.extend_from_slice(head.entropies(kernels, &prepared, n, state));
        take(concentrations, head.concentrations(kernels, &prepared, n, state));
    }

    fn tags(&self) -> Tags {
        match self.network.spans() {
            Some(heads) => heads.tags(&self.parameters),
            None => Tags::default(),
        }
    }
}

/// The buffers of one thread.
pub(crate) struct TransformerSession {
    encoder: Arc<TransformerEncoder>,
    kernels: Kernels,
    prepared: Option<PreparedHead>,
    /// What stands before and after an utterance.
    ends: [u32; 2],
    sequence: Sequence,
    workspace: TransformerWorkspace,
    pub emissions: Emissions,
}

impl TransformerSession {
    pub(crate) fn new(encoder: Arc<TransformerEncoder>, kernels: Kernels, features: &Features) -> Self {
        let pieces = features.forms.as_ref().and_then(|forms| forms.pieces.as_ref());
        TransformerSession {
            ends: pieces.map_or([0; 2], |pieces| [pieces.cls(), pieces.sep()]),
            prepared: encoder.prepare(kernels),
            emissions: Emissions { tags: encoder.tags(), intents: Vec::new() },
            encoder,
            kernels,
            sequence: Sequence::default(),
            workspace: TransformerWorkspace::default(),
        }
    }

    /// What is longer than the encoder reads is read in parts; the intent is that of the first.
    pub(crate) fn emit(&mut self, tokens: &[Token], forms: &[Form]) -> &Emissions {
        let encoder = self.encoder.clone();
        let TransformerEncoder { network, parameters, .. } = &*encoder;
        let [cls, sep] = self.ends;
        self.emissions.clear(network);
        let mut words = tokens.iter().map(|token| &forms[token.form as usize].pieces[..]).peekable();
        while words.peek().is_some() {
            self.sequence.begin(cls);
            while words.next_if(|word| self.sequence.push(word, network.shape().encoder.positions)).is_some()
            {
            }
            self.sequence.end(sep);
            network.infer(self.kernels, parameters, encoder.weights(), &self.sequence, &mut self.workspace);
            self.collect();
        }
        &self.emissions
    }

    /// Adds what the network says of the words of one part.
    fn collect(&mut self) {
        let (network, w) = (&self.encoder.network, &mut self.workspace);
        let Emissions { tags, intents } = &mut self.emissions;
        if intents.is_empty() {
            intents.extend_from_slice(network.intent_logits(0, w));
        }
        let n = w.firsts.len();
        match (tags, &network.heads, &self.prepared) {
            (Tags::Spans { boundaries, slots, spans, .. }, Heads::Spans(heads), _) => {
                spans.scores.extend_from_slice(heads.span_scores(&w.heads.spans));
                boundaries.extend(heads.boundary_logits(&w.heads.spans));
                slots.extend(heads.slot_logits(&w.heads.spans));
            }
            (Tags::Labels { logits, concentrations }, Heads::Labels(heads), Some(prepared)) => {
                let state = &mut w.heads.labels.label;
                logits.extend(heads.label.logits(n, state));
                if let Some(concentrations) = concentrations {
                    concentrations.extend(heads.label.concentrations(self.kernels, prepared, n, state));
                }
            }
            _ => unreachable!("the tags were made for these heads"),
        }
    }
}

impl Emissions {
    /// Nothing, for what a network will say.
    fn clear(&mut self, network: &TransformerTagger) {
        self.intents.clear();
        match &mut self.tags {
            Tags::Spans { boundaries, slots, spans, .. } => {
                boundaries.clear();
                spans.scores.clear();
                slots.clear(network.shape().slots);
            }
            Tags::Labels { logits, concentrations } => {
                let n_labels = network.labels().map_or(0, LabelHead::n_labels);
                logits.clear(n_labels);
                *concentrations = network.calibration().map(|_| Logits::new(n_labels));
            }
        }
    }
}
