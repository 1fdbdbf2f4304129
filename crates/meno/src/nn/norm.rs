//! Layer normalisation: each row to mean 0 and deviation 1, then `gamma` times it plus `beta`.

use super::parameters::{Layout, Tensor};
use crate::kernel::{Buffer, Kernels, Norm, NormGradient};

/// The two vectors of a layer normalisation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayerNorm {
    gamma: Tensor,
    beta: Tensor,
    epsilon: f32,
}

/// What the backward pass needs again, with what comes of it.
#[derive(Default)]
pub(crate) struct LayerNormState {
    /// Before the forward pass what is added to the residual, after it the sum.
    pub sum: Buffer,
    /// The normalised rows.
    pub y: Buffer,
    moments: Buffer,
    /// The factors of dropout of what is added, `width` apart; only if there is any.
    pub factors: Buffer,
    /// The gradient of what is added.
    pub d_x: Buffer,
}

/// The rows that are normalised.
#[derive(Clone, Copy)]
pub(crate) struct NormRows {
    /// How many.
    pub n: usize,
    /// From one to the next.
    pub row: usize,
}

impl LayerNorm {
    /// Lays out the vectors `name.weight` and `name.bias`.
    pub(crate) fn new(layout: &mut Layout, name: &str, width: usize, epsilon: f32) -> Self {
        let gamma = layout.vector(format!("{name}.weight"), width);
        LayerNorm { gamma, beta: layout.vector(format!("{name}.bias"), width), epsilon }
    }

    /// The vector that rows are multiplied by.
    pub(crate) fn gamma(&self) -> Tensor {
        self.gamma
    }

    /// `y = norm(residual + factors sum)`
    pub(crate) fn forward(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        rows: NormRows,
        residual: Option<&[f32]>,
        is_dropped: bool,
        state: &mut LayerNormState,
    ) {
        kernels.norm(Norm {
            rows: rows.n,
            width: self.gamma.columns(),
            row: rows.row,
            x: &mut state.sum,
            residual,
            factors: is_dropped.then_some(&state.factors),
            gamma: self.gamma.of(parameters),
            beta: self.beta.of(parameters),
            epsilon: self.epsilon,
            moments: state.moments.reserve(2 * rows.n),
            y: state.y.reserve(rows.n * rows.row),
        });
    }

    /// Turns the gradient of `y` into that of the sum and, unless there is no residual, leaves that of what was added in the
    /// state. Adds the gradients of the vectors, which follow so many numbers of matrices.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn backward(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        rows: NormRows,
        has_residual: bool,
        is_dropped: bool,
        state: &mut LayerNormState,
        d: &mut [f32],
        (matrices, d_vectors): (usize, &mut [f32]),
    ) {
        let (gamma, beta) = (self.gamma.after(matrices), self.beta.after(matrices));
        let (start, width) = (gamma.offset(), self.gamma.width());
        // They lie beside each other.
        let (d_gamma, d_beta) = d_vectors[start..beta.offset() + width].split_at_mut(width);
        kernels.norm_backward(NormGradient {
            rows: rows.n,
            width: self.gamma.columns(),
            row: rows.row,
            sum: &state.sum,
            moments: &state.moments,
            factors: is_dropped.then_some(&state.factors),
            gamma: self.gamma.of(parameters),
            d,
            d_x: has_residual.then(|| state.d_x.reserve(rows.n * rows.row)),
            d_gamma,
            d_beta,
        });
    }
}
