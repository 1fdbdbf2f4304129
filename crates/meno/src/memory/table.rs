//! Flat hash tables: eight bytes a cell, and nothing else on the heap.

use std::hash::{BuildHasher, RandomState};

/// Numbers of things that are kept elsewhere, by the hash of what they are looked up by.
///
/// Open addressing with linear probing. A cell is the upper half of a hash, which tells most things apart without a look
/// at them and finds the cell's place when the table grows, and the number of the thing.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    cells: Vec<u64>,
    len: usize,
}

const EMPTY: u64 = u64::MAX;

impl Table {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        let n_cells = if capacity == 0 { 0 } else { (capacity + capacity / 2).next_power_of_two() };
        Table { cells: vec![EMPTY; n_cells], len: 0 }
    }

    /// All things that may have this hash; some have another.
    pub(super) fn candidates(&self, hash: u64) -> impl Iterator<Item = u32> {
        let mask = self.cells.len().wrapping_sub(1);
        let mut at = (hash >> 32) as usize & mask;
        let upper = hash & UPPER;
        std::iter::from_fn(move || {
            loop {
                let cell = *self.cells.get(at)?;
                if cell == EMPTY {
                    return None;
                }
                at = (at + 1) & mask;
                if cell & UPPER == upper {
                    return Some(cell as u32);
                }
            }
        })
    }

    pub(super) fn insert(&mut self, hash: u64, thing: u32) {
        if (self.len + 1) * 3 > self.cells.len() * 2 {
            let grown = Table::with_capacity((self.len + 1).max(8) * 2);
            let old = std::mem::replace(self, grown);
            old.cells.into_iter().filter(|&cell| cell != EMPTY).for_each(|cell| self.place(cell));
        }
        self.place(hash & UPPER | u64::from(thing));
    }

    fn place(&mut self, cell: u64) {
        let mask = self.cells.len() - 1;
        let mut at = (cell >> 32) as usize & mask;
        while self.cells[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.cells[at] = cell;
        self.len += 1;
    }

    /// Takes a thing out; it must be there.
    pub(super) fn remove(&mut self, hash: u64, thing: u32) {
        let mask = self.cells.len().wrapping_sub(1);
        let mut at = (hash >> 32) as usize & mask;
        while self.cells[at] != hash & UPPER | u64::from(thing) {
            assert!(self.cells[at] != EMPTY, "what is taken out is there");
            at = (at + 1) & mask;
        }
        // What follows moves up unless it would pass its own place, so that no search ends early.
        let mut gap = at;
        loop {
            at = (at + 1) & mask;
            let cell = self.cells[at];
            if cell == EMPTY {
                break;
            }
            let home = (cell >> 32) as usize & mask;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.cells[gap] = cell;
                gap = at;
            }
        }
        self.cells[gap] = EMPTY;
        self.len -= 1;
    }
}

const UPPER: u64 = 0xFFFF_FFFF_0000_0000;

/// Hashes numbers and texts by products of 64-bit numbers whose halves are folded, as wyhash does.
///
/// Its keys are random, so that nobody can teach words that all fall into one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hasher {
    keys: [u64; 2],
}

impl Default for Hasher {
    fn default() -> Self {
        let state = RandomState::new();
        Hasher { keys: [state.hash_one(1), state.hash_one(2)] }
    }
}

impl Hasher {
    /// Folds a number into a hash; 0 is the hash of nothing.
    pub(super) fn mix(&self, hash: u64, number: u64) -> u64 {
        let product = u128::from(hash ^ self.keys[0]) * u128::from(number ^ self.keys[1]);
        (product as u64) ^ (product >> 64) as u64
    }

    pub(super) fn text(&self, text: &str) -> u64 {
        let (chunks, rest) = text.as_bytes().as_chunks::<8>();
        let hash = chunks.iter().fold(0, |hash, &chunk| self.mix(hash, u64::from_le_bytes(chunk)));
        let last = rest.iter().fold(0, |last, &byte| last << 8 | u64::from(byte));
        self.mix(self.mix(hash, last), text.len() as u64)
    }
}

/// A set of hashes that may take a few others for its own (a Bloom filter): one bit each, and at least 16 for each that it was
/// made for; a precise one sets 8 bits of at least 32, and takes 6 of a million others for its own once it is full.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    bits: Vec<u64>,
    len: usize,
    /// Bits of each after the first.
    more_bits: u8,
}

impl Filter {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Filter { bits: vec![0; (capacity / 4).next_power_of_two()], len: 0, more_bits: 0 }
    }

    pub(super) fn precise(capacity: usize) -> Self {
        Filter { bits: vec![0; (capacity / 2).max(16).next_power_of_two()], len: 0, more_bits: 7 }
    }

    /// Whether another would make it too full; then it must be made anew.
    pub(super) fn is_full(&self) -> bool {
        self.len >= if self.more_bits > 0 { 2 } else { 4 } * self.bits.len()
    }

    pub(super) fn insert(&mut self, hash: u64) {
        for i in 0..=self.more_bits {
            let (word, bit) = self.place(hash, i);
            self.bits[word] |= bit;
        }
        self.len += 1;
    }

    pub(super) fn may_have(&self, hash: u64) -> bool {
        (0..=self.more_bits).all(|i| {
            let (word, bit) = self.place(hash, i);
            self.bits.get(word).is_some_and(|bits| bits & bit != 0)
        })
    }

    /// The word and the bit of the first or a later bit, by double hashing.
    fn place(&self, hash: u64, i: u8) -> (usize, u64) {
        let step = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let hash = hash.wrapping_add(step.wrapping_mul(u64::from(i)));
        ((hash >> 26) as usize & self.bits.len().wrapping_sub(1), 1 << (hash >> 58))
    }
}

