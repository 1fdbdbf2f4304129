//! Steps and epochs.
//!
//! A batch is cut into shards of at most [`Network::SHARD`] utterances, each with its own activations; gradients are summed
//! over the shards in a fixed order. Threads share out the shards, each with its own replica of the network unless that is
//! large; what is computed does not depend on how many there are.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::optimizer::{Gradient, Replica};
use super::task::{Part, Task};
use super::{Network, Parameters};
use crate::kernel::{BETA2, Kernels};
use crate::random::Random;

/// Batches whose utterances are sorted by length together.
const WINDOW: usize = 16;

/// How a trainer goes through the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Passes over the data.
    pub epochs: usize,
    /// Utterances of a step.
    pub batch: usize,
    /// Learning rate of Adam.
    pub rate: f32,
    /// The learning rate falls evenly to this share of it.
    pub last_rate: f32,
    /// The gradient's global norm is clipped to this.
    pub clip: f32,
    /// What all randomness comes from.
    pub seed: u64,
    /// Over this share of the steps the learning rate rises evenly from 0, before it falls.
    pub warm_up: f32,
    /// Where the learning rate rises and falls a second time, if it does.
    pub second_stage: Option<Stage>,
    /// Decay of Adam's second moment.
    pub beta2: f32,
}

/// Epochs in which the learning rate rises and falls once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The epochs before it.
    pub after: usize,
    /// Its share of the learning rate.
    pub rate: f32,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule {
            epochs: 1,
            batch: 32,
            rate: 1e-3,
            last_rate: 1.0,
            clip: 5.0,
            seed: 1,
            warm_up: 0.0,
            second_stage: None,
            beta2: BETA2,
        }
    }
}

impl Schedule {
    /// The learning rate when this share of the steps of a stage is done.
    fn rate_at(&self, share: f32) -> f32 {
        if share < self.warm_up {
            return self.rate * (share / self.warm_up);
        }
        let share = (share - self.warm_up) / (1.0 - self.warm_up);
        self.rate * (1.0 - (1.0 - self.last_rate) * share)
    }
}

/// A network in training.
pub struct Trainer<T: Task> {
    task: T,
    kernels: Kernels,
    schedule: Schedule,
    gradient: Gradient,
    shards: Vec<Mutex<Shard<T::Network>>>,
    /// One for each thread, all the same.
    replicas: Vec<Mutex<Replica>>,
    pub(crate) position: Position,
}

/// How far a training has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Position {
    /// Epochs that are done.
    pub epoch: usize,
    /// Steps of the epoch under way that are done.
    pub step: usize,
    /// The sum of their losses.
    pub loss: f64,
}

struct Shard<N: Network> {
    examples: Vec<usize>,
    workspace: N::Workspace,
    loss: f64,
}

impl<N: Network> Default for Shard<N> {
    fn default() -> Self {
        Shard { examples: Vec::new(), workspace: N::Workspace::default(), loss: 0.0 }
    }
}

impl<T: Task> Trainer<T> {
    /// A network that has seen nothing yet.
    pub fn new(task: T, kernels: Kernels, schedule: Schedule) -> Self {
        let network = task.network();
        let initial = task.initial(&mut Random::new(schedule.seed).fork(0));
        let replica = Replica::new(kernels, network, initial).with(task.groups(), schedule.beta2);
        Trainer {
            gradient: Gradient::new(network),
            shards: (0..schedule.batch.div_ceil(T::Network::SHARD)).map(|_| Mutex::default()).collect(),
            replicas: vec![Mutex::new(replica)],
            position: Position::default(),
            task,
            kernels,
            schedule,
        }
    }

    /// Epochs that are done.
    pub fn epoch(&self) -> usize {
        self.position.epoch
    }

    /// The steps that lead to a position; `None` if there is no such position.
    pub(crate) fn steps_to(&self, position: Position) -> Option<usize> {
        let n_steps = self.n_steps();
        let before = position.epoch.checked_mul(n_steps)?;
        if position.step <= n_steps { before.checked_add(position.step) } else { None }
    }

    /// Steps of an epoch.
    fn n_steps(&self) -> usize {
        self.task.n_examples().div_ceil(self.schedule.batch)
    }

