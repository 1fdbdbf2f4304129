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
use crate::nn::{Dropout, Linear, Product, Rows, RowsMut, row_of, rows_end};
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

/// How a step of the training is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Practice {
    /// The share of wrong actions that are taken all the same.
    pub exploration: f32,
    pub dropout: f32,
    /// What a word counts in the loss.
    pub weight: f32,
}

/// The activations and gradients of a few sentences.
#[derive(Default)]
pub(crate) struct Shard {
    workspace: Workspace,
    configuration: Configuration,
    /// The rows of each word of the batch, time-major.
    pub words: Vec<WordRows>,
    actions: Steps<ActionInput>,
    arcs: Steps<RelationInput>,
    d_projected: Buffer,
    d_out: [Buffer; 2],
    d_last: Buffer,
    /// Of the sums of embeddings, rows [`row_of`] apart.
    pub d_x: Buffer,
    /// Of all parameters before the embeddings.
    pub gradient: Buffer,
    pub loss: f64,
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
        let dy = Rows { data: &self.d_logits, n, row: linear.weight.width() };
        let d_hidden = self.d_hidden.reserve(n * width);
        linear.backward_input(
            kernels,
            transposed,
            dy,
            RowsMut { data: &mut *d_hidden, row: width },
            Start::Zero,
        );
        kernels.keep_where_positive(&self.hidden[..n * width], d_hidden);
    }
}

impl Shard {
    /// The forward and the backward pass for sentences of falling length.
    ///
    /// `unknown` gives for each row of a word how likely it is read as unknown.
    #[allow(clippy::too_many_arguments)]
    pub fn run(
        &mut self,
        network: &Network,
        kernels: Kernels,
        (parameters, transposed): (&[f32], &[f32]),
        examples: &[&Example],
        unknown: &[f32],
        practice: Practice,
        mut random: Random,
    ) {
        self.read(network, kernels, parameters, examples, unknown, practice, &mut random);
        self.loss = 0.0;
        self.tag_loss(network, examples, practice.weight);
        let n = self.workspace.batch.words();
        self.actions.begin(2 * n, &network.action);
        self.arcs.begin(n, &network.relation);
        for (sentence, example) in examples.iter().enumerate() {
            self.parse(network, kernels, parameters, (sentence, example), practice, &mut random);
        }
        self.gradient.clear(network.dense);
        self.decisions_backward(network, kernels, transposed);
        self.layers_backward(network, kernels, transposed);
        self.matrices_backward(network, kernels);
    }

    #[allow(clippy::too_many_arguments)]
    fn read(
        &mut self,
        network: &Network,
        kernels: Kernels,
        parameters: &[f32],
        examples: &[&Example],
        unknown: &[f32],
        practice: Practice,
        random: &mut Random,
    ) {
        let w = &mut self.workspace;
        w.batch.pack(examples.iter().map(|example| example.rows.len()));
        let n = w.batch.words();
        self.words.resize(n, [NO_ROW; _]);
        let words = examples.iter().flat_map(|example| &example.rows);
        for (word, &row) in words.zip(w.batch.time_rows()) {
            self.words[row] = *word;
            if random.uniform() < unknown[word[0] as usize] {
                self.words[row][0] = UNKNOWN_ROW;
            }
        }
        let (width, row) = (network.shape.embedding, row_of(network.shape.embedding));
        let mut dropout = Dropout { rate: practice.dropout, random: random.fork(1) };
        let factors = w.x_factors.reserve(n * width);
        dropout.fill(kernels, factors);
        let x = w.x.reserve(n * row);
        for (i, rows) in self.words.iter().enumerate() {
            let x = &mut x[i * row..][..width];
            embed(network.embedding, parameters, rows, x);
            kernels.scale(&factors[i * width..][..width], x);
        }
        network.project_words(kernels, parameters, w);
        network.encode(kernels, parameters, Some(&mut dropout), w);
    }

    /// Leaves the gradients where the logits of the tags were.
    fn tag_loss(&mut self, network: &Network, examples: &[&Example], weight: f32) {
        let w = &mut self.workspace;
        let width = network.tag.weight.width();
        let tags = examples.iter().flat_map(|example| &example.tags);
        for (&tag, &row) in tags.zip(w.batch.time_rows()) {
            let logits = &mut w.tag_logits[row * width..][..width];
            self.loss += d_cross_entropy(&mut logits[..network.shape.tags], tag as usize, weight);
            logits[network.shape.tags..].fill(0.0);
        }
    }

