//! From what a tagger says of each word to labels and spans: the one place that tells the two families of taggers apart.
//!
//! Enters: [`Emissions`]. Leaves: [`Decoded`]. A tagger of labels gives each word its likeliest one. A tagger of spans gives
//! [`Hypothesis`]es, sorted, not empty, not overlapping: their boundaries are those of the likeliest sequence of boundary
//! tags, in which nothing goes on that has not begun; the slot is the one that is likeliest by all words together. Spans of
//! one slot that touch are one span where the caller says so.

use std::ops::Range;

use crate::emissions::{Emissions, Logits, Tags};
use crate::label::{Boundary, SlotId, begin_label, inside_label};
use crate::math::{largest, log_softmax, sum_exp};
use crate::nn::crf::{Crf, N_TAGS};
use crate::nn::semi_crf::SemiCrf;

/// What an utterance most likely means; a buffer to be used again for the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoded {
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
pub(crate) struct Hypothesis {
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

/// What the spans of a stretch of words depend on beside the emissions.
pub(crate) struct SpanRules<P, J> {
    /// What the logit of each word being outside is lowered by.
    pub outside_penalty: P,
    /// How much the log probabilities of the slots count in where spans begin and end.
    pub slot_weight: f64,
    /// Whether two spans of a slot that touch are one.
    pub joins: J,
}

/// Decodes utterance after utterance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoder {
    /// Whether the last emissions have scores of whole spans, so that the sums are those of `semi_crf`.
    scores_spans: bool,
    crf: Crf,
    semi_crf: SemiCrf,
    tags: Vec<Boundary>,
    /// Log probabilities of the slots of each word.
    slots: Logits,
    row: Vec<f32>,
}

impl Decoded {
    /// Forgets the utterance.
    pub(crate) fn clear(&mut self) {
        self.labels.clear();
        self.posteriors.clear(0);
        self.concentrations.clear(0);
        self.spans.clear();
        self.outside.clear();
        self.intents.clear(0);
    }
}

