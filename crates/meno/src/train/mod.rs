//! Training: from corpora to a [`Model`].
//!
//! [`fit`] runs the epochs, judges each on the valid set and keeps the best; it can be stopped at any step and
//! taken up again from a [`Checkpoint`] with the same result as if it had never stopped.

mod checkpoint;
mod optimizer;
#[cfg(test)]
mod tests;
mod trainer;

use std::ops::ControlFlow;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::corpus::Corpus;
use crate::encoder::{Calibration, Kernels, Parameters, SlotGated, SlotGatedShape};
use crate::engine::{MAX_WORDS, Model, Record};
use crate::features::{Features, first_intent};
use crate::metrics::{Evaluation, Mode, Report};
use crate::text::Normalizer;
use crate::{Error, Result};

pub use checkpoint::Checkpoint;
pub use trainer::{Example, Trainer};

/// How to train; the defaults are those of Goo et al. (2018), read as `docs/math.md` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainSettings {
    /// Passes over the data.
    pub epochs: usize,
    /// Utterances of a step.
    pub batch: usize,
    /// Learning rate of Adam.
    pub rate: f32,
    /// How much the slots count in the loss; the intent counts 1.
    pub slot_weight: f32,
    /// Share of activations dropped before and after the LSTM.
    pub dropout: f32,
    /// The gradient's global norm is clipped to this.
    pub clip: f32,
    /// Width of a word embedding; a multiple of 16.
    pub embedding: usize,
    /// Width of the hidden state of one direction; a multiple of 16.
    pub hidden: usize,
    /// The second loss, if there is to be one.
    pub calibrate: Option<CalibrationSettings>,
    /// What all randomness comes from.
    pub seed: u64,
}

/// The second loss: the entropy of the calibrated Dirichlet distributions is made large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CalibrationSettings {
    /// How much the entropy of a word counts beside its cross entropy.
    pub lambda: f32,
    /// A word that occurs n times is read as one outside the vocabulary with probability a / (a + n); this is a. The label
    /// of a word read so is not told: only its entropy counts.
    pub unknown_words: f32,
    /// The bounds of the calibration.
    #[serde(flatten)]
    pub bounds: Calibration,
}

impl Default for CalibrationSettings {
    fn default() -> Self {
        CalibrationSettings { lambda: 1e-3, unknown_words: 1.0, bounds: Calibration::default() }
    }
}

impl Default for TrainSettings {
    fn default() -> Self {
        TrainSettings {
            epochs: 20,
            batch: 16,
            rate: 2e-3,
            slot_weight: 16.0,
            dropout: 0.5,
            clip: 5.0,
            embedding: 64,
            hidden: 64,
            calibrate: None,
            seed: 1,
        }
    }
}

impl TrainSettings {
    /// The defaults with the second loss.
    pub fn calibrated() -> Self {
        TrainSettings { calibrate: Some(CalibrationSettings::default()), ..TrainSettings::default() }
    }

    fn unknown_words(&self) -> f32 {
        self.calibrate.map_or(0.0, |settings| settings.unknown_words)
    }

    /// Refuses what cannot work, naming the value.
    pub fn check(&self) -> Result<()> {
        let refuse = |problem: String, hint: &str| Err(Error::Setting { problem, hint: hint.to_owned() });
        for (name, width) in [("embedding", self.embedding), ("hidden", self.hidden)] {
            if width == 0 || width > 4096 || !width.is_multiple_of(16) {
                return refuse(format!("{name} is {width}"), "widths are multiples of 16 up to 4096");
            }
        }
        if self.epochs == 0 || self.batch == 0 {
            return refuse(
                format!("{} epochs with batches of {}", self.epochs, self.batch),
                "both must be at least 1",
            );
        }
        if !(0.0..=0.9).contains(&self.dropout) {
            return refuse(format!("dropout is {}", self.dropout), "it is a share from 0 to 0.9");
        }
        for (name, value) in [("rate", self.rate), ("slot_weight", self.slot_weight), ("clip", self.clip)] {
            if !value.is_finite() || value <= 0.0 {
                return refuse(format!("{name} is {value}"), "it must be a positive number");
            }
        }
        self.calibrate.as_ref().map_or(Ok(()), CalibrationSettings::check)
    }
}

