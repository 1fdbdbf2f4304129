//! `meno logits` as it is typed, on files that NumPy and safetensors wrote (`scripts/goldens/logits_goldens.py`) and on
//! lines of JSON.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use serde_json::Value;
use support::{SCORES, folder, meno, names, run, shown};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../meno/tests/goldens/logits").join(name)
}

/// A tagger that is right about everything, surest of `rome` and least sure of `to`.
const VALID: &str = r#"{"label_names": ["O", "B-city", "I-city"]}
{"tokens": ["fly", "to", "new", "york"], "logits": [[5, 0, 0], [3, 0, 0], [0, 6, 0], [0, 0, 4]], "labels": ["O", "O", "B-city", "I-city"]}
{"tokens": ["rome"], "logits": [[0, 9, 0]], "labels": ["B-city"]}
{"tokens": [], "logits": [], "labels": []}
"#;

/// The words `snuggle barn` are new to it.
const NEW: &str = r#"{"tokens": ["fly", "to", "snuggle", "barn"], "logits": [[5, 0, 0], [4, 0, 0], [1, 1.5, 0], [0.5, 0, 1]]}
{"tokens": [], "logits": []}
{"tokens": ["rome"], "logits": [[0, 9, 0]]}
"#;

#[test]
fn finds_unknown_words() {
    let dir = folder(&[("valid.jsonl", VALID.as_bytes()), ("new.jsonl", NEW.as_bytes())]);
    expect![[r#"
        exit 0
        ---
        temperature 1.0000; a word is unknown if its uncertainty (confidence) is over -0.909443
        slot F1 on 3 utterances: 100.00 before, 100.00 after, within a budget of 1; written to cal.json
    "#]]
    .assert_eq(&run(dir.path(), "logits fit valid.jsonl -o cal.json --score confidence"));
    expect![[r#"
        {
          "format": "meno-logits",
          "version": 1,
          "input": "logits",
          "labels": [
            "O",
            "B-city",
            "I-city"
          ],
          "temperature": 1.0,
          "scale": 1.0,
          "threshold": {
            "score": "confidence",
            "value": -0.9094429985127419,
            "budget": 1.0,
            "f1_before": 100.0,
            "f1_after": 100.0,
            "median": -0.986703291042268,
            "offers": [
              {
                "value": -0.9094429985127419,
                "f1": 100.0
              }
            ]
          }
        }
    "#]]
    .assert_eq(&fs::read_to_string(dir.path().join("cal.json")).unwrap());
    expect![[r#"
        exit 0
        {"text":"fly to snuggle barn","intent":null,"decision":"ask","about":{"span":0,"start":7,"end":19,"options":[{"name":"city","probability":0.68065256}]},"tokens":[{"text":"fly","start":0,"end":3,"label":"O","probability":0.9867033,"first_choice":"O","uncertainty":-0.986703291042268,"unknown":false,"reason":{"score":"confidence","threshold":-0.9094429985127419,"runners_up":[{"label":"B-city","probability":0.0066483547},{"label":"I-city","probability":0.0066483547}]}},{"text":"to","start":4,"end":6,"label":"O","probability":0.96466315,"first_choice":"O","uncertainty":-0.9646631559719038,"unknown":false,"reason":{"score":"confidence","threshold":-0.9094429985127419,"runners_up":[{"label":"B-city","probability":0.017668422},{"label":"I-city","probability":0.017668422}]}},{"text":"snuggle","start":7,"end":14,"label":"B-unknown","probability":0.5465494,"first_choice":"B-city","uncertainty":-0.5465493872661796,"unknown":true,"reason":{"score":"confidence","threshold":-0.9094429985127419,"runners_up":[{"label":"O","probability":0.33149895},{"label":"I-city","probability":0.121951655}]}},{"text":"barn","start":15,"end":19,"label":"I-unknown","probability":0.5064804,"first_choice":"I-city","uncertainty":-0.506480391055654,"unknown":true,"reason":{"score":"confidence","threshold":-0.9094429985127419,"runners_up":[{"label":"O","probability":0.30719587},{"label":"B-city","probability":0.18632372}]}}],"spans":[{"slot":"unknown","text":"snuggle barn","start":7,"end":19}]}
        {"text":"","intent":null,"decision":"act","tokens":[],"spans":[]}
        {"text":"rome","intent":null,"decision":"act","tokens":[{"text":"rome","start":0,"end":4,"label":"B-city","probability":0.99975324,"first_choice":"B-city","uncertainty":-0.9997532412967132,"unknown":false,"reason":{"score":"confidence","threshold":-0.9094429985127419,"runners_up":[{"label":"O","probability":0.00012337934},{"label":"I-city","probability":0.00012337934}]}}],"spans":[{"slot":"city","text":"rome","start":0,"end":4}]}
        ---
    "#]].assert_eq(&run(dir.path(), "logits tag cal.json new.jsonl"));
    expect![[r#"
        exit 0
        fly to ~[2m[~[0m~[1;31msnuggle barn~[0m~[2m|unknown]~[0m

        ~[2m[~[0m~[1;36mrome~[0m~[2m|city]~[0m
        ---
    "#]]
    .assert_eq(&run(dir.path(), "--color always logits tag cal.json new.jsonl").replace('\x1b', "~"));
    let forced = run(dir.path(), "--color always logits tag cal.json new.jsonl --json");
    assert_eq!(forced, run(dir.path(), "logits tag cal.json new.jsonl"));
}

#[test]
fn every_format_gives_the_same_calibration_and_answers() {
    let dir = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for (name, fit, tag) in [
        ("plain.jsonl", "", ""),
        ("plain.npz", "", ""),
        ("packed.npz", "", ""),
        ("plain.safetensors", "--corpus corpus", "--words corpus/seq.in"),
        ("bare.safetensors", "--corpus corpus --labels label_names.txt", "--words corpus/seq.in"),
    ] {
        let calibration = dir.path().join(name);
        let path = calibration.display();
        let args = format!("logits fit {name} {fit} -o {path} --score energy --temperature fit --budget 0");
        let output = meno(&golden(""), &args).output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        let answers = run(&golden(""), &format!("logits tag {path} {name} {tag}"));
        found.push((fs::read_to_string(&calibration).unwrap(), answers));
    }
    assert!(found.iter().all(|one| *one == found[0]), "{found:#?}");
    assert!(found[0].1.starts_with("exit 0\n{\"text\":\"to café élan\""), "{}", found[0].1);
}

/// What `meno logits` says inside a folder with these files if it fails; standard output stays empty.
fn check(files: &[(&str, &str)], args: &str, expected: &Expect) {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let dir = folder(&files);
    let before = names(dir.path());
    let shown = run(dir.path(), &format!("logits {args}"));
    expected.assert_eq(shown.strip_prefix("exit 2\n---\n").unwrap_or(&shown));
    assert_eq!(names(dir.path()), before, "nothing is written");
}

fn check_golden(args: &str, expected: &Expect) {
    let dir = tempfile::tempdir().unwrap();
    let shown = run(&golden(""), &format!("logits fit {args} -o {}", dir.path().join("cal.json").display()));
    expected.assert_eq(shown.strip_prefix("exit 2\n---\n").unwrap_or(&shown));
    assert!(names(dir.path()).is_empty(), "nothing is written");
}

#[test]
fn numbers_that_are_none_are_refused() {
    check_golden(
        "nan.npz",
        &expect![[r#"
        error: nan.npz: utterance 3: word 1: logit 2 is NaN, not a finite number
        hint: logits are finite numbers, one for each label
    "#]],
    );
    check_golden(
        "inf.npz",
        &expect![[r#"
        error: inf.npz: utterance 3: word 1: logit 2 is inf, not a finite number
        hint: logits are finite numbers, one for each label
    "#]],
    );
    let beside = "--corpus corpus --labels label_names.txt";
    check_golden(
        &format!("nan.safetensors {beside}"),
        &expect![[r#"
        error: nan.safetensors: utterance 3: word 1: logit 2 is NaN, not a finite number
        hint: logits are finite numbers, one for each label
    "#]],
    );
    check_golden(
        &format!("inf.safetensors {beside}"),
        &expect![[r#"
        error: inf.safetensors: utterance 3: word 1: logit 2 is inf, not a finite number
        hint: logits are finite numbers, one for each label
    "#]],
    );
    for (value, expected) in [
        (
            "NaN",
            expect![[r#"
            error: v.jsonl:3: expected value, at column 37
            hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity
        "#]],
        ),
        (
            "-Infinity",
            expect![[r#"
            error: v.jsonl:3: invalid number, at column 38
            hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity
        "#]],
        ),
        (
            "1e39",
            expect![[r#"
            error: v.jsonl:3: number out of range, at column 40
            hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity
        "#]],
        ),
        (
            "null",
            expect![[r#"
            error: v.jsonl:3: invalid type: null, expected f32, at column 40
            hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity
        "#]],
        ),
    ] {
        check(&[("v.jsonl", &VALID.replace('9', value))], "fit v.jsonl -o cal.json", &expected);
    }
    check(
        &[("v.jsonl", VALID)],
        "fit v.jsonl -o cal.json --probabilities",
        &expect![[r#"
        error: v.jsonl:2: word 1: probability 1 is 5
        hint: the probabilities of a word are from 0 to 1 and add up to 1
    "#]],
    );
}

#[test]
fn one_label_is_refused() {
    check_golden(
        "one_label.npz",
        &expect![[r#"
        error: one_label.npz: a word has one logit only; with fewer than two labels there is nothing to be unsure of
        hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order
    "#]],
    );
    check_golden(
        "no_labels.npz --labels label_names.txt",
        &expect![[r#"
        error: no_labels.npz: a word has no logits; with fewer than two labels there is nothing to be unsure of
        hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order
    "#]],
    );
    let one = r#"{"tokens": ["a"], "logits": [[1]], "labels": ["O"]}"#;
    check(
        &[("v.jsonl", one)],
        "fit v.jsonl -o cal.json",
        &expect![[r#"
        error: v.jsonl:1: a word has one logit only; with fewer than two labels there is nothing to be unsure of
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity
    "#]],
    );
}

#[test]
fn other_types_are_refused() {
    check_golden(
        "half.npz",
        &expect![[r#"
        error: half.npz: the array `logits`: the type `<f2` is not read
        hint: docs/logits.md says what is read; numpy.savez and safetensors write it
    "#]],
    );
}

#[test]
fn labels_that_the_tagger_lacks_count_as_missed() {
    let dir = folder(&[(
        "v.jsonl",
        VALID.replace("\"labels\": [\"B-city\"]", "\"labels\": [\"B-band\"]").as_bytes(),
    )]);
    expect![[r#"
        exit 0
        ---
        1 gold label that the tagger does not have, counted as missed: B-band
        temperature 0.0100; a word is unknown if its uncertainty (entropy-plus-one) is over -596.845569
        slot F1 on 3 utterances: 50.00 before, 50.00 after, within a budget of 1; written to cal.json
    "#]]
    .assert_eq(&run(dir.path(), "logits fit v.jsonl -o cal.json --temperature fit"));
    // With none of the gold labels there is no temperature that makes them likely.
    let others = VALID.replace(
        "\"labels\": [\"O\", \"O\", \"B-city\", \"I-city\"]",
        "\"labels\": [\"B-a\", \"B-a\", \"B-a\", \"B-a\"]",
    );
    let others = others.replace("\"labels\": [\"B-city\"]", "\"labels\": [\"B-a\"]");
    check(
        &[("v.jsonl", &others)],
        "fit v.jsonl -o cal.json --temperature fit",
        &expect![[r#"
        1 gold label that the tagger does not have, counted as missed: B-a
        error: v.jsonl: no word has a gold label that the tagger knows
        hint: the gold labels must be among the label names
    "#]],
    );
    // A number that counts past the labels is a mistake.
    let past = VALID.replace("\"labels\": [\"B-city\"]", "\"labels\": [3]");
    check(
        &[("v.jsonl", &past)],
        "fit v.jsonl -o cal.json",
        &expect![[r#"
        error: v.jsonl:3: word 1: there is no label 3
        hint: labels are counted from 0; there are 3
    "#]],
    );
    check(
        &[("v.jsonl", VALID), ("names.txt", "O\nB-city\nI-town\n")],
        "fit v.jsonl --labels names.txt -o cal.json",
        &expect![[r#"
            error: v.jsonl: label 3 is `I-city`, not `I-town` as stated
            hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order
        "#]],
    );
}

#[test]
fn a_valid_set_must_have_slots_and_no_new_concept() {
    let line = r#"{"tokens": ["a"], "logits": [[1, 2]], "labels": ["O"]}"#;
    let names = r#"{"label_names": ["O", "B-x"]}"#;
    let fit =
        |text: &str, expected: &Expect| check(&[("v.jsonl", text)], "fit v.jsonl -o cal.json", expected);
    fit(
        &format!("{names}\n{line}"),
        &expect![[r#"
        error: v.jsonl: none of the 1 utterances to choose a threshold on has a slot
        hint: take labelled in-domain utterances that were not trained on
    "#]],
    );
    fit(
        names,
        &expect![[r#"
        error: v.jsonl: there is no utterance to choose a threshold on
        hint: take labelled in-domain utterances that were not trained on
    "#]],
    );
    fit(
        "",
        &expect![[r#"
        error: v.jsonl: there are no label names in it
        hint: say `--labels FILE` with a label on each line, in the order of the logits
    "#]],
    );
    fit(
        &format!("{names}\n{}", line.replace("\"O\"]}", "\"B-unknown\"]}")),
        &expect![[r#"
        1 gold label that the tagger does not have, counted as missed: B-unknown
        error: v.jsonl: utterance 1 to choose a threshold on has a new concept
        hint: the threshold is chosen on in-domain data alone, which has no slot `unknown`
    "#]],
    );
    fit(
        &format!("{names}\n{}", line.replace(", \"labels\": [\"O\"]", "")),
        &expect![[r#"
        error: v.jsonl: there are no gold labels in it
        hint: put `labels` into the file, or say `--corpus DIR`
    "#]],
    );
}

#[test]
fn budgets_that_cannot_be_met_are_refused() {
    let fit = |args: &str, expected: &Expect| {
        check(&[("v.jsonl", VALID)], &format!("fit v.jsonl -o cal.json {args}"), expected);
    };
    fit(
        "--budget -1",
        &expect![[r#"
        error: v.jsonl: no threshold meets the budget -1: it would have to raise F1 above 100.00
        hint: a budget of 0 or more is always met
    "#]],
    );
    fit(
        "--budget nan",
        &expect![[r#"
        error: v.jsonl: a budget of NaN
        hint: a budget is a number of points of F1, such as 1.0
    "#]],
    );
    fit(
        "--budget inf",
        &expect![[r#"
        error: v.jsonl: a budget of inf
        hint: a budget is a number of points of F1, such as 1.0
    "#]],
    );
    fit(
        "--scale 0",
        &expect![[r#"
        error: a scale of 0.0
        hint: a scale is a number above 0; 1 changes nothing
    "#]],
    );
    fit(
        "--scale nan",
        &expect![[r#"
        error: a scale of NaN
        hint: a scale is a number above 0; 1 changes nothing
    "#]],
    );
    fit(
        "--temperature 1e-300",
        &expect![[r#"
        error: a temperature of 1e-300
        hint: a temperature is a number from 0.01 to 100; 1 changes nothing
    "#]],
    );
    fit(
        "--temperature NaN",
        &expect![[r#"
        error: a temperature of NaN
        hint: a temperature is a number from 0.01 to 100; 1 changes nothing
    "#]],
    );
    fit(
        "--temperature warm",
        &expect![[r#"
        error: invalid value 'warm' for '--temperature <fit|T>': a temperature is `fit` or a number from 0.01 to 100

        For more information, try '--help'.
    "#]],
    );
    fit(
        "--score guess",
        &expect![[r#"
        error: `guess` is no score
        hint: the scores are confidence, entropy, entropy-plus-one, top-variance, softmax-entropy, max-logit, energy, mutual-information
    "#]],
    );
}

#[test]
fn a_budget_above_the_f1_makes_every_word_unknown() {
    let dir = folder(&[("valid.jsonl", VALID.as_bytes()), ("new.jsonl", NEW.as_bytes())]);
    expect![[r#"
        exit 0
        ---
        temperature 1.0000; every word is unknown, since the budget is not below the F1
        slot F1 on 3 utterances: 100.00 before, 0.00 after, within a budget of 100; written to cal.json
    "#]]
    .assert_eq(&run(dir.path(), "logits fit valid.jsonl -o cal.json --budget 100"));
    let answers = answers(dir.path(), "logits tag cal.json new.jsonl");
    assert!(answers.iter().flat_map(tokens).all(|token| token["unknown"] == true), "{answers:?}");
}

fn answers(dir: &Path, args: &str) -> Vec<Value> {
    let output = meno(dir, args).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn tokens(answer: &Value) -> &[Value] {
    answer["tokens"].as_array().unwrap()
}

/// Logits of ±690 are concentrations of 1e±300.
const EXTREME: &str = r#"{"label_names": ["O", "B-x"]}
{"tokens": ["a", "b", "c"], "logits": [[690, 690], [-690, 690], [-690, -690]], "labels": ["O", "B-x", "O"]}
{"tokens": ["d", "e"], "logits": [[3.4e38, -3.4e38], [-3.4e38, -3.4e38]], "labels": ["O", "O"]}
"#;

#[test]
fn extreme_logits_have_finite_answers() {
    let dir = folder(&[("v.jsonl", EXTREME.as_bytes())]);
    for score in SCORES {
        for setting in [
            "",
            "--temperature 0.01",
            "--temperature 100",
            "--temperature fit",
            "--scale 1e300",
            "--scale 1e-300",
        ] {
            let fit = format!("logits fit v.jsonl -o cal.json --score {score} {setting}");
            let output = meno(dir.path(), &fit).output().unwrap();
            assert!(output.status.success(), "{fit}: {}", shown(&output));
            let answers = answers(dir.path(), "logits tag cal.json v.jsonl");
            for token in answers.iter().flat_map(tokens) {
                // JSON has neither NaN nor infinity: they would be null here.
                let numbers = [&token["uncertainty"], &token["probability"], &token["reason"]["threshold"]];
                assert!(numbers.iter().all(|number| number.is_f64()), "{fit}: {token}");
            }
            let first_choices =
                answers.iter().flat_map(tokens).map(|token| token["first_choice"].as_str().unwrap());
            assert_eq!(first_choices.collect::<Vec<_>>(), ["O", "B-x", "O", "O", "O"], "{fit}");
        }
    }
}

#[test]
fn other_files_are_refused() {
    let dir = folder(&[("valid.jsonl", VALID.as_bytes())]);
    run(dir.path(), "logits fit valid.jsonl -o cal.json");
    let calibration = fs::read_to_string(dir.path().join("cal.json")).unwrap();
    let tag = |calibration: &str, new: &str, expected: &Expect| {
        check(&[("cal.json", calibration), ("new.jsonl", new)], "tag cal.json new.jsonl", expected);
    };
    tag(
        "{}",
        NEW,
        &expect![[r#"
        error: cal.json: not a calibration of logits: missing field `format` at line 1 column 2
        hint: such a file is made by `meno logits fit VALID -o FILE`
    "#]],
    );
    tag(
        &calibration.replace("\"scale\": 1.0", "\"scale\": 1e999"),
        NEW,
        &expect![[r#"
        error: cal.json: not a calibration of logits: number out of range at line 11 column 16
        hint: such a file is made by `meno logits fit VALID -o FILE`
    "#]],
    );
    tag(
        &calibration.replace("\"value\": ", "\"value\": null, \"was\": "),
        NEW,
        &expect![[r#"
            error: cal.json: not a calibration of logits: invalid type: null, expected f64 at line 25 column 3
            hint: such a file is made by `meno logits fit VALID -o FILE`
        "#]],
    );
    tag(
        &calibration,
        r#"{"tokens": ["a"], "logits": [[1, 2]]}"#,
        &expect![[r#"
        error: new.jsonl: 2 logits a word but 3 label names
        hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order
    "#]],
    );
    tag(
        &calibration,
        r#"{"label_names": ["O", "B-town", "I-town"]}"#,
        &expect![[r#"
        error: new.jsonl: label 2 is `B-town`, not `B-city` as stated
        hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order
    "#]],
    );
    check(
        &[("new.txt", "a")],
        "tag cal.json new.txt",
        &expect![[r#"
        error: cannot read cal.json: No such file or directory (os error 2)
        hint: check the path; `meno data stats DIR` shows what is in a folder
    "#]],
    );
    check(
        &[("cal.json", &calibration), ("new.txt", "a")],
        "tag cal.json new.txt",
        &expect![[r#"
        error: new.txt: not known to hold logits
        hint: the file must be called .npz, .safetensors or .jsonl
    "#]],
    );
    check(
        &[("cal.json", &calibration)],
        "tag cal.json new.npz",
        &expect![[r#"
        error: cannot read new.npz: No such file or directory (os error 2)
        hint: check the path; `meno data stats DIR` shows what is in a folder
    "#]],
    );
    check(
        &[("v.jsonl", VALID)],
        "fit v.jsonl -o no/cal.json",
        &expect![[r#"
        error: cannot write no/cal.json: No such file or directory (os error 2)
        hint: make the folder first
    "#]],
    );
}
