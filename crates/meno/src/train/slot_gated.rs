//! Training of the slot-gated tagger, with or without the entropy regularizer.

use crate::encoder::{EntropyLoss, SlotGated, Workspace};
use crate::features::{Example, UNKNOWN_WORD};
use crate::kernel::Kernels;
use crate::nn::optimizer::Replica;
use crate::nn::{Dropout, LossWeights, Part, Task, WordDropout};
use crate::random::Random;
use crate::settings::TrainSettings;

/// The examples of a slot-gated tagger.
pub struct SlotGatedTask<'a> {
    network: &'a SlotGated,
    examples: &'a [Example],
    settings: &'a TrainSettings,
    word_dropout: Option<WordDropout>,
}

impl<'a> SlotGatedTask<'a> {
    /// What is trained on what.
    pub fn new(network: &'a SlotGated, examples: &'a [Example], settings: &'a TrainSettings) -> Self {
        let mut counts = vec![0; network.shape().words];
        for &word in examples.iter().flat_map(|example| &example.words) {
            counts[word as usize] += 1;
        }
        let a = settings.calibration().map_or(0.0, |calibration| calibration.unknown_words);
        let word_dropout = (a > 0.0).then(|| WordDropout::new(a, &counts));
        SlotGatedTask { network, examples, settings, word_dropout }
    }

    /// The words of an example, some of them dropped.
    fn read(&self, example: &Example, random: &mut Random) -> Vec<u32> {
        let mut words = example.words.clone();
        if let Some(dropout) = &self.word_dropout {
            words
                .iter_mut()
                .filter(|word| dropout.drops(**word, random))
                .for_each(|word| *word = UNKNOWN_WORD);
        }
        words
    }
}

impl Task for SlotGatedTask<'_> {
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

    fn begin_epoch(&mut self, _: usize, _: Random) {}

    fn words(&self, batch: &[usize]) -> impl Iterator<Item = u32> {
        let words = batch.iter().flat_map(|&i| self.examples[i].words.iter().copied());
        words.chain(self.word_dropout.as_ref().map(|_| UNKNOWN_WORD))
    }

    fn run(&self, kernels: Kernels, replica: &Replica, part: &Part<'_>, w: &mut Workspace) -> f64 {
        let (network, rate) = (self.network, self.settings.dropout);
        let Part { examples, batch, random, shard_idx, .. } = *part;
        let examples = examples.iter().map(|&i| &self.examples[i]);
        let mut dropout = (rate > 0.0).then(|| Dropout { rate, random: random.fork(shard_idx) });
        let mut chance = random.fork(!shard_idx);
        let words: Vec<Vec<u32>> = examples.clone().map(|example| self.read(example, &mut chance)).collect();
        network.forward(kernels, &replica.parameters, words.iter().map(Vec::as_slice), dropout.as_mut(), w);
        let intent = 1.0 / batch.len() as f32;
        let weights = LossWeights { slots: intent * self.settings.slot_weight, intent };
        let answers = examples.map(|example| (&example.labels[..], example.intent));
        let second = self.settings.calibration().map(|settings| EntropyLoss {
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
