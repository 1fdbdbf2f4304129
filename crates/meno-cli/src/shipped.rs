//! The corpus of the demo, inside the program so that it works wherever it is installed.

use std::path::Path;

use meno::Result;
use meno::corpus::{Corpus, FolderText};
use meno_assistant::{CORPUS, NEW, Split, TEST, TRAIN, VALID};
use meno_experiment::Dataset;

/// To train on, to validate on and to test on.
pub fn dataset() -> Result<Dataset> {
    Ok(Dataset {
        train: read("train", TRAIN, Some(CORPUS))?,
        valid: read("valid", VALID, None)?,
        test: read("test", TEST, None)?,
    })
}

/// Utterances with concepts that none of the others has.
pub fn new_concepts() -> Result<Corpus> {
    read("new", NEW, None)
}

fn read(name: &str, split: Split, description: Option<&str>) -> Result<Corpus> {
    let Split { words, labels, intents, truth } = split;
    let text = FolderText { words, labels, truth, intents: Some(intents), description };
    text.read(&Path::new("assistant").join(name))
}
