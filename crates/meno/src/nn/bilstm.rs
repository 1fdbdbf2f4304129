//! A bidirectional LSTM on a packed batch.
//!
//! ```text
//! [i f g o]_t = x_t W + h_(t-1) U + b      i, f, o through the sigmoid, g through tanh
//! c_t = f c_(t-1) + i g                    h_t = o tanh c_t
//! ```
//! Rows are time-major. The two directions share one product with the input, whose columns are
//! `forward i f g o, backward i f g o`.

use super::batch::Batch;
use super::linear::{Linear, Product, Rows, RowsMut, row_of};
use super::parameters::{Layout, Parameters, Tensor};
use crate::kernel::{
    Bf16Matrix, Buffer, Cell, CellGradient, Int8Matrix, Int8Product, Int8Rows, Kernels, Start, Strided,
    round_to_bf16,
};

/// The names of the parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LstmNames {
    input: &'static str,
    recurrent: [&'static str; 2],
    bias: &'static str,
}

impl LstmNames {
    /// Of the only layer, or of the lower one.
    pub(crate) const FIRST: LstmNames = LstmNames {
        input: "lstm.input",
        recurrent: ["lstm.recurrent_forward", "lstm.recurrent_backward"],
        bias: "lstm.bias",
    };
    /// Of the upper layer.
    pub(crate) const UPPER: LstmNames = LstmNames {
        input: "upper.input",
        recurrent: ["upper.recurrent_forward", "upper.recurrent_backward"],
        bias: "upper.bias",
    };
}

/// The parameters of both directions.
#[derive(Clone, Debug)]
pub(crate) struct BiLstm {
    names: LstmNames,
    hidden: usize,
    input: Linear,
    recurrent: [Linear; 2],
}

