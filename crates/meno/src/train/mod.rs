//! Training: from corpora to a [`Model`].
//!
//! [`fit`] runs the epochs, evaluates each on the valid set and keeps the best; it can be stopped at any step and
//! taken up again from a [`Checkpoint`] with the same result as if it had never stopped.

mod checkpoint;
mod cross_fit;
mod folds;
mod intents;
mod language;
mod open;
mod replacement;
pub(crate) mod slot_gated;
mod span_tagger;
mod transformer;
#[cfg(test)]
mod tests;
mod typical;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use crate::corpus::{Corpus, Utterance};
use crate::decision::{Policy, PolicySettings};
use crate::description::Description;
use crate::encoder::{Encoder, SlotGated, SlotGatedEncoder, SlotGatedShape, SpanTagger, SpanTaggerEncoder};
use crate::encoder::{TransformerEncoder, TransformerTagger};
use crate::engine::{HeldOut, MAX_WORDS, Model, Record};
use crate::features::{Example, Features, Forms, Lexicon, Wordings, first_intent};
use crate::kernel::Kernels;
use crate::label;
use crate::memory::{KnownValues, taken_name};
use crate::metrics::{Evaluation, Mode, Report};
use crate::nn::{Layout, Network, Parameters, Schedule, Stage, Task, Trainer};
use crate::pretrained::Pretrained;
use crate::text::Normalizer;
use crate::{Error, Result};

use replacement::known_mentions;

pub use open::{looks_open, with_open_slots};
use slot_gated::SlotGatedTask;
use span_tagger::SpanTaggerTask;
use transformer::{Cut, TransformerTask};

pub use crate::settings::{
    Architecture, Calibration, CalibrationSettings, LabelSettings, MentionReplacement, SpanTaggerSettings,
    TrainSettings, TransformerSettings,
};
pub use checkpoint::Checkpoint;
#[doc(hidden)]
pub use cross_fit::HeldOutReadings;
pub use language::{UNDETERMINED, language};

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
    /// How the model does on the valid set, if there is one.
    pub valid: Option<Report>,
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
        /// The best model so far, or why its policy could not be fitted.
        best: Option<Result<Box<Model>>>,
        /// Where to go on.
        checkpoint: Box<Checkpoint>,
    },
}

impl Outcome {
    /// The model of a training that nobody stopped.
    pub fn finished(self) -> Result<Model> {
        match self {
            Outcome::Finished(model) => Ok(*model),
            Outcome::Stopped { .. } => Err(Error::Stopped),
        }
    }
}

/// What a training needs besides its data and settings.
#[derive(Debug)]
pub struct Options {
    /// How the policy of the finished model is fitted.
    pub policy: PolicySettings,
    /// Threads to train on; their number does not change the result.
    pub threads: usize,
    /// Where to go on.
    pub resume: Option<Checkpoint>,
    /// The code of the corpus' language (BCP 47); by default it is found ([`language()`]).
    pub language: Option<String>,
    /// Whether to find out how likely readings are right, which takes further trainings on parts of the corpus: about as long as the
    /// training itself takes. For taggers that find spans.
    pub trust: bool,
    /// On how many such parts, each without some slot values; without any, the valid split alone tells, which takes no time.
    pub parts: usize,
    /// The pretrained encoder, for settings that want one.
    pub encoder: Option<Arc<Pretrained>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            policy: PolicySettings::default(),
            threads: 1,
            resume: None,
            language: None,
            trust: true,
            parts: cross_fit::PARTS,
            encoder: None,
        }
    }
}

/// What tells how good a model is, and what its policy is fitted on.
#[derive(Clone, Copy, Debug)]
pub enum Validation<'a> {
    /// A corpus that is not trained on.
    On(&'a Corpus),
    /// Cross-validation, for corpora too small to set a part aside: so many further models are trained, each without one
    /// part of the corpus, and tell how the model that is trained on all of it will do. For taggers that find spans.
    Folds(usize),
}

impl<'a> Validation<'a> {
    /// The utterances that a policy is fitted on.
    fn utterances(self, train: &'a Corpus) -> &'a [Utterance] {
        match self {
            Validation::On(valid) => &valid.utterances,
            Validation::Folds(_) => &train.utterances,
        }
    }
}

impl<'a> From<&'a Corpus> for Validation<'a> {
    fn from(valid: &'a Corpus) -> Self {
        Validation::On(valid)
    }
}

