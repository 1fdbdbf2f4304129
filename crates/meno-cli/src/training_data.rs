//! What a training is given: a dataset in whatever shape it comes, with something to validate on.

use std::collections::HashSet;
use std::path::Path;

use meno::corpus::conll::Layout;
use meno::corpus::{self, Corpus};
use meno::train::{TrainSettings, Validation};
use meno::{Error, Result};

use crate::output::{count, note};

/// Below so many utterances none are set aside: cross-validation takes their place.
const TOO_FEW: usize = 500;

/// Parts of a cross-validation.
const FOLDS: usize = 5;

/// What is trained on, what it is validated on, and what it is tested on.
pub struct TrainingData {
    pub train: Corpus,
    /// None where parts of the training corpus take its place in turn.
    pub valid: Option<Corpus>,
    pub test: Option<Corpus>,
}

impl TrainingData {
    /// Reads a dataset. Where it has no valid split, says what takes its place.
    pub fn read(
        path: &Path,
        columns: Option<Layout>,
        describe: Option<&Path>,
        settings: &TrainSettings,
    ) -> Result<Self> {
        let splits = corpus::splits_with(path, columns)?;
        let read =
            |name: &str| splits.iter().find(|split| split.name == name).map(|split| split.read()).transpose();
        let train = match (read("train")?, &splits[..]) {
            (Some(train), _) => train,
            (None, [only]) if !matches!(only.name.as_str(), "valid" | "test") => only.read()?,
            (None, _) => corpus::find_split(path, &splits, "train")?.read()?,
        };
        let train = match describe {
            Some(file) => train.described_by(file)?,
            None => train,
        };
        let test = read("test")?;
        let valid = read("valid")?;
        if let Some(valid) = &valid {
            demand_apart(&train, valid)?;
            return Ok(TrainingData { train, valid: Some(valid.clone()), test });
        }
        let n = train.utterances.len();
        if (FOLDS..TOO_FEW).contains(&n) && settings.is_span_level() {
            note(format_args!(
                "note: there is no valid split, and {n} utterances are too few to set some aside; the model is trained on \
                 all of them, and {FOLDS} more models, each trained without one part in {FOLDS}, tell how good it is"
            ));
            return Ok(TrainingData { train, valid: None, test });
        }
        let (rest, held_out) = train.hold_out(settings.seed);
        if held_out.utterances.is_empty() {
            return Err(Error::Dataset {
                problem: format!("{} has {} and no valid split", path.display(), count(n, "utterance")),
                hint: format!(
                    "at least {FOLDS} utterances are needed, and good models take a hundred or more"
                ),
            });
        }
        note(format_args!(
            "note: there is no valid split, so {} of {n} utterances are held out to validate on",
            held_out.utterances.len()
        ));
        Ok(TrainingData { train: rest, valid: Some(held_out), test })
    }

    /// What tells how good the model is.
    pub fn validation(&self) -> Validation<'_> {
        self.valid.as_ref().map_or(Validation::Folds(FOLDS), Validation::On)
    }
}

/// What was trained on tells nothing about what was not.
fn demand_apart(train: &Corpus, valid: &Corpus) -> Result<()> {
    let trained: HashSet<&[String]> = train.utterances.iter().map(|utterance| &utterance.words[..]).collect();
    if !valid.utterances.iter().all(|utterance| trained.contains(&utterance.words[..])) {
        return Ok(());
    }
    Err(Error::Dataset {
        problem: format!(
            "every utterance of {} stands in {} too",
            valid.path.display(),
            train.path.display()
        ),
        hint:
            "leave the valid split out, and a part of train is held out for it; `meno data split` writes both"
                .to_owned(),
    })
}
