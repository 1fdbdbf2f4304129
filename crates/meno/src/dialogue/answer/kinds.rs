//! Which kind of thing an answer says that something is: by a name, a number, a noun, or what is told of it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::mention::Delexicalized;
use super::{Answer, Asked, Meaning, find_phrase, without_lead};
use crate::dialogue::act::Said;
use crate::dialogue::phrasebook::Hear;
use crate::features::Vectors;

/// A longer name of a type is not believed, nor one of more words.
const MAX_TYPE: usize = 30;
const MAX_TYPE_WORDS: usize = 2;

/// So alike a noun must be to the names of a kind to be taken for one, and so much more than to those of any other.
const ALIKE: f32 = 0.42;
const MARGIN: f32 = 0.1;
/// How many names of a kind it must be like.
const N_ALIKE: usize = 3;

impl Asked<'_> {
    /// The intent of which most words are said that the others lack.
    pub(super) fn named_intent(&self, forms: &[&str]) -> Option<String> {
        let words: Vec<BTreeSet<String>> =
            self.options.iter().map(|intent| self.book.intent_words(intent)).collect();
        let score = |idx: usize| {
            let is_own = |form: &&&str| {
                let has = |words: &BTreeSet<String>| words.contains(**form);
                let others = (0..words.len()).filter(|other| *other != idx);
                has(&words[idx]) && !others.into_iter().any(|other| has(&words[other]))
            };
            forms.iter().filter(is_own).count()
        };
        let mut scores: Vec<(usize, usize)> = (0..words.len()).map(|idx| (score(idx), idx)).collect();
        scores.sort_unstable_by(|a, b| b.cmp(a));
        let next = scores.get(1).map_or(0, |(score, _)| *score);
        scores.first().filter(|(best, _)| *best > next).map(|&(_, idx)| self.options[idx].clone())
    }

    /// What an answer says that a phrase is: by the noun that says so, a number, or what is told of it. What was offered goes first.
    pub(super) fn type_in(&self, text: &str, answer: &Delexicalized<'_>, said: &Said) -> Option<Meaning> {
        let forms: Vec<&str> = answer.words.iter().map(|word| word.form.as_str()).collect();
        let is_offered = |meaning: &Meaning| match meaning {
            Meaning::Type(slot) => self.options.is_empty() || self.options.contains(slot),
            _ => false,
        };
        let labelled = said.words("type");
        let affirmed = |idx: &usize| !self.is_ruled_out(answer, *idx);
        let types = |idx: usize| answer.types(idx).and_then(|types| types.first().cloned());
        let of_label =
            labelled.clone().into_iter().flatten().filter(affirmed).find_map(types).map(Meaning::Type);
        let head = self.head(answer);
        let strong = head.clone().filter(|head| !head.is_weak).map(|head| head.meaning);
        let exact = head.clone().filter(|head| !head.is_weak && head.is_exact).map(|head| head.meaning);
        let of_kind = |slot: String| Meaning::Type(slot);
        let labelled = labelled.filter(|pieces| affirmed(&pieces.start));
        let name = labelled.or_else(|| self.predicate(answer)).map(|pieces| answer.text(text, pieces));
        let name = name.map(|name| name.to_lowercase().replace('’', "'"));
        let alike = || name.as_ref().and_then(|name| self.alike(name.rsplit(' ').next()?)).map(of_kind);
        let new = || {
            let name = name.as_ref().filter(|name| self.is_type_name(name))?;
            Some(Meaning::NewType(name.replace(' ', "_")))
        };
        let anywhere =
            || (0..answer.pieces.len()).filter(affirmed).filter_map(types).map(of_kind).find(is_offered);
        (strong.clone().filter(is_offered))
            .or_else(|| self.ordinal(&forms).map(of_kind))
            .or_else(|| of_label.clone().filter(is_offered))
            .or_else(|| self.described(&forms, self.options).map(of_kind))
            .or(exact)
            .or(of_label)
            .or(strong)
            .or_else(alike)
            .or_else(|| self.described(&forms, self.types).map(of_kind))
            .or_else(new)
            .or_else(anywhere)
            .or(head.map(|head| head.meaning))
    }

    /// What stands behind *is a*, to the end: `Moomin is a cat`.
    pub(super) fn predicate(&self, answer: &Delexicalized<'_>) -> Option<Range<usize>> {
        let hear = &self.book.hear;
        let forms = answer.forms();
        let verb = forms.iter().position(|form| hear.is.iter().any(|word| word == form))?;
        let is_article = |form: &&str| hear.article.iter().any(|article| article == form);
        let start = verb + 1 + usize::from(forms.get(verb + 1).is_some_and(is_article));
        let n_words = forms.len().checked_sub(start)?;
        (start > verb + 1 && (1..=MAX_TYPE_WORDS).contains(&n_words)).then_some(start..forms.len())
    }

    /// The one of some kinds that is not named but told of, by most words: `it's where I work`, `somebody from the club`.
    pub(super) fn described(&self, forms: &[&str], among: &[String]) -> Option<String> {
        let score = |slot: &String| -> usize {
            let cues = self.book.cues(slot);
            let told = cues.iter().filter(|cue| find_phrase(forms, std::slice::from_ref(cue)).is_some());
            told.map(|cue| cue.split(' ').count()).sum()
        };
        // Of several that are told of as much, the first.
        let best = among.iter().rev().max_by_key(|slot| score(slot))?;
        (score(best) > 0).then(|| best.clone())
    }

    /// Whether some words name a kind that no slot of the request is of: `I meant the band`, but not `the kitchen` of a light there.
    pub(super) fn is_kind(&self, words: &str) -> bool {
        let name = words.to_lowercase();
        let mut named = self.types.iter().filter(|slot| self.is_name(slot, &name)).peekable();
        named.peek().is_some() && named.all(|slot| !self.filled.contains(slot))
    }

    /// The kind whose names a noun is like, by the table of English words: *brewpub* is like names of places.
    pub(super) fn alike(&self, noun: &str) -> Option<String> {
        let is_known = self.book.kind_of(noun).is_some();
        let vectors = Vectors::built_in().filter(|_| self.book.hears_english() && !is_known)?;
        let likeness = |slot: &String| {
            let names = self.book.names(slot);
            let mut alike: Vec<f32> = names.iter().filter_map(|name| vectors.likeness(noun, name)).collect();
            alike.sort_by(|a, b| b.total_cmp(a));
            alike.get(..N_ALIKE).map(|best| best.iter().sum::<f32>() / N_ALIKE as f32)
        };
        let kinds = self.types.iter().filter_map(|slot| Some((likeness(slot)?, slot)));
        let mut kinds: Vec<(f32, &String)> = kinds.collect();
        kinds.sort_by(|a, b| b.0.total_cmp(&a.0));
        let next = kinds.get(1).map_or(0.0, |(likeness, _)| *likeness);
        let (best, slot) = kinds.first()?;
        (*best >= ALIKE && best - next >= MARGIN).then(|| (*slot).clone())
    }

    pub(super) fn is_type_name(&self, name: &str) -> bool {
        let is_plain = |word: &str| word.chars().all(|c| c.is_alphabetic() || c == '\'');
        let n_words = name.split(' ').count();
        let hear = &self.book.hear;
        name.len() <= MAX_TYPE
            && n_words <= MAX_TYPE_WORDS
            && name.split(' ').all(|word| !word.is_empty() && is_plain(word))
            && name.split(' ').any(|word| !hear.filler.iter().any(|filler| filler == word))
    }

    /// Whether a type is named only to rule it out.
    pub(super) fn is_ruled_out(&self, answer: &Delexicalized<'_>, piece_idx: usize) -> bool {
        let forms = answer.forms();
        let far = piece_idx.saturating_sub(3);
        // `not any of those, a person`: what stands before a mark says nothing of what stands behind it.
        let near = (far..=piece_idx).rev().find(|&idx| answer.is_after_mark(idx)).unwrap_or(far);
        let before = &forms[near..piece_idx];
        let not = &self.book.hear.not;
        before.iter().any(|form| not.iter().any(|not| not == form)) || before.last() == Some(&"no")
    }

    /// `2`, `the second one`: a number from 0.
    pub(super) fn number(&self, forms: &[&str]) -> Option<usize> {
        let hear = &self.book.hear;
        let is_filler = |form: &&&str| hear.filler.iter().chain(&hear.option).any(|filler| filler == **form);
        let is_last = |form: &str| hear.last.iter().any(|last| last == form);
        let is_number = |form: &str| match is_last(form) {
            true => self.options.len().checked_sub(1),
            false => hear.number.iter().position(|names| names.iter().any(|name| name == form)),
        };
        // `one` is both: alone it is a number.
        let said: Vec<&&str> = forms.iter().filter(|form| !is_filler(form)).collect();
        match (said.as_slice(), forms) {
            ([form], _) => is_number(form),
            ([], [form]) => is_number(form),
            _ => None,
        }
    }

    /// A type by one of its names, offered ones first.
    pub(super) fn named(&self, forms: &[&str]) -> Option<String> {
        let hear = &self.book.hear;
        let types = || self.options.iter().chain(self.types);
        let is_filler = |form: &str| hear.filler.iter().any(|filler| filler == form);
        (0..forms.len()).find_map(|start| {
            // `my sister's band`, but not `Tuesday's the date`.
            let is_owner = |idx: usize| {
                forms[idx].ends_with("'s") && !hear.article.iter().any(|article| article == forms[idx + 1])
            };
            let head = (0..start).all(|idx| is_filler(forms[idx]) || is_owner(idx));
            let ends = (start + 1..=forms.len()).rev();
            let ends = ends.filter(|&end| head && forms[end..].iter().all(|form| is_filler(form)));
            ends.filter_map(|end| {
                let name = forms[start..end].join(" ");
                types().find(|slot| self.is_name(slot, &name)).cloned()
            })
            .next()
        })
    }

    pub(super) fn is_name(&self, slot: &str, said: &str) -> bool {
        let said = said.replace('-', " ");
        let names = self.names.get_or_init(|| self.book.index(self.options.iter().chain(self.types)));
        let is_in = |name: &str| names.get(name).is_some_and(|slots| slots.iter().any(|other| other == slot));
        let is_offered = |slots: &Vec<String>| slots.iter().any(|slot| self.options.contains(slot));
        // *Songs* are a playlist where one was offered, and else what a song is.
        let is_plural_name = names.get(&said).is_some_and(is_offered);
        is_in(&said) || !is_plural_name && said.strip_suffix('s').is_some_and(is_in)
    }

    /// An offered type by its place in the row, somewhere in a sentence: `I think the second one is right`, `option two`.
    pub(super) fn ordinal(&self, forms: &[&str]) -> Option<String> {
        let hear = &self.book.hear;
        let number = |at: usize| {
            let names = |names: &Vec<String>| {
                let idx = names.iter().position(|name| name == forms[at])?;
                // `two` alone may be anything.
                let is_option = at > 0 && hear.option.iter().any(|option| option == forms[at - 1]);
                (idx >= 2 || is_option).then_some(())
            };
            let idx = hear.number.iter().position(|of| names(of).is_some());
            let is_last = hear.last.iter().any(|last| last == forms[at]);
            idx.or_else(|| is_last.then(|| self.options.len().saturating_sub(1)))
        };
        let mut said = (0..forms.len()).filter_map(number);
        match (said.next(), said.next()) {
            (Some(idx), None) => self.options.get(idx).cloned(),
            _ => None,
        }
    }

    /// `it's a podcast`, or perhaps `podcast`, where there is no model of answers.
    pub(super) fn new_type(&self, forms: &[&str]) -> Answer {
        let hear = &self.book.hear;
        let (_, rest) = without_lead(forms, &hear.filler_introductions());
        let (has_intro, rest) = without_lead(rest, &hear.intro);
        let (has_article, rest) = without_lead(rest, &hear.article);
        let is_filler = |form: &&&str| hear.filler.iter().any(|filler| filler == **form);
        let rest: Vec<&str> = rest.iter().skip_while(is_filler).copied().collect();
        let name = rest.join(" ");
        match self.is_type_name(&name) && (has_article || has_intro || forms.len() <= 2) {
            true => Answer::NewType(name.replace(' ', "_")),
            false => Answer::Unclear,
        }
    }
}

impl Hear {
    /// Fillers that are no introduction by themselves: `um`, `well`.
    fn filler_introductions(&self) -> Vec<String> {
        let first = |phrase: &String| phrase.split(' ').next().unwrap_or_default().to_owned();
        let introduced: Vec<String> = self.intro.iter().chain(&self.article).map(first).collect();
        self.filler.iter().filter(|filler| !introduced.contains(filler)).cloned().collect()
    }
}
