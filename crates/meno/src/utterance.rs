//! Labelled utterances as they are in memory, wherever they come from.
//!
//! Labels are IOB2 (`O`, `B-slot`, `I-slot`), one for each word, and every span begins with `B-`.

use std::path::PathBuf;

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
    /// The line it begins on, from 1.
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
