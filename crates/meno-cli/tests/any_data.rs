//! Datasets as people have them: one file, a Rasa project, no valid split.

mod support;

use support::{folder, meno, run};

/// A bot with 60 examples.
fn bot() -> String {
    let rooms = ["kitchen", "hall", "bath", "den", "attic"];
    let line = |verb: &str, room: &str| format!("    - {verb} the light in the [{room}](room)\n");
    let (mut on, mut off) = (String::new(), String::new());
    for room in rooms {
        for verb in ["turn on", "switch on", "please put on"] {
            on += &line(verb, room);
        }
        for verb in ["turn off", "switch off", "please put out"] {
            off += &line(verb, room);
        }
    }
    let greet =
        ["hello", "hi there", "good morning", "hey", "good evening"].map(|text| format!("    - {text}\n"));
    format!(
        "version: \"3.1\"\nnlu:\n- intent: on\n  examples: |\n{on}- intent: off\n  examples: |\n{off}- intent: greet\n  examples: |\n{}",
        greet.concat()
    )
}

const QUICK: &str = "--epochs 12 --hidden 16 --embedding 16 --threads 2";

#[test]
fn one_file_is_a_dataset_and_small_ones_are_cross_validated() {
    let bot = bot();
    let dir = folder(&[("nlu.yml", bot.as_bytes())]);
    let said = run(dir.path(), &format!("train nlu.yml {QUICK}"));
    assert!(said.starts_with("exit 0\n"), "{said}");
    assert!(said.contains("note: there is no valid split, and 35 utterances are too few"), "{said}");
    assert!(said.contains("\nfolds  slot F1"), "{said}");
    assert!(said.contains("epoch 12 of 72  loss"), "{said}");
    assert!(dir.path().join("nlu.meno").is_file());
    // The same seed gives the same bytes, for any number of threads.
    let again =
        run(dir.path(), &format!("train nlu.yml -o again.meno {}", QUICK.replace("threads 2", "threads 1")));
    assert!(again.starts_with("exit 0\n"), "{again}");
    let bytes = ["nlu.meno", "again.meno"].map(|name| std::fs::read(dir.path().join(name)).unwrap());
    assert!(bytes[0] == bytes[1]);
}

#[test]
fn a_rasa_project_is_a_dataset() {
    let bot = bot();
    let dir = folder(&[
        ("bot/domain.yml", b"version: \"3.1\"\nintents:\n- on\n- off\n"),
        ("bot/config.yml", b"language: en\npipeline:\n- name: WhitespaceTokenizer\n"),
        ("bot/data/stories.yml", b"stories:\n- story: hello\n  steps:\n  - intent: greet\n"),
        ("bot/data/nlu/lights.yml", bot.as_bytes()),
        (
            "bot/data/nlu/thanks.yml",
            b"nlu:\n- intent: thanks\n  examples: |\n    - thanks\n    - thank you\n",
        ),
        ("bot/tests/nlu.yml", b"nlu:\n- intent: greet\n  examples: |\n    - good day\n"),
    ]);
    let output = meno(dir.path(), "data stats bot --json").output().unwrap();
    let stats: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts: Vec<_> = stats[0]["splits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|split| (split["name"].as_str().unwrap().to_owned(), split["utterances"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [("train".to_owned(), 37), ("test".to_owned(), 1)]);
}

#[test]
fn a_corpus_is_split_and_a_valid_split_inside_train_is_refused() {
    let bot = bot();
    let dir = folder(&[("nlu.yml", bot.as_bytes())]);
    let said = run(dir.path(), "data split nlu.yml parts --valid 0.2 --test 0.2 --to conll");
    assert!(said.starts_with("exit 0\n") && said.contains("parts/valid.conll: 7 utterances"), "{said}");
    std::fs::copy(dir.path().join("parts/train.conll"), dir.path().join("parts/valid.conll")).unwrap();
    let said = run(dir.path(), &format!("train parts {QUICK}"));
    assert!(said.starts_with("exit 2\n"), "{said}");
    assert!(said.contains("every utterance of parts/valid.conll stands in parts/train.conll too"), "{said}");
    let said = run(dir.path(), "data split nlu.yml other --valid 0.6 --test 0.4");
    assert!(said.starts_with("exit 2\n") && !dir.path().join("other").exists(), "{said}");
}
