//! `meno syntax` as it is typed.

mod support;

use std::fs;

use expect_test::expect;
use support::{folder, meno, pipe, run, shown, tiny_dataset};

const GOLD: &str = include_str!("../../meno/tests/goldens/conllu/gold.conllu");
const SYSTEM: &str = include_str!("../../meno/tests/goldens/conllu/system-2.conllu");

#[test]
fn text_becomes_conllu() {
    let dir = folder(&[]);
    expect![[r##""##]].assert_eq(&shown(&pipe(
        dir.path(),
        "syntax parse",
        "What's the weather in Rome?\n\n   \nplay some jazz\n".as_bytes(),
    )));
}

#[test]
fn text_becomes_a_tree_to_read() {
    let dir = folder(&[]);
    expect![[r#""#]].assert_eq(&shown(&pipe(
        dir.path(),
        "syntax parse --format tree",
        b"book a table for two at the old mill\n",
    )));
}

#[test]
fn text_becomes_a_picture() {
    let dir = folder(&[]);
    let output = pipe(dir.path(), "syntax parse --format svg", "play <caf\u{e9}> & \u{1f3b5}".as_bytes());
    let svg = String::from_utf8(output.stdout).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.iter().any(|text| text.contains("root")), "{svg}");
    let written = meno(dir.path(), "syntax parse --format svg -o tree.svg hello").output().unwrap();
    assert!(written.status.success() && dir.path().join("tree.svg").exists(), "{}", shown(&written));
    expect![[r#""#]].assert_eq(&shown(&pipe(dir.path(), "syntax parse --format svg", b"one\ntwo\n")));
    expect![[r#""#]].assert_eq(&shown(&pipe(dir.path(), "syntax parse --format svg", b"\n")));
}

#[test]
fn empty_text_is_no_error() {
    let dir = folder(&[]);
    expect![[r#"
        exit 0
        ---
    "#]]
    .assert_eq(&shown(&pipe(dir.path(), "syntax parse", b"")));
}

#[test]
fn files_are_compared() {
    let dir = folder(&[("gold.conllu", GOLD.as_bytes()), ("system.conllu", SYSTEM.as_bytes())]);
    expect![[r#""#]].assert_eq(&run(dir.path(), "syntax eval gold.conllu --system system.conllu"));
    let json = meno(dir.path(), "syntax eval gold.conllu --spoken --json").output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json[0]["words"], &json[0]["spoken"]), (&47.into(), &true.into()));
}

#[test]
fn bad_files_are_named_with_their_line() {
    let cycle = GOLD.replacen("\t0\troot\t0:root\t_\n", "\t4\tdep\t_\t_\n", 1);
    let dir =
        folder(&[("cycle.conllu", cycle.as_bytes()), ("short.conllu", b"1\tone\n"), ("bare.conllu", BARE)]);
    expect![[r#""#]].assert_eq(&run(dir.path(), "syntax eval cycle.conllu"));
    expect![[r#""#]].assert_eq(&run(dir.path(), "syntax train --treebank short.conllu -o m"));
    expect![[r#""#]].assert_eq(&run(dir.path(), "syntax train --treebank bare.conllu -o m"));
    expect![[r#""#]].assert_eq(&run(dir.path(), "syntax parse --model short.conllu hello"));
    assert!(!dir.path().join("m").exists());
}

const BARE: &[u8] = b"1\tone\t_\t_\t_\t_\t_\t_\t_\t_\n";

#[test]
fn a_model_is_trained_and_used() {
    let dir = tiny_dataset();
    fs::write(dir.path().join("gold.conllu"), GOLD).unwrap();
    let train = "syntax train --treebank gold.conllu --without data -o m --epochs 2 --threads 1";
    let output = meno(dir.path(), train).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    assert!(shown(&output).contains("6 sentences, 0 left out"), "{}", shown(&output));
    let output = meno(dir.path(), "syntax eval --model m gold.conllu").output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
}

#[test]
fn sentences_of_a_dataset_are_left_out() {
    let dir = tiny_dataset();
    let sentence =
        "1\tWeather\t_\tNOUN\t_\t_\t0\troot\t_\t_\n2\tplease\t_\tINTJ\t_\t_\t1\tdiscourse\t_\t_\n\n";
    fs::write(dir.path().join("gold.conllu"), GOLD.to_owned() + sentence).unwrap();
    let train = "syntax train --treebank gold.conllu --without data -o m --epochs 1 --threads 1";
    let output = shown(&meno(dir.path(), train).output().unwrap());
    assert!(output.contains("6 sentences, 1 left out"), "{output}");
}

#[test]
fn phrases_are_measured() {
    let dir = tiny_dataset();
    let output = run(dir.path(), "syntax yardstick data --slots");
    assert!(
        output.starts_with("exit 0\nrule     walls         marked   exact    over   under\n"),
        "{output}"
    );
    assert!(output.contains("literal  none              20"), "{output}");
}
