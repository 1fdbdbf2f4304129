//! Matrix products, the bulk of the work.
//!
//! Weights live in *panels* of 16 columns: panel after panel, each holding the 16 columns of every row in turn.
//! A tile of a few rows and panels stays in registers while it runs down the shared dimension, so every element
//! of the result is one chain of fused multiply-adds in the order of `k`, whatever the tile: the result does not
//! depend on how the work is cut.

use super::simd::{LANES, Simd};

/// `C = A B`, or `C += A B`.
pub(crate) struct Gemm<'a> {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C; a multiple of 16.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// The left factor.
    pub a: Strided<'a>,
    /// The right factor.
    pub b: Right<'a>,
    /// The result.
    pub c: &'a mut [f32],
    /// From one row of C to the next.
    pub c_row: usize,
    /// From one 16-column panel of C to the next: 16 for plain rows, `16 m` where C is in panels itself.
    pub c_panel: usize,
    /// Add to C instead of overwriting it.
    pub accumulate: bool,
}

/// A matrix with any distance between its rows and its columns, so that it can be read transposed.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub column: usize,
}

/// The right factor of a product.
#[derive(Clone, Copy)]
pub(crate) enum Right<'a> {
    /// In panels.
    Panels(&'a [f32]),
    /// Row after row, this far apart.
    Rows(&'a [f32], usize),
}

impl Gemm<'_> {
    /// Whether every access lies inside the slices; the kernels rely on it.
    pub(super) fn fits(&self) -> bool {
        let last = |rows: usize, row: usize, columns: usize, column: usize| {
            if rows == 0 || columns == 0 { 0 } else { (rows - 1) * row + (columns - 1) * column + 1 }
        };
        let b_fits = match self.b {
            Right::Panels(b) => self.k * self.n <= b.len(),
            Right::Rows(b, row) => last(self.k, row, self.n, 1) <= b.len(),
        };
        let panels = self.n / LANES;
        self.n.is_multiple_of(LANES)
            && last(self.m, self.a.row, self.k, self.a.column) <= self.a.data.len()
            && b_fits
            && (self.m == 0
                || panels == 0
                || last(self.m, self.c_row, panels, self.c_panel) + LANES - 1 <= self.c.len())
    }
}

/// Rows of B packed at a time: a panel of them fits the first-level cache.
const K_BLOCK: usize = 256;
const MAX_PANELS: usize = 4;

#[repr(align(64))]
struct Packed([f32; K_BLOCK * LANES * MAX_PANELS]);

/// Raw form of what one stretch of the product needs.
#[derive(Clone, Copy)]
struct Raw {
    k: usize,
    a: *const f32,
    a_row: usize,
    a_column: usize,
    b: *const f32,
    b_panel: usize,
    c: *mut f32,
    c_row: usize,
    c_panel: usize,
    accumulate: bool,
}

