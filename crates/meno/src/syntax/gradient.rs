//! The loss of a few sentences and its gradient.
//!
//! The parser is trained with its own mistakes (Goldberg and Nivre, 2013): it takes the action it likes best, right or
//! wrong, and learns at each step which actions still lead to the best tree that is left. The loss of a step is minus
//! the log of the probability of all those actions together.

use super::lexicon::{NO_ROW, Rows as WordRows, UNKNOWN_ROW};
use super::network::{
    ACTION_PLACES, ActionInput, NOTHING, Network, ROOT, RelationInput, Workspace, add, apply, embed, out,
};
use super::parser::{best, softmax};
use super::transitions::{Action, Configuration};
use crate::kernel::{Buffer, Kernels, Start};
use crate::nn::{
    self, BiLstm, Dropout, Layout, Linear, Parameters, Product, Rows, RowsMut, Tensor, WordDropout,
    cross_entropy, row_of, rows_end,
};
use crate::random::Random;

/// A sentence as numbers.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub rows: Vec<WordRows>,
    pub tags: Vec<u8>,
    /// Of each word, after one place for the root.
    pub heads: Vec<u32>,
    /// The same.
    pub relations: Vec<u8>,
}

/// The activations and gradients of a few sentences.
#[derive(Default)]
pub(crate) struct TrainWorkspace {
    workspace: Workspace,
    configuration: Configuration,
    /// The rows of each word of the batch, time-major.
    words: Vec<WordRows>,
    actions: Steps<ActionInput>,
    arcs: Steps<RelationInput>,
    d_projected: Buffer,
    d_out: [Buffer; 2],
    d_last: Buffer,
    /// Of the sums of embeddings, rows [`row_of`] apart.
    d_x: Buffer,
    d_vectors: Buffer,
}

/// Decisions with their hidden layers and the gradients of their logits.
struct Steps<T> {
    inputs: Vec<T>,
    hidden: Buffer,
    d_logits: Buffer,
    d_hidden: Buffer,
}

impl<T> Default for Steps<T> {
    fn default() -> Self {
        let [hidden, d_logits, d_hidden] = Default::default();
        Steps { inputs: Vec::new(), hidden, d_logits, d_hidden }
    }
}

impl<T> Steps<T> {
    fn begin(&mut self, at_most: usize, linear: &Linear) {
        self.inputs.clear();
        self.hidden.reserve(at_most * linear.weight.rows());
        self.d_logits.reserve(at_most * linear.weight.width());
    }

    /// Room for the hidden layer and the logits of the next decision; it is kept if its input is pushed.
    fn next(&mut self, linear: &Linear) -> (&mut [f32], &mut [f32]) {
        let (at, width, n_logits) = (self.inputs.len(), linear.weight.rows(), linear.weight.width());
        (&mut self.hidden[at * width..][..width], &mut self.d_logits[at * n_logits..][..n_logits])
    }

    /// From the gradients of the logits to those of the hidden layers before they were rectified.
    fn backward(&mut self, kernels: Kernels, transposed: &[f32], linear: &Linear) {
        let (n, width) = (self.inputs.len(), linear.weight.rows());
        let d_hidden = self.d_hidden.reserve(n * width);
        let dy = Rows { data: &self.d_logits, n, row: linear.weight.width() };
        let dx = RowsMut { data: &mut *d_hidden, row: width };
        linear.backward_input(kernels, transposed, dy, dx, Start::Zero);
        kernels.keep_where_positive(&self.hidden[..n * width], d_hidden);
    }

    /// The gradient of the matrix.
    fn product(&self, Linear { weight, .. }: Linear) -> Product<'_> {
        let n = self.inputs.len();
        let x = Rows { data: &self.hidden, n, row: weight.rows() };
        Product { weight, x, dy: Rows { data: &self.d_logits, n, row: weight.width() } }
    }

    /// The gradients of the hidden layers.
    fn d_hidden(&self, linear: Linear) -> Rows<'_> {
        Rows { data: &self.d_hidden, n: self.inputs.len(), row: linear.weight.rows() }
    }
}

impl nn::Network for Network {
    type Workspace = TrainWorkspace;

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn embedding(&self) -> Tensor {
        self.embedding
    }

    fn matrices(&self) -> Vec<Tensor> {
        let lstm = |lstm: &BiLstm| [lstm.input().weight, lstm.recurrent()[0], lstm.recurrent()[1]];
        let heads = self.heads().map(|head| head.weight);
        self.lstm.iter().flat_map(lstm).chain(heads).collect()
    }

    fn rectified_matrix(&self) -> Option<Tensor> {
        None
    }

