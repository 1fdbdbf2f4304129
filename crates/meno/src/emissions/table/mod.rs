//! The logits of many utterances, read from a file: `.npz`, `.safetensors` or JSON lines.
//!
//! Bytes and what stands beside them enter; a [`Table`] leaves in which everything fits: each word has a row of finite
//! numbers, one for each of two or more labels, and a gold label if there are any. Nothing is believed; what does not
//! fit is an error with the file, the utterance or line, and the value.

mod arrays;
mod jsonl;
mod npy;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Emissions, Logits, Tags};
use crate::corpus;
use crate::label;
use crate::{Error, Missing, Result};

/// Logits of a tagger, with the words and maybe the gold labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The file.
    pub path: PathBuf,
    /// The labels, in the order of the logits.
    pub label_names: Vec<String>,
    /// In the order of the file.
    pub utterances: Vec<TableUtterance>,
    values: Vec<f32>,
}

/// An utterance of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub struct TableUtterance {
    /// The words.
    pub words: Vec<String>,
    /// The gold labels, if the table has any.
    pub gold: Option<Vec<String>>,
    rows: Range<usize>,
}

impl Emissions {
    /// Those of an utterance of a table.
    pub(crate) fn of_table(table: &Table, utterance: &TableUtterance) -> Self {
        let mut logits = Logits::new(table.label_names.len());
        logits.extend(table.rows(utterance));
        Emissions { tags: Tags::Labels { logits, concentrations: None }, intents: Vec::new() }
    }
}

/// What the numbers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// Logits, as they enter a softmax.
    #[default]
    Logits,
    /// Probabilities, such as the marginals of a CRF. Their logarithms are taken as logits, with what is below the
    /// smallest normal f32 (1.2e-38) taken for that.
    Probabilities,
}

/// How to read a table.
#[derive(Clone, Debug, Default)]
pub struct TableSettings {
    /// What the numbers are.
    pub input: Input,
    /// The labels, in the order of the logits; if the file names them too, it must be the same ones.
    pub label_names: Option<Vec<String>>,
    /// Where words and gold labels are; they take the place of those in the file.
    pub companion: Companion,
}

/// A file with what arrays do not hold.
#[derive(Clone, Debug, Default)]
pub enum Companion {
    /// None: words stand in the file itself.
    #[default]
    None,
    /// A text file with the words of an utterance on each line, white space between them.
    Words(PathBuf),
    /// A corpus of any format: words and gold labels.
    Corpus(PathBuf),
}

impl Table {
    /// Reads a file, whose extension says what it is: `.npz`, `.safetensors`, or `.jsonl` (also `.json`).
    pub fn read(path: &Path, settings: &TableSettings) -> Result<Table> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let format: fn(&Path, &[u8]) -> Result<Raw> = match extension {
            "npz" => |path, bytes| arrays::read_npz(bytes).map_err(|problem| unfit(path, problem)),
            "safetensors" => {
                |path, bytes| arrays::read_safetensors(bytes).map_err(|problem| unfit(path, problem))
            }
            "jsonl" | "json" => jsonl::read,
            _ => {
                let hint = "the file must be called .npz, .safetensors or .jsonl";
                return Err(Error::logits(path, "not known to hold logits", hint));
            }
        };
        let bytes = fs::read(path).map_err(|source| Error::read(path, source))?;
        let mut raw = format(path, &bytes)?;
        raw.take_companion(path, &settings.companion)?;
        raw.into_table(path, settings)
    }

    /// The logits of an utterance, a row for each word.
    pub fn rows(&self, utterance: &TableUtterance) -> impl ExactSizeIterator<Item = &[f32]> + Clone {
        let n_labels = self.label_names.len();
        let rows = utterance.rows.start * n_labels..utterance.rows.end * n_labels;
        self.values[rows].chunks_exact(n_labels)
    }

    /// Replaces every logit; what f32 cannot hold becomes its lowest or highest number.
    pub(crate) fn map(&mut self, logit: impl Fn(f32) -> f32) {
        self.values.iter_mut().for_each(|value| *value = logit(*value).clamp(f32::MIN, f32::MAX));
    }
}

/// Reads the names of labels, one a line, in the order of the logits.
pub fn read_label_names(path: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(path).map_err(|source| Error::read(path, source))?;
    let names: Vec<String> =
        text.trim_start_matches('\u{feff}').lines().map(|line| line.trim().to_owned()).collect();
    demand_labels(&names).map_err(|problem| Error::logits(path, problem, LABELS_HINT))?;
    Ok(names)
}

