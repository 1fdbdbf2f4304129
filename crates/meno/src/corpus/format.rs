//! The formats by name: which one a path holds, and reading and writing any of them.

use std::fmt;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::str::FromStr;

use super::finding::Log;
use super::scheme::Scheme;
use super::{Corpus, conll, folder, jsonl, massive, rasa, snips};
use crate::{Error, Result, atomic};

/// The formats a corpus can be read from and written to.
///
/// Folder, CoNLL and JSONL have a tag for each word, in any [`Scheme`]. The others have raw text with slots in it: it is
/// cut into words by the tokenizer that reads what users type, and additionally where a slot begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A folder with `seq.in` (words), `seq.out` (tags), `label` (intents, optional) and, in a new-concept set,
    /// `seq.true` (true tags); one utterance a line.
    Folder,
    /// A word and its tag on each line, a blank line between utterances, `# intent: X` before them.
    Conll,
    /// JSON lines with `tokens`, `ner_tags` and perhaps `intent` and `truth`. Tags are strings, or integers if
    /// `<stem>.names.json` or `names.json` beside the file lists their names.
    Jsonl,
    /// Snips JSON: the 2017 benchmark or the dataset of snips-nlu; the latter is written.
    Snips,
    /// Rasa NLU YAML; the slot of an entity with a role is `entity.role`.
    Rasa,
    /// MASSIVE JSON lines with `annot_utt`, `intent` and perhaps `partition`.
    Massive,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 6] =
        [Format::Folder, Format::Conll, Format::Jsonl, Format::Snips, Format::Rasa, Format::Massive];

    /// The format of what is at `path`, from its name and, where that is not enough, its beginning.
    pub fn detect(path: &Path) -> Result<Format> {
        let metadata = fs::metadata(path).map_err(|source| Error::read(path, source))?;
        if metadata.is_dir() {
            if path.join(folder::WORDS).is_file() {
                return Ok(Format::Folder);
            }
            return Err(Error::Dataset {
                problem: format!("{} is a folder without {}", path.display(), folder::WORDS),
                hint: "name a split, for example its `train` folder, or a file".to_owned(),
            });
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("yml" | "yaml") => return Ok(Format::Rasa),
            Some("conll" | "iob" | "bio") => return Ok(Format::Conll),
            _ => {}
        }
        let mut start = Vec::new();
        let opened = File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut start));
        opened.map_err(|source| Error::read(path, source))?;
        Ok(Format::of_text(&String::from_utf8_lossy(&start)))
    }

    /// The format that a file to be written gets from its name; no extension means a folder.
    pub fn from_extension(path: &Path) -> Option<Format> {
        let Some(extension) = path.extension() else { return Some(Format::Folder) };
        match extension.to_ascii_lowercase().to_str()? {
            "conll" | "iob" | "bio" | "txt" | "tsv" => Some(Format::Conll),
            "jsonl" => Some(Format::Jsonl),
            "json" => Some(Format::Snips),
            "yml" | "yaml" => Some(Format::Rasa),
            _ => None,
        }
    }

    /// The usual extension of a file of this format; `None` for a folder.
    pub fn extension(self) -> Option<&'static str> {
        match self {
            Format::Folder => None,
            Format::Conll => Some("conll"),
            Format::Jsonl | Format::Massive => Some("jsonl"),
            Format::Snips => Some("json"),
            Format::Rasa => Some("yml"),
        }
    }

    /// Whether the format has one tag for each word, so that a scheme means something.
    pub fn has_tags(self) -> bool {
        matches!(self, Format::Folder | Format::Conll | Format::Jsonl)
    }

    fn of_text(start: &str) -> Format {
        let start = start.trim_start_matches('\u{feff}').trim_start();
        if start.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"')) {
            let line = start.lines().next().unwrap_or_default();
            let has_key = |key: &str| {
                line.split(&format!("\"{key}\"")).skip(1).any(|rest| rest.trim_start().starts_with(':'))
            };
            return match () {
                () if has_key("annot_utt") => Format::Massive,
                () if has_key("tokens") => Format::Jsonl,
                () => Format::Snips,
            };
        }
        if start.lines().any(|line| line.starts_with("nlu:")) { Format::Rasa } else { Format::Conll }
    }
}

/// Reads a file or folder, in the format given or else detected.
pub fn read(path: &Path, format: Option<Format>) -> Result<Corpus> {
    let mut log = Log::default();
    let corpus = read_leniently(path, format, None, &mut log)?;
    log.into_result()?;
    Ok(corpus)
}

