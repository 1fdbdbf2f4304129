//! Runs the network of a model on one utterance after the other.

use std::borrow::Cow;
use std::sync::Arc;

use super::lexicon::word_key;
use super::tagger::{SpanModel, Tagger};
use super::{MAX_WORDS, Model};
use crate::decision::{BEGIN_UNKNOWN, INSIDE_UNKNOWN};
use crate::decoding::{Concept, Distributions};
use crate::encoder::{Form, Kernels, Prepared, PreparedTagger, SlotGated, TaggerWorkspace, Token, Workspace};
use crate::features::UNKNOWN;
use crate::logits::{Logits, largest};
use crate::uncertainty::Score;

/// Words that are prepared for a slot-gated network: they make up nearly all text, and take 2 MB.
pub(super) const PREPARED: usize = 1000;

/// The name of the uncertainty of concepts.
pub const CONCEPT_SCORE: &str = "concept";

/// How unsure limits and slot are, both as minus the log of a probability, and how new a concept is, to its uncertainty.
/// Chosen on valid and new-concept sets (`docs/results.md`).
pub(crate) fn concept_uncertainty(limits: f64, slot: f64, novelty: Novelty) -> f64 {
    let Novelty { words, value, surprise } = novelty;
    log_doubt(limits) * LIMITS + log_doubt(slot) + NEW_WORDS * words + NEW_VALUE * value + SURPRISE * surprise
}

const LIMITS: f64 = 2.0 / 3.0;
const NEW_WORDS: f64 = 2.0;
const NEW_VALUE: f64 = 6.0;
const SURPRISE: f64 = 0.25;

/// The log of minus the log of a probability, with an end where that is as good as 1.
fn log_doubt(minus_ln: f64) -> f64 {
    (minus_ln + 1e-4).ln()
}

/// What can be measured of a concept; sums and means are over its words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Minus the log probability that there is a concept of exactly these words.
    pub limits: f64,
    /// Minus the sum of the log probabilities that the words give to its slot.
    pub slot: f64,
    /// The summed entropy of the slots.
    pub entropy: f64,
    /// Minus the mean log of the sum of the slots' concentrations.
    pub energy: f64,
    /// The summed mutual information of the slots' Dirichlet distributions.
    pub mutual_information: f64,
    /// How new it is.
    pub novelty: Novelty,
}

/// What of a concept is new to its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Novelty {
    /// The share of its words that no value of the slot had.
    pub words: f64,
    /// 1 if the slot did not have this value, else 0.
    pub value: f64,
    /// Minus the log of the share of the slot's values that are to be new, if this one is, else 0.
    pub surprise: f64,
}

