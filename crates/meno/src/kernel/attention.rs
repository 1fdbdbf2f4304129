//! Additive attention, `e_ij = v . tanh(key_j + query_i)`, without storing or even computing the `tanh`.
//!
//! `tanh x = 1 - 2 / (1 + e^2x)` and `e^2(a+b) = e^2a e^2b`. So the exponentials are taken once for each key and
//! each query, and a pair costs a multiply-add and a reciprocal for each component:
//! with `r = 1 / (1 + E_j E_i)`, `e_ij = sum v - 2 sum v r`, where the first term is the same for all `j` and
//! drops out of the softmax, and `d tanh / dx = 4 r (1 - r)`.

use super::simd::{LANES, Simd, exp, reciprocal};

/// Beyond this, `e^2x` of a key times that of a query could overflow; there `tanh` is flat anyway.
const LIMIT: f32 = 21.0;

/// Turns keys and queries into exponentials `e^2x`.
///
/// # Safety
/// The length is a multiple of 16, and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn exponentials<S: Simd>(x: &mut [f32]) {
    let mut k = 0;
    while k < x.len() {
        // SAFETY: k + 16 <= the length.
        unsafe {
            let at = x.as_mut_ptr().add(k);
            let x = S::min(S::max(S::load(at), S::splat(-LIMIT)), S::splat(LIMIT));
            S::store(at, exp::<S>(S::add(x, x)));
        }
        k += LANES;
    }
}

/// Attention of some queries over the words of one utterance.
pub(crate) struct Attention<'a> {
    /// Queries.
    pub queries: usize,
    /// Words, which are the keys.
    pub words: usize,
    /// Width of a key; a multiple of 16.
    pub width: usize,
    /// `e^2key`, a row for each word.
    pub keys: &'a [f32],
    /// From one key to the next.
    pub key_row: usize,
    /// `e^2query`, a row for each query.
    pub query: &'a [f32],
    /// From one query to the next.
    pub query_row: usize,
    /// The vector `v`.
    pub vector: &'a [f32],
    /// From one query's weights to the next; at least `words` rounded up to 16.
    pub weights_row: usize,
}

impl Attention<'_> {
    pub(super) fn fits(&self) -> bool {
        let last = |rows: usize, row: usize| if rows == 0 { 0 } else { (rows - 1) * row + self.width };
        self.width.is_multiple_of(LANES)
            && last(self.words, self.key_row) <= self.keys.len()
            && last(self.queries, self.query_row) <= self.query.len()
            && self.width <= self.vector.len()
            && self.weights_row.is_multiple_of(LANES)
            && self.words <= self.weights_row
    }
}

/// Writes the softmax over the words for each query; what lies beyond the last word is zero.
///
/// # Safety
/// `attention.fits()` holds, `weights` holds `queries * weights_row`, and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn forward<S: Simd>(attention: &Attention<'_>, weights: &mut [f32]) {
    for i in 0..attention.queries {
        // SAFETY: `fits` bounds the rows of keys, queries and weights.
        unsafe {
            let query = attention.query.as_ptr().add(i * attention.query_row);
            let scores = weights.as_mut_ptr().add(i * attention.weights_row);
            for j in 0..attention.words {
                let key = attention.keys.as_ptr().add(j * attention.key_row);
                let mut sum = S::splat(0.0);
                let mut k = 0;
                while k < attention.width {
                    let product = S::mul_add(S::load(key.add(k)), S::load(query.add(k)), S::splat(1.0));
                    sum =
                        S::mul_add(reciprocal::<S>(product), S::load(attention.vector.as_ptr().add(k)), sum);
                    k += LANES;
                }
                *scores.add(j) = -2.0 * S::sum(sum);
            }
            for j in attention.words..attention.weights_row {
                *scores.add(j) = f32::MIN;
            }
            super::softmax::softmax::<S>(scores, attention.weights_row);
            for j in attention.words..attention.weights_row {
                *scores.add(j) = 0.0;
            }
        }
    }
}

