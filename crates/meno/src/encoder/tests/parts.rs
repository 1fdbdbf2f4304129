//! One part at a time.

use super::*;

/// Outputs, and gradients of the inputs.
struct Passed {
    outputs: Vec<Vec<f32>>,
    gradients: Vec<Vec<f32>>,
}

type Part = dyn Fn(Kernels, &[Vec<f32>], &[Vec<f32>]) -> Passed;

#[derive(Deserialize)]
struct GoldenPart {
    inputs: BTreeMap<String, Formula>,
    outputs: BTreeMap<String, Golden>,
    gradients: BTreeMap<String, Golden>,
}

#[derive(Deserialize)]
struct GoldenParts {
    lstm: GoldenPart,
    slot_attention: GoldenPart,
    intent_attention: GoldenPart,
    gate: GoldenPart,
    linear: GoldenPart,
    cross_entropy: GoldenEntropy,
    adam: GoldenAdam,
}

fn golden_parts() -> GoldenParts {
    serde_json::from_str(include_str!("../../../tests/goldens/ops.json")).expect("of this form")
}

fn check_golden(golden: &GoldenPart, inputs: &[&str], outputs: &[&str], part: &Part) {
    let tensors: Vec<Vec<f32>> = inputs.iter().map(|&name| golden.inputs[name].values()).collect();
    let upstream: Vec<Vec<f32>> =
        outputs.iter().map(|name| golden.inputs[&format!("d_{name}")].values()).collect();
    for kernels in variants() {
        let passed = part(kernels, &tensors, &upstream);
        for (name, found) in outputs.iter().zip(&passed.outputs) {
            golden.outputs[*name].check(&format!("{kernels:?}, {name}"), found);
        }
        for (name, found) in inputs.iter().zip(&passed.gradients) {
            golden.gradients[*name].check(&format!("{kernels:?}, gradient of {name}"), found);
        }
    }
}

/// Random inputs of these sizes, random gradients of the outputs, and the slope along each gradient.
fn check_differences(what: &str, sizes: &[usize], scale: f32, part: &Part) {
    let mut random = Random::new(11);
    let mut floats = |n: usize| (0..n).map(|_| (2.0 * random.uniform() - 1.0) * scale).collect::<Vec<f32>>();
    let inputs: Vec<Vec<f32>> = sizes.iter().map(|&n| floats(n)).collect();
    for kernels in variants() {
        // The outputs' sizes are known once the part has run; their gradients are as large as the inputs.
        let sizes: Vec<usize> = part(kernels, &inputs, &[]).outputs.iter().map(Vec::len).collect();
        let upstream: Vec<Vec<f32>> = sizes.iter().map(|&n| floats(n)).collect();
        let passed = part(kernels, &inputs, &upstream);
        for (i, gradient) in passed.gradients.iter().enumerate() {
            check_slope(&format!("{kernels:?}, {what}, input {i}"), &inputs[i], gradient, |moved| {
                let mut inputs = inputs.clone();
                inputs[i] = moved.to_vec();
                let outputs = part(kernels, &inputs, &[]).outputs;
                let pairs = outputs.iter().flatten().zip(upstream.iter().flatten());
                pairs.map(|(&y, &d)| f64::from(y) * f64::from(d)).sum()
            });
        }
    }
}

/// The gradients of the outputs, or nothing if the caller wants only the outputs.
fn or_zeros(upstream: &[Vec<f32>], i: usize, n: usize) -> Vec<f32> {
    upstream.get(i).cloned().unwrap_or_else(|| vec![0.0; n])
}

/// Rows of `width` widened to `to`, with zeros.
fn widen(rows: &[f32], width: usize, to: usize) -> Vec<f32> {
    rows.chunks_exact(width)
        .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, to - width)))
        .collect()
}

/// The first `to` of each row of `width`.
fn narrow(rows: &[f32], width: usize, to: usize) -> Vec<f32> {
    rows.chunks_exact(width).flat_map(|row| &row[..to]).copied().collect()
}

