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

use super::batch::Batch;
use super::bilstm::{BiLstm, BiLstmState};
use super::dropout::Dropout;
use super::kernel::{
    Attention, AttentionGradient, Buffer, Dots, GateGradient, Gemm, Kernels, LANES, Right, Strided, padded,
};
use super::linear::{Linear, Product, Rows, RowsMut, row_of, rows_end};
use super::parameters::{Layout, Parameters, Tensor};
use crate::random::Random;
use std::ops::Range;

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
    slot: Linear,
    intent: Linear,
}

/// How much an utterance counts in the loss.
#[derive(Clone, Copy, Debug)]
pub struct LossWeights {
    /// The mean cross entropy of its slot labels.
    pub slots: f32,
    /// The cross entropy of its intent.
    pub intent: f32,
}

/// Work done once for the most frequent words of a network whose parameters do not change any more.
#[derive(Clone, Default)]
pub struct Prepared {
    gates: Buffer,
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
    slot_logits: Buffer,
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
        let SlotGatedShape { words, labels, intents, embedding, hidden } = shape;
        let (width, last) = (2 * hidden, 4 * hidden);
        let mut layout = Layout::default();
        let mut lstm = BiLstm::new(&mut layout, embedding, hidden);
        let key = layout.matrix("slot_attention.key", width, width);
        layout.matrix("slot_attention.query", width, width);
        layout.matrix("intent_attention.key", width, width);
        let mut matrix =
            |name, rows, columns| Linear { weight: layout.matrix(name, rows, columns), bias: None };
        let mut intent_query = matrix("intent_attention.query", last, width);
        let mut gate = matrix("gate.weight", width + last, width);
        let mut slot = matrix("slot.weight", 2 * width, labels);
        let mut intent = matrix("intent.weight", width + last, intents);
        lstm.bias(&mut layout);
        intent_query.bias = Some(layout.vector("intent_attention.query_bias", width));
        gate.bias = Some(layout.vector("gate.bias", width));
        slot.bias = Some(layout.vector("slot.bias", labels));
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
            slot,
            intent,
            embedding: layout.table("embedding", words, embedding),
            layout,
        }
    }

    /// The sizes.
    pub fn shape(&self) -> SlotGatedShape {
        self.shape
    }

    /// Where the parameters lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The table of word embeddings.
    pub(crate) fn embedding(&self) -> Tensor {
        self.embedding
    }

    /// The matrices in the order of their layout, those that are multiplied at once as one.
    pub(crate) fn matrices(&self) -> [Tensor; 8] {
        let [forward, backward] = self.lstm.recurrent();
        [
            self.lstm.input().weight,
            forward,
            backward,
            self.project.weight,
            self.intent_query.weight,
            self.gate.weight,
            self.slot.weight,
            self.intent.weight,
        ]
    }

    /// Random parameters as the original implementation starts from: uniform within the square root of 6 over the
    /// sum of both dimensions, biases zero but for the forget gates', which are one.
    pub fn initial(&self, random: &mut Random) -> Parameters {
        let mut parameters = Parameters::zeros(&self.layout);
        for (name, tensor) in self.layout.tensors() {
            let (rows, columns) = (tensor.rows(), tensor.columns());
            let limit = match name {
                "lstm.bias" => {
                    let hidden = self.shape.hidden;
                    let mut column = 0;
                    parameters.fill(tensor, || {
                        let forget = column / hidden % 4 == 1;
                        column += 1;
                        f32::from(u8::from(forget))
                    });
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

    /// Fills the padding of the heads, which must never win a softmax.
    pub(crate) fn pad(&self, parameters: &mut [f32]) {
        for bias in [self.slot.bias, self.intent.bias].into_iter().flatten() {
            bias.of_mut(parameters)[bias.columns()..].fill(PADDING);
        }
    }

    /// Logits for utterances of falling length, none of them empty; they stay in the workspace.
    pub fn forward<'a>(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        utterances: impl Iterator<Item = &'a [u32]> + Clone,
        mut dropout: Option<&mut Dropout>,
        w: &mut Workspace,
    ) {
        w.batch.pack(utterances.clone().map(<[u32]>::len));
        w.words.resize(w.batch.words(), 0);
        for (&word, &row) in utterances.flatten().zip(w.batch.time_rows()) {
            w.words[row] = word;
        }
        self.embed(kernels, parameters, dropout.as_deref_mut(), w);
        let x = Rows { data: &w.x, n: w.batch.words(), row: row_of(self.shape.embedding) };
        self.lstm.project(kernels, parameters, x, &mut w.lstm.gates);
        self.understand(kernels, parameters, dropout, w);
    }

    /// Logits for one utterance that is not empty: the same as [`SlotGated::forward`] gives without dropout, sooner.
    pub fn infer(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        prepared: &Prepared,
        words: &[u32],
        w: &mut Workspace,
    ) {
        w.batch.pack(std::iter::once(words.len()));
        let row = self.lstm.gates_row();
        let gates = w.lstm.gates.reserve(words.len() * row);
        for (to, &word) in gates.chunks_exact_mut(row).zip(words) {
            match prepared.gates.get(word as usize * row..(word as usize + 1) * row) {
                Some(from) => to.copy_from_slice(from),
                None => {
                    let x = Rows { data: self.embedding.row(parameters, word as usize), n: 1, row: 0 };
                    self.lstm.input().forward(kernels, parameters, x, RowsMut { data: to, row });
                }
            }
        }
        self.understand(kernels, parameters, None, w);
    }

    /// What the first `words` words, the most frequent ones, always give to the gates of the LSTM.
    pub fn prepare(&self, kernels: Kernels, parameters: &[f32], words: usize) -> Prepared {
        let n = words.min(self.shape.words);
        let x = Rows { data: self.embedding.of(parameters), n, row: self.embedding.width() };
        let mut gates = Buffer::default();
        self.lstm.project(kernels, parameters, x, &mut gates);
        Prepared { gates }
    }

    fn understand(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        dropout: Option<&mut Dropout>,
        w: &mut Workspace,
    ) {
        self.lstm.forward(kernels, parameters, &w.batch, &mut w.lstm);
        self.output(kernels, dropout, w);
        self.attend(kernels, parameters, w);
        self.predict(kernels, parameters, w);
    }

    fn width(&self) -> usize {
        2 * self.shape.hidden
    }

    fn embed(&self, kernels: Kernels, parameters: &[f32], dropout: Option<&mut Dropout>, w: &mut Workspace) {
        let (width, row) = (self.shape.embedding, row_of(self.shape.embedding));
        let x = w.x.reserve(w.batch.words() * row);
        let factors = dropout.map(|dropout| {
            let factors = w.x_factors.reserve(w.batch.words() * width);
            dropout.fill(kernels, factors);
            &*factors
        });
        for (i, &word) in w.words.iter().enumerate() {
            let from = self.embedding.row(parameters, word as usize);
            let to = &mut x[i * row..][..width];
            match factors {
                Some(factors) => kernels.multiply(from, &factors[i * width..][..width], to),
                None => to.copy_from_slice(from),
            }
        }
    }

    /// Hidden states with dropout, utterance-major.
    fn output(&self, kernels: Kernels, dropout: Option<&mut Dropout>, w: &mut Workspace) {
        let (width, row) = (self.width(), row_of(self.width()));
        let out = w.out.reserve(w.batch.words() * row);
        let factors = dropout.map(|dropout| {
            let factors = w.out_factors.reserve(w.batch.words() * width);
            dropout.fill(kernels, factors);
            &*factors
        });
        for (i, &time_row) in w.batch.time_rows().iter().enumerate() {
            let from = &w.lstm.hidden[time_row * self.lstm.hidden_row()..][..width];
            let to = &mut out[i * row..][..width];
            match factors {
                Some(factors) => kernels.multiply(from, &factors[i * width..][..width], to),
                None => to.copy_from_slice(from),
            }
        }
    }

    fn attend(&self, kernels: Kernels, parameters: &[f32], w: &mut Workspace) {
        let (width, row, n) = (self.width(), row_of(self.width()), w.batch.words());
        let (last, projected_row) = (4 * self.shape.hidden, row_of(3 * width));
        let projected = w.projected.reserve(n * projected_row);
        for r in projected.chunks_exact_mut(projected_row) {
            r.fill(0.0);
            r[width..2 * width].copy_from_slice(self.query_bias.of(parameters));
        }
        let out = Rows { data: &w.out, n, row };
        self.project.multiply(
            kernels,
            parameters,
            out,
            RowsMut { data: projected, row: projected_row },
            true,
        );
        kernels.exponentials(projected);

        let query = w.intent_query.reserve(w.batch.len() * width);
        let last_rows = Rows { data: &w.lstm.last, n: w.batch.len(), row: last };
        self.intent_query.forward(kernels, parameters, last_rows, RowsMut { data: query, row: width });
        kernels.exponentials(query);

        let weights = (0..w.batch.len()).map(|u| w.batch.rows(u).len()).map(|n| n * padded(n)).sum();
        w.weights.reserve(weights);
        w.weights_at.clear();
        w.intent_weights.reserve(w.batch.len() * padded(w.batch.n_steps()));
        w.context.reserve(n * row);
        w.intent_input.reserve(w.batch.len() * row_of(width + last));
        let mut weights_at = 0;
        for utterance in 0..w.batch.len() {
            w.weights_at.push(weights_at);
            weights_at += self.attend_one(kernels, parameters, w, utterance, weights_at);
        }
    }

    /// Both attentions of one utterance; gives the number of weights written.
    fn attend_one(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        w: &mut Workspace,
        utterance: usize,
        weights_at: usize,
    ) -> usize {
        let (width, row) = (self.width(), row_of(self.width()));
        let rows = w.batch.rows(utterance);
        let words = rows.len();
        let (slots, intents) =
            self.attentions(parameters, rows.clone(), &w.projected, &w.intent_query[utterance * width..]);
        let weights = &mut w.weights[weights_at..][..words * padded(words)];
        kernels.attention(&slots, weights);
        let intent_weights = &mut w.intent_weights[utterance * padded(w.batch.n_steps())..][..padded(words)];
        kernels.attention(&intents, intent_weights);
        let values = &w.out[rows.start * row..];
        let context = |m, weights, c, c_row| Gemm {
            m,
            n: width,
            k: words,
            a: Strided { data: weights, row: padded(words), column: 1 },
            b: Right::Rows(values, row),
            c,
            c_row,
            c_panel: LANES,
            accumulate: false,
        };
        kernels.gemm(context(words, weights, &mut w.context[rows.start * row..], row));
        let input_row = row_of(width + 4 * self.shape.hidden);
        let input = &mut w.intent_input[utterance * input_row..][..input_row];
        kernels.gemm(context(1, intent_weights, input, input_row));
        let last = 4 * self.shape.hidden;
        input[width..width + last].copy_from_slice(&w.lstm.last[utterance * last..][..last]);
        words * padded(words)
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

    fn predict(&self, kernels: Kernels, parameters: &[f32], w: &mut Workspace) {
        let (width, row, n) = (self.width(), row_of(self.width()), w.batch.words());
        let input_row = row_of(width + 4 * self.shape.hidden);
        let input = Rows { data: &w.intent_input, n: w.batch.len(), row: input_row };
        let gate_query = w.gate_query.reserve(w.batch.len() * width);
        self.gate.forward(kernels, parameters, input, RowsMut { data: gate_query, row: width });
        let intents = self.intent.weight.width();
        let logits = w.intent_logits.reserve(w.batch.len() * intents);
        self.intent.forward(kernels, parameters, input, RowsMut { data: logits, row: intents });

        let slot_row = row_of(2 * width);
        let slot_input = w.slot_input.reserve(n * slot_row);
        let gate_tanh = w.gate_tanh.reserve(n * width);
        w.gates.resize(n, 0.0);
        for utterance in 0..w.batch.len() {
            let query = &gate_query[utterance * width..][..width];
            for i in w.batch.rows(utterance) {
                let context = &w.context[i * row..][..width];
                let tanh = &mut gate_tanh[i * width..][..width];
                let gate = kernels.gate(context, query, self.gate_vector.of(parameters), tanh);
                w.gates[i] = gate;
                let to = &mut slot_input[i * slot_row..][..2 * width];
                for (to, context) in to[..width].iter_mut().zip(context) {
                    *to = gate * context;
                }
                to[width..].copy_from_slice(&w.out[i * row..][..width]);
            }
        }
        let labels = self.slot.weight.width();
        let logits = w.slot_logits.reserve(n * labels);
        let input = Rows { data: slot_input, n, row: slot_row };
        self.slot.forward(kernels, parameters, input, RowsMut { data: logits, row: labels });
    }

    /// The slot logits of the last forward pass, a row for each word, utterance after utterance.
    pub fn slot_logits<'w>(&self, w: &'w Workspace) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        let (width, labels) = (self.slot.weight.width(), self.shape.labels);
        w.slot_logits[..w.batch.words() * width].chunks_exact(width).map(move |row| &row[..labels])
    }

    /// The intent logits of the last forward pass, a row for each utterance.
    pub fn intent_logits<'w>(&self, w: &'w Workspace) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        let (width, intents) = (self.intent.weight.width(), self.shape.intents);
        w.intent_logits[..w.batch.len() * width].chunks_exact(width).map(move |row| &row[..intents])
    }

    /// The loss of the last forward pass, and in place of the logits its gradient.
    ///
    /// The cross entropy of the slots is averaged over the words of an utterance.
    pub fn loss<'a>(
        &self,
        kernels: Kernels,
        answers: impl Iterator<Item = (&'a [u32], u32)>,
        weights: LossWeights,
        w: &mut Workspace,
    ) -> f64 {
        let (labels, intents) = (self.slot.weight.width(), self.intent.weight.width());
        let slot_logits = &mut w.slot_logits[..w.batch.words() * labels];
        let intent_logits = &mut w.intent_logits[..w.batch.len() * intents];
        kernels.softmax(labels, slot_logits);
        kernels.softmax(intents, intent_logits);
        let mut loss = 0.0;
        for (utterance, (gold_labels, gold_intent)) in answers.enumerate() {
            let rows = w.batch.rows(utterance);
            assert_eq!(gold_labels.len(), rows.len(), "one label for each word");
            let each = weights.slots / rows.len() as f32;
            for (i, &label) in rows.zip(gold_labels) {
                loss +=
                    f64::from(each) * cross_entropy(&mut slot_logits[i * labels..][..labels], label, each);
            }
            let row = &mut intent_logits[utterance * intents..][..intents];
            loss += f64::from(weights.intent) * cross_entropy(row, gold_intent, weights.intent);
        }
        loss
    }

    /// `W^T` of every matrix, for the backward pass.
    pub fn transpose(&self, kernels: Kernels, parameters: &[f32], transposed: &mut [f32]) {
        self.lstm.transpose(kernels, parameters, transposed);
        for linear in [&self.project, &self.intent_query, &self.gate, &self.slot, &self.intent] {
            linear.transpose(kernels, parameters, transposed);
        }
    }

    /// The gradients of activations and vectors of what [`SlotGated::loss`] left; those of the matrices are
    /// [`SlotGated::products`], those of the embeddings [`SlotGated::d_words`].
    pub(crate) fn backward(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        transposed: &[f32],
        w: &mut Workspace,
        dropped: bool,
    ) {
        w.d_vectors.clear(self.layout.dense() - self.layout.matrices());
        self.predict_backward(kernels, parameters, transposed, w);
        self.attend_backward(kernels, parameters, transposed, w);
        self.output_backward(kernels, w, dropped);
        let (n, row) = (w.batch.words(), row_of(self.shape.embedding));
        let input_row = row_of(self.width() + 4 * self.shape.hidden);
        let d_last = Rows { data: &w.d_intent_input[self.width()..], n: w.batch.len(), row: input_row };
        let d_x = w.d_x.reserve(n * row);
        let to = RowsMut { data: &mut *d_x, row };
        self.lstm.backward(kernels, transposed, &w.batch, &mut w.lstm, &w.d_hidden, d_last, to);
        if dropped {
            let width = self.shape.embedding;
            for (d_x, factors) in d_x.chunks_exact_mut(row).zip(w.x_factors.chunks_exact(width)) {
                kernels.scale(factors, &mut d_x[..width]);
            }
        }
        self.biases_backward(kernels, w);
    }

    fn biases_backward(&self, kernels: Kernels, w: &mut Workspace) {
        let (n, b, width) = (w.batch.words(), w.batch.len(), self.width());
        let rows = [
            self.lstm.d_gates(&w.batch, &w.lstm),
            (self.slot, Rows { data: &w.slot_logits, n, row: self.slot.weight.width() }),
            (self.intent, Rows { data: &w.intent_logits, n: b, row: self.intent.weight.width() }),
            (self.gate, Rows { data: &w.d_gate_query, n: b, row: width }),
            (self.intent_query, Rows { data: &w.d_intent_query, n: b, row: width }),
            (
                Linear { bias: Some(self.query_bias), ..self.project },
                Rows { data: &w.d_projected[width..], n, row: row_of(3 * width) },
            ),
        ];
        for (linear, dy) in rows {
            let bias = linear.bias.expect("listed because it has one");
            let to = bias.after(self.layout.matrices()).of_mut(&mut w.d_vectors);
            kernels.sum_rows(&dy.data[..rows_end(dy, to.len())], dy.row, to);
        }
    }

    /// The gradients of the matrices after [`SlotGated::backward`], in the order of their layout.
    pub(crate) fn products<'w>(&self, w: &'w Workspace) -> [Product<'w>; 8] {
        let (n, b, width) = (w.batch.words(), w.batch.len(), self.width());
        let x = Rows { data: &w.x, n, row: row_of(self.shape.embedding) };
        let [input, forward, backward] = self.lstm.products(&w.batch, x, &w.lstm);
        let last = 4 * self.shape.hidden;
        let intent_input = Rows { data: &w.intent_input, n: b, row: row_of(width + last) };
        [
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
            Product {
                weight: self.slot.weight,
                x: Rows { data: &w.slot_input, n, row: row_of(2 * width) },
                dy: Rows { data: &w.slot_logits, n, row: self.slot.weight.width() },
            },
            Product {
                weight: self.intent.weight,
                x: intent_input,
                dy: Rows { data: &w.intent_logits, n: b, row: self.intent.weight.width() },
            },
        ]
    }

    /// The gradients of the vectors after [`SlotGated::backward`], laid out as they are.
    pub(crate) fn d_vectors<'w>(&self, w: &'w Workspace) -> &'w [f32] {
        &w.d_vectors[..self.layout.dense() - self.layout.matrices()]
    }

    /// Each word of the batch with the gradient of its embedding after [`SlotGated::backward`].
    pub(crate) fn d_words<'w>(&self, w: &'w Workspace) -> impl Iterator<Item = (u32, &'w [f32])> + use<'w> {
        let (row, width) = (row_of(self.shape.embedding), self.shape.embedding);
        w.words.iter().zip(w.d_x.chunks_exact(row)).map(move |(&word, d)| (word, &d[..width]))
    }

    fn predict_backward(&self, kernels: Kernels, parameters: &[f32], transposed: &[f32], w: &mut Workspace) {
        let (width, row, n, b) = (self.width(), row_of(self.width()), w.batch.words(), w.batch.len());
        let (slot_row, input_row) = (row_of(2 * width), row_of(width + 4 * self.shape.hidden));
        let labels = self.slot.weight.width();
        let d_logits = Rows { data: &w.slot_logits, n, row: labels };
        let d_slot_input = w.d_slot_input.reserve(n * slot_row);
        self.slot.backward_input(
            kernels,
            transposed,
            d_logits,
            RowsMut { data: d_slot_input, row: slot_row },
            false,
        );

        w.d_context.reserve(n * row);
        w.d_out.reserve(n * row);
        w.d_gate_query.clear(b * width);
        for utterance in 0..b {
            for i in w.batch.rows(utterance) {
                let d = &w.d_slot_input[i * slot_row..][..2 * width];
                kernels.gate_backward(GateGradient {
                    context: &w.context[i * row..][..width],
                    tanh: &w.gate_tanh[i * width..][..width],
                    gate: w.gates[i],
                    vector: self.gate_vector.of(parameters),
                    d_gated: &d[..width],
                    d_context: &mut w.d_context[i * row..][..width],
                    d_query: &mut w.d_gate_query[utterance * width..][..width],
                    d_vector: self.gate_vector.after(self.layout.matrices()).of_mut(&mut w.d_vectors),
                });
                w.d_out[i * row..][..width].copy_from_slice(&d[width..]);
            }
        }

        let d_gate_query = Rows { data: &w.d_gate_query, n: b, row: width };
        let d_logits = Rows { data: &w.intent_logits, n: b, row: self.intent.weight.width() };
        let d_input = w.d_intent_input.reserve(b * input_row);
        let to = RowsMut { data: &mut *d_input, row: input_row };
        self.gate.backward_input(kernels, transposed, d_gate_query, to, false);
        self.intent.backward_input(
            kernels,
            transposed,
            d_logits,
            RowsMut { data: d_input, row: input_row },
            true,
        );
    }

    fn attend_backward(&self, kernels: Kernels, parameters: &[f32], transposed: &[f32], w: &mut Workspace) {
        let (width, row, n, b) = (self.width(), row_of(self.width()), w.batch.words(), w.batch.len());
        let (last, projected_row) = (4 * self.shape.hidden, row_of(3 * width));
        w.d_projected.clear(n * projected_row);
        w.d_intent_query.clear(b * width);
        for utterance in 0..b {
            self.attend_one_backward(kernels, parameters, w, utterance);
        }
        let d_query = Rows { data: &w.d_intent_query, n: b, row: width };
        let input_row = row_of(width + last);
        let to = RowsMut { data: &mut w.d_intent_input[width..], row: input_row };
        self.intent_query.backward_input(kernels, transposed, d_query, to, true);

        let d_projected = Rows { data: &w.d_projected, n, row: projected_row };
        self.project.backward_input(
            kernels,
            transposed,
            d_projected,
            RowsMut { data: &mut w.d_out, row },
            true,
        );
    }

    fn attend_one_backward(&self, kernels: Kernels, parameters: &[f32], w: &mut Workspace, utterance: usize) {
        let (width, row, projected_row) = (self.width(), row_of(self.width()), row_of(3 * self.width()));
        let rows = w.batch.rows(utterance);
        let words = rows.len();
        let weights = &w.weights[w.weights_at[utterance]..][..words * padded(words)];
        let intent_weights = &w.intent_weights[utterance * padded(w.batch.n_steps())..][..padded(words)];
        let d_context = &w.d_context[rows.start * row..];
        let d_intent_context =
            &w.d_intent_input[utterance * row_of(width + 4 * self.shape.hidden)..][..width];

        // d_out_j += sum_i a_ij d_context_i, and the same for the intent's one query.
        for (weights, k, d, d_row) in
            [(weights, words, d_context, row), (intent_weights, 1, d_intent_context, width)]
        {
            kernels.gemm(Gemm {
                m: words,
                n: width,
                k,
                a: Strided { data: weights, row: 1, column: padded(words) },
                b: Right::Rows(d, d_row),
                c: &mut w.d_out[rows.start * row..],
                c_row: row,
                c_panel: LANES,
                accumulate: true,
            });
        }

        let (slots, intents) =
            self.attentions(parameters, rows.clone(), &w.projected, &w.intent_query[utterance * width..]);
        let out = &w.out[rows.start * row..];
        let d_projected = &mut w.d_projected[rows.start * projected_row..rows.end * projected_row];
        let d_query = w.d_query.clear(words * width);
        let d_weights = w.d_weights.reserve(words * padded(words));
        let dots = Dots { m: words, n: words, width, a: d_context, a_row: row, b: out, b_row: row };
        kernels.dots(&dots, d_weights, padded(words));
        kernels.attention_backward(
            &slots,
            AttentionGradient {
                weights,
                d_weights,
                d_keys: d_projected,
                d_query,
                d_query_row: width,
                d_vector: self.slot_vector.after(self.layout.matrices()).of_mut(&mut w.d_vectors),
            },
        );
        for (to, from) in d_projected.chunks_exact_mut(projected_row).zip(d_query.chunks_exact(width)) {
            to[width..2 * width].copy_from_slice(from);
        }
        kernels.dots(&Dots { m: 1, a: d_intent_context, ..dots }, d_weights, padded(words));
        kernels.attention_backward(
            &intents,
            AttentionGradient {
                weights: intent_weights,
                d_weights,
                d_keys: &mut d_projected[2 * width..],
                d_query: &mut w.d_intent_query[utterance * width..][..width],
                d_query_row: width,
                d_vector: self.intent_vector.after(self.layout.matrices()).of_mut(&mut w.d_vectors),
            },
        );
    }

    /// The gradient of the hidden states, time-major, from that of the output.
    fn output_backward(&self, kernels: Kernels, w: &mut Workspace, dropped: bool) {
        let (width, row) = (self.width(), row_of(self.width()));
        let d_hidden = w.d_hidden.reserve(w.batch.words() * self.lstm.hidden_row());
        for (i, &time_row) in w.batch.time_rows().iter().enumerate() {
            let to = &mut d_hidden[time_row * self.lstm.hidden_row()..][..width];
            let from = &w.d_out[i * row..][..width];
            if dropped {
                kernels.multiply(from, &w.out_factors[i * width..][..width], to);
            } else {
                to.copy_from_slice(from);
            }
        }
    }
}

/// The bias of labels and intents that are only padding.
const PADDING: f32 = -1e9;

/// `-ln p` of the right answer; turns the probabilities into `weight` times the gradient of the logits.
pub(super) fn cross_entropy(probabilities: &mut [f32], answer: u32, weight: f32) -> f64 {
    let p = probabilities[answer as usize];
    probabilities[answer as usize] -= 1.0;
    for x in probabilities {
        *x *= weight;
    }
    -f64::from(p.max(1e-20)).ln()
}
