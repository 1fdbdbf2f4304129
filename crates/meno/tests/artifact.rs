//! The model file: what is saved comes back bit for bit, a model of every format version opens for ever, and no
//! bytes whatever make loading panic or allocate out of proportion.

#[path = "../../../tests/times.rs"]
mod times;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

use expect_test::{Expect, expect};
use meno::Model;
use meno::answer::Decision;
use meno::corpus::{Corpus, Utterance};
use meno::decision::Rejection;
use meno::engine::{Instructions, Tokenization, WeightFormat};
use meno::train::{Architecture, SpanTaggerSettings, TrainSettings};
use proptest::prelude::*;
use serde_json::{Value, json};
use times::times;

// --- allocations -----------------------------------------------------------------------------------------

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// Notes the largest request of each thread, so that a test can show that a number in a file was not believed.
struct Noting;

fn note(bytes: usize) {
    // A thread that is ending has no such variable any more.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(bytes)));
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

// SAFETY: every call is passed on to the system's allocator; noting a number allocates nothing.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: passed on.
        unsafe { System.realloc(at, layout, size) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Loads the bytes; whatever they are, no allocation may be larger than a few times their number.
fn load(bytes: &[u8]) -> meno::Result<Model> {
    // Its size is that of the program, not of the file.
    meno::engine::Vectors::english();
    LARGEST.set(0);
    let loaded = Model::from_bytes(bytes, Path::new("m"));
    let (largest, allowed) = (LARGEST.get(), 4 * bytes.len() + 64 * 1024);
    assert!(largest <= allowed, "{largest} bytes allocated at once for a file of {}", bytes.len());
    loaded
}

// --- models ----------------------------------------------------------------------------------------------

/// The model of format version 1. It is never made again: that old files open is what it shows.
const FORMAT_1: &[u8] = include_bytes!("models/format-1.meno");

/// `play [the wall|album] #intent`
fn utterance(marked: &str) -> Utterance {
    let (text, intent) = marked.split_once(" #").expect("an intent");
    let mut utterance = Utterance { intent: intent.to_owned(), ..Utterance::default() };
    let mut slot = None;
    // The words of a slot come before its name, so the text is read from its end.
    for word in text.split(' ').rev() {
        let (word, name) = match word.strip_suffix(']').and_then(|word| word.split_once('|')) {
            Some((word, name)) => (word, Some(name)),
            None => (word, None),
        };
        slot = name.or(slot);
        let (label, word) = match (slot, word.strip_prefix('[')) {
            (Some(name), Some(word)) => {
                slot = None;
                (format!("B-{name}"), word)
            }
            (Some(name), None) => (format!("I-{name}"), word),
            (None, _) => ("O".to_owned(), word),
        };
        utterance.labels.insert(0, label);
        utterance.words.insert(0, word.to_owned());
    }
    utterance
}

fn corpus() -> Corpus {
    let marked = "\
play [the wall|album] #play
play [abbey road|album] now #play
put on [thriller|album] #play
put on [the wall|album] please #play
play [thriller|album] please #play
now play [abbey road|album] #play
put [thriller|album] on #play
play [the wall|album] in [paris|city] #play
play [abbey road|album] in [rome|city] #play
weather in [paris|city] #weather
weather in [new york|city] now #weather
weather [rome|city] please #weather
now the weather in [rome|city] #weather
the weather in [paris|city] please #weather
please the weather in [new york|city] #weather
weather [new york|city] #weather
weather now in [paris|city] #weather
weather in [rome|city] at 5 #weather
the weather at 7 in [new york|city] #weather
put on [abbey road|album] at 9 #play";
    Corpus { path: "inline".into(), utterances: marked.lines().map(utterance).collect(), ..Corpus::default() }
}

fn train(settings: &TrainSettings) -> Model {
    meno::train(&corpus(), &corpus(), settings).unwrap()
}

fn settings() -> TrainSettings {
    TrainSettings {
        epochs: 40,
        rate: 5e-3,
        batch: 4,
        embedding: 16,
        hidden: 16,
        ..TrainSettings::slot_gated()
    }
}

/// How `tests/models/format-1.meno` was made: with `MENO_KEEP_MODEL` set, this writes `new.meno` beside it and prints
/// what is to be recorded; the next format version has another file.
#[test]
fn the_recipe_of_the_kept_model_still_works() {
    let model = train(&settings());
    if std::env::var_os("MENO_KEEP_MODEL").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/new.meno");
        model.save(&path).unwrap();
        print!("{}", annotations(&model, &RECORDED.map(|(text, _, _)| text)));
    }
    assert!(model.record().valid_slot_f1 > 90.0, "{:?}", model.record());
}

fn annotations(model: &Model, texts: &[&str]) -> String {
    let mut worker = model.worker();
    texts.iter().map(|text| format!("{:?}\n", worker.annotate(text, Tokenization::Raw))).collect()
}

const TEXTS: [&str; 5] =
    ["Play Abbey Road in Paris, please!", "weather in new york", "", "qwxyz", "42 the wall"];

fn tagger(vectors: bool) -> Model {
    let tagger = SpanTaggerSettings { character: 16, filters: 16, vectors, ..SpanTaggerSettings::default() };
    train(&TrainSettings { epochs: 2, architecture: Architecture::SpanTagger(tagger), ..settings() })
}

#[test]
fn saved_model_comes_back_bit_for_bit() {
    let slot_gated = train(&TrainSettings { epochs: 2, ..settings() });
    let small = tagger(true).with_weights(WeightFormat::Int8).unwrap();
    for model in [slot_gated, tagger(true), tagger(false), small] {
        let bytes = model.to_bytes();
        let loaded = load(&bytes).unwrap();
        assert!(loaded.to_bytes() == bytes, "other bytes");
        assert_eq!(annotations(&model, &TEXTS), annotations(&loaded, &TEXTS));
        assert_eq!(loaded.record(), model.record());
        assert_eq!(loaded.normalizer(), model.normalizer());

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        model.save(&path).unwrap();
        assert!(Model::load(&path).unwrap().to_bytes() == bytes, "other bytes by way of a file");
    }
}

/// Made by `meno train` on [`corpus`] as train and valid, with --epochs 40 --rate 0.005 --batch 4 --embedding 16
/// --hidden 16 --dropout 0.2 and 16 as `character` and `filters`; never made again.
const SPAN_TAGGER_1: &[u8] = include_bytes!("models/span_tagger-1.meno");
/// What `meno quantize` made of [`SPAN_TAGGER_1`]; never made again.
const SPAN_TAGGER_INT8_1: &[u8] = include_bytes!("models/span_tagger_int8-1.meno");

#[test]
fn span_tagger_1_opens_for_ever() {
    let variants = [Instructions::Portable, Instructions::Avx2, Instructions::Avx512];
    let files = [(SPAN_TAGGER_1, 1e-3), (SPAN_TAGGER_INT8_1, 1e-2)];
    for ((file, tolerance), instructions) in files.into_iter().flat_map(|file| variants.map(|v| (file, v))) {
        let Some(mut worker) = load(file).unwrap().worker_with(instructions) else { continue };
        for (text, intent, action, expected) in [
            ("weather in new york", "weather", Decision::Act, vec![("new york", "city", "city", 0.9764)]),
            (
                "play zorblax road now",
                "play",
                Decision::Reject { because: Rejection::OutOfScope },
                vec![("zorblax road", "unknown", "album", 0.9327)],
            ),
        ] {
            let annotation = worker.annotate(text, Tokenization::Raw);
            assert_eq!(annotation.intent.as_ref().map(|intent| &*intent.name), Some(intent), "{text}");
            assert_eq!(annotation.decision, action, "{text}");
            assert_eq!(annotation.spans.len(), expected.len(), "{text}");
            for (span, (words, slot, best, limits)) in annotation.spans.iter().zip(expected) {
                let guess = span.guess.as_ref().expect("a guess");
                assert_eq!((span.text, span.slot.as_str(), &*guess.slot), (words, slot, best), "{text}");
                assert!((guess.boundaries - limits).abs() < tolerance, "{text}: {}", guess.boundaries);
            }
        }
    }
}

/// [`SPAN_TAGGER_1`], opened and written by the first program of format version 2; never made again.
const FORMAT_2: &[u8] = include_bytes!("models/format-2.meno");

#[test]
fn format_2_opens_for_ever() {
    let model = load(FORMAT_2).unwrap();
    assert!(File::of(&model.to_bytes()).bytes() == File::of(FORMAT_2).bytes(), "other bytes");
    // What version 1 left to the program now stands in the file.
    let old = load(SPAN_TAGGER_1).unwrap();
    assert_eq!(model.policy(), old.policy());
    for text in ["weather in new york", "play zorblax road now", "", "put on 5 walls in oslo at noon"] {
        let [new, old] = [&model, &old]
            .map(|model| serde_json::to_string(&model.worker().annotate(text, Tokenization::Raw)).unwrap());
        assert_eq!(new, old);
    }
}

/// [`FORMAT_2`] with known values, written by the first program of format version 3; never made again.
const FORMAT_3: &[u8] = include_bytes!("models/format-3.meno");

#[test]
fn format_3_opens_for_ever_and_knows_values() {
    let model = load(FORMAT_3).unwrap();
    assert!(File::of(&model.to_bytes()).bytes() == File::of(FORMAT_3).bytes(), "other bytes");
    let shown = |model: &Model, text| {
        let annotation = model.worker().annotate(text, Tokenization::Raw);
        let span = |span: &meno::answer::Span<'_>| {
            format!("{} {}={}", span.text, span.slot, span.value.as_deref().unwrap_or("-"))
        };
        annotation.spans.iter().map(span).collect::<Vec<_>>().join(", ")
    };
    let plain = load(FORMAT_2).unwrap();
    for (text, without, with) in [
        ("weather in New York", "New York city=-", "New York city=New York City"),
        // Whatever slot a synonym without one stands in.
        ("weather in Rome", "Rome city=-", "Rome city=Roma"),
        ("play zorblax road now", "zorblax road unknown=-", "zorblax road album=-"),
    ] {
        assert_eq!(shown(&plain, text), without);
        assert_eq!(shown(&model, text), with);
    }
    // A program of version 2 would have passed them over.
    let old = load(&File::of(FORMAT_3).document(|d| d["format"] = json!(2)).bytes()).unwrap();
    assert!(old.known_values().is_empty());
    check(
        &File::of(FORMAT_3).document(|d| d["known_values"][1]["slot"] = json!("street")).bytes(),
        expect![[
            r#"m: damaged description of the model: the value "zorblax road" is of a slot "street" that it does not have"#
        ]],
    );
}

