//! The network under the tagger and the parser (after Kiperwasser and Goldberg, 2016).
//!
//! ```text
//! x_i   = sum of the rows of word i                       embedding
//! u_i   = BiLSTM(x)_i        tag logits = u_i T + t       hidden forward, hidden backward
//! v_i   = BiLSTM(u)_i        p_i = v_i P                  one block of p for each place a word can be in
//! action logits   = relu(b + p of s2, s1, s0, next + contexts) A + a
//! relation logits = relu(c + p of head, child + contexts) R + r
//! ```
//! The product with P is done once a word, so that a step of the parser only adds rows. Rows are time-major.

use super::lexicon::NO_ROW;
use super::transitions::Configuration;
use crate::kernel::{Buffer, Gemm, Kernels, LANES, Right, Start, Strided, Term};
use crate::nn::{
    Batch, BiLstm, BiLstmState, Dropout, Layout, Linear, LstmNames, LstmWeights, Rows, RowsMut, Tensor,
    row_of,
};

/// Sizes of the network; all but the numbers of things are multiples of 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Width of an embedding.
    pub embedding: usize,
    /// Width of a hidden state of each layer, one direction.
    pub hidden: [usize; 2],
    /// Width of the layer that decides on actions.
    pub action: usize,
    /// Width of the layer that decides on relations.
    pub relation: usize,
    /// Rows of the embedding table.
    pub rows: usize,
    pub tags: usize,
    pub relations: usize,
}

impl Shape {
    /// The widths of what leaves the layers, both directions.
    pub(super) fn widths(&self) -> [usize; 2] {
        self.hidden.map(|hidden| 2 * hidden)
    }
}

/// Places of words that decide on an action: three on the stack, and the next word.
pub(crate) const ACTION_PLACES: usize = 4;
/// Contexts that decide on an action: the relations of five children, and a distance.
pub(crate) const ACTION_CONTEXTS: usize = 6;
/// Contexts that decide on a relation: direction and distance, and the relations of two children.
pub(crate) const RELATION_CONTEXTS: usize = 3;
/// Distances are told apart up to this.
const DISTANCES: usize = 8;

/// In place of a word: there is none.
pub(crate) const NOTHING: u32 = u32::MAX;
/// In place of a word: the root.
pub(crate) const ROOT: u32 = u32::MAX - 1;

/// Which rows are added up to decide on an action.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActionInput {
    /// Rows of words, or [`NOTHING`], or [`ROOT`].
    pub words: [u32; ACTION_PLACES],
    pub contexts: [u32; ACTION_CONTEXTS],
}

/// Which rows are added up to decide on a relation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelationInput {
    /// Rows of head and child.
    pub words: [u32; 2],
    pub contexts: [u32; RELATION_CONTEXTS],
}

/// The layout of the parameters.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub shape: Shape,
    pub layout: Layout,
    pub lstm: [BiLstm; 2],
    pub tag: Linear,
    pub project: Linear,
    pub action: Linear,
    pub relation: Linear,
    pub action_bias: Tensor,
    pub relation_bias: Tensor,
    /// Stands in for words that are not there and for the root, two rows for each place.
    pub outside: Tensor,
    pub action_contexts: Tensor,
    pub relation_contexts: Tensor,
    pub embedding: Tensor,
}

/// Activations of a batch.
#[derive(Default)]
pub(crate) struct Workspace {
    pub batch: Batch,
    pub x: Buffer,
    pub x_factors: Buffer,
    pub lstm: [BiLstmState; 2],
    /// Hidden states after dropout.
    pub dropped: [Buffer; 2],
    pub factors: [Buffer; 2],
    pub tag_logits: Buffer,
    pub projected: Buffer,
}

