//! Training of the span tagger: word dropout, and mentions replaced by others.

use super::replacement::{KnownMentions, Mentions, Source, Word, counts};
use crate::encoder::{SpanTagger, SpanTaggerShape, TaggerWorkspace};
use crate::features::{Alphabet, Example, Features, Form, Forms, Token, UNKNOWN_WORD, Vectors};
use crate::kernel::Kernels;
use crate::nn::optimizer::Replica;
use crate::nn::{Dropout, LossWeights, Part, Task, WordDropout};
use crate::random::Random;
use crate::settings::{SpanTaggerSettings, TrainSettings};
use crate::{Error, Result};

/// How the words of a corpus look to a span tagger.
pub(super) fn forms(tagger: &SpanTaggerSettings, features: &Features) -> Result<Forms> {
    // Without a char-CNN all words of a length look the same.
    let spelt = if tagger.char_cnn { &features.words.names()[1..] } else { &[] };
    let alphabet = Alphabet::fit(spelt.iter().map(|word| &**word));
    if !tagger.vectors {
        return Ok(Forms { alphabet, vectors: None, pieces: None });
    }
    match Vectors::built_in() {
        Some(vectors) => Ok(Forms { alphabet, vectors: Some(vectors.clone()), pieces: None }),
        None => Err(Error::Setting {
            problem: "vectors is true, but the vectors of English words are not built into this program"
                .to_owned(),
            hint: "build meno with its feature `english`, or set vectors to false".to_owned(),
        }),
    }
}

/// The sizes of a span tagger for what a corpus has.
pub(super) fn shape(
    settings: &TrainSettings,
    tagger: &SpanTaggerSettings,
    features: &Features,
    forms: &Forms,
) -> SpanTaggerShape {
    SpanTaggerShape {
        words: features.words.len(),
        characters: forms.alphabet.len(),
        slots: features.labels.paired_slots().len(),
        intents: features.intents.len(),
        embedding: settings.embedding,
        character: tagger.character,
        filters: tagger.filters,
        vector: forms.vectors.as_ref().map_or(0, Vectors::width),
        hidden: settings.hidden,
        layers: tagger.layers,
        spans: tagger.span_scores,
        longest: if tagger.span_scores > 0 { tagger.longest_scored } else { 0 },
    }
}

/// The examples of a span tagger.
pub(super) struct SpanTaggerTask<'a> {
    network: &'a SpanTagger,
    settings: &'a TrainSettings,
    tagger: &'a SpanTaggerSettings,
    word_dropout: WordDropout,
    mentions: Mentions<'a>,
    examples: &'a [Example],
    looks: &'a Forms,
    /// Those of the vocabulary, then those of the synthetic words of this epoch.
    forms: Vec<Form>,
    n_words: usize,
    drawn: Vec<Drawn>,
}

/// An example as it is in one epoch.
#[derive(Clone, Debug, Default)]
struct Drawn {
    tokens: Vec<Token>,
    labels: Vec<u32>,
}

impl<'a> SpanTaggerTask<'a> {
    pub(super) fn new(
        network: &'a SpanTagger,
        settings: &'a TrainSettings,
        tagger: &'a SpanTaggerSettings,
        features: &'a Features,
        looks: &'a Forms,
        examples: &'a [Example],
        known: KnownMentions,
    ) -> Self {
        let words = features.words.names();
        let (counts, _) = counts(words.len(), examples);
        SpanTaggerTask {
            network,
            settings,
            tagger,
            word_dropout: WordDropout::new(tagger.unknown_words, &counts),
            mentions: Mentions::new(&tagger.replacement, features, examples, looks.vectors.as_ref(), known),
            examples,
            looks,
            forms: words.iter().map(|word| looks.of(word)).collect(),
            n_words: words.len(),
            drawn: Vec::new(),
        }
    }

    fn draw(&mut self, example: &Example, random: &mut Random) -> Drawn {
        let mut drawn = Drawn::default();
        for (source, label) in self.mentions.replace(example, self.tagger.replacement.utterances, random) {
            drawn.labels.push(label);
            drawn.tokens.push(match source {
                Source::Kept(i) => known(example.words[i]),
                Source::Drawn(Word::Known(word)) => known(word),
                Source::Drawn(Word::New(word)) => {
                    self.forms.push(self.looks.of(&word));
                    Token { form: self.forms.len() as u32 - 1, ..known(UNKNOWN_WORD) }
                }
            });
        }
        for token in &mut drawn.tokens {
            if self.word_dropout.drops(token.word, random) {
                token.word = UNKNOWN_WORD;
            }
        }
        drawn
    }
}

/// A word of the vocabulary; the forms begin with those of the vocabulary.
fn known(word: u32) -> Token {
    Token { word, form: word, key: 0 }
}

impl Task for SpanTaggerTask<'_> {
    type Network = SpanTagger;

    fn network(&self) -> &SpanTagger {
        self.network
    }

    fn n_examples(&self) -> usize {
        self.examples.len()
    }

    fn n_words(&self, example_idx: usize) -> usize {
        self.drawn[example_idx].tokens.len()
    }

    fn begin_epoch(&mut self, _: usize, mut random: Random) {
        self.forms.truncate(self.n_words);
        self.drawn.clear();
        for example in self.examples {
            let drawn = self.draw(example, &mut random);
            self.drawn.push(drawn);
        }
    }

    fn words(&self, batch: &[usize]) -> impl Iterator<Item = u32> {
        batch.iter().flat_map(|&i| self.drawn[i].tokens.iter().map(|token| token.word))
    }

    fn run(&self, kernels: Kernels, replica: &Replica, part: &Part<'_>, w: &mut TaggerWorkspace) -> f64 {
        let (network, rate) = (self.network, self.settings.dropout);
        let Part { examples, batch, random, shard_idx, .. } = *part;
        let drawn = examples.iter().map(|&i| &self.drawn[i]);
        let mut dropout = (rate > 0.0).then(|| Dropout { rate, random: random.fork(shard_idx) });
        let tokens = drawn.clone().map(|drawn| &drawn.tokens[..]);
        network.forward(kernels, &replica.parameters, tokens, &self.forms, dropout.as_mut(), w);
        let intent = 1.0 / batch.len() as f32;
        let weights = LossWeights { slots: intent * self.settings.slot_weight, intent };
        let intents = examples.iter().map(|&i| self.examples[i].intent);
        let answers = drawn.map(|drawn| &drawn.labels[..]).zip(intents);
        let loss = network.loss(kernels, &replica.parameters, answers, weights, w);
        network.backward(kernels, &replica.transposed, w, dropout.is_some());
        loss
    }
}
