//! Meno, a language understander that knows what it does not know.
//!
//! The list of modules is the flow of the data: a stage imports earlier stages only.

pub mod error;
pub mod atomic;
pub mod random;

pub mod text;
pub mod corpus;
pub mod metrics;
pub mod vectors;
pub mod features;
pub mod encoder;
pub mod logits;
pub mod decoding;
pub mod dirichlet;
pub mod uncertainty;
pub mod decision;
pub mod syntax;
pub mod spans;

pub mod external;
pub mod engine;
pub mod memory;
pub mod dialogue;
pub mod artifact;
pub mod train;
pub mod experiment;

pub use engine::{Annotation, Model, Worker};
pub use error::{Error, Result};
