//! Other boundaries of the phrase in question: `just regrets`, `the last two words`, `tomorrow isn't part of it`.

use std::ops::Range;

use super::mention::{Delexicalized, Mention};
use super::{Answer, Asked, Meaning, Word, touches, without_lead, words};
use crate::dialogue::act::Said;

impl Asked<'_> {
    /// Other boundaries of the phrase: the words of the request that are named, or all but those that are ruled out.
    pub(super) fn other_boundaries(&self, answer: &Delexicalized<'_>, said: &Said) -> Answer {
        let place = |idx: usize| match &answer.pieces[idx].1 {
            Mention::Phrase(place) if touches(place, &self.phrase) => Some(place.clone()),
            _ => None,
        };
        let mentions = (0..answer.pieces.len()).filter_map(|idx| Some((idx, place(idx)?)));
        let (cut, kept): (Vec<_>, Vec<_>) = mentions
            .filter(|(_, place)| *place != self.phrase)
            .partition(|(idx, _)| self.is_cut(answer, *idx));
        let labelled = said.words("phrase").and_then(|pieces| {
            let kept = |idx: &usize| !self.is_cut(answer, *idx);
            let (first, last) =
                (pieces.clone().filter(kept).find_map(place)?, pieces.rev().filter(kept).find_map(place)?);
            (first.start < last.end).then_some(first.start..last.end)
        });
        // `Manor belongs with Little Snoring`
        let is_joined =
            answer.forms().iter().any(|form| self.book.hear.together.iter().any(|word| word == form));
        let joined = || {
            let (start, end) =
                (kept.iter().map(|kept| kept.1.start).min()?, kept.iter().map(|kept| kept.1.end).max()?);
            Some(start..end).filter(|_| is_joined && kept.len() > 1)
        };
        let labelled = labelled.filter(|place| *place != self.phrase);
        let named = joined().or(labelled).or_else(|| Some(kept.first()?.1.clone()));
        let slot = self.head(answer).filter(|head| !head.is_weak).and_then(|head| match head.meaning {
            Meaning::Type(slot) if self.options.is_empty() || self.options.contains(&slot) => Some(slot),
            _ => None,
        });
        let cut = cut.first().map(|(_, place)| place.clone());
        match named.or_else(|| self.part_of_phrase(answer)).or_else(|| self.without(cut?)) {
            Some(place) if place != self.phrase && touches(&place, &self.phrase) => {
                Answer::Boundaries(place, slot)
            }
            _ => slot.map_or(Answer::Unclear, Answer::Type),
        }
    }

    /// Whether words are mentioned only to say that they do not belong: `without tomorrow`, `six is the time`.
    fn is_cut(&self, answer: &Delexicalized<'_>, piece_idx: usize) -> bool {
        let hear = &self.book.hear;
        let forms = answer.forms();
        let has = |words: &[String], form: &str| words.iter().any(|word| word == form);
        let is_phrase = |idx: usize| matches!(answer.pieces[idx].1, Mention::Phrase(_));
        let far = piece_idx.saturating_sub(3);
        let mut before =
            (far..piece_idx).rev().take_while(|&idx| !is_phrase(idx) && !answer.is_after_mark(idx + 1));
        if before.any(|idx| has(&hear.cut, forms[idx])) {
            return true;
        }
        let (place, _) = &answer.pieces[piece_idx];
        let is_short = answer.words[place.end - 1].form.ends_with("'s");
        let after = &forms[piece_idx + 1..];
        let says_is = is_short || after.first().is_some_and(|form| has(&hear.is, form));
        let said_of: Vec<usize> = (piece_idx + 1..forms.len().min(piece_idx + 5)).collect();
        let is_other = |idx: &usize| {
            let is_unasked = |types: &[String]| types.iter().all(|slot| !self.options.contains(slot));
            has(&hear.apart, forms[*idx]) || answer.types(*idx).is_some_and(is_unasked)
        };
        let is_offered = |idx: &usize| {
            answer.types(*idx).is_some_and(|types| types.iter().any(|slot| self.options.contains(slot)))
        };
        let says_not = match after {
            [first, ..] if has(&hear.not, first) && *first != "not" => true,
            [_, second, ..] => *second == "not" && says_is,
            _ => false,
        } || after.first().is_some_and(|form| has(&hear.lacks, form));
        let first_said = said_of.iter().find(|idx| is_other(idx) || is_offered(idx));
        says_not || says_is && first_said.is_some_and(is_other)
    }

    /// `only the last two words`, `the last word is when`.
    fn part_of_phrase(&self, answer: &Delexicalized<'_>) -> Option<Range<usize>> {
        let hear = &self.book.hear;
        let words: Vec<Word> = self::words(&self.request[self.phrase.clone()]);
        let place = |words: &[Word]| {
            let start = self.phrase.start;
            Some(start + words.first()?.place.start..start + words.last()?.place.end)
        };
        let forms: Vec<&str> = answer.words.iter().map(|word| word.form.as_str()).collect();
        let is_cut = forms.iter().any(|form| {
            [&hear.cut, &hear.apart, &hear.not].into_iter().any(|words| words.iter().any(|word| word == form))
        });
        let number = |form: &str| hear.number.iter().position(|names| names.iter().any(|name| name == form));
        let count = |at: usize| forms.get(at).and_then(|form| number(form)).map_or(1, |number| number + 1);
        forms.iter().enumerate().find_map(|(at, form)| {
            let n = count(at + 1).min(words.len());
            match (*form, is_cut) {
                ("first", false) => place(&words[..n]),
                ("last", false) => place(&words[words.len() - n..]),
                ("first", true) => place(&words[n..]),
                ("last", true) => place(&words[..words.len() - n]),
                _ => None,
            }
        })
    }

    /// The phrase without some words at its start or end, and without ordinary words that led to these.
    fn without(&self, cut: Range<usize>) -> Option<Range<usize>> {
        let rest = match (cut.start <= self.phrase.start, self.phrase.end <= cut.end) {
            (true, false) => cut.end..self.phrase.end,
            (false, true) => self.phrase.start..cut.start,
            _ => return None,
        };
        let kept = self::words(&self.request[rest.clone()]);
        let says = |word: &&Word| !self.book.is_ordinary(&word.form);
        let (first, last) = (kept.iter().find(says)?, kept.iter().rfind(says)?);
        Some(rest.start + first.place.start..rest.start + last.place.end)
    }

    /// `just regrets`, `no, burpees and regrets`, `only regrets, it's an album`.
    pub(super) fn boundaries(&self, words: &[Word]) -> Option<Answer> {
        let hear = &self.book.hear;
        let forms: Vec<&str> = words.iter().map(|word| word.form.as_str()).collect();
        let (said_no, rest) = without_lead(&forms, &hear.no);
        let (said_just, rest) = without_lead(rest, &hear.just);
        if !said_no && !said_just || rest.is_empty() {
            return None;
        }
        let request = self::words(self.request);
        // The longest run of the request's words that the answer goes on with, and that touches the phrase.
        let matched = (0..request.len())
            .filter_map(|start| {
                let n =
                    rest.iter().zip(&request[start..]).take_while(|(said, word)| **said == word.form).count();
                let place = (n > 0).then(|| request[start].place.start..request[start + n - 1].place.end)?;
                let touches = place.start < self.phrase.end && self.phrase.start < place.end;
                (touches && place != self.phrase).then_some((n, place))
            })
            .max_by_key(|(n, place)| (*n, std::cmp::Reverse(place.start)))?;
        let (n, place) = matched;
        match &rest[n..] {
            [] => Some(Answer::Boundaries(place, None)),
            rest => Some(Answer::Boundaries(place, Some(self.named(rest)?))),
        }
    }

    /// `Wet Sock Waltz Part Two, the whole thing, it's a song`: a clause of words of the request, and one that says what it is.
    pub(super) fn boundaries_and_type(&self, words: &[Word]) -> Option<Answer> {
        let n = 1 + words.iter().skip(1).position(|word| word.after_mark)?;
        let answer = self.delexicalize(&words[..n]);
        let said: Vec<&(Range<usize>, Mention)> = answer
            .pieces
            .iter()
            .filter(|(place, mention)| {
                *mention != Mention::Word || !self.book.hear.filler.contains(&words[place.start].form)
            })
            .collect();
        let [(_, Mention::Phrase(place))] = said.as_slice() else { return None };
        let clauses = words[n..].chunk_by(|_, next| !next.after_mark);
        let mut types = clauses.filter_map(|clause| {
            self.named(&clause.iter().map(|word| word.form.as_str()).collect::<Vec<_>>())
        });
        let slot = types.next().filter(|slot| self.options.contains(slot))?;
        let is_other = *place != self.phrase && touches(place, &self.phrase);
        is_other.then(|| Answer::Boundaries(place.clone(), Some(slot)))
    }
}
