//! The loss and the backward pass: from the right answers to the gradients of activations and parameters.

use super::{Heads, TransformerTagger, TransformerWorkspace};
use crate::encoder::heads::Answer;
use crate::encoder::label_head::EntropyLoss;
use crate::kernel::Kernels;
use crate::nn::{LossWeights, NormRows, RowsMut, row_of, scale_rows};

impl TransformerTagger {
    /// The loss of the last forward pass, and in place of the logits its gradient.
    ///
    /// Minus the log likelihood of the boundaries and, in a span, the cross entropy of the slot are summed over the words of an
    /// utterance. The cross entropy of labels is averaged over them; `learns` says of which words it counts, and the entropy
    /// regularizer is theirs.
    pub(crate) fn loss<'a>(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        answers: impl Iterator<Item = (&'a [u32], u32)>,
        weights: LossWeights,
        (learns, second): (impl Fn(usize) -> bool, Option<EntropyLoss<'_>>),
        w: &mut TransformerWorkspace,
    ) -> f64 {
        let matrices = self.layout.matrices();
        let d_vectors = w.d_vectors.clear(self.layout.dense() - matrices);
        let words = w.word_starts.windows(2).map(|words| words[0]..words[1]);
        let answers = Answer::of_batch(words, answers, |_| weights.slots, weights.intent);
        match &self.heads {
            Heads::Spans(heads) => {
                heads.loss(kernels, parameters, answers, &mut w.heads.spans, (matrices, d_vectors))
            }
            Heads::Labels(heads) => heads.loss(kernels, answers, learns, second, &mut w.heads.labels),
        }
    }

    /// The gradients of activations and vectors of what [`TransformerTagger::loss`] left; those of the matrices are
    /// `products`, those of the embeddings `d_words`.
    pub(crate) fn backward(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        transposed: &[f32],
        w: &mut TransformerWorkspace,
        is_dropped: bool,
    ) {
        self.heads_backward(kernels, transposed, w, is_dropped);
        let (hidden, row, n) = (self.shape.encoder.hidden, self.row(), w.batch.words());
        let matrices = self.layout.matrices();
        for (layer, state) in self.layers.iter().zip(&mut w.layers).rev() {
            let floats = (kernels, parameters, transposed);
            let vectors = (matrices, &mut w.d_vectors[..]);
            layer.backward(floats, &w.batch, is_dropped, (state, &mut w.scratch), &mut w.d, vectors);
        }
        if is_dropped {
            scale_rows(kernels, &w.embedded.factors, hidden, RowsMut { data: &mut w.d[..n * row], row });
        }
        let vectors = (matrices, &mut w.d_vectors[..]);
        let rows = NormRows { n, row };
        self.norm.backward(kernels, parameters, rows, false, false, &mut w.embedded, &mut w.d, vectors);
        kernels.sum_rows(&w.d[..n * row], row, self.kind.after(matrices).of_mut(&mut w.d_vectors));
        for rows in (0..w.batch.len()).map(|i| w.batch.rows(i)) {
            for (position, i) in rows.enumerate() {
                let to = self.positions.after(matrices).row_mut(&mut w.d_vectors, position);
                kernels.add(&w.d[i * row..][..hidden], to);
            }
        }
    }

    /// From the gradients of the logits to that of the rows of the last layer.
    fn heads_backward(
        &self,
        kernels: Kernels,
        transposed: &[f32],
        w: &mut TransformerWorkspace,
        is_dropped: bool,
    ) {
        let (hidden, row) = (self.shape.encoder.hidden, self.row());
        let wide_row = row_of(2 * hidden);
        let d_words = w.d_words.reserve(w.firsts.len() * row);
        let d_utterances = w.d_utterances.reserve(w.batch.len() * wide_row);
        let to = (RowsMut { data: &mut *d_words, row }, RowsMut { data: &mut *d_utterances, row: wide_row });
        let vectors = (self.layout.matrices(), &mut w.d_vectors[..]);
        self.heads.backward(kernels, transposed, &w.heads, to, vectors);
        if is_dropped {
            scale_rows(kernels, &w.word_factors, hidden, RowsMut { data: &mut *d_words, row });
            let d_utterances = RowsMut { data: &mut *d_utterances, row: wide_row };
            scale_rows(kernels, &w.utterance_factors, 2 * hidden, d_utterances);
        }
        let d = w.d.clear(w.batch.words() * row);
        for (d_word, &first) in d_words.chunks_exact(row).zip(&w.firsts) {
            kernels.add(&d_word[..hidden], &mut d[first * row..][..hidden]);
        }
        for (i, d_utterance) in d_utterances.chunks_exact(wide_row).enumerate() {
            let rows = w.batch.rows(i);
            let (whole, mean) = d_utterance[..2 * hidden].split_at(hidden);
            kernels.add(whole, &mut d[rows.start * row..][..hidden]);
            let share = 1.0 / (rows.len() - 2) as f32;
            for piece in rows.start + 1..rows.end - 1 {
                kernels.add_scaled(share, mean, &mut d[piece * row..][..hidden]);
            }
        }
    }
}
