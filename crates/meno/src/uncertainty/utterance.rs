//! How unlike the training set an utterance is: the out-of-scope score.
//!
//! ```text
//! s = w_i ln(floor + 1 - max p_intent) + w_t ln(floor + mean over words of -ln max p_label)
//! ```
//! The intent alone is less telling, for of a strange sentence a tagger may be sure (`docs/results.md`).

use serde::{Deserialize, Serialize};

use super::Confidences;
use crate::decoding::Decoded;
use crate::math::{largest, sum_exp_precisely};

/// The weights of the score, `out_of_scope.v1` in the model file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutOfScopeScore {
    /// Of the log of how unsure the intent is.
    pub intent: f64,
    /// Of the log of how unsure the words are on average.
    pub tokens: f64,
    /// What is added before a logarithm is taken.
    pub floor: f64,
}

impl Default for OutOfScopeScore {
    fn default() -> Self {
        OutOfScopeScore::FORMAT_1
    }
}

impl OutOfScopeScore {
    /// Those of models of format 1, which do not say them.
    pub(crate) const FORMAT_1: OutOfScopeScore = OutOfScopeScore { intent: 1.0, tokens: 2.0, floor: 1e-6 };

    /// Of an utterance, whose posteriors are log probabilities.
    pub(crate) fn of(&self, decoded: &Decoded) -> f64 {
        let intents = decoded.intents.rows().next().unwrap_or(&[]);
        let highest = largest(intents).map_or(0.0, |(_, highest)| highest);
        let intent = 1.0 - 1.0 / sum_exp_precisely(intents, highest).max(1.0);
        let words = decoded.posteriors.rows().filter_map(largest).map(|(_, ln)| -f64::from(ln));
        let (n, sum) = words.fold((0, 0.0), |(n, sum), unsure| (n + 1, sum + unsure));
        // Rounding may take a sure word below 0.
        let mean = sum.max(0.0) / f64::from(n.max(1));
        self.intent * (intent + self.floor).ln() + self.tokens * (mean + self.floor).ln()
    }

    /// Whether all weights are numbers and the floor keeps logarithms finite.
    pub(crate) fn is_whole(&self) -> bool {
        let OutOfScopeScore { intent, tokens, floor } = *self;
        [intent, tokens, floor].iter().all(|weight| weight.is_finite()) && floor > 0.0
    }
}

/// The score of models that say how likely a reading is right, `out_of_scope.v2` in the model file.
///
/// ```text
/// s = ln((1 - c) / c) + w_o sum over stretches outside of -ln c_outside + w_f foreignness
/// ```
/// where c is the confidence in the reading. A tagger may be sure of each word of a strange sentence; that the whole is
/// right is less likely then (`docs/trust.md`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingScore {
    /// Of how unlikely it is that nothing of the words outside of all spans belongs into one.
    pub outside: f64,
    /// Of the share of words that training did not have.
    pub foreignness: f64,
}

impl Default for ReadingScore {
    fn default() -> Self {
        ReadingScore { outside: 0.5, foreignness: 4.0 }
    }
}

/// Confidences nearer to 0 or 1 are taken for this, so that logarithms have an end.
const NEAR: f64 = 1e-6;

impl ReadingScore {
    pub(crate) fn of(&self, confidences: &Confidences, foreignness: f64) -> f64 {
        let reading = confidences.reading.clamp(NEAR, 1.0 - NEAR);
        let outside: f64 = confidences.outside.iter().map(|(_, p)| -p.max(NEAR).ln()).sum();
        ((1.0 - reading) / reading).ln() + self.outside * outside + self.foreignness * foreignness
    }

    /// Whether all weights are numbers.
    pub(crate) fn is_whole(&self) -> bool {
        self.outside.is_finite() && self.foreignness.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emissions::Logits;

    fn decoded(intents: &[f32], probabilities: &[[f32; 2]]) -> Decoded {
        let mut decoded =
            Decoded { intents: Logits::new(intents.len()), posteriors: Logits::new(2), ..Decoded::default() };
        decoded.intents.extend(std::iter::once(intents));
        let rows: Vec<[f32; 2]> = probabilities.iter().map(|row| row.map(f32::ln)).collect();
        decoded.posteriors.extend(rows.iter().map(|row| &row[..]));
        decoded
    }

    #[test]
    fn of_an_utterance() {
        // The likelier of two intents has 3/4, the likelier labels have 1/2 and 1/4.
        let decoded = decoded(&[3f32.ln(), 0.0], &[[0.5, 0.5], [0.25, 0.125]]);
        let expected = (0.25f64 + 1e-6).ln() + 2.0 * (1.5 * std::f64::consts::LN_2 + 1e-6).ln();
        let found = OutOfScopeScore::default().of(&decoded);
        assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
    }

    #[test]
    fn of_a_reading_with_its_confidence() {
        let confidences =
            Confidences { reading: 0.2, outside: vec![(0..1, 0.5), (2..3, 1.0)], ..Confidences::default() };
        // ln 4 + 0.5 ln 2 + 4 / 4
        let expected = 4f64.ln() + 0.5 * 2f64.ln() + 1.0;
        let found = ReadingScore::default().of(&confidences, 0.25);
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        let sure = Confidences { reading: 1.0, ..Confidences::default() };
        assert!((ReadingScore::default().of(&sure, 0.0) - 1e-6f64.ln()).abs() < 1e-5);
    }

    #[test]
    fn what_is_certain_has_an_end() {
        let least = 3.0 * 1e-6f64.ln();
        assert!((OutOfScopeScore::default().of(&decoded(&[7.0], &[[1.0, 0.0]])) - least).abs() < 1e-9);
        assert!((OutOfScopeScore::default().of(&Decoded::default()) - least).abs() < 1e-9);
    }
}
