//! The slot-gated joint tagger with full attention (Goo et al. 2018), version `slot_gated.v1`.
//!
//! ```text
//! h       BiLSTM of the embedded words, dropout before and after
//! c_i     = sum_j a_ij h_j,  a_i = softmax_j v . tanh(A h_j + B h_i + b)          slot attention
//! d       the same with the last states as the query                              intent attention
//! g_i     = sum v_g tanh(c_i + W_g [d ; last] + b_g)                              gate
//! slots   = W_s [g_i c_i ; h_i] + b_s          intent = W_i [d ; last] + b_i
//! ```
//! `last` is `[forward c, forward h, backward c, backward h]` after the last word of each direction, without dropout.

#[cfg(feature = "train")]
mod backward;
mod forward;
mod session;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::label_head::{Calibration, EntropyLoss, LabelHead, LabelState, PreparedHead};
use crate::features::UNKNOWN_WORD;
use crate::kernel::{Attention, Buffer, Kernels, padded};
use crate::nn::{
    Batch, BiLstm, BiLstmState, Layout, Linear, LossWeights, LstmNames, Network, PADDING, Parameters,
};
use crate::nn::{Product, Rows, Tensor, cross_entropy, row_of};
use crate::random::Random;
pub(crate) use session::{SlotGatedEncoder, SlotGatedSession};

/// The sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SlotGatedShape {
    /// Words of the vocabulary, the one for unknown words included.
    pub words: usize,
    /// Slot labels.
    pub labels: usize,
    /// Intents.
    pub intents: usize,
    /// Width of an embedding; a multiple of 16.
    pub embedding: usize,
    /// Width of the hidden state of one direction; a multiple of 16.
    pub hidden: usize,
    /// Whether it has a calibration matrix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub calibrated: bool,
}

/// The network: where its parameters lie, and what it does with them.
#[derive(Clone, Debug)]
pub struct SlotGated {
    shape: SlotGatedShape,
    layout: Layout,
    embedding: Tensor,
    lstm: BiLstm,
    /// Slot keys, slot queries and intent keys side by side.
    project: Linear,
    query_bias: Tensor,
    slot_vector: Tensor,
    intent_query: Linear,
    intent_vector: Tensor,
    gate: Linear,
    gate_vector: Tensor,
    slot: LabelHead,
    intent: Linear,
}

/// Work done once for a network whose parameters do not change any more.
#[derive(Clone, Default)]
pub struct Prepared {
    /// What the most frequent words give to the gates.
    gates: Buffer,
    head: PreparedHead,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prepared")
    }
}

/// Everything one thread needs to run the network, kept from one batch to the next.
#[derive(Default)]
pub struct Workspace {
    batch: Batch,
    words: Vec<u32>,
    x: Buffer,
    x_factors: Buffer,
    lstm: BiLstmState,
    out: Buffer,
    out_factors: Buffer,
    project_bias: Buffer,
    /// Keys and queries of the attentions, as exponentials.
    projected: Buffer,
    intent_query: Buffer,
    weights_at: Vec<usize>,
    weights: Buffer,
    context: Buffer,
    intent_weights: Buffer,
    intent_input: Buffer,
    gate_query: Buffer,
    gate_tanh: Buffer,
    gates: Vec<f32>,
    slot_input: Buffer,
    slot: LabelState,
    intent_logits: Buffer,
    d_slot_input: Buffer,
    d_context: Buffer,
    d_out: Buffer,
    d_hidden: Buffer,
    d_gate_query: Buffer,
    d_intent_input: Buffer,
    d_weights: Buffer,
    d_projected: Buffer,
    d_query: Buffer,
    d_intent_query: Buffer,
    d_vectors: Buffer,
    d_x: Buffer,
}

impl SlotGated {
    /// A network of this shape.
    pub fn new(shape: SlotGatedShape) -> Self {
        let SlotGatedShape { words, labels, intents, embedding, hidden, calibrated } = shape;
        let (width, last) = (2 * hidden, 4 * hidden);
        let mut layout = Layout::default();
        let mut lstm = BiLstm::new(&mut layout, LstmNames::FIRST, embedding, hidden);
        let key = layout.matrix("slot_attention.key", width, width);
        layout.matrix("slot_attention.query", width, width);
        layout.matrix("intent_attention.key", width, width);
        let mut matrix =
            |name, rows, columns| Linear { weight: layout.matrix(name, rows, columns), bias: None };
        let mut intent_query = matrix("intent_attention.query", last, width);
        let mut gate = matrix("gate.weight", width + last, width);
        let mut linear = matrix("slot.weight", 2 * width, labels);
        let mut intent = matrix("intent.weight", width + last, intents);
        let calibration = calibrated.then(|| matrix(LabelHead::CALIBRATION, padded(labels), labels).weight);
        lstm.bias(&mut layout);
        intent_query.bias = Some(layout.vector("intent_attention.query_bias", width));
        gate.bias = Some(layout.vector("gate.bias", width));
        linear.bias = Some(layout.vector("slot.bias", labels));
        intent.bias = Some(layout.vector("intent.bias", intents));
        SlotGated {
            shape,
            lstm,
            project: Linear { weight: key.beside(3), bias: None },
            query_bias: layout.vector("slot_attention.query_bias", width),
            slot_vector: layout.vector("slot_attention.vector", width),
            intent_query,
            intent_vector: layout.vector("intent_attention.vector", width),
            gate,
            gate_vector: layout.vector("gate.vector", width),
            slot: LabelHead { linear, calibration },
            intent,
            embedding: layout.table("embedding", words, embedding),
            layout,
        }
    }

