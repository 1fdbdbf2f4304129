//! Training of the span tagger: words read as unknown, concepts replaced by others.

use super::TrainSettings;
use super::optimizer::Replica;
use super::substitution::{Substitutes, Word};
use super::task::{Part, Task};
use crate::encoder::{Dropout, Form, Kernels, LossWeights, SpanTagger, TaggerWorkspace, Token};
use crate::features::UNKNOWN;
use crate::random::Random;

/// One utterance as ids; it has at least one word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sentence {
    /// Word ids; the form of each has the same number.
    pub words: Vec<u32>,
    /// Label ids: `0` outside, `1 + 2 slot` at the beginning and `2 + 2 slot` inside of a concept.
    pub labels: Vec<u32>,
    pub intent: u32,
}

impl Sentence {
    /// The concepts with their slots.
    pub fn concepts(&self) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
        let begins = (0..self.words.len()).filter(|&i| self.labels[i] % 2 == 1);
        begins.map(|start| {
            let inside = self.labels[start] + 1;
            let more = self.labels[start + 1..].iter().take_while(|&&label| label == inside).count();
            ((inside / 2 - 1) as usize, start..start + 1 + more)
        })
    }
}

/// The examples of a span tagger.
pub(super) struct Concepts<'a> {
    pub network: &'a SpanTagger,
    pub settings: &'a TrainSettings,
    /// For each word of the vocabulary how likely it is read as one that is not there.
    pub unknown: Vec<f32>,
    pub substitutes: Substitutes<'a>,
    pub sentences: &'a [Sentence],
    /// The form of a word that is made up.
    pub form: &'a (dyn Fn(&str) -> Form + Sync),
    /// Those of the vocabulary, then those made up for this epoch.
    pub forms: Vec<Form>,
    pub n_words: usize,
    pub examples: Vec<Drawn>,
}

/// A sentence as it is in one epoch.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawn {
    tokens: Vec<Token>,
    labels: Vec<u32>,
}

impl Concepts<'_> {
    fn draw(&mut self, sentence: &Sentence, random: &mut Random) -> Drawn {
        let substitution = &self.settings.tagger.as_ref().expect("a tagger is trained").substitution;
        let mut drawn = Drawn::default();
        let mut done = 0;
        let replaces = random.uniform() < substitution.utterances;
        let known = |word: u32| Token { word, form: word };
        for (slot, range) in sentence.concepts().filter(|_| replaces) {
            if !self.substitutes.is_open(slot) || random.uniform() >= substitution.concepts {
                continue;
            }
            drawn.tokens.extend(sentence.words[done..range.start].iter().copied().map(known));
            drawn.labels.extend(&sentence.labels[done..range.start]);
            let begin = sentence.labels[range.start];
            for (i, word) in self.substitutes.draw(slot, random).into_iter().enumerate() {
                drawn.tokens.push(match word {
                    Word::Known(word) => known(word),
                    Word::New(word) => {
                        self.forms.push((self.form)(&word));
                        Token { word: UNKNOWN, form: self.forms.len() as u32 - 1 }
                    }
                });
                drawn.labels.push(begin + u32::from(i > 0));
            }
            done = range.end;
        }
        drawn.tokens.extend(sentence.words[done..].iter().copied().map(known));
        drawn.labels.extend(&sentence.labels[done..]);
        for token in &mut drawn.tokens {
            if random.uniform() < self.unknown[token.word as usize] {
                token.word = UNKNOWN;
            }
        }
        drawn
    }
}

impl Task for Concepts<'_> {
    type Network = SpanTagger;

    fn network(&self) -> &SpanTagger {
        self.network
    }

    fn n_examples(&self) -> usize {
        self.sentences.len()
    }

    fn n_words(&self, example_idx: usize) -> usize {
        self.examples[example_idx].tokens.len()
    }

    fn begin_epoch(&mut self, mut random: Random) {
        self.forms.truncate(self.n_words);
        self.examples.clear();
        for sentence in self.sentences {
            let drawn = self.draw(sentence, &mut random);
            self.examples.push(drawn);
        }
    }

    fn words(&self, batch: &[usize]) -> impl Iterator<Item = u32> {
        batch.iter().flat_map(|&i| self.examples[i].tokens.iter().map(|token| token.word))
    }

    fn run(&self, kernels: Kernels, replica: &Replica, part: &Part<'_>, w: &mut TaggerWorkspace) -> f64 {
        let (network, rate) = (self.network, self.settings.dropout);
        let Part { examples, batch, random, shard_idx } = *part;
        let drawn = examples.iter().map(|&i| &self.examples[i]);
        let mut dropout = (rate > 0.0).then(|| Dropout { rate, random: random.fork(shard_idx) });
        let tokens = drawn.clone().map(|drawn| &drawn.tokens[..]);
        network.forward(kernels, &replica.parameters, tokens, &self.forms, dropout.as_mut(), w);
        let intent = 1.0 / batch as f32;
        let weights = LossWeights { slots: intent * self.settings.slot_weight, intent };
        let intents = examples.iter().map(|&i| self.sentences[i].intent);
        let answers = drawn.map(|drawn| &drawn.labels[..]).zip(intents);
        let loss = network.loss(kernels, &replica.parameters, answers, weights, w);
        network.backward(kernels, &replica.transposed, w, dropout.is_some());
        loss
    }
}
