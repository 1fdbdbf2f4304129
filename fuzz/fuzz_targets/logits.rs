//! Whatever is in a file of logits: an error, or a table that can be fitted and tagged with finite numbers.
//!
//! The first byte chooses the format, what the numbers are and the score.
#![no_main]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use meno::Error;
use meno::external::{Calibration, FitSettings, Input, Table, TableSettings, Temperature};
use meno::uncertainty::Score;

/// Readers take paths, so each process has a folder of its own, in memory where the system has such a place.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = parent.join(format!("meno-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the files");
    folder
});

const NAMES: [&str; 3] = ["jsonl.jsonl", "arrays.npz", "arrays.safetensors"];

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let choice = usize::from(first);
    let path = FOLDER.join(NAMES[choice % 3]);
    std::fs::write(&path, rest).expect("a file can be written");
    let input = if choice / 3 % 2 == 0 { Input::Logits } else { Input::Probabilities };
    let Ok(mut table) = Table::read(&path, &TableSettings { input, ..TableSettings::default() }) else { return };
    for utterance in &table.utterances {
        let rows = table.rows(utterance);
        assert_eq!(rows.len(), utterance.words.len());
        assert!(utterance.gold.as_ref().is_none_or(|gold| gold.len() == utterance.words.len()));
        assert!(rows.flatten().all(|logit| logit.is_finite()));
    }
    let score = Score::ALL[choice / 6 % Score::ALL.len()];
    let settings = FitSettings { score, temperature: Temperature::Likeliest, ..FitSettings::default() };
    let Ok(calibration) = Calibration::fit(&table, input, &settings) else { return };
    let file = FOLDER.join("calibration.json");
    calibration.save(&file).expect("a file can be written");
    assert_eq!(Calibration::load(&file).expect("what was saved can be read"), calibration);
    let result = calibration.apply::<Error>(&mut table, |annotation| {
        for token in annotation.tokens {
            let verdict = token.verdict.expect("every word is judged");
            assert!(verdict.uncertainty.is_finite() && token.probability.is_finite());
        }
        Ok(())
    });
    result.expect("a table that was fitted can be tagged");
});
