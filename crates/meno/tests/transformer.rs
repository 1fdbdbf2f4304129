//! A tagger on a pretrained encoder, from a folder to answers: a tiny random BERT.

#[path = "support/encoder.rs"]
mod support;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use meno::engine::{Instructions, WeightFormat};
use meno::pretrained::Pretrained;
use meno::train::{Checkpoint, EpochReport, Options, Outcome, Progress, TrainSettings, Watch, fit};
use meno::{Corpus, Error, Model, Tokenization, Utterance};
use safetensors::tensor::SafeTensors;
use support::write_encoder;
use tempfile::TempDir;

fn encoder(seed: u64) -> (TempDir, Arc<Pretrained>) {
    let folder = tempfile::tempdir().unwrap();
    write_encoder(folder.path(), seed);
    let encoder = Arc::new(Pretrained::open(folder.path()).unwrap());
    (folder, encoder)
}

fn settings(encoder: &Pretrained) -> TrainSettings {
    TrainSettings { epochs: 4, batch: 4, rate: 1e-3, ..TrainSettings::transformer(encoder) }
}

fn corpus(name: &str, skip: usize) -> Corpus {
    let cities = ["paris", "rome", "new york", "san jose 7"];
    let patterns = ["fly to # now", "the weather in # at 9", "# please", "book a room in # today"];
    let utterances = (0..16).skip(skip).map(|i| {
        let mut utterance = Utterance { intent: format!("intent{}", i % 4), ..Utterance::default() };
        for word in patterns[i % 4].split(' ') {
            let words: Vec<&str> = if word == "#" { cities[i / 4].split(' ').collect() } else { vec![word] };
            for (position, part) in words.into_iter().enumerate() {
                let label = if word != "#" { "O" } else { ["B-city", "I-city"][position.min(1)] };
                utterance.words.push(part.to_owned());
                utterance.labels.push(label.to_owned());
            }
        }
        utterance
    });
    Corpus { path: name.into(), utterances: utterances.collect(), ..Corpus::default() }
}

fn options(encoder: &Arc<Pretrained>, threads: usize, resume: Option<Checkpoint>) -> Options {
    Options { encoder: Some(encoder.clone()), threads, resume, trust: false, ..Options::default() }
}

fn finish(encoder: &Arc<Pretrained>, threads: usize, resume: Option<Checkpoint>) -> Model {
    let (train, valid) = (corpus("train", 0), corpus("valid", 3));
    let options = options(encoder, threads, resume);
    fit(&train, &valid, &settings(encoder), options, &mut ()).unwrap().finished().unwrap()
}

/// Stops after so many steps.
struct StopAfter(usize);

