//! The one error type of the engine: every message names the file, the line and the value that is wrong.

use std::path::{Path, PathBuf};
use std::{fmt, io};

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
    /// A line of a corpus is not in the format that the corpus is read as.
    #[error("{}:{line}: {problem}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, with the value.
        problem: String,
    },
    /// Words and labels of a corpus differ in number.
    #[error("{}:{line}: {problem}", path.display())]
    Alignment {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, with the numbers.
        problem: String,
    },
    /// A format has no way to say what is in an utterance.
    #[error("{}:{line}: {problem}", path.display())]
    Unwritable {
        /// The file that the corpus was read from.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The format, and what it cannot hold.
        problem: String,
    },
    /// A folder is no dataset, or has not the split that is needed.
    #[error("{problem}")]
    Dataset {
        /// What is wrong, with the folder.
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
    /// A pretrained encoder cannot be used.
    #[error("{}: {problem}", path.display())]
    Pretrained {
        /// The file, or the folder.
        path: PathBuf,
        /// What is wrong, with the key or tensor and the value.
        problem: String,
        /// What to do about it.
        hint: String,
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
    /// A file with logits lacks a part that nothing else brings.
    #[error("{}: there are no {lacks} in it", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// What is not there.
        lacks: Missing,
    },
    /// A file that should say how to read logits says no such thing.
    #[error("{}: {problem}", path.display())]
    Calibration {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A setting is out of range or does not fit the data.
    #[error("{problem}")]
    Setting {
        /// What is wrong, with the value.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// Nothing is called so: no score, no format, no label scheme.
    #[error("{problem}")]
    Name {
        /// What is wrong, with the name.
        problem: String,
        /// The names that there are.
        hint: String,
    },
    /// No threshold can be chosen: there is nothing to choose it on, or none keeps the promise.
    #[error("{problem}")]
    Threshold {
        /// What is wrong.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// Numbers that cannot be measured, or sequences that cannot be compared.
    #[error("{problem}")]
    Evaluation {
        /// What is wrong, with its place and the value.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// The model is of an architecture that cannot do what is asked.
    #[error("{problem}")]
    Architecture {
        /// What is asked, and what the model is.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// Who may ask a server is not said, or cannot be read.
    #[error("{problem}")]
    Access {
        /// What is wrong, with the file and line if there are any.
        problem: String,
        /// What to do about it.
        hint: String,
    },
    /// A training was stopped before there was a model.
    #[error("the training was stopped")]
    Stopped,
    /// A training has nothing left to do.
    #[error("nothing left to train after epoch {epoch}")]
    Trained {
        /// The last epoch, from 1.
        epoch: usize,
    },
    /// A checkpoint is damaged, or of a training with other settings or data.
    #[error("{problem}")]
    Checkpoint {
        /// What is wrong.
        problem: String,
    },
    /// Threads could not be started.
    #[error("{problem}")]
    Threads {
        /// How many, and why.
        problem: String,
    },
    /// A concept is not fit to be remembered.
    #[error("{problem}")]
    Concept {
        /// What is wrong, with the value.
        problem: String,
        /// What to do about it.
        hint: String,
    },
}

/// What a file with logits may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Missing {
    /// The words of the utterances.
    Words,
    /// The names of the labels, one for each logit of a word.
    LabelNames,
    /// The right labels of the words.
    GoldLabels,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Missing::Words => "words",
            Missing::LabelNames => "label names",
            Missing::GoldLabels => "gold labels",
        })
    }
}

/// The class of an [`Error`], to tell errors apart without their texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or folder to read is not there.
    NotFound,
    /// A file or folder could not be read for another reason.
    Read,
    /// See [`Error::Write`].
    Write,
    /// See [`Error::Corpus`].
    Corpus,
    /// See [`Error::Format`].
    Format,
    /// See [`Error::Alignment`].
    Alignment,
    /// See [`Error::Unwritable`].
    Unwritable,
    /// See [`Error::Dataset`].
    Dataset,
    /// See [`Error::Model`].
    Model,
    /// See [`Error::Pretrained`].
    Pretrained,
    /// See [`Error::LabelCount`].
    LabelCount,
    /// See [`Error::Dirichlet`].
    Dirichlet,
    /// See [`Error::Logits`].
    Logits,
    /// See [`Error::Incomplete`].
    Incomplete(Missing),
    /// See [`Error::Calibration`].
    Calibration,
    /// See [`Error::Setting`].
    Setting,
    /// See [`Error::Name`].
    Name,
    /// See [`Error::Threshold`].
    Threshold,
    /// See [`Error::Evaluation`].
    Evaluation,
    /// See [`Error::Architecture`].
    Architecture,
    /// See [`Error::Access`].
    Access,
    /// See [`Error::Stopped`].
    Stopped,
    /// See [`Error::Trained`].
    Trained,
    /// See [`Error::Checkpoint`].
    Checkpoint,
    /// See [`Error::Threads`].
    Threads,
    /// See [`Error::Concept`].
    Concept,
}

