//! `meno syntax`: parts of speech and dependency trees.

mod eval;
mod parse;
mod train;
mod yardstick;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use meno::syntax::{Syntax, Tree, conllu};
use meno::{Error, Result};

use crate::style::Style;

/// What was typed after `meno syntax`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Parse text: CoNLL-U, a tree to read, or a picture.
    Parse(parse::Args),
    /// Measure tags and trees against a treebank.
    Eval(eval::Args),
    /// Train a tagger and parser on treebanks.
    Train(train::Args),
    /// Measure how well phrases are recovered from one of their words.
    Yardstick(yardstick::Args),
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    match args.command {
        Command::Parse(args) => parse::run(args, style),
        Command::Eval(args) => eval::run(args),
        Command::Train(args) => train::run(args),
        Command::Yardstick(args) => yardstick::run(args),
    }
}

/// The model in a file, or the one that comes with meno.
fn load(path: Option<&Path>) -> Result<Syntax> {
    let Some(path) = path else { return Ok(Syntax::english()) };
    let bytes = fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Syntax::load(&bytes).map_err(|error| match error {
        Error::Model { problem, .. } => Error::Setting {
            problem: format!("{}: {problem}", path.display()),
            hint: "a syntax model is made by `meno syntax train --treebank FILE -o MODEL`".to_owned(),
        },
        error => error,
    })
}

/// The trees of a treebank.
fn read_trees(path: &Path) -> Result<Vec<Tree>> {
    let tree = |(idx, sentence)| {
        Tree::new(sentence).ok_or_else(|| Error::Setting {
            problem: format!("{}: sentence {} has a word without tag or head", path.display(), idx + 1),
            hint: "a treebank has a tag, a head and a relation for each word".to_owned(),
        })
    };
    conllu::read(path)?.iter().enumerate().map(tree).collect()
}
