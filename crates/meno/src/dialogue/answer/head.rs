//! The noun that says what something is: the head of the first noun phrase that is affirmed. *A pub my aunt runs* is a pub and no aunt,
//! *my sister's flat* a flat.

use std::collections::BTreeSet;
use std::ops::Range;

use super::mention::{Delexicalized, Mention};
use super::{Asked, Meaning, Word};
use crate::features::Vectors;
use crate::memory::slips;

/// What the head of a noun phrase says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Head {
    pub(super) meaning: Meaning,
    /// Whether the phrase ends with it, so that no word that nobody knows says more.
    pub(super) is_exact: bool,
    /// Whether it is a word like *thing*, which says little.
    pub(super) is_weak: bool,
}

/// The most words of a noun: *robot vacuum cleaner*.
const MAX_NOUN: usize = 3;

impl Asked<'_> {
    /// The first head that is not ruled out, after a repair if there is one; what says little only where there is nothing else.
    pub(super) fn head(&self, answer: &Delexicalized<'_>) -> Option<Head> {
        let hear = &self.book.hear;
        let words = answer.words;
        let last_repair = words.iter().rposition(|word| hear.repair.contains(&word.form));
        let starts = self.phrase_starts(answer);
        let heads: Vec<(usize, Head)> = starts
            .into_iter()
            .filter(|&start| !self.is_denied(words, start))
            .filter_map(|start| Some((start, self.head_from(answer, start)?)))
            .collect();
        let is_after = |start: usize| last_repair.is_some_and(|repair| start > repair);
        let repaired = heads.iter().find(|(start, head)| is_after(*start) && !head.is_weak);
        let first = || heads.iter().find(|(_, head)| !head.is_weak);
        repaired.or_else(first).or(heads.first()).map(|(_, head)| head.clone())
    }

    /// Where noun phrases begin that say what something is: behind *it's* and *is*, or with a clause that has no such word.
    fn phrase_starts(&self, answer: &Delexicalized<'_>) -> Vec<usize> {
        let hear = &self.book.hear;
        let words = answer.words;
        let is_intro = |idx: usize| {
            let form = &words[idx].form;
            hear.is.contains(form) || hear.intro.contains(form) || self.is_short_intro(answer, idx)
        };
        let is_break =
            |idx: usize| idx == 0 || words[idx].after_mark || hear.repair.contains(&words[idx - 1].form);
        let clause_starts: Vec<usize> = (0..words.len()).filter(|&idx| is_break(idx)).collect();
        let mut starts = Vec::new();
        for (nth, &start) in clause_starts.iter().enumerate() {
            let end = clause_starts.get(nth + 1).copied().unwrap_or(words.len());
            let intros: Vec<usize> = (start..end).filter(|&idx| is_intro(idx)).map(|idx| idx + 1).collect();
            match intros.is_empty() {
                true => starts.push(start),
                false => starts.extend(intros.into_iter().filter(|&idx| idx < end)),
            }
        }
        starts
    }

    /// `Steve's a person`: a mention of the phrase that ends with *'s*.
    fn is_short_intro(&self, answer: &Delexicalized<'_>, word_idx: usize) -> bool {
        let is_it = |(place, mention): &&(Range<usize>, Mention)| {
            place.end == word_idx + 1 && matches!(mention, Mention::Phrase(_))
        };
        answer.words[word_idx].form.ends_with("'s") && answer.pieces.iter().any(|piece| is_it(&piece))
    }

    /// Whether what follows is denied: `not a person`, `no person`, but not `no, a person`.
    fn is_denied(&self, words: &[Word], start: usize) -> bool {
        let hear = &self.book.hear;
        let is_clause = words.get(start).is_some_and(|word| word.after_mark);
        let n_before = if is_clause { 0 } else { 2 };
        let before = words[..start].iter().rev().take_while(|word| !word.after_mark).take(n_before);
        let is_lead = |word: &&Word| hear.filler.contains(&word.form) || hear.not.contains(&word.form);
        let after = words[start..].iter().take_while(is_lead);
        let is_no = words.get(start).is_some_and(|word| word.form == "no");
        let goes_on = |word: &Word| !word.after_mark && !hear.article.contains(&word.form);
        before.chain(after).any(|word| hear.not.contains(&word.form))
            || is_no && words.get(start + 1).is_some_and(goes_on)
    }

    /// The head of the noun phrase that begins here.
    fn head_from(&self, answer: &Delexicalized<'_>, start: usize) -> Option<Head> {
        let hear = &self.book.hear;
        let words = answer.words;
        let is_phrase = |idx: usize| {
            let covers = |(place, mention): &(Range<usize>, Mention)| {
                place.contains(&idx) && matches!(mention, Mention::Phrase(_))
            };
            answer.pieces.iter().any(covers)
        };
        let is_lead = |idx: usize| {
            let form = &words[idx].form;
            hear.filler.contains(form)
                || hear.article.contains(form)
                || hear.hedge.contains(form)
                || is_phrase(idx)
        };
        let mut at = (start..words.len()).find(|&idx| !is_lead(idx)).unwrap_or(words.len());
        let mut head: Option<Head> = None;
        // A word that is a lead and a name: `a kind of music`, `some one`.
        while at < words.len() && (at == start || !words[at].after_mark) {
            if let Some((n, meaning)) = self.noun_at(&words[at..]) {
                let is_weak = n == 1 && hear.weak.contains(&words[at].form);
                // `a pancake day thing` says more before *thing*.
                head = match head {
                    Some(head) if is_weak => Some(Head { is_exact: false, is_weak: true, ..head }),
                    _ => Some(Head { meaning, is_exact: true, is_weak }),
                };
                at += n;
                continue;
            }
            let form = &words[at].form;
            let is_filler = hear.filler.contains(form) || hear.vocative.contains(form);
            let joins = form == "and" && head.is_some();
            if !joins
                && (hear.ordinary.contains(form) || hear.article.contains(form) || hear.not.contains(form))
            {
                break;
            }
            if let Some(head) = head.as_mut().filter(|_| !is_filler && !joins) {
                head.is_exact = false;
            }
            at += 1;
        }
        head
    }

    /// How many words in front are a noun of which the kind is known, and what they say.
    fn noun_at(&self, words: &[Word]) -> Option<(usize, Meaning)> {
        let clause = words.iter().skip(1).position(|word| word.after_mark).map_or(words.len(), |n| n + 1);
        let words = &words[..clause];
        let noun = |n: usize| {
            let name = words[..n].iter().map(|word| word.form.as_str()).collect::<Vec<_>>().join(" ");
            let is_last = words.get(n).is_none_or(|word| self.book.is_ordinary(&word.form));
            self.meaning_of(&name, is_last).map(|meaning| (n, meaning))
        };
        let longest = (2..=words.len().min(MAX_NOUN)).rev().find_map(noun);
        let named = || {
            self.type_words(words).and_then(|(n, mention)| match mention {
                Mention::Type(types) => Some((n, Meaning::Type(types.into_iter().next()?))),
                _ => None,
            })
        };
        longest.or_else(named).or_else(|| noun(1))
    }

    /// Whether a noun names a kind of what a slot has.
    pub(super) fn is_noun_of(&self, noun: &str, slot: &str) -> bool {
        self.meaning_of(&noun.to_lowercase(), false) == Some(Meaning::Type(slot.to_owned()))
    }

    /// What a noun says: a type, or a kind of its own that no type is of.
    fn meaning_of(&self, noun: &str, is_last: bool) -> Option<Meaning> {
        let noun = noun.replace('-', " ");
        let slot = |kind: &str| {
            self.options.iter().chain(self.types).find(|slot| self.book.is_of_kind(slot, kind)).cloned()
        };
        // *The ironmonger's* is where an ironmonger is.
        if let Some(owner) = noun.strip_suffix("'s").filter(|_| is_last) {
            let is_person = self.book.kind_of(owner) == Some("person");
            return is_person.then(|| slot("place").map(Meaning::Type)).flatten();
        }
        let named = self.options.iter().chain(self.types).find(|slot| self.is_name(slot, &noun));
        if let Some(slot) = named {
            return Some(Meaning::Type(slot.clone()));
        }
        match self.book.kind_of(&noun) {
            Some(kind) => {
                Some(slot(kind).map_or_else(|| Meaning::NewType(noun.replace(' ', "_")), Meaning::Type))
            }
            None => self.misspelt(&noun),
        }
    }

    /// The type of which a word that is no English one is a misspelt noun: `a freind`.
    fn misspelt(&self, noun: &str) -> Option<Meaning> {
        let vectors = Vectors::built_in().filter(|_| self.book.hears_english())?;
        let is_english = vectors.likeness(noun, noun).is_some();
        let mut types = BTreeSet::new();
        if !is_english {
            slips(noun, |slip| {
                let kind = self.book.kind_of(slip);
                let is_it = |slot: &&String| {
                    self.is_name(slot, slip) || kind.is_some_and(|kind| self.book.is_of_kind(slot, kind))
                };
                types.extend(self.options.iter().chain(self.types).find(is_it).cloned());
            });
        }
        let slot = types.pop_first().filter(|_| types.is_empty())?;
        Some(Meaning::Type(slot))
    }
}
