//! Logits that NumPy and safetensors wrote (`scripts/goldens/logits_goldens.py`) are the same table in every form, and
//! what is wrong with a file is said with its place and value.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use meno::Result;
use meno::decision::Threshold;
use meno::external::{Calibration, Companion, FitSettings, Input, Table, TableSettings};
use meno::external::{Temperature, read_label_names, unseen_labels};
use meno::uncertainty::Score;
use safetensors::tensor::{Dtype, TensorView};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/logits").join(name)
}

fn read(name: &str, companion: Companion) -> Result<Table> {
    let label_names = Some(read_label_names(&golden("label_names.txt"))?);
    Table::read(&golden(name), &TableSettings { label_names, companion, ..TableSettings::default() })
}

fn rows(table: &Table) -> Vec<Vec<f32>> {
    table.utterances.iter().flat_map(|utterance| table.rows(utterance).map(<[f32]>::to_vec)).collect()
}

#[test]
fn every_form_is_the_same_table() {
    let expected = Table::read(&golden("plain.jsonl"), &TableSettings::default()).unwrap();
    assert_eq!(expected.label_names, ["O", "B-café", "I-café"]);
    assert_eq!(expected.utterances[0].words, ["to", "café", "élan"]);
    assert_eq!(expected.utterances[2].gold.as_deref().unwrap(), ["B-café", "I-café"]);
    let corpus = || Companion::Corpus(golden("corpus"));
    let words = || Companion::Words(golden("corpus/seq.in"));
    for (name, companion) in [
        ("plain.npz", Companion::None),
        ("packed.npz", Companion::None),
        ("plain.safetensors", corpus()),
        ("plain.safetensors", words()),
        ("bare.safetensors", corpus()),
    ] {
        let table = read(name, companion).unwrap();
        assert_eq!(table.label_names, expected.label_names, "{name}");
        assert_eq!(table.utterances, expected.utterances, "{name}");
        assert_eq!(rows(&table), rows(&expected), "{name}");
    }
    let without_gold = read("bare.safetensors", words()).unwrap();
    assert!(without_gold.utterances.iter().all(|utterance| utterance.gold.is_none()));
}

fn message(path: &Path, settings: &TableSettings) -> String {
    let error = Table::read(path, settings).unwrap_err();
    let folder = path.parent().unwrap().display().to_string() + "/";
    format!("{error}\nhint: {}", error.hint().unwrap_or("none")).replace(&folder, "")
}

fn check_jsonl(text: &str, input: Input, expected: &Expect) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    fs::write(&path, text).unwrap();
    expected.assert_eq(&message(&path, &TableSettings { input, ..TableSettings::default() }));
}

