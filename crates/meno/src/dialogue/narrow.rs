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
        // What is not trusted is not acted upon, even if no words of it are worth a question.
        let has_nothing_to_ask = kept.is_empty() && again.intents.is_empty();
        if has_nothing_to_ask && !again.rejected && !again.intent.is_empty() {
            again.intents = vec![again.intent.clone()];
        }
        again.slots.extend(kept);
        again.slots.sort_by_key(|slot| slot.place.start);
        again
    }

    /// Whether an unknown phrase has anything to ask about.
    pub(super) fn is_worth_asking(&self, text: &str, slot: &Slot) -> bool {
        self.core(text, &slot.place).is_some()
    }

    /// The longest part of a phrase between marks, without ordinary words and known times or numbers at its ends.
    fn core(&self, text: &str, phrase: &Range<usize>) -> Option<Range<usize>> {
        let clauses = clauses(&text[phrase.clone()]).into_iter();
        let cores = clauses.filter_map(|clause| {
            let words: Vec<Range<usize>> = words(&text[phrase.clone()][clause.clone()])
                .map(|word| phrase.start + clause.start + word.start..phrase.start + clause.start + word.end)
                .collect();
            self.trim(text, &words)
        });
        let n_words = |core: &Range<usize>| text[core.clone()].split_whitespace().count();
        let core = cores.max_by_key(|core| (n_words(core), std::cmp::Reverse(core.start)))?;
        // Marks around it are its own if no word was cut off.
        let is_cut = |rest: &str| rest.contains(char::is_alphanumeric);
        let is_whole = !is_cut(&text[phrase.start..core.start]) && !is_cut(&text[core.end..phrase.end]);
        Some(if is_whole { phrase.clone() } else { core })
    }

    fn trim(&self, text: &str, mut words: &[Range<usize>]) -> Option<Range<usize>> {
        let place = |words: &[Range<usize>]| Some(words.first()?.start..words.last()?.end);
        let is_ordinary = |words: &[Range<usize>]| {
            let words = place(words).map_or("", |place| &text[place]);
            self.book.is_ordinary(words) || self.engine.is_plain(words)
        };
        loop {
            let n = words.len().min(MAX_CUT);
            let before = (1..=n).rev().find(|&n| is_ordinary(&words[..n]));
            let after = (1..=n).rev().find(|&n| is_ordinary(&words[words.len() - n..]));
            words = match (before, after) {
                (Some(n), _) => &words[n..],
                (None, Some(n)) => &words[..words.len() - n],
                (None, None) => {
                    let says_something = |word: &Range<usize>| !self.book.is_filler(&text[word.clone()]);
                    return place(words).filter(|_| words.iter().any(says_something));
                }
            };
        }
    }
}

/// How many words are cut off at once: `half past six`.
const MAX_CUT: usize = 4;

/// The parts of a text between marks that a space or the end follows.
pub(super) fn clauses(text: &str) -> Vec<Range<usize>> {
    let (mut clauses, mut start) = (Vec::new(), 0);
    for (at, mark) in text.match_indices([',', ';', ':', '!', '?', '.']) {
        let end = at + mark.len();
        if text[end..].chars().next().is_none_or(char::is_whitespace) {
            clauses.push(start..at);
            start = end;
        }
    }
    clauses.push(start..text.len());
    clauses
}

/// Where the words of a text stand, without marks around them.
pub(super) fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_whitespace().filter_map(move |piece| {
        let word = piece.trim_matches(|c: char| !c.is_alphanumeric());
        // Both are slices of the text.
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        (!word.is_empty()).then(|| start..start + word.len())
    })
}

/// Where some words stand in a text, whatever their case.
pub(super) fn find_words(text: &str, words: &str) -> Option<Range<usize>> {
    let is_end = |at: usize| !text[at..].starts_with(char::is_alphanumeric);
    let is_start = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    let ends = |start: usize| {
        start.checked_add(words.len()).filter(|&end| text.is_char_boundary(end) && end <= text.len())
    };
    text.char_indices().find_map(|(start, _)| {
        let end = ends(start)?;
        let is_same = text[start..end].to_lowercase() == words.to_lowercase();
        (is_same && is_start(start) && is_end(end)).then_some(start..end)
    })
}
