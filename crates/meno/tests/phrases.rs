//! Unknown words of a model grow to phrases, and the file keeps how.

use std::path::Path;

use meno::decision::{Growth, Policy};
use meno::engine::Tokenization;
use meno::syntax::phrase::{Link, Rule, Why};
use meno::{Annotation, Model};

const TEXT: &str = "play golden river";

fn with_growth(model: Model, sure: f32) -> Model {
    let growth = Some(Growth { rule: Rule::Run, sure, exact_before: 0.0, exact_after: 0.0 });
    let policy = Policy { growth, ..model.policy().clone() };
    model.with_policy(policy)
}

/// The kept model, with a threshold over which only one word of [`TEXT`] is.
fn model() -> (Model, usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/format-1.meno");
    let model = Model::load(&path).unwrap();
    let known = model.with_threshold(1e9).unwrap();
    let annotation = known.worker().annotate(TEXT, Tokenization::Raw);
    let uncertainty: Vec<f64> =
        annotation.tokens.iter().map(|token| token.verdict.as_ref().unwrap().uncertainty).collect();
    // `golden` or `river`: both are nominal, so the one is a neighbour of the other.
    let (most, least) = if uncertainty[1] > uncertainty[2] { (1, 2) } else { (2, 1) };
    let between = (uncertainty[most] + uncertainty[least].max(uncertainty[0])) / 2.0;
    (known.with_threshold(between).unwrap(), most)
}

fn unknown(annotation: &Annotation<'_>) -> Vec<bool> {
    annotation.tokens.iter().map(|token| token.verdict.as_ref().unwrap().unknown).collect()
}

#[test]
fn a_phrase_grows_and_says_why() {
    let (model, most) = model();
    let alone: Vec<bool> = (0..3).map(|word| word == most).collect();
    assert_eq!(unknown(&model.worker().annotate(TEXT, Tokenization::Raw)), alone);

    let model = with_growth(model, 2.0);
    let mut worker = model.worker();
    let annotation = worker.annotate(TEXT, Tokenization::Raw);
    assert_eq!(unknown(&annotation), [false, true, true]);
    assert_eq!(annotation.spans.len(), 1);
    assert_eq!((annotation.spans[0].text, &*annotation.spans[0].slot), ("golden river", "unknown"));
    let grown: Vec<Option<&Why>> =
        annotation.tokens.iter().map(|token| token.verdict.as_ref().unwrap().grown.as_ref()).collect();
    let other = 3 - most;
    assert_eq!(grown[other].unwrap().from, most);
    assert!(matches!(grown[other].unwrap().link, Link::Neighbour(_)));
    assert_eq!((grown[0], grown[most]), (None, None));
    let json = serde_json::to_value(&annotation.tokens[other]).unwrap();
    assert_eq!(json["grown"]["from"], most);
    assert!(json["grown"]["neighbour"].is_string(), "{json}");
}

#[test]
fn walls_stop_it_and_the_file_keeps_it() {
    let (model, most) = model();
    let model = with_growth(model, 0.0);
    let read = Model::from_bytes(&model.to_bytes(), "m".as_ref()).unwrap();
    assert_eq!((read.policy(), read.to_bytes() == model.to_bytes()), (model.policy(), true));
    let alone: Vec<bool> = (0..3).map(|word| word == most).collect();
    assert_eq!(unknown(&read.worker().annotate(TEXT, Tokenization::Raw)), alone);
}
