//! Matrix products, the bulk of the work.
//!
//! Weights live in *panels* of 16 columns: panel after panel, each holding the 16 columns of every row in turn.
//! A tile of a few rows and panels stays in registers while it runs down the shared dimension, so every element
//! of the result is one chain of fused multiply-adds in the order of `k`, whatever the tile: the result does not
//! depend on how the work is cut. What the tiles reach is in docs/benchmarks.md.

use super::simd::{LANES, Simd};

/// `C = start + A B`, or with several terms `C = start + A1 B1 + A2 B2 + ...`.
pub struct Gemm<'a> {
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
pub struct Term<'a> {
    /// Columns of A, rows of B.
    pub k: usize,
    /// The left factor.
    pub a: Strided<'a>,
    /// The right factor.
    pub b: Right<'a>,
}

/// What a product is added to.
#[derive(Clone, Copy)]
pub enum Start<'a> {
    /// Nothing.
    Zero,
    /// What C holds.
    Sum,
    /// The same row for every row of C.
    Row(&'a [f32]),
}

/// A matrix with any distance between its rows and its columns, so that it can be read transposed.
#[derive(Clone, Copy)]
pub struct Strided<'a> {
    /// What it lies in, from its first element on.
    pub data: &'a [f32],
    /// From one row to the next.
    pub row: usize,
    /// From one column to the next.
    pub column: usize,
}

/// The right factor of a product.
#[derive(Clone, Copy)]
pub enum Right<'a> {
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

    /// Whether rows of B are read so often that they are better packed first.
    pub(super) fn packs(&self) -> bool {
        self.m > FEW_ROWS && self.terms.iter().any(|term| matches!(term.b, Right::Rows(..)))
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
/// Rows of A that are multiplied with all panels before the next: so many fit the second-level cache, `K_BLOCK` deep.
const M_BLOCK: usize = 384;
/// Panels of a tile, but for the widest.
const MAX_PANELS: usize = 4;
/// Panels of the widest tile, for a row or two.
pub(super) const WIDEST: usize = 8;
/// Rows up to which B is read so seldom that packing it would not pay.
const FEW_ROWS: usize = 24;
/// Stretches of terms that are summed up before C is written.
const MAX_STRETCHES: usize = 4;
/// Columns of A by which its fetching runs ahead.
const A_AHEAD: usize = 24;
/// Steps in which a line of the panels that come next is fetched, at most.
const MAX_PACE: usize = 4;

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
    b_row: usize,
    b_panel: usize,
    next: Next,
}

/// Where the panels lie that come after these: they are fetched while these are multiplied. A processor sees by itself what lies
/// behind what is being read, but not beyond the page, and the third-level cache answers too late for a product of few rows.
#[derive(Clone, Copy)]
struct Next {
    from: *const f32,
    /// From one row to the next; 0 if nothing is fetched.
    row: usize,
    panel: usize,
    /// Whether columns of A that come soon are fetched as well: B was packed, and A is read down its columns.
    with_a: bool,
}

impl Next {
    const NOTHING: Next = Next { from: std::ptr::null(), row: 0, panel: 0, with_a: false };
}

impl Stretch {
    const NONE: Stretch = Stretch {
        k: 0,
        a: std::ptr::null(),
        a_row: 0,
        a_column: 0,
        b: std::ptr::null(),
        b_row: 0,
        b_panel: 0,
        next: Next::NOTHING,
    };

    #[inline(always)]
    fn of(term: &Term<'_>) -> Self {
        let Term { k, a, b } = *term;
        let (b, b_row, b_panel, next) = match b {
            Right::Panels(b) => {
                (b, LANES, k * LANES, Next { from: b.as_ptr(), row: LANES, panel: k * LANES, with_a: false })
            }
            Right::Rows(b, row) => (b, row, LANES, Next::NOTHING),
        };
        let (a_row, a_column, b) = (a.row, a.column, b.as_ptr());
        Stretch { k, a: a.data.as_ptr(), a_row, a_column, b, b_row, b_panel, next }
    }

    /// The part of it that gives what begins with this row and panel.
    #[inline(always)]
    fn at(self, row: usize, panel: usize) -> Self {
        // Wrapping, because with k = 0 there may be nothing.
        let (a, b) = (self.a.wrapping_add(row * self.a_row), self.b.wrapping_add(panel * self.b_panel));
        let next = Next { from: self.next.from.wrapping_add(panel * self.next.panel), ..self.next };
        Stretch { a, b, next, ..self }
    }

    /// What is left of it after so much of the shared dimension.
    #[inline(always)]
    fn after(self, done: usize) -> Self {
        let (a, b) = (self.a.wrapping_add(done * self.a_column), self.b.wrapping_add(done * self.b_row));
        let next = Next { from: self.next.from.wrapping_add(done * self.next.row), ..self.next };
        Stretch { k: self.k - done, a, b, next, ..self }
    }
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
    #[inline(always)]
    fn of(gemm: &mut Gemm<'_>) -> Self {
        let c = gemm.c.as_mut_ptr();
        let (start, start_row, start_panel) = match gemm.start {
            Start::Zero => (std::ptr::null(), 0, 0),
            Start::Sum => (c.cast_const(), gemm.c_row, gemm.c_panel),
            Start::Row(row) => (row.as_ptr(), 0, LANES),
        };
        let from_zero = matches!(gemm.start, Start::Zero);
        Target { c, c_row: gemm.c_row, c_panel: gemm.c_panel, start, start_row, start_panel, from_zero }
    }

