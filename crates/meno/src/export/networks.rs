//! The two networks as graphs: the same arithmetic as their forward passes, for one utterance.

use super::graph::{Attribute, Graph, Side, Type, Value};
use crate::encoder::{Calibration, SlotGatedEncoder, SpanTaggerEncoder};
use crate::features::{BUCKETS, NETWORK, Ngrams};
use crate::kernel::LEFT;
use crate::nn::{Layout, Network, Parameters};

const WORDS: Side = Side::Named("words");

/// Puts the weights of a network into a graph under the names of the model file.
struct Weights<'a> {
    graph: Graph,
    layout: &'a Layout,
    parameters: &'a Parameters,
}

impl Weights<'_> {
    /// The values of a tensor, row by row.
    fn values(&self, name: &str) -> Vec<f32> {
        let tensor = self.layout.tensors().find(|(other, _)| *other == name);
        tensor.map_or(Vec::new(), |(_, tensor)| self.parameters.values(tensor))
    }

    /// A tensor in a shape that its values fill.
    fn tensor(&mut self, name: &str, sides: &[usize]) -> Value {
        let values = self.values(name);
        self.graph.floats(name, sides, &values)
    }

    /// `x W + b` with a head's weight and bias.
    fn head(&mut self, name: &str, x: &Value, from: usize, to: usize) -> Value {
        let weight = self.tensor(&format!("{name}.weight"), &[from, to]);
        let bias = self.tensor(&format!("{name}.bias"), &[to]);
        self.graph.linear(x, &weight, &bias)
    }

    /// Both directions over rows of `width`: the states of the words side by side, and `last` as one row.
    fn lstm(&mut self, name: &str, x: &Value, width: usize, hidden: usize) -> [Value; 2] {
        let input = self.values(&format!("{name}.input"));
        let bias = self.values(&format!("{name}.bias"));
        let recurrent = ["recurrent_forward", "recurrent_backward"];
        let recurrent = recurrent.map(|direction| self.values(&format!("{name}.{direction}")));
        let (mut w, mut r, mut b) = (Vec::new(), Vec::new(), Vec::new());
        for (direction, recurrent) in recurrent.iter().enumerate() {
            let first = direction * 4 * hidden;
            for gate in gates(hidden) {
                w.extend((0..width).map(|row| input[row * 8 * hidden + first + gate]));
                r.extend((0..hidden).map(|row| recurrent[row * 4 * hidden + gate]));
                b.push(bias[first + gate]);
            }
            b.resize(b.len() + 4 * hidden, 0.0);
        }
        let w = self.graph.floats(&format!("{name}.w"), &[2, 4 * hidden, width], &w);
        let r = self.graph.floats(&format!("{name}.r"), &[2, 4 * hidden, hidden], &r);
        let b = self.graph.floats(&format!("{name}.b"), &[2, 8 * hidden], &b);
        let graph = &mut self.graph;
        let x = graph.reshape(x, &[-1, 1, width as i64]);
        let attributes = [
            ("direction", Attribute::Text("bidirectional")),
            ("hidden_size", Attribute::Integer(hidden as i64)),
        ];
        let [states, last_h, last_c] = graph.nodes("LSTM", &[&x, &w, &r, &b], &attributes);
        let states = graph.reshape(&states, &[-1, 2 * hidden as i64]);
        let last = graph.concat(2, &[&last_c, &last_h]);
        let last = graph.reshape(&last, &[1, 4 * hidden as i64]);
        [states, last]
    }
}

/// Our columns i, f, g, o in the order of ONNX: i, o, f, g.
fn gates(hidden: usize) -> impl Iterator<Item = usize> {
    [0, 3, 1, 2].into_iter().flat_map(move |gate| (0..hidden).map(move |unit| gate * hidden + unit))
}

