//! What the writers of marked-up text share: words and labels to text with slots in it.
//!
//! Words are joined with one space, those of scripts without spaces with none. Reading cuts the text into words anew
//! ([`super::raw`]), so what must come back is the text and its slots; the words come back if the tokenizer of raw text
//! would make them.

use super::tagged::cannot_hold;
use super::{Corpus, Utterance};
use crate::Result;
use crate::label;
use crate::text::clusters::space_between;

/// A stretch of text inside a slot or outside of any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) slot: Option<String>,
}

impl Piece {
    pub(super) fn plain(text: &str) -> Self {
        Piece { text: text.to_owned(), slot: None }
    }
}

/// The text of an utterance.
pub(super) fn pieces(utterance: &Utterance) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let spans = label::spans(&utterance.labels);
    let mut spans = spans.iter().peekable();
    let mut before = "";
    for (word_idx, word) in utterance.words.iter().enumerate() {
        let _ = spans.next_if(|span| span.end <= word_idx);
        let span = spans.peek().filter(|span| span.start <= word_idx);
        let begins = span.is_none_or(|span| span.start == word_idx);
        let space = if word_idx > 0 && space_between(before, word) { " " } else { "" };
        match (span, pieces.last_mut()) {
            (Some(_), Some(slot)) if !begins => slot.text.extend([space, word]),
            (Some(span), _) => {
                push_plain(&mut pieces, &[space]);
                pieces.push(Piece { text: word.clone(), slot: Some(span.slot.clone()) });
            }
            (None, _) => push_plain(&mut pieces, &[space, word]),
        }
        before = word;
    }
    pieces
}

/// Adds to the text outside of slots.
fn push_plain(pieces: &mut Vec<Piece>, parts: &[&str]) {
    let text = parts.concat();
    match pieces.last_mut() {
        Some(Piece { text: before, slot: None }) => before.push_str(&text),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece { text, slot: None }),
    }
}

/// An utterance as one line of markup, checked by reading the line again: what would change is an error.
pub(super) fn render(
    corpus: &Corpus,
    utterance: &Utterance,
    format: &str,
    mark: impl Fn(&str, &str) -> String,
    parse: impl Fn(&str) -> Result<Vec<Piece>, String>,
) -> Result<String> {
    let pieces = pieces(utterance);
    let line: String = pieces
        .iter()
        .map(|piece| match &piece.slot {
            Some(slot) => mark(&piece.text, slot),
            None => piece.text.clone(),
        })
        .collect();
    demand_markup(corpus, utterance, format)?;
    if let Ok(mut found) = parse(&line) {
        found.retain(|piece| !piece.text.is_empty());
        if found == pieces {
            return Ok(line);
        }
    }
    Err(cannot_hold(corpus, utterance, format, &format!("`{line}` would be read differently")))
}

/// Demands what marked-up text can say: no true labels, words without white space.
pub(super) fn demand_markup(corpus: &Corpus, utterance: &Utterance, format: &str) -> Result<()> {
    if utterance.truth.is_some() {
        return Err(cannot_hold(corpus, utterance, format, "it has true labels beside its labels"));
    }
    match utterance.words.iter().find(|word| word.contains(char::is_whitespace)) {
        Some(word) => Err(cannot_hold(corpus, utterance, format, &format!("`{word}` has white space in it"))),
        None => Ok(()),
    }
}
