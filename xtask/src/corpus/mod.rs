//! The corpora that ship with the project: hand-written patterns, values and sentences in, splits out.
//!
//! `settings` says what tells one corpus from another, `source` reads and checks what was written by hand, `speech`
//! makes it sound spoken, `draw` combines it, `stats` counts the result. Same source and seed, same bytes; tests hold
//! the committed files to that.

use std::fs;
use std::path::Path;

use meno::corpus::Utterance;
use meno::{Error, Result};

mod draw;
mod settings;
mod source;
mod speech;
mod stats;
#[cfg(test)]
mod tests;

pub use draw::Splits;
pub use settings::{CORPORA, Settings};
pub use source::Source;

/// Reads `dir/source`, writes the splits beside it and returns their statistics as Markdown.
pub fn run(dir: &Path, settings: &'static Settings) -> Result<String> {
    let splits = build(dir, settings)?;
    for (path, content) in files(&splits) {
        let path = dir.join(path);
        let parent = path.parent().expect("every file stands in the folder of its split");
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, content))
            .map_err(|source| Error::Write { path: path.clone(), source })?;
    }
    Ok(stats::markdown(&splits, settings))
}

fn build(dir: &Path, settings: &'static Settings) -> Result<Splits> {
    draw::draw(&Source::read(&dir.join("source"), settings)?)
}

/// Every file of the corpus: its path below its folder, and its bytes.
fn files(splits: &Splits) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (name, utterances) in splits.named() {
        let mut push = |file: &str, line: &dyn Fn(&Utterance) -> String| {
            let content: String = utterances.iter().map(|utterance| line(utterance) + "\n").collect();
            files.push((format!("{name}/{file}"), content));
        };
        push("seq.in", &|utterance| utterance.words.join(" "));
        push("seq.out", &|utterance| utterance.labels.join(" "));
        push("label", &|utterance| utterance.intent.clone());
        if name == "new" {
            push("seq.true", &|utterance| {
                utterance.truth.as_ref().expect("new utterances have it").join(" ")
            });
        }
    }
    files
}
