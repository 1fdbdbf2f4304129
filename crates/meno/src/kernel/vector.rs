//! Element-wise work on rows: sums, products, the gate.

use super::simd::{LANES, Simd, tanh};

/// `y += x`
///
/// # Safety
/// Equal lengths, a multiple of 16; the processor has what `S` needs. So for all of this module.
#[inline(always)]
pub(super) unsafe fn add<S: Simd>(x: &[f32], y: &mut [f32]) {
    let mut k = 0;
    while k < y.len() {
        // SAFETY: k + 16 <= the length of both.
        unsafe {
            S::store(y.as_mut_ptr().add(k), S::add(S::load(x.as_ptr().add(k)), S::load(y.as_ptr().add(k))))
        };
        k += LANES;
    }
}

/// `y = x * factor`, element by element
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd>(x: &[f32], factor: &[f32], y: &mut [f32]) {
    let mut k = 0;
    while k < y.len() {
        // SAFETY: k + 16 <= the length of all.
        unsafe {
            let product = S::mul(S::load(x.as_ptr().add(k)), S::load(factor.as_ptr().add(k)));
            S::store(y.as_mut_ptr().add(k), product);
        }
        k += LANES;
    }
}

/// `y *= factor`, element by element
#[inline(always)]
pub(super) unsafe fn scale<S: Simd>(factor: &[f32], y: &mut [f32]) {
    let mut k = 0;
    while k < y.len() {
        // SAFETY: k + 16 <= the length of both.
        unsafe {
            let y = y.as_mut_ptr().add(k);
            S::store(y, S::mul(S::load(y), S::load(factor.as_ptr().add(k))));
        }
        k += LANES;
    }
}

/// `y += x * factor`, element by element
#[inline(always)]
pub(super) unsafe fn add_product<S: Simd>(x: &[f32], factor: &[f32], y: &mut [f32]) {
    let mut k = 0;
    while k < y.len() {
        // SAFETY: k + 16 <= the length of all.
        unsafe {
            let y = y.as_mut_ptr().add(k);
            S::store(y, S::mul_add(S::load(x.as_ptr().add(k)), S::load(factor.as_ptr().add(k)), S::load(y)));
        }
        k += LANES;
    }
}

/// `y += factor * x`
#[inline(always)]
pub(super) unsafe fn add_scaled<S: Simd>(factor: f32, x: &[f32], y: &mut [f32]) {
    let mut k = 0;
    while k < y.len() {
        // SAFETY: k + 16 <= the length of both.
        unsafe {
            let y = y.as_mut_ptr().add(k);
            S::store(y, S::mul_add(S::splat(factor), S::load(x.as_ptr().add(k)), S::load(y)));
        }
        k += LANES;
    }
}

/// `y = max(x, 0)`
#[inline(always)]
pub(super) unsafe fn rectify<S: Simd>(x: &[f32], y: &mut [f32]) {
    let mut k = 0;
    while k < y.len() {
        // SAFETY: k + 16 <= the length of both.
        unsafe { S::store(y.as_mut_ptr().add(k), S::max(S::load(x.as_ptr().add(k)), S::splat(0.0))) };
        k += LANES;
    }
}

/// `y = 0` where `x` is not positive
#[inline(always)]
pub(super) unsafe fn keep_where_positive<S: Simd>(x: &[f32], y: &mut [f32]) {
    let mut k = 0;
    while k < y.len() {
        // SAFETY: k + 16 <= the length of both.
        unsafe {
            let y = y.as_mut_ptr().add(k);
            let x = S::load(x.as_ptr().add(k));
            S::store(y, S::where_below(x, f32::MIN_POSITIVE, S::splat(0.0), S::load(y)));
        }
        k += LANES;
    }
}

/// `x . y`
#[inline(always)]
pub(super) unsafe fn dot<S: Simd>(x: &[f32], y: &[f32]) -> f32 {
    let mut k = 0;
    // SAFETY: k + 16 <= the length of both.
    unsafe {
        let mut sum = S::splat(0.0);
        while k < x.len() {
            sum = S::mul_add(S::load(x.as_ptr().add(k)), S::load(y.as_ptr().add(k)), sum);
            k += LANES;
        }
        S::sum(sum)
    }
}

/// `out = factor` where the byte is below the threshold, else 0
#[inline(always)]
pub(super) unsafe fn choose<S: Simd>(bytes: &[u8], threshold: f32, factor: f32, out: &mut [f32]) {
    let mut k = 0;
    while k < out.len() {
        // SAFETY: k + 16 <= the length of both.
        unsafe {
            let bytes = S::load_bytes(bytes.as_ptr().add(k));
            // 0 below the threshold, else at least 1: bytes and the threshold are whole numbers.
            let above = S::min(
                S::max(S::sub(S::add(bytes, S::splat(1.0)), S::splat(threshold)), S::splat(0.0)),
                S::splat(1.0),
            );
            S::store(out.as_mut_ptr().add(k), S::mul(S::sub(S::splat(1.0), above), S::splat(factor)));
        }
        k += LANES;
    }
}

/// `out += ` the sum of the rows of `x`
#[inline(always)]
pub(super) unsafe fn sum_rows<S: Simd>(x: &[f32], row: usize, out: &mut [f32]) {
    let rows = if x.len() < out.len() { 0 } else { (x.len() - out.len()) / row + 1 };
    let mut k = 0;
    while k < out.len() {
        // SAFETY: row r ends at r * row + out.len() <= x.len().
        unsafe {
            let mut sum = S::load(out.as_ptr().add(k));
            for r in 0..rows {
                sum = S::add(sum, S::load(x.as_ptr().add(r * row + k)));
            }
            S::store(out.as_mut_ptr().add(k), sum);
        }
        k += LANES;
    }
}

