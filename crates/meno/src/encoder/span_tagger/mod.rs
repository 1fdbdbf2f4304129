//! The tagger that answers where a concept is and which slot it fills as two questions, version `span_tagger.v1`.
//!
//! ```text
//! x       = [embedding ; characters ; vector]      of a word, dropout
//! characters = max over positions of relu(F [c_(p-1) ; c_p ; c_(p+1)] + b)
//! h       BiLSTM of x, dropout after
//! boundary and slot of a word from h, intent from [mean h ; last]: [`SpanHeads`]
//! ```
//! `vector` is a frozen word vector, of width 0 if there are none. `last` is as in [`super::SlotGated`].

#[cfg(feature = "train")]
mod backward;
mod forward;
mod session;

use std::sync::OnceLock;

use super::heads::{HeadSizes, SpanHeads, SpanHeadsState};
use super::span_head::SpanHeadShape;
use crate::encoder::Int8Weights;
use crate::features::UNKNOWN_WORD;
use crate::kernel::{Bf16Matrix, Buffer, Int8Rows};
use crate::nn::{Batch, BiLstm, BiLstmState, Layout, Linear, LstmNames, LstmWeights, Network, Parameters};
use crate::nn::{Product, Rows, Tensor, row_of};
use crate::random::Random;
use crate::tensors::is_zero;

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
    /// Of what has 8 bits, if anything has.
    int8: Layout,
    embedding: Tensor,
    characters: Tensor,
    filters: Linear,
    lstm: BiLstm,
    upper: Option<BiLstm>,
    heads: SpanHeads,
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
    /// What the matrices of a layer are multiplied as.
    fn weights<'w>(&'w self, int8: Option<&'w Int8Weights>, layer: usize) -> LstmWeights<'w> {
        match (int8, &self.bf16[layer]) {
            (Some(int8), _) => LstmWeights::Int8(int8.layer(layer)),
            (None, Some(bf16)) => LstmWeights::Bf16(bf16),
            (None, None) => LstmWeights::Floats,
        }
    }

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
    int8: Int8Rows,
    lstm: BiLstmState,
    /// What enters the upper layer.
    between: Buffer,
    between_factors: Buffer,
    upper: BiLstmState,
    out: Buffer,
    out_factors: Buffer,
    intent_input: Buffer,
    pub(crate) heads: SpanHeadsState,
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
        SpanTagger::with(shape, false)
    }

    /// The same with LSTMs of 8 bits, which are not among its parameters.
    pub(crate) fn in_8_bits(shape: SpanTaggerShape) -> Self {
        SpanTagger::with(shape, true)
    }

    fn with(shape: SpanTaggerShape, has_8_bits: bool) -> Self {
        let SpanTaggerShape { words, slots, intents, embedding, character, hidden, .. } = shape;
        let (mut layout, mut int8) = (Layout::default(), Layout::default());
        let large = if has_8_bits { &mut int8 } else { &mut layout };
        let mut lstm = BiLstm::new(large, LstmNames::FIRST, shape.input(), hidden);
        let mut upper = (shape.layers > 1).then(|| BiLstm::new(large, LstmNames::UPPER, 2 * hidden, hidden));
        let filters = layout.matrix("characters.filters", WINDOW * character, shape.filters);
        let sizes = HeadSizes { slots, intents, spans: shape.scored_spans() };
        let mut heads = SpanHeads::matrices(&mut layout, 2 * hidden, 6 * hidden, sizes);
        lstm.bias(&mut layout);
        upper.iter_mut().for_each(|upper| upper.bias(&mut layout));
        let bias = Some(layout.vector("characters.bias", shape.filters));
        heads.vectors(&mut layout);
        SpanTagger {
            shape,
            lstm,
            upper,
            filters: Linear { weight: filters, bias },
            heads,
            // Every one is used all the time, so it is no table.
            characters: layout.vector("characters.embedding", shape.characters * character),
            embedding: layout.table("embedding", words, embedding),
            layout,
            int8,
        }
    }

    /// The sizes.
    pub(crate) fn shape(&self) -> SpanTaggerShape {
        self.shape
    }

    /// What finds spans and names them.
    pub(crate) fn heads(&self) -> &SpanHeads {
        &self.heads
    }

    /// Where its weights of 8 bits lie.
    pub(crate) fn int8(&self) -> &Layout {
        &self.int8
    }

    /// The same network with LSTMs of 8 bits, and what stays floats of its parameters.
    fn quantize(&self, parameters: &Parameters) -> (SpanTagger, Parameters, Int8Weights) {
        let network = SpanTagger::in_8_bits(self.shape);
        let kept = Parameters::kept(&network.layout, &self.layout, parameters);
        let int8 = Int8Weights::round(&network.int8, &self.layout, parameters);
        (network, kept, int8)
    }

    /// Gives up bits of the weights by which inference is sooner and the answers no worse.
    pub(crate) fn round(&self, parameters: &mut [f32]) {
        std::iter::once(&self.lstm).chain(&self.upper).for_each(|lstm| lstm.round(parameters));
    }

    /// The width of a hidden state of both directions.
    fn width(&self) -> usize {
        2 * self.shape.hidden
    }
}

impl SpanTaggerShape {
    /// The head that scores whole spans.
    pub(crate) fn scored_spans(self) -> SpanHeadShape {
        SpanHeadShape { width: self.spans, longest: self.longest }
    }

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
        layers.chain([self.filters.weight]).chain(self.heads.weights()).collect()
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
        self.heads.pad(&mut parameters);
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
        let windows = self.windows(w);
        let dy = Rows { data: &w.d_filtered, n: windows.n, row: self.filters.weight.width() };
        products.push(Product { weight: self.filters.weight, x: windows, dy });
        products.extend(self.heads.products(out, intent_input, &w.heads));
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