/// Where the gradient of an [`Attention`] goes.
pub(crate) struct AttentionGradient<'a> {
    /// The weights that the forward pass gave.
    pub weights: &'a [f32],
    /// Gradient of the weights, overwritten with the gradient of the scores.
    pub d_weights: &'a mut [f32],
    /// Gradient of the keys, added to.
    pub d_keys: &'a mut [f32],
    /// Gradient of the queries, added to.
    pub d_query: &'a mut [f32],
    /// From one query's gradient to the next.
    pub d_query_row: usize,
    /// Gradient of the vector, added to.
    pub d_vector: &'a mut [f32],
}

impl AttentionGradient<'_> {
    pub(super) fn fits(&self, attention: &Attention<'_>) -> bool {
        let weights = attention.queries * attention.weights_row;
        weights <= self.weights.len().min(self.d_weights.len())
            && self.d_keys.len() >= attention.keys.len()
            && (attention.queries == 0
                || (attention.queries - 1) * self.d_query_row + attention.width <= self.d_query.len())
            && self.d_vector.len() >= attention.width
    }
}

/// # Safety
/// `attention.fits()` and `gradient.fits(attention)` hold, and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn backward<S: Simd>(attention: &Attention<'_>, gradient: &mut AttentionGradient<'_>) {
    for i in 0..attention.queries {
        // SAFETY: `fits` bounds the rows of keys, queries and weights.
        unsafe {
            let weights = gradient.weights.as_ptr().add(i * attention.weights_row);
            let d_scores = gradient.d_weights.as_mut_ptr().add(i * attention.weights_row);
            let mut total = 0.0;
            for j in 0..attention.words {
                total += *weights.add(j) * *d_scores.add(j);
            }
            for j in 0..attention.words {
                *d_scores.add(j) = *weights.add(j) * (*d_scores.add(j) - total);
            }
            let query = attention.query.as_ptr().add(i * attention.query_row);
            let d_query = gradient.d_query.as_mut_ptr().add(i * gradient.d_query_row);
            let mut k = 0;
            while k < attention.width {
                backward_slice::<S>(attention, gradient, k, query.add(k), d_query.add(k), d_scores);
                k += LANES;
            }
        }
    }
}

/// Sixteen components of one query against every word.
#[inline(always)]
unsafe fn backward_slice<S: Simd>(
    attention: &Attention<'_>,
    gradient: &mut AttentionGradient<'_>,
    k: usize,
    query: *const f32,
    d_query: *mut f32,
    d_scores: *const f32,
) {
    // SAFETY: k + 16 <= width, and the caller's rows are inside.
    unsafe {
        let one = S::splat(1.0);
        let vector = S::load(attention.vector.as_ptr().add(k));
        let vector = S::mul(vector, S::splat(4.0));
        let query = S::load(query);
        let (mut for_query, mut for_vector) = (S::splat(0.0), S::splat(0.0));
        for j in 0..attention.words {
            let d_score = S::splat(*d_scores.add(j));
            let key = S::load(attention.keys.as_ptr().add(j * attention.key_row + k));
            let r = reciprocal::<S>(S::mul_add(key, query, one));
            let d = S::mul(S::mul(d_score, vector), S::neg_mul_add(r, r, r));
            let d_key = gradient.d_keys.as_mut_ptr().add(j * attention.key_row + k);
            S::store(d_key, S::add(S::load(d_key), d));
            for_query = S::add(for_query, d);
            for_vector = S::mul_add(d_score, r, for_vector);
        }
        S::store(d_query, S::add(S::load(d_query), for_query));
        // The constant part of tanh contributes nothing: the gradients of the scores sum to zero.
        let d_vector = gradient.d_vector.as_mut_ptr().add(k);
        S::store(d_vector, S::neg_mul_add(S::splat(2.0), for_vector, S::load(d_vector)));
    }
}
