//! Meno, a language understander that knows what it does not know.
//!
//! The list of modules is the flow of the data: a stage imports earlier stages only.

// Backward passes stand beside the forward passes, and readers use what is common to them.
#![cfg_attr(not(all(feature = "train", feature = "corpora")), allow(dead_code, unused_imports))]

pub mod error;
pub mod atomic;
pub mod random;
pub mod math;

pub mod text;
pub mod label;
mod utterance;
#[cfg(feature = "corpora")]
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

#[cfg(feature = "corpora")]
pub mod external;
pub mod settings;
pub mod engine;
pub mod memory;
pub mod dialogue;
pub mod artifact;
#[cfg(feature = "train")]
pub mod train;

pub use answer::Annotation;
pub use engine::{Model, Worker};
pub use error::{Error, ErrorKind, Missing, Result};
#[cfg(feature = "train")]
pub use train::train;
pub use utterance::{Corpus, Utterance};
