//! The contract: what users see, byte for byte, as the JSON files beside this one have it.
//!
//! | file | what is recorded | recorded by |
//! |---|---|---|
//! | `format-1.json`, `span_tagger-1.json` | what two kept models make of texts | `-p meno` |
//! | `tagger.json`, `paper.json`, `plain.json` | the same of models trained on the spot, and the hash of their bytes | `-p meno` |
//! | `dialogues.json` | conversations, turn by turn | `-p meno-store` |
//! | `chat.json` | the same conversations in a terminal | `-p meno-cli` |
//! | `errors.json`, `outputs.json` | commands that fail, commands that do not | `-p meno-cli` |
//! | `requests.json` | requests over HTTP, most of them refused | `-p meno-server` |
//!
//! `tests/contract.rs` of each crate replays them: the engine, the store, the command, HTTP. What several of them answer is
//! recorded once; how the others differ stands in their code.
//!
//! `MENO_RECORD_CONTRACT=1 cargo test -p meno --test contract` records the files of a crate anew, one case a line; after
//! `meno` come `meno-store`, then the others, for each rests on the files of those before. To add a case, write it with
//! `"expected": null` and record. A changed contract is a commit of its own, which says why what users see has to change.
//!
//! The variants of the kernels for AVX2 and AVX-512 give the same bits, the portable one does not, and neither need other
//! systems' mathematical functions: there everything that rests on a model is left out, and that is said.

#![allow(dead_code, unused_macros, unused_imports)]

use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use meno::corpus::{Corpus, read_split};
use meno::decision::Policy;
use meno::engine::Instructions;
use meno::train::TrainSettings;
use meno::{Model, engine};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The files with annotations.
pub const ANNOTATED: [&str; 5] = ["format-1", "span_tagger-1", "tagger", "paper", "plain"];

/// When everything is said.
pub const NOW: &str = "2026-11-17T08:00:00+01:00";

// --- files -----------------------------------------------------------------------------------------------

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn path(name: &str) -> PathBuf {
    workspace().join("tests/contract").join(name).with_extension("json")
}

/// Reads a file of the contract.
pub fn read<T: DeserializeOwned>(name: &str) -> T {
    let text = fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}.json: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}.json: {error}"))
}

/// Whether the contract is to be recorded anew.
pub fn records() -> bool {
    std::env::var_os("MENO_RECORD_CONTRACT").is_some_and(|value| !value.is_empty())
}

/// Writes a file of the contract.
pub fn write(name: &str, text: &str) {
    fs::write(path(name), text).unwrap();
    say(format_args!("recorded anew: {}", path(name).display()));
}

/// JSON as it stands in the files.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// A list of JSON with one value a line.
pub fn list(values: impl IntoIterator<Item = String>) -> String {
    format!("[\n{}\n]", values.into_iter().collect::<Vec<_>>().join(",\n"))
}

/// Text that is JSON already.
pub fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// Not by `eprintln`, which the test harness keeps to itself.
pub fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// FNV-1a of 64 bits, and the length.
pub fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x} of {} bytes", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step), bytes.len())
}

/// Whether what models say here is what they said where it was recorded; says so if not.
pub fn is_comparable() -> bool {
    let why = if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        "this is another system than Linux on x86-64"
    } else if Instructions::best() == Instructions::Portable {
        "this processor has no AVX2, and portable kernels round differently"
    } else {
        return true;
    };
    say(format_args!("left out: the contract of models, because {why}"));
    false
}

/// A test of each file with annotations.
macro_rules! tests_of_models {
    ($replay:ident) => {
        contract::tests_of_models! {
            $replay: format_1 "format-1", span_tagger_1 "span_tagger-1", tagger "tagger", paper "paper", plain "plain"
        }
    };
    ($replay:ident: $($test:ident $file:literal),*) => {
        $(#[test]
        fn $test() {
            $replay($file);
        })*
    };
}
#[allow(unused_imports)]
pub(crate) use tests_of_models;

// --- comparing -------------------------------------------------------------------------------------------

/// What was compared, and what differs.
pub struct Ledger {
    file: String,
    n_checked: usize,
    problems: Vec<String>,
}

