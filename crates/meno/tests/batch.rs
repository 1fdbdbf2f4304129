//! What is said of many texts at once is what is said of each alone, byte for byte.

use std::path::Path;

use meno::corpus::read_split;
use meno::engine::{BATCH, Instructions, MAX_WORDS, Tokenization, WeightFormat};
use meno::random::Random;
use meno::train::TrainSettings;
use meno::{Model, Worker};

/// The default tagger after one epoch, as bytes.
fn trained() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/concepts");
    let [train, valid] = ["train", "valid"].map(|split| read_split(&folder, split).unwrap());
    meno::train(&train, &valid, &TrainSettings { epochs: 1, ..TrainSettings::default() }).unwrap().to_bytes()
}

/// Requests, and what nobody says: nothing at all, marks, other scripts, texts that are read in pieces.
fn texts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/concepts");
    let test = read_split(&folder, "test").unwrap();
    let mut texts: Vec<String> = test.utterances.iter().take(150).map(|u| u.words.join(" ")).collect();
    let words = texts.join(" ");
    let so_many = |n: usize| words.split(' ').cycle().take(n).collect::<Vec<_>>().join(" ");
    texts.extend([1, 40, 100, MAX_WORDS, MAX_WORDS + 1, 2 * MAX_WORDS, 1300].map(so_many));
    texts.extend(["", " ", "!?", "", "qwxyz", "日本 の 天気", "wake me at 7 7 7"].map(str::to_owned));
    Random::new(3).shuffle(&mut texts);
    texts
}

fn answers<'t>(
    worker: &mut Worker,
    texts: impl Iterator<Item = &'t [&'t str]>,
    tokenization: Tokenization,
) -> Vec<String> {
    let annotations = texts.flat_map(|texts| worker.annotate_all(texts, tokenization));
    annotations.map(|annotation| format!("{annotation:?}")).collect()
}

#[test]
fn together_as_alone() {
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert!(texts.len() > 2 * BATCH);
    let span_tagger_1 = include_bytes!("models/span_tagger-1.meno").to_vec();
    let slot_gated = include_bytes!("models/format-1.meno").to_vec();
    let trained = trained();
    let small =
        Model::from_bytes(&trained, Path::new("m")).unwrap().with_weights(WeightFormat::Int8).unwrap();
    for (bytes, tokenization) in [
        (trained, Tokenization::Raw),
        (small.to_bytes(), Tokenization::Raw),
        (span_tagger_1, Tokenization::Pretokenized),
        (slot_gated, Tokenization::Raw),
    ] {
        for instructions in [Instructions::Portable, Instructions::Avx2, Instructions::Avx512] {
            // Of a model that was just read, so that neither worker knows what the other has prepared.
            let worker = || Model::from_bytes(&bytes, Path::new("m")).unwrap().worker_with(instructions);
            let (Some(mut alone), Some(mut together), Some(mut by_threes)) = (worker(), worker(), worker())
            else {
                continue;
            };
            let alone: Vec<String> =
                texts.iter().map(|text| format!("{:?}", alone.annotate(text, tokenization))).collect();
            // The second time all words are prepared.
            for _ in 0..2 {
                let found = answers(&mut together, std::iter::once(&texts[..]), tokenization);
                assert_eq!(alone, found, "{instructions:?}");
            }
            assert_eq!(alone, answers(&mut by_threes, texts.chunks(3), tokenization), "{instructions:?}");
        }
    }
}
