//! What `benches` run by themselves and no user needs: parts of the slot-gated tagger and of its training, pieces of words.

pub use crate::encoder::{SlotGated, SlotGatedShape, Workspace};
pub use crate::features::{Example, Features, first_intent};
pub use crate::kernel::Kernels;
pub use crate::math::largest;
pub use crate::nn::{Network, Trainer};
pub use crate::train::slot_gated::SlotGatedTask;

use crate::pretrained::Pretrained;

/// How many pieces an encoder cuts a word into.
pub fn n_pieces(encoder: &Pretrained, word: &str) -> usize {
    let mut pieces = Vec::new();
    encoder.pieces.pieces(word, &mut pieces);
    pieces.len()
}
