//! The tagger on a pretrained encoder of the BERT family, version `transformer.v1`.
//!
//! ```text
//! x   = norm(piece + position + type)       of [CLS], the pieces of the words and [SEP], dropout
//! h   the layers of x ([`layer`])
//! boundary and slot, or label, of a word from h of its first piece, intent from [h of CLS ; mean h of the pieces]: [`Heads`]
//! ```
//! Pieces of an utterance are adjacent rows; there is no padding.

#[cfg(feature = "train")]
mod backward;
mod forward;
mod heads;
mod layer;
mod sequence;
mod session;
#[cfg(feature = "train")]
mod start;
#[cfg(test)]
mod tests;
mod weights;

use super::Int8Weights;
use super::heads::SpanHeads;
use super::label_head::LabelHead;
use super::span_head::SpanHeadShape;
use crate::features::MAX_PIECES;
use crate::kernel::{Buffer, LANES};
use crate::nn::{
    Batch, LayerNorm, LayerNormState, Layout, Network, Parameters, Product, Rows, Tensor, row_of,
};
use crate::pretrained::TransformerShape;
use crate::random::Random;
use crate::tensors::{check_widths, is_zero};
use heads::{Heads, HeadsState, LabelHeads};
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
    /// Labels, if it labels words and does not find spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    /// Width of the head that scores whole spans; 0 if there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spans: usize,
    /// The most words of a span that it scores.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub longest: usize,
}

/// What a tagger that labels words has in place of slots.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Labels {
    /// How many labels there are.
    pub n: usize,
    /// Whether there is a calibration matrix.
    pub is_calibrated: bool,
}

/// More positions than these are not kept: no utterance is longer.
const MAX_POSITIONS: usize = 512;

impl TransformerTaggerShape {
    /// The same with no more positions than anybody needs.
    pub(crate) fn shortened(mut self) -> Self {
        self.encoder.positions = self.encoder.positions.min(MAX_POSITIONS);
        self
    }

    /// The head that scores whole spans.
    fn scored_spans(&self) -> SpanHeadShape {
        SpanHeadShape { width: self.spans, longest: self.longest }
    }

    /// Refuses what the kernels cannot work on, or what would not read a single word.
    pub(crate) fn check(&self) -> Result<(), String> {
        let TransformerShape { hidden, heads, positions, layers, intermediate, .. } = self.encoder;
        check_widths(&[("hidden", hidden), ("intermediate", intermediate)], MAX_WIDTH)?;
        self.scored_spans().check()?;
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
    /// Of what has 8 bits, if anything has.
    int8: Layout,
    pieces: Tensor,
    positions: Tensor,
    /// Of the first text, which is the only one.
    kind: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
    heads: Heads,
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
    heads: HeadsState,
    d_words: Buffer,
    d_utterances: Buffer,
    d: Buffer,
    d_vectors: Buffer,
}

impl TransformerTagger {
    /// A network of this shape.
    pub(crate) fn new(shape: TransformerTaggerShape) -> Self {
        TransformerTagger::with(shape, false)
    }

    /// The same with weights of 8 bits, which are not among its parameters.
    pub(crate) fn in_8_bits(shape: TransformerTaggerShape) -> Self {
        TransformerTagger::with(shape, true)
    }

    fn with(shape: TransformerTaggerShape, has_8_bits: bool) -> Self {
        let encoder = &shape.encoder;
        let (hidden, mut layout, mut int8) = (encoder.hidden, Layout::default(), Layout::default());
        let large = if has_8_bits { &mut int8 } else { &mut layout };
        let matrices: Vec<_> =
            (0..encoder.layers).map(|layer| Layer::matrices(large, encoder, layer)).collect();
        let mut heads = Heads::matrices(&mut layout, &shape);
        let layers = (matrices.into_iter().enumerate())
            .map(|(layer, matrices)| Layer::new(&mut layout, encoder, layer, matrices))
            .collect();
        let norm = LayerNorm::new(&mut layout, "embeddings.norm", hidden, encoder.norm_epsilon);
        let kind = layout.vector("embeddings.type", hidden);
        let positions = layout.dense_table("embeddings.positions", encoder.positions, hidden);
        heads.vectors(&mut layout);
        let large = if has_8_bits { &mut int8 } else { &mut layout };
        let pieces = large.table("embeddings.pieces", encoder.vocabulary, hidden);
        TransformerTagger { shape, pieces, positions, kind, norm, layers, heads, layout, int8 }
    }

    /// The same network with weights of 8 bits, and what stays floats of its parameters.
    fn quantize(&self, parameters: &Parameters) -> (TransformerTagger, Parameters, Int8Weights) {
        let network = TransformerTagger::in_8_bits(self.shape);
        let kept = Parameters::kept(&network.layout, &self.layout, parameters);
        let int8 = Int8Weights::round(&network.int8, &self.layout, parameters);
        (network, kept, int8)
    }

    /// Where its weights of 8 bits lie.
    pub(crate) fn int8(&self) -> &Layout {
        &self.int8
    }

    /// The sizes.
    pub(crate) fn shape(&self) -> TransformerTaggerShape {
        self.shape
    }

    /// What finds spans and names them, unless it labels words.
    pub(crate) fn spans(&self) -> Option<&SpanHeads> {
        match &self.heads {
            Heads::Spans(heads) => Some(&**heads),
            Heads::Labels(_) => None,
        }
    }

    /// What labels words, unless it finds spans.
    pub(crate) fn labels(&self) -> Option<&LabelHead> {
        match &self.heads {
            Heads::Spans(_) => None,
            Heads::Labels(LabelHeads { label, .. }) => Some(label),
        }
    }

    /// The calibration matrix, if it labels words and is calibrated.
    pub(crate) fn calibration(&self) -> Option<Tensor> {
        self.heads.calibration()
    }

    /// Fills the padding of the heads, which must never win a softmax.
    pub(crate) fn pad(&self, parameters: &mut [f32]) {
        self.heads.pad(parameters);
    }

    /// Logits of the intent of an utterance of the last forward pass.
    pub(crate) fn intent_logits<'w>(&self, utterance: usize, w: &'w TransformerWorkspace) -> &'w [f32] {
        self.heads.intent_logits(utterance, &w.heads)
    }

    /// Logits of the labels of the words of the last forward pass, of a tagger that labels them.
    pub(crate) fn label_logits<'w>(
        &self,
        w: &'w TransformerWorkspace,
    ) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        let head = self.labels().expect("only of a tagger that labels words");
        head.logits(w.firsts.len(), &w.heads.labels.label)
    }

    /// The hidden states of the words of the last forward pass.
    pub(crate) fn states<'w>(
        &self,
        w: &'w TransformerWorkspace,
    ) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        let (row, hidden) = (self.row(), self.shape.encoder.hidden);
        w.words[..w.firsts.len() * row].chunks_exact(row).map(move |state| &state[..hidden])
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
        self.heads.calibration()
    }

    /// As BERT starts from: normally distributed with a deviation of 0.02, biases 0, norms 1.
    fn initial(&self, random: &mut Random) -> Parameters {
        let mut parameters = Parameters::zeros(&self.layout);
        let gammas: Vec<Tensor> =
            self.layers.iter().flat_map(Layer::gammas).chain([self.norm.gamma()]).collect();
        for (name, tensor) in self.layout.tensors() {
            if gammas.contains(&tensor) {
                parameters.fill(tensor, || 1.0);
            } else if name == LabelHead::CALIBRATION {
                LabelHead::fill_calibration(tensor, &mut parameters);
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