/// As many differences are shown.
const SHOWN: usize = 5;

impl Ledger {
    /// For a file of the contract.
    pub fn new(file: &str) -> Self {
        Ledger { file: file.to_owned(), n_checked: 0, problems: Vec::new() }
    }

    /// Compares what is recorded of a case with what is found now; a hash stands for what is long.
    pub fn check(&mut self, case: impl Display, recorded: &str, found: &str) {
        self.n_checked += 1;
        let hashed = json(&hash(found.as_bytes()));
        let is_hash = recorded.starts_with('"') && found.starts_with(['{', '[']);
        let shown = if is_hash { hashed.as_str() } else { found };
        if recorded != shown {
            let same = recorded.bytes().zip(shown.bytes()).take_while(|(a, b)| a == b).count();
            self.problems.push(format!(
                "tests/contract/{}.json, {case}: other bytes from {same} on\n  recorded: {recorded}\n  found:    {shown}",
                self.file
            ));
        }
    }

    /// Fails if anything differs.
    pub fn close(self) {
        let Ledger { file, n_checked, problems } = self;
        assert!(n_checked > 0, "tests/contract/{file}.json: nothing was compared");
        if !problems.is_empty() {
            let more = problems.len().saturating_sub(SHOWN);
            let shown = problems.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
            let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
            panic!("{} of {n_checked} differ\n{shown}{more}", problems.len());
        }
    }
}

/// The numbers that a clock or another thread gives become 0: `"created":1700000000000` is `"created":0`.
pub fn timeless(json: &str) -> String {
    ["created", "updated", "uses", "loaded"].iter().fold(json.to_owned(), |json, name| {
        let mark = format!("\"{name}\":");
        let mut pieces = json.split(mark.as_str());
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |json, piece| {
            let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{json}{mark}{}{rest}", if rest.len() < piece.len() { "0" } else { "" })
        })
    })
}

// --- models ----------------------------------------------------------------------------------------------

/// Where a model comes from.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Origin {
    /// It is kept in a file for ever.
    Kept {
        /// The file, as the workspace has it.
        file: String,
    },
    /// It is trained on a part of `data/concepts` ([`SPLITS`]).
    Trained {
        /// `tagger`, `paper` or `plain`.
        recipe: String,
        /// Passes over the data.
        epochs: usize,
        /// Utterances of a step.
        batch: usize,
        /// Learning rate.
        rate: f32,
        /// The hash of the model file.
        hash: String,
    },
}

/// The splits of `data/concepts` that are trained on and evaluated by: the small ones.
pub const SPLITS: [(&str, &str); 2] = [("train", "test"), ("valid", "valid")];

impl Origin {
    /// What `meno train` is to be told; `None` for a kept model.
    pub fn args(&self) -> Option<String> {
        let Origin::Trained { recipe, epochs, batch, rate, .. } = self else { return None };
        let recipe = match recipe.as_str() {
            "plain" => "paper --plain",
            recipe => recipe,
        };
        Some(format!("--recipe {recipe} --epochs {epochs} --batch {batch} --rate {rate}"))
    }

    /// The bytes of the model file: kept, or trained by the library as `meno train` does.
    pub fn bytes(&self) -> Vec<u8> {
        let (recipe, epochs, batch, rate) = match self {
            Origin::Kept { file } => return fs::read(workspace().join(file)).unwrap(),
            Origin::Trained { recipe, epochs, batch, rate, .. } => (recipe.as_str(), *epochs, *batch, *rate),
        };
        let base = match recipe {
            "tagger" => TrainSettings::default(),
            "paper" => TrainSettings::calibrated(),
            "plain" => TrainSettings::slot_gated(),
            other => panic!("there is no recipe {other}"),
        };
        let settings = TrainSettings { epochs, batch, rate, ..base };
        let [train, valid] = SPLITS.map(|(_, split)| concepts(split));
        meno::train(&train, &valid, &settings).unwrap().to_bytes()
    }

    /// The model, read from its bytes.
    pub fn model(&self) -> Model {
        Model::from_bytes(&self.bytes(), Path::new("contract")).unwrap()
    }
}

