//! One flat run of floats holds all parameters; a [`Layout`] says which tensor lies where.
//!
//! Matrices are stored in panels of 16 columns (see `kernel::gemm`), tables row by row, both with columns padded
//! to 16 by zeros. Matrices come first, then vectors, then tables: each kind is updated in its own way.

use std::borrow::Cow;

use crate::kernel::{Buffer, Kernels, LANES, padded};

/// Where a tensor lies and what shape it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    offset: usize,
    rows: usize,
    columns: usize,
    panels: bool,
}

impl Tensor {
    /// Rows: the input dimension of a matrix, 1 for a vector.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// Columns, without padding.
    pub fn columns(self) -> usize {
        self.columns
    }

    /// Columns with padding, the distance between the rows of a table.
    pub(crate) fn width(self) -> usize {
        padded(self.columns)
    }

    /// Where it begins.
    pub(crate) fn offset(self) -> usize {
        self.offset
    }

    pub(crate) fn of(self, floats: &[f32]) -> &[f32] {
        &floats[self.offset..self.offset + self.rows * self.width()]
    }

    pub(crate) fn of_mut(self, floats: &mut [f32]) -> &mut [f32] {
        &mut floats[self.offset..self.offset + self.rows * self.width()]
    }

    /// The row of a table.
    pub(crate) fn row(self, floats: &[f32], row: usize) -> &[f32] {
        &self.of(floats)[row * self.width()..][..self.width()]
    }

    /// The row of a table, to be changed.
    pub(crate) fn row_mut(self, floats: &mut [f32], row: usize) -> &mut [f32] {
        let width = self.width();
        &mut self.of_mut(floats)[row * width..][..width]
    }

    /// The same tensor in floats that begin `start` later.
    pub(crate) fn after(self, start: usize) -> Tensor {
        Tensor { offset: self.offset - start, ..self }
    }

    /// This matrix and the `n - 1` that follow it side by side; they have the same shape.
    pub(crate) fn beside(self, n: usize) -> Tensor {
        assert!(self.columns.is_multiple_of(LANES));
        Tensor { columns: self.columns * n, ..self }
    }

    fn position(self, row: usize, column: usize) -> usize {
        self.offset
            + if self.panels {
                (column / LANES * self.rows + row) * LANES + column % LANES
            } else {
                row * self.width() + column
            }
    }
}

/// What a tensor is called.
type Name = Cow<'static, str>;

/// The tensors of a network by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    tensors: Vec<(Name, Tensor)>,
    len: usize,
    matrices: usize,
    dense: usize,
}

impl Layout {
    /// A matrix applied as `y = x W`; `rows` is a multiple of 16.
    pub(crate) fn matrix(&mut self, name: impl Into<Name>, rows: usize, columns: usize) -> Tensor {
        let name = name.into();
        assert!(rows.is_multiple_of(LANES), "{name}: {rows} rows are not a multiple of {LANES}");
        assert_eq!(self.matrices, self.len, "{name}: matrices come first");
        let tensor = self.push(name, rows, columns, true);
        (self.matrices, self.dense) = (self.len, self.len);
        tensor
    }

    /// A vector.
    pub(crate) fn vector(&mut self, name: impl Into<Name>, columns: usize) -> Tensor {
        let name = name.into();
        assert_eq!(self.dense, self.len, "{name}: tables come last");
        let tensor = self.push(name, 1, columns, true);
        self.dense = self.len;
        tensor
    }

    /// A small table, all of whose rows are updated at every step, as vectors are.
    pub(crate) fn dense_table(&mut self, name: impl Into<Name>, rows: usize, columns: usize) -> Tensor {
        let name = name.into();
        assert_eq!(self.dense, self.len, "{name}: tables come last");
        let tensor = self.push(name, rows, columns, false);
        self.dense = self.len;
        tensor
    }

