//! Adam, fused over flat slices, and the exact catch-up of rows that saw no gradient for a while.

use super::simd::{LANES, Simd, reciprocal};

/// Decay of the first moment.
pub(crate) const BETA1: f32 = 0.9;
/// Decay of the second moment, unless something else is said.
pub(crate) const BETA2: f32 = 0.999;
const EPSILON: f32 = 1e-8;
const CATCH_UP: usize = 128;
/// Adding and taking away one of these rounds to a multiple of 2^-50, or of 2^-110 for squares. Nothing can become
/// denormal then, and it costs less than a comparison.
const SNAP: f32 = 1.0 / (1 << 27) as f32;
const SNAP_SQUARE: f32 = SNAP * SNAP * SNAP / 64.0;

/// What depends on the step alone: the learning rate, the two bias corrections and the weight decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepSize {
    /// Learning rate over `1 - beta1^t`.
    pub rate: f32,
    /// `1 / (1 - beta2^t)`.
    pub second: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// What parameters are multiplied by before the step: less than 1 if weights decay (Loshchilov and Hutter, 2019).
    pub shrink: f32,
}

impl StepSize {
    /// Of a step, the first of which is 1, without weight decay.
    pub(crate) fn new(step: usize, rate: f32, beta2: f32) -> Self {
        let step = step as i32;
        StepSize {
            rate: rate / (1.0 - BETA1.powi(step)),
            second: 1.0 / (1.0 - beta2.powi(step)),
            beta2,
            shrink: 1.0,
        }
    }
}

/// Parameters with their gradient and moments.
pub(crate) struct Adam<'a> {
    pub parameters: &'a mut [f32],
    pub first: &'a mut [f32],
    pub second: &'a mut [f32],
}

impl Adam<'_> {
    pub(super) fn fits(&self) -> bool {
        let n = self.parameters.len();
        n.is_multiple_of(LANES) && n == self.first.len() && n == self.second.len()
    }
}

/// One step with gradient `scale * gradient`.
///
/// # Safety
/// `state.fits()` holds, the gradient has the same length, and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn step<S: Simd>(state: &mut Adam<'_>, gradient: &[f32], scale: f32, size: StepSize) {
    let (scale1, scale2) = (scale * (1.0 - BETA1), scale * (1.0 - size.beta2).sqrt());
    let mut k = 0;
    while k < gradient.len() {
        // SAFETY: k + 16 <= the length of all.
        unsafe {
            let g = S::load(gradient.as_ptr().add(k));
            let first = state.first.as_mut_ptr().add(k);
            let second = state.second.as_mut_ptr().add(k);
            let parameter = state.parameters.as_mut_ptr().add(k);
            let m = S::mul_add(S::splat(BETA1), S::load(first), S::mul(g, S::splat(scale1)));
            let root = S::sub(S::mul_add(g, S::splat(scale2), S::splat(SNAP)), S::splat(SNAP));
            let v = S::mul_add(root, root, S::mul(S::splat(size.beta2), S::load(second)));
            let (m, v) = (snap::<S>(m, SNAP), snap::<S>(v, SNAP_SQUARE));
            S::store(first, m);
            S::store(second, v);
            let root = S::sqrt(S::mul(v, S::splat(size.second)));
            let inverse = reciprocal::<S>(S::add(root, S::splat(EPSILON)));
            let m = S::mul(m, S::splat(size.rate));
            let shrunk = S::mul(S::load(parameter), S::splat(size.shrink));
            S::store(parameter, S::neg_mul_add(m, inverse, shrunk));
        }
        k += LANES;
    }
}

#[inline(always)]
unsafe fn snap<S: Simd>(x: S::V, to: f32) -> S::V {
    // SAFETY: only arithmetic.
    unsafe { S::sub(S::add(x, S::splat(to)), S::splat(to)) }
}

/// The steps with zero gradient that a row missed, all at once: what dense Adam without weight decay would have done.
///
/// The first moment decays by a known factor a step, and the root of the second is the first root `r` times a known
/// number `q`. So a step moves a parameter by `m rate / (r q + epsilon)`, where `rate` and `q` are the same for all
/// parameters, and the sum over the steps is a polynomial in `1 / r` as long as epsilon is small beside `r q`. After
/// [`CATCH_UP`] steps the first moment is too small to move anything, and only the moments decay.
///
/// # Safety
/// As for [`step`].
#[inline(always)]
pub(super) unsafe fn catch_up<S: Simd>(state: &mut Adam<'_>, sizes: &[StepSize]) {
    if sizes.is_empty() {
        return;
    }
    let n = sizes.len().min(CATCH_UP);
    let (mut decay1, mut decay2) = (1.0f32, 1.0f32);
    let (mut sums, mut largest) = ([0.0f32; 3], 0.0f32);
    for size in &sizes[..n] {
        decay1 *= BETA1;
        decay2 *= size.beta2;
        let inverse = 1.0 / (size.second * decay2).sqrt();
        largest = largest.max(inverse);
        let mut term = size.rate * decay1;
        for sum in &mut sums {
            term *= inverse;
            *sum += term;
        }
    }
    decay1 *= BETA1.powi((sizes.len() - n) as i32);
    decay2 *= sizes[0].beta2.powi((sizes.len() - n) as i32);
    let (linear, square, cube) = (sums[0], -EPSILON * sums[1], EPSILON * EPSILON * sums[2]);
    let mut k = 0;
    while k < state.parameters.len() {
        // SAFETY: k + 16 <= the length of all.
        unsafe {
            let first = state.first.as_mut_ptr().add(k);
            let second = state.second.as_mut_ptr().add(k);
            let parameter = state.parameters.as_mut_ptr().add(k);
            let (m, v) = (S::load(first), S::load(second));
            // Where the root is smaller than this, epsilon is all that keeps Adam from magnifying rounding errors.
            let inverse = reciprocal::<S>(S::max(S::sqrt(v), S::splat(100.0 * EPSILON * largest)));
            let sum = S::mul_add(S::splat(cube), inverse, S::splat(square));
            let sum = S::mul(S::mul_add(sum, inverse, S::splat(linear)), inverse);
            S::store(parameter, S::neg_mul_add(m, sum, S::load(parameter)));
            S::store(first, snap::<S>(S::mul(m, S::splat(decay1)), SNAP));
            S::store(second, snap::<S>(S::mul(v, S::splat(decay2)), SNAP_SQUARE));
        }
        k += LANES;
    }
}

/// The sum of the squares.
///
/// # Safety
/// The length is a multiple of 16 and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn sum_squares<S: Simd>(x: &[f32]) -> f32 {
    let mut k = 0;
    // SAFETY: k + 16 <= the length.
    unsafe {
        let mut sums = [S::splat(0.0); 4];
        while k + 4 * LANES <= x.len() {
            for (part, sum) in sums.iter_mut().enumerate() {
                let v = S::load(x.as_ptr().add(k + part * LANES));
                *sum = S::mul_add(v, v, *sum);
            }
            k += 4 * LANES;
        }
        while k < x.len() {
            let v = S::load(x.as_ptr().add(k));
            sums[0] = S::mul_add(v, v, sums[0]);
            k += LANES;
        }
        S::sum(S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3])))
    }
}
