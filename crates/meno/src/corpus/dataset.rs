//! A dataset: a folder with `train`, `valid`, `test` and perhaps new-concept sets, each a folder or a file; or a Rasa project,
//! whose examples are in many files.

use std::fs;
use std::path::{Path, PathBuf};

use super::conll::{self, Layout};
use super::description::description_file;
use super::finding::Log;
use super::format::{Format, read_leniently};
use super::{Corpus, detect, folder, massive, rasa};
use crate::{Error, Result};

/// The splits that training and measuring know, with the names that others give them.
const NAMES: [(&str, &[&str]); 3] =
    [("train", &["train"]), ("valid", &["valid", "dev", "validation"]), ("test", &["test"])];

/// One part of a dataset, not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// `train`, `valid`, `test`, or the name of the folder or file.
    pub name: String,
    /// The folder or file.
    pub path: PathBuf,
    /// The files below a folder that make it up together, if there are several of them.
    pub(super) files: Vec<PathBuf>,
    /// In a MASSIVE file that holds several splits, which one.
    partition: Option<String>,
    /// The columns of a CoNLL file, if they were stated.
    columns: Option<Layout>,
    /// How to talk about it, if it is what a dataset with such a file is trained on.
    pub(super) description: Option<PathBuf>,
}

impl Split {
    /// Reads the split, whatever its format.
    pub fn read(&self) -> Result<Corpus> {
        let mut log = Log::default();
        let corpus = self.read_leniently(None, &mut log)?;
        log.into_result()?;
        match &self.description {
            Some(file) => corpus.described_by(file),
            None => Ok(corpus),
        }
    }

    pub(super) fn read_leniently(&self, format: Option<Format>, log: &mut Log) -> Result<Corpus> {
        if let Some(columns) = &self.columns {
            if self.path.is_dir() {
                return Err(Error::Dataset {
                    problem: format!("{} is a folder, and columns are those of a file", self.path.display()),
                    hint: "state columns for CoNLL files alone".to_owned(),
                });
            }
            return conll::read_leniently(&self.path, columns, log);
        }
        if self.files.is_empty() {
            return read_leniently(&self.path, format, self.partition.as_deref(), log);
        }
        let mut whole = Corpus { path: self.path.clone(), raw: true, ..Corpus::default() };
        for file in &self.files {
            let corpus = read_leniently(file, format, None, log)?;
            whole.utterances.extend(corpus.utterances);
            whole.known_values.extend(corpus.known_values);
        }
        whole.known_values.sort();
        whole.known_values.dedup();
        Ok(whole)
    }

    fn new(name: String, path: &Path) -> Self {
        let path = path.to_owned();
        Split { name, path, files: Vec::new(), partition: None, columns: None, description: None }
    }
}

/// The splits of a dataset: `train`, `valid` (or `dev`) and `test` first, then others by name.
///
/// Others are folders with `seq.in`, and `.conll` and `.jsonl` files. A path that is itself a split is its only one,
/// except that a MASSIVE file has its partitions.
pub fn splits(path: &Path) -> Result<Vec<Split>> {
    let mut splits = bare_splits(path)?;
    let is_only = splits.len() == 1;
    for split in splits.iter_mut().filter(|split| is_only || split.name == "train") {
        split.description = description_file(path);
    }
    Ok(splits)
}

fn bare_splits(path: &Path) -> Result<Vec<Split>> {
    let metadata = fs::metadata(path).map_err(|source| Error::read(path, source))?;
    let name = stem(path);
    if !metadata.is_dir() {
        return file_splits(path, name);
    }
    if detect::of_folder(path).is_ok() {
        return Ok(vec![Split::new(name, path)]);
    }
    let candidates = candidates(path)?;
    let mut splits: Vec<Split> = Vec::new();
    for (name, aliases) in NAMES {
        let mut found = candidates.iter().filter(|candidate| aliases.contains(&candidate.name.as_str()));
        if let Some(split) = found.next() {
            if let Some(other) = found.next() {
                return Err(Error::Dataset {
                    problem: format!("both {} and {} are there", split.path.display(), other.path.display()),
                    hint: format!("keep one of them as the `{name}` split"),
                });
            }
            splits.push(Split { name: name.to_owned(), ..split.clone() });
        }
    }
    let known = |name: &str| NAMES.iter().any(|(_, aliases)| aliases.contains(&name));
    let mut others: Vec<Split> =
        candidates.into_iter().filter(|split| !known(&split.name) && is_plain(split)).collect();
    others.sort_by(|a, b| a.name.cmp(&b.name));
    splits.extend(others);
    if splits.is_empty() {
        splits = rasa_splits(path)?;
    }
    if splits.is_empty() {
        return Err(Error::Dataset {
            problem: format!("{} holds no split", path.display()),
            hint: "a dataset has `train`, `valid` and perhaps `test`: folders with seq.in, seq.out and label, or files \
                   such as train.conll; or files of Rasa NLU"
                .to_owned(),
        });
    }
    Ok(splits)
}

