//! Where a name begins and ends.
//!
//! The tagger knows most words of a request and few of its names, so it is surer of the request without them: of all places that a
//! name may have, the right one is that with which the request is read most surely once a known value stands there instead. Words
//! that are added or left out, ordinary words at the ends, and capital letters that speak against a place count against it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::narrow::words;
use super::{Dialogue, Heard, Slot};
use crate::label::UNKNOWN;

/// How many words a name may gain on either side.
const MAX_GAIN: usize = 5;

/// How many kinds of thing a name is tried as.
const MAX_KINDS: usize = 2;

/// What is taken off the logarithm of the confidence, chosen on the development sets of `docs/conversation.md`.
struct Costs {
    /// For each word that the tagger has not in the name.
    gained: f32,
    /// For each word that it has there.
    lost: f32,
    /// For each end that is an ordinary word.
    ordinary: f32,
    /// For each end that capitals speak against.
    capital: f32,
}

const COSTS: Costs = Costs { gained: 0.05, lost: 0.3, ordinary: 0.5, capital: 1.0 };

/// A place that a name may have.
struct Candidate {
    place: Range<usize>,
    cost: f32,
}

impl Dialogue<'_> {
    /// Gives the phrase that is asked about the boundaries with which the request is read most surely; if there is none, the first
    /// name whose boundaries something speaks against.
    pub(super) fn bounded(&self, heard: Heard) -> Heard {
        if heard.confidence.is_none() || heard.rejected {
            return heard;
        }
        let unknown = heard.slots.iter().filter(|slot| slot.slot == UNKNOWN);
        match unknown.max_by(|a, b| a.uncertainty.total_cmp(&b.uncertainty)).cloned() {
            Some(slot) => self.ask_within(heard, slot),
            None => self.mend(heard),
        }
    }

    /// The request with the best boundaries of an unknown phrase.
    fn ask_within(&self, heard: Heard, slot: Slot) -> Heard {
        let kinds: Vec<String> = slot.guesses.iter().map(|guess| guess.0.clone()).take(MAX_KINDS).collect();
        let Some(likeliest) = kinds.first() else { return heard };
        let Some(place) = self.best_place(&heard, &slot, &kinds) else { return heard };
        if place == slot.place {
            return heard;
        }
        let asked = Slot { text: heard.text[place.clone()].to_owned(), place, ..slot };
        self.with_name(heard, asked, likeliest)
    }

    /// The request with other boundaries of a name that the tagger is sure of, if something speaks against them.
    fn mend(&self, heard: Heard) -> Heard {
        let is_name = |slot: &&Slot| {
            !self.book.resolves(&slot.slot) && !slot.explained && !self.engine.remembers(&slot.text)
        };
        let doubtful = heard.slots.iter().filter(is_name).find(|slot| self.is_doubtful(&heard, slot));
        let Some(slot) = doubtful.cloned() else { return heard };
        match self.best_place(&heard, &slot, std::slice::from_ref(&slot.slot)) {
            Some(place) if place != slot.place => {
                let kind = slot.slot.clone();
                let mended = Slot { text: heard.text[place.clone()].to_owned(), place, ..slot };
                self.with_name(heard, mended, &kind)
            }
            _ => heard,
        }
    }

    /// Whether a word in capitals stands beside a name, or nothing but ordinary words between it and another of its kind.
    fn is_doubtful(&self, heard: &Heard, slot: &Slot) -> bool {
        let request = Request::new(self, heard);
        let (first, last) = request.range_of(&slot.place);
        let is_free = |idx: usize| {
            !heard.slots.iter().any(|slot| overlaps(&slot.place, &request.words[idx]))
                && !request.is_plain(idx)
        };
        let beside = [first.checked_sub(1), Some(last).filter(|&after| after < request.words.len())];
        let joins = |other: &Slot| {
            let mut between = heard.text[slot.place.end..other.place.start].split_whitespace();
            let is_joint = |word: &str| {
                (self.book.is_ordinary(word) || self.book.is_filler(word))
                    && !self.book.is_before_another(word)
            };
            between.clone().count() <= MAX_JOINT && between.all(is_joint)
        };
        let mut after = heard.slots.iter().filter(|other| other.place.start > slot.place.end);
        beside.into_iter().flatten().any(|idx| request.is_capital(idx) && is_free(idx))
            || after.any(|other| other.slot == slot.slot && joins(other))
    }

    /// The place with which the request is read most surely as one of these kinds.
    fn best_place(&self, heard: &Heard, slot: &Slot, kinds: &[String]) -> Option<Range<usize>> {
        let mut best: Option<(f32, Range<usize>)> = None;
        for Candidate { place, cost } in self.candidates(heard, slot) {
            // A confidence is at most 1, so that no later one is better.
            if best.as_ref().is_some_and(|best| best.0 >= -cost) {
                break;
            }
            for kind in kinds {
                let read = self.engine.read(&heard.text, &[(place.clone(), kind.clone())]);
                let score = read.confidence.unwrap_or_default().ln() - cost;
                if !read.rejected && best.as_ref().is_none_or(|best| score > best.0) {
                    best = Some((score, place.clone()));
                }
            }
        }
        best.map(|(_, place)| place)
    }

    /// The places that a name may have, the cheapest first.
    fn candidates(&self, heard: &Heard, slot: &Slot) -> Vec<Candidate> {
        let request = Request::new(self, heard);
        let (first, last) = request.range_of(&slot.place);
        let mut candidates = Vec::new();
        for from in first.saturating_sub(MAX_GAIN)..last {
            for to in from.max(first) + 1..=(last + MAX_GAIN).min(request.words.len()) {
                let place = request.words[from].start..request.words[to - 1].end;
                // A name is not all that is said, nor ordinary words alone, unless the tagger has it so.
                let is_all = (from, to) == (0, request.words.len());
                let is_empty = (from..to).all(|idx| request.is_ordinary(idx));
                if (is_all || is_empty) && place != slot.place {
                    continue;
                }
                if !request.is_one_clause(from..to) || !self.has_others_whole(heard, slot, &place) {
                    continue;
                }
                let gained = first.saturating_sub(from) + to.saturating_sub(last);
                let lost = from.saturating_sub(first) + last.saturating_sub(to);
                // A request seldom begins with a name.
                let is_start = from == 0 && first > 0;
                // `my brother` is one where the tagger has it so.
                let is_owned = from == first && self.book.is_own(request.word(from));
                let ordinary = usize::from(is_start || request.is_ordinary(from) && !is_owned)
                    + usize::from(request.is_ordinary(to - 1));
                let cost = COSTS.gained * gained as f32
                    + COSTS.lost * lost as f32
                    + COSTS.ordinary * ordinary as f32
                    + COSTS.capital * request.n_against(from..to) as f32;
                candidates.push(Candidate { place, cost });
            }
        }
        candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        candidates
    }

    /// Whether a place has all or nothing of every other slot, and nothing of times and the like.
    fn has_others_whole(&self, heard: &Heard, slot: &Slot, place: &Range<usize>) -> bool {
        let others = heard.slots.iter().filter(|other| other.place != slot.place);
        others.filter(|other| overlaps(&other.place, place)).all(|other| {
            let is_whole = place.start <= other.place.start && other.place.end <= place.end;
            is_whole && !self.book.resolves(&other.slot) && !other.explained
        })
    }

    /// The request read anew beside a name.
    fn with_name(&self, heard: Heard, name: Slot, kind: &str) -> Heard {
        let mut again = self.engine.read(&heard.text, &[(name.place.clone(), kind.to_owned())]);
        let is_worth_it = |slot: &Slot| slot.slot != UNKNOWN || self.is_worth_asking(&heard.text, slot);
        again.slots.retain(|slot| !overlaps(&slot.place, &name.place) && is_worth_it(slot));
        again.slots.push(name);
        again.slots.sort_by_key(|slot| slot.place.start);
        again
    }
}

