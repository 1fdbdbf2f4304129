//! Scaled dot-product attention of the words of one utterance to each other, with several heads:
//! `softmax(Q K^T / sqrt(width)) V` for each of them (Vaswani et al., 2017).

use super::norm::last;
use super::simd::{LANES, Simd};
use super::softmax::softmax;

/// Queries, keys and values of an utterance, side by side in each row, each of them head after head.
#[derive(Clone, Copy)]
pub(crate) struct SelfAttention<'a> {
    /// Rows: the pieces of the utterance.
    pub rows: usize,
    pub heads: usize,
    /// Width of a head; a multiple of 16.
    pub width: usize,
    pub qkv: &'a [f32],
    /// From one row of `qkv` to the next.
    pub qkv_row: usize,
    /// The factors of dropout of the weights, laid out as they are.
    pub factors: Option<&'a [f32]>,
}

impl SelfAttention<'_> {
    /// From one row of weights to the next.
    pub(crate) fn weights_row(rows: usize) -> usize {
        super::padded(rows)
    }

    /// The floats of all weights: heads by rows by the distance between rows.
    pub(crate) fn n_weights(heads: usize, rows: usize) -> usize {
        heads * rows * Self::weights_row(rows)
    }

    /// What the kernels need to work with.
    pub(crate) fn n_scratch(rows: usize, width: usize) -> usize {
        (width + rows) * Self::weights_row(rows)
    }

    pub(super) fn fits(&self, weights: &[f32], scratch: &[f32]) -> bool {
        let n = Self::n_weights(self.heads, self.rows);
        self.width.is_multiple_of(LANES)
            && self.width > 0
            && last(self.rows, self.qkv_row, 3 * self.heads * self.width) <= self.qkv.len()
            && self.factors.is_none_or(|factors| n <= factors.len())
            && n <= weights.len()
            && Self::n_scratch(self.rows, self.width) <= scratch.len()
    }

    pub(super) fn fits_out(&self, out: &[f32], out_row: usize, n: usize) -> bool {
        last(self.rows, out_row, n * self.heads * self.width) <= out.len()
    }
}

/// What the forward pass writes.
pub(crate) struct SelfAttentionOut<'a> {
    /// The weights before dropout: for each head and row how much each row counts.
    pub weights: &'a mut [f32],
    /// For each row the values of all heads, weighed.
    pub out: &'a mut [f32],
    pub out_row: usize,
    pub scratch: &'a mut [f32],
}

/// What the backward pass reads and writes.
pub(crate) struct SelfAttentionGradient<'a> {
    /// Those of the forward pass.
    pub weights: &'a [f32],
    /// Gradient of the weighed values.
    pub d_out: &'a [f32],
    pub out_row: usize,
    /// Out: gradient of `qkv`, laid out as it is.
    pub d_qkv: &'a mut [f32],
    pub scratch: &'a mut [f32],
}

/// What the padding of a row of scores holds: no softmax notices it.
const PADDING: f32 = -1e9;

/// Gradients closer to zero than this are dropped, so that none becomes denormal.
const TINY: f32 = 1e-25;

/// # Safety
/// `a.fits` and `a.fits_out` hold and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn forward<S: Simd>(a: &SelfAttention<'_>, to: &mut SelfAttentionOut<'_>) {
    let (n, width, hidden) = (a.rows, a.width, a.heads * a.width);
    let weights_row = SelfAttention::weights_row(n);
    let scale = 1.0 / (width as f32).sqrt();
    for head in 0..a.heads {
        // SAFETY: `fits` bounds the rows of every head.
        unsafe {
            let query = a.qkv.as_ptr().add(head * width);
            let weights = to.weights.as_mut_ptr().add(head * n * weights_row);
            let keys = to.scratch.as_mut_ptr();
            transpose(query.add(hidden), a.qkv_row, n, width, keys, weights_row);
            dots::<S>(query, a.qkv_row, n, width, keys, weights, weights_row, scale);
            for i in 0..n {
                let row = weights.add(i * weights_row);
                for j in n..weights_row {
                    *row.add(j) = PADDING;
                }
                softmax::<S>(row, weights_row);
            }
            let factors = a.factors.map(|factors| factors.as_ptr().add(head * n * weights_row));
            let weighed =
                Weighed { n, weights, row: weights_row, column: 1, factors, values: query.add(2 * hidden) };
            weigh::<S>(weighed, a.qkv_row, width, to.out.as_mut_ptr().add(head * width), to.out_row);
        }
    }
}

