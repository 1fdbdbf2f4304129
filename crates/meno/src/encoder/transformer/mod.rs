//! The tagger on a pretrained encoder of the BERT family, version `transformer.v1`.
//!
//! ```text
//! x   = norm(piece + position + type)       of [CLS], the pieces of the words and [SEP], dropout
//! h   the layers of x ([`layer`])
//! boundary and slot of a word from h of its first piece, intent from [h of CLS ; mean h of the pieces]: [`SpanHeads`]
//! ```
//! Pieces of an utterance are adjacent rows; there is no padding.

#[cfg(feature = "train")]
mod backward;
mod forward;
mod layer;
mod sequence;
mod session;
#[cfg(feature = "train")]
mod start;
#[cfg(test)]
mod tests;

use super::heads::{SpanHeads, SpanHeadsState};
use crate::features::MAX_PIECES;
use crate::kernel::{Buffer, LANES};
use crate::nn::crf::N_TAGS;
use crate::nn::{
    Batch, LayerNorm, LayerNormState, Layout, Network, Parameters, Product, Rows, Tensor, row_of,
};
use crate::pretrained::TransformerShape;
use crate::random::Random;
use crate::tensors::check_widths;
use layer::{Layer, LayerScratch, LayerState};

pub(crate) use sequence::Sequence;
pub(crate) use session::{TransformerEncoder, TransformerSession};

/// The sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct TransformerTaggerShape {
    /// Those of the pretrained encoder.
    #[serde(flatten)]
    pub encoder: TransformerShape,
    /// Slots.
    pub slots: usize,
    /// Intents.
    pub intents: usize,
}

/// More positions than these are not kept: no utterance is longer.
const MAX_POSITIONS: usize = 512;

impl TransformerTaggerShape {
    /// The same with no more positions than anybody needs.
    pub(crate) fn shortened(mut self) -> Self {
        self.encoder.positions = self.encoder.positions.min(MAX_POSITIONS);
        self
    }

    /// Refuses what the kernels cannot work on, or what would not read a single word.
    pub(crate) fn check(&self) -> Result<(), String> {
        let TransformerShape { hidden, heads, positions, layers, intermediate, .. } = self.encoder;
        check_widths(&[("hidden", hidden), ("intermediate", intermediate)], MAX_WIDTH)?;
        if heads == 0 || !hidden.is_multiple_of(heads) || !(hidden / heads).is_multiple_of(LANES) {
            return Err(format!("{heads} attention heads of {hidden}: heads are multiples of {LANES} wide"));
        }
        if !(1..=MAX_LAYERS).contains(&layers) {
            return Err(format!("{layers} layers: there are 1 to {MAX_LAYERS}"));
        }
        if !(MAX_PIECES + 2..=MAX_POSITIONS).contains(&positions) {
            return Err(format!("{positions} positions: there are {} to {MAX_POSITIONS}", MAX_PIECES + 2));
        }
        match self.encoder.norm_epsilon > 0.0 && self.encoder.norm_epsilon < 1.0 {
            true => Ok(()),
            false => Err(format!("{} is added to variances", self.encoder.norm_epsilon)),
        }
    }
}

const MAX_WIDTH: usize = 16 * 1024;
const MAX_LAYERS: usize = 64;

/// The network: where its parameters lie, and what it does with them.
#[derive(Clone, Debug)]
pub(crate) struct TransformerTagger {
    shape: TransformerTaggerShape,
    layout: Layout,
    pieces: Tensor,
    positions: Tensor,
    /// Of the first text, which is the only one.
    kind: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
    heads: SpanHeads,
}

/// Everything one thread needs to run the network, kept from one batch to the next.
#[derive(Default)]
pub(crate) struct TransformerWorkspace {
    batch: Batch,
    pieces: Vec<u32>,
    /// Where the words of each utterance begin among all words, and where the last ends.
    word_starts: Vec<usize>,
    /// For each word the row of its first piece.
    firsts: Vec<usize>,
    embedded: LayerNormState,
    layers: Vec<LayerState>,
    scratch: LayerScratch,
    words: Buffer,
    word_factors: Buffer,
    utterances: Buffer,
    utterance_factors: Buffer,
    heads: SpanHeadsState,
    d_words: Buffer,
    d_utterances: Buffer,
    d: Buffer,
    d_vectors: Buffer,
}

