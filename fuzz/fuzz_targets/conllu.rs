//! CoNLL-U from anywhere: refused with a line, or written and read again as it was; and always a tree for its words.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use meno::syntax::{Syntax, Tree, conllu, tree};

static ENGLISH: LazyLock<Syntax> = LazyLock::new(Syntax::english);

fuzz_target!(|input: &[u8]| {
    let path = Path::new("fuzz.conllu");
    match conllu::parse(path, input) {
        Ok(sentences) => {
            let again = conllu::parse(path, conllu::render(&sentences).as_bytes()).expect("what was written");
            assert_eq!(again, sentences);
            let mut worker = ENGLISH.worker();
            for sentence in &sentences {
                let words: Vec<&str> = sentence.words.iter().map(|word| word.form.as_str()).collect();
                assert_eq!(tree::check(&worker.parse(&words).heads), Ok(()));
                if let Some(spoken) = Tree::new(sentence).and_then(|tree| tree.spoken(true)) {
                    assert_eq!(tree::check(&spoken.heads), Ok(()));
                }
            }
        }
        Err(error) => assert!(error.to_string().starts_with("fuzz.conllu:"), "{error}"),
    }
    let _ = Syntax::load(input);
});
