//! Whatever the bytes of a model file: an error or a model that runs, never a panic.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use meno::Model;
use meno::engine::Tokenization;

fuzz_target!(|bytes: &[u8]| {
    let Ok(model) = Model::from_bytes(bytes, Path::new("model")) else { return };
    let mut worker = model.worker();
    for text in ["Play Abbey Road in Paris, please!", "", "5pm u.s. st. don't"] {
        for token in worker.annotate(text, Tokenization::Raw).tokens {
            assert!(token.probability.is_finite());
        }
    }
    let saved = model.to_bytes();
    let again = Model::from_bytes(&saved, Path::new("saved")).expect("what was saved can be read");
    assert!(again.to_bytes() == saved, "the same model has other bytes");
});
