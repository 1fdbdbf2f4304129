//! How well a score tells positives from negatives, whatever the threshold.
//!
//! Enters: a score and whether it belongs to a positive, for each word; a higher score says "positive" louder (for
//! uncertainty: "a new concept"). Leaves: areas and curves, from 0 to 1, equal to scikit-learn's. Words with the same
//! score are one step: no threshold can tell them apart, so their order in the input changes nothing.
//!
//! ```
//! use meno::metrics::detection::Ranking;
//!
//! let ranking = Ranking::new([(0.9, true), (0.8, false), (0.7, true), (0.1, false)])?;
//! assert_eq!(ranking.auroc(), Some(0.75));
//! assert_eq!(ranking.false_positive_rate_at(0.95), Some(0.5));
//! # Ok::<(), meno::Error>(())
//! ```

use serde::Serialize;

use crate::{Error, Result};

/// Scores from the highest to the lowest, with counts of what lies at or above each.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// One for each distinct score, the highest first.
    steps: Vec<Step>,
}

/// What a threshold just below `score` calls positive.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    score: f64,
    true_positives: usize,
    false_positives: usize,
}

/// A point of the ROC curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RocPoint {
    /// Scores at or above it are called positive; infinite at the first point, where nothing is.
    pub score: f64,
    /// The share of the negatives that are called positive.
    pub false_positive_rate: f64,
    /// The share of the positives that are called positive: recall.
    pub true_positive_rate: f64,
}

/// A point of the precision-recall curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PrecisionRecallPoint {
    /// Scores at or above it are called positive.
    pub score: f64,
    /// The share of those called positive that are.
    pub precision: f64,
    /// The share of the positives that are called so.
    pub recall: f64,
}

/// The single numbers; `None` where there are no positives, or no negatives, to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Detection {
    /// See [`Ranking::auroc`].
    pub auroc: Option<f64>,
    /// See [`Ranking::aupr`].
    pub aupr: Option<f64>,
    /// See [`Ranking::false_positive_rate_at`], for a recall of 0.95.
    pub fpr_at_95_recall: Option<f64>,
    /// How many positives there are.
    pub positives: usize,
    /// How many negatives there are.
    pub negatives: usize,
}

impl Ranking {
    /// Sorts scores; fails if one is NaN.
    pub fn new(pairs: impl IntoIterator<Item = (f64, bool)>) -> Result<Self> {
        let mut pairs: Vec<(f64, bool)> = pairs.into_iter().collect();
        demand_numbers(pairs.iter().map(|(score, _)| *score))?;
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut steps: Vec<Step> = Vec::new();
        let (mut true_positives, mut false_positives) = (0, 0);
        for (score, is_positive) in pairs {
            true_positives += usize::from(is_positive);
            false_positives += usize::from(!is_positive);
            let step = Step { score, true_positives, false_positives };
            match steps.last_mut() {
                // Equality and not `total_cmp`: 0 and -0 are one score.
                Some(last) if last.score == score => *last = step,
                _ => steps.push(step),
            }
        }
        Ok(Ranking { steps })
    }

    /// How many positives there are.
    pub fn positives(&self) -> usize {
        self.steps.last().map_or(0, |step| step.true_positives)
    }

    /// How many negatives there are.
    pub fn negatives(&self) -> usize {
        self.steps.last().map_or(0, |step| step.false_positives)
    }

    /// The area under the ROC curve: how often a positive scores above a negative, where a tie counts half.
    ///
    /// `None` without positives or without negatives.
    pub fn auroc(&self) -> Option<f64> {
        let pairs = self.positives() as u128 * self.negatives() as u128;
        let mut halves: u128 = 0;
        let (mut above, mut passed) = (0, 0);
        for step in &self.steps {
            halves += (step.false_positives - passed) as u128 * (above + step.true_positives) as u128;
            (above, passed) = (step.true_positives, step.false_positives);
        }
        (pairs > 0).then(|| halves as f64 / (2.0 * pairs as f64))
    }

    /// The average precision, sum over steps of precision times the recall gained: the area under the precision-recall
    /// curve without interpolation, which would be too good.
    ///
    /// `None` without positives.
    pub fn aupr(&self) -> Option<f64> {
        let positives = self.positives();
        let mut found = 0;
        let mut area = 0.0;
        for step in &self.steps {
            area += (step.true_positives - found) as f64 * step.precision();
            found = step.true_positives;
        }
        (positives > 0).then(|| area / positives as f64)
    }