impl Network {
    pub(super) fn new(shape: Shape) -> Self {
        let mut layout = Layout::default();
        let [first_width, width] = shape.widths();
        let mut first = BiLstm::new(&mut layout, LstmNames::FIRST, shape.embedding, shape.hidden[0]);
        let mut second = BiLstm::new(&mut layout, LstmNames::UPPER, first_width, shape.hidden[1]);
        let places = ACTION_PLACES * shape.action + 2 * shape.relation;
        let mut matrix =
            |name, rows, columns| Linear { weight: layout.matrix(name, rows, columns), bias: None };
        let mut tag = matrix("tag", first_width, shape.tags);
        let project = matrix("project", width, places);
        let mut action = matrix("action", shape.action, 3);
        let mut relation = matrix("relation", shape.relation, shape.relations);
        first.bias(&mut layout);
        second.bias(&mut layout);
        for (linear, columns) in [(&mut tag, shape.tags), (&mut action, 3), (&mut relation, shape.relations)]
        {
            linear.bias = Some(layout.vector("bias", columns));
        }
        let action_bias = layout.vector("action.bias", shape.action);
        let relation_bias = layout.vector("relation.bias", shape.relation);
        let outside = layout.dense_table("outside", 2 * ACTION_PLACES, shape.action);
        let children = shape.relations + 1;
        let action_contexts =
            layout.dense_table("action.contexts", (ACTION_CONTEXTS - 1) * children + DISTANCES, shape.action);
        let relation_contexts = layout.dense_table(
            "relation.contexts",
            (RELATION_CONTEXTS - 1) * children + 2 * DISTANCES,
            shape.relation,
        );
        let embedding = layout.table("embedding", shape.rows, shape.embedding);
        Network {
            shape,
            lstm: [first, second],
            tag,
            project,
            action,
            relation,
            action_bias,
            relation_bias,
            outside,
            action_contexts,
            relation_contexts,
            embedding,
            layout,
        }
    }

    /// What the sums of embeddings, `w.x`, give to the gates of the first layer.
    pub(super) fn project_words(&self, kernels: Kernels, parameters: &[f32], w: &mut Workspace) {
        let x = Rows { data: &w.x, n: w.batch.words(), row: row_of(self.shape.embedding) };
        self.lstm[0].project(kernels, parameters, x, &mut w.lstm[0].gates);
    }

    /// From the gates of the first layer, for the sentences of `w.batch`, to tag logits and the rows that the parser
    /// adds up.
    pub(super) fn encode(
        &self,
        kernels: Kernels,
        parameters: &[f32],
        mut dropout: Option<&mut Dropout>,
        w: &mut Workspace,
    ) {
        let n = w.batch.words();
        let widths = self.shape.widths();
        let rows = widths.map(row_of);
        for layer in 0..2 {
            let mut state = std::mem::take(&mut w.lstm[layer]);
            if layer == 1 {
                let x = Rows { data: out(w, 0, dropout.is_some()), n, row: rows[0] };
                self.lstm[1].project(kernels, parameters, x, &mut state.gates);
            }
            self.lstm[layer].forward(kernels, parameters, LstmWeights::Floats, &w.batch, &mut state);
            w.lstm[layer] = state;
            if let Some(dropout) = dropout.as_deref_mut() {
                let (width, row) = (widths[layer], rows[layer]);
                let factors = w.factors[layer].reserve(n * width);
                dropout.fill(kernels, factors);
                let to = w.dropped[layer].reserve(n * row);
                for i in 0..n {
                    let at = i * row..i * row + width;
                    kernels.multiply(
                        &w.lstm[layer].hidden[at.clone()],
                        &factors[i * width..][..width],
                        &mut to[at],
                    );
                }
            }
        }
        let mut logits = std::mem::take(&mut w.tag_logits);
        let width = self.tag.weight.width();
        let to = RowsMut { data: logits.reserve(n * width), row: width };
        let x = Rows { data: out(w, 0, dropout.is_some()), n, row: rows[0] };
        self.tag.forward(kernels, parameters, x, to);
        w.tag_logits = logits;
        let mut projected = std::mem::take(&mut w.projected);
        let width = self.project.weight.width();
        let to = RowsMut { data: projected.reserve(n * width), row: width };
        let x = Rows { data: out(w, 1, dropout.is_some()), n, row: rows[1] };
        self.project.forward(kernels, parameters, x, to);
        w.projected = projected;
    }