/// # Safety
/// `a.fits` and `a.fits_out` hold, `d_qkv` is as large as `qkv`, and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn backward<S: Simd>(a: &SelfAttention<'_>, g: &mut SelfAttentionGradient<'_>) {
    let (n, width, hidden) = (a.rows, a.width, a.heads * a.width);
    let weights_row = SelfAttention::weights_row(n);
    for head in 0..a.heads {
        // SAFETY: `fits` bounds the rows of every head.
        unsafe {
            let query = a.qkv.as_ptr().add(head * width);
            let (key, value) = (query.add(hidden), query.add(2 * hidden));
            let d_query = g.d_qkv.as_mut_ptr().add(head * width);
            let (d_key, d_value) = (d_query.add(hidden), d_query.add(2 * hidden));
            let weights = g.weights.as_ptr().add(head * n * weights_row);
            let factors = a.factors.map(|factors| factors.as_ptr().add(head * n * weights_row));
            let d_out = g.d_out.as_ptr().add(head * width);
            let transposed = g.scratch.as_mut_ptr();
            let d_scores = transposed.add(width * weights_row);
            transpose(value, a.qkv_row, n, width, transposed, weights_row);
            dots::<S>(d_out, g.out_row, n, width, transposed, d_scores, weights_row, 1.0);
            softmax_backward::<S>(n, width, weights, factors, d_scores, weights_row);
            let of_queries =
                Weighed { n, weights: d_scores, row: weights_row, column: 1, factors: None, values: key };
            weigh::<S>(of_queries, a.qkv_row, width, d_query, a.qkv_row);
            let of_keys = Weighed { row: 1, column: weights_row, values: query, ..of_queries };
            weigh::<S>(of_keys, a.qkv_row, width, d_key, a.qkv_row);
            let of_values = Weighed { weights, factors, values: d_out, ..of_keys };
            weigh::<S>(of_values, g.out_row, width, d_value, a.qkv_row);
        }
    }
}

/// From the gradient of the dropped weights to that of the scores, in its place.
#[inline(always)]
unsafe fn softmax_backward<S: Simd>(
    n: usize,
    width: usize,
    weights: *const f32,
    factors: Option<*const f32>,
    d: *mut f32,
    row: usize,
) {
    let scale = 1.0 / (width as f32).sqrt();
    for i in 0..n {
        // SAFETY: the caller vouches for n rows at each pointer.
        unsafe {
            let (weights, d) = (weights.add(i * row), d.add(i * row));
            let mut along = S::splat(0.0);
            let mut k = 0;
            while k < row {
                let mut d_weight = S::load(d.add(k));
                if let Some(factors) = factors {
                    d_weight = S::mul(d_weight, S::load(factors.add(i * row + k)));
                    S::store(d.add(k), d_weight);
                }
                along = S::mul_add(d_weight, S::load(weights.add(k)), along);
                k += LANES;
            }
            let along = S::splat(S::sum(along));
            k = 0;
            while k < row {
                let weight = S::mul(S::load(weights.add(k)), S::splat(scale));
                let d_score = S::mul(weight, S::sub(S::load(d.add(k)), along));
                S::store(d.add(k), S::flush(d_score, TINY));
                k += LANES;
            }
        }
    }
}

/// From `n` rows of `width` to `width` rows of `n`; the padding becomes 0.
#[inline(always)]
unsafe fn transpose(from: *const f32, from_row: usize, n: usize, width: usize, to: *mut f32, to_row: usize) {
    for k in 0..width {
        for j in 0..n {
            // SAFETY: the caller vouches for n rows at `from` and width rows at `to`.
            unsafe { *to.add(k * to_row + j) = *from.add(j * from_row + k) }
        }
        for j in n..to_row {
            // SAFETY: as above.
            unsafe { *to.add(k * to_row + j) = 0.0 }
        }
    }
}