/// # Safety
/// `gemm.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn gemm<S: Simd>(gemm: &mut Gemm<'_>) {
    let panels = gemm.n / LANES;
    let raw = Raw {
        k: gemm.k,
        a: gemm.a.data.as_ptr(),
        a_row: gemm.a.row,
        a_column: gemm.a.column,
        b: std::ptr::null(),
        b_panel: gemm.k * LANES,
        c: gemm.c.as_mut_ptr(),
        c_row: gemm.c_row,
        c_panel: gemm.c_panel,
        accumulate: gemm.accumulate,
    };
    // SAFETY: `fits` bounds every offset below.
    unsafe {
        match gemm.b {
            Right::Panels(b) => multiply::<S>(gemm.m, panels, Raw { b: b.as_ptr(), ..raw }),
            Right::Rows(b, b_row) => {
                let mut packed = std::mem::MaybeUninit::<Packed>::uninit();
                let packed = (&raw mut (*packed.as_mut_ptr()).0).cast::<f32>();
                let mut k_start = 0;
                while k_start < gemm.k || k_start == 0 {
                    let k = (gemm.k - k_start).min(K_BLOCK);
                    let mut panel = 0;
                    while panel < panels {
                        let width = (panels - panel).min(S::TILE_PANELS.min(MAX_PANELS));
                        let from = b.as_ptr().wrapping_add(k_start * b_row + panel * LANES);
                        pack::<S>(k, width, from, b_row, packed);
                        let part = Raw {
                            k,
                            a: raw.a.add(k_start * raw.a_column),
                            b: packed,
                            b_panel: k * LANES,
                            c: raw.c.add(panel * raw.c_panel),
                            accumulate: raw.accumulate || k_start > 0,
                            ..raw
                        };
                        multiply::<S>(gemm.m, width, part);
                        panel += width;
                    }
                    k_start += K_BLOCK;
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn pack<S: Simd>(k: usize, panels: usize, from: *const f32, row: usize, to: *mut f32) {
    for panel in 0..panels {
        for i in 0..k {
            // SAFETY: the caller's B holds k rows of at least 16 * panels; `to` holds K_BLOCK * 16 * MAX_PANELS.
            unsafe { S::store(to.add((panel * k + i) * LANES), S::load(from.add(i * row + panel * LANES))) }
        }
    }
}

/// Cuts the rows into blocks of nearly equal height and runs a tile down each.
#[inline(always)]
unsafe fn multiply<S: Simd>(m: usize, panels: usize, raw: Raw) {
    if m == 0 {
        return;
    }
    let blocks = m.div_ceil(S::TILE_ROWS);
    let (height, taller) = (m / blocks, m % blocks);
    let tallest = height + usize::from(taller > 0);
    // Low tiles must be wider, or too few independent chains hide the latency of the multiply-add.
    let widest = if tallest <= S::TILE_ROWS / 4 + 1 && tallest <= 2 {
        MAX_PANELS.min(S::TILE_PANELS * 4 / tallest)
    } else {
        S::TILE_PANELS
    };
    let mut panel = 0;
    while panel < panels {
        let width = (panels - panel).min(widest);
        let mut row = 0;
        for block in 0..blocks {
            let rows = height + usize::from(block < taller);
            // SAFETY: rows and panels are inside the matrices that the caller vouched for.
            unsafe {
                let part = Raw {
                    // Wrapping, because with k = 0 both may be empty.
                    a: raw.a.wrapping_add(row * raw.a_row),
                    b: raw.b.wrapping_add(panel * raw.b_panel),
                    c: raw.c.add(row * raw.c_row + panel * raw.c_panel),
                    ..raw
                };
                match width {
                    1 => tile_rows::<S, 1>(rows, part),
                    2 => tile_rows::<S, 2>(rows, part),
                    3 => tile_rows::<S, 3>(rows, part),
                    _ => tile_rows::<S, 4>(rows, part),
                }
            }
            row += rows;
        }
        panel += width;
    }
}

#[inline(always)]
unsafe fn tile_rows<S: Simd, const PANELS: usize>(rows: usize, raw: Raw) {
    // SAFETY: passed on from the caller.
    unsafe {
        match rows {
            1 => tile::<S, 1, PANELS>(raw),
            2 => tile::<S, 2, PANELS>(raw),
            3 => tile::<S, 3, PANELS>(raw),
            4 => tile::<S, 4, PANELS>(raw),
            5 => tile::<S, 5, PANELS>(raw),
            _ => tile::<S, 6, PANELS>(raw),
        }
    }
}

#[inline(always)]
unsafe fn tile<S: Simd, const ROWS: usize, const PANELS: usize>(raw: Raw) {
    // SAFETY: the caller vouches for ROWS rows and PANELS panels at each of the pointers.
    unsafe {
        let mut sums = [[S::splat(0.0); PANELS]; ROWS];
        if raw.accumulate {
            for i in 0..ROWS {
                for p in 0..PANELS {
                    sums[i][p] = S::load(raw.c.add(i * raw.c_row + p * raw.c_panel));
                }
            }
        }
        let (mut a, mut b) = (raw.a, raw.b);
        for _ in 0..raw.k {
            let mut columns = [S::splat(0.0); PANELS];
            for p in 0..PANELS {
                columns[p] = S::load(b.add(p * raw.b_panel));
            }
            for i in 0..ROWS {
                let x = S::splat(*a.add(i * raw.a_row));
                for p in 0..PANELS {
                    sums[i][p] = S::mul_add(x, columns[p], sums[i][p]);
                }
            }
            a = a.add(raw.a_column);
            b = b.add(LANES);
        }
        for i in 0..ROWS {
            for p in 0..PANELS {
                S::store(raw.c.add(i * raw.c_row + p * raw.c_panel), sums[i][p]);
            }
        }
    }
}

/// Turns `blocks` blocks of 16 x 16 around: the panels of a matrix become the panels of its transpose.
///
/// # Safety
/// Both slices hold `rows * columns` floats, both dimensions are multiples of 16, and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn transpose_panels<S: Simd>(rows: usize, columns: usize, from: &[f32], to: &mut [f32]) {
    for panel in 0..columns / LANES {
        for block in 0..rows / LANES {
            // SAFETY: block (block, panel) of the source and block (panel, block) of the target lie inside.
            unsafe {
                S::transpose(
                    from.as_ptr().add(panel * rows * LANES + block * LANES * LANES),
                    to.as_mut_ptr().add(block * columns * LANES + panel * LANES * LANES),
                );
            }
        }
    }
}
