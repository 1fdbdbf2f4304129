//! The one error type of the engine: every message names the file, the line and the value that is wrong.

use std::io;
use std::path::{Path, PathBuf};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong, in words a user can act on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file or folder could not be written; nothing is left half-written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A corpus holds something that cannot be read as one.
    #[error("{}:{line}: {problem}", path.display())]
    Corpus {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, with the value.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// A model file is damaged, of another kind, or newer than this program.
    #[error("{}: {problem}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Gold and predicted labels of an utterance differ in number, so they cannot be compared word by word.
    #[error("utterance {utterance}: {gold} gold labels but {predicted} predicted")]
    LabelCount {
        /// The utterance, from 1, in the order in which they were counted.
        utterance: usize,
        /// How many gold labels.
        gold: usize,
        /// How many predicted labels.
        predicted: usize,
    },
    /// Logits cannot be read as the concentrations of a Dirichlet.
    #[error("{problem}")]
    Dirichlet {
        /// What is wrong, with the value.
        problem: String,
    },
    /// A file with logits, or one that says how to read them, cannot be used.
    #[error("{}: {problem}", path.display())]
    Logits {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the row and the value.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// A setting is out of range or does not fit the data.
    #[error("{problem}")]
    Setting {
        /// What is wrong, with the value.
        problem: String,
        /// What to do about it.
        hint: String,
    },
}

impl Error {
    /// What the user can do about it, if there is something to say.
    pub fn hint(&self) -> Option<&str> {
        let hint = match self {
            Error::Corpus { hint, .. } | Error::Logits { hint, .. } | Error::Setting { hint, .. } => {
                hint.as_str()
            }
            Error::Model { .. } => "a model is made by `meno train DIR -o MODEL`",
            Error::Dirichlet { .. } => "logits are finite numbers, one for each label",
            Error::LabelCount { .. } => "there must be one label for each word of the corpus, in both",
            Error::Read { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => "check the path; `meno data stats DIR` shows what is in a folder",
                io::ErrorKind::InvalidData => "it must be text in UTF-8",
                io::ErrorKind::PermissionDenied => "ask its owner for the right to read it",
                _ => "",
            },
            Error::Write { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => "make the folder first",
                io::ErrorKind::IsADirectory => "name a file, not a folder",
                io::ErrorKind::StorageFull => "free some space, or write to another disk",
                _ => "",
            },
        };
        (!hint.is_empty()).then_some(hint)
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Error::Read { path: path.to_owned(), source }
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Error::Write { path: path.to_owned(), source }
    }

    pub(crate) fn logits(path: &Path, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::Logits { path: path.to_owned(), problem: problem.into(), hint: hint.into() }
    }

    pub(crate) fn corpus(
        path: &Path,
        line: usize,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Error::Corpus { path: path.to_owned(), line, problem: problem.into(), hint: hint.into() }
    }
}
