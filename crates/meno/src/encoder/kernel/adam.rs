//! Adam, fused over flat slices, and the exact catch-up of rows that saw no gradient for a while.

use super::simd::{LANES, Simd, reciprocal};

/// Decay of the first moment.
pub(crate) const BETA1: f32 = 0.9;
/// Decay of the second moment.
pub(crate) const BETA2: f32 = 0.999;
const EPSILON: f32 = 1e-8;
const CATCH_UP: usize = 128;
/// Gradients and moments closer to zero than this count as zero, so that nothing becomes denormal.
const TINY: f32 = 1e-15;
const TINY_SQUARE: f32 = 1e-33;

/// What depends on the step alone: the learning rate and the two bias corrections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepSize {
    /// Learning rate over `1 - beta1^t`.
    pub rate: f32,
    /// `1 / (1 - beta2^t)`.
    pub second: f32,
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
    let mut k = 0;
    while k < gradient.len() {
        // SAFETY: k + 16 <= the length of all.
        unsafe {
            let g = S::flush(S::mul(S::load(gradient.as_ptr().add(k)), S::splat(scale)), TINY);
            let first = state.first.as_mut_ptr().add(k);
            let second = state.second.as_mut_ptr().add(k);
            let parameter = state.parameters.as_mut_ptr().add(k);
            let m = S::mul_add(S::splat(BETA1), S::load(first), S::mul(S::splat(1.0 - BETA1), g));
            let v = S::mul_add(S::splat(BETA2), S::load(second), S::mul(S::splat(1.0 - BETA2), S::mul(g, g)));
            let (m, v) = (S::flush(m, TINY), S::flush(v, TINY_SQUARE));
            S::store(first, m);
            S::store(second, v);
            S::store(parameter, moved::<S>(S::load(parameter), m, v, size));
        }
        k += LANES;
    }
}

/// The steps with zero gradient that a row missed, one by one in registers: what dense Adam would have done.
/// After [`CATCH_UP`] of them the first moment is too small to move anything, and only the moments decay.
///
/// # Safety
/// As for [`step`].
#[inline(always)]
pub(super) unsafe fn catch_up<S: Simd>(state: &mut Adam<'_>, sizes: &[StepSize]) {
    let n = sizes.len().min(CATCH_UP);
    // The second moment only decays, so its root is the first root times a number that is the same for all.
    let (mut rates, mut roots) = ([0.0f32; CATCH_UP], [0.0f32; CATCH_UP]);
    let (mut decay1, mut decay2) = (1.0f32, 1.0f32);
    for i in 0..n {
        decay1 *= BETA1;
        decay2 *= BETA2;
        rates[i] = sizes[i].rate * decay1;
        roots[i] = (sizes[i].second * decay2).sqrt();
    }
    decay1 *= BETA1.powi((sizes.len() - n) as i32);
    decay2 *= BETA2.powi((sizes.len() - n) as i32);
    let mut k = 0;
    while k < state.parameters.len() {
        // SAFETY: k + 16 <= the length of all.
        unsafe {
            let first = state.first.as_mut_ptr().add(k);
            let second = state.second.as_mut_ptr().add(k);
            let parameter = state.parameters.as_mut_ptr().add(k);
            let (mut p, m, v) = (S::load(parameter), S::load(first), S::load(second));
            let root = S::sqrt(v);
            for i in 0..n {
                let divisor = S::mul_add(root, S::splat(roots[i]), S::splat(EPSILON));
                p = S::neg_mul_add(S::mul(m, S::splat(rates[i])), reciprocal::<S>(divisor), p);
            }
            S::store(parameter, p);
            S::store(first, S::flush(S::mul(m, S::splat(decay1)), TINY));
            S::store(second, S::flush(S::mul(v, S::splat(decay2)), TINY_SQUARE));
        }
        k += LANES;
    }
}

#[inline(always)]
unsafe fn moved<S: Simd>(p: S::V, m: S::V, v: S::V, size: StepSize) -> S::V {
    // SAFETY: only arithmetic.
    unsafe {
        let root = S::sqrt(S::mul(v, S::splat(size.second)));
        let inverse = reciprocal::<S>(S::add(root, S::splat(EPSILON)));
        S::neg_mul_add(S::mul(m, S::splat(size.rate)), inverse, p)
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