/// `words` enters; `labels`, `intents` and, of a calibrated tagger, `concentrations` leave.
pub(super) fn slot_gated(encoder: &SlotGatedEncoder) -> Vec<u8> {
    let SlotGatedEncoder { network, parameters, calibration, .. } = encoder;
    let shape = network.shape();
    let (hidden, labels) = (shape.hidden, shape.labels);
    let (width, last_width) = (2 * hidden, 4 * hidden);
    let mut weights = Weights { graph: Graph::default(), layout: network.layout(), parameters };
    let words = weights.graph.input("words", Type::Integer, &[WORDS]);
    let table = weights.tensor("embedding", &[shape.words, shape.embedding]);
    let embedded = weights.graph.node("Gather", &[&table, &words], &[]);
    let [states, last] = weights.lstm("lstm", &embedded, shape.embedding, hidden);
    let context = slot_attention(&mut weights, &states, width);
    let intent = intent_attention(&mut weights, &states, &last, width);
    let input = weights.graph.concat(1, &[&intent, &last]);
    let query = weights.head("gate", &input, width + last_width, width);
    let vector = weights.tensor("gate.vector", &[width, 1]);
    let graph = &mut weights.graph;
    let sum = graph.node("Add", &[&context, &query], &[]);
    let tanh = graph.node("Tanh", &[&sum], &[]);
    let gate = graph.node("MatMul", &[&tanh, &vector], &[]);
    let gated = graph.node("Mul", &[&gate, &context], &[]);
    let slot_input = graph.concat(1, &[&gated, &states]);
    let logits = weights.head("slot", &slot_input, 2 * width, labels);
    let intents = weights.head("intent", &input, width + last_width, shape.intents);
    let intents = weights.graph.reshape(&intents, &[-1]);
    weights.graph.output("labels", &logits, &[WORDS, Side::Of(labels)]);
    weights.graph.output("intents", &intents, &[Side::Of(shape.intents)]);
    if shape.calibrated {
        let concentrations = concentrations(&mut weights, &logits, *calibration, labels);
        weights.graph.output("concentrations", &concentrations, &[WORDS, Side::Of(labels)]);
    }
    weights.graph.into_bytes("slot_gated")
}

/// c_i = sum_j a_ij h_j with a_i = softmax_j v . tanh(A h_j + B h_i + b).
fn slot_attention(weights: &mut Weights<'_>, states: &Value, width: usize) -> Value {
    let [key, query] =
        ["slot_attention.key", "slot_attention.query"].map(|name| weights.tensor(name, &[width, width]));
    let bias = weights.tensor("slot_attention.query_bias", &[width]);
    let vector = weights.tensor("slot_attention.vector", &[width, 1]);
    let graph = &mut weights.graph;
    let keys = graph.node("MatMul", &[states, &key], &[]);
    let queries = graph.linear(states, &query, &bias);
    let queries = graph.reshape(&queries, &[-1, 1, width as i64]);
    let sums = graph.node("Add", &[&queries, &keys], &[]);
    let tanh = graph.node("Tanh", &[&sums], &[]);
    let scores = graph.node("MatMul", &[&tanh, &vector], &[]);
    let axis = graph.integers(&[2]);
    let scores = graph.node("Squeeze", &[&scores, &axis], &[]);
    let shares = graph.node("Softmax", &[&scores], &[("axis", Attribute::Integer(1))]);
    graph.node("MatMul", &[&shares, states], &[])
}

/// The same with the last states as the query.
fn intent_attention(weights: &mut Weights<'_>, states: &Value, last: &Value, width: usize) -> Value {
    let key = weights.tensor("intent_attention.key", &[width, width]);
    let query = weights.tensor("intent_attention.query", &[2 * width, width]);
    let bias = weights.tensor("intent_attention.query_bias", &[width]);
    let vector = weights.tensor("intent_attention.vector", &[width, 1]);
    let graph = &mut weights.graph;
    let keys = graph.node("MatMul", &[states, &key], &[]);
    let query = graph.linear(last, &query, &bias);
    let sums = graph.node("Add", &[&keys, &query], &[]);
    let tanh = graph.node("Tanh", &[&sums], &[]);
    let scores = graph.node("MatMul", &[&tanh, &vector], &[]);
    let scores = graph.node("Transpose", &[&scores], &[]);
    let shares = graph.node("Softmax", &[&scores], &[("axis", Attribute::Integer(1))]);
    graph.node("MatMul", &[&shares, states], &[])
}

