//! `meno experiment concepts`: the default tagger with several seeds, on what it knows and on what it has never seen.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use meno::corpus::{self, Corpus};
use meno::decision::{PolicySettings, SPAN_BUDGET};
use meno::metrics::questions::QuestionShares;
use meno::pretrained::Pretrained;
use meno::train::{Options, TrainSettings, fit};
use meno::{Error, Result, atomic};
use meno_experiment::Spread;
use meno_experiment::concepts::{
    CurvePoint, KnownReport, NewReport, ScoreReport, curve, evaluate, evaluate_rejection, rank_scores,
};
use meno_experiment::paper::demand_new_concepts;
use serde::Serialize;

use super::typed;
use crate::config;
use crate::output::{note, pretty, print};
use crate::pictures::{Axis, Lines, Series, save};
use crate::progress::Watcher;
use crate::settings::{TrainArgs, threads};
use crate::style::Style;

const EXAMPLES: &str = "\
Examples:
  meno experiment concepts --data data/concepts --new new
  meno experiment concepts --data DIR --split valid --new ood-dev --seeds 3
  meno experiment concepts --data DIR --new ood-test --other data/concepts/test
  meno experiment concepts --data DIR --new ood-test --encoder minilm --seeds 3

Thresholds come from the valid split. Prints a Markdown table with the mean and the standard deviation over seeds.";

/// What was typed after `meno experiment concepts`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The dataset: a folder with train, valid and test.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The in-domain split to evaluate on.
    #[arg(long, value_name = "NAME", default_value = "test")]
    split: String,
    /// The split of the dataset with new concepts.
    #[arg(long, value_name = "NAME")]
    new: Option<String>,
    /// Utterances about something else, which should be rejected.
    #[arg(long, value_name = "DIR")]
    other: Vec<PathBuf>,
    /// How many seeds: 1, 2, and so on.
    #[arg(long, value_name = "N", default_value = "5")]
    seeds: NonZeroUsize,
    /// Threads to train on; by default one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// A folder with a pretrained encoder of the BERT family, as Hugging Face has it, to train instead of the BiLSTM.
    #[arg(long, value_name = "FOLDER")]
    encoder: Option<PathBuf>,
    /// A file with settings of the training.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How many points of slot F1 the threshold may cost on the valid split.
    #[arg(long, value_name = "POINTS", default_value_t = SPAN_BUDGET)]
    budget: f64,
    /// At most this share of in-domain concepts is to be called unknown.
    #[arg(long, value_name = "SHARE", conflicts_with = "budget")]
    false_alarm: Option<f64>,
    /// Also compare scores of concepts, on the model of the last seed.
    #[arg(long, requires = "new")]
    scores: bool,
    /// A folder for the tables, the numbers of each seed, and pictures of what thresholds give.
    #[arg(long, value_name = "DIR", requires = "new")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    train: TrainArgs,
}

/// One training.
#[derive(Serialize)]
struct Run {
    seed: u64,
    seconds: f64,
    bytes: usize,
    threshold: f64,
    known: KnownReport,
    new: Option<NewReport>,
    /// What thresholds give.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    curve: Vec<CurvePoint>,
    /// The share of other utterances that are rejected, and the AUROC of that.
    other: Vec<(f64, Option<f64>)>,
}

/// Runs the command.
pub fn run(args: &Args, style: Style) -> Result<ExitCode> {
    let encoder = args.encoder.as_deref().map(Pretrained::open).transpose()?.map(Arc::new);
    let defaults = encoder.as_deref().map_or_else(TrainSettings::default, TrainSettings::transformer);
    let base = match &args.config {
        Some(file) => config::read(file, defaults)?,
        None => defaults,
    };
    let settings = args.train.over(base);
    settings.check()?;
    let [train, valid, test] =
        ["train", "valid", &args.split].map(|name| corpus::read_split(&args.data, name));
    let (train, valid, test) = (train?, valid?, test?);
    let new = args.new.as_ref().map(|name| corpus::read_split(&args.data, name)).transpose()?;
    new.as_ref().map(demand_new_concepts).transpose()?;
    let others: Vec<Corpus> = args.other.iter().map(|dir| corpus::read(dir, None)).collect::<Result<_>>()?;
    let (mut runs, mut ranked) = (Vec::new(), Vec::new());
    for seed in 1..=args.seeds.get() as u64 {
        let settings = TrainSettings { seed, ..settings.clone() };
        let (start, mut watcher) = (Instant::now(), Watcher::new(None, style.stderr));
        let policy = PolicySettings {
            budget: Some(args.budget),
            false_alarm: args.false_alarm,
            ..PolicySettings::default()
        };
        let options = Options {
            policy,
            threads: threads(args.threads),
            trust: false,
            encoder: encoder.clone(),
            ..Options::default()
        };
        let model = fit(&train, &valid, &settings, options, &mut watcher)?.finished()?;
        watcher.finish();
        let seconds = start.elapsed().as_secs_f64();
        if let Some(new) = new.as_ref().filter(|_| args.scores) {
            ranked = rank_scores(&model, args.budget, &valid, new)?;
        }
        let curve = new.as_ref().map(|new| curve(&model, &test, new)).unwrap_or_default();
        let (known, new) = evaluate(&model, &test, new.as_ref())?;
        let other =
            others.iter().map(|other| evaluate_rejection(&model, &test, other)).collect::<Result<_>>()?;
        let threshold = model.policy().threshold.as_ref().map_or(0.0, |threshold| threshold.value);
        runs.push(Run { seed, seconds, bytes: model.to_bytes().len(), threshold, known, new, curve, other });
        note(format_args!("seed {seed}: slot F1 {:.2}", runs[runs.len() - 1].known.report.slot_f1));
    }
    let mut tables = table(args, &runs);
    if args.scores {
        tables += &format!("\n\n{}", score_table(&ranked));
    }
    if let Some(folder) = &args.out {
        write(folder, &tables, &runs)?;
    }
    print(if args.json { pretty(&runs) } else { tables })?;
    Ok(ExitCode::SUCCESS)
}

