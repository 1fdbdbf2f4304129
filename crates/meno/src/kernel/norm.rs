//! Layer normalisation with the residual connection before it: `y = gamma (s - mean) / deviation + beta`, where
//! `s = residual + factors x`.

use super::simd::{LANES, Simd};

/// Rows to be normalised, all of them `row` apart.
pub(crate) struct Norm<'a> {
    /// Rows.
    pub rows: usize,
    /// Width of a row; a multiple of 16.
    pub width: usize,
    /// From one row to the next, of `x`, `residual` and `y`.
    pub row: usize,
    /// In: what is added to the residual; out: the sum.
    pub x: &'a mut [f32],
    /// What it is added to, if anything.
    pub residual: Option<&'a [f32]>,
    /// The factors of dropout of `x`, `width` apart, if there is any.
    pub factors: Option<&'a [f32]>,
    pub gamma: &'a [f32],
    pub beta: &'a [f32],
    /// What is added to the variance.
    pub epsilon: f32,
    /// Out: mean and inverse deviation of each row.
    pub moments: &'a mut [f32],
    /// Out: the normalised rows.
    pub y: &'a mut [f32],
}

impl Norm<'_> {
    pub(super) fn fits(&self) -> bool {
        let end = last(self.rows, self.row, self.width);
        self.width.is_multiple_of(LANES)
            && self.width > 0
            && end <= self.x.len().min(self.y.len())
            && self.residual.is_none_or(|residual| end <= residual.len())
            && self.factors.is_none_or(|factors| self.rows * self.width <= factors.len())
            && self.width <= self.gamma.len().min(self.beta.len())
            && 2 * self.rows <= self.moments.len()
    }
}

/// Where the last row ends.
pub(super) fn last(rows: usize, row: usize, width: usize) -> usize {
    if rows == 0 { 0 } else { (rows - 1) * row + width }
}

/// # Safety
/// `norm.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn forward<S: Simd>(norm: &mut Norm<'_>) {
    let (width, share) = (norm.width, 1.0 / norm.width as f32);
    for r in 0..norm.rows {
        // SAFETY: `fits` bounds the rows.
        unsafe {
            let at = r * norm.row;
            let x = norm.x.as_mut_ptr().add(at);
            let residual = norm.residual.map(|residual| residual.as_ptr().add(at));
            let factors = norm.factors.map(|factors| factors.as_ptr().add(r * width));
            let mean = share * sum_up::<S>(x, residual, factors, width);
            let deviation = (share * squares::<S>(x, mean, width) + norm.epsilon).sqrt();
            let inverse = 1.0 / deviation;
            *norm.moments.get_unchecked_mut(2 * r) = mean;
            *norm.moments.get_unchecked_mut(2 * r + 1) = inverse;
            let y = norm.y.as_mut_ptr().add(at);
            let mut k = 0;
            while k < width {
                let hat = S::mul(S::sub(S::load(x.add(k)), S::splat(mean)), S::splat(inverse));
                let (gamma, beta) = (S::load(norm.gamma.as_ptr().add(k)), S::load(norm.beta.as_ptr().add(k)));
                S::store(y.add(k), S::mul_add(hat, gamma, beta));
                k += LANES;
            }
        }
    }
}

/// Puts the sum in the place of `x`; gives the sum of its numbers.
#[inline(always)]
unsafe fn sum_up<S: Simd>(
    x: *mut f32,
    residual: Option<*const f32>,
    factors: Option<*const f32>,
    width: usize,
) -> f32 {
    // SAFETY: the caller vouches for `width` floats at each pointer.
    unsafe {
        let mut sum = S::splat(0.0);
        let mut k = 0;
        while k < width {
            let mut s = S::load(x.add(k));
            if let Some(factors) = factors {
                s = S::mul(s, S::load(factors.add(k)));
            }
            if let Some(residual) = residual {
                s = S::add(s, S::load(residual.add(k)));
            }
            S::store(x.add(k), s);
            sum = S::add(sum, s);
            k += LANES;
        }
        S::sum(sum)
    }
}

