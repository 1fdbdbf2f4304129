//! What whole spans score beside their words: the head that makes the chain of boundaries a semi-Markov one
//! ([`crate::nn::semi_crf`]).
//!
//! ```text
//! s(i, j) = v . relu(B h_i + E h_(j-1) + M mean(h_i .. h_(j-1)) + L h_(i-1) + R h_j + l_(j-i)) + p_(j-i)
//! ```
//! of the words `i..j`; `L` and `R` see the words on both sides, where there are any. Spans of more words than the longest that is
//! scored have 0.

use std::ops::Range;

use crate::kernel::{Buffer, Kernels};
use crate::nn::{Layout, Linear, Rows, RowsMut, Tensor};
use crate::tensors::check_widths;

/// What a word gives to the spans that begin with it, end with it, hold it, follow it and precede it, side by side.
const PARTS: usize = 5;
const BEGIN: usize = 0;
const END: usize = 1;
const MEAN: usize = 2;
const LEFT: usize = 3;
const RIGHT: usize = 4;

const MAX_WIDTH: usize = 4096;

/// Scores of longer spans would cost more than they could tell.
pub(crate) const MAX_SCORED: usize = 64;

/// Numbers that are worked on together.
const LANES: usize = 16;

/// The sizes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpanHeadShape {
    /// Numbers that enter `v`, a multiple of 16; 0 if there is no such head.
    pub width: usize,
    /// The most words of a span that it scores.
    pub longest: usize,
}

impl SpanHeadShape {
    /// Refuses what the kernels cannot work on.
    pub(crate) fn check(self) -> Result<(), String> {
        if self.width > 0 {
            check_widths(&[("spans", self.width)], MAX_WIDTH)?;
        }
        let scored = if self.width > 0 { 1..=MAX_SCORED } else { 0..=0 };
        match scored.contains(&self.longest) {
            true => Ok(()),
            false => Err(format!("spans of up to {} words have a score", self.longest)),
        }
    }
}

/// Where the parameters lie.
#[derive(Clone, Debug)]
pub(super) struct SpanHead {
    /// `[B E M L R]`
    pub parts: Linear,
    shape: SpanHeadShape,
    vectors: Option<SpanVectors>,
}

#[derive(Clone, Copy, Debug)]
struct SpanVectors {
    lengths: Tensor,
    out: Tensor,
    prior: Tensor,
}

/// Activations and gradients.
#[derive(Default)]
pub(super) struct SpanHeadState {
    /// The words of each utterance.
    utterances: Vec<Range<usize>>,
    /// The parts of each word, after the backward pass their gradients.
    pub parts: Buffer,
    /// Of each word the scores of the spans that begin with it, by length.
    pub scores: Vec<f32>,
    pub d_scores: Vec<f32>,
    /// For each word what spans have of it, and of the word beside it, that begin or end with it.
    edges: [Vec<f32>; 2],
    d_edges: [Vec<f32>; 2],
    d_mean: Vec<f32>,
    /// The sum over the words of a span.
    sum: Vec<f32>,
    /// What enters `v`, for each length its gradient.
    hidden: Vec<f32>,
    d_hidden: Vec<f32>,
}

impl SpanHead {
    /// The matrix, if there is to be such a head; [`SpanHead::vectors`] follows when all matrices of the network have been laid out.
    pub(super) fn matrix(layout: &mut Layout, word: usize, shape: SpanHeadShape) -> Option<Self> {
        let columns = PARTS * shape.width;
        (columns > 0).then(|| SpanHead {
            parts: Linear { weight: layout.matrix("span.parts", word, columns), bias: None },
            shape,
            vectors: None,
        })
    }

    /// Lays out the vectors.
    pub(super) fn vectors(&mut self, layout: &mut Layout) {
        let SpanHeadShape { width, longest } = self.shape;
        self.parts.bias = Some(layout.vector("span.bias", PARTS * width));
        self.vectors = Some(SpanVectors {
            lengths: layout.vector("span.lengths", longest * width),
            out: layout.vector("span.out", width),
            prior: layout.vector("span.prior", longest),
        });
    }