/// A matrix with a bias in a layout of its own.
struct OneLinear {
    linear: Linear,
    parameters: Parameters,
    transposed: Buffer,
    matrices: usize,
}

impl OneLinear {
    fn new(kernels: Kernels, rows: usize, weight: &[f32], bias: Option<&[f32]>) -> Self {
        let mut layout = Layout::default();
        let columns = weight.len() / rows;
        // The layer takes inputs of whole vectors only; rows that no input reaches are zero.
        let padded_rows = padded(rows);
        let mut linear = Linear { weight: layout.matrix("weight", padded_rows, columns), bias: None };
        linear.bias = bias.map(|bias| layout.vector("bias", bias.len()));
        let mut parameters = Parameters::zeros(&layout);
        let mut values = weight.iter().copied();
        parameters.fill(linear.weight, || values.next().unwrap_or(0.0));
        if let (Some(tensor), Some(bias)) = (linear.bias, bias) {
            fill(&mut parameters, tensor, bias);
        }
        let mut transposed = Buffer::zeros(layout.dense());
        transpose(kernels, &[linear.weight], &parameters, &mut transposed);
        OneLinear { linear, parameters, transposed, matrices: layout.matrices() }
    }

    /// `x` has rows of whole vectors.
    fn forward(&self, kernels: Kernels, x: &[f32]) -> Vec<f32> {
        let (rows, width) = (self.linear.weight.rows(), self.linear.weight.width());
        let n = x.len() / rows;
        let mut y = vec![0.0; n * width];
        let x = Rows { data: x, n, row: rows };
        self.linear.forward(kernels, &self.parameters, x, RowsMut { data: &mut y, row: width });
        y
    }

    /// Gradients of `x`, the weight and the bias; `dy` has rows of whole vectors.
    fn backward(&self, kernels: Kernels, x: &[f32], dy: &[f32]) -> [Vec<f32>; 3] {
        let (rows, width) = (self.linear.weight.rows(), self.linear.weight.width());
        let n = x.len() / rows;
        let (x, dy) = (Rows { data: x, n, row: rows }, Rows { data: dy, n, row: width });
        let mut dx = vec![0.0; n * rows];
        self.linear.backward_input(
            kernels,
            &self.transposed,
            dy,
            RowsMut { data: &mut dx, row: rows },
            Start::Zero,
        );
        let mut gradient = vec![0.0; self.matrices];
        let weight = self.linear.weight;
        Product::sum(kernels, &[Product { weight, x, dy }], 0, weight.of_mut(&mut gradient));
        let mut d_bias = vec![0.0; width];
        kernels.sum_rows(dy.data, width, &mut d_bias);
        d_bias.truncate(weight.columns());
        [dx, values(&gradient, weight), d_bias]
    }
}

/// Inputs: x, weight, bias. Output: y.
fn linear(kernels: Kernels, rows: usize, inputs: &[Vec<f32>], upstream: &[Vec<f32>]) -> Passed {
    let [x, weight, bias] = inputs else { panic!("three inputs") };
    let (columns, row) = (bias.len(), padded(rows));
    let layer = OneLinear::new(kernels, rows, weight, Some(bias));
    let x = widen(x, rows, row);
    let y = layer.forward(kernels, &x);
    let dy = or_zeros(upstream, 0, x.len() / row * columns);
    let [dx, mut d_weight, d_bias] = layer.backward(kernels, &x, &widen(&dy, columns, padded(columns)));
    d_weight.truncate(rows * columns);
    Passed {
        outputs: vec![narrow(&y, padded(columns), columns)],
        gradients: vec![narrow(&dx, row, rows), d_weight, d_bias],
    }
}

#[test]
fn linear_agrees_with_pytorch() {
    let part =
        |kernels: Kernels, inputs: &[Vec<f32>], upstream: &[Vec<f32>]| linear(kernels, 7, inputs, upstream);
    check_golden(&golden_parts().linear, &["x", "weight", "bias"], &["y"], &part);
}

