//! Training: from corpora to a [`Model`].
//!
//! [`fit`] runs the epochs, judges each on the valid set and keeps the best; it can be stopped at any step and
//! taken up again from a [`Checkpoint`] with the same result as if it had never stopped.

mod checkpoint;
mod concepts;
mod optimizer;
mod paper;
mod substitution;
mod task;
#[cfg(test)]
mod tests;
mod trainer;

use std::ops::ControlFlow;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::corpus::Corpus;
use crate::encoder::{Calibration, Kernels, Parameters, SlotGated, SlotGatedShape};
use crate::engine::{MAX_WORDS, Model, Record, SpanModel, Tagger};
use crate::features::{Features, first_intent};
use crate::metrics::{Evaluation, Mode, Report};
use crate::text::Normalizer;
use crate::vectors::Vectors;
use crate::{Error, Result};

use concepts::Concepts;
pub(crate) use concepts::Sentence;
use paper::Paper;
use substitution::Substitutes;
use task::Task;

pub use checkpoint::Checkpoint;
pub use paper::Example;
pub use substitution::Substitution;
pub use trainer::Trainer;

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
    /// How to train the span tagger; the slot-gated one is trained without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tagger: Option<TaggerSettings>,
    /// What all randomness comes from.
    pub seed: u64,
}

/// What only the span tagger has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaggerSettings {
    /// Layers of the LSTM: 1 or 2.
    pub layers: usize,
    /// Width of a character's embedding; a multiple of 16.
    pub character: usize,
    /// Filters over the characters of a word; a multiple of 16.
    pub filters: usize,
    /// Whether the letters of a word are read.
    pub letters: bool,
    /// Whether words have the frozen vectors that come with the program.
    pub vectors: bool,
    /// A word that occurs n times is read as one outside the vocabulary with probability a / (a + n); this is a.
    pub unknown_words: f32,
    /// What the logit of being outside of all concepts loses for a word that never was.
    pub outside_penalty: f64,
    /// The learning rate falls evenly to this share of it.
    pub last_rate: f32,
    /// How concepts are replaced by others.
    pub substitution: Substitution,
}

impl Default for TaggerSettings {
    fn default() -> Self {
        TaggerSettings {
            layers: 2,
            character: 32,
            filters: 64,
            letters: true,
            vectors: true,
            unknown_words: 1.0,
            outside_penalty: 2.0,
            last_rate: 0.02,
            substitution: Substitution::default(),
        }
    }
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
            tagger: None,
            seed: 1,
        }
    }
}

impl TrainSettings {
    /// The defaults with the second loss.
    pub fn calibrated() -> Self {
        TrainSettings { calibrate: Some(CalibrationSettings::default()), ..TrainSettings::default() }
    }

    /// The defaults of the span tagger.
    pub fn tagger() -> Self {
        TrainSettings {
            epochs: 30,
            batch: 32,
            rate: 2.5e-3,
            slot_weight: 4.0,
            dropout: 0.4,
            hidden: 96,
            tagger: Some(TaggerSettings::default()),
            ..TrainSettings::default()
        }
    }

    /// The learning rate when this share of all steps is done.
    fn rate_at(&self, share: f32) -> f32 {
        let last = self.tagger.as_ref().map_or(1.0, |tagger| tagger.last_rate);
        self.rate * (1.0 - (1.0 - last) * share)
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
        if self.calibrate.is_some() && self.tagger.is_some() {
            return refuse(
                "a tagger with a second loss".to_owned(),
                "the second loss is of the slot-gated tagger alone",
            );
        }
        self.tagger.as_ref().map_or(Ok(()), TaggerSettings::check)?;
        self.calibrate.as_ref().map_or(Ok(()), CalibrationSettings::check)
    }
}

