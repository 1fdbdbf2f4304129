//! What a program has of meno without training, corpora and the data for English: `--no-default-features`.

use std::ops::Range;
use std::path::Path;

use meno::dialogue::{Dialogue, Engine, Heard, Outcome, Phrasebook, Settings, State};
use meno::engine::{English, Tokenization, Vectors};
use meno::memory::{Entry, Index, Remembered, Rule};
use meno::{Model, Result};

/// It needs no word vectors and no syntax model.
const SLOT_GATED: &[u8] = include_bytes!("models/format-1.meno");
/// It needs the word vectors.
const SPAN_TAGGER: &[u8] = include_bytes!("models/format-2.meno");

fn open(bytes: &[u8]) -> Result<Model> {
    Model::from_bytes(bytes, Path::new("embedded.meno"))
}

fn spans(annotation: &meno::Annotation<'_>) -> Vec<(String, String)> {
    annotation.spans.iter().map(|span| (span.text.to_owned(), span.slot.clone())).collect()
}

#[test]
fn a_model_file_is_opened_and_reads_text() {
    let mut worker = open(SLOT_GATED).unwrap().worker();
    let annotation = worker.annotate("Weather in New York!", Tokenization::Raw);
    assert_eq!(annotation.intent.as_ref().map(|intent| &*intent.name), Some("weather"));
    assert_eq!(spans(&annotation), [("New York".to_owned(), "city".to_owned())]);
}

#[cfg(not(feature = "english"))]
#[test]
fn a_model_that_needs_the_data_for_english_says_so() {
    use meno::decision::{Growth, Policy};
    use meno::syntax::phrase::Rule;

    assert_eq!(
        open(SPAN_TAGGER).unwrap_err().to_string(),
        "embedded.meno: it needs the vectors of English words, which are not built into this program (feature \
         `english` of meno, or `Model::from_bytes_with`)"
    );
    let growth = Growth { rule: Rule::Tree, sure: 0.5, exact_before: 0.0, exact_after: 0.0 };
    let model = open(SLOT_GATED).unwrap();
    let policy = Policy { growth: Some(growth), ..model.policy().clone() };
    assert_eq!(
        open(&model.with_policy(policy).to_bytes()).unwrap_err().to_string(),
        "embedded.meno: it needs the syntax model for English, which is not built into this program (feature \
         `english` of meno, or `Model::from_bytes_with`)"
    );
}

#[test]
fn the_data_for_english_may_be_given() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../meno-english/english.vectors");
    let bytes: &'static [u8] = std::fs::read(&path).unwrap().leak();
    let vectors = Box::leak(Box::new(Vectors::from_bytes(bytes, &path).unwrap()));
    let english = English { vectors: Some(vectors), syntax: None };
    let model = Model::from_bytes_with(SPAN_TAGGER, Path::new("embedded.meno"), &english).unwrap();
    let mut worker = model.worker();
    // As in `artifact.rs`, where the vectors are those that are built in.
    let annotation = worker.annotate("weather in new york", Tokenization::Raw);
    let guess = annotation.spans[0].guess.as_ref().unwrap();
    assert_eq!((annotation.spans[0].text, &*guess.slot), ("new york", "city"));
    assert!((guess.boundaries - 0.9764).abs() < 1e-3, "{}", guess.boundaries);
}

#[test]
fn what_words_mean_may_be_given_too() {
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../meno-english").join(name);
        let bytes: &'static [u8] = std::fs::read(&path).unwrap().leak();
        (bytes, path)
    };
    let ((table, table_path), (glove, glove_path)) = (read("english.vectors"), read("english.glove"));
    let plain = Vectors::from_bytes(table, &table_path).unwrap();
    let both = plain.clone().with_glove(glove, &glove_path).unwrap();
    let (first, all) = (plain.vector("london"), both.vector("london"));
    assert_eq!((first.len(), all.len()), (plain.width(), both.width()));
    assert_eq!(all[..first.len()], first);
    assert!(all[first.len()..].iter().any(|&x| x != 0.0));
    let error = plain.with_glove(table, Path::new("x")).unwrap_err().to_string();
    assert_eq!(error, "x: damaged table of GloVe vectors: no table \"keys\"");
    // A model of an earlier program goes by what it was trained with.
    let english = English { vectors: Some(Box::leak(Box::new(both))), syntax: None };
    let model = Model::from_bytes_with(SPAN_TAGGER, Path::new("embedded.meno"), &english).unwrap();
    let annotation = model.worker().annotate("weather in new york", Tokenization::Raw);
    let guess = annotation.spans[0].guess.as_ref().unwrap();
    assert!((guess.boundaries - 0.9764).abs() < 1e-3, "{}", guess.boundaries);
}

