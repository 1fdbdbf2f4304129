//! What a transformer ends in: heads that find spans, or, in the way of the paper, a softmax over the labels of a word.

use super::TransformerTaggerShape;
use std::ops::Range;

use crate::encoder::heads::{Answer, HeadSizes, SpanHeads, SpanHeadsState};
use crate::encoder::label_head::{EntropyLoss, LabelHead, LabelState};
use crate::kernel::{Buffer, Kernels, Start, padded};
use crate::nn::{Layout, Linear, PADDING, Product, Rows, RowsMut, Tensor, cross_entropy};

/// Where their parameters lie.
#[derive(Clone, Debug)]
pub(super) enum Heads {
    /// Boundary tags, slots, intents.
    Spans(Box<SpanHeads>),
    /// Labels, intents.
    Labels(LabelHeads),
}

/// A softmax over the labels of a word, and one over intents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelHeads {
    pub label: LabelHead,
    intent: Linear,
}

/// Logits, and after the loss their gradients in their place.
#[derive(Default)]
pub(super) struct HeadsState {
    pub spans: SpanHeadsState,
    pub labels: LabelHeadsState,
}

/// Those of labels.
#[derive(Default)]
pub(super) struct LabelHeadsState {
    pub n_words: usize,
    pub label: LabelState,
    n_utterances: usize,
    intent_logits: Buffer,
}

impl Heads {
    /// The matrices; [`Heads::vectors`] follows when all matrices of the network have been laid out.
    pub(super) fn matrices(layout: &mut Layout, shape: &TransformerTaggerShape) -> Self {
        let (hidden, intents) = (shape.encoder.hidden, shape.intents);
        let Some(labels) = shape.labels else {
            let sizes = HeadSizes { slots: shape.slots, intents, spans: shape.scored_spans() };
            return Heads::Spans(Box::new(SpanHeads::matrices(layout, hidden, 2 * hidden, sizes)));
        };
        let mut matrix =
            |name, rows, columns| Linear { weight: layout.matrix(name, rows, columns), bias: None };
        let linear = matrix("slot.weight", hidden, labels.n);
        let intent = matrix("intent.weight", 2 * hidden, intents);
        let calibration =
            (labels.is_calibrated).then(|| matrix(LabelHead::CALIBRATION, padded(labels.n), labels.n).weight);
        Heads::Labels(LabelHeads { label: LabelHead { linear, calibration }, intent })
    }

    /// Lays out biases and transitions.
    pub(super) fn vectors(&mut self, layout: &mut Layout) {
        match self {
            Heads::Spans(heads) => heads.vectors(layout),
            Heads::Labels(LabelHeads { label, intent }) => {
                label.linear.bias = Some(layout.vector("slot.bias", label.n_labels()));
                intent.bias = Some(layout.vector("intent.bias", intent.weight.columns()));
            }
        }
    }

    /// The matrices in the order of their layout.
    pub(super) fn weights(&self) -> Vec<Tensor> {
        match self {
            Heads::Spans(heads) => heads.weights().collect(),
            Heads::Labels(LabelHeads { label, intent }) => {
                [label.linear.weight, intent.weight].into_iter().chain(label.calibration).collect()
            }
        }
    }

    /// The first of the vectors in the order of their layout.
    pub(super) fn first_vector(&self) -> Tensor {
        match self {
            Heads::Spans(heads) => heads.first_vector(),
            Heads::Labels(heads) => heads.label.linear.bias.expect("laid out with the network"),
        }
    }

    /// The calibration matrix, if there is one.
    pub(super) fn calibration(&self) -> Option<Tensor> {
        match self {
            Heads::Spans(_) => None,
            Heads::Labels(heads) => heads.label.calibration,
        }
    }

    /// Fills the padding, which must never win a softmax.
    pub(super) fn pad(&self, parameters: &mut [f32]) {
        match self {
            Heads::Spans(heads) => heads.pad(parameters),
            Heads::Labels(LabelHeads { label, intent }) => {
                for bias in [label.linear.bias, intent.bias].into_iter().flatten() {
                    bias.of_mut(parameters)[bias.columns()..].fill(PADDING);
                }
            }
        }
    }

    /// Logits of the rows of words and of those of utterances, each of which has some of the former; they stay in the state.
    pub(super) fn forward(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        (words, utterances): (Rows<'_>, Rows<'_>),
        words_of: impl Iterator<Item = Range<usize>>,
        state: &mut HeadsState,
    ) {
        match self {
            Heads::Spans(heads) => {
                heads.forward(kernels, parameters, (words, utterances), words_of, &mut state.spans);
            }
            Heads::Labels(LabelHeads { label, intent }) => {
                let state = &mut state.labels;
                (state.n_words, state.n_utterances) = (words.n, utterances.n);
                label.forward(kernels, parameters, words, &mut state.label);
                let row = intent.weight.width();
                let data = state.intent_logits.reserve(utterances.n * row);
                intent.forward(kernels, parameters, utterances, RowsMut { data, row });
            }
        }
    }

