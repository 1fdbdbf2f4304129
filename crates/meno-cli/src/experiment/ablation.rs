//! `meno experiment ablation`: the default tagger without one of its parts at a time.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use meno::corpus;
use meno::decision::PolicySettings;
use meno::train::{Architecture, SpanTaggerSettings, TrainSettings};
use meno::{Error, Result};
use meno_experiment::concepts::{KnownReport, NewReport, evaluate};
use meno_experiment::paper::demand_new_concepts;
use meno_experiment::{Dataset, Spread, in_parallel, train};
use serde::Serialize;

use super::Counter;
use crate::output::{pretty, print};
use crate::settings::{TrainArgs, threads};

const EXAMPLES: &str = "\
Examples:
  meno experiment ablation --data DIR --split valid --new ood-dev
  meno experiment ablation --data DIR --new ood-test --epochs 12

Prints a Markdown table with a row for each part that is left out, mean and standard deviation over seeds.";

/// What was typed after `meno experiment ablation`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The dataset: a folder with train and valid.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The in-domain split to evaluate on.
    #[arg(long, value_name = "NAME", default_value = "test")]
    split: String,
    /// The split of the dataset with new concepts.
    #[arg(long, value_name = "NAME")]
    new: String,
    /// How many seeds: 1, 2, and so on.
    #[arg(long, value_name = "N", default_value = "3")]
    seeds: NonZeroUsize,
    /// How many trainings at a time; by default one for each core.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    train: TrainArgs,
}

type Part = (&'static str, fn(&mut SpanTaggerSettings));

/// What is left out; the first row has everything.
const PARTS: [Part; 7] = [
    ("everything", |_| {}),
    ("without characters", |tagger| tagger.char_cnn = false),
    ("without frozen vectors", |tagger| tagger.vectors = false),
    ("without the second layer", |tagger| tagger.layers = 1),
    ("without word dropout", |tagger| tagger.unknown_words = 0.0),
    ("without mention replacement", |tagger| tagger.replacement.utterances = 0.0),
    ("without the penalty for being outside", |tagger| tagger.outside_penalty = 0.0),
];

#[derive(Serialize)]
struct Run {
    part: &'static str,
    seed: u64,
    known: KnownReport,
    new: NewReport,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode> {
    let settings = args.train.over(TrainSettings::default());
    settings.check()?;
    let [train_set, valid, test, new] =
        ["train", "valid", &args.split, &args.new].map(|name| corpus::read_split(&args.data, name));
    let (dataset, new) = (Dataset { train: train_set?, valid: valid?, test: test? }, new?);
    demand_new_concepts(&new)?;
    let n_runs = PARTS.len() * args.seeds.get();
    let counter = Counter::new(&args.data, n_runs);
    let runs = in_parallel(n_runs, threads(args.jobs), |run_idx| {
        let (part, leave_out) = PARTS[run_idx / args.seeds];
        let seed = 1 + (run_idx % args.seeds) as u64;
        let mut settings = TrainSettings { seed, ..settings.clone() };
        if let Architecture::SpanTagger(tagger) = &mut settings.architecture {
            leave_out(tagger);
        }
        let model = train(&dataset, &settings, PolicySettings::default())?;
        let (known, new) = evaluate(&model, &dataset.test, Some(&new))?;
        counter.count();
        let missing =
            || Error::Setting { problem: "no new concepts".to_owned(), hint: "see --new".to_owned() };
        Ok(Run { part, seed, known, new: new.ok_or_else(missing)? })
    })?;
    counter.finish();
    print(if args.json { pretty(&runs) } else { table(&runs) })?;
    Ok(ExitCode::SUCCESS)
}

fn table(runs: &[Run]) -> String {
    let mut lines = vec![
        "| | slot F1 | after the threshold | boundaries, % | strict F1 | F1 of all slots | AUROC | silent errors, % | asked about, % |"
            .to_owned(),
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|".to_owned(),
    ];
    for (part, _) in PARTS {
        let spread = |digits: usize, value: &dyn Fn(&Run) -> Option<f64>| {
            let spread = Spread::of(runs.iter().filter(|run| run.part == part).filter_map(value));
            spread.map_or("-".to_owned(), |Spread { mean, deviation }| {
                format!("{mean:.digits$} ± {deviation:.digits$}")
            })
        };
        let cells = [
            spread(1, &|run| Some(run.known.report.slot_f1)),
            spread(1, &|run| Some(run.known.slot_f1_after)),
            spread(1, &|run| Some(run.new.boundaries)),
            spread(1, &|run| Some(run.new.scores.strict.f1)),
            spread(1, &|run| Some(run.new.scores.all_slots.f1)),
            spread(3, &|run| run.new.auroc),
            spread(1, &|run| Some(run.new.questions.silent_errors)),
            spread(1, &|run| Some(run.new.questions.asked)),
        ];
        lines.push(format!("| {part} | {} |", cells.join(" | ")));
    }
    lines.join("\n")
}
