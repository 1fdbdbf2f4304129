//! `meno eval` as it is typed.

mod support;

use std::fs;

use expect_test::expect;
use support::{SCORES, folder, meno, refuses_a_full_disk, run, shown, tiny, tiny_dataset, trained};

#[test]
fn prints_a_table() {
    expect![[r#"
        exit 0
        data/test

        slot                precision  recall      f1  support
        time                   100.00  100.00  100.00        9
        city                   100.00  100.00  100.00        5
        song                   100.00  100.00  100.00        5
        artist                 100.00  100.00  100.00        4

        micro average          100.00  100.00  100.00       23
        macro average          100.00  100.00  100.00       23
        weighted average       100.00  100.00  100.00       23

        intent accuracy        100.00
        utterance accuracy     100.00
        token accuracy         100.00
        utterances                 20

        unknown above          entropy ~
        slot f1 with that      100.00, without 100.00
        ---
        data: taking its test split, data/test
    "#]]
    .assert_eq(&without_threshold(&run(trained(), "eval m data")));
}

/// Thresholds depend on the processor.
fn without_threshold(output: &str) -> String {
    let line = |line: &str| match line.split_once("entropy ") {
        Some((before, _)) if line.starts_with("unknown above") => format!("{before}entropy ~\n"),
        _ => format!("{line}\n"),
    };
    output.lines().map(line).collect()
}

/// A folder with [`trained`]'s model and data, and a set `new` with a new concept.
fn with_new_concepts() -> tempfile::TempDir {
    let dir = tiny_dataset();
    fs::copy(trained().join("m"), dir.path().join("m")).unwrap();
    let new = dir.path().join("data/new");
    fs::create_dir(&new).unwrap();
    for (name, text) in [
        ("seq.in", "weather in new york\nwake me at zorblax\n"),
        ("seq.out", "O O B-city I-city\nO O O B-unknown\n"),
        ("seq.true", "O O B-city I-city\nO O O B-time\n"),
        ("label", "weather\nalarm\n"),
    ] {
        fs::write(new.join(name), text).unwrap();
    }
    dir
}

#[test]
fn new_concepts_are_judged_by_any_score() {
    let dir = with_new_concepts();
    let json = |args: &str| -> serde_json::Value {
        let output = meno(dir.path(), &format!("eval m data --ood data/new --json {args}")).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)))
    };
    let never = json("--threshold 1e9");
    let unknown = &never["unknown"];
    assert_eq!((&unknown["score"], &unknown["slot_f1"]), (&"entropy".into(), &100.0.into()));
    assert_eq!(unknown["new_concepts"]["unknown_spans"], 0);
    let always = &json("--threshold=-1e9")["unknown"];
    assert_eq!(always["new_concepts"]["unknown_spans"], 2, "each utterance is one unknown span: {always}");
    assert_eq!((&always["slot_f1"], &always["slot_f1_before"]), (&0.0.into(), &100.0.into()));
    for &score in SCORES.iter().chain(&["dropout", "noise", "mahalanobis", "neighbours"]) {
        let evaluated = json(&format!("--score {score} --budget 0"));
        let unknown = &evaluated["unknown"];
        assert_eq!(unknown["score"], score);
        // Test is valid here.
        assert_eq!(unknown["slot_f1"], 100.0, "{score}: {unknown}");
        assert!(unknown["new_concepts"]["words"]["auroc"].is_f64(), "{score}: {unknown}");
        assert_eq!(unknown["new_concepts"]["c"]["support"], 1, "{score}: {unknown}");
    }
    let table = run(dir.path(), "eval m data --ood data/new");
    assert!(table.contains("new concepts        precision  recall      f1  support\n"), "{table}");
}

#[test]
fn splits_of_the_current_folder_are_found() {
    let dir = with_new_concepts();
    let elsewhere = run(dir.path(), "eval m data/test --score neighbours");
    let here = run(&dir.path().join("data"), "eval ../m test --score neighbours");
    assert!(elsewhere.starts_with("exit 0\n"), "{elsewhere}");
    assert_eq!(here, elsewhere.replace("data/test", "test"));
}

