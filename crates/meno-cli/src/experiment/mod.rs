//! `meno experiment`: what the documentation claims, repeated.

mod ablation;
mod cells;
mod concepts;
mod conversation;
mod corpora;
mod figures;
mod memory;
mod novel_slots;
mod paper;
mod published;
mod runs;
mod sweep;
mod trust;

use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::Subcommand;
use meno::Result;
use meno::train::TrainSettings;
use meno_experiment::{Dataset, Run, Spread, accuracy};
use serde::Serialize;

use crate::output::{pretty, print};
use crate::settings::{TrainArgs, threads};
use crate::style::Style;

const EXAMPLES: &str = "\
Examples:
  meno experiment accuracy data/concepts
  meno experiment accuracy data/atis data/snips --seeds 10 --jobs 4 > accuracy.md";

/// What was typed after `meno experiment`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train the slot-gated tagger with several seeds, test each model, print a Markdown table with mean and standard deviation.
    #[command(after_help = EXAMPLES)]
    Accuracy(AccuracyArgs),
    /// Train the default tagger without one of its parts at a time.
    Ablation(ablation::Args),
    /// Train the default tagger with several seeds and evaluate it on known and on new concepts.
    Concepts(concepts::Args),
    /// Measure how answers are understood, what is asked about, and how conversations go.
    Conversation(conversation::Args),
    /// Train the default tagger on datasets of any shape with several seeds, beside what others reach on them.
    Corpora(corpora::Args),
    /// Find new concepts by every method of Shen, Chen and Jin (2020), and write their table and pictures.
    Paper(paper::Args),
    /// Learn concepts, and measure what that breaks and what it finds.
    Memory(memory::Args),
    /// Hold slots out of the training of the default tagger, and find them as unknown.
    NovelSlots(novel_slots::Args),
    /// Train the calibrated model with several values of a setting, and write a table and a picture.
    Sweep(sweep::Args),
    /// Train the default tagger on datasets of any shape, and measure whether it acts only on what it reads rightly.
    Trust(trust::Args),
}

#[derive(clap::Args)]
struct AccuracyArgs {
    /// Datasets: folders with train, valid and test.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// How many seeds: 1, 2, and so on.
    #[arg(long, value_name = "N", default_value = "5")]
    seeds: NonZeroUsize,
    /// Trainings at a time, each on one thread; by default one for each core.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    train: TrainArgs,
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    match args.command {
        Command::Accuracy(args) => run_accuracy(&args),
        Command::Ablation(args) => ablation::run(&args),
        Command::Concepts(args) => concepts::run(&args, style),
        Command::Conversation(args) => conversation::run(&args),
        Command::Corpora(args) => corpora::run(&args, style),
        Command::Paper(args) => paper::run(args, style),
        Command::Memory(args) => memory::run(&args),
        Command::NovelSlots(args) => novel_slots::run(&args),
        Command::Sweep(args) => sweep::run(args, style),
        Command::Trust(args) => trust::run(&args, style),
    }
}

/// The command line, as it can be typed again.
fn typed() -> String {
    let quoted = |arg: std::ffi::OsString| {
        let arg = arg.to_string_lossy().into_owned();
        let is_plain = arg.chars().all(|c| c.is_alphanumeric() || "/._-+:@,=~".contains(c));
        if is_plain { arg } else { format!("'{}'", arg.replace('\'', r"'\''")) }
    };
    std::iter::once("meno".to_owned())
        .chain(std::env::args_os().skip(1).map(quoted))
        .collect::<Vec<_>>()
        .join(" ")
}

