//! The forward pass: from word ids to logits.

use super::{Calibration, Prepared, SlotGated, Workspace};
use crate::kernel::{Buffer, Gemm, Kernels, LANES, Right, Start, Strided, Term, padded};
use crate::nn::{Dropout, LstmWeights, Rows, RowsMut, row_of};

impl SlotGated {
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

    /// What does not change from one utterance to the next, for the gates of the first `words` words, the most
    /// frequent ones, and for the calibration.
    pub fn prepare(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        calibration: Calibration,
        words: usize,
    ) -> Prepared {
        let n = words.min(self.shape.words);
        let x = Rows { data: self.embedding.of(parameters), n, row: self.embedding.width() };
        let mut gates = Buffer::default();
        self.lstm.project(kernels, parameters, x, &mut gates);
        Prepared { gates, head: self.slot.prepare(kernels, parameters, calibration) }
    }

    fn understand(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        dropout: Option<&mut Dropout>,
        w: &mut Workspace,
    ) {
        self.lstm.forward(kernels, parameters, LstmWeights::Floats, &w.batch, &mut w.lstm);
        self.output(kernels, dropout, w);
        self.attend(kernels, parameters, w);
        self.predict(kernels, parameters, w);
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
        let out = Rows { data: &w.out, n, row };
        let bias = w.project_bias.clear(3 * width);
        bias[width..2 * width].copy_from_slice(self.query_bias.of(parameters));
        let to = RowsMut { data: projected, row: projected_row };
        self.project.multiply(kernels, parameters, out, to, Start::Row(bias));
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
        let context = |m, weights, c, c_row| {
            let a = Strided { data: weights, row: padded(words), column: 1 };
            let terms = &[Term { k: words, a, b: Right::Rows(values, row) }];
            kernels.gemm(Gemm { m, n: width, terms, start: Start::Zero, c, c_row, c_panel: LANES });
        };
        context(words, weights, &mut w.context[rows.start * row..], row);
        let input_row = row_of(width + 4 * self.shape.hidden);
        let input = &mut w.intent_input[utterance * input_row..][..input_row];
        context(1, intent_weights, input, input_row);
        let last = 4 * self.shape.hidden;
        input[width..width + last].copy_from_slice(&w.lstm.last[utterance * last..][..last]);
        words * padded(words)
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
        let input = Rows { data: slot_input, n, row: slot_row };
        self.slot.forward(kernels, parameters, input, &mut w.slot);
    }
}
