//! From word ids to logits: the only stage that sees tensors.
//!
//! Layers have explicit forward and backward passes on packed batches; there is no autodiff and no padding.
//! What leaves is a row of slot logits for each word and a row of intent logits for each utterance.

mod batch;
mod bilstm;
pub(crate) mod chain;
mod dropout;
pub(crate) mod kernel;
mod linear;
mod loss;
mod network;
mod parameters;
mod slot_gated;
mod span_tagger;
#[cfg(test)]
pub(crate) mod tests;

pub use batch::Batch;
pub(crate) use bilstm::{BiLstm, BiLstmState, LstmNames};
pub use dropout::Dropout;
pub use kernel::{Instructions, Kernels};
pub(crate) use linear::{Linear, Product, Rows, RowsMut, row_of, rows_end};
pub use loss::LossWeights;
pub use network::Network;
pub(crate) use parameters::transpose;
pub use parameters::{Layout, Parameters, Tensor};
pub use slot_gated::{Calibration, EntropyLoss, Prepared, SlotGated, SlotGatedShape, Workspace};
pub(crate) use span_tagger::PreparedTagger;
pub use span_tagger::{Form, SpanTagger, SpanTaggerShape, TaggerWorkspace, Token};