/// The sum of the squared differences from the mean.
#[inline(always)]
unsafe fn squares<S: Simd>(x: *const f32, mean: f32, width: usize) -> f32 {
    // SAFETY: the caller vouches for `width` floats.
    unsafe {
        let mut sum = S::splat(0.0);
        let mut k = 0;
        while k < width {
            let d = S::sub(S::load(x.add(k)), S::splat(mean));
            sum = S::mul_add(d, d, sum);
            k += LANES;
        }
        S::sum(sum)
    }
}

/// The gradient of [`Norm`].
pub(crate) struct NormGradient<'a> {
    /// As in [`Norm`]; also of the gradients.
    pub rows: usize,
    pub width: usize,
    pub row: usize,
    /// The sum that [`Norm`] left.
    pub sum: &'a [f32],
    pub moments: &'a [f32],
    pub factors: Option<&'a [f32]>,
    pub gamma: &'a [f32],
    /// In: gradient of `y`; out: of the sum, which is that of the residual.
    pub d: &'a mut [f32],
    /// Out: gradient of `x`, if anybody needs it.
    pub d_x: Option<&'a mut [f32]>,
    /// Added to.
    pub d_gamma: &'a mut [f32],
    pub d_beta: &'a mut [f32],
}

impl NormGradient<'_> {
    pub(super) fn fits(&self) -> bool {
        let end = last(self.rows, self.row, self.width);
        self.width.is_multiple_of(LANES)
            && end <= self.sum.len().min(self.d.len())
            && self.d_x.as_ref().is_none_or(|d_x| end <= d_x.len())
            && self.factors.is_none_or(|factors| self.rows * self.width <= factors.len())
            && self.width <= self.gamma.len().min(self.d_gamma.len()).min(self.d_beta.len())
            && 2 * self.rows <= self.moments.len()
    }
}

/// # Safety
/// `g.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn backward<S: Simd>(g: &mut NormGradient<'_>) {
    let (width, share) = (g.width, 1.0 / g.width as f32);
    for r in 0..g.rows {
        // SAFETY: `fits` bounds the rows.
        unsafe {
            let at = r * g.row;
            let (sum, d) = (g.sum.as_ptr().add(at), g.d.as_mut_ptr().add(at));
            let mean = S::splat(*g.moments.get_unchecked(2 * r));
            let inverse = S::splat(*g.moments.get_unchecked(2 * r + 1));
            let (mut along, mut level) = (S::splat(0.0), S::splat(0.0));
            let mut k = 0;
            while k < width {
                let hat = S::mul(S::sub(S::load(sum.add(k)), mean), inverse);
                let dy = S::load(d.add(k));
                let d_gamma = g.d_gamma.as_mut_ptr().add(k);
                S::store(d_gamma, S::mul_add(dy, hat, S::load(d_gamma)));
                let d_beta = g.d_beta.as_mut_ptr().add(k);
                S::store(d_beta, S::add(S::load(d_beta), dy));
                let d_hat = S::mul(dy, S::load(g.gamma.as_ptr().add(k)));
                along = S::mul_add(d_hat, hat, along);
                level = S::add(level, d_hat);
                k += LANES;
            }
            let along = S::splat(share * S::sum(along));
            let level = S::splat(share * S::sum(level));
            k = 0;
            while k < width {
                let hat = S::mul(S::sub(S::load(sum.add(k)), mean), inverse);
                let d_hat = S::mul(S::load(d.add(k)), S::load(g.gamma.as_ptr().add(k)));
                let d_sum = S::neg_mul_add(hat, along, S::sub(d_hat, level));
                let d_sum = S::flush(S::mul(d_sum, inverse), TINY);
                S::store(d.add(k), d_sum);
                if let Some(d_x) = &mut g.d_x {
                    let factor = match g.factors {
                        Some(factors) => S::load(factors.as_ptr().add(r * width + k)),
                        None => S::splat(1.0),
                    };
                    S::store(d_x.as_mut_ptr().add(at + k), S::mul(d_sum, factor));
                }
                k += LANES;
            }
        }
    }
}

/// Gradients closer to zero than this are dropped, so that none becomes denormal.
const TINY: f32 = 1e-25;
