//! ln Gamma, psi and psi' of positive numbers, given as they are or by their logarithm, and the combinations of them
//! that the Dirichlet needs without cancellation.
//!
//! From 8 upwards the asymptotic (Stirling) series with eleven Bernoulli numbers, below it the recurrence up to there.
//! Zeros are where the recurrence loses digits, so around them stands a Taylor series in the distance to the zero:
//! the relative error stays below 1e-13 there too. Results beyond the range of f64 are ±[`f64::MAX`], and no argument
//! gives NaN: what is not above 0 counts as the smallest normal number, infinity as the largest.

use super::tables::{BERNOULLI, DIGAMMA_AT_ROOT, DIGAMMA_ROOT, HALF_LN_2_PI, LN_GAMMA_AT_2, PIECES, Piece};

/// Logarithms are taken to lie within ± this: alpha from 1e-304 to 1e304, whose inverses are numbers as well.
pub const LN_LIMIT: f64 = 700.0;

/// Where the asymptotic series take over.
const LARGE: f64 = 8.0;

/// The logarithm of the Gamma function at `x > 0`.
pub fn ln_gamma(x: f64) -> f64 {
    let x = positive(x);
    saturate(if x < 0.5 {
        ln_gamma_of_2_plus(x) - x.ln_1p() - x.ln()
    } else if x < 1.5 {
        let z = x - 1.0;
        ln_gamma_of_2_plus(z) - z.ln_1p()
    } else if x < LARGE {
        let (mut rest, mut product) = (x, 1.0);
        while rest >= 2.5 {
            rest -= 1.0;
            product *= rest;
        }
        ln_gamma_of_2_plus(rest - 2.0) + product.ln()
    } else {
        ln_gamma_of_large(x, x.ln())
    })
}

/// The derivative of [`ln_gamma`] at `x > 0`.
pub fn digamma(x: f64) -> f64 {
    let x = positive(x);
    let from_root = (x - DIGAMMA_ROOT[0]) - DIGAMMA_ROOT[1];
    if from_root.abs() < 0.125 {
        return from_root * horner(&DIGAMMA_AT_ROOT, from_root);
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < LARGE {
        sum += 1.0 / x;
        x += 1.0;
    }
    digamma_of_large(x, x.ln()) - sum
}

/// The derivative of [`digamma`] at `x > 0`; [`f64::MAX`] below about 7e-155.
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (positive(x), 0.0);
    while x < LARGE {
        let r = 1.0 / x;
        sum += r * r;
        x += 1.0;
    }
    let r = 1.0 / x;
    saturate(sum + r * (1.0 + r * (0.5 + r * horner(&BERNOULLI, r * r))))
}

/// [`ln_gamma`] of `exp(ln_x)`, for `ln_x` within ±[`LN_LIMIT`]. The error is relative, but absolute around the zero
/// at 2, which no f64 is the logarithm of.
pub fn ln_gamma_at_exp(ln_x: f64) -> f64 {
    let ln_x = within_limit(ln_x);
    if ln_x.abs() < 0.4 {
        return ln_gamma_of_2_plus(ln_x.exp_m1()) - ln_x;
    }
    let x = ln_x.exp();
    if x < 0.5 {
        ln_gamma_of_2_plus(x) - x.ln_1p() - ln_x
    } else if x < LARGE {
        ln_gamma(x)
    } else {
        ln_gamma_of_large(x, ln_x)
    }
}

/// [`digamma`] of `exp(ln_x)`, for `ln_x` within ±[`LN_LIMIT`]. The error is relative, but absolute around the zero.
pub fn digamma_at_exp(ln_x: f64) -> f64 {
    let ln_x = within_limit(ln_x);
    let x = ln_x.exp();
    if x < LARGE { digamma(x) } else { digamma_of_large(x, ln_x) }
}

/// [`trigamma`] of `exp(ln_x)`, for `ln_x` within ±[`LN_LIMIT`]; [`f64::MAX`] below about -355.
pub fn trigamma_at_exp(ln_x: f64) -> f64 {
    trigamma(within_limit(ln_x).exp())
}

/// x psi'(x), which stays in range where psi'(x) does not.
pub(crate) fn scaled_trigamma(x: f64) -> f64 {
    1.0 / x + x * trigamma(1.0 + x)
}

/// g(x) = ln Gamma(x) - (x - 1) psi(x) + x, the share of one concentration in the entropy. It grows like ln(x) / 2
/// where its terms grow like x ln x, and falls like -1/x towards 0.
#[inline]
pub(crate) fn share(x: f64, ln_x: f64) -> f64 {
    let r = 1.0 / x;
    for piece in &PIECES {
        if x < piece.below {
            return polynomial(&piece.coefficients, (x - piece.centre) * piece.scale) - ln_x - r;
        }
    }
    // sum B2k / (2k - 1) r^(2k - 1) - B2k / 2k r^2k
    let r2 = r * r;
    0.5 * ln_x + (HALF_LN_2_PI + 0.5) + r * (horner(&SHARE_ODD, r2) - 0.5) - r2 * horner(&SHARE_EVEN, r2)
}

