//! What the calibration matrix takes away from concentrations, kept within its bounds.
//!
//! Everything is relative to the largest concentration of a row, so that no exponential overflows:
//!
//! ```text
//! u_i     = alpha_i / max alpha                 shares
//! e       = relu(W_c) u                         taken, by a matrix product
//! s       = min(1, delta / max e)               the ball
//! q_i     = min(s e_i / u_i, 0.9)               what is left stays positive
//! ln alpha~_i = m_i + ln(1 - q_i)
//! ```

use super::simd::{LANES, Simd, exp, ln, reciprocal};

/// At least this share of a concentration is left.
pub(crate) const LEFT: f32 = 0.1;

/// Rows to be calibrated, all `row` floats apart, of which the first `n_labels` are labels.
pub(crate) struct Calibrate<'a> {
    pub n_labels: usize,
    pub row: usize,
    pub delta: f32,
    pub shares: &'a [f32],
    pub taken: &'a [f32],
    /// Logits enter, calibrated log concentrations leave, without ln M.
    pub ln_alpha: &'a mut [f32],
}

/// The gradient of [`Calibrate`].
pub(crate) struct CalibrateGradient<'a> {
    pub n_labels: usize,
    pub row: usize,
    pub delta: f32,
    pub shares: &'a [f32],
    /// What is to be taken away enters, its gradient leaves.
    pub taken: &'a mut [f32],
    /// The gradient of the calibrated log concentrations enters, that of the logits leaves, but for what they do
    /// through `taken`.
    pub gradient: &'a mut [f32],
}

impl Calibrate<'_> {
    pub(super) fn fits(&self) -> bool {
        fit(self.n_labels, self.row, [self.shares.len(), self.taken.len(), self.ln_alpha.len()])
    }
}

impl CalibrateGradient<'_> {
    pub(super) fn fits(&self) -> bool {
        fit(self.n_labels, self.row, [self.shares.len(), self.taken.len(), self.gradient.len()])
    }
}

fn fit(n_labels: usize, row: usize, lens: [usize; 3]) -> bool {
    row > 0
        && row.is_multiple_of(LANES)
        && n_labels <= row
        && lens[0].is_multiple_of(row)
        && lens.iter().all(|&len| len == lens[0])
}

/// # Safety
/// Both slices hold whole rows, a multiple of 16 long, and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn shares<S: Simd>(n_labels: usize, row: usize, logits: &[f32], shares: &mut [f32]) {
    let mut start = 0;
    while start < logits.len() {
        // SAFETY: start + row is at most the length, and there are no more labels than that.
        let highest = unsafe { highest::<S>(logits.as_ptr().add(start), n_labels) };
        let mut k = 0;
        while k < row {
            // SAFETY: start + row is at most the length.
            unsafe {
                let difference = S::sub(S::load(logits.as_ptr().add(start + k)), S::splat(highest));
                S::store(shares.as_mut_ptr().add(start + k), exp::<S>(difference));
            }
            k += LANES;
        }
        shares[start + n_labels..start + row].fill(0.0);
        start += row;
    }
}

/// The largest of `n` floats; `f32::MIN` if there are none.
///
/// # Safety
/// There are `n` floats at `x`, and the processor has what `S` needs.
#[inline(always)]
unsafe fn highest<S: Simd>(x: *const f32, n: usize) -> f32 {
    // SAFETY: no more than `n` floats are read.
    unsafe {
        let mut lanes = [f32::MIN; LANES];
        let mut vector = S::splat(f32::MIN);
        let mut k = 0;
        while k + LANES <= n {
            vector = S::max(vector, S::load(x.add(k)));
            k += LANES;
        }
        S::store(lanes.as_mut_ptr(), vector);
        let mut highest = f32::MIN;
        let mut lane = 0;
        while lane < LANES {
            highest = if lanes[lane] > highest { lanes[lane] } else { highest };
            lane += 1;
        }
        while k < n {
            let next = *x.add(k);
            highest = if next > highest { next } else { highest };
            k += 1;
        }
        highest
    }
}

