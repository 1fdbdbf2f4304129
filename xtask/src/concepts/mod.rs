//! The corpus that ships with the project: hand-written patterns, values and sentences in, four splits out.
//!
//! `source` reads and checks what was written by hand, `speech` makes it sound spoken, `draw` combines it,
//! `stats` counts the result. Same source and seed, same bytes; a test holds the committed files to that.

use std::fs;
use std::path::Path;

use meno::corpus::Utterance;
use meno::{Error, Result};

mod draw;
mod source;
mod speech;
mod stats;

pub use draw::Splits;
pub use source::Source;

/// Changing it changes every split.
const SEED: u64 = 2017;

/// Reads `dir/source`, writes the splits beside it and returns their statistics as Markdown.
pub fn run(dir: &Path) -> Result<String> {
    let splits = build(dir)?;
    for (path, content) in files(&splits) {
        let path = dir.join(path);
        let parent = path.parent().expect("every file stands in the folder of its split");
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, content))
            .map_err(|source| Error::Write { path: path.clone(), source })?;
    }
    Ok(stats::markdown(&splits))
}

fn build(dir: &Path) -> Result<Splits> {
    draw::draw(&Source::read(&dir.join("source"))?, SEED)
}

/// Every file of the corpus: its path below `data/concepts`, and its bytes.
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::PathBuf;

    use meno::label;

    use super::*;

    fn dir() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/concepts")
    }

    #[test]
    fn committed_files_are_what_the_generator_writes() {
        for (path, content) in files(&build(&dir()).unwrap()) {
            let committed = fs::read_to_string(dir().join(&path)).unwrap();
            assert!(committed == content, "{path} differs: run `cargo run --release -p xtask -- concepts`");
        }
    }

    #[test]
    fn has_the_shape_the_paper_reports() {
        let splits = build(&dir()).unwrap();
        let sizes: Vec<usize> = splits.named().iter().map(|(_, split)| split.len()).collect();
        assert_eq!(sizes, [1534, 219, 440, 594]);

        let slots: HashSet<String> = splits
            .train
            .iter()
            .flat_map(|utterance| label::spans(&utterance.labels))
            .map(|span| span.slot)
            .collect();
        assert_eq!(slots.len(), 5);
        let intents: HashSet<&str> = splits.train.iter().map(|utterance| utterance.intent.as_str()).collect();
        assert_eq!(intents.len(), 10);

        let concepts: Vec<String> = splits.new.iter().flat_map(stats::concepts).collect();
        assert_eq!(concepts.len(), 642); // 1.08 an utterance
        assert_eq!(concepts.iter().collect::<HashSet<_>>().len(), 140);
        let n_words: usize = concepts.iter().map(|concept| concept.split(' ').count()).sum();
        let words_each = n_words as f64 / concepts.len() as f64;
        assert!((3.6..3.8).contains(&words_each), "{words_each}");
    }

    #[test]
    fn no_text_stands_twice_and_no_new_concept_stands_elsewhere() {
        let splits = build(&dir()).unwrap();
        let mut texts = HashSet::new();
        for (name, utterances) in splits.named() {
            for utterance in utterances {
                assert!(texts.insert(utterance.words.join(" ")), "{name}: {:?}", utterance.words);
                assert_eq!(utterance.words.len(), utterance.labels.len());
            }
        }
        let concepts: HashSet<String> = splits.new.iter().flat_map(stats::concepts).collect();
        for utterance in splits.train.iter().chain(&splits.valid).chain(&splits.test) {
            let text = format!(" {} ", utterance.words.join(" "));
            for concept in &concepts {
                assert!(!text.contains(&format!(" {concept} ")), "{concept} in {text}");
            }
        }
    }

    #[test]
    fn a_fair_share_of_test_is_new_to_a_model() {
        let splits = build(&dir()).unwrap();
        let unseen = stats::unseen_distinct_values(&splits.train, &splits.test);
        assert!((0.20..0.35).contains(&unseen), "{unseen}");
    }
}