/// x g'(x) = x - x (x - 1) psi'(x): 1/2 for large x, 1/x for small.
#[inline]
pub(crate) fn share_slope(x: f64) -> f64 {
    let r = 1.0 / x;
    for (piece, slope) in PIECES.iter().zip(&SLOPES) {
        if x < piece.below {
            return x * polynomial(slope, (x - piece.centre) * piece.scale) - 1.0 + r;
        }
    }
    0.5 + r * (0.5 - (1.0 - r) * horner(&BERNOULLI, r * r))
}

/// For phi(x) = psi(x + 1) - ln x, which falls from infinity to 0: what psi(x + 1) gains and what phi loses from `x`
/// to `x + d`. Both are above 0, right to a few units in the last place however small `d` is, and add up to
/// ln(1 + d / x).
#[inline]
pub(crate) fn digamma_gain_and_phi_loss(x: f64, d: f64) -> (f64, f64) {
    let (mut sum, mut n) = (0.0, 0.0);
    if x < LARGE {
        n = LARGE;
        for k in 1..=LARGE as u32 {
            let to = x + f64::from(k);
            sum += d / ((to + d) * to);
        }
    }
    let y = x + n;
    let (a, b) = (1.0 / y, 1.0 / (y + d));
    let tail = (d / (y + d)) * a * (0.5 - (a + b) * slope_between(&SHARE_EVEN, a * a, b * b));
    let gain = sum + ((d / y).ln_1p() - tail);
    let loss = if n > 0.0 { ((n / x) * (d / (y + d))).ln_1p() - sum + tail } else { tail };
    (gain, loss)
}

/// ln Gamma(2 + z) for `z` from -1/2 to 1/2, exact around its zero.
fn ln_gamma_of_2_plus(z: f64) -> f64 {
    z * horner(&LN_GAMMA_AT_2, z)
}

fn ln_gamma_of_large(x: f64, ln_x: f64) -> f64 {
    let r = 1.0 / x;
    x * (ln_x - 1.0) - 0.5 * ln_x + HALF_LN_2_PI + r * horner(&STIRLING, r * r)
}

fn digamma_of_large(x: f64, ln_x: f64) -> f64 {
    let r = 1.0 / x;
    ln_x - r * (0.5 + r * horner(&SHARE_EVEN, r * r))
}

/// B2k / (2k (2k - 1)), from k = 1.
const STIRLING: [f64; 11] = bernoulli_over(true, true);
/// B2k / (2k - 1), from k = 1.
const SHARE_ODD: [f64; 11] = bernoulli_over(false, true);
/// B2k / 2k, from k = 1.
const SHARE_EVEN: [f64; 11] = bernoulli_over(true, false);

const fn bernoulli_over(even: bool, odd: bool) -> [f64; 11] {
    let (mut out, mut i) = (BERNOULLI, 0);
    while i < out.len() {
        let even = if even { (2 * i + 2) as f64 } else { 1.0 };
        let odd = if odd { (2 * i + 1) as f64 } else { 1.0 };
        out[i] /= even * odd;
        i += 1;
    }
    out
}

/// The derivatives of [`PIECES`] by x.
const SLOPES: [[f64; N]; 3] = [slope(&PIECES[0]), slope(&PIECES[1]), slope(&PIECES[2])];

const fn slope(piece: &Piece) -> [f64; N] {
    let (mut out, mut i) = ([0.0; N], 1);
    while i < N {
        out[i - 1] = piece.coefficients[i] * i as f64 * piece.scale;
        i += 1;
    }
    out
}

const N: usize = PIECES[0].coefficients.len();

/// Four interleaved Horner chains, because one would wait for itself.
#[inline]
fn polynomial(coefficients: &[f64; N], t: f64) -> f64 {
    let (t2, mut sums) = (t * t, [0.0; 4]);
    let t4 = t2 * t2;
    for four in coefficients.chunks_exact(4).rev() {
        for (sum, coefficient) in sums.iter_mut().zip(four) {
            *sum = *sum * t4 + coefficient;
        }
    }
    (sums[0] + sums[1] * t) + (sums[2] + sums[3] * t) * t2
}

#[inline]
fn horner(coefficients: &[f64], t: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient)
}

/// (a p(a) - b p(b)) / (a - b) for the polynomial p, without the subtractions.
#[inline]
fn slope_between(coefficients: &[f64], a: f64, b: f64) -> f64 {
    let (mut at_a, mut slope) = (0.0, 0.0);
    for coefficient in coefficients.iter().rev() {
        at_a = at_a * a + coefficient;
        slope = slope * b + at_a;
    }
    slope
}

/// `ln_x` within ±[`LN_LIMIT`]; NaN becomes the lower end.
#[inline]
#[expect(clippy::manual_clamp, reason = "clamp would let NaN pass")]
pub(crate) fn within_limit(ln_x: f64) -> f64 {
    ln_x.max(-LN_LIMIT).min(LN_LIMIT)
}

#[inline]
#[expect(clippy::manual_clamp, reason = "clamp would let NaN pass")]
fn positive(x: f64) -> f64 {
    x.max(f64::MIN_POSITIVE).min(f64::MAX)
}

/// Infinity becomes the largest number.
#[inline]
pub(crate) fn saturate(x: f64) -> f64 {
    x.clamp(-f64::MAX, f64::MAX)
}