/// Tables, numbers and pictures into a folder.
fn write(folder: &Path, tables: &str, runs: &[Run]) -> Result<()> {
    let failed = |source| Error::Write { path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    save(&questions(runs).scene()?, &folder.join("questions"))?;
    atomic::write(&folder.join("runs.json"), (pretty(&runs).to_string() + "\n").as_bytes())?;
    let text = format!(
        "`{}`\n\n{tables}\n\nWhat thresholds give; the one of each seed is where its silent errors in the table are.\n\n\
         ![Silent errors and needless questions over the share of new concepts asked about](questions.svg)\n",
        typed()
    );
    atomic::write(&folder.join("README.md"), text.as_bytes())
}

/// Silent errors and needless questions over the share of new concepts that are asked about, of the first seed.
fn questions(runs: &[Run]) -> Lines {
    let points = |value: &dyn Fn(&CurvePoint) -> f64| {
        runs[0].curve.iter().map(|point| (point.questions.asked, value(point))).collect()
    };
    let series =
        |name: &str, points: Vec<(f64, f64)>| Series { name: name.to_owned(), points, spread: Vec::new() };
    let axis = |label: &str| Axis { label: label.to_owned(), ..Axis::default() };
    let here = |run: &Run| {
        let (new, known) = (run.new.as_ref()?, &run.known);
        Some([
            (new.questions.asked, new.questions.silent_errors),
            (new.questions.asked, known.questions.needless_utterances),
        ])
    };
    let chosen: Vec<(f64, f64)> = here(&runs[0]).into_iter().flatten().collect();
    Lines {
        title: "What a threshold gives".to_owned(),
        x: axis("new concepts asked about, in percent"),
        y: axis("percent"),
        series: vec![
            series("new concepts that are silent errors", points(&|point| point.questions.silent_errors)),
            series("new concepts asked about needlessly", points(&|point| point.questions.needless)),
            series(
                "in-domain utterances with a needless question",
                points(&|point| point.needless_utterances),
            ),
            series("the default threshold", chosen),
        ],
        marks: Vec::new(),
    }
}

fn score_table(ranked: &[ScoreReport]) -> String {
    let mut lines = vec![
        "| score | AUROC | strict F1 | F1 of all slots | silent errors, % | asked about, % |".to_owned(),
        "|---|---:|---:|---:|---:|---:|".to_owned(),
    ];
    for ScoreReport { score, auroc, scores, questions } in ranked {
        let auroc = auroc.map_or("-".to_owned(), |auroc| format!("{auroc:.3}"));
        let QuestionShares { silent_errors, asked, .. } = questions;
        let (strict, all_slots) = (scores.strict.f1, scores.all_slots.f1);
        lines.push(format!(
            "| {score} | {auroc} | {strict:.2} | {all_slots:.2} | {silent_errors:.2} | {asked:.2} |"
        ));
    }
    lines.join("\n")
}

fn table(args: &Args, runs: &[Run]) -> String {
    let mut lines =
        vec![format!("| {} | mean | deviation |", args.data.display()), "|---|---:|---:|".to_owned()];
    let mut line = |name: &str, digits: usize, value: &dyn Fn(&Run) -> Option<f64>| {
        if let Some(Spread { mean, deviation }) = Spread::of(runs.iter().filter_map(value)) {
            lines.push(format!("| {name} | {mean:.digits$} | {deviation:.digits$} |"));
        }
    };
    line("slot F1 before the threshold", 2, &|run| Some(run.known.report.slot_f1));
    line("slot F1 after it", 2, &|run| Some(run.known.slot_f1_after));
    line("intent accuracy", 2, &|run| run.known.report.intent_accuracy);
    line("known concepts called unknown, %", 2, &|run| Some(run.known.flagged));
    line("from (95 %)", 2, &|run| Some(run.known.flagged_interval.0));
    line("to", 2, &|run| Some(run.known.flagged_interval.1));
    line("utterances with a needless question, %", 2, &|run| Some(run.known.questions.needless_utterances));
    line("utterances rejected, %", 2, &|run| Some(run.known.rejected));
    let new = |run: &Run, value: &dyn Fn(&NewReport) -> Option<f64>| run.new.as_ref().and_then(value);
    line("new concepts, boundaries found, %", 2, &|run| new(run, &|new| Some(new.boundaries)));
    line("new concepts, strict F1", 2, &|run| new(run, &|new| Some(new.scores.strict.f1)));
    line("F1 of all slots", 2, &|run| new(run, &|new| Some(new.scores.all_slots.f1)));
    line("AUROC", 3, &|run| new(run, &|new| new.auroc));
    line("silent errors, %", 2, &|run| new(run, &|new| Some(new.questions.silent_errors)));
    line("asked about, %", 2, &|run| new(run, &|new| Some(new.questions.asked)));
    line("asked about needlessly, %", 2, &|run| new(run, &|new| Some(new.questions.needless)));
    for (i, dir) in args.other.iter().enumerate() {
        line(&format!("{} rejected, %", dir.display()), 2, &|run| Some(run.other[i].0));
        line(&format!("{} rejected, AUROC", dir.display()), 3, &|run| run.other[i].1);
    }
    line("seconds to train", 1, &|run| Some(run.seconds));
    line("model file, MB", 2, &|run| Some(run.bytes as f64 / 1e6));
    lines.join("\n")
}
