//! Whatever the bytes of a checkpoint: it is refused, or the training goes on to its end.
//!
//! After a zero the input is the file. Else each five bytes of it replace a byte of a sound file: four say which, the last by what.
#![no_main]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use meno::corpus::{Corpus, FolderText};
use meno::train::{Checkpoint, EpochReport, Options, Outcome, Progress, TrainSettings, Watch, fit};

/// The reader takes a path, so each process has a file of its own, in memory where the system has such a place.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    parent.join(format!("meno-fuzz-{}", std::process::id()))
});

static CORPUS: LazyLock<Corpus> = LazyLock::new(|| {
    let text = FolderText {
        words: "play the wall\nweather in rome\n",
        labels: "O B-album I-album\nO O B-city\n",
        intents: Some("play\nweather\n"),
        ..FolderText::default()
    };
    text.read(Path::new("corpus")).expect("a sound corpus")
});

/// A checkpoint after the first of its two epochs.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let Ok(Outcome::Stopped { checkpoint, .. }) = train(None, &mut StopAtSecond) else {
        panic!("it is to be stopped")
    };
    checkpoint.save(&FILE).expect("a file can be written");
    std::fs::read(&*FILE).expect("it was just written")
});

struct StopAtSecond;

impl Watch for StopAtSecond {
    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        if progress.epoch > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn epoch(&mut self, _: &EpochReport) {}
}

fn train(resume: Option<Checkpoint>, watch: &mut (dyn Watch + Send)) -> meno::Result<Outcome> {
    let settings =
        TrainSettings { epochs: 2, embedding: 16, hidden: 16, batch: 1, ..TrainSettings::slot_gated() };
    fit(&CORPUS, &*CORPUS, &settings, Options { resume, ..Options::default() }, watch)
}

fuzz_target!(|input: &[u8]| {
    let bytes = match input {
        [0, file @ ..] => file.to_vec(),
        edits => {
            let mut bytes = SOUND.clone();
            for &[a, b, c, d, value] in edits.as_chunks::<5>().0 {
                let at = u32::from_le_bytes([a, b, c, d]) as usize % bytes.len();
                bytes[at] = value;
            }
            bytes
        }
    };
    std::fs::write(&*FILE, bytes).expect("a file can be written");
    if let Ok(checkpoint) = Checkpoint::load(&FILE) {
        let _ = train(Some(checkpoint), &mut ());
    }
});
