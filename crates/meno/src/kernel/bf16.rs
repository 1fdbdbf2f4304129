//! A row times a matrix of 16-bit weights.
//!
//! Where one row is multiplied, as in the recurrence of an utterance, the time goes into reading the weights, so fewer
//! bytes are less time. A weight is the upper half of an `f32` (bfloat16); the sums are those of [`super::gemm`], in
//! the same order, so the result has the same bits.

use super::Buffer;
use super::simd::{LANES, Simd, UPPER};

/// Panels of 16 columns that are multiplied at a time; their rows lie beside each other.
const BLOCK: usize = 6;

/// A matrix in blocks of panels; of sixteen columns, lane and lane + 8 share a float's place.
#[derive(Clone)]
pub(crate) struct Bf16Matrix {
    rows: usize,
    columns: usize,
    pairs: Buffer,
}

impl Bf16Matrix {
    /// Takes a matrix in panels, unless a weight has more bits than fit.
    pub(crate) fn of(rows: usize, panels: &[f32]) -> Option<Self> {
        if panels.iter().any(|weight| weight.to_bits() & !UPPER != 0 || !weight.is_finite()) {
            return None;
        }
        let mut pairs = Buffer::zeros(panels.len() / 2);
        let mut places = pairs.chunks_exact_mut(LANES / 2);
        for block in panels.chunks(BLOCK * rows * LANES) {
            for row in 0..rows {
                for columns in block.chunks_exact(rows * LANES).map(|panel| &panel[row * LANES..][..LANES]) {
                    let (low, high) = columns.split_at(LANES / 2);
                    let pairs = places.next().expect("a place for each sixteen weights");
                    for ((pair, low), high) in pairs.iter_mut().zip(low).zip(high) {
                        *pair = f32::from_bits(low.to_bits() >> 16 | high.to_bits());
                    }
                }
            }
        }
        Some(Bf16Matrix { rows, columns: panels.len() / rows, pairs })
    }

    /// Whether a row `x` and a result `y` have its sizes; the kernel relies on it.
    pub(super) fn fits(&self, x: &[f32], y: &[f32]) -> bool {
        x.len() == self.rows && y.len() == self.columns
    }
}

/// Rounds to the nearest weight that fits, ties to even.
pub(crate) fn round_to_bf16(weight: f32) -> f32 {
    let bits = weight.to_bits();
    f32::from_bits((bits + 0x7FFF + (bits >> 16 & 1)) & UPPER)
}

/// # Safety
/// `matrix.fits(x, y)` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn add_product<S: Simd>(x: &[f32], matrix: &Bf16Matrix, y: &mut [f32]) {
    let panels = y.len() / LANES;
    let mut panel = 0;
    while panel < panels {
        // SAFETY: as many panels of the matrix and of `y` are left as each branch takes.
        unsafe {
            let b = matrix.pairs.as_ptr().add(panel * matrix.rows * LANES / 2);
            let y = y.as_mut_ptr().add(panel * LANES);
            panel += match panels - panel {
                1 => tile::<S, 1>(x, b, y),
                2 => tile::<S, 2>(x, b, y),
                3 => tile::<S, 3>(x, b, y),
                4 => tile::<S, 4>(x, b, y),
                5 => tile::<S, 5>(x, b, y),
                _ => tile::<S, BLOCK>(x, b, y),
            };
        }
    }
}

/// Adds to so many panels, and says how many.
#[inline(always)]
unsafe fn tile<S: Simd, const PANELS: usize>(x: &[f32], b: *const f32, y: *mut f32) -> usize {
    // SAFETY: the caller vouches for PANELS panels at both pointers.
    unsafe {
        let mut sums = [S::splat(0.0); PANELS];
        for p in 0..PANELS {
            sums[p] = S::load(y.add(p * LANES));
        }
        for row in 0..x.len() {
            let factor = S::splat(*x.get_unchecked(row));
            for p in 0..PANELS {
                let columns = S::load_bf16(b.add((row * PANELS + p) * LANES / 2));
                sums[p] = S::mul_add(factor, columns, sums[p]);
            }
        }
        for p in 0..PANELS {
            S::store(y.add(p * LANES), sums[p]);
        }
    }
    PANELS
}