impl CalibrationSettings {
    fn check(&self) -> Result<()> {
        let Calibration { delta, scale } = self.bounds;
        let refuse = |problem: String, hint: &str| Err(Error::Setting { problem, hint: hint.to_owned() });
        if !(0.0..=1.0).contains(&self.lambda) {
            return refuse(format!("lambda is {}", self.lambda), "it is a weight from 0 to 1");
        }
        if !(0.0..=1e3).contains(&self.unknown_words) {
            return refuse(
                format!("unknown_words is {}", self.unknown_words),
                "it is a number from 0 to 1000",
            );
        }
        if !(0.0..=0.9).contains(&delta) {
            return refuse(format!("delta is {delta}"), "it is a share from 0 to 0.9");
        }
        if !(1e-6..=1e6).contains(&scale) {
            return refuse(format!("scale is {scale}"), "it is a factor from 1e-6 to 1e6");
        }
        Ok(())
    }
}

/// What is going on during an epoch.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The epoch under way, from 1.
    pub epoch: usize,
    /// Epochs in all.
    pub epochs: usize,
    /// The share of this epoch that is done.
    pub share: f64,
    /// The mean loss of this epoch so far.
    pub loss: f64,
}

/// How an epoch ended.
#[derive(Clone, Debug)]
pub struct EpochReport {
    /// The epoch, from 1.
    pub epoch: usize,
    /// Its mean loss.
    pub loss: f64,
    /// How the model does on the valid set.
    pub valid: Report,
    /// Whether it is the best so far.
    pub best: bool,
}

/// Looks on while a model is trained.
pub trait Watch {
    /// After every step; breaking stops the training.
    fn step(&mut self, progress: &Progress) -> ControlFlow<()>;
    /// After every epoch.
    fn epoch(&mut self, report: &EpochReport);
}

/// Looks at nothing.
impl Watch for () {
    fn step(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn epoch(&mut self, _: &EpochReport) {}
}

/// How a training ended.
#[derive(Debug)]
pub enum Outcome {
    /// All epochs are done; the best one's model.
    Finished(Box<Model>),
    /// It was stopped; the best model so far, if an epoch was finished, and where to go on.
    Stopped {
        /// The best model so far.
        best: Option<Box<Model>>,
        /// Where to go on.
        checkpoint: Box<Checkpoint>,
    },
}

/// Trains a model on `threads` threads; their number does not change the result.
pub fn fit(
    train: &Corpus,
    valid: &Corpus,
    settings: &TrainSettings,
    threads: usize,
    resume: Option<Checkpoint>,
    watch: &mut (dyn Watch + Send),
) -> Result<Outcome> {
    settings.check()?;
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build().map_err(|e| Error::Setting {
            problem: format!("cannot start {threads} threads: {e}"),
            hint: "try --threads 1".to_owned(),
        })?;
    pool.install(|| Fit::new(train, valid, settings)?.run(resume, watch))
}

/// What stays the same during a training.
struct Fit<'a> {
    valid: &'a Corpus,
    settings: &'a TrainSettings,
    kernels: Kernels,
    fingerprint: String,
    normalizer: Normalizer,
    features: Features,
    network: SlotGated,
    examples: Vec<Example>,
}

/// The best epoch so far.
#[derive(Clone, Debug)]
struct Best {
    record: Record,
    parameters: Parameters,
}

impl<'a> Fit<'a> {
    fn new(train: &Corpus, valid: &'a Corpus, settings: &'a TrainSettings) -> Result<Self> {
        for corpus in [train, valid] {
            if corpus.utterances.iter().all(|utterance| utterance.words.is_empty()) {
                let problem = "no utterance with words in it";
                return Err(Error::corpus(
                    &corpus.path,
                    1,
                    problem,
                    "training needs utterances to train and to judge on",
                ));
            }
        }
        if let Some(long) = train.utterances.iter().find(|utterance| utterance.words.len() > MAX_WORDS) {
            let problem = format!("an utterance of {} words", long.words.len());
            let hint = format!("cut it into utterances of at most {MAX_WORDS} words");
            return Err(Error::corpus(&train.path, long.line, problem, hint));
        }
        let normalizer =
            Normalizer::fit(train.utterances.iter().map(|u| u.words.as_slice())).with_digits(true);
        let form = |word: &str| normalizer.vocabulary_form(word).to_owned();
        let features = Features::fit(train.utterances.iter(), form);
        let examples = examples(train, &normalizer, &features);
        let network = SlotGated::new(SlotGatedShape {
            words: features.words.len(),
            labels: features.labels.len(),
            intents: features.intents.len(),
            embedding: settings.embedding,
            hidden: settings.hidden,
            calibrated: settings.calibrate.is_some(),
        });
        let fingerprint = train.fingerprint();
        let kernels = Kernels::best();
        Ok(Fit { valid, settings, kernels, fingerprint, normalizer, features, network, examples })
    }