#[test]
fn linear_agrees_with_finite_differences() {
    for (n, rows, columns) in [(1, 16, 5), (4, 7, 16), (7, 48, 33), (17, 64, 5), (33, 16, 128)] {
        let part = move |kernels: Kernels, inputs: &[Vec<f32>], upstream: &[Vec<f32>]| {
            linear(kernels, rows, inputs, upstream)
        };
        let what = format!("{n} rows of {rows} to {columns}");
        check_differences(&what, &[n * rows, rows * columns, columns], 0.5, &part);
    }
}

/// One direction of a BiLSTM; the other one has zero parameters and adds nothing. Inputs: the words of all
/// utterances, input matrix, bias, recurrent matrix. Outputs: states, final cell and final hidden states.
fn lstm(
    kernels: Kernels,
    direction: usize,
    lengths: &[usize],
    inputs: &[Vec<f32>],
    upstream: &[Vec<f32>],
) -> Passed {
    let [x, input, bias, recurrent] = inputs else { panic!("four inputs") };
    let hidden = bias.len() / 4;
    let embedding = input.len() / bias.len();
    let (gates, both) = (4 * hidden, 8 * hidden);
    let mut layout = Layout::default();
    let mut layer = BiLstm::new(&mut layout, LstmNames::FIRST, embedding, hidden);
    layer.bias(&mut layout);
    let mut parameters = Parameters::zeros(&layout);
    let tensors: BTreeMap<&str, Tensor> = layout.tensors().collect();
    let at_direction = |rows: &[f32]| -> Vec<f32> {
        let before = vec![0.0; direction * gates];
        let after = vec![0.0; (1 - direction) * gates];
        rows.chunks_exact(gates).flat_map(|row| [&before[..], row, &after].concat()).collect()
    };
    let recurrent_name = ["lstm.recurrent_forward", "lstm.recurrent_backward"][direction];
    fill(&mut parameters, tensors["lstm.input"], &at_direction(input));
    fill(&mut parameters, tensors["lstm.bias"], &at_direction(bias));
    fill(&mut parameters, tensors[recurrent_name], recurrent);

    let mut batch = Batch::default();
    batch.pack(lengths.iter().copied());
    // For the backward direction the utterances are turned around, so that both give the same numbers.
    let time_rows: Vec<usize> = (0..lengths.len())
        .flat_map(|utterance| {
            let mut rows = batch.time_rows()[batch.rows(utterance)].to_vec();
            if direction == 1 {
                rows.reverse();
            }
            rows
        })
        .collect();
    let (n, hidden_row) = (batch.words(), layer.hidden_row());
    let mut packed = vec![0.0; n * embedding];
    for (row, &time_row) in x.chunks_exact(embedding).zip(&time_rows) {
        packed[time_row * embedding..][..embedding].copy_from_slice(row);
    }
    let mut state = BiLstmState::default();
    let x = Rows { data: &packed, n, row: embedding };
    layer.project(kernels, &parameters, x, &mut state.gates);
    layer.forward(kernels, &parameters, LstmWeights::Floats, &batch, &mut state);
    let states: Vec<f32> = (time_rows.iter())
        .flat_map(|row| state.hidden[row * hidden_row + direction * hidden..][..hidden].to_vec())
        .collect();
    let last = |at: usize| -> Vec<f32> {
        (0..lengths.len())
            .flat_map(|u| state.last[(u * 4 + direction * 2 + at) * hidden..][..hidden].to_vec())
            .collect()
    };
    let outputs = vec![states, last(0), last(1)];

    let d_states = or_zeros(upstream, 0, n * hidden);
    let mut d_hidden = vec![0.0; n * hidden_row];
    for (row, &time_row) in d_states.chunks_exact(hidden).zip(&time_rows) {
        d_hidden[time_row * hidden_row + direction * hidden..][..hidden].copy_from_slice(row);
    }
    let mut d_last = vec![0.0; lengths.len() * 4 * hidden];
    for (i, d) in (0..2).map(|i| (i, or_zeros(upstream, 1 + i, lengths.len() * hidden))) {
        for (u, row) in d.chunks_exact(hidden).enumerate() {
            d_last[(u * 4 + direction * 2 + i) * hidden..][..hidden].copy_from_slice(row);
        }
    }
    let mut transposed = Buffer::zeros(layout.dense());
    let [forward, backward] = layer.recurrent();
    transpose(kernels, &[layer.input().weight, forward, backward], &parameters, &mut transposed);
    let mut dx = vec![0.0; n * embedding];
    let d_last = Rows { data: &d_last, n: lengths.len(), row: 4 * hidden };
    let to = RowsMut { data: &mut dx, row: embedding };
    layer.backward(kernels, &transposed, &batch, &mut state, &d_hidden, d_last, to);
    let mut gradient = vec![0.0; layout.len()];
    for product in layer.products(&batch, x, &state) {
        let to = product.weight.of_mut(&mut gradient);
        Product::sum(kernels, &[product], 0, to);
    }
    let (_, d_gates) = layer.d_gates(&batch, &state);
    let mut d_bias = vec![0.0; both];
    kernels.sum_rows(&d_gates.data[..(n - 1) * d_gates.row + both], d_gates.row, &mut d_bias);
    let of_direction = |rows: Vec<f32>| -> Vec<f32> {
        rows.chunks_exact(both).flat_map(|row| &row[direction * gates..][..gates]).copied().collect()
    };
    let dx = time_rows.iter().flat_map(|row| dx[row * embedding..][..embedding].to_vec()).collect();
    let d_input = of_direction(values(&gradient, tensors["lstm.input"]));
    let d_recurrent = values(&gradient, tensors[recurrent_name]);
    Passed { outputs, gradients: vec![dx, d_input, of_direction(d_bias), d_recurrent] }
}

