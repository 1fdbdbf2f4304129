//! What the training data had in which place: whether a concept is new, word by word and as a whole.

use serde::{Deserialize, Serialize};

use crate::features::{Features, UNKNOWN};
use crate::train::Sentence;

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
}

impl Lexicon {
    pub fn fit(features: &Features, sentences: &[Sentence]) -> Self {
        let mut outside = vec![false; features.words.len()];
        let mut slot_words = vec![Vec::new(); features.slots().len()];
        let mut values = Vec::new();
        let keys: Vec<u32> = features.words.names().iter().map(|word| word_key(word)).collect();
        for sentence in sentences {
            for (&word, _) in sentence.words.iter().zip(&sentence.labels).filter(|(_, label)| **label == 0) {
                outside[word as usize] = true;
            }
            for (slot, range) in sentence.concepts() {
                let words = &sentence.words[range];
                slot_words[slot].extend_from_slice(words);
                let words = words.iter().map(|&word| keys[word as usize]);
                values.push((slot, value_key(slot as u32, words)));
            }
        }
        let surprise = surprises(slot_words.len(), &mut values);
        let mut values: Vec<u32> = values.into_iter().map(|(_, value)| value).collect();
        for words in slot_words.iter_mut().chain([&mut values]) {
            words.sort_unstable();
            words.dedup();
        }
        let never_outside = (0..).zip(outside).filter(|(_, was)| !was).map(|(word, _)| word).collect();
        Lexicon { never_outside, slot_words, values, surprise }
    }

    /// Whether it can be of a model with so many words and slots: lists in rising order, of words that there are.
    pub fn is_whole(&self, n_words: usize, n_slots: usize) -> bool {
        let rises = |list: &[u32]| list.windows(2).all(|pair| pair[0] < pair[1]);
        let words = || self.slot_words.iter().chain([&self.never_outside]);
        self.slot_words.len() == n_slots
            && words().all(|words| rises(words) && words.last().is_none_or(|&word| (word as usize) < n_words))
            && rises(&self.values)
            && [0, n_slots].contains(&self.surprise.len())
            && self.surprise.iter().all(|surprise| surprise.is_finite())
    }

    /// Whether a word ever was outside of all concepts.
    pub fn was_outside(&self, word: u32) -> bool {
        self.never_outside.binary_search(&word).is_err()
    }

    /// The share of these words that no value of the slot had.
    pub fn novelty(&self, slot: u32, words: impl ExactSizeIterator<Item = u32>) -> f32 {
        let known = &self.slot_words[slot as usize];
        let n = words.len();
        let is_new = |word: &u32| *word == UNKNOWN || known.binary_search(word).is_err();
        words.filter(is_new).count() as f32 / n.max(1) as f32
    }

    /// How surprising a new value of a slot is; 0 in models that do not say.
    pub fn surprise(&self, slot: u32) -> f32 {
        self.surprise.get(slot as usize).copied().unwrap_or(0.0)
    }

    /// Whether the slot had exactly these words, given by their keys.
    pub fn has_value(&self, slot: u32, words: impl Iterator<Item = u32>) -> bool {
        self.values.binary_search(&value_key(slot, words)).is_ok()
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
pub(crate) fn word_key(word: &str) -> u32 {
    fold(OFFSET, word.bytes())
}

/// A number for some words in a slot; two values have the same one in four billion times.
fn value_key(slot: u32, words: impl Iterator<Item = u32>) -> u32 {
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
    fn keys_are_those_of_fnv() {
        // The reference values of Fowler, Noll and Vo for 32 bits.
        assert_eq!(word_key(""), 0x811C_9DC5);
        assert_eq!(word_key("a"), 0xE40C_292C);
        assert_eq!(word_key("foobar"), 0xBF9C_F968);
    }
}