/// Made by `meno train` on [`corpus`] as train, with the settings of [`SPAN_TAGGER_1`], by a program of format version 4, which knows
/// how sure it is of a reading; never made again.
const FORMAT_4: &[u8] = include_bytes!("models/format-4.meno");

#[test]
fn format_4_opens_for_ever_and_knows_how_sure_it_is() {
    let model = load(FORMAT_4).unwrap();
    assert!(model.to_bytes() == FORMAT_4, "other bytes");
    for instructions in [Instructions::Portable, Instructions::Avx2, Instructions::Avx512] {
        let Some(mut worker) = model.worker_with(instructions) else { continue };
        for (text, slot, confidence, of_reading) in [
            ("weather in new york", "city", 0.9474, 0.9832),
            ("play zorblax road now", "unknown", 0.9117, 0.9547),
            ("put on thriller", "album", 0.9600, 0.9852),
        ] {
            let annotation = worker.annotate(text, Tokenization::Raw);
            let [span] = &annotation.spans[..] else { panic!("{text}: {:?}", annotation.spans) };
            assert_eq!(span.slot, slot, "{text}");
            assert_eq!(annotation.decision == Decision::Act, slot != "unknown", "{text}");
            for (found, expected) in [(span.confidence, confidence), (annotation.confidence, of_reading)] {
                let found = found.expect("format 4 has it");
                assert!((found - expected).abs() < 1e-3, "{text}: {found} for {expected}");
            }
        }
    }
}