#[test]
fn lstm_agrees_with_pytorch() {
    for direction in [0, 1] {
        let part = move |kernels: Kernels, inputs: &[Vec<f32>], upstream: &[Vec<f32>]| {
            lstm(kernels, direction, &[5], inputs, upstream)
        };
        let (inputs, outputs) = (["x", "input", "bias", "recurrent"], ["states", "final_c", "final_h"]);
        check_golden(&golden_parts().lstm, &inputs, &outputs, &part);
    }
}

#[test]
fn lstm_agrees_with_finite_differences() {
    let (embedding, hidden) = (32, 16);
    for lengths in [vec![1], vec![4, 1], vec![7, 7, 4], vec![33, 17, 7, 4, 1, 1]] {
        for direction in [0, 1] {
            let what = format!("direction {direction}, lengths {lengths:?}");
            let n = lengths.iter().sum::<usize>();
            let sizes = [n * embedding, embedding * 4 * hidden, 4 * hidden, hidden * 4 * hidden];
            // The first step of a recurrence has no state to multiply with.
            let sizes = if lengths == [1] { &sizes[..3] } else { &sizes[..] };
            let lengths = lengths.clone();
            let part = move |kernels: Kernels, inputs: &[Vec<f32>], upstream: &[Vec<f32>]| {
                let mut inputs = inputs.to_vec();
                inputs.resize(4, vec![0.1; hidden * 4 * hidden]);
                let mut passed = lstm(kernels, direction, &lengths, &inputs, upstream);
                passed.gradients.truncate(if lengths == [1] { 3 } else { 4 });
                passed
            };
            check_differences(&what, sizes, 0.5, &part);
        }
    }
}

