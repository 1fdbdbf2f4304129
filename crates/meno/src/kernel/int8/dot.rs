//! Sums of products of bytes, exact on every processor.
//!
//! # Safety
//! All functions are unsafe because the caller must be running on a processor that has the features the implementing type is named
//! after. Weights are 64 readable bytes: of each of sixteen columns four rows. A row is 4 readable bytes of it.
#![allow(clippy::missing_safety_doc)]

use super::{GROUP, Int8Product, Int8Rows, LINE, multiply, quantize};
use crate::kernel::Strided;
use crate::kernel::simd::{LANES, Portable, Simd};

/// Sixteen sums, and what is added to them.
pub(super) trait Dot: Copy {
    /// Its floats.
    type S: Simd;
    type Sums: Copy;
    type Weights: Copy;
    type Row: Copy;
    /// Rows of a tile of [`Dot::TILE_PANELS`] panels; half as many may be twice as wide.
    const TILE_ROWS: usize;
    const TILE_PANELS: usize;

    unsafe fn zero() -> Self::Sums;
    unsafe fn no_weights() -> Self::Weights;
    unsafe fn weights(from: *const i8) -> Self::Weights;
    unsafe fn splat(from: *const u8) -> Self::Row;
    /// For each column, the four products of the row with its weights.
    unsafe fn add_products(sums: Self::Sums, row: Self::Row, weights: Self::Weights) -> Self::Sums;
    /// `sums - zero * columns`, as floats; sixteen sums of columns are readable.
    unsafe fn floats(sums: Self::Sums, zero: i32, columns: *const i32) -> <Self::S as Simd>::V;
    /// Sixteen whole floats as bytes; what is below 0 becomes 0, what is above 255 becomes 255.
    unsafe fn store_bytes(to: *mut u8, v: <Self::S as Simd>::V);
}

/// Which of them runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kernel) enum Path {
    Portable,
    Avx2,
    Vnni,
}

impl Path {
    /// The best of a processor with at most these vectors.
    pub(in crate::kernel) fn within(instructions: crate::kernel::Instructions) -> Self {
        use crate::kernel::Instructions;
        match instructions {
            Instructions::Portable => Path::Portable,
            Instructions::Avx2 => Path::Avx2,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 if is_x86_feature_detected!("avx512vnni") => Path::Vnni,
            Instructions::Avx512 => Path::Avx2,
        }
    }

    /// # Safety
    /// As [`quantize`]; the processor has what this is named after.
    pub(in crate::kernel) unsafe fn quantize(self, x: Strided<'_>, out: &mut Int8Rows) {
        // SAFETY: as the caller says.
        unsafe {
            match self {
                #[cfg(target_arch = "x86_64")]
                Path::Vnni => x86::quantize_vnni(x, out),
                #[cfg(target_arch = "x86_64")]
                Path::Avx2 => x86::quantize_avx2(x, out),
                _ => quantize::<Plain>(x, out),
            }
        }
    }

    /// # Safety
    /// As [`multiply`]; the processor has what this is named after.
    pub(in crate::kernel) unsafe fn multiply(self, product: &mut Int8Product<'_>) {
        // SAFETY: as the caller says.
        unsafe {
            match self {
                #[cfg(target_arch = "x86_64")]
                Path::Vnni => x86::multiply_vnni(product),
                #[cfg(target_arch = "x86_64")]
                Path::Avx2 => x86::multiply_avx2(product),
                _ => multiply::<Plain>(product),
            }
        }
    }
}

/// For every processor.
#[derive(Clone, Copy)]
struct Plain;

impl Dot for Plain {
    type S = Portable;
    type Sums = [i32; LANES];
    type Weights = [i8; LINE];
    type Row = [i32; GROUP];
    const TILE_ROWS: usize = 2;
    const TILE_PANELS: usize = 1;

