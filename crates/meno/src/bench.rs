//! What `benches` run by themselves and no user needs: parts of the slot-gated tagger, of its training and of the kernels, pieces of
//! words.

pub use crate::encoder::{SlotGated, SlotGatedShape, Workspace};
pub use crate::features::{Example, Features, first_intent};
pub use crate::kernel::{
    Bf16Matrix, Bf16Product, Buffer, Gemm, Instructions, Int8Matrix, Int8Product, Int8Rows, Kernels, Right,
    Start, Strided, Term, round_to_bf16,
};
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
