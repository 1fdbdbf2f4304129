//! What is gained by answering only where the tagger is sure.
//!
//! Enters: for each word its uncertainty and whether its label was wrong. Leaves: the risk-coverage curve (the share of
//! errors among the k most certain words, for every k) and AURC, its mean over k (Geifman, Uziel and El-Yaniv, 2019).
//! Words of equal uncertainty are in no order, so their errors are spread evenly over them: what is given is the mean over
//! all their orders.

use serde::Serialize;

use super::detection::demand_numbers;
use crate::Result;

/// The words from the most certain to the least.
#[derive(Clone, Debug, PartialEq)]
pub struct RiskCoverage {
    /// One for each distinct uncertainty, the lowest first.
    steps: Vec<Step>,
}

/// Counts of words and errors up to here.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    uncertainty: f64,
    words: usize,
    errors: usize,
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RiskCoveragePoint {
    /// Words up to this uncertainty are answered.
    pub uncertainty: f64,
    /// The share of the words that is answered.
    pub coverage: f64,
    /// The share of the answers that is wrong.
    pub risk: f64,
}

impl RiskCoverage {
    /// Sorts words by uncertainty; fails if one is NaN.
    pub fn new(pairs: impl IntoIterator<Item = (f64, bool)>) -> Result<Self> {
        let mut pairs: Vec<(f64, bool)> = pairs.into_iter().collect();
        demand_numbers(pairs.iter().map(|(uncertainty, _)| *uncertainty))?;
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut steps: Vec<Step> = Vec::new();
        let mut errors = 0;
        for (idx, (uncertainty, is_wrong)) in pairs.into_iter().enumerate() {
            errors += usize::from(is_wrong);
            let step = Step { uncertainty, words: idx + 1, errors };
            match steps.last_mut() {
                Some(last) if last.uncertainty == uncertainty => *last = step,
                _ => steps.push(step),
            }
        }
        Ok(RiskCoverage { steps })
    }

    /// The curve, a point for each distinct uncertainty; the last one covers everything.
    pub fn curve(&self) -> Vec<RiskCoveragePoint> {
        let n = self.steps.last().map_or(0, |step| step.words) as f64;
        let point = |step: &Step| RiskCoveragePoint {
            uncertainty: step.uncertainty,
            coverage: step.words as f64 / n,
            risk: step.errors as f64 / step.words as f64,
        };
        self.steps.iter().map(point).collect()
    }

    /// The area under the curve, from 0 to 1, lower is better; `None` if there are no words.
    pub fn aurc(&self) -> Option<f64> {
        let (mut words, mut errors) = (0, 0);
        let mut sum = 0.0;
        for step in &self.steps {
            let rate = (step.errors - errors) as f64 / (step.words - words) as f64;
            for k in words + 1..=step.words {
                sum += (errors as f64 + rate * (k - words) as f64) / k as f64;
            }
            (words, errors) = (step.words, step.errors);
        }
        (words > 0).then(|| sum / words as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.` is right, `x` is wrong; uncertainty grows from group to group and is equal within one.
    fn risk_coverage(notation: &str) -> RiskCoverage {
        let groups = notation.split_whitespace().enumerate();
        let pairs = groups.flat_map(|(idx, group)| group.chars().map(move |sign| (idx as f64, sign == 'x')));
        RiskCoverage::new(pairs).unwrap()
    }

    #[test]
    fn worked_by_hand() {
        for (notation, aurc) in [
            ("", None),
            (". . .", Some(0.0)),
            (". . x", Some(1.0 / 9.0)),
            ("x . .", Some((1.0 + 0.5 + 1.0 / 3.0) / 3.0)),
            // Both orders of the first two: (1 + 1/2) / 2 and (0 + 1/2) / 2.
            ("x.", Some(0.5)),
        ] {
            assert_eq!(risk_coverage(notation).aurc(), aurc, "{notation}");
        }
    }

    #[test]
    fn curve_has_a_point_for_each_distinct_uncertainty() {
        let points: Vec<(f64, f64)> =
            risk_coverage(". x. x").curve().iter().map(|point| (point.coverage, point.risk)).collect();
        assert_eq!(points, [(0.25, 0.0), (0.75, 1.0 / 3.0), (1.0, 0.5)]);
    }

    #[test]
    fn nan_is_refused() {
        assert!(RiskCoverage::new([(f64::NAN, true)]).is_err());
    }
}
