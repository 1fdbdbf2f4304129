//! What an answer mentions: parts of the request, and types that are known.

use std::ops::Range;

use super::{Asked, Word, touches, words};
use crate::dialogue::act;

/// What some words of an answer mention.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mention {
    /// A part of the request, in bytes.
    Phrase(Range<usize>),
    /// A type that is known, by which types the name may be.
    Type(Vec<String>),
    Word,
}

/// An answer with what it mentions in place of words.
pub(super) struct Delexicalized<'w> {
    /// The words of the answer that each piece stands for.
    pub(super) pieces: Vec<(Range<usize>, Mention)>,
    pub(super) words: &'w [Word],
}

impl Delexicalized<'_> {
    pub(super) fn forms(&self) -> Vec<&str> {
        let form = |(words, mention): &(Range<usize>, Mention)| match mention {
            Mention::Phrase(_) => act::PHRASE,
            Mention::Type(_) => act::TYPE,
            Mention::Word => self.words[words.start].form.as_str(),
        };
        self.pieces.iter().map(form).collect()
    }

    /// The words as they were said.
    pub(super) fn all_forms(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.form.as_str()).collect()
    }

    /// The types that a piece may name.
    pub(super) fn types(&self, piece_idx: usize) -> Option<&[String]> {
        match &self.pieces[piece_idx].1 {
            Mention::Type(types) => Some(types),
            _ => None,
        }
    }

    /// Whether a mark stands before a piece.
    pub(super) fn is_after_mark(&self, piece_idx: usize) -> bool {
        self.words[self.pieces[piece_idx].0.start].after_mark
    }

    /// The words of some pieces as they were typed.
    pub(super) fn text<'t>(&self, text: &'t str, pieces: Range<usize>) -> &'t str {
        let (first, last) = (&self.pieces[pieces.start].0, &self.pieces[pieces.end - 1].0);
        &text[self.words[first.start].place.start..self.words[last.end - 1].place.end]
    }
}

impl Asked<'_> {
    /// Puts what is mentioned in the place of words: parts of the request, then types.
    pub(super) fn delexicalize<'w>(&self, said: &'w [Word]) -> Delexicalized<'w> {
        let request = words(self.request);
        let mut pieces: Vec<(Range<usize>, Mention)> = Vec::new();
        let mut at = 0;
        while at < said.len() {
            let phrase = self.request_words(&said[at..], &request);
            // `an old friend` is not about *Old Tuppenny*.
            let is_apart = at > 0 && self.book.hear.one.contains(&said[at - 1].form);
            let phrase =
                phrase.filter(|(_, mention)| !is_apart || *mention == Mention::Phrase(self.phrase.clone()));
            let kind = || self.type_words(&said[at..]).filter(|_| !self.is_vocative(said, at));
            let (n, mention) = phrase.or_else(kind).unwrap_or((1, Mention::Word));
            // Of several in a row the last says what it is: a `gym playlist` is a playlist.
            match (pieces.last_mut(), &mention) {
                (Some((place, Mention::Type(before))), Mention::Type(types)) => {
                    place.end = at + n;
                    before.clone_from(types);
                }
                _ => pieces.push((at..at + n, mention)),
            }
            at += n;
        }
        Delexicalized { pieces, words: said }
    }

    /// Whether a word speaks to whom is asked: `no idea mate`, `a place dear`, but not `my best mate`.
    fn is_vocative(&self, said: &[Word], at: usize) -> bool {
        let hear = &self.book.hear;
        let is_last = said.get(at + 1).is_none_or(|next| next.after_mark);
        let before = || said[..at].iter().rev().take_while(|word| !word.after_mark);
        let is_article = |word: &Word| hear.article.contains(&word.form) || hear.own.contains(&word.form);
        let after_kind = at > 0 && self.type_words(&said[at - 1..at]).is_some();
        hear.vocative.contains(&said[at].form)
            && is_last
            && before().next().is_some()
            && (after_kind || !before().any(is_article))
    }

    /// How many words in front are words of the request that touch the phrase or another slot, and which these are.
    fn request_words(&self, words: &[Word], request: &[Word]) -> Option<(usize, Mention)> {
        let matched = (0..request.len()).filter_map(|start| {
            // A mark parts two mentions: `Tansy. Tomorrow is when.`
            let is_same = |(idx, (said, word)): &(usize, (&Word, &Word))| {
                said.form == word.form && (*idx == 0 || !said.after_mark || word.after_mark)
            };
            let pairs = words.iter().zip(&request[start..]).enumerate();
            let mut n = pairs.take_while(is_same).count();
            // `Steve's a person`
            if let (Some(said), Some(word)) = (words.get(n), request.get(start + n))
                && said.form.strip_suffix("'s") == Some(&word.form)
                && self.is_slot(&(request[start].place.start..word.place.end))
            {
                n += 1;
            }
            let place = (n > 0).then(|| request[start].place.start..request[start + n - 1].place.end)?;
            let inside = |slot: &Range<usize>| slot.start <= place.start && place.end <= slot.end;
            let is_filler = n == 1 && self.book.hear.filler.contains(&request[start].form);
            let counts = touches(&place, &self.phrase) || self.slots.iter().any(inside);
            (counts && !is_filler).then_some((n, place))
        });
        matched.max_by_key(|(n, _)| *n).map(|(n, place)| (n, Mention::Phrase(place)))
    }

    /// Whether some bytes of the request are the phrase in question or one of its slots.
    fn is_slot(&self, place: &Range<usize>) -> bool {
        *place == self.phrase || self.slots.contains(place)
    }

    /// How many words in front name a type.
    pub(super) fn type_words(&self, words: &[Word]) -> Option<(usize, Mention)> {
        (1..=words.len().min(4)).rev().find_map(|n| {
            let name = words[..n].iter().map(|word| word.form.as_str()).collect::<Vec<_>>().join(" ");
            let types = self.options.iter().chain(self.types).filter(|slot| self.is_name(slot, &name));
            let mut types: Vec<String> = types.cloned().collect();
            types.dedup();
            (!types.is_empty()).then_some((n, Mention::Type(types)))
        })
    }
}
