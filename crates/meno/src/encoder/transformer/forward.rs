//! The forward pass: from pieces to logits.

use super::layer::{LayerState, Pass};
use super::weights::Weights;
use super::{Sequence, TransformerTagger, TransformerWorkspace};
use crate::kernel::Kernels;
use crate::nn::{Dropout, NormRows, Rows, RowsMut, row_of, scale_rows};

impl TransformerTagger {
    /// Logits for utterances of falling length, none of them without words; they stay in the workspace.
    pub(crate) fn forward<'a>(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        utterances: impl Iterator<Item = &'a Sequence> + Clone,
        dropout: Option<&mut Dropout>,
        w: &mut TransformerWorkspace,
    ) {
        let weights = Weights::Floats;
        self.run(Pass { kernels, parameters, weights, dropout, learns: true }, utterances, w);
    }

    /// The same for one utterance, without what only a backward pass needs.
    pub(crate) fn infer(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        weights: Weights<'_>,
        utterance: &Sequence,
        w: &mut TransformerWorkspace,
    ) {
        let pass = Pass { kernels, parameters, weights, dropout: None, learns: false };
        self.run(pass, std::iter::once(utterance), w);
    }

    fn run<'a>(
        &self,
        mut pass: Pass<'_>,
        utterances: impl Iterator<Item = &'a Sequence> + Clone,
        w: &mut TransformerWorkspace,
    ) {
        w.read(utterances);
        self.embed(&mut pass, w);
        w.layers.resize_with(self.layers.len(), LayerState::default);
        for (i, layer) in self.layers.iter().enumerate() {
            let (below, state) = w.layers.split_at_mut(i);
            let x = below.last().map_or(&w.embedded.y, |below| &below.out.y);
            layer.forward(&mut pass, &w.batch, x, &mut state[0], &mut w.scratch);
        }
        self.gather(&mut pass, w);
        let hidden = self.shape.encoder.hidden;
        let words = Rows { data: &w.words, n: w.firsts.len(), row: row_of(hidden) };
        let utterances = Rows { data: &w.utterances, n: w.batch.len(), row: row_of(2 * hidden) };
        let words_of = w.word_starts.windows(2).map(|words| words[0]..words[1]);
        self.heads.forward(pass.kernels, pass.parameters, (words, utterances), words_of, &mut w.heads);
    }

    /// `norm(piece + position + type)`, dropout.
    fn embed(&self, pass: &mut Pass<'_>, w: &mut TransformerWorkspace) {
        let (hidden, row, n) = (self.shape.encoder.hidden, self.row(), w.batch.words());
        let (kernels, parameters) = (pass.kernels, pass.parameters);
        let sum = w.embedded.sum.reserve(n * row);
        for rows in (0..w.batch.len()).map(|i| w.batch.rows(i)) {
            for (position, i) in rows.enumerate() {
                let to = &mut sum[i * row..][..hidden];
                let piece = w.pieces[i] as usize;
                match pass.weights {
                    Weights::Int8(weights) => weights.table().copy_row(piece, to),
                    Weights::Floats | Weights::Bf16(_) => {
                        to.copy_from_slice(self.pieces.row(parameters, piece));
                    }
                }
                kernels.add(self.positions.row(parameters, position), to);
                kernels.add(self.kind.of(parameters), to);
            }
        }
        self.norm.forward(kernels, parameters, NormRows { n, row }, None, false, &mut w.embedded);
        pass.draw(n * hidden, &mut w.embedded.factors);
        if pass.is_dropped() {
            let y = RowsMut { data: &mut w.embedded.y[..n * row], row };
            scale_rows(kernels, &w.embedded.factors, hidden, y);
        }
    }

    /// What the heads read: the first piece of each word, and the whole of each utterance.
    fn gather(&self, pass: &mut Pass<'_>, w: &mut TransformerWorkspace) {
        let (hidden, row, kernels) = (self.shape.encoder.hidden, self.row(), pass.kernels);
        let wide_row = row_of(2 * hidden);
        let top = w.layers.last().map_or(&w.embedded.y, |layer| &layer.out.y);
        let words = w.words.reserve(w.firsts.len() * row);
        for (to, &first) in words.chunks_exact_mut(row).zip(&w.firsts) {
            to[..hidden].copy_from_slice(&top[first * row..][..hidden]);
        }
        let utterances = w.utterances.clear(w.batch.len() * wide_row);
        for (i, to) in utterances.chunks_exact_mut(wide_row).enumerate() {
            let rows = w.batch.rows(i);
            let (whole, mean) = to[..2 * hidden].split_at_mut(hidden);
            whole.copy_from_slice(&top[rows.start * row..][..hidden]);
            let share = 1.0 / (rows.len() - 2) as f32;
            for piece in rows.start + 1..rows.end - 1 {
                kernels.add_scaled(share, &top[piece * row..][..hidden], mean);
            }
        }
        pass.draw(w.firsts.len() * hidden, &mut w.word_factors);
        pass.draw(w.batch.len() * 2 * hidden, &mut w.utterance_factors);
        if pass.is_dropped() {
            scale_rows(kernels, &w.word_factors, hidden, RowsMut { data: words, row });
            let utterances = RowsMut { data: utterances, row: wide_row };
            scale_rows(kernels, &w.utterance_factors, 2 * hidden, utterances);
        }
    }
}

impl TransformerWorkspace {
    /// Takes over the pieces of a batch.
    fn read<'a>(&mut self, utterances: impl Iterator<Item = &'a Sequence> + Clone) {
        self.batch.pack(utterances.clone().map(|utterance| utterance.pieces.len()));
        self.pieces.clear();
        self.firsts.clear();
        self.word_starts.clear();
        self.word_starts.push(0);
        for (i, utterance) in utterances.enumerate() {
            let start = self.batch.rows(i).start;
            self.pieces.extend_from_slice(&utterance.pieces);
            self.firsts.extend(utterance.firsts.iter().map(|&first| start + first as usize));
            self.word_starts.push(self.firsts.len());
        }
    }
}
