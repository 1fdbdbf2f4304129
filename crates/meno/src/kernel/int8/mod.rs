//! Products with weights of 8 bits: a quarter of the bytes to read, and more products for each instruction.
//!
//! ```text
//! w = s_j q,  q from -127 to 127,  s_j = max |w| / 127 of each column j
//! x = s_i (u - z_i),  u from 0 to 255,  from the least and the greatest number of each row i, and 0
//! y_ij = s_i s_j (sum_k u_ik q_kj - z_i sum_k q_kj) + start
//! ```
//! Rows are rounded to 8 bits when they are multiplied, weights when a model is made. The sums are whole numbers and exact, and the
//! few operations on floats are not fused, so every variant gives the same bits.
//!
//! Weights lie in panels of 16 columns like those of [`super::gemm`]; inside of a panel four rows lie together, column after column,
//! as `vpdpbusd` multiplies them.

mod dot;
mod table;

use super::simd::{LANES, Simd};
use super::{Buffer, Start, Strided};
use dot::Dot;
pub(super) use dot::Path;
pub(crate) use table::Int8Table;

/// Rows of a matrix that lie together.
const GROUP: usize = 4;
/// Bytes of a group of rows of a panel.
const LINE: usize = GROUP * LANES;
/// The greatest weight; its negative is the least.
const GREATEST: f32 = 127.0;
/// The greatest number that a row is rounded to.
const TOP: f32 = 255.0;
/// So many rows have sums that fit 32 bits: 255 * 127 * 65536 < 2^31.
const MAX_ROWS: usize = 1 << 16;

/// Bytes of a group, on a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([i8; LINE]);

/// A matrix of 8-bit weights with a scale for each column.
#[derive(Clone)]
pub struct Int8Matrix {
    rows: usize,
    columns: usize,
    /// Panel after panel, in each the groups of rows.
    lines: Vec<Line>,
    /// For each column, as the sums.
    scales: Buffer,
    /// The sum of the weights of each column.
    sums: Vec<i32>,
}

impl Int8Matrix {
    /// Rounds a matrix in panels; `rows` is a multiple of 4.
    pub fn quantize(rows: usize, panels: &[f32]) -> Self {
        let columns = panels.len() / rows;
        let weight =
            |row: usize, column: usize| panels[(column / LANES * rows + row) * LANES + column % LANES];
        let mut scales = Buffer::zeros(columns);
        for (column, scale) in scales.iter_mut().take(columns).enumerate() {
            *scale = (0..rows).fold(0.0_f32, |most, row| most.max(weight(row, column).abs())) / GREATEST;
        }
        let round = |row: usize, column: usize| match scales[column] {
            0.0 => 0,
            scale => (weight(row, column) / scale).round_ties_even().clamp(-GREATEST, GREATEST) as i8,
        };
        let (lines, sums) = lay_out(rows, columns, round);
        Int8Matrix { rows, columns, lines, scales, sums }
    }

    /// From its weights, row after row, and its scales; `None` if there are not as many as there should be, or a weight is -128.
    pub(crate) fn new(rows: usize, columns: usize, weights: &[i8], scales: &[f32]) -> Option<Self> {
        let fits = rows.is_multiple_of(GROUP)
            && rows <= MAX_ROWS
            && columns.is_multiple_of(LANES)
            && Some(weights.len()) == rows.checked_mul(columns)
            && scales.len() == columns
            && !weights.contains(&i8::MIN);
        if !fits {
            return None;
        }
        let (lines, sums) = lay_out(rows, columns, |row, column| weights[row * columns + column]);
        let mut own = Buffer::zeros(columns);
        own[..columns].copy_from_slice(scales);
        Some(Int8Matrix { rows, columns, lines, scales: own, sums })
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The scale of each column.
    pub(crate) fn scales(&self) -> &[f32] {
        &self.scales[..self.columns]
    }

    /// Its weights, row after row.
    pub(crate) fn weights(&self) -> impl Iterator<Item = i8> + '_ {
        let groups = self.rows / GROUP;
        let at = move |row: usize, column: usize| {
            let line = &self.lines[column / LANES * groups + row / GROUP];
            line.0[column % LANES * GROUP + row % GROUP]
        };
        (0..self.rows).flat_map(move |row| (0..self.columns).map(move |column| at(row, column)))
    }
}