    /// The most words of a span that it scores.
    pub(super) fn longest(&self) -> usize {
        self.shape.longest
    }

    fn tensors(&self) -> SpanVectors {
        self.vectors.expect("laid out with the network")
    }

    /// The scores of all spans of a batch, in which each utterance has some of the rows.
    pub(super) fn forward(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        words: Rows<'_>,
        utterances: impl Iterator<Item = Range<usize>>,
        state: &mut SpanHeadState,
    ) {
        let row = self.parts.weight.width();
        let parts = state.parts.reserve(words.n * row);
        self.parts.forward(kernels, parameters, words, RowsMut { data: parts, row });
        state.edges.iter_mut().for_each(|edges| cleared(edges, words.n * self.shape.width));
        cleared(&mut state.scores, words.n * self.shape.longest);
        let SpanVectors { out, prior, .. } = self.tensors();
        let (v, prior) = (out.of(parameters), prior.of(parameters));
        state.utterances.clear();
        for rows in utterances {
            state.utterances.push(rows.clone());
            self.sum_edges(rows.clone(), state);
            for start in rows.clone() {
                state.sum.clear();
                state.sum.resize(self.shape.width, 0.0);
                for len in 1..=self.shape.longest.min(rows.end - start) {
                    self.enter(parameters, start, len, state);
                    state.scores[start * self.shape.longest + len - 1] =
                        prior[len - 1] + dot(&state.hidden, v);
                }
            }
        }
    }

    /// What words and those beside them give to the spans that begin and end with them.
    fn sum_edges(&self, rows: Range<usize>, state: &mut SpanHeadState) {
        let width = self.shape.width;
        let part = |word: usize, part: usize| &state.parts[self.part(word, part)];
        let [begins, ends] = &mut state.edges;
        for i in rows.clone() {
            let (begin, end) = (&mut begins[i * width..][..width], &mut ends[i * width..][..width]);
            begin.copy_from_slice(part(i, BEGIN));
            end.copy_from_slice(part(i, END));
            if i > rows.start {
                add(part(i - 1, LEFT), begin);
            }
            if i + 1 < rows.end {
                add(part(i + 1, RIGHT), end);
            }
        }
    }

    /// Where a part of a word lies.
    fn part(&self, word: usize, part: usize) -> Range<usize> {
        let start = word * self.parts.weight.width() + part * self.shape.width;
        start..start + self.shape.width
    }

    /// What enters `v` for a span; the spans of fewer words that begin with the same word came before.
    fn enter(&self, parameters: &[f32], start: usize, len: usize, state: &mut SpanHeadState) {
        let (width, last) = (self.shape.width, start + len - 1);
        add(&state.parts[self.part(last, MEAN)], &mut state.sum);
        let share = 1.0 / len as f32;
        let [begin, end] =
            [(0, start), (1, last)].map(|(edge, word)| &state.edges[edge][word * width..][..width]);
        let (length, sum) =
            (&self.tensors().lengths.of(parameters)[(len - 1) * width..][..width], &state.sum[..width]);
        state.hidden.resize(width, 0.0);
        let hidden = &mut state.hidden[..width];
        for k in 0..width {
            hidden[k] = (begin[k] + end[k] + share * sum[k] + length[k]).max(0.0);
        }
    }

