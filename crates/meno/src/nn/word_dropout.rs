//! Word dropout: words of the training set are now and then read as words that were never seen.

use crate::random::Random;

/// A word that occurs n times is read as one outside the vocabulary with probability a / (a + n): the rarer, the more it is
/// like the words that were never seen (Kiperwasser and Goldberg, 2016).
#[derive(Clone, Debug, Default)]
pub(crate) struct WordDropout {
    /// For each word how likely it is dropped.
    shares: Vec<f32>,
}

impl WordDropout {
    /// For a vocabulary whose words occur so often; `a` is 0 or more.
    pub(crate) fn new(a: f32, counts: &[usize]) -> Self {
        // What never occurs stands for what is outside the vocabulary already.
        WordDropout { shares: counts.iter().map(|&n| a / (a + n.max(1) as f32)).collect() }
    }

    /// Whether a word is dropped this time.
    pub(crate) fn drops(&self, word: u32, random: &mut Random) -> bool {
        random.uniform() < self.shares[word as usize]
    }
}
