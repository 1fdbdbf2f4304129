//! `meno syntax parse`: text to trees.

use std::io::{self, BufRead};
use std::path::PathBuf;
use std::process::ExitCode;

use meno::syntax::conllu::{self, Sentence};
use meno::{Error, Result, atomic};

use super::load;
use crate::output::print;
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
    let mut written = String::new();
    let mut emit = |text: String| match &args.output {
        Some(_) => {
            written += &text;
            written.push('\n');
            Ok(())
        }
        None => print(text),
    };
    let mut n_sentences = 0;
    let mut one = |text: &str| {
        let sentence = worker.annotate(text);
        n_sentences += 1;
        if args.format == Format::Svg && n_sentences > 1 {
            return Err(Error::Setting {
                problem: "a picture shows one sentence, but there are more".to_owned(),
                hint: "call it once for each".to_owned(),
            });
        }
        // A line without words is a sentence without words in every format: nothing.
        if sentence.words.is_empty() && args.format != Format::Svg {
            return Ok(());
        }
        emit(match args.format {
            Format::Conllu => conllu::render(&[sentence]).trim_end_matches('\n').to_owned() + "\n",
            Format::Tree => tree(&sentence, color),
            Format::Svg => picture(&sentence, text).scene()?.svg(),
        })
    };
    if args.texts.is_empty() {
        for line in io::stdin().lock().lines() {
            let line = line.map_err(|source| Error::Read { path: "standard input".into(), source })?;
            one(&line)?;
        }
    } else {
        args.texts.iter().try_for_each(|text| one(text))?;
    }
    if let Some(path) = &args.output {
        atomic::write(path, written.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
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
