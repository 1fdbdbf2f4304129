//! The tagger that answers where a concept is and which slot it fills as two questions, version `span_tagger.v1`.
//!
//! ```text
//! x       = [embedding ; characters ; vector]      of a word, dropout
//! characters = max over positions of relu(F [c_(p-1) ; c_p ; c_(p+1)] + b)
//! h       BiLSTM of x, dropout after
//! boundary = W_p h_i + b_p     outside, begin, inside: the logits of a linear-chain CRF ([`crate::nn::crf`])
//! slot    = W_s h_i + b_s      which one, if it is in any
//! spans   = scores of whole spans beside it, if there are any ([`spans`]): the chain is semi-Markov then ([`crate::nn::semi_crf`])
//! intent  = W_i [mean h ; last] + b_i
//! ```
//! `vector` is a frozen word vector, of width 0 if there are none. `last` is as in [`super::SlotGated`].

#[cfg(feature = "train")]
mod backward;
mod forward;
mod session;
mod spans;

use std::sync::OnceLock;

use crate::features::UNKNOWN_WORD;
use crate::kernel::{Bf16Matrix, Buffer, Kernels};
use crate::label::parts;
use crate::nn::crf::{Crf, N_TAGS};
use crate::nn::semi_crf::SemiCrf;
use crate::nn::{
    Batch, BiLstm, BiLstmState, Layout, Linear, LossWeights, LstmNames, Network, PADDING, Parameters,
};
use crate::nn::{Product, Rows, Tensor, cross_entropy, row_of};
use crate::random::Random;
use crate::settings::is_zero;

use spans::{SpanHead, SpanHeadState};

pub(crate) use session::{SpanTaggerEncoder, SpanTaggerSession};

/// Characters that are looked at together.
const WINDOW: usize = 3;

/// The sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct SpanTaggerShape {
    /// Words of the vocabulary, the one for unknown words included.
    pub words: usize,
    /// Characters of the alphabet, those for all others and for the ends of a word included.
    pub characters: usize,
    /// Slots.
    pub slots: usize,
    /// Intents.
    pub intents: usize,
    /// Width of a word's embedding; a multiple of 16. So are all widths.
    pub embedding: usize,
    /// Width of a character's embedding.
    pub character: usize,
    /// Filters over characters.
    pub filters: usize,
    /// Width of the frozen word vectors; 0 if there are none.
    pub vector: usize,
    /// Width of the hidden state of one direction.
    pub hidden: usize,
    /// Layers of the LSTM: 1 or 2.
    pub layers: usize,
    /// Width of the head that scores whole spans; 0 if there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spans: usize,
    /// The most words of a span that it scores.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub longest: usize,
}

/// The network: where its parameters lie, and what it does with them.
#[derive(Clone, Debug)]
pub(crate) struct SpanTagger {
    shape: SpanTaggerShape,
    layout: Layout,
    embedding: Tensor,
    characters: Tensor,
    filters: Linear,
    lstm: BiLstm,
    upper: Option<BiLstm>,
    boundary: Linear,
    transitions: Tensor,
    slot: Linear,
    intent: Linear,
    spans: Option<SpanHead>,
}

/// What is worked out once for many utterances ([`SpanTagger::prepare`]).
#[derive(Default)]
pub(crate) struct PreparedTagger {
    /// What the first words of the vocabulary give to the gates, from the first time on that they are said.
    gates: Box<[OnceLock<Box<[f32]>>]>,
    /// The recurrent matrices of the layers.
    bf16: [Option<[Bf16Matrix; 2]>; 2],
}

impl PreparedTagger {
    /// What a word gives to the gates, if that is known; those that training did not have differ by their form.
    fn gates(&self, word: u32) -> Option<&[f32]> {
        self.gates.get(word as usize).filter(|_| word != UNKNOWN_WORD)?.get().map(|gates| &**gates)
    }

    /// Keeps it, if the word is among the first.
    fn keep(&self, word: u32, gates: &[f32]) {
        if let Some(kept) = self.gates.get(word as usize).filter(|_| word != UNKNOWN_WORD) {
            kept.get_or_init(|| gates.into());
        }
    }
}

impl std::fmt::Debug for PreparedTagger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PreparedTagger")
    }
}

