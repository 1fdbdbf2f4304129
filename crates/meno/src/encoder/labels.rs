//! Taggers that label words, for experiments that look behind their logits or disturb them.

use super::transformer::Sequence;
use super::{Encoder, SlotGatedEncoder, TransformerEncoder, TransformerWorkspace, Workspace};
use crate::emissions::Logits;
use crate::features::{Features, WordPieces};
use crate::kernel::Kernels;
use crate::nn::{Dropout, Network, Parameters};
use crate::text::Normalizer;

/// A tagger that labels words, with its weights.
#[derive(Clone, Copy)]
pub(crate) enum LabelTagger<'m> {
    SlotGated(&'m SlotGatedEncoder),
    Transformer(&'m TransformerEncoder, &'m WordPieces),
}

/// An utterance, or a part of a long one, as a tagger reads it.
pub(crate) enum Reading {
    Words(Vec<u32>),
    Pieces(Sequence),
}

impl Reading {
    /// How many words it has.
    pub(crate) fn len(&self) -> usize {
        match self {
            Reading::Words(words) => words.len(),
            Reading::Pieces(sequence) => sequence.firsts.len(),
        }
    }
}

/// Words that are read at once.
const MAX_WORDS: usize = 512;

/// What a tagger says of an utterance, a row for each word, and the buffers to say it in.
#[derive(Default)]
pub(crate) struct Labelled {
    pub logits: Logits,
    /// Log concentrations, calibrated if the tagger is.
    pub concentrations: Logits,
    /// Hidden states.
    pub states: Logits,
    /// Entropies of the Dirichlet distributions of these concentrations.
    pub entropies: Vec<f32>,
    slot_gated: Workspace,
    transformer: TransformerWorkspace,
}

impl<'m> LabelTagger<'m> {
    /// The tagger of a model; `None` if it finds spans.
    pub(crate) fn of(encoder: &'m Encoder, features: &'m Features) -> Option<Self> {
        match encoder {
            Encoder::SlotGated(encoder) => Some(LabelTagger::SlotGated(encoder)),
            Encoder::Transformer(encoder) if encoder.network.labels().is_some() => {
                let pieces = features.forms.as_ref()?.pieces.as_ref()?;
                Some(LabelTagger::Transformer(encoder, pieces))
            }
            _ => None,
        }
    }

    /// The weights.
    pub(crate) fn parameters(self) -> &'m Parameters {
        match self {
            LabelTagger::SlotGated(encoder) => &encoder.parameters,
            LabelTagger::Transformer(encoder, _) => &encoder.parameters,
        }
    }

    /// The weights, each changed.
    pub(crate) fn changed(self, mut change: impl FnMut(f32) -> f32) -> Parameters {
        let mut changed = self.parameters().clone();
        let layout = match self {
            LabelTagger::SlotGated(encoder) => encoder.network.layout(),
            LabelTagger::Transformer(encoder, _) => encoder.network.layout(),
        };
        for (_, tensor) in layout.tensors() {
            let mut values = changed.values(tensor).into_iter();
            changed.fill(tensor, || change(values.next().unwrap_or_default()));
        }
        match self {
            LabelTagger::SlotGated(encoder) => encoder.network.pad(&mut changed),
            LabelTagger::Transformer(encoder, _) => encoder.network.pad(&mut changed),
        }
        changed
    }

    /// The width of a hidden state.
    pub(crate) fn width(self) -> usize {
        match self {
            LabelTagger::SlotGated(encoder) => 2 * encoder.network.shape().hidden,
            LabelTagger::Transformer(encoder, _) => encoder.network.shape().encoder.hidden,
        }
    }

    /// An utterance as it is read, in parts if it is longer than what is read at once.
    pub(crate) fn read(self, words: &[String], normalizer: &Normalizer, features: &Features) -> Vec<Reading> {
        match self {
            LabelTagger::SlotGated(_) => {
                let id = |word: &String| features.word(normalizer.vocabulary_form(word));
                words.chunks(MAX_WORDS).map(|part| Reading::Words(part.iter().map(id).collect())).collect()
            }
            LabelTagger::Transformer(encoder, vocabulary) => {
                let most = encoder.network.shape().encoder.positions;
                sequences(words, vocabulary, most).into_iter().map(Reading::Pieces).collect()
            }
        }
    }

    /// What it says of an utterance.
    pub(crate) fn label(self, kernels: Kernels, reading: &Reading, labelled: &mut Labelled) {
        let Labelled { logits, concentrations, states, entropies, slot_gated, transformer } = labelled;
        match (self, reading) {
            (LabelTagger::SlotGated(encoder), Reading::Words(words)) => {
                let (network, w) = (&encoder.network, slot_gated);
                let prepared = encoder.prepare(kernels);
                network.infer(kernels, &encoder.parameters, &prepared, words, w);
                take(logits, network.slot_logits(w));
                take(states, network.states(w));
                entropies.clear();
                entropies.extend_from_slice(network.entropies(kernels, &prepared, w));
                take(concentrations, network.concentrations(kernels, &prepared, w));
            }
            (LabelTagger::Transformer(encoder, _), Reading::Pieces(sequence)) => {
                encoder.label(kernels, sequence, transformer, [logits, states, concentrations], entropies);
            }
            _ => unreachable!("a reading is given to the tagger that made it"),
        }
    }

    /// The logits of an utterance with other weights or dropout.
    pub(crate) fn disturb(
        self,
        kernels: Kernels,
        parameters: &Parameters,
        dropout: Option<&mut Dropout>,
        reading: &Reading,
        labelled: &mut Labelled,
    ) {
        let Labelled { logits, slot_gated, transformer, .. } = labelled;
        match (self, reading) {
            (LabelTagger::SlotGated(encoder), Reading::Words(words)) => {
                let words = std::iter::once(&words[..]);
                encoder.network.forward(kernels, parameters, words, dropout, slot_gated);
                take(logits, encoder.network.slot_logits(slot_gated));
            }
            (LabelTagger::Transformer(encoder, _), Reading::Pieces(sequence)) => {
                let sequence = std::iter::once(sequence);
                encoder.network.forward(kernels, parameters, sequence, dropout, transformer);
                take(logits, encoder.network.label_logits(transformer));
            }
            _ => unreachable!("a reading is given to the tagger that made it"),
        }
    }
}

/// The pieces of words, at most so many at once.
fn sequences(words: &[String], vocabulary: &WordPieces, most: usize) -> Vec<Sequence> {
    let (mut sequences, mut pieces) = (Vec::<Sequence>::new(), Vec::new());
    for word in words {
        pieces.clear();
        vocabulary.pieces(word, &mut pieces);
        if sequences.last_mut().is_none_or(|last| !last.push(&pieces, most)) {
            let mut sequence = Sequence::default();
            sequence.begin(vocabulary.cls());
            sequence.push(&pieces, most);
            sequences.push(sequence);
        }
    }
    sequences.iter_mut().for_each(|sequence| sequence.end(vocabulary.sep()));
    sequences
}

/// Takes over rows.
pub(super) fn take<'a>(to: &mut Logits, rows: impl ExactSizeIterator<Item = &'a [f32]>) {
    let mut rows = rows.peekable();
    to.clear(rows.peek().map_or(0, |row| row.len()));
    to.extend(rows);
}