impl Decoder {
    /// Decodes a stretch of an utterance and adds it to what came before it, which gave the intent. The rules are for a
    /// tagger of spans.
    pub(crate) fn decode(
        &mut self,
        emissions: &Emissions,
        rules: &SpanRules<impl Fn(usize) -> f64, impl Fn(SlotId, [Range<usize>; 2]) -> bool>,
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
            Tags::Spans { boundaries, transitions, slots, spans } => {
                self.scores_spans = spans.longest > 0;
                let boundaries = boundaries.iter().copied();
                if self.scores_spans {
                    self.semi_crf.forward_backward(boundaries, transitions, spans.longest, &spans.scores);
                } else {
                    self.crf.forward_backward(boundaries, transitions);
                }
                self.decode_spans(slots, rules, decoded);
            }
        }
    }

    fn decode_spans(
        &mut self,
        slots: &Logits,
        rules: &SpanRules<impl Fn(usize) -> f64, impl Fn(SlotId, [Range<usize>; 2]) -> bool>,
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
            let marginals = self.marginals(token_idx).map(|p| p as f32);
            decoded.outside.push(marginals[Boundary::Outside as usize]);
            self.label_row(token_idx, marginals);
            decoded.posteriors.extend(std::iter::once(&self.row[..]));
        }
        decoded.labels.resize(first + slots.len(), 0);
        let slots = |token_idx| self.slots.row(token_idx);
        match rules.slot_weight {
            weight if self.scores_spans => {
                self.semi_crf.joint_viterbi(&rules.outside_penalty, slots, weight, &mut self.tags);
            }
            0.0 => self.crf.viterbi(&rules.outside_penalty, &mut self.tags),
            weight => self.crf.joint_viterbi(&rules.outside_penalty, slots, weight, &mut self.tags),
        }
        // A corpus may have no slot.
        let n_words = if self.slots.n_columns() == 0 { 0 } else { self.tags.len() };
        for start in (0..n_words).filter(|&start| self.tags[start] == Boundary::Begin) {
            let inside = self.tags[start + 1..].iter().take_while(|&&tag| tag == Boundary::Inside).count();
            let end = start + 1 + inside;
            let mut span = self.hypothesis(start, end);
            let is_part = |before: &mut Hypothesis| {
                let touches = before.start >= first && before.end == first + start;
                let words = || [before.start - first..start, start..end];
                touches && before.slot == span.slot && (rules.joins)(span.slot, words())
            };
            if let Some(before) = decoded.spans.pop_if(is_part) {
                // The slot is the likeliest of both parts, hence of the whole.
                span = self.hypothesis(before.start - first, end);
            }
            (span.start, span.end) = (first + span.start, first + span.end);
            decoded.labels[span.start..span.end].fill(inside_label(span.slot));
            decoded.labels[span.start] = begin_label(span.slot);
            decoded.spans.push(span);
        }
    }

    fn marginals(&self, token_idx: usize) -> [f64; N_TAGS] {
        if self.scores_spans { self.semi_crf.marginals(token_idx) } else { self.crf.marginals(token_idx) }
    }

    fn span_marginal(&self, start: usize, end: usize) -> f64 {
        if self.scores_spans {
            self.semi_crf.span_marginal(start, end)
        } else {
            self.crf.span_marginal(start, end)
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
        Hypothesis {
            start,
            end,
            slot,
            boundaries: self.span_marginal(start, end) as f32,
            probability: 1.0 / sum_exp(&sums, highest),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emissions::SpanScores;

    fn decode(emissions: &[Emissions], outside_penalty: impl Fn(usize) -> f64 + Copy) -> Decoded {
        decode_by(emissions, &SpanRules { outside_penalty, slot_weight: 0.0, joins: |_, _| false })
    }

    fn decode_by(
        emissions: &[Emissions],
        rules: &SpanRules<impl Fn(usize) -> f64, impl Fn(SlotId, [Range<usize>; 2]) -> bool>,
    ) -> Decoded {
        let (mut decoder, mut decoded) = (Decoder::default(), Decoded::default());
        // What was there before is forgotten.
        for _ in 0..2 {
            decoded.clear();
            for emissions in emissions {
                decoder.decode(emissions, rules, &mut decoded);
            }
        }
        decoded
    }

    /// Two words: weights 1, 2 of outside and begin for the first, 1, 3, 2 of all three for the second; a span that goes on
    /// counts twice. Slots: 3 to 1 for the first word, 1 to 3 for the second.
    fn two_words() -> Emissions {
        let (ln2, ln3) = (2f32.ln(), 3f32.ln());
        Emissions {
            tags: Tags::Spans {
                boundaries: vec![[0.0, ln2, 5.0], [0.0, ln3, ln2]],
                transitions: [[0.0; 3], [0.0, 0.0, ln2], [0.0; 3]],
                slots: Logits::of(&[&[ln3, 0.0], &[0.0, 2.0 * ln3]]),
                spans: SpanScores::default(),
            },
            intents: vec![0.5, 1.5],
        }
    }

    fn is_close(found: f32, expected: f32) -> bool {
        (found - expected).abs() < 1e-6
    }

    #[test]
    fn spans_by_hand() {
        let decoded = decode(&[two_words()], |_| 0.0);
        // Of 20 in all, begin and inside have 8; both slots together are 3/4 * 1/10 against 1/4 * 9/10.
        let [span] = &decoded.spans[..] else { panic!("{:?}", decoded.spans) };
        assert_eq!((span.start, span.end, span.slot), (0, 2, 1));
        assert!(is_close(span.boundaries, 0.4), "{span:?}");
        assert!(is_close(span.probability, 0.75), "{span:?}");
        assert!(is_close(span.disagreement, -(0.25f32 * 0.9).ln()), "{span:?}");
        assert_eq!(decoded.labels, [3, 4]);
        assert!(is_close(decoded.outside[0], 0.2) && is_close(decoded.outside[1], 0.15));
        // Outside; begin and inside of both slots.
        let expected =
            [[0.2, 0.8 * 0.75, 0.0, 0.8 * 0.25, 0.0], [0.15, 0.45 * 0.1, 0.4 * 0.1, 0.45 * 0.9, 0.4 * 0.9]];
        for (row, expected) in decoded.posteriors.rows().zip(expected) {
            assert!(
                row.iter().zip(expected).all(|(ln, p)| is_close(ln.exp(), p)),
                "{row:?}, not {expected:?}"
            );
        }
        assert_eq!(decoded.intents.row(0), [0.5, 1.5]);
    }

    /// The span of both words with 8 of 20 has half the weight, so that the two of one word, with 6, are likelier.
    #[test]
    fn a_whole_span_has_a_score() {
        let mut emissions = two_words();
        if let Tags::Spans { spans, .. } = &mut emissions.tags {
            *spans = SpanScores { longest: 2, scores: vec![0.0, 0.5f32.ln(), 0.0, 0.0] };
        }
        for slot_weight in [0.0, 0.1] {
            let rules = SpanRules { outside_penalty: |_| 0.0, slot_weight, joins: |_, _| false };
            let decoded = decode_by(std::slice::from_ref(&emissions), &rules);
            let places: Vec<_> = decoded.spans.iter().map(|span| (span.start, span.end, span.slot)).collect();
            assert_eq!(places, [(0, 1, 0), (1, 2, 1)]);
            // Of 16 in all, what begins with the first word and ends there has 2 + 6, and the second word alone 3 + 6.
            assert!(is_close(decoded.spans[0].boundaries, 8.0 / 16.0), "{:?}", decoded.spans);
            assert!(is_close(decoded.spans[1].boundaries, 9.0 / 16.0), "{:?}", decoded.spans);
            assert!(is_close(decoded.outside[0], 4.0 / 16.0) && is_close(decoded.outside[1], 3.0 / 16.0));
        }
    }

    #[test]
    fn a_penalty_moves_words_into_spans() {
        // Outside has a thousandfold weight everywhere, unless it costs more than that.
        let emissions = Emissions {
            tags: Tags::Spans {
                boundaries: vec![[7.0, 0.0, -9.0]; 3],
                transitions: [[0.0; 3]; 3],
                slots: Logits::of(&[&[1.0][..]; 3]),
                spans: SpanScores::default(),
            },
            intents: Vec::new(),
        };
        assert_eq!(decode(std::slice::from_ref(&emissions), |_| 0.0).spans, []);
        let decoded = decode(std::slice::from_ref(&emissions), |word| if word == 1 { 8.0 } else { 0.0 });
        assert_eq!(decoded.labels, [0, 1, 0]);
        // How likely a word is outside does not know of the penalty.
        assert!(decoded.outside[1] > 0.99);
    }

    #[test]
    fn pieces_follow_each_other() {
        let decoded = decode(&[two_words(), two_words()], |_| 0.0);
        let places: Vec<(usize, usize)> = decoded.spans.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(places, [(0, 2), (2, 4)]);
        assert_eq!(decoded.labels, [3, 4, 3, 4]);
        assert_eq!((decoded.posteriors.len(), decoded.outside.len(), decoded.intents.len()), (4, 4, 1));
    }

    /// Three words that begin a span each, the first two of slot 0, the third of slot 1.
    #[test]
    fn touching_spans_of_a_slot_that_join_are_one() {
        let (ln2, ln3) = (2f32.ln(), 3f32.ln());
        let emissions = Emissions {
            tags: Tags::Spans {
                boundaries: vec![[-50.0, 0.0, 0.0], [-50.0, ln2, 0.0], [-50.0, ln2, 0.0]],
                transitions: [[0.0; 3]; 3],
                slots: Logits::of(&[&[ln3, 0.0], &[ln3, 0.0], &[0.0, ln3]]),
                spans: SpanScores::default(),
            },
            intents: Vec::new(),
        };
        let decode = |joins: fn(SlotId, [Range<usize>; 2]) -> bool| {
            let rules = SpanRules { outside_penalty: |_| 0.0, slot_weight: 0.0, joins };
            decode_by(std::slice::from_ref(&emissions), &rules)
        };
        let places = |decoded: &Decoded| {
            decoded.spans.iter().map(|span| (span.start, span.end, span.slot)).collect::<Vec<_>>()
        };
        let apart = [(0, 1, 0), (1, 2, 0), (2, 3, 1)];
        assert_eq!(places(&decode(|_, _| false)), apart);
        assert_eq!(places(&decode(|slot, _| slot == 1)), apart);
        let joined = decode(|_, parts| parts == [0..1, 1..2]);
        assert_eq!(places(&joined), [(0, 2, 0), (2, 3, 1)]);
        assert_eq!(joined.labels, [1, 2, 3]);
        // Each later word begins a span with 2 to 1: the second goes on in one of three, the third begins in two.
        let span = joined.spans[0];
        assert!(is_close(span.boundaries, 2.0 / 9.0), "{span:?}");
        // 9/16 against 1/16.
        assert!(is_close(span.probability, 0.9), "{span:?}");
        // What is read piece by piece does not join beyond its piece.
        let rules = SpanRules { outside_penalty: |_| 0.0, slot_weight: 0.0, joins: |_, _| true };
        assert_eq!(decode_by(&[two_words(), two_words()], &rules).spans.len(), 2);
    }

    /// Begin and inside have 6 and 8 of 20, but 0.75 * 0.9 is three times as much as the best slot of both words.
    #[test]
    fn words_of_different_slots_come_apart() {
        let spans = |slot_weight| {
            let rules = SpanRules { outside_penalty: |_| 0.0, slot_weight, joins: |_, _| false };
            let spans = decode_by(&[two_words()], &rules).spans;
            spans.iter().map(|span| (span.start, span.end, span.slot)).collect::<Vec<_>>()
        };
        // 6 * 3^w is more than 8 from w = 0.262 on.
        assert_eq!(spans(0.0), [(0, 2, 1)]);
        assert_eq!(spans(0.2), [(0, 2, 1)]);
        assert_eq!(spans(0.3), [(0, 1, 0), (1, 2, 1)]);
    }

    #[test]
    fn a_corpus_may_have_no_slot() {
        let mut slots = Logits::new(0);
        slots.extend([&[][..], &[]].into_iter());
        let (transitions, spans) = ([[0.0; 3]; 3], SpanScores::default());
        let tags = Tags::Spans { boundaries: vec![[0.0, 9.0, 0.0]; 2], transitions, slots, spans };
        let decoded = decode(&[Emissions { tags, intents: Vec::new() }], |_| 0.0);
        assert_eq!((decoded.labels, decoded.spans), (vec![0, 0], Vec::new()));
    }

    #[test]
    fn labels_are_the_likeliest_and_the_first_of_equals() {
        let tags = |concentrations| Tags::Labels {
            logits: Logits::of(&[&[0.0, 2.0, 2.0], &[1.0, 0.0, 0.0]]),
            concentrations,
        };
        let emissions = |concentrations| Emissions { tags: tags(concentrations), intents: Vec::new() };
        let plain = decode(&[emissions(None)], |_| 0.0);
        assert_eq!((&plain.labels[..], plain.spans.len(), plain.concentrations.len()), (&[1, 0][..], 0, 0));
        assert_eq!(plain.posteriors.row(0), [0.0, 2.0, 2.0]);
        // Calibration changes how unsure a tagger is, not what it says.
        let calibrated = decode(&[emissions(Some(Logits::of(&[&[5.0, 0.0, 0.0][..]; 2])))], |_| 0.0);
        assert_eq!(
            (&calibrated.labels[..], calibrated.concentrations.row(0)),
            (&[1, 0][..], &[5.0, 0.0, 0.0][..])
        );
    }
}
