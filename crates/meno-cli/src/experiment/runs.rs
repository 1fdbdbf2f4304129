//! Many trainings, each evaluated once: what was done before is taken from the folder of results.
//!
//! `OUT/models/NAME.meno` is the model, `OUT/runs/NAME.json` how it was evaluated, with the settings and the data that it
//! came from. Each file is whole or not there, so that stopping costs no more than what is under way; results are made
//! from these files alone, so that they are the same whether or not the work was stopped.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meno::corpus::{self, Corpus};
use meno::metrics::Mode;
use meno::pretrained::Pretrained;
use meno::train::TrainSettings;
use meno::{Error, Model, Result, atomic};
use meno_experiment::paper::{Kind, Method, ModelRun, PaperSettings, demand_new_concepts, evaluate, train};
use meno_experiment::{Dataset, in_parallel};
use serde::{Deserialize, Serialize};

use crate::interrupt::Interrupt;
use crate::output::{count, note, pretty};
use crate::progress::Tasks;
use crate::settings::{CalibrationArgs, TrainArgs, threads};

/// What all experiments with new concepts are asked.
#[derive(clap::Args)]
pub struct RunArgs {
    /// The data: a folder with train, valid, test and a set of new concepts.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Which set of new concepts in DIR; by default `ood-test`, or else `new`.
    #[arg(long, value_name = "NAME")]
    pub ood: Option<String>,
    /// The folder for results, models and pictures; what is in it already is not done again.
    #[arg(long, value_name = "OUT")]
    pub out: PathBuf,
    /// Trainings at a time, each on one thread; by default one for each core.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Points of valid F1 that a threshold may cost (1).
    #[arg(long, value_name = "X")]
    budget: Option<f64>,
    /// A folder with a pretrained encoder of the BERT family, as Hugging Face has it, in the place of the paper's network.
    #[arg(long, value_name = "FOLDER")]
    encoder: Option<PathBuf>,
    #[command(flatten)]
    train: TrainArgs,
    #[command(flatten)]
    calibration: CalibrationArgs,
}

impl RunArgs {
    /// The pretrained encoder, if one was named.
    pub fn encoder(&self) -> Result<Option<Arc<Pretrained>>> {
        Ok(self.encoder.as_deref().map(Pretrained::open).transpose()?.map(Arc::new))
    }

    /// The settings that were typed, over the defaults.
    pub fn settings(&self, quick: bool, encoder: Option<&Pretrained>) -> Result<PaperSettings> {
        let base = PaperSettings::default();
        let calibrate = self.calibration.over(base.calibrate);
        let defaults = encoder.map_or(base.train, |encoder| TrainSettings::labels_on(encoder, None));
        let train = self.train.over(defaults.with_calibration(Some(calibrate)));
        let budget = self.budget.unwrap_or(base.budget);
        if !(0.0..=100.0).contains(&budget) {
            return Err(Error::Setting {
                problem: format!("the budget is {budget}"),
                hint: "it is a number of points of F1, from 0 to 100".to_owned(),
            });
        }
        train.check()?;
        Ok(PaperSettings { train: train.with_calibration(None), calibrate, budget, quick })
    }
}

/// One training and its evaluation.
pub struct Task {
    /// Of its files.
    pub name: String,
    pub kind: Kind,
    pub seed: u64,
    pub settings: PaperSettings,
    /// Whether pictures are drawn from it.
    pub with_sample: bool,
}

impl Task {
    fn training(&self) -> TrainSettings {
        self.settings.training(self.kind, self.seed)
    }
}

/// The data, and the folder for results.
pub struct Runs<'a> {
    args: &'a RunArgs,
    encoder: Option<Arc<Pretrained>>,
    dataset: Dataset,
    new_concepts: Corpus,
    /// The name of the set of new concepts.
    pub ood: String,
    pub data: Fingerprints,
}

/// What tells data from other data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fingerprints {
    train: String,
    valid: String,
    test: String,
    new_concepts: String,
}

/// `OUT/runs/NAME.json`.
#[derive(Serialize, Deserialize)]
struct Evaluated {
    training: TrainSettings,
    budget: f64,
    data: Fingerprints,
    run: ModelRun,
}

impl<'a> Runs<'a> {
    /// Reads the data and makes the folder.
    pub fn new(args: &'a RunArgs, encoder: Option<Arc<Pretrained>>) -> Result<Self> {
        let ood = find_new_concepts(&args.data, args.ood.as_deref())?;
        let new_concepts = corpus::read_split(&args.data, &ood)?;
        demand_new_concepts(&new_concepts)?;
        let dataset = Dataset::read(&args.data)?;
        for folder in ["models", "runs", "pictures"].map(|name| args.out.join(name)) {
            fs::create_dir_all(&folder).map_err(|source| Error::Write { path: folder, source })?;
        }
        atomic::demand_writable(&args.out.join("README.md"))?;
        let data = Fingerprints {
            train: dataset.train.fingerprint(),
            valid: dataset.valid.fingerprint(),
            test: dataset.test.fingerprint(),
            new_concepts: new_concepts.fingerprint(),
        };
        Ok(Runs { args, encoder, dataset, new_concepts, ood, data })
    }

