//! Whatever is in the folder of a pretrained encoder: an error that says something, or an encoder, never a panic.
//!
//! A line of `---` ends a file and begins the next: config.json, then vocab.txt or tokenizer.json, then model.safetensors.
#![no_main]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use meno::pretrained::Pretrained;

/// Each process has a folder of its own, in memory where the system has such a place.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = parent.join(format!("meno-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the files");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let mut next = || {
        let end = rest.windows(5).position(|line| line == b"\n---\n");
        let (file, after) = end.map_or((rest, &rest[rest.len()..]), |at| (&rest[..at], &rest[at + 5..]));
        rest = after;
        file
    };
    let (config, pieces, weights) = (next(), next(), next());
    let (vocabulary, tokenizer) = match pieces.first() {
        Some(b'{') => ("tokenizer.json", "vocab.txt"),
        _ => ("vocab.txt", "tokenizer.json"),
    };
    let _ = std::fs::remove_file(FOLDER.join(tokenizer));
    for (name, file) in [("config.json", config), (vocabulary, pieces), ("model.safetensors", weights)] {
        std::fs::write(FOLDER.join(name), file).expect("a file can be written");
    }
    match Pretrained::open(&FOLDER) {
        Ok(encoder) => assert_eq!(encoder.fingerprint().len(), 16),
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
});
