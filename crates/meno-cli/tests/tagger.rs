//! The default tagger as it is typed: training, settings, answers, evaluation.

mod support;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use support::{meno, names, pipe, run, shown, tiny_dataset};
use tempfile::TempDir;

/// A folder with the dataset `data` and a model `m` that has learnt it.
fn trained() -> &'static Path {
    static DIR: OnceLock<TempDir> = OnceLock::new();
    let dir = DIR.get_or_init(|| {
        let dir = tiny_dataset();
        let args =
            "train data -o m --epochs 60 --rate 0.01 --dropout 0.1 --hidden 16 --embedding 16 --batch 8";
        let output = meno(dir.path(), args).output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        dir
    });
    dir.path()
}

fn tag(args: &str, text: &str) -> Value {
    let output = pipe(trained(), &format!("tag m --json {args}"), text.as_bytes());
    assert!(output.status.success(), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn it_learns_what_it_is_told() {
    let output = meno(trained(), "eval m data --json").output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["slot_f1"].as_f64() > Some(95.0), "{json}");
    assert!(json["intent_accuracy"].as_f64() > Some(95.0), "{json}");
    assert_eq!(json["unknown"]["score"], "concept");
}

#[test]
fn every_answer_has_a_decision_and_every_span_a_guess() {
    let answer = tag("", "wake me at six");
    assert_eq!(answer["spans"][0]["slot"], "time");
    assert_eq!(answer["spans"][0]["guess"]["slot"], "time");
    assert!(answer["spans"][0]["guess"]["probability"].as_f64() > Some(0.5), "{answer}");
    assert_eq!(answer["decision"], "act", "{answer}");

    // With a threshold below all uncertainties every concept is asked about, with the same boundaries and the same guess.
    let asked = tag("--threshold -99", "wake me at six");
    assert_eq!(asked["spans"][0]["slot"], "unknown");
    assert_eq!((&asked["decision"], &asked["about"]["span"]), (&"ask".into(), &0.into()), "{asked}");
    for key in ["guess", "start", "end", "text"] {
        assert_eq!(asked["spans"][0][key], answer["spans"][0][key], "{key}");
    }
    assert_eq!(asked["tokens"][3]["label"], "B-unknown");
    assert_eq!(asked["tokens"][3]["first_choice"], "B-time");
}

#[test]
fn adjacent_unknown_concepts_stay_two() {
    let answer = tag("--threshold -99", "weather in new york tomorrow");
    let texts: Vec<&str> =
        answer["spans"].as_array().unwrap().iter().map(|span| span["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["new york", "tomorrow"], "{answer}");
}

#[test]
fn odd_text_has_an_answer() {
    for text in ["\n", "?!\n", "zorblax\n", "日本語 ﬀ\n", &("word ".repeat(1200) + "\n")] {
        let answer = tag("", text);
        assert!(["act", "ask", "reject"].contains(&answer["decision"].as_str().unwrap()), "{answer}");
    }
}

#[test]
fn settings_are_printed_and_read() {
    let dir = tiny_dataset();
    let printed = meno(dir.path(), "train --print-config --epochs 2 --hidden 16").output().unwrap();
    assert!(printed.status.success(), "{}", shown(&printed));
    fs::write(dir.path().join("my.toml"), &printed.stdout).unwrap();
    let by_file = run(dir.path(), "train data -o a --config my.toml");
    assert!(by_file.starts_with("exit 0\n"), "{by_file}");
    let typed = run(dir.path(), "train data -o b --epochs 2 --hidden 16");
    assert!(typed.starts_with("exit 0\n"), "{typed}");
    let bytes = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert!(bytes("a") == bytes("b"));
    fs::write(dir.path().join("my.toml"), "epocs = 3\n").unwrap();
    let wrong = run(dir.path(), "train data -o c --config my.toml");
    assert!(wrong.contains("error: my.toml: there is no setting `epocs`\nhint: "), "{wrong}");
    assert_eq!(names(dir.path()), ["a", "b", "data", "my.toml"]);
}

/// An utterance with a new concept, in `data/new`.
fn add_new_concepts(dir: &Path) {
    let new = dir.join("data/new");
    fs::create_dir(&new).unwrap();
    for (name, text) in [
        ("seq.in", "play dark water by anna\n"),
        ("seq.out", "O B-unknown I-unknown O B-artist\n"),
        ("seq.true", "O B-song I-song O B-artist\n"),
        ("label", "play\n"),
    ] {
        fs::write(new.join(name), text).unwrap();
    }
}

#[test]
fn new_concepts_are_judged() {
    let dir = tiny_dataset();
    fs::copy(trained().join("m"), dir.path().join("m")).unwrap();
    add_new_concepts(dir.path());
    let output = meno(dir.path(), "eval m data --ood data/new --json").output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = &json["unknown"]["new_concepts"];
    assert_eq!(found["c"]["support"], 1, "{json}");
    assert!(found["questions"]["silent_errors"].is_f64() && found["limits"].is_f64(), "{json}");
    let table = run(dir.path(), "eval m data --ood data/new --budget 5");
    assert!(table.contains("silent errors") && table.contains("needless questions in"), "{table}");
    let wrong = run(dir.path(), "eval m data --score energy");
    assert!(
        wrong.contains("error: --score is a measure of words, but the model scores whole spans"),
        "{wrong}"
    );

    let args =
        "experiment concepts --data data --new new --seeds 1 --epochs 1 --hidden 16 --other data/new --out o";
    let table = run(dir.path(), args);
    assert_eq!(names(&dir.path().join("o")), ["README.md", "questions.png", "questions.svg", "runs.json"]);
    assert!(table.starts_with("exit 0\n| data | mean | deviation |\n"), "{table}");
    assert!(
        table.contains("| new concepts, strict F1 |") && table.contains("| data/new rejected, AUROC |"),
        "{table}"
    );
}

#[test]
fn parts_are_left_out_and_slots_held_out() {
    let dir = tiny_dataset();
    let train = "--seeds 1 --epochs 1 --hidden 16";
    let table = run(dir.path(), &format!("experiment novel-slots --data data --slots artist {train}"));
    assert!(table.contains("| held out |") && table.contains("\n| artist |"), "{table}");
    let wrong = run(dir.path(), "experiment novel-slots --data data");
    assert!(wrong.contains("has the slot `party_size_number`\nhint: "), "{wrong}");

    add_new_concepts(dir.path());
    let table = run(dir.path(), &format!("experiment ablation --data data --new new {train}"));
    assert!(table.contains("\n| everything |") && table.contains("\n| without characters |"), "{table}");
}

#[test]
fn a_promise_instead_of_a_budget() {
    let dir = tiny_dataset();
    let shown = run(dir.path(), "train data -o m --epochs 2 --hidden 16 --false-alarm 0.2 --json");
    assert!(shown.starts_with("exit 0\n"), "{shown}");
}

#[test]
fn a_corpus_without_slots_can_be_learnt() {
    let dir = tiny_dataset();
    for split in ["train", "valid", "test"] {
        let path = dir.path().join("data").join(split).join("seq.out");
        let labels = fs::read_to_string(&path).unwrap();
        let line = |line: &str| vec!["O"; line.split(' ').count()].join(" ") + "\n";
        fs::write(path, labels.lines().map(line).collect::<String>()).unwrap();
    }
    let shown = run(dir.path(), "train data -o m --epochs 1 --hidden 16");
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    let output = pipe(dir.path(), "tag m --json", b"wake me at six");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["spans"], Value::Array(Vec::new()));
}
