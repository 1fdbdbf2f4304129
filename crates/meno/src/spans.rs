//! From word labels to the spans of the answer: sorted, non-overlapping, in byte offsets of the original text.

use serde::Serialize;

use crate::corpus::tags;
use crate::text::Tokens;

/// A slot and the piece of text that fills it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Span<'t> {
    /// The slot type.
    pub slot: String,
    /// The words as they stand in the text.
    pub text: &'t str,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What the tagger takes it for and how sure it is, if it judges whole concepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guess: Option<Guess<'t>>,
}

/// The slot that a concept most likely fills.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Guess<'t> {
    /// The slot, also where the span is `unknown`.
    pub slot: &'t str,
    /// How likely it is, given that there is a concept.
    pub probability: f32,
    /// How likely there is a concept of exactly these words.
    pub limits: f32,
    /// How unsure the model is of both; higher is less sure.
    pub uncertainty: f32,
}

/// The spans that IOB labels mark, one label for each token.
pub fn assemble<'t>(text: &'t str, tokens: &Tokens, labels: &[&str]) -> Vec<Span<'t>> {
    let places: Vec<(usize, usize)> = tokens.iter().map(|token| (token.start, token.end)).collect();
    assemble_at(text, &places, labels)
}

/// As [`assemble`], with the first byte of each token and one past its last.
pub fn assemble_at<'t>(text: &'t str, places: &[(usize, usize)], labels: &[&str]) -> Vec<Span<'t>> {
    tags::iter_spans(labels)
        .filter_map(|span| {
            let (start, _) = *places.get(span.start)?;
            let (_, end) = *places.get(span.end.checked_sub(1)?)?;
            Some(Span { slot: span.slot.to_owned(), text: text.get(start..end)?, start, end, guess: None })
        })
        .collect()
}