/// Inputs: states, what asks, key matrix, query matrix, query bias, vector. Output: a context for each that asks.
fn attend(kernels: Kernels, inputs: &[Vec<f32>], upstream: &[Vec<f32>]) -> Passed {
    let [states, asking, key, query, query_bias, vector] = inputs else { panic!("six inputs") };
    let width = vector.len();
    let (words, asking_width) = (states.len() / width, query.len() / width);
    let queries = asking.len() / asking_width;
    let keys_of = OneLinear::new(kernels, width, key, None);
    let queries_of = OneLinear::new(kernels, asking_width, query, Some(query_bias));
    let mut keys = keys_of.forward(kernels, states);
    kernels.exponentials(&mut keys);
    let mut query = queries_of.forward(kernels, asking);
    kernels.exponentials(&mut query);
    let weights_row = padded(words);
    let attention = Attention {
        queries,
        words,
        width,
        keys: &keys,
        key_row: width,
        query: &query,
        query_row: width,
        vector,
        weights_row,
    };
    let mut weights = vec![0.0; queries * weights_row];
    kernels.attention(&attention, &mut weights);
    let product = |m, k, a: Strided<'_>, b: &[f32]| {
        let mut c = vec![0.0; m * width];
        let (terms, start) = (&[Term { k, a, b: Right::Rows(b, width) }], Start::Zero);
        kernels.gemm(Gemm { m, n: width, terms, start, c: &mut c, c_row: width, c_panel: LANES });
        c
    };
    let contexts = product(queries, words, Strided { data: &weights, row: weights_row, column: 1 }, states);

    let d_contexts = or_zeros(upstream, 0, contexts.len());
    let mut d_states =
        product(words, queries, Strided { data: &weights, row: 1, column: weights_row }, &d_contexts);
    let mut d_weights = vec![0.0; weights.len()];
    let dots = Dots { m: queries, n: words, width, a: &d_contexts, a_row: width, b: states, b_row: width };
    kernels.dots(&dots, &mut d_weights, weights_row);
    let (mut d_keys, mut d_query) = (vec![0.0; keys.len()], vec![0.0; query.len()]);
    let mut d_vector = vec![0.0; width];
    let gradient = AttentionGradient {
        weights: &weights,
        d_weights: &mut d_weights,
        d_keys: &mut d_keys,
        d_query: &mut d_query,
        d_query_row: width,
        d_vector: &mut d_vector,
    };
    kernels.attention_backward(&attention, gradient);
    let [d_through_keys, d_key_weight, _] = keys_of.backward(kernels, states, &d_keys);
    kernels.add(&d_through_keys, &mut d_states);
    let [d_asking, d_query_weight, d_query_bias] = queries_of.backward(kernels, asking, &d_query);
    Passed {
        outputs: vec![contexts],
        gradients: vec![d_states, d_asking, d_key_weight, d_query_weight, d_query_bias, d_vector],
    }
}

/// Every word asks about every word: inputs without what asks.
fn attend_to_self(kernels: Kernels, inputs: &[Vec<f32>], upstream: &[Vec<f32>]) -> Passed {
    let mut inputs = inputs.to_vec();
    inputs.insert(1, inputs[0].clone());
    let mut passed = attend(kernels, &inputs, upstream);
    let d_asking = passed.gradients.remove(1);
    kernels.add(&d_asking, &mut passed.gradients[0]);
    passed
}

#[test]
fn attention_agrees_with_pytorch() {
    let parts = golden_parts();
    let inputs = ["states", "key", "query", "query_bias", "vector"];
    check_golden(&parts.slot_attention, &inputs, &["contexts"], &attend_to_self);
    let inputs = ["states", "final", "key", "query", "query_bias", "vector"];
    check_golden(&parts.intent_attention, &inputs, &["context"], &attend);
}

#[test]
fn attention_agrees_with_finite_differences() {
    let width = 32;
    for words in [4, 7, 17, 33] {
        let rest = [width * width, width * width, width, width];
        let sizes = [&[words * width][..], &rest].concat();
        check_differences(&format!("{words} words ask"), &sizes, 0.8, &attend_to_self);
        let rest = [width * width, 64 * width, width, width];
        let sizes = [&[words * width, 64][..], &rest].concat();
        check_differences(&format!("one asks {words} words"), &sizes, 0.8, &attend);
    }
}