/// Reads on after problems and notes them in `log`; only what the system refuses is an error.
pub(super) fn read_leniently(
    path: &Path,
    format: Option<Format>,
    partition: Option<&str>,
    log: &mut Log,
) -> Result<Corpus> {
    let format = match format {
        Some(format) => format,
        None => Format::detect(path)?,
    };
    let tagged = |utterances| Corpus { path: path.to_owned(), utterances, ..Corpus::default() };
    let corpus = match format {
        Format::Folder => tagged(folder::read(path, log)?),
        Format::Conll => tagged(conll::read(path, &conll::Layout::default(), log)?),
        Format::Jsonl => tagged(jsonl::read(path, log)?),
        Format::Snips => snips::read(path, log)?,
        Format::Rasa => rasa::read(path, log)?,
        Format::Massive => massive::read(path, partition, log)?,
    };
    corpus.demand_utterances(log);
    Ok(corpus)
}

/// Writes a corpus with IOB2 tags; what was at `path` is replaced in one step.
///
/// What the format has no way to say, such as brackets that Rasa would take for marks, is an error.
pub fn write(corpus: &Corpus, path: &Path, format: Format) -> Result<()> {
    write_with(corpus, path, format, Scheme::Iob2)
}

/// Writes a corpus in another tag scheme; formats that have no tags ignore it.
pub fn write_with(corpus: &Corpus, path: &Path, format: Format, scheme: Scheme) -> Result<()> {
    match render(corpus, format, scheme)? {
        Rendered::Folder(files) => atomic::write_folder(path, &files, &folder::FILES),
        Rendered::File(text) => atomic::write(path, text.as_bytes()),
    }
}

/// The text of a corpus as JSON lines, with IOB2 tags.
pub fn to_jsonl(corpus: &Corpus) -> Result<String> {
    demand_valid(corpus)?;
    Ok(jsonl::render(corpus, Scheme::Iob2))
}

/// Whether `format` can say everything in the corpus; the error that [`write()`] would give, if not.
pub fn demand_fit(corpus: &Corpus, format: Format) -> Result<()> {
    render(corpus, format, Scheme::Iob2).map(|_| ())
}

/// What is to be on disk.
pub(super) enum Rendered {
    Folder(Vec<(&'static str, Vec<u8>)>),
    File(String),
}

pub(super) fn render(corpus: &Corpus, format: Format, scheme: Scheme) -> Result<Rendered> {
    demand_valid(corpus)?;
    Ok(Rendered::File(match format {
        Format::Folder => return Ok(Rendered::Folder(folder::render(corpus, scheme)?)),
        Format::Conll => conll::render(corpus, scheme)?,
        Format::Jsonl => jsonl::render(corpus, scheme),
        Format::Snips => snips::render(corpus)?,
        Format::Rasa => rasa::render(corpus)?,
        Format::Massive => massive::render(corpus)?,
    }))
}

/// The invariants that every reader establishes, for corpora made by hand.
fn demand_valid(corpus: &Corpus) -> Result<()> {
    if corpus.utterances.is_empty() {
        let problem = "cannot be written: there is no utterance in it";
        return Err(Error::corpus(&corpus.path, 1, problem, ""));
    }
    for utterance in &corpus.utterances {
        let n_words = utterance.words.len();
        let refuse = |problem: String| {
            Err(Error::corpus(&corpus.path, utterance.line, format!("cannot be written: {problem}"), ""))
        };
        if n_words == 0 || utterance.words.iter().any(String::is_empty) {
            return refuse("it has no words, or an empty one".to_owned());
        }
        for labels in [Some(&utterance.labels), utterance.truth.as_ref()].into_iter().flatten() {
            if labels.len() != n_words {
                return refuse(format!("{n_words} words but {} labels", labels.len()));
            }
            let legal = |label: &str| {
                label == "O" || (label.len() > 2 && (label.starts_with("B-") || label.starts_with("I-")))
            };
            if let Some(label) = labels.iter().find(|label| !legal(label)) {
                return refuse(format!("`{label}` is no IOB2 label"));
            }
        }
    }
    Ok(())
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Folder => "folder",
            Format::Conll => "conll",
            Format::Jsonl => "jsonl",
            Format::Snips => "snips",
            Format::Rasa => "rasa",
            Format::Massive => "massive",
        })
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Format::ALL.into_iter().find(|format| format.to_string() == name.to_ascii_lowercase()).ok_or_else(
            || Error::Name {
                problem: format!("unknown format `{name}`"),
                hint: "the formats are folder, conll, jsonl, snips, rasa and massive".to_owned(),
            },
        )
    }
}
