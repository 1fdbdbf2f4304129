//! What a tagger says before it is turned into an answer: a row of logits for each word, one for the intent.
//!
//! Everything after this stage works for any tagger with a softmax layer. [`Logits`] hold one utterance of a network of
//! our own; a [`Table`] holds many, read from a file that some other tagger wrote (`docs/logits.md`).

mod arrays;
mod jsonl;
mod npy;
mod table;

pub(crate) use table::demand_labels;
pub use table::{Companion, Input, Table, TableSettings, TableUtterance, read_label_names};

use crate::encoder::Kernels;
use crate::encoder::kernel::{Buffer, padded};

/// Finite logits, `tokens x labels`, and those of the intents.
#[derive(Clone, Default)]
pub struct Logits {
    n_labels: usize,
    n_intents: usize,
    n_tokens: usize,
    slots: Buffer,
    intents: Buffer,
}

/// What padding holds, so that no softmax notices it.
const PADDING: f32 = -1e9;

impl Logits {
    /// Takes over the logits of one utterance.
    pub fn fill<'a>(
        &mut self,
        n_labels: usize,
        slots: impl ExactSizeIterator<Item = &'a [f32]>,
        intents: &[f32],
    ) {
        (self.n_labels, self.n_intents, self.n_tokens) = (n_labels, intents.len(), 0);
        self.extend(slots);
        let to = self.intents.reserve(padded(intents.len()));
        to[..intents.len()].copy_from_slice(intents);
        to[intents.len()..].fill(PADDING);
    }

    /// Takes over the rows of further words of the same utterance.
    pub fn extend<'a>(&mut self, slots: impl ExactSizeIterator<Item = &'a [f32]>) {
        let (row, n_labels, before) = (padded(self.n_labels), self.n_labels, self.n_tokens);
        self.n_tokens += slots.len();
        let to = &mut self.slots.reserve(self.n_tokens * row)[before * row..];
        for (to, from) in to.chunks_exact_mut(row.max(1)).zip(slots) {
            to[..n_labels].copy_from_slice(from);
            to[n_labels..].fill(PADDING);
        }
    }

    /// Turns both kinds of logits into probabilities.
    pub(crate) fn softmax(&mut self, kernels: Kernels) {
        let row = padded(self.n_labels);
        if self.n_tokens > 0 && row > 0 {
            kernels.softmax(row, &mut self.slots[..self.n_tokens * row]);
        }
        if self.n_intents > 0 {
            let row = padded(self.n_intents);
            kernels.softmax(row, &mut self.intents[..row]);
        }
    }

    /// The row of each word.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        let (row, n_labels) = (padded(self.n_labels).max(1), self.n_labels);
        self.slots[..self.n_tokens * row].chunks_exact(row).map(move |row| &row[..n_labels])
    }

    /// The row of the intents.
    pub fn intents(&self) -> &[f32] {
        &self.intents[..self.n_intents]
    }
}

/// The `n` values after the largest one with their indices, largest first, of equals the first.
pub fn next_largest(values: &[f32], n: usize) -> Vec<(u32, f32)> {
    let mut top: Vec<(u32, f32)> = Vec::with_capacity(n + 2);
    for (i, &value) in (0..).zip(values) {
        let at = top.partition_point(|&(_, other)| other >= value);
        if at <= n {
            top.truncate(n);
            top.insert(at, (i, value));
        }
    }
    top.drain(..1.min(top.len()));
    top.truncate(n);
    top
}

/// The index of the largest value, the first of equals, and the value; `None` for no values.
pub fn largest(values: &[f32]) -> Option<(u32, f32)> {
    let mut best = (0, *values.first()?);
    for (i, &value) in (0..).zip(values) {
        if value > best.1 {
            best = (i, value);
        }
    }
    Some(best)
}