/// Trains a model with one thread for each core. The valid set chooses the best epoch and fits the policy.
pub fn train(train: &Corpus, valid: &Corpus, settings: &TrainSettings) -> Result<Model> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    fit(train, valid, settings, Options { threads, ..Options::default() }, &mut ())?.finished()
}

/// Trains a model. It is finished: it says what is unknown, by a policy fitted on the valid set, unless that has no slot.
pub fn fit<'a>(
    train: &'a Corpus,
    valid: impl Into<Validation<'a>>,
    settings: &TrainSettings,
    options: Options,
    watch: &mut (dyn Watch + Send),
) -> Result<Outcome> {
    let validation = valid.into();
    check(train, validation, settings, &options.policy)?;
    on_threads(options.threads, || match validation {
        Validation::On(valid) => fit_on(train, valid, settings, options, watch),
        Validation::Folds(n_folds) => folds::fit(train, n_folds, settings, options, watch),
    })
}

/// Refuses what training would refuse, before anything is trained.
pub fn check<'a>(
    train: &Corpus,
    valid: impl Into<Validation<'a>>,
    settings: &TrainSettings,
    policy: &PolicySettings,
) -> Result<()> {
    settings.check()?;
    policy.check()?;
    demand_names(train)?;
    if let Some(replacement) = settings.replacement() {
        demand_slots(train, replacement.open.as_deref().unwrap_or_default())?;
        let validation = valid.into();
        let utterances = validation.utterances(train);
        let n_spans = utterances.iter().map(|utterance| label::iter_spans(&utterance.labels).count()).sum();
        policy.check_promise(utterances.len(), n_spans)?;
    }
    Ok(())
}

/// Does some work with so many threads.
fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let threads = threads.max(1);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Error::Threads { problem: format!("cannot start {threads} threads: {e}") })?;
    pool.install(work)
}

/// Refuses slots that are said to be open and are not there.
fn demand_slots(train: &Corpus, open: &[String]) -> Result<()> {
    let spans = train.utterances.iter().flat_map(|utterance| label::iter_spans(&utterance.labels));
    let slots: BTreeSet<&str> = spans.map(|span| span.slot).collect();
    match open.iter().find(|slot| !slots.contains(slot.as_str())) {
        None => Ok(()),
        Some(slot) => Err(Error::Setting {
            problem: format!("`{slot}` is to be open, but the data has no such slot"),
            hint: format!("its slots are {}", slots.into_iter().collect::<Vec<_>>().join(", ")),
        }),
    }
}

/// With a corpus to validate on.
fn fit_on(
    train: &Corpus,
    valid: &Corpus,
    settings: &TrainSettings,
    mut options: Options,
    watch: &mut (dyn Watch + Send),
) -> Result<Outcome> {
    demand_words(valid)?;
    let language = language(train, options.language.as_deref())?;
    let encoder = options.encoder.clone();
    let whole = Fit { language, ..Fit::new(train, Some(valid), settings, encoder.as_deref())? };
    let finish = |best| {
        let mut model = whole.model(best);
        if settings.is_span_level() {
            model = intents::consulted(model, train, valid)?;
        }
        let policy = model.fit_policy(&options.policy, &valid.utterances)?;
        Ok(model.with_fitted_policy(policy))
    };
    let is_trusted = options.trust && settings.is_span_level();
    let n_epochs =
        settings.epochs + if is_trusted { cross_fit::n_epochs(settings, options.parts) } else { 0 };
    let mut part = Part { watch, done: 0, epochs: n_epochs };
    let (model, checkpoint) = match whole.run(options.resume.take(), &mut part)? {
        Ended::Done { best, checkpoint } if is_trusted => (finish(best)?, checkpoint),
        ended => return ended.finish(finish),
    };
    part.done = settings.epochs;
    let natural = [HeldOut { model: &model, utterances: &valid.utterances }];
    let trust = cross_fit::trust(&model, train, &natural, settings, &options, &mut part)?;
    Ok(match trust {
        Some(trust) => Outcome::Finished(Box::new(model.with_trust(trust))),
        None => Outcome::Stopped { best: Some(Ok(Box::new(model))), checkpoint },
    })
}

/// One of several trainings, told as a part of all of them.
struct Part<'w> {
    watch: &'w mut (dyn Watch + Send),
    /// Epochs of the trainings before it.
    done: usize,
    /// Epochs of all of them.
    epochs: usize,
}

impl Watch for Part<'_> {
    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.watch.step(&Progress { epoch: self.done + progress.epoch, epochs: self.epochs, ..*progress })
    }

    fn epoch(&mut self, report: &EpochReport) {
        let best = report.best && self.done == 0;
        self.watch.epoch(&EpochReport { epoch: self.done + report.epoch, best, ..report.clone() });
    }
}

