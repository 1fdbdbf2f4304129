//! Training: batches, shards, epochs, and which parameters are kept.
//!
//! A batch is cut into shards of at most [`SHARD`] utterances, each with its own gradient, summed in a fixed order.
//! Threads share out the shards; what is computed does not depend on how many there are.

mod optimizer;

use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::encoder::kernel::Buffer;
use crate::encoder::{Dropout, Kernels, Parameters, SlotGated, Workspace};
use crate::random::Random;
use optimizer::Optimizer;

/// Utterances of a shard.
const SHARD: usize = 8;

/// One utterance as ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// Word ids.
    pub words: Vec<u32>,
    /// A label id for each word.
    pub labels: Vec<u32>,
    /// The intent's id.
    pub intent: u32,
}

/// How to train.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TrainSettings {
    /// Passes over the data.
    pub epochs: usize,
    /// Utterances of a step.
    pub batch: usize,
    /// Learning rate of Adam.
    pub rate: f32,
    /// Share of activations dropped before and after the LSTM.
    pub dropout: f32,
    /// The gradient's global norm is clipped to this.
    pub clip: f32,
    /// What all randomness comes from.
    pub seed: u64,
}

impl Default for TrainSettings {
    fn default() -> Self {
        TrainSettings { epochs: 20, batch: 16, rate: 1e-3, dropout: 0.5, clip: 5.0, seed: 1 }
    }
}

struct Shard {
    utterances: Vec<usize>,
    workspace: Workspace,
    loss: f64,
}

/// A network in training.
pub struct Trainer<'a> {
    network: &'a SlotGated,
    kernels: Kernels,
    examples: &'a [Example],
    settings: TrainSettings,
    parameters: Parameters,
    transposed: Buffer,
    optimizer: Optimizer,
    shards: Vec<Shard>,
}

impl<'a> Trainer<'a> {
    /// A network that has seen nothing yet.
    pub fn new(
        network: &'a SlotGated,
        kernels: Kernels,
        examples: &'a [Example],
        settings: TrainSettings,
    ) -> Self {
        let n_shards = settings.batch.div_ceil(SHARD);
        let random = Random::new(settings.seed);
        Trainer {
            parameters: network.initial(&mut random.fork(0)),
            transposed: Buffer::zeros(network.layout().dense()),
            optimizer: Optimizer::new(
                network.layout(),
                &network.matrices(),
                network.embedding(),
                settings.clip,
            ),
            shards: (0..n_shards)
                .map(|_| Shard { utterances: Vec::new(), workspace: Workspace::default(), loss: 0.0 })
                .collect(),
            network,
            kernels,
            examples,
            settings,
        }
    }

    /// The parameters as they are now.
    pub fn parameters(&mut self) -> &Parameters {
        self.optimizer.settle(self.kernels, &mut self.parameters);
        &self.parameters
    }

    /// One pass over the data in random order; `after_step` is told the share done and the mean loss, and can stop it.
    pub fn epoch(
        &mut self,
        epoch: usize,
        mut after_step: impl FnMut(f64, f64) -> ControlFlow<()>,
    ) -> ControlFlow<(), f64> {
        let random = Random::new(self.settings.seed).fork(1 + epoch as u64);
        let mut order: Vec<usize> = (0..self.examples.len()).collect();
        random.clone().shuffle(&mut order);
        let n_steps = order.len().div_ceil(self.settings.batch);
        let mut loss = 0.0;
        for (step, batch) in order.chunks_mut(self.settings.batch).enumerate() {
            loss += self.step(batch, &random.fork(1 + step as u64));
            let done = step + 1;
            if after_step(done as f64 / n_steps as f64, loss / done as f64).is_break() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(loss / n_steps as f64)
    }

    /// One step; gives the mean loss of the batch.
    fn step(&mut self, batch: &mut [usize], random: &Random) -> f64 {
        let (network, kernels, examples) = (self.network, self.kernels, self.examples);
        // Dealt out by falling length, the shards are sorted and have about the same work.
        batch.sort_by_key(|&i| std::cmp::Reverse(examples[i].words.len()));
        let n_shards = batch.len().div_ceil(SHARD);
        for (i, shard) in self.shards[..n_shards].iter_mut().enumerate() {
            shard.utterances.clear();
            shard.utterances.extend(batch.iter().skip(i).step_by(n_shards));
        }
        let words = batch.iter().flat_map(|&i| examples[i].words.iter().copied());
        self.optimizer.touch(kernels, words, &mut self.parameters);
        network.transpose(kernels, &self.parameters, &mut self.transposed);
        let (parameters, transposed) = (&self.parameters, &self.transposed);
        let (rate, weight) = (self.settings.dropout, 1.0 / batch.len() as f32);
        let shards = &mut self.shards[..n_shards];
        shards.par_iter_mut().enumerate().for_each(|(i, shard)| {
            let examples = shard.utterances.iter().map(|&i| &examples[i]);
            let mut dropout = Dropout { rate, random: random.fork(i as u64) };
            let w = &mut shard.workspace;
            let words = examples.clone().map(|example| &example.words[..]);
            network.forward(kernels, parameters, words, Some(&mut dropout), w);
            let answers = examples.map(|example| (&example.labels[..], example.intent));
            shard.loss = network.loss(kernels, answers, weight, w);
            network.backward(kernels, parameters, transposed, w, true);
        });
        let loss = shards.iter().map(|shard| shard.loss).sum();
        let workspaces: Vec<&Workspace> = shards.iter().map(|shard| &shard.workspace).collect();
        self.optimizer.step(kernels, self.settings.rate, network, &workspaces, &mut self.parameters);
        loss
    }
}
