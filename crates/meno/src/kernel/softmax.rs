//! Softmax and its cross entropy.

use super::simd::{LANES, Simd, exp};

/// Probabilities below this are set to zero, so that no gradient becomes denormal.
const TINY: f32 = 1e-20;

/// # Safety
/// `n`, a multiple of 16, floats can be read and written at `x`; the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn softmax<S: Simd>(x: *mut f32, n: usize) {
    // SAFETY: every access is below n.
    unsafe {
        let mut highest = S::load(x);
        let mut k = LANES;
        while k < n {
            highest = S::max(highest, S::load(x.add(k)));
            k += LANES;
        }
        let mut lanes = [0.0f32; LANES];
        S::store(lanes.as_mut_ptr(), highest);
        let mut max = lanes[0];
        for lane in lanes {
            max = if lane > max { lane } else { max };
        }
        let mut sum = S::splat(0.0);
        k = 0;
        while k < n {
            let e = exp::<S>(S::sub(S::load(x.add(k)), S::splat(max)));
            S::store(x.add(k), e);
            sum = S::add(sum, e);
            k += LANES;
        }
        let scale = S::splat(1.0 / S::sum(sum));
        k = 0;
        while k < n {
            S::store(x.add(k), S::flush(S::mul(S::load(x.add(k)), scale), TINY));
            k += LANES;
        }
    }
}

/// Turns each row of logits into probabilities.
///
/// # Safety
/// `x` holds a whole number of rows of `row` floats, a multiple of 16; the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn rows<S: Simd>(row: usize, x: &mut [f32]) {
    let mut start = 0;
    while start < x.len() {
        // SAFETY: start + row <= the length.
        unsafe { softmax::<S>(x.as_mut_ptr().add(start), row) };
        start += row;
    }
}
