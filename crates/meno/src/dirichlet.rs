//! The Dirichlet distribution over the labels of a word, and what it says about how sure a tagger is.
//!
//! The logits of any softmax layer enter as log concentrations, `ln_alpha = ln M + m`; numbers leave. Everything is a
//! pure function of one row, allocates nothing and knows no threshold. The mean of the Dirichlet is the softmax, so
//! training and prediction are unchanged by this reading of the logits (`docs/math.md`, "The Dirichlet").
//!
//! Concentrations run from 1e-304 to 1e304: values of `ln_alpha` beyond ±[`LN_LIMIT`] count as that limit, results
//! beyond the range of f64 as ±[`f64::MAX`]. No input gives NaN: one that is NaN counts as the smallest concentration.
//! [`check`] refuses such rows and belongs at the boundary, where logits enter. With one label (or none) there is
//! nothing to be unsure of: every entropy and gradient is 0.
//!
//! Accuracy, over the whole range: entropies of the density are right to 1e-13 relative, or absolute where they are
//! below 1; those of labels and the information to 2e-14 relative, however small; gradients to 1e-13 of the larger of
//! their two terms, which cancel where the entropy is stationary. `tests/dirichlet.rs` holds them to it.

pub use crate::math::special::{
    LN_LIMIT, digamma, digamma_at_exp, ln_gamma, ln_gamma_at_exp, trigamma, trigamma_at_exp,
};

use crate::error::{Error, Result};
use crate::math::special::{
    digamma_gain_and_phi_loss, saturate, scaled_trigamma, share, share_slope, within_limit,
};

/// Refuses a row without labels and one with a value that is NaN or infinite.
pub fn check(ln_alpha: &[f64]) -> Result<()> {
    if ln_alpha.is_empty() {
        return Err(Error::Dirichlet { problem: "a row of logits has no labels".to_owned() });
    }
    match ln_alpha.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(label_idx) => {
            let (value, n_labels) = (ln_alpha[label_idx], ln_alpha.len());
            let problem = format!("logit {} of {n_labels} is {value}, not a finite number", label_idx + 1);
            Err(Error::Dirichlet { problem })
        }
    }
}

/// The differential entropy, in nats:
/// H = ln B(alpha) + (alpha0 - K) psi(alpha0) - sum (alpha_i - 1) psi(alpha_i).
///
/// Computed as sum g(alpha_i) - g(alpha0) - (K - 1) psi(alpha0) with g(x) = ln Gamma(x) - (x - 1) psi(x) + x, in
/// which the terms of the order of alpha ln alpha have cancelled on paper.
///
/// ```
/// // The flat Dirichlet over three labels has the density 2 everywhere.
/// let entropy = meno::dirichlet::entropy(&[0.0, 0.0, 0.0]);
/// assert!((entropy + 2f64.ln()).abs() < 1e-14);
/// ```
pub fn entropy(ln_alpha: &[f64]) -> f64 {
    if ln_alpha.len() < 2 {
        return 0.0;
    }
    let (mut alpha0, mut shares) = (0.0, 0.0);
    for &ln_alpha in ln_alpha {
        let ln_alpha = within_limit(ln_alpha);
        let alpha = ln_alpha.exp();
        alpha0 += alpha;
        shares += share(alpha, ln_alpha);
    }
    entropy_of_shares(ln_alpha.len(), shares, alpha0)
}

/// [`entropy`] of alpha + 1: the posterior of a flat prior that saw alpha. It is bounded above by -ln Gamma(K) and,
/// unlike the entropy of alpha, hardly moved by concentrations far below 1, whose size a softmax does not fix.
pub fn entropy_plus_one(ln_alpha: &[f64]) -> f64 {
    if ln_alpha.len() < 2 {
        return 0.0;
    }
    let (mut alpha0, mut shares) = (0.0, 0.0);
    for &ln_alpha in ln_alpha {
        let alpha = within_limit(ln_alpha).exp();
        alpha0 += alpha + 1.0;
        shares += share(alpha + 1.0, alpha.ln_1p());
    }
    entropy_of_shares(ln_alpha.len(), shares, alpha0)
}

/// Writes dH/d alpha_i = (alpha0 - K) psi'(alpha0) - (alpha_i - 1) psi'(alpha_i) and returns H.
///
/// # Panics
/// If `out` is not as long as `ln_alpha`.
pub fn entropy_gradient(ln_alpha: &[f64], out: &mut [f64]) -> f64 {
    let entropy = entropy_log_gradient(ln_alpha, out);
    for (out, &ln_alpha) in out.iter_mut().zip(ln_alpha) {
        *out = saturate(*out * (-within_limit(ln_alpha)).exp());
    }
    entropy
}

