//! Weights of 8 bits: what an encoder has in the place of its large matrices, with a scale for each column, and of its large tables,
//! with a scale for each row. They have a layout of their own; what is small, biases and heads, stays floats.

use crate::kernel::{Int8Matrix, Int8Table};
use crate::nn::{Layout, Tensor};

/// What is not in floats, in the order of its layout.
#[derive(Clone)]
pub(crate) struct Int8Weights {
    matrices: Vec<Int8Matrix>,
    tables: Vec<Int8Table>,
}

/// A tensor of 8 bits: its name and shape, its weights row by row, and its scales, one for each column or, in a table, each row.
pub(crate) struct Int8Tensor<'a> {
    pub name: &'a str,
    pub shape: [usize; 2],
    pub weights: Vec<i8>,
    pub scales: &'a [f32],
}

impl std::fmt::Debug for Int8Weights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Int8Weights({} matrices)", self.matrices.len())
    }
}

impl Int8Weights {
    /// Rounds what `layout` has of the parameters of a network in floats, whose layout has the same names.
    pub(super) fn round(layout: &Layout, floats: &Layout, parameters: &[f32]) -> Self {
        let (mut matrices, mut tables) = (Vec::new(), Vec::new());
        for (name, tensor) in layout.tensors() {
            let from = floats.named(name).of(parameters);
            match is_matrix(layout, tensor) {
                true => matrices.push(Int8Matrix::quantize(tensor.rows(), from)),
                false => tables.push(Int8Table::quantize(tensor.width(), from)),
            }
        }
        Int8Weights { matrices, tables }
    }

    /// Takes the weights from where they are stored, by name, shape and number of scales.
    pub(crate) fn read(
        layout: &Layout,
        mut stored: impl FnMut(&str, [usize; 2], usize) -> Result<(Vec<i8>, Vec<f32>), String>,
    ) -> Result<Self, String> {
        let (mut matrices, mut tables) = (Vec::new(), Vec::new());
        for (name, tensor) in layout.tensors() {
            let (rows, columns) = (tensor.rows(), tensor.columns());
            let unfit = || format!("tensor {name:?} holds a weight of -128");
            if is_matrix(layout, tensor) {
                let (weights, scales) = stored(name, [rows, columns], columns)?;
                matrices.push(Int8Matrix::new(rows, columns, &weights, &scales).ok_or_else(unfit)?);
            } else {
                let (weights, scales) = stored(name, [rows, columns], rows)?;
                tables.push(Int8Table::new(columns, weights, scales).ok_or_else(unfit)?);
            }
        }
        Ok(Int8Weights { matrices, tables })
    }

    /// All of them, to be stored.
    pub(crate) fn tensors<'a>(&'a self, layout: &'a Layout) -> impl Iterator<Item = Int8Tensor<'a>> {
        let matrices = self.matrices.iter().map(|matrix| (matrix.weights().collect(), matrix.scales()));
        let tables = self.tables.iter().map(|table| (table.weights().to_vec(), table.scales()));
        layout.tensors().zip(matrices.chain(tables)).map(|((name, tensor), (weights, scales))| Int8Tensor {
            name,
            shape: [tensor.rows(), tensor.columns()],
            weights,
            scales,
        })
    }

    /// The matrices of a layer that has so many of them.
    pub(super) fn layer<const N: usize>(&self, layer: usize) -> &[Int8Matrix; N] {
        let (layers, _) = self.matrices.as_chunks();
        &layers[layer]
    }

    /// The only table.
    pub(super) fn table(&self) -> &Int8Table {
        &self.tables[0]
    }
}

fn is_matrix(layout: &Layout, tensor: Tensor) -> bool {
    tensor.offset() < layout.matrices()
}
