//! The numbers of concepts and of changes, which tell nobody what others do.
//!
//! A number names one concept in the whole store, but each owner counts by itself: in a block of numbers that is found by its
//! name, everyone in the first one. The same name has the same numbers in every new store.

use std::collections::BTreeMap;

use meno::memory::Owner;

use crate::Result;
use crate::sql::Sql;
use crate::store::Entered;

/// How many numbers are in a block.
pub(crate) const BLOCK: u64 = 1 << 20;

/// In how many blocks owners begin: with all their numbers far below 2^53, which is as far as JavaScript counts.
const BLOCKS: u64 = 1 << 24;

/// The number of an owner's next concept, after the last that was given; 0 if none was.
pub(crate) fn next(sql: &mut dyn Sql, owner: &str, given: u64) -> Result<u64> {
    if given != 0 && !(given + 1).is_multiple_of(BLOCK) {
        return Ok(given + 1);
    }
    let mut block = if given == 0 { first_block(owner) } else { given / BLOCK + 1 };
    while is_taken(sql, block)? {
        block += 1;
    }
    Ok(block * BLOCK + 1)
}

/// By FNV-1a of 64 bits.
fn first_block(owner: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    match owner {
        "" => 0,
        owner => 1 + owner.bytes().fold(0xcbf2_9ce4_8422_2325, step) % (BLOCKS - 1),
    }
}

/// An owner of whom everything was erased, as others are told: without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasedOwner(u64);

impl ErasedOwner {
    pub(crate) fn new(owner: &Owner) -> Self {
        ErasedOwner(first_block(owner.user().unwrap_or("")) * BLOCK)
    }

    /// By the number that stands for it in the journal; `None` if that is the number of a concept.
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        number.is_multiple_of(BLOCK).then_some(ErasedOwner(number))
    }

    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Whether it is this one; one in 16 million others looks the same.
    pub fn is(self, owner: &Owner) -> bool {
        self == ErasedOwner::new(owner)
    }
}

fn is_taken(sql: &mut dyn Sql, block: u64) -> Result<bool> {
    let range = [(block * BLOCK).into(), ((block + 1) * BLOCK).into()];
    let concepts = "SELECT id FROM meno_concepts WHERE id >= $1 AND id < $2 LIMIT 1";
    let owners = "SELECT given FROM meno_owners WHERE given >= $1 AND given < $2 AND given > 0 LIMIT 1";
    Ok(sql.number(concepts, &range)? > 0 || sql.number(owners, &range)? > 0)
}

/// The journal of one owner, row after row, with numbers as if there were no other: those of the store count what all do.
#[derive(Debug, Default)]
pub struct OwnJournal {
    rows: u64,
    batches: BTreeMap<u64, u64>,
}

impl OwnJournal {
    /// The next row.
    pub fn row(&mut self, row: Entered) -> Entered {
        self.rows += 1;
        let mut own = |batch: u64| match batch {
            0 => 0,
            batch => {
                let next = self.batches.len() as u64 + 1;
                *self.batches.entry(batch).or_insert(next)
            }
        };
        // The change that is taken back was first, also where the journal does not have it any more.
        let undoes = own(row.undoes);
        Entered { seq: self.rows, batch: own(row.batch), undoes, ..row }
    }
}
