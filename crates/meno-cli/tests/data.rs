//! `meno data` as it is typed: what it prints, and how it exits.

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};

mod support;
use support::folder;

/// Runs `meno data` inside `dir`; the exit code, standard output and standard error.
fn run(dir: &Path, args: &str) -> String {
    support::run(dir, &format!("data {args}"))
}

fn check(files: &[(&str, &[u8])], args: &str, expected: &Expect) {
    expected.assert_eq(&run(folder(files).path(), args));
}

const GOOD: [(&str, &[u8]); 3] = [
    ("train/seq.in", b"play x\nstop\n"),
    ("train/seq.out", b"O B-artist\nO\n"),
    ("train/label", b"Play\nStop\n"),
];

#[test]
fn stats_are_a_table_or_json() {
    check(
        &GOOD,
        "stats .",
        &expect![[r#"
        exit 0
        .: 1 concept types
        split  utterances  words  mean length  max length  vocabulary  intents  labels  slots  spans  oov
        train           2      3         1.50           2           3        2       2      1      1    -
        ---
    "#]],
    );
    check(
        &GOOD,
        "stats train --json",
        &expect![[r#"
        exit 0
        [
          {
            "path": "train",
            "concept_types": 1,
            "splits": [
              {
                "name": "train",
                "utterances": 2,
                "words": 3,
                "mean_length": 1.5,
                "max_length": 2,
                "vocabulary": 3,
                "intents": 2,
                "labels": 2,
                "slots": 1,
                "spans": 1,
                "oov_rate": null
              }
            ],
            "new_concepts": []
          }
        ]
        ---
    "#]],
    );
}

#[test]
fn check_exits_with_1_if_it_finds_something() {
    check(
        &GOOD,
        "check .",
        &expect![[r#"
        exit 0
        ---
        nothing found
    "#]],
    );
    check(
        &[("train.conll", b"a O\nb I-x\n\nc B-x\n")],
        "check .",
        &expect![[r#"
        exit 1
        ./train.conll:2: sequence: `I-x` continues no span of its slot
        ---
        1 finding
    "#]],
    );
    check(
        &[("train.conll", b"a O\n\n\nb I\n")],
        "check --json train.conll",
        &expect![[r#"
        exit 1
        [
          {
            "path": "train.conll",
            "line": 4,
            "kind": "tag",
            "message": "tag `I` names no slot"
          }
        ]
        ---
        1 finding
    "#]],
    );
}

#[test]
fn convert_writes_a_split_or_a_dataset() {
    let dir = folder(&GOOD);
    let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    expect![[r#"
        exit 0
        ---
        out/train.yml: 2 utterances
    "#]]
    .assert_eq(&run(dir.path(), "convert . out --to rasa"));
    expect![[r#"
        version: "3.1"

        nlu:
        - intent: Play
          examples: |
            - play [x](artist)
        - intent: Stop
          examples: |
            - stop
    "#]]
    .assert_eq(&text("out/train.yml"));
    run(dir.path(), "convert out/train.yml back");
    assert_eq!(text("back/seq.out").as_bytes(), GOOD[1].1);
    run(dir.path(), "convert train out.conll --scheme bilou");
    expect![[r#"
        # intent: Play
        play	O
        x	U-artist

        # intent: Stop
        stop	O

    "#]]
    .assert_eq(&text("out.conll"));
    run(dir.path(), "convert train out.snips --to snips");
    expect![[r#"
        {
          "intents": {
            "Play": {
              "utterances": [
                {"data":[{"text":"play "},{"entity":"artist","slot_name":"artist","text":"x"}]}
              ]
            },
            "Stop": {
              "utterances": [
                {"data":[{"text":"stop"}]}
              ]
            }
          },
          "entities": {
            "artist": {"automatically_extensible":true,"data":[],"matching_strictness":1.0,"use_synonyms":true}
          },
          "language": "en"
        }
    "#]].assert_eq(&text("out.snips"));
}

#[test]
fn what_a_dataset_says_of_itself_goes_along() {
    let text = b"# ours\n[slots.artist]\nsay = \"an artist\"\n";
    let dir = folder(&[&GOOD[..], &[("corpus.toml", text)]].concat());
    for args in ["convert . a --to folder", "convert . b --to rasa", "split . c --valid 0 --test 0"] {
        let out = args.split(' ').nth(2).unwrap();
        let said = run(dir.path(), args);
        assert!(said.contains(&format!("{out}/corpus.toml: how to talk about it")), "{said}");
        assert_eq!(fs::read(dir.path().join(out).join("corpus.toml")).unwrap(), text);
    }
    fs::write(dir.path().join("corpus.toml"), "\n[slots.song]\n").unwrap();
    expect![[r#"
        exit 2
        ---
        error: ./corpus.toml:2: the data has no slot `song`
        hint: the slots are artist
    "#]]
    .assert_eq(&run(dir.path(), "stats ."));
    expect![[r#"
        exit 1
        ./corpus.toml:2: description: the data has no slot `song`
        ---
        1 finding
    "#]]
    .assert_eq(&run(dir.path(), "check ."));
}

#[test]
fn bad_input_is_an_error_with_its_place() {
    check(
        &[],
        "stats nowhere",
        &expect![[r#"
        exit 2
        ---
        error: cannot read nowhere: No such file or directory (os error 2)
        hint: check the path; `meno data stats DIR` shows what is in a folder
    "#]],
    );
    check(
        &[],
        "check .",
        &expect![[r#"
        exit 2
        ---
        error: . holds no split
        hint: a dataset has `train`, `valid` and perhaps `test`: folders with seq.in, seq.out and label, or files such as train.conll; or files of Rasa NLU
    "#]],
    );
    check(
        &[("train.conll", b"")],
        "stats .",
        &expect![[r#"
        exit 2
        ---
        error: ./train.conll:1: there is no utterance in it
        hint: check the path; the file holds nothing to read
    "#]],
    );
    check(
        &[("train.conll", b"a O\ncaf\xe9 O\n")],
        "stats train.conll",
        &expect![[r#"
        exit 2
        ---
        error: train.conll:2: not UTF-8: byte 0xE9 at byte 4 of the line
        hint: save the file as UTF-8, for example with `iconv -f latin1 -t utf-8`
    "#]],
    );
    check(
        &[("train/seq.in", b"a\nb\n"), ("train/seq.out", b"O\n")],
        "stats .",
        &expect![[r#"
        exit 2
        ---
        error: ./train/seq.out:2: seq.out has 1 lines but seq.in has 2
        hint: every word needs one label; `meno data check DIR` lists all such lines
    "#]],
    );
    check(
        &[("train/seq.in", b"a b\n"), ("train/seq.out", b"O O O\n")],
        "stats .",
        &expect![[r#"
        exit 2
        ---
        error: ./train/seq.out:1: 2 words but 3 labels
        hint: every word needs one label; `meno data check DIR` lists all such lines
    "#]],
    );
    check(
        &[("train.conll", b"a O\nb X-foo\n")],
        "convert train.conll x.jsonl",
        &expect![[r#"
        exit 2
        ---
        error: train.conll:2: unknown tag `X-foo`: the scheme is none of IOB1, IOB2 and BILOU
        hint: labels are O, B-slot, I-slot (IOB) and with L-slot, U-slot or E-slot, S-slot (BILOU)
    "#]],
    );
    check(
        &[("train.conll", b"a O\n")],
        "convert train.conll x --scheme xyz",
        &expect![[r#"
        exit 2
        ---
        error: unknown label scheme `xyz`
        hint: the schemes are iob1, iob2 and bilou
    "#]],
    );
    check(
        &[("train.conll", b"a O\n")],
        "convert train.conll x.bin",
        &expect![[r#"
        exit 2
        ---
        error: no format is known for the name x.bin
        hint: say `--to conll`, or another of folder, conll, jsonl, snips, rasa, massive, word-tag and rasa-md
    "#]],
    );
    check(
        &[("train.conll", b"a O\n")],
        "convert train.conll no/x.jsonl",
        &expect![[r#"
        exit 2
        ---
        error: cannot write no/x.jsonl: No such file or directory (os error 2)
        hint: make the folder first
    "#]],
    );
    check(
        &GOOD,
        "convert . . --to conll",
        &expect![[r#"
        exit 2
        ---
        error: . is both IN and OUT
        hint: write the dataset into another folder
    "#]],
    );
    check(
        &GOOD,
        "convert . out",
        &expect![[r#"
        exit 2
        ---
        error: the format of a dataset cannot be told from the name of its folder
        hint: say `--to conll`, or another of folder, conll, jsonl, snips, rasa, massive, word-tag and rasa-md
    "#]],
    );
    check(
        &GOOD,
        "convert train out.yml --scheme iob1",
        &expect![[r#"
        exit 2
        ---
        error: the format rasa has no tags, so `--scheme` means nothing
        hint: leave `--scheme` out, or write folder, conll, jsonl or word-tag
    "#]],
    );
}

const SET: [(&str, &[u8]); 8] = [
    ("data/train/seq.in", b"fly to boston\nfly to new york today\n"),
    ("data/train/seq.out", b"O O B-city\nO O B-city I-city B-day\n"),
    ("data/test/seq.in", b"fly from paris to lyon today\nstop\n"),
    ("data/test/seq.out", b"O O B-city O B-city B-day\nO\n"),
    ("data/test/label", b"fly\nstop\n"),
    ("new.tsv", b"city\tOslo\ncity\tSan Jose\n"),
    ("seen.json", b"{\"city\": [\"Oslo\",\n \"New York\",\n \"Boston\"]}"),
    ("bad.tsv", b"city\tOslo\ncity\n"),
];

#[test]
fn new_concepts_are_put_into_a_set() {
    let dir = folder(&SET);
    let made = run(dir.path(), "new-concepts data/test --values new.tsv --train data --out out --copies 2");
    expect![[r#"
        exit 0
        ---
        out: 1 utterance with 2 new concepts, from 2 values of 1 slot and 2 utterances
    "#]]
    .assert_eq(&made);
    let file = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    expect![[r#"
        fly from san jose to oslo today
        O O B-unknown I-unknown O B-unknown B-day
        O O B-city I-city O B-city B-day
        fly
    "#]]
    .assert_eq(&["seq.in", "seq.out", "seq.true", "label"].map(|name| file(&format!("out/{name}"))).concat());
    // A dataset means its test split; the same seed gives the same bytes, another one other bytes.
    let again = run(
        dir.path(),
        "new-concepts data --values new.tsv --train data/train --out again --copies 2 --seed 1",
    );
    assert!(again.starts_with("exit 0\n"), "{again}");
    for name in ["seq.in", "seq.out", "seq.true", "label"] {
        assert_eq!(file(&format!("out/{name}")), file(&format!("again/{name}")));
    }
    let orders: std::collections::BTreeSet<String> = (1..9)
        .map(|seed| {
            run(dir.path(), &format!("new-concepts data --values new.tsv --out seed{seed} --seed {seed}"));
            file(&format!("seed{seed}/seq.in"))
        })
        .collect();
    assert_eq!(orders.len(), 2);
    expect![[r#"
        exit 0
        ---
        nothing found
    "#]]
    .assert_eq(&run(dir.path(), "check out"));
}

#[test]
fn values_that_training_has_are_no_new_concepts() {
    let dir = folder(&SET);
    expect![[r#"
        exit 2
        ---
        seen.json:2: `new york` of city is not new: training has it, data/train:2
        seen.json:3: `boston` of city is not new: training has it, data/train:1
        error: seen.json: training has 2 values of 3
        hint: take these lines away, or leave them out with --skip-seen
    "#]]
    .assert_eq(&run(dir.path(), "new-concepts data --values seen.json --train data --out out"));
    assert!(!dir.path().join("out").exists());
    expect![[r#"
        exit 0
        ---
        seen.json: 2 values left out, which training has
        out: 1 utterance with 2 new concepts, from 1 value of 1 slot and 2 utterances
    "#]]
    .assert_eq(&run(dir.path(), "new-concepts data --values seen.json --train data --out out --skip-seen"));
    assert!(dir.path().join("out/seq.true").exists());
}

#[test]
fn new_concepts_need_a_list_and_a_place() {
    let dir = folder(&SET);
    fs::create_dir(dir.path().join("full")).unwrap();
    fs::write(dir.path().join("full/file"), "").unwrap();
    let mut all = String::new();
    for args in [
        "data --values bad.tsv --out out",
        "data --values nowhere --out out",
        "nowhere --values new.tsv --out out",
        "data --values new.tsv --train nowhere --out out",
        "data --values new.tsv --out full",
        "data --values new.tsv --out new.tsv",
        "data --values new.tsv --out out --copies 0",
        "data --values new.tsv --out out --skip-seen",
    ] {
        let shown = run(dir.path(), &format!("new-concepts {args}"));
        let error: Vec<&str> = shown.lines().filter(|line| !line.starts_with("note: ")).collect();
        all += &format!("{args}\n{}\n", error.join("\n"));
    }
    expect![[r#"
        data --values bad.tsv --out out
        exit 2
        ---
        error: bad.tsv:2: no tab in `city`
        hint: a line is a slot, a tab and a value; or the file is JSON, {"slot": ["value", ...]}
        data --values nowhere --out out
        exit 2
        ---
        error: cannot read nowhere: No such file or directory (os error 2)
        hint: check the path; `meno data stats DIR` shows what is in a folder
        nowhere --values new.tsv --out out
        exit 2
        ---
        error: cannot read nowhere: No such file or directory (os error 2)
        hint: check the path; `meno data stats DIR` shows what is in a folder
        data --values new.tsv --train nowhere --out out
        exit 2
        ---
        error: cannot read nowhere: No such file or directory (os error 2)
        hint: check the path; `meno data stats DIR` shows what is in a folder
        data --values new.tsv --out full
        exit 2
        ---
        error: full is there and not empty
        hint: name another folder
        data --values new.tsv --out new.tsv
        exit 2
        ---
        error: cannot write new.tsv: Not a directory (os error 20)
        data --values new.tsv --out out --copies 0
        exit 2
        ---
        error: invalid value '0' for '--copies <N>': number would be zero for non-zero type

        For more information, try '--help'.
        data --values new.tsv --out out --skip-seen
        exit 2
        ---
        error: the following required arguments were not provided:
          --train <DIR>

        Usage: meno data new-concepts --values <FILE> --out <OUT> --train <DIR> --skip-seen <TEST>

        For more information, try '--help'.
    "#]]
    .assert_eq(&all);
    assert!(!dir.path().join("out").exists());
}
