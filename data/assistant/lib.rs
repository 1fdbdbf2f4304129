//! The requests to a personal assistant that come with Meno, as text.
//!
//! This is data for the `meno` command, in a package of its own because its licence is not that of the program: it is
//! CC0-1.0. The README says what is in it and how it was made.

/// The files of a split, one utterance a line.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// The words: `seq.in`.
    pub words: &'static str,
    /// Their labels: `seq.out`.
    pub labels: &'static str,
    /// The intents: `label`.
    pub intents: &'static str,
    /// The labels with the true slot in place of `unknown`: `seq.true`.
    pub truth: Option<&'static str>,
}

macro_rules! split {
    ($name:literal, $truth:expr) => {
        Split {
            words: include_str!(concat!($name, "/seq.in")),
            labels: include_str!(concat!($name, "/seq.out")),
            intents: include_str!(concat!($name, "/label")),
            truth: $truth,
        }
    };
}

/// To train on.
pub const TRAIN: Split = split!("train", None);
/// To judge by.
pub const VALID: Split = split!("valid", None);
/// To test on.
pub const TEST: Split = split!("test", None);
/// Utterances with concepts that none of the others has.
pub const NEW: Split = split!("new", Some(include_str!("new/seq.true")));
/// Requests that are none of the assistant's business, and small talk, one a line: to set thresholds by.
pub const OUT_OF_SCOPE_DEV: &str = include_str!("out-of-scope/dev");
/// The same to test on.
pub const OUT_OF_SCOPE_TEST: &str = include_str!("out-of-scope/test");
/// How to talk about slots and intents, in TOML.
pub const CORPUS: &str = include_str!("corpus.toml");
