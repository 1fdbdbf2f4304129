//! Training of a pretrained encoder: epochs with mentions replaced by others, then epochs with what the corpus has.

use std::sync::Arc;

use super::replacement::{KnownMentions, Mentions, Source, Word, counts};
use crate::corpus::Corpus;
use crate::encoder::{
    EntropyLoss, Labels, Sequence, TransformerTagger, TransformerTaggerShape, TransformerWorkspace,
};
use crate::features::{Alphabet, Example, Features, Forms, Vectors, WordPieces};
use crate::kernel::Kernels;
use crate::nn::optimizer::{Group, Replica};
use crate::nn::{Dropout, LossWeights, Parameters, Part, Task, WordDropout};
use crate::pretrained::Pretrained;
use crate::random::Random;
use crate::settings::{TrainSettings, TransformerSettings};
use crate::{Error, Result};

/// Decay of Adam's second moment: what is short, as fine-tuning is, forgets sooner.
pub(super) const BETA2: f32 = 0.98;

/// The encoder that the settings are for.
pub(super) fn demand_encoder<'e>(
    encoder: Option<&'e Pretrained>,
    settings: &TransformerSettings,
) -> Result<&'e Pretrained> {
    let (problem, hint) = match encoder {
        Some(encoder) if encoder.fingerprint() == settings.encoder => return Ok(encoder),
        Some(_) => {
            ("this is another encoder than the settings are for", "give the one that it was begun with")
        }
        None => ("the settings are for a pretrained encoder, and there is none", "give the folder of one"),
    };
    Err(Error::Setting { problem: problem.to_owned(), hint: hint.to_owned() })
}

/// The sizes of a tagger on an encoder for what a corpus has.
pub(super) fn shape(
    encoder: &Pretrained,
    tagger: &TransformerSettings,
    features: &Features,
) -> Result<TransformerTaggerShape> {
    let labels = tagger
        .labels
        .map(|labels| Labels { n: features.labels.len(), is_calibrated: labels.calibration.is_some() });
    let shape = TransformerTaggerShape {
        encoder: encoder.shape,
        slots: features.labels.paired_slots().len(),
        intents: features.intents.len(),
        labels,
        spans: tagger.span_scores,
        longest: if tagger.span_scores > 0 { tagger.longest_scored } else { 0 },
    }
    .shortened();
    match shape.check() {
        Ok(()) => Ok(shape),
        Err(problem) => Err(Error::Setting { problem, hint: "use another encoder".to_owned() }),
    }
}

/// How words look to it.
pub(super) fn forms(encoder: &Pretrained, features: &Features) -> Forms {
    let alphabet = Alphabet::fit(features.words.names()[1..].iter().map(|word| &**word));
    Forms { alphabet, vectors: None, pieces: Some(Arc::new(encoder.pieces.clone())) }
}

/// The pieces of the words of each utterance that has any, as they are written.
pub(super) fn cut(encoder: &Pretrained, train: &Corpus) -> Vec<Cut> {
    let utterances = train.utterances.iter().filter(|utterance| !utterance.words.is_empty());
    utterances.map(|u| u.words.iter().map(|word| pieces(&encoder.pieces, word)).collect()).collect()
}

/// The pieces of each word of an utterance.
pub(super) type Cut = Vec<Vec<u32>>;

/// The examples of a transformer.
pub(super) struct TransformerTask<'a> {
    network: &'a TransformerTagger,
    settings: &'a TrainSettings,
    tagger: &'a TransformerSettings,
    encoder: &'a Pretrained,
    mentions: Mentions<'a>,
    /// Only beside the entropy regularizer.
    word_dropout: Option<WordDropout>,
    examples: &'a [Example],
    /// Of each example.
    cut: &'a [Cut],
    /// Of the words of the vocabulary.
    vocabulary: Cut,
    drawn: Vec<Drawn>,
}

/// An example as it is in one epoch.
#[derive(Clone, Debug, Default)]
struct Drawn {
    sequence: Sequence,
    labels: Vec<u32>,
    /// Whether each word is read as one outside the vocabulary, its label not told.
    dropped: Vec<bool>,
}

