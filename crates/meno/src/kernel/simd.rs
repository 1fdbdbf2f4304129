//! Sixteen lanes of `f32`, whatever the processor: one AVX-512 register, two AVX2 registers, or a plain array.
//!
//! Every kernel is written once against [`Simd`]. Sums are folded in one fixed order and no approximate
//! hardware instruction is used, so that AVX2 and AVX-512 give the same bits. The plain array has no fused
//! multiply-add and differs in the last place.
//!
//! # Safety
//! All functions are unsafe for one reason: the caller must be running on a processor that has the features the
//! implementing type is named after. Loads and stores need 16 readable or writable floats at the pointer; no
//! alignment is needed.
#![allow(clippy::missing_safety_doc)]

/// Sixteen floats and what one can do with them.
pub(super) trait Simd: Copy {
    /// The sixteen floats.
    type V: Copy;
    /// For so many sixteen-column panels the rows of the highest matrix-product tile that stays in registers; 0 for none.
    const TILE_ROWS: [usize; 9];
    /// Panels of a tile where there are many rows.
    const TILE_PANELS: usize;

    unsafe fn splat(x: f32) -> Self::V;
    unsafe fn load(from: *const f32) -> Self::V;
    unsafe fn store(to: *mut f32, v: Self::V);
    /// Begins to fetch what may be read soon; there need not be anything.
    unsafe fn prefetch(from: *const f32);
    /// Sixteen bytes as floats.
    unsafe fn load_bytes(from: *const u8) -> Self::V;
    /// The lower and the upper halves of the bits, as upper halves of floats.
    unsafe fn halves(a: Self::V) -> (Self::V, Self::V);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sqrt(a: Self::V) -> Self::V;
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`
    unsafe fn mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `c - a * b`
    unsafe fn neg_mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The nearest integer, ties to even.
    unsafe fn round(a: Self::V) -> Self::V;
    /// `2^a` for integral `a` in `-126..=127`.
    unsafe fn pow2(a: Self::V) -> Self::V;
    /// `1 / a` within 5.1 %, for positive normal `a`, by a subtraction of its bits.
    unsafe fn reciprocal_seed(a: Self::V) -> Self::V;
    /// `yes` where `a < limit`, else `no`.
    unsafe fn where_below(a: Self::V, limit: f32, yes: Self::V, no: Self::V) -> Self::V;
    /// `(e, m)` with `a = 2^e m` and `m` from the square root of 1/2 to that of 2, for positive normal `a`.
    unsafe fn split(a: Self::V) -> (Self::V, Self::V);
    /// `a`, with lanes closer to zero than `tiny` set to zero: denormals make arithmetic many times slower.
    unsafe fn flush(a: Self::V, tiny: f32) -> Self::V;
    /// The sum: lanes 8 apart are added first, then 4, 2 and 1 apart.
    unsafe fn sum(a: Self::V) -> f32;
    /// Transposes sixteen rows of sixteen.
    unsafe fn transpose(from: *const f32, to: *mut f32);
}

/// Lanes of a [`Simd`] vector.
pub(super) const LANES: usize = 16;

const RECIPROCAL_MAGIC: i32 = 0x7EF3_11C7;
/// The bits of the square root of 1/2 and how far they are from those of 1.
const HALF_ROOT: i32 = 0x3F35_04F3;
const TO_ONE: i32 = 0x3F80_0000 - HALF_ROOT;
const MANTISSA: i32 = 0x007F_FFFF;
/// The upper half of a float's bits.
pub(super) const UPPER: u32 = 0xFFFF_0000;

/// `1 / a` to the last place or two, for positive normal `a`.
#[inline(always)]
pub(super) unsafe fn reciprocal<S: Simd>(a: S::V) -> S::V {
    // SAFETY: see the module; only arithmetic.
    unsafe {
        let one = S::splat(1.0);
        let r = S::reciprocal_seed(a);
        // A cubic step (error 0.051 -> 1.3e-4), then a quadratic one (-> 2e-8).
        let e = S::neg_mul_add(a, r, one);
        let r = S::mul_add(r, S::mul_add(e, e, e), r);
        let e = S::neg_mul_add(a, r, one);
        S::mul_add(r, e, r)
    }
}

/// `e^a`, relative error 3e-7; `a` is clamped to what `f32` can hold.
#[inline(always)]
pub(super) unsafe fn exp<S: Simd>(a: S::V) -> S::V {
    // SAFETY: see the module; only arithmetic.
    unsafe {
        let a = S::min(S::max(a, S::splat(-87.0)), S::splat(88.0));
        let n = S::round(S::mul(a, S::splat(std::f32::consts::LOG2_E)));
        // ln 2 in two parts, the first with few enough bits that n times it is exact.
        let r = S::neg_mul_add(n, S::splat(0.693_145_75), a);
        let r = S::neg_mul_add(n, S::splat(1.428_606_8e-6), r);
        let mut p = S::splat(1.0 / 720.0);
        for c in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = S::mul_add(p, r, S::splat(c));
        }
        S::mul(p, S::pow2(n))
    }
}

/// `ln a` for positive normal `a`, relative error 2e-7 (the polynomial of FreeBSD's `logf`).
#[inline(always)]
pub(super) unsafe fn ln<S: Simd>(a: S::V) -> S::V {
    // SAFETY: see the module; only arithmetic.
    unsafe {
        let (e, m) = S::split(a);
        let f = S::sub(m, S::splat(1.0));
        let s = S::mul(f, reciprocal::<S>(S::add(f, S::splat(2.0))));
        let z = S::mul(s, s);
        let mut r = S::splat(0.242_790_79);
        for c in [0.284_987_87, 0.400_009_72, 0.666_666_6] {
            r = S::mul_add(r, z, S::splat(c));
        }
        let half_square = S::mul(S::mul(f, f), S::splat(0.5));
        let correction = S::mul(s, S::mul_add(r, z, half_square));
        let low = S::mul_add(e, S::splat(9.058_001e-6), correction);
        S::mul_add(e, S::splat(0.693_138_1), S::sub(f, S::sub(half_square, low)))
    }
}

/// `tanh a`, absolute error 4e-7 (the rational approximation of Eigen).
#[inline(always)]
pub(super) unsafe fn tanh<S: Simd>(a: S::V) -> S::V {
    // SAFETY: see the module; only arithmetic.
    unsafe {
        let x = S::min(S::max(a, S::splat(-7.905_311)), S::splat(7.905_311));
        let z = S::mul(x, x);
        let mut p = S::splat(-2.760_768_5e-16);
        for c in [2.000_188e-13, -8.604_672e-11, 5.122_297e-8, 1.485_722_4e-5, 6.372_619e-4, 4.893_524_6e-3] {
            p = S::mul_add(p, z, S::splat(c));
        }
        let mut q = S::splat(1.198_258_4e-6);
        for c in [1.185_347_1e-4, 2.268_434_6e-3, 4.893_525_3e-3] {
            q = S::mul_add(q, z, S::splat(c));
        }
        S::mul(S::mul(x, p), reciprocal::<S>(q))
    }
}

/// `1 / (1 + e^-a)`.
#[inline(always)]
pub(super) unsafe fn sigmoid<S: Simd>(a: S::V) -> S::V {
    // SAFETY: see the module; only arithmetic.
    unsafe {
        let half = S::splat(0.5);
        S::mul_add(tanh::<S>(S::mul(a, half)), half, half)
    }
}

/// For every processor.
#[derive(Clone, Copy)]
pub(super) struct Portable;

macro_rules! lanewise {
    ($name:ident, $a:ident $(, $rest:ident)*; $body:expr) => {
        #[inline(always)]
        unsafe fn $name($a: Self::V $(, $rest: Self::V)*) -> Self::V {
            let mut out = [0.0; LANES];
            for lane in 0..LANES {
                let $a = $a[lane];
                $(let $rest = $rest[lane];)*
                out[lane] = $body;
            }
            out
        }
    };
}

impl Simd for Portable {
    type V = [f32; LANES];
    const TILE_ROWS: [usize; 9] = [0, 2, 1, 1, 1, 0, 0, 0, 0];
    const TILE_PANELS: usize = 1;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        [x; LANES]
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        // SAFETY: 16 floats are readable; an array of floats has the alignment of a float.
        unsafe { from.cast::<Self::V>().read() }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, v: Self::V) {
        // SAFETY: 16 floats are writable; an array of floats has the alignment of a float.
        unsafe { to.cast::<Self::V>().write(v) }
    }
    #[inline(always)]
    unsafe fn prefetch(_from: *const f32) {}
    #[inline(always)]
    unsafe fn load_bytes(from: *const u8) -> Self::V {
        // SAFETY: 16 bytes are readable.
        let bytes = unsafe { from.cast::<[u8; LANES]>().read() };
        let mut out = [0.0; LANES];
        for (x, byte) in out.iter_mut().zip(bytes) {
            *x = f32::from(byte);
        }
        out
    }
    #[inline(always)]
    unsafe fn halves(a: Self::V) -> (Self::V, Self::V) {
        let (mut lower, mut upper) = (a, a);
        for lane in 0..LANES {
            lower[lane] = f32::from_bits(a[lane].to_bits() << 16);
            upper[lane] = f32::from_bits(a[lane].to_bits() & UPPER);
        }
        (lower, upper)
    }
    lanewise!(add, a, b; a + b);
    lanewise!(sub, a, b; a - b);
    lanewise!(mul, a, b; a * b);
    lanewise!(sqrt, a; a.sqrt());
    lanewise!(min, a, b; if a < b { a } else { b });
    lanewise!(max, a, b; if a > b { a } else { b });
    lanewise!(mul_add, a, b, c; a * b + c);
    lanewise!(neg_mul_add, a, b, c; c - a * b);
    // Adding and taking away 1.5 * 2^23 leaves no room for a fraction.
    lanewise!(round, a; (a + 12_582_912.0) - 12_582_912.0);
    lanewise!(pow2, a; f32::from_bits((((a as i32) + 127) << 23) as u32));
    lanewise!(reciprocal_seed, a; f32::from_bits((RECIPROCAL_MAGIC - a.to_bits() as i32) as u32));
    #[inline(always)]
    unsafe fn where_below(a: Self::V, limit: f32, yes: Self::V, no: Self::V) -> Self::V {
        let mut out = no;
        for lane in 0..LANES {
            out[lane] = if a[lane] < limit { yes[lane] } else { no[lane] };
        }
        out
    }
    #[inline(always)]
    unsafe fn split(a: Self::V) -> (Self::V, Self::V) {
        let (mut exponent, mut mantissa) = (a, a);
        for lane in 0..LANES {
            let bits = a[lane].to_bits() as i32 + TO_ONE;
            exponent[lane] = ((bits >> 23) - 127) as f32;
            mantissa[lane] = f32::from_bits(((bits & MANTISSA) + HALF_ROOT) as u32);
        }
        (exponent, mantissa)
    }
    #[inline(always)]
    unsafe fn flush(a: Self::V, tiny: f32) -> Self::V {
        let mut out = a;
        for x in &mut out {
            *x = if x.abs() < tiny { 0.0 } else { *x };
        }
        out
    }
    #[inline(always)]
    unsafe fn sum(a: Self::V) -> f32 {
        let mut a = a;
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                a[lane] += a[lane + half];
            }
        }
        a[0]
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, to: *mut f32) {
        for row in 0..LANES {
            for column in 0..LANES {
                // SAFETY: both indices are below 256, the size of both blocks.
                unsafe { *to.add(column * LANES + row) = *from.add(row * LANES + column) }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{HALF_ROOT, LANES, MANTISSA, RECIPROCAL_MAGIC, Simd, TO_ONE, UPPER};
    use std::arch::x86_64::*;

    /// For processors with AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx2;

    /// For processors with AVX-512 F.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx512;

    macro_rules! pairwise {
        ($name:ident, $($arg:ident),+; $intrinsic:ident) => {
            #[inline(always)]
            unsafe fn $name($($arg: Self::V),+) -> Self::V {
                // SAFETY: the caller has AVX2 and FMA.
                unsafe { [$intrinsic($($arg[0]),+), $intrinsic($($arg[1]),+)] }
            }
        };
    }

    impl Simd for Avx2 {
        type V = [__m256; 2];
        const TILE_ROWS: [usize; 9] = [0, 6, 2, 1, 1, 0, 0, 0, 0];
        const TILE_PANELS: usize = 1;

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self::V {
            // SAFETY: the caller has AVX2.
            unsafe { [_mm256_set1_ps(x); 2] }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self::V {
            // SAFETY: 16 floats are readable.
            unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] }
        }
        #[inline(always)]
        unsafe fn store(to: *mut f32, v: Self::V) {
            // SAFETY: 16 floats are writable.
            unsafe {
                _mm256_storeu_ps(to, v[0]);
                _mm256_storeu_ps(to.add(8), v[1]);
            }
        }
        #[inline(always)]
        unsafe fn prefetch(from: *const f32) {
            // SAFETY: a hint that cannot fault.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(from.cast()) }
        }
        #[inline(always)]
        unsafe fn load_bytes(from: *const u8) -> Self::V {
            // SAFETY: 16 bytes are readable.
            unsafe {
                let bytes = _mm_loadu_si128(from.cast());
                let high = _mm_unpackhi_epi64(bytes, bytes);
                let low = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
                [low, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(high))]
            }
        }
        #[inline(always)]
        unsafe fn halves(a: Self::V) -> (Self::V, Self::V) {
            let (mut lower, mut upper) = (a, a);
            for i in 0..2 {
                // SAFETY: the caller has AVX2.
                unsafe {
                    let bits = _mm256_castps_si256(a[i]);
                    lower[i] = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits));
                    upper[i] = _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32(UPPER as i32)));
                }
            }
            (lower, upper)
        }
        pairwise!(add, a, b; _mm256_add_ps);
        pairwise!(sub, a, b; _mm256_sub_ps);
        pairwise!(mul, a, b; _mm256_mul_ps);
        pairwise!(sqrt, a; _mm256_sqrt_ps);
        pairwise!(min, a, b; _mm256_min_ps);
        pairwise!(max, a, b; _mm256_max_ps);
        pairwise!(mul_add, a, b, c; _mm256_fmadd_ps);
        pairwise!(neg_mul_add, a, b, c; _mm256_fnmadd_ps);
        #[inline(always)]
        unsafe fn round(a: Self::V) -> Self::V {
            const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
            // SAFETY: the caller has AVX2.
            unsafe { [_mm256_round_ps::<NEAREST>(a[0]), _mm256_round_ps::<NEAREST>(a[1])] }
        }
        #[inline(always)]
        unsafe fn pow2(a: Self::V) -> Self::V {
            let mut out = a;
            for half in &mut out {
                // SAFETY: the caller has AVX2.
                *half = unsafe {
                    let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(*half), _mm256_set1_epi32(127));
                    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
                };
            }
            out
        }
        #[inline(always)]
        unsafe fn reciprocal_seed(a: Self::V) -> Self::V {
            let mut out = a;
            for half in &mut out {
                // SAFETY: the caller has AVX2.
                *half = unsafe {
                    let magic = _mm256_set1_epi32(RECIPROCAL_MAGIC);
                    _mm256_castsi256_ps(_mm256_sub_epi32(magic, _mm256_castps_si256(*half)))
                };
            }
            out
        }
        #[inline(always)]
        unsafe fn where_below(a: Self::V, limit: f32, yes: Self::V, no: Self::V) -> Self::V {
            let mut out = no;
            for i in 0..2 {
                // SAFETY: the caller has AVX2.
                out[i] = unsafe {
                    let below = _mm256_cmp_ps::<_CMP_LT_OQ>(a[i], _mm256_set1_ps(limit));
                    _mm256_blendv_ps(no[i], yes[i], below)
                };
            }
            out
        }
        #[inline(always)]
        unsafe fn split(a: Self::V) -> (Self::V, Self::V) {
            let (mut exponent, mut mantissa) = (a, a);
            for i in 0..2 {
                // SAFETY: the caller has AVX2.
                unsafe {
                    let bits = _mm256_add_epi32(_mm256_castps_si256(a[i]), _mm256_set1_epi32(TO_ONE));
                    let e = _mm256_sub_epi32(_mm256_srai_epi32::<23>(bits), _mm256_set1_epi32(127));
                    exponent[i] = _mm256_cvtepi32_ps(e);
                    let m = _mm256_and_si256(bits, _mm256_set1_epi32(MANTISSA));
                    mantissa[i] = _mm256_castsi256_ps(_mm256_add_epi32(m, _mm256_set1_epi32(HALF_ROOT)));
                }
            }
            (exponent, mantissa)
        }
        #[inline(always)]
        unsafe fn flush(a: Self::V, tiny: f32) -> Self::V {
            let mut out = a;
            for half in &mut out {
                // SAFETY: the caller has AVX2.
                *half = unsafe {
                    let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), *half);
                    _mm256_and_ps(*half, _mm256_cmp_ps::<_CMP_NLT_UQ>(size, _mm256_set1_ps(tiny)))
                };
            }
            out
        }
        #[inline(always)]
        unsafe fn sum(a: Self::V) -> f32 {
            // SAFETY: the caller has AVX2.
            unsafe { sum8(_mm256_add_ps(a[0], a[1])) }
        }
        #[inline(always)]
        unsafe fn transpose(from: *const f32, to: *mut f32) {
            // SAFETY: both blocks hold 16 rows of 16; the four quarters lie inside.
            unsafe {
                for (row, column) in [(0, 0), (0, 8), (8, 0), (8, 8)] {
                    transpose8(from.add(row * LANES + column), to.add(column * LANES + row));
                }
            }
        }
    }

    impl Simd for Avx512 {
        type V = __m512;
        const TILE_ROWS: [usize; 9] = [0, 8, 14, 9, 6, 0, 0, 0, 2];
        const TILE_PANELS: usize = 4;

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self::V {
            // SAFETY: the caller has AVX-512 F, here and below.
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self::V {
            // SAFETY: 16 floats are readable.
            unsafe { _mm512_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(to: *mut f32, v: Self::V) {
            // SAFETY: 16 floats are writable.
            unsafe { _mm512_storeu_ps(to, v) }
        }
        #[inline(always)]
        unsafe fn prefetch(from: *const f32) {
            // SAFETY: a hint that cannot fault.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(from.cast()) }
        }
        #[inline(always)]
        unsafe fn load_bytes(from: *const u8) -> Self::V {
            // SAFETY: 16 bytes are readable.
            unsafe { _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast()))) }
        }
        #[inline(always)]
        unsafe fn halves(a: Self::V) -> (Self::V, Self::V) {
            // SAFETY: as in `splat`.
            unsafe {
                let bits = _mm512_castps_si512(a);
                let upper = _mm512_and_si512(bits, _mm512_set1_epi32(UPPER as i32));
                (_mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits)), _mm512_castsi512_ps(upper))
            }
        }
        #[inline(always)]
        unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe { _mm512_add_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe { _mm512_sub_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe { _mm512_mul_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn sqrt(a: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe { _mm512_sqrt_ps(a) }
        }
        #[inline(always)]
        unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe { _mm512_min_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe { _mm512_max_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe { _mm512_fmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn neg_mul_add(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe { _mm512_fnmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn round(a: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
        }
        #[inline(always)]
        unsafe fn pow2(a: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe {
                let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(a), _mm512_set1_epi32(127));
                _mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent))
            }
        }
        #[inline(always)]
        unsafe fn reciprocal_seed(a: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe {
                let magic = _mm512_set1_epi32(RECIPROCAL_MAGIC);
                _mm512_castsi512_ps(_mm512_sub_epi32(magic, _mm512_castps_si512(a)))
            }
        }
        #[inline(always)]
        unsafe fn where_below(a: Self::V, limit: f32, yes: Self::V, no: Self::V) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe {
                let below = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, _mm512_set1_ps(limit));
                _mm512_mask_blend_ps(below, no, yes)
            }
        }
        #[inline(always)]
        unsafe fn split(a: Self::V) -> (Self::V, Self::V) {
            // SAFETY: as in `splat`.
            unsafe {
                let bits = _mm512_add_epi32(_mm512_castps_si512(a), _mm512_set1_epi32(TO_ONE));
                let e = _mm512_sub_epi32(_mm512_srai_epi32::<23>(bits), _mm512_set1_epi32(127));
                let m = _mm512_and_si512(bits, _mm512_set1_epi32(MANTISSA));
                let m = _mm512_add_epi32(m, _mm512_set1_epi32(HALF_ROOT));
                (_mm512_cvtepi32_ps(e), _mm512_castsi512_ps(m))
            }
        }
        #[inline(always)]
        unsafe fn flush(a: Self::V, tiny: f32) -> Self::V {
            // SAFETY: as in `splat`.
            unsafe {
                let keep = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(_mm512_abs_ps(a), _mm512_set1_ps(tiny));
                _mm512_maskz_mov_ps(keep, a)
            }
        }
        #[inline(always)]
        unsafe fn sum(a: Self::V) -> f32 {
            // SAFETY: as in `splat`; AVX2 is part of AVX-512 F.
            unsafe {
                let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(a)));
                sum8(_mm256_add_ps(_mm512_castps512_ps256(a), high))
            }
        }
        #[inline(always)]
        unsafe fn transpose(from: *const f32, to: *mut f32) {
            // SAFETY: AVX2 is part of AVX-512 F.
            unsafe { Avx2::transpose(from, to) }
        }
    }

    #[inline(always)]
    unsafe fn sum8(a: __m256) -> f32 {
        // SAFETY: the caller has AVX2.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    /// Transposes 8 rows of 8 in blocks whose rows are [`LANES`] apart.
    #[inline(always)]
    unsafe fn transpose8(from: *const f32, to: *mut f32) {
        // SAFETY: the caller has AVX2 and gives blocks of 8 rows that are LANES apart.
        unsafe {
            let r = [
                _mm256_loadu_ps(from),
                _mm256_loadu_ps(from.add(LANES)),
                _mm256_loadu_ps(from.add(2 * LANES)),
                _mm256_loadu_ps(from.add(3 * LANES)),
                _mm256_loadu_ps(from.add(4 * LANES)),
                _mm256_loadu_ps(from.add(5 * LANES)),
                _mm256_loadu_ps(from.add(6 * LANES)),
                _mm256_loadu_ps(from.add(7 * LANES)),
            ];
            for half in 0..2 {
                // Columns 0, 1 and 4, 5 when `half` is 0, columns 2, 3 and 6, 7 when it is 1.
                let mut pairs = [r[0]; 4];
                for i in 0..4 {
                    pairs[i] = if half == 0 {
                        _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1])
                    } else {
                        _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1])
                    };
                }
                let top = [
                    _mm256_shuffle_ps::<0x44>(pairs[0], pairs[1]),
                    _mm256_shuffle_ps::<0xEE>(pairs[0], pairs[1]),
                ];
                let bottom = [
                    _mm256_shuffle_ps::<0x44>(pairs[2], pairs[3]),
                    _mm256_shuffle_ps::<0xEE>(pairs[2], pairs[3]),
                ];
                for i in 0..2 {
                    let column = 2 * half + i;
                    let low = _mm256_permute2f128_ps::<0x20>(top[i], bottom[i]);
                    let high = _mm256_permute2f128_ps::<0x31>(top[i], bottom[i]);
                    _mm256_storeu_ps(to.add(column * LANES), low);
                    _mm256_storeu_ps(to.add((column + 4) * LANES), high);
                }
            }
        }
    }
}
