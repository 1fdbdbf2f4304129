//! `meno train`: from a dataset to a model file.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use meno::decision::{Expected, Growth, Policy, PolicySettings, Threshold, Trust};
use meno::engine::{Record, WeightFormat};
use meno::metrics::{Mode, Report};
use meno::pretrained::Pretrained;
use meno::train::{
    Architecture, Checkpoint, Options, Outcome, TrainSettings, UNDETERMINED, check, fit, language,
    looks_open, with_open_slots,
};
use meno::{Error, Model, Result, atomic};
use serde::Serialize;

use crate::config;
use crate::interrupt::{self, Interrupt};
use crate::output::{count, note, pretty, print};
use crate::progress::{Time, Watcher};
use crate::settings::{ArchitectureName, CalibrationArgs, ColumnsArgs, ThresholdArgs, TrainArgs};
use crate::settings::{note_never_unknown, only_with, threads};
use crate::style::Style;
use crate::training_data::TrainingData;

const EXAMPLES: &str = "\
Examples:
  meno train nlu.yml                          a Rasa bot; writes nlu.meno
  meno train data/concepts -o concepts.model
  meno train DIR -o my.model --seed 7 --epochs 40
  meno train DIR -o my.model --resume         after Ctrl-C
  meno train DIR -o my.model --encoder FOLDER on a pretrained encoder of the BERT family (docs/encoders.md)
  meno train --print-config > my.toml         then meno train DIR -o my.model --config my.toml

DATA is a file of any format that `meno data` reads, a folder with train and perhaps valid and test (folders with seq.in,
seq.out and label, or files such as train.conll), or a Rasa project. Where there is no valid split, a part that is like the
rest is held out; from fewer than 500 utterances nothing is, and five more trainings, each without a fifth, take its place.
If there is a test split, the model is measured on it at the end. The same data, settings and seed give the same bytes,
whatever the threads.

The model finds concepts and names them; it knows words by their characters and by what is known of English words, and
learns from mentions that are put in the place of others. Concepts that it is less sure of than a threshold are called
unknown, with their boundaries and its best guess. The threshold is the lowest that costs at most --budget points of slot F1
on valid, or the one that keeps the (conformal) promise of --false-alarm. Settings can be kept in a file: --print-config writes one,
with what each means, --config reads one.

With --architecture slot-gated it is the tagger of the paper, which scores words: it learns at the same time to be unsure of what it
has never seen (--plain leaves that out), and its model is that of the best epoch on valid.

Ctrl-C stops after the step under way and keeps the best model so far, and beside it, in MODEL.checkpoint, what
--resume needs to go on as if nothing had happened. A second Ctrl-C ends at once and writes nothing.";

