//! `meno quantize` and `meno train --quantize` as they are typed. That they work on pretrained encoders is in `encoder.rs`.

mod support;

use std::fs;

use expect_test::expect;
use support::{meno, pipe, run, shown, tiny_dataset, trained};

#[test]
fn the_default_tagger_is_made_smaller() {
    let dir = tiny_dataset();
    for args in ["-o m", "-o small --quantize"] {
        let output = meno(dir.path(), &format!("train data --epochs 2 --hidden 16 {args}")).output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
    }
    let quantized = run(dir.path(), "quantize m -o later");
    assert!(quantized.starts_with("exit 0"), "{quantized}");
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert!(read("small") == read("later") && read("small").len() < read("m").len());
    let output = pipe(dir.path(), "tag small", b"play red moon\n");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["tokens"].as_array().unwrap().len(), 3);
    expect![[r#"
        exit 2
        ---
        error: the default tagger has no weights of 16 bits
        hint: take 8 bits, which are smaller and faster
    "#]]
    .assert_eq(&run(dir.path(), "quantize m -o half --weights bf16"));
    expect![[r#"
        exit 2
        ---
        error: the model has weights of 8 bits, which are not written as ONNX
        hint: export the model that it was made of
    "#]]
    .assert_eq(&run(dir.path(), "export small --onnx graph"));
    assert!(!dir.path().join("half").exists() && !dir.path().join("graph").exists());
}

#[test]
fn what_is_small_as_it_is_is_refused() {
    expect![[r#"
        exit 2
        ---
        error: the weights of such a tagger cannot be made smaller
        hint: the default tagger and those on pretrained encoders can have 8 bits
    "#]]
    .assert_eq(&run(trained(), "quantize m -o small"));
    assert!(!trained().join("small").exists());
    expect![[r#"
        exit 2
        ---
        error: the slot-gated tagger has no weights of 8 bits
        hint: leave out `--quantize`
    "#]]
    .assert_eq(&run(trained(), "train data -o q --architecture slot-gated --quantize"));
}

#[test]
fn what_is_not_there_is_said() {
    expect![[r#"
        exit 2
        ---
        error: none.model: there is no such file
        hint: a model is made by `meno train DIR -o MODEL`
    "#]]
    .assert_eq(&run(trained(), "quantize none.model -o small --weights bf16"));
}