#[test]
fn a_description_comes_back_and_is_checked() {
    let described = || {
        File::of(FORMAT_3).document(|d| {
        d["description"] = json!({
            "slots": {"city": {"say": "a city", "names": ["town"]}},
            "intents": {"play": {"say": "play music", "reply": ["Playing {album}."], "required": ["album"]}},
        });
    })
    };
    let model = load(&described().bytes()).unwrap();
    assert_eq!(model.description().slots["city"].say.as_deref(), Some("a city"));
    assert_eq!(load(&model.to_bytes()).unwrap().description(), model.description());
    assert!(load(FORMAT_3).unwrap().description().is_empty());
    for (path, value, expected) in [
        ("/description/slots", json!({"street": {}}), "the data has no slot `street`"),
        ("/description/intents", json!({"sing": {}}), "the data has no intent `sing`"),
        ("/description/slots/city/names/0", json!("a\u{1b}[1m"), "has a control character in it"),
        (
            "/description/slots/city/say",
            json!("x".repeat(1 << 16)),
            "bytes of description, and 65536 are the most",
        ),
        ("/description/intents/play/reply/0", json!("{street}"), "is no slot of the data"),
        ("/description/slots/city", json!({"resolve": "soon"}), "unknown variant `soon`"),
    ] {
        let damaged = described().document(|d| *d.pointer_mut(path).unwrap() = value.clone()).bytes();
        let error = load(&damaged).unwrap_err().to_string();
        assert!(error.contains("damaged description of the model") && error.contains(expected), "{error}");
    }
}

/// A decision depends on what the file says, not on what the program has.
#[test]
fn weights_of_scores_are_those_of_the_file() {
    let uncertainty = |change: &dyn Fn(&mut Value)| {
        let model = load(&File::of(FORMAT_2).document(change).bytes()).unwrap();
        let annotation = model.worker().annotate("play zorblax road now", Tokenization::Raw);
        annotation.spans[0].guess.as_ref().unwrap().uncertainty
    };
    let before = uncertainty(&|_| ());
    // The value is new to its slot, which weighs 6.
    let after = uncertainty(&|d| d["policy"]["scorer"]["new_value"] = json!(7.0));
    assert!((after - before - 1.0).abs() < 1e-5, "{before} {after}");
}