fn concepts(split: &str) -> Corpus {
    read_split(&workspace().join("data/concepts"), split).unwrap()
}

// --- annotations -----------------------------------------------------------------------------------------

/// What a model makes of texts.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Annotations {
    /// The model.
    pub model: Origin,
    /// The texts.
    pub annotations: Vec<Annotated>,
}

impl Annotations {
    /// Reads a file of [`ANNOTATED`].
    pub fn read(name: &str) -> Self {
        read(name)
    }

    /// Writes it, one case a line.
    pub fn write(&self, name: &str) {
        let cases = list(self.annotations.iter().map(json));
        write(name, &format!("{{\n\"model\": {},\n\"annotations\": {cases}\n}}\n", json(&self.model)));
    }

    /// The cases of each choice of settings, in the order of the file.
    pub fn by_settings(&self) -> Vec<(Unknown, Vec<(usize, &Annotated)>)> {
        let mut groups: Vec<(Unknown, Vec<(usize, &Annotated)>)> = Vec::new();
        for (idx, case) in self.annotations.iter().enumerate() {
            match groups.iter_mut().find(|(unknown, _)| *unknown == case.unknown()) {
                Some((_, cases)) => cases.push((idx, case)),
                None => groups.push((case.unknown(), vec![(idx, case)])),
            }
        }
        groups
    }
}

/// A text and what is made of it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Annotated {
    /// The text.
    pub text: Text,
    /// How it is cut into words.
    pub reading: Reading,
    /// Another threshold than that of the model.
    pub threshold: Option<Limit>,
    /// Another budget than that of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Whether unknown words do not grow to phrases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub single_words: bool,
    /// What `meno tag` prints, or its hash.
    pub expected: Box<RawValue>,
}

/// A text, or how to make one that is long.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Text {
    /// As it is.
    Plain(String),
    /// Its answer is recorded by its hash.
    Long {
        /// Some text.
        repeat: String,
        /// How many times.
        times: usize,
    },
}

/// How text is cut into words.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// As people type it.
    Text,
    /// Words between white space.
    Words,
}

/// A threshold in place of a model's own.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Limit {
    /// This one.
    Value(f64),
    /// None at all.
    Named(NoLimit),
}

/// No threshold.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NoLimit {
    /// Nothing is ever unknown.
    None,
}

impl Annotated {
    /// What is said of the unknown in place of what the model says.
    pub fn unknown(&self) -> Unknown {
        Unknown { threshold: self.threshold, budget: self.budget, single_words: self.single_words }
    }

    /// What names it in messages.
    pub fn name(&self, idx: usize) -> String {
        let Annotated { text, reading, .. } = self;
        format!("annotation {} ({text:?} as {reading:?}, {:?})", idx + 1, self.unknown())
    }

    /// An answer as it is recorded.
    pub fn recorded(&self, answer: &str) -> Box<RawValue> {
        match &self.text {
            Text::Plain(_) => raw(answer),
            Text::Long { .. } => raw(&json(&hash(answer.as_bytes()))),
        }
    }
}

impl Text {
    /// The text itself.
    pub fn whole(&self) -> String {
        match self {
            Text::Plain(text) => text.clone(),
            Text::Long { repeat, times } => repeat.repeat(*times),
        }
    }
}

impl Reading {
    /// As the engine calls it.
    pub fn of_engine(self) -> engine::Tokenization {
        match self {
            Reading::Text => engine::Tokenization::Raw,
            Reading::Words => engine::Tokenization::Pretokenized,
        }
    }
}

/// What is said of the unknown in place of what a model says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unknown {
    /// Another threshold.
    pub threshold: Option<Limit>,
    /// Another budget.
    pub budget: Option<f64>,
    /// Whether unknown words do not grow to phrases.
    pub single_words: bool,
}

impl Unknown {
    /// Whether a command can be told so: that nothing is ever unknown cannot be typed.
    pub fn has_args(self) -> bool {
        self.threshold != Some(Limit::Named(NoLimit::None))
    }