impl<'a> TransformerTask<'a> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        network: &'a TransformerTagger,
        settings: &'a TrainSettings,
        tagger: &'a TransformerSettings,
        encoder: &'a Pretrained,
        features: &'a Features,
        (examples, cut): (&'a [Example], &'a [Cut]),
        known: KnownMentions,
    ) -> Self {
        let words = features.words.names().iter().map(|word| pieces(&encoder.pieces, word));
        let word_dropout = settings.calibration().filter(|calibration| calibration.unknown_words > 0.0);
        let word_dropout = word_dropout.map(|calibration| {
            WordDropout::new(calibration.unknown_words, &counts(features.words.len(), examples).0)
        });
        TransformerTask {
            network,
            settings,
            tagger,
            encoder,
            mentions: Mentions::new(&tagger.replacement, features, examples, Vectors::built_in(), known),
            word_dropout,
            examples,
            cut,
            vocabulary: words.collect(),
            drawn: Vec::new(),
        }
    }

    /// What does not fit into what the encoder reads at once is left out.
    fn draw(&self, example_idx: usize, share: f32, random: &mut Random) -> Drawn {
        let most = self.network.shape().encoder.positions;
        let mut drawn = Drawn::default();
        drawn.sequence.begin(self.encoder.pieces.cls());
        let example = &self.examples[example_idx];
        for (source, label) in self.mentions.replace(example, share, random) {
            let mut drops =
                |word| self.word_dropout.as_ref().is_some_and(|dropout| dropout.drops(word, random));
            let is_dropped = matches!(source, Source::Kept(i) if drops(example.words[i]));
            let fits = match source {
                Source::Kept(_) if is_dropped => drawn.sequence.push(&[self.encoder.pieces.unknown()], most),
                Source::Kept(i) => drawn.sequence.push(&self.cut[example_idx][i], most),
                Source::Drawn(Word::Known(word)) => {
                    drawn.sequence.push(&self.vocabulary[word as usize], most)
                }
                Source::Drawn(Word::New(word)) => {
                    drawn.sequence.push(&pieces(&self.encoder.pieces, &word), most)
                }
            };
            if !fits {
                break;
            }
            drawn.labels.push(label);
            drawn.dropped.push(is_dropped);
        }
        drawn.sequence.end(self.encoder.pieces.sep());
        drawn
    }
}

/// The pieces of a word.
pub(super) fn pieces(vocabulary: &WordPieces, word: &str) -> Vec<u32> {
    let mut pieces = Vec::new();
    vocabulary.pieces(word, &mut pieces);
    pieces
}

impl Task for TransformerTask<'_> {
    type Network = TransformerTagger;

    fn network(&self) -> &TransformerTagger {
        self.network
    }

    fn initial(&self, random: &mut Random) -> Parameters {
        self.network.pretrained(self.encoder, random)
    }

    fn groups(&self) -> Vec<Group> {
        let TransformerSettings { head_rate, piece_rate, weight_decay, .. } = *self.tagger;
        let rate = self.settings.rate;
        self.network.groups(head_rate / rate, piece_rate / rate, weight_decay)
    }

    fn n_examples(&self) -> usize {
        self.examples.len()
    }

    fn n_words(&self, example_idx: usize) -> usize {
        self.drawn[example_idx].sequence.pieces.len()
    }

    fn begin_epoch(&mut self, epoch: usize, mut random: Random) {
        let replaces = epoch < self.tagger.replacing_epochs(self.settings.epochs);
        let share = if replaces { self.tagger.replacement.utterances } else { self.tagger.plain_replacement };
        self.drawn = (0..self.examples.len()).map(|i| self.draw(i, share, &mut random)).collect();
    }

    fn words(&self, batch: &[usize]) -> impl Iterator<Item = u32> {
        batch.iter().flat_map(|&i| self.drawn[i].sequence.pieces.iter().copied())
    }

    fn run(&self, kernels: Kernels, replica: &Replica, part: &Part<'_>, w: &mut TransformerWorkspace) -> f64 {
        let (network, rate) = (self.network, self.settings.dropout);
        let Part { examples, batch, random, shard_idx, .. } = *part;
        let drawn = examples.iter().map(|&i| &self.drawn[i]);
        let mut dropout = (rate > 0.0).then(|| Dropout { rate, random: random.fork(shard_idx) });
        let sequences = drawn.clone().map(|drawn| &drawn.sequence);
        network.forward(kernels, &replica.parameters, sequences, dropout.as_mut(), w);
        let intent = 1.0 / batch.len() as f32;
        let weights = LossWeights { slots: intent * self.settings.slot_weight, intent };
        let intents = examples.iter().map(|&i| self.examples[i].intent);
        let dropped: Vec<bool> = drawn.clone().flat_map(|drawn| drawn.dropped.iter().copied()).collect();
        let second = self.settings.calibration().map(|calibration| EntropyLoss {
            lambda: calibration.lambda,
            parameters: &replica.parameters,
            transposed: &replica.transposed,
            calibration: calibration.bounds,
        });
        let answers = drawn.map(|drawn| &drawn.labels[..]).zip(intents);
        let of_labels = (|word: usize| !dropped[word], second);
        let loss = network.loss(kernels, &replica.parameters, answers, weights, of_labels, w);
        network.backward(kernels, &replica.parameters, &replica.transposed, w, dropout.is_some());
        loss
    }
}