    /// Logits of the intent of an utterance.
    pub(super) fn intent_logits<'s>(&self, utterance: usize, state: &'s HeadsState) -> &'s [f32] {
        match self {
            Heads::Spans(heads) => heads.intent_logits(&state.spans).nth(utterance).unwrap_or(&[]),
            Heads::Labels(LabelHeads { intent, .. }) => {
                &state.labels.intent_logits[utterance * intent.weight.width()..][..intent.weight.columns()]
            }
        }
    }

    /// The gradients of the rows of words and of utterances after the loss, and those of the biases.
    pub(super) fn backward(
        &self,
        kernels: Kernels,
        transposed: &[f32],
        state: &HeadsState,
        (d_words, d_utterances): (RowsMut<'_>, RowsMut<'_>),
        (matrices, d_vectors): (usize, &mut [f32]),
    ) {
        let LabelHeads { label, intent } = match self {
            Heads::Spans(heads) => {
                heads.utterances_backward(kernels, transposed, &state.spans, d_utterances);
                let (to, vectors) = ((d_words, Start::Zero), (matrices, d_vectors));
                return heads.words_backward(kernels, transposed, &state.spans, to, vectors);
            }
            Heads::Labels(heads) => heads,
        };
        let (of_labels, of_intents) = self.d_logits(label, intent, &state.labels);
        label.linear.backward_input(kernels, transposed, of_labels, d_words, Start::Zero);
        intent.backward_input(kernels, transposed, of_intents, d_utterances, Start::Zero);
        label.linear.backward_bias(kernels, of_labels, matrices, d_vectors);
        intent.backward_bias(kernels, of_intents, matrices, d_vectors);
    }

    fn d_logits<'s>(
        &self,
        label: &LabelHead,
        intent: &Linear,
        state: &'s LabelHeadsState,
    ) -> (Rows<'s>, Rows<'s>) {
        let of_labels = label.d_logits(state.n_words, &state.label);
        let (n, row) = (state.n_utterances, intent.weight.width());
        (of_labels, Rows { data: &state.intent_logits, n, row })
    }

    /// The two sides of the gradient of each matrix.
    pub(super) fn products<'s>(
        &self,
        words: Rows<'s>,
        utterances: Rows<'s>,
        state: &'s HeadsState,
    ) -> Vec<Product<'s>> {
        match self {
            Heads::Spans(heads) => heads.products(words, utterances, &state.spans).collect(),
            Heads::Labels(LabelHeads { label, intent }) => {
                let (of_label, calibration) = label.products(words, &state.labels.label);
                let (_, dy) = self.d_logits(label, intent, &state.labels);
                let of_intent = Product { weight: intent.weight, x: utterances, dy };
                [of_label, of_intent].into_iter().chain(calibration).collect()
            }
        }
    }
}

impl LabelHeads {
    /// The loss of the last forward pass, and in place of the logits its gradient.
    ///
    /// The cross entropy of the labels, and with the entropy regularizer minus their entropy, is averaged over the words of an
    /// utterance. Words that do not count have no cross entropy.
    pub(super) fn loss<'a>(
        &self,
        kernels: Kernels,
        answers: impl Iterator<Item = Answer<'a>>,
        counts: impl Fn(usize) -> bool,
        second: Option<EntropyLoss<'_>>,
        state: &mut LabelHeadsState,
    ) -> f64 {
        let intents = self.intent.weight.width();
        self.label.begin_loss(kernels, second, state.n_words, &mut state.label);
        kernels.softmax(intents, &mut state.intent_logits[..state.n_utterances * intents]);
        let mut loss = 0.0;
        for (utterance, answer) in answers.enumerate() {
            let Answer { words, labels, intent, slot_weight, intent_weight } = answer;
            let n = words.len() as f32;
            loss +=
                self.label.cross_entropy(words.clone(), labels, slot_weight / n, &counts, &mut state.label);
            if let Some(second) = second {
                let weight = slot_weight * second.lambda;
                loss += self.label.entropy_loss(kernels, words, weight, &mut state.label);
            }
            let row = &mut state.intent_logits[utterance * intents..][..intents];
            loss += f64::from(intent_weight) * cross_entropy(row, intent, intent_weight);
        }
        loss
    }
}
