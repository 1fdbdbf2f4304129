//! Where concepts are and which slots they fill: what a span tagger says of each word to a list of concepts.
//!
//! Enters: [`Distributions`] of an utterance. Leaves: [`Concept`]s, sorted, not empty, not overlapping. Their limits are
//! those of the likeliest sequence of places, in which nothing goes on that has not begun; the slot is the one that is
//! likeliest by all words of the concept together.

use crate::encoder::chain::{BEGIN, Chain, INSIDE, OUTSIDE};

/// What is thought of each word of an utterance.
#[derive(Clone, Debug, Default)]
pub struct Distributions {
    n_slots: usize,
    n_words: usize,
    chain: Chain,
    /// Log probabilities of each slot, if the word is in one.
    slots: Vec<f32>,
    /// For each word the log of the sum of the exponentials of its slot logits.
    ln_alpha0: Vec<f32>,
    best: Vec<usize>,
}

/// A stretch of words that fills a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct Concept {
    /// The first word.
    pub start: usize,
    /// One past the last word.
    pub end: usize,
    /// The likeliest slot.
    pub slot: u32,
    /// How likely there is a concept of exactly these words.
    pub limits: f32,
    /// How likely the slot is, given that there is.
    pub probability: f32,
    /// Minus the log probability that each of the words, by itself, gives to the slot, summed up.
    pub disagreement: f32,
}

impl Distributions {
    /// Takes over the logits of an utterance: of the places of its words, with transitions between them, and of slots.
    pub fn read<'a>(
        &mut self,
        places: impl Iterator<Item = &'a [f32]>,
        transitions: &[f32],
        slots: impl ExactSizeIterator<Item = &'a [f32]>,
    ) {
        self.chain.read(places, transitions);
        self.n_words = slots.len();
        self.n_slots = 0;
        self.slots.clear();
        self.ln_alpha0.clear();
        for row in slots {
            self.n_slots = row.len();
            let start = self.slots.len();
            self.slots.resize(start + row.len(), 0.0);
            let ln_alpha0 = log_softmax(row, self.slots[start..].iter_mut());
            self.ln_alpha0.push(ln_alpha0);
        }
    }

    /// Words.
    pub fn len(&self) -> usize {
        self.n_words
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.n_words == 0
    }

    /// How likely a word is outside, at the beginning and inside of a concept.
    pub fn place(&self, word_idx: usize) -> [f32; 3] {
        [OUTSIDE, BEGIN, INSIDE].map(|place| self.chain.marginal(word_idx, place) as f32)
    }

    /// Log probabilities of the slots.
    pub fn slots(&self, word_idx: usize) -> &[f32] {
        &self.slots[word_idx * self.n_slots..][..self.n_slots]
    }

    /// The logits of the slots of a word.
    pub(crate) fn slot_logits(&self, word_idx: usize) -> Vec<f32> {
        self.slots(word_idx).iter().map(|ln| ln + self.ln_alpha0[word_idx]).collect()
    }

    /// Log probabilities of the labels of a word: outside, then for each slot the beginning and the inside of a concept.
    pub(crate) fn label_row(&self, word_idx: usize, row: &mut Vec<f32>) {
        let [outside, begin, inside] = self.place(word_idx).map(|p| p.max(f32::MIN_POSITIVE).ln());
        row.clear();
        row.push(outside);
        row.extend(self.slots(word_idx).iter().flat_map(|slot| [begin + slot, inside + slot]));
    }

    /// How likely there is a concept of exactly these words.
    pub fn limits(&self, start: usize, end: usize) -> f64 {
        self.chain.concept(start, end)
    }

    /// The concepts, where the logit of each word being outside is lowered by its penalty.
    pub fn decode(&mut self, penalty: impl Fn(usize) -> f64) -> Vec<Concept> {
        let mut places = std::mem::take(&mut self.best);
        self.chain.best(penalty, &mut places);
        let mut concepts: Vec<Concept> = Vec::new();
        let mut end = if self.n_slots == 0 { places.len() } else { 0 };
        while end < places.len() {
            let start = end;
            end += 1;
            if places[start] == BEGIN {
                end += places[end..].iter().take_while(|&&place| place == INSIDE).count();
                let (slot, probability) = self.slot(start, end);
                let limits = self.chain.concept(start, end) as f32;
                let disagreement = -(start..end).map(|word| self.slots(word)[slot as usize]).sum::<f32>();
                concepts.push(Concept { start, end, slot, limits, probability, disagreement });
            }
        }
        self.best = places;
        concepts
    }

    /// The likeliest slot of some words, and its share of the probability.
    fn slot(&self, start: usize, end: usize) -> (u32, f32) {
        let mut sums = self.slots(start).to_vec();
        for word_idx in start + 1..end {
            sums.iter_mut().zip(self.slots(word_idx)).for_each(|(sum, ln)| *sum += ln);
        }
        let Some((slot, largest)) = crate::logits::largest(&sums) else { return (0, 0.0) };
        let total: f32 = sums.iter().map(|sum| (sum - largest).exp()).sum();
        (slot, 1.0 / total)
    }
}

/// Gives the log of the sum of the exponentials.
fn log_softmax<'a>(logits: &[f32], to: impl Iterator<Item = &'a mut f32>) -> f32 {
    let largest = logits.iter().fold(f32::MIN, |a, &b| a.max(b));
    let total: f32 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    let shift = largest + total.ln();
    to.zip(logits).for_each(|(to, logit)| *to = logit - shift);
    shift
}
