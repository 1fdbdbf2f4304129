//! The entropy of Dirichlet distributions and its gradient, a row of log concentrations each, in `f32`.
//!
//! The formulas are those of [`crate::dirichlet`], which is exact and slow; see `docs/math.md`:
//!
//! ```text
//! H            = sum g(alpha_i) - g(alpha0) - (K - 1) psi(alpha0)         g(x) = ln Gamma(x) - (x - 1) psi(x) + x
//! dH/dln a_i   = v(alpha_i) - alpha_i / alpha0 (v(alpha0) + (K - 1) alpha0 psi'(alpha0))    v(x) = x g'(x)
//! ```
//! At 8 and above g, psi, v and psi' are their asymptotic series; below they are led back to x + 8 by recurrence.

use super::simd::{LANES, Simd, exp, ln, reciprocal};

/// Log concentrations beyond this count as this, so that the reciprocal of a concentration is a finite float.
const LN_ALPHA_LIMIT: f32 = 80.0;

/// Rows of log concentrations.
pub(crate) struct Dirichlets<'a> {
    /// How many of the floats of a row are labels; the rest is padding.
    pub n_labels: usize,
    /// From one row to the next, a multiple of 16.
    pub row: usize,
    /// The rows; overwritten with the gradient of the entropy if that is wanted, with 0 in the padding.
    pub ln_alpha: &'a mut [f32],
    /// An entropy for each row.
    pub entropy: &'a mut [f32],
    /// Whether the gradient is wanted.
    pub gradient: bool,
}

impl Dirichlets<'_> {
    pub(super) fn fits(&self) -> bool {
        self.row > 0
            && self.row.is_multiple_of(LANES)
            && self.n_labels <= self.row
            && self.ln_alpha.len() == self.entropy.len() * self.row
    }
}

/// What the entropy needs of a concentration `x`.
struct Terms<V> {
    g: V,
    psi: V,
    v: V,
    /// `x psi'(x)`
    scaled_trigamma: V,
}

/// `x`, its reciprocal and its logarithm enter.
#[inline(always)]
unsafe fn terms<S: Simd>(x: S::V, inverse: S::V, ln_x: S::V) -> Terms<S::V> {
    // SAFETY: only arithmetic; the caller has what `S` needs.
    unsafe {
        let one = S::splat(1.0);
        // Sums over k = 1 .. 7 of 1 / (x + k) and its square, and the product of the x + k. Clamped, so that lanes
        // which need none of it do not overflow.
        let small = S::min(x, S::splat(EXACT_FROM));
        let (mut inverses, mut squares, mut product) = (S::splat(0.0), S::splat(0.0), one);
        for k in 1..8 {
            let shifted = S::add(small, S::splat(k as f32));
            let inverse = reciprocal::<S>(shifted);
            inverses = S::add(inverses, inverse);
            squares = S::mul_add(inverse, inverse, squares);
            product = S::mul(product, shifted);
        }
        let shifted = S::add(small, S::splat(8.0));
        let y_inverse = S::where_below(x, EXACT_FROM, reciprocal::<S>(shifted), inverse);
        let ln_y = S::where_below(x, EXACT_FROM, ln::<S>(shifted), ln_x);
        let series = Series::of::<S>(y_inverse, ln_y);

        let below_one = S::sub(x, one);
        let eight = S::splat(8.0);
        let mut g = S::mul_add(eight, S::sub(series.psi, one), series.g);
        g = S::sub(S::sub(g, ln_x), ln::<S>(product));
        g = S::add(S::mul_add(below_one, inverses, g), S::sub(one, inverse));
        let psi = S::sub(S::sub(series.psi, inverses), inverse);
        let trigamma = S::add(series.trigamma, squares);
        let small_scaled = S::mul_add(small, trigamma, inverse);
        let v = S::neg_mul_add(below_one, small_scaled, x);
        Terms {
            g: S::where_below(x, EXACT_FROM, g, series.g),
            psi: S::where_below(x, EXACT_FROM, psi, series.psi),
            v: S::where_below(x, EXACT_FROM, v, series.v),
            scaled_trigamma: S::where_below(x, EXACT_FROM, small_scaled, series.scaled_trigamma),
        }
    }
}

/// Where the series are exact to the last place of `f32`.
const EXACT_FROM: f32 = 8.0;

/// Asymptotic series at `y >= 8`.
struct Series<V> {
    g: V,
    psi: V,
    v: V,
    trigamma: V,
    scaled_trigamma: V,
}

