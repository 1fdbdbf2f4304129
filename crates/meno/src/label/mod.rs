//! The one place that turns word labels into spans and back.
//!
//! In memory labels are IOB2, but what is scored may be anything, so both readings take any string:
//! [`spans`] reads as conlleval and seqeval's default mode do, [`spans_strict`] as seqeval's strict mode with
//! the scheme IOB2. Whatever the labels, spans are not empty, are sorted and do not overlap.

mod names;
mod set;

use std::borrow::Cow;

pub use names::Names;
pub(crate) use set::{Boundary, OUTSIDE_LABEL, begin_label, inside_label, paired_spans, parts};
pub use set::{LabelSet, SlotId};

/// The slot of a new concept.
pub const UNKNOWN: &str = "unknown";

/// A slot over a half-open range of words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenSpan {
    /// The first word.
    pub start: usize,
    /// One past the last word.
    pub end: usize,
    /// The slot type.
    pub slot: String,
}

/// A [`TokenSpan`] whose name still lies in the label: what is counted by the million need not be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenSpanRef<'a> {
    /// The first word.
    pub start: usize,
    /// One past the last word.
    pub end: usize,
    /// The slot type; `_` if the label names none.
    pub slot: &'a str,
}

impl From<TokenSpanRef<'_>> for TokenSpan {
    fn from(span: TokenSpanRef<'_>) -> Self {
        TokenSpan { start: span.start, end: span.end, slot: span.slot.to_owned() }
    }
}

/// Splits a label at its first dash: `B-time-range` is `("B", "time-range")`, `O` is `("O", "")`.
pub fn split(label: &str) -> (&str, &str) {
    label.split_once('-').unwrap_or((label, ""))
}

/// The spans of a sequence of IOB labels, as conlleval reads them: an orphan `I-` opens a span, `B-x I-y` are two.
pub fn spans<S: AsRef<str>>(labels: &[S]) -> Vec<TokenSpan> {
    iter_spans(labels).map(TokenSpan::from).collect()
}

/// The spans of a sequence of labels, read strictly as IOB2: an orphan `I-` is outside, `B-x I-y` is one of `x`.
pub fn spans_strict<S: AsRef<str>>(labels: &[S]) -> Vec<TokenSpan> {
    iter_spans_strict(labels).map(TokenSpan::from).collect()
}

/// [`spans`], one at a time and without copying names.
///
/// Other schemes are read as seqeval reads them: `E-` ends a span, `S-` is one, any other letter goes on with
/// a span of its slot or opens one. One thing differs: where seqeval closes a span that it never opened
/// (`X B-y`: a label of an unknown letter, without a name, before a named one), it counts from the start of
/// some earlier span, maybe of another sentence; here there is no such span.
pub fn iter_spans<S: AsRef<str>>(labels: &[S]) -> impl Iterator<Item = TokenSpanRef<'_>> {
    let mut previous = OUTSIDE;
    let mut open = None;
    let mut labels = labels.iter().map(|label| lenient(label.as_ref())).chain([OUTSIDE]).enumerate();
    std::iter::from_fn(move || {
        for (token_idx, label) in labels.by_ref() {
            let before = std::mem::replace(&mut previous, label);
            let closed = if closes(before, label) { open.take() } else { None };
            if opens(before, label) {
                open = Some(token_idx);
            }
            if let Some(start) = closed {
                return Some(TokenSpanRef { start, end: token_idx, slot: before.1 });
            }
        }
        None
    })
}

/// [`spans_strict`], one at a time and without copying names.
///
/// seqeval refuses labels that do not begin with `B`, `I` or `O`; here they are outside.
pub fn iter_spans_strict<S: AsRef<str>>(labels: &[S]) -> impl Iterator<Item = TokenSpanRef<'_>> {
    let mut token_idx = 0;
    std::iter::from_fn(move || {
        while let Some(label) = labels.get(token_idx) {
            let start = token_idx;
            token_idx += 1;
            if let ('B', slot) = strict(label.as_ref()) {
                let inside = |label: &&S| strict(label.as_ref()) == ('I', slot);
                token_idx += labels[token_idx..].iter().take_while(inside).count();
                return Some(TokenSpanRef { start, end: token_idx, slot });
            }
        }
        None
    })
}

/// The IOB2 labels of `spans` over `n_tokens` words; the inverse of [`spans`].
pub fn labels(spans: &[TokenSpan], n_tokens: usize) -> Vec<String> {
    let mut labels = vec!["O".to_owned(); n_tokens];
    for span in spans {
        for (token_idx, label) in labels[span.start..span.end].iter_mut().enumerate() {
            *label = iob(&span.slot, token_idx == 0);
        }
    }
    labels
}

