//! Labelled utterances as they are in memory, wherever they come from.
//!
//! Labels are IOB2 (`O`, `B-slot`, `I-slot`), one for each word, and every span begins with `B-`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::description::Description;

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
    /// Values that the corpus names outside of its utterances, sorted.
    pub known_values: Vec<KnownValue>,
    /// How to talk about it; only in what is trained on.
    pub description: Description,
    /// Whether the words were cut out of raw text by the tokenizer that reads users' text.
    pub raw: bool,
}

/// A phrase that a corpus says to be a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KnownValue {
    /// The slot that it is a value of; `None` if the corpus does not say, as with the synonyms of Rasa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// What people say, as the corpus writes it: `NYC`.
    pub phrase: String,
    /// What it stands for, if that is something else: `New York`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
}

impl KnownValue {
    /// A value; one that stands for itself stands for nothing else.
    pub fn new(slot: Option<&str>, phrase: &str, stands_for: Option<&str>) -> Self {
        let (phrase, stands_for) = (phrase.trim(), stands_for.map(str::trim));
        KnownValue {
            slot: slot.map(str::to_owned),
            phrase: phrase.to_owned(),
            stands_for: stands_for.filter(|value| !value.is_empty() && *value != phrase).map(str::to_owned),
        }
    }
}