/// Everything one thread needs to run the network, kept from one batch to the next.
#[derive(Default)]
pub(crate) struct TaggerWorkspace {
    batch: Batch,
    words: Vec<u32>,
    /// For each time-major row which of the distinct forms it has.
    forms: Vec<u32>,
    /// The distinct forms of the batch.
    distinct: Vec<u32>,
    /// Character ids of the distinct forms, one after the other, and where each begins.
    characters: Vec<u8>,
    starts: Vec<usize>,
    /// Their embeddings; a window is a row that overlaps the next.
    embedded: Buffer,
    filtered: Buffer,
    /// For each distinct form and filter the window that it looked at.
    highest: Vec<u32>,
    /// The features of the distinct forms.
    form_rows: Buffer,
    x: Buffer,
    x_factors: Buffer,
    /// The time-major rows of words that were not prepared, with their ids, and what they give to the gates.
    late: Vec<(usize, u32)>,
    late_gates: Buffer,
    lstm: BiLstmState,
    /// What enters the upper layer.
    between: Buffer,
    between_factors: Buffer,
    upper: BiLstmState,
    out: Buffer,
    out_factors: Buffer,
    intent_input: Buffer,
    crf: Crf,
    semi_crf: SemiCrf,
    spans: SpanHeadState,
    boundary_logits: Buffer,
    slot_logits: Buffer,
    intent_logits: Buffer,
    d_out: Buffer,
    d_hidden: Buffer,
    d_between: Buffer,
    no_last: Buffer,
    d_intent_input: Buffer,
    d_x: Buffer,
    d_form_rows: Buffer,
    d_filtered: Buffer,
    d_windows: Buffer,
    d_vectors: Buffer,
}

impl SpanTagger {
    /// A network of this shape.
    pub(crate) fn new(shape: SpanTaggerShape) -> Self {
        let SpanTaggerShape { words, slots, intents, embedding, character, hidden, .. } = shape;
        let mut layout = Layout::default();
        let mut lstm = BiLstm::new(&mut layout, LstmNames::FIRST, shape.input(), hidden);
        let mut upper =
            (shape.layers > 1).then(|| BiLstm::new(&mut layout, LstmNames::UPPER, 2 * hidden, hidden));
        let mut matrix =
            |name, rows, columns| Linear { weight: layout.matrix(name, rows, columns), bias: None };
        let mut filters = matrix("characters.filters", WINDOW * character, shape.filters);
        let mut boundary = matrix("place.weight", 2 * hidden, N_TAGS);
        let mut slot = matrix("slot.weight", 2 * hidden, slots);
        let mut intent = matrix("intent.weight", 6 * hidden, intents);
        let parts = SpanHead::matrix(&mut layout, shape);
        lstm.bias(&mut layout);
        upper.iter_mut().for_each(|upper| upper.bias(&mut layout));
        filters.bias = Some(layout.vector("characters.bias", shape.filters));
        boundary.bias = Some(layout.vector("place.bias", N_TAGS));
        slot.bias = Some(layout.vector("slot.bias", slots));
        intent.bias = Some(layout.vector("intent.bias", intents));
        SpanTagger {
            shape,
            lstm,
            upper,
            filters,
            boundary,
            transitions: layout.vector("place.transitions", N_TAGS * N_TAGS),
            slot,
            intent,
            spans: parts.map(|parts| SpanHead::new(&mut layout, shape, parts)),
            // Every one is used all the time, so it is no table.
            characters: layout.vector("characters.embedding", shape.characters * character),
            embedding: layout.table("embedding", words, embedding),
            layout,
        }
    }

    /// The sizes.
    pub(crate) fn shape(&self) -> SpanTaggerShape {
        self.shape
    }

    /// Fills the padding of the heads, which must never win a softmax.
    pub(crate) fn pad(&self, parameters: &mut [f32]) {
        for bias in [self.slot.bias, self.intent.bias].into_iter().flatten() {
            bias.of_mut(parameters)[bias.columns()..].fill(PADDING);
        }
    }

    /// Gives up bits of the weights by which inference is sooner and the answers no worse.
    pub(crate) fn round(&self, parameters: &mut [f32]) {
        std::iter::once(&self.lstm).chain(&self.upper).for_each(|lstm| lstm.round(parameters));
    }

