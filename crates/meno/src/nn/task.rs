//! What a trainer trains: a network and its examples.

use super::optimizer::{Group, Replica};
use super::{Network, Parameters};
use crate::kernel::Kernels;
use crate::random::Random;

/// Examples that may be drawn anew for each epoch, and the passes over some of them.
pub trait Task: Sync {
    /// What is trained.
    type Network: Network;

    /// What is trained.
    fn network(&self) -> &Self::Network;
    /// What the training starts from.
    fn initial(&self, random: &mut Random) -> Parameters {
        self.network().initial(random)
    }
    /// Parameters with learning rates of their own, by where they begin: the first group begins with 0.
    fn groups(&self) -> Vec<Group> {
        vec![Group::default()]
    }
    /// Examples of an epoch.
    fn n_examples(&self) -> usize;
    /// Words of an example of this epoch; at least one.
    fn n_words(&self, example_idx: usize) -> usize;
    /// Draws the examples of an epoch, the first of which is 0.
    fn begin_epoch(&mut self, epoch: usize, random: Random);
    /// The rows of the table of embeddings that a batch may touch.
    fn words(&self, batch: &[usize]) -> impl Iterator<Item = u32>;
    /// The forward and backward pass of some examples; gives their part of the loss of the batch.
    fn run(
        &self,
        kernels: Kernels,
        replica: &Replica,
        part: &Part<'_>,
        w: &mut <Self::Network as Network>::Workspace,
    ) -> f64;
}

/// Some examples of a batch.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// By falling length.
    pub examples: &'a [usize],
    /// The examples of the whole batch.
    pub batch: &'a [usize],
    /// Epochs that are done.
    pub epoch: usize,
    /// The random numbers of the step.
    pub random: &'a Random,
    /// Which shard it is.
    pub shard_idx: u64,
}