/// Weights in panels, and the sums of the columns.
fn lay_out(rows: usize, columns: usize, weight: impl Fn(usize, usize) -> i8) -> (Vec<Line>, Vec<i32>) {
    assert!(rows.is_multiple_of(GROUP) && rows <= MAX_ROWS && columns.is_multiple_of(LANES));
    let mut lines = Vec::with_capacity(rows * columns / LINE);
    let mut sums = vec![0; columns];
    for panel in 0..columns / LANES {
        for group in 0..rows / GROUP {
            let mut line = Line([0; LINE]);
            for (at, byte) in line.0.iter_mut().enumerate() {
                let column = panel * LANES + at / GROUP;
                *byte = weight(group * GROUP + at % GROUP, column);
                sums[column] += i32::from(*byte);
            }
            lines.push(line);
        }
    }
    (lines, sums)
}

/// Rows rounded to 8 bits; a buffer to be used again.
#[derive(Clone, Default)]
pub struct Int8Rows {
    rows: usize,
    columns: usize,
    bytes: Vec<u8>,
    /// For each row.
    scales: Vec<f32>,
    zeros: Vec<i32>,
}

impl Int8Rows {
    /// Makes room for so many rows of so many columns, a multiple of 16.
    pub(super) fn reserve(&mut self, rows: usize, columns: usize) {
        (self.rows, self.columns) = (rows, columns);
        let n_bytes = rows * columns;
        if self.bytes.len() < n_bytes {
            self.bytes.resize(n_bytes, 0);
        }
        self.scales.clear();
        self.zeros.clear();
    }
}

/// `C = start + A B`.
pub struct Int8Product<'a> {
    /// The left factor.
    pub a: &'a Int8Rows,
    /// The right factor.
    pub b: &'a Int8Matrix,
    /// What the sum starts from.
    pub start: Start<'a>,
    /// The result.
    pub c: &'a mut [f32],
    /// From one row of C to the next.
    pub c_row: usize,
}

impl Int8Product<'_> {
    /// Whether every access lies inside the slices; the kernels rely on it.
    pub(super) fn fits(&self) -> bool {
        let Int8Rows { rows, columns, bytes, scales, zeros } = self.a;
        let start_fits = match self.start {
            Start::Row(row) => self.b.columns <= row.len(),
            Start::Zero | Start::Sum => true,
        };
        *columns == self.b.rows
            && rows * columns <= bytes.len()
            && scales.len() == *rows
            && zeros.len() == *rows
            && start_fits
            && (*rows == 0 || (rows - 1) * self.c_row + self.b.columns <= self.c.len())
    }
}

/// Rounds the rows of `x`, whose columns touch; room for them is there.
///
/// # Safety
/// `x` holds `out.rows` rows of `out.columns` numbers, and the processor has what `D` needs.
#[inline(always)]
unsafe fn quantize<D: Dot>(x: Strided<'_>, out: &mut Int8Rows) {
    for row in 0..out.rows {
        // SAFETY: the row lies inside of both, as the caller says.
        unsafe {
            let from = x.data.as_ptr().add(row * x.row);
            let to = out.bytes.as_mut_ptr().add(row * out.columns);
            let (scale, zero) = quantize_row::<D>(out.columns, from, to);
            out.scales.push(scale);
            out.zeros.push(zero);
        }
    }
}