    /// Logits of where each word stands: outside of all spans, at the beginning or inside of one.
    pub(crate) fn boundary_logits<'w>(
        &self,
        w: &'w TaggerWorkspace,
    ) -> impl ExactSizeIterator<Item = [f32; N_TAGS]> + use<'w> {
        rows(&w.boundary_logits, w.batch.words(), self.boundary.weight).map(three)
    }

    /// What the CRF adds to the logits where one boundary tag follows another, a row for each of the former.
    pub(crate) fn transitions(&self, parameters: &[f32]) -> [[f32; N_TAGS]; N_TAGS] {
        let transitions = self.transitions.of(parameters);
        std::array::from_fn(|from| three(&transitions[from * N_TAGS..]))
    }

    /// The most words of a span that has a score of its own; 0 if none has.
    pub(crate) fn longest(&self) -> usize {
        self.spans.as_ref().map_or(0, |head| head.longest)
    }

    /// For each word the scores of the spans that begin with it, by length.
    pub(crate) fn span_scores<'w>(&self, w: &'w TaggerWorkspace) -> &'w [f32] {
        if self.spans.is_some() { &w.spans.scores } else { &[] }
    }

    /// Logits of the slot that each word would fill.
    pub(crate) fn slot_logits<'w>(
        &self,
        w: &'w TaggerWorkspace,
    ) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        rows(&w.slot_logits, w.batch.words(), self.slot.weight)
    }

    /// Logits of the intent of each utterance.
    pub(crate) fn intent_logits<'w>(
        &self,
        w: &'w TaggerWorkspace,
    ) -> impl ExactSizeIterator<Item = &'w [f32]> + use<'w> {
        rows(&w.intent_logits, w.batch.len(), self.intent.weight)
    }

    /// The loss of the last forward pass, and in place of the logits its gradient.
    ///
    /// Labels are `0` outside, `1 + 2 slot` at the beginning and `2 + 2 slot` inside of a concept. Minus the log
    /// likelihood of the places and, in a concept, the cross entropy of the slot are averaged over the words of an
    /// utterance. The gradient of the transitions is added up in the workspace, where those of vectors begin with 0.
    pub(crate) fn loss<'a>(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        answers: impl Iterator<Item = (&'a [u32], u32)>,
        weights: LossWeights,
        w: &mut TaggerWorkspace,
    ) -> f64 {
        let [boundaries, slots, intents] =
            [self.boundary, self.slot, self.intent].map(|head| head.weight.width());
        let slot_logits = &mut w.slot_logits[..w.batch.words() * slots];
        let intent_logits = &mut w.intent_logits[..w.batch.len() * intents];
        // A corpus may have no slot.
        if slots > 0 {
            kernels.softmax(slots, slot_logits);
        }
        kernels.softmax(intents, intent_logits);
        let longest = self.longest();
        w.spans.d_scores.clear();
        w.spans.d_scores.resize(w.batch.words() * longest, 0.0);
        let d_vectors = w.d_vectors.clear(self.layout.dense() - self.layout.matrices());
        let d_transitions = self.transitions.after(self.layout.matrices()).of_mut(d_vectors);
        let transitions = self.transitions(parameters);
        let mut loss = 0.0;
        for (utterance, (labels, intent)) in answers.enumerate() {
            let rows = w.batch.rows(utterance);
            assert_eq!(labels.len(), rows.len(), "one label for each word");
            let each = weights.slots / rows.len() as f32;
            let boundary_logits = &mut w.boundary_logits[rows.start * boundaries..rows.end * boundaries];
            let gold = labels.iter().map(|&label| parts(label).0);
            let logits = boundary_logits.chunks_exact(boundaries).map(three);
            let minus_ln_p = if self.spans.is_some() {
                let scored = rows.start * longest..rows.end * longest;
                w.semi_crf.forward_backward(logits, &transitions, longest, &w.spans.scores[scored.clone()]);
                let d_logits = boundary_logits.chunks_exact_mut(boundaries);
                w.semi_crf.loss(gold, each, d_logits, d_transitions, &mut w.spans.d_scores[scored])
            } else {
                w.crf.forward_backward(logits, &transitions);
                w.crf.loss(gold, each, boundary_logits.chunks_exact_mut(boundaries), d_transitions)
            };
            loss += f64::from(each) * minus_ln_p;
            for (i, &label) in rows.zip(labels) {
                let row = &mut slot_logits[i * slots..][..slots];
                match parts(label) {
                    (_, None) => row.fill(0.0),
                    (_, Some(slot)) => loss += f64::from(each) * cross_entropy(row, slot, each),
                }
            }
            let row = &mut intent_logits[utterance * intents..][..intents];
            loss += f64::from(weights.intent) * cross_entropy(row, intent, weights.intent);
        }
        if let Some(head) = &self.spans {
            head.backward(parameters, &w.batch, self.layout.matrices(), &mut w.spans, d_vectors);
        }
        loss
    }

    /// The width of a hidden state of both directions.
    fn width(&self) -> usize {
        2 * self.shape.hidden
    }
}