/// What a file says, before it is known to fit together.
#[derive(Debug, Default)]
pub(super) struct Raw {
    /// The line of each utterance, if the file has lines.
    pub(super) lines: Option<Vec<usize>>,
    pub(super) label_names: Option<Vec<String>>,
    pub(super) n_labels: usize,
    /// Words x labels; whole rows.
    pub(super) values: Vec<f32>,
    /// The words of each utterance; they add up to the number of rows.
    pub(super) lengths: Vec<usize>,
    /// As many as there are rows.
    pub(super) words: Option<Vec<String>>,
    /// As many as there are rows.
    pub(super) gold: Option<Vec<Label>>,
}

/// A gold label as a file gives it.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a label is a string or an integer")]
pub(super) enum Label {
    Name(String),
    Id(i64),
}

const LABELS_HINT: &str = "labels are O, B-slot and I-slot, as many as a word has logits and in their order";
const LOGITS_HINT: &str = "logits are finite numbers, one for each label";
const PROBABILITIES_HINT: &str = "the probabilities of a word are from 0 to 1 and add up to 1";

fn unfit(path: &Path, problem: String) -> Error {
    Error::logits(path, problem, "docs/logits.md says what is read; numpy.savez and safetensors write it")
}

/// What is wrong with a tagger of so few labels.
pub(super) fn too_few_labels(n_labels: usize) -> Option<String> {
    let what = match n_labels {
        0 => "no logits",
        1 => "one logit only",
        _ => return None,
    };
    Some(format!("a word has {what}; with fewer than two labels there is nothing to be unsure of"))
}

/// Refuses names that are not IOB labels, or are there twice.
pub(crate) fn demand_labels(names: &[String]) -> Result<(), String> {
    for (label_idx, name) in names.iter().enumerate() {
        let (prefix, slot) = label::split(name);
        if name != "O" && (!matches!(prefix, "B" | "I") || slot.is_empty()) {
            return Err(format!("label {} is `{name}`, which is not IOB", label_idx + 1));
        }
        if let Some(first_idx) = names[..label_idx].iter().position(|other| other == name) {
            return Err(format!("labels {} and {} are both `{name}`", first_idx + 1, label_idx + 1));
        }
    }
    too_few_labels(names.len()).map_or(Ok(()), Err)
}

impl Raw {
    fn take_companion(&mut self, path: &Path, companion: &Companion) -> Result<()> {
        type Labelled = (Vec<String>, Option<Vec<String>>);
        let (beside, utterances): (&Path, Vec<Labelled>) = match companion {
            Companion::None => return Ok(()),
            Companion::Words(beside) => {
                let text = fs::read_to_string(beside).map_err(|source| Error::read(beside, source))?;
                let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
                (beside, text.lines().map(|line| (words(line), None)).collect())
            }
            Companion::Corpus(beside) => {
                let corpus = corpus::read(beside, None)?;
                let pairs = corpus.utterances.into_iter().map(|u| (u.words, Some(u.labels)));
                (beside, pairs.collect())
            }
        };
        let hint = format!("{} must have the same utterances in the same order", beside.display());
        if utterances.len() != self.lengths.len() {
            let (found, expected) = (utterances.len(), self.lengths.len());
            let problem = format!("{expected} utterances, but {} has {found}", beside.display());
            return Err(Error::logits(path, problem, hint));
        }
        for (utterance_idx, ((words, _), &length)) in utterances.iter().zip(&self.lengths).enumerate() {
            if words.len() != length {
                let found = words.len();
                let problem = format!("{length} rows of logits, but {found} words in {}", beside.display());
                return Err(self.fault(path, utterance_idx, problem, &hint));
            }
        }
        let gold = utterances.iter().filter_map(|(_, gold)| gold.as_ref()).flatten();
        let gold: Vec<Label> = gold.map(|label| Label::Name(label.clone())).collect();
        if matches!(companion, Companion::Corpus(_)) {
            self.gold = Some(gold);
        }
        self.words = Some(utterances.into_iter().flat_map(|(words, _)| words).collect());
        Ok(())
    }

    fn into_table(mut self, path: &Path, settings: &TableSettings) -> Result<Table> {
        let label_names = self.agreed_labels(path, settings.label_names.as_ref())?;
        self.demand_numbers(path, settings.input, label_names.len())?;
        if settings.input == Input::Probabilities {
            self.values.iter_mut().for_each(|value| *value = value.max(f32::MIN_POSITIVE).ln());
        }
        let Some(words) = self.words.take() else {
            return Err(Error::Incomplete { path: path.to_owned(), lacks: Missing::Words });
        };
        let mut gold = self.named_gold(path, &label_names)?.map(Vec::into_iter);
        let mut words = words.into_iter();
        let mut utterances = Vec::with_capacity(self.lengths.len());
        let mut start = 0;
        for &length in &self.lengths {
            utterances.push(TableUtterance {
                words: words.by_ref().take(length).collect(),
                gold: gold.as_mut().map(|gold| gold.by_ref().take(length).collect()),
                rows: start..start + length,
            });
            start += length;
        }
        Ok(Table { path: path.to_owned(), label_names, utterances, values: self.values })
    }

