//! Cuts a corpus so that a model meets slot values that it has never seen, with in-domain data alone.

use std::collections::{BTreeMap, BTreeSet};

use super::{Corpus, Utterance};
use crate::label;
use crate::random::Random;

/// The share of a slot's values that a part holds out, if that takes not too many utterances away.
const SHARE: f64 = 0.3;
/// At most this share of the utterances may go with them.
const MOST: f64 = 0.3;
/// Of the share, how much smaller the next one is that is tried, and which is too small to go on.
const SMALLER: f64 = 0.9;
const LEAST: f64 = 0.03;
/// A slot with fewer values than these keeps them all.
const FEW: usize = 3;
/// The share of the other utterances that is held out too, to tell what is new from what is merely not trained on.
const KNOWN: f32 = 0.1;

/// A value of a slot.
pub(crate) type Value<'a> = (&'a str, Vec<&'a str>);

/// A part of a corpus, and what was held out of it.
#[derive(Clone, Debug)]
pub(crate) struct WithoutValues {
    pub rest: Corpus,
    /// Utterances with a value that the rest does not have.
    pub new: Corpus,
    /// Others.
    pub known: Corpus,
}

impl Corpus {
    /// Several such parts, each without other values. What the corpus says of values outside of its utterances is left out.
    pub(crate) fn without_values(&self, n_parts: usize, seed: u64) -> Vec<WithoutValues> {
        let mut values: BTreeMap<&str, BTreeSet<Vec<&str>>> = BTreeMap::new();
        for (slot, value) in self.utterances.iter().flat_map(values_of) {
            values.entry(slot).or_default().insert(value);
        }
        let random = Random::new(seed).fork(11);
        let mut shuffled: Vec<(&str, Vec<Vec<&str>>)> = Vec::new();
        for (slot_idx, (slot, values)) in (0..).zip(values) {
            let mut values: Vec<Vec<&str>> = values.into_iter().collect();
            random.fork(slot_idx).shuffle(&mut values);
            shuffled.push((slot, values));
        }
        let most = (MOST * self.utterances.len() as f64) as usize;
        let mut share = SHARE;
        loop {
            let parts: Vec<Vec<bool>> =
                (0..n_parts).map(|part| self.is_held_out(&held_out(&shuffled, share, part))).collect();
            let n_held_out = |part: &Vec<bool>| part.iter().filter(|held_out| **held_out).count();
            if share < LEAST || parts.iter().map(n_held_out).all(|n| n <= most) {
                return (0..)
                    .zip(parts)
                    .map(|(part, is_new)| self.cut(&is_new, random.fork(1 << 32 | part)))
                    .collect();
            }
            share *= SMALLER;
        }
    }

    fn is_held_out(&self, values: &BTreeSet<Value<'_>>) -> Vec<bool> {
        let has_one = |utterance: &Utterance| values_of(utterance).any(|value| values.contains(&value));
        self.utterances.iter().map(has_one).collect()
    }

    fn cut(&self, is_new: &[bool], mut random: Random) -> WithoutValues {
        let bare = || Corpus { path: self.path.clone(), raw: self.raw, ..Corpus::default() };
        let mut cut = WithoutValues { rest: bare(), new: bare(), known: bare() };
        for (utterance, &is_new) in self.utterances.iter().zip(is_new) {
            let part = match (is_new, random.uniform() < KNOWN) {
                (true, _) => &mut cut.new,
                (false, true) => &mut cut.known,
                (false, false) => &mut cut.rest,
            };
            part.utterances.push(utterance.clone());
        }
        cut
    }
}

pub(crate) fn values_of(utterance: &Utterance) -> impl Iterator<Item = Value<'_>> {
    label::iter_spans(&utterance.labels).map(|span| {
        let words = &utterance.words[span.start..span.end];
        (span.slot, words.iter().map(String::as_str).collect())
    })
}

/// The values that a part holds out: no two parts the same ones, as far as there are enough.
fn held_out<'a>(values: &[(&'a str, Vec<Vec<&'a str>>)], share: f64, part: usize) -> BTreeSet<Value<'a>> {
    let mut held_out = BTreeSet::new();
    for (slot, values) in values.iter().filter(|(_, values)| values.len() >= FEW) {
        let n = ((share * values.len() as f64).round() as usize).max(1);
        held_out.extend(values.iter().skip(part * n).take(n).map(|value| (*slot, value.clone())));
    }
    held_out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forty utterances of two slots, the first with ten values, the second with two.
    fn corpus() -> Corpus {
        let utterance = |i: usize| Utterance {
            words: vec![format!("go{}", i % 7), format!("place{}", i % 10), format!("time{}", i % 2)],
            labels: ["O", "B-place", "B-time"].map(str::to_owned).to_vec(),
            ..Utterance::default()
        };
        Corpus { utterances: (0..40).map(utterance).collect(), ..Corpus::default() }
    }

    #[test]
    fn what_is_new_has_a_value_that_the_rest_lacks() {
        let corpus = corpus();
        let parts = corpus.without_values(2, 1);
        let places = |corpus: &Corpus| -> BTreeSet<String> {
            corpus.utterances.iter().map(|utterance| utterance.words[1].clone()).collect()
        };
        for WithoutValues { rest, new, known } in &parts {
            assert_eq!(rest.utterances.len() + new.utterances.len() + known.utterances.len(), 40);
            assert!(new.utterances.len() == 12 && !rest.utterances.is_empty());
            assert!(places(rest).is_disjoint(&places(new)), "{parts:?}");
            assert!(places(known).is_disjoint(&places(new)));
        }
        assert!(places(&parts[0].new).is_disjoint(&places(&parts[1].new)));
    }

    #[test]
    fn not_too_much_is_held_out() {
        // Six slots with three values each: a third of the values of one slot is in a third of the utterances.
        let utterance = |i: usize| Utterance {
            words: (0..6u32).map(|slot| format!("v{slot}{}", i / 3usize.pow(slot % 3) % 3)).collect(),
            labels: (0..6).map(|slot| format!("B-s{slot}")).collect(),
            ..Utterance::default()
        };
        let corpus = Corpus { utterances: (0..27).map(utterance).collect(), ..Corpus::default() };
        // It cannot be less than one value of each slot; it ends all the same.
        assert_eq!(corpus.without_values(2, 1).len(), 2);
        assert!(Corpus::default().without_values(2, 1)[0].rest.utterances.is_empty());
    }
}
