//! What the matrices of the layers are multiplied as.

use super::{Layer, TransformerTagger};
use crate::encoder::Int8Weights;
use crate::kernel::Bf16Matrix;

/// Where the matrices of the layers are.
#[derive(Clone, Copy)]
pub(crate) enum Weights<'a> {
    /// Among the parameters.
    Floats,
    /// Among the parameters too, but faster to read from here.
    Bf16(&'a Bf16Weights),
    /// Here alone, like the embeddings of pieces.
    Int8(&'a Int8Weights),
}

/// The matrices of the layers in 16 bits, which give the same bits as the same weights in 32.
pub(crate) struct Bf16Weights {
    /// Of each layer in the order of their layout.
    layers: Vec<[Bf16Matrix; 4]>,
}

impl std::fmt::Debug for Bf16Weights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bf16Weights({} layers)", self.layers.len())
    }
}

impl Bf16Weights {
    /// Takes the weights of a network in floats, if all of them fit.
    pub(super) fn of(network: &TransformerTagger, parameters: &[f32]) -> Option<Self> {
        let matrices = |layer: &Layer| {
            let matrix =
                layer.weights().map(|tensor| Bf16Matrix::for_rows(tensor.rows(), tensor.of(parameters)));
            let [a, b, c, d] = matrix;
            Some([a?, b?, c?, d?])
        };
        Some(Bf16Weights { layers: network.layers.iter().map(matrices).collect::<Option<_>>()? })
    }

    /// A matrix of a layer.
    pub(super) fn matrix(&self, layer: usize, which: usize) -> &Bf16Matrix {
        &self.layers[layer][which]
    }
}