    /// The learning rate after so many steps.
    pub(crate) fn rate(&self, step: usize) -> f32 {
        let n_steps = self.n_steps();
        let (mut stage, mut share) = (0..n_steps * self.schedule.epochs, 1.0);
        if let Some(Stage { after, rate }) = self.schedule.second_stage {
            let second = after * n_steps;
            (stage, share) = if step < second { (0..second, 1.0) } else { (second..stage.end, rate) };
        }
        share * self.schedule.rate_at((step - stage.start) as f32 / stage.len().max(1) as f32)
    }

    /// The parameters as they are now.
    pub fn parameters(&mut self) -> &Parameters {
        for replica in &mut self.replicas {
            held_alone(replica).settle(self.kernels);
        }
        &held_alone(&mut self.replicas[0]).parameters
    }

    /// The state of the network, to be read or, before the next step, replaced.
    pub(crate) fn replica(&mut self) -> &mut Replica {
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
        let random = Random::new(self.schedule.seed).fork(1 + self.position.epoch as u64);
        self.task.begin_epoch(self.position.epoch, random.fork(!0));
        let order = self.order(random.fork(0));
        let batches = batches(&order, self.schedule.batch, random.fork(1));
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
        let mut order: Vec<usize> = (0..self.task.n_examples()).collect();
        random.shuffle(&mut order);
        for window in order.chunks_mut(WINDOW * self.schedule.batch) {
            window.sort_by_key(|&i| std::cmp::Reverse(self.task.n_words(i)));
        }
        order
    }

    /// One step on utterances of falling length; gives the mean loss of the batch.
    pub(crate) fn step(&mut self, batch: &[usize], random: &Random) -> f64 {
        let n_shards = batch.len().div_ceil(T::Network::SHARD);
        self.gradient.begin(self.task.words(batch));
        if T::Network::IS_LARGE {
            self.run_shards(batch, n_shards, random);
        } else {
            self.each_replica(|trainer, thread, n_threads, replica| {
                replica.begin(trainer.kernels, &trainer.gradient);
                for i in (thread..n_shards).step_by(n_threads) {
                    trainer.run_shard(batch, n_shards, i, random, replica);
                }
            });
        }
        let shards: Vec<_> = self.shards[..n_shards].iter_mut().map(held_alone).collect();
        let loss = shards.iter().map(|shard| shard.loss).sum();
        let workspaces: Vec<_> = shards.iter().map(|shard| &shard.workspace).collect();
        let parameters = &held_alone(&mut self.replicas[0]).parameters;
        let norm = self.gradient.sum(self.kernels, self.task.network(), parameters, &workspaces);
        let scale = if norm > self.schedule.clip { self.schedule.clip / norm } else { 1.0 };
        let n_done = held_alone(&mut self.replicas[0]).sizes.len();
        let rate = self.rate(n_done);
        if T::Network::IS_LARGE {
            held_alone(&mut self.replicas[0]).step_on_threads(self.kernels, rate, &self.gradient, scale);
        } else {
            self.each_replica(|trainer, _, _, replica| {
                replica.step(trainer.kernels, rate, &trainer.gradient, scale);
            });
        }
        loss
    }

    /// Runs the shards on all threads with one replica of the network.
    fn run_shards(&mut self, batch: &[usize], n_shards: usize, random: &Random) {
        held_alone(&mut self.replicas[0]).begin(self.kernels, &self.gradient);
        let (this, replica) = (&*self, &*held(&self.replicas[0]));
        rayon::broadcast(|context| {
            for i in (context.index()..n_shards).step_by(context.num_threads()) {
                this.run_shard(batch, n_shards, i, random, replica);
            }
        });
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
        let Shard { examples, workspace, loss } = &mut *held(&self.shards[i]);
        // Dealt out by falling length, the shards are sorted and have about the same work.
        examples.clear();
        examples.extend(batch.iter().skip(i).step_by(n_shards));
        let part = Part { examples, batch, epoch: self.position.epoch, random, shard_idx: i as u64 };
        *loss = self.task.run(self.kernels, replica, &part, workspace);
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
