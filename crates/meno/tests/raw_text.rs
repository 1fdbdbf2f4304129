//! Marks, capitals and fillers around an utterance leave the words of a corpus of raw text alone.

use std::path::{Path, PathBuf};

use meno::corpus::{self, Corpus, Format};
use meno::label;

/// The sets of the repository, and the real ones beside it if they are there.
fn sets() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let beside = root.join("../shared/data");
    let shared = std::env::var_os("MENO_DATA").map_or(beside, PathBuf::from);
    let real = ["financial", "sara", "ha-en", "hwu64", "fb-es"].map(|name| shared.join("real").join(name));
    let mut sets = vec![root.join("data/concepts")];
    sets.extend(real);
    sets.push(shared.join("snips"));
    let (found, missing): (Vec<_>, Vec<_>) = sets.into_iter().partition(|set| set.is_dir());
    missing.iter().for_each(|set| println!("left out: {} is not there", set.display()));
    found
}

/// A split as Rasa would have it: raw text.
fn raw(set: &Path, split: &str, folder: &Path) -> Corpus {
    let mut corpus = corpus::read_split(set, split).unwrap();
    for utterance in &mut corpus.utterances {
        utterance.truth = None;
        if utterance.intent.is_empty() {
            utterance.intent = "none".to_owned();
        }
    }
    corpus.utterances.retain(|utterance| {
        let one = Corpus { utterances: vec![utterance.clone()], ..Corpus::default() };
        corpus::demand_fit(&one, Format::Rasa).is_ok()
    });
    let path = folder.join(format!("{split}.yml"));
    corpus::write(&corpus, &path, Format::Rasa).unwrap();
    corpus::read(&path, None).unwrap()
}

#[test]
fn marks_capitals_and_fillers_change_no_word() {
    for set in sets() {
        let folder = tempfile::tempdir().unwrap();
        let train = raw(&set, "train", folder.path());
        let test = raw(&set, "test", folder.path());
        assert!(train.raw && test.raw);
        let normalizer = train.normalizer();
        let read = |text: &str| -> Vec<String> {
            normalizer.read(text).iter().map(|token| token.word.to_owned()).collect()
        };
        let mut n_read = 0;
        for utterance in &test.utterances {
            // Words of nothing but marks are kept if training has them, and dropped elsewhere.
            if !utterance.words.iter().all(|word| word.contains(char::is_alphanumeric)) {
                continue;
            }
            n_read += 1;
            let text = utterance.words.join(" ");
            for mark in ["", "?", ".", "!", "...", " ?", "?!"] {
                assert_eq!(
                    read(&format!("{text}{mark}")),
                    utterance.words,
                    "{}: {text}{mark}",
                    set.display()
                );
            }
            assert_eq!(read(&text.to_uppercase()), lower(&text.to_uppercase()), "{text}");
            let filled = read(&format!("Um, {text}, please!"));
            assert_eq!(filled[1..filled.len() - 1], utterance.words, "{text}");
        }
        assert!(n_read > 90, "{}: {n_read}", set.display());
        println!("{}: {n_read} utterances", set.display());
        for utterance in &train.utterances {
            for span in label::spans(&utterance.labels) {
                let last = &utterance.words[span.end - 1];
                let glued = last.ends_with(['.', '?', '!', ',']) && last.contains(char::is_alphanumeric);
                assert!(!glued, "{}: {last}", set.display());
            }
        }
    }
}

/// The words of a text in upper case: some letters have no single one, so it is not the text in lower case.
fn lower(text: &str) -> Vec<String> {
    text.split(' ').map(|word| word.chars().flat_map(char::to_lowercase).collect()).collect()
}
