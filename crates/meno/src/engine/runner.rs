//! Runs the network of a model on one utterance after the other.

use super::tagger::{SpanModel, Tagger};
use super::{MAX_WORDS, Model};
use crate::decoding::{Concept, Distributions};
use crate::encoder::kernel::Buffer;
use crate::encoder::{Form, Kernels, Prepared, SlotGated, TaggerWorkspace, Token, Workspace};
use crate::features::UNKNOWN;
use crate::logits::{Logits, largest};
use crate::uncertainty::Score;

/// Words that are prepared: they make up nearly all text, and take 2 to 4 MB.
pub(super) const PREPARED: usize = 1000;

/// The name of the uncertainty of concepts.
pub const CONCEPT_SCORE: &str = "concept";

/// The network with its buffers.
pub(super) enum Runner<'m> {
    SlotGated(SlotGatedRunner<'m>),
    Span(SpanRunner<'m>),
}

impl<'m> Runner<'m> {
    pub fn new(model: &'m Model, kernels: Kernels) -> Self {
        match &model.tagger {
            Tagger::SlotGated(network) => Runner::SlotGated(SlotGatedRunner {
                model,
                network,
                kernels,
                prepared: network.prepare(kernels, &model.parameters, model.calibration(), PREPARED),
                workspace: Workspace::default(),
                words: Vec::new(),
                // A threshold of another kind of score was refused when the model was read.
                score: model.threshold.as_ref().and_then(|threshold| threshold.score.parse().ok()),
                uncertainty: Vec::new(),
                row: Vec::new(),
            }),
            Tagger::Span(span) => Runner::Span(SpanRunner::new(model, span, kernels)),
        }
    }

    /// Reads the words of an utterance in the form of the vocabulary; leaves a row of logits for each word.
    pub fn read<'w>(&mut self, words: impl Iterator<Item = &'w str>, logits: &mut Logits) {
        match self {
            Runner::SlotGated(runner) => runner.read(words, logits),
            Runner::Span(runner) => runner.read(words, logits),
        }
    }

    /// The id of the label of each word.
    pub fn labels(&self, logits: &Logits) -> Vec<u32> {
        match self {
            Runner::SlotGated(_) => logits.slots().filter_map(largest).map(|(id, _)| id).collect(),
            Runner::Span(runner) => runner.labels(),
        }
    }
}

/// See [`crate::encoder::SlotGated`].
pub(super) struct SlotGatedRunner<'m> {
    model: &'m Model,
    network: &'m SlotGated,
    kernels: Kernels,
    prepared: Prepared,
    workspace: Workspace,
    words: Vec<u32>,
    pub score: Option<Score>,
    /// How unsure the model is of each word, if it has a threshold.
    pub uncertainty: Vec<f32>,
    row: Vec<f64>,
}

impl SlotGatedRunner<'_> {
    fn read<'w>(&mut self, words: impl Iterator<Item = &'w str>, logits: &mut Logits) {
        let (network, features) = (self.network, &self.model.features);
        let n_labels = features.labels.len();
        self.uncertainty.clear();
        logits.fill(n_labels, std::iter::empty::<&[f32]>(), &[]);
        let mut ids = std::mem::take(&mut self.words);
        ids.clear();
        ids.extend(words.map(|word| features.word(word)));
        for (piece_idx, words) in ids.chunks(MAX_WORDS).enumerate() {
            network.infer(self.kernels, &self.model.parameters, &self.prepared, words, &mut self.workspace);
            let slots = network.slot_logits(&self.workspace);
            if piece_idx == 0 {
                let intents = network.intent_logits(&self.workspace).next().unwrap_or(&[]);
                logits.fill(n_labels, slots, intents);
            } else {
                logits.extend(slots);
            }
            self.assess();
        }
        self.words = ids;
    }

    /// How unsure the model is of the words of the last pass.
    fn assess(&mut self) {
        let (network, kernels, w) = (self.network, self.kernels, &mut self.workspace);
        match self.score {
            None => {}
            Some(Score::Entropy) => {
                self.uncertainty.extend_from_slice(network.entropies(kernels, &self.prepared, w));
            }
            Some(score) => {
                let rows = network.concentrations(kernels, &self.prepared, w);
                self.uncertainty.extend(rows.map(|row| score.of_with(row, &mut self.row) as f32));
            }
        }
    }
}

/// See [`crate::encoder::SpanTagger`].
pub(super) struct SpanRunner<'m> {
    model: &'m Model,
    span: &'m SpanModel,
    kernels: Kernels,
    gates: Buffer,
    workspace: TaggerWorkspace,
    tokens: Vec<Token>,
    forms: Vec<Form>,
    pub distributions: Distributions,
    pub concepts: Vec<Concept>,
    label_row: Vec<f32>,
}

impl<'m> SpanRunner<'m> {
    fn new(model: &'m Model, span: &'m SpanModel, kernels: Kernels) -> Self {
        let words = &model.features.words.names()[..PREPARED.min(model.features.words.len())];
        let forms: Vec<Form> = words.iter().map(|word| span.form(word)).collect();
        let mut workspace = TaggerWorkspace::default();
        SpanRunner {
            gates: span.network.prepare(kernels, &model.parameters, &forms, &mut workspace),
            workspace,
            model,
            span,
            kernels,
            tokens: Vec::new(),
            forms: Vec::new(),
            distributions: Distributions::default(),
            concepts: Vec::new(),
            label_row: Vec::new(),
        }
    }

    fn read<'w>(&mut self, words: impl Iterator<Item = &'w str>, logits: &mut Logits) {
        let (network, features) = (&self.span.network, &self.model.features);
        let n_labels = features.labels.len();
        self.tokens.clear();
        self.forms.clear();
        for word in words {
            let id = features.word(word);
            let is_prepared = id != UNKNOWN && (id as usize) < PREPARED;
            let form = if is_prepared { 0 } else { self.forms.len() as u32 };
            if !is_prepared {
                self.forms.push(self.span.form(word));
            }
            self.tokens.push(Token { word: id, form });
        }
        logits.fill(n_labels, std::iter::empty::<&[f32]>(), &[]);
        self.concepts.clear();
        let transitions = network.transitions(&self.model.parameters);
        for (piece_idx, tokens) in self.tokens.chunks(MAX_WORDS).enumerate() {
            let w = &mut self.workspace;
            network.infer(self.kernels, &self.model.parameters, &self.gates, tokens, &self.forms, w);
            if piece_idx == 0 {
                let intents = network.intent_logits(w).next().unwrap_or(&[]);
                logits.fill(n_labels, std::iter::empty::<&[f32]>(), intents);
            }
            self.distributions.read(network.place_logits(w), transitions, network.slot_logits(w));
            for word_idx in 0..tokens.len() {
                self.distributions.label_row(word_idx, &mut self.label_row);
                logits.extend(std::iter::once(&self.label_row[..]));
            }
            let was_outside = |word_idx: usize| self.span.lexicon.was_outside(tokens[word_idx].word);
            let penalty = |word_idx: usize| if was_outside(word_idx) { 0.0 } else { self.span.penalty };
            let start = piece_idx * MAX_WORDS;
            let concepts = self.distributions.decode(penalty).into_iter();
            self.concepts.extend(concepts.map(|concept| Concept {
                start: start + concept.start,
                end: start + concept.end,
                ..concept
            }));
        }
    }

    fn labels(&self) -> Vec<u32> {
        let mut labels = vec![0; self.tokens.len()];
        for concept in &self.concepts {
            labels[concept.start..concept.end].fill(2 + 2 * concept.slot);
            labels[concept.start] -= 1;
        }
        labels
    }
}
