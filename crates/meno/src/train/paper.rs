//! Training of the slot-gated tagger, with or without the second loss.

use super::TrainSettings;
use super::optimizer::Replica;
use super::task::{Part, Task};
use super::trainer::Trainer;
use crate::encoder::{Dropout, EntropyLoss, Kernels, LossWeights, SlotGated, Workspace};
use crate::features::UNKNOWN;
use crate::random::Random;

/// One utterance as ids; it has at least one word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// Word ids.
    pub words: Vec<u32>,
    /// A label id for each word.
    pub labels: Vec<u32>,
    /// The intent's id.
    pub intent: u32,
}

/// The examples of a slot-gated tagger.
pub struct Paper<'a> {
    network: &'a SlotGated,
    examples: &'a [Example],
    settings: TrainSettings,
    /// How likely each word is read as one outside the vocabulary; empty if none is.
    unknown: Vec<f32>,
}

impl<'a> Paper<'a> {
    pub(super) fn new(network: &'a SlotGated, examples: &'a [Example], settings: TrainSettings) -> Self {
        let unknown = unknown(examples, network.shape().words, settings.unknown_words());
        Paper { network, examples, settings, unknown }
    }
}

impl<'a> Trainer<Paper<'a>> {
    /// A slot-gated tagger that has seen nothing yet.
    pub fn new(
        network: &'a SlotGated,
        kernels: Kernels,
        examples: &'a [Example],
        settings: TrainSettings,
    ) -> Self {
        Trainer::of(Paper::new(network, examples, settings.clone()), kernels, settings)
    }
}

impl Task for Paper<'_> {
    type Network = SlotGated;

    fn network(&self) -> &SlotGated {
        self.network
    }

    fn n_examples(&self) -> usize {
        self.examples.len()
    }

    fn n_words(&self, example_idx: usize) -> usize {
        self.examples[example_idx].words.len()
    }

    fn begin_epoch(&mut self, _: Random) {}

    fn words(&self, batch: &[usize]) -> impl Iterator<Item = u32> {
        let words = batch.iter().flat_map(|&i| self.examples[i].words.iter().copied());
        words.chain((!self.unknown.is_empty()).then_some(UNKNOWN))
    }

    fn run(&self, kernels: Kernels, replica: &Replica, part: &Part<'_>, w: &mut Workspace) -> f64 {
        let (network, rate) = (self.network, self.settings.dropout);
        let Part { examples, batch, random, shard_idx } = *part;
        let examples = examples.iter().map(|&i| &self.examples[i]);
        let mut dropout = (rate > 0.0).then(|| Dropout { rate, random: random.fork(shard_idx) });
        let words = read_as_unknown(examples.clone(), &self.unknown, random.fork(!shard_idx));
        network.forward(kernels, &replica.parameters, words.iter().map(Vec::as_slice), dropout.as_mut(), w);
        let intent = 1.0 / batch as f32;
        let weights = LossWeights { slots: intent * self.settings.slot_weight, intent };
        let answers = examples.map(|example| (&example.labels[..], example.intent));
        let second = self.settings.calibrate.map(|settings| EntropyLoss {
            lambda: settings.lambda,
            parameters: &replica.parameters,
            transposed: &replica.transposed,
            calibration: settings.bounds,
        });
        let loss = network.loss(kernels, answers, weights, second, w);
        network.backward(kernels, &replica.parameters, &replica.transposed, w, dropout.is_some());
        loss
    }
}

/// A word that occurs n times is read as one outside the vocabulary with probability a / (a + n): the rarer, the more it
/// is like the words that were never seen (Kiperwasser and Goldberg, 2016).
fn unknown(examples: &[Example], n_words: usize, a: f32) -> Vec<f32> {
    if a <= 0.0 {
        return Vec::new();
    }
    let mut counts = vec![0.0; n_words];
    for &word in examples.iter().flat_map(|example| &example.words) {
        counts[word as usize] += 1.0;
    }
    counts.iter().map(|n| a / (a + n)).collect()
}

/// The words of the examples, some of them read as if they were not in the vocabulary.
fn read_as_unknown<'a>(
    examples: impl ExactSizeIterator<Item = &'a Example>,
    unknown: &[f32],
    mut random: Random,
) -> Vec<Vec<u32>> {
    examples
        .map(|example| {
            let mut words = example.words.clone();
            for word in words.iter_mut().filter(|_| !unknown.is_empty()) {
                if random.uniform() < unknown[*word as usize] {
                    *word = UNKNOWN;
                }
            }
            words
        })
        .collect()
}