/// `out = scale A B` with `n` rows of A, and B as wide as a row of `out`.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
unsafe fn dots<S: Simd>(
    a: *const f32,
    a_row: usize,
    n: usize,
    width: usize,
    b: *const f32,
    out: *mut f32,
    out_row: usize,
    scale: f32,
) {
    let mut column = 0;
    while column < out_row {
        let mut i = 0;
        while i < n {
            // SAFETY: rows i.. of A and of the result, and the columns from here on, are inside.
            unsafe {
                let (a, b, out) = (a.add(i * a_row), b.add(column), out.add(i * out_row + column));
                i += match n - i {
                    1 => dot_rows::<S, 1>(a, a_row, width, b, out, out_row, scale),
                    2 => dot_rows::<S, 2>(a, a_row, width, b, out, out_row, scale),
                    3 => dot_rows::<S, 3>(a, a_row, width, b, out, out_row, scale),
                    _ => dot_rows::<S, 4>(a, a_row, width, b, out, out_row, scale),
                };
            }
        }
        column += LANES;
    }
}

/// Sixteen columns of so many rows; gives their number.
#[inline(always)]
unsafe fn dot_rows<S: Simd, const ROWS: usize>(
    a: *const f32,
    a_row: usize,
    width: usize,
    b: *const f32,
    out: *mut f32,
    out_row: usize,
    scale: f32,
) -> usize {
    // SAFETY: the caller vouches for ROWS rows.
    unsafe {
        let mut sums = [S::splat(0.0); ROWS];
        for k in 0..width {
            let columns = S::load(b.add(k * out_row));
            for r in 0..ROWS {
                sums[r] = S::mul_add(S::splat(*a.add(r * a_row + k)), columns, sums[r]);
            }
        }
        for r in 0..ROWS {
            S::store(out.add(r * out_row), S::mul(sums[r], S::splat(scale)));
        }
    }
    ROWS
}

/// `n` rows that are weighed by an `n` by `n` matrix, which can be read transposed.
#[derive(Clone, Copy)]
struct Weighed {
    n: usize,
    weights: *const f32,
    row: usize,
    column: usize,
    factors: Option<*const f32>,
    values: *const f32,
}

/// `out = (factors weights) values`, `width` wide.
#[inline(always)]
unsafe fn weigh<S: Simd>(w: Weighed, values_row: usize, width: usize, out: *mut f32, out_row: usize) {
    let mut column = 0;
    while column < width {
        let mut i = 0;
        while i < w.n {
            // SAFETY: rows i.. of the weights and of the result, and the columns from here on, are inside.
            unsafe {
                let part = Weighed {
                    weights: w.weights.add(i * w.row),
                    factors: w.factors.map(|factors| factors.add(i * w.row)),
                    values: w.values.add(column),
                    ..w
                };
                let out = out.add(i * out_row + column);
                i += match w.n - i {
                    1 => weigh_rows::<S, 1>(part, values_row, out, out_row),
                    2 => weigh_rows::<S, 2>(part, values_row, out, out_row),
                    3 => weigh_rows::<S, 3>(part, values_row, out, out_row),
                    _ => weigh_rows::<S, 4>(part, values_row, out, out_row),
                };
            }
        }
        column += LANES;
    }
}

/// Sixteen columns of so many rows; gives their number.
#[inline(always)]
unsafe fn weigh_rows<S: Simd, const ROWS: usize>(
    w: Weighed,
    values_row: usize,
    out: *mut f32,
    out_row: usize,
) -> usize {
    // SAFETY: the caller vouches for ROWS rows.
    unsafe {
        let mut sums = [S::splat(0.0); ROWS];
        for j in 0..w.n {
            let values = S::load(w.values.add(j * values_row));
            for r in 0..ROWS {
                let at = r * w.row + j * w.column;
                let mut weight = *w.weights.add(at);
                if let Some(factors) = w.factors {
                    weight *= *factors.add(at);
                }
                sums[r] = S::mul_add(S::splat(weight), values, sums[r]);
            }
        }
        for r in 0..ROWS {
            S::store(out.add(r * out_row), sums[r]);
        }
    }
    ROWS
}
