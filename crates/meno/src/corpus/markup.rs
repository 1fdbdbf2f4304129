//! What the formats with marked-up text share: text with slots in it to words and labels, and back.
//!
//! Words are the pieces between white space, cut additionally where a slot begins or ends: `[New York](city)s` is
//! `New York s`. Writing joins words with one space, so such a cut comes back as two words.

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

/// The words and labels of a text; a slot without a name or without words is an error.
pub(super) fn assemble(pieces: &[Piece]) -> Result<(Vec<String>, Vec<String>), String> {
    let mut words: Vec<String> = Vec::new();
    let mut labels: Vec<String> = Vec::new();
    // Whether the text so far ends in a plain word that the next plain piece may carry on.
    let mut unfinished = false;
    for Piece { text, slot } in pieces {
        let mut parts = text.split_whitespace();
        if let Some(slot) = slot {
            if slot.is_empty() {
                return Err(format!("`{text}` is marked with an empty slot"));
            }
            let start = words.len();
            words.extend(parts.map(str::to_owned));
            if words.len() == start {
                return Err(format!("slot `{slot}` holds no word"));
            }
            labels.push(label::iob(slot, true));
            labels.resize(words.len(), label::iob(slot, false));
            unfinished = false;
        } else if !text.is_empty() {
            if unfinished && !text.starts_with(char::is_whitespace) {
                let word = words.last_mut().expect("there is an unfinished word");
                *word += parts.next().unwrap_or_default();
            }
            words.extend(parts.map(str::to_owned));
            labels.resize(words.len(), "O".to_owned());
            let ends_in_word = !text.ends_with(char::is_whitespace);
            unfinished = ends_in_word;
        }
    }
    Ok((words, labels))
}

/// The text of an utterance, words joined with spaces; the inverse of [`assemble`].
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
    let read_again = parse(&line).and_then(|pieces| assemble(&pieces));
    demand_same(corpus, utterance, format, read_again.ok(), &line)?;
    Ok(line)
}

/// Fails unless an utterance comes back as it was.
pub(super) fn demand_same(
    corpus: &Corpus,
    utterance: &Utterance,
    format: &str,
    read_again: Option<(Vec<String>, Vec<String>)>,
    line: &str,
) -> Result<()> {
    let spans = label::spans(&utterance.labels);
    if utterance.truth.is_some() {
        return Err(cannot_hold(corpus, utterance, format, "it has true labels beside its labels"));
    }
    match read_again {
        Some((words, labels)) if words == utterance.words && label::spans(&labels) == spans => Ok(()),
        _ => Err(cannot_hold(corpus, utterance, format, &format!("`{line}` would be read differently"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_words_at_spaces_and_slots() {
        let piece = |text: &str, slot: &str| Piece {
            text: text.to_owned(),
            slot: (!slot.is_empty()).then(|| slot.to_owned()),
        };
        let check = |pieces: &[Piece], words: &str, labels: &str| {
            let (found_words, found_labels) = assemble(pieces).unwrap();
            assert_eq!(
                (found_words.join(" "), found_labels.join(" ")),
                (words.to_owned(), labels.to_owned())
            );
        };
        check(
            &[piece("in ", ""), piece("New  York", "c"), piece("s now", "")],
            "in New York s now",
            "O B-c I-c O O",
        );
        check(&[piece("a", "x"), piece("b", "x")], "a b", "B-x B-x");
        check(&[piece("fo", ""), piece("o b", ""), piece("ar ", ""), piece("x", "")], "foo bar x", "O O O");
        assert!(assemble(&[piece(" ", "x")]).is_err());
        assert!(assemble(&[Piece { text: "a".into(), slot: Some(String::new()) }]).is_err());
    }
}