impl Watch for StopAfter {
    fn step(&mut self, _: &Progress) -> ControlFlow<()> {
        self.0 -= 1;
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    fn epoch(&mut self, _: &EpochReport) {}
}

fn stop_after(encoder: &Arc<Pretrained>, steps: usize) -> Checkpoint {
    let (train, valid) = (corpus("train", 0), corpus("valid", 3));
    let mut watch = StopAfter(steps);
    match fit(&train, &valid, &settings(encoder), options(encoder, 1, None), &mut watch).unwrap() {
        Outcome::Finished(_) => panic!("it was to stop after {steps} steps"),
        Outcome::Stopped { checkpoint, .. } => *checkpoint,
    }
}

#[test]
fn same_bytes_on_any_threads_and_after_a_stop() {
    let (_folder, encoder) = encoder(1);
    let whole = finish(&encoder, 1, None).to_bytes();
    for threads in [2, 3] {
        assert!(whole == finish(&encoder, threads, None).to_bytes(), "{threads} threads");
    }
    // Four steps make an epoch, and with the third mentions are not replaced any more.
    for steps in [1, 4, 7, 8, 9, 15] {
        let checkpoint = stop_after(&encoder, steps);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        checkpoint.save(&path).unwrap();
        let resumed = finish(&encoder, 2, Some(Checkpoint::load(&path).unwrap()));
        assert!(whole == resumed.to_bytes(), "stopped after {steps} steps");
    }
}

#[test]
fn it_learns_and_comes_back_bit_for_bit() {
    let (_folder, encoder) = encoder(1);
    let train = corpus("train", 0);
    let settings = TrainSettings { epochs: 60, rate: 2e-3, ..settings(&encoder) };
    let model =
        fit(&train, &train, &settings, options(&encoder, 2, None), &mut ()).unwrap().finished().unwrap();
    assert!(model.record().valid_slot_f1 > 90.0, "{:?}", model.record());
    let bytes = model.to_bytes();
    let loaded = Model::from_bytes(&bytes, Path::new("model")).unwrap();
    assert!(loaded.to_bytes() == bytes, "other bytes");
    assert_eq!(loaded.record(), model.record());
    // The last is longer than the encoder reads at once, and has a word that is cut into more pieces than are kept.
    let long = "weather in pneumonoultramicroscopic rome ".repeat(200);
    for text in ["Fly to New York, now!", "", "42", "日本 qé", &long] {
        let annotated = |model: &Model| format!("{:?}", model.worker().annotate(text, Tokenization::Raw));
        assert_eq!(annotated(&loaded), annotated(&model), "{text}");
    }
    let mut worker = loaded.worker();
    assert_eq!(worker.annotate(&long, Tokenization::Raw).tokens.len(), 800);
    let labels = worker.tag(&["fly", "to", "new", "york", "now"]).0;
    assert_eq!(labels.iter().map(|label| &**label).collect::<Vec<_>>(), ["O", "O", "B-city", "I-city", "O"]);
}

#[test]
fn another_encoder_is_refused() {
    let ((_a, one), (_b, other)) = (encoder(1), encoder(2));
    assert_ne!(one.fingerprint(), other.fingerprint());
    let (train, valid) = (corpus("train", 0), corpus("valid", 3));
    for encoder in [None, Some(other)] {
        let options = Options { encoder, ..Options::default() };
        let refused = fit(&train, &valid, &settings(&one), options, &mut ()).unwrap_err();
        assert!(matches!(refused, Error::Setting { .. }), "{refused:?}");
    }
}

/// The file of a model as an earlier program takes it, which knows of no digest.
fn undigested(model: &Model) -> Vec<u8> {
    let (mut bytes, name) = (model.to_bytes(), br#"\"digest\""#);
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at + 2] = b'D';
    bytes
}

#[test]
fn damaged_models_are_refused() {
    let (_folder, encoder) = encoder(1);
    let bytes = undigested(&finish(&encoder, 1, None));
    let text = String::from_utf8_lossy(&bytes);
    // Each replacement has as many bytes as what it replaces.
    for (from, to) in [
        (r#"\"heads\":2"#, r#"\"heads\":3"#),
        (r#"\"heads\":2"#, r#"\"heads\":4"#),
        (r#"\"layers\":2"#, r#"\"layers\":1"#),
        (r#"\"positions\":24"#, r#"\"positions\":09"#),
        (r#"\"positions\":24"#, r#"\"positions\":25"#),
        (r#"\"vocabulary\":81"#, r#"\"vocabulary\":80"#),
        (r#"word_pieces.v1"#, r#"word_pieces.v9"#),
        (r#"\"cls\":2"#, r#"\"cls\":99999"#),
    ] {
        assert!(text.contains(from), "{from}");
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        let mut damaged = bytes.clone();
        damaged.splice(at..at + from.len(), to.bytes());
        let grown = (to.len() - from.len()) as u64;
        let header = u64::from_le_bytes(damaged[..8].try_into().unwrap()) + grown;
        damaged[..8].copy_from_slice(&header.to_le_bytes());
        let loaded = Model::from_bytes(&damaged, Path::new("model"));
        // One layer less is another network whose tensors are all there.
        let is_fine = to.contains("layers");
        assert_eq!(loaded.is_ok(), is_fine, "{to}: {loaded:?}");
    }
}

/// With weights of 8 and of 16 bits the answers are nearly those of floats, and come back bit for bit.
#[test]
fn smaller_weights_answer_nearly_the_same() {
    let (_folder, encoder) = encoder(1);
    let train = corpus("train", 0);
    let settings = TrainSettings { epochs: 60, rate: 2e-3, ..settings(&encoder) };
    let model =
        fit(&train, &train, &settings, options(&encoder, 2, None), &mut ()).unwrap().finished().unwrap();
    let size = model.to_bytes().len();
    for format in [WeightFormat::Bf16, WeightFormat::Int8] {
        let smaller = model.with_weights(format).unwrap();
        let bytes = smaller.to_bytes();
        assert!(bytes.len() < size, "{format:?}: {} bytes of {size}", bytes.len());
        let loaded = Model::from_bytes(&bytes, Path::new("model")).unwrap();
        assert!(loaded.to_bytes() == bytes, "{format:?}: other bytes");
        for utterance in &train.utterances {
            let words: Vec<&str> = utterance.words.iter().map(String::as_str).collect();
            assert_eq!(smaller.worker().tag(&words), model.worker().tag(&words), "{format:?}: {words:?}");
            let text = words.join(" ");
            let tokens = |model: &Model| format!("{:?}", model.worker().annotate(&text, Tokenization::Raw));
            assert_eq!(tokens(&loaded), tokens(&smaller), "{format:?}: {text}");
        }
    }
    let smallest = model.with_weights(WeightFormat::Int8).unwrap();
    assert!(matches!(smallest.with_weights(WeightFormat::Int8), Err(Error::Setting { .. })));
    assert!(matches!(smallest.with_weights(WeightFormat::Bf16), Err(Error::Setting { .. })));
}

#[test]
fn every_variant_of_the_kernels_gives_8_bits_the_same_answers() {
    let (_folder, encoder) = encoder(1);
    let model = finish(&encoder, 1, None).with_weights(WeightFormat::Int8).unwrap();
    let variants = [Instructions::Portable, Instructions::Avx2, Instructions::Avx512];
    let mut workers: Vec<_> = variants.into_iter().filter_map(|variant| model.worker_with(variant)).collect();
    let answers: Vec<_> =
        workers.iter_mut().map(|worker| worker.tag(&["fly", "to", "new", "york"])).collect();
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
}

#[test]
fn damaged_weights_of_8_bits_are_refused() {
    let (_folder, encoder) = encoder(1);
    let bytes = undigested(&finish(&encoder, 1, None).with_weights(WeightFormat::Int8).unwrap());
    let (header_len, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let check = |name: &str, at: usize, with: &[u8], problem: &str| {
        let start = 8 + header_len + header.info(name).unwrap().data_offsets.0 + at;
        let mut damaged = bytes.clone();
        damaged[start..start + with.len()].copy_from_slice(with);
        let error = Model::from_bytes(&damaged, Path::new("model")).unwrap_err();
        assert_eq!(error.to_string(), format!("model: {problem}"));
    };
    let matrix = "layer.1.output.weight";
    check(matrix, 5, &[0x80], r#"tensor "layer.1.output.weight" holds a weight of -128"#);
    check("embeddings.pieces", 0, &[0x80], r#"tensor "embeddings.pieces" holds a weight of -128"#);
    let problem =
        r#"tensor "layer.1.output.weight.scale" holds a value that is not finite, or beyond 1000000"#;
    check("layer.1.output.weight.scale", 4, &f32::NAN.to_le_bytes(), problem);
    for (from, to, problem) in [
        (
            "layer.0.output.weight.scale",
            "layer.0.output.weight.scalf",
            "tensor \"layer.0.output.weight.scale\" is missing",
        ),
        ("transformer_int8.v1", "transformer_int8.v2", "unknown architecture"),
        (
            r#"\"intermediate\":64"#,
            r#"\"intermediate\":48"#,
            "tensor \"layer.0.intermediate.bias\" is F32 [64], not F32 [48]",
        ),
    ] {
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        let mut damaged = bytes.clone();
        damaged[at..at + to.len()].copy_from_slice(to.as_bytes());
        let error = Model::from_bytes(&damaged, Path::new("model")).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
}
