//! `meno experiment trust`: whether the default tagger acts only on what it reads rightly, on any datasets.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use meno::corpus::{self, Corpus};
use meno::decision::PolicySettings;
use meno::train::{HeldOutReadings, Options, TrainSettings, fit, with_open_slots};
use meno::{Error, Result, atomic};
use meno_experiment::trust::{TrustReport, out_of_scope_auroc};
use serde::Serialize;

use super::corpora::name_of;
use super::typed;
use crate::output::{note, pretty, print};
use crate::pictures::{Lines, save};
use crate::progress::Watcher;
use crate::settings::{TrainArgs, threads};
use crate::style::Style;
use crate::training_data::TrainingData;
use crate::trusted::Trusted;

const EXAMPLES: &str = "\
Examples:
  meno experiment trust bot/ nlu.yml
  meno experiment trust DIR... --seeds 3 --out-of-scope requests.txt --out trust

Each dataset is trained on as `meno train` does it, and measured on its test split and on those of its splits that have new slot
values: new, ood-test. Prints a Markdown table: of each set the share that is read wrongly, the share of wrong readings among
those acted upon (risk), of the right ones the share that is not acted upon, and the area under the curve of risk against
coverage (AURC), by the model's confidence, by the probability of the reading, and at best.

OUT gets README.md with the table, results.json with the numbers of each seed, and a picture of the curve of each set, of the
first seed.";

/// What was typed after `meno experiment trust`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Datasets of any shape, with a test split.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,
    /// A file with requests that are out of scope, one on a line.
    #[arg(long, value_name = "FILE")]
    out_of_scope: Option<PathBuf>,
    /// Measure on the valid split instead, to choose something.
    #[arg(long)]
    valid: bool,
    /// Train nothing but what it takes to print the weights that the datasets have in common, which a model starts from.
    #[arg(long)]
    prior: bool,
    /// How many questions a wrong act is worth (5).
    #[arg(long, value_name = "N", conflicts_with = "risk")]
    wrong_act_cost: Option<f64>,
    /// Not a cost but a promise: at most this share of the acts is wrong, such as 0.05.
    #[arg(long, value_name = "SHARE")]
    risk: Option<f64>,
    /// How many seeds: 1, 2, and so on.
    #[arg(long, value_name = "N", default_value = "3")]
    seeds: NonZeroUsize,
    /// Threads to train on; by default one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// A folder for the table, the numbers of each seed, and pictures of risk against coverage.
    #[arg(long, value_name = "OUT", conflicts_with = "prior")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    train: TrainArgs,
}

/// Runs the command.
pub fn run(args: &Args, style: Style) -> Result<ExitCode> {
    if args.prior {
        return print_prior(args);
    }
    let out_of_scope = match &args.out_of_scope {
        Some(path) => {
            fs::read_to_string(path).map_err(|source| Error::Read { path: path.clone(), source })?
        }
        None => String::new(),
    };
    let texts: Vec<&str> = out_of_scope.lines().filter(|line| !line.trim().is_empty()).collect();
    let folder = args.out.as_deref().map(Folder::make).transpose()?;
    let mut rows = Vec::new();
    for path in &args.data {
        for seed in 1..=args.seeds.get() as u64 {
            rows.extend(measure(args, path, seed, &texts, style)?);
        }
    }
    if let Some(folder) = folder {
        folder.write(&rows)?;
    }
    print(if args.json { pretty(&rows).to_string() } else { table(&rows) })?;
    Ok(ExitCode::SUCCESS)
}

/// Where the table, the numbers and the pictures go.
struct Folder<'a> {
    path: &'a Path,
    pictures: PathBuf,
}

impl<'a> Folder<'a> {
    /// Makes it before anything is trained.
    fn make(path: &'a Path) -> Result<Self> {
        let pictures = path.join("pictures");
        fs::create_dir_all(&pictures).map_err(|source| Error::Write { path: pictures.clone(), source })?;
        atomic::demand_writable(&path.join("README.md"))?;
        Ok(Folder { path, pictures })
    }

    fn write(&self, rows: &[Row]) -> Result<()> {
        let mut parts = vec![format!("`{}`", typed()), table(rows)];
        for row in rows.iter().filter(|row| row.seed == 1) {
            let (about, name) = (format!("{}, {}", row.data, row.set), row.file_name());
            save(&row.picture.scene()?, &self.pictures.join(&name))?;
            parts.push(format!("## {about}\n\n![Risk and coverage: {about}](pictures/{name}.svg)"));
        }
        atomic::write(&self.path.join("results.json"), (pretty(&rows).to_string() + "\n").as_bytes())?;
        atomic::write(&self.path.join("README.md"), (parts.join("\n\n") + "\n").as_bytes())?;
        note(format_args!("{}: table, numbers and pictures", self.path.join("README.md").display()));
        Ok(())
    }
}

fn print_prior(args: &Args) -> Result<ExitCode> {
    let mut all = Vec::new();
    for path in &args.data {
        let settings = args.train.over(TrainSettings::default());
        let data = TrainingData::read(path, None, None, &settings)?;
        let settings = args.train.for_corpus(settings, data.train.utterances.len());
        let (train, valid) = match data.valid {
            Some(valid) => (data.train, valid),
            None => data.train.hold_out(settings.seed),
        };
        all.push(HeldOutReadings::of(&train, &valid, &settings, threads(args.threads))?);
        note(format_args!("{}: read", path.display()));
    }
    print(HeldOutReadings::prior(&all))?;
    Ok(ExitCode::SUCCESS)
}

