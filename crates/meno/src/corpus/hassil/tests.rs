//! Templates against PyPI's hassil, and files in their real shape.

use std::fs;
use std::path::Path;

use expect_test::expect;
use serde::Deserialize;

use super::super::tests::{check_error, check_read, compact, known};
use super::super::{Format, read};
use super::expand::{Expander, Names};
use super::*;

#[derive(Deserialize)]
struct Golden {
    lists: std::collections::BTreeMap<String, serde_json::Value>,
    rules: std::collections::BTreeMap<String, String>,
    templates: Vec<GoldenTemplate>,
}

#[derive(Deserialize)]
struct GoldenTemplate {
    template: String,
    count: u128,
    /// The first sentences, in order.
    sentences: Vec<String>,
}

/// From scripts/goldens/hassil_goldens.py.
const GOLDEN: &str = include_str!("../../../tests/goldens/hassil.json");

#[test]
fn expands_as_hassil_does() {
    let golden: Golden = serde_json::from_str(GOLDEN).unwrap();
    let document = serde_json::json!({"lists": golden.lists, "expansion_rules": golden.rules}).to_string();
    let mut names = Names::default();
    names::gather(&yaml::parse_all(&document).unwrap(), &mut names);
    for GoldenTemplate { template, count, sentences } in golden.templates {
        let expression = template::parse(&template).unwrap();
        let mut expander = Expander::new(&names);
        assert_eq!(expander.count(&expression), Ok(count), "{template}");
        let found: Vec<String> = (0..sentences.len() as u128)
            .map(|n| {
                let (text, _) = join(&expander.nth(&expression, n));
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(found, sentences, "{template}");
    }
}

const SENTENCES: &str = r#"language: en
intents:
  HassLightSet:
    data:
      - sentences:
          - "[set] [the] {area} <name_of_light> to {brightness_level:brightness}"
        expansion_rules:
          name_of_light: "light[s]"
lists:
  brightness_level:
    values:
      - in: "(max|maximum)"
        out: 100
  area:
    values: [kitchen, "living room"]
"#;

#[test]
fn reads_sentences_and_tests() {
    let corpus = check_read(
        Format::Hassil,
        "light.yaml",
        &SENTENCES.replace("[set] [the] ", "set "),
        &expect![[r#"
            6 HassLightSet set [kitchen|area] lights to [max|brightness]
            6 HassLightSet set [kitchen|area] lights to [maximum|brightness]
            6 HassLightSet set [kitchen|area] light to [max|brightness]
            6 HassLightSet set [kitchen|area] light to [maximum|brightness]
            6 HassLightSet set [living room|area] lights to [max|brightness]
            6 HassLightSet set [living room|area] lights to [maximum|brightness]
            6 HassLightSet set [living room|area] light to [max|brightness]
            6 HassLightSet set [living room|area] light to [maximum|brightness]
        "#]],
    );
    assert_eq!(
        known(&corpus),
        ["area kitchen", "area living room", "brightness max = 100", "brightness maximum = 100"]
    );
    check_read(
        Format::Hassil,
        "test.yaml",
        "language: en\nlists:\n  level:\n    values:\n      - in: max\n        out: 100\ntests:\n  - sentences:\n      - Set the bedroom to 50%\n    intent:\n      name: HassLightSet\n      slots:\n        area: Bedroom\n        brightness: 50\n        domain: light\n\
         \x20 - sentences: [bedroom max]\n    slots: {area: bedroom, brightness: 100}\n    intent: X\n",
        &expect![[r#"
            9 HassLightSet set the [bedroom|area] to [50|brightness]
            16 X [bedroom|area] [max|brightness]
        "#]],
    );
}

#[test]
fn finds_lists_and_rules_in_other_folders() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "sentences/en/HassTurnOn/area.yaml",
        "language: en\ndata:\n  - sentences:\n      - <turn> on {area}\n",
    );
    write(
        "sentences/en/HassSay/x.yaml",
        "language: en\ndata:\n  - sentences:\n      - say {message}\n      - speak\n",
    );
    write("rules/en/common.yaml", "language: en\nexpansion_rules:\n  turn: (turn|switch)\n");
    write("lists/en/x.yaml", "language: en\nlists:\n  message:\n    wildcard: true\n");
    write(
        "tests/en/HassTurnOn/area.yaml",
        "language: en\nareas:\n  - name: Attic\ntests:\n  - sentences: [turn on the attic]\n    slots: {area: Attic}\n",
    );
    let expected =
        "4 HassSay speak\n4 HassTurnOn turn on [attic|area]\n4 HassTurnOn switch on [attic|area]\n";
    let expected = expected.replacen("4 HassSay", "5 HassSay", 1);
    for folder in ["", "sentences/en"] {
        assert_eq!(compact(&read(&dir.path().join(folder), None).unwrap()), expected, "{folder}");
    }
    let tests = read(&dir.path().join("tests/en"), None).unwrap();
    assert_eq!(compact(&tests), "5 HassTurnOn turn on the [attic|area]\n");
    write("sentences/de/x.yaml", "language: de\n");
    let error = read(dir.path(), None).unwrap_err();
    assert!(error.to_string().ends_with("sentences holds 2 languages"), "{error}");
}

#[test]
fn samples_with_the_seed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.yaml");
    fs::write(&path, SENTENCES).unwrap();
    let read = |most, seed| compact(&read_with(&path, Sampling { most, seed }).unwrap());
    assert_eq!(read(64, 1).lines().count(), 32);
    assert_eq!(read(5, 1).lines().count(), 5);
    assert_eq!(read(5, 1), read(5, 1));
    assert_ne!(read(5, 1), read(5, 2));
}

#[test]
fn names_what_is_wrong() {
    let check = |sentence: &str, expected: &expect_test::Expect| {
        let text = format!(
            "language: en\nintents:\n  A:\n    data:\n      - sentences:\n          - \"{sentence}\"\nexpansion_rules:\n  a: <b>\n  b: x <a>\n"
        );
        check_error("x.yaml", text.as_bytes(), expected);
    };
    check(
        "turn (on|off",
        &expect![[r#"
            x.yaml:6: a bracket is not closed by `)`
            hint: name another format, or mend the line"#]],
    );
    check(
        "<c> on",
        &expect![[r#"
            x.yaml:6: there is no rule `<c>`
            hint: name another format, or mend the line"#]],
    );
    check(
        "<a> on",
        &expect![[r#"
            x.yaml:6: `a` contains itself
            hint: name another format, or mend the line"#]],
    );
    check(
        "on] off",
        &expect![[r#"
            x.yaml:6: `]` in `on] off` closes nothing
            hint: name another format, or mend the line"#]],
    );
}

#[test]
fn exponential_templates_are_refused_in_time() {
    let mut text =
        "language: en\nintents:\n  A:\n    data:\n      - sentences: [<r0>]\nexpansion_rules:\n".to_owned();
    for i in 0..200 {
        text += &format!("  r{i}: (<r{}>|x <r{}>)\n", i + 1, i + 1);
    }
    text += "  r200: y\n";
    check_error(
        "x.yaml",
        text.as_bytes(),
        &expect![[r#"
            x.yaml:5: there are too many sentences to count them
            hint: name another format, or mend the line"#]],
    );
}

#[test]
fn reads_the_shared_sentences() {
    let Some(data) = super::super::tests::shared_data("reads_the_shared_sentences") else { return };
    let root: &Path = &data.join("hassil");
    for language in ["de", "en", "es", "fr", "it", "nl"] {
        let sentences =
            read_with(&root.join("sentences").join(language), Sampling { most: 4, seed: 1 }).unwrap();
        let tests = read(&root.join("tests").join(language), None).unwrap();
        assert!(sentences.utterances.len() > 500, "{language}: {}", sentences.utterances.len());
        let with_slots =
            tests.utterances.iter().filter(|utterance| utterance.labels.iter().any(|label| label != "O"));
        let (with_slots, n_tests) = (with_slots.count(), tests.utterances.len());
        assert!(with_slots * 2 > n_tests, "{language}: slots in {with_slots} of {n_tests} tests");
    }
}