impl Error {
    /// Its class.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => ErrorKind::NotFound,
            Error::Read { .. } => ErrorKind::Read,
            Error::Write { .. } => ErrorKind::Write,
            Error::Corpus { .. } => ErrorKind::Corpus,
            Error::Format { .. } => ErrorKind::Format,
            Error::Alignment { .. } => ErrorKind::Alignment,
            Error::Unwritable { .. } => ErrorKind::Unwritable,
            Error::Dataset { .. } => ErrorKind::Dataset,
            Error::Model { .. } => ErrorKind::Model,
            Error::Pretrained { .. } => ErrorKind::Pretrained,
            Error::LabelCount { .. } => ErrorKind::LabelCount,
            Error::Dirichlet { .. } => ErrorKind::Dirichlet,
            Error::Logits { .. } => ErrorKind::Logits,
            Error::Incomplete { lacks, .. } => ErrorKind::Incomplete(*lacks),
            Error::Calibration { .. } => ErrorKind::Calibration,
            Error::Setting { .. } => ErrorKind::Setting,
            Error::Name { .. } => ErrorKind::Name,
            Error::Threshold { .. } => ErrorKind::Threshold,
            Error::Evaluation { .. } => ErrorKind::Evaluation,
            Error::Architecture { .. } => ErrorKind::Architecture,
            Error::Access { .. } => ErrorKind::Access,
            Error::Stopped => ErrorKind::Stopped,
            Error::Trained { .. } => ErrorKind::Trained,
            Error::Checkpoint { .. } => ErrorKind::Checkpoint,
            Error::Threads { .. } => ErrorKind::Threads,
            Error::Concept { .. } => ErrorKind::Concept,
        }
    }

    /// What the user can do about it, if there is something to say.
    pub fn hint(&self) -> Option<&str> {
        let hint = match self {
            Error::Corpus { hint, .. }
            | Error::Dataset { hint, .. }
            | Error::Logits { hint, .. }
            | Error::Pretrained { hint, .. }
            | Error::Setting { hint, .. }
            | Error::Name { hint, .. }
            | Error::Threshold { hint, .. }
            | Error::Evaluation { hint, .. }
            | Error::Architecture { hint, .. }
            | Error::Access { hint, .. }
            | Error::Concept { hint, .. } => hint.as_str(),
            Error::Format { .. } => "name another format, or mend the line",
            Error::Alignment { .. } => "every word needs one label",
            Error::Unwritable { .. } => "JSONL holds any word, slot and intent",
            Error::Model { .. } => "a model is made by training on a corpus",
            Error::Dirichlet { .. } => "logits are finite numbers, one for each label",
            Error::LabelCount { .. } => "there must be one label for each word of the corpus, in both",
            Error::Incomplete { lacks, .. } => match lacks {
                Missing::Words => "give the words of the utterances, or a corpus that has them",
                Missing::LabelNames => "give the names, in the order of the logits",
                Missing::GoldLabels => "put `labels` into the file, or give a labelled corpus",
            },
            Error::Calibration { .. } => "such a file is made by fitting to the logits of a valid set",
            Error::Stopped => "begin it anew",
            Error::Trained { .. } => "ask for more epochs",
            Error::Checkpoint { .. } => "train anew, or go on with the same data and settings",
            Error::Threads { .. } => "ask for fewer",
            Error::Read { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => "check the path",
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

    pub(crate) fn pretrained(path: &Path, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::Pretrained { path: path.to_owned(), problem: problem.into(), hint: hint.into() }
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