/// The labels of an utterance in which some words are unknown, as IOB2.
///
/// Neighbours that are unknown form one span. An `I-x` that does not go on with a span of x, be it because an unknown word
/// cut it or because the tagger said so, becomes `B-x`: its span is the one that conlleval reads anyway, so that nothing
/// else is changed.
///
/// # Panics
/// If there are not as many flags as labels.
pub fn mark<'a>(labels: &[&'a str], unknown: &[bool]) -> Vec<Cow<'a, str>> {
    assert_eq!(labels.len(), unknown.len(), "one flag for each label");
    let mut marked = Vec::with_capacity(labels.len());
    let mut after_unknown = false;
    for (label, &unknown) in labels.iter().zip(unknown) {
        marked.push(match (unknown, after_unknown) {
            (true, false) => Cow::Borrowed(BEGIN_UNKNOWN),
            (true, true) => Cow::Borrowed(INSIDE_UNKNOWN),
            (false, _) => begun(label, marked.last().filter(|_| !after_unknown)),
        });
        after_unknown = unknown;
    }
    marked
}

const BEGIN_UNKNOWN: &str = "B-unknown";
const INSIDE_UNKNOWN: &str = "I-unknown";

/// The label, with `B-` in place of an `I-` that has nothing to go on with.
fn begun<'a>(label: &'a str, before: Option<&Cow<'_, str>>) -> Cow<'a, str> {
    let ("I", slot) = split(label) else { return label.into() };
    let goes_on = before.is_some_and(|before| {
        let (prefix, before) = split(before);
        matches!(prefix, "B" | "I") && before == slot
    });
    if goes_on { label.into() } else { iob(slot, true).into() }
}

/// The IOB2 label of the first word of a span, or of a later one.
pub(crate) fn iob(slot: &str, is_first: bool) -> String {
    format!("{}-{slot}", if is_first { "B" } else { "I" })
}

/// A label taken apart: its first letter and its slot.
type Parts<'a> = (char, &'a str);

/// The name of a slot that has none.
const NAMELESS: &str = "_";
const OUTSIDE: Parts<'_> = ('O', NAMELESS);

/// The letter and what follows the first dash, or all the rest if there is none.
fn lenient(label: &str) -> Parts<'_> {
    let mut rest = label.chars();
    let Some(letter) = rest.next() else { return OUTSIDE };
    let rest = rest.as_str();
    (letter, named(rest.split_once('-').map_or(rest, |(_, slot)| slot)))
}

/// The letter and the rest without dashes around it.
fn strict(label: &str) -> Parts<'_> {
    let mut rest = label.chars();
    let Some(letter) = rest.next() else { return OUTSIDE };
    (letter, named(rest.as_str().trim_matches('-')))
}

fn named(slot: &str) -> &str {
    if slot.is_empty() { NAMELESS } else { slot }
}

/// Whether a span ends between two words (conlleval's `endOfChunk`).
fn closes((before, before_slot): Parts<'_>, (letter, slot): Parts<'_>) -> bool {
    matches!((before, letter), ('E' | 'S', _) | ('B' | 'I', 'B' | 'S' | 'O'))
        || (!matches!(before, 'O' | '.') && before_slot != slot)
}

