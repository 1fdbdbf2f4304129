//! Whatever is in a list of new values: an error, or a new-concept set whose words pair up with their labels.
#![no_main]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use meno::corpus::{Corpus, FolderText, NewValues};

/// The reader takes a path, so each process has a file of its own, in memory where the system has such a place.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    parent.join(format!("meno-fuzz-{}", std::process::id()))
});

static SET: LazyLock<Corpus> = LazyLock::new(|| {
    let text = FolderText {
        words: "play the wall in rome\n",
        labels: "O B-album I-album O B-city\n",
        ..FolderText::default()
    };
    text.read(Path::new("set")).expect("a sound set")
});

fuzz_target!(|bytes: &[u8]| {
    std::fs::write(&*FILE, bytes).expect("a file can be written");
    let Ok(values) = NewValues::read(&FILE, &SET) else { return };
    let _ = values.unseen_in(&SET);
    let made = values.substitute(&SET, 1, 2);
    assert!(!made.utterances.is_empty());
    for utterance in &made.utterances {
        assert_eq!(utterance.words.len(), utterance.labels.len());
        assert_eq!(utterance.truth.as_ref().map(Vec::len), Some(utterance.labels.len()));
        assert!(utterance.words.iter().all(|word| !word.is_empty()));
    }
});