/// What stays the same during a training.
struct Fit<'a> {
    valid: Option<&'a Corpus>,
    settings: &'a TrainSettings,
    kernels: Kernels,
    fingerprint: String,
    /// If it is not English.
    language: Option<String>,
    normalizer: Normalizer,
    features: Arc<Features>,
    known_values: Arc<KnownValues>,
    description: Arc<Description>,
    examples: Vec<Example>,
    network: Untrained<'a>,
}

/// A network without weights.
enum Untrained<'a> {
    SlotGated(Box<SlotGated>),
    SpanTagger {
        network: Box<SpanTagger>,
        tagger: &'a SpanTaggerSettings,
        forms: Box<Forms>,
    },
    Transformer {
        network: Box<TransformerTagger>,
        tagger: &'a TransformerSettings,
        encoder: &'a Pretrained,
        cut: Vec<Cut>,
    },
}

/// The best epoch so far.
#[derive(Clone, Debug)]
struct Best {
    record: Record,
    parameters: Parameters,
}

/// How the epochs of a training ended.
enum Ended {
    Done { best: Best, checkpoint: Box<Checkpoint> },
    Stopped { best: Option<Best>, checkpoint: Box<Checkpoint> },
}

impl Ended {
    fn finish(self, finish: impl FnOnce(Best) -> Result<Model>) -> Result<Outcome> {
        match self {
            Ended::Done { best, .. } => Ok(Outcome::Finished(Box::new(finish(best)?))),
            Ended::Stopped { best, checkpoint } => {
                let best = best.map(|best| finish(best).map(Box::new));
                Ok(Outcome::Stopped { best, checkpoint })
            }
        }
    }
}

impl<'a> Fit<'a> {
    fn new(
        train: &Corpus,
        valid: Option<&'a Corpus>,
        settings: &'a TrainSettings,
        encoder: Option<&'a Pretrained>,
    ) -> Result<Self> {
        let (normalizer, mut features, examples) = read(train, settings)?;
        let network = match &settings.architecture {
            Architecture::SlotGated(calibration) => {
                Untrained::SlotGated(Box::new(SlotGated::new(SlotGatedShape {
                    words: features.words.len(),
                    labels: features.labels.len(),
                    intents: features.intents.len(),
                    embedding: settings.embedding,
                    hidden: settings.hidden,
                    calibrated: calibration.is_some(),
                })))
            }
            Architecture::SpanTagger(tagger) => {
                let forms = span_tagger::forms(tagger, &features)?;
                let network =
                    Box::new(SpanTagger::new(span_tagger::shape(settings, tagger, &features, &forms)));
                features.forms = Some(forms.clone());
                Untrained::SpanTagger { network, tagger, forms: Box::new(forms) }
            }
            Architecture::Transformer(tagger) => {
                let encoder = transformer::demand_encoder(encoder, tagger)?;
                let shape = transformer::shape(encoder, tagger, &features)?;
                features.forms = Some(transformer::forms(encoder, &features));
                let network = Box::new(TransformerTagger::new(shape));
                Untrained::Transformer { network, tagger, encoder, cut: transformer::cut(encoder, train) }
            }
        };
        if features.forms.is_some() {
            features.lexicon = Some(Lexicon::fit(&features, &examples));
            features.wordings = Some(Wordings::fit(&examples));
        }
        Ok(Fit {
            valid,
            settings,
            kernels: Kernels::best(),
            fingerprint: train.fingerprint(),
            language: None,
            normalizer,
            known_values: Arc::new(KnownValues::fit(&train.known_values, &features.labels.slots())),
            description: Arc::new(description(train, &features)),
            features: Arc::new(features),
            examples,
            network,
        })
    }

    fn run(&self, resume: Option<Checkpoint>, watch: &mut (dyn Watch + Send)) -> Result<Ended> {
        let (settings, features, examples) = (self.settings, &*self.features, &self.examples[..]);
        match &self.network {
            Untrained::SlotGated(network) => {
                self.train(SlotGatedTask::new(network, examples, settings), resume, watch)
            }
            Untrained::SpanTagger { network, tagger, forms } => {
                let known = known_mentions(self.known_values.values(), &self.normalizer, features);
                let task = SpanTaggerTask::new(network, settings, tagger, features, forms, examples, known);
                self.train(task, resume, watch)
            }
            Untrained::Transformer { network, tagger, encoder, cut } => {
                let known = known_mentions(self.known_values.values(), &self.normalizer, features);
                let examples = (examples, &cut[..]);
                let task =
                    TransformerTask::new(network, settings, tagger, encoder, features, examples, known);
                self.train(task, resume, watch)
            }
        }
    }