/// What the matrices are multiplied as.
#[derive(Clone, Copy)]
pub(crate) enum LstmWeights<'a> {
    /// As they are among the parameters.
    Floats,
    /// The same, but the recurrent ones are faster to read from here for one utterance.
    Bf16(&'a [Bf16Matrix; 2]),
    /// The input's and the recurrent ones, which are here alone.
    Int8(&'a [Int8Matrix; 3]),
}

/// Activations that the backward pass needs again.
#[derive(Default)]
pub(crate) struct BiLstmState {
    /// Before the forward pass the input's part of the gates, after it their activations, after the backward pass
    /// their gradients.
    pub gates: Buffer,
    before: [Buffer; 2],
    cell: [Buffer; 2],
    cell_tanh: [Buffer; 2],
    /// Hidden states, time-major, forward and backward side by side.
    pub hidden: Buffer,
    /// For each utterance the final `[forward c, forward h, backward c, backward h]`.
    pub last: Buffer,
    d_hidden: Buffer,
    d_cell: Buffer,
    int8: Int8Rows,
}

impl BiLstm {
    /// The matrices; [`BiLstm::bias`] follows when all matrices of the network have been laid out.
    pub(crate) fn new(layout: &mut Layout, names: LstmNames, input: usize, hidden: usize) -> Self {
        let mut linear =
            |name, rows, columns| Linear { weight: layout.matrix(name, rows, columns), bias: None };
        BiLstm {
            names,
            hidden,
            input: linear(names.input, input, 8 * hidden),
            recurrent: names.recurrent.map(|name| linear(name, hidden, 4 * hidden)),
        }
    }

    /// Lays out the bias.
    pub(crate) fn bias(&mut self, layout: &mut Layout) {
        self.input.bias = Some(layout.vector(self.names.bias, 8 * self.hidden));
    }

    /// What is applied to the input.
    pub(crate) fn input(&self) -> Linear {
        self.input
    }

    /// The matrices applied to the previous hidden states.
    pub(crate) fn recurrent(&self) -> [Tensor; 2] {
        self.recurrent.map(|linear| linear.weight)
    }

    /// Rounds the matrices applied to the previous hidden states, so that [`BiLstm::bf16`] can hold them.
    pub(crate) fn round(&self, parameters: &mut [f32]) {
        for matrix in self.recurrent() {
            matrix.of_mut(parameters).iter_mut().for_each(|weight| *weight = round_to_bf16(*weight));
        }
    }

    /// The matrices applied to the previous hidden states in half the bytes, if they were rounded.
    pub(crate) fn bf16(&self, parameters: &[f32]) -> Option<[Bf16Matrix; 2]> {
        let [forward, backward] =
            self.recurrent().map(|matrix| Bf16Matrix::for_one_row(matrix.rows(), matrix.of(parameters)));
        Some([forward?, backward?])
    }

    /// The distance between the rows of hidden states.
    pub(crate) fn hidden_row(&self) -> usize {
        row_of(2 * self.hidden)
    }

    /// The distance between the rows of gates.
    pub(crate) fn gates_row(&self) -> usize {
        row_of(8 * self.hidden)
    }

    /// What the input gives to the gates: the part of the forward pass that does not depend on the order of words.
    pub(crate) fn project(&self, kernels: Kernels, parameters: &[f32], x: Rows<'_>, gates: &mut Buffer) {
        self.project_by(kernels, parameters, LstmWeights::Floats, x, gates, &mut Int8Rows::default());
    }

    /// The same with weights that may have 8 bits; `int8` is a buffer.
    pub(crate) fn project_by(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        weights: LstmWeights<'_>,
        x: Rows<'_>,
        gates: &mut Buffer,
        int8: &mut Int8Rows,
    ) {
        let y = RowsMut { data: gates.reserve(x.n * self.gates_row()), row: self.gates_row() };
        match weights {
            LstmWeights::Floats | LstmWeights::Bf16(_) => self.input.forward(kernels, parameters, x, y),
            LstmWeights::Int8([input, ..]) => {
                self.input.forward_int8(kernels, parameters, input, x, y, int8);
            }
        }
    }

    /// Runs both directions over the gates, into which [`BiLstm::project`] put the input.
    pub(crate) fn forward(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        weights: LstmWeights<'_>,
        batch: &Batch,
        state: &mut BiLstmState,
    ) {
        let (h, n) = (self.hidden, batch.words());
        state.hidden.reserve(n * self.hidden_row());
        state.last.reserve(batch.len() * 4 * h);
        for direction in 0..2 {
            for buffer in [&mut state.before, &mut state.cell, &mut state.cell_tanh] {
                buffer[direction].reserve(n * h);
            }
            for i in 0..batch.n_steps() {
                let step = if direction == 0 { i } else { batch.n_steps() - 1 - i };
                self.forward_step(kernels, parameters, weights, batch, state, direction, step);
            }
            for utterance in 0..batch.len() {
                let step = if direction == 0 { batch.rows(utterance).len() - 1 } else { 0 };
                let row = batch.step(Some(step)).start + utterance;
                let last = &mut state.last[(utterance * 4 + direction * 2) * h..][..2 * h];
                last[..h].copy_from_slice(&state.cell[direction][row * h..][..h]);
                last[h..].copy_from_slice(&state.hidden[row * self.hidden_row() + direction * h..][..h]);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn forward_step(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        weights: LstmWeights<'_>,
        batch: &Batch,
        state: &mut BiLstmState,
        direction: usize,
        step: usize,
    ) {
        let h = self.hidden;
        let rows = batch.step(Some(step));
        let earlier = earlier_rows(batch, direction, step);
        let before = &mut state.before[direction][rows.start * h..rows.end * h];
        for (r, before) in before.chunks_exact_mut(h).enumerate() {
            if r < earlier.len() {
                let from = (earlier.start + r) * self.hidden_row() + direction * h;
                before.copy_from_slice(&state.hidden[from..from + h]);
            } else {
                before.fill(0.0);
            }
        }
        let gates = &mut state.gates[rows.start * self.gates_row() + direction * 4 * h..];
        match weights {
            LstmWeights::Bf16(bf16) if earlier.len() == 1 => {
                kernels.add_product_bf16(&before[..h], &bf16[direction], &mut gates[..4 * h]);
            }
            LstmWeights::Int8([_, recurrent @ ..]) => {
                let x = Strided { data: before, row: h, column: 1 };
                kernels.quantize_rows(earlier.len(), h, x, &mut state.int8);
                kernels.multiply_int8(Int8Product {
                    a: &state.int8,
                    b: &recurrent[direction],
                    start: Start::Sum,
                    c: gates,
                    c_row: self.gates_row(),
                });
            }
            LstmWeights::Floats | LstmWeights::Bf16(_) => {
                let x = Rows { data: before, n: earlier.len(), row: h };
                let y = RowsMut { data: gates, row: self.gates_row() };
                self.recurrent[direction].multiply(kernels, parameters, x, y, Start::Sum);
            }
        }
        let (cells_before, cell) = two_ranges(&mut state.cell[direction], earlier.start * h, rows.start * h);
        kernels.cell(Cell {
            rows: rows.len(),
            rows_before: earlier.len(),
            hidden: h,
            gates,
            gates_row: self.gates_row(),
            before: cells_before,
            cell,
            cell_tanh: &mut state.cell_tanh[direction][rows.start * h..],
            out: &mut state.hidden[rows.start * self.hidden_row() + direction * h..],
            out_row: self.hidden_row(),
        });
    }

    /// Fills the bias of a layer of this width: zero but for the forget gates', which are one.
    pub(crate) fn fill_bias(&self, bias: Tensor, parameters: &mut Parameters) {
        let mut column = 0;
        parameters.fill(bias, || {
            let forget = column / self.hidden % 4 == 1;
            column += 1;
            f32::from(u8::from(forget))
        });
    }

    /// The gradient of the hidden states, time-major, from that of the output, which may have been dropped by factors.
    pub(crate) fn output_backward(
        &self,
        kernels: Kernels,
        batch: &Batch,
        d_out: &[f32],
        factors: Option<&[f32]>,
        d_hidden: &mut Buffer,
    ) {
        let (width, row) = (2 * self.hidden, row_of(2 * self.hidden));
        let d_hidden = d_hidden.reserve(batch.words() * self.hidden_row());
        for (i, &time_row) in batch.time_rows().iter().enumerate() {
            let to = &mut d_hidden[time_row * self.hidden_row()..][..width];
            let from = &d_out[i * row..][..width];
            match factors {
                Some(factors) => kernels.multiply(from, &factors[i * width..][..width], to),
                None => to.copy_from_slice(from),
            }
        }
    }

    /// Turns the gradients of the hidden and last states into those of the gates and of `x`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn backward(
        &self,
        kernels: Kernels,
        transposed: &[f32],
        batch: &Batch,
        state: &mut BiLstmState,
        d_hidden: &[f32],
        d_last: Rows<'_>,
        dx: RowsMut<'_>,
    ) {
        let (h, n) = (self.hidden, batch.words());
        state.d_hidden.reserve(batch.len() * h);
        state.d_cell.reserve(batch.len() * h);
        for direction in 0..2 {
            for i in 0..batch.n_steps() {
                let step = if direction == 0 { batch.n_steps() - 1 - i } else { i };
                self.backward_step(kernels, transposed, batch, state, d_hidden, d_last, direction, step);
            }
        }
        let d_gates = Rows { data: &state.gates, n, row: self.gates_row() };
        self.input.backward_input(kernels, transposed, d_gates, dx, Start::Zero);
    }

    /// The gradients of the three matrices.
    pub(crate) fn products<'s>(
        &self,
        batch: &Batch,
        x: Rows<'s>,
        state: &'s BiLstmState,
    ) -> [Product<'s>; 3] {
        let (h, n, row) = (self.hidden, batch.words(), self.gates_row());
        let recurrent = |direction: usize| Product {
            weight: self.recurrent[direction].weight,
            x: Rows { data: &state.before[direction], n, row: h },
            dy: Rows { data: &state.gates[direction * 4 * h..], n, row },
        };
        let input = Product { weight: self.input.weight, x, dy: Rows { data: &state.gates, n, row } };
        [input, recurrent(0), recurrent(1)]
    }

    /// The gradient of the input's matrix and bias reads this.
    pub(crate) fn d_gates<'s>(&self, batch: &Batch, state: &'s BiLstmState) -> (Linear, Rows<'s>) {
        (self.input, Rows { data: &state.gates, n: batch.words(), row: self.gates_row() })
    }

    #[allow(clippy::too_many_arguments)]
    fn backward_step(
        &self,
        kernels: Kernels,
        transposed: &[f32],
        batch: &Batch,
        state: &mut BiLstmState,
        d_hidden: &[f32],
        d_last: Rows<'_>,
        direction: usize,
        step: usize,
    ) {
        let h = self.hidden;
        let rows = batch.step(Some(step));
        // Utterances whose recurrence ends at this step start from the gradient of their last state.
        let later = if direction == 0 {
            batch.step(Some(step + 1)).len()
        } else if step == 0 {
            0
        } else {
            rows.len()
        };
        for utterance in later..rows.len() {
            let last = &d_last.data[utterance * d_last.row + direction * 2 * h..][..2 * h];
            state.d_cell[utterance * h..][..h].copy_from_slice(&last[..h]);
            state.d_hidden[utterance * h..][..h].copy_from_slice(&last[h..]);
        }
        for utterance in 0..rows.len() {
            let from = (rows.start + utterance) * self.hidden_row() + direction * h;
            kernels.add(&d_hidden[from..from + h], &mut state.d_hidden[utterance * h..][..h]);
        }
        let earlier = earlier_rows(batch, direction, step);
        let gates_at = rows.start * self.gates_row() + direction * 4 * h;
        kernels.cell_backward(CellGradient {
            rows: rows.len(),
            rows_before: earlier.len(),
            hidden: h,
            gates: &mut state.gates[gates_at..],
            gates_row: self.gates_row(),
            before: &state.cell[direction][earlier.start * h..],
            cell_tanh: &state.cell_tanh[direction][rows.start * h..],
            d_hidden: &state.d_hidden,
            d_cell: &mut state.d_cell,
        });
        let d_gates = Rows { data: &state.gates[gates_at..], n: earlier.len(), row: self.gates_row() };
        let to = RowsMut { data: &mut state.d_hidden, row: h };
        self.recurrent[direction].backward_input(kernels, transposed, d_gates, to, Start::Zero);
    }
}

/// The rows of the step that comes before `step` in this direction, as far as they go on into `step`.
fn earlier_rows(batch: &Batch, direction: usize, step: usize) -> std::ops::Range<usize> {
    if direction == 0 {
        let earlier = batch.step(step.checked_sub(1));
        earlier.start..earlier.end.min(earlier.start + batch.step(Some(step)).len())
    } else {
        batch.step(Some(step + 1))
    }
}

/// What starts at `read`, to be read, and what starts at `write`, to be written, of one slice.
fn two_ranges(floats: &mut [f32], read: usize, write: usize) -> (&[f32], &mut [f32]) {
    if read <= write {
        let (low, high) = floats.split_at_mut(write);
        (&low[read..], high)
    } else {
        let (low, high) = floats.split_at_mut(read);
        (high, &mut low[write..])
    }
}
