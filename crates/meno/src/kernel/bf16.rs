//! Rows times a matrix of 16-bit weights.
//!
//! Where few rows are multiplied, one in the recurrence of an utterance or the pieces of one in a transformer, the time goes into
//! reading the weights, so fewer bytes are less time. A weight is the upper half of an `f32` (bfloat16); the sums are those of
//! [`super::gemm`], in the same order, so the result has the same bits.

use super::gemm::shares;
use super::simd::{LANES, Simd, UPPER};
use super::{Buffer, Start, Strided};

/// Panels of 16 columns whose rows lie beside each other, where one row is multiplied.
const BLOCK: usize = 8;
/// The same for several rows: a tile of them has room for two panels.
const PAIR: usize = 2;

/// A matrix in blocks of panels; two panels beside each other share the places of one, the former in the lower halves.
#[derive(Clone)]
pub struct Bf16Matrix {
    rows: usize,
    columns: usize,
    block: usize,
    pairs: Buffer,
}

/// `C = start + A B` with B of 16 bits.
pub struct Bf16Product<'a> {
    /// Rows of A and of C.
    pub m: usize,
    /// The left factor; its columns touch.
    pub a: Strided<'a>,
    /// The right factor, made for rows.
    pub b: &'a Bf16Matrix,
    /// What the sum starts from.
    pub start: Start<'a>,
    /// The result.
    pub c: &'a mut [f32],
    /// From one row of C to the next.
    pub c_row: usize,
}

impl Bf16Product<'_> {
    /// Whether every access lies inside the slices; the kernel relies on it.
    pub(super) fn fits(&self) -> bool {
        let Bf16Matrix { rows, columns, block, .. } = *self.b;
        let last = |row: usize, width: usize| if self.m == 0 { 0 } else { (self.m - 1) * row + width };
        block == PAIR
            && self.a.column == 1
            && last(self.a.row, rows) <= self.a.data.len()
            && last(self.c_row, columns) <= self.c.len()
            && !matches!(self.start, Start::Row(row) if row.len() < columns)
    }
}

impl Bf16Matrix {
    /// Takes a matrix in panels that is to be multiplied with one row, unless a weight has more bits than fit.
    pub fn for_one_row(rows: usize, panels: &[f32]) -> Option<Self> {
        Bf16Matrix::of(rows, panels, BLOCK)
    }

    /// The same for several rows, of which there is an even number of panels.
    pub fn for_rows(rows: usize, panels: &[f32]) -> Option<Self> {
        let is_even = panels.len().is_multiple_of(PAIR * rows * LANES);
        if is_even { Bf16Matrix::of(rows, panels, PAIR) } else { None }
    }

    fn of(rows: usize, panels: &[f32], block: usize) -> Option<Self> {
        if panels.iter().any(|weight| weight.to_bits() & !UPPER != 0 || !weight.is_finite()) {
            return None;
        }
        let n_panels = panels.len() / (rows * LANES);
        let mut pairs = Buffer::zeros(n_panels.div_ceil(2) * rows * LANES);
        let mut places = pairs.chunks_exact_mut(LANES);
        for block in panels.chunks(block * rows * LANES) {
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
        Some(Bf16Matrix { rows, columns: panels.len() / rows, block, pairs })
    }

    /// Whether a row `x` and a result `y` have its sizes; the kernel relies on it.
    pub(super) fn fits(&self, x: &[f32], y: &[f32]) -> bool {
        self.block == BLOCK && x.len() == self.rows && y.len() == self.columns
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

/// # Safety
/// `product.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd>(product: &mut Bf16Product<'_>) {
    for pair in 0..product.b.columns / (PAIR * LANES) {
        for (row, rows) in shares(product.m, S::TILE_ROWS[PAIR]) {
            macro_rules! tiles {
                ($($rows:literal)*) => {
                    // The first part of the condition is known when this is compiled: no other tiles are.
                    $(if S::TILE_ROWS[PAIR] >= $rows && rows == $rows {
                        // SAFETY: rows and panels are inside of what fits.
                        unsafe { rows_tile::<S, $rows>(product, row, pair) }
                    })*
                };
            }
            tiles!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
        }
    }
}

/// So many rows of a pair of panels of the result.
#[inline(always)]
unsafe fn rows_tile<S: Simd, const ROWS: usize>(product: &mut Bf16Product<'_>, row: usize, pair: usize) {
    let Bf16Product { a, b, c_row, .. } = *product;
    let (k, column) = (b.rows, pair * PAIR * LANES);
    // SAFETY: the caller vouches for ROWS rows and the pair.
    unsafe {
        let c = product.c.as_mut_ptr().add(row * c_row + column);
        let mut sums = [[S::splat(0.0); PAIR]; ROWS];
        let (start, start_row) = match product.start {
            Start::Zero => (std::ptr::null(), 0),
            Start::Sum => (c.cast_const(), c_row),
            Start::Row(start) => (start.as_ptr().add(column), 0),
        };
        if !start.is_null() {
            for i in 0..ROWS {
                for p in 0..PAIR {
                    sums[i][p] = S::load(start.add(i * start_row + p * LANES));
                }
            }
        }
        let (mut x, mut y) = (a.data.as_ptr().add(row * a.row), b.pairs.as_ptr().add(pair * k * LANES));
        for _ in 0..k {
            let (lower, upper) = S::halves(S::load(y));
            if row == 0 {
                // The pair that comes next.
                S::prefetch(y.wrapping_add(k * LANES));
            }
            for i in 0..ROWS {
                let factor = S::splat(*x.add(i * a.row));
                sums[i] = [S::mul_add(factor, lower, sums[i][0]), S::mul_add(factor, upper, sums[i][1])];
            }
            x = x.add(1);
            y = y.add(LANES);
        }
        for i in 0..ROWS {
            for p in 0..PAIR {
                S::store(c.add(i * c_row + p * LANES), sums[i][p]);
            }
        }
    }
}
