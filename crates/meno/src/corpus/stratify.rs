//! Cuts a corpus into parts that are alike: each has its share of every intent and of every slot.
//!
//! By iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011): the rarest intent or slot that is left is dealt out
//! first, each utterance to the part that lacks it most. What stands in a corpus several times stays in one part, so that no
//! part holds what another was trained on.

use std::collections::{BTreeMap, HashMap};

use super::{Corpus, Utterance};
use crate::label;
use crate::random::Random;

/// At least this share of a corpus is held out.
const SHARE: f64 = 0.1;

/// Held out are so many utterances, if that is at most [`MOST`] of the corpus: fewer tell too little.
const ENOUGH: f64 = 100.0;
const MOST: f64 = 0.2;

/// More than so many utterances tell nothing more.
const PLENTY: f64 = 2000.0;

impl Corpus {
    /// Two parts, to train and to validate on: a tenth is held out, or up to a fifth of a small corpus.
    pub fn hold_out(&self, seed: u64) -> (Corpus, Corpus) {
        let n = self.utterances.len().max(1) as f64;
        let share = (ENOUGH / n).clamp(SHARE, MOST).min(PLENTY / n);
        let mut parts = self.split(&[1.0 - share, share], seed);
        let second = parts.pop().unwrap_or_default();
        (parts.pop().unwrap_or_default(), second)
    }

    /// So many parts of about the same size, each after all the rest.
    pub fn folds(&self, n_folds: usize, seed: u64) -> Vec<(Corpus, Corpus)> {
        let parts = Dealer::new(&self.utterances, &vec![1.0 / n_folds as f64; n_folds], seed).deal();
        let only = |is_in: &dyn Fn(usize) -> bool| {
            let kept = self.utterances.iter().zip(&parts).filter(|(_, part)| is_in(**part));
            Corpus { utterances: kept.map(|(utterance, _)| utterance.clone()).collect(), ..self.bare() }
        };
        (0..n_folds).map(|fold| (only(&|part| part != fold), only(&|part| part == fold))).collect()
    }

    /// Parts of these shares, in the order of the corpus.
    pub fn split(&self, shares: &[f64], seed: u64) -> Vec<Corpus> {
        let mut parts: Vec<Corpus> = shares.iter().map(|_| self.bare()).collect();
        for (utterance, part) in
            self.utterances.iter().zip(Dealer::new(&self.utterances, shares, seed).deal())
        {
            parts[part].utterances.push(utterance.clone());
        }
        parts
    }

    /// All but the utterances.
    pub(super) fn bare(&self) -> Corpus {
        let Corpus { path, utterances: _, known_values, description, raw } = self;
        Corpus {
            path: path.clone(),
            utterances: Vec::new(),
            known_values: known_values.clone(),
            description: description.clone(),
            raw: *raw,
        }
    }
}

/// What is told apart: an intent or a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stratum<'a> {
    Intent(&'a str),
    Slot(&'a str),
}

/// Utterances that are the same.
struct Group<'a> {
    utterances: Vec<usize>,
    strata: Vec<Stratum<'a>>,
}

struct Dealer<'a> {
    shares: &'a [f64],
    groups: Vec<Group<'a>>,
    /// The groups of each stratum that are not yet dealt out.
    left: BTreeMap<Stratum<'a>, Vec<usize>>,
    /// How many utterances each part still lacks: of each stratum, and in all.
    lacks: BTreeMap<Stratum<'a>, Vec<f64>>,
    lacks_in_all: Vec<f64>,
    parts: Vec<Option<usize>>,
}

impl<'a> Dealer<'a> {
    fn new(utterances: &'a [Utterance], shares: &'a [f64], seed: u64) -> Self {
        let mut groups = group(utterances);
        Random::new(seed).shuffle(&mut groups);
        let mut left: BTreeMap<Stratum<'a>, Vec<usize>> = BTreeMap::new();
        let mut counts: BTreeMap<Stratum<'a>, usize> = BTreeMap::new();
        for (group_idx, group) in groups.iter().enumerate() {
            for stratum in &group.strata {
                left.entry(*stratum).or_default().push(group_idx);
                *counts.entry(*stratum).or_default() += group.utterances.len();
            }
        }
        let share_out = |n: usize| shares.iter().map(|share| share * n as f64).collect::<Vec<_>>();
        Dealer {
            lacks: counts.into_iter().map(|(stratum, n)| (stratum, share_out(n))).collect(),
            lacks_in_all: share_out(utterances.len()),
            parts: vec![None; groups.len()],
            left,
            groups,
            shares,
        }
    }

    /// The part of each utterance.
    fn deal(mut self) -> Vec<usize> {
        while let Some(rarest) =
            self.left.iter().min_by_key(|(_, left)| left.len()).map(|(stratum, _)| *stratum)
        {
            for group_idx in self.left.remove(&rarest).unwrap_or_default() {
                self.give(group_idx, Some(rarest));
            }
            self.left.values_mut().for_each(|left| left.retain(|&group_idx| self.parts[group_idx].is_none()));
            self.left.retain(|_, left| !left.is_empty());
        }
        for group_idx in 0..self.groups.len() {
            self.give(group_idx, None);
        }
        let mut parts = vec![0; self.groups.iter().map(|group| group.utterances.len()).sum()];
        for (group, part) in self.groups.iter().zip(&self.parts) {
            for &utterance_idx in &group.utterances {
                parts[utterance_idx] = part.unwrap_or_default();
            }
        }
        parts
    }