    fn parse(
        &mut self,
        network: &Network,
        kernels: Kernels,
        parameters: &[f32],
        (sentence, example): (usize, &Example),
        practice: Practice,
        random: &mut Random,
    ) {
        let Shard { workspace: Workspace { batch, projected, .. }, configuration, .. } = self;
        let rows = &batch.time_rows()[batch.rows(sentence)];
        let lesson = Lesson { network, kernels, parameters, projected, rows, example, practice };
        configuration.begin(rows.len());
        while !configuration.is_done() {
            let action = lesson.act(configuration, &mut self.actions, &mut self.loss, random);
            let relation = lesson.relate(configuration, action, &mut self.arcs, &mut self.loss);
            configuration.take(action, relation);
        }
    }

    /// From the logits of actions and relations to the rows that were added up.
    fn decisions_backward(&mut self, network: &Network, kernels: Kernels, transposed: &[f32]) {
        let row = network.project.weight.width();
        let d_projected = self.d_projected.clear(self.workspace.batch.words() * row);
        let width = network.shape.action;
        self.actions.backward(kernels, transposed, &network.action);
        for (input, d) in self.actions.inputs.iter().zip(self.actions.d_hidden.chunks_exact(width)) {
            for (place, &word) in input.words.iter().enumerate() {
                let to = match word {
                    NOTHING => network.outside.row_mut(&mut self.gradient, 2 * place),
                    ROOT => network.outside.row_mut(&mut self.gradient, 2 * place + 1),
                    word => &mut d_projected[word as usize * row + place * width..][..width],
                };
                add(to, d);
            }
            for &context in &input.contexts {
                add(network.action_contexts.row_mut(&mut self.gradient, context as usize), d);
            }
        }
        let (start, width) = (ACTION_PLACES * width, network.shape.relation);
        self.arcs.backward(kernels, transposed, &network.relation);
        for (input, d) in self.arcs.inputs.iter().zip(self.arcs.d_hidden.chunks_exact(width)) {
            for (place, &word) in input.words.iter().enumerate() {
                add(&mut d_projected[word as usize * row + start + place * width..][..width], d);
            }
            for &context in &input.contexts {
                add(network.relation_contexts.row_mut(&mut self.gradient, context as usize), d);
            }
        }
    }

    /// From the tags and the projections down to the embeddings.
    fn layers_backward(&mut self, network: &Network, kernels: Kernels, transposed: &[f32]) {
        let w = &mut self.workspace;
        let n = w.batch.words();
        let widths = network.shape.widths();
        let rows = widths.map(row_of);
        let [d_first, d_second] = &mut self.d_out;
        let (d_first, d_second) = (d_first.reserve(n * rows[0]), d_second.reserve(n * rows[1]));
        // Nothing reads the last states.
        let last_row = 2 * widths[0].max(widths[1]);
        let d_last = &*self.d_last.clear(w.batch.len() * last_row);
        let d_last = Rows { data: d_last, n: w.batch.len(), row: last_row };
        let dy = Rows { data: &self.d_projected, n, row: network.project.weight.width() };
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
        let dx = RowsMut { data: self.d_x.reserve(n * row), row };
        network.lstm[0].backward(kernels, transposed, &w.batch, &mut w.lstm[0], d_first, d_last, dx);
        scale(kernels, &w.x_factors, &mut self.d_x, width, row, n);
    }

    /// The gradients of matrices and biases.
    fn matrices_backward(&mut self, network: &Network, kernels: Kernels) {
        let w = &self.workspace;
        let n = w.batch.words();
        let rows = network.shape.widths().map(row_of);
        let x = [
            Rows { data: &w.x, n, row: row_of(network.shape.embedding) },
            Rows { data: out(w, 0, true), n, row: rows[0] },
            Rows { data: out(w, 1, true), n, row: rows[1] },
        ];
        let (n_steps, n_arcs) = (self.actions.inputs.len(), self.arcs.inputs.len());
        let hidden = Rows { data: &self.actions.hidden, n: n_steps, row: network.shape.action };
        let relation_hidden = Rows { data: &self.arcs.hidden, n: n_arcs, row: network.shape.relation };
        let heads = [
            (network.tag, x[1], &w.tag_logits, n),
            (network.project, x[2], &self.d_projected, n),
            (network.action, hidden, &self.actions.d_logits, n_steps),
            (network.relation, relation_hidden, &self.arcs.d_logits, n_arcs),
        ];
        let mut biases = vec![
            (network.action_bias, Rows { data: &self.actions.d_hidden, ..hidden }),
            (network.relation_bias, Rows { data: &self.arcs.d_hidden, ..relation_hidden }),
        ];
        let mut products = Vec::new();
        for (layer, lstm) in network.lstm.iter().enumerate() {
            products.extend(lstm.products(&w.batch, x[layer], &w.lstm[layer]));
            let (input, d_gates) = lstm.d_gates(&w.batch, &w.lstm[layer]);
            biases.extend(input.bias.map(|bias| (bias, d_gates)));
        }
        for (linear, x, dy, n) in heads {
            let dy = Rows { data: dy, n, row: linear.weight.width() };
            products.push(Product { weight: linear.weight, x, dy });
            biases.extend(linear.bias.map(|bias| (bias, dy)));
        }
        for product in products {
            Product::sum(kernels, &[product], 0, product.weight.of_mut(&mut self.gradient));
        }
        for (bias, dy) in biases {
            let to = bias.of_mut(&mut self.gradient);
            kernels.sum_rows(&dy.data[..rows_end(dy, to.len())], dy.row, to);
        }
    }
}

