//! `meno syntax parse`: text to trees.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meno::syntax::conllu::{self, Sentence};
use meno::{Error, Result, atomic};

use super::load;
use crate::output::written;
use crate::pictures::{ArcWord, Arcs};
use crate::style::{BOLD, DIM, Style, paint};

const EXAMPLES: &str = "\
Examples:
  echo \"what's the weather in Rome?\" | meno syntax parse
  meno syntax parse --format tree 'play the new album by my favourite band'
  meno syntax parse --format svg 'book a table' > tree.svg
  meno syntax parse --format svg -o tree.svg 'book a table'

Without TEXT every line of standard input is a sentence.";

/// What was typed after `meno syntax parse`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Sentences.
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// A model that `meno syntax train` wrote; by default the one that comes with meno.
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Ten columns a word.
    #[default]
    Conllu,
    /// For people.
    Tree,
    /// A picture of one sentence.
    Svg,
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    let syntax = load(args.model.as_deref())?;
    let mut worker = syntax.worker();
    let color = style.stdout && args.output.is_none();
    if args.format == Format::Svg {
        let text = only_one(args.texts)?;
        emit(args.output.as_deref(), &picture(&worker.annotate(&text), &text).scene()?.svg())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut show = |text: &str| {
        let sentence = worker.annotate(text);
        match args.format {
            // A line without words is a sentence without words: nothing.
            _ if sentence.words.is_empty() => String::new(),
            Format::Tree => tree(&sentence, color) + "\n",
            _ => conllu::render(&[sentence]),
        }
    };
    if args.output.is_some() || !args.texts.is_empty() {
        let texts = if args.texts.is_empty() { lines().collect::<Result<_>>()? } else { args.texts };
        let shown: String = texts.iter().map(|text| show(text)).collect();
        emit(args.output.as_deref(), &shown)?;
    } else {
        for line in lines() {
            emit(None, &show(&line?))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a file, or to standard output at once.
fn emit(path: Option<&Path>, text: &str) -> Result<()> {
    match path {
        Some(path) => atomic::write(path, text.as_bytes()),
        None => written(io::stdout().lock().write_all(text.as_bytes())),
    }
}

fn lines() -> impl Iterator<Item = Result<String>> {
    let failed = |source| Error::Read { path: "standard input".into(), source };
    io::stdin().lines().map(move |line| line.map_err(failed))
}

/// The sentence to be drawn.
fn only_one(typed: Vec<String>) -> Result<String> {
    let texts = if typed.is_empty() { lines().collect::<Result<_>>()? } else { typed };
    let mut texts = texts.into_iter().filter(|text| !text.trim().is_empty());
    match (texts.next(), texts.next()) {
        (Some(text), None) => Ok(text),
        (text, _) => Err(Error::Setting {
            problem: format!(
                "a picture shows one sentence, but there {}",
                match text {
                    Some(_) => "are more",
                    None => "is none",
                }
            ),
            hint: "call it once for each sentence".to_owned(),
        }),
    }
}

/// Children below their heads, in the order of the sentence.
fn tree(sentence: &Sentence, color: bool) -> String {
    let mut children = vec![Vec::new(); sentence.words.len() + 1];
    for (idx, word) in sentence.words.iter().enumerate() {
        children[word.head.unwrap_or(0)].push(idx);
    }
    let mut text = String::new();
    // A stack of its own: a sentence may be deeper than the program's.
    let mut waiting: Vec<(usize, String, &str, &str)> =
        children[0].iter().rev().map(|&idx| (idx, String::new(), "", "")).collect();
    while let Some((idx, indent, branch, below)) = waiting.pop() {
        let word = &sentence.words[idx];
        let tag = word.upos.map_or("_", |upos| upos.name());
        let form = paint(&word.form, BOLD, color);
        let relation = paint(format!("{tag} {}", word.relation), DIM, color);
        text += &format!("{indent}{branch}{form} {relation}\n");
        let indent = indent + below;
        for (place, &child) in children[idx + 1].iter().rev().enumerate() {
            let (branch, below) = if place == 0 { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            waiting.push((child, indent.clone(), branch, below));
        }
    }
    text
}

fn picture(sentence: &Sentence, title: &str) -> Arcs {
    let word = |word: &conllu::Word| ArcWord {
        text: word.form.clone(),
        tag: word.upos.map_or("_", |upos| upos.name()).to_owned(),
        head: word.head.unwrap_or(0),
        relation: word.relation.clone(),
    };
    Arcs { title: title.to_owned(), words: sentence.words.iter().map(word).collect() }
}
