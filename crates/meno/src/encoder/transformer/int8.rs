//! The weights of a transformer in 8 bits: the matrices of its layers with a scale for each column, the embeddings of pieces with a
//! scale for each piece. Norms, biases, positions and heads, which are small, stay floats.

use super::{Layer, TransformerTagger};
use crate::kernel::{Int8Matrix, Int8Table};
use crate::nn::{Network, Parameters};

/// What is not in floats, by the layout that a network of 8 bits has for it.
#[derive(Clone)]
pub(crate) struct Int8Weights {
    /// Of each layer in the order of their layout.
    layers: Vec<[Int8Matrix; 4]>,
    pieces: Int8Table,
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
        write!(f, "Int8Weights({} layers)", self.layers.len())
    }
}

impl Int8Weights {
    /// Rounds the weights of a network in floats.
    fn round(network: &TransformerTagger, parameters: &[f32]) -> Self {
        let matrices = |layer: &Layer| {
            layer.weights().map(|tensor| Int8Matrix::quantize(tensor.rows(), tensor.of(parameters)))
        };
        let pieces = network.embedding();
        Int8Weights {
            layers: network.layers.iter().map(matrices).collect(),
            pieces: Int8Table::quantize(pieces.width(), pieces.of(parameters)),
        }
    }

    /// Takes the weights of a network of 8 bits from where they are stored, by name, shape and number of scales.
    pub(crate) fn read(
        network: &TransformerTagger,
        mut stored: impl FnMut(&str, [usize; 2], usize) -> Result<(Vec<i8>, Vec<f32>), String>,
    ) -> Result<Self, String> {
        let n_matrices = 4 * network.layers.len();
        let (mut matrices, mut table) = (Vec::new(), None);
        for (i, (name, tensor)) in network.int8.tensors().enumerate() {
            let (rows, columns) = (tensor.rows(), tensor.columns());
            let n_scales = if i < n_matrices { columns } else { rows };
            let (weights, scales) = stored(name, [rows, columns], n_scales)?;
            let unfit = || format!("tensor {name:?} holds a weight of -128");
            match i < n_matrices {
                true => {
                    matrices.push(Int8Matrix::new(rows, columns, &weights, &scales).ok_or_else(unfit)?);
                }
                false => table = Some(Int8Table::new(columns, weights, scales).ok_or_else(unfit)?),
            }
        }
        let (layers, _) = matrices.as_chunks::<4>();
        let pieces = table.ok_or("there are no embeddings of pieces")?;
        Ok(Int8Weights { layers: layers.to_vec(), pieces })
    }

    /// All of them, to be stored.
    pub(crate) fn tensors<'a>(
        &'a self,
        network: &'a TransformerTagger,
    ) -> impl Iterator<Item = Int8Tensor<'a>> {
        let matrices =
            self.layers.iter().flatten().map(|matrix| (matrix.weights().collect(), matrix.scales()));
        let table = std::iter::once((self.pieces.weights().to_vec(), self.pieces.scales()));
        network.int8.tensors().zip(matrices.chain(table)).map(|((name, tensor), (weights, scales))| {
            Int8Tensor { name, shape: [tensor.rows(), tensor.columns()], weights, scales }
        })
    }

    /// A matrix of a layer.
    pub(super) fn matrix(&self, layer: usize, which: usize) -> &Int8Matrix {
        &self.layers[layer][which]
    }

    /// The embeddings of pieces.
    pub(super) fn pieces(&self) -> &Int8Table {
        &self.pieces
    }
}

impl TransformerTagger {
    /// The same network with weights of 8 bits, and what stays floats of its parameters.
    pub(super) fn quantize(&self, parameters: &Parameters) -> (TransformerTagger, Parameters, Int8Weights) {
        let network = TransformerTagger::in_8_bits(self.shape);
        let mut kept = Parameters::zeros(network.layout());
        for (name, tensor) in network.layout.tensors() {
            let from = self.layout.tensors().find(|(own, _)| *own == name);
            let (_, from) = from.expect("both networks name what stays floats alike");
            tensor.of_mut(&mut kept).copy_from_slice(from.of(parameters));
        }
        (network, kept, Int8Weights::round(self, parameters))
    }
}