impl SpanTaggerShape {
    /// The width of a word.
    pub(crate) fn input(self) -> usize {
        self.embedding + self.form()
    }

    /// The width of what is known of a word by its form.
    fn form(self) -> usize {
        self.filters + self.vector
    }
}

impl Network for SpanTagger {
    type Workspace = TaggerWorkspace;

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn embedding(&self) -> Tensor {
        self.embedding
    }

    fn matrices(&self) -> Vec<Tensor> {
        let layer = |lstm: &BiLstm| {
            let [forward, backward] = lstm.recurrent();
            [lstm.input().weight, forward, backward]
        };
        let layers = std::iter::once(&self.lstm).chain(&self.upper).flat_map(layer);
        layers
            .chain([self.filters, self.boundary, self.slot, self.intent].map(|linear| linear.weight))
            .chain(self.spans.iter().map(|head| head.parts.weight))
            .collect()
    }

    fn rectified_matrix(&self) -> Option<Tensor> {
        None
    }

    /// Uniform within the square root of 6 over the sum of both dimensions, embeddings within a tenth, biases zero but
    /// for the forget gates', which are one. What whole spans score begins near zero.
    fn initial(&self, random: &mut Random) -> Parameters {
        let mut parameters = Parameters::zeros(&self.layout);
        for (name, tensor) in self.layout.tensors() {
            let hidden = self.shape.hidden;
            let limit = match name {
                "lstm.bias" | "upper.bias" => {
                    self.lstm.fill_bias(tensor, &mut parameters);
                    continue;
                }
                name if name.ends_with("bias") || name.ends_with("transitions") => continue,
                name if name.starts_with("lstm") || name.starts_with("upper") => (1.0 / hidden as f32).sqrt(),
                "span.lengths" | "span.prior" => continue,
                "embedding" | "span.out" => 0.1,
                "characters.embedding" => 0.5,
                _ => (6.0 / (tensor.rows() + tensor.columns()) as f32).sqrt(),
            };
            parameters.fill(tensor, || (2.0 * random.uniform() - 1.0) * limit);
        }
        self.pad(&mut parameters);
        parameters
    }

    fn products<'w>(&self, w: &'w TaggerWorkspace) -> Vec<Product<'w>> {
        let (n, b, width) = (w.batch.words(), w.batch.len(), self.width());
        let x = Rows { data: &w.x, n, row: row_of(self.shape.input()) };
        let mut products = self.lstm.products(&w.batch, x, &w.lstm).to_vec();
        if let Some(upper) = &self.upper {
            let x = Rows { data: &w.between, n, row: self.lstm.hidden_row() };
            products.extend(upper.products(&w.batch, x, &w.upper));
        }
        let out = Rows { data: &w.out, n, row: row_of(width) };
        let intent_input = Rows { data: &w.intent_input, n: b, row: row_of(6 * self.shape.hidden) };
        products.extend(
            [
                (self.filters, self.windows(w), &w.d_filtered),
                (self.boundary, out, &w.boundary_logits),
                (self.slot, out, &w.slot_logits),
                (self.intent, intent_input, &w.intent_logits),
            ]
            .map(|(Linear { weight, .. }, x, dy)| Product {
                weight,
                x,
                dy: Rows { data: dy, n: x.n, row: weight.width() },
            }),
        );
        let head = self.spans.iter();
        products.extend(head.map(|head| Product {
            weight: head.parts.weight,
            x: out,
            dy: head.d_parts(n, &w.spans),
        }));
        products
    }

    fn d_vectors<'w>(&self, w: &'w TaggerWorkspace) -> &'w [f32] {
        &w.d_vectors[..self.layout.dense() - self.layout.matrices()]
    }

    fn d_words<'w>(&self, w: &'w TaggerWorkspace) -> impl Iterator<Item = (u32, &'w [f32])> {
        let (row, width) = (row_of(self.shape.input()), self.shape.embedding);
        w.words.iter().zip(w.d_x.chunks_exact(row)).map(move |(&word, d)| (word, &d[..width]))
    }
}

/// The first three numbers of a row.
fn three(row: &[f32]) -> [f32; N_TAGS] {
    std::array::from_fn(|tag| row[tag])
}

/// Rows of logits without their padding.
fn rows(logits: &Buffer, n: usize, head: Tensor) -> impl ExactSizeIterator<Item = &[f32]> {
    (0..n).map(move |row| &logits[row * head.width()..][..head.columns()])
}