/// Writes a row as bytes; gives its scale and which byte stands for 0.
#[inline(always)]
unsafe fn quantize_row<D: Dot>(n: usize, from: *const f32, to: *mut u8) -> (f32, i32) {
    // SAFETY: the caller vouches for n numbers at both pointers.
    unsafe {
        let (mut least, mut most) = (D::S::splat(0.0), D::S::splat(0.0));
        for i in (0..n).step_by(LANES) {
            let x = D::S::load(from.add(i));
            least = D::S::min(x, least);
            most = D::S::max(x, most);
        }
        let (least, most) = (lane::<D>(least, |a, b| a < b), lane::<D>(most, |a, b| a > b));
        let range = most - least;
        if range == 0.0 {
            to.write_bytes(0, n);
            return (0.0, 0);
        }
        let inverse = TOP / range;
        let zero = (-least * inverse).round_ties_even();
        for i in (0..n).step_by(LANES) {
            let steps = D::S::round(D::S::mul(D::S::load(from.add(i)), D::S::splat(inverse)));
            D::store_bytes(to.add(i), D::S::add(steps, D::S::splat(zero)));
        }
        (range / TOP, zero as i32)
    }
}

/// The lane that comes before all others.
#[inline(always)]
unsafe fn lane<D: Dot>(v: <D::S as Simd>::V, comes_before: fn(f32, f32) -> bool) -> f32 {
    let mut lanes = [0.0; LANES];
    // SAFETY: there is room for sixteen floats.
    unsafe { D::S::store(lanes.as_mut_ptr(), v) }
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            let (a, b) = (lanes[i], lanes[i + half]);
            lanes[i] = if comes_before(a, b) { a } else { b };
        }
    }
    lanes[0]
}

/// What all tiles of a product read and write.
#[derive(Clone, Copy)]
struct Places {
    groups: usize,
    a: *const u8,
    a_row: usize,
    b: *const i8,
    row_scales: *const f32,
    zeros: *const i32,
    scales: *const f32,
    sums: *const i32,
    start: *const f32,
    start_row: usize,
    from_zero: bool,
    c: *mut f32,
    c_row: usize,
    /// Whether the panels that come next are fetched: the third-level cache answers too late for a product of few rows.
    fetches: bool,
}

impl Places {
    fn of(product: &mut Int8Product<'_>) -> Self {
        let Int8Product { a, b, start, c, c_row } = product;
        let c = c.as_mut_ptr();
        let (start, start_row) = match start {
            Start::Zero => (std::ptr::null(), 0),
            Start::Sum => (c.cast_const(), *c_row),
            Start::Row(row) => (row.as_ptr(), 0),
        };
        Places {
            groups: b.rows / GROUP,
            a: a.bytes.as_ptr(),
            a_row: a.columns,
            b: b.lines.as_ptr().cast(),
            row_scales: a.scales.as_ptr(),
            zeros: a.zeros.as_ptr(),
            scales: b.scales.as_ptr(),
            sums: b.sums.as_ptr(),
            start,
            start_row,
            from_zero: start.is_null(),
            c,
            c_row: *c_row,
            fetches: false,
        }
    }
}

/// # Safety
/// `product.fits()` holds and the processor has what `D` needs.
#[inline(always)]
unsafe fn multiply<D: Dot>(product: &mut Int8Product<'_>) {
    let (m, panels) = (product.a.rows, product.b.columns / LANES);
    if m == 0 {
        return;
    }
    let places = Places::of(product);
    let is_low = m <= D::TILE_ROWS / 2;
    let widest = if is_low { 2 * D::TILE_PANELS } else { D::TILE_PANELS };
    let blocks = m.div_ceil(D::TILE_ROWS);
    let mut panel = 0;
    while panel < panels {
        let width = if panels - panel >= widest { widest } else { 1 };
        for block in 0..blocks {
            let (row, end) = (block * m / blocks, (block + 1) * m / blocks);
            let places = Places { fetches: block == 0, ..places };
            // SAFETY: rows and panels are inside of what `fits` has seen.
            unsafe {
                match width {
                    1 => tile_rows::<D, 1>(end - row, (row, panel), places),
                    2 => tile_rows::<D, 2>(end - row, (row, panel), places),
                    _ => tile_rows_low::<D>(end - row, (row, panel), places),
                }
            }
        }
        panel += width;
    }
}