    /// Gives a group to the part that lacks the stratum most; of those that lack it alike, to the one that lacks most in all.
    fn give(&mut self, group_idx: usize, stratum: Option<Stratum<'a>>) {
        if self.parts[group_idx].is_some() {
            return;
        }
        let Dealer { lacks, lacks_in_all, .. } = self;
        let lacks_it = stratum.and_then(|stratum| lacks.get(&stratum)).unwrap_or(lacks_in_all);
        let part = (0..self.shares.len())
            .max_by(|&a, &b| {
                lacks_it[a].total_cmp(&lacks_it[b]).then(lacks_in_all[a].total_cmp(&lacks_in_all[b]))
            })
            .unwrap_or_default();
        self.parts[group_idx] = Some(part);
        let group = &self.groups[group_idx];
        let n = group.utterances.len() as f64;
        lacks_in_all[part] -= n;
        for stratum in &group.strata {
            if let Some(lacks) = lacks.get_mut(stratum) {
                lacks[part] -= n;
            }
        }
    }
}

/// Utterances of the same words together, in the order in which they come first.
fn group(utterances: &[Utterance]) -> Vec<Group<'_>> {
    let mut index: HashMap<Vec<String>, usize> = HashMap::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (utterance_idx, utterance) in utterances.iter().enumerate() {
        let words = utterance.words.iter().map(|word| word.to_lowercase()).collect();
        let group_idx = *index.entry(words).or_insert_with(|| {
            groups.push(Group { utterances: Vec::new(), strata: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[group_idx];
        group.utterances.push(utterance_idx);
        let slots = label::iter_spans(&utterance.labels).map(|span| Stratum::Slot(span.slot));
        let intent = Some(Stratum::Intent(&utterance.intent)).filter(|_| !utterance.intent.is_empty());
        group.strata.extend(slots.chain(intent));
    }
    for group in &mut groups {
        group.strata.sort_unstable();
        group.strata.dedup();
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many utterances of an intent, each with a slot or with none.
    fn corpus(parts: &[(usize, &str, &str)]) -> Corpus {
        let mut utterances = Vec::new();
        for (n, intent, slot) in parts {
            for i in 0..*n {
                let label = if slot.is_empty() { "O".to_owned() } else { format!("B-{slot}") };
                utterances.push(Utterance {
                    words: vec![(*intent).to_owned(), format!("{slot}{i}")],
                    labels: vec!["O".to_owned(), label],
                    intent: (*intent).to_owned(),
                    line: utterances.len() + 1,
                    ..Utterance::default()
                });
            }
        }
        Corpus { utterances, ..Corpus::default() }
    }

    fn count(corpus: &Corpus, intent: &str, label: &str) -> usize {
        let is = |u: &&Utterance| u.intent == intent && u.labels[1] == label;
        corpus.utterances.iter().filter(is).count()
    }

    #[test]
    fn each_part_has_its_share_of_every_intent_and_slot() {
        let whole =
            corpus(&[(100, "play", "song"), (50, "play", ""), (20, "stop", ""), (30, "play", "artist")]);
        let [train, valid] = whole.split(&[0.8, 0.2], 1).try_into().unwrap();
        assert_eq!((train.utterances.len(), valid.utterances.len()), (160, 40));
        assert_eq!(
            [("play", "B-song"), ("play", "O"), ("stop", "O"), ("play", "B-artist")]
                .map(|(i, l)| count(&valid, i, l)),
            [20, 10, 4, 6]
        );
        for (rest, fold) in whole.folds(5, 1) {
            assert_eq!(rest.utterances.len() + fold.utterances.len(), 200);
            assert_eq!((count(&fold, "play", "B-song"), count(&fold, "stop", "O")), (20, 4));
        }
    }

    #[test]
    fn what_is_rare_stays_in_the_training_part() {
        let whole = corpus(&[(97, "play", "song"), (2, "stop", ""), (1, "help", "topic")]);
        let valid = &whole.split(&[0.9, 0.1], 3)[1];
        assert_eq!((count(valid, "stop", "O"), count(valid, "help", "B-topic")), (0, 0));
        assert_eq!(valid.utterances.len(), 10);
    }

    #[test]
    fn what_is_the_same_stays_together() {
        let mut whole = corpus(&[(60, "play", "song")]);
        let mut again = whole.utterances.clone();
        again.iter_mut().for_each(|utterance| utterance.words[1] = utterance.words[1].to_uppercase());
        whole.utterances.extend(again);
        let (train, valid) = whole.hold_out(1);
        assert_eq!((train.utterances.len(), valid.utterances.len()), (96, 24));
        let lower = |u: &Utterance| u.words[1].to_lowercase();
        assert!(valid.utterances.iter().all(|v| train.utterances.iter().all(|t| lower(t) != lower(v))));
    }

    #[test]
    fn every_utterance_is_in_one_part_and_the_order_is_kept() {
        let whole = corpus(&[(31, "play", "song"), (7, "stop", "")]);
        let folds = whole.folds(4, 9);
        let mut lines: Vec<usize> =
            folds.iter().flat_map(|(_, f)| f.utterances.iter().map(|u| u.line)).collect();
        assert!(
            folds
                .iter()
                .all(|(rest, fold)| [rest, fold].iter().all(|c| c.utterances.is_sorted_by_key(|u| u.line)))
        );
        lines.sort_unstable();
        assert_eq!(lines, (1..=38).collect::<Vec<_>>());
        assert_eq!(whole.folds(4, 9), folds);
        assert!(Corpus::default().folds(2, 1).iter().all(|(_, fold)| fold.utterances.is_empty()));
    }

    #[test]
    fn large_corpora_hold_out_no_more_than_is_plenty() {
        let (_, valid) = corpus(&[(30_000, "play", "song")]).hold_out(1);
        assert_eq!(valid.utterances.len(), 2000);
        let (_, valid) = corpus(&[(600, "play", "song")]).hold_out(1);
        assert_eq!(valid.utterances.len(), 100);
    }
}