    /// What decides on the next action. `rows[i]` is the row of word `i + 1`.
    pub(super) fn action_input(&self, configuration: &Configuration, rows: &[usize]) -> ActionInput {
        let row = |word: Option<u32>| match word {
            None => NOTHING,
            Some(0) => ROOT,
            Some(word) => rows[word as usize - 1] as u32,
        };
        let [s2, s1, s0] = [2, 1, 0].map(|depth| configuration.stacked(depth));
        let next = configuration.next();
        let child = |word: Option<u32>, left: bool| {
            let Some(node) = word.map(|word| configuration.node(word)) else { return 0 };
            match if left { node.left } else { node.right } {
                0 => 0,
                child => u32::from(configuration.node(child).relation) + 1,
            }
        };
        let children = self.shape.relations as u32 + 1;
        let distance = match (s0, next) {
            (Some(s0), Some(next)) if s0 > 0 => (next - s0).min(DISTANCES as u32 - 1),
            _ => 0,
        };
        let mut contexts = [
            child(s1, true),
            child(s1, false),
            child(s0, true),
            child(s0, false),
            child(next, true),
            distance,
        ];
        for (kind, context) in (0..).zip(&mut contexts) {
            *context += kind * children;
        }
        ActionInput { words: [row(s2), row(s1), row(s0), row(next)], contexts }
    }

    /// What decides on the relation of an arc between two words.
    pub(super) fn relation_input(
        &self,
        configuration: &Configuration,
        (head, child): (u32, u32),
        rows: &[usize],
    ) -> RelationInput {
        let grandchild = |word: u32| match word {
            0 => 0,
            word => u32::from(configuration.node(word).relation) + 1,
        };
        let node = configuration.node(child);
        let children = self.shape.relations as u32 + 1;
        let distance =
            head.abs_diff(child).min(DISTANCES as u32 - 1) + u32::from(child < head) * DISTANCES as u32;
        RelationInput {
            words: [head, child].map(|word| rows[word as usize - 1] as u32),
            contexts: [grandchild(node.left), children + grandchild(node.right), 2 * children + distance],
        }
    }

    /// The hidden layer before the action.
    pub(super) fn action_hidden(
        &self,
        parameters: &[f32],
        projected: &[f32],
        input: &ActionInput,
        hidden: &mut [f32],
    ) {
        let (width, row) = (self.shape.action, self.project.weight.width());
        hidden.copy_from_slice(self.action_bias.of(parameters));
        for (place, &word) in input.words.iter().enumerate() {
            add(
                hidden,
                match word {
                    NOTHING => self.outside.row(parameters, 2 * place),
                    ROOT => self.outside.row(parameters, 2 * place + 1),
                    word => &projected[word as usize * row + place * width..][..width],
                },
            );
        }
        for &context in &input.contexts {
            add(hidden, self.action_contexts.row(parameters, context as usize));
        }
        rectify(hidden);
    }

    /// The hidden layer before the relation.
    pub(super) fn relation_hidden(
        &self,
        parameters: &[f32],
        projected: &[f32],
        input: &RelationInput,
        hidden: &mut [f32],
    ) {
        let (width, row) = (self.shape.relation, self.project.weight.width());
        hidden.copy_from_slice(self.relation_bias.of(parameters));
        for (place, &word) in input.words.iter().enumerate() {
            let at = word as usize * row + ACTION_PLACES * self.shape.action + place * width;
            add(hidden, &projected[at..at + width]);
        }
        for &context in &input.contexts {
            add(hidden, self.relation_contexts.row(parameters, context as usize));
        }
        rectify(hidden);
    }
}

/// What leaves a layer.
pub(crate) fn out(w: &Workspace, layer: usize, dropped: bool) -> &[f32] {
    if dropped { &w.dropped[layer] } else { &w.lstm[layer].hidden }
}

/// Adds the rows of a word of the table in floats.
pub(crate) fn embed(embedding: Tensor, parameters: &[f32], rows: &[u32], x: &mut [f32]) {
    x.fill(0.0);
    for &row in rows.iter().filter(|&&row| row != NO_ROW) {
        add(x, embedding.row(parameters, row as usize));
    }
}

/// One row times a matrix, plus its bias.
pub(crate) fn apply(kernels: Kernels, linear: &Linear, parameters: &[f32], x: &[f32], y: &mut [f32]) {
    let a = Strided { data: x, row: x.len(), column: 1 };
    let terms = &[Term { k: x.len(), a, b: Right::Panels(linear.weight.of(parameters)) }];
    let start = linear.bias.map_or(Start::Zero, |bias| Start::Row(bias.of(parameters)));
    let n = linear.weight.width();
    kernels.gemm(Gemm { m: 1, n, terms, start, c: y, c_row: n, c_panel: LANES });
}

pub(crate) fn add(y: &mut [f32], x: &[f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += x;
    }
}

fn rectify(x: &mut [f32]) {
    for x in x {
        *x = x.max(0.0);
    }
}