#[test]
fn damaged_policies() {
    for (name, change, expected) in [
        ("policy", (|d| d["policy"] = json!(null)) as fn(&mut Value), "missing field `policy`"),
        ("scorer", |d| d["policy"]["scorer"]["name"] = json!("concept.v9"), "unknown variant `concept.v9`"),
        ("weight", |d| d["policy"]["scorer"]["slot"] = json!("much"), "invalid type: string"),
        (
            "missing",
            |d| drop(d["policy"]["scorer"].as_object_mut().unwrap().remove("floor")),
            "missing field",
        ),
        ("floor", |d| d["policy"]["scorer"]["floor"] = json!(0.0), "a weight of a score"),
        ("scope", |d| d["policy"]["out_of_scope"]["name"] = json!("x"), "unknown variant `x`"),
        (
            "kind",
            |d| d["policy"]["scorer"] = json!({"name": "token.v1", "score": "entropy"}),
            "the score \"entropy\" is not for this architecture",
        ),
        ("value", |d| d["policy"]["threshold"]["value"] = json!(null), "invalid type: null"),
    ] {
        let found = load(&File::of(FORMAT_2).document(change).bytes()).err();
        let found = found.unwrap_or_else(|| panic!("{name}: nothing found")).to_string();
        assert!(found.contains(expected), "{name}: {found}");
    }
}

#[test]
fn damaged_span_taggers() {
    let damage = |change: &dyn Fn(&mut Value)| {
        load(&File::of(SPAN_TAGGER_1).document(change).bytes()).err().map(|error| error.to_string())
    };
    assert_eq!(damage(&|_| ()), None);
    let does_not_fit = "m: damaged description of the model: what is said of concepts does not fit";
    for (name, change, expected) in [
        ("concepts", (|d| d["concepts"] = json!(null)) as fn(&mut Value), "nothing on concepts"),
        ("layers", |d| d["shape"]["layers"] = json!(3), does_not_fit),
        ("characters", |d| d["shape"]["characters"] = json!(200), does_not_fit),
        ("vector", |d| d["shape"]["vector"] = json!(64), does_not_fit),
        ("vectors", |d| d["concepts"]["vectors"] = json!("klingon.v1"), "unknown word vectors"),
        ("alphabet", |d| d["concepts"]["alphabet"] = json!("aa"), "character \"a\" is listed twice"),
        ("lexicon", |d| d["concepts"]["lexicon"]["slot_words"] = json!([[1]]), does_not_fit),
        ("order", |d| d["concepts"]["lexicon"]["values"] = json!([2, 1]), does_not_fit),
        ("word", |d| d["concepts"]["lexicon"]["never_outside"] = json!([999_999]), does_not_fit),
        ("slots", |d| d["shape"]["slots"] = json!(u64::MAX), "labels stated"),
        ("labels", |d| d["id2label"]["1"] = json!("I-x"), "labels are not O and pairs of B- and I-"),
        ("score", |d| d["threshold"]["score"] = json!("entropy"), "a threshold of unknown kind"),
        ("filters", |d| d["shape"]["filters"] = json!(17), "filters width 17"),
        ("hidden", |d| d["shape"]["hidden"] = json!(32), "tensor"),
    ] {
        let found = damage(&change).unwrap_or_else(|| panic!("{name}: nothing found"));
        assert!(found.contains(expected), "{name}: {found}");
    }
}

#[test]
fn same_seed_gives_the_same_bytes() {
    let settings = TrainSettings { epochs: 2, ..settings() };
    assert!(train(&settings).to_bytes() == train(&settings).to_bytes());
    assert!(train(&settings).to_bytes() != train(&TrainSettings { seed: 2, ..settings }).to_bytes());
}

/// Labels must be these, probabilities within 1e-4: variants of the kernels round differently.
#[test]
fn format_1_opens_for_ever() {
    assert!(FORMAT_1.len() < 60 * 1024);
    let model = load(FORMAT_1).unwrap();
    for instructions in [Instructions::Portable, Instructions::Avx2, Instructions::Avx512] {
        let Some(mut worker) = model.worker_with(instructions) else { continue };
        for (text, (intent, probability), tokens) in RECORDED {
            let annotation = worker.annotate(text, Tokenization::Raw);
            let choice = annotation.intent.unwrap();
            assert_eq!(&*choice.name, intent);
            assert!((choice.probability - probability).abs() < 1e-4, "{text}: {}", choice.probability);
            let found: Vec<_> = annotation.tokens.iter().map(|token| (token.text, &*token.label)).collect();
            let labels: Vec<_> = tokens.iter().map(|&(text, label, _)| (text, label)).collect();
            assert_eq!(found, labels, "{instructions:?}");
            for (token, (_, _, probability)) in annotation.tokens.iter().zip(tokens) {
                assert!((token.probability - probability).abs() < 1e-4, "{text}: {token:?}");
            }
        }
    }
}