/// Whether a span begins at the second of two words (conlleval's `startOfChunk`).
fn opens((before, before_slot): Parts<'_>, (letter, slot): Parts<'_>) -> bool {
    matches!((before, letter), (_, 'B' | 'S') | ('E' | 'S' | 'O', 'E' | 'I'))
        || (!matches!(letter, 'O' | '.') && before_slot != slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(input: &str, lenient: &[(usize, usize, &str)], strict: &[(usize, usize, &str)]) {
        let labels: Vec<&str> = input.split_whitespace().collect();
        for (found, expected) in [(spans(&labels), lenient), (spans_strict(&labels), strict)] {
            let found: Vec<_> = found.iter().map(|span| (span.start, span.end, span.slot.as_str())).collect();
            assert_eq!(found, expected, "{input}");
        }
    }

    #[test]
    fn reads_labels_as_seqeval_does() {
        check("O B-x I-x O", &[(1, 3, "x")], &[(1, 3, "x")]);
        check("B-x B-x", &[(0, 1, "x"), (1, 2, "x")], &[(0, 1, "x"), (1, 2, "x")]);
        check("I-x I-x O I-y", &[(0, 2, "x"), (3, 4, "y")], &[]);
        check("B-x I-y", &[(0, 1, "x"), (1, 2, "y")], &[(0, 1, "x")]);
        check("B-time-range I-time-range", &[(0, 2, "time-range")], &[(0, 2, "time-range")]);
        check("B-x- I-x", &[(0, 1, "x-"), (1, 2, "x")], &[(0, 2, "x")]);
        check("B I O I", &[(0, 2, "_"), (3, 4, "_")], &[(0, 2, "_")]);
        check("Bx I-x", &[(0, 2, "x")], &[(0, 2, "x")]);
        check("B-x E-x S-x S-x", &[(0, 2, "x"), (2, 3, "x"), (3, 4, "x")], &[(0, 1, "x")]);
        check("U-x O U-y U-y", &[(0, 1, "x"), (2, 4, "y")], &[]);
        check("X B-y", &[(1, 2, "y")], &[(1, 2, "y")]);
        check("", &[], &[]);
    }

    /// Words as `label:uncertainty`.
    fn check_mark(utterance: &str, threshold: u32, expected: &str) {
        let words = utterance.split_whitespace().map(|word| word.rsplit_once(':').unwrap());
        let (labels, unknown): (Vec<&str>, Vec<bool>) = words
            .map(|(label, uncertainty)| (label, uncertainty.parse::<u32>().unwrap() > threshold))
            .unzip();
        assert_eq!(mark(&labels, &unknown).join(" "), expected, "{utterance} over {threshold}");
    }

    #[test]
    fn words_over_the_threshold_become_unknown_spans() {
        check_mark("O:1 B-city:2 O:3", 3, "O B-city O");
        check_mark("O:1 B-city:2 O:3", 2, "O B-city B-unknown");
        check_mark("O:1 B-city:3 O:3", 2, "O B-unknown I-unknown");
        check_mark("O:9 O:9 O:1 O:9", 5, "B-unknown I-unknown O B-unknown");
        check_mark("B-city:9 I-city:1", 5, "B-unknown B-city");
        check_mark("B-city:1 I-city:9 I-city:1 I-city:1", 5, "B-city B-unknown B-city I-city");
        check_mark("B-city:1 I-city:9 B-city:1", 5, "B-city B-unknown B-city");
        check_mark("B-a-b:9 I-a-b:1", 5, "B-unknown B-a-b");
        check_mark("", 0, "");
    }

    #[test]
    fn what_the_tagger_says_is_made_iob() {
        check_mark("I-city:1 O:1 I-city:1", 5, "B-city O B-city");
        check_mark("B-city:1 I-day:1 I-day:1", 5, "B-city B-day I-day");
        check_mark("B-unknown:1 I-unknown:9 I-unknown:1", 5, "B-unknown B-unknown B-unknown");
    }

    fn any_label() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["O", "O", "B-x", "I-x", "B-y", "I-y"])
    }

    fn any_labels() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("([BIOESULX.é]-?(x|y|x-y|-)?)?", 0..12)
    }

    proptest! {
        #[test]
        fn spans_are_sorted_and_do_not_overlap(labels in any_labels()) {
            for spans in [spans(&labels), spans_strict(&labels)] {
                prop_assert!(spans.iter().all(|span| span.start < span.end && span.end <= labels.len()));
                prop_assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
            }
        }

        #[test]
        fn labels_and_spans_are_inverse(lengths in prop::collection::vec((1..3usize, "[xy]", 0..3usize), 0..6)) {
            let mut expected = Vec::new();
            let mut token_idx = 0;
            for (length, slot, gap) in lengths {
                expected.push(TokenSpan { start: token_idx, end: token_idx + length, slot });
                token_idx += length + gap;
            }
            let labels = labels(&expected, token_idx);
            prop_assert_eq!(&spans(&labels), &expected);
            prop_assert_eq!(&spans_strict(&labels), &expected);
        }

        #[test]
        fn raising_a_threshold_adds_no_unknown_word(
            words in prop::collection::vec((any_label(), -5f64..5.0), 0..12),
            low in -5f64..5.0,
            up in 0f64..5.0,
        ) {
            let labels: Vec<&str> = words.iter().map(|word| word.0).collect();
            let over = |threshold: f64| words.iter().map(|word| word.1 > threshold).collect::<Vec<bool>>();
            let (low, high) = (mark(&labels, &over(low)), mark(&labels, &over(low + up)));
            for (low, high) in low.iter().zip(&high) {
                prop_assert!(!high.ends_with("-unknown") || low.ends_with("-unknown"));
            }
        }

        #[test]
        fn marked_labels_are_iob_and_otherwise_unchanged(
            words in prop::collection::vec((any_label(), any::<bool>()), 0..12),
        ) {
            let (labels, unknown): (Vec<&str>, Vec<bool>) = words.into_iter().unzip();
            let marked = mark(&labels, &unknown);
            prop_assert_eq!(spans(&marked), spans_strict(&marked));
            let found = spans(&marked);
            prop_assert_eq!(super::labels(&found, marked.len()), marked.clone());
            for ((label, marked), &unknown) in labels.iter().zip(&marked).zip(&unknown) {
                let repaired = label.replacen("I-", "B-", 1);
                prop_assert_eq!(unknown, marked.ends_with("-unknown"));
                prop_assert!(unknown || marked == label || **marked == repaired);
            }
            let runs = unknown.chunk_by(|a, b| a == b).filter(|run| run[0]).count();
            prop_assert_eq!(found.iter().filter(|span| span.slot == UNKNOWN).count(), runs);
            let unchanged = mark(&labels, &vec![false; labels.len()]);
            prop_assert_eq!(spans(&unchanged), spans(&labels));
        }
    }
}
