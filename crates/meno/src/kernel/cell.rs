//! The LSTM cell, fused: gates, cell and hidden state of all rows of a time step in one pass.

use super::simd::{LANES, Simd, sigmoid, tanh};

/// One time step of one direction. Row `r` of every slice belongs to utterance `r`.
pub(crate) struct Cell<'a> {
    /// Rows of this step.
    pub rows: usize,
    /// Rows that have a previous step; the others start from zero.
    pub rows_before: usize,
    /// Width of the hidden state; a multiple of 16.
    pub hidden: usize,
    /// In: gate inputs `i, f, g, o`; out: their activations.
    pub gates: &'a mut [f32],
    /// From one row of gates to the next.
    pub gates_row: usize,
    /// Cell states of the previous step.
    pub before: &'a [f32],
    /// Out: cell states of this step.
    pub cell: &'a mut [f32],
    /// Out: `tanh` of the cell states.
    pub cell_tanh: &'a mut [f32],
    /// Out: hidden states.
    pub out: &'a mut [f32],
    /// From one row of hidden states to the next.
    pub out_row: usize,
}

impl Cell<'_> {
    pub(super) fn fits(&self) -> bool {
        let states = self.rows * self.hidden;
        self.hidden.is_multiple_of(LANES)
            && self.rows_before <= self.rows
            && self.rows_before * self.hidden <= self.before.len()
            && states <= self.cell.len()
            && states <= self.cell_tanh.len()
            && (self.rows == 0
                || (self.rows - 1) * self.gates_row + 4 * self.hidden <= self.gates.len()
                    && (self.rows - 1) * self.out_row + self.hidden <= self.out.len())
    }
}

/// # Safety
/// `cell.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn forward<S: Simd>(step: &mut Cell<'_>) {
    let h = step.hidden;
    for r in 0..step.rows {
        // SAFETY: `fits` bounds the rows.
        unsafe {
            let gates = step.gates.as_mut_ptr().add(r * step.gates_row);
            let out = step.out.as_mut_ptr().add(r * step.out_row);
            let mut k = 0;
            while k < h {
                let i = sigmoid::<S>(S::load(gates.add(k)));
                let f = sigmoid::<S>(S::load(gates.add(h + k)));
                let g = tanh::<S>(S::load(gates.add(2 * h + k)));
                let o = sigmoid::<S>(S::load(gates.add(3 * h + k)));
                let mut cell = S::mul(i, g);
                if r < step.rows_before {
                    cell = S::mul_add(f, S::load(step.before.as_ptr().add(r * h + k)), cell);
                }
                let cell_tanh = tanh::<S>(cell);
                S::store(gates.add(k), i);
                S::store(gates.add(h + k), f);
                S::store(gates.add(2 * h + k), g);
                S::store(gates.add(3 * h + k), o);
                S::store(step.cell.as_mut_ptr().add(r * h + k), cell);
                S::store(step.cell_tanh.as_mut_ptr().add(r * h + k), cell_tanh);
                S::store(out.add(k), S::mul(o, cell_tanh));
                k += LANES;
            }
        }
    }
}

/// The gradient of one time step of one direction.
pub(crate) struct CellGradient<'a> {
    /// As in [`Cell`].
    pub rows: usize,
    /// As in [`Cell`].
    pub rows_before: usize,
    /// As in [`Cell`].
    pub hidden: usize,
    /// In: the activations that [`Cell`] left; out: the gradient of the gate inputs.
    pub gates: &'a mut [f32],
    /// From one row of gates to the next.
    pub gates_row: usize,
    /// Cell states of the previous step.
    pub before: &'a [f32],
    /// `tanh` of the cell states of this step.
    pub cell_tanh: &'a [f32],
    /// Gradient of the hidden states.
    pub d_hidden: &'a [f32],
    /// In: gradient of the cell states from the step after; out: for the step before.
    pub d_cell: &'a mut [f32],
}

impl CellGradient<'_> {
    pub(super) fn fits(&self) -> bool {
        let states = self.rows * self.hidden;
        let gates = if self.rows == 0 { 0 } else { (self.rows - 1) * self.gates_row + 4 * self.hidden };
        self.hidden.is_multiple_of(LANES)
            && self.rows_before <= self.rows
            && self.rows_before * self.hidden <= self.before.len()
            && states <= self.cell_tanh.len().min(self.d_hidden.len()).min(self.d_cell.len())
            && gates <= self.gates.len()
    }
}

/// Gradients closer to zero than this are dropped, so that none becomes denormal.
const TINY: f32 = 1e-25;

/// # Safety
/// `step.fits()` holds and the processor has what `S` needs.
#[inline(always)]
pub(super) unsafe fn backward<S: Simd>(step: &mut CellGradient<'_>) {
    let h = step.hidden;
    for r in 0..step.rows {
        // SAFETY: `fits` bounds the rows.
        unsafe {
            let one = S::splat(1.0);
            let gates = step.gates.as_mut_ptr().add(r * step.gates_row);
            let mut k = 0;
            while k < h {
                let i = S::load(gates.add(k));
                let f = S::load(gates.add(h + k));
                let g = S::load(gates.add(2 * h + k));
                let o = S::load(gates.add(3 * h + k));
                let t = S::load(step.cell_tanh.as_ptr().add(r * h + k));
                let d_h = S::load(step.d_hidden.as_ptr().add(r * h + k));
                let d_cell_at = step.d_cell.as_mut_ptr().add(r * h + k);
                let d_cell = S::mul_add(S::mul(d_h, o), S::neg_mul_add(t, t, one), S::load(d_cell_at));
                let before = if r < step.rows_before {
                    S::load(step.before.as_ptr().add(r * h + k))
                } else {
                    S::splat(0.0)
                };
                let d_i = S::mul(S::mul(d_cell, g), S::neg_mul_add(i, i, i));
                let d_f = S::mul(S::mul(d_cell, before), S::neg_mul_add(f, f, f));
                let d_g = S::mul(S::mul(d_cell, i), S::neg_mul_add(g, g, one));
                let d_o = S::mul(S::mul(d_h, t), S::neg_mul_add(o, o, o));
                S::store(gates.add(k), S::flush(d_i, TINY));
                S::store(gates.add(h + k), S::flush(d_f, TINY));
                S::store(gates.add(2 * h + k), S::flush(d_g, TINY));
                S::store(gates.add(3 * h + k), S::flush(d_o, TINY));
                S::store(d_cell_at, S::flush(S::mul(d_cell, f), TINY));
                k += LANES;
            }
        }
    }
}
