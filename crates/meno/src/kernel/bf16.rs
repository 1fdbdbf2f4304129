//! A row times a matrix of 16-bit weights.
//!
//! Where one row is multiplied, as in the recurrence of an utterance, the time goes into reading the weights, so fewer
//! bytes are less time. A weight is the upper half of an `f32` (bfloat16); the sums are those of [`super::gemm`], in
//! the same order, so the result has the same bits.

use super::Buffer;
use super::simd::{LANES, Simd, UPPER};

/// Panels of 16 columns whose rows lie beside each other.
const BLOCK: usize = 8;

/// A matrix in blocks of panels; two panels beside each other share the places of one, the former in the lower halves.
#[derive(Clone)]
pub struct Bf16Matrix {
    rows: usize,
    columns: usize,
    pairs: Buffer,
}

impl Bf16Matrix {
    /// Takes a matrix in panels, unless a weight has more bits than fit.
    pub fn of(rows: usize, panels: &[f32]) -> Option<Self> {
        if panels.iter().any(|weight| weight.to_bits() & !UPPER != 0 || !weight.is_finite()) {
            return None;
        }
        let n_panels = panels.len() / (rows * LANES);
        let mut pairs = Buffer::zeros(n_panels.div_ceil(2) * rows * LANES);
        let mut places = pairs.chunks_exact_mut(LANES);
        for block in panels.chunks(BLOCK * rows * LANES) {
            for row in 0..rows {
                for pair in block.chunks(2 * rows * LANES) {
                    let places = places.next().expect("a place for each pair of panels");
                    let (lower, upper) = pair.split_at(rows * LANES);
                    let bits =
                        |panel: &[f32], lane: usize| panel.get(row * LANES + lane).map_or(0, |x| x.to_bits());
                    for (lane, place) in places.iter_mut().enumerate() {
                        *place = f32::from_bits(bits(lower, lane) >> 16 | bits(upper, lane));
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
pub fn round_to_bf16(weight: f32) -> f32 {
    let bits = weight.to_bits();
    f32::from_bits((bits + 0x7FFF + (bits >> 16 & 1)) & UPPER)
}

/// # Safety
/// `matrix.fits(x, y)` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn add_product<S: Simd>(x: &[f32], matrix: &Bf16Matrix, y: &mut [f32]) {
    for (block, y) in y.chunks_mut(BLOCK * LANES).enumerate() {
        let panels = y.len() / LANES;
        let mut panel = 0;
        while panel < panels {
            // SAFETY: as many panels of the matrix and of `y` are left as each branch takes.
            unsafe {
                let row = panels.div_ceil(2) * LANES;
                let b =
                    matrix.pairs.as_ptr().add(block * BLOCK / 2 * LANES * matrix.rows + panel / 2 * LANES);
                let y = y.as_mut_ptr().add(panel * LANES);
                panel += match panels - panel {
                    1 => tile::<S, 1>(x, b, row, y),
                    2 => tile::<S, 2>(x, b, row, y),
                    3 => tile::<S, 3>(x, b, row, y),
                    BLOCK.. if S::TILE_PANELS > 1 => tile::<S, BLOCK>(x, b, row, y),
                    _ => tile::<S, 4>(x, b, row, y),
                };
            }
        }
    }
}

/// Adds to so many panels, and says how many.
#[inline(always)]
unsafe fn tile<S: Simd, const PANELS: usize>(x: &[f32], b: *const f32, b_row: usize, y: *mut f32) -> usize {
    // SAFETY: the caller vouches for PANELS panels at both pointers.
    unsafe {
        let mut sums = [S::splat(0.0); PANELS];
        for p in 0..PANELS {
            sums[p] = S::load(y.add(p * LANES));
        }
        for row in 0..x.len() {
            let factor = S::splat(*x.get_unchecked(row));
            for pair in 0..PANELS.div_ceil(2) {
                let (lower, upper) = S::halves(S::load(b.add(row * b_row + pair * LANES)));
                sums[2 * pair] = S::mul_add(factor, lower, sums[2 * pair]);
                if 2 * pair + 1 < PANELS {
                    sums[2 * pair + 1] = S::mul_add(factor, upper, sums[2 * pair + 1]);
                }
            }
        }
        for p in 0..PANELS {
            S::store(y.add(p * LANES), sums[p]);
        }
    }
    PANELS
}
