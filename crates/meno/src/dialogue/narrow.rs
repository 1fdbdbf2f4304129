//! What is asked about: not more words than need be.

use std::ops::Range;

use super::{Dialogue, Heard, Slot};
use crate::label::UNKNOWN;

/// So likely an unknown phrase of ordinary words alone fills a slot that it is asked about all the same.
const LIKELY: f32 = 0.8;

impl Dialogue<'_> {
    /// Cuts ordinary words off the ends of unknown phrases, and phrases at commas; what is cut off is read again beside what the
    /// phrase most likely is.
    pub(super) fn narrow(&self, heard: Heard) -> Heard {
        let (mut kept, mut is_changed) = (Vec::new(), false);
        for slot in heard.slots.iter().filter(|slot| slot.slot == UNKNOWN) {
            match self.core(&heard.text, &slot.place) {
                Some(place) if place == slot.place => kept.push(slot.clone()),
                Some(place) => {
                    is_changed = true;
                    kept.push(Slot { text: heard.text[place.clone()].to_owned(), place, ..slot.clone() });
                }
                None if !slot.outside && slot.guesses.first().is_some_and(|guess| guess.1 >= LIKELY) => {
                    kept.push(slot.clone());
                }
                None => is_changed = true,
            }
        }
        if !is_changed {
            return heard;
        }
        let known: Vec<(Range<usize>, String)> = kept
            .iter()
            .filter_map(|slot| Some((slot.place.clone(), slot.guesses.first()?.0.clone())))
            .collect();
        let mut again = self.engine.read(&heard.text, &known);
        let is_apart = |other: &Slot| {
            let overlaps =
                |slot: &Slot| other.place.start < slot.place.end && slot.place.start < other.place.end;
            !kept.iter().any(overlaps)
        };
        // What is unknown still is not asked about once more: it was just found to be ordinary.
        again.slots.retain(|slot| is_apart(slot) && slot.slot != UNKNOWN);
        again.slots.extend(kept);
        again.slots.sort_by_key(|slot| slot.place.start);
        again
    }

    /// The part of a phrase between commas that has most words which are not ordinary, without ordinary words around it.
    fn core(&self, text: &str, phrase: &Range<usize>) -> Option<Range<usize>> {
        let mut best: Option<(usize, Range<usize>)> = None;
        let mut start = phrase.start;
        for clause in text[phrase.clone()].split_inclusive([',', ';', ':', '!', '?']) {
            let words = words(clause).map(|word| start + word.start..start + word.end);
            let odd: Vec<Range<usize>> =
                words.filter(|word| !self.engine.is_ordinary(&text[word.clone()])).collect();
            if let (Some(first), Some(last)) = (odd.first(), odd.last())
                && best.as_ref().is_none_or(|(n, _)| odd.len() > *n)
            {
                best = Some((odd.len(), first.start..last.end));
            }
            start += clause.len();
        }
        best.map(|(_, place)| place)
    }
}

/// Where the words of a text stand, without marks around them.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_whitespace().filter_map(move |piece| {
        let word = piece.trim_matches(|c: char| !c.is_alphanumeric());
        // Both are slices of the text.
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        (!word.is_empty()).then(|| start..start + word.len())
    })
}