/// The network with its buffers.
pub(super) enum Runner<'m> {
    SlotGated(Box<SlotGatedRunner<'m>>),
    Span(Box<SpanRunner<'m>>),
}

impl<'m> Runner<'m> {
    pub fn new(model: &'m Model, kernels: Kernels) -> Self {
        match &model.tagger {
            Tagger::SlotGated(network) => Runner::SlotGated(Box::new(SlotGatedRunner {
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
            })),
            Tagger::Span(span) => Runner::Span(Box::new(SpanRunner::new(model, span, kernels))),
        }
    }

    /// Reads the words of an utterance in the form of the vocabulary; leaves a row of logits for each word.
    pub fn read<'w>(&mut self, words: impl Iterator<Item = &'w str>, logits: &mut Logits) {
        match self {
            Runner::SlotGated(runner) => runner.read(words, logits),
            Runner::Span(runner) => runner.read(words, logits),
        }
    }

    /// How unsure the model is of each word.
    pub fn uncertainty(&self) -> &[f32] {
        match self {
            Runner::SlotGated(runner) => &runner.uncertainty,
            Runner::Span(runner) => &runner.uncertainty,
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
    prepared: Arc<PreparedTagger>,
    workspace: TaggerWorkspace,
    tokens: Vec<Token>,
    forms: Vec<Form>,
    keys: Vec<u32>,
    distributions: Distributions,
    pub concepts: Vec<Concept>,
    /// How unsure the model is of each concept.
    pub doubts: Vec<f32>,
    /// How unsure it is of each word: of its concept, or that it is in none.
    pub uncertainty: Vec<f32>,
    label_row: Vec<f32>,
}

impl<'m> SpanRunner<'m> {
    fn new(model: &'m Model, span: &'m SpanModel, kernels: Kernels) -> Self {
        SpanRunner {
            prepared: span.prepare(kernels, &model.features, &model.parameters),
            workspace: TaggerWorkspace::default(),
            model,
            span,
            kernels,
            tokens: Vec::new(),
            forms: Vec::new(),
            keys: Vec::new(),
            distributions: Distributions::default(),
            concepts: Vec::new(),
            doubts: Vec::new(),
            uncertainty: Vec::new(),
            label_row: Vec::new(),
        }
    }

    fn read<'w>(&mut self, words: impl Iterator<Item = &'w str>, logits: &mut Logits) {
        let (network, features) = (&self.span.network, &self.model.features);
        let n_labels = features.labels.len();
        self.tokens.clear();
        self.forms.clear();
        self.keys.clear();
        for word in words {
            let id = features.word(word);
            let is_prepared = id != UNKNOWN && (id as usize) < SpanModel::PREPARED;
            let form = if is_prepared { 0 } else { self.forms.len() as u32 };
            if !is_prepared {
                self.forms.push(self.span.form(word));
            }
            self.tokens.push(Token { word: id, form });
            self.keys.push(word_key(word));
        }
        logits.fill(n_labels, std::iter::empty::<&[f32]>(), &[]);
        self.concepts.clear();
        self.doubts.clear();
        self.uncertainty.clear();
        let transitions = network.transitions(&self.model.parameters);
        for (piece_idx, tokens) in self.tokens.chunks(MAX_WORDS).enumerate() {
            let w = &mut self.workspace;
            network.infer(self.kernels, &self.model.parameters, &self.prepared, tokens, &self.forms, w);
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
            let concepts = self.distributions.decode(penalty);
            let outside = |word_idx| {
                let minus_ln = -self.distributions.place(word_idx)[0].max(f32::MIN_POSITIVE).ln();
                concept_uncertainty(minus_ln.into(), minus_ln.into(), Novelty::default()) as f32
            };
            self.uncertainty.extend((0..tokens.len()).map(outside));
            let first = piece_idx * MAX_WORDS;
            for concept in concepts {
                let concept = Concept { start: first + concept.start, end: first + concept.end, ..concept };
                let doubt = self.doubt(&concept);
                self.doubts.push(doubt);
                self.concepts.push(concept);
            }
        }
        // What is taken to be outside is never unknown, however unsure that is.
        let highest = self.model.threshold.as_ref().map_or(f32::MAX, |threshold| threshold.value as f32);
        self.uncertainty.iter_mut().for_each(|uncertainty| *uncertainty = uncertainty.min(highest));
        for (concept, &doubt) in self.concepts.iter().zip(&self.doubts) {
            self.uncertainty[concept.start..concept.end].fill(doubt);
        }
    }

    /// How unsure the model is of a concept: of its limits, of its slot, and because it is new.
    fn doubt(&self, concept: &Concept) -> f32 {
        let limits = -f64::from(concept.limits.max(f32::MIN_POSITIVE)).ln();
        concept_uncertainty(limits, concept.disagreement.into(), self.novelty(concept)) as f32
    }

    fn novelty(&self, concept: &Concept) -> Novelty {
        let range = concept.start..concept.end;
        let lexicon = &self.span.lexicon;
        let words = self.tokens[range.clone()].iter().map(|token| token.word);
        let is_new = !lexicon.has_value(concept.slot, self.keys[range].iter().copied());
        Novelty {
            words: lexicon.novelty(concept.slot, words).into(),
            value: f64::from(u8::from(is_new)),
            surprise: if is_new { lexicon.surprise(concept.slot).into() } else { 0.0 },
        }
    }

    pub fn n_words(&self) -> usize {
        self.tokens.len()
    }

    pub fn evidence(&self) -> Vec<Evidence> {
        let of = |concept: &Concept| {
            let rows: Vec<Vec<f32>> =
                (concept.start..concept.end).map(|word| self.distributions.slot_logits(word)).collect();
            let sum = |score: Score| rows.iter().map(|row| score.of(row)).sum::<f64>();
            Evidence {
                limits: -f64::from(concept.limits.max(f32::MIN_POSITIVE)).ln(),
                slot: concept.disagreement.into(),
                entropy: sum(Score::SoftmaxEntropy),
                energy: sum(Score::Energy) / rows.len() as f64,
                mutual_information: sum(Score::MutualInformation),
                novelty: self.novelty(concept),
            }
        };
        self.concepts.iter().map(of).collect()
    }

    /// Which concepts are unknown.
    pub fn unknown(&self) -> impl Iterator<Item = bool> {
        let threshold = self.model.threshold.as_ref();
        self.doubts
            .iter()
            .map(move |&doubt| threshold.is_some_and(|threshold| threshold.is_unknown(doubt.into())))
    }

    /// The labels of words, those of unknown concepts replaced.
    pub fn labels_with_unknown(&self, labels: &[&'m str]) -> Vec<Cow<'m, str>> {
        let mut labels: Vec<Cow<'m, str>> = labels.iter().map(|&label| Cow::Borrowed(label)).collect();
        for (concept, _) in self.concepts.iter().zip(self.unknown()).filter(|(_, unknown)| *unknown) {
            labels[concept.start..concept.end].fill(Cow::Borrowed(INSIDE_UNKNOWN));
            labels[concept.start] = Cow::Borrowed(BEGIN_UNKNOWN);
        }
        labels
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
