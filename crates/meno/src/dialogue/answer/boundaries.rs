//! Other boundaries of the phrase in question: `just regrets`, `the last two words`, `tomorrow isn't part of it`.

use std::ops::Range;

use super::mention::{Delexicalized, Mention};
use super::{Answer, Asked, Word, touches, without_lead, words};
use crate::dialogue::act::Said;

impl Asked<'_> {
    /// Other boundaries of the phrase: the words of the request that are named, or all but those that are ruled out.
    pub(super) fn other_boundaries(&self, answer: &Delexicalized<'_>, said: &Said) -> Answer {
        let types = |idx: usize| answer.types(idx).and_then(|types| types.first().cloned());
        let slot = said.words("type").and_then(|pieces| pieces.rev().find_map(types));
        let named = said.words("phrase").and_then(|pieces| {
            let place = |idx: usize| match &answer.pieces[idx].1 {
                Mention::Phrase(place) => Some(place.clone()),
                _ => None,
            };
            let (first, last) = (pieces.clone().find_map(place)?, pieces.rev().find_map(place)?);
            (first.start < last.end).then_some(first.start..last.end)
        });
        let forms = answer.forms();
        let is_cut = forms.iter().any(|form| self.book.hear.cut.iter().any(|cut| cut == form));
        let place = named.filter(|_| !is_cut).or_else(|| self.part_of_phrase(answer, is_cut));
        match place {
            Some(place) if place != self.phrase && touches(&place, &self.phrase) => {
                Answer::Boundaries(place, slot)
            }
            Some(_) if slot.is_some() => slot.map_or(Answer::Unclear, Answer::Type),
            _ => Answer::Unclear,
        }
    }

    /// `only the last two words`, `tomorrow isn't part of it`.
    pub(super) fn part_of_phrase(&self, answer: &Delexicalized<'_>, is_cut: bool) -> Option<Range<usize>> {
        let words: Vec<Word> = self::words(&self.request[self.phrase.clone()]);
        let place = |words: &[Word]| {
            let start = self.phrase.start;
            Some(start + words.first()?.place.start..start + words.last()?.place.end)
        };
        let forms: Vec<&str> = answer.words.iter().map(|word| word.form.as_str()).collect();
        let numbers = &self.book.hear.number;
        let number = |form: &str| numbers.iter().position(|names| names.iter().any(|name| name == form));
        let count = |at: usize| forms.get(at).and_then(|form| number(form)).map_or(1, |number| number + 1);
        for (at, form) in forms.iter().enumerate() {
            let n = count(at + 1).min(words.len());
            let (first, last) = (&words[..n], &words[words.len() - n..]);
            match (*form, is_cut) {
                ("first", false) => return place(first),
                ("last", false) => return place(last),
                ("first", true) => return place(&words[n..]),
                ("last", true) => return place(&words[..words.len() - n]),
                _ => {}
            }
        }
        let cut = self.mentioned(answer)?;
        let rest = match (cut.start <= self.phrase.start, self.phrase.end <= cut.end) {
            (true, false) => cut.end..self.phrase.end,
            (false, true) => self.phrase.start..cut.start,
            _ => return Some(cut),
        };
        let kept = self::words(&self.request[rest.clone()]);
        Some(rest.start + kept.first()?.place.start..rest.start + kept.last()?.place.end)
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
}
