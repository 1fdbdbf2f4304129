//! Steps and epochs.
//!
//! A batch is cut into shards of at most [`SHARD`] utterances, each with its own activations; gradients are summed
//! over the shards in a fixed order. Threads share out the shards; what is computed does not depend on how many
//! there are.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::TrainSettings;
use super::optimizer::Optimizer;
use crate::encoder::kernel::Buffer;
use crate::encoder::{Dropout, Kernels, LossWeights, Parameters, SlotGated, Workspace, transpose};
use crate::random::Random;

/// Utterances of a shard.
const SHARD: usize = 8;

/// Batches whose utterances are sorted by length together.
const WINDOW: usize = 16;

/// One utterance as ids; it has at least one word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// Word ids.
    pub words: Vec<u32>,
    /// A label id for each word.
    pub labels: Vec<u32>,
    /// The intent's id.
    pub intent: u32,
}

/// A network in training.
pub struct Trainer<'a> {
    network: &'a SlotGated,
    kernels: Kernels,
    examples: &'a [Example],
    settings: TrainSettings,
    transposed: Buffer,
    shards: Vec<Shard>,
    pub(super) parameters: Parameters,
    pub(super) optimizer: Optimizer,
    pub(super) position: Position,
}

/// How far a training has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Position {
    /// Epochs that are done.
    pub epoch: usize,
    /// Steps of the epoch under way that are done.
    pub step: usize,
    /// The sum of their losses.
    pub loss: f64,
}

#[derive(Default)]
struct Shard {
    utterances: Vec<usize>,
    workspace: Workspace,
    loss: f64,
}

impl<'a> Trainer<'a> {
    /// A network that has seen nothing yet.
    pub fn new(
        network: &'a SlotGated,
        kernels: Kernels,
        examples: &'a [Example],
        settings: TrainSettings,
    ) -> Self {
        let (layout, table) = (network.layout(), network.embedding());
        Trainer {
            parameters: network.initial(&mut Random::new(settings.seed).fork(0)),
            transposed: Buffer::zeros(layout.dense()),
            optimizer: Optimizer::new(layout, &network.matrices(), table, settings.clip),
            shards: (0..settings.batch.div_ceil(SHARD)).map(|_| Shard::default()).collect(),
            position: Position::default(),
            network,
            kernels,
            examples,
            settings,
        }
    }

    /// Epochs that are done.
    pub fn epoch(&self) -> usize {
        self.position.epoch
    }

    /// The steps that lead to a position; `None` if there is no such position.
    pub(super) fn steps_to(&self, position: Position) -> Option<usize> {
        let n_steps = self.n_steps();
        let before = position.epoch.checked_mul(n_steps)?;
        if position.step <= n_steps { before.checked_add(position.step) } else { None }
    }

    /// Steps of an epoch.
    fn n_steps(&self) -> usize {
        self.examples.len().div_ceil(self.settings.batch)
    }

    /// The parameters as they are now.
    pub fn parameters(&mut self) -> &Parameters {
        self.optimizer.settle(self.kernels, &mut self.parameters);
        &self.parameters
    }

    /// Goes on to the end of the epoch, in random order; gives its mean loss.
    ///
    /// `after_step` is told the share done and the mean loss so far, and can stop it.
    pub fn run_epoch(
        &mut self,
        mut after_step: impl FnMut(f64, f64) -> ControlFlow<()>,
    ) -> ControlFlow<(), f64> {
        let random = Random::new(self.settings.seed).fork(1 + self.position.epoch as u64);
        let order = self.order(random.fork(0));
        let batches = batches(&order, self.settings.batch, random.fork(1));
        let n_steps = self.n_steps();
        for (step, batch) in batches.iter().enumerate().skip(self.position.step) {
            self.position.loss += self.step(batch, &random.fork(2 + step as u64));
            self.position.step = step + 1;
            let done = self.position.step as f64;
            if after_step(done / n_steps as f64, self.position.loss / done).is_break() {
                return ControlFlow::Break(());
            }
        }
        let loss = self.position.loss / n_steps as f64;
        self.position = Position { epoch: self.position.epoch + 1, ..Position::default() };
        ControlFlow::Continue(loss)
    }

    /// All examples in random order, but sorted by falling length within each [`WINDOW`] of batches, so that the
    /// utterances of a batch end at about the same time step.
    fn order(&self, mut random: Random) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.examples.len()).collect();
        random.shuffle(&mut order);
        for window in order.chunks_mut(WINDOW * self.settings.batch) {
            window.sort_by_key(|&i| std::cmp::Reverse(self.examples[i].words.len()));
        }
        order
    }

    /// One step on utterances of falling length; gives the mean loss of the batch.
    pub(super) fn step(&mut self, batch: &[usize], random: &Random) -> f64 {
        let (network, kernels, examples) = (self.network, self.kernels, self.examples);
        // Dealt out by falling length, the shards are sorted and have about the same work.
        let n_shards = batch.len().div_ceil(SHARD);
        for (i, shard) in self.shards[..n_shards].iter_mut().enumerate() {
            shard.utterances.clear();
            shard.utterances.extend(batch.iter().skip(i).step_by(n_shards));
        }
        let words = batch.iter().flat_map(|&i| examples[i].words.iter().copied());
        self.optimizer.touch(kernels, words, &mut self.parameters);
        transpose(kernels, &network.matrices(), &self.parameters, &mut self.transposed);
        let (parameters, transposed) = (&self.parameters, &self.transposed);
        let rate = self.settings.dropout;
        let intent = 1.0 / batch.len() as f32;
        let weights = LossWeights { slots: intent * self.settings.slot_weight, intent };
        let shards = &mut self.shards[..n_shards];
        shards.par_iter_mut().enumerate().for_each(|(i, shard)| {
            let examples = shard.utterances.iter().map(|&i| &examples[i]);
            let mut dropout = (rate > 0.0).then(|| Dropout { rate, random: random.fork(i as u64) });
            let w = &mut shard.workspace;
            let words = examples.clone().map(|example| &example.words[..]);
            network.forward(kernels, parameters, words, dropout.as_mut(), w);
            let answers = examples.map(|example| (&example.labels[..], example.intent));
            shard.loss = network.loss(kernels, answers, weights, w);
            network.backward(kernels, parameters, transposed, w, dropout.is_some());
        });
        let loss = shards.iter().map(|shard| shard.loss).sum();
        let workspaces: Vec<&Workspace> = shards.iter().map(|shard| &shard.workspace).collect();
        self.optimizer.step(kernels, self.settings.rate, network, &workspaces, &mut self.parameters);
        loss
    }
}

/// Cuts the order into batches and shuffles them.
fn batches(order: &[usize], batch: usize, mut random: Random) -> Vec<&[usize]> {
    let mut batches: Vec<&[usize]> = order.chunks(batch).collect();
    random.shuffle(&mut batches);
    batches
}
