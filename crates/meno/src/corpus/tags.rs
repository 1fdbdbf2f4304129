//! The one place that turns word labels into spans and back.
//!
//! In memory labels are IOB2, but what is scored may be anything, so both readings take any string:
//! [`spans`] reads as conlleval and seqeval's default mode do, [`spans_strict`] as seqeval's strict mode with
//! the scheme IOB2. Whatever the labels, spans are not empty, are sorted and do not overlap.

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
            let prefix = if token_idx == 0 { "B" } else { "I" };
            *label = format!("{prefix}-{}", span.slot);
        }
    }
    labels
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
    }
}
