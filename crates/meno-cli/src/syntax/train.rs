//! `meno syntax train`: from treebanks to a tagger and parser.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use meno::syntax::{Syntax, SyntaxSettings, Tree, utterance_key};
use meno::{Result, atomic, corpus};

use super::read_trees;
use crate::interrupt::{self, Interrupt};
use crate::output::{count, note, print};
use crate::settings::threads;

const EXAMPLES: &str = "\
Examples:
  meno syntax train --treebank en_ewt-ud-train.conllu -o my.syntax
  meno syntax train --treebank ewt.conllu atis.conllu --without data/atis data/snips -o my.syntax

Each sentence is learnt as it is and as it would be spoken: in lower case, without punctuation, every second one
without apostrophes. The same treebanks, settings and seed give the same bytes, whatever the threads.";

/// What was typed after `meno syntax train`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files in CoNLL-U with a tag, a head and a relation for each word.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    treebank: Vec<PathBuf>,
    /// Datasets whose utterances are left out, all but those of their train splits.
    #[arg(long, num_args = 1.., value_name = "DIR")]
    without: Vec<PathBuf>,
    /// The model file to write.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    /// Threads to train on; by default one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// What all randomness comes from.
    #[arg(long, value_name = "N", default_value_t = SyntaxSettings::default().seed)]
    seed: u64,
    /// Passes over the treebanks.
    #[arg(long, value_name = "N", default_value_t = SyntaxSettings::default().epochs)]
    epochs: usize,
    /// Width of an embedding.
    #[arg(long, value_name = "N", default_value_t = SyntaxSettings::default().embedding, value_parser = width)]
    embedding: usize,
    /// Widths of the hidden states of both layers.
    #[arg(long, num_args = 2, value_name = "N", default_values_t = SyntaxSettings::default().hidden, value_parser = width)]
    hidden: Vec<usize>,
    /// Width of the layers that decide on actions and relations.
    #[arg(long, value_name = "N", default_value_t = SyntaxSettings::default().decision, value_parser = width)]
    decision: usize,
    /// The share of activations that is dropped.
    #[arg(long, value_name = "SHARE", default_value_t = SyntaxSettings::default().dropout, value_parser = share)]
    dropout: f32,
    /// The size of a step at the beginning.
    #[arg(long, value_name = "RATE", default_value_t = SyntaxSettings::default().rate, value_parser = share)]
    rate: f32,
}

fn width(typed: &str) -> Result<usize, String> {
    match typed.parse() {
        Ok(width) if (16..=1024).contains(&width) && width % 16 == 0 => Ok(width),
        _ => Err("a multiple of 16 up to 1024".to_owned()),
    }
}

fn share(typed: &str) -> Result<f32, String> {
    match typed.parse() {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err("a number from 0 to 1".to_owned()),
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    atomic::demand_writable(&args.output)?;
    let trees = args.treebank.iter().map(|path| read_trees(path)).collect::<Result<Vec<_>>>()?.concat();
    let trees = leave_out(trees, &args.without)?;
    let settings = SyntaxSettings {
        seed: args.seed,
        threads: threads(args.threads),
        epochs: args.epochs,
        embedding: args.embedding,
        hidden: [args.hidden[0], args.hidden[1]],
        decision: args.decision,
        dropout: args.dropout,
        rate: args.rate,
        ..SyntaxSettings::default()
    };
    let (interrupt, start) = (Interrupt::listen(), Instant::now());
    let watch = |epoch: usize, epochs: usize, loss: f64| {
        let seconds = start.elapsed().as_secs_f64();
        note(format_args!("pass {epoch:>2} of {epochs}   loss {loss:.4}   {seconds:.0} s"));
        if interrupt.pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let Some(syntax) = Syntax::train(&trees, &settings, watch)? else {
        note("stopped; nothing was written");
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    };
    let bytes = syntax.to_bytes();
    atomic::write(&args.output, &bytes)?;
    let (kilobytes, seconds) = (bytes.len().div_ceil(1000), start.elapsed().as_secs_f64());
    print(format_args!("{}: {kilobytes} kB in {seconds:.0} s", args.output.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The trees without those whose utterance is in a split of `datasets` that is not for training.
fn leave_out(mut trees: Vec<Tree>, datasets: &[PathBuf]) -> Result<Vec<Tree>> {
    let mut keys = HashSet::new();
    for dir in datasets {
        for split in corpus::splits(dir)?.iter().filter(|split| split.name != "train") {
            keys.extend(split.read()?.utterances.iter().map(|utterance| utterance_key(&utterance.words)));
        }
    }
    let before = trees.len();
    trees.retain(|tree| !keys.contains(&utterance_key(&tree.words)));
    if !datasets.is_empty() {
        let left_out = before - trees.len();
        note(format_args!("{}, {left_out} left out", count(trees.len(), "sentence")));
    }
    Ok(trees)
}
