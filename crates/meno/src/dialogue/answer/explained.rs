//! What an answer says of the phrase in question: that it is something, or what it is not.

use super::mention::{Delexicalized, Mention};
use super::{Answer, Asked, Meaning, touches};
use crate::dialogue::act::Said;

impl Asked<'_> {
    /// Types are ruled out; if another one is affirmed, it is that.
    pub(super) fn ruled_out(&self, answer: &Delexicalized<'_>) -> Answer {
        let is_ruled_out = |idx: &usize| self.is_ruled_out(answer, *idx);
        let types = |idx: usize| answer.types(idx).and_then(|types| types.first().cloned());
        let (out, affirmed): (Vec<usize>, Vec<usize>) =
            (0..answer.pieces.len()).filter(|&idx| types(idx).is_some()).partition(is_ruled_out);
        match (out.is_empty(), affirmed.first()) {
            (false, Some(&idx)) if self.is_open => types(idx).map_or(Answer::Unclear, Answer::Type),
            (false, Some(&idx)) => {
                types(idx).map_or(Answer::Unclear, |slot| Answer::Teach(None, Meaning::Type(slot)))
            }
            (true, None) => Answer::No,
            // The no is in another clause.
            (true, Some(&idx)) if self.is_open && (1..=idx).any(|idx| answer.is_after_mark(idx)) => {
                types(idx).map_or(Answer::Unclear, Answer::Type)
            }
            _ => Answer::NotType(out.into_iter().chain(affirmed).filter_map(types).collect()),
        }
    }

    /// What the phrase in question is, perhaps with other boundaries.
    pub(super) fn explained(&self, text: &str, answer: &Delexicalized<'_>, said: &Said) -> Answer {
        match self.type_in(text, answer, said) {
            Some(Meaning::Type(slot)) => self.with_boundaries(answer, slot),
            Some(Meaning::NewType(name)) => Answer::NewType(name),
            _ if self.has_ruled_out(answer) => self.ruled_out(answer),
            _ => Answer::Unclear,
        }
    }

    /// The phrase is of this type; it may have other boundaries, if a clause begins with them.
    pub(super) fn with_boundaries(&self, answer: &Delexicalized<'_>, slot: String) -> Answer {
        let hear = &self.book.hear;
        let is_lead = |idx: &usize| {
            let form = &answer.words[answer.pieces[*idx].0.start].form;
            let leads = [&hear.filler, &hear.no, &hear.just, &hear.intro, &hear.hedge];
            leads.into_iter().any(|words| words.contains(form))
        };
        let is_first = |idx: usize| {
            let back = (0..idx).rev().take_while(|&before| !answer.is_after_mark(before + 1));
            back.into_iter().all(|before| is_lead(&before))
        };
        let other = answer.pieces.iter().enumerate().find_map(|(idx, (_, mention))| match mention {
            Mention::Phrase(place) if is_first(idx) => Some(place.clone()),
            _ => None,
        });
        match other {
            Some(place) if place != self.phrase && touches(&place, &self.phrase) => {
                Answer::Boundaries(place, Some(slot))
            }
            _ => Answer::Type(slot),
        }
    }

    pub(super) fn has_ruled_out(&self, answer: &Delexicalized<'_>) -> bool {
        (0..answer.pieces.len()).any(|idx| answer.types(idx).is_some() && self.is_ruled_out(answer, idx))
    }
}
