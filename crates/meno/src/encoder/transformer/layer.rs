//! One layer: the pieces of an utterance attend to each other, then each goes through two matrices by itself.
//!
//! ```text
//! a = norm(x + W_o attention(x W_qkv))        y = norm(a + W_2 gelu(W_1 a))
//! ```

use super::weights::Weights;
use crate::kernel::{
    Buffer, Int8Rows, Kernels, SelfAttention, SelfAttentionGradient, SelfAttentionOut, Start,
};
use crate::nn::{Batch, Dropout, Layout, Linear, Product, Rows, RowsMut, Tensor, row_of};
use crate::nn::{LayerNorm, LayerNormState, NormRows};
use crate::pretrained::TransformerShape;

/// The parameters of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    number: usize,
    heads: usize,
    hidden: usize,
    intermediate: usize,
    /// Queries, keys and values side by side.
    qkv: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    up: Linear,
    down: Linear,
    norm: LayerNorm,
}

/// Activations and gradients of a layer.
#[derive(Default)]
pub(super) struct LayerState {
    qkv: Buffer,
    /// Of the attention: for each utterance those of each head.
    weights: Buffer,
    weight_factors: Buffer,
    context: Buffer,
    attended: LayerNormState,
    /// After the forward pass the slope of the GELU, after the backward pass the gradient of what enters it.
    inner: Buffer,
    activated: Buffer,
    pub out: LayerNormState,
    d_qkv: Buffer,
}

/// What all layers work with in turn.
#[derive(Default)]
pub(super) struct LayerScratch {
    attention: Buffer,
    wide: Buffer,
    d_context: Buffer,
    int8: Int8Rows,
}

/// How a pass is run.
pub(super) struct Pass<'a> {
    pub kernels: Kernels,
    pub parameters: &'a [f32],
    /// What the matrices of the layers are.
    pub weights: Weights<'a>,
    pub dropout: Option<&'a mut Dropout>,
    /// Whether a backward pass follows.
    pub learns: bool,
}

impl Pass<'_> {
    /// Draws so many factors, if anything is dropped.
    pub(super) fn draw(&mut self, n: usize, factors: &mut Buffer) {
        if let Some(dropout) = &mut self.dropout {
            dropout.fill(self.kernels, factors.reserve(n));
        }
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.dropout.is_some()
    }
}

/// The matrices in the order of their layout.
const QKV: usize = 0;
const ATTENDED: usize = 1;
const UP: usize = 2;
const DOWN: usize = 3;

impl Layer {
    /// Lays out the matrices.
    pub(super) fn matrices(layout: &mut Layout, shape: &TransformerShape, layer: usize) -> [Tensor; 4] {
        let TransformerShape { hidden, intermediate, .. } = *shape;
        [
            layout.matrix(format!("layer.{layer}.attention.qkv.weight"), hidden, 3 * hidden),
            layout.matrix(format!("layer.{layer}.attention.output.weight"), hidden, hidden),
            layout.matrix(format!("layer.{layer}.intermediate.weight"), hidden, intermediate),
            layout.matrix(format!("layer.{layer}.output.weight"), intermediate, hidden),
        ]
    }

    /// Lays out the vectors of the layer with these matrices.
    pub(super) fn new(
        layout: &mut Layout,
        shape: &TransformerShape,
        layer: usize,
        [qkv, attended, up, down]: [Tensor; 4],
    ) -> Self {
        let (hidden, epsilon) = (shape.hidden, shape.norm_epsilon);
        let linear = |layout: &mut Layout, weight: Tensor, name: &str| {
            let bias = layout.vector(format!("layer.{layer}.{name}.bias"), weight.columns());
            Linear { weight, bias: Some(bias) }
        };
        let norm = |layout: &mut Layout, name: &str| {
            LayerNorm::new(layout, &format!("layer.{layer}.{name}"), hidden, epsilon)
        };
        Layer {
            number: layer,
            heads: shape.heads,
            hidden,
            intermediate: shape.intermediate,
            qkv: linear(layout, qkv, "attention.qkv"),
            attended: linear(layout, attended, "attention.output"),
            attended_norm: norm(layout, "attention.norm"),
            up: linear(layout, up, "intermediate"),
            down: linear(layout, down, "output"),
            norm: norm(layout, "output.norm"),
        }
    }

    /// The matrices in the order of their layout.
    pub(super) fn weights(&self) -> [Tensor; 4] {
        [self.qkv, self.attended, self.up, self.down].map(|linear| linear.weight)
    }

    /// The vectors that rows are multiplied by.
    pub(super) fn gammas(&self) -> [Tensor; 2] {
        [self.attended_norm.gamma(), self.norm.gamma()]
    }

