//! Taggers from PyTorch against ONNX Runtime, and files that must be refused. `scripts/goldens/onnx_models.py` makes them.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;

use super::*;
use crate::Tokenization;
use crate::encoder::onnx::check;
use crate::random::Random;

#[derive(Deserialize)]
struct Golden {
    words: Vec<String>,
    ids: Vec<u32>,
    logits: Vec<Vec<f32>>,
    #[serde(default)]
    intents: Vec<f32>,
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/onnx").join(name)
}

fn bert() -> WrapFiles {
    let [graph, tokenizer, labels] = ["bert.onnx", "tokenizer.json", "config.json"].map(path);
    WrapFiles { graph, tokenizer, labels, intents: None }
}

fn lstm() -> WrapFiles {
    let [graph, tokenizer, labels] = ["lstm.onnx", "words.txt", "labels.txt"].map(path);
    WrapFiles { graph, tokenizer, labels, intents: Some(path("intents.json")) }
}

fn corpus() -> Corpus {
    crate::corpus::splits(&path("")).unwrap()[0].read().unwrap()
}

fn wrapped(files: &WrapFiles) -> Wrapped {
    wrap(files, Some(&corpus()), &WrapSettings::default()).unwrap()
}

fn error(files: &WrapFiles) -> String {
    let error = wrap(files, None, &WrapSettings::default()).expect_err("it is not to be used");
    assert!(error.hint().is_some(), "{error}");
    error.to_string()
}

fn goldens(name: &str) -> Vec<Golden> {
    serde_json::from_slice(&fs::read(path(name)).unwrap()).unwrap()
}

/// The largest difference between what we run and what ONNX Runtime ran.
fn difference(files: &WrapFiles, goldens: &[Golden]) -> f32 {
    let model = wrapped(files).model;
    let Encoder::Onnx(encoder) = &model.encoder else { panic!("it was wrapped") };
    let OnnxShape { columns, temperature, intent_temperature, .. } = encoder.shape.clone();
    let mut worker = model.worker();
    let mut largest = 0f32;
    let mut compare = |ours: f32, theirs: f32| largest = largest.max((ours - theirs).abs());
    for golden in goldens {
        let emissions = worker.emissions(&golden.words);
        let Tags::Labels { logits, .. } = &emissions.tags else { panic!("a tagger of labels") };
        assert_eq!(logits.len(), golden.logits.len(), "{:?}", golden.words);
        for (ours, theirs) in logits.rows().zip(&golden.logits) {
            for (&label, &theirs) in columns.iter().zip(theirs) {
                compare(ours[label as usize] * temperature, theirs);
            }
        }
        assert_eq!(emissions.intents.len(), golden.intents.len());
        for (ours, &theirs) in emissions.intents.iter().zip(&golden.intents) {
            compare(ours * intent_temperature, theirs);
        }
    }
    largest
}

#[test]
fn logits_are_those_of_onnx_runtime() {
    for (files, name) in [(bert(), "bert.json"), (lstm(), "lstm.json")] {
        let difference = difference(&files, &goldens(name));
        assert!(difference < 1e-4, "{name}: {difference}");
    }
}

#[test]
fn pieces_are_those_of_tokenizers() {
    let model = wrapped(&bert()).model;
    let pieces = model.features.forms.as_ref().unwrap().pieces.clone().unwrap();
    for golden in goldens("bert.json") {
        let mut ids = vec![pieces.cls()];
        golden.words.iter().for_each(|word| pieces.pieces(word, &mut ids));
        ids.push(pieces.sep());
        assert_eq!(ids, golden.ids, "{:?}", golden.words);
    }
}

#[test]
fn what_was_learnt_is_tagged_and_what_was_not_is_unknown() {
    for files in [bert(), lstm()] {
        let Wrapped { model, report, .. } = wrapped(&files);
        assert!(report.unwrap().slot_f1 > 90.0);
        let mut worker = model.worker();
        let annotation = worker.annotate("Weather in New York!", Tokenization::Raw);
        let spans: Vec<_> = annotation.spans.iter().map(|span| (span.text, &*span.slot)).collect();
        assert_eq!(spans, [("New York", "city")]);
        let has_intents = files.intents.is_some();
        assert_eq!(
            annotation.intent.map(|intent| intent.name.to_string()),
            has_intents.then(|| "weather".into())
        );
    }
}

#[test]
fn a_model_file_keeps_all_of_it() {
    for files in [bert(), lstm()] {
        let model = wrapped(&files).model;
        let bytes = model.to_bytes();
        let again = Model::from_bytes(&bytes, Path::new("again")).unwrap();
        assert!(again.to_bytes() == bytes, "the same bytes");
        for text in ["call anna", "wake me at six", "call zorblax"] {
            let [before, after] = [&model, &again].map(|model| {
                let mut worker = model.worker();
                serde_json::to_string(&worker.annotate(text, Tokenization::Raw)).unwrap()
            });
            assert_eq!(before, after);
        }
        // Damaged ones are errors, whatever is damaged.
        let mut random = Random::new(1);
        for _ in 0..100 {
            let mut damaged = bytes.clone();
            let at = random.below(damaged.len());
            damaged[at] ^= 1 << random.below(8);
            if let Ok(model) = Model::from_bytes(&damaged, Path::new("damaged")) {
                model.worker().annotate("call anna", Tokenization::Raw);
            }
        }
    }
}

