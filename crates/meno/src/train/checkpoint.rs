//! Where a stopped training goes on: the parameters, Adam's moments, the position and the best epoch so far.
//!
//! The file is safetensors with floats in the network's own layout. It is read by the program that wrote it, with the
//! settings and the corpus it was written for; anything else is refused.

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::{Best, Fit, TrainSettings};
use crate::engine::Record;
use crate::nn::trainer::Position;
use crate::nn::{Parameters, Task, Trainer};
use crate::{Error, Result};

/// The state of a training between two steps.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    state: State,
    floats: Vec<(String, Vec<f32>)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    program: String,
    settings: TrainSettings,
    corpus: String,
    position: Position,
    steps: usize,
    seen: Vec<u32>,
    best: Option<Record>,
}

const METADATA_KEY: &str = "meno-checkpoint";
const PROGRAM: &str = concat!("meno ", env!("CARGO_PKG_VERSION"));
const NAMES: [&str; 3] = ["parameters", "first_moment", "second_moment"];
const BEST: &str = "best";
/// More steps than this are taken for damage: at a thousand a second they would take 18 hours.
const MAX_STEPS: usize = 1 << 26;

impl Checkpoint {
    pub(super) fn of(fit: &Fit<'_>, trainer: &mut Trainer<impl Task>, best: Option<&Best>) -> Self {
        let position = trainer.position;
        let replica = trainer.replica();
        let state = State {
            program: PROGRAM.to_owned(),
            settings: fit.settings.clone(),
            corpus: fit.fingerprint.clone(),
            position,
            steps: replica.sizes.len(),
            seen: replica.seen.clone(),
            best: best.map(|best| best.record.clone()),
        };
        let all: [&[f32]; 3] = [&replica.parameters, &replica.first, &replica.second];
        let mut floats: Vec<_> =
            NAMES.iter().zip(all).map(|(name, floats)| (name.to_string(), floats.to_vec())).collect();
        floats.extend(best.map(|best| (BEST.to_owned(), best.parameters.to_vec())));
        Checkpoint { state, floats }
    }

    /// Puts a trainer where this checkpoint was taken; gives the best epoch so far.
    pub(super) fn restore(mut self, fit: &Fit<'_>, trainer: &mut Trainer<impl Task>) -> Result<Option<Best>> {
        let refuse = |problem: String| Err(Error::Checkpoint { problem });
        let State { program, settings, corpus, position, steps, seen, best } = self.state;
        if program != PROGRAM {
            return refuse(format!("the checkpoint was written by {program}, this is {PROGRAM}"));
        }
        // More epochs may be asked for than at first, unless the learning rate depends on their number.
        let epochs = if settings.is_span_level() { settings.epochs } else { fit.settings.epochs };
        if (TrainSettings { epochs, ..settings.clone() }) != *fit.settings {
            return refuse("the checkpoint is of a training with other settings".to_owned());
        }
        if corpus != fit.fingerprint {
            return refuse("the checkpoint is of a training on other data".to_owned());
        }
        let len = fit.layout().len();
        let expected = NAMES.len() + usize::from(best.is_some());
        // The optimizer allocates by the number of steps, so it is not believed.
        let whole = trainer.steps_to(position) == Some(steps)
            && steps <= MAX_STEPS
            && seen.len() == trainer.replica().seen.len()
            && seen.iter().all(|&seen| seen as usize <= steps)
            && self.floats.len() == expected
            && self.floats.iter().all(|(_, floats)| floats.len() >= len)
            && self.floats.iter().flat_map(|(_, floats)| floats).all(|x| x.is_finite());
        if !whole {
            return refuse("the checkpoint is damaged".to_owned());
        }
        trainer.position = position;
        let best = best.map(|record| {
            // As if all epochs that are asked for now had been asked for from the start.
            let (settings, language) = (fit.settings.clone(), fit.language.clone());
            let record = Record { settings, language, ..record };
            let floats = self.floats.pop().map(|(_, floats)| floats).unwrap_or_default();
            let mut parameters = Parameters::zeros(fit.layout());
            parameters[..len].copy_from_slice(&floats[..len]);
            Best { record, parameters }
        });
        let rates: Vec<f32> = (0..steps).map(|step| trainer.rate(step)).collect();
        let replica = trainer.replica();
        let all: [&mut [f32]; 3] = [&mut replica.parameters, &mut replica.first, &mut replica.second];
        for (to, (_, from)) in all.into_iter().zip(&self.floats) {
            to[..len].copy_from_slice(&from[..len]);
        }
        replica.restore(fit.kernels, &rates, seen);
        Ok(best)
    }

    /// The settings of the training it is of.
    pub fn settings(&self) -> &TrainSettings {
        &self.state.settings
    }

    /// Writes the checkpoint; nothing is left half-written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let json = serde_json::to_string(&self.state).expect("a state of plain data can be written");
        let metadata = HashMap::from([(METADATA_KEY.to_owned(), json)]);
        let bytes: Vec<(&str, Vec<u8>)> = (self.floats.iter())
            .map(|(name, floats)| (name.as_str(), floats.iter().flat_map(|x| x.to_le_bytes()).collect()))
            .collect();
        let views = bytes.iter().map(|(name, bytes)| {
            let view = TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes);
            (*name, view.expect("four bytes for each float"))
        });
        let file = safetensors::serialize(views, Some(metadata))
            .expect("named tensors of known shape can be written");
        crate::atomic::write(path, &file)
    }

    /// Reads a checkpoint.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| Error::read(path, source))?;
        let damaged = |problem: String| Error::Model { path: path.to_owned(), problem };
        let not = |_| damaged("not a checkpoint of meno".to_owned());
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(not)?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(not)?;
        let json = header.metadata().as_ref().and_then(|metadata| metadata.get(METADATA_KEY));
        let json = json.ok_or_else(|| damaged("not a checkpoint of meno".to_owned()))?;
        let state: State =
            serde_json::from_str(json).map_err(|e| damaged(format!("damaged checkpoint of meno: {e}")))?;
        let names = NAMES.into_iter().chain(state.best.is_some().then_some(BEST));
        let floats = names.map(|name| {
            let tensor =
                tensors.tensor(name).map_err(|e| damaged(format!("damaged checkpoint of meno: {e}")))?;
            if tensor.dtype() != Dtype::F32 {
                return Err(damaged(format!("damaged checkpoint of meno: {name} is {:?}", tensor.dtype())));
            }
            let (floats, _) = tensor.data().as_chunks::<4>();
            Ok((name.to_owned(), floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()))
        });
        Ok(Checkpoint { state, floats: floats.collect::<Result<_>>()? })
    }
}