    fn agreed_labels(&mut self, path: &Path, stated: Option<&Vec<String>>) -> Result<Vec<String>> {
        let fault = |problem| Error::logits(path, problem, LABELS_HINT);
        if let (Some(stated), Some(own)) = (stated, &self.label_names)
            && stated != own
        {
            let differ = stated.iter().zip(own).position(|(stated, own)| stated != own);
            return Err(fault(match differ {
                Some(at) => format!("label {} is `{}`, not `{}` as stated", at + 1, own[at], stated[at]),
                None => format!("{} label names, not {} as stated", own.len(), stated.len()),
            }));
        }
        let Some(names) = stated.cloned().or(self.label_names.take()) else {
            return Err(Error::Incomplete { path: path.to_owned(), lacks: Missing::LabelNames });
        };
        if self.lengths.iter().any(|&length| length > 0) {
            too_few_labels(self.n_labels).map_or(Ok(()), Err).map_err(fault)?;
            if names.len() != self.n_labels {
                return Err(fault(format!(
                    "{} logits a word but {} label names",
                    self.n_labels,
                    names.len()
                )));
            }
        }
        demand_labels(&names).map_err(fault)?;
        Ok(names)
    }

    fn demand_numbers(&self, path: &Path, input: Input, n_labels: usize) -> Result<()> {
        for (row_idx, row) in self.values.chunks_exact(n_labels).enumerate() {
            let (problem, hint) = match input {
                Input::Logits => (not_logits(row), LOGITS_HINT),
                Input::Probabilities => (not_probabilities(row), PROBABILITIES_HINT),
            };
            if let Some(problem) = problem {
                let (utterance_idx, token_idx) = self.place(row_idx);
                let problem = format!("word {}: {problem}", token_idx + 1);
                return Err(self.fault(path, utterance_idx, problem, hint));
            }
        }
        Ok(())
    }

    fn named_gold(&mut self, path: &Path, names: &[String]) -> Result<Option<Vec<String>>> {
        let Some(gold) = self.gold.take() else { return Ok(None) };
        let name = |(row_idx, label)| match label {
            Label::Name(name) => Ok(name),
            Label::Id(id) => match usize::try_from(id).ok().and_then(|id| names.get(id)) {
                Some(name) => Ok(name.clone()),
                None => {
                    let (utterance_idx, token_idx) = self.place(row_idx);
                    let problem = format!("word {}: there is no label {id}", token_idx + 1);
                    let hint = format!("labels are counted from 0; there are {}", names.len());
                    Err(self.fault(path, utterance_idx, problem, &hint))
                }
            },
        };
        gold.into_iter().enumerate().map(name).collect::<Result<_>>().map(Some)
    }

    /// The utterance of a row, and the word in it.
    fn place(&self, row_idx: usize) -> (usize, usize) {
        let mut start = 0;
        for (utterance_idx, &length) in self.lengths.iter().enumerate() {
            if row_idx < start + length {
                return (utterance_idx, row_idx - start);
            }
            start += length;
        }
        (self.lengths.len(), row_idx - start)
    }

    fn fault(&self, path: &Path, utterance_idx: usize, problem: String, hint: &str) -> Error {
        match self.lines.as_ref().and_then(|lines| lines.get(utterance_idx)) {
            Some(&line) => Error::corpus(path, line, problem, hint),
            None => Error::logits(path, format!("utterance {}: {problem}", utterance_idx + 1), hint),
        }
    }
}

fn not_logits(row: &[f32]) -> Option<String> {
    let label_idx = row.iter().position(|value| !value.is_finite())?;
    Some(format!("logit {} is {}, not a finite number", label_idx + 1, row[label_idx]))
}

/// How far the probabilities of a word may add up to something else than 1; they may have been printed and read.
const ROUNDING: f32 = 1e-3;

fn not_probabilities(row: &[f32]) -> Option<String> {
    let is_probability = |value: &f32| (0.0..=1.0 + ROUNDING).contains(value);
    if let Some(label_idx) = row.iter().position(|value| !is_probability(value)) {
        return Some(format!("probability {} is {}", label_idx + 1, row[label_idx]));
    }
    let sum: f32 = row.iter().sum();
    ((sum - 1.0).abs() > ROUNDING).then(|| format!("the probabilities add up to {sum}, not to 1"))
}
