//! `meno syntax`: parts of speech and dependency trees.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use meno::syntax::{Scores, Syntax, SyntaxSettings, Tree, conllu};
use meno::{Result, atomic};

use crate::output::{note, print};

#[derive(clap::Args)]
pub struct Args {
    #[arg(long, num_args = 1..)]
    treebank: Vec<PathBuf>,
    #[arg(long, num_args = 1..)]
    dev: Vec<PathBuf>,
    #[arg(short)]
    output: PathBuf,
    #[arg(long, default_value_t = 15)]
    epochs: usize,
    #[arg(long, default_value_t = 64)]
    embedding: usize,
    #[arg(long, default_value_t = 48)]
    hidden: usize,
    #[arg(long, default_value_t = 64)]
    decision: usize,
    #[arg(long, default_value_t = 0.2)]
    dropout: f32,
    #[arg(long, default_value_t = 0.003)]
    rate: f32,
    #[arg(long, default_value_t = 0.25)]
    unknown: f32,
    #[arg(long, default_value_t = 2)]
    least: usize,
    #[arg(long, default_value_t = 32)]
    batch: usize,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let mut trees = Vec::new();
    for path in &args.treebank {
        trees.extend(conllu::read(path)?.iter().filter_map(Tree::new));
    }
    let settings = SyntaxSettings {
        epochs: args.epochs,
        embedding: args.embedding,
        hidden: args.hidden,
        decision: args.decision,
        dropout: args.dropout,
        rate: args.rate,
        unknown: args.unknown,
        least: args.least,
        batch: args.batch,
        ..SyntaxSettings::default()
    };
    let start = std::time::Instant::now();
    let syntax = Syntax::train(&trees, &settings, |epoch, _, loss| {
        note(format_args!("epoch {epoch} loss {loss:.4} {:.1} s", start.elapsed().as_secs_f64()));
        ControlFlow::Continue(())
    })?
    .unwrap();
    let bytes = syntax.to_bytes();
    note(format_args!("{} bytes", bytes.len()));
    atomic::write(&args.output, &bytes)?;
    let show = |name: &str, scores: Scores| {
        print(format_args!("{name} {} words UPOS {:.2} UAS {:.2} LAS {:.2}", scores.words, scores.upos_percent(), scores.uas(), scores.las()))
    };
    for path in &args.dev {
        let trees: Vec<Tree> = conllu::read(path)?.iter().filter_map(Tree::new).collect();
        let spoken: Vec<Tree> = trees.iter().filter_map(|tree| tree.spoken(false)).collect();
        let mut worker = syntax.worker();
        show(&path.display().to_string(), worker.evaluate(&trees))?;
        show("  spoken", worker.evaluate(&spoken))?;
        let mut best = f64::MAX;
        for _ in 0..5 {
            let start = std::time::Instant::now();
            worker.evaluate(&spoken);
            best = best.min(start.elapsed().as_secs_f64());
        }
        let n: usize = spoken.iter().map(|t| t.words.len()).sum();
        print(format_args!("  {:.2} us a word", best * 1e6 / n as f64))?;
    }
    Ok(ExitCode::SUCCESS)
}