    fn initial(&self, random: &mut Random) -> Parameters {
        let mut parameters = Parameters::zeros(&self.layout);
        let mut fill = |tensor: Tensor, limit: f32| {
            parameters.fill(tensor, || (2.0 * random.uniform() - 1.0) * limit);
        };
        for matrix in self.matrices() {
            fill(matrix, (3.0 / matrix.rows() as f32).sqrt());
        }
        fill(self.embedding, 0.25);
        for (lstm, hidden) in self.lstm.iter().zip(self.shape.hidden) {
            let bias = lstm.input().bias.expect("given in `new`").of_mut(&mut parameters);
            for direction in 0..2 {
                bias[(4 * direction + 1) * hidden..][..hidden].fill(1.0);
            }
        }
        parameters
    }

    fn products<'w>(&self, w: &'w TrainWorkspace) -> Vec<Product<'w>> {
        let Workspace { batch, x, lstm, .. } = &w.workspace;
        let x = Rows { data: x, n: batch.words(), row: row_of(self.shape.embedding) };
        let lower = self.lstm[0].products(batch, x, &lstm[0]);
        let upper = self.lstm[1].products(batch, self.out(w, 0), &lstm[1]);
        lower.into_iter().chain(upper).chain(self.head_products(w)).collect()
    }

    fn d_vectors<'w>(&self, w: &'w TrainWorkspace) -> &'w [f32] {
        &w.d_vectors[..self.layout.dense() - self.layout.matrices()]
    }

    fn d_words<'w>(&self, w: &'w TrainWorkspace) -> impl Iterator<Item = (u32, &'w [f32])> {
        let (row, width) = (row_of(self.shape.embedding), self.shape.embedding);
        w.words.iter().zip(w.d_x.chunks_exact(row)).flat_map(move |(rows, d)| {
            rows.iter().filter(|&&row| row != NO_ROW).map(move |&row| (row, &d[..width]))
        })
    }
}

impl Network {
    /// What follows the layers, in the order of the layout.
    fn heads(&self) -> [Linear; 4] {
        [self.tag, self.project, self.action, self.relation]
    }

    /// The gradients of their matrices.
    fn head_products<'w>(&self, w: &'w TrainWorkspace) -> [Product<'w>; 4] {
        let product = |Linear { weight, .. }: Linear, x: Rows<'w>, dy: &'w [f32]| Product {
            weight,
            x,
            dy: Rows { data: dy, n: x.n, row: weight.width() },
        };
        [
            product(self.tag, self.out(w, 0), &w.workspace.tag_logits),
            product(self.project, self.out(w, 1), &w.d_projected),
            w.actions.product(self.action),
            w.arcs.product(self.relation),
        ]
    }

    /// What left a layer.
    fn out<'w>(&self, w: &'w TrainWorkspace, layer: usize) -> Rows<'w> {
        let row = row_of(self.shape.widths()[layer]);
        Rows { data: out(&w.workspace, layer, true), n: w.workspace.batch.words(), row }
    }
}

/// How the sentences of a batch are learnt from.
#[derive(Clone, Copy)]
pub(crate) struct Pass<'a> {
    pub network: &'a Network,
    pub kernels: Kernels,
    pub parameters: &'a [f32],
    pub transposed: &'a [f32],
    /// By the first row of a word.
    pub word_dropout: &'a WordDropout,
    pub dropout: f32,
    /// The share of wrong actions that are taken all the same.
    pub exploration: f32,
    /// What a word counts in the loss.
    pub weight: f32,
}

