//! The heads that find spans and name them: where a span is and which slot it fills are two questions.
//!
//! ```text
//! boundary = W_p h_i + b_p     outside, begin, inside: the logits of a linear-chain CRF ([`crate::nn::crf`])
//! slot     = W_s h_i + b_s     which one, if it is in any
//! spans    = scores of whole spans, if there are any ([`super::span_head`]): the CRF is semi-Markov then ([`crate::nn::semi_crf`])
//! intent   = W_i u + b_i       of the whole utterance
//! ```

use std::ops::Range;

use super::span_head::{SpanHead, SpanHeadShape, SpanHeadState};
use crate::emissions::{Logits, SpanScores, Tags};
use crate::kernel::{Buffer, Kernels, Start};
use crate::label::parts;
use crate::nn::crf::{Crf, N_TAGS};
use crate::nn::semi_crf::SemiCrf;
use crate::nn::{Layout, Linear, PADDING, Product, Rows, RowsMut, Tensor, cross_entropy};

/// The parameters of the heads.
#[derive(Clone, Debug)]
pub(crate) struct SpanHeads {
    boundary: Linear,
    slot: Linear,
    intent: Linear,
    transitions: Option<Tensor>,
    spans: Option<SpanHead>,
}

/// What the heads tell apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadSizes {
    pub slots: usize,
    pub intents: usize,
    pub spans: SpanHeadShape,
}

/// Logits, and after the loss their gradients in their place.
#[derive(Default)]
pub(crate) struct SpanHeadsState {
    crf: Crf,
    semi_crf: SemiCrf,
    n_words: usize,
    n_utterances: usize,
    boundary_logits: Buffer,
    slot_logits: Buffer,
    intent_logits: Buffer,
    spans: SpanHeadState,
}

/// The right answer for an utterance: its words among all of the batch, a label for each, its intent.
pub(crate) struct Answer<'a> {
    pub words: Range<usize>,
    /// `0` outside, `1 + 2 slot` at the beginning and `2 + 2 slot` inside of a span.
    pub labels: &'a [u32],
    pub intent: u32,
    /// How much the log likelihood of the boundaries and the cross entropy of each slot count.
    pub slot_weight: f32,
    /// How much the cross entropy of the intent counts.
    pub intent_weight: f32,
}

impl<'a> Answer<'a> {
    /// Those of a batch, from the words of each utterance, and its labels and intent. `slot_weight` says how much slots count where there are so
    /// many words.
    pub(crate) fn of_batch(
        words: impl Iterator<Item = Range<usize>>,
        right: impl Iterator<Item = (&'a [u32], u32)>,
        slot_weight: impl Fn(usize) -> f32,
        intent_weight: f32,
    ) -> impl Iterator<Item = Answer<'a>> {
        words.zip(right).map(move |(words, (labels, intent))| {
            let slot_weight = slot_weight(words.len());
            Answer { words, labels, intent, slot_weight, intent_weight }
        })
    }
}

impl SpanHeads {
    /// The matrices; [`SpanHeads::vectors`] follows when all matrices of the network have been laid out.
    pub(crate) fn matrices(
        layout: &mut Layout,
        word: usize,
        utterance: usize,
        HeadSizes { slots, intents, spans }: HeadSizes,
    ) -> Self {
        let mut matrix =
            |name, rows, columns| Linear { weight: layout.matrix(name, rows, columns), bias: None };
        SpanHeads {
            boundary: matrix("place.weight", word, N_TAGS),
            slot: matrix("slot.weight", word, slots),
            intent: matrix("intent.weight", utterance, intents),
            transitions: None,
            spans: SpanHead::matrix(layout, word, spans),
        }
    }

    /// Lays out biases, transitions and what else scores spans.
    pub(crate) fn vectors(&mut self, layout: &mut Layout) {
        for (name, head) in [
            ("place.bias", &mut self.boundary),
            ("slot.bias", &mut self.slot),
            ("intent.bias", &mut self.intent),
        ] {
            head.bias = Some(layout.vector(name, head.weight.columns()));
        }
        self.transitions = Some(layout.vector("place.transitions", N_TAGS * N_TAGS));
        self.spans.iter_mut().for_each(|spans| spans.vectors(layout));
    }

