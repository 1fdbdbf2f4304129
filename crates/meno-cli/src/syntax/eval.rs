//! `meno syntax eval`: how good tags and trees are.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meno::syntax::{Scores, Tree, conllu};
use meno::{Result, atomic};
use serde::Serialize;

use super::{load, read_trees};
use crate::output::{pretty, print};

const EXAMPLES: &str = "\
Examples:
  meno syntax eval en_ewt-ud-test.conllu              gold words, the model that comes with meno
  meno syntax eval en_ewt-ud-test.conllu --spoken     the same in lower case and without punctuation
  meno syntax eval gold.conllu --system found.conllu  another parser's trees

UPOS, UAS and LAS are those of the CoNLL 2018 shared task, in per cent of all words, punctuation included; for LAS
the relation counts up to its colon.";

/// What was typed after `meno syntax eval`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Treebanks to measure by.
    #[arg(required = true, value_name = "FILE")]
    gold: Vec<PathBuf>,
    /// A model that `meno syntax train` wrote; by default the one that comes with meno.
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Take the trees of this file instead of parsing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "spoken"])]
    system: Option<PathBuf>,
    /// Write the treebank with the tags and trees that were found.
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["system", "spoken"])]
    output: Option<PathBuf>,
    /// Write everything in lower case and leave out punctuation, as a recogniser of speech does.
    #[arg(long)]
    spoken: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Evaluated<'a> {
    path: &'a Path,
    spoken: bool,
    sentences: usize,
    words: usize,
    upos: f64,
    uas: f64,
    las: f64,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(output) = &args.output {
        write_found(&args, output)?;
    }
    let mut results = Vec::new();
    for path in &args.gold {
        let gold = read_trees(path)?;
        let scores = match &args.system {
            Some(system) => compare(&gold, &read_trees(system)?)?,
            None => {
                let spoken: Vec<Tree>;
                let gold = match args.spoken {
                    true => {
                        spoken = gold.iter().filter_map(|tree| tree.spoken(false)).collect();
                        &spoken
                    }
                    false => &gold,
                };
                load(args.model.as_deref())?.worker().evaluate(gold)
            }
        };
        let Scores { sentences, words, .. } = scores;
        let (upos, uas, las) = (scores.upos_percent(), scores.uas(), scores.las());
        results.push(Evaluated { path, spoken: args.spoken, sentences, words, upos, uas, las });
    }
    if args.json {
        print(pretty(&results))?;
    } else {
        print("sentences    words    UPOS     UAS     LAS")?;
        for Evaluated { path, sentences, words, upos, uas, las, .. } in &results {
            let path = path.display();
            print(format_args!("{sentences:>9} {words:>8} {upos:>7.2} {uas:>7.2} {las:>7.2}  {path}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_found(args: &Args, output: &Path) -> Result<()> {
    let syntax = load(args.model.as_deref())?;
    let mut worker = syntax.worker();
    let mut sentences = args.gold.iter().map(|path| conllu::read(path)).collect::<Result<Vec<_>>>()?.concat();
    sentences.iter_mut().for_each(|sentence| worker.annotate_again(sentence));
    atomic::write(output, conllu::render(&sentences).as_bytes())
}

fn compare(gold: &[Tree], system: &[Tree]) -> Result<Scores> {
    if gold.len() != system.len() {
        let (gold, system) = (gold.len(), system.len());
        return Err(meno::Error::Evaluation {
            problem: format!("{gold} gold sentences, but {system} to compare with them"),
            hint: "both files must have the same sentences in the same order".to_owned(),
        });
    }
    let mut scores = Scores::default();
    for (number, (gold, found)) in (1..).zip(gold.iter().zip(system)) {
        scores.compare(number, gold, found)?;
    }
    Ok(scores)
}
