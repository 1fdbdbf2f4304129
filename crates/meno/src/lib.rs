//! Meno, a language understander that knows what it does not know.
//!
//! The list of modules is the flow of the data: a stage imports earlier stages only.

pub mod error;
pub mod atomic;
pub mod random;
pub mod math;

pub mod text;
pub mod label;
pub mod corpus;
pub mod metrics;
pub mod features;
pub mod kernel;
pub mod nn;
pub mod emissions;
pub mod encoder;
pub mod decoding;
pub mod dirichlet;
pub mod uncertainty;
pub mod syntax;
pub mod decision;
pub mod answer;

pub mod external;
pub mod settings;
pub mod engine;
pub mod memory;
pub mod dialogue;
pub mod artifact;
pub mod train;

pub use answer::Annotation;
pub use engine::{Model, Worker};
pub use error::{Error, ErrorKind, Missing, Result};
pub use train::train;
