//! `meno experiment novel-slots`: slots of which the training has nothing are to be found as unknown.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use meno::decision::PolicySettings;
use meno::metrics::Scores;
use meno::train::TrainSettings;
use meno::{Error, Result};
use meno_experiment::novel::{NovelReport, evaluate, hold_out};
use meno_experiment::{Dataset, Spread, in_parallel, train};
use serde::Serialize;

use super::Counter;
use crate::output::{pretty, print};
use crate::settings::{TrainArgs, threads};

/// Chosen on valid with the novel slots in it.
const BUDGET: f64 = 2.0;

const EXAMPLES: &str = "\
Examples:
  meno experiment novel-slots --data DIR/snips
  meno experiment novel-slots --data data/concepts --slots recipient,place --seeds 3

No utterance with a novel slot is trained or evaluated on; the threshold comes from the rest of the valid split. Without
--slots the three sets of Wu et al. (2021) for Snips are taken, beside their best figures (BERT-large).";

/// The slots that Wu et al. (2021) hold out of Snips, and the F1 of spans and of words that they report.
const PUBLISHED: [(&str, &str, [f64; 2]); 3] = [
    ("5 %", "party_size_number timeRange", [31.7, 47.0]),
    (
        "15 %",
        "artist condition_description country entity_name object_select poi spatial_relation",
        [32.2, 53.8],
    ),
    (
        "30 %",
        "album city cuisine entity_name facility movie_name object_location_type object_part_of_series_type poi \
         served_dish service spatial_relation",
        [38.6, 55.2],
    ),
];

/// What was typed after `meno experiment novel-slots`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The dataset: a folder with train, valid and test.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The slots to hold out.
    #[arg(long, value_name = "SLOT", value_delimiter = ',')]
    slots: Vec<String>,
    /// How many seeds: 1, 2, and so on.
    #[arg(long, value_name = "N", default_value = "3")]
    seeds: NonZeroUsize,
    /// How many trainings at a time; by default one for each core.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// How many points of slot F1 the threshold may cost on the valid split: more than by default, as more is new.
    #[arg(long, value_name = "POINTS", default_value_t = BUDGET)]
    budget: f64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    train: TrainArgs,
}

/// A set of slots that was held out.
#[derive(Serialize)]
struct HeldOut {
    name: String,
    slots: BTreeSet<String>,
    /// F1 of spans and of words.
    published: Option<[f64; 2]>,
    /// One for each seed.
    reports: Vec<NovelReport>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode> {
    let settings = args.train.over(TrainSettings::default());
    settings.check()?;
    let dataset = Dataset::read(&args.data)?;
    let mut sets = Vec::new();
    if args.slots.is_empty() {
        for (name, slots, published) in PUBLISHED {
            let slots = slots.split_whitespace().map(str::to_owned).collect();
            sets.push(HeldOut {
                name: name.to_owned(),
                slots,
                published: Some(published),
                reports: Vec::new(),
            });
        }
    } else {
        let (name, slots) = (args.slots.join(", "), args.slots.iter().cloned().collect());
        sets.push(HeldOut { name, slots, published: None, reports: Vec::new() });
    }
    for set in &sets {
        demand_slots(&dataset, set)?;
    }
    for set in &mut sets {
        let held_out = hold_out(&dataset, &set.slots);
        let counter = Counter::new(&args.data, args.seeds.get());
        set.reports = in_parallel(args.seeds.get(), threads(args.jobs), |run_idx| {
            let settings = TrainSettings { seed: 1 + run_idx as u64, ..settings.clone() };
            let policy = PolicySettings { budget: Some(args.budget), ..PolicySettings::default() };
            let model = train(&held_out, &settings, policy)?;
            let report = evaluate(&model, &held_out.test);
            counter.count();
            report
        })?;
        counter.finish();
    }
    print(if args.json { pretty(&sets) } else { table(&sets) })?;
    Ok(ExitCode::SUCCESS)
}

fn demand_slots(dataset: &Dataset, set: &HeldOut) -> Result<()> {
    let labels = dataset.train.utterances.iter().flat_map(|utterance| &utterance.labels);
    let known: BTreeSet<&str> = labels.map(|label| meno::label::split(label).1).collect();
    match set.slots.iter().find(|slot| !known.contains(slot.as_str())) {
        None => Ok(()),
        Some(slot) => Err(Error::Setting {
            problem: format!("no utterance of {} has the slot `{slot}`", dataset.train.path.display()),
            hint: "name slots of the dataset with --slots".to_owned(),
        }),
    }
}

fn table(sets: &[HeldOut]) -> String {
    let mut lines = vec![
        "| held out | spans: P | R | F1 | BERT-large | words: P | R | F1 | BERT-large | other slots: F1 |"
            .to_owned(),
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|".to_owned(),
    ];
    for HeldOut { name, published, reports, .. } in sets {
        let spread = |value: &dyn Fn(&NovelReport) -> f64| {
            let spread = Spread::of(reports.iter().map(value));
            spread.map_or("-".to_owned(), |Spread { mean, deviation }| format!("{mean:.1} ± {deviation:.1}"))
        };
        let scores = |of: fn(&NovelReport) -> Scores| {
            [
                spread(&|report| of(report).precision),
                spread(&|report| of(report).recall),
                spread(&|report| of(report).f1),
            ]
            .join(" | ")
        };
        let published = published.map(|f1| f1.map(|f1| format!("{f1:.1}"))).unwrap_or_default();
        let (spans, words) = (scores(|report| report.spans), scores(|report| report.tokens));
        let known = spread(&|report| report.known_f1);
        lines.push(format!("| {name} | {spans} | {} | {words} | {} | {known} |", published[0], published[1]));
    }
    lines.join("\n")
}
