//! Whatever is in a corpus file: an error, or utterances that keep the invariants and can be written and read again.
//!
//! The first byte chooses the format; in a folder, a line of `---` ends one file and begins the next.
#![no_main]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use meno::corpus::{Corpus, Format, read, write};

/// Readers take paths, so each process has a folder of its own, in memory where the system has such a place.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = parent.join(format!("meno-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("in")).expect("a folder for the files");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let format = Format::ALL[usize::from(first) % Format::ALL.len()];
    let path = put(format, rest);
    let _ = Format::detect(&path);
    let Ok(corpus) = read(&path, Some(format)) else { return };
    demand_invariants(&corpus);
    demand_same_words(&corpus);
    let _ = corpus.fingerprint();
    let again = FOLDER.join("again.jsonl");
    if write(&corpus, &again, Format::Jsonl).is_ok() {
        let again = read(&again, Some(Format::Jsonl)).expect("what was written can be read");
        for (a, b) in corpus.utterances.iter().zip(&again.utterances) {
            assert_eq!((&a.words, &a.labels, &a.intent), (&b.words, &b.labels, &b.intent));
        }
    }
    let again = FOLDER.join("again.yml");
    if write(&corpus, &again, Format::Rasa).is_ok() {
        let known = |corpus: &Corpus| -> BTreeSet<(String, Option<String>)> {
            let values = corpus.known_values.iter().filter(|value| value.stands_for.is_some());
            values.map(|value| (value.phrase.clone(), value.stands_for.clone())).collect()
        };
        let again = read(&again, Some(Format::Rasa)).expect("what was written can be read");
        assert_eq!(known(&corpus), known(&again));
    }
});

fn put(format: Format, bytes: &[u8]) -> PathBuf {
    if format != Format::Folder {
        let path = FOLDER.join("corpus");
        std::fs::write(&path, bytes).expect("a file can be written");
        return path;
    }
    let mut rest = Some(bytes);
    for name in ["seq.in", "seq.out", "label", "seq.true"] {
        let path = FOLDER.join("in").join(name);
        let Some(bytes) = rest else {
            let _ = std::fs::remove_file(path);
            continue;
        };
        let end = bytes.windows(5).position(|line| line == b"\n---\n");
        let (file, after) = end.map_or((bytes, None), |at| (&bytes[..at + 1], Some(&bytes[at + 5..])));
        std::fs::write(path, file).expect("a file can be written");
        rest = after;
    }
    FOLDER.join("in")
}

/// What was read out of raw text is read the same way again by the tokenizer that a model gets.
fn demand_same_words(corpus: &Corpus) {
    let normalizer = corpus.normalizer();
    for utterance in corpus.utterances.iter().filter(|_| corpus.raw) {
        let text = utterance.words.join(" ");
        let tokens = normalizer.read(&text);
        assert!(tokens.iter().map(|token| token.word).eq(&utterance.words), "{text:?}");
    }
}

fn demand_invariants(corpus: &Corpus) {
    for utterance in &corpus.utterances {
        assert!(!utterance.words.is_empty(), "an utterance without words");
        assert_eq!(utterance.words.len(), utterance.labels.len(), "one label for each word");
        for (i, label) in utterance.labels.iter().enumerate() {
            let before = i.checked_sub(1).map_or("O", |i| &utterance.labels[i]);
            let slot = label.strip_prefix("B-").or_else(|| label.strip_prefix("I-"));
            assert!(label == "O" || slot.is_some_and(|slot| !slot.is_empty()), "label {label:?}");
            if label.starts_with("I-") {
                assert_eq!(before.get(2..), slot, "every span begins with B-");
            }
        }
    }
}
