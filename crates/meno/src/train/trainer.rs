//! Steps and epochs.
//!
//! A batch is cut into shards of at most [`SHARD`] utterances, each with its own activations; gradients are summed
//! over the shards in a fixed order. Threads share out the shards, each with its own replica of the network; what is
//! computed does not depend on how many there are.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::TrainSettings;
use super::optimizer::{Gradient, Replica};
use crate::encoder::{Dropout, EntropyLoss, Kernels, LossWeights, Parameters, SlotGated, Workspace};
use crate::features::UNKNOWN;
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
    gradient: Gradient,
    shards: Vec<Mutex<Shard>>,
    /// How likely each word is read as one outside the vocabulary; empty if none is.
    unknown: Vec<f32>,
    /// One for each thread, all the same.
    replicas: Vec<Mutex<Replica>>,
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
    words: Vec<Vec<u32>>,
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
        let initial = network.initial(&mut Random::new(settings.seed).fork(0));
        Trainer {
            gradient: Gradient::new(network),
            unknown: unknown(examples, network.shape().words, settings.unknown_words()),
            shards: (0..settings.batch.div_ceil(SHARD)).map(|_| Mutex::default()).collect(),
            replicas: vec![Mutex::new(Replica::new(kernels, network, initial))],
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
        for replica in &mut self.replicas {
            held_alone(replica).settle(self.kernels);
        }
        &held_alone(&mut self.replicas[0]).parameters
    }

    /// The state of the network, to be read or, before the next step, replaced.
    pub(super) fn replica(&mut self) -> &mut Replica {
        self.replicas.truncate(1);
        held_alone(&mut self.replicas[0])
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
        let n_shards = batch.len().div_ceil(SHARD);
        let words = batch.iter().flat_map(|&i| self.examples[i].words.iter().copied());
        let unknown = (!self.unknown.is_empty()).then_some(UNKNOWN);
        self.gradient.begin(words.chain(unknown));
        self.each_replica(|trainer, thread, n_threads, replica| {
            replica.begin(trainer.kernels, &trainer.gradient);
            for i in (thread..n_shards).step_by(n_threads) {
                trainer.run_shard(batch, n_shards, i, random, replica);
            }
        });
        let shards: Vec<_> = self.shards[..n_shards].iter_mut().map(held_alone).collect();
        let loss = shards.iter().map(|shard| shard.loss).sum();
        let workspaces: Vec<&Workspace> = shards.iter().map(|shard| &shard.workspace).collect();
        let parameters = &held_alone(&mut self.replicas[0]).parameters;
        let norm = self.gradient.sum(self.kernels, self.network, parameters, &workspaces);
        let scale = if norm > self.settings.clip { self.settings.clip / norm } else { 1.0 };
        self.each_replica(|trainer, _, _, replica| {
            replica.step(trainer.kernels, trainer.settings.rate, &trainer.gradient, scale);
        });
        loss
    }

    /// Runs `work` on every thread, with its number, their number and its replica.
    fn each_replica(&mut self, work: impl Fn(&Self, usize, usize, &mut Replica) + Sync) {
        let n_threads = rayon::current_num_threads();
        if self.replicas.len() != n_threads {
            let replica = self.replica().clone();
            self.replicas.resize_with(n_threads, || Mutex::new(replica.clone()));
        }
        let this = &*self;
        rayon::broadcast(|context| {
            work(this, context.index(), n_threads, &mut held(&this.replicas[context.index()]));
        });
    }

    /// The forward and backward pass of one of the shards into which the batch is dealt out.
    fn run_shard(&self, batch: &[usize], n_shards: usize, i: usize, random: &Random, replica: &Replica) {
        let (network, kernels, rate) = (self.network, self.kernels, self.settings.dropout);
        let Shard { utterances, words, workspace: w, loss } = &mut *held(&self.shards[i]);
        // Dealt out by falling length, the shards are sorted and have about the same work.
        utterances.clear();
        utterances.extend(batch.iter().skip(i).step_by(n_shards));
        let examples = utterances.iter().map(|&i| &self.examples[i]);
        let mut dropout = (rate > 0.0).then(|| Dropout { rate, random: random.fork(i as u64) });
        read_as_unknown(examples.clone(), &self.unknown, random.fork(!(i as u64)), words);
        network.forward(kernels, &replica.parameters, words.iter().map(Vec::as_slice), dropout.as_mut(), w);
        let intent = 1.0 / batch.len() as f32;
        let weights = LossWeights { slots: intent * self.settings.slot_weight, intent };
        let answers = examples.map(|example| (&example.labels[..], example.intent));
        let second = self.settings.calibrate.map(|settings| EntropyLoss {
            lambda: settings.lambda,
            parameters: &replica.parameters,
            transposed: &replica.transposed,
            calibration: settings.bounds,
        });
        *loss = network.loss(kernels, answers, weights, second, w);
        network.backward(kernels, &replica.parameters, &replica.transposed, w, dropout.is_some());
    }
}

/// A word that occurs n times is read as one outside the vocabulary with probability a / (a + n): the rarer, the more it
/// is like the words that were never seen (Kiperwasser and Goldberg, 2016).
fn unknown(examples: &[Example], n_words: usize, a: f32) -> Vec<f32> {
    if a <= 0.0 {
        return Vec::new();
    }
    let mut counts = vec![0.0; n_words];
    for &word in examples.iter().flat_map(|example| &example.words) {
        counts[word as usize] += 1.0;
    }
    counts.iter().map(|n| a / (a + n)).collect()
}

/// The words of the examples, some of them read as if they were not in the vocabulary.
fn read_as_unknown<'a>(
    examples: impl ExactSizeIterator<Item = &'a Example>,
    unknown: &[f32],
    mut random: Random,
    words: &mut Vec<Vec<u32>>,
) {
    words.resize_with(examples.len(), Vec::new);
    for (example, words) in examples.zip(words) {
        words.clone_from(&example.words);
        for word in words.iter_mut().filter(|_| !unknown.is_empty()) {
            if random.uniform() < unknown[*word as usize] {
                *word = UNKNOWN;
            }
        }
    }
}

/// What a mutex holds. A thread that panicked with it takes the whole training down, so it is never half-changed.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same where no other thread can hold it.
fn held_alone<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Cuts the order into batches and shuffles them.
fn batches(order: &[usize], batch: usize, mut random: Random) -> Vec<&[usize]> {
    let mut batches: Vec<&[usize]> = order.chunks(batch).collect();
    random.shuffle(&mut batches);
    batches
}