type Recorded = (&'static str, (&'static str, f32), &'static [(&'static str, &'static str, f32)]);

const RECORDED: [Recorded; 2] = [
    (
        "Play Abbey Road in Paris, please!",
        ("play", 0.912_147),
        &[
            ("Play", "O", 0.915_589),
            ("Abbey", "B-album", 0.561_089),
            ("Road", "I-album", 0.611_533),
            ("in", "O", 0.968_497),
            ("Paris", "B-city", 0.802_520),
            ("please", "O", 0.974_203),
        ],
    ),
    (
        "what's the weather in New York at 10?",
        ("weather", 0.999_937),
        &[
            ("what's", "O", 0.871_199),
            ("the", "O", 0.853_748),
            ("weather", "O", 0.994_933),
            ("in", "O", 0.994_297),
            ("New", "B-city", 0.864_206),
            ("York", "I-city", 0.696_091),
            ("at", "O", 0.880_559),
            ("10", "O", 0.811_827),
        ],
    ),
];

// --- broken files ----------------------------------------------------------------------------------------

/// A model file taken apart: its header and what follows.
struct File {
    header: Value,
    data: Vec<u8>,
}

impl File {
    fn new() -> Self {
        File::of(FORMAT_1)
    }

    fn of(bytes: &[u8]) -> Self {
        let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&bytes[8..8 + len]).unwrap();
        // Without its digest, so that what is wrong with a part is told and not that something is.
        File { header, data: bytes[8 + len..].to_vec() }.document(|document| {
            document.as_object_mut().unwrap().remove("digest");
        })
    }

    fn bytes(&self) -> Vec<u8> {
        let mut header = self.header.to_string();
        // The tensors begin at a multiple of eight.
        header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &self.data].concat()
    }

    /// The JSON document of the model, changed.
    fn document(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let text = self.header["__metadata__"]["meno"].as_str().unwrap();
        let mut document = serde_json::from_str(text).unwrap();
        change(&mut document);
        self.header["__metadata__"]["meno"] = document.to_string().into();
        self
    }

    fn header(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.header);
        self
    }
}

fn check(bytes: &[u8], expect: Expect) {
    let message = match load(bytes) {
        Ok(_) => "it loads".to_owned(),
        Err(error) => error.to_string(),
    };
    assert!(!message.contains('\n'), "one line: {message:?}");
    // The place in the JSON is of no interest here: it moves with the order of the fields.
    expect.assert_eq(message.split(" at line 1 column").next().unwrap_or_default());
}

fn check_document(change: impl FnOnce(&mut Value), expect: Expect) {
    check(&File::new().document(change).bytes(), expect);
}

fn check_header(change: impl FnOnce(&mut Value), expect: Expect) {
    check(&File::new().header(change).bytes(), expect);
}

#[test]
fn taken_apart_and_put_together_it_loads() {
    check(&File::new().bytes(), expect!["it loads"]);
    check_document(|_| (), expect!["it loads"]);
}

#[test]
fn other_files() {
    check(b"", expect!["m: not a meno model but an empty file"]);
    check(b"\xFF\xD8\xFF\xE0\0\x10JFIF\0\x01 and so on", expect!["m: not a meno model but a JPEG picture"]);
    check(b"\x89PNG\r\n\x1a\n", expect!["m: not a meno model but a PNG picture"]);
    check(b"PK\x03\x04 zip", expect!["m: not a meno model but a ZIP archive"]);
    check(b"\x1F\x8B gzip", expect!["m: not a meno model but a gzip archive"]);
    check(b"{\"format\": 1}", expect!["m: not a meno model but a JSON file"]);
    check(b"hello", expect!["m: not a meno model but some other file"]);
    check(&[0; 4096], expect!["m: not a meno model but some other file"]);
    check(&[0xFF; 4096], expect!["m: not a meno model but some other file"]);
    // A safetensors file of somebody else, without and with metadata.
    let tensor = br#"{"weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}     "#;
    check(
        &[&(tensor.len() as u64).to_le_bytes()[..], tensor, &[0; 4]].concat(),
        expect!["m: a safetensors file, but not one that meno wrote"],
    );
    let tensor = br#"{"__metadata__":{"format":"pt"},"weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}      "#;
    check(
        &[&(tensor.len() as u64).to_le_bytes()[..], tensor, &[0; 4]].concat(),
        expect!["m: a safetensors file, but not one that meno wrote"],
    );
}