#[test]
fn refuses_what_has_no_new_concepts() {
    let dir = with_new_concepts();
    let output = run(dir.path(), "eval m data --ood data/valid");
    assert!(output.contains("no new concept in it"), "{output}");
    let output = run(dir.path(), "eval m data --ood data/new --score luck");
    assert!(output.starts_with("exit 2\n") && output.contains("error: `luck` is no score"), "{output}");
    fs::create_dir(dir.path().join("empty")).unwrap();
    let output = run(dir.path(), "eval m data --ood empty");
    assert!(output.starts_with("exit 2\n"), "{output}");
    fs::remove_dir_all(dir.path().join("data/valid")).unwrap();
    let output = run(dir.path(), "eval m data --score energy");
    assert!(output.starts_with("exit 2\n") && output.contains("valid"), "{output}");
}

#[test]
fn json_has_percentages() {
    let json = |args: &str| -> serde_json::Value {
        let output = meno(trained(), args).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)))
    };
    let one = json("eval m data/test --json");
    for key in [
        "slot_precision",
        "slot_recall",
        "slot_f1",
        "intent_accuracy",
        "utterance_accuracy",
        "token_accuracy",
    ] {
        assert_eq!(one[key], 100.0, "{key}");
    }
    assert_eq!((&one["path"], &one["utterances"]), (&"data/test".into(), &20.into()));
    assert_eq!(one["slots"]["city"]["support"], 5);
    assert_eq!(json("eval m data --json --strict --words"), one);

    let several = json("eval m data/test data/valid --json");
    assert_eq!(several[0], one);
    assert_eq!(several[1]["path"], "data/valid");
}

#[test]
fn refuses_what_is_not_there() {
    expect![[r#"
        exit 2
        ---
        error: no.model: there is no such file
        hint: a model is made by `meno train DIR -o MODEL`
    "#]]
    .assert_eq(&run(trained(), "eval no.model data"));
    expect![[r#"
        exit 2
        ---
        error: cannot read nowhere: No such file or directory (os error 2)
        hint: check the path; `meno data stats DIR` shows what is in a folder
    "#]]
    .assert_eq(&run(trained(), "eval m data/test nowhere"));
    let dir = folder(&[("set/train.conll", b"a O\n"), ("set/valid.conll", b"a O\n")]);
    fs::copy(trained().join("m"), dir.path().join("m")).unwrap();
    expect![[r#"
        exit 2
        ---
        error: set has no `test` split
        hint: name one of its splits: train, valid
    "#]]
    .assert_eq(&run(dir.path(), "eval m set"));
}

#[test]
fn refuses_files_that_are_no_models() {
    let model = fs::read(trained().join("m")).unwrap();
    let [_, _, (_, labels)] = tiny();
    let dir = folder(&[
        ("jpeg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x48"),
        ("empty", b""),
        ("text", labels.as_bytes()),
        ("header", &model[..100]),
        ("half", &model[..model.len() / 2]),
        ("short", &model[..model.len() - 1]),
    ]);
    let mut errors = String::new();
    for name in ["jpeg", "empty", "text", "header", "half", "short"] {
        let shown = run(dir.path(), &format!("eval {name} data"));
        let error = shown.strip_prefix("exit 2\n---\n").unwrap_or(&shown);
        errors += error.strip_suffix("hint: a model is made by `meno train DIR -o MODEL`\n").unwrap_or(error);
    }
    expect![[r#"
        error: jpeg: not a meno model but a JPEG picture
        error: empty: not a meno model but an empty file
        error: text: not a meno model but some other file
        error: header: truncated or damaged model file
        error: half: truncated or damaged model file
        error: short: truncated or damaged model file
    "#]]
    .assert_eq(&errors);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    refuses_a_full_disk("eval m data/test");
    // Nobody can be told, but nothing may go wrong for that.
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = meno(trained(), "eval m nowhere").stderr(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn without_confidence_there_is_no_curve() {
    let output = run(trained(), "eval m data --picture curve.svg");
    assert!(output.starts_with("exit 2\n"), "{output}");
    assert!(output.contains("there is no confidence to draw a curve by\nhint: "), "{output}");
}
