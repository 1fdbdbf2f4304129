//! Whether one method is better than another, or was lucky with its seeds.
//!
//! Enter: the results of two methods. Leaves: Student's t, its degrees of freedom and the two-sided p-value
//! p = I_{df / (df + t^2)}(df / 2, 1 / 2), with I the regularised incomplete beta function.
//!
//! Samples without any variance have no t: equal means then give t = 0 and p = 1, different ones an infinite t and p = 0.

use serde::Serialize;

use crate::math::special::ln_gamma;

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TTest {
    /// Positive if the first sample has the higher mean.
    pub t: f64,
    /// Degrees of freedom; of Welch's test not a whole number.
    pub df: f64,
    /// How likely a t at least as far from 0 is if there is no difference.
    pub p: f64,
}

/// Student's test of pairs, such as two methods on the same seeds; `None` if there are fewer than two pairs, the samples
/// differ in length, or a value is not finite.
pub fn paired(first: &[f64], second: &[f64]) -> Option<TTest> {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let sample = Sample::of(&differences).filter(|_| first.len() == second.len())?;
    Some(TTest::of(sample.mean, sample.squared_error(), sample.n - 1.0))
}

/// Welch's test of two independent samples, which may differ in size and variance; `None` if one has fewer than two
/// values or a value is not finite.
pub fn welch(first: &[f64], second: &[f64]) -> Option<TTest> {
    let [first, second] = [Sample::of(first)?, Sample::of(second)?];
    let [a, b] = [first.squared_error(), second.squared_error()];
    let df = (a + b).powi(2) / (a.powi(2) / (first.n - 1.0) + b.powi(2) / (second.n - 1.0));
    let df = if df.is_finite() { df } else { first.n + second.n - 2.0 };
    Some(TTest::of(first.mean - second.mean, a + b, df))
}

struct Sample {
    n: f64,
    mean: f64,
    variance: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Sample { n, mean, variance: squares / (n - 1.0) })
    }

    /// The square of the standard error of the mean.
    fn squared_error(&self) -> f64 {
        self.variance / self.n
    }
}

impl TTest {
    fn of(difference: f64, squared_error: f64, df: f64) -> Self {
        let t = if difference == 0.0 { 0.0 } else { difference / squared_error.sqrt() };
        TTest { t, df, p: two_sided(t, df) }
    }
}

/// The probability of a t at least this far from 0.
fn two_sided(t: f64, df: f64) -> f64 {
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    incomplete_beta(0.5 * df, 0.5, df / (df + square), square / (df + square)).clamp(0.0, 1.0)
}

/// The regularised incomplete beta function I_x(a, b); `rest` is 1 - x, which the caller knows without cancellation.
///
/// By the continued fraction on that side of the mean where it converges fast, from the other side by
/// I_x(a, b) = 1 - I_{1-x}(b, a).
fn incomplete_beta(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    if x <= 0.0 || rest <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * rest.ln();
    if x < (a + 1.0) / (a + b + 2.0) {
        ln_front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - ln_front.exp() * beta_fraction(b, a, rest) / b
    }
}

/// 1 / (1 + d1 / (1 + d2 / (1 + ...))) by Lentz's method; DLMF 8.17.22 has the d.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_degree_of_freedom_is_the_cauchy_distribution() {
        for t in [1e-9, 0.1, 1.0, 7.0, 1e6] {
            let exact = 1.0 - 2.0 * f64::atan(t) / std::f64::consts::PI;
            assert!((two_sided(t, 1.0) - exact).abs() < 1e-14, "{t}");
        }
    }

    #[test]
    fn samples_without_variance() {
        assert_eq!(paired(&[1.0, 2.0], &[1.0, 2.0]).unwrap(), TTest { t: 0.0, df: 1.0, p: 1.0 });
        let test = paired(&[2.0, 3.0], &[1.0, 2.0]).unwrap();
        assert_eq!((test.t, test.p), (f64::INFINITY, 0.0));
        let test = welch(&[1.0, 1.0], &[2.0, 2.0, 2.0]).unwrap();
        assert_eq!((test.t, test.df, test.p), (f64::NEG_INFINITY, 3.0, 0.0));
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 1.0]).unwrap().p, 1.0);
    }

    #[test]
    fn too_little_or_not_finite_is_no_test() {
        assert_eq!(paired(&[], &[]), None);
        assert_eq!(paired(&[1.0], &[2.0]), None);
        assert_eq!(paired(&[1.0, 2.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(welch(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(welch(&[1.0, f64::NAN], &[1.0, 2.0]), None);
    }
}