impl<V: Copy> Series<V> {
    #[inline(always)]
    unsafe fn of<S: Simd<V = V>>(inverse: V, ln_y: V) -> Self {
        // SAFETY: only arithmetic; the caller has what `S` needs.
        unsafe {
            let g = polynomial::<S>(
                inverse,
                [HALF_LN_2_PI_E, -1.0 / 3.0, -1.0 / 12.0, -1.0 / 90.0, 1.0 / 120.0, 1.0 / 210.0],
            );
            let psi = polynomial::<S>(inverse, [0.0, -0.5, -1.0 / 12.0, 0.0, 1.0 / 120.0, 0.0]);
            let v =
                polynomial::<S>(inverse, [0.5, 1.0 / 3.0, 1.0 / 6.0, 1.0 / 30.0, -1.0 / 30.0, -1.0 / 42.0]);
            let scaled_trigamma = polynomial::<S>(inverse, [1.0, 0.5, 1.0 / 6.0, 0.0, -1.0 / 30.0, 0.0]);
            Series {
                g: S::mul_add(ln_y, S::splat(0.5), g),
                psi: S::add(ln_y, psi),
                v,
                trigamma: S::mul(scaled_trigamma, inverse),
                scaled_trigamma,
            }
        }
    }
}

/// `c0 + c1 x + c2 x^2 + ...`
#[inline(always)]
unsafe fn polynomial<S: Simd>(x: S::V, coefficients: [f32; 6]) -> S::V {
    // SAFETY: only arithmetic; the caller has what `S` needs.
    unsafe {
        let mut sum = S::splat(coefficients[5]);
        let mut i = 5;
        while i > 0 {
            i -= 1;
            sum = S::mul_add(sum, x, S::splat(coefficients[i]));
        }
        sum
    }
}

/// Half the logarithm of 2 pi e.
const HALF_LN_2_PI_E: f32 = 1.418_938_5;

/// # Safety
/// `rows.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn entropy<S: Simd>(rows: &mut Dirichlets<'_>) {
    let mut i = 0;
    while i < rows.entropy.len() {
        // SAFETY: `fits` says that the row lies inside.
        rows.entropy[i] = unsafe {
            let at = rows.ln_alpha.as_mut_ptr().add(i * rows.row);
            entropy_of_row::<S>(at, rows.n_labels, rows.row, rows.gradient)
        };
        i += 1;
    }
}

#[inline(always)]
unsafe fn entropy_of_row<S: Simd>(at: *mut f32, n_labels: usize, row: usize, gradient: bool) -> f32 {
    // SAFETY: `row` floats are at `at`; the caller has what `S` needs.
    unsafe {
        if n_labels < 2 {
            if gradient {
                std::slice::from_raw_parts_mut(at, row).fill(0.0);
            }
            return 0.0;
        }
        let (mut alphas, mut gs) = (S::splat(0.0), S::splat(0.0));
        let mut k = 0;
        while k < row {
            let (ln_alpha, is_label) = concentrations::<S>(at.add(k), n_labels - n_labels.min(k));
            let alpha = S::mul(exp::<S>(ln_alpha), is_label);
            let terms = terms_of::<S>(ln_alpha);
            alphas = S::add(alphas, alpha);
            gs = S::mul_add(terms.g, is_label, gs);
            k += LANES;
        }
        let alpha0 = S::splat(S::sum(alphas));
        let whole = terms::<S>(alpha0, reciprocal::<S>(alpha0), ln::<S>(alpha0));
        let others = S::splat((n_labels - 1) as f32);
        if gradient {
            let factor = S::mul_add(others, whole.scaled_trigamma, whole.v);
            let factor = S::mul(factor, reciprocal::<S>(alpha0));
            k = 0;
            while k < row {
                let (ln_alpha, is_label) = concentrations::<S>(at.add(k), n_labels - n_labels.min(k));
                let slope = S::neg_mul_add(exp::<S>(ln_alpha), factor, terms_of::<S>(ln_alpha).v);
                S::store(at.add(k), S::mul(slope, is_label));
                k += LANES;
            }
        }
        let mut lanes = [0.0; LANES];
        S::store(lanes.as_mut_ptr(), S::mul_add(others, whole.psi, whole.g));
        S::sum(gs) - lanes[0]
    }
}

#[inline(always)]
unsafe fn terms_of<S: Simd>(ln_alpha: S::V) -> Terms<S::V> {
    // SAFETY: only arithmetic; the caller has what `S` needs.
    unsafe { terms::<S>(exp::<S>(ln_alpha), exp::<S>(S::sub(S::splat(0.0), ln_alpha)), ln_alpha) }
}

/// Sixteen log concentrations within the limit, 0 in the padding, and 1 for each that is a label, else 0.
#[inline(always)]
unsafe fn concentrations<S: Simd>(at: *const f32, labels_left: usize) -> (S::V, S::V) {
    // SAFETY: sixteen floats are at `at`; the caller has what `S` needs.
    unsafe {
        let ln_alpha = S::max(S::min(S::load(at), S::splat(LN_ALPHA_LIMIT)), S::splat(-LN_ALPHA_LIMIT));
        if labels_left >= LANES {
            return (ln_alpha, S::splat(1.0));
        }
        let mut is_label = [0.0; LANES];
        is_label[..labels_left].fill(1.0);
        let is_label = S::load(is_label.as_ptr());
        (S::mul(ln_alpha, is_label), is_label)
    }
}