/// The largest of the first `n` floats, which are not negative, and where it is.
#[inline(always)]
fn largest(floats: &[f32], n: usize) -> (usize, f32) {
    let mut best = (0, 0.0);
    let mut i = 0;
    while i < n {
        if floats[i] > best.1 {
            best = (i, floats[i]);
        }
        i += 1;
    }
    best
}

/// What all that is taken away is multiplied by, to stay in the ball.
#[inline(always)]
fn shrink(largest_taken: f32, delta: f32) -> f32 {
    if largest_taken > delta { delta / largest_taken } else { 1.0 }
}

/// # Safety
/// `rows.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn forward<S: Simd>(rows: &mut Calibrate<'_>) {
    let mut start = 0;
    while start < rows.taken.len() {
        // SAFETY: `fits` says that the row lies inside all three.
        unsafe {
            let largest = highest::<S>(rows.taken.as_ptr().add(start), rows.n_labels);
            let shrink = S::splat(shrink(largest, rows.delta));
            let mut k = 0;
            while k < rows.row {
                let share = S::load(rows.shares.as_ptr().add(start + k));
                let left = left::<S>(share, S::load(rows.taken.as_ptr().add(start + k)), shrink);
                let at = rows.ln_alpha.as_mut_ptr().add(start + k);
                S::store(at, S::add(S::load(at), ln::<S>(left)));
                k += LANES;
            }
        }
        start += rows.row;
    }
}

/// The share of each concentration that is left, `1 - q`.
#[inline(always)]
unsafe fn left<S: Simd>(share: S::V, taken: S::V, shrink: S::V) -> S::V {
    // SAFETY: only arithmetic; the caller has what `S` needs.
    unsafe {
        let share = S::max(share, S::splat(f32::MIN_POSITIVE));
        let q = S::mul(S::mul(taken, shrink), reciprocal::<S>(share));
        S::max(S::sub(S::splat(1.0), q), S::splat(LEFT))
    }
}

/// # Safety
/// `rows.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn backward<S: Simd>(rows: &mut CalibrateGradient<'_>) {
    let mut start = 0;
    while start < rows.taken.len() {
        let (most_taken, largest_taken) = largest(&rows.taken[start..], rows.n_labels);
        let (top, _) = largest(&rows.shares[start..], rows.n_labels);
        let factor = shrink(largest_taken, rows.delta);
        // SAFETY: `fits` says that the row lies inside all three.
        unsafe {
            let shrink = S::splat(factor);
            let mut sums = S::splat(0.0);
            let mut k = 0;
            while k < rows.row {
                let share = S::load(rows.shares.as_ptr().add(start + k));
                let (taken, gradient) =
                    (rows.taken.as_mut_ptr().add(start + k), rows.gradient.as_mut_ptr().add(start + k));
                let left = left::<S>(share, S::load(taken), shrink);
                let g = S::load(gradient);
                // d ln(1 - q) = -dq / (1 - q), and nothing where q is held back.
                let slope = S::mul(g, reciprocal::<S>(left));
                let slope = S::where_below(left, HELD_BACK, S::splat(0.0), slope);
                let through = S::mul(slope, S::sub(S::splat(1.0), left));
                sums = S::add(sums, through);
                S::store(gradient, S::add(g, through));
                let share = S::max(share, S::splat(f32::MIN_POSITIVE));
                let d_taken = S::mul(S::mul(slope, shrink), reciprocal::<S>(share));
                let d_taken = S::max(S::min(d_taken, S::splat(LARGEST)), S::splat(-LARGEST));
                S::store(taken, S::sub(S::splat(0.0), d_taken));
                k += LANES;
            }
            if factor < 1.0 {
                let sum = S::sum(sums);
                rows.gradient[start + top] -= sum;
                rows.taken[start + most_taken] += sum / largest_taken;
            }
        }
        rows.taken[start + rows.n_labels..start + rows.row].fill(0.0);
        start += rows.row;
    }
}

/// Just above [`LEFT`].
const HELD_BACK: f32 = LEFT * 1.000_001;

/// Gradients of entries that no weight reaches may be huge; this keeps sums over them finite.
const LARGEST: f32 = 1e30;