    #[inline(always)]
    unsafe fn zero() -> Self::Sums {
        [0; LANES]
    }
    #[inline(always)]
    unsafe fn no_weights() -> Self::Weights {
        [0; LINE]
    }
    #[inline(always)]
    unsafe fn weights(from: *const i8) -> Self::Weights {
        // SAFETY: 64 bytes are readable.
        unsafe { from.cast::<Self::Weights>().read() }
    }
    #[inline(always)]
    unsafe fn splat(from: *const u8) -> Self::Row {
        // SAFETY: 4 bytes are readable.
        unsafe { from.cast::<[u8; GROUP]>().read() }.map(i32::from)
    }
    #[inline(always)]
    unsafe fn add_products(mut sums: Self::Sums, row: Self::Row, weights: Self::Weights) -> Self::Sums {
        for lane in 0..LANES {
            for i in 0..GROUP {
                sums[lane] += row[i] * i32::from(weights[lane * GROUP + i]);
            }
        }
        sums
    }
    #[inline(always)]
    unsafe fn floats(sums: Self::Sums, zero: i32, columns: *const i32) -> [f32; LANES] {
        // SAFETY: 16 sums are readable.
        let columns = unsafe { columns.cast::<[i32; LANES]>().read() };
        let mut floats = [0.0; LANES];
        for lane in 0..LANES {
            floats[lane] = (sums[lane] - zero * columns[lane]) as f32;
        }
        floats
    }
    #[inline(always)]
    unsafe fn store_bytes(to: *mut u8, v: [f32; LANES]) {
        // SAFETY: 16 bytes are writable.
        unsafe { to.cast::<[u8; LANES]>().write(v.map(|x| x as u8)) }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Dot, Int8Product, Int8Rows, Strided, multiply, quantize};
    use crate::kernel::simd::{Avx2, Avx512};

    /// # Safety
    /// As [`quantize`].
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn quantize_avx2(x: Strided<'_>, out: &mut Int8Rows) {
        // SAFETY: passed on.
        unsafe { quantize::<Words>(x, out) }
    }

    /// # Safety
    /// As [`quantize`].
    #[target_feature(enable = "avx512f,avx512vnni,avx2,fma")]
    pub(super) unsafe fn quantize_vnni(x: Strided<'_>, out: &mut Int8Rows) {
        // SAFETY: passed on.
        unsafe { quantize::<Vnni>(x, out) }
    }

    /// # Safety
    /// As [`multiply`].
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn multiply_avx2(product: &mut Int8Product<'_>) {
        // SAFETY: passed on.
        unsafe { multiply::<Words>(product) }
    }

    /// # Safety
    /// As [`multiply`].
    #[target_feature(enable = "avx512f,avx512vnni,avx2,fma")]
    pub(super) unsafe fn multiply_vnni(product: &mut Int8Product<'_>) {
        // SAFETY: passed on.
        unsafe { multiply::<Vnni>(product) }
    }

    /// For processors with AVX-512 VNNI, which has an instruction for it.
    #[derive(Clone, Copy)]
    struct Vnni;

    impl Dot for Vnni {
        type S = Avx512;
        type Sums = __m512i;
        type Weights = __m512i;
        type Row = __m512i;
        const TILE_ROWS: usize = 12;
        const TILE_PANELS: usize = 2;

        #[inline(always)]
        unsafe fn zero() -> __m512i {
            // SAFETY: the caller has AVX-512 F.
            unsafe { _mm512_setzero_si512() }
        }
        #[inline(always)]
        unsafe fn no_weights() -> __m512i {
            // SAFETY: the caller has AVX-512 F.
            unsafe { _mm512_setzero_si512() }
        }
        #[inline(always)]
        unsafe fn weights(from: *const i8) -> __m512i {
            // SAFETY: 64 bytes are readable.
            unsafe { _mm512_loadu_si512(from.cast()) }
        }
        #[inline(always)]
        unsafe fn splat(from: *const u8) -> __m512i {
            // SAFETY: 4 bytes are readable.
            unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
        }
        #[inline(always)]
        unsafe fn add_products(sums: __m512i, row: __m512i, weights: __m512i) -> __m512i {
            // SAFETY: the caller has AVX-512 VNNI.
            unsafe { _mm512_dpbusd_epi32(sums, row, weights) }
        }
        #[inline(always)]
        unsafe fn floats(sums: __m512i, zero: i32, columns: *const i32) -> __m512 {
            // SAFETY: 16 sums are readable.
            unsafe {
                let columns = _mm512_loadu_si512(columns.cast());
                let offset = _mm512_mullo_epi32(_mm512_set1_epi32(zero), columns);
                _mm512_cvtepi32_ps(_mm512_sub_epi32(sums, offset))
            }
        }
        #[inline(always)]
        unsafe fn store_bytes(to: *mut u8, v: __m512) {
            // SAFETY: 16 bytes are writable.
            unsafe {
                let whole = _mm512_max_epi32(_mm512_cvtps_epi32(v), _mm512_setzero_si512());
                _mm_storeu_si128(to.cast(), _mm512_cvtusepi32_epi8(whole));
            }
        }
    }