#[test]
fn a_long_text_is_read_in_several_runs() {
    // The positions of the small BERT end at 64.
    let model = wrapped(&bert()).model;
    let text = "weather in oslo ".repeat(100);
    let annotation = model.worker().annotate(&text, Tokenization::Raw);
    assert_eq!(annotation.tokens.len(), 300);
    let n_cities = annotation.spans.iter().filter(|span| &*span.slot == "city").count();
    assert!(n_cities > 80, "{n_cities}");
}

#[test]
fn without_a_valid_set_nothing_is_unknown() {
    let model = wrap(&bert(), None, &WrapSettings::default()).unwrap().model;
    assert_eq!(model.policy().threshold, None);
    let annotation = model.worker().annotate("call zorblax", Tokenization::Raw);
    assert!(
        annotation.tokens.iter().all(|token| token.verdict.as_ref().is_none_or(|verdict| !verdict.unknown))
    );
}

#[test]
fn graphs_that_cannot_be_run_are_refused_by_name() {
    let names: BTreeMap<String, String> =
        serde_json::from_slice(&fs::read(path("refused/names.json")).unwrap()).unwrap();
    assert_eq!(names.len(), 10);
    for (name, needle) in names {
        let graph = path(&format!("refused/{name}.onnx"));
        let error = error(&WrapFiles { graph, intents: None, ..lstm() });
        assert!(error.contains(&format!("{needle:?}")), "{name}: {error}");
    }
}

#[test]
fn files_of_another_kind_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let check = |files: WrapFiles, needle: &str| {
        let error = error(&files);
        assert!(error.contains(needle), "{error}, not {needle}");
    };
    let labels = |text: &str| WrapFiles { labels: write("labels.json", text), ..lstm() };
    check(labels("{}"), "there are no labels");
    check(labels(r#"{"id2label": {"0": "O", "2": "B-x"}}"#), "none for 1");
    check(labels(r#"["O", "LABEL_1"]"#), "\"LABEL_1\" is none of IOB");
    check(labels(r#"["B-x", "I-x"]"#), "no label `O`");
    check(labels(r#"["O", "B-x", "B-x"]"#), "listed twice");
    check(labels("[1]"), "invalid type");
    check(labels(r#"["O", "B-x"]"#), "labels");
    let tokenizer = |text: &str| WrapFiles { tokenizer: write("tokenizer.json", text), ..lstm() };
    check(tokenizer(r#"{"model": {"type": "BPE"}}"#), "\"BPE\", not \"WordPiece\"");
    check(tokenizer(r#"["a", "b"]"#), "no word stands for those that are not in it");
    check(tokenizer(r#"["a", "a", "<unk>"]"#), "\"a\" is listed twice");
    check(tokenizer(r#"{"a": 0, "<unk>": 7}"#), "too high");
    check(WrapFiles { graph: path("labels.txt"), ..lstm() }, "not an ONNX file");
    check(WrapFiles { graph: path("nowhere.onnx"), ..lstm() }, "cannot read");
    check(WrapFiles { graph: path("bert.onnx"), ..lstm() }, "bert.onnx");
    check(WrapFiles { tokenizer: path("tokenizer.json"), ..lstm() }, "Gather");
}

#[test]
fn tags_of_other_schemes_become_iob() {
    let names = ["O", "B-x", "I-x", "L-x", "U-x", "S-y", "E-y"].map(str::to_owned);
    let (labels, columns) = files::columns(Path::new("labels"), &names).unwrap();
    assert_eq!(labels, ["O", "B-x", "I-x", "B-y", "I-y"]);
    assert_eq!(columns, [0, 1, 2, 2, 1, 3, 4]);
}

#[test]
fn weights_beside_the_graph_are_taken_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut graph = check::read(&fs::read(path("lstm.onnx")).unwrap()).unwrap();
    let mut weights = Vec::new();
    for tensor in &mut graph.graph.as_mut().unwrap().initializer {
        let Some(data) = tensor.raw_data.take() else { continue };
        let data = data.into_inner();
        let entry = |key: &str, value: String| rten_onnx::onnx::StringStringEntryProto {
            key: Some(key.to_owned()),
            value: Some(value),
        };
        tensor.external_data = vec![
            entry("location", "weights.bin".to_owned()),
            entry("offset", weights.len().to_string()),
            entry("length", data.len().to_string()),
        ];
        tensor.data_location = Some(rten_onnx::onnx::DataLocation::EXTERNAL);
        weights.extend(data);
    }
    assert!(!weights.is_empty());
    fs::write(folder.path().join("lstm.onnx"), graph.write_buf().unwrap()).unwrap();
    let files = WrapFiles { graph: folder.path().join("lstm.onnx"), ..lstm() };
    assert!(error(&files).contains("weights.bin"), "it is not there yet");
    fs::write(folder.path().join("weights.bin"), &weights[1..]).unwrap();
    assert!(error(&files).contains("too short"));
    fs::write(folder.path().join("weights.bin"), &weights).unwrap();
    assert!(difference(&files, &goldens("lstm.json")) < 1e-4);
}

#[test]
fn damaged_graphs_are_refused_or_run() {
    let mut random = Random::new(7);
    for name in ["bert.onnx", "lstm.onnx"] {
        let bytes = fs::read(path(name)).unwrap();
        for round in 0..300 {
            let mut damaged = bytes.clone();
            if round % 3 == 0 {
                damaged.truncate(random.below(bytes.len()));
            }
            for _ in 0..1 + random.below(4) {
                // Most of a graph is weights; what stands before them is hit as often.
                let end = if round % 2 == 0 { damaged.len() } else { damaged.len().min(4000) };
                if end > 0 {
                    let at = random.below(end);
                    damaged[at] = random.below(256) as u8;
                }
            }
            let _ = try_graph(&damaged);
        }
    }
}