impl Pass<'_> {
    /// The forward and the backward pass for sentences of falling length; gives the loss.
    pub(super) fn run(&self, examples: &[&Example], mut random: Random, w: &mut TrainWorkspace) -> f64 {
        let network = self.network;
        self.read(examples, &mut random, w);
        let mut loss = self.tag_loss(examples, w);
        let n = w.workspace.batch.words();
        w.actions.begin(2 * n, &network.action);
        w.arcs.begin(n, &network.relation);
        for (sentence, example) in examples.iter().enumerate() {
            loss += self.parse((sentence, example), &mut random, w);
        }
        w.d_vectors.clear(network.layout.dense() - network.layout.matrices());
        self.decisions_backward(w);
        self.layers_backward(w);
        self.biases_backward(w);
        loss
    }

    /// From words to the logits of tags and the rows that the parser adds up.
    fn read(&self, examples: &[&Example], random: &mut Random, w: &mut TrainWorkspace) {
        let (network, kernels) = (self.network, self.kernels);
        let TrainWorkspace { workspace: w, words, .. } = w;
        w.batch.pack(examples.iter().map(|example| example.rows.len()));
        let n = w.batch.words();
        words.resize(n, [NO_ROW; _]);
        let read = examples.iter().flat_map(|example| &example.rows);
        for (word, &row) in read.zip(w.batch.time_rows()) {
            words[row] = *word;
            if self.word_dropout.drops(word[0], random) {
                words[row][0] = UNKNOWN_ROW;
            }
        }
        let (width, row) = (network.shape.embedding, row_of(network.shape.embedding));
        let mut dropout = Dropout { rate: self.dropout, random: random.fork(1) };
        let factors = w.x_factors.reserve(n * width);
        dropout.fill(kernels, factors);
        let x = w.x.reserve(n * row);
        for (i, rows) in words.iter().enumerate() {
            let x = &mut x[i * row..][..width];
            embed(network.embedding, self.parameters, rows, x);
            kernels.scale(&factors[i * width..][..width], x);
        }
        network.project_words(kernels, self.parameters, w);
        network.encode(kernels, self.parameters, Some(&mut dropout), w);
    }

    /// Leaves the gradients where the logits of the tags were.
    fn tag_loss(&self, examples: &[&Example], w: &mut TrainWorkspace) -> f64 {
        let w = &mut w.workspace;
        let (width, n_tags) = (self.network.tag.weight.width(), self.network.shape.tags);
        let tags = examples.iter().flat_map(|example| &example.tags);
        let mut loss = 0.0;
        for (&tag, &row) in tags.zip(w.batch.time_rows()) {
            let logits = &mut w.tag_logits[row * width..][..width];
            loss += d_cross_entropy(logits, n_tags, tag, self.weight);
        }
        loss
    }

    fn parse(
        &self,
        (sentence, example): (usize, &Example),
        random: &mut Random,
        w: &mut TrainWorkspace,
    ) -> f64 {
        let TrainWorkspace { workspace: Workspace { batch, projected, .. }, configuration, .. } = w;
        let rows = &batch.time_rows()[batch.rows(sentence)];
        let lesson = Lesson { pass: self, projected, rows, example };
        configuration.begin(rows.len());
        let mut loss = 0.0;
        while !configuration.is_done() {
            let action = lesson.act(configuration, &mut w.actions, &mut loss, random);
            let relation = lesson.relate(configuration, action, &mut w.arcs, &mut loss);
            configuration.take(action, relation);
        }
        loss
    }

    /// From the logits of actions and relations to the rows that were added up.
    fn decisions_backward(&self, w: &mut TrainWorkspace) {
        let (network, kernels, transposed) = (self.network, self.kernels, self.transposed);
        let TrainWorkspace { workspace, actions, arcs, d_projected, d_vectors, .. } = w;
        let [outside, action_contexts, relation_contexts] =
            [network.outside, network.action_contexts, network.relation_contexts]
                .map(|table| table.after(network.layout.matrices()));
        let row = network.project.weight.width();
        let d_projected = d_projected.clear(workspace.batch.words() * row);
        let width = network.shape.action;
        actions.backward(kernels, transposed, &network.action);
        for (input, d) in actions.inputs.iter().zip(actions.d_hidden.chunks_exact(width)) {
            for (place, &word) in input.words.iter().enumerate() {
                let to = match word {
                    NOTHING => outside.row_mut(d_vectors, 2 * place),
                    ROOT => outside.row_mut(d_vectors, 2 * place + 1),
                    word => &mut d_projected[word as usize * row + place * width..][..width],
                };
                add(to, d);
            }
            for &context in &input.contexts {
                add(action_contexts.row_mut(d_vectors, context as usize), d);
            }
        }
        let (start, width) = (ACTION_PLACES * width, network.shape.relation);
        arcs.backward(kernels, transposed, &network.relation);
        for (input, d) in arcs.inputs.iter().zip(arcs.d_hidden.chunks_exact(width)) {
            for (place, &word) in input.words.iter().enumerate() {
                add(&mut d_projected[word as usize * row + start + place * width..][..width], d);
            }
            for &context in &input.contexts {
                add(relation_contexts.row_mut(d_vectors, context as usize), d);
            }
        }
    }

    /// From the tags and the projections down to the embeddings.
    fn layers_backward(&self, w: &mut TrainWorkspace) {
        let (network, kernels, transposed) = (self.network, self.kernels, self.transposed);
        let TrainWorkspace { workspace: w, d_projected, d_out, d_last, d_x, .. } = w;
        let n = w.batch.words();
        let widths = network.shape.widths();
        let rows = widths.map(row_of);
        let [d_first, d_second] = d_out;
        let (d_first, d_second) = (d_first.reserve(n * rows[0]), d_second.reserve(n * rows[1]));
        // Nothing reads the last states.
        let last_row = 2 * widths[0].max(widths[1]);
        let d_last = &*d_last.clear(w.batch.len() * last_row);
        let d_last = Rows { data: d_last, n: w.batch.len(), row: last_row };
        let dy = Rows { data: d_projected, n, row: network.project.weight.width() };
        let dx = RowsMut { data: &mut *d_second, row: rows[1] };
        network.project.backward_input(kernels, transposed, dy, dx, Start::Zero);
        scale(kernels, &w.factors[1], d_second, widths[1], rows[1], n);
        let dx = RowsMut { data: &mut *d_first, row: rows[0] };
        network.lstm[1].backward(kernels, transposed, &w.batch, &mut w.lstm[1], d_second, d_last, dx);
        let dy = Rows { data: &w.tag_logits, n, row: network.tag.weight.width() };
        let dx = RowsMut { data: &mut *d_first, row: rows[0] };
        network.tag.backward_input(kernels, transposed, dy, dx, Start::Sum);
        scale(kernels, &w.factors[0], d_first, widths[0], rows[0], n);
        let (width, row) = (network.shape.embedding, row_of(network.shape.embedding));
        let dx = RowsMut { data: d_x.reserve(n * row), row };
        network.lstm[0].backward(kernels, transposed, &w.batch, &mut w.lstm[0], d_first, d_last, dx);
        scale(kernels, &w.x_factors, d_x, width, row, n);
    }

    fn biases_backward(&self, w: &mut TrainWorkspace) {
        let network = self.network;
        let mut d_vectors = std::mem::take(&mut w.d_vectors);
        let layers = network.lstm.iter().zip(&w.workspace.lstm);
        let layers = layers.map(|(lstm, state)| lstm.d_gates(&w.workspace.batch, state));
        let heads = network.heads().into_iter().zip(network.head_products(w).map(|product| product.dy));
        let hidden = [
            (network.action_bias, w.actions.d_hidden(network.action)),
            (network.relation_bias, w.arcs.d_hidden(network.relation)),
        ];
        let biases = layers.chain(heads).filter_map(|(linear, dy)| Some((linear.bias?, dy))).chain(hidden);
        for (bias, dy) in biases {
            let to = bias.after(network.layout.matrices()).of_mut(&mut d_vectors);
            self.kernels.sum_rows(&dy.data[..rows_end(dy, to.len())], dy.row, to);
        }
        w.d_vectors = d_vectors;
    }
}

