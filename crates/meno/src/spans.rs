//! From word labels to the spans of the answer: sorted, non-overlapping, in byte offsets of the original text.

use serde::Serialize;

use crate::corpus::tags;
use crate::text::Tokens;

/// A slot and the piece of text that fills it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span<'t> {
    /// The slot type.
    pub slot: String,
    /// The words as they stand in the text.
    pub text: &'t str,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// The spans that IOB labels mark, one label for each token.
pub fn assemble<'t>(text: &'t str, tokens: &Tokens, labels: &[&str]) -> Vec<Span<'t>> {
    tags::iter_spans(labels)
        .filter_map(|span| {
            let start = tokens.get(span.start)?.start;
            let end = tokens.get(span.end.checked_sub(1)?)?.end;
            Some(Span { slot: span.slot.to_owned(), text: text.get(start..end)?, start, end })
        })
        .collect()
}
