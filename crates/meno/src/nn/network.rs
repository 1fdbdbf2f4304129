//! What training needs to know of a network, whichever it is.

use super::linear::Product;
use super::parameters::{Layout, Parameters, Tensor};
use crate::random::Random;

/// A network with one table of embeddings, whose gradients are left in a workspace.
pub trait Network: Sync {
    /// Activations and gradients of some utterances.
    type Workspace: Default + Send + Sync;

    /// Whether it has so many parameters that threads share one copy of them and share out its update. Of a small network each
    /// thread has a copy of its own: repeating the update costs less than moving what one core has written to another.
    const IS_LARGE: bool = false;
    /// Utterances that go through it together.
    const SHARD: usize = 8;

    /// Where the parameters lie.
    fn layout(&self) -> &Layout;
    /// The table of word embeddings.
    fn embedding(&self) -> Tensor;
    /// The matrices in the order of their layout, those that are multiplied at once as one.
    fn matrices(&self) -> Vec<Tensor>;
    /// A matrix of which only what is positive has an effect and a gradient.
    fn rectified_matrix(&self) -> Option<Tensor>;
    /// Parameters to start from.
    fn initial(&self, random: &mut Random) -> Parameters;
    /// The gradients of the matrices after a backward pass, in the order of their layout.
    fn products<'w>(&self, w: &'w Self::Workspace) -> Vec<Product<'w>>;
    /// The gradients of the vectors and dense tables after a backward pass, laid out as they are.
    fn d_vectors<'w>(&self, w: &'w Self::Workspace) -> &'w [f32];
    /// The rows of the table that were looked up, each as often as it was, with their gradients after a backward pass.
    fn d_words<'w>(&self, w: &'w Self::Workspace) -> impl Iterator<Item = (u32, &'w [f32])>;
}