    fn layout(&self) -> &Layout {
        match &self.network {
            Untrained::SlotGated(network) => network.layout(),
            Untrained::SpanTagger { network, .. } => network.layout(),
            Untrained::Transformer { network, .. } => network.layout(),
        }
    }

    fn train(
        &self,
        task: impl Task,
        resume: Option<Checkpoint>,
        watch: &mut (dyn Watch + Send),
    ) -> Result<Ended> {
        let mut trainer = Trainer::new(task, self.kernels, self.settings.schedule());
        let mut best = match resume {
            Some(checkpoint) => checkpoint.restore(self, &mut trainer)?,
            None => None,
        };
        while trainer.epoch() < self.settings.epochs {
            let (epoch, epochs) = (trainer.epoch() + 1, self.settings.epochs);
            let stopped =
                trainer.run_epoch(|share, loss| watch.step(&Progress { epoch, epochs, share, loss }));
            let ControlFlow::Continue(loss) = stopped else {
                let checkpoint = Box::new(Checkpoint::of(self, &mut trainer, best.as_ref()));
                return Ok(Ended::Stopped { best, checkpoint });
            };
            let valid = self.valid.map(|valid| self.evaluate(trainer.parameters(), valid)).transpose()?;
            let record = self.record(epoch, valid.as_ref());
            // Where the learning rate falls to nearly nothing, the last epoch is no worse than a lucky one.
            let is_best = self.settings.is_span_level()
                || best.as_ref().is_none_or(|best| record.merit() > best.record.merit());
            watch.epoch(&EpochReport { epoch, loss, valid, best: is_best });
            if is_best {
                best = Some(Best { record, parameters: trainer.parameters().clone() });
            }
        }
        let checkpoint = Box::new(Checkpoint::of(self, &mut trainer, best.as_ref()));
        match best {
            Some(best) => Ok(Ended::Done { best, checkpoint }),
            None => Err(Error::Trained { epoch: trainer.epoch() }),
        }
    }

    fn record(&self, epoch: usize, valid: Option<&Report>) -> Record {
        Record {
            settings: self.settings.clone(),
            corpus: self.fingerprint.clone(),
            language: self.language.clone(),
            epoch,
            valid_slot_f1: valid.map_or(0.0, |valid| valid.slot_f1),
            valid_intent_accuracy: valid.and_then(|valid| valid.intent_accuracy),
        }
    }

    /// A model that never says unknown.
    fn model(&self, Best { record, mut parameters }: Best) -> Model {
        let encoder = match &self.network {
            Untrained::SlotGated(network) => {
                let bounds = self.settings.calibration().map(|calibration| calibration.bounds);
                let encoder =
                    SlotGatedEncoder::new((**network).clone(), parameters, bounds.unwrap_or_default());
                Encoder::SlotGated(Arc::new(encoder))
            }
            Untrained::SpanTagger { network, .. } => {
                network.round(&mut parameters);
                Encoder::SpanTagger(Arc::new(SpanTaggerEncoder::new((**network).clone(), parameters, None)))
            }
            Untrained::Transformer { network, .. } => {
                let network = (**network).clone();
                let calibration = self.settings.calibration().map(|calibration| calibration.bounds);
                let encoder =
                    TransformerEncoder::new(network, parameters, None, calibration.unwrap_or_default());
                Encoder::Transformer(Arc::new(encoder))
            }
        };
        let policy = Policy::never(Model::default_scorer(&encoder));
        Model {
            normalizer: self.normalizer.clone(),
            features: self.features.clone(),
            encoder,
            outside_penalty: self.settings.outside_penalty(),
            joint_slots: self.settings.joint_slots(),
            policy: Arc::new(policy),
            known_values: self.known_values.clone(),
            description: self.description.clone(),
            syntax: None,
            record,
        }
    }

    /// The valid set, shared out among the threads.
    fn evaluate(&self, parameters: &Parameters, valid: &Corpus) -> Result<Report> {
        let model = self.model(Best { record: Record::default(), parameters: parameters.clone() });
        let utterances = &valid.utterances;
        let parts: Vec<Evaluation> = (utterances.par_chunks(64))
            .map_init(|| model.worker(), |worker, part| worker.evaluate(part, Mode::Conlleval))
            .collect::<Result<_>>()?;
        Ok(parts.into_iter().fold(Evaluation::default(), Evaluation::merge).report())
    }
}

