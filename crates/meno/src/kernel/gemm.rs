//! Matrix products, the bulk of the work.
//!
//! Weights live in *panels* of 16 columns: panel after panel, each holding the 16 columns of every row in turn.
//! A tile of a few rows and panels stays in registers while it runs down the shared dimension, so every element
//! of the result is one chain of fused multiply-adds in the order of `k`, whatever the tile: the result does not
//! depend on how the work is cut.

use super::simd::{LANES, Simd};

/// `C = start + A B`, or with several terms `C = start + A1 B1 + A2 B2 + ...`.
pub(crate) struct Gemm<'a> {
    /// Rows of every A and of C.
    pub m: usize,
    /// Columns of every B and of C; a multiple of 16.
    pub n: usize,
    /// What is multiplied and summed up, in this order.
    pub terms: &'a [Term<'a>],
    /// What the sum starts from.
    pub start: Start<'a>,
    /// The result.
    pub c: &'a mut [f32],
    /// From one row of C to the next.
    pub c_row: usize,
    /// From one 16-column panel of C to the next: 16 for plain rows, `16 m` where C is in panels itself.
    pub c_panel: usize,
}

/// Two matrices to be multiplied.
#[derive(Clone, Copy)]
pub(crate) struct Term<'a> {
    /// Columns of A, rows of B.
    pub k: usize,
    /// The left factor.
    pub a: Strided<'a>,
    /// The right factor.
    pub b: Right<'a>,
}

/// What a product is added to.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// Nothing.
    Zero,
    /// What C holds.
    Sum,
    /// The same row for every row of C.
    Row(&'a [f32]),
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
        let panels = self.n / LANES;
        let start_fits = match self.start {
            Start::Row(row) => self.n <= row.len(),
            Start::Zero | Start::Sum => true,
        };
        self.n.is_multiple_of(LANES)
            && self.terms.iter().all(|term| term.fits(self.m, self.n))
            && start_fits
            && (self.m == 0
                || panels == 0
                || last(self.m, self.c_row, panels, self.c_panel) + LANES - 1 <= self.c.len())
    }
}

impl Term<'_> {
    fn fits(&self, m: usize, n: usize) -> bool {
        let b_fits = match self.b {
            Right::Panels(b) => self.k * n <= b.len(),
            Right::Rows(b, row) => last(self.k, row, n, 1) <= b.len(),
        };
        b_fits && last(m, self.a.row, self.k, self.a.column) <= self.a.data.len()
    }
}

/// Where the last element of a matrix ends.
fn last(rows: usize, row: usize, columns: usize, column: usize) -> usize {
    if rows == 0 || columns == 0 { 0 } else { (rows - 1) * row + (columns - 1) * column + 1 }
}

/// Rows of B packed at a time: a panel of them fits the first-level cache.
const K_BLOCK: usize = 256;
const MAX_PANELS: usize = 4;
/// Stretches of terms that are summed up before C is written.
const MAX_STRETCHES: usize = 4;

#[repr(align(64))]
struct Packed([f32; K_BLOCK * LANES * MAX_PANELS]);

/// Where to read a stretch of one term, in raw form.
#[derive(Clone, Copy)]
struct Stretch {
    k: usize,
    a: *const f32,
    a_row: usize,
    a_column: usize,
    b: *const f32,
    b_panel: usize,
}

/// Where to write.
#[derive(Clone, Copy)]
struct Target {
    c: *mut f32,
    c_row: usize,
    c_panel: usize,
    /// From where the sum starts, how far it is to the next row of that, and whether there is anything at all.
    start: *const f32,
    start_row: usize,
    start_panel: usize,
    from_zero: bool,
}

impl Target {
    /// The part of it that begins with this row and panel.
    unsafe fn at(self, row: usize, panel: usize) -> Self {
        Target {
            // SAFETY: the caller stays inside C.
            c: unsafe { self.c.add(row * self.c_row + panel * self.c_panel) },
            // Wrapping, because it may not exist.
            start: self.start.wrapping_add(row * self.start_row + panel * self.start_panel),
            ..self
        }
    }

    /// The same, to go on from what it holds.
    fn again(self) -> Self {
        Target { start: self.c, start_row: self.c_row, start_panel: self.c_panel, from_zero: false, ..self }
    }
}

/// # Safety
/// `gemm.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn gemm<S: Simd>(gemm: &mut Gemm<'_>) {
    let c = gemm.c.as_mut_ptr();
    let (start, start_row, start_panel) = match gemm.start {
        Start::Zero => (std::ptr::null(), 0, 0),
        Start::Sum => (c.cast_const(), gemm.c_row, gemm.c_panel),
        Start::Row(row) => (row.as_ptr(), 0, LANES),
    };
    let from_zero = matches!(gemm.start, Start::Zero);
    let target =
        Target { c, c_row: gemm.c_row, c_panel: gemm.c_panel, start, start_row, start_panel, from_zero };
    let panels = gemm.n / LANES;
    // SAFETY: `fits` bounds every offset below.
    unsafe {
        if let [Term { k, a, b: Right::Panels(b) }] = *gemm.terms {
            let (a_row, a_column) = (a.row, a.column);
            let stretch =
                Stretch { k, a: a.data.as_ptr(), a_row, a_column, b: b.as_ptr(), b_panel: k * LANES };
            return multiply::<S>(gemm.m, panels, &[stretch], target);
        }
        let mut panel = 0;
        while panel < panels {
            let width = (panels - panel).min(S::TILE_PANELS.min(MAX_PANELS));
            sum_terms::<S>(gemm.m, gemm.terms, panel, width, target.at(0, panel));
            panel += width;
        }
    }
}

