//! What the training data had in which place: whether a concept is new, word by word and as a whole.

use serde::{Deserialize, Serialize};

use super::{Example, Features, Token, UNKNOWN_WORD};
use crate::label::{SlotId, begin_label, paired_spans};

/// What of a span is new to its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Novelty {
    /// The share of its words that no value of the slot had.
    pub words: f64,
    /// 1 if the slot did not have this value, else 0.
    pub value: f64,
    /// Minus the log of the share of the slot's values that are to be new, if this one is, else 0.
    pub surprise: f64,
}

/// The words and values of a training corpus.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lexicon {
    /// Words that never were outside of all concepts, in rising order.
    never_outside: Vec<u32>,
    /// For each slot the words of its values, in rising order.
    slot_words: Vec<Vec<u32>>,
    /// A number for each value in its slot ([`value_key`]), in rising order.
    values: Vec<u32>,
    /// For each slot minus the log of the share of its values that are to be new: by Good and Turing that of those that
    /// occurred once.
    #[serde(default)]
    surprise: Vec<f32>,
    /// The slots of which two spans touch somewhere, in rising order; models of an earlier program do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    touching: Option<Vec<SlotId>>,
}

impl Lexicon {
    pub(crate) fn fit(features: &Features, examples: &[Example]) -> Self {
        let mut outside = vec![false; features.words.len()];
        let mut slot_words = vec![Vec::new(); features.labels.paired_slots().len()];
        let (mut values, mut touching) = (Vec::new(), Vec::new());
        let keys: Vec<u32> = features.words.names().iter().map(|word| word_key(word)).collect();
        for Example { words, labels, .. } in examples {
            for (&word, _) in words.iter().zip(labels).filter(|(_, label)| **label == 0) {
                outside[word as usize] = true;
            }
            for (slot, range) in paired_spans(labels) {
                if labels.get(range.end) == Some(&begin_label(slot)) {
                    touching.push(slot);
                }
                let words = &words[range];
                slot_words[slot as usize].extend_from_slice(words);
                let words = words.iter().map(|&word| keys[word as usize]);
                values.push((slot as usize, value_key(slot, words)));
            }
        }
        let surprise = surprises(slot_words.len(), &mut values);
        let mut values: Vec<u32> = values.into_iter().map(|(_, value)| value).collect();
        for words in slot_words.iter_mut().chain([&mut values, &mut touching]) {
            words.sort_unstable();
            words.dedup();
        }
        let never_outside = (0..).zip(outside).filter(|(_, was)| !was).map(|(word, _)| word).collect();
        Lexicon { never_outside, slot_words, values, surprise, touching: Some(touching) }
    }

    /// Whether it can be of a model with so many words and slots: lists in rising order, of words that there are.
    pub(crate) fn is_whole(&self, n_words: usize, n_slots: usize) -> bool {
        let rises = |list: &[u32]| list.windows(2).all(|pair| pair[0] < pair[1]);
        let words = || self.slot_words.iter().chain([&self.never_outside]);
        self.slot_words.len() == n_slots
            && words().all(|words| rises(words) && words.last().is_none_or(|&word| (word as usize) < n_words))
            && rises(&self.values)
            && self.touching.as_deref().is_none_or(rises)
            && [0, n_slots].contains(&self.surprise.len())
            && self.surprise.iter().all(|surprise| surprise.is_finite())
    }

    /// Whether a word ever was outside of all concepts.
    pub(crate) fn was_outside(&self, word: u32) -> bool {
        self.never_outside.binary_search(&word).is_err()
    }

    /// Whether touching spans of a slot are one: if none of the corpus touch, and they are not both values that it has, as
    /// in a list.
    pub(crate) fn joins(&self, slot: SlotId, spans: [&[Token]; 2]) -> bool {
        let is_value = |tokens: &[Token]| self.has_value(slot, tokens.iter().map(|token| token.key));
        self.touching.as_ref().is_some_and(|touching| touching.binary_search(&slot).is_err())
            && !spans.into_iter().all(is_value)
    }

    /// Whether words with these keys ([`word_key`]) are a value of a slot.
    pub(super) fn has_value(&self, slot: SlotId, keys: impl Iterator<Item = u32>) -> bool {
        self.values.binary_search(&value_key(slot, keys)).is_ok()
    }

    /// A word that is a value of a slot by itself and never was outside of all concepts: the most frequent, for ids go by
    /// that, and if it can be a word of no other slot. `key` is the key of a word ([`word_key`]).
    pub(super) fn stand_in(&self, slot: SlotId, key: impl Fn(u32) -> u32) -> Option<u32> {
        let is_value = |word: u32| self.has_value(slot, std::iter::once(key(word)));
        let is_elsewhere = |word: u32| {
            let mut others = (0..).zip(&self.slot_words).filter(|(other, _)| *other != slot);
            others.any(|(_, words)| words.binary_search(&word).is_ok())
        };
        let words = self.slot_words[slot as usize].iter().copied().filter(|&word| word != UNKNOWN_WORD);
        let mut values = words.filter(|&word| !self.was_outside(word) && is_value(word));
        values.clone().find(|&word| !is_elsewhere(word)).or_else(|| values.next())
    }