    /// As it is typed.
    pub fn args(self) -> Vec<String> {
        let mut args = Vec::new();
        if let Some(Limit::Value(value)) = self.threshold {
            args.push(format!("--threshold={value}"));
        }
        args.extend(self.budget.map(|budget| format!("--budget={budget}")));
        args.extend(self.single_words.then(|| "--single-words".to_owned()));
        args
    }

    /// A model that was told so.
    pub fn apply(self, model: Model) -> Model {
        let own = model.policy();
        let policy = match (self.threshold, self.budget, &own.threshold) {
            (Some(Limit::Named(NoLimit::None)), ..) => Policy { threshold: None, ..own.clone() },
            (Some(Limit::Value(value)), ..) => own.with_threshold(value).unwrap(),
            (None, Some(budget), Some(stored)) => own.by_stated(stored.for_budget(budget).unwrap()),
            (None, ..) => own.clone(),
        };
        let growth = policy.growth.filter(|_| !self.single_words);
        model.with_policy(Policy { growth, ..policy })
    }
}

// --- dialogues -------------------------------------------------------------------------------------------

/// All conversations.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialogues {
    /// One after the other; each begins with an empty memory.
    pub dialogues: Vec<Dialogue>,
}

/// A conversation.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dialogue {
    /// What it shows.
    pub title: String,
    /// The file of [`ANNOTATED`] that has its model.
    pub model: String,
    /// Another threshold than that of the model.
    pub threshold: Option<f64>,
    /// Who talks, if it is not everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Whether misspellings are forgiven.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub misspellings: bool,
    /// The file of another phrasebook, as the workspace has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phrases: Option<String>,
    /// What is taught before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taught: Vec<Lesson>,
    /// The turns, which are written one a line.
    #[serde(skip_serializing)]
    pub turns: Vec<Turn>,
}

/// A concept.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// The words.
    pub phrase: String,
    /// The slot.
    pub slot: String,
    /// What they stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A turn: what is said, or that the last change of memory is taken back if there is nothing.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// What is said; `null` is to undo.
    pub say: Option<String>,
    /// What is answered, as [`Taken::shortened`] has it, or `{"changes"}`.
    pub expected: Box<RawValue>,
}

/// What HTTP answers to a turn, without the name of the session.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Taken<'a> {
    /// What is said in return.
    #[serde(borrow)]
    pub reply: &'a RawValue,
    /// What a model and memory made of the text.
    #[serde(borrow)]
    pub annotation: &'a RawValue,
    /// The numbers of the concepts that were learnt.
    pub concepts: Vec<u64>,
}

/// The end of an annotation in which memory had no part.
pub const NOTHING_REMEMBERED: &str = r#","memory":[]}"#;

impl Taken<'_> {
    /// As it is recorded: an annotation in which memory had no part by its hash, for there are enough of those.
    pub fn shortened(&self) -> String {
        let annotation = self.annotation.get();
        let hash = raw(&json(&hash(annotation.as_bytes())));
        let annotation = if annotation.ends_with(NOTHING_REMEMBERED) { &*hash } else { self.annotation };
        json(&Taken { reply: self.reply, annotation, concepts: self.concepts.clone() })
    }
}

impl Dialogues {
    /// Reads them.
    pub fn read() -> Self {
        read("dialogues")
    }

    /// Writes them, one turn a line.
    pub fn write(&self) {
        let dialogue = |dialogue: &Dialogue| {
            let (head, turns) = (json(dialogue), list(dialogue.turns.iter().map(json)));
            format!("{},\"turns\":{turns}}}", head.strip_suffix('}').unwrap())
        };
        write("dialogues", &format!("{{\"dialogues\": {}}}\n", list(self.dialogues.iter().map(dialogue))));
    }
}

impl Dialogue {
    /// What is said of the unknown.
    pub fn unknown(&self) -> Unknown {
        Unknown { threshold: self.threshold.map(Limit::Value), ..Unknown::default() }
    }

    /// What names a turn in messages.
    pub fn name(&self, idx: usize) -> String {
        format!("`{}`, turn {} ({:?})", self.title, idx + 1, self.turns[idx].say)
    }
}