    /// The part of it that begins with this row and panel.
    #[inline(always)]
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
    #[inline(always)]
    fn again(self) -> Self {
        Target { start: self.c, start_row: self.c_row, start_panel: self.c_panel, from_zero: false, ..self }
    }
}

/// A product whose factors are read where they lie.
///
/// # Safety
/// `gemm.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn gemm<S: Simd>(gemm: &mut Gemm<'_>) {
    let mut target = Target::of(gemm);
    let panels = gemm.n / LANES;
    // SAFETY: `fits` bounds every offset below.
    unsafe {
        if gemm.terms.is_empty() {
            return multiply::<S>(gemm.m, panels, &[], target);
        }
        for terms in gemm.terms.chunks(MAX_STRETCHES) {
            let mut stretches = [Stretch::NONE; MAX_STRETCHES];
            for (stretch, term) in stretches.iter_mut().zip(terms) {
                *stretch = Stretch::of(term);
            }
            multiply::<S>(gemm.m, panels, &stretches[..terms.len()], target);
            target = target.again();
        }
    }
}

/// The same where rows of B are packed into panels first.
///
/// # Safety
/// `gemm.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn gemm_packed<S: Simd>(gemm: &mut Gemm<'_>) {
    let target = Target::of(gemm);
    let mut row = 0;
    while row < gemm.m {
        let m = (gemm.m - row).min(M_BLOCK);
        for (panel, width) in shares(gemm.n / LANES, S::TILE_PANELS) {
            // SAFETY: `fits` bounds every offset.
            unsafe { sum_terms::<S>((row, m), gemm.terms, (panel, width), target.at(row, panel)) }
        }
        row += m;
    }
}