/// Log concentrations of the labels' Dirichlet distributions; the formulas are those of `kernel::calibrate`.
fn concentrations(
    weights: &mut Weights<'_>,
    logits: &Value,
    calibration: Calibration,
    n_labels: usize,
) -> Value {
    const ROWS: [(&str, Attribute<'static>); 2] =
        [("axes", Attribute::Integers(&[1])), ("keepdims", Attribute::Integer(1))];
    let mut matrix = weights.values("calibration.weight");
    matrix.truncate(n_labels * n_labels);
    matrix.iter_mut().for_each(|weight| *weight = weight.max(0.0));
    let graph = &mut weights.graph;
    let matrix = graph.floats("calibration.rectified", &[n_labels, n_labels], &matrix);
    let [delta, one, most, tiny, ln_scale] =
        [calibration.delta, 1.0, 1.0 - LEFT, f32::MIN_POSITIVE, calibration.scale.ln()]
            .map(|value| graph.float(value));
    let highest = graph.node("ReduceMax", &[logits], &ROWS);
    let below = graph.node("Sub", &[logits, &highest], &[]);
    let shares = graph.node("Exp", &[&below], &[]);
    let shares = graph.node("Max", &[&shares, &tiny], &[]);
    let taken = graph.node("MatMul", &[&shares, &matrix], &[]);
    let largest = graph.node("ReduceMax", &[&taken], &ROWS);
    let largest = graph.node("Max", &[&largest, &tiny], &[]);
    let shrink = graph.node("Div", &[&delta, &largest], &[]);
    let shrink = graph.node("Min", &[&shrink, &one], &[]);
    let taken = graph.node("Mul", &[&taken, &shrink], &[]);
    let share = graph.node("Div", &[&taken, &shares], &[]);
    let share = graph.node("Min", &[&share, &most], &[]);
    let left = graph.node("Sub", &[&one, &share], &[]);
    let left = graph.node("Log", &[&left], &[]);
    let scaled = graph.node("Add", &[logits, &ln_scale], &[]);
    graph.node("Add", &[&scaled, &left], &[])
}

/// What a span tagger has besides its network.
pub(super) struct Beside<'a> {
    /// For each word of the vocabulary what its logit of being outside loses.
    pub outside_penalties: Vec<f32>,
    pub ngrams: Option<&'a Ngrams>,
}

/// `words`, `characters`, `vectors` and `ngrams` enter; `boundaries`, `transitions`, `outside_penalties`, `span_scores`, `slots`
/// and `intents` leave.
pub(super) fn span_tagger(encoder: &SpanTaggerEncoder, beside: &Beside<'_>) -> Vec<u8> {
    let SpanTaggerEncoder { network, parameters, .. } = encoder;
    let shape = network.shape();
    let (hidden, width) = (shape.hidden, 2 * shape.hidden);
    let mut weights = Weights { graph: Graph::default(), layout: network.layout(), parameters };
    let words = weights.graph.input("words", Type::Integer, &[WORDS]);
    let table = weights.tensor("embedding", &[shape.words, shape.embedding]);
    let embedded = weights.graph.node("Gather", &[&table, &words], &[]);
    let spelt = characters(&mut weights, [shape.characters, shape.character, shape.filters]);
    let mut parts = vec![embedded, spelt];
    if shape.vector > 0 {
        parts.push(weights.graph.input("vectors", Type::Float, &[WORDS, Side::Of(shape.vector)]));
    }
    let input = weights.graph.concat(1, &parts.iter().collect::<Vec<_>>());
    let [mut states, mut last] = weights.lstm("lstm", &input, shape.input(), hidden);
    if shape.layers > 1 {
        [states, last] = weights.lstm("upper", &states, width, hidden);
    }
    let boundaries = weights.head("place", &states, width, 3);
    weights.graph.output("boundaries", &boundaries, &[WORDS, Side::Of(3)]);
    let transitions = weights.tensor("place.transitions", &[3, 3]);
    weights.graph.output("transitions", &transitions, &[Side::Of(3), Side::Of(3)]);
    let penalties = &beside.outside_penalties;
    let penalties = weights.graph.floats("outside.penalties", &[penalties.len()], penalties);
    let penalties = weights.graph.node("Gather", &[&penalties, &words], &[]);
    weights.graph.output("outside_penalties", &penalties, &[WORDS]);
    if shape.spans > 0 {
        let scores = span_scores(&mut weights, &states, [width, shape.spans, shape.longest]);
        weights.graph.output("span_scores", &scores, &[WORDS, Side::Of(shape.longest)]);
    }
    // A corpus may have no slot.
    if shape.slots > 0 {
        let slots = weights.head("slot", &states, width, shape.slots);
        weights.graph.output("slots", &slots, &[WORDS, Side::Of(shape.slots)]);
    }
    let mean = [("axes", Attribute::Integers(&[0])), ("keepdims", Attribute::Integer(1))];
    let mean = weights.graph.node("ReduceMean", &[&states], &mean);
    let input = weights.graph.concat(1, &[&mean, &last]);
    let mut intents = weights.head("intent", &input, 3 * width, shape.intents);
    if let Some(ngrams) = beside.ngrams {
        intents = join_ngrams(&mut weights.graph, &intents, ngrams);
    }
    let intents = weights.graph.reshape(&intents, &[-1]);
    weights.graph.output("intents", &intents, &[Side::Of(shape.intents)]);
    weights.graph.into_bytes("span_tagger")
}

/// The char-CNN over rows of character ids that end in -1: a window counts if its last character does.
fn characters(weights: &mut Weights<'_>, [characters, width, filters]: [usize; 3]) -> Value {
    let sides = [WORDS, Side::Named("characters")];
    let ids = weights.graph.input("characters", Type::Integer, &sides);
    let table = weights.tensor("characters.embedding", &[characters, width]);
    // The rows of our matrix are those of three characters side by side; Conv has them last.
    let ours = weights.values("characters.filters");
    let kernel: Vec<f32> = (0..filters)
        .flat_map(|filter| (0..width).flat_map(move |column| (0..3).map(move |at| (filter, column, at))))
        .map(|(filter, column, at)| ours[(at * width + column) * filters + filter])
        .collect();
    let kernel = weights.graph.floats("characters.kernel", &[filters, width, 3], &kernel);
    let bias = weights.tensor("characters.bias", &[filters]);
    let graph = &mut weights.graph;
    let [zero, two, most, one] = [0, 2, i64::MAX, 1].map(|value| graph.integers(&[value]));
    let there = graph.node("Max", &[&ids, &zero], &[]);
    let embedded = graph.node("Gather", &[&table, &there], &[]);
    let embedded = graph.node("Transpose", &[&embedded], &[("perm", Attribute::Integers(&[0, 2, 1]))]);
    let filtered = graph.node("Conv", &[&embedded, &kernel, &bias], &[]);
    let ends = graph.node("Slice", &[&ids, &two, &most, &one], &[]);
    let counts = graph.node("GreaterOrEqual", &[&ends, &zero], &[]);
    let counts = graph.node("Unsqueeze", &[&counts, &one], &[]);
    let lowest = graph.float(f32::MIN);
    let filtered = graph.node("Where", &[&counts, &filtered, &lowest], &[]);
    let axes = [("axes", Attribute::Integers(&[2])), ("keepdims", Attribute::Integer(0))];
    let highest = graph.node("ReduceMax", &[&filtered], &axes);
    graph.node("Relu", &[&highest], &[])
}

/// Of each word the scores of the spans of 1, 2, ... `longest` words that begin with it, as `SpanHead` has them; those that end
/// after the utterance are scored as if words of zeros followed.
fn span_scores(weights: &mut Weights<'_>, states: &Value, [width, spans, longest]: [usize; 3]) -> Value {
    let weight = weights.tensor("span.parts", &[width, 5 * spans]);
    let bias = weights.tensor("span.bias", &[5 * spans]);
    let out = weights.tensor("span.out", &[spans, 1]);
    let prior = weights.tensor("span.prior", &[longest]);
    let lengths = weights.values("span.lengths");
    let graph = &mut weights.graph;
    let parts = graph.linear(states, &weight, &bias);
    // With a row of zeros before the words and `longest + 1` after them, what a shift brings in is 0.
    let [before, after] = [1, longest as i64 + 1];
    let around = graph.integers(&[before, 0, after, 0]);
    let parts = graph.node("Pad", &[&parts, &around], &[]);
    let columns = [("axis", Attribute::Integer(1))];
    let [begin, end, mean, left, right] = graph.nodes("Split", &[&parts], &columns);
    // For each word the row of the one that stands so far after it.
    let shifted = |graph: &mut Graph, rows: &Value, by: i64| {
        let [first, last] = [before + by, by - after].map(|row| graph.integers(&[row]));
        graph.node("Slice", &[rows, &first, &last], &[])
    };
    let [begin, left] = [(&begin, 0), (&left, -1)].map(|(rows, by)| shifted(graph, rows, by));
    let mut sum = graph.float(0.0);
    let mut scores = Vec::new();
    for (last, length) in lengths.chunks(spans).enumerate() {
        let length = graph.floats(&format!("span.lengths.{last}"), &[spans], length);
        let share = graph.float(1.0 / (last + 1) as f32);
        let last = last as i64;
        let [end, word, right] =
            [(&end, last), (&mean, last), (&right, last + 1)].map(|(rows, by)| shifted(graph, rows, by));
        sum = graph.node("Add", &[&sum, &word], &[]);
        let mean = graph.node("Mul", &[&sum, &share], &[]);
        let hidden = graph.node("Sum", &[&begin, &end, &mean, &left, &right, &length], &[]);
        let hidden = graph.node("Relu", &[&hidden], &[]);
        scores.push(graph.node("MatMul", &[&hidden, &out], &[]));
    }
    let scores = graph.concat(1, &scores.iter().collect::<Vec<_>>());
    graph.node("Add", &[&scores, &prior], &[])
}

/// Counts of n-grams enter; the intents by both opinions leave, as [`Ngrams::join`] has them.
fn join_ngrams(graph: &mut Graph, intents: &Value, ngrams: &Ngrams) -> Value {
    let n_intents = ngrams.bias.len();
    let counts = graph.input("ngrams", Type::Float, &[Side::Of(2), Side::Of(BUCKETS)]);
    let idf = graph.floats("ngrams.idf", &[2, BUCKETS], &ngrams.idf);
    let weight = graph.floats("ngrams.weight", &[BUCKETS, n_intents], &ngrams.weights);
    let bias = graph.floats("ngrams.bias", &[n_intents], &ngrams.bias);
    let [one, tiny, half] = [1.0, f32::MIN_POSITIVE, NETWORK].map(|value| graph.float(value));
    let present = graph.node("Min", &[&counts, &one], &[]);
    let at_least_one = graph.node("Max", &[&counts, &one], &[]);
    let ln = graph.node("Log", &[&at_least_one], &[]);
    // 1 + ln n where there is one, else 0.
    let weighed = graph.node("Add", &[&ln, &present], &[]);
    let weighed = graph.node("Mul", &[&weighed, &idf], &[]);
    let rows = [("axes", Attribute::Integers(&[1])), ("keepdims", Attribute::Integer(1))];
    let length = graph.node("ReduceL2", &[&weighed], &rows);
    let length = graph.node("Max", &[&length, &tiny], &[]);
    let bag = graph.node("Div", &[&weighed, &length], &[]);
    let kinds = graph.integers(&[0]);
    let bag = graph.node("ReduceSum", &[&bag, &kinds], &[("keepdims", Attribute::Integer(1))]);
    let own = graph.linear(&bag, &weight, &bias);
    let [own, network] =
        [&own, intents].map(|logits| graph.node("LogSoftmax", &[logits], &[("axis", Attribute::Integer(1))]));
    let network = graph.node("Mul", &[&network, &half], &[]);
    graph.node("Add", &[&network, &own], &[])
}