    /// From the gradient of the scores to that of the parts, which it writes in their place, and of the vectors but the bias, which
    /// it adds where they lie after so many numbers of matrices.
    pub(super) fn backward(
        &self,
        parameters: &[f32],
        matrices: usize,
        state: &mut SpanHeadState,
        d_vectors: &mut [f32],
    ) {
        let (width, n) = (self.shape.width, state.d_scores.len() / self.shape.longest);
        state.d_edges.iter_mut().for_each(|edges| cleared(edges, n * width));
        cleared(&mut state.d_mean, n * width);
        cleared(&mut state.d_hidden, self.shape.longest * width);
        let utterances = std::mem::take(&mut state.utterances);
        for rows in &utterances {
            for start in rows.clone() {
                let most = self.shape.longest.min(rows.end - start);
                state.sum.fill(0.0);
                for len in 1..=most {
                    self.enter(parameters, start, len, state);
                    self.span_backward(parameters, start, len, matrices, state, d_vectors);
                }
                // A word is held by the spans that end with it or later.
                state.sum.fill(0.0);
                for len in (1..=most).rev() {
                    let (share, last) = (1.0 / len as f32, start + len - 1);
                    add_scaled(share, &state.d_hidden[(len - 1) * width..][..width], &mut state.sum);
                    add(&state.sum, &mut state.d_mean[last * width..][..width]);
                }
            }
            self.edges_backward(rows.clone(), state);
        }
        state.utterances = utterances;
    }

    fn span_backward(
        &self,
        parameters: &[f32],
        start: usize,
        len: usize,
        matrices: usize,
        state: &mut SpanHeadState,
        d_vectors: &mut [f32],
    ) {
        let (width, last) = (self.shape.width, start + len - 1);
        let d = state.d_scores[start * self.shape.longest + len - 1];
        let SpanVectors { lengths, out, prior } = self.tensors();
        let v = out.of(parameters);
        let [lengths, out, prior] = [lengths, out, prior].map(|tensor| tensor.after(matrices));
        prior.of_mut(d_vectors)[len - 1] += d;
        add_scaled(d, &state.hidden, &mut out.of_mut(d_vectors)[..width]);
        let d_hidden = &mut state.d_hidden[(len - 1) * width..][..width];
        for ((d_hidden, v), &hidden) in d_hidden.iter_mut().zip(v).zip(&state.hidden) {
            *d_hidden = if hidden > 0.0 { d * v } else { 0.0 };
        }
        add(d_hidden, &mut lengths.of_mut(d_vectors)[(len - 1) * width..][..width]);
        add(d_hidden, &mut state.d_edges[0][start * width..][..width]);
        add(d_hidden, &mut state.d_edges[1][last * width..][..width]);
    }

    /// Writes the gradients of the parts of an utterance.
    fn edges_backward(&self, rows: Range<usize>, state: &mut SpanHeadState) {
        let width = self.shape.width;
        let [d_begins, d_ends] = &state.d_edges;
        for i in rows.clone() {
            let follows = (i + 1 < rows.end).then_some((d_begins, i + 1));
            let precedes =
                i.checked_sub(1).filter(|&before| before >= rows.start).map(|before| (d_ends, before));
            let from = [Some((d_begins, i)), Some((d_ends, i)), Some((&state.d_mean, i)), follows, precedes];
            for (part, from) in from.into_iter().enumerate() {
                let to = &mut state.parts[self.part(i, part)];
                match from {
                    Some((from, word)) => to.copy_from_slice(&from[word * width..][..width]),
                    None => to.fill(0.0),
                }
            }
        }
    }

    /// The gradient of the parts.
    pub(super) fn d_parts<'s>(&self, n: usize, state: &'s SpanHeadState) -> Rows<'s> {
        Rows { data: &state.parts, n, row: self.parts.weight.width() }
    }
}

fn cleared(numbers: &mut Vec<f32>, n: usize) {
    numbers.clear();
    numbers.resize(n, 0.0);
}

fn add(x: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
}

fn add_scaled(factor: f32, x: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (x, y) in x.chunks_exact(LANES).zip(y.chunks_exact(LANES)) {
        sums.iter_mut().zip(x).zip(y).for_each(|((sum, x), y)| *sum += x * y);
    }
    sums.iter().sum()
}
