//! The default tagger as it is typed: training, settings, answers, evaluation.

mod support;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use support::{meno, names, pipe, run, shown, tiny_dataset, without_slots};
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
    assert!(wrong.contains("error: my.toml:1: there is no setting `epocs`\nhint: "), "{wrong}");
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
    assert_eq!(json["trust"]["new_concepts"]["utterances"], 1, "{json}");
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
    let dir = without_slots();
    let shown = run(dir.path(), "train data -o m --epochs 1 --hidden 16");
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    let output = pipe(dir.path(), "tag m --json", b"wake me at six");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["spans"], Value::Array(Vec::new()));
}

/// Utterances with their labels and intents, some of which no reading can be: the last two contradict the training set.
const MIXED: [(&str, &str, &str); 6] = [
    ("wake me at six", "O O O B-time", "alarm"),
    ("weather in new york tomorrow", "O O B-city I-city B-time", "weather"),
    ("how is the weather in rome", "O O O O O B-city", "weather"),
    ("play zorblax by quuxly", "O B-song O B-artist", "play"),
    ("will it rain in paris", "O O O O B-time", "weather"),
    ("weather please", "O O", "alarm"),
];

fn add_mixed(dir: &Path) {
    let mixed = dir.join("mixed");
    fs::create_dir(&mixed).unwrap();
    let column = |of: fn(&(&str, &str, &str)) -> String| MIXED.iter().map(of).collect::<String>();
    fs::write(mixed.join("seq.in"), column(|row| format!("{}\n", row.0))).unwrap();
    fs::write(mixed.join("seq.out"), column(|row| format!("{}\n", row.1))).unwrap();
    fs::write(mixed.join("label"), column(|row| format!("{}\n", row.2))).unwrap();
}

/// Whether an answer of `meno tag --json` has the labels and the intent of [`MIXED`].
fn is_right(answer: &Value, (_, labels, intent): &(&str, &str, &str)) -> bool {
    let tokens = answer["tokens"].as_array().unwrap();
    let found: Vec<&str> = tokens.iter().map(|token| token["first_choice"].as_str().unwrap()).collect();
    found.join(" ") == *labels && answer["intent"]["name"] == *intent
}

#[test]
fn what_is_trusted_is_counted() {
    let dir = tiny_dataset();
    fs::copy(trained().join("m"), dir.path().join("m")).unwrap();
    add_mixed(dir.path());
    let evaluated = |more: &str| -> Value {
        let output = meno(dir.path(), &format!("eval m mixed --json {more}")).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)))
    };
    for more in ["", "--threshold 99", "--threshold -99"] {
        let answers: Vec<Value> = MIXED.iter().map(|row| tag(&format!("--words {more}"), row.0)).collect();
        let rows: Vec<(&Value, bool)> =
            answers.iter().zip(&MIXED).map(|(answer, row)| (answer, is_right(answer, row))).collect();
        let count = |is: &dyn Fn(&str, bool) -> bool| {
            let rows = rows.iter().filter(|(answer, right)| is(answer["decision"].as_str().unwrap(), *right));
            rows.count() as f64
        };
        let (right, acts) = (count(&|_, right| right), count(&|decision, _| decision == "act"));
        let needless = count(&|decision, right| decision != "act" && right);
        let believed: f64 = answers.iter().map(|answer| answer["confidence"].as_f64().unwrap()).sum();
        let n_right = right as i32;
        let best: f64 = (n_right + 1..=6).map(|k| f64::from(k - n_right) / f64::from(k)).sum();
        let trust = &evaluated(more)["trust"];
        assert_eq!(trust["utterances"], 6);
        for (name, expected) in [
            ("wrong", (6.0 - right) / 6.0),
            ("acts", acts / 6.0),
            ("risk", count(&|decision, right| decision == "act" && !right) / acts.max(1.0)),
            ("asks", count(&|decision, _| decision == "ask") / 6.0),
            ("rejects", count(&|decision, _| decision == "reject") / 6.0),
            ("needless", needless / right),
            ("needless_questions", needless / (6.0 - acts).max(1.0)),
            ("believed", believed / 6.0),
            ("aurc_best", best / 6.0),
        ] {
            let found = trust[name].as_f64().unwrap();
            assert!((found - 100.0 * expected).abs() < 1e-4, "{more} {name}: {expected} {trust}");
        }
        let areas = ["aurc_best", "aurc"].map(|name| trust[name].as_f64().unwrap());
        assert!(areas[0] <= areas[1] + 1e-9, "{trust}");
        let wrong = trust["wrong"].as_f64().unwrap();
        assert!((33.3..100.0).contains(&wrong), "two contradict the training set: {trust}");
    }
    // A stated threshold decides alone: above all that is found nothing is asked about, however unsure the reading is.
    assert_eq!(evaluated("--threshold 99")["trust"]["asks"], 0.0);
    assert!(evaluated("")["trust"]["asks"].as_f64() > Some(0.0));
    let table = run(dir.path(), "eval m mixed");
    assert!(table.contains("\nacts from a confidence of 0.60\nread wrongly"), "{table}");
}

#[test]
fn the_experiment_writes_its_table_and_pictures() {
    let dir = tiny_dataset();
    let table = run(dir.path(), "experiment trust data --seeds 1 --epochs 2 --hidden 16 --out o");
    assert!(table.starts_with("exit 0\n| data | set | read wrongly |"), "{table}");
    assert_eq!(names(&dir.path().join("o")), ["README.md", "pictures", "results.json"]);
    assert_eq!(names(&dir.path().join("o/pictures")), ["data-test.png", "data-test.svg"]);
    let read = |name: &str| fs::read_to_string(dir.path().join("o").join(name)).unwrap();
    let text = read("README.md");
    assert!(
        text.starts_with("`meno experiment trust data") && text.contains("(pictures/data-test.svg)"),
        "{text}"
    );
    let rows: Value = serde_json::from_str(&read("results.json")).unwrap();
    assert_eq!((&rows[0]["set"], &rows[0]["utterances"]), (&"test".into(), &20.into()), "{rows}");
    fs::write(dir.path().join("file"), "").unwrap();
    let wrong = run(dir.path(), "experiment trust data --seeds 1 --epochs 2 --out file");
    assert!(wrong.starts_with("exit 2\n") && wrong.contains("file/pictures"), "{wrong}");
}

#[test]
fn the_curve_is_drawn() {
    let dir = tiny_dataset();
    fs::copy(trained().join("m"), dir.path().join("m")).unwrap();
    add_mixed(dir.path());
    for name in ["curve.svg", "curve.png"] {
        let output = run(dir.path(), &format!("eval m mixed --picture {name}"));
        assert!(output.starts_with("exit 0\n") && output.contains(&format!("{name}: risk")), "{output}");
    }
    let svg = fs::read_to_string(dir.path().join("curve.svg")).unwrap();
    for name in ["by confidence (AURC ", "best possible (AURC ", "what it does: acts on "] {
        assert!(svg.contains(name), "{name} in {svg}");
    }
    assert!(fs::read(dir.path().join("curve.png")).unwrap().starts_with(b"\x89PNG"));
    let wrong = run(dir.path(), "eval m mixed --picture curve.jpg");
    assert!(
        wrong.starts_with("exit 2\n") && wrong.contains("a picture is a .svg or a .png\nhint: "),
        "{wrong}"
    );
    let wrong = run(dir.path(), "eval m mixed data --picture curve.svg");
    assert!(wrong.starts_with("exit 2\n") && wrong.contains("--picture shows one set"), "{wrong}");
}