fn run_accuracy(args: &AccuracyArgs) -> Result<ExitCode> {
    let settings = args.train.over(TrainSettings::slot_gated());
    settings.check()?;
    let datasets: Vec<Dataset> = args.dirs.iter().map(|dir| Dataset::read(dir)).collect::<Result<_>>()?;
    let seeds: Vec<u64> = (1..=args.seeds.get() as u64).collect();
    let jobs = threads(args.jobs);
    let mut results = Vec::new();
    for (path, dataset) in args.dirs.iter().zip(&datasets) {
        let (start, counter) = (Instant::now(), Counter::new(path, seeds.len()));
        let runs = accuracy(dataset, &settings, &seeds, jobs, &|| start.elapsed(), &|_| counter.count())?;
        counter.finish();
        let result = Accuracy::new(path, runs);
        if !args.json {
            print(format_args!("{}{}", if results.is_empty() { "" } else { "\n" }, result.table()))?;
        }
        results.push(result);
    }
    if args.json {
        print(pretty(&results))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Accuracy<'a> {
    path: &'a Path,
    runs: Vec<Run>,
    slot_f1: Option<Spread>,
    intent_accuracy: Option<Spread>,
    utterance_accuracy: Option<Spread>,
    seconds: Option<Spread>,
}

impl<'a> Accuracy<'a> {
    fn new(path: &'a Path, runs: Vec<Run>) -> Self {
        Accuracy {
            path,
            slot_f1: Spread::of(runs.iter().map(|run| run.test.slot_f1)),
            intent_accuracy: Spread::of(runs.iter().filter_map(|run| run.test.intent_accuracy)),
            utterance_accuracy: Spread::of(runs.iter().map(|run| run.test.utterance_accuracy)),
            seconds: Spread::of(runs.iter().map(|run| run.seconds)),
            runs,
        }
    }

    fn table(&self) -> String {
        let mut rows = vec![
            row("seed", ["slot F1", "intent accuracy", "utterance accuracy", "seconds"].map(str::to_owned)),
            "|---:|---:|---:|---:|---:|".to_owned(),
        ];
        for Run { seed, seconds, test, .. } in &self.runs {
            let scores = [Some(test.slot_f1), test.intent_accuracy, Some(test.utterance_accuracy)];
            rows.push(numbers(&seed.to_string(), scores, Some(*seconds)));
        }
        let spreads = [self.slot_f1, self.intent_accuracy, self.utterance_accuracy];
        let mean = |spread: Option<Spread>| spread.map(|spread| spread.mean);
        let deviation = |spread: Option<Spread>| spread.map(|spread| spread.deviation);
        rows.push(numbers("mean", spreads.map(mean), mean(self.seconds)));
        rows.push(numbers("deviation", spreads.map(deviation), deviation(self.seconds)));
        format!("### {}\n\n{}", self.path.display(), rows.join("\n"))
    }
}

fn numbers(name: &str, scores: [Option<f64>; 3], seconds: Option<f64>) -> String {
    let show = |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |x| format!("{x:.digits$}"));
    let [slot_f1, intent, utterance] = scores.map(|score| show(score, 2));
    row(name, [slot_f1, intent, utterance, show(seconds, 1)])
}

fn row(name: &str, [slot_f1, intent, utterance, seconds]: [String; 4]) -> String {
    format!("| {name:>9} | {slot_f1:>7} | {intent:>15} | {utterance:>18} | {seconds:>7} |")
}

/// Counts finished trainings on one line of standard error, if that is a terminal.
struct Counter<'a> {
    path: &'a Path,
    n_runs: usize,
    n_done: AtomicUsize,
    is_terminal: bool,
}

impl<'a> Counter<'a> {
    fn new(path: &'a Path, n_runs: usize) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let counter = Counter { path, n_runs, n_done: AtomicUsize::new(0), is_terminal };
        counter.draw(0);
        counter
    }

    fn count(&self) {
        self.draw(1 + self.n_done.fetch_add(1, Ordering::Relaxed));
    }

    fn draw(&self, n_done: usize) {
        if self.is_terminal {
            let (path, n_runs) = (self.path.display(), self.n_runs);
            let _ = write!(io::stderr().lock(), "\r\x1b[2K{path}: {n_done} of {n_runs} trainings done");
        }
    }

    fn finish(&self) {
        if self.is_terminal {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
    }
}