/// What the corpus says of what the model has; where it says nothing, what the names of its slots tell and a few requests.
fn description(train: &Corpus, features: &Features) -> Description {
    let slots = features.labels.slots();
    let slots = slots.iter().map(String::as_str);
    if train.description.is_empty() {
        return typical::with_examples(Description::guess(slots), &train.utterances);
    }
    let intents = features.intents.names().iter().map(|name| &**name);
    train.description.only(&slots.collect(), &intents.collect())
}

impl TrainSettings {
    /// How the trainer goes through the data.
    pub fn schedule(&self) -> Schedule {
        let base = Schedule {
            epochs: self.epochs,
            batch: self.batch,
            rate: self.rate,
            clip: self.clip,
            seed: self.seed,
            ..Schedule::default()
        };
        match &self.architecture {
            Architecture::SlotGated(_) => base,
            Architecture::SpanTagger(tagger) => Schedule { last_rate: tagger.last_rate, ..base },
            Architecture::Transformer(tagger) => {
                let after = tagger.replacing_epochs(self.epochs);
                let second_stage = (after < self.epochs).then_some(Stage { after, rate: tagger.plain_rate });
                let (last_rate, warm_up) = (0.0, tagger.warm_up);
                Schedule { last_rate, warm_up, second_stage, beta2: transformer::BETA2, ..base }
            }
        }
    }
}

fn demand_words(corpus: &Corpus) -> Result<()> {
    match corpus.utterances.iter().all(|utterance| utterance.words.is_empty()) {
        false => Ok(()),
        true => {
            let hint = "training needs utterances to train and to validate on";
            Err(Error::corpus(&corpus.path, 1, "no utterance with words in it", hint))
        }
    }
}

/// Refuses slots whose names nobody could be taught a value of: a question that offers one would have no answer.
fn demand_names(corpus: &Corpus) -> Result<()> {
    let taken = corpus.utterances.iter().find_map(|utterance| {
        label::iter_spans(&utterance.labels).find_map(|span| Some((utterance.line, taken_name(span.slot)?)))
    });
    match taken {
        None => Ok(()),
        Some((line, problem)) => {
            Err(Error::corpus(&corpus.path, line, problem, "give the slot another name, such as `playlist`"))
        }
    }
}

fn demand_short(corpus: &Corpus) -> Result<()> {
    match corpus.utterances.iter().find(|utterance| utterance.words.len() > MAX_WORDS) {
        None => Ok(()),
        Some(long) => {
            let problem = format!("an utterance of {} words", long.words.len());
            let hint = format!("cut it into utterances of at most {MAX_WORDS} words");
            Err(Error::corpus(&corpus.path, long.line, problem, hint))
        }
    }
}

impl Record {
    /// What an epoch is chosen by: slot F1 and intent accuracy count the same.
    fn merit(&self) -> f64 {
        self.valid_slot_f1 + self.valid_intent_accuracy.unwrap_or(0.0)
    }
}

/// What a corpus has: how it is read, its words, labels and intents, and its utterances as ids of them.
fn read(train: &Corpus, settings: &TrainSettings) -> Result<(Normalizer, Features, Vec<Example>)> {
    demand_words(train)?;
    demand_short(train)?;
    let normalizer = train.normalizer().with_digits(true);
    let form = |word: &str| normalizer.vocabulary_form(word).to_owned();
    let mut features = Features::fit(train.utterances.iter(), form);
    if !matches!(settings.architecture, Architecture::SlotGated(_)) {
        features.labels = features.labels.paired();
    }
    let examples = examples(train, &normalizer, &features);
    Ok((normalizer, features, examples))
}

fn examples(train: &Corpus, normalizer: &Normalizer, features: &Features) -> Vec<Example> {
    let word = |word: &String| features.word(normalizer.vocabulary_form(word));
    (train.utterances.iter().filter(|utterance| !utterance.words.is_empty()))
        .map(|utterance| Example {
            words: utterance.words.iter().map(word).collect(),
            labels: utterance.labels.iter().map(|label| counted(features.labels.id(label))).collect(),
            intent: counted(features.intents.id(first_intent(&utterance.intent))),
        })
        .collect()
}

/// The id of what was counted in this very corpus.
fn counted(id: Option<u32>) -> u32 {
    id.expect("every label and intent of the corpus has an id")
}