    /// From the rows of the layer below to those in `state.out.y`.
    pub(super) fn forward(
        &self,
        pass: &mut Pass<'_>,
        batch: &Batch,
        x: &[f32],
        state: &mut LayerState,
        scratch: &mut LayerScratch,
    ) {
        let (n, kernels, parameters) = (batch.words(), pass.kernels, pass.parameters);
        let (row, wide_row) = (row_of(self.hidden), row_of(self.intermediate));
        let rows = NormRows { n, row };
        self.attend(pass, batch, x, state, scratch);

        let context = Rows { data: &state.context, n, row };
        let to = state.attended.sum.reserve(n * row);
        self.apply(pass, ATTENDED, context, RowsMut { data: to, row }, &mut scratch.int8);
        pass.draw(n * self.hidden, &mut state.attended.factors);
        let is_dropped = pass.is_dropped();
        self.attended_norm.forward(kernels, parameters, rows, Some(x), is_dropped, &mut state.attended);

        let attended = Rows { data: &state.attended.y, n, row };
        let inner = state.inner.reserve(n * wide_row);
        let to = RowsMut { data: &mut *inner, row: wide_row };
        self.apply(pass, UP, attended, to, &mut scratch.int8);
        let activated = if pass.learns {
            let activated = state.activated.reserve(n * wide_row);
            kernels.gelu_with_slope(inner, activated);
            activated
        } else {
            kernels.gelu(inner);
            inner
        };
        let activated = Rows { data: activated, n, row: wide_row };
        let to = state.out.sum.reserve(n * row);
        self.apply(pass, DOWN, activated, RowsMut { data: to, row }, &mut scratch.int8);
        pass.draw(n * self.hidden, &mut state.out.factors);
        self.norm.forward(kernels, parameters, rows, Some(&state.attended.y), is_dropped, &mut state.out);
    }

    /// `y = x W + b` with one of the matrices.
    fn apply(&self, pass: &Pass<'_>, which: usize, x: Rows<'_>, y: RowsMut<'_>, rows: &mut Int8Rows) {
        let linear = [self.qkv, self.attended, self.up, self.down][which];
        let Pass { kernels, parameters, .. } = *pass;
        match pass.weights {
            Weights::Floats => linear.forward(kernels, parameters, x, y),
            Weights::Bf16(weights) => {
                linear.forward_bf16(kernels, parameters, weights.matrix(self.number, which), x, y);
            }
            Weights::Int8(weights) => {
                linear.forward_int8(kernels, parameters, &weights.layer::<4>(self.number)[which], x, y, rows);
            }
        }
    }

    fn attend(
        &self,
        pass: &mut Pass<'_>,
        batch: &Batch,
        x: &[f32],
        state: &mut LayerState,
        scratch: &mut LayerScratch,
    ) {
        let (n, row, qkv_row) = (batch.words(), row_of(self.hidden), row_of(3 * self.hidden));
        let qkv = state.qkv.reserve(n * qkv_row);
        let to = RowsMut { data: qkv, row: qkv_row };
        self.apply(pass, QKV, Rows { data: x, n, row }, to, &mut scratch.int8);
        let n_weights = (0..batch.len()).map(|i| self.n_weights(batch.rows(i).len())).sum();
        pass.draw(n_weights, &mut state.weight_factors);
        state.weights.reserve(n_weights);
        state.context.reserve(n * row);
        let mut at = 0;
        for rows in (0..batch.len()).map(|i| batch.rows(i)) {
            let end = at + self.n_weights(rows.len());
            let factors = pass.is_dropped().then(|| &state.weight_factors[at..end]);
            let attention = self.attention(rows.len(), &state.qkv[rows.start * qkv_row..], factors);
            let out = SelfAttentionOut {
                weights: &mut state.weights[at..end],
                out: &mut state.context[rows.start * row..],
                out_row: row,
                scratch: scratch.attention.reserve(self.n_scratch(rows.len())),
            };
            pass.kernels.self_attention(&attention, out);
            at = end;
        }
    }

    fn attention<'a>(&self, rows: usize, qkv: &'a [f32], factors: Option<&'a [f32]>) -> SelfAttention<'a> {
        let width = self.hidden / self.heads;
        SelfAttention { rows, heads: self.heads, width, qkv, qkv_row: row_of(3 * self.hidden), factors }
    }

    fn n_weights(&self, rows: usize) -> usize {
        SelfAttention::n_weights(self.heads, rows)
    }

    fn n_scratch(&self, rows: usize) -> usize {
        SelfAttention::n_scratch(rows, self.hidden / self.heads)
    }

