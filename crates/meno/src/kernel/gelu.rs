//! The Gaussian error linear unit: `x Phi(x)`, with the normal distribution's `Phi` itself and no approximation of it by
//! `tanh` (Hendrycks and Gimpel, 2016).

use super::simd::{LANES, Simd, exp, reciprocal};

/// `erf a`, absolute error 4e-7 (the rational approximation of Eigen).
#[inline(always)]
unsafe fn erf<S: Simd>(a: S::V) -> S::V {
    // SAFETY: only arithmetic.
    unsafe {
        let x = S::min(S::max(a, S::splat(-4.0)), S::splat(4.0));
        let z = S::mul(x, x);
        let mut p = S::splat(2.726_142_3e-10);
        for c in [-2.770_681_4e-8, 2.101_024e-6, 5.692_506_4e-5, 7.349_906_3e-4, 2.954_6e-3, 1.609_603_3e-2] {
            p = S::mul_add(p, z, S::splat(c));
        }
        let mut q = S::splat(1.456_607_2e-5);
        for c in [2.133_740_6e-4, 1.682_827e-3, 7.373_329e-3, 1.426_473_9e-2] {
            q = S::mul_add(q, z, S::splat(c));
        }
        S::mul(S::mul(x, p), reciprocal::<S>(q))
    }
}

/// `Phi(x)`
#[inline(always)]
unsafe fn phi<S: Simd>(x: S::V) -> S::V {
    // SAFETY: only arithmetic.
    unsafe {
        let half = S::splat(0.5);
        S::mul_add(erf::<S>(S::mul(x, S::splat(std::f32::consts::FRAC_1_SQRT_2))), half, half)
    }
}

/// `x = x Phi(x)`
///
/// # Safety
/// The length is a multiple of 16 and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn gelu<S: Simd>(x: &mut [f32]) {
    let mut k = 0;
    while k < x.len() {
        // SAFETY: k + 16 <= the length.
        unsafe {
            let x = x.as_mut_ptr().add(k);
            S::store(x, S::mul(S::load(x), phi::<S>(S::load(x))));
        }
        k += LANES;
    }
}

/// `y = x Phi(x)`, and in the place of `x` the slope there: `Phi(x) + x e^(-x^2 / 2) / sqrt(2 pi)`
///
/// # Safety
/// Equal lengths, a multiple of 16; the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn with_slope<S: Simd>(x: &mut [f32], y: &mut [f32]) {
    /// `1 / sqrt(2 pi)`
    const HEIGHT: f32 = 0.398_942_3;
    let mut k = 0;
    while k < x.len() {
        // SAFETY: k + 16 <= the length of both.
        unsafe {
            let slope = x.as_mut_ptr().add(k);
            let x = S::load(slope);
            let phi = phi::<S>(x);
            let density = exp::<S>(S::mul(S::mul(x, x), S::splat(-0.5)));
            S::store(y.as_mut_ptr().add(k), S::mul(x, phi));
            S::store(slope, S::mul_add(S::mul(x, S::splat(HEIGHT)), density, phi));
        }
        k += LANES;
    }
}