#[test]
fn truncated() {
    let header = 8 + u64::from_le_bytes(FORMAT_1[..8].try_into().unwrap()) as usize;
    check(&FORMAT_1[..1], expect!["m: not a meno model but some other file"]);
    check(&FORMAT_1[..7], expect!["m: not a meno model but some other file"]);
    check(&FORMAT_1[..8], expect!["m: not a meno model but some other file"]);
    check(&FORMAT_1[..9], expect!["m: truncated or damaged model file"]);
    check(&FORMAT_1[..header / 2], expect!["m: truncated or damaged model file"]);
    check(&FORMAT_1[..header - 1], expect!["m: truncated or damaged model file"]);
    check(&FORMAT_1[..header], expect!["m: truncated or damaged model file"]);
    check(&FORMAT_1[..header + 1], expect!["m: truncated or damaged model file"]);
    check(&FORMAT_1[..FORMAT_1.len() - 1], expect!["m: truncated or damaged model file"]);
    check(&[FORMAT_1, &[0]].concat(), expect!["m: truncated or damaged model file"]);
    for len in (0..FORMAT_1.len()).step_by(997) {
        assert!(load(&FORMAT_1[..len]).is_err(), "cut to {len}");
    }
}

#[test]
fn header_length_lies() {
    let with_length = |len: u64| [&len.to_le_bytes(), &FORMAT_1[8..]].concat();
    check(&with_length(0), expect!["m: truncated or damaged model file"]);
    check(&with_length(1), expect!["m: truncated or damaged model file"]);
    check(&with_length(FORMAT_1.len() as u64), expect!["m: truncated or damaged model file"]);
    check(&with_length(99_999_999), expect!["m: truncated or damaged model file"]);
    check(&with_length(100_000_001), expect!["m: truncated or damaged model file"]);
    check(&with_length(u64::MAX / 2), expect!["m: truncated or damaged model file"]);
    check(&with_length(u64::MAX - 7), expect!["m: truncated or damaged model file"]);
    check(&with_length(u64::MAX), expect!["m: truncated or damaged model file"]);
}

