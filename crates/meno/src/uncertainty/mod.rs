//! How unsure a tagger is of words, of spans and of an utterance as a whole: pure functions that know no threshold.
//!
//! Enters: `Decoded`. Leaves: an `Assessment`, numbers of which **higher = more unsure**, never cut off. What to do about
//! them is the business of [`crate::decision`]. The weights of a score are data: they are stored in the model.

mod reading;
mod span;
mod token;
mod utterance;

use serde::{Deserialize, Serialize};

use crate::decoding::Decoded;
use crate::kernel::{Dirichlets, Kernels, padded};

pub use reading::Confidence;
pub(crate) use reading::{Confidences, Judged, Signals};
pub use span::{Evidence, SpanScore};
pub use token::Score;
pub use utterance::{OutOfScopeScore, ReadingScore};

pub use crate::features::Novelty;

/// What measures the uncertainty that a threshold is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scorer {
    /// A score of words, from the logits of their labels.
    Token(Score),
    /// A score of whole spans.
    Span(SpanScore),
}

impl Scorer {
    /// The name it has in answers and reports.
    pub fn name(&self) -> &'static str {
        match self {
            Scorer::Token(score) => score.name(),
            Scorer::Span(_) => SpanScore::NAME,
        }
    }
}

/// How unsure a tagger is of an utterance; a buffer to be used again for the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Assessment {
    /// Of each word: of its label, or of its span or that it is in none.
    pub tokens: Vec<f64>,
    /// Of each span; none if the tagger gives labels.
    pub spans: Vec<f64>,
    /// How foreign the words are to the training set, from 0 to 1 ([`crate::Worker::foreignness`]).
    pub foreignness: f64,
    /// How unlike the training set it is, by how likely the reading is right; `None` if the model does not say that.
    pub out_of_scope: Option<f64>,
    /// How likely the reading and its parts are right, if the model says so.
    pub confidences: Option<Confidences>,
}

/// How precisely scores of words are computed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Precision {
    /// As f32, with the kernels that the tagger runs on.
    Single(Kernels),
    /// As f64.
    Double,
}

impl Assessment {
    /// Takes the place of what was there. `novelty` is that of each span.
    pub(crate) fn assess(
        &mut self,
        scorer: &Scorer,
        decoded: &mut Decoded,
        novelty: impl Iterator<Item = Novelty>,
        precision: Precision,
    ) {
        self.tokens.clear();
        self.spans.clear();
        self.confidences = None;
        self.out_of_scope = None;
        match scorer {
            Scorer::Token(score) => self.assess_tokens(*score, decoded, precision),
            Scorer::Span(score) => self.assess_spans(score, decoded, novelty),
        }
    }

    fn assess_tokens(&mut self, score: Score, decoded: &mut Decoded, precision: Precision) {
        let rows = match decoded.concentrations.is_empty() {
            true => &mut decoded.posteriors,
            false => &mut decoded.concentrations,
        };
        if rows.is_empty() {
            return;
        }
        match precision {
            Precision::Single(kernels) if score == Score::Entropy => {
                let (n_labels, row) = (rows.n_columns(), padded(rows.n_columns()));
                let mut entropy = vec![0.0; rows.len()];
                let ln_alpha = rows.padded_rows();
                kernels.dirichlet_entropy(Dirichlets {
                    n_labels,
                    row,
                    ln_alpha,
                    entropy: &mut entropy,
                    gradient: false,
                });
                self.tokens.extend(entropy.into_iter().map(f64::from));
            }
            Precision::Single(_) => {
                let mut buffer = Vec::new();
                self.tokens.extend(rows.rows().map(|row| f64::from(score.of_with(row, &mut buffer) as f32)));
            }
            Precision::Double => {
                let mut buffer = Vec::new();
                self.tokens.extend(rows.rows().map(|row| score.of_with(row, &mut buffer)));
            }
        }
    }

    fn assess_spans(&mut self, score: &SpanScore, decoded: &Decoded, novelty: impl Iterator<Item = Novelty>) {
        self.tokens.extend(decoded.outside.iter().map(|&outside| single(score.of_outside(outside))));
        for (span, novelty) in decoded.spans.iter().zip(novelty) {
            let uncertainty = single(score.of(span, novelty));
            self.spans.push(uncertainty);
            self.tokens[span.start..span.end].fill(uncertainty);
        }
    }
}

/// As precise as what the answers show, so that a threshold read from one means the same.
fn single(uncertainty: f64) -> f64 {
    f64::from(uncertainty as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::Hypothesis;
    use crate::emissions::Logits;

    #[test]
    fn words_by_a_score_of_their_concentrations() {
        let mut decoded =
            Decoded { posteriors: Logits::of(&[&[0.0, 3f32.ln()], &[0.0, 0.0]]), ..Decoded::default() };
        let mut assessment = Assessment::default();
        let mut assess = |decoded: &mut Decoded, precision| {
            assessment.assess(&Scorer::Token(Score::Confidence), decoded, std::iter::empty(), precision);
            assessment.tokens.clone()
        };
        let precisely = assess(&mut decoded, Precision::Double);
        assert!((precisely[0] + 0.75).abs() < 1e-7 && (precisely[1] + 0.5).abs() < 1e-7);
        let roughly = assess(&mut decoded, Precision::Single(Kernels::best()));
        assert_eq!(roughly, precisely.iter().map(|&u| f64::from(u as f32)).collect::<Vec<_>>());
        // What is calibrated counts, if it is there.
        decoded.concentrations = Logits::of(&[&[0.0, 0.0], &[0.0, 0.0]]);
        assert_eq!(assess(&mut decoded, Precision::Double), [-0.5, -0.5]);
    }

    #[test]
    fn the_fast_entropy_is_the_exact_one() {
        let mut decoded =
            Decoded { posteriors: Logits::of(&[&[0.5, 2.0, -1.0], &[4.0, 0.0, 0.0]]), ..Decoded::default() };
        let mut both = [Precision::Single(Kernels::best()), Precision::Double].map(|precision| {
            let mut assessment = Assessment::default();
            assessment.assess(&Scorer::Token(Score::Entropy), &mut decoded, std::iter::empty(), precision);
            assessment.tokens.into_iter()
        });
        let [single, double] = &mut both;
        assert!(single.zip(double).all(|(single, double)| (single - double).abs() < 1e-5));
    }

    #[test]
    fn words_of_a_span_are_as_unsure_as_the_span() {
        let span =
            Hypothesis { start: 1, end: 3, slot: 0, boundaries: 0.5, probability: 0.9, disagreement: 0.2 };
        let mut decoded =
            Decoded { outside: vec![0.75, 0.1, 0.1, 1.0], spans: vec![span], ..Decoded::default() };
        let (score, novelty) = (SpanScore::default(), Novelty { value: 1.0, ..Novelty::default() });
        let mut assessment = Assessment::default();
        let scorer = Scorer::Span(score);
        assessment.assess(&scorer, &mut decoded, std::iter::once(novelty), Precision::Double);
        let of_span = f64::from(score.of(&span, novelty) as f32);
        let outside = [0.75, 1.0].map(|p| f64::from(score.of_outside(p) as f32));
        assert_eq!(assessment.spans, [of_span]);
        assert_eq!(assessment.tokens, [outside[0], of_span, of_span, outside[1]]);
    }
}
