//! How unsure a tagger is of a word: one number from a row of logits.
//!
//! A row of logits m enters, one for each of K labels; numbers leave, **higher = more unsure**, whatever the score.
//! Everything is a pure function of the row and knows no threshold; what to do about an unsure word is the business of
//! [`crate::decision`]. The formulas stand in `docs/math.md`, "Scores".
//!
//! No input gives NaN or infinity. A logit that is NaN or minus infinity counts as the lowest f32, plus infinity as the
//! highest; the boundary refuses such rows before they come here. The Dirichlet scores read alpha = exp m and take
//! logits beyond ±[`LN_LIMIT`](crate::dirichlet::LN_LIMIT) as that limit (alpha from 1e-304 to 1e304); what f64 cannot
//! hold is ±[`f64::MAX`]. The others are exact for every finite logit. With one label there is nothing to be unsure
//! of: confidence is -1, [`Score::MaxLogit`] and [`Score::Energy`] are -m, all others 0. Without labels each is 0.
//!
//! ```
//! use meno::uncertainty::Score;
//!
//! let (sure, unsure) = ([9.0, 0.0, 0.0], [1.0, 0.9, 0.8]);
//! assert!(Score::ALL.iter().all(|score| score.of(&unsure) > score.of(&sure)));
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::dirichlet;
use crate::math::Softmax;
use crate::{Error, Result};

/// A way to measure how unsure a tagger is of a word.
///
/// With p = softmax(m), alpha = exp m. Cost: all pass over the row once or twice; what is named is the work for each
/// label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Score {
    /// -max p, from -1 to -1/K. One exponential.
    Confidence,
    /// H(Dirichlet(alpha)), the paper's score; at most -ln Gamma(K). One exponential and a polynomial.
    ///
    /// Read literally: a single alpha far below 1 makes it about -1/alpha, however sure or unsure the word is.
    Entropy,
    /// H(Dirichlet(alpha + 1)), hardly moved by alpha far below 1; at most -ln Gamma(K). As [`Score::Entropy`] and a
    /// logarithm.
    #[default]
    EntropyPlusOne,
    /// Minus the variance of the `TOP` largest p, or of all if there are fewer: from -0.16 (sure) to 0. One
    /// exponential.
    TopVariance,
    /// -sum p ln p, from 0 to ln K. One exponential.
    SoftmaxEntropy,
    /// -max m. A comparison.
    MaxLogit,
    /// -ln sum exp m (Liu et al., 2020), which is -ln alpha0. One exponential.
    Energy,
    /// The epistemic part of the entropy of p under Dirichlet(alpha), from 0 to ln K. One exponential, two logarithms
    /// and a series.
    MutualInformation,
}

/// How many of the largest probabilities [`Score::TopVariance`] looks at: K = 5 in the paper.
pub(crate) const TOP: usize = 5;

impl Score {
    /// Every score, in the order of the documentation.
    pub const ALL: [Score; 8] = [
        Score::Confidence,
        Score::Entropy,
        Score::EntropyPlusOne,
        Score::TopVariance,
        Score::SoftmaxEntropy,
        Score::MaxLogit,
        Score::Energy,
        Score::MutualInformation,
    ];

