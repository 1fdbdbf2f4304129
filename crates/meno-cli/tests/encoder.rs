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
fn a_training_goes_on_with_its_encoder_alone() {
    let dir = dataset();
    train(dir.path(), "-o m");
    check(dir.path(), "train data -o m --encoder bert --resume", expect![[r#""#]]);
}

#[test]
fn what_is_wrong_with_a_folder_is_said() {
    let dir = dataset();
    let folder = dir.path().join("bert");
    let broken = |name: &str, text: &str, with: &str, expected: Expect| {
        let path = folder.join(name);
        let whole = fs::read(&path).unwrap();
        let changed = match text.is_empty() {
            true => whole[..whole.len() / 2].to_vec(),
            false => String::from_utf8(whole.clone()).unwrap().replace(text, with).into_bytes(),
        };
        assert!(changed != whole, "{text} is not in {name}");
        fs::write(&path, changed).unwrap();
        check(dir.path(), "train data -o m --encoder bert", expected);
        fs::write(&path, whole).unwrap();
    };
    broken("config.json", "bert", "gpt2", expect![[r#""#]]);
    broken("config.json", "\"gelu\"", "\"relu\"", expect![[r#""#]]);
    broken("config.json", "\"hidden_size\": 32", "\"hidden_size\": 48", expect![[r#""#]]);
    broken("config.json", "{", "", expect![[r#""#]]);
    broken("vocab.txt", "[UNK]", "unk", expect![[r#""#]]);
    broken("model.safetensors", "", "", expect![[r#""#]]);
    check(dir.path(), "train data -o m --encoder nowhere", expect![[r#""#]]);
    check(dir.path(), "train data -o m --encoder data", expect![[r#""#]]);
    assert_eq!(names(dir.path()), ["bert", "data"]);
}

fn check(dir: &Path, args: &str, expected: Expect) {
    expected.assert_eq(&run(dir, args));
}
