//! `meno quantize` as it is typed. That it works is tested with the engine, where a pretrained encoder is made up.

mod support;

use expect_test::expect;
use support::{run, trained};

#[test]
fn what_is_small_as_it_is_is_refused() {
    expect![[r#"
        exit 2
        ---
        error: only the weights of a pretrained encoder can be made smaller
        hint: the model is small as it is
    "#]]
    .assert_eq(&run(trained(), "quantize m -o small"));
    assert!(!trained().join("small").exists());
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

#[test]
fn nothing_is_quantized_without_an_encoder() {
    let shown = run(trained(), "train data -o q --quantize");
    assert!(shown.starts_with("exit 2") && shown.contains("--encoder <FOLDER>"), "{shown}");
}
