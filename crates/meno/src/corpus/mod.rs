//! Labelled utterances: what a corpus is in memory, and where it comes from.
//!
//! Whatever the format on disk, in memory labels are IOB2 (`O`, `B-slot`, `I-slot`), one for each word.

use std::path::PathBuf;

mod fingerprint;
pub mod tags;

pub use tags::TokenSpan;

/// One utterance as a corpus gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Utterance {
    /// The words as they stand in the corpus.
    pub words: Vec<String>,
    /// An IOB2 label for each word.
    pub labels: Vec<String>,
    /// In a new-concept set, the labels with the true slot type in place of `unknown`; elsewhere `None`.
    pub truth: Option<Vec<String>>,
    /// The intent; `a#b` means that either is right; empty when the corpus has none.
    pub intent: String,
    /// The line (or the ordinal, in formats without lines) it stands on, from 1.
    pub line: usize,
}

/// A list of utterances and where it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Corpus {
    /// The file or folder.
    pub path: PathBuf,
    /// In the order of the file.
    pub utterances: Vec<Utterance>,
}