    /// The sizes.
    pub fn shape(&self) -> SlotGatedShape {
        self.shape
    }

    /// The calibration matrix; what is not positive in it has no effect and no gradient.
    pub(crate) fn calibration(&self) -> Option<Tensor> {
        self.slot.calibration
    }

    /// Fills the padding of the heads, which must never win a softmax.
    pub(crate) fn pad(&self, parameters: &mut [f32]) {
        for bias in [self.slot.linear.bias, self.intent.bias].into_iter().flatten() {
            bias.of_mut(parameters)[bias.columns()..].fill(PADDING);
        }
    }

    /// The slot logits of the last forward pass, a row for each word, utterance after utterance.
    pub fn slot_logits<'w>(&self, w: &'w Workspace) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        self.slot.logits(w.batch.words(), &w.slot)
    }

    /// The log concentrations of the words of the last [`SlotGated::infer`], calibrated if this network has a matrix.
    pub fn concentrations<'w>(
        &self,
        kernels: Kernels,
        prepared: &Prepared,
        w: &'w mut Workspace,
    ) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        self.slot.concentrations(kernels, &prepared.head, w.batch.words(), &mut w.slot)
    }

    /// The entropies of the Dirichlet distributions with the concentrations of [`SlotGated::concentrations`].
    pub fn entropies<'w>(&self, kernels: Kernels, prepared: &Prepared, w: &'w mut Workspace) -> &'w [f32] {
        self.slot.entropies(kernels, &prepared.head, w.batch.words(), &mut w.slot)
    }

    /// The intent logits of the last forward pass, a row for each utterance.
    pub fn intent_logits<'w>(&self, w: &'w Workspace) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        let (width, intents) = (self.intent.weight.width(), self.shape.intents);
        w.intent_logits[..w.batch.len() * width].chunks_exact(width).map(move |row| &row[..intents])
    }

    /// The hidden states of the last forward pass, a row for each word, utterance after utterance.
    pub fn states<'w>(&self, w: &'w Workspace) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        let (row, width) = (row_of(self.width()), self.width());
        w.out[..w.batch.words() * row].chunks_exact(row).map(move |row| &row[..width])
    }

    /// The loss of the last forward pass, and in place of the logits its gradient.
    ///
    /// The cross entropy of the slots, and with the entropy regularizer minus their entropy, is averaged over the words of an
    /// utterance. Beside the entropy regularizer, words outside the vocabulary have no cross entropy.
    pub fn loss<'a>(
        &self,
        kernels: Kernels,
        answers: impl Iterator<Item = (&'a [u32], u32)>,
        weights: LossWeights,
        second: Option<EntropyLoss<'_>>,
        w: &mut Workspace,
    ) -> f64 {
        let intents = self.intent.weight.width();
        let intent_logits = &mut w.intent_logits[..w.batch.len() * intents];
        self.slot.begin_loss(kernels, second, w.batch.words(), &mut w.slot);
        kernels.softmax(intents, intent_logits);
        let (words, time_rows) = (&w.words, w.batch.time_rows());
        let counts = |i: usize| second.is_none() || words[time_rows[i]] != UNKNOWN_WORD;
        let mut loss = 0.0;
        for (utterance, (gold_labels, gold_intent)) in answers.enumerate() {
            let rows = w.batch.rows(utterance);
            let each = weights.slots / rows.len() as f32;
            loss += self.slot.cross_entropy(rows, gold_labels, each, counts, &mut w.slot);
            let row = &mut intent_logits[utterance * intents..][..intents];
            loss += f64::from(weights.intent) * cross_entropy(row, gold_intent, weights.intent);
        }
        let entropy = second.map_or(0.0, |second| {
            let weight = weights.slots * second.lambda;
            let utterances = (0..w.batch.len()).map(|utterance| w.batch.rows(utterance));
            utterances.map(|words| self.slot.entropy_loss(kernels, words, weight, &mut w.slot)).sum()
        });
        loss + entropy
    }

    /// The width of a hidden state of both directions.
    fn width(&self) -> usize {
        2 * self.shape.hidden
    }

    /// The slot and the intent attention of the utterance in `rows`.
    fn attentions<'a>(
        &self,
        parameters: &'a [f32],
        rows: Range<usize>,
        exponentials: &'a [f32],
        intent_query: &'a [f32],
    ) -> (Attention<'a>, Attention<'a>) {
        let (width, projected_row) = (self.width(), row_of(3 * self.width()));
        let words = rows.len();
        let exponentials = &exponentials[rows.start * projected_row..rows.end * projected_row];
        let slots = Attention {
            queries: words,
            words,
            width,
            keys: exponentials,
            key_row: projected_row,
            query: &exponentials[width..],
            query_row: projected_row,
            vector: self.slot_vector.of(parameters),
            weights_row: padded(words),
        };
        let intents = Attention {
            queries: 1,
            keys: &exponentials[2 * width..],
            query: &intent_query[..width],
            query_row: width,
            vector: self.intent_vector.of(parameters),
            ..slots
        };
        (slots, intents)
    }
}