    /// How new a value of some words is to a slot.
    pub(crate) fn novelty(&self, slot: SlotId, tokens: &[Token]) -> Novelty {
        let known = &self.slot_words[slot as usize];
        let is_new = |token: &&Token| token.word == UNKNOWN_WORD || known.binary_search(&token.word).is_err();
        let share = tokens.iter().filter(is_new).count() as f32 / tokens.len().max(1) as f32;
        if self.has_value(slot, tokens.iter().map(|token| token.key)) {
            return Novelty { words: share.into(), ..Novelty::default() };
        }
        // Models of an earlier program do not say how surprising a new value is.
        let surprise = self.surprise.get(slot as usize).copied().unwrap_or(0.0);
        Novelty { words: share.into(), value: 1.0, surprise: surprise.into() }
    }
}

/// For each slot how surprising a new value of it is, from all values with their slots, which are sorted.
fn surprises(n_slots: usize, values: &mut [(usize, u32)]) -> Vec<f32> {
    values.sort_unstable();
    let (mut all, mut once) = (vec![0usize; n_slots], vec![0usize; n_slots]);
    for same in values.chunk_by(|a, b| a == b) {
        let (slot, _) = same[0];
        all[slot] += same.len();
        once[slot] += usize::from(same.len() == 1);
    }
    // Half a value is added, so that what never was new still may be.
    all.iter().zip(&once).map(|(&all, &once)| -((once as f32 + 0.5) / (all as f32 + 1.0)).ln()).collect()
}

/// A number for a word (FNV-1a).
pub(super) fn word_key(word: &str) -> u32 {
    fold(OFFSET, word.bytes())
}

/// A number for some words in a slot; two values have the same one in four billion times.
fn value_key(slot: SlotId, words: impl Iterator<Item = u32>) -> u32 {
    words.fold(fold(OFFSET, slot.to_le_bytes()), |key, word| fold(key, word.to_le_bytes()))
}

const OFFSET: u32 = 0x811C_9DC5;

fn fold(key: u32, bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().fold(key, |key, byte| (key ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_value_is_a_surprise_where_none_occurred_once() {
        // Slot 0: 7 twice, 8 and 9 once; slot 1: 7 three times; slot 2: nothing.
        let mut values = [(0, 7), (1, 7), (0, 8), (1, 7), (0, 9), (0, 7), (1, 7)];
        let expected = [2.5 / 5.0, 0.5 / 4.0, 0.5 / 1.0].map(|share: f32| -share.ln());
        assert_eq!(surprises(3, &mut values), expected);
    }

    #[test]
    fn the_most_frequent_value_of_a_slot_alone_stands_for_others() {
        let key = |word: u32| word + 100;
        let value = |slot: SlotId, words: &[u32]| value_key(slot, words.iter().map(|&word| key(word)));
        // Slot 0: 2, 3, 4 and "5 6", of which 2 was outside and 3 is of slot 1 too; slot 1: 3; slot 2: "5 6".
        let mut values = vec![value(0, &[2]), value(0, &[3]), value(0, &[4]), value(0, &[5, 6])];
        values.extend([value(1, &[3]), value(2, &[5, 6])]);
        values.sort_unstable();
        let slot_words = vec![vec![UNKNOWN_WORD, 2, 3, 4, 5, 6], vec![3], vec![5, 6]];
        let lexicon =
            Lexicon { never_outside: vec![0, 3, 4, 5, 6], slot_words, values, ..Lexicon::default() };
        assert_eq!([0, 1, 2].map(|slot| lexicon.stand_in(slot, key)), [Some(4), Some(3), None]);
        assert!(lexicon.has_value(0, [105, 106].into_iter()) && !lexicon.has_value(0, [105].into_iter()));
    }

    #[test]
    fn spans_join_unless_some_of_the_slot_touch_or_both_are_known() {
        let utterance = |labels: &str| crate::utterance::Utterance {
            words: vec!["x".to_owned(); labels.split(' ').count()],
            labels: labels.split(' ').map(str::to_owned).collect(),
            ..Default::default()
        };
        let utterances = [utterance("B-city I-city B-city"), utterance("B-day B-time O B-time")];
        let mut features = Features::fit(utterances.iter(), str::to_owned);
        features.labels = features.labels.paired();
        let labels = |labels: &[String]| labels.iter().map(|l| features.labels.id(l).unwrap()).collect();
        let examples = utterances.each_ref().map(|utterance| Example {
            words: vec![features.word("x"); utterance.words.len()],
            labels: labels(&utterance.labels),
            intent: 0,
        });
        let lexicon = Lexicon::fit(&features, &examples);
        let slots = features.labels.paired_slots();
        let joins = |name: &str| {
            let slot = slots.iter().position(|slot| **slot == *name).unwrap();
            let token = |word| [Token { key: word_key(word), ..Token::default() }];
            let (known, new) = (token("x"), token("y"));
            [[&known, &known], [&known, &new], [&new, &new]]
                .map(|spans| lexicon.joins(slot as SlotId, spans.map(|span| &span[..])))
        };
        assert_eq!(joins("city"), [false; 3]);
        assert_eq!(joins("day"), [false, true, true]);
        assert_eq!(joins("time"), [false, true, true]);
        assert!(!Lexicon::default().joins(0, [&[], &[]]), "a model of an earlier program");
    }

    #[test]
    fn keys_are_those_of_fnv() {
        // The reference values of Fowler, Noll and Vo for 32 bits.
        assert_eq!(word_key(""), 0x811C_9DC5);
        assert_eq!(word_key("a"), 0xE40C_292C);
        assert_eq!(word_key("foobar"), 0xBF9C_F968);
    }
}
