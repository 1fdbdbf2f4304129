//! Whether probabilities can be believed.
//!
//! Enters: for each word the probability of the label that was chosen and whether it was right, or all probabilities and
//! the right label. Leaves: the expected calibration error ECE = sum over bins of n_b / n |accuracy_b - confidence_b|
//! (Guo et al., 2017), its bins for a reliability diagram, and the Brier score.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// As many bins as the literature has.
pub const BINS: usize = 15;

/// Confidence against accuracy, in bins of equal width over 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reliability {
    /// From the lowest confidence to the highest; empty ones are there too.
    pub bins: Vec<Bin>,
}

/// The words whose confidence is above `lower` and at most `upper`; 0 belongs to the first bin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// The lower limit, not in the bin.
    pub lower: f64,
    /// The upper limit, in the bin.
    pub upper: f64,
    /// How many words.
    pub count: usize,
    /// Their mean confidence; 0 if there are none.
    pub confidence: f64,
    /// The share of them that was right; 0 if there are none.
    pub accuracy: f64,
}

impl Reliability {
    /// Sorts words into [`BINS`] bins by confidence; fails if one is not within 0 to 1.
    pub fn new(pairs: impl IntoIterator<Item = (f64, bool)>) -> Result<Self> {
        Self::with_bins(pairs, BINS)
    }

    /// As [`Self::new`], with any number of bins but 0.
    pub fn with_bins(pairs: impl IntoIterator<Item = (f64, bool)>, n_bins: usize) -> Result<Self> {
        if n_bins == 0 {
            return Err(Error::Setting {
                problem: "the number of bins is 0".to_owned(),
                hint: format!("{BINS} is usual"),
            });
        }
        let limit = |idx: usize| idx as f64 / n_bins as f64;
        let mut bins: Vec<Bin> = (0..n_bins)
            .map(|idx| Bin {
                lower: limit(idx),
                upper: limit(idx + 1),
                count: 0,
                confidence: 0.0,
                accuracy: 0.0,
            })
            .collect();
        for (idx, (confidence, right)) in pairs.into_iter().enumerate() {
            demand_probability(idx, confidence)?;
            // The limits themselves decide, not a product that may round to the other side of one.
            let bin = &mut bins[(1..n_bins).take_while(|&idx| limit(idx) < confidence).count()];
            bin.count += 1;
            bin.confidence += confidence;
            bin.accuracy += f64::from(u8::from(right));
        }
        for bin in bins.iter_mut().filter(|bin| bin.count > 0) {
            bin.confidence /= bin.count as f64;
            bin.accuracy /= bin.count as f64;
        }
        Ok(Reliability { bins })
    }

    /// The expected calibration error, from 0 to 1; `None` if there are no words.
    pub fn ece(&self) -> Option<f64> {
        let n: usize = self.bins.iter().map(|bin| bin.count).sum();
        let gap = |bin: &Bin| bin.count as f64 * (bin.accuracy - bin.confidence).abs();
        (n > 0).then(|| self.bins.iter().map(gap).sum::<f64>() / n as f64)
    }
}

/// The mean over words of the squared distance from the probabilities to the truth, sum over labels (p_i - y_i)^2: 0 is
/// best, 2 is worst (Brier, 1950). `None` if there are no words.
///
/// Fails if a number is not within 0 to 1 or the right label is not among them.
pub fn brier<P: AsRef<[f64]>>(rows: impl IntoIterator<Item = (P, usize)>) -> Result<Option<f64>> {
    let (mut sum, mut n) = (0.0, 0);
    for (idx, (row, label_idx)) in rows.into_iter().enumerate() {
        let row = row.as_ref();
        if label_idx >= row.len() {
            return Err(Error::Evaluation {
                problem: format!("word {}: label {label_idx} of {} labels", idx + 1, row.len()),
                hint: "labels are counted from 0".to_owned(),
            });
        }
        for (other_idx, &probability) in row.iter().enumerate() {
            demand_probability(idx, probability)?;
            let truth = if other_idx == label_idx { 1.0 } else { 0.0 };
            sum += (probability - truth).powi(2);
        }
        n += 1;
    }
    Ok((n > 0).then(|| sum / n as f64))
}

fn demand_probability(idx: usize, value: f64) -> Result<()> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::Evaluation {
        problem: format!("word {}: {value} is not a probability", idx + 1),
        hint: "probabilities are from 0 to 1".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_belong_to_the_lower_bin() {
        let pairs = [(0.0, true), (0.5, false), (0.500_001, true), (1.0, true)];
        let reliability = Reliability::with_bins(pairs, 2).unwrap();
        let counts: Vec<usize> = reliability.bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [2, 2]);
        // |1/2 - 1/4| and |1 - 0.7500005|, half of the words each.
        assert!((reliability.ece().unwrap() - 0.249_999_75).abs() < 1e-15);
    }

    #[test]
    fn brier_worked_by_hand() {
        let rows = [([0.7, 0.2, 0.1], 0), ([0.0, 0.0, 1.0], 1)];
        // 0.09 + 0.04 + 0.01 and 1 + 1.
        assert!((brier(rows).unwrap().unwrap() - (0.14 + 2.0) / 2.0).abs() < 1e-15);
    }

    #[test]
    fn nothing_gives_nothing_and_nonsense_an_error() {
        assert_eq!(Reliability::new([]).unwrap().ece(), None);
        assert_eq!(brier(Vec::<(Vec<f64>, usize)>::new()).unwrap(), None);
        for value in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            let error = Reliability::new([(0.5, true), (value, true)]).unwrap_err();
            assert_eq!(error.to_string(), format!("word 2: {value} is not a probability"));
            assert!(brier([([0.5, value], 0)]).is_err());
        }
        assert!(Reliability::with_bins([], 0).is_err());
        assert_eq!(brier([([0.5, 0.5], 2)]).unwrap_err().to_string(), "word 1: label 2 of 2 labels");
    }
}
