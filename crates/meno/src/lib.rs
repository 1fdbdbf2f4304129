//! Meno, a language understander that knows what it does not know.
//!
//! The list of modules is the flow of the data: a stage imports earlier stages only.

pub mod atomic;
pub mod corpus;
pub mod error;
pub mod random;
pub mod text;

pub mod metrics;

pub use error::{Error, Result};
