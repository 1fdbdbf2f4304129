//! The backward pass: from the gradient of the logits to those of activations and parameters.

use super::{SpanTagger, TaggerWorkspace, WINDOW};
use crate::encoder::heads::Answer;
use crate::kernel::{Kernels, Start};
use crate::nn::{LossWeights, Rows, RowsMut, row_of, scale_rows};

impl SpanTagger {
    /// The loss of the last forward pass, and in place of the logits its gradient.
    ///
    /// Minus the log likelihood of the boundaries and, in a span, the cross entropy of the slot are averaged over the words of an
    /// utterance.
    pub(crate) fn loss<'a>(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        answers: impl Iterator<Item = (&'a [u32], u32)>,
        weights: LossWeights,
        w: &mut TaggerWorkspace,
    ) -> f64 {
        let matrices = self.layout.matrices();
        let d_vectors = w.d_vectors.clear(self.layout.dense() - matrices);
        let words = (0..w.batch.len()).map(|utterance| w.batch.rows(utterance));
        let mean = |n_words| weights.slots / n_words as f32;
        let answers = Answer::of_batch(words, answers, mean, weights.intent);
        self.heads.loss(kernels, parameters, answers, &mut w.heads, (matrices, d_vectors))
    }

    /// The gradients of activations and vectors of what [`SpanTagger::loss`] left; those of the matrices are
    /// `products`, those of the embeddings `d_words`.
    pub(crate) fn backward(
        &self,
        kernels: Kernels,
        transposed: &[f32],
        w: &mut TaggerWorkspace,
        dropped: bool,
    ) {
        self.heads_backward(kernels, transposed, w);
        let (width, row, n) = (self.width(), row_of(self.width()), w.batch.words());
        let factors = dropped.then_some(&w.out_factors[..]);
        self.lstm.output_backward(kernels, &w.batch, &w.d_out, factors, &mut w.d_hidden);
        let d_last = Rows { data: &w.d_intent_input[width..], n: w.batch.len(), row: row_of(3 * width) };
        let (input, input_row) = (self.shape.input(), row_of(self.shape.input()));
        let d_x = w.d_x.reserve(n * input_row);
        let to = RowsMut { data: &mut *d_x, row: input_row };
        if let Some(upper) = &self.upper {
            let d_between = w.d_between.reserve(n * row);
            let between = RowsMut { data: &mut *d_between, row };
            upper.backward(kernels, transposed, &w.batch, &mut w.upper, &w.d_hidden, d_last, between);
            if dropped {
                scale_rows(kernels, &w.between_factors, width, RowsMut { data: &mut *d_between, row });
            }
            let d_last = Rows { data: w.no_last.clear(2 * width), n: w.batch.len(), row: 0 };
            self.lstm.backward(kernels, transposed, &w.batch, &mut w.lstm, d_between, d_last, to);
        } else {
            self.lstm.backward(kernels, transposed, &w.batch, &mut w.lstm, &w.d_hidden, d_last, to);
        }
        if dropped {
            scale_rows(kernels, &w.x_factors, input, RowsMut { data: d_x, row: input_row });
        }
        self.spell_backward(kernels, transposed, w);
        let d_filtered = Rows { data: &w.d_filtered, n: self.windows(w).n, row: self.shape.filters };
        let upper = self.upper.iter().map(|upper| upper.d_gates(&w.batch, &w.upper));
        for (linear, dy) in
            [self.lstm.d_gates(&w.batch, &w.lstm), (self.filters, d_filtered)].into_iter().chain(upper)
        {
            linear.backward_bias(kernels, dy, self.layout.matrices(), &mut w.d_vectors);
        }
    }

    fn heads_backward(&self, kernels: Kernels, transposed: &[f32], w: &mut TaggerWorkspace) {
        let (width, row, n) = (self.width(), row_of(self.width()), w.batch.words());
        let input_row = row_of(3 * width);
        let d_input = w.d_intent_input.reserve(w.batch.len() * input_row);
        let to = RowsMut { data: &mut *d_input, row: input_row };
        self.heads.utterances_backward(kernels, transposed, &w.heads, to);
        let d_out = w.d_out.reserve(n * row);
        for (utterance, d_input) in d_input.chunks_exact(input_row).enumerate() {
            let rows = w.batch.rows(utterance);
            let share = 1.0 / rows.len() as f32;
            for i in rows {
                let to = &mut d_out[i * row..][..width];
                to.fill(0.0);
                kernels.add_scaled(share, &d_input[..width], to);
            }
        }
        let (to, vectors) = (RowsMut { data: d_out, row }, (self.layout.matrices(), &mut w.d_vectors[..]));
        self.heads.words_backward(kernels, transposed, &w.heads, (to, Start::Sum), vectors);
    }

    /// From the gradient of the input to those of filters and characters.
    fn spell_backward(&self, kernels: Kernels, transposed: &[f32], w: &mut TaggerWorkspace) {
        let (filters, width, embedding) = (self.shape.filters, self.shape.character, self.shape.embedding);
        let (row, windows) = (row_of(self.shape.input()), self.windows(w).n);
        let d_rows = w.d_form_rows.clear(w.distinct.len() * filters);
        for (&form, d_x) in w.forms.iter().zip(w.d_x.chunks_exact(row)) {
            let to = &mut d_rows[form as usize * filters..][..filters];
            kernels.add(&d_x[embedding..embedding + filters], to);
        }
        let d_filtered = w.d_filtered.clear(windows * filters);
        let form = self.shape.form();
        for (i, d) in d_rows.chunks_exact(filters).enumerate() {
            let (value, highest) =
                (&w.form_rows[i * form..][..filters], &w.highest[i * filters..][..filters]);
            for filter in 0..filters {
                if value[filter] > 0.0 {
                    d_filtered[highest[filter] as usize * filters + filter] = d[filter];
                }
            }
        }
        let window = WINDOW * width;
        let d_windows = w.d_windows.reserve(windows * window);
        let d_filtered = Rows { data: d_filtered, n: windows, row: filters };
        let to = RowsMut { data: &mut *d_windows, row: window };
        self.filters.backward_input(kernels, transposed, d_filtered, to, Start::Zero);
        let d_characters = self.characters.after(self.layout.matrices()).of_mut(&mut w.d_vectors);
        for (first, d) in d_windows.chunks_exact(window).enumerate() {
            for (d, &character) in d.chunks_exact(width).zip(&w.characters[first..]) {
                kernels.add(d, &mut d_characters[usize::from(character) * width..][..width]);
            }
        }
    }
}
