//! One sentence from words to tags and tree.

use super::memory::Memory;
use super::model::Model;
use super::network::{Workspace, apply};
use super::transitions::{Action, Configuration};
use super::upos::Upos;
use crate::kernel::{Buffer, Kernels, padded};

/// The buffers of a parse, used again for the next.
#[derive(Default)]
pub(crate) struct Parser {
    memory: Memory,
    workspace: Workspace,
    configuration: Configuration,
    hidden: Buffer,
    logits: Buffer,
    /// Of the last sentence.
    pub tags: Vec<Upos>,
}

impl Parser {
    /// Finds the tags, which stay in the parser, and the tree, which the configuration given back holds.
    pub(super) fn parse<S: AsRef<str>>(
        &mut self,
        model: &Model,
        kernels: Kernels,
        words: &[S],
    ) -> &Configuration {
        self.configuration.begin(words.len());
        self.tags.clear();
        if words.is_empty() {
            return &self.configuration;
        }
        let (network, w) = (&model.network, &mut self.workspace);
        w.batch.pack(std::iter::once(words.len()));
        let row = network.lstm[0].gates_row();
        let gates = w.lstm[0].gates.reserve(words.len() * row);
        self.memory.gates(model, kernels, words, gates, row);
        network.encode(kernels, &model.parameters, None, w);
        let tag_width = network.tag.weight.width();
        for logits in w.tag_logits.chunks_exact(tag_width).take(words.len()) {
            self.tags.push(Upos::ALL[best(&logits[..network.shape.tags])]);
        }
        self.transitions(model, kernels);
        &self.configuration
    }

    fn transitions(&mut self, model: &Model, kernels: Kernels) {
        let (network, parameters) = (&model.network, &model.parameters);
        let (w, configuration) = (&self.workspace, &mut self.configuration);
        let rows = w.batch.time_rows();
        let widest = network.shape.action.max(network.shape.relation);
        let hidden = self.hidden.reserve(widest);
        let logits = self.logits.reserve(padded(network.shape.relations.max(3)));
        while !configuration.is_done() {
            let input = network.action_input(configuration, rows);
            let hidden_action = &mut hidden[..network.shape.action];
            network.action_hidden(parameters, &w.projected, &input, hidden_action);
            apply(kernels, &network.action, parameters, hidden_action, logits);
            let allowed = configuration.allowed();
            let mut chosen = None;
            for action in 0..3 {
                if allowed[action] && chosen.is_none_or(|chosen: usize| logits[action] > logits[chosen]) {
                    chosen = Some(action);
                }
            }
            let action = Action::ALL[chosen.expect("a parse that is not done can go on")];
            let relation = match configuration.arc(action) {
                Some((head, child)) if head > 0 => {
                    let input = network.relation_input(configuration, (head, child), rows);
                    let hidden = &mut hidden[..network.shape.relation];
                    network.relation_hidden(parameters, &w.projected, &input, hidden);
                    apply(kernels, &network.relation, parameters, hidden, logits);
                    // 0 is the relation of the root alone.
                    best(&logits[1..network.shape.relations]) + 1
                }
                _ => 0,
            };
            configuration.take(action, relation as u8);
        }
    }
}

/// The place of the largest number; the first, if there is none.
pub(crate) fn best(scores: &[f32]) -> usize {
    let mut best = 0;
    for (i, &score) in scores.iter().enumerate() {
        if score > scores[best] {
            best = i;
        }
    }
    best
}

/// Logits to probabilities.
pub(crate) fn softmax(logits: &mut [f32]) {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for logit in logits.iter_mut() {
        *logit = (*logit - highest).exp();
        sum += *logit;
    }
    for logit in logits {
        *logit /= sum;
    }
}