    /// For processors with AVX2: bytes become words, because sums of two products of bytes do not fit a word.
    #[derive(Clone, Copy)]
    struct Words;

    impl Dot for Words {
        type S = Avx2;
        /// Of four columns each, two sums a column.
        type Sums = [__m256i; 4];
        /// Of four columns each, four rows a column.
        type Weights = [__m256i; 4];
        type Row = __m256i;
        const TILE_ROWS: usize = 2;
        const TILE_PANELS: usize = 1;

        #[inline(always)]
        unsafe fn zero() -> Self::Sums {
            // SAFETY: the caller has AVX2.
            unsafe { [_mm256_setzero_si256(); 4] }
        }
        #[inline(always)]
        unsafe fn no_weights() -> Self::Weights {
            // SAFETY: the caller has AVX2.
            unsafe { [_mm256_setzero_si256(); 4] }
        }
        #[inline(always)]
        unsafe fn weights(from: *const i8) -> Self::Weights {
            // SAFETY: 64 bytes are readable.
            unsafe {
                let mut weights = [_mm256_setzero_si256(); 4];
                for i in 0..4 {
                    weights[i] = _mm256_cvtepi8_epi16(_mm_loadu_si128(from.add(16 * i).cast()));
                }
                weights
            }
        }
        #[inline(always)]
        unsafe fn splat(from: *const u8) -> __m256i {
            // SAFETY: 4 bytes are readable.
            unsafe {
                let bytes = _mm_cvtsi32_si128(from.cast::<i32>().read_unaligned());
                _mm256_broadcastq_epi64(_mm_cvtepu8_epi16(bytes))
            }
        }
        #[inline(always)]
        unsafe fn add_products(mut sums: Self::Sums, row: __m256i, weights: Self::Weights) -> Self::Sums {
            for i in 0..4 {
                // SAFETY: the caller has AVX2.
                sums[i] = unsafe { _mm256_add_epi32(sums[i], _mm256_madd_epi16(row, weights[i])) };
            }
            sums
        }
        #[inline(always)]
        unsafe fn floats(sums: Self::Sums, zero: i32, columns: *const i32) -> [__m256; 2] {
            // SAFETY: 16 sums are readable.
            unsafe {
                let mut floats = [_mm256_setzero_ps(); 2];
                for i in 0..2 {
                    // Columns 0, 1, 4, 5 and 2, 3, 6, 7 of eight.
                    let mixed = _mm256_hadd_epi32(sums[2 * i], sums[2 * i + 1]);
                    let whole = _mm256_permute4x64_epi64::<0b11_01_10_00>(mixed);
                    let columns = _mm256_loadu_si256(columns.add(8 * i).cast());
                    let offset = _mm256_mullo_epi32(_mm256_set1_epi32(zero), columns);
                    floats[i] = _mm256_cvtepi32_ps(_mm256_sub_epi32(whole, offset));
                }
                floats
            }
        }
        #[inline(always)]
        unsafe fn store_bytes(to: *mut u8, v: [__m256; 2]) {
            // SAFETY: 16 bytes are writable.
            unsafe {
                let [low, high] = [_mm256_cvtps_epi32(v[0]), _mm256_cvtps_epi32(v[1])];
                // Eights of bytes 0 to 3 and 8 to 11, then 4 to 7 and 12 to 15.
                let words = _mm256_packs_epi32(low, high);
                let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(words);
                let bytes =
                    _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
                _mm_storeu_si128(to.cast(), bytes);
            }
        }
    }
}