/// All terms for a few panels of the result, packing what is not in panels.
#[inline(always)]
unsafe fn sum_terms<S: Simd>(m: usize, terms: &[Term<'_>], panel: usize, width: usize, mut target: Target) {
    let mut packed = std::mem::MaybeUninit::<Packed>::uninit();
    // SAFETY: as the caller says.
    unsafe {
        let packed = (&raw mut (*packed.as_mut_ptr()).0).cast::<f32>();
        let nothing = Stretch { k: 0, a: packed, a_row: 0, a_column: 0, b: packed, b_panel: 0 };
        let mut stretches = [nothing; MAX_STRETCHES];
        let (mut n, mut room) = (0, K_BLOCK);
        for term in terms {
            let mut done = 0;
            while done < term.k {
                if n == MAX_STRETCHES || room == 0 {
                    multiply::<S>(m, width, &stretches[..n], target);
                    target = target.again();
                    (n, room) = (0, K_BLOCK);
                }
                let k = match term.b {
                    Right::Panels(_) => term.k,
                    Right::Rows(..) => (term.k - done).min(room),
                };
                let (b, b_panel) = match term.b {
                    Right::Panels(b) => (b.as_ptr().add(panel * term.k * LANES), term.k * LANES),
                    Right::Rows(b, b_row) => {
                        let to = packed.add((K_BLOCK - room) * LANES * width);
                        pack::<S>(k, width, b.as_ptr().add(done * b_row + panel * LANES), b_row, to);
                        room -= k;
                        (to.cast_const(), k * LANES)
                    }
                };
                let a = term.a.data.as_ptr().add(done * term.a.column);
                stretches[n] = Stretch { k, a, a_row: term.a.row, a_column: term.a.column, b, b_panel };
                n += 1;
                done += k;
            }
        }
        multiply::<S>(m, width, &stretches[..n], target);
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
unsafe fn multiply<S: Simd>(m: usize, panels: usize, stretches: &[Stretch], target: Target) {
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
                let at = (row, panel, target.at(row, panel));
                match width {
                    1 => tile_rows::<S, 1>(rows, stretches, at),
                    2 => tile_rows::<S, 2>(rows, stretches, at),
                    3 => tile_rows::<S, 3>(rows, stretches, at),
                    _ => tile_rows::<S, 4>(rows, stretches, at),
                }
            }
            row += rows;
        }
        panel += width;
    }
}

#[inline(always)]
unsafe fn tile_rows<S: Simd, const PANELS: usize>(
    rows: usize,
    stretches: &[Stretch],
    at: (usize, usize, Target),
) {
    // SAFETY: passed on from the caller.
    unsafe {
        match rows {
            1 => tile::<S, 1, PANELS>(stretches, at),
            2 => tile::<S, 2, PANELS>(stretches, at),
            3 => tile::<S, 3, PANELS>(stretches, at),
            4 => tile::<S, 4, PANELS>(stretches, at),
            5 => tile::<S, 5, PANELS>(stretches, at),
            _ => tile::<S, 6, PANELS>(stretches, at),
        }
    }
}

/// The rows and panels of the result that begin `at` these.
#[inline(always)]
unsafe fn tile<S: Simd, const ROWS: usize, const PANELS: usize>(
    stretches: &[Stretch],
    (row, panel, target): (usize, usize, Target),
) {
    // SAFETY: the caller vouches for ROWS rows and PANELS panels at each of the pointers.
    unsafe {
        let mut sums = [[S::splat(0.0); PANELS]; ROWS];
        if !target.from_zero {
            for i in 0..ROWS {
                for p in 0..PANELS {
                    sums[i][p] = S::load(target.start.add(i * target.start_row + p * target.start_panel));
                }
            }
        }
        for stretch in stretches {
            // Wrapping, because with k = 0 both may be empty.
            let mut a = stretch.a.wrapping_add(row * stretch.a_row);
            let mut b = stretch.b.wrapping_add(panel * stretch.b_panel);
            for _ in 0..stretch.k {
                let mut columns = [S::splat(0.0); PANELS];
                for p in 0..PANELS {
                    columns[p] = S::load(b.add(p * stretch.b_panel));
                }
                for i in 0..ROWS {
                    let x = S::splat(*a.add(i * stretch.a_row));
                    for p in 0..PANELS {
                        sums[i][p] = S::mul_add(x, columns[p], sums[i][p]);
                    }
                }
                a = a.add(stretch.a_column);
                b = b.add(LANES);
            }
        }
        for i in 0..ROWS {
            for p in 0..PANELS {
                S::store(target.c.add(i * target.c_row + p * target.c_panel), sums[i][p]);
            }
        }
    }
}

/// Some panels of a matrix of `rows` rows and `columns` columns, from panel `first` on, into the panels of its transpose.
///
/// # Safety
/// Both dimensions are multiples of 16, `from` holds whole panels, `to` the whole transpose, the panels lie inside the
/// matrix, and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn transpose_panels<S: Simd>(
    rows: usize,
    columns: usize,
    first: usize,
    from: &[f32],
    to: &mut [f32],
) {
    for panel in 0..from.len() / (rows * LANES) {
        for block in 0..rows / LANES {
            // SAFETY: block (block, panel) of the source and block (first + panel, block) of the target lie inside.
            unsafe {
                S::transpose(
                    from.as_ptr().add(panel * rows * LANES + block * LANES * LANES),
                    to.as_mut_ptr().add(block * columns * LANES + (first + panel) * LANES * LANES),
                );
            }
        }
    }
}