/// Inputs: contexts, intent input, weight, bias, vector. Outputs: gates, and contexts times their gates.
fn gate(kernels: Kernels, inputs: &[Vec<f32>], upstream: &[Vec<f32>]) -> Passed {
    let [contexts, intent_input, weight, bias, vector] = inputs else { panic!("five inputs") };
    let width = vector.len();
    let n = contexts.len() / width;
    let layer = OneLinear::new(kernels, intent_input.len(), weight, Some(bias));
    let query = layer.forward(kernels, intent_input);
    let (d_gates, d_gated) = (or_zeros(upstream, 0, n), or_zeros(upstream, 1, n * width));
    let (mut gates, mut gated) = (Vec::new(), Vec::new());
    let (mut d_contexts, mut d_query, mut d_vector) = (Vec::new(), vec![0.0; width], vec![0.0; width]);
    for (i, context) in contexts.chunks_exact(width).enumerate() {
        let mut tanh = vec![0.0; width];
        let gate = kernels.gate(context, &query, vector, &mut tanh);
        gates.push(gate);
        gated.extend(context.iter().map(|x| gate * x));
        // In the network the gate is only used to scale the context. A gradient of its own is brought in by a
        // gradient of the scaled context that amounts to it, and whose direct part is taken away again.
        let square: f32 = context.iter().map(|x| x * x).sum();
        let extra: Vec<f32> = context.iter().map(|x| d_gates[i] * x / square).collect();
        let d_gated: Vec<f32> =
            d_gated[i * width..][..width].iter().zip(&extra).map(|(a, b)| a + b).collect();
        let mut d_context = vec![0.0; width];
        kernels.gate_backward(GateGradient {
            context,
            tanh: &tanh,
            gate,
            vector,
            d_gated: &d_gated,
            d_context: &mut d_context,
            d_query: &mut d_query,
            d_vector: &mut d_vector,
        });
        d_contexts.extend(d_context.iter().zip(&extra).map(|(d, extra)| d - gate * extra));
    }
    let [d_intent_input, d_weight, d_bias] = layer.backward(kernels, intent_input, &d_query);
    Passed {
        outputs: vec![gates, gated],
        gradients: vec![d_contexts, d_intent_input, d_weight, d_bias, d_vector],
    }
}

#[test]
fn gate_agrees_with_pytorch() {
    let inputs = ["contexts", "intent_input", "weight", "bias", "vector"];
    check_golden(&golden_parts().gate, &inputs, &["gates", "gated"], &gate);
}

#[test]
fn gate_agrees_with_finite_differences() {
    for words in [1, 4, 7, 17, 33] {
        check_differences(&format!("{words} words"), &[words * 32, 96, 96 * 32, 32, 32], 0.3, &gate);
    }
}

#[derive(Deserialize)]
struct GoldenEntropy {
    inputs: BTreeMap<String, Formula>,
    targets: Vec<u32>,
    weights: Vec<f32>,
    outputs: GoldenEntropyOutputs,
    gradients: BTreeMap<String, Golden>,
}

#[derive(Deserialize)]
struct GoldenEntropyOutputs {
    loss: f64,
    row_losses: Vec<f64>,
    softmax: Golden,
}

/// The loss of each row, the probabilities and the gradient of the logits.
fn entropy(
    kernels: Kernels,
    n_labels: usize,
    logits: &[f32],
    targets: &[u32],
    weights: &[f32],
) -> (Vec<f64>, Vec<f32>, Vec<f32>) {
    let row = padded(n_labels);
    let mut rows = vec![-1e9; logits.len() / n_labels * row];
    for (to, from) in rows.chunks_exact_mut(row).zip(logits.chunks_exact(n_labels)) {
        to[..n_labels].copy_from_slice(from);
    }
    kernels.softmax(row, &mut rows);
    let probabilities = narrow(&rows, row, n_labels);
    let losses = (rows.chunks_exact_mut(row).zip(targets).zip(weights))
        .map(|((row, &target), &weight)| cross_entropy(row, target, weight))
        .collect();
    (losses, probabilities, narrow(&rows, row, n_labels))
}

