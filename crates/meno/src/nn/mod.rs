//! Layers of networks with explicit forward and backward passes on packed batches, and the trainer of all networks.
//!
//! There is no autodiff and no padding. What a network is made of and how it is put together is the business of
//! [`crate::encoder`] and [`crate::syntax`].

mod batch;
mod bilstm;
pub(crate) mod crf;
mod dropout;
#[cfg(test)]
pub(crate) mod gradient_check;
mod linear;
mod loss;
mod network;
mod norm;
#[cfg(feature = "train")]
pub(crate) mod optimizer;
mod parameters;
pub(crate) mod semi_crf;
#[cfg(feature = "train")]
pub(crate) mod task;
#[cfg(feature = "train")]
pub(crate) mod trainer;
#[cfg(feature = "train")]
mod word_dropout;

pub(crate) use batch::Batch;
pub(crate) use bilstm::{BiLstm, BiLstmState, LstmNames, LstmWeights};
pub(crate) use dropout::Dropout;
pub(crate) use linear::{Linear, Product, Rows, RowsMut, row_of, rows_end, scale_rows};
pub(crate) use loss::LossWeights;
pub(crate) use loss::{PADDING, cross_entropy};
pub use network::Network;
pub(crate) use norm::{LayerNorm, LayerNormState, NormRows};
pub(crate) use parameters::transpose;
#[cfg(test)]
pub(crate) use parameters::values;
pub(crate) use parameters::{Layout, Parameters, Tensor};
#[cfg(feature = "train")]
pub(crate) use task::{Part, Task};
#[cfg(feature = "train")]
pub use trainer::Trainer;
#[cfg(feature = "train")]
pub(crate) use trainer::{Schedule, Stage};
#[cfg(feature = "train")]
pub(crate) use word_dropout::WordDropout;
