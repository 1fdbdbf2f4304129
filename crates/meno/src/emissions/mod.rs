//! What a tagger says before it is turned into an answer: the boundary between encoders and everything after them.
//!
//! Plain finite logits leave an encoder, or are read from a [`Table`] that some other tagger wrote (`docs/logits.md`). No
//! later stage sees a network or knows which tagger it was; [`crate::decoding`] is the one place that tells the two
//! families of output apart.

#[cfg(feature = "corpora")]
mod table;

#[cfg(feature = "corpora")]
pub(crate) use table::demand_labels;
#[cfg(feature = "corpora")]
pub use table::{Companion, Input, Table, TableSettings, TableUtterance, read_label_names};

use crate::kernel::{Buffer, Kernels, padded};

/// What a tagger says of an utterance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Emissions {
    /// Of its words.
    pub tags: Tags,
    /// Logits of the intents; none if there are none.
    pub intents: Vec<f32>,
}

/// What a tagger says of the words of an utterance.
#[derive(Clone, Debug)]
pub(crate) enum Tags {
    /// A label for each word.
    Labels {
        /// Logits of the labels.
        logits: Logits,
        /// Log concentrations of the labels' Dirichlet distribution where they are not the logits: calibrated ones.
        concentrations: Option<Logits>,
    },
    /// A CRF over boundary tags, linear-chain or semi-Markov, and a slot for each word.
    Spans {
        /// Logits of outside, begin, inside.
        boundaries: Vec<[f32; 3]>,
        /// What the CRF adds where one tag (the row) is followed by another.
        transitions: [[f32; 3]; 3],
        /// Logits of the slots, if the word is in one.
        slots: Logits,
        /// What whole spans score beside their words.
        spans: SpanScores,
    },
}

/// Scores of whole spans; those of more words than the longest have 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanScores {
    /// The most words of a span that has a score; 0 if none has.
    pub longest: usize,
    /// For each word the scores of the spans of 1 to `longest` words that begin with it.
    pub scores: Vec<f32>,
}

impl Default for Tags {
    fn default() -> Self {
        Tags::Labels { logits: Logits::default(), concentrations: None }
    }
}

/// A row of numbers for each word; a buffer to be used again for the next utterance.
#[derive(Clone, Default)]
pub(crate) struct Logits {
    n_columns: usize,
    n_rows: usize,
    /// Rows are padded to whole vectors.
    values: Buffer,
}

/// What padding holds, so that no softmax notices it.
const PADDING: f32 = -1e9;

impl Logits {
    /// No row yet, of so many numbers each.
    pub(crate) fn new(n_columns: usize) -> Self {
        Logits { n_columns, ..Logits::default() }
    }

    /// Those of these rows.
    #[cfg(test)]
    pub(crate) fn of(rows: &[&[f32]]) -> Self {
        let mut logits = Logits::new(rows[0].len());
        logits.extend(rows.iter().copied());
        logits
    }

    /// Forgets all rows; those to come have so many numbers.
    pub(crate) fn clear(&mut self, n_columns: usize) {
        (self.n_columns, self.n_rows) = (n_columns, 0);
    }

    /// Adds rows.
    pub(crate) fn extend<'a>(&mut self, rows: impl ExactSizeIterator<Item = &'a [f32]>) {
        let (stride, before) = (padded(self.n_columns), self.n_rows);
        self.n_rows += rows.len();
        let to = &mut self.values.reserve(self.n_rows * stride)[before * stride..];
        for (to, from) in to.chunks_exact_mut(stride.max(1)).zip(rows) {
            to[..self.n_columns].copy_from_slice(from);
            to[self.n_columns..].fill(PADDING);
        }
    }

    /// Takes over the rows of another.
    pub(crate) fn copy_from(&mut self, other: &Logits) {
        self.clear(other.n_columns);
        self.extend(other.rows());
    }

    /// The row of each word.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> + Clone {
        (0..self.n_rows).map(|row_idx| self.row(row_idx))
    }

    /// The row of a word.
    pub(crate) fn row(&self, row_idx: usize) -> &[f32] {
        &self.values[row_idx * padded(self.n_columns)..][..self.n_columns]
    }

    /// Words.
    pub(crate) fn len(&self) -> usize {
        self.n_rows
    }

    /// Whether there is no word.
    pub(crate) fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// Numbers of a row.
    pub(crate) fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Turns each row into probabilities.
    pub(crate) fn softmax(&mut self, kernels: Kernels) {
        let stride = padded(self.n_columns);
        if self.n_rows > 0 && stride > 0 {
            kernels.softmax(stride, &mut self.values[..self.n_rows * stride]);
        }
    }

    /// The rows with their padding, which are `padded(n_columns)` apart.
    pub(crate) fn padded_rows(&mut self) -> &mut [f32] {
        let len = self.n_rows * padded(self.n_columns);
        &mut self.values[..len]
    }
}

impl std::fmt::Debug for Logits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.rows()).finish()
    }
}