/// What the steps of a parse have in common.
struct Lesson<'a> {
    pass: &'a Pass<'a>,
    projected: &'a [f32],
    /// The row of each word.
    rows: &'a [usize],
    example: &'a Example,
}

impl Lesson<'_> {
    /// Chooses an action, right or wrong, and leaves the gradient of its logits.
    fn act(
        &self,
        configuration: &Configuration,
        actions: &mut Steps<ActionInput>,
        loss: &mut f64,
        random: &mut Random,
    ) -> Action {
        let Pass { network, kernels, parameters, exploration, weight, .. } = *self.pass;
        let input = network.action_input(configuration, self.rows);
        let (hidden, logits) = actions.next(&network.action);
        network.action_hidden(parameters, self.projected, &input, hidden);
        apply(kernels, &network.action, parameters, hidden, logits);
        let costs = configuration.costs(&self.example.heads);
        let (chosen, right) = choose(logits, costs);
        let is_explored = chosen != right && random.uniform() < exploration;
        *loss += d_action(logits, costs, weight);
        actions.inputs.push(input);
        Action::ALL[if is_explored { chosen } else { right }]
    }

    /// Names the relation of the arc that an action makes; if the arc is right, leaves the gradient of the logits.
    fn relate(
        &self,
        configuration: &Configuration,
        action: Action,
        arcs: &mut Steps<RelationInput>,
        loss: &mut f64,
    ) -> u8 {
        let Some((head, child)) = configuration.arc(action).filter(|&(head, _)| head > 0) else { return 0 };
        let Pass { network, kernels, parameters, weight, .. } = *self.pass;
        let n_relations = network.shape.relations;
        let input = network.relation_input(configuration, (head, child), self.rows);
        let (hidden, logits) = arcs.next(&network.relation);
        network.relation_hidden(parameters, self.projected, &input, hidden);
        apply(kernels, &network.relation, parameters, hidden, logits);
        let relation = best(&logits[1..n_relations]) + 1;
        if self.example.heads[child as usize] == head {
            let gold = self.example.relations[child as usize];
            *loss += d_cross_entropy(logits, n_relations, gold, weight);
            arcs.inputs.push(input);
        }
        relation as u8
    }
}

