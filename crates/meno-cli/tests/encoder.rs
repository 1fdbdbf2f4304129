//! `meno train --encoder` as it is typed, with a tiny random BERT.

#[path = "../../meno/tests/support/encoder.rs"]
mod encoder;
mod support;

use std::fs;
use std::path::Path;

use encoder::write_encoder;
use expect_test::{Expect, expect};
use support::{meno, names, pipe, run, tiny_dataset};
use tempfile::TempDir;

/// A folder with the dataset `data` and the encoder `bert`.
fn dataset() -> TempDir {
    let dir = tiny_dataset();
    fs::create_dir(dir.path().join("bert")).unwrap();
    write_encoder(&dir.path().join("bert"), 1);
    dir
}

fn train(dir: &Path, args: &str) {
    let args = format!("train data --encoder bert --epochs 2 --batch 4 {args}");
    let output = meno(dir, &args).output().unwrap();
    assert!(output.status.success(), "{}", support::shown(&output));
}

#[test]
fn a_model_on_an_encoder_is_trained_used_and_made_smaller() {
    let dir = dataset();
    train(dir.path(), "-o one --threads 1");
    train(dir.path(), "-o two --threads 2");
    train(dir.path(), "-o small --quantize");
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert!(read("one") == read("two"), "other bytes on two threads");
    let quantized = run(dir.path(), "quantize one -o later");
    assert!(quantized.starts_with("exit 0"), "{quantized}");
    assert!(read("small") == read("later") && read("small").len() < read("one").len());
    // Nothing of the folder is needed any more.
    fs::remove_dir_all(dir.path().join("bert")).unwrap();
    for model in ["one", "small"] {
        let output = pipe(dir.path(), &format!("tag {model}"), b"play red moon\n");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["tokens"].as_array().unwrap().len(), 3, "{model}");
        let measured = run(dir.path(), &format!("eval {model} data/test"));
        assert!(measured.starts_with("exit 0"), "{measured}");
    }
}

#[test]
fn nothing_goes_on_without_a_checkpoint() {
    let dir = dataset();
    train(dir.path(), "-o m");
    check(
        dir.path(),
        "train data -o m --encoder bert --resume",
        expect![[r#"
        exit 2
        ---
        error: there is no checkpoint m.checkpoint
        hint: Ctrl-C during training leaves one; without --resume training begins anew
    "#]],
    );
}

/// What is said if a file of the encoder has other text, or half of it where none is named.
fn check_broken(dir: &Path, name: &str, text: &str, with: &str, expected: Expect) {
    let path = dir.join("bert").join(name);
    let whole = fs::read(&path).unwrap();
    let changed = match text.is_empty() {
        true => whole[..whole.len() / 2].to_vec(),
        false => String::from_utf8(whole.clone()).unwrap().replace(text, with).into_bytes(),
    };
    assert!(changed != whole, "{text} is not in {name}");
    fs::write(&path, changed).unwrap();
    check(dir, "train data -o m --encoder bert", expected);
    fs::write(&path, whole).unwrap();
}

#[test]
fn what_is_wrong_with_a_configuration_is_said() {
    let dir = dataset();
    check_broken(
        dir.path(),
        "config.json",
        "bert",
        "gpt2",
        expect![[r#"
        exit 2
        ---
        error: bert/config.json: "model_type" is "gpt2", not "bert" or "distilbert"
        hint: encoders of the BERT family can be used: BERT, MiniLM, DistilBERT
    "#]],
    );
    check_broken(
        dir.path(),
        "config.json",
        "\"gelu\"",
        "\"relu\"",
        expect![[r#"
        exit 2
        ---
        error: bert/config.json: "hidden_act" is "relu", not "gelu"
        hint: encoders of the BERT family can be used: BERT, MiniLM, DistilBERT
    "#]],
    );
    check_broken(
        dir.path(),
        "config.json",
        "\"hidden_size\": 32",
        "\"hidden_size\": 48",
        expect![[r#"
        exit 2
        ---
        error: bert/model.safetensors: the tensor "embeddings.word_embeddings.weight" is of shape [81, 32], but config.json says [81, 48]
        hint: fetch the folder again
    "#]],
    );
    check_broken(
        dir.path(),
        "config.json",
        "{",
        "",
        expect![[r#"
        exit 2
        ---
        error: bert/config.json: not JSON: trailing characters at line 1 column 13
        hint: fetch the folder again
    "#]],
    );
    assert_eq!(names(dir.path()), ["bert", "data"]);
}

#[test]
fn what_is_wrong_with_a_folder_is_said() {
    let dir = dataset();
    check_broken(
        dir.path(),
        "vocab.txt",
        "[UNK]",
        "unk",
        expect![[r#"
        exit 2
        ---
        error: bert/vocab.txt: there is no piece "[UNK]"
        hint: encoders of the BERT family can be used: BERT, MiniLM, DistilBERT
    "#]],
    );
    check_broken(
        dir.path(),
        "model.safetensors",
        "",
        "",
        expect![[r#"
        exit 2
        ---
        error: bert/model.safetensors: truncated or damaged, or not a safetensors file: incomplete metadata, file not fully covered
        hint: fetch the folder again
    "#]],
    );
    check(
        dir.path(),
        "train data -o m --encoder nowhere",
        expect![[r#"
        exit 2
        ---
        error: cannot read nowhere: No such file or directory (os error 2)
        hint: check the path; `meno data stats DIR` shows what is in a folder
    "#]],
    );
    check(
        dir.path(),
        "train data -o m --encoder data",
        expect![[r#"
        exit 2
        ---
        error: data/config.json: there is no such file
        hint: give a folder with config.json, model.safetensors and tokenizer.json; scripts/get_minilm.sh fetches one
    "#]],
    );
    assert_eq!(names(dir.path()), ["bert", "data"]);
}

fn check(dir: &Path, args: &str, expected: Expect) {
    expected.assert_eq(&run(dir, args));
}
