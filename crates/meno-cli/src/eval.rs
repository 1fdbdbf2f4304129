//! `meno eval`: how good a model is on labelled utterances.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meno::corpus::{self, Split};
use meno::metrics::{Mode, Report};
use meno::{Error, Model, Result};
use serde::Serialize;

use crate::output::{note, pretty, print};

const EXAMPLES: &str = "\
Examples:
  meno eval my.model DIR                 the test split of a dataset
  meno eval my.model DIR/valid --json    any split, as JSON
  meno eval my.model a.conll b.jsonl     files of any format

A slot counts as right only if its first word, its last word and its name are (as conlleval and seqeval count).
All figures are percentages. In JSON: slot_precision, slot_recall, slot_f1, intent_accuracy (null if there are no
intents), utterance_accuracy, token_accuracy, utterances, and slots with the scores of each; for one DIR an object,
for several an array of them.";

/// What was typed after `meno eval`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A model file that `meno train` wrote.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Splits (a folder with seq.in, or a file of any format), or datasets, whose test split is taken.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Count a slot only if it begins with a B- label (seqeval's strict mode).
    #[arg(long)]
    strict: bool,
    /// Take the words of the corpus as they are; always so here, and understood because `meno tag` has it.
    #[arg(long, hide = true)]
    words: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let model = Model::load(&args.model)?;
    let mode = if args.strict { Mode::Strict } else { Mode::Conlleval };
    let splits: Vec<Split> = args.dirs.iter().map(|dir| choose(dir)).collect::<Result<_>>()?;
    let mut worker = model.worker();
    let mut results = Vec::new();
    for Split { path, .. } in &splits {
        let corpus = splits[results.len()].read()?;
        let report = worker.evaluate(&corpus.utterances, mode)?.report();
        results.push(Evaluated { path, report });
    }
    match results.as_slice() {
        [result] if args.json => print(pretty(result))?,
        results if args.json => print(pretty(&results))?,
        results => {
            let tables: Vec<String> = results.iter().map(Evaluated::table).collect();
            print(tables.join("\n").trim_end())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Evaluated<'a> {
    path: &'a Path,
    #[serde(flatten)]
    report: Report,
}

impl Evaluated<'_> {
    fn table(&self) -> String {
        format!("{}\n\n{}", self.path.display(), self.report)
    }
}

/// The split that a path means: itself, or the test split of a dataset.
pub fn choose(path: &Path) -> Result<Split> {
    let splits = corpus::splits(path)?;
    if let [split] = splits.as_slice()
        && split.path == path
    {
        return Ok(split.clone());
    }
    match splits.iter().find(|split| split.name == "test") {
        Some(test) => {
            note(format_args!("{}: taking its test split, {}", path.display(), test.path.display()));
            Ok(test.clone())
        }
        None => {
            let names: Vec<&str> = splits.iter().map(|split| split.name.as_str()).collect();
            Err(Error::Setting {
                problem: format!("{} has no `test` split", path.display()),
                hint: format!("name one of its splits: {}", names.join(", ")),
            })
        }
    }
}