    /// The share of the negatives called positive by the highest threshold that finds at least `recall` of the positives.
    ///
    /// `None` without positives or without negatives.
    pub fn false_positive_rate_at(&self, recall: f64) -> Option<f64> {
        let (positives, negatives) = (self.positives() as f64, self.negatives());
        let step = self.steps.iter().find(|step| step.true_positives as f64 / positives >= recall)?;
        (negatives > 0).then(|| step.false_positives as f64 / negatives as f64)
    }

    /// From (0, 0) to (1, 1), a point for each distinct score; empty where [`Self::auroc`] is `None`.
    pub fn roc(&self) -> Vec<RocPoint> {
        let (positives, negatives) = (self.positives(), self.negatives());
        if positives == 0 || negatives == 0 {
            return Vec::new();
        }
        let start = Step { score: f64::INFINITY, true_positives: 0, false_positives: 0 };
        let points = std::iter::once(&start).chain(&self.steps).map(|step| RocPoint {
            score: step.score,
            false_positive_rate: step.false_positives as f64 / negatives as f64,
            true_positive_rate: step.true_positives as f64 / positives as f64,
        });
        points.collect()
    }

    /// From the highest score to the lowest, a point for each distinct score; empty without positives.
    ///
    /// scikit-learn's has the opposite order and one point more, (precision 1, recall 0), which no threshold reaches.
    pub fn precision_recall(&self) -> Vec<PrecisionRecallPoint> {
        let positives = self.positives();
        if positives == 0 {
            return Vec::new();
        }
        let points = self.steps.iter().map(|step| PrecisionRecallPoint {
            score: step.score,
            precision: step.precision(),
            recall: step.true_positives as f64 / positives as f64,
        });
        points.collect()
    }

    /// The single numbers.
    pub fn detection(&self) -> Detection {
        Detection {
            auroc: self.auroc(),
            aupr: self.aupr(),
            fpr_at_95_recall: self.false_positive_rate_at(0.95),
            positives: self.positives(),
            negatives: self.negatives(),
        }
    }
}

impl Step {
    fn precision(&self) -> f64 {
        self.true_positives as f64 / (self.true_positives + self.false_positives) as f64
    }
}

/// Fails if one of the scores is NaN, which has no place in an order.
pub(super) fn demand_numbers(scores: impl IntoIterator<Item = f64>) -> Result<()> {
    match scores.into_iter().position(f64::is_nan) {
        Some(idx) => Err(Error::Evaluation {
            problem: format!("score {} is NaN", idx + 1),
            hint: "a score is a number; infinities are allowed".to_owned(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+` is a positive, `-` a negative; scores fall from word to word, signs within a word share a score.
    fn ranking(notation: &str) -> Ranking {
        let words = notation.split_whitespace().enumerate();
        let pairs = words.flat_map(|(idx, word)| word.chars().map(move |sign| (-(idx as f64), sign == '+')));
        Ranking::new(pairs).unwrap()
    }

    fn check(notation: &str, auroc: Option<f64>, aupr: Option<f64>, fpr: Option<f64>) {
        let ranking = ranking(notation);
        assert_eq!((ranking.auroc(), ranking.aupr()), (auroc, aupr), "{notation}");
        assert_eq!(ranking.false_positive_rate_at(0.95), fpr, "{notation}");
    }

    #[test]
    fn worked_by_hand() {
        check("+ + - -", Some(1.0), Some(1.0), Some(0.0));
        check("- +", Some(0.0), Some(0.5), Some(1.0));
        check("+-", Some(0.5), Some(0.5), Some(1.0));
        check("+ - + -", Some(0.75), Some(0.5 * (1.0 + 2.0 / 3.0)), Some(0.5));
        check("+ +- -", Some(0.875), Some(0.5 * (1.0 + 2.0 / 3.0)), Some(0.5));
    }

    #[test]
    fn one_class_has_no_area() {
        check("", None, None, None);
        check("+ +", None, Some(1.0), None);
        check("- -", None, None, None);
        assert!(ranking("+").roc().is_empty() && ranking("-").precision_recall().is_empty());
    }

    #[test]
    fn order_of_the_input_and_sign_of_zero_do_not_matter() {
        let pairs = [(0.0, true), (-0.0, false), (1.0, false), (f64::INFINITY, true)];
        let mut reversed = pairs;
        reversed.reverse();
        let [one, other] = [pairs, reversed].map(|pairs| Ranking::new(pairs).unwrap());
        assert_eq!(one.detection(), other.detection());
        assert_eq!(one.auroc(), Some((1.0 + 1.0 + 0.0 + 0.5) / 4.0));
    }

    #[test]
    fn nan_is_refused() {
        let error = Ranking::new([(0.0, true), (f64::NAN, false)]).unwrap_err();
        assert_eq!(error.to_string(), "score 2 is NaN");
    }
}