#[test]
fn cross_entropy_agrees_with_pytorch() {
    let golden = golden_parts().cross_entropy;
    let logits = golden.inputs["logits"].values();
    for kernels in variants() {
        let (losses, probabilities, gradient) =
            entropy(kernels, 5, &logits, &golden.targets, &golden.weights);
        // A loss is the logarithm of a probability that is right to 1e-6 of itself.
        for (found, golden) in losses.iter().zip(&golden.outputs.row_losses) {
            assert!((found - golden).abs() < 2e-6, "{kernels:?}: {found} for {golden}");
        }
        let loss: f64 =
            losses.iter().zip(&golden.weights).map(|(loss, &weight)| loss * f64::from(weight)).sum();
        assert!((loss - golden.outputs.loss).abs() < 5e-6, "{kernels:?}: {loss} for {}", golden.outputs.loss);
        golden.outputs.softmax.check(&format!("{kernels:?}, softmax"), &probabilities);
        golden.gradients["logits"].check(&format!("{kernels:?}, gradient"), &gradient);
    }
}

#[test]
fn cross_entropy_agrees_with_finite_differences() {
    let mut random = Random::new(12);
    for (n, n_labels) in [(1, 5), (4, 5), (7, 16), (17, 33), (33, 2)] {
        let logits: Vec<f32> = (0..n * n_labels).map(|_| 8.0 * random.uniform() - 4.0).collect();
        let targets: Vec<u32> = (0..n).map(|_| random.below(n_labels) as u32).collect();
        let weights: Vec<f32> = (0..n).map(|_| random.uniform()).collect();
        for kernels in variants() {
            let run = |logits: &[f32]| entropy(kernels, n_labels, logits, &targets, &weights);
            let (_, _, gradient) = run(&logits);
            check_slope(&format!("{kernels:?}, {n} x {n_labels}"), &logits, &gradient, |moved| {
                run(moved).0.iter().zip(&weights).map(|(loss, &weight)| loss * f64::from(weight)).sum()
            });
        }
    }
}

#[derive(Deserialize)]
struct GoldenAdam {
    inputs: BTreeMap<String, Formula>,
    learning_rate: f32,
    max_norm: f32,
    steps: Vec<GoldenAdamStep>,
}

#[derive(Deserialize)]
struct GoldenAdamStep {
    gradient_norm: f64,
    after: Vec<f64>,
}

#[test]
fn adam_agrees_with_pytorch() {
    let golden = golden_parts().adam;
    for kernels in variants() {
        let mut parameters = widen(&golden.inputs["parameters"].values(), 10, 16);
        let (mut first, mut second) = (vec![0.0; 16], vec![0.0; 16]);
        for (t, step) in (1..).zip(&golden.steps) {
            let gradient = widen(&golden.inputs[&format!("gradient_{t}")].values(), 10, 16);
            let norm = kernels.sum_squares(&gradient).sqrt();
            assert!((f64::from(norm) - step.gradient_norm).abs() < 1e-5, "{kernels:?}: norm {norm}");
            let scale = if norm > golden.max_norm { golden.max_norm / norm } else { 1.0 };
            let size = StepSize::new(t, golden.learning_rate, BETA2);
            let state = Adam { parameters: &mut parameters, first: &mut first, second: &mut second };
            kernels.adam(state, &gradient, scale, size);
            // A step moves a parameter by 1e-3 at most, and PyTorch clips to 2e-7 less.
            for (found, after) in parameters.iter().zip(&step.after) {
                assert!(
                    (f64::from(*found) - after).abs() < 2e-7,
                    "{kernels:?}, step {t}: {found} for {after}"
                );
            }
        }
        assert!(parameters[10..].iter().all(|&x| x == 0.0), "padding stays zero");
    }
}