    /// The name it has in commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            Score::Confidence => "confidence",
            Score::Entropy => "entropy",
            Score::EntropyPlusOne => "entropy-plus-one",
            Score::TopVariance => "top-variance",
            Score::SoftmaxEntropy => "softmax-entropy",
            Score::MaxLogit => "max-logit",
            Score::Energy => "energy",
            Score::MutualInformation => "mutual-information",
        }
    }

    /// The uncertainty of a word; finite, and higher for words that are less sure.
    pub fn of(self, logits: &[f32]) -> f64 {
        self.of_with(logits, &mut Vec::with_capacity(logits.len()))
    }

    /// [`Score::of`] with a buffer of the caller's, which spares the allocation.
    pub(crate) fn of_with(self, logits: &[f32], row: &mut Vec<f64>) -> f64 {
        if logits.is_empty() {
            return 0.0;
        }
        row.clear();
        row.extend(logits.iter().map(|&logit| finite(logit)));
        // Not `-x`, which makes -0 of 0.
        match self {
            Score::Confidence => -Softmax::new(row).largest_probability(),
            Score::Entropy => dirichlet::entropy(row),
            Score::EntropyPlusOne => dirichlet::entropy_plus_one(row),
            Score::TopVariance => 0.0 - top_variance(row),
            Score::SoftmaxEntropy => softmax_entropy(row),
            Score::MaxLogit => 0.0 - largest(row),
            Score::Energy => energy(row),
            Score::MutualInformation => dirichlet::mutual_information(row),
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Score {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Score::ALL.into_iter().find(|score| score.name() == name).ok_or_else(|| Error::Name {
            problem: format!("`{name}` is no score"),
            hint: format!("the scores are {}", Score::ALL.map(Score::name).join(", ")),
        })
    }
}

fn finite(logit: f32) -> f64 {
    if logit.is_nan() { f64::from(f32::MIN) } else { f64::from(logit.clamp(f32::MIN, f32::MAX)) }
}

fn energy(row: &[f64]) -> f64 {
    0.0 - Softmax::new(row).log_sum()
}

fn top_variance(row: &[f64]) -> f64 {
    let softmax = Softmax::new(row);
    let mut top = [0.0; TOP];
    for &logit in row {
        let mut probability = softmax.probability(logit);
        for place in &mut top {
            if probability > *place {
                std::mem::swap(place, &mut probability);
            }
        }
    }
    let top = &top[..row.len().min(TOP)];
    let mean = top.iter().sum::<f64>() / top.len() as f64;
    top.iter().map(|p| (p - mean) * (p - mean)).sum::<f64>() / top.len() as f64
}

/// As sum p (ln sum exp(m - max) + (max - m)), in which no term is below 0.
fn softmax_entropy(row: &[f64]) -> f64 {
    let softmax = Softmax::new(row);
    let rest = softmax.others.ln_1p();
    row.iter().map(|&logit| softmax.probability(logit) * (rest + (softmax.largest - logit))).sum()
}

fn largest(row: &[f64]) -> f64 {
    row.iter().copied().fold(f64::from(f32::MIN), f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_read_back() {
        for score in Score::ALL {
            assert_eq!(score.name().parse::<Score>().unwrap(), score);
            assert_eq!(serde_json::to_string(&score).unwrap(), format!("\"{score}\""));
        }
        let error = "entropie".parse::<Score>().unwrap_err();
        assert_eq!(error.to_string(), "`entropie` is no score");
        let all = "the scores are confidence, entropy, entropy-plus-one, top-variance, softmax-entropy, max-logit, \
                   energy, mutual-information";
        assert_eq!(error.hint(), Some(all));
    }

    #[test]
    fn one_label_leaves_nothing_to_be_unsure_of() {
        for (score, expected) in Score::ALL.into_iter().zip([-1.0, 0.0, 0.0, 0.0, 0.0, -3.0, -3.0, 0.0]) {
            assert_eq!(score.of(&[3.0]), expected, "{score}");
            assert_eq!(score.of(&[]), 0.0, "{score}");
        }
    }

    fn any_row() -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec(any::<f32>(), 0..12)
    }

    proptest! {
        #[test]
        fn every_score_of_every_row_is_finite(row in any_row()) {
            for score in Score::ALL {
                prop_assert!(score.of(&row).is_finite(), "{} of {:?}", score, row);
            }
        }

        #[test]
        fn scores_of_the_softmax_do_not_see_a_shift(row in prop::collection::vec(-30f32..30.0, 1..12), up in -64i8..64) {
            // Halves of small numbers are added without rounding.
            let row: Vec<f32> = row.iter().map(|logit| (logit * 2.0).round() / 2.0).collect();
            let shifted: Vec<f32> = row.iter().map(|logit| logit + f32::from(up)).collect();
            for score in [Score::Confidence, Score::TopVariance, Score::SoftmaxEntropy] {
                prop_assert_eq!(score.of(&row), score.of(&shifted));
            }
            prop_assert!((Score::Energy.of(&row) - Score::Energy.of(&shifted) - f64::from(up)).abs() < 1e-12);
        }
    }
}
