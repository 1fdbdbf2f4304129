//! Whatever is learnt and said: what is found lies in the text, what holds does not overlap, and a phrase is found in itself.
//!
//! Lines before an empty line are phrases, the rest is the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meno::memory::{Draft, Entry, Index, Rule, Seen, TaggedWord, reconcile};

fuzz_target!(|input: &str| {
    let (phrases, text) = input.split_once("\n\n").unwrap_or(("", input));
    let mut index = Index::default();
    for (phrase, id) in phrases.lines().zip(0..) {
        index.insert(Entry { id, phrase, slot: "x", value: None, user: None });
        let draft = Draft { phrase: phrase.to_owned(), slot: "x".to_owned(), ..Draft::default() };
        let is_found = index.find(phrase, None).iter().any(|found| found.id == id && found.exact);
        assert!(is_found || draft.check().is_err(), "{phrase:?} is not found in itself");
    }
    let found = index.find(text, None);
    assert!(found.iter().all(|found| text.get(found.start..found.end).is_some_and(|text| !text.is_empty())));
    let word = |word: &str| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let (label, seen, choices) = ("O", Seen::Never, Vec::new());
        TaggedWord { start, end: start + word.len(), label, unknown: true, seen, choices }
    };
    let words: Vec<_> = text.split_whitespace().map(word).collect();
    let held = reconcile(Rule::default(), text, &found, &words);
    assert!(held.windows(2).all(|pair| pair[0].end <= pair[1].start));
    for id in 0..phrases.lines().count() as u64 {
        index.remove(id);
    }
    assert!(index.is_empty() && index.find(text, None).is_empty());
});
