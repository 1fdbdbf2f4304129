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

/// Texts with numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Interner {
    texts: String,
    ends: Vec<usize>,
    table: Table,
    /// Has a seed of its own, so that nobody can teach words that all fall into one place.
    hasher: RandomState,
}

impl Interner {
    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.id_hashed(text, self.hasher.hash_one(text))
    }

    fn id_hashed(&self, text: &str, hash: u64) -> Option<u32> {
        self.table.candidates(hash).find(|&id| self.text(id) == text)
    }

    pub(super) fn intern(&mut self, text: &str) -> u32 {
        let hash = self.hasher.hash_one(text);
        self.id_hashed(text, hash).unwrap_or_else(|| {
            let id = self.ends.len() as u32;
            self.texts.push_str(text);
            self.ends.push(self.texts.len());
            self.table.insert(hash, id);
            id
        })
    }

    pub(super) fn text(&self, id: u32) -> &str {
        let start = (id as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start..self.ends[id as usize]]
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        fn texts_keep_their_numbers(texts in prop::collection::vec("[ab]{0,4}", 0..60)) {
            let mut interner = Interner::default();
            let ids: Vec<u32> = texts.iter().map(|text| interner.intern(text)).collect();
            for (text, &id) in texts.iter().zip(&ids) {
                prop_assert_eq!(interner.text(id), text);
                prop_assert_eq!(interner.id(text), Some(id));
            }
            prop_assert_eq!(interner.id("c"), None);
        }
    }
}
