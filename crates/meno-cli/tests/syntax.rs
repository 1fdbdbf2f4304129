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
    expect![[r#"
        exit 0
        # text = What's the weather in Rome?
        1-2	What's	_	_	_	_	_	_	_	_
        1	What	_	PRON	_	_	0	root	_	_
        2	's	_	AUX	_	_	1	cop	_	_
        3	the	_	DET	_	_	4	det	_	_
        4	weather	_	NOUN	_	_	1	nsubj	_	_
        5	in	_	ADP	_	_	6	case	_	_
        6	Rome	_	PROPN	_	_	4	nmod	_	SpaceAfter=No
        7	?	_	PUNCT	_	_	1	punct	_	_

        # text = play some jazz
        1	play	_	VERB	_	_	0	root	_	_
        2	some	_	DET	_	_	3	det	_	_
        3	jazz	_	NOUN	_	_	1	obj	_	_

        ---
    "#]]
    .assert_eq(&shown(&pipe(
        dir.path(),
        "syntax parse",
        "What's the weather in Rome?\n\n   \nplay some jazz\n".as_bytes(),
    )));
}

#[test]
fn text_becomes_a_tree_to_read() {
    let dir = folder(&[]);
    expect![[r#"
        exit 0
        book VERB root
        ├─ table NOUN obj
        │  └─ a DET det
        └─ two NUM obl
           ├─ for ADP case
           └─ mill NOUN nmod
              ├─ at ADP case
              ├─ the DET det
              └─ old ADJ amod

        ---
    "#]]
    .assert_eq(&shown(&pipe(
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
    expect![[r#"
        exit 2
        ---
        error: a picture shows one sentence, but there are more
        hint: call it once for each sentence
    "#]]
    .assert_eq(&shown(&pipe(dir.path(), "syntax parse --format svg", b"one\ntwo\n")));
    expect![[r#"
        exit 2
        ---
        error: a picture shows one sentence, but there is none
        hint: call it once for each sentence
    "#]]
    .assert_eq(&shown(&pipe(dir.path(), "syntax parse --format svg", b"\n")));
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
    expect![[r#"
        exit 0
        sentences    words    UPOS     UAS     LAS
                6       50   74.00   82.00   70.00  gold.conllu
        ---
    "#]]
    .assert_eq(&run(dir.path(), "syntax eval gold.conllu --system system.conllu"));
    let alone = run(dir.path(), "syntax eval gold.conllu -o found.conllu");
    assert_eq!(run(dir.path(), "syntax eval gold.conllu --system found.conllu"), alone);
    let json = meno(dir.path(), "syntax eval gold.conllu --spoken --json").output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json[0]["words"], &json[0]["spoken"]), (&47.into(), &true.into()));
}

#[test]
fn bad_files_are_named_with_their_line() {
    let cycle = GOLD.replacen("\t0\troot\t0:root\t_\n", "\t4\tdep\t_\t_\n", 1);
    let dir =
        folder(&[("cycle.conllu", cycle.as_bytes()), ("short.conllu", b"1\tone\n"), ("bare.conllu", BARE)]);
    expect![[r#"
        exit 2
        ---
        error: cycle.conllu:4: word 1 is its own ancestor
        hint: the heads of a sentence form one tree with one root
    "#]]
    .assert_eq(&run(dir.path(), "syntax eval cycle.conllu"));
    expect![[r#"
        exit 2
        ---
        error: short.conllu:1: 2 columns where CoNLL-U has ten
        hint: columns are separated by one tab
    "#]]
    .assert_eq(&run(dir.path(), "syntax train --treebank short.conllu -o m"));
    expect![[r#"
        exit 2
        ---
        error: bare.conllu: sentence 1 has a word without tag or head
        hint: a treebank has a tag, a head and a relation for each word
    "#]]
    .assert_eq(&run(dir.path(), "syntax train --treebank bare.conllu -o m"));
    expect![[r#"
        exit 2
        ---
        error: short.conllu: not a syntax model, or a damaged one
        hint: a syntax model is made by `meno syntax train --treebank FILE -o MODEL`
    "#]]
    .assert_eq(&run(dir.path(), "syntax parse --model short.conllu hello"));
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