/// What the steps of a parse have in common.
struct Lesson<'a> {
    network: &'a Network,
    kernels: Kernels,
    parameters: &'a [f32],
    projected: &'a [f32],
    /// The row of each word.
    rows: &'a [usize],
    example: &'a Example,
    practice: Practice,
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
        let network = self.network;
        let input = network.action_input(configuration, self.rows);
        let (hidden, logits) = actions.next(&network.action);
        network.action_hidden(self.parameters, self.projected, &input, hidden);
        apply(self.kernels, &network.action, self.parameters, hidden, logits);
        let costs = configuration.costs(&self.example.heads);
        let (chosen, right) = choose(logits, costs);
        let is_explored = chosen != right && random.uniform() < self.practice.exploration;
        *loss += d_action(logits, costs, self.practice.weight);
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
        let (network, n_relations) = (self.network, self.network.shape.relations);
        let input = network.relation_input(configuration, (head, child), self.rows);
        let (hidden, logits) = arcs.next(&network.relation);
        network.relation_hidden(self.parameters, self.projected, &input, hidden);
        apply(self.kernels, &network.relation, self.parameters, hidden, logits);
        let relation = best(&logits[1..n_relations]) + 1;
        if self.example.heads[child as usize] == head {
            let gold = self.example.relations[child as usize];
            *loss += d_cross_entropy(&mut logits[..n_relations], gold.into(), self.practice.weight);
            logits[n_relations..].fill(0.0);
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

/// Turns logits into the gradient of the cross entropy with the right answer.
fn d_cross_entropy(logits: &mut [f32], right: usize, weight: f32) -> f64 {
    softmax(logits);
    let loss = -logits[right].max(1e-20).ln();
    for logit in logits.iter_mut() {
        *logit *= weight;
    }
    logits[right] -= weight;
    f64::from(weight * loss)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Parameters, transpose};
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
        let run = |parameters: &Parameters, shard: &mut Shard| {
            let mut transposed = Buffer::zeros(network.layout.matrices());
            transpose(kernels, &network.matrices(), parameters, &mut transposed);
            let practice = Practice { exploration: 0.0, dropout: 0.0, weight: 0.25 };
            let examples: Vec<&Example> = examples.iter().collect();
            shard.run(
                &network,
                kernels,
                (parameters, &transposed),
                &examples,
                &[0.0; 9],
                practice,
                Random::new(1),
            );
            shard.loss
        };
        let mut shard = Shard::default();
        let loss = run(&parameters, &mut shard);
        let (gradient, words, d_x) = (shard.gradient.clone(), shard.words.clone(), shard.d_x.clone());
        let mut n_large = 0;
        let mut check = |at: usize, found: f64| {
            let (step, value) = (4e-3, parameters[at]);
            let mut slope = |step: f32| {
                parameters[at] = value + step;
                (run(&parameters, &mut shard) - loss) / f64::from(step)
            };
            let slopes = [slope(step), slope(-step)];
            parameters[at] = value;
            // Where a unit is rectified within the step, the slopes of the two sides differ.
            let (low, high) = (slopes[0].min(slopes[1]), slopes[0].max(slopes[1]));
            let tolerance = 2e-3 + 0.02 * found.abs();
            assert!(low - tolerance < found && found < high + tolerance, "{at}: {found} {slopes:?}");
            n_large += usize::from(found.abs() > 0.01);
        };
        for at in (0..network.dense).step_by(11) {
            check(at, f64::from(gradient[at]));
        }
        for row in 1..7 {
            let uses = words.iter().enumerate().flat_map(|(i, rows)| rows.map(|row| (i, row)));
            let uses = uses.filter(|&(_, used)| used == row as u32);
            let found = uses.map(|(i, _)| f64::from(d_x[i * row_of(16) + 3])).sum();
            check(network.dense + row * network.embedding.width() + 3, found);
        }
        assert!(n_large > 40, "{n_large}");
    }
}
