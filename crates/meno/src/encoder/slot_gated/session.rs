//! Runs a slot-gated network with its weights.

use std::sync::Arc;

use super::{Calibration, Prepared, SlotGated, Workspace};
use crate::emissions::{Emissions, Logits, Tags};
use crate::encoder::Once;
use crate::features::Token;
use crate::kernel::Kernels;
use crate::nn::Parameters;

/// Words that are prepared: they make up nearly all text, and take 2 MB.
const PREPARED: usize = 1000;

/// A network with its weights.
#[derive(Debug)]
pub(crate) struct SlotGatedEncoder {
    pub(crate) network: SlotGated,
    pub(crate) parameters: Parameters,
    pub(crate) calibration: Calibration,
    prepared: Once<Prepared>,
}

impl SlotGatedEncoder {
    pub(crate) fn new(network: SlotGated, parameters: Parameters, calibration: Calibration) -> Self {
        SlotGatedEncoder { network, parameters, calibration, prepared: Once::default() }
    }

    pub(crate) fn prepare(&self, kernels: Kernels) -> Arc<Prepared> {
        let prepare = || self.network.prepare(kernels, &self.parameters, self.calibration, PREPARED);
        self.prepared.get(kernels, prepare)
    }
}

/// The buffers of one thread.
pub(crate) struct SlotGatedSession {
    encoder: Arc<SlotGatedEncoder>,
    kernels: Kernels,
    prepared: Arc<Prepared>,
    workspace: Workspace,
    words: Vec<u32>,
    pub emissions: Emissions,
}

impl SlotGatedSession {
    pub(crate) fn new(encoder: Arc<SlotGatedEncoder>, kernels: Kernels) -> Self {
        SlotGatedSession {
            prepared: encoder.prepare(kernels),
            encoder,
            kernels,
            workspace: Workspace::default(),
            words: Vec::new(),
            emissions: Emissions::default(),
        }
    }

    pub(crate) fn emit(&mut self, tokens: &[Token]) -> &Emissions {
        let SlotGatedEncoder { network, parameters, .. } = &*self.encoder;
        let w = &mut self.workspace;
        self.words.clear();
        self.words.extend(tokens.iter().map(|token| token.word));
        network.infer(self.kernels, parameters, &self.prepared, &self.words, w);
        let Emissions { tags, intents } = &mut self.emissions;
        intents.clear();
        intents.extend_from_slice(network.intent_logits(w).next().unwrap_or(&[]));
        if let Tags::Labels { logits, concentrations } = tags {
            logits.clear(network.shape().labels);
            logits.extend(network.slot_logits(w));
            if network.calibration().is_some() {
                let concentrations = concentrations.get_or_insert_with(Logits::default);
                concentrations.clear(network.shape().labels);
                concentrations.extend(network.concentrations(self.kernels, &self.prepared, w));
            }
        }
        &self.emissions
    }
}
