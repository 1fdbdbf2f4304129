//! Where concepts are and which slots they fill: two distributions for each word to a list of concepts.
//!
//! Enters: [`Distributions`] of an utterance. Leaves: [`Concept`]s, sorted, not empty, not overlapping. Their limits are
//! those of the likeliest sequence of places (Viterbi), in which nothing goes on that has not begun; the slot is the one
//! that is likeliest by all words of the concept together.

/// Log probabilities of each word of an utterance.
#[derive(Clone, Debug, Default)]
pub struct Distributions {
    n_slots: usize,
    /// Outside, begin, inside.
    places: Vec<[f32; 3]>,
    /// Of each slot, if the word is in one.
    slots: Vec<f32>,
}

const OUTSIDE: usize = 0;
const BEGIN: usize = 1;
const INSIDE: usize = 2;

/// A stretch of words that fills a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct Concept {
    /// The first word.
    pub start: usize,
    /// One past the last word.
    pub end: usize,
    /// The likeliest slot.
    pub slot: u32,
    /// How likely it is, given that there is a concept here.
    pub probability: f32,
}

impl Distributions {
    /// Of no words yet, with so many slots.
    pub fn clear(&mut self, n_slots: usize) {
        self.n_slots = n_slots;
        self.places.clear();
        self.slots.clear();
    }

    /// Adds a word by its logits.
    pub fn push(&mut self, places: &[f32], slots: &[f32]) {
        let mut place = [0.0; 3];
        log_softmax(places, place.iter_mut());
        self.places.push(place);
        let start = self.slots.len();
        self.slots.resize(start + self.n_slots, 0.0);
        log_softmax(slots, self.slots[start..].iter_mut());
    }

    /// Words.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Log probabilities of being outside, at the beginning and inside of a concept.
    pub fn place(&self, word_idx: usize) -> [f32; 3] {
        self.places[word_idx]
    }

    /// Log probabilities of the slots.
    pub fn slots(&self, word_idx: usize) -> &[f32] {
        &self.slots[word_idx * self.n_slots..][..self.n_slots]
    }

    /// Log probabilities of the labels of a word: outside, then for each slot the beginning and the inside of a concept.
    pub(crate) fn label_row(&self, word_idx: usize, row: &mut Vec<f32>) {
        let [outside, begin, inside] = self.places[word_idx];
        row.clear();
        row.push(outside);
        row.extend(self.slots(word_idx).iter().flat_map(|slot| [begin + slot, inside + slot]));
    }

    /// The concepts, where the log probability of each word being outside is lowered by its penalty.
    pub fn decode(&self, penalty: impl Fn(usize) -> f32) -> Vec<Concept> {
        let places = self.viterbi(penalty);
        let mut concepts: Vec<Concept> = Vec::new();
        let mut word_idx = 0;
        while word_idx < places.len() {
            let start = word_idx;
            word_idx += 1;
            if places[start] != BEGIN {
                continue;
            }
            word_idx += places[word_idx..].iter().take_while(|&&place| place == INSIDE).count();
            let (slot, probability) = self.slot(start, word_idx);
            concepts.push(Concept { start, end: word_idx, slot, probability });
        }
        concepts
    }

    fn viterbi(&self, penalty: impl Fn(usize) -> f32) -> Vec<usize> {
        let score = |word_idx: usize| {
            let mut place = self.places[word_idx];
            place[OUTSIDE] -= penalty(word_idx);
            place
        };
        if self.is_empty() {
            return Vec::new();
        }
        let mut best = score(0);
        best[INSIDE] = f32::MIN;
        let mut from: Vec<[usize; 3]> = vec![[OUTSIDE; 3]];
        for word_idx in 1..self.len() {
            let any = if best[BEGIN] > best[OUTSIDE] { BEGIN } else { OUTSIDE };
            let any = if best[INSIDE] > best[any] { INSIDE } else { any };
            let within = if best[INSIDE] > best[BEGIN] { INSIDE } else { BEGIN };
            let [outside, begin, inside] = score(word_idx);
            from.push([any, any, within]);
            best = [best[any] + outside, best[any] + begin, (best[within] + inside).max(f32::MIN)];
        }
        let mut place = (0..3).fold(OUTSIDE, |a, b| if best[b] > best[a] { b } else { a });
        let mut places = vec![OUTSIDE; self.len()];
        for word_idx in (0..self.len()).rev() {
            places[word_idx] = place;
            place = from[word_idx][place];
        }
        places
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

fn log_softmax<'a>(logits: &[f32], to: impl Iterator<Item = &'a mut f32>) {
    let largest = logits.iter().fold(f32::MIN, |a, &b| a.max(b));
    let total: f32 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    let shift = largest + total.ln();
    to.zip(logits).for_each(|(to, logit)| *to = logit - shift);
}
