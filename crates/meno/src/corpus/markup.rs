//! What the writers of marked-up text share: words and labels to text with slots in it.
//!
//! Words are joined with one space. Reading cuts the text into words anew ([`super::raw`]), so what must come back is
//! the text and its slots; the words come back if the tokenizer of raw text would make them.

use super::tagged::cannot_hold;
use super::{Corpus, Utterance};
use crate::Result;
use crate::label;

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

/// The text of an utterance, words joined with spaces.
pub(super) fn pieces(utterance: &Utterance) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut gap = String::new();
    let push_plain = |gap: &mut String, pieces: &mut Vec<Piece>| {
        if !gap.is_empty() {
            pieces.push(Piece { text: std::mem::take(gap), slot: None });
        }
    };
    let mut next = 0;
    let mut words = |gap: &mut String, until: usize| {
        for word in &utterance.words[next..until] {
            gap.push_str(word);
            gap.push(' ');
        }
        next = until;
    };
    for span in label::spans(&utterance.labels) {
        words(&mut gap, span.start);
        push_plain(&mut gap, &mut pieces);
        words(&mut gap, span.end);
        let text = gap.trim_end_matches(' ').to_owned();
        pieces.push(Piece { text, slot: Some(span.slot) });
        gap = " ".to_owned();
    }
    words(&mut gap, utterance.words.len());
    gap.pop();
    push_plain(&mut gap, &mut pieces);
    pieces
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