#[test]
fn damaged_tensors() {
    check_header(
        |header| header["slot.weight"]["dtype"] = "F64".into(),
        expect!["m: truncated or damaged model file"],
    );
    check_header(
        |header| header["slot.weight"]["dtype"] = "I32".into(),
        expect![[r#"m: tensor "slot.weight" is I32 [64, 5], not F32 [64, 5]"#]],
    );
    check_header(
        |header| header["slot.weight"]["dtype"] = "F31".into(),
        expect!["m: truncated or damaged model file"],
    );
    check_header(
        |header| {
            let [a, b] = [0, 1].map(|i| header["slot.weight"]["shape"][i].clone());
            header["slot.weight"]["shape"] = json!([b, a]);
        },
        expect![[r#"m: tensor "slot.weight" is F32 [5, 64], not F32 [64, 5]"#]],
    );
    check_header(
        |header| header["slot.weight"]["shape"] = json!([1, 1, 0]),
        expect!["m: truncated or damaged model file"],
    );
    check_header(
        |header| header["slot.weight"]["shape"] = json!([u64::MAX, u64::MAX]),
        expect!["m: truncated or damaged model file"],
    );
    check_header(
        |header| header["slot.weight"]["data_offsets"] = json!([0, u64::MAX]),
        expect!["m: truncated or damaged model file"],
    );
    check_header(
        |header| header["slot.weight"]["data_offsets"] = json!([8, 4]),
        expect!["m: truncated or damaged model file"],
    );
    check_header(
        |header| {
            let tensor = header.as_object_mut().unwrap().remove("slot.weight").unwrap();
            header["slots.weight"] = tensor;
        },
        expect![[r#"m: tensor "slot.weight" is missing"#]],
    );
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e38, -1.1e6] {
        let mut file = File::new();
        file.data[..4].copy_from_slice(&value.to_le_bytes());
        let error = load(&file.bytes()).unwrap_err().to_string();
        assert_eq!(error, "m: tensor \"embedding\" holds a value that is not finite, or beyond 1000000");
    }
}

#[test]
fn damaged_documents() {
    check_header(
        |header| header["__metadata__"]["meno"] = "{\"format\":1,".into(),
        expect!["m: damaged description of the model: EOF while parsing a value"],
    );
    check_header(
        |header| header["__metadata__"]["meno"] = "[".repeat(100_000).into(),
        expect!["m: damaged description of the model: invalid type: sequence, expected u32"],
    );
    check_header(
        |header| header["__metadata__"]["meno"] = json!(1),
        expect!["m: truncated or damaged model file"],
    );
    check_document(
        |document| document["format"] = json!(0),
        expect!["m: damaged description of the model: there is no format version 0"],
    );
    check_document(
        |document| document["format"] = json!(5),
        expect!["m: format version 5, but this program reads up to version 4; update meno"],
    );
    check_document(
        |document| document["format"] = json!(u64::MAX),
        expect![
            "m: damaged description of the model: invalid value: integer `18446744073709551615`, expected u32"
        ],
    );
    check_document(
        |document| document["format"] = json!("1"),
        expect![[r#"m: damaged description of the model: invalid type: string "1", expected u32"#]],
    );
    check_document(
        |document| document["architecture"] = json!("slot_gated.v2\n"),
        expect![[
            r#"m: unknown architecture "slot_gated.v2\n"; this program has "slot_gated.v1", "span_tagger.v1", "span_tagger_int8.v1", "transformer.v1", "transformer_int8.v1", "onnx.v1""#
        ]],
    );
    check_document(
        |document| document["vocabulary"][1] = json!(1),
        expect!["m: damaged description of the model: invalid type: integer `1`, expected a string"],
    );
    check_document(
        |document| document["vocabulary"][2] = document["vocabulary"][1].clone(),
        expect![[r#"m: damaged description of the model: word "in" is listed twice"#]],
    );
    check_document(
        |document| document["id2label"]["1"] = document["id2label"]["0"].clone(),
        expect![[r#"m: damaged description of the model: label "O" is listed twice"#]],
    );
    check_document(
        |document| document["intents"][1] = document["intents"][0].clone(),
        expect![[r#"m: damaged description of the model: intent "play" is listed twice"#]],
    );
    check_document(
        |document| {
            let label = document["id2label"].as_object_mut().unwrap().remove("1").unwrap();
            document["id2label"]["77"] = label;
        },
        expect!["m: damaged description of the model: label ids are not 0, 1, 2, ..."],
    );
    check_document(
        |document| document["id2label"]["-1"] = json!("O"),
        expect!["m: damaged description of the model: invalid value: integer `-1`, expected u32"],
    );
    for field in ["format", "shape", "intents", "vocabulary", "text", "training", "id2label"] {
        let change = |document: &mut Value| drop(document.as_object_mut().unwrap().remove(field));
        let error = load(&File::new().document(change).bytes()).unwrap_err().to_string();
        let start = format!("m: damaged description of the model: missing field `{field}` at line 1");
        assert!(error.starts_with(&start), "{error}");
    }
    // What a later program may add without a new version.
    let file = File::new().document(|document| {
        document["thresholds"] = json!([0.5]);
        document["training"]["settings"]["warmup"] = json!(3);
        document["text"]["emoji"] = json!("keep");
    });
    check(&file.bytes(), expect!["it loads"]);
}

#[test]
fn damaged_shapes() {
    let shape =
        |field: &'static str, value: u64| move |document: &mut Value| document["shape"][field] = json!(value);
    check_document(
        shape("words", 0),
        expect!["m: damaged description of the model: 0 words stated, 19 listed"],
    );
    check_document(
        shape("words", 1_000_000_000_000),
        expect!["m: damaged description of the model: 1000000000000 words stated, 19 listed"],
    );
    check_document(
        shape("words", u64::MAX),
        expect!["m: damaged description of the model: 18446744073709551615 words stated, 19 listed"],
    );
    check_document(
        shape("labels", 4),
        expect!["m: damaged description of the model: 4 labels stated, 5 listed"],
    );
    check_document(
        shape("intents", 3),
        expect!["m: damaged description of the model: 3 intents stated, 2 listed"],
    );
    check_document(shape("embedding", 0), expect!["m: embedding width 0 is not a multiple of 16 up to 4096"]);
    check_document(
        shape("embedding", 17),
        expect!["m: embedding width 17 is not a multiple of 16 up to 4096"],
    );
    check_document(
        shape("embedding", 32),
        expect![[r#"m: tensor "lstm.input" is F32 [16, 128], not F32 [32, 128]"#]],
    );
    check_document(
        shape("embedding", 1_000_000_000_000),
        expect!["m: embedding width 1000000000000 is not a multiple of 16 up to 4096"],
    );
    check_document(shape("hidden", 0), expect!["m: hidden width 0 is not a multiple of 16 up to 4096"]);
    check_document(
        shape("hidden", 4096),
        expect![[r#"m: tensor "lstm.input" is F32 [16, 128], not F32 [16, 32768]"#]],
    );
    check_document(shape("hidden", 4112), expect!["m: hidden width 4112 is not a multiple of 16 up to 4096"]);
    check_document(
        shape("hidden", u64::MAX),
        expect!["m: hidden width 18446744073709551615 is not a multiple of 16 up to 4096"],
    );
    check_document(
        |document| document["shape"]["hidden"] = json!(-16),
        expect!["m: damaged description of the model: invalid value: integer `-16`, expected usize"],
    );
    check_document(
        |document| {
            document["shape"]["words"] = json!(0);
            document["vocabulary"] = json!([]);
        },
        expect!["m: damaged description of the model: 0 words stated, 0 listed"],
    );
    check_document(
        |document| {
            document["shape"]["labels"] = json!(0);
            document["id2label"] = json!({});
        },
        expect!["m: damaged description of the model: 0 labels stated, 0 listed"],
    );
}

#[test]
fn damaged_text_settings() {
    check_document(
        |document| document["text"] = json!(null),
        expect!["m: damaged description of the model: invalid type: null, expected struct Settings"],
    );
    check_document(
        |document| document["text"]["case"] = json!("sPoNgE"),
        expect![
            "m: damaged description of the model: unknown variant `sPoNgE`, expected one of `lower`, `upper`, `keep`"
        ],
    );
    check_document(
        |document| document["text"]["marks"]["ab"] = json!({}),
        expect![[r#"m: damaged description of the model: invalid value: string "ab", expected a character"#]],
    );
    check_document(
        |document| document["text"]["marks"]["!"] = json!({"edge": "beside"}),
        expect![
            "m: damaged description of the model: unknown variant `beside`, expected one of `attached`, `apart`, `dropped`, `joined`"
        ],
    );
    check_document(
        |document| document["text"]["kept"] = json!("st."),
        expect![[r#"m: damaged description of the model: invalid type: string "st.", expected a sequence"#]],
    );
    // Odd but possible.
    check_document(|document| document["text"]["kept"] = json!(["", " ", "\u{0}", "ẞ"]), expect!["it loads"]);
    check_document(|document| document["text"] = json!({}), expect!["it loads"]);
}

/// Whatever loads must also run, and answer with probabilities and other numbers.
fn run(model: &Model) {
    let mut worker = model.worker();
    for text in TEXTS {
        let annotation = worker.annotate(text, Tokenization::Raw);
        let json = serde_json::to_string(&annotation).unwrap();
        assert!(!json.replace(r#""intent":null"#, "").contains("null"), "{json}");
        for token in &annotation.tokens {
            assert!((0.0..=1.001).contains(&token.probability), "{token:?}");
        }
    }
}

/// The largest that are taken among them.
#[test]
fn weights_of_any_size_run() {
    for (model, value) in [FORMAT_1, SPAN_TAGGER_1, FORMAT_4]
        .into_iter()
        .flat_map(|model| [1e6, -1e6, 1e-45, -0.0].map(|value: f32| (model, value)))
    {
        let File { header, mut data } = File::of(model);
        let is_float = |tensor: &&Value| tensor["dtype"] == "F32";
        for tensor in header.as_object().unwrap().values().filter(is_float) {
            let [start, end] = [0, 1].map(|i| tensor["data_offsets"][i].as_u64().unwrap() as usize);
            for (i, bytes) in data[start..end].as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *bytes = if i % 3 == 0 { (-value).to_le_bytes() } else { value.to_le_bytes() };
            }
        }
        run(&load(&File { header, data }.bytes()).unwrap());
    }
}

/// Wherever a byte is another, the file is refused, or it says what it said.
#[test]
fn a_flipped_byte_is_noticed() {
    let whole = load(FORMAT_3).unwrap().to_bytes();
    assert!(load(&whole).unwrap().to_bytes() == whole);
    let mut loaded = 0;
    for at in (0..whole.len()).step_by(whole.len() / 1500 + 1).chain(0..400) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        if let Ok(model) = load(&bytes) {
            // The name of the digest itself, without which nothing is checked.
            assert!(model.to_bytes() == whole, "byte {at}");
            loaded += 1;
        }
    }
    assert!(loaded < 10, "{loaded}");
    let cut = &whole[..whole.len() - 1];
    assert!(load(cut).is_err());
    let mut other = whole.clone();
    *other.last_mut().unwrap() ^= 1;
    check(
        &other,
        expect!["m: it is damaged: its bytes are not those that were written (the digest is another)"],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: times(400, 5000) as u32, ..ProptestConfig::default() })]

    /// Flipped bytes, mostly in the header, where they can do harm, and cuts.
    #[test]
    fn flips_and_cuts_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..10), 1..8),
        cut in prop::option::weighted(0.3, any::<prop::sample::Index>()),
    ) {
        let header = 8 + u64::from_le_bytes(FORMAT_1[..8].try_into().unwrap()) as usize;
        let mut bytes = FORMAT_1.to_vec();
        for (index, byte, place) in flips {
            let within = if place == 0 { bytes.len() } else { header };
            let at = index.index(within);
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(model) = load(&bytes) {
            run(&model);
        }
    }
}