/// A tile of as many rows as are left, at most [`Dot::TILE_ROWS`].
#[inline(always)]
unsafe fn tile_rows<D: Dot, const PANELS: usize>(rows: usize, at: (usize, usize), places: Places) {
    // SAFETY: passed on from the caller.
    unsafe {
        match rows {
            1 => tile::<D, 1, PANELS>(at, places),
            2 => tile::<D, 2, PANELS>(at, places),
            3 => tile::<D, 3, PANELS>(at, places),
            4 => tile::<D, 4, PANELS>(at, places),
            5 => tile::<D, 5, PANELS>(at, places),
            6 => tile::<D, 6, PANELS>(at, places),
            7 => tile::<D, 7, PANELS>(at, places),
            8 => tile::<D, 8, PANELS>(at, places),
            9 => tile::<D, 9, PANELS>(at, places),
            10 => tile::<D, 10, PANELS>(at, places),
            11 => tile::<D, 11, PANELS>(at, places),
            _ => tile::<D, 12, PANELS>(at, places),
        }
    }
}

/// A tile of four panels, of at most half of [`Dot::TILE_ROWS`].
#[inline(always)]
unsafe fn tile_rows_low<D: Dot>(rows: usize, at: (usize, usize), places: Places) {
    // SAFETY: passed on from the caller.
    unsafe {
        match rows {
            1 => tile::<D, 1, 4>(at, places),
            2 => tile::<D, 2, 4>(at, places),
            3 => tile::<D, 3, 4>(at, places),
            4 => tile::<D, 4, 4>(at, places),
            5 => tile::<D, 5, 4>(at, places),
            _ => tile::<D, 6, 4>(at, places),
        }
    }
}

/// The rows and panels of the result that begin `at` these.
#[inline(always)]
unsafe fn tile<D: Dot, const ROWS: usize, const PANELS: usize>((row, panel): (usize, usize), places: Places) {
    if ROWS > D::TILE_ROWS || ROWS * PANELS > D::TILE_ROWS * D::TILE_PANELS.max(2) {
        unreachable!("no tile is larger; for the compiler, which need not write it out");
    }
    let panel_bytes = places.groups * LINE;
    // SAFETY: the caller vouches for ROWS rows and PANELS panels that begin there.
    unsafe {
        let mut sums = [[D::zero(); PANELS]; ROWS];
        let mut a = places.a.add(row * places.a_row);
        let mut b = places.b.add(panel * panel_bytes);
        for _ in 0..places.groups {
            let mut weights = [D::no_weights(); PANELS];
            for p in 0..PANELS {
                weights[p] = D::weights(b.add(p * panel_bytes));
                if places.fetches {
                    D::S::prefetch(b.wrapping_add((PANELS + p) * panel_bytes).cast());
                }
            }
            for i in 0..ROWS {
                let x = D::splat(a.add(i * places.a_row));
                for p in 0..PANELS {
                    sums[i][p] = D::add_products(sums[i][p], x, weights[p]);
                }
            }
            a = a.add(GROUP);
            b = b.add(LINE);
        }
        for i in 0..ROWS {
            for p in 0..PANELS {
                finish::<D>(sums[i][p], row + i, (panel + p) * LANES, places);
            }
        }
    }
}

/// From the sums of sixteen columns of a row to the result.
#[inline(always)]
unsafe fn finish<D: Dot>(sums: D::Sums, row: usize, column: usize, places: Places) {
    // SAFETY: the row and the columns are inside, as the caller says.
    unsafe {
        let x = D::floats(sums, *places.zeros.add(row), places.sums.add(column));
        let scale =
            D::S::mul(D::S::splat(*places.row_scales.add(row)), D::S::load(places.scales.add(column)));
        let mut y = D::S::mul(x, scale);
        if !places.from_zero {
            y = D::S::add(y, D::S::load(places.start.add(row * places.start_row + column)));
        }
        D::S::store(places.c.add(row * places.c_row + column), y);
    }
}

#[cfg(test)]
mod tests;