/// The same for CoNLL files whose columns are stated.
pub fn splits_with(path: &Path, columns: Option<Layout>) -> Result<Vec<Split>> {
    let is_stated_file = columns.is_some() && path.is_file();
    let mut splits = if is_stated_file { vec![Split::new(stem(path), path)] } else { splits(path)? };
    splits.iter_mut().for_each(|split| split.columns = columns);
    Ok(splits)
}

/// Reads one split of a dataset by name, for example `train`.
pub fn read_split(dir: &Path, name: &str) -> Result<Corpus> {
    find_split(dir, &splits(dir)?, name)?.read()
}

/// One split of a dataset by name, for example `train`.
pub fn find_split<'a>(dir: &Path, splits: &'a [Split], name: &str) -> Result<&'a Split> {
    let canonical =
        NAMES.iter().find(|(_, aliases)| aliases.contains(&name)).map_or(name, |(canonical, _)| *canonical);
    match splits.iter().find(|split| split.name == canonical) {
        Some(split) => Ok(split),
        None => {
            let there: Vec<&str> = splits.iter().map(|split| split.name.as_str()).collect();
            Err(Error::Dataset {
                problem: format!("{} has no `{name}` split", dir.display()),
                hint: format!("there is {}", there.join(", ")),
            })
        }
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn file_splits(path: &Path, name: String) -> Result<Vec<Split>> {
    let whole = Split::new(name, path);
    if Format::detect(path)? != Format::Massive {
        return Ok(vec![whole]);
    }
    let partitions = massive::partitions(path)?;
    if partitions.is_empty() {
        return Ok(vec![whole]);
    }
    let rank = |name: &str| NAMES.iter().position(|(_, aliases)| aliases.contains(&name));
    let mut splits: Vec<(usize, Split)> = partitions
        .into_iter()
        .map(|partition| {
            let rank = rank(&partition).unwrap_or(NAMES.len());
            let name = NAMES.get(rank).map_or(partition.as_str(), |(name, _)| name).to_owned();
            (rank, Split { partition: Some(partition), ..Split::new(name, path) })
        })
        .collect();
    splits.sort_by_key(|(rank, _)| *rank);
    Ok(splits.into_iter().map(|(_, split)| split).collect())
}

/// Everything in a folder that may be a split.
fn candidates(dir: &Path) -> Result<Vec<Split>> {
    let mut candidates = Vec::new();
    for entry in fs::read_dir(dir).map_err(|source| Error::read(dir, source))? {
        let path = entry.map_err(|source| Error::read(dir, source))?.path();
        let name = stem(&path);
        let is_split = if path.is_dir() {
            path.join(folder::WORDS).is_file()
        } else {
            // A file without an extension is one only by its name.
            let is_named = NAMES.iter().any(|(_, aliases)| aliases.contains(&name.as_str()));
            Format::from_extension(&path).is_some() && (path.extension().is_some() || is_named)
        };
        if is_split && !name.starts_with('.') {
            candidates.push(Split::new(name, &path));
        }
    }
    Ok(candidates)
}

/// How deep the examples of a Rasa project may lie: `data/nlu/smalltalk/greet.yml`.
const RASA_DEPTH: usize = 4;

/// The examples of a Rasa project: those below a folder `test` or `tests` are to test on, all others to train on. Its domain,
/// configuration and stories are passed over.
fn rasa_splits(dir: &Path) -> Result<Vec<Split>> {
    let mut files = Vec::new();
    rasa_files(dir, RASA_DEPTH, &mut files)?;
    files.sort();
    let is_test = |file: &PathBuf| {
        let below = file.strip_prefix(dir).unwrap_or(file);
        below.parent().is_some_and(|folder| folder.iter().any(|name| name == "test" || name == "tests"))
    };
    let (test, train): (Vec<_>, Vec<_>) = files.into_iter().partition(is_test);
    let splits = [("train", train), ("test", test)].into_iter().filter(|(_, files)| !files.is_empty());
    Ok(splits.map(|(name, files)| Split { files, ..Split::new(name.to_owned(), dir) }).collect())
}

fn rasa_files(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).map_err(|source| Error::read(dir, source))? {
        let path = entry.map_err(|source| Error::read(dir, source))?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden {
            continue;
        }
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if path.is_dir() && depth > 1 {
            rasa_files(&path, depth - 1, files)?;
        } else if matches!(extension, "yml" | "yaml") && Format::detect(&path)? == Format::Rasa {
            files.extend((!rasa::is_passed_over(&path)?).then_some(path));
        } else if extension == "md" && Format::detect(&path)? == Format::RasaMarkdown {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a split of unusual name is meant as one: text, JSON and YAML files beside a dataset often are not.
fn is_plain(split: &Split) -> bool {
    split.path.is_dir()
        || split.path.extension().is_some_and(|extension| extension == "conll" || extension == "jsonl")
}
