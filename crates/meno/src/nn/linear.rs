//! `y = x W + b`.

use super::parameters::Tensor;
use crate::kernel::{
    Bf16Matrix, Bf16Product, Gemm, Int8Matrix, Int8Product, Int8Rows, Kernels, LANES, Right, Start, Strided,
    Term,
};

/// Rows of activations, `row` apart.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
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
    pub(crate) fn forward(&self, kernels: Kernels, parameters: &[f32], x: Rows<'_>, y: RowsMut<'_>) {
        let start = self.bias.map_or(Start::Zero, |bias| Start::Row(bias.of(parameters)));
        self.multiply(kernels, parameters, x, y, start);
    }

    /// The same with `W` of 8 bits; `rows` is a buffer.
    pub(crate) fn forward_int8(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        weight: &Int8Matrix,
        x: Rows<'_>,
        y: RowsMut<'_>,
        rows: &mut Int8Rows,
    ) {
        let start = self.bias.map_or(Start::Zero, |bias| Start::Row(bias.of(parameters)));
        kernels.quantize_rows(x.n, weight.rows(), Strided { data: x.data, row: x.row, column: 1 }, rows);
        kernels.multiply_int8(Int8Product { a: rows, b: weight, start, c: y.data, c_row: y.row });
    }

    /// The same with `W` of 16 bits.
    pub(crate) fn forward_bf16(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        weight: &Bf16Matrix,
        x: Rows<'_>,
        y: RowsMut<'_>,
    ) {
        let start = self.bias.map_or(Start::Zero, |bias| Start::Row(bias.of(parameters)));
        let a = Strided { data: x.data, row: x.row, column: 1 };
        kernels.multiply_bf16(Bf16Product { m: x.n, a, b: weight, start, c: y.data, c_row: y.row });
    }

    /// `y = x W`, added to `start`
    pub(crate) fn multiply(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        x: Rows<'_>,
        y: RowsMut<'_>,
        start: Start<'_>,
    ) {
        let k = self.weight.rows();
        rows_times(kernels, x, k, self.weight.of(parameters), self.weight.width(), y, start);
    }

    /// `dx = dy W^T`, added to `start`, with `W^T` where `W` lies in the layout
    pub(crate) fn backward_input(
        &self,
        kernels: Kernels,
        transposed: &[f32],
        dy: Rows<'_>,
        dx: RowsMut<'_>,
        start: Start<'_>,
    ) {
        let k = self.weight.width();
        rows_times(kernels, dy, k, self.weight.of(transposed), self.weight.rows(), dx, start);
    }

    /// Writes the gradient of the bias, the sum of the rows of `dy`, where it lies among vectors that follow so many numbers of
    /// matrices.
    pub(crate) fn backward_bias(
        &self,
        kernels: Kernels,
        dy: Rows<'_>,
        matrices: usize,
        d_vectors: &mut [f32],
    ) {
        let bias = self.bias.expect("only of a layer that has one");
        let to = bias.after(matrices).of_mut(d_vectors);
        kernels.sum_rows(&dy.data[..rows_end(dy, to.len())], dy.row, to);
    }
}

/// Multiplies the first `width` numbers of each row by their factors of dropout.
pub(crate) fn scale_rows(kernels: Kernels, factors: &[f32], width: usize, rows: RowsMut<'_>) {
    for (row, factors) in rows.data.chunks_exact_mut(rows.row).zip(factors.chunks_exact(width)) {
        kernels.scale(factors, &mut row[..width]);
    }
}

/// `y = x B`, added to `start`, with B of `k` rows and `n` columns in panels.
fn rows_times(
    kernels: Kernels,
    x: Rows<'_>,
    k: usize,
    b: &[f32],
    n: usize,
    y: RowsMut<'_>,
    start: Start<'_>,
) {
    let a = Strided { data: x.data, row: x.row, column: 1 };
    let terms = &[Term { k, a, b: Right::Panels(b) }];
    kernels.gemm(Gemm { m: x.n, n, terms, start, c: y.data, c_row: y.row, c_panel: LANES });
}

/// A matrix with the two sides of its gradient, `x^T dy`.
#[derive(Clone, Copy)]
pub struct Product<'a> {
    pub weight: Tensor,
    pub x: Rows<'a>,
    pub dy: Rows<'a>,
}

impl<'a> Product<'a> {
    /// The gradient of some panels of a matrix, which begin with `first`, summed over products of it.
    pub fn sum(kernels: Kernels, products: &[Product<'a>], first: usize, gradient: &mut [f32]) {
        let term = |product: &Product<'a>| Term {
            k: product.x.n,
            a: Strided { data: product.x.data, row: 1, column: product.x.row },
            b: Right::Rows(&product.dy.data[first * LANES..], product.dy.row),
        };
        let rows = products[0].weight.rows();
        let panel = LANES * rows;
        kernels.gemm(Gemm {
            m: rows,
            n: gradient.len() / panel * LANES,
            terms: &products.iter().map(term).collect::<Vec<_>>(),
            start: Start::Zero,
            c: gradient,
            c_row: LANES,
            c_panel: panel,
        });
    }
}

/// The end of the last row, `width` wide.
pub(crate) fn rows_end(rows: Rows<'_>, width: usize) -> usize {
    if rows.n == 0 { 0 } else { (rows.n - 1) * rows.row + width }
}