impl TransformerTagger {
    /// A network of this shape.
    pub(crate) fn new(shape: TransformerTaggerShape) -> Self {
        let encoder = &shape.encoder;
        let (hidden, mut layout) = (encoder.hidden, Layout::default());
        let matrices: Vec<_> =
            (0..encoder.layers).map(|layer| Layer::matrices(&mut layout, encoder, layer)).collect();
        let outputs = [shape.slots, shape.intents];
        let mut heads = SpanHeads::matrices(&mut layout, hidden, 2 * hidden, outputs);
        let layers = (matrices.into_iter().enumerate())
            .map(|(layer, matrices)| Layer::new(&mut layout, encoder, layer, matrices))
            .collect();
        let norm = LayerNorm::new(&mut layout, "embeddings.norm", hidden, encoder.norm_epsilon);
        let kind = layout.vector("embeddings.type", hidden);
        let positions = layout.dense_table("embeddings.positions", encoder.positions, hidden);
        heads.vectors(&mut layout);
        let pieces = layout.table("embeddings.pieces", encoder.vocabulary, hidden);
        TransformerTagger { shape, pieces, positions, kind, norm, layers, heads, layout }
    }

    /// The sizes.
    pub(crate) fn shape(&self) -> TransformerTaggerShape {
        self.shape
    }

    /// What finds spans, names them and tells the intent.
    pub(crate) fn heads(&self) -> &SpanHeads {
        &self.heads
    }

    /// Fills the padding of the heads, which must never win a softmax.
    pub(crate) fn pad(&self, parameters: &mut [f32]) {
        self.heads.pad(parameters);
    }

    /// Logits of where each word stands: outside of all spans, at the beginning or inside of one.
    pub(crate) fn boundary_logits<'w>(
        &self,
        w: &'w TransformerWorkspace,
    ) -> impl ExactSizeIterator<Item = [f32; N_TAGS]> + use<'w> {
        self.heads.boundary_logits(&w.heads)
    }

    /// Logits of the slot that each word would fill.
    pub(crate) fn slot_logits<'w>(
        &self,
        w: &'w TransformerWorkspace,
    ) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        self.heads.slot_logits(&w.heads)
    }

    /// Logits of the intent of each utterance.
    pub(crate) fn intent_logits<'w>(
        &self,
        w: &'w TransformerWorkspace,
    ) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        self.heads.intent_logits(&w.heads)
    }

    /// The distance between rows of hidden states.
    fn row(&self) -> usize {
        row_of(self.shape.encoder.hidden)
    }

    /// The rows of the layer below a layer.
    fn below<'w>(&self, layer: usize, w: &'w TransformerWorkspace) -> &'w [f32] {
        layer.checked_sub(1).map_or(&w.embedded.y, |below| &w.layers[below].out.y)
    }
}

impl Network for TransformerTagger {
    type Workspace = TransformerWorkspace;

    const IS_LARGE: bool = true;

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn embedding(&self) -> Tensor {
        self.pieces
    }

    fn matrices(&self) -> Vec<Tensor> {
        self.layers.iter().flat_map(Layer::weights).chain(self.heads.weights()).collect()
    }

    fn rectified_matrix(&self) -> Option<Tensor> {
        None
    }

    /// As BERT starts from: normally distributed with a deviation of 0.02, biases 0, norms 1.
    fn initial(&self, random: &mut Random) -> Parameters {
        let mut parameters = Parameters::zeros(&self.layout);
        let gammas: Vec<Tensor> =
            self.layers.iter().flat_map(Layer::gammas).chain([self.norm.gamma()]).collect();
        for (name, tensor) in self.layout.tensors() {
            if gammas.contains(&tensor) {
                parameters.fill(tensor, || 1.0);
            } else if !name.ends_with("bias") && !name.ends_with("transitions") {
                parameters.fill(tensor, || DEVIATION * random.normal());
            }
        }
        self.pad(&mut parameters);
        parameters
    }

    fn products<'w>(&self, w: &'w TransformerWorkspace) -> Vec<Product<'w>> {
        let (n, row) = (w.batch.words(), self.row());
        let mut products = Vec::new();
        for (i, (layer, state)) in self.layers.iter().zip(&w.layers).enumerate() {
            products.extend(layer.products(n, self.below(i, w), state));
        }
        let words = Rows { data: &w.words, n: w.firsts.len(), row };
        let utterances =
            Rows { data: &w.utterances, n: w.batch.len(), row: row_of(2 * self.shape.encoder.hidden) };
        products.extend(self.heads.products(words, utterances, &w.heads));
        products
    }

    fn d_vectors<'w>(&self, w: &'w TransformerWorkspace) -> &'w [f32] {
        &w.d_vectors[..self.layout.dense() - self.layout.matrices()]
    }

    fn d_words<'w>(&self, w: &'w TransformerWorkspace) -> impl Iterator<Item = (u32, &'w [f32])> {
        let (row, width) = (self.row(), self.shape.encoder.hidden);
        w.pieces.iter().zip(w.d.chunks_exact(row)).map(move |(&piece, d)| (piece, &d[..width]))
    }
}

const DEVIATION: f32 = 0.02;