/// Texts with numbers, each with a byte that is free for use.
///
/// The number of a text is its place: to find one takes a look into the table and one at the text, wherever they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Interner {
    /// For each text its length in four bytes, its free byte, and the text.
    texts: Vec<u8>,
    table: Table,
    hasher: Hasher,
}

const LENGTH: usize = 4;

impl Interner {
    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.id_hashed(text, self.hasher.text(text))
    }

    fn id_hashed(&self, text: &str, hash: u64) -> Option<u32> {
        self.table.candidates(hash).find(|&id| self.bytes(id) == text.as_bytes())
    }

    pub(super) fn intern(&mut self, text: &str) -> u32 {
        let hash = self.hasher.text(text);
        self.id_hashed(text, hash).unwrap_or_else(|| {
            let id = u32::try_from(self.texts.len()).expect("different words take less than 4 GB");
            self.texts.extend_from_slice(&(text.len() as u32).to_le_bytes());
            self.texts.push(0);
            self.texts.extend_from_slice(text.as_bytes());
            self.table.insert(hash, id);
            id
        })
    }

    pub(super) fn text(&self, id: u32) -> &str {
        str::from_utf8(self.bytes(id)).expect("it was a text")
    }

    /// The bytes of all texts.
    pub(super) fn size(&self) -> usize {
        self.texts.len()
    }

    /// The free byte; 0 at first.
    pub(super) fn byte(&self, id: u32) -> u8 {
        self.texts[id as usize + LENGTH]
    }

    pub(super) fn byte_mut(&mut self, id: u32) -> &mut u8 {
        &mut self.texts[id as usize + LENGTH]
    }

    fn bytes(&self, id: u32) -> &[u8] {
        let (length, text) = self.texts[id as usize..].split_at(LENGTH);
        let length = length.try_into().map_or(0, u32::from_le_bytes);
        &text[1..1 + length as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::Random;

    proptest! {
        /// Few different hashes, near each other and at the end of the table, so that things get in each other's way.
        #[test]
        fn a_table_is_a_set(steps in prop::collection::vec((any::<bool>(), 0..40u64, 0..4u32), 0..200)) {
            let hash = |key: u64| (key / 10 + 0xFFFF_FFFC) << 32 | key;
            let mut table = Table::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            for (adds, key, thing) in steps {
                let at = expected.iter().position(|&there| there == (key, thing));
                match (adds, at) {
                    (true, None) => {
                        table.insert(hash(key), key as u32 * 4 + thing);
                        expected.push((key, thing));
                    }
                    (false, Some(at)) => {
                        table.remove(hash(key), key as u32 * 4 + thing);
                        expected.swap_remove(at);
                    }
                    _ => {}
                }
            }
            for key in 0..40 {
                let mut found: Vec<u32> =
                    table.candidates(hash(key)).filter(|thing| u64::from(thing / 4) == key).collect();
                found.sort_unstable();
                let mut right: Vec<u32> =
                    expected.iter().filter(|there| there.0 == key).map(|there| key as u32 * 4 + there.1).collect();
                right.sort_unstable();
                prop_assert_eq!(found, right);
            }
        }

        #[test]
        fn a_filter_has_what_it_was_given(hashes in prop::collection::vec(any::<u64>(), 0..100)) {
            let mut filter = Filter::with_capacity(hashes.len());
            hashes.iter().for_each(|&hash| filter.insert(hash));
            prop_assert!(hashes.iter().all(|&hash| filter.may_have(hash)));
            prop_assert!(!Filter::default().may_have(7));
        }

        #[test]
        fn a_precise_filter_hardly_has_anything_else(seed in any::<u64>()) {
            let mut random = Random::new(seed);
            let mut filter = Filter::precise(1000);
            let hashes: Vec<u64> = (0..1000).map(|_| random.next_u64()).collect();
            hashes.iter().for_each(|&hash| filter.insert(hash));
            prop_assert!(hashes.iter().all(|&hash| filter.may_have(hash)));
            let others = (0..1000).filter(|_| filter.may_have(random.next_u64())).count();
            prop_assert!(others <= 2, "{others} of 1000 others");
        }

        #[test]
        fn texts_keep_their_numbers(texts in prop::collection::vec("[ab]{0,4}", 0..60)) {
            let mut interner = Interner::default();
            let ids: Vec<u32> = texts.iter().map(|text| interner.intern(text)).collect();
            for (text, &id) in texts.iter().zip(&ids) {
                prop_assert_eq!(interner.text(id), text);
                prop_assert_eq!(interner.id(text), Some(id));
                *interner.byte_mut(id) = text.len() as u8 + 1;
            }
            prop_assert!(texts.iter().zip(&ids).all(|(text, &id)| interner.byte(id) == text.len() as u8 + 1));
            prop_assert_eq!(interner.id("c"), None);
        }
    }
}
