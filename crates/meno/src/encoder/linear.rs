//! `y = x W + b`.

use super::kernel::{Gemm, Kernels, LANES, Right, Strided};
use super::parameters::Tensor;

/// Rows of activations, `row` apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub data: &'a [f32],
    pub n: usize,
    pub row: usize,
}

/// The same, to be written.
pub(crate) struct RowsMut<'a> {
    pub data: &'a mut [f32],
    pub row: usize,
}

/// The distance between rows of activations of this width: a cache line more, so that neighbours in a column do
/// not fall into the same set of the cache.
pub(crate) fn row_of(width: usize) -> usize {
    width + LANES
}

/// A matrix and, where there is one, a bias.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear {
    pub weight: Tensor,
    pub bias: Option<Tensor>,
}

impl Linear {
    /// `y = x W + b`
    pub fn forward(&self, kernels: Kernels, parameters: &[f32], x: Rows<'_>, y: RowsMut<'_>) {
        let width = self.weight.width();
        if let Some(bias) = self.bias {
            for r in 0..x.n {
                y.data[r * y.row..][..width].copy_from_slice(bias.of(parameters));
            }
        }
        self.multiply(kernels, parameters, x, y, self.bias.is_some());
    }

    /// `y = x W` or `y += x W`
    pub fn multiply(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        x: Rows<'_>,
        y: RowsMut<'_>,
        accumulate: bool,
    ) {
        rows_times(
            kernels,
            x,
            self.weight.rows(),
            self.weight.of(parameters),
            self.weight.width(),
            y,
            accumulate,
        );
    }

    /// `dx = dy W^T` or `dx += dy W^T`, with `W^T` where `W` lies in the layout
    pub fn backward_input(
        &self,
        kernels: Kernels,
        transposed: &[f32],
        dy: Rows<'_>,
        dx: RowsMut<'_>,
        accumulate: bool,
    ) {
        rows_times(
            kernels,
            dy,
            self.weight.width(),
            self.weight.of(transposed),
            self.weight.rows(),
            dx,
            accumulate,
        );
    }
}

/// `y = x B` or `y += x B`, with B of `k` rows and `n` columns in panels.
fn rows_times(
    kernels: Kernels,
    x: Rows<'_>,
    k: usize,
    b: &[f32],
    n: usize,
    y: RowsMut<'_>,
    accumulate: bool,
) {
    kernels.gemm(Gemm {
        m: x.n,
        n,
        k,
        a: Strided { data: x.data, row: x.row, column: 1 },
        b: Right::Panels(b),
        c: y.data,
        c_row: y.row,
        c_panel: LANES,
        accumulate,
    });
}

/// A matrix with the two sides of its gradient, `x^T dy`.
pub(crate) struct Product<'a> {
    pub weight: Tensor,
    pub x: Rows<'a>,
    pub dy: Rows<'a>,
}

impl Product<'_> {
    /// Adds to (or overwrites) the gradient of some panels, which begin with `first`.
    pub fn run(&self, kernels: Kernels, first: usize, gradient: &mut [f32], accumulate: bool) {
        let panel = LANES * self.weight.rows();
        kernels.gemm(Gemm {
            m: self.weight.rows(),
            n: gradient.len() / panel * LANES,
            k: self.x.n,
            a: Strided { data: self.x.data, row: 1, column: self.x.row },
            b: Right::Rows(&self.dy.data[first * LANES..], self.dy.row),
            c: gradient,
            c_row: LANES,
            c_panel: panel,
            accumulate,
        });
    }
}

/// The end of the last row, `width` wide.
pub(crate) fn rows_end(rows: Rows<'_>, width: usize) -> usize {
    if rows.n == 0 { 0 } else { (rows.n - 1) * rows.row + width }
}
