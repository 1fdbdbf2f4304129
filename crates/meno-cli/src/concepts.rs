//! The corpus that ships with meno, inside the program so that the demo works wherever it is installed.

use std::path::Path;

use meno::Result;
use meno::corpus::{Corpus, FolderText};
use meno_concepts::{NEW, Split, TEST, TRAIN, VALID};
use meno_experiment::Dataset;

/// To train on, to validate on and to test on.
pub fn dataset() -> Result<Dataset> {
    Ok(Dataset { train: read("train", TRAIN)?, valid: read("valid", VALID)?, test: read("test", TEST)? })
}

/// Utterances with concepts that none of the others has.
pub fn new_concepts() -> Result<Corpus> {
    read("new", NEW)
}

fn read(name: &str, split: Split) -> Result<Corpus> {
    let Split { words, labels, intents, truth } = split;
    let text = FolderText { words, labels, truth, intents: Some(intents), description: None };
    text.read(&Path::new("concepts").join(name))
}