    /// The matrices in the order of their layout.
    pub(crate) fn weights(&self) -> impl Iterator<Item = Tensor> + use<'_> {
        self.linears().map(|linear| linear.weight)
    }

    fn linears(&self) -> impl Iterator<Item = Linear> + use<'_> {
        [self.boundary, self.slot, self.intent].into_iter().chain(self.spans.iter().map(|spans| spans.parts))
    }

    /// The first of the vectors in the order of their layout.
    pub(crate) fn first_vector(&self) -> Tensor {
        self.boundary.bias.expect("laid out with the network")
    }

    fn transition_tensor(&self) -> Tensor {
        self.transitions.expect("laid out with the network")
    }

    /// Fills the padding, which must never win a softmax.
    pub(crate) fn pad(&self, parameters: &mut [f32]) {
        for bias in [self.slot.bias, self.intent.bias].into_iter().flatten() {
            bias.of_mut(parameters)[bias.columns()..].fill(PADDING);
        }
    }

    /// Logits of the rows of words and of those of utterances, each of which has some of the former; they stay in the state.
    pub(crate) fn forward(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        (words, utterances): (Rows<'_>, Rows<'_>),
        words_of: impl Iterator<Item = Range<usize>>,
        state: &mut SpanHeadsState,
    ) {
        (state.n_words, state.n_utterances) = (words.n, utterances.n);
        for (head, x, logits) in [
            (self.boundary, words, &mut state.boundary_logits),
            (self.slot, words, &mut state.slot_logits),
            (self.intent, utterances, &mut state.intent_logits),
        ] {
            let row = head.weight.width();
            let logits = logits.reserve(x.n * row);
            head.forward(kernels, parameters, x, RowsMut { data: logits, row });
        }
        if let Some(head) = &self.spans {
            head.forward(kernels, parameters, words, words_of, &mut state.spans);
        }
    }

    /// Logits of where each word stands: outside of all spans, at the beginning or inside of one.
    pub(crate) fn boundary_logits<'s>(
        &self,
        state: &'s SpanHeadsState,
    ) -> impl ExactSizeIterator<Item = [f32; N_TAGS]> + use<'s> {
        rows(&state.boundary_logits, state.n_words, self.boundary.weight).map(three)
    }

    /// What the heads say, of no word yet.
    pub(crate) fn tags(&self, parameters: &[f32]) -> Tags {
        Tags::Spans {
            boundaries: Vec::new(),
            transitions: self.transitions(parameters),
            slots: Logits::default(),
            spans: SpanScores { longest: self.longest(), scores: Vec::new() },
        }
    }

    /// What the CRF adds to the logits where one boundary tag follows another, a row for each of the former.
    fn transitions(&self, parameters: &[f32]) -> [[f32; N_TAGS]; N_TAGS] {
        let transitions = self.transition_tensor().of(parameters);
        std::array::from_fn(|from| three(&transitions[from * N_TAGS..]))
    }

    /// The most words of a span that has a score of its own; 0 if none has.
    pub(crate) fn longest(&self) -> usize {
        self.spans.as_ref().map_or(0, SpanHead::longest)
    }

    /// For each word the scores of the spans that begin with it, by length.
    pub(crate) fn span_scores<'s>(&self, state: &'s SpanHeadsState) -> &'s [f32] {
        if self.spans.is_some() { &state.spans.scores } else { &[] }
    }

    /// Logits of the slot that each word would fill.
    pub(crate) fn slot_logits<'s>(
        &self,
        state: &'s SpanHeadsState,
    ) -> impl ExactSizeIterator<Item = &'s [f32]> + use<'s> {
        rows(&state.slot_logits, state.n_words, self.slot.weight)
    }

    /// Logits of the intent of each utterance.
    pub(crate) fn intent_logits<'s>(
        &self,
        state: &'s SpanHeadsState,
    ) -> impl ExactSizeIterator<Item = &'s [f32]> + use<'s> {
        rows(&state.intent_logits, state.n_utterances, self.intent.weight)
    }

    /// The loss of the last forward pass, and in place of the logits its gradient. That of the transitions is added to the
    /// gradients of vectors, which follow so many numbers of matrices.
    pub(crate) fn loss<'a>(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        answers: impl Iterator<Item = Answer<'a>>,
        state: &mut SpanHeadsState,
        (matrices, d_vectors): (usize, &mut [f32]),
    ) -> f64 {
        let [boundaries, slots, intents] = self.widths();
        let slot_logits = &mut state.slot_logits[..state.n_words * slots];
        let intent_logits = &mut state.intent_logits[..state.n_utterances * intents];
        // A corpus may have no slot.
        if slots > 0 {
            kernels.softmax(slots, slot_logits);
        }
        kernels.softmax(intents, intent_logits);
        let d_transitions = self.transition_tensor().after(matrices).of_mut(d_vectors);
        let (transitions, longest) = (self.transitions(parameters), self.longest());
        state.spans.d_scores.clear();
        state.spans.d_scores.resize(state.n_words * longest, 0.0);
        let mut loss = 0.0;
        for (utterance, Answer { words, labels, intent, slot_weight, intent_weight }) in answers.enumerate() {
            assert_eq!(labels.len(), words.len(), "one label for each word");
            let logits = &mut state.boundary_logits[words.start * boundaries..words.end * boundaries];
            let gold = labels.iter().map(|&label| parts(label).0);
            let read = logits.chunks_exact(boundaries).map(three);
            let minus_ln_p = if self.spans.is_some() {
                let (crf, scored) = (&mut state.semi_crf, words.start * longest..words.end * longest);
                let SpanHeadState { scores, d_scores, .. } = &mut state.spans;
                crf.forward_backward(read, &transitions, longest, &scores[scored.clone()]);
                let d_logits = logits.chunks_exact_mut(boundaries);
                crf.loss(gold, slot_weight, d_logits, d_transitions, &mut d_scores[scored])
            } else {
                state.crf.forward_backward(read, &transitions);
                state.crf.loss(gold, slot_weight, logits.chunks_exact_mut(boundaries), d_transitions)
            };
            loss += f64::from(slot_weight) * minus_ln_p;
            for (i, &label) in words.zip(labels) {
                let row = &mut slot_logits[i * slots..][..slots];
                match parts(label) {
                    (_, None) => row.fill(0.0),
                    (_, Some(slot)) => {
                        loss += f64::from(slot_weight) * cross_entropy(row, slot, slot_weight);
                    }
                }
            }
            let row = &mut intent_logits[utterance * intents..][..intents];
            loss += f64::from(intent_weight) * cross_entropy(row, intent, intent_weight);
        }
        if let Some(head) = &self.spans {
            head.backward(parameters, matrices, &mut state.spans, d_vectors);
        }
        loss
    }

    /// The gradients of the rows of utterances after the loss.
    pub(crate) fn utterances_backward(
        &self,
        kernels: Kernels,
        transposed: &[f32],
        state: &SpanHeadsState,
        d_utterances: RowsMut<'_>,
    ) {
        let d_logits =
            Rows { data: &state.intent_logits, n: state.n_utterances, row: self.intent.weight.width() };
        self.intent.backward_input(kernels, transposed, d_logits, d_utterances, Start::Zero);
    }

    /// The gradients of the rows of words after the loss, and those of the biases.
    pub(crate) fn words_backward(
        &self,
        kernels: Kernels,
        transposed: &[f32],
        state: &SpanHeadsState,
        (RowsMut { data, row }, start): (RowsMut<'_>, Start<'_>),
        (matrices, d_vectors): (usize, &mut [f32]),
    ) {
        let mut start = Some(start);
        for (i, (linear, dy)) in self.linears().zip(self.d_logits(state)).enumerate() {
            if i != INTENT {
                let (to, start) = (RowsMut { data: &mut *data, row }, start.take().unwrap_or(Start::Sum));
                linear.backward_input(kernels, transposed, dy, to, start);
            }
            if linear.weight.columns() > 0 {
                linear.backward_bias(kernels, dy, matrices, d_vectors);
            }
        }
    }

    fn widths(&self) -> [usize; 3] {
        [self.boundary, self.slot, self.intent].map(|head| head.weight.width())
    }

    /// In the order of the matrices.
    fn d_logits<'s>(&self, state: &'s SpanHeadsState) -> impl Iterator<Item = Rows<'s>> + use<'_, 's> {
        let [boundary, slot, intent] = self.widths();
        let spans = self.spans.iter().map(|head| head.d_parts(state.n_words, &state.spans));
        [
            Rows { data: &state.boundary_logits, n: state.n_words, row: boundary },
            Rows { data: &state.slot_logits, n: state.n_words, row: slot },
            Rows { data: &state.intent_logits, n: state.n_utterances, row: intent },
        ]
        .into_iter()
        .chain(spans)
    }

    /// The two sides of the gradient of each matrix.
    pub(crate) fn products<'s>(
        &self,
        words: Rows<'s>,
        utterances: Rows<'s>,
        state: &'s SpanHeadsState,
    ) -> impl Iterator<Item = Product<'s>> + use<'_, 's> {
        self.weights().zip(self.d_logits(state)).enumerate().map(move |(i, (weight, dy))| {
            let x = if i == INTENT { utterances } else { words };
            Product { weight, x, dy }
        })
    }
}

/// Which of the matrices is that of intents, which do not see words.
const INTENT: usize = 2;

/// The first three numbers of a row.
fn three(row: &[f32]) -> [f32; N_TAGS] {
    std::array::from_fn(|tag| row[tag])
}

/// Rows of logits without their padding.
fn rows(logits: &Buffer, n: usize, head: Tensor) -> impl ExactSizeIterator<Item = &[f32]> {
    (0..n).map(move |row| &logits[row * head.width()..][..head.columns()])
}