    /// A table of rows that are looked up one by one.
    pub(crate) fn table(&mut self, name: impl Into<Name>, rows: usize, columns: usize) -> Tensor {
        self.push(name.into(), rows, columns, false)
    }

    fn push(&mut self, name: Name, rows: usize, columns: usize, panels: bool) -> Tensor {
        let tensor = Tensor { offset: self.len, rows, columns, panels };
        self.tensors.push((name, tensor));
        self.len += rows * tensor.width();
        tensor
    }

    /// The tensors in the order in which they were added.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, Tensor)> + '_ {
        self.tensors.iter().map(|(name, tensor)| (&**name, *tensor))
    }

    /// Whether there are no tensors.
    pub(crate) fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The tensor of a name that is there.
    pub(crate) fn named(&self, name: &str) -> Tensor {
        let found = self.tensors().find(|(other, _)| *other == name);
        found.map(|(_, tensor)| tensor).expect("both layouts name their tensors alike")
    }

    /// Where matrices end and vectors begin.
    pub(crate) fn matrices(&self) -> usize {
        self.matrices
    }

    /// Where vectors end and tables begin.
    pub(crate) fn dense(&self) -> usize {
        self.dense
    }

    /// All floats, padding included.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// The parameters of a network, laid out as its [`Layout`] says.
#[derive(Clone)]
pub struct Parameters(Buffer);

impl std::fmt::Debug for Parameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Parameters({} floats)", self.0.len())
    }
}

impl Parameters {
    /// All zero.
    pub fn zeros(layout: &Layout) -> Self {
        Parameters(Buffer::zeros(layout.len()))
    }

    /// The first `n` floats of a layout, all zero.
    pub(crate) fn first(n: usize) -> Self {
        Parameters(Buffer::zeros(n))
    }

    /// What `layout` has of the parameters of a layout with the same names.
    pub(crate) fn kept(layout: &Layout, from: &Layout, parameters: &Parameters) -> Self {
        let mut kept = Parameters::zeros(layout);
        for (name, tensor) in layout.tensors() {
            tensor.of_mut(&mut kept).copy_from_slice(from.named(name).of(parameters));
        }
        kept
    }

    /// Fills a tensor row by row, without padding.
    pub fn fill(&mut self, tensor: Tensor, mut value: impl FnMut() -> f32) {
        for row in 0..tensor.rows {
            for column in 0..tensor.columns {
                self.0[tensor.position(row, column)] = value();
            }
        }
    }

    /// Sets a tensor to values row by row, without padding.
    pub(crate) fn set(&mut self, tensor: Tensor, values: &[f32]) {
        for (row, values) in values.chunks_exact(tensor.columns.max(1)).enumerate() {
            for (panel, values) in values.chunks(LANES).enumerate() {
                let at = tensor.position(row, panel * LANES);
                self.0[at..at + values.len()].copy_from_slice(values);
            }
        }
    }

    /// A tensor's values row by row, without padding.
    pub fn values(&self, tensor: Tensor) -> Vec<f32> {
        values(&self.0, tensor)
    }
}

/// A tensor's values, row by row, without padding, out of floats in its layout (parameters or gradients).
pub(crate) fn values(floats: &[f32], tensor: Tensor) -> Vec<f32> {
    let mut out = Vec::with_capacity(tensor.rows * tensor.columns);
    for row in 0..tensor.rows {
        out.extend((0..tensor.columns).map(|column| floats[tensor.position(row, column)]));
    }
    out
}

/// Puts `W^T` of each of these matrices where `W` lies.
pub(crate) fn transpose(kernels: Kernels, matrices: &[Tensor], parameters: &[f32], transposed: &mut [f32]) {
    for &matrix in matrices {
        let to = matrix.of_mut(transposed);
        kernels.transpose_panels(matrix.rows, matrix.width(), 0, matrix.of(parameters), to);
    }
}

impl std::ops::Deref for Parameters {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl std::ops::DerefMut for Parameters {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}