#[test]
fn bad_lines_are_named() {
    let names = r#"{"label_names": ["O", "B-x"]}"#;
    let check =
        |line: &str, expected: &Expect| check_jsonl(&format!("{names}\n{line}"), Input::Logits, expected);
    check(
        r#"{"tokens": ["a"], "logits": [[1, NaN]]}"#,
        &expect![[r#"
        x.jsonl:2: expected value, at column 34
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity"#]],
    );
    check(
        r#"{"tokens": ["a", "b"], "logits": [[1, 2], [0, 1e39]]}"#,
        &expect![[r#"
        x.jsonl:2: number out of range, at column 50
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity"#]],
    );
    check(
        r#"{"tokens": ["a"], "logits": [[1]]}"#,
        &expect![[r#"
        x.jsonl:2: a word has one logit only; with fewer than two labels there is nothing to be unsure of
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity"#]],
    );
    check(
        r#"{"tokens": ["a", "b"], "logits": [[1, 2], [1, 2, 3]]}"#,
        &expect![[r#"
        x.jsonl:2: word 2 has 3 logits, but there are 2 labels
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity"#]],
    );
    check(
        r#"{"tokens": ["a"], "logits": [[1, 2, 3]]}"#,
        &expect![[r#"
        x.jsonl: 3 logits a word but 2 label names
        hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order"#]],
    );
    check(
        r#"{"tokens": ["a", "b"], "logits": [[1, 2]]}"#,
        &expect![[r#"
        x.jsonl:2: 2 tokens but 1 rows of logits
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity"#]],
    );
    check(
        r#"{"tokens": ["a"], "logits": [[1, 2]], "labels": []}"#,
        &expect![[r#"
        x.jsonl:2: 1 tokens but 0 labels
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity"#]],
    );
    check(
        r#"{"tokens": ["a"], "logits": [[1, 2]], "labels": [2]}"#,
        &expect![[r#"
        x.jsonl:2: word 1: there is no label 2
        hint: labels are counted from 0; there are 2"#]],
    );
    check(
        r#"{"tokens": ["a"], "logits": [[1, 2]], "labels": [0.5]}"#,
        &expect![[r#"
        x.jsonl:2: a label is a string or an integer, at column 53
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity"#]],
    );
    check(
        r#"{"logits": [[1, 2]]}"#,
        &expect![[r#"
        x.jsonl:2: there are no `tokens`
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity"#]],
    );
    let good = r#"{"tokens": ["a"], "logits": [[1, 2]], "labels": ["O"]}"#;
    check(
        &format!("{good}\n{names}"),
        &expect![[r#"
        x.jsonl:3: `label_names` stand on the first line
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity"#]],
    );
    check(
        &format!("{good}\n{}", r#"{"tokens": ["a"], "logits": [[1, 2]]}"#),
        &expect![[r#"
        x.jsonl:3: there are no `labels`, but other lines have them
        hint: a line is {"tokens": [...], "logits": [[...], ...], "labels": [...]}; JSON has no NaN and no Infinity"#]],
    );
}

#[test]
fn bad_label_names_are_refused() {
    let check = |text: &str, expected: &Expect| check_jsonl(text, Input::Logits, expected);
    check(
        r#"{"tokens": ["a"], "logits": [[1, 2]]}"#,
        &expect![[r#"
        x.jsonl: there are no label names in it
        hint: give the names, in the order of the logits"#]],
    );
    check(
        r#"{"label_names": ["O", "U-x"]}"#,
        &expect![[r#"
        x.jsonl: label 2 is `U-x`, which is not IOB
        hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order"#]],
    );
    check(
        r#"{"label_names": ["O", "O"]}"#,
        &expect![[r#"
        x.jsonl: labels 1 and 2 are both `O`
        hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order"#]],
    );
    check(
        r#"{"label_names": ["O"]}"#,
        &expect![[r#"
        x.jsonl: a word has one logit only; with fewer than two labels there is nothing to be unsure of
        hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order"#]],
    );
}

#[test]
fn probabilities_are_checked() {
    let names = r#"{"label_names": ["O", "B-x"]}"#;
    let check = |row: &str, expected: &Expect| {
        let line = format!("{names}\n{{\"tokens\": [\"a\"], \"logits\": [{row}]}}");
        check_jsonl(&line, Input::Probabilities, expected);
    };
    check(
        "[-0.1, 1.1]",
        &expect![[r#"
        x.jsonl:2: word 1: probability 1 is -0.1
        hint: the probabilities of a word are from 0 to 1 and add up to 1"#]],
    );
    check(
        "[0.5, 0.6]",
        &expect![[r#"
        x.jsonl:2: word 1: the probabilities add up to 1.1, not to 1
        hint: the probabilities of a word are from 0 to 1 and add up to 1"#]],
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    fs::write(&path, format!("{names}\n{}", r#"{"tokens": ["a", "b"], "logits": [[0.25, 0.75], [0, 1]]}"#))
        .unwrap();
    let settings = TableSettings { input: Input::Probabilities, ..TableSettings::default() };
    let table = Table::read(&path, &settings).unwrap();
    assert_eq!(rows(&table), [[0.25f32.ln(), 0.75f32.ln()], [f32::MIN_POSITIVE.ln(), 0.0]]);
}

/// A safetensors file with these lengths and this matrix of logits.
fn check_arrays(lengths: &[i64], shape: [usize; 2], values: &[f32], expected: &Expect) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.safetensors");
    let lengths_bytes: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let tensors = [
        ("lengths", TensorView::new(Dtype::I64, vec![lengths.len()], &lengths_bytes).unwrap()),
        ("logits", TensorView::new(Dtype::F32, shape.to_vec(), &bytes).unwrap()),
    ];
    fs::write(&path, safetensors::serialize(tensors, None).unwrap()).unwrap();
    let words = dir.path().join("words.txt");
    fs::write(&words, "a b\nc\n").unwrap();
    let settings = TableSettings {
        label_names: Some(vec!["O".to_owned(), "B-x".to_owned()]),
        companion: Companion::Words(words),
        ..TableSettings::default()
    };
    expected.assert_eq(&message(&path, &settings));
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    check_arrays(
        &[2, 2],
        [3, 2],
        &[0.0; 6],
        &expect![[r#"
        x.safetensors: the 2 lengths add up to 4 words, but there are 3 rows of logits
        hint: docs/logits.md says what is read; numpy.savez and safetensors write it"#]],
    );
    check_arrays(
        &[2, -1],
        [3, 2],
        &[0.0; 6],
        &expect![[r#"
        x.safetensors: `lengths` has -1 in it
        hint: docs/logits.md says what is read; numpy.savez and safetensors write it"#]],
    );
    check_arrays(
        &[1, 2],
        [3, 2],
        &[0.0; 6],
        &expect![[r#"
        x.safetensors: utterance 1: 1 rows of logits, but 2 words in words.txt
        hint: words.txt must have the same utterances in the same order"#]],
    );
    check_arrays(
        &[3],
        [3, 2],
        &[0.0; 6],
        &expect![[r#"
        x.safetensors: 1 utterances, but words.txt has 2
        hint: words.txt must have the same utterances in the same order"#]],
    );
    check_arrays(
        &[2, 1],
        [3, 1],
        &[0.0; 3],
        &expect![[r#"
        x.safetensors: a word has one logit only; with fewer than two labels there is nothing to be unsure of
        hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order"#]],
    );
    check_arrays(
        &[2, 1],
        [3, 3],
        &[0.0; 9],
        &expect![[r#"
        x.safetensors: 3 logits a word but 2 label names
        hint: labels are O, B-slot and I-slot, as many as a word has logits and in their order"#]],
    );
    check_arrays(
        &[2, 1],
        [3, 2],
        &[0.0, 0.0, 0.0, 0.0, f32::NEG_INFINITY, 0.0],
        &expect![[r#"
        x.safetensors: utterance 2: word 1: logit 1 is -inf, not a finite number
        hint: logits are finite numbers, one for each label"#]],
    );
}

#[test]
fn files_of_other_kinds_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let check = |name: &str, expected: &Expect| {
        let path = dir.path().join(name);
        fs::write(&path, "no logits").unwrap();
        expected.assert_eq(&message(&path, &TableSettings::default()));
    };
    check(
        "x.npz",
        &expect![[r#"
        x.npz: not an .npz file: invalid Zip archive: Could not find EOCD
        hint: docs/logits.md says what is read; numpy.savez and safetensors write it"#]],
    );
    check(
        "x.safetensors",
        &expect![[r#"
        x.safetensors: not a safetensors file: header too large
        hint: docs/logits.md says what is read; numpy.savez and safetensors write it"#]],
    );
    check(
        "x.csv",
        &expect![[r#"
        x.csv: not known to hold logits
        hint: the file must be called .npz, .safetensors or .jsonl"#]],
    );
}

/// Logits of a tagger that is surest of `a`, least sure of `c`, and wrong about `c` and `d`.
const VALID: &str = r#"{"label_names": ["O", "B-x", "I-x"]}
{"tokens": ["a", "b", "c"], "logits": [[0, 9, 0], [5, 0, 0], [1, 0, 1.2]], "labels": ["B-x", "O", "O"]}
{"tokens": [], "logits": [], "labels": []}
{"tokens": ["d"], "logits": [[0, 7, 0]], "labels": ["B-y"]}
"#;

fn table(dir: &Path, text: &str) -> Table {
    let path = dir.join("valid.jsonl");
    fs::write(&path, text).unwrap();
    Table::read(&path, &TableSettings::default()).unwrap()
}

#[test]
fn a_calibration_is_fitted_saved_and_applied() {
    let dir = tempfile::tempdir().unwrap();
    let mut table = table(dir.path(), VALID);
    assert_eq!(unseen_labels(&table), ["B-y"]);
    let settings = FitSettings { score: Score::Confidence, ..FitSettings::default() };
    let calibration = Calibration::fit(&table, Input::Logits, &settings).unwrap();
    // Three spans, one right, of two. c and d are wrong anyway and b joins the span of c: they cost nothing, a would.
    let Threshold { value, f1_before, f1_after, .. } = calibration.threshold.threshold;
    assert_eq!((value, f1_before, f1_after), (Score::Confidence.of(&[0.0, 9.0, 0.0]), 40.0, 40.0));
    let path = dir.path().join("cal.json");
    calibration.save(&path).unwrap();
    assert_eq!(Calibration::load(&path).unwrap(), calibration);

    let mut lines = Vec::new();
    calibration
        .apply::<meno::Error>(&mut table, |annotation| {
            lines.push(serde_json::to_string(&annotation).unwrap());
            Ok(())
        })
        .unwrap();
    expect![[r#"
        {"text":"a b c","intent":null,"decision":"ask","about":{"span":1,"start":2,"end":5,"options":[{"name":"x","probability":0.31354466}]},"tokens":[{"text":"a","start":0,"end":1,"label":"B-x","probability":0.99975324,"first_choice":"B-x","uncertainty":-0.9997532412967132,"unknown":false,"reason":{"score":"confidence","threshold":-0.9997532412967132,"runners_up":[{"label":"O","probability":0.00012337934},{"label":"I-x","probability":0.00012337934}]}},{"text":"b","start":2,"end":3,"label":"B-unknown","probability":0.9867033,"first_choice":"O","uncertainty":-0.986703291042268,"unknown":true,"reason":{"score":"confidence","threshold":-0.9997532412967132,"runners_up":[{"label":"B-x","probability":0.0066483547},{"label":"I-x","probability":0.0066483547}]}},{"text":"c","start":4,"end":5,"label":"I-unknown","probability":0.47171482,"first_choice":"I-x","uncertainty":-0.47171482090415934,"unknown":true,"reason":{"score":"confidence","threshold":-0.9997532412967132,"runners_up":[{"label":"O","probability":0.3862074},{"label":"B-x","probability":0.14207777}]}}],"spans":[{"slot":"x","text":"a","start":0,"end":1},{"slot":"unknown","text":"b c","start":2,"end":5}]}
        {"text":"","intent":null,"decision":"act","tokens":[],"spans":[]}
        {"text":"d","intent":null,"decision":"ask","about":{"span":0,"start":0,"end":1,"options":[{"name":"x","probability":0.9990898}]},"tokens":[{"text":"d","start":0,"end":1,"label":"B-unknown","probability":0.99817955,"first_choice":"B-x","uncertainty":-0.9981795561287621,"unknown":true,"reason":{"score":"confidence","threshold":-0.9997532412967132,"runners_up":[{"label":"O","probability":0.00091022195},{"label":"I-x","probability":0.00091022195}]}}],"spans":[{"slot":"unknown","text":"d","start":0,"end":1}]}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn what_is_not_a_calibration_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let table = table(dir.path(), VALID);
    let path = dir.path().join("cal.json");
    let calibration = Calibration::fit(&table, Input::Logits, &FitSettings::default()).unwrap();
    calibration.save(&path).unwrap();
    let good = fs::read_to_string(&path).unwrap();
    let check = |from: &str, to: &str, expected: &Expect| {
        assert!(good.contains(from), "{good}");
        fs::write(&path, good.replace(from, to)).unwrap();
        let message = Calibration::load(&path).unwrap_err().to_string();
        expected.assert_eq(&message.replace(&format!("{}/", dir.path().display()), ""));
    };
    check(
        "meno-logits",
        "other",
        &expect![
            "cal.json: not a calibration of logits: unknown variant `other`, expected `meno-logits` at line 2 column 19"
        ],
    );
    check(
        "\"version\": 1",
        "\"version\": 2",
        &expect!["cal.json: version 2 of the format; this program reads version 1"],
    );
    check("\"temperature\": 1.0", "\"temperature\": -1.0", &expect!["cal.json: a temperature of -1.0"]);
    check("\"scale\": 1.0", "\"scale\": 0", &expect!["cal.json: a scale of 0.0"]);
    check("\"I-x\"", "\"O\"", &expect!["cal.json: labels 1 and 3 are both `O`"]);
    check("entropy-plus-one", "gut-feeling", &expect!["cal.json: `gut-feeling` is no score"]);
    check(
        &good,
        "{",
        &expect!["cal.json: not a calibration of logits: EOF while parsing an object at line 1 column 1"],
    );
}

#[test]
fn a_temperature_without_a_best_is_the_nearest() {
    let dir = tempfile::tempdir().unwrap();
    let line = |gold: &str| {
        let names = r#"{"label_names": ["O", "B-x"]}"#;
        format!("{names}\n{{\"tokens\":[\"a\"],\"logits\":[[0,3]],\"labels\":[\"{gold}\"]}}")
    };
    let settings =
        FitSettings { temperature: Temperature::Likeliest, budget: 100.0, ..FitSettings::default() };
    let right = table(dir.path(), &line("B-x"));
    assert_eq!(Calibration::fit(&right, Input::Logits, &settings).unwrap().temperature, 0.01);
    let wrong =
        table(dir.path(), &(line("O") + "\n" + r#"{"tokens":["a"],"logits":[[0,0]],"labels":["B-x"]}"#));
    assert_eq!(Calibration::fit(&wrong, Input::Logits, &settings).unwrap().temperature, 100.0);
}
