//! The shape of a packed batch: which row holds which word.
//!
//! Two orders are in use. *Time-major*, inside the LSTM: all first words, then all second words, and so on, so that
//! the words of a time step are adjacent rows. *Utterance-major*, everywhere else: the words of an utterance are
//! adjacent rows. Neither has padding, because utterances are sorted by falling length.

use std::ops::Range;

/// Row numbers of a batch of utterances of falling length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    starts: Vec<usize>,
    steps: Vec<usize>,
    time_rows: Vec<usize>,
}

impl Batch {
    /// For utterances of these lengths, which must not rise.
    pub(crate) fn pack(&mut self, lengths: impl Iterator<Item = usize> + Clone) {
        self.starts.clear();
        self.starts.push(0);
        let mut before = usize::MAX;
        for length in lengths {
            assert!(length <= before, "utterances are packed in the order of falling length");
            before = length;
            self.starts.push(self.starts[self.starts.len() - 1] + length);
        }
        self.steps.clear();
        self.steps.push(0);
        self.time_rows.resize(self.words(), 0);
        let longest = if self.is_empty() { 0 } else { self.rows(0).len() };
        let mut active = self.len();
        for step in 0..longest {
            while self.rows(active - 1).len() <= step {
                active -= 1;
            }
            let start = self.steps[step];
            for utterance in 0..active {
                let row = self.starts[utterance] + step;
                self.time_rows[row] = start + utterance;
            }
            self.steps.push(start + active);
        }
    }

    /// Utterances.
    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no utterance.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Words in all.
    pub(crate) fn words(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The utterance-major rows of an utterance.
    pub(crate) fn rows(&self, utterance: usize) -> Range<usize> {
        self.starts[utterance]..self.starts[utterance + 1]
    }

    /// Time steps: the length of the longest utterance.
    pub(crate) fn n_steps(&self) -> usize {
        self.steps.len().saturating_sub(1)
    }

    /// The time-major rows of a time step; empty before the first and after the last.
    pub(crate) fn step(&self, step: Option<usize>) -> Range<usize> {
        match step {
            Some(step) if step < self.n_steps() => self.steps[step]..self.steps[step + 1],
            _ => 0..0,
        }
    }

    /// For each utterance-major row the time-major row of the same word.
    pub(crate) fn time_rows(&self) -> &[usize] {
        &self.time_rows[..self.words()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_without_padding() {
        let mut batch = Batch::default();
        batch.pack([3, 2, 2].into_iter());
        assert_eq!((batch.len(), batch.words(), batch.n_steps()), (3, 7, 3));
        let steps: Vec<_> = (0..3).map(|step| batch.step(Some(step))).collect();
        assert_eq!(steps, [0..3, 3..6, 6..7]);
        assert_eq!(batch.time_rows(), [0, 3, 6, 1, 4, 2, 5]);
        batch.pack([1].into_iter());
        assert_eq!((batch.words(), batch.time_rows()), (1, &[0][..]));
        batch.pack(std::iter::empty());
        assert_eq!((batch.len(), batch.words(), batch.n_steps()), (0, 0, 0));
    }
}
