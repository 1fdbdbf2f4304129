//! The same training with many seeds: how good a model is, and how much of that is chance.
//!
//! Enters: a [`Dataset`] and settings. Leaves: a [`Run`] for each seed, and their mean and standard deviation.
//! The engine has no clock, so the caller brings one.

mod assessment;
pub mod concepts;
pub mod memory;
pub mod novel;
pub mod paper;
pub mod trust;
pub mod unknown;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use meno::corpus::{self, Corpus};
use meno::decision::{Phrases, PolicySettings};
use meno::metrics::{Mode, Report};
use meno::train::{Options, TrainSettings, fit};
use meno::{Model, Result};

/// What is trained on, evaluated on and tested on.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// To train on.
    pub train: Corpus,
    /// To choose the best epoch by.
    pub valid: Corpus,
    /// To test the chosen epoch on.
    pub test: Corpus,
}

impl Dataset {
    /// Reads the three splits of a folder.
    pub fn read(dir: &std::path::Path) -> Result<Self> {
        let [train, valid, test] = ["train", "valid", "test"].map(|name| corpus::read_split(dir, name));
        Ok(Dataset { train: train?, valid: valid?, test: test? })
    }
}

/// One training and its test.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// What its randomness came from.
    pub seed: u64,
    /// The epoch that was the best on the valid set, from 1.
    pub epoch: usize,
    /// How long the training took.
    pub seconds: f64,
    /// How the model does on the test set.
    #[serde(flatten)]
    pub test: Report,
}

/// Trains once for each seed, `jobs` trainings at a time on one thread each, and tests each model.
///
/// `now` is the time since any fixed moment. `finished` hears of each run as it ends; the result is in the order of
/// `seeds`.
pub fn accuracy(
    dataset: &Dataset,
    settings: &TrainSettings,
    seeds: &[u64],
    jobs: usize,
    now: &(dyn Fn() -> Duration + Sync),
    finished: &(dyn Fn(&Run) + Sync),
) -> Result<Vec<Run>> {
    in_parallel(seeds.len(), jobs, |run_idx| {
        let run = run(dataset, &TrainSettings { seed: seeds[run_idx], ..settings.clone() }, now)?;
        finished(&run);
        Ok(run)
    })
}

/// Does `n` pieces of work, `jobs` at a time, and gives what came of them in order. After a failure none is begun.
pub fn in_parallel<T: Send>(
    n: usize,
    jobs: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::new());
    let job = || {
        while !failed.load(Ordering::Relaxed) {
            let idx = next.fetch_add(1, Ordering::Relaxed);
            if idx >= n {
                break;
            }
            let result = work(idx);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((idx, result));
        }
    };
    std::thread::scope(|scope| {
        // One job runs here; that fewer threads than asked for can be had only costs time.
        for _ in 1..jobs.clamp(1, n.max(1)) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, job);
        }
        job();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(idx, _)| *idx);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Trains a model on one thread.
pub fn train(dataset: &Dataset, settings: &TrainSettings, policy: PolicySettings) -> Result<Model> {
    let options = Options { policy, trust: false, ..Options::default() };
    fit(&dataset.train, &dataset.valid, settings, options, &mut ())?.finished()
}

fn run(dataset: &Dataset, settings: &TrainSettings, now: &(dyn Fn() -> Duration + Sync)) -> Result<Run> {
    let start = now();
    let policy = PolicySettings { phrases: Phrases::None, ..PolicySettings::default() };
    let model = train(dataset, settings, policy)?;
    let seconds = now().saturating_sub(start).as_secs_f64();
    let test = model.worker().evaluate(&dataset.test.utterances, Mode::Conlleval)?.report();
    Ok(Run { seed: settings.seed, epoch: model.record().epoch, seconds, test })
}

/// The mean of some numbers and how far they stray from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a sample (division by n - 1); 0 for a single number.
    pub deviation: f64,
}

impl Spread {
    /// Of these numbers; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Spread { mean, deviation: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meno::corpus::FolderText;

    fn dataset() -> Dataset {
        let text = FolderText {
            words: "play blue\nstop\nplay red moon\nstop it\n",
            labels: "O B-song\nO\nO B-song I-song\nO O\n",
            intents: Some("play\nstop\nplay\nstop\n"),
            ..FolderText::default()
        };
        let corpus = text.read("toy".as_ref()).unwrap();
        Dataset { train: corpus.clone(), valid: corpus.clone(), test: corpus }
    }

    #[test]
    fn runs_come_in_the_order_of_the_seeds_however_many_at_a_time() {
        let settings = TrainSettings { epochs: 3, embedding: 16, hidden: 16, ..TrainSettings::slot_gated() };
        let run = |jobs| {
            let clock = AtomicUsize::new(0);
            let now = || Duration::from_secs(clock.fetch_add(1, Ordering::Relaxed) as u64);
            let runs = accuracy(&dataset(), &settings, &[5, 1, 9], jobs, &now, &|_| ()).unwrap();
            runs.into_iter().map(|run| (run.seed, run.epoch, run.test)).collect::<Vec<_>>()
        };
        let alone = run(1);
        assert_eq!(alone.iter().map(|(seed, ..)| *seed).collect::<Vec<_>>(), [5, 1, 9]);
        assert_eq!(run(3), alone);
        assert_eq!(run(64), alone);
    }

    #[test]
    fn the_first_failure_is_the_result() {
        let settings = TrainSettings { hidden: 7, ..TrainSettings::slot_gated() };
        let error = accuracy(&dataset(), &settings, &[1, 2], 2, &|| Duration::ZERO, &|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "hidden is 7");
    }

    #[test]
    fn spread() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([4.0]), Some(Spread { mean: 4.0, deviation: 0.0 }));
        assert_eq!(Spread::of([1.0, 2.0, 3.0]), Some(Spread { mean: 2.0, deviation: 1.0 }));
    }
}