#[test]
fn a_damaged_table_of_vectors_is_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../meno-english/english.vectors");
    let whole = std::fs::read(&path).unwrap();
    let n_header = u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&whole[8..8 + n_header]).unwrap();
    let renamed = header.replace("\"facts\"", "\"fakts\"");
    let renamed = [&whole[..8], renamed.as_bytes(), &whole[8 + n_header..]];
    // A cluster that is not there: every byte of the facts, which say it, is the largest.
    let facts = header.split("\"facts\"").nth(1).unwrap();
    let offsets = facts.split("\"data_offsets\":[").nth(1).unwrap().split(']').next().unwrap();
    let (start, end) = offsets.split_once(',').unwrap();
    let mut far = whole.clone();
    far[8 + n_header..][start.parse().unwrap()..end.parse().unwrap()].fill(0xFF);
    for (bytes, problem) in [
        (whole[..whole.len() - 1].to_vec(), "not a table of word vectors"),
        (b"vectors".to_vec(), "not a table of word vectors"),
        (renamed.concat(), "damaged table of word vectors: no table \"facts\""),
        (far, "damaged table of word vectors: pieces, words and clusters do not fit"),
    ] {
        let error = Vectors::from_bytes(bytes.leak(), Path::new("x")).unwrap_err().to_string();
        assert_eq!(error, format!("x: {problem}"));
    }
}

/// Knows nothing and hears nothing twice.
struct Forgetful;

impl Engine for Forgetful {
    fn is_value(&self, _: &str, _: &str) -> bool {
        false
    }

    fn slot_of(&self, _: &str) -> Option<String> {
        None
    }

    fn is_plain(&self, _: &str) -> bool {
        false
    }

    fn remembers(&self, _: &str) -> bool {
        false
    }

    fn read(&self, text: &str, _: &[(Range<usize>, String)]) -> Heard {
        Heard { text: text.to_owned(), ..Heard::default() }
    }
}

#[test]
fn what_was_taught_is_found_and_what_is_unknown_is_asked_about() {
    let model = open(SLOT_GATED).unwrap().with_threshold(0.0).unwrap();
    let mut worker = model.worker();
    let mut index = Index::default();
    let (book, settings, types) = (Phrasebook::english(), Settings::default(), model.slots());
    let dialogue =
        Dialogue { settings: &settings, book: &book, answers: None, types: &types, engine: &Forgetful };
    let text = "weather in zorblax";
    let annotation = worker.annotate(text, Tokenization::Raw);
    let remembered =
        Remembered::new(Rule::default(), annotation, &index.find(text, None), |word| model.has_seen(word));
    let (state, reply) = dialogue.advance(State::default(), Heard::of(&remembered));
    assert!(matches!(&reply.outcome, Outcome::Ask { .. }), "{reply:?}");
    let answer = Heard { text: "it's a city".to_owned(), ..Heard::default() };
    let (_, reply) = dialogue.advance(state, answer);
    let [lesson] = &reply.lessons[..] else { panic!("{reply:?}") };
    assert_eq!(lesson.slot, "city");

    index.insert(Entry { id: 1, phrase: "zorblax", slot: "city", value: None, user: None });
    let found = index.find("play songs of Zorblax", None);
    assert_eq!((found[0].id, found[0].slot, found[0].start..found[0].end), (1, "city", 14..21));
}
