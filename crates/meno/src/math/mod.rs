//! Arithmetic that several stages share: sums of exponentials, largest values, special functions, logistic regression.

pub(crate) mod logistic;
pub(crate) mod special;
mod tables;

/// The log of the sum of the exponentials of some numbers; minus infinity if there are none.
pub(crate) fn log_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + values.map(|value| (value - largest).exp()).sum::<f64>().ln()
}

/// The sum of the exponentials of some logits in units of that of the largest one.
pub(crate) fn sum_exp(logits: &[f32], largest: f32) -> f32 {
    logits.iter().map(|logit| (logit - largest).exp()).sum()
}

/// As [`sum_exp`], in double precision.
pub(crate) fn sum_exp_precisely(logits: &[f32], largest: f32) -> f64 {
    logits.iter().map(|logit| f64::from(logit - largest).exp()).sum()
}

/// The log probabilities of some logits, into `to`; gives the log of the sum of their exponentials.
pub(crate) fn log_softmax(logits: &[f32], to: &mut [f32]) -> f32 {
    let largest = logits.iter().fold(f32::MIN, |a, &b| a.max(b));
    let shift = largest + sum_exp(logits, largest).ln();
    to.iter_mut().zip(logits).for_each(|(to, logit)| *to = logit - shift);
    shift
}

/// The sum of exp m over a row in units of its largest term, so that no logit is too large or too small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Softmax {
    /// The largest logit.
    pub largest: f64,
    /// The sum of all but one largest term, over that term.
    pub others: f64,
}

impl Softmax {
    /// Of a row of finite logits.
    pub(crate) fn new(row: &[f64]) -> Self {
        let largest = row.iter().copied().fold(f64::from(f32::MIN), f64::max);
        let mut others = 0.0;
        let mut is_first = true;
        for logit in row {
            if *logit == largest && std::mem::take(&mut is_first) {
                continue;
            }
            others += (logit - largest).exp();
        }
        Softmax { largest, others }
    }

    /// The largest probability.
    pub(crate) fn largest_probability(&self) -> f64 {
        1.0 / (1.0 + self.others)
    }

    /// The probability of a logit of the row.
    pub(crate) fn probability(&self, logit: f64) -> f64 {
        (logit - self.largest).exp() / (1.0 + self.others)
    }

    /// The log of the sum of the exponentials.
    pub(crate) fn log_sum(&self) -> f64 {
        self.largest + self.others.ln_1p()
    }
}

/// The index of the largest value, the first of equals, and the value; `None` for no values.
pub fn largest(values: &[f32]) -> Option<(u32, f32)> {
    let mut best = (0, *values.first()?);
    for (i, &value) in (0..).zip(values) {
        if value > best.1 {
            best = (i, value);
        }
    }
    Some(best)
}

/// The `n` largest values with their indices, largest first, of equals the first.
pub(crate) fn top(values: &[f32], n: usize) -> Vec<(u32, f32)> {
    let mut top: Vec<(u32, f32)> = Vec::with_capacity(n + 1);
    for (i, &value) in (0..).zip(values) {
        if top.len() == n && top.last().is_some_and(|&(_, lowest)| lowest >= value) {
            continue;
        }
        let at = top.partition_point(|&(_, other)| other >= value);
        if at < n {
            top.truncate(n - 1);
            top.insert(at, (i, value));
        }
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_exponentials() {
        assert_eq!(log_sum_exp([].into_iter()), f64::NEG_INFINITY);
        assert!((log_sum_exp([0.0, 3f64.ln()].into_iter()) - 4f64.ln()).abs() < 1e-15);
        assert_eq!(log_sum_exp([1000.0, f64::NEG_INFINITY].into_iter()), 1000.0);
        let mut ln = [0.0; 2];
        assert!((log_softmax(&[0.0, 3f32.ln()], &mut ln) - 4f32.ln()).abs() < 1e-6);
        assert!((ln[0] - 0.25f32.ln()).abs() < 1e-6 && (ln[1] - 0.75f32.ln()).abs() < 1e-6);
        let softmax = Softmax::new(&[0.0, 3f64.ln()]);
        assert!((softmax.largest_probability() - 0.75).abs() < 1e-15);
        assert!((softmax.probability(0.0) - 0.25).abs() < 1e-15);
        assert!((softmax.log_sum() - 4f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn the_largest_come_first() {
        assert_eq!(largest(&[]), None);
        assert_eq!(largest(&[1.0, 3.0, 3.0]), Some((1, 3.0)));
        assert_eq!(top(&[1.0, 3.0, 2.0, 3.0], 3), [(1, 3.0), (3, 3.0), (2, 2.0)]);
        assert_eq!(top(&[1.0], 3), [(0, 1.0)]);
        assert_eq!(top(&[1.0, 2.0], 0), []);
        assert_eq!(top(&[], 2), []);
    }
}
