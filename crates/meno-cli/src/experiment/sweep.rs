//! `meno experiment sweep`: what one setting does to the calibrated model.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use meno::uncertainty::Score;
use meno::{Result, atomic};
use meno_experiment::Spread;
use meno_experiment::paper::{Kind, ModelRun, PaperSettings};
use serde::Serialize;

use super::cells::{markdown, show};
use super::runs::{Fingerprints, RunArgs, Runs, Task};
use super::typed;
use crate::interrupt;
use crate::output::{note, pretty, print};
use crate::pictures::{Axis, Lines, Series, save};
use crate::style::Style;

pub const EXAMPLES: &str = "\
Examples:
  meno experiment sweep --data data/concepts --over hidden --out hidden
  meno experiment sweep --data data/atis --over delta --ood ood-dev --seeds 3 --out delta

The calibrated model is trained with each value: delta 0.05 to 0.5 by 0.05; lambda 0, 0.00001 to 1 by powers of ten;
unknown-words 0 to 4; hidden 32, 64, 128, 256. Words are unknown by their Dirichlet entropy. OUT gets README.md, results.json, results.csv and
a picture; after Ctrl-C type the command again.";

/// What was typed after `meno experiment sweep`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What is changed.
    #[arg(long, value_name = "SETTING")]
    over: Over,
    /// How many seeds: 1, 2, and so on.
    #[arg(long, value_name = "N", default_value = "3")]
    seeds: NonZeroUsize,
    // Last, because its heading would stand above what follows.
    #[command(flatten)]
    run: RunArgs,
}

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Over {
    /// The radius of the ball of the calibration.
    Delta,
    /// The weight of the entropy regularizer.
    Lambda,
    /// How often word dropout takes rare words.
    UnknownWords,
    /// The width of the hidden state.
    Hidden,
}

impl Over {
    fn values(self) -> &'static [f32] {
        match self {
            Over::Delta => &[0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5],
            Over::Lambda => &[0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0],
            Over::UnknownWords => &[0.0, 0.1, 0.25, 1.0, 4.0],
            Over::Hidden => &[32.0, 64.0, 128.0, 256.0],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Over::Delta => "delta",
            Over::Lambda => "lambda",
            Over::UnknownWords => "unknown-words",
            Over::Hidden => "hidden",
        }
    }

    fn set(self, settings: &PaperSettings, value: f32) -> PaperSettings {
        let mut settings = settings.clone();
        match self {
            Over::Delta => settings.calibrate.bounds.delta = value,
            Over::Lambda => settings.calibrate.lambda = value,
            Over::UnknownWords => settings.calibrate.unknown_words = value,
            Over::Hidden => settings.train.hidden = value as usize,
        }
        settings
    }
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    let encoder = args.run.encoder()?;
    let settings = args.run.settings(true, encoder.as_deref())?;
    let runs = Runs::new(&args.run, encoder)?;
    let over = args.over;
    let seeds: Vec<u64> = (1..=args.seeds.get() as u64).collect();
    let task = |value: f32, seed: u64| Task {
        name: format!("{}-{value}-{seed}", over.name()),
        kind: Kind::Calibrated,
        seed,
        settings: over.set(&settings, value),
        with_sample: false,
    };
    let tasks: Vec<Task> =
        over.values().iter().flat_map(|&value| seeds.iter().map(move |&seed| task(value, seed))).collect();
    let Some(evaluated) = runs.run(&tasks, style.stderr)? else {
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    };
    let points = over.values().iter().zip(evaluated.chunks(seeds.len()));
    let points: Vec<Point> = points.filter_map(|(&value, runs)| Point::of(value, runs)).collect();
    let results = Results {
        data: &args.run.data,
        new_concepts: &runs.ood,
        fingerprints: &runs.data,
        settings: &settings,
        over: over.name(),
        seeds: &seeds,
        points,
    };
    results.write(&args.run.out)?;
    print(results.table())?;
    note(format_args!("{}: table, numbers and picture", args.run.out.join("README.md").display()));
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Results<'a> {
    data: &'a Path,
    new_concepts: &'a str,
    fingerprints: &'a Fingerprints,
    settings: &'a PaperSettings,
    over: &'a str,
    seeds: &'a [u64],
    points: Vec<Point>,
}