impl Network for SlotGated {
    type Workspace = Workspace;

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn embedding(&self) -> Tensor {
        self.embedding
    }

    fn matrices(&self) -> Vec<Tensor> {
        let [forward, backward] = self.lstm.recurrent();
        let mut matrices = vec![
            self.lstm.input().weight,
            forward,
            backward,
            self.project.weight,
            self.intent_query.weight,
            self.gate.weight,
            self.slot.linear.weight,
            self.intent.weight,
        ];
        matrices.extend(self.slot.calibration);
        matrices
    }

    fn rectified_matrix(&self) -> Option<Tensor> {
        self.slot.calibration
    }

    /// Random parameters as the original implementation starts from: uniform within the square root of 6 over the
    /// sum of both dimensions, biases zero but for the forget gates', which are one.
    fn initial(&self, random: &mut Random) -> Parameters {
        let mut parameters = Parameters::zeros(&self.layout);
        for (name, tensor) in self.layout.tensors() {
            let (rows, columns) = (tensor.rows(), tensor.columns());
            let limit = match name {
                "lstm.bias" => {
                    self.lstm.fill_bias(tensor, &mut parameters);
                    continue;
                }
                LabelHead::CALIBRATION => {
                    LabelHead::fill_calibration(tensor, &mut parameters);
                    continue;
                }
                name if name.ends_with("bias") => continue,
                // Both directions and all gates of one direction are one matrix each there.
                "lstm.input" | "lstm.recurrent_forward" | "lstm.recurrent_backward" => {
                    (6.0 / (self.shape.embedding + 5 * self.shape.hidden) as f32).sqrt()
                }
                name if name.ends_with("vector") => (3.0 / columns as f32).sqrt(),
                _ => (6.0 / (rows + columns) as f32).sqrt(),
            };
            parameters.fill(tensor, || (2.0 * random.uniform() - 1.0) * limit);
        }
        self.pad(&mut parameters);
        parameters
    }

    fn products<'w>(&self, w: &'w Workspace) -> Vec<Product<'w>> {
        let (n, b, width) = (w.batch.words(), w.batch.len(), self.width());
        let x = Rows { data: &w.x, n, row: row_of(self.shape.embedding) };
        let [input, forward, backward] = self.lstm.products(&w.batch, x, &w.lstm);
        let last = 4 * self.shape.hidden;
        let intent_input = Rows { data: &w.intent_input, n: b, row: row_of(width + last) };
        let slot_input = Rows { data: &w.slot_input, n, row: row_of(2 * width) };
        let (slot, calibration) = self.slot.products(slot_input, &w.slot);
        let mut products = vec![
            input,
            forward,
            backward,
            Product {
                weight: self.project.weight,
                x: Rows { data: &w.out, n, row: row_of(width) },
                dy: Rows { data: &w.d_projected, n, row: row_of(3 * width) },
            },
            Product {
                weight: self.intent_query.weight,
                x: Rows { data: &w.lstm.last, n: b, row: last },
                dy: Rows { data: &w.d_intent_query, n: b, row: width },
            },
            Product {
                weight: self.gate.weight,
                x: intent_input,
                dy: Rows { data: &w.d_gate_query, n: b, row: width },
            },
            slot,
            Product {
                weight: self.intent.weight,
                x: intent_input,
                dy: Rows { data: &w.intent_logits, n: b, row: self.intent.weight.width() },
            },
        ];
        products.extend(calibration);
        products
    }

    fn d_vectors<'w>(&self, w: &'w Workspace) -> &'w [f32] {
        &w.d_vectors[..self.layout.dense() - self.layout.matrices()]
    }

    fn d_words<'w>(&self, w: &'w Workspace) -> impl Iterator<Item = (u32, &'w [f32])> {
        let (row, width) = (row_of(self.shape.embedding), self.shape.embedding);
        w.words.iter().zip(w.d_x.chunks_exact(row)).map(move |(&word, d)| (word, &d[..width]))
    }
}
