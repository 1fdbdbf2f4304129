//! The corpus that ships with meno, inside the program so that the demo works wherever it is installed.

use std::path::Path;

use meno::Result;
use meno::corpus::{Corpus, FolderText};
use meno_experiment::Dataset;

macro_rules! file {
    ($split:literal, $name:literal) => {
        include_str!(concat!("../../../data/concepts/", $split, "/", $name))
    };
}

macro_rules! split {
    ($split:literal) => {
        FolderText {
            words: file!($split, "seq.in"),
            labels: file!($split, "seq.out"),
            intents: Some(file!($split, "label")),
            truth: None,
        }
    };
}

const TRAIN: FolderText<'static> = split!("train");
const VALID: FolderText<'static> = split!("valid");
const TEST: FolderText<'static> = split!("test");
const NEW: FolderText<'static> = FolderText { truth: Some(file!("new", "seq.true")), ..split!("new") };

/// To train on, to validate on and to test on.
pub fn dataset() -> Result<Dataset> {
    let [train, valid, test] = [("train", TRAIN), ("valid", VALID), ("test", TEST)].map(read);
    Ok(Dataset { train: train?, valid: valid?, test: test? })
}

/// Utterances with concepts that none of the others has.
pub fn new_concepts() -> Result<Corpus> {
    read(("new", NEW))
}

fn read((name, text): (&str, FolderText<'_>)) -> Result<Corpus> {
    text.read(&Path::new("concepts").join(name))
}
