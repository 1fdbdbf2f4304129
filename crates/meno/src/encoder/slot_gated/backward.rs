//! The backward pass: from the gradient of the logits to those of activations and parameters.

use super::{SlotGated, Workspace};
use crate::kernel::{
    AttentionGradient, Dots, GateGradient, Gemm, Kernels, LANES, Right, Start, Strided, Term, padded,
};
use crate::nn::{Linear, Rows, RowsMut, row_of, scale_rows};

impl SlotGated {
    /// The gradients of activations and vectors of what [`SlotGated::loss`] left; those of the matrices are
    /// [`crate::encoder::Network::products`], those of the embeddings [`crate::encoder::Network::d_words`].
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
        let factors = dropped.then_some(&w.out_factors[..]);
        self.lstm.output_backward(kernels, &w.batch, &w.d_out, factors, &mut w.d_hidden);
        let (n, row) = (w.batch.words(), row_of(self.shape.embedding));
        let input_row = row_of(self.width() + 4 * self.shape.hidden);
        let d_last = Rows { data: &w.d_intent_input[self.width()..], n: w.batch.len(), row: input_row };
        let d_x = w.d_x.reserve(n * row);
        let to = RowsMut { data: &mut *d_x, row };
        self.lstm.backward(kernels, transposed, &w.batch, &mut w.lstm, &w.d_hidden, d_last, to);
        if dropped {
            scale_rows(kernels, &w.x_factors, self.shape.embedding, RowsMut { data: d_x, row });
        }
        self.biases_backward(kernels, w);
    }

    fn biases_backward(&self, kernels: Kernels, w: &mut Workspace) {
        let (n, b, width) = (w.batch.words(), w.batch.len(), self.width());
        let rows = [
            self.lstm.d_gates(&w.batch, &w.lstm),
            (self.slot.linear, self.slot.d_logits(n, &w.slot)),
            (self.intent, Rows { data: &w.intent_logits, n: b, row: self.intent.weight.width() }),
            (self.gate, Rows { data: &w.d_gate_query, n: b, row: width }),
            (self.intent_query, Rows { data: &w.d_intent_query, n: b, row: width }),
            (
                Linear { bias: Some(self.query_bias), ..self.project },
                Rows { data: &w.d_projected[width..], n, row: row_of(3 * width) },
            ),
        ];
        for (linear, dy) in rows {
            linear.backward_bias(kernels, dy, self.layout.matrices(), &mut w.d_vectors);
        }
    }

    fn predict_backward(&self, kernels: Kernels, parameters: &[f32], transposed: &[f32], w: &mut Workspace) {
        let (width, row, n, b) = (self.width(), row_of(self.width()), w.batch.words(), w.batch.len());
        let (slot_row, input_row) = (row_of(2 * width), row_of(width + 4 * self.shape.hidden));
        let d_logits = self.slot.d_logits(n, &w.slot);
        let d_slot_input = w.d_slot_input.reserve(n * slot_row);
        self.slot.linear.backward_input(
            kernels,
            transposed,
            d_logits,
            RowsMut { data: d_slot_input, row: slot_row },
            Start::Zero,
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
        self.gate.backward_input(kernels, transposed, d_gate_query, to, Start::Zero);
        self.intent.backward_input(
            kernels,
            transposed,
            d_logits,
            RowsMut { data: d_input, row: input_row },
            Start::Sum,
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
        self.intent_query.backward_input(kernels, transposed, d_query, to, Start::Sum);

        let d_projected = Rows { data: &w.d_projected, n, row: projected_row };
        self.project.backward_input(
            kernels,
            transposed,
            d_projected,
            RowsMut { data: &mut w.d_out, row },
            Start::Sum,
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
        let term = |weights, k, d, d_row| {
            let a = Strided { data: weights, row: 1, column: padded(words) };
            Term { k, a, b: Right::Rows(d, d_row) }
        };
        kernels.gemm(Gemm {
            m: words,
            n: width,
            terms: &[term(weights, words, d_context, row), term(intent_weights, 1, d_intent_context, width)],
            start: Start::Sum,
            c: &mut w.d_out[rows.start * row..],
            c_row: row,
            c_panel: LANES,
        });

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
}
