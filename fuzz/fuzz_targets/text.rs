//! Whatever the text and the habits of the corpus: tokens in order, inside the text, on character boundaries.
//!
//! Lines before an empty line are the corpus that the normaliser is fitted to, the rest is the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meno::text::Normalizer;

fuzz_target!(|input: &str| {
    let (corpus, text) = input.split_once("\n\n").unwrap_or(("", input));
    let corpus: Vec<Vec<&str>> = corpus.lines().map(|line| line.split_whitespace().collect()).collect();
    let normalizer = Normalizer::fit(corpus.iter().map(Vec::as_slice));
    for tokens in [normalizer.read(text), normalizer.words(text)] {
        let mut end = 0;
        for token in tokens.iter() {
            assert!(end <= token.start && token.start < token.end, "{token:?} after {end}");
            assert!(text.get(token.start..token.end).is_some(), "{token:?} is not in the text");
            assert!(!token.word.is_empty());
            let _ = normalizer.vocabulary_form(token.word);
            end = token.end;
        }
    }
    // Words of the corpus come back word for word.
    for words in &corpus {
        let line = words.join(" ");
        let tokens = normalizer.read(&line);
        let found: Vec<&str> = tokens.iter().map(|token| token.word).collect();
        assert_eq!(&found, words);
    }
});