    fn run(&self, resume: Option<Checkpoint>, watch: &mut (dyn Watch + Send)) -> Result<Outcome> {
        let mut trainer = Trainer::new(&self.network, self.kernels, &self.examples, self.settings.clone());
        let mut best = match resume {
            Some(checkpoint) => checkpoint.restore(self, &mut trainer)?,
            None => None,
        };
        while trainer.epoch() < self.settings.epochs {
            let (epoch, epochs) = (trainer.epoch() + 1, self.settings.epochs);
            let stopped =
                trainer.run_epoch(|share, loss| watch.step(&Progress { epoch, epochs, share, loss }));
            let ControlFlow::Continue(loss) = stopped else {
                let checkpoint = Checkpoint::of(self, &mut trainer, best.as_ref());
                let best = best.map(|best| Box::new(self.model(best)));
                return Ok(Outcome::Stopped { best, checkpoint: Box::new(checkpoint) });
            };
            let valid = self.judge(trainer.parameters())?;
            let is_best = best.as_ref().is_none_or(|best| merit(&valid) > best.record.merit());
            watch.epoch(&EpochReport { epoch, loss, valid: valid.clone(), best: is_best });
            if is_best {
                best = Some(Best {
                    record: self.record(epoch, &valid),
                    parameters: trainer.parameters().clone(),
                });
            }
        }
        match best {
            Some(best) => Ok(Outcome::Finished(Box::new(self.model(best)))),
            None => Err(Error::Setting {
                problem: format!("nothing left to train after epoch {}", trainer.epoch()),
                hint: "raise --epochs".to_owned(),
            }),
        }
    }

    fn record(&self, epoch: usize, valid: &Report) -> Record {
        Record {
            settings: self.settings.clone(),
            corpus: self.fingerprint.clone(),
            epoch,
            valid_slot_f1: valid.slot_f1,
            valid_intent_accuracy: valid.intent_accuracy,
        }
    }

    fn model(&self, best: Best) -> Model {
        Model {
            normalizer: self.normalizer.clone(),
            features: self.features.clone(),
            network: self.network.clone(),
            parameters: best.parameters,
            record: best.record,
            threshold: None,
            phrases: None,
        }
    }

    /// The valid set, shared out among the threads.
    fn judge(&self, parameters: &Parameters) -> Result<Report> {
        let model = self.model(Best { record: Record::default(), parameters: parameters.clone() });
        let utterances = &self.valid.utterances;
        let parts: Vec<Evaluation> = (utterances.par_chunks(64))
            .map_init(|| model.worker(), |worker, part| worker.evaluate(part, Mode::Conlleval))
            .collect::<Result<_>>()?;
        Ok(parts.into_iter().fold(Evaluation::default(), Evaluation::merge).report())
    }
}

/// What an epoch is chosen by: slot F1 and intent accuracy count the same.
fn merit(report: &Report) -> f64 {
    report.slot_f1 + report.intent_accuracy.unwrap_or(0.0)
}

impl Record {
    fn merit(&self) -> f64 {
        self.valid_slot_f1 + self.valid_intent_accuracy.unwrap_or(0.0)
    }
}

fn examples(train: &Corpus, normalizer: &Normalizer, features: &Features) -> Vec<Example> {
    let id =
        |names: &crate::features::Names, name: &str| names.id(name).expect("counted in this very corpus");
    (train.utterances.iter().filter(|utterance| !utterance.words.is_empty()))
        .map(|utterance| Example {
            words: utterance
                .words
                .iter()
                .map(|word| features.word(normalizer.vocabulary_form(word)))
                .collect(),
            labels: utterance.labels.iter().map(|label| id(&features.labels, label)).collect(),
            intent: id(&features.intents, first_intent(&utterance.intent)),
        })
        .collect()
}
