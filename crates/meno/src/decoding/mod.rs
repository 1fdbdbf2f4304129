//! From what a tagger says of each word to labels and spans: the one place that tells the two families of taggers apart.
//!
//! Enters: [`Emissions`]. Leaves: [`Decoded`]. A tagger of labels gives each word its likeliest one. A tagger of spans gives
//! [`Hypothesis`]es, sorted, not empty, not overlapping: their boundaries are those of the likeliest sequence of boundary
//! tags, in which nothing goes on that has not begun; the slot is the one that is likeliest by all words together.

use crate::emissions::{Emissions, Logits, Tags};
use crate::label::{Boundary, SlotId, begin_label, inside_label};
use crate::math::{largest, log_softmax};
use crate::nn::crf::Crf;

/// What an utterance most likely means; a buffer to be used again for the next one.
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    /// The id of the label of each word.
    pub labels: Vec<u32>,
    /// For each word the log probability of each label, up to a constant of the row for a tagger of labels.
    pub posteriors: Logits,
    /// Log concentrations of the labels; empty if they are the posteriors.
    pub concentrations: Logits,
    /// The spans; none for a tagger of labels.
    pub spans: Vec<Hypothesis>,
    /// For each word how likely it is outside of all spans; empty for a tagger of labels.
    pub outside: Vec<f32>,
    /// Logits of the intents.
    pub intents: Logits,
}

/// A stretch of words that most likely fills a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hypothesis {
    /// The first word.
    pub start: usize,
    /// One past the last word.
    pub end: usize,
    /// The likeliest slot.
    pub slot: SlotId,
    /// How likely there is a span of exactly these words.
    pub boundaries: f32,
    /// How likely the slot is, given that there is.
    pub probability: f32,
    /// Minus the log probability that each of the words, by itself, gives to the slot, summed up.
    pub disagreement: f32,
}

/// Decodes utterance after utterance.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    crf: Crf,
    tags: Vec<Boundary>,
    /// Log probabilities of the slots of each word.
    slots: Logits,
    row: Vec<f32>,
}

impl Decoded {
    /// Forgets the utterance.
    pub fn clear(&mut self) {
        self.labels.clear();
        self.posteriors.clear(0);
        self.concentrations.clear(0);
        self.spans.clear();
        self.outside.clear();
        self.intents.clear(0);
    }
}

impl Decoder {
    /// Decodes a stretch of an utterance and adds it to what came before it, which gave the intent. In a tagger of spans,
    /// the logit of each word being outside is lowered by its penalty.
    pub fn decode(
        &mut self,
        emissions: &Emissions,
        outside_penalty: impl Fn(usize) -> f64,
        decoded: &mut Decoded,
    ) {
        if decoded.labels.is_empty() {
            decoded.intents.clear(emissions.intents.len());
            decoded.intents.extend(std::iter::once(&emissions.intents[..]));
        }
        match &emissions.tags {
            Tags::Labels { logits, concentrations } => {
                decode_labels(logits, concentrations.as_ref(), decoded)
            }
            Tags::Spans { boundaries, transitions, slots } => {
                self.crf.forward_backward(boundaries.iter().copied(), transitions);
                self.decode_spans(slots, outside_penalty, decoded);
            }
        }
    }

    fn decode_spans(
        &mut self,
        slots: &Logits,
        outside_penalty: impl Fn(usize) -> f64,
        decoded: &mut Decoded,
    ) {
        let first = decoded.labels.len();
        if first == 0 {
            decoded.posteriors.clear(inside_label(slots.n_columns() as u32) as usize - 1);
        }
        self.slots.clear(slots.n_columns());
        for (token_idx, logits) in slots.rows().enumerate() {
            self.row.resize(logits.len(), 0.0);
            log_softmax(logits, &mut self.row);
            self.slots.extend(std::iter::once(&self.row[..]));
            let marginals = self.crf.marginals(token_idx).map(|p| p as f32);
            decoded.outside.push(marginals[Boundary::Outside as usize]);
            self.label_row(token_idx, marginals);
            decoded.posteriors.extend(std::iter::once(&self.row[..]));
        }
        decoded.labels.resize(first + slots.len(), 0);
        self.crf.viterbi(outside_penalty, &mut self.tags);
        // A corpus may have no slot.
        let n_words = if slots.n_columns() == 0 { 0 } else { self.tags.len() };
        for start in (0..n_words).filter(|&start| self.tags[start] == Boundary::Begin) {
            let inside = self.tags[start + 1..].iter().take_while(|&&tag| tag == Boundary::Inside).count();
            let mut span = self.hypothesis(start, start + 1 + inside);
            (span.start, span.end) = (first + span.start, first + span.end);
            decoded.labels[span.start..span.end].fill(inside_label(span.slot));
            decoded.labels[span.start] = begin_label(span.slot);
            decoded.spans.push(span);
        }
    }

    /// Log probabilities of the labels of a word: outside, then for each slot begin and inside.
    fn label_row(&mut self, token_idx: usize, marginals: [f32; 3]) {
        let [outside, begin, inside] = marginals.map(|p| p.max(f32::MIN_POSITIVE).ln());
        self.row.clear();
        self.row.push(outside);
        self.row.extend(self.slots.row(token_idx).iter().flat_map(|slot| [begin + slot, inside + slot]));
    }

    /// The likeliest slot of some words.
    fn hypothesis(&self, start: usize, end: usize) -> Hypothesis {
        let mut sums = self.slots.row(start).to_vec();
        for token_idx in start + 1..end {
            sums.iter_mut().zip(self.slots.row(token_idx)).for_each(|(sum, ln)| *sum += ln);
        }
        let (slot, highest) = largest(&sums).unwrap_or((0, 0.0));
        let total: f32 = sums.iter().map(|sum| (sum - highest).exp()).sum();
        Hypothesis {
            start,
            end,
            slot,
            boundaries: self.crf.span_marginal(start, end) as f32,
            probability: 1.0 / total,
            disagreement: -(start..end)
                .map(|token_idx| self.slots.row(token_idx)[slot as usize])
                .sum::<f32>(),
        }
    }
}

fn decode_labels(logits: &Logits, concentrations: Option<&Logits>, decoded: &mut Decoded) {
    if decoded.labels.is_empty() {
        decoded.posteriors.clear(logits.n_columns());
        decoded.concentrations.clear(logits.n_columns());
    }
    decoded.labels.extend(logits.rows().filter_map(largest).map(|(label, _)| label));
    decoded.posteriors.extend(logits.rows());
    if let Some(concentrations) = concentrations {
        decoded.concentrations.extend(concentrations.rows());
    }
}