/// What one value of the setting gives.
#[derive(Serialize)]
struct Point {
    value: f32,
    /// Slot F1 on in-domain test, without a threshold and with it.
    slot_f1: Spread,
    test_f1: Spread,
    /// Of new concepts, by the strict count.
    precision: Spread,
    recall: Spread,
    f1: Spread,
}

impl Point {
    fn of(value: f32, runs: &[ModelRun]) -> Option<Self> {
        let entropy =
            |run: &'_ ModelRun| run.methods.iter().find(|run| run.method == Score::Entropy.name()).cloned();
        let methods: Vec<_> = runs.iter().filter_map(entropy).collect();
        Some(Point {
            value,
            slot_f1: Spread::of(runs.iter().map(|run| run.test_f1))?,
            test_f1: Spread::of(methods.iter().map(|run| run.test_f1))?,
            precision: Spread::of(methods.iter().map(|run| run.new_concepts.strict.precision))?,
            recall: Spread::of(methods.iter().map(|run| run.new_concepts.strict.recall))?,
            f1: Spread::of(methods.iter().map(|run| run.new_concepts.strict.f1))?,
        })
    }

    fn measures(&self) -> [(&'static str, Spread); 5] {
        [
            ("slot_f1", self.slot_f1),
            ("test_f1", self.test_f1),
            ("strict_precision", self.precision),
            ("strict_recall", self.recall),
            ("strict_f1", self.f1),
        ]
    }
}

impl Results<'_> {
    fn write(&self, out: &Path) -> Result<()> {
        save(&self.picture().scene()?, &out.join("pictures").join("f1"))?;
        atomic::write(&out.join("results.json"), (pretty(self) + "\n").as_bytes())?;
        atomic::write(&out.join("results.csv"), self.csv().as_bytes())?;
        atomic::write(&out.join("README.md"), self.text().as_bytes())
    }

    fn csv(&self) -> String {
        let mut csv = format!("{},measure,mean,deviation,n\n", self.over);
        for point in &self.points {
            for (measure, Spread { mean, deviation }) in point.measures() {
                let _ = writeln!(csv, "{},{measure},{mean},{deviation},{}", point.value, self.seeds.len());
            }
        }
        csv
    }

    fn table(&self) -> String {
        let row = |point: &Point| {
            let cells = point.measures().map(|(_, spread)| show(spread, self.seeds.len(), 2));
            std::iter::once(point.value.to_string()).chain(cells).collect()
        };
        let rows: Vec<Vec<String>> = self.points.iter().map(row).collect();
        markdown(&[self.over, "slot F1", "with threshold", "new concepts: P", "R", "F1"], &rows)
    }

    fn picture(&self) -> Lines {
        let series = |name: &str, of: fn(&Point) -> Spread| Series {
            name: name.to_owned(),
            points: self.points.iter().enumerate().map(|(idx, point)| (idx as f64, of(point).mean)).collect(),
            spread: self.points.iter().map(|point| of(point).deviation).collect(),
        };
        Lines {
            title: format!("F1 against {}: calibrated model, {}", self.over, self.about()),
            x: Axis {
                label: self.over.to_owned(),
                names: self.points.iter().map(|point| point.value.to_string()).collect(),
                ..Axis::default()
            },
            y: Axis { label: "F1 in percent".to_owned(), ..Axis::default() },
            series: vec![
                series("new concepts (strict)", |point| point.f1),
                series("slots of in-domain test, with the threshold", |point| point.test_f1),
            ],
            marks: Vec::new(),
        }
    }

    fn about(&self) -> String {
        let folder = self.data.canonicalize().unwrap_or_else(|_| self.data.to_owned());
        let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let n = self.seeds.len();
        format!("{folder}/{}, {n} seed{}", self.new_concepts, if n == 1 { "" } else { "s" })
    }

    fn text(&self) -> String {
        let over = self.over;
        let parts = [
            format!("# F1 against {over}: {}\n", self.about()),
            "The calibrated model; mean and standard deviation over the seeds, in percent. Slot F1 is on in-domain test. \
             Words are unknown by their Dirichlet entropy, with the threshold from valid; the count of new concepts is the \
             strict one.\n"
                .to_owned(),
            self.table(),
            format!("![F1 against {over}](pictures/f1.svg)\n"),
            format!("## Settings\n\n```json\n{}\n```\n", pretty(self.settings)),
            format!("Made by\n\n```sh\n{}\n```\n", typed()),
        ];
        parts.join("\n")
    }
}