/// How many words may stand between two parts of a name: `by the`.
const MAX_JOINT: usize = 3;

fn overlaps(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The words of a request, with what tells a name from what is said about it.
struct Request<'a> {
    dialogue: &'a Dialogue<'a>,
    text: &'a str,
    words: Vec<Range<usize>>,
    /// Words that say what is to be done.
    verbs: BTreeSet<String>,
    /// Whether capitals say something: not if all words have them, or none.
    is_mixed: bool,
}

impl<'a> Request<'a> {
    fn new(dialogue: &'a Dialogue<'a>, heard: &'a Heard) -> Self {
        let text = &heard.text;
        let words: Vec<Range<usize>> = words(text).collect();
        let is_upper = |word: &Range<usize>| text[word.clone()].starts_with(char::is_uppercase);
        let is_mixed = words.iter().skip(1).any(is_upper)
            && words.iter().any(|word| text[word.clone()].starts_with(char::is_lowercase));
        Request { dialogue, text, words, verbs: dialogue.book.intent_words(&heard.intent), is_mixed }
    }

    fn word(&self, idx: usize) -> &'a str {
        &self.text[self.words[idx].clone()]
    }

    /// The first word of a place and one past the last.
    fn range_of(&self, place: &Range<usize>) -> (usize, usize) {
        let first = self.words.partition_point(|word| word.end <= place.start);
        let last = self.words.partition_point(|word| word.start < place.end);
        (first, last.max(first + 1).min(self.words.len()))
    }

    /// Whether a word has a capital that the beginning of the request does not explain.
    fn is_capital(&self, idx: usize) -> bool {
        self.is_mixed && idx > 0 && self.word(idx).starts_with(char::is_uppercase)
    }

    fn is_plain(&self, idx: usize) -> bool {
        self.dialogue.engine.is_plain(self.word(idx))
    }

    /// Whether a word seldom begins or ends a name.
    fn is_ordinary(&self, idx: usize) -> bool {
        let (word, book) = (self.word(idx), self.dialogue.book);
        let is_verb = || self.verbs.contains(&word.to_lowercase());
        !self.is_capital(idx)
            && (book.is_ordinary(word) || book.is_filler(word) || is_verb() || self.is_plain(idx))
    }

    /// Whether no mark parts some words.
    fn is_one_clause(&self, words: Range<usize>) -> bool {
        let words = &self.words[words];
        let has_mark = |pair: &[Range<usize>]| {
            self.text[pair[0].end..pair[1].start].contains([',', ';', ':', '!', '?', '.'])
        };
        !words.windows(2).any(has_mark)
    }

    /// How many ends of a name capitals speak against: a word in capitals is left out, or another stands before the first.
    fn n_against(&self, name: Range<usize>) -> usize {
        let (from, to) = (name.start, name.end);
        let goes_on = |inner: usize, outer: usize| {
            self.is_capital(inner) && self.is_capital(outer) && !self.is_plain(outer)
        };
        let before = from > 0 && goes_on(from, from - 1);
        let after = to < self.words.len() && goes_on(to - 1, to);
        let leads = !self.is_capital(from) && name.into_iter().any(|idx| self.is_capital(idx));
        usize::from(before || leads) + usize::from(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialogue::{Engine, Phrasebook, Settings};

    /// Is sure of these requests, with `_` in the place of the name, and not of others.
    struct Sure(&'static [(&'static str, f32)]);

    impl Engine for Sure {
        fn slot_of(&self, _: &str) -> Option<String> {
            None
        }

        fn is_plain(&self, words: &str) -> bool {
            ["Friday", "tonight"].contains(&words)
        }

        fn is_value(&self, _: &str, _: &str) -> bool {
            false
        }

        fn remembers(&self, _: &str) -> bool {
            false
        }

        fn read(&self, text: &str, known: &[(Range<usize>, String)]) -> Heard {
            let place = &known[0].0;
            let wording = format!("{}_{}", &text[..place.start], &text[place.end..]);
            let sure = self.0.iter().find(|known| known.0 == wording).map_or(0.1, |known| known.1);
            Heard { text: text.to_owned(), confidence: Some(sure), ..Heard::default() }
        }
    }

    /// The phrase that is asked about, or else the name, once it has its boundaries.
    fn bounded(sure: &'static [(&str, f32)], text: &str, phrase: &str, slot: &str) -> String {
        let start = text.find(phrase).unwrap();
        let name = Slot {
            slot: slot.to_owned(),
            text: phrase.to_owned(),
            place: start..start + phrase.len(),
            guesses: vec![("person".to_owned(), 0.9)],
            ..Slot::default()
        };
        let heard =
            Heard { text: text.to_owned(), confidence: Some(0.5), slots: vec![name], ..Heard::default() };
        let (settings, book) = (Settings::default(), Phrasebook::english());
        let types = ["person".to_owned(), "place".to_owned()];
        let dialogue =
            Dialogue { settings: &settings, book: &book, answers: None, types: &types, engine: &Sure(sure) };
        let [name] = &dialogue.bounded(heard).slots[..] else { panic!("one name") };
        assert_eq!(text[name.place.clone()], name.text);
        name.text.clone()
    }

    #[test]
    fn a_name_is_what_the_request_is_surest_without() {
        let ring = &[("ring _", 0.9), ("ring kevin with the _", 0.3)];
        assert_eq!(
            bounded(ring, "ring kevin with the trolley", "trolley", UNKNOWN),
            "kevin with the trolley"
        );
        let both = &[("ring _", 0.9), ("ring _ tonight", 0.9)];
        assert_eq!(bounded(both, "ring tuppy tonight", "tuppy", UNKNOWN), "tuppy");
        assert_eq!(bounded(&[], "ring kevin with the trolley", "kevin", UNKNOWN), "kevin");
    }

    #[test]
    fn capitals_and_articles_tell_where_a_name_ends() {
        let all = &[("go to _", 0.9), ("go to _ Close", 0.9), ("go to _ Friday", 0.9), ("go to the _", 0.9)];
        assert_eq!(bounded(all, "go to Wobble Close", "Wobble", UNKNOWN), "Wobble Close");
        assert_eq!(bounded(all, "go to Wobble Close", "Wobble", "place"), "Wobble Close");
        assert_eq!(bounded(all, "go to Wobble Friday", "Wobble", "place"), "Wobble");
        assert_eq!(bounded(all, "go to the clinic", "the clinic", UNKNOWN), "clinic");
        assert_eq!(bounded(all, "go to wobble close", "wobble", "place"), "wobble");
    }
}
