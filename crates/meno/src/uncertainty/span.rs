//! How unsure a tagger is of a span: of its boundaries, of its slot, and because it is new.
//!
//! ```text
//! u = w_b ln(floor - ln p_boundaries) + w_s ln(floor + disagreement)
//!   + w_words (share of new words) + w_value (is a new value) + w_surprise (minus the log share of new values)
//! ```
//! The weights were chosen on valid and new-concept sets (`docs/results.md`).

use serde::{Deserialize, Serialize};

use super::Score;
use crate::decoding::Hypothesis;
use crate::features::Novelty;

/// The weights of the score, `concept.v2` in the model file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpanScore {
    /// Of the log of minus the log probability of the boundaries.
    pub boundaries: f64,
    /// Of the log of how much the words disagree with the slot.
    pub slot: f64,
    /// Of the share of words that are new to the slot.
    pub new_words: f64,
    /// Of whether the value is new to the slot.
    pub new_value: f64,
    /// Of how surprising a new value of the slot is.
    pub surprise: f64,
    /// What is added before a logarithm is taken, so that what is as good as certain has an end.
    pub floor: f64,
}

impl Default for SpanScore {
    fn default() -> Self {
        SpanScore::FORMAT_1
    }
}

impl SpanScore {
    /// Those of models of format 1, which do not say them.
    pub(crate) const FORMAT_1: SpanScore = SpanScore {
        boundaries: 2.0 / 3.0,
        slot: 1.0,
        new_words: 2.0,
        new_value: 6.0,
        surprise: 0.25,
        floor: 1e-4,
    };

    /// Its name in answers and reports.
    pub const NAME: &'static str = "concept";

    /// Of a span that was found.
    pub(crate) fn of(&self, span: &Hypothesis, novelty: Novelty) -> f64 {
        let boundaries = -f64::from(span.boundaries.max(f32::MIN_POSITIVE)).ln();
        self.combine(boundaries, span.disagreement.into(), novelty)
    }

    /// Of a word that is outside of all spans with this probability.
    pub(crate) fn of_outside(&self, outside: f32) -> f64 {
        let minus_ln = f64::from(-outside.max(f32::MIN_POSITIVE).ln());
        self.combine(minus_ln, minus_ln, Novelty::default())
    }

    /// How unsure boundaries and slot are, both as minus the log of a probability, and how new the span is.
    pub fn combine(&self, boundaries: f64, slot: f64, novelty: Novelty) -> f64 {
        let Novelty { words, value, surprise } = novelty;
        let ln = |minus_ln: f64| (minus_ln + self.floor).ln();
        ln(boundaries) * self.boundaries
            + ln(slot) * self.slot
            + self.new_words * words
            + self.new_value * value
            + self.surprise * surprise
    }

    /// Whether all weights are numbers and the floor keeps logarithms finite.
    pub(crate) fn is_whole(&self) -> bool {
        let SpanScore { boundaries, slot, new_words, new_value, surprise, floor } = *self;
        [boundaries, slot, new_words, new_value, surprise, floor].iter().all(|weight| weight.is_finite())
            && floor > 0.0
    }
}

/// What can be measured of a span, for comparing scores; sums and means are over its words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Minus the log probability that there is a span of exactly these words.
    pub boundaries: f64,
    /// Minus the sum of the log probabilities that the words give to its slot.
    pub slot: f64,
    /// The summed entropy of the slots.
    pub entropy: f64,
    /// Minus the mean log of the sum of the slots' concentrations.
    pub energy: f64,
    /// The summed mutual information of the slots' Dirichlet distributions.
    pub mutual_information: f64,
    /// How new it is.
    pub novelty: Novelty,
}

impl Evidence {
    /// Of a span whose words have these slot logits.
    pub(crate) fn new<'a>(
        span: &Hypothesis,
        slot_logits: impl Iterator<Item = &'a [f32]> + Clone,
        novelty: Novelty,
    ) -> Self {
        let sum = |score: Score| slot_logits.clone().map(|row| score.of(row)).sum::<f64>();
        Evidence {
            boundaries: -f64::from(span.boundaries.max(f32::MIN_POSITIVE)).ln(),
            slot: span.disagreement.into(),
            entropy: sum(Score::SoftmaxEntropy),
            energy: sum(Score::Energy) / (span.end - span.start) as f64,
            mutual_information: sum(Score::MutualInformation),
            novelty,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Hypothesis =
        Hypothesis { start: 0, end: 2, slot: 3, boundaries: 0.5, probability: 0.9, disagreement: 0.25 };

    fn check(novelty: Novelty, expected: f64) {
        let found = SpanScore::default().of(&SPAN, novelty);
        assert!((found - expected).abs() < 1e-12, "{novelty:?}: {found}, not {expected}");
    }

    #[test]
    fn of_a_span() {
        // 2/3 ln(ln 2 + 0.0001) + ln(0.25 + 0.0001), by hand.
        let known = 2.0 / 3.0 * (std::f64::consts::LN_2 + 1e-4).ln() + 0.2501f64.ln();
        assert!((known + 1.630140).abs() < 1e-6, "{known}");
        check(Novelty::default(), known);
        check(Novelty { words: 0.5, ..Novelty::default() }, known + 1.0);
        check(Novelty { words: 1.0, value: 1.0, surprise: 0.4 }, known + 2.0 + 6.0 + 0.1);
    }

    #[test]
    fn certainty_has_an_end() {
        let score = SpanScore::default();
        let sure = Hypothesis { boundaries: 1.0, disagreement: 0.0, ..SPAN };
        let least = (1.0 + 2.0 / 3.0) * 1e-4f64.ln();
        assert!((score.of(&sure, Novelty::default()) - least).abs() < 1e-12);
        assert!((score.of_outside(1.0) - least).abs() < 1e-12);
        assert!(score.of_outside(0.0).is_finite());
        assert!(score.of_outside(0.9) < score.of_outside(0.8));
    }
}