    /// Does what is not done yet; `None` if Ctrl-C stopped it.
    pub fn run(&self, tasks: &[Task], color: bool) -> Result<Option<Vec<ModelRun>>> {
        let left: Vec<&Task> = tasks.iter().filter(|task| self.done(task, true).is_none()).collect();
        let n_before = tasks.len() - left.len();
        if n_before > 0 {
            let (out, n) = (self.args.out.display(), tasks.len());
            note(format_args!("{out}: {n_before} of {} are there from before", count(n, "run")));
        }
        let jobs = threads(self.args.jobs).min(left.len().max(1));
        let interrupt = Interrupt::listen();
        let progress = Tasks::new(left.len(), jobs, color);
        let finished = in_parallel(left.len(), jobs, |idx| {
            let step = &mut |done| {
                progress.step(idx, done);
                !interrupt.pressed()
            };
            self.one(left[idx], &interrupt, step)
        });
        let duration = progress.finish();
        let finished = finished?;
        if finished.contains(&false) {
            let there = tasks.iter().filter(|task| self.done(task, false).is_some()).count();
            let (out, n) = (self.args.out.display(), count(tasks.len(), "run"));
            note(format_args!("stopped: {there} of {n} are in {out}"));
            note("hint: to go on, type the same command again");
            return Ok(None);
        }
        interrupt.done();
        if !left.is_empty() {
            note(format_args!("{} in {duration}", count(left.len(), "run")));
        }
        tasks
            .iter()
            .map(|task| self.done(task, false).ok_or_else(|| self.vanished(task)))
            .collect::<Result<_>>()
            .map(Some)
    }

    /// Trains and evaluates, and keeps both; whether it came to its end.
    fn one(
        &self,
        task: &Task,
        interrupt: &Interrupt,
        step: &mut (dyn FnMut(f64) -> bool + Send),
    ) -> Result<bool> {
        // The share of the time that training takes.
        let training = if task.settings.quick { 0.9 } else { 0.5 };
        if !step(0.0) {
            return Ok(false);
        }
        let path = self.args.out.join("models").join(format!("{}.meno", task.name));
        let model = match self.trained(&path, task)? {
            Some(model) => model,
            None => {
                let step = &mut |done| step(training * done);
                let trained = train(&self.dataset, &task.training(), self.encoder.clone(), step)?;
                let Some(model) = trained else { return Ok(false) };
                let _saving = interrupt.saving();
                model.save(&path)?;
                model
            }
        };
        if !step(training) {
            return Ok(false);
        }
        let run = evaluate(&model, &self.dataset, &self.new_concepts, &task.settings, task.with_sample)?;
        let evaluated = Evaluated {
            training: task.training(),
            budget: task.settings.budget,
            data: self.data.clone(),
            run,
        };
        let _saving = interrupt.saving();
        atomic::write(&self.path(task), (pretty(&evaluated) + "\n").as_bytes())?;
        step(1.0);
        Ok(true)
    }

    /// The model of an earlier run, if it is just what training would give.
    fn trained(&self, path: &Path, task: &Task) -> Result<Option<Box<Model>>> {
        let Ok(model) = Model::load(path) else { return Ok(None) };
        let record = model.record();
        if record.settings != task.training() || record.corpus != self.data.train {
            return Ok(None);
        }
        // The valid set chose the epoch but is not on record; another would give another score.
        let valid = model.worker().evaluate(&self.dataset.valid.utterances, Mode::Conlleval)?.report();
        let is_same =
            (valid.slot_f1, valid.intent_accuracy) == (record.valid_slot_f1, record.valid_intent_accuracy);
        Ok(is_same.then(|| Box::new(model)))
    }

    /// What an earlier run left, if it is of these settings and data; if not, says so when `aloud`.
    fn done(&self, task: &Task, aloud: bool) -> Option<ModelRun> {
        let path = self.path(task);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            text => text.unwrap_or_default(),
        };
        let evaluated = serde_json::from_str::<Evaluated>(&text).ok().filter(|evaluated| {
            let methods = evaluated.run.methods.iter().map(|run| run.method.clone());
            evaluated.training == task.training()
                && evaluated.budget == task.settings.budget
                && evaluated.data == self.data
                && methods.eq(task.settings.methods().into_iter().map(Method::name))
                && (evaluated.run.sample.is_some() || !task.with_sample)
        });
        if evaluated.is_none() && aloud {
            note(format_args!("{}: of other settings or data; it is done again", path.display()));
        }
        evaluated.map(|evaluated| evaluated.run)
    }

    fn path(&self, task: &Task) -> PathBuf {
        self.args.out.join("runs").join(format!("{}.json", task.name))
    }

    fn vanished(&self, task: &Task) -> Error {
        Error::Setting {
            problem: format!("{} has vanished", self.path(task).display()),
            hint: "let nothing else write into the folder of results".to_owned(),
        }
    }
}

/// The set of new concepts that was named, or the first that is there.
fn find_new_concepts(dir: &Path, named: Option<&str>) -> Result<String> {
    const NAMES: [&str; 2] = ["ood-test", "new"];
    let splits = corpus::splits(dir)?;
    let is_there = |name: &&str| splits.iter().any(|split| split.name == *name);
    let found = match named {
        Some(name) => Some(name).filter(is_there),
        None => NAMES.into_iter().find(is_there),
    };
    found.map(str::to_owned).ok_or_else(|| {
        let wanted = named.map_or("set of new concepts".to_owned(), |name| format!("set `{name}`"));
        let there: Vec<&str> = splits.iter().map(|split| split.name.as_str()).collect();
        Error::Dataset {
            problem: format!("{} has no {wanted}", dir.display()),
            hint: format!(
                "there is {}; name one with --ood, or make one with `meno data new-concepts`",
                there.join(", ")
            ),
        }
    })
}