/// What was typed after `meno train`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The dataset: a file of any format, a folder with train and perhaps valid and test, or a Rasa project.
    #[arg(value_name = "DATA", required_unless_present = "print_config")]
    data: Option<PathBuf>,
    /// The model file to write; by default the name of the data with `.meno` behind it, in the current folder.
    #[arg(short, long, value_name = "MODEL")]
    output: Option<PathBuf>,
    #[command(flatten)]
    columns: ColumnsArgs,
    /// How to talk about the slots and intents, in TOML (docs/corpora.md); by default the file corpus.toml of the dataset.
    #[arg(long, value_name = "FILE")]
    describe: Option<PathBuf>,
    /// Which network to train: the span tagger, unless something is typed that only the slot-gated one has.
    #[arg(long, alias = "recipe", value_enum, value_name = "NAME", help_heading = "How to train")]
    architecture: Option<ArchitectureName>,
    /// A folder with a pretrained encoder of the BERT family, as Hugging Face has it, to train instead of the BiLSTM.
    #[arg(long, value_name = "FOLDER", conflicts_with = "architecture", help_heading = "How to train")]
    encoder: Option<PathBuf>,
    /// Store and run the trained tagger with weights of 8 bits: smaller, and faster (see `meno quantize`).
    #[arg(long, help_heading = "How to train")]
    quantize: bool,
    /// A file with settings; what is typed goes before what it says.
    #[arg(long, value_name = "FILE", conflicts_with = "resume", help_heading = "How to train")]
    config: Option<PathBuf>,
    /// Print the settings as such a file, with what each means, and train nothing.
    #[arg(long, help_heading = "How to train")]
    print_config: bool,
    /// Go on with a training that was stopped, with its settings.
    #[arg(long)]
    resume: bool,
    /// Threads to train on; by default one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// The language of the data by its code, such as en, es or zh-Hans; by default whether it is English is found.
    #[arg(long, value_name = "CODE", help_heading = "How to train")]
    language: Option<String>,
    /// What all randomness comes from (1).
    #[arg(long, value_name = "N", help_heading = "How to train")]
    seed: Option<u64>,
    #[command(flatten)]
    train: TrainArgs,
    /// Train with the entropy regularizer, which makes the entropy large where it costs nothing; done unless --plain is given.
    #[arg(long, help_heading = "How to learn what is unknown")]
    calibrate: bool,
    /// Train the tagger alone.
    #[arg(
        long,
        conflicts_with_all = ["calibrate", "delta", "lambda", "scale", "unknown_words"],
        help_heading = "How to learn what is unknown"
    )]
    plain: bool,
    #[command(flatten)]
    calibration: CalibrationArgs,
    #[command(flatten)]
    threshold: ThresholdArgs,
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    if args.print_config {
        let encoder = args.encoder.as_deref().map(Pretrained::open).transpose()?;
        print(config::print(&settings(&args, None, encoder.as_ref())?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut job = Job::new(args)?;
    let interrupt = Interrupt::listen();
    let mut watcher = Watcher::new(Some(&interrupt), style.stderr).with_lines();
    check(&job.data.train, job.data.validation(), &job.settings, &job.policy)?;
    if job.resume.is_none() {
        match with_open_slots(&job.data.train, &job.settings, job.threads, &mut watcher) {
            Ok(settings) => job.settings = settings,
            Err(Error::Stopped) => {
                watcher.finish();
                note("stopped while it looked for open slots, before training: there is nothing to keep");
                return Ok(ExitCode::from(interrupt::EXIT_CODE));
            }
            Err(error) => return Err(error),
        }
    }
    let options = Options {
        policy: job.policy.clone(),
        threads: job.threads,
        resume: job.resume.clone(),
        language: job.language.clone(),
        encoder: job.encoder.clone(),
        ..Options::default()
    };
    let outcome = fit(&job.data.train, job.data.validation(), &job.settings, options, &mut watcher)?;
    let reached = (watcher.epoch, watcher.epochs);
    let duration = watcher.finish();
    // Whatever came of it is saved, so that a second Ctrl-C may come.
    interrupt.done();
    let saving = interrupt.saving();
    match outcome {
        Outcome::Finished(model) => {
            let model = if job.quantize { model.with_weights(WeightFormat::Int8)? } else { *model };
            note_never_unknown(&model);
            model.save(&job.output)?;
            remove(&job.checkpoint);
            drop(saving);
            job.print(&model, duration)
        }
        Outcome::Stopped { best, checkpoint } => job.stop(reached, best.transpose(), &checkpoint),
    }
}

/// Everything that a training needs, found to be there before it begins.
struct Job {
    path: PathBuf,
    output: PathBuf,
    checkpoint: PathBuf,
    settings: TrainSettings,
    policy: PolicySettings,
    threads: usize,
    json: bool,
    resume: Option<Checkpoint>,
    language: Option<String>,
    /// The folder of a pretrained encoder.
    folder: Option<PathBuf>,
    encoder: Option<Arc<Pretrained>>,
    quantize: bool,
    data: TrainingData,
}

impl Job {
    fn new(args: Args) -> Result<Self> {
        let Some(path) = args.data.clone() else { unreachable!("it is required") };
        let output = args.output.clone().unwrap_or_else(|| named_after(&path));
        let mut checkpoint = output.clone().into_os_string();
        checkpoint.push(".checkpoint");
        let checkpoint = PathBuf::from(checkpoint);
        let resume = args.resume.then(|| load(&checkpoint)).transpose()?;
        if resume.is_none() && checkpoint.exists() {
            note(format_args!(
                "note: {} is of a training that was stopped; `--resume` would go on with it",
                checkpoint.display()
            ));
        }
        let encoder = args.encoder.as_deref().map(Pretrained::open).transpose()?;
        let mut settings = settings(&args, resume.as_ref(), encoder.as_ref())?;
        let architecture =
            if settings.is_span_level() { ArchitectureName::SpanTagger } else { ArchitectureName::SlotGated };
        let policy = args.threshold.settings(architecture)?;
        if args.quantize && matches!(settings.architecture, Architecture::SlotGated(_)) {
            return Err(Error::Setting {
                problem: "the slot-gated tagger has no weights of 8 bits".to_owned(),
                hint: "leave out `--quantize`".to_owned(),
            });
        }
        atomic::demand_writable(&output)?;
        let data = TrainingData::read(&path, args.columns.layout()?, args.describe.as_deref(), &settings)?;
        if resume.is_none() && args.config.is_none() && settings.is_span_level() {
            settings = args.train.for_corpus(settings, data.train.utterances.len());
        }
        note_language(language(&data.train, args.language.as_deref())?.as_deref(), &settings);
        Ok(Job {
            data,
            path,
            output,
            checkpoint,
            settings,
            policy,
            threads: threads(args.threads),
            json: args.json,
            resume,
            language: args.language,
            folder: args.encoder,
            encoder: encoder.map(Arc::new),
            quantize: args.quantize,
        })
    }

    fn print(&self, model: &Model, duration: Duration) -> Result<ExitCode> {
        let test = match &self.data.test {
            Some(test) => Some(model.worker().evaluate(&test.utterances, Mode::Conlleval)?.report()),
            None => None,
        };
        let summary = Summary {
            model: &self.output,
            seconds: duration.as_secs_f64(),
            threads: self.threads,
            record: model.record(),
            unknown: Unknown::of(model),
            trust: model.policy().trust.as_ref(),
            open: looks_open(&self.data.train, &self.settings)?,
            test,
        };
        if self.json {
            print(pretty(&summary))?;
        } else {
            print(self.table(&summary, duration))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn table(&self, summary: &Summary<'_>, duration: Duration) -> String {
        let Summary { record, test, .. } = summary;
        let valid = (record.valid_slot_f1, record.valid_intent_accuracy);
        let mut lines = vec![
            format!("model  {}: epoch {} of {}", self.output.display(), record.epoch, self.settings.epochs),
            match &self.data.valid {
                Some(corpus) => format!("valid  {}", scores(valid, corpus.utterances.len())),
                None => format!("folds  {}", scores(valid, self.data.train.utterances.len())),
            },
        ];
        lines.extend(
            (test.as_ref()).map(|test| {
                format!("test   {}", scores((test.slot_f1, test.intent_accuracy), test.utterances))
            }),
        );
        let (what, concept) =
            if self.settings.is_span_level() { ("concepts", true) } else { ("words", false) };
        lines.extend(summary.unknown.as_ref().map(|Unknown { score, threshold, valid_slot_f1, .. }| {
            let score = if concept { "an uncertainty" } else { score };
            format!(
                "limit  {what} with {score} above {threshold:.4} are unknown; valid slot F1 is then {valid_slot_f1:.2}"
            )
        }));
        if !summary.open.is_empty() {
            let open = summary.open.join(", ");
            lines.push(format!("open   slots that have more values than the data: {open}"));
        }
        let growth = summary.unknown.as_ref().and_then(|unknown| unknown.growth);
        lines.extend(growth.map(|Growth { rule, exact_before, exact_after, .. }| {
            format!(
                "phrase by the rule `{rule}`: {exact_after:.1} % of valid slots are found with their words never seen, \
                 without it {exact_before:.1} %"
            )
        }));
        lines.extend(summary.trust.iter().flat_map(|trust| expectations(trust)));
        lines.push(format!("time   {} on {}", Time(duration), count(self.threads, "thread")));
        lines.join("\n")
    }

    fn stop(
        &self,
        (epoch, epochs): (usize, usize),
        best: Result<Option<Box<Model>>>,
        checkpoint: &Checkpoint,
    ) -> Result<ExitCode> {
        // Each is tried, whatever comes of the other.
        let kept = checkpoint.save(&self.checkpoint);
        let best = best?;
        best.iter().for_each(|model| note_never_unknown(model));
        let saved = best.as_ref().map(|model| model.save(&self.output)).transpose();
        note(format_args!("stopped in epoch {epoch} of {epochs}"));
        if let (Ok(_), Some(model)) = (&saved, &best) {
            let Record { epoch, valid_slot_f1, .. } = model.record();
            let path = self.output.display();
            note(format_args!(
                "{path}: the best model so far, of epoch {epoch}, valid slot F1 {valid_slot_f1:.2}"
            ));
        } else if best.is_none() {
            note(match &self.data.valid {
                Some(_) => "no epoch was finished, so there is no model yet",
                None => {
                    "there is no model yet: only the last epoch tells how good it is and when it is unsure"
                }
            });
        }
        if kept.is_ok() {
            note(format_args!("{}: what is needed to go on", self.checkpoint.display()));
            let (path, output) = (quoted(&self.path), quoted(&self.output));
            let encoder = self.folder.as_ref().map(|folder| format!(" --encoder {}", quoted(folder)));
            let encoder = encoder.unwrap_or_default();
            note(format_args!("hint: to go on, type `meno train {path} -o {output}{encoder} --resume`"));
        }
        kept?;
        saved?;
        Ok(ExitCode::from(interrupt::EXIT_CODE))
    }
}

/// The settings of the architecture, of the file or of the training that goes on, with what was typed.
fn settings(args: &Args, resume: Option<&Checkpoint>, encoder: Option<&Pretrained>) -> Result<TrainSettings> {
    let is_regularized = args.plain || args.calibrate || args.calibration.is_typed();
    let architecture = args.architecture.unwrap_or(if is_regularized {
        ArchitectureName::SlotGated
    } else {
        ArchitectureName::SpanTagger
    });
    let defaults = encoder.map_or_else(|| architecture.settings(), TrainSettings::transformer);
    let base = match (resume, &args.config) {
        (Some(resume), _) => resume.settings().clone(),
        (None, Some(file)) => config::read(file, defaults)?,
        (None, None) => defaults,
    };
    if base.pretrained().is_some() != encoder.is_some() {
        return Err(other_encoder(encoder));
    }
    let architecture = match &base.architecture {
        Architecture::SpanTagger(_) | Architecture::Transformer(_) if is_regularized => {
            return Err(only_with("the entropy regularizer", "the other has none"));
        }
        Architecture::SpanTagger(tagger) => Architecture::SpanTagger(tagger.clone()),
        Architecture::Transformer(tagger) => Architecture::Transformer(tagger.clone()),
        // A plain training that goes on stays plain.
        Architecture::SlotGated(None) if !args.calibrate && !args.calibration.is_typed() => {
            Architecture::SlotGated(None)
        }
        Architecture::SlotGated(_) if args.plain => Architecture::SlotGated(None),
        Architecture::SlotGated(base) => {
            Architecture::SlotGated(Some(args.calibration.over(base.unwrap_or_default())))
        }
    };
    if args.train.names_open_slots() && matches!(architecture, Architecture::SlotGated(_)) {
        return Err(Error::Setting {
            problem: "open slots are of the span tagger: the slot-gated one does not replace values"
                .to_owned(),
            hint: "leave out --open or --architecture slot-gated".to_owned(),
        });
    }
    let seed = args.seed.unwrap_or(base.seed);
    let settings = args.train.over(TrainSettings { architecture, seed, ..base });
    settings.check()?;
    Ok(settings)
}

/// A training goes on with an encoder if it began with one, and only then.
fn other_encoder(encoder: Option<&Pretrained>) -> Error {
    let (problem, hint) = match encoder {
        Some(_) => ("the training that goes on has no pretrained encoder", "leave out --encoder"),
        None => ("the training that goes on has a pretrained encoder", "add --encoder with its folder"),
    };
    Error::Setting { problem: problem.to_owned(), hint: hint.to_owned() }
}

/// Says what follows for a corpus that is not English.
fn note_language(language: Option<&str>, settings: &TrainSettings) {
    let Some(code) = language else { return };
    let found = match code {
        UNDETERMINED => "the data does not look English (`--language en` if it is)".to_owned(),
        code => format!("the language of the data is `{code}`"),
    };
    let follows = match settings.span_tagger() {
        Some(tagger) if tagger.vectors => "English word vectors are kept; English syntax is not used",
        _ => "phrases do not grow by English syntax",
    };
    note(format_args!("note: {found}: {follows} (docs/languages.md)"));
}

#[derive(Serialize)]
struct Summary<'a> {
    model: &'a Path,
    seconds: f64,
    threads: usize,
    #[serde(flatten)]
    record: &'a Record,
    unknown: Option<Unknown<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<&'a Trust>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    open: Vec<String>,
    test: Option<Report>,
}

/// What to expect of its decisions, by what was held out.
fn expectations(trust: &Trust) -> Vec<String> {
    let line = |name: &str, what: &str, expected: &Expected| {
        let percent = |n: usize, of: usize| 100.0 * n as f64 / of.max(1) as f64;
        format!(
            "{name}  {what}: acts on {:.1} %, of which {:.1} % wrongly; asks about {:.1} %, of which {:.1} % needlessly ({})",
            percent(expected.acts, expected.utterances),
            percent(expected.wrong_acts, expected.acts),
            percent(expected.questions(), expected.utterances),
            percent(expected.needless(), expected.questions()),
            count(expected.utterances, "utterance")
        )
    };
    let mut lines = vec![line("expect", "on what is like the data", &trust.known)];
    if trust.new.utterances > 0 {
        lines.push(line("      ", "on slot values that it has never seen", &trust.new));
    }
    if trust.known.acts == 0 {
        lines.push(
            "        no confidence keeps the promise on what was held out, so it acts on nothing".to_owned(),
        );
    }
    lines
}

/// When a word is unknown, and what saying so costs on the valid split.
#[derive(Serialize)]
struct Unknown<'a> {
    score: &'a str,
    threshold: f64,
    budget: f64,
    valid_slot_f1: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    growth: Option<&'a Growth>,
}

impl<'a> Unknown<'a> {
    fn of(model: &'a Model) -> Option<Self> {
        let Policy { scorer, threshold, growth, .. } = model.policy();
        let &Threshold { value: threshold, budget, f1_after: valid_slot_f1, .. } = threshold.as_ref()?;
        Some(Unknown { score: scorer.name(), threshold, budget, valid_slot_f1, growth: growth.as_ref() })
    }
}

/// Slot F1 and intent accuracy on one line.
pub fn scores((slot_f1, intent_accuracy): (f64, Option<f64>), n_utterances: usize) -> String {
    let intents = intent_accuracy.map(|accuracy| format!("   intent accuracy {accuracy:6.2}"));
    format!("slot F1 {slot_f1:6.2}{}   {n_utterances:5} utterances", intents.unwrap_or_default())
}

fn load(checkpoint: &Path) -> Result<Checkpoint> {
    match Checkpoint::load(checkpoint) {
        Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Err(Error::Setting {
            problem: format!("there is no checkpoint {}", checkpoint.display()),
            hint: "Ctrl-C during training leaves one; without --resume training begins anew".to_owned(),
        }),
        loaded => loaded,
    }
}

/// The training is done, so its checkpoint is of no more use.
fn remove(checkpoint: &Path) {
    match fs::remove_file(checkpoint) {
        Err(error) if error.kind() != io::ErrorKind::NotFound && checkpoint.exists() => {
            note(format_args!("note: cannot remove {}: {error}", checkpoint.display()));
        }
        _ => {}
    }
}

/// The model file for data whose name alone was typed.
fn named_after(data: &Path) -> PathBuf {
    let whole = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let mut name = whole.file_stem().unwrap_or_else(|| "model".as_ref()).to_owned();
    name.push(".meno");
    PathBuf::from(name)
}

/// A path as it can be typed into a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@,=~".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