/// One set read by one model.
#[derive(Serialize)]
struct Row {
    data: String,
    set: String,
    seed: u64,
    seconds: f64,
    #[serde(flatten)]
    report: TrustReport,
    /// How often a text that is out of scope is less in scope than one of the set.
    out_of_scope_auroc: Option<f64>,
    #[serde(skip)]
    picture: Lines,
}

impl Row {
    /// Of letters, digits and `-`, whatever the dataset is called.
    fn file_name(&self) -> String {
        let plain = |letter: char| if letter.is_alphanumeric() { letter } else { '-' };
        format!("{}-{}", self.data, self.set).chars().map(plain).collect()
    }
}

fn measure(args: &Args, path: &Path, seed: u64, texts: &[&str], style: Style) -> Result<Vec<Row>> {
    let settings = args.train.over(TrainSettings { seed, ..TrainSettings::default() });
    let data = TrainingData::read(path, None, None, &settings)?;
    let settings = args.train.for_corpus(settings, data.train.utterances.len());
    let (start, mut watcher) = (Instant::now(), Watcher::new(None, style.stderr));
    let policy =
        PolicySettings { wrong_act_cost: args.wrong_act_cost, risk: args.risk, ..PolicySettings::default() };
    let options = Options { threads: threads(args.threads), policy, ..Options::default() };
    let settings = with_open_slots(&data.train, &settings, options.threads, &mut watcher)?;
    let model = fit(&data.train, data.validation(), &settings, options, &mut watcher)?.finished()?;
    watcher.finish();
    let seconds = start.elapsed().as_secs_f64();
    let mut rows = Vec::new();
    for (set, corpus) in sets(args, path, data)? {
        let data = name_of(path);
        let trusted = Trusted::of(&model, &corpus)?;
        let picture = trusted.picture(&format!("{data}, {set}, seed {seed}"));
        let out_of_scope_auroc = match texts {
            [] => None,
            texts => out_of_scope_auroc(&model, texts, &corpus)?,
        };
        rows.push(Row { data, set, seed, seconds, report: trusted.report, out_of_scope_auroc, picture });
    }
    let mixed: Vec<&Row> = rows.iter().filter(|row| ["test", "new"].contains(&row.set.as_str())).collect();
    note(format_args!("{}, seed {seed}: {} sets", path.display(), mixed.len().max(rows.len())));
    Ok(rows)
}

/// The sets to measure on: the test split, what has new values, and both together.
fn sets(args: &Args, path: &Path, data: TrainingData) -> Result<Vec<(String, Corpus)>> {
    let (name, known) = match args.valid {
        true => ("valid", data.valid),
        false => ("test", data.test),
    };
    let known = known.ok_or_else(|| Error::Dataset {
        problem: format!("{} has no {name} split", path.display()),
        hint: "`meno data split` makes one".to_owned(),
    })?;
    let mut sets = vec![(name.to_owned(), known)];
    let others: &[&str] = if args.valid { &["ood-dev"] } else { &["new", "ood-test"] };
    for other in others.iter().filter(|other| path.join(other).is_dir()) {
        let corpus = corpus::read(&path.join(other), None)?;
        if *other == "new" {
            let utterances = [&sets[0].1.utterances[..], &corpus.utterances[..]].concat();
            sets.push((format!("{name} and new"), Corpus { utterances, ..Corpus::default() }));
        }
        sets.push(((*other).to_owned(), corpus));
    }
    Ok(sets)
}

/// The mean over the seeds of each set.
fn table(rows: &[Row]) -> String {
    let mut lines = vec![
        "| data | set | read wrongly | acted upon | risk | right, not acted upon | AURC | of -log p | best | believed wrong | ECE | out of scope | seconds |".to_owned(),
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|".to_owned(),
    ];
    let mut names: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        if !names.contains(&(&row.data, &row.set)) {
            names.push((&row.data, &row.set));
        }
    }
    for (data, set) in names {
        let same: Vec<&Row> = rows.iter().filter(|row| row.data == data && row.set == set).collect();
        let mean = |of: &dyn Fn(&Row) -> f64| same.iter().map(|row| of(row)).sum::<f64>() / same.len() as f64;
        let report = |of: fn(&TrustReport) -> f64| format!("{:.1}", mean(&|row| of(&row.report)));
        let area = |of: fn(&TrustReport) -> f64| format!("{:.2}", mean(&|row| of(&row.report)));
        let auroc = mean(&|row| row.out_of_scope_auroc.unwrap_or(f64::NAN));
        lines.push(format!(
            "| {data} | {set} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} |",
            report(|report| report.wrong),
            report(|report| report.acts),
            report(|report| report.risk),
            report(|report| report.needless),
            area(|report| report.aurc),
            area(|report| report.aurc_probability),
            area(|report| report.aurc_best),
            report(|report| 100.0 - report.believed),
            report(|report| report.calibration_error),
            if auroc.is_nan() { "-".to_owned() } else { format!("{auroc:.3}") },
            mean(&|row| row.seconds),
        ));
    }
    lines.join("\n")
}
