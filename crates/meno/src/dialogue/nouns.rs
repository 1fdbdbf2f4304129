//! What kinds of things English nouns name: a *pizzeria* is a place, a *welder* a person.

#[cfg(feature = "english")]
use std::collections::HashMap;
#[cfg(feature = "english")]
use std::sync::OnceLock;

/// The kind that a noun in lower case names, in the singular or the plural, if it is known.
#[cfg(feature = "english")]
pub(super) fn kind_of(noun: &str) -> Option<&'static str> {
    static KINDS: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    let kinds = KINDS.get_or_init(|| {
        let lines = meno_english::NOUNS.lines().filter_map(|line| line.split_once(": "));
        lines.flat_map(|(kind, nouns)| nouns.split(", ").map(move |noun| (noun, kind))).collect()
    });
    let singular = || noun.strip_suffix('s').and_then(|noun| kinds.get(noun));
    kinds.get(noun).or_else(singular).copied()
}

/// Nothing is known where the data for English is not built in.
#[cfg(not(feature = "english"))]
pub(super) fn kind_of(_: &str) -> Option<&'static str> {
    None
}

#[cfg(all(test, feature = "english"))]
mod tests {
    use super::*;

    #[test]
    fn nouns_have_one_kind() {
        for (noun, kind) in [
            ("pizzeria", Some("place")),
            ("plumber", Some("person")),
            ("plumbers", Some("person")),
            ("hamster", Some("animal")),
            ("thing", None),
        ] {
            assert_eq!(kind_of(noun), kind, "{noun}");
        }
        let mut seen = std::collections::BTreeSet::new();
        for line in meno_english::NOUNS.lines() {
            let (kind, nouns) = line.split_once(": ").expect("a kind first");
            assert!(kind.chars().all(|c| c.is_ascii_lowercase()), "{kind}");
            assert!(nouns.split(", ").all(|noun| seen.insert(noun)), "{kind} has a noun of another kind");
        }
    }
}