/// `t = tanh(context + query)`; gives `vector . t`
#[inline(always)]
pub(super) unsafe fn gate<S: Simd>(context: &[f32], query: &[f32], vector: &[f32], t: &mut [f32]) -> f32 {
    let mut k = 0;
    // SAFETY: k + 16 <= the length of all.
    unsafe {
        let mut sum = S::splat(0.0);
        while k < t.len() {
            let x = tanh::<S>(S::add(S::load(context.as_ptr().add(k)), S::load(query.as_ptr().add(k))));
            S::store(t.as_mut_ptr().add(k), x);
            sum = S::mul_add(x, S::load(vector.as_ptr().add(k)), sum);
            k += LANES;
        }
        S::sum(sum)
    }
}

/// What the gradient of one gate reads and writes; all of one width.
pub(crate) struct GateGradient<'a> {
    /// The attention's context, the gate's `tanh` and value.
    pub context: &'a [f32],
    pub tanh: &'a [f32],
    pub gate: f32,
    pub vector: &'a [f32],
    /// Gradient of the gated context.
    pub d_gated: &'a [f32],
    /// Out: gradient of the context.
    pub d_context: &'a mut [f32],
    /// Added to: gradients of the query and of the vector.
    pub d_query: &'a mut [f32],
    pub d_vector: &'a mut [f32],
}

#[inline(always)]
pub(super) unsafe fn gate_backward<S: Simd>(g: &mut GateGradient<'_>) {
    // SAFETY: the caller checked that all have one length, a multiple of 16.
    unsafe {
        let d_gate = S::splat(dot::<S>(g.d_gated, g.context));
        let (gate, one) = (S::splat(g.gate), S::splat(1.0));
        let mut k = 0;
        while k < g.context.len() {
            let t = S::load(g.tanh.as_ptr().add(k));
            let d = S::mul(d_gate, S::load(g.vector.as_ptr().add(k)));
            let d = S::mul(d, S::neg_mul_add(t, t, one));
            S::store(
                g.d_context.as_mut_ptr().add(k),
                S::mul_add(gate, S::load(g.d_gated.as_ptr().add(k)), d),
            );
            let d_query = g.d_query.as_mut_ptr().add(k);
            S::store(d_query, S::add(S::load(d_query), d));
            let d_vector = g.d_vector.as_mut_ptr().add(k);
            S::store(d_vector, S::mul_add(d_gate, t, S::load(d_vector)));
            k += LANES;
        }
    }
}

/// The dot product of each row of A with each row of B.
pub(crate) struct Dots<'a> {
    /// Rows of A.
    pub m: usize,
    /// Rows of B.
    pub n: usize,
    /// Width of a row; a multiple of 16.
    pub width: usize,
    pub a: &'a [f32],
    pub a_row: usize,
    pub b: &'a [f32],
    pub b_row: usize,
}

impl Dots<'_> {
    pub(super) fn fits(&self, out: &[f32], out_row: usize) -> bool {
        let last =
            |rows: usize, row: usize, width: usize| if rows == 0 { 0 } else { (rows - 1) * row + width };
        self.width.is_multiple_of(LANES)
            && last(self.m, self.a_row, self.width) <= self.a.len()
            && last(self.n, self.b_row, self.width) <= self.b.len()
            && last(self.m, out_row, self.n) <= out.len()
    }
}

#[inline(always)]
pub(super) unsafe fn dots<S: Simd>(dots: &Dots<'_>, out: &mut [f32], out_row: usize) {
    for i in 0..dots.m {
        for j in 0..dots.n {
            // SAFETY: `fits` bounds the rows.
            unsafe {
                let (a, b) = (dots.a.as_ptr().add(i * dots.a_row), dots.b.as_ptr().add(j * dots.b_row));
                let mut sum = S::splat(0.0);
                let mut k = 0;
                while k < dots.width {
                    sum = S::mul_add(S::load(a.add(k)), S::load(b.add(k)), sum);
                    k += LANES;
                }
                *out.as_mut_ptr().add(i * out_row + j) = S::sum(sum);
            }
        }
    }
}

/// Nothing but independent multiply-adds, to find out how many this processor can do; gives their number.
///
/// # Safety
/// The processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn multiply_adds<S: Simd>(rounds: usize) -> usize {
    // SAFETY: passed on.
    unsafe { if S::TILE_PANELS == 1 { chains::<S, 5>(rounds) } else { chains::<S, 10>(rounds) } }
}

#[inline(always)]
unsafe fn chains<S: Simd, const CHAINS: usize>(rounds: usize) -> usize {
    // SAFETY: only arithmetic.
    unsafe {
        // Unknown to the compiler, or it would compute the result itself.
        let (x, y) = (S::splat(std::hint::black_box(0.999)), S::splat(std::hint::black_box(1e-3)));
        let mut sums = [S::splat(0.0); CHAINS];
        for sum in &mut sums {
            *sum = S::splat(std::hint::black_box(1.0));
        }
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = S::mul_add(*sum, x, y);
            }
        }
        for sum in sums {
            std::hint::black_box(S::sum(sum));
        }
    }
    rounds * CHAINS * LANES
}