impl TaggerSettings {
    fn check(&self) -> Result<()> {
        let refuse = |problem: String, hint: &str| Err(Error::Setting { problem, hint: hint.to_owned() });
        for (name, width) in [("character", self.character), ("filters", self.filters)] {
            if width == 0 || width > 4096 || !width.is_multiple_of(16) {
                return refuse(format!("{name} is {width}"), "widths are multiples of 16 up to 4096");
            }
        }
        if !(1..=2).contains(&self.layers) {
            return refuse(format!("layers is {}", self.layers), "there are 1 or 2");
        }
        if !(0.0..=1e3).contains(&self.outside_penalty) {
            return refuse(
                format!("outside_penalty is {}", self.outside_penalty),
                "it is a number from 0 to 1000",
            );
        }
        if !(0.0..=1e3).contains(&self.unknown_words) {
            return refuse(
                format!("unknown_words is {}", self.unknown_words),
                "it is a number from 0 to 1000",
            );
        }
        let Substitution { utterances, concepts, same_slot, any_slot, patterns, spliced, same_words, .. } =
            self.substitution;
        for (name, share) in [
            ("last_rate", self.last_rate),
            ("utterances", utterances),
            ("concepts", concepts),
            ("same_slot", same_slot),
            ("any_slot", any_slot),
            ("same_slot and any_slot together", same_slot + any_slot),
            ("patterns", patterns),
            ("spliced", spliced),
            ("same_words", same_words),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(format!("{name} is {share}"), "it is a share from 0 to 1");
            }
        }
        Ok(())
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
    tagger: Tagger,
    sentences: Vec<Sentence>,
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
        let mut features = Features::fit(train.utterances.iter(), form);
        if settings.tagger.is_some() {
            features = features.with_paired_labels();
        }
        let sentences = sentences(train, &normalizer, &features);
        let tagger = match &settings.tagger {
            None => Tagger::SlotGated(Box::new(SlotGated::new(SlotGatedShape {
                words: features.words.len(),
                labels: features.labels.len(),
                intents: features.intents.len(),
                embedding: settings.embedding,
                hidden: settings.hidden,
                calibrated: settings.calibrate.is_some(),
            }))),
            Some(tagger) => Tagger::Span(Box::new(SpanModel::fit(tagger, settings, &features, &sentences))),
        };
        let fingerprint = train.fingerprint();
        let kernels = Kernels::best();
        Ok(Fit { valid, settings, kernels, fingerprint, normalizer, features, tagger, sentences })
    }

    fn run(&self, resume: Option<Checkpoint>, watch: &mut (dyn Watch + Send)) -> Result<Outcome> {
        match &self.tagger {
            Tagger::SlotGated(network) => {
                let example = |sentence: &Sentence| Example {
                    words: sentence.words.clone(),
                    labels: sentence.labels.clone(),
                    intent: sentence.intent,
                };
                let examples: Vec<Example> = self.sentences.iter().map(example).collect();
                self.train(Paper::new(network, &examples, self.settings.clone()), resume, watch)
            }
            Tagger::Span(model) => {
                let settings = self.settings.tagger.as_ref().expect("a span tagger is trained");
                let words = self.features.words.names();
                let forms: Vec<_> = words.iter().map(|word| model.form(word)).collect();
                let form = |word: &str| model.form(word);
                let unknown_words = settings.unknown_words;
                let (counts, _) = counts(words.len(), &self.sentences);
                let task = Concepts {
                    network: &model.network,
                    settings: self.settings,
                    unknown: counts
                        .iter()
                        .map(|&n| unknown_words / (unknown_words + n.max(1) as f32))
                        .collect(),
                    substitutes: substitutes(settings, &self.features, &self.sentences),
                    sentences: &self.sentences,
                    form: &form,
                    n_words: forms.len(),
                    forms,
                    examples: Vec::new(),
                };
                self.train(task, resume, watch)
            }
        }
    }

    fn train(
        &self,
        task: impl Task,
        resume: Option<Checkpoint>,
        watch: &mut (dyn Watch + Send),
    ) -> Result<Outcome> {
        let mut trainer = Trainer::of(task, self.kernels, self.settings.clone());
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
            // Where the learning rate falls to nearly nothing, the last epoch is no worse than a lucky one.
            let is_best = self.settings.tagger.is_some()
                || best.as_ref().is_none_or(|best| merit(&valid) > best.record.merit());
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

    fn model(&self, mut best: Best) -> Model {
        self.tagger.round(&mut best.parameters);
        Model {
            normalizer: self.normalizer.clone(),
            features: self.features.clone(),
            tagger: self.tagger.clone(),
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

fn sentences(train: &Corpus, normalizer: &Normalizer, features: &Features) -> Vec<Sentence> {
    let id =
        |names: &crate::features::Names, name: &str| names.id(name).expect("counted in this very corpus");
    (train.utterances.iter().filter(|utterance| !utterance.words.is_empty()))
        .map(|utterance| Sentence {
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

/// How often each word occurs, and how often outside of all concepts.
fn counts(n_words: usize, sentences: &[Sentence]) -> (Vec<usize>, Vec<usize>) {
    let (mut counts, mut outside) = (vec![0; n_words], vec![0; n_words]);
    for sentence in sentences {
        for (&word, &label) in sentence.words.iter().zip(&sentence.labels) {
            counts[word as usize] += 1;
            outside[word as usize] += usize::from(label == 0);
        }
    }
    (counts, outside)
}

fn substitutes<'a>(
    tagger: &'a TaggerSettings,
    features: &'a Features,
    sentences: &'a [Sentence],
) -> Substitutes<'a> {
    let words = features.words.names();
    let (counts, outside) = counts(words.len(), sentences);
    let concepts = sentences
        .iter()
        .flat_map(|sentence| sentence.concepts().map(|(slot, range)| (slot, &sentence.words[range])));
    let capitals = |word: &str| Vectors::english().capitals(word).filter(|_| tagger.vectors);
    let substitution = &tagger.substitution;
    Substitutes::new(substitution, &features.slots(), words, concepts, &counts, &outside, capitals)
}