/// Writes dH/d ln alpha_i = alpha_i dH/d alpha_i, the gradient by the logits, and returns H.
///
/// # Panics
/// If `out` is not as long as `ln_alpha`.
pub fn entropy_log_gradient(ln_alpha: &[f64], out: &mut [f64]) -> f64 {
    assert_eq!(ln_alpha.len(), out.len(), "one derivative for each concentration");
    if ln_alpha.len() < 2 {
        out.fill(0.0);
        return 0.0;
    }
    let (mut alpha0, mut shares) = (0.0, 0.0);
    for (out, &ln_alpha) in out.iter_mut().zip(ln_alpha) {
        let ln_alpha = within_limit(ln_alpha);
        let alpha = ln_alpha.exp();
        alpha0 += alpha;
        shares += share(alpha, ln_alpha);
        *out = share_slope(alpha);
    }
    let alpha0 = saturate(alpha0);
    let slope0 = share_slope(alpha0) + (ln_alpha.len() - 1) as f64 * scaled_trigamma(alpha0);
    for (out, &ln_alpha) in out.iter_mut().zip(ln_alpha) {
        *out -= within_limit(ln_alpha).exp() / alpha0 * slope0;
    }
    entropy_of_shares(ln_alpha.len(), shares, alpha0)
}

/// Writes the mean of the Dirichlet, alpha_i / alpha0: the softmax of `ln_alpha`.
///
/// # Panics
/// If `out` is not as long as `ln_alpha`.
pub fn mean(ln_alpha: &[f64], out: &mut [f64]) {
    assert_eq!(ln_alpha.len(), out.len(), "one probability for each concentration");
    let total = Total::of(ln_alpha);
    for (out, &ln_alpha) in out.iter_mut().zip(ln_alpha) {
        *out = total.probability(ln_alpha);
    }
}

/// The entropy of the mean, -sum p_i ln p_i with p = alpha / alpha0: all the uncertainty there is about the label.
pub fn entropy_of_mean(ln_alpha: &[f64]) -> f64 {
    let total = Total::of(ln_alpha);
    let surprise = |&ln_alpha| total.probability(ln_alpha) * total.surprise(ln_alpha);
    ln_alpha.iter().map(surprise).sum()
}

/// The mean of the entropy, E[-sum mu_i ln mu_i] = psi(alpha0 + 1) - sum p_i psi(alpha_i + 1): the part of
/// [`entropy_of_mean`] that would be left if the distribution of labels were known (aleatoric).
///
/// Computed as sum p_i (psi(alpha0 + 1) - psi(alpha_i + 1)), in which no term is below 0 and each difference is taken
/// on paper.
pub fn expected_entropy(ln_alpha: &[f64]) -> f64 {
    sum_of_differences(ln_alpha, |(gain, _)| gain)
}

/// What the label tells about the distribution of labels, [`entropy_of_mean`] - [`expected_entropy`]: the part of the
/// uncertainty that comes from not knowing that distribution (epistemic). From 0 to ln K.
///
/// Computed as sum p_i (phi(alpha_i) - phi(alpha0)) with the falling function phi(x) = psi(x + 1) - ln x, in which no
/// term is below 0, so that it keeps its digits where it is 1e-16 of the entropies it stands between.
pub fn mutual_information(ln_alpha: &[f64]) -> f64 {
    sum_of_differences(ln_alpha, |(_, loss)| loss)
}

fn entropy_of_shares(n_labels: usize, shares: f64, alpha0: f64) -> f64 {
    let alpha0 = saturate(alpha0);
    saturate(shares - share(alpha0, alpha0.ln()) - (n_labels - 1) as f64 * digamma(alpha0))
}

fn sum_of_differences(ln_alpha: &[f64], part: impl Fn((f64, f64)) -> f64) -> f64 {
    let total = Total::of(ln_alpha);
    let largest = total.ln_largest.exp();
    let alpha0 = saturate(largest * (1.0 + total.others));
    let mut sum = 0.0;
    for (label_idx, &ln_alpha) in ln_alpha.iter().enumerate() {
        let alpha = within_limit(ln_alpha).exp();
        // Only the largest can be so near to alpha0 that the subtraction would lose digits.
        let rest = if label_idx == total.largest_idx { largest * total.others } else { alpha0 - alpha };
        sum += total.probability(ln_alpha) * part(digamma_gain_and_phi_loss(alpha, saturate(rest)));
    }
    sum
}

/// alpha0, as the largest concentration and all others in units of it.
struct Total {
    largest_idx: usize,
    ln_largest: f64,
    others: f64,
}

impl Total {
    fn of(ln_alpha: &[f64]) -> Self {
        let (mut largest_idx, mut ln_largest) = (0, -LN_LIMIT);
        for (label_idx, &ln_alpha) in ln_alpha.iter().enumerate() {
            if within_limit(ln_alpha) > ln_largest {
                (largest_idx, ln_largest) = (label_idx, within_limit(ln_alpha));
            }
        }
        let mut others = 0.0;
        for (label_idx, &ln_alpha) in ln_alpha.iter().enumerate() {
            if label_idx != largest_idx {
                others += (within_limit(ln_alpha) - ln_largest).exp();
            }
        }
        Total { largest_idx, ln_largest, others }
    }

    fn probability(&self, ln_alpha: f64) -> f64 {
        (within_limit(ln_alpha) - self.ln_largest).exp() / (1.0 + self.others)
    }

    /// -ln p. From the difference, because logarithms of 1e-304 and 1e304 have lost the digits of a small one.
    fn surprise(&self, ln_alpha: f64) -> f64 {
        (self.ln_largest - within_limit(ln_alpha)) + self.others.ln_1p()
    }
}
