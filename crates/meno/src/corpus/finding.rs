//! What is wrong in a corpus, and where.
//!
//! Every reader reads on after a problem and notes it in a [`Log`]. Reading for training turns the first fatal finding
//! into an error; `meno data check` shows them all. One parser serves both, so they cannot disagree.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{Error, Result};

/// One problem of a corpus.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What sort of problem.
    pub kind: Kind,
    /// What is wrong, with the value.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path.display(), self.line, self.kind, self.message)
    }
}

/// The sorts of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A line is not UTF-8.
    NotUtf8,
    /// The file is not of its format.
    Syntax,
    /// Words and labels, or the lines of two files, do not pair up.
    Length,
    /// A label is of no known scheme or names no slot.
    Tag,
    /// There is no utterance.
    Empty,
    /// A label continues a span that is not there, or a span is not closed.
    Sequence,
    /// Brackets that are likely meant as a slot but mark none, and names that differ in case only.
    Markup,
    /// The true labels of a new-concept set do not fit its labels.
    Truth,
    /// What `corpus.toml` says does not fit the data.
    Description,
    /// A line without words, or without the intent that other lines have.
    EmptyLine,
    /// A character that is almost always damage: NUL, U+FFFD, a byte-order mark.
    Character,
    /// CRLF and LF are mixed in one file.
    LineEnding,
    /// A word is not in Unicode normal form C.
    Normalisation,
    /// A label that training never sees.
    UnseenLabel,
    /// An intent that training never sees.
    UnseenIntent,
    /// The same text stands in two splits.
    Duplicate,
    /// The same text has other labels or another intent elsewhere.
    Conflict,
}

impl Kind {
    /// Whether reading the corpus fails on it.
    pub fn is_fatal(self) -> bool {
        use Kind::{Description, Empty, Length, NotUtf8, Syntax, Tag};
        matches!(self, NotUtf8 | Syntax | Length | Tag | Empty | Description)
    }

    fn hint(self) -> &'static str {
        match self {
            Kind::NotUtf8 => "save the file as UTF-8, for example with `iconv -f latin1 -t utf-8`",
            Kind::Tag => {
                "labels are O, B-slot, I-slot (IOB) and with L-slot, U-slot or E-slot, S-slot (BILOU)"
            }
            Kind::Empty => "check the path; the file holds nothing to read",
            _ => "",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::NotUtf8 => "not-utf8",
            Kind::Syntax => "syntax",
            Kind::Length => "length",
            Kind::Tag => "tag",
            Kind::Empty => "empty",
            Kind::Sequence => "sequence",
            Kind::Markup => "markup",
            Kind::Truth => "truth",
            Kind::Description => "description",
            Kind::EmptyLine => "empty-line",
            Kind::Character => "character",
            Kind::LineEnding => "line-ending",
            Kind::Normalisation => "normalisation",
            Kind::UnseenLabel => "unseen-label",
            Kind::UnseenIntent => "unseen-intent",
            Kind::Duplicate => "duplicate",
            Kind::Conflict => "conflict",
        })
    }
}

/// Collects findings while a corpus is read.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) findings: Vec<Finding>,
}

impl Log {
    pub(crate) fn add(&mut self, path: &Path, line: usize, kind: Kind, message: impl Into<String>) {
        self.findings.push(Finding { path: path.to_owned(), line, kind, message: message.into() });
    }

    /// The first fatal finding as an error.
    pub(crate) fn into_result(self) -> Result<()> {
        match self.findings.into_iter().find(|finding| finding.kind.is_fatal()) {
            Some(Finding { path, line, kind, message: problem }) => Err(match kind {
                Kind::Syntax => Error::Format { path, line, problem },
                Kind::Length => Error::Alignment { path, line, problem },
                _ => Error::Corpus { path, line, problem, hint: kind.hint().to_owned() },
            }),
            None => Ok(()),
        }
    }
}
