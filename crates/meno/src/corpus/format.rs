//! The formats by name, and reading and writing any of them.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::finding::Log;
use super::scheme::Scheme;
use super::{
    Corpus, clu, conll, delimited, detect, dialogflow, folder, hassil, jsonl, label_studio, luis, massive,
    rasa, rasa_markdown, slurp, snips, snips_yaml, wit, word_tag,
};
use crate::{Error, Result, atomic};

/// The formats a corpus can be read from; those of [`Format::WRITTEN`] can be written too.
///
/// Folder, CoNLL, JSONL and word:tag have a tag for each word, in any [`Scheme`]. The others have raw text with slots in it: it is
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
    /// One utterance a line, `word:tag ... <=> intent`.
    WordTag,
    /// The Markdown of Rasa 1, `## intent:greet`.
    RasaMarkdown,
    /// SLURP JSON lines with `sentence_annotation`, or `tokens` and `entities`.
    Slurp,
    /// A table with a header and marked text, as HWU64 is.
    Delimited,
    /// The YAML of snips-nlu, `type: intent` and `type: entity`.
    SnipsYaml,
    /// Home Assistant's templates and tests; a file or a folder.
    Hassil,
    /// A Dialogflow ES agent, or the phrases of one of its intents.
    Dialogflow,
    /// A LUIS app, or a list of its utterances.
    Luis,
    /// A project of Azure's conversational language understanding.
    Clu,
    /// The utterances of a wit.ai app, or its folder.
    Wit,
    /// Tasks of Label Studio.
    LabelStudio,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 17] = [
        Format::Folder,
        Format::Conll,
        Format::Jsonl,
        Format::Snips,
        Format::Rasa,
        Format::Massive,
        Format::WordTag,
        Format::RasaMarkdown,
        Format::Slurp,
        Format::Delimited,
        Format::SnipsYaml,
        Format::Hassil,
        Format::Dialogflow,
        Format::Luis,
        Format::Clu,
        Format::Wit,
        Format::LabelStudio,
    ];

    /// The formats that can be written.
    pub const WRITTEN: [Format; 8] = [
        Format::Folder,
        Format::Conll,
        Format::Jsonl,
        Format::Snips,
        Format::Rasa,
        Format::Massive,
        Format::WordTag,
        Format::RasaMarkdown,
    ];

    /// The format of what is at `path`, from what stands in it.
    pub fn detect(path: &Path) -> Result<Format> {
        detect::detect(path)
    }

    /// The names of all formats, for messages.
    pub fn names() -> String {
        listed(&Format::ALL)
    }

    /// The names of the formats that can be written, for messages.
    pub fn written_names() -> String {
        listed(&Format::WRITTEN)
    }

    /// The format that a file to be written gets from its name; no extension means a folder.
    pub fn from_extension(path: &Path) -> Option<Format> {
        let Some(extension) = path.extension() else { return Some(Format::Folder) };
        match extension.to_ascii_lowercase().to_str()? {
            "conll" | "iob" | "bio" | "txt" | "tsv" => Some(Format::Conll),
            "jsonl" => Some(Format::Jsonl),
            "json" => Some(Format::Snips),
            "yml" | "yaml" => Some(Format::Rasa),
            "md" => Some(Format::RasaMarkdown),
            _ => None,
        }
    }

    /// The usual extension of a file of this format; `None` for a folder.
    pub fn extension(self) -> Option<&'static str> {
        match self {
            Format::Folder => None,
            Format::Conll => Some("conll"),
            Format::Jsonl | Format::Massive | Format::Slurp => Some("jsonl"),
            Format::Rasa | Format::SnipsYaml | Format::Hassil => Some("yml"),
            Format::WordTag => Some("txt"),
            Format::RasaMarkdown => Some("md"),
            Format::Delimited => Some("csv"),
            Format::Snips
            | Format::Dialogflow
            | Format::Luis
            | Format::Clu
            | Format::Wit
            | Format::LabelStudio => Some("json"),
        }
    }

    /// Whether the format has one tag for each word, so that a scheme means something.
    pub fn has_tags(self) -> bool {
        matches!(self, Format::Folder | Format::Conll | Format::Jsonl | Format::WordTag)
    }

    /// Whether the format, as it is written, has a place for known values ([`super::KnownValue`]).
    pub fn holds_values(self) -> bool {
        matches!(self, Format::Rasa | Format::RasaMarkdown)
    }

    fn name(self) -> &'static str {
        match self {
            Format::Folder => "folder",
            Format::Conll => "conll",
            Format::Jsonl => "jsonl",
            Format::Snips => "snips",
            Format::Rasa => "rasa",
            Format::Massive => "massive",
            Format::WordTag => "word-tag",
            Format::RasaMarkdown => "rasa-md",
            Format::Slurp => "slurp",
            Format::Delimited => "csv",
            Format::SnipsYaml => "snips-yaml",
            Format::Hassil => "hassil",
            Format::Dialogflow => "dialogflow",
            Format::Luis => "luis",
            Format::Clu => "clu",
            Format::Wit => "wit",
            Format::LabelStudio => "label-studio",
        }
    }
}

fn listed(formats: &[Format]) -> String {
    let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
    let (last, others) = names.split_last().expect("there are formats");
    format!("{} and {last}", others.join(", "))
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
        Format::WordTag => tagged(word_tag::read(path, log)?),
        Format::RasaMarkdown => rasa_markdown::read(path, log)?,
        Format::Slurp => slurp::read(path, log)?,
        Format::Delimited => delimited::read(path, log)?,
        Format::SnipsYaml => snips_yaml::read(path, log)?,
        Format::Hassil => hassil::read(path, hassil::Sampling::default(), log)?,
        Format::Dialogflow => dialogflow::read(path, log)?,
        Format::Luis => luis::read(path, log)?,
        Format::Clu => clu::read(path, log)?,
        Format::Wit => wit::read(path, log)?,
        Format::LabelStudio => label_studio::read(path, log)?,
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
        Format::WordTag => word_tag::render(corpus, scheme)?,
        Format::RasaMarkdown => rasa_markdown::render(corpus)?,
        _ => {
            return Err(Error::Setting {
                problem: format!("the format {format} is read and not written"),
                hint: format!("formats that are written are {}", Format::written_names()),
            });
        }
    }))
}

/// The text of a corpus in a format that is one file.
pub fn to_text(corpus: &Corpus, format: Format, scheme: Scheme) -> Result<String> {
    match render(corpus, format, scheme)? {
        Rendered::File(text) => Ok(text),
        Rendered::Folder(_) => Err(Error::Setting {
            problem: format!("the format {format} is more than one file"),
            hint: "name a folder to write, or a format of one file, such as jsonl".to_owned(),
        }),
    }
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
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Format::ALL.into_iter().find(|format| format.to_string() == name.to_ascii_lowercase()).ok_or_else(
            || Error::Name {
                problem: format!("unknown format `{name}`"),
                hint: format!("the formats are {}", Format::names()),
            },
        )
    }
}