/// All terms for some rows and a few panels of the result, `(first, number)` each, packing what is not in panels.
#[inline(always)]
unsafe fn sum_terms<S: Simd>(
    (row, m): (usize, usize),
    terms: &[Term<'_>],
    (panel, width): (usize, usize),
    mut target: Target,
) {
    let mut packed = std::mem::MaybeUninit::<Packed>::uninit();
    // SAFETY: as the caller says.
    unsafe {
        let packed = (&raw mut (*packed.as_mut_ptr()).0).cast::<f32>();
        let mut stretches = [Stretch::NONE; MAX_STRETCHES];
        let (mut n, mut room) = (0, K_BLOCK);
        for term in terms {
            let whole = Stretch::of(term).at(row, panel);
            let mut done = 0;
            while done < term.k {
                if n == MAX_STRETCHES || room == 0 {
                    multiply::<S>(m, width, &stretches[..n], target);
                    target = target.again();
                    (n, room) = (0, K_BLOCK);
                }
                stretches[n] = whole.after(done);
                if let Right::Rows(..) = term.b {
                    let k = (term.k - done).min(room);
                    let to = packed.add((K_BLOCK - room) * LANES * width);
                    pack::<S>(k, width, stretches[n].b, whole.b_row, to);
                    let (b, b_row, b_panel, from) = (to, LANES, k * LANES, stretches[n].b);
                    let next = Next { from, row: whole.b_row, panel: LANES, with_a: true };
                    stretches[n] = Stretch { k, b, b_row, b_panel, next, ..stretches[n] };
                    room -= k;
                }
                done += stretches[n].k;
                n += 1;
            }
        }
        multiply::<S>(m, width, &stretches[..n], target);
    }
}

#[inline(always)]
unsafe fn pack<S: Simd>(k: usize, panels: usize, from: *const f32, row: usize, to: *mut f32) {
    for i in 0..k {
        for panel in 0..panels {
            // SAFETY: the caller's B holds k rows of at least 16 * panels; `to` holds K_BLOCK * 16 * MAX_PANELS.
            unsafe { S::store(to.add((panel * k + i) * LANES), S::load(from.add(i * row + panel * LANES))) }
        }
    }
}

/// Parts of nearly equal size, of so many at most, as `(first, number)`.
#[inline(always)]
pub(super) fn shares(n: usize, at_most: usize) -> Shares {
    let left = n.div_ceil(at_most);
    Shares { next: 0, left, size: n / left.max(1), larger: n % left.max(1) }
}

pub(super) struct Shares {
    next: usize,
    left: usize,
    size: usize,
    larger: usize,
}

impl Iterator for Shares {
    type Item = (usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize)> {
        if self.left == 0 {
            return None;
        }
        let n = self.size + usize::from(self.larger > 0);
        self.larger = self.larger.saturating_sub(1);
        self.left -= 1;
        self.next += n;
        Some((self.next - n, n))
    }
}

/// Cuts the result into tiles.
#[inline(always)]
unsafe fn multiply<S: Simd>(m: usize, panels: usize, stretches: &[Stretch], target: Target) {
    if m == 0 {
        return;
    }
    let mut done = 0;
    // SAFETY: rows and panels are inside the matrices that the caller vouched for.
    unsafe {
        if m <= S::TILE_ROWS[WIDEST] {
            while panels - done >= WIDEST {
                rows_of_tiles::<S>(m, (done, WIDEST), stretches, target);
                done += WIDEST;
            }
        }
        // If one tile has room for all rows, B is read once.
        let mut widest = MAX_PANELS;
        while widest > 1 && S::TILE_ROWS[widest] < m {
            widest -= 1;
        }
        if S::TILE_ROWS[widest] < m {
            // Two blocks of rows fetch the next two panels.
            let is_low = m <= 2 * S::TILE_ROWS[2];
            widest = if is_low { S::TILE_PANELS.min(2) } else { S::TILE_PANELS };
        }
        for (panel, width) in shares(panels - done, widest) {
            rows_of_tiles::<S>(m, (done + panel, width), stretches, target);
        }
    }
}

/// Which part of the panels that come next is fetched while a block of rows is multiplied. All blocks share it out evenly, as far as
/// they can: a processor waits for few lines at a time, and those that it multiplies with are among them.
#[derive(Clone, Copy)]
struct Fetch {
    /// So many panels from this one on, a line of each at a time.
    first: usize,
    panels: usize,
    /// Of their rows the part with this number, a line in so many steps, which is also the number of parts.
    part: usize,
    pace: usize,
}

impl Fetch {
    #[inline(always)]
    fn of(block: usize, blocks: usize, width: usize) -> Self {
        let (pace, at_once) = ((blocks / width).clamp(1, MAX_PACE), width.div_ceil(blocks));
        let first = block / pace * at_once;
        Fetch { first, panels: at_once.min(width.saturating_sub(first)), part: block % pace, pace }
    }
}

/// All rows of a few panels, `(first, number)`.
#[inline(always)]
unsafe fn rows_of_tiles<S: Simd>(
    m: usize,
    (panel, width): (usize, usize),
    stretches: &[Stretch],
    target: Target,
) {
    let blocks = m.div_ceil(S::TILE_ROWS[width]);
    for (block, (row, rows)) in shares(m, S::TILE_ROWS[width]).enumerate() {
        let fetch = Fetch::of(block, blocks, width);
        // SAFETY: rows and panels are inside the matrices that the caller vouched for.
        unsafe {
            let at = (row, panel, fetch, target.at(row, panel));
            match width {
                1 => tile_rows::<S, 1>(rows, stretches, at),
                2 => tile_rows::<S, 2>(rows, stretches, at),
                3 => tile_rows::<S, 3>(rows, stretches, at),
                4 => tile_rows::<S, 4>(rows, stretches, at),
                _ => tile_rows::<S, WIDEST>(rows, stretches, at),
            }
        }
    }
}

#[inline(always)]
unsafe fn tile_rows<S: Simd, const PANELS: usize>(
    rows: usize,
    stretches: &[Stretch],
    at: (usize, usize, Fetch, Target),
) {
    macro_rules! tiles {
        ($($rows:literal)*) => {
            // The first part of the condition is known when this is compiled: no other tiles are.
            $(if S::TILE_ROWS[PANELS] >= $rows && rows == $rows {
                // SAFETY: passed on from the caller.
                unsafe { tile::<S, $rows, PANELS>(stretches, at) }
            })*
        };
    }
    tiles!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
}

/// The rows and panels of the result that begin at these.
#[inline(always)]
unsafe fn tile<S: Simd, const ROWS: usize, const PANELS: usize>(
    stretches: &[Stretch],
    (row, panel, fetch, target): (usize, usize, Fetch, Target),
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
            let Stretch { mut a, mut b, next, .. } = stretch.at(row, panel);
            let first_row = fetch.part * (stretch.k / fetch.pace);
            let mut early =
                (next.from).wrapping_add((PANELS + fetch.first) * next.panel + first_row * next.row);
            let n_early = if next.row > 0 { fetch.panels } else { 0 };
            let mut steps = 0;
            for _ in 0..stretch.k {
                let mut columns = [S::splat(0.0); PANELS];
                for p in 0..PANELS {
                    columns[p] = S::load(b.add(p * stretch.b_panel));
                }
                // A row or two take what is read as fast as it comes.
                if ROWS > 2 {
                    if steps == 0 {
                        for p in 0..PANELS {
                            if p < n_early {
                                S::prefetch(early.wrapping_add(p * next.panel));
                            }
                        }
                        early = early.wrapping_add(next.row);
                        steps = fetch.pace;
                    }
                    steps -= 1;
                    if next.with_a {
                        S::prefetch(a.wrapping_add(A_AHEAD * stretch.a_column));
                    }
                }
                for i in 0..ROWS {
                    let x = S::splat(*a.add(i * stretch.a_row));
                    for p in 0..PANELS {
                        sums[i][p] = S::mul_add(x, columns[p], sums[i][p]);
                    }
                }
                a = a.add(stretch.a_column);
                b = b.add(stretch.b_row);
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