/// Rows times the factors of the dropout.
fn scale(kernels: Kernels, factors: &[f32], x: &mut [f32], width: usize, row: usize, n: usize) {
    for i in 0..n {
        kernels.scale(&factors[i * width..][..width], &mut x[i * row..][..width]);
    }
}

/// The action with the highest score, and the one among those that cost least.
fn choose(logits: &[f32], costs: [u32; 3]) -> (usize, usize) {
    let least = costs.into_iter().min().unwrap_or(0);
    let highest = |is_candidate: &dyn Fn(u32) -> bool| {
        let candidates = (0..3).filter(|&action| is_candidate(costs[action]));
        candidates.max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap_or(0)
    };
    (highest(&|cost| cost < u32::MAX), highest(&|cost| cost == least))
}

/// Turns logits of actions into the gradient of minus the log of the probability of all that cost least.
fn d_action(logits: &mut [f32], costs: [u32; 3], weight: f32) -> f64 {
    let least = costs.into_iter().min().unwrap_or(0);
    let mut probabilities = [f32::NEG_INFINITY; 3];
    for action in 0..3 {
        if costs[action] < u32::MAX {
            probabilities[action] = logits[action];
        }
    }
    softmax(&mut probabilities);
    let of_best = |action: usize| if costs[action] == least { probabilities[action] } else { 0.0 };
    let sum = (of_best(0) + of_best(1) + of_best(2)).max(1e-20);
    logits.fill(0.0);
    for action in 0..3 {
        logits[action] = weight * (probabilities[action] - of_best(action) / sum);
    }
    -f64::from(weight * sum.ln())
}

/// Turns `n` logits, which padding follows, into the gradient of the cross entropy with the right answer.
fn d_cross_entropy(logits: &mut [f32], n: usize, right: u8, weight: f32) -> f64 {
    let (logits, padding) = logits.split_at_mut(n);
    softmax(logits);
    padding.fill(0.0);
    f64::from(weight) * cross_entropy(logits, right.into(), weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Network as _;
    use crate::nn::gradient_check::{check_gradient, gradient, transposed};
    use crate::syntax::network::Shape;

    fn examples() -> Vec<Example> {
        let word = |first: u32| [first, first + 1, NO_ROW, 3, 4, NO_ROW, 5];
        vec![
            Example {
                rows: vec![word(1), word(2), word(6), word(3)],
                tags: vec![1, 2, 0, 4],
                heads: vec![0, 2, 0, 4, 2],
                relations: vec![0, 1, 0, 3, 2],
            },
            Example {
                rows: vec![word(4), word(1)],
                tags: vec![3, 1],
                heads: vec![0, 0, 1],
                relations: vec![0, 0, 2],
            },
        ]
    }

    #[test]
    fn gradients_are_differences_of_the_loss() {
        let shape = Shape {
            embedding: 16,
            hidden: [32, 16],
            action: 16,
            relation: 16,
            rows: 9,
            tags: 5,
            relations: 4,
        };
        let (network, kernels) = (Network::new(shape), Kernels::best());
        let mut parameters = network.initial(&mut Random::new(3));
        for tensor in [network.outside, network.action_contexts, network.relation_contexts] {
            let mut random = Random::new(4);
            parameters.fill(tensor, || 0.3 * random.normal());
        }
        let examples = examples();
        let examples: Vec<&Example> = examples.iter().collect();
        let word_dropout = WordDropout::new(0.0, &[1; 9]);
        // With these seeds hardly a unit is rectified on one side of the step alone.
        for (dropout, seed) in [(0.0, 1), (0.3, 2)] {
            let run = |parameters: &Parameters, w: &mut TrainWorkspace| {
                let pass = Pass {
                    network: &network,
                    kernels,
                    parameters,
                    transposed: &transposed(&network, kernels, parameters),
                    word_dropout: &word_dropout,
                    dropout,
                    exploration: 0.0,
                    weight: 0.25,
                };
                pass.run(&examples, Random::new(seed), w)
            };
            let mut w = TrainWorkspace::default();
            run(&parameters, &mut w);
            let gradient = gradient(&network, kernels, &w);
            let what = format!("dropout {dropout}");
            let is_still = |_: &str| false;
            check_gradient(&what, &network, &parameters, &gradient, is_still, |parameters| {
                run(parameters, &mut w)
            });
        }
    }
}
