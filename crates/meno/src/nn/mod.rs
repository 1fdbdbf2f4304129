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
pub(crate) mod optimizer;
mod parameters;
pub(crate) mod task;
pub(crate) mod trainer;
mod word_dropout;

pub use batch::Batch;
pub(crate) use bilstm::{BiLstm, BiLstmState, LstmNames};
pub use dropout::Dropout;
pub(crate) use linear::{Linear, Product, Rows, RowsMut, row_of, rows_end};
pub use loss::LossWeights;
pub(crate) use loss::{PADDING, cross_entropy};
pub use network::Network;
pub(crate) use parameters::transpose;
#[cfg(test)]
pub(crate) use parameters::values;
pub use parameters::{Layout, Parameters, Tensor};
pub use task::{Part, Task};
pub use trainer::{Schedule, Trainer};
pub(crate) use word_dropout::WordDropout;