    /// Turns the gradient of the layer's rows into that of the rows below; adds those of the vectors, which follow so many
    /// numbers of matrices, and leaves what those of the matrices are made of in the state.
    pub(super) fn backward(
        &self,
        (kernels, parameters, transposed): (Kernels, &[f32], &[f32]),
        batch: &Batch,
        is_dropped: bool,
        (state, scratch): (&mut LayerState, &mut LayerScratch),
        d: &mut [f32],
        (matrices, d_vectors): (usize, &mut [f32]),
    ) {
        let (n, row, wide_row) = (batch.words(), row_of(self.hidden), row_of(self.intermediate));
        let rows = NormRows { n, row };
        let vectors = (matrices, &mut *d_vectors);
        self.norm.backward(kernels, parameters, rows, true, is_dropped, &mut state.out, d, vectors);
        let d_out = Rows { data: &state.out.d_x, n, row };
        let d_activated = scratch.wide.reserve(n * wide_row);
        let to = RowsMut { data: &mut *d_activated, row: wide_row };
        self.down.backward_input(kernels, transposed, d_out, to, Start::Zero);
        kernels.scale(d_activated, &mut state.inner[..n * wide_row]);
        let d_inner = Rows { data: &state.inner, n, row: wide_row };
        self.up.backward_input(kernels, transposed, d_inner, RowsMut { data: &mut *d, row }, Start::Sum);

        let vectors = (matrices, &mut *d_vectors);
        let norm = &self.attended_norm;
        norm.backward(kernels, parameters, rows, true, is_dropped, &mut state.attended, d, vectors);
        let d_attended = Rows { data: &state.attended.d_x, n, row };
        let d_context = scratch.d_context.reserve(n * row);
        let to = RowsMut { data: &mut *d_context, row };
        self.attended.backward_input(kernels, transposed, d_attended, to, Start::Zero);
        self.attend_backward(kernels, batch, is_dropped, state, scratch);
        let d_qkv = Rows { data: &state.d_qkv, n, row: row_of(3 * self.hidden) };
        self.qkv.backward_input(kernels, transposed, d_qkv, RowsMut { data: d, row }, Start::Sum);

        for (linear, dy) in [self.qkv, self.attended, self.up, self.down].iter().zip(self.d_outputs(n, state))
        {
            linear.backward_bias(kernels, dy, matrices, d_vectors);
        }
    }

    fn attend_backward(
        &self,
        kernels: Kernels,
        batch: &Batch,
        is_dropped: bool,
        state: &mut LayerState,
        scratch: &mut LayerScratch,
    ) {
        let (n, row, qkv_row) = (batch.words(), row_of(self.hidden), row_of(3 * self.hidden));
        state.d_qkv.reserve(n * qkv_row);
        let mut at = 0;
        for rows in (0..batch.len()).map(|i| batch.rows(i)) {
            let end = at + self.n_weights(rows.len());
            let factors = is_dropped.then(|| &state.weight_factors[at..end]);
            let attention = self.attention(rows.len(), &state.qkv[rows.start * qkv_row..], factors);
            let gradient = SelfAttentionGradient {
                weights: &state.weights[at..end],
                d_out: &scratch.d_context[rows.start * row..],
                out_row: row,
                d_qkv: &mut state.d_qkv[rows.start * qkv_row..],
                scratch: scratch.attention.reserve(self.n_scratch(rows.len())),
            };
            kernels.self_attention_backward(&attention, gradient);
            at = end;
        }
    }

    /// The gradients of what the four matrices give.
    fn d_outputs<'s>(&self, n: usize, state: &'s LayerState) -> [Rows<'s>; 4] {
        let row = row_of(self.hidden);
        [
            Rows { data: &state.d_qkv, n, row: row_of(3 * self.hidden) },
            Rows { data: &state.attended.d_x, n, row },
            Rows { data: &state.inner, n, row: row_of(self.intermediate) },
            Rows { data: &state.out.d_x, n, row },
        ]
    }

    /// The two sides of the gradient of each matrix; `x` are the rows of the layer below.
    pub(super) fn products<'s>(&self, n: usize, x: &'s [f32], state: &'s LayerState) -> [Product<'s>; 4] {
        let row = row_of(self.hidden);
        let inputs = [
            Rows { data: x, n, row },
            Rows { data: &state.context, n, row },
            Rows { data: &state.attended.y, n, row },
            Rows { data: &state.activated, n, row: row_of(self.intermediate) },
        ];
        let (weights, outputs) = (self.weights(), self.d_outputs(n, state));
        std::array::from_fn(|i| Product { weight: weights[i], x: inputs[i], dy: outputs[i] })
    }
}
