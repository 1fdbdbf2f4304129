//! From words to what an encoder sees of them, and what its answers mean.
//!
//! Enters: the words of an utterance in the form of the vocabulary. Leaves: [`Encoded`], a [`Token`] for each word with its id
//! and, where the encoder needs it, its [`Form`]. [`Features`] are fitted to a training corpus and stored in the model.

mod characters;
mod glove;
mod lexicon;
mod lines;
mod ngrams;
mod pieces;
mod vectors;
mod wording;

use std::sync::Arc;

use crate::label::{LabelSet, Names, SlotId};
use crate::utterance::Utterance;

pub(crate) use characters::Alphabet;
pub(crate) use lexicon::Lexicon;
pub use lexicon::Novelty;
pub(crate) use ngrams::{BUCKETS, Bag, NETWORK, Ngrams};
pub(crate) use pieces::{CONTINUED, MAX_PIECES, PieceSettings, WordPieces};
pub use vectors::Vectors;
pub(crate) use wording::{NewWording, Wordings};

/// The id of every word that the training data did not have.
pub(crate) const UNKNOWN_WORD: u32 = 0;

/// The vocabulary, the labels and the intents of a training corpus, and what else is known of words.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// Words; `UNKNOWN_WORD` is the first.
    pub words: Names,
    /// Slot labels; `O` is the first.
    pub labels: LabelSet,
    /// Intents.
    pub intents: Names,
    /// How words look, for encoders that read them letter by letter.
    pub(crate) forms: Option<Forms>,
    /// Which words and values stood where, for span taggers.
    pub(crate) lexicon: Option<Lexicon>,
    /// A second opinion on intents, where that is worth having.
    pub(crate) ngrams: Option<Ngrams>,
    /// Which wordings there were, for models that say how sure they are of a whole reading.
    pub(crate) wordings: Option<Wordings>,
}

/// Taggers made elsewhere know of no limit; what is beyond this no longer is a word.
#[cfg(feature = "onnx")]
const MOST_PIECES: usize = 256;

/// The name under which unknown words stand in the vocabulary; no word of a corpus can look like it.
const UNKNOWN_NAME: &str = "<unknown word>";

impl Features {
    /// What a training corpus knows, with its words in the form in which the normaliser leaves them.
    pub fn fit<'a>(
        utterances: impl Iterator<Item = &'a Utterance> + Clone,
        word: impl Fn(&str) -> String,
    ) -> Self {
        let words: Vec<String> = utterances.clone().flat_map(|u| &u.words).map(|w| word(w)).collect();
        let labels = utterances.clone().flat_map(|u| &u.labels).map(String::as_str);
        Features {
            words: Names::count(&[UNKNOWN_NAME], words.iter().map(String::as_str)),
            labels: LabelSet::new(Names::count(&["O"], labels)),
            intents: Names::count(&[], utterances.map(|u| first_intent(&u.intent))),
            forms: None,
            lexicon: None,
            ngrams: None,
            wordings: None,
        }
    }

    /// Those of a tagger made elsewhere that cuts words into pieces: what is one piece is a word that it knows.
    #[cfg(feature = "onnx")]
    pub(crate) fn of_pieces(pieces: WordPieces, labels: LabelSet, intents: Names) -> Self {
        let is_word = |piece: &&str| !piece.starts_with(CONTINUED) && !piece.starts_with('[');
        let words = pieces.names().lines().filter(is_word).map(str::to_owned);
        let words = Names::new(std::iter::once(UNKNOWN_NAME.to_owned()).chain(words));
        let pieces = Some(Arc::new(pieces.with_most(MOST_PIECES)));
        let forms = Forms { alphabet: Alphabet::default(), vectors: None, pieces };
        Features { words, labels, intents, forms: Some(forms), ..Features::default() }
    }

    /// Those of a tagger made elsewhere that knows words; their ids are one higher here.
    #[cfg(feature = "onnx")]
    pub(crate) fn of_words(words: &[String], labels: LabelSet, intents: Names) -> Self {
        let words = std::iter::once(UNKNOWN_NAME).chain(words.iter().map(String::as_str));
        Features { words: Names::new(words), labels, intents, ..Features::default() }
    }

    /// The id of a normalised word.
    pub fn word(&self, word: &str) -> u32 {
        self.words.id(word).unwrap_or(UNKNOWN_WORD)
    }

    /// A known value of a slot that is one word, for the place of a new one; see [`Lexicon::stand_in`].
    pub(crate) fn stand_in(&self, slot: &str) -> Option<&str> {
        let key = |word: u32| lexicon::word_key(self.words.name(word));
        let word = self.lexicon.as_ref()?.stand_in(self.slot(slot)?, key)?;
        Some(self.words.name(word))
    }

    /// Whether the training data had words, in the form of the vocabulary, as a value of a slot.
    pub(crate) fn has_value<'w>(&self, slot: &str, words: impl Iterator<Item = &'w str>) -> bool {
        let (Some(lexicon), Some(slot)) = (&self.lexicon, self.slot(slot)) else { return false };
        lexicon.has_value(slot, words.map(lexicon::word_key))
    }

    /// The number of a slot of a paired set.
    fn slot(&self, slot: &str) -> Option<SlotId> {
        (0..).zip(self.labels.paired_slots()).find(|(_, name)| ***name == *slot).map(|(slot, _)| slot)
    }

    /// Encodes words, of which `form` gives that of the vocabulary. `needs_form` says of which words the encoder has to see
    /// more than that.
    pub(crate) fn encode<'w>(
        &self,
        words: impl Iterator<Item = &'w str> + Clone,
        form: impl Fn(&'w str) -> &'w str,
        needs_form: impl Fn(u32) -> bool,
        encoded: &mut Encoded,
    ) {
        encoded.clear();
        encoded.bag =
            self.ngrams.as_ref().map(|ngrams| ngrams.bag(words.clone().map(&form))).unwrap_or_default();
        for written in words {
            let text = form(written);
            let word = self.word(text);
            let weight = if word == UNKNOWN_WORD { self.weight_of_new(text) } else { 0 };
            encoded.n_foreign += weight;
            encoded.n_words += weight.max(1);
            let mut form_idx = 0;
            if let Some(forms) = self.forms.as_ref().filter(|_| needs_form(word)) {
                form_idx = encoded.forms.len() as u32;
                encoded.forms.push(forms.of_written(written, text));
            }
            encoded.tokens.push(Token { word, form: form_idx, key: lexicon::word_key(text) });
        }
    }

    /// How much a word that training did not have speaks for another language: numbers and marks not at all, words of a
    /// script that it did not have more than others.
    fn weight_of_new(&self, word: &str) -> usize {
        let is_strange = |c: char| self.forms.as_ref().is_some_and(|forms| !forms.alphabet.has_script_of(c));
        let mut letters = word.chars().filter(|c| c.is_alphabetic());
        match letters.next() {
            None => 0,
            Some(first) if is_strange(first) && letters.all(is_strange) => WEIGHT_OF_STRANGE,
            Some(_) => 1,
        }
    }
}

/// For how many new words one of a script that training did not have stands.
const WEIGHT_OF_STRANGE: usize = 3;

/// The words of an utterance as an encoder sees them; a buffer to be used again for the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoded {
    /// The words.
    pub tokens: Vec<Token>,
    /// The forms that they refer to.
    pub forms: Vec<Form>,
    /// Its n-grams, if they are needed.
    pub bag: Bag,
    /// How many words speak for another language, and how many words there are; those of strange scripts count more.
    n_foreign: usize,
    n_words: usize,
}

impl Encoded {
    fn clear(&mut self) {
        self.tokens.clear();
        self.forms.clear();
        self.n_foreign = 0;
        self.n_words = 0;
    }

    /// From 0 to 1: the share of the words that training did not have, if there were one more that it had; so few words
    /// show less than many.
    pub(crate) fn foreignness(&self) -> f64 {
        self.n_foreign as f64 / (self.n_words as f64 + 1.0)
    }
}

/// A word of an utterance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its id in the vocabulary.
    pub word: u32,
    /// Which form it has; without meaning where the encoder does not need it.
    pub form: u32,
    /// A number for its text, also where the vocabulary does not have it.
    pub key: u32,
}

/// A word without what was learnt of it as a whole: its characters and its frozen vector, or its pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Form {
    /// Ids of characters, those of the ends included: at least three.
    pub characters: Vec<u8>,
    /// As wide as the network's vectors.
    pub vector: Vec<f32>,
    /// Ids of pieces, at least one, for an encoder that reads those and nothing else.
    pub pieces: Vec<u32>,
}

/// How words look.
#[derive(Clone, Debug)]
pub(crate) struct Forms {
    pub alphabet: Alphabet,
    /// What is known of words before any training, if that is used.
    pub vectors: Option<Vectors>,
    /// What words are cut into for a pretrained encoder.
    pub pieces: Option<Arc<WordPieces>>,
}

impl Forms {
    /// The form of a word.
    pub(crate) fn of(&self, word: &str) -> Form {
        let vector = self.vectors.as_ref().map_or(Vec::new(), |vectors| vectors.vector(word));
        Form { vector, ..self.alphabet.form(word) }
    }

    /// The form of a word as it is written and as the vocabulary has it: pieces are those of what is written.
    fn of_written(&self, written: &str, word: &str) -> Form {
        let Some(pieces) = &self.pieces else { return self.of(word) };
        let mut form = Form::default();
        pieces.pieces(written, &mut form.pieces);
        form
    }
}

/// A labelled utterance as ids; it has at least one word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// Word ids.
    pub words: Vec<u32>,
    /// A label id for each word.
    pub labels: Vec<u32>,
    /// The intent's id.
    pub intent: u32,
}

/// The intent that a corpus names first: `a` of `a#b`.
pub fn first_intent(intent: &str) -> &str {
    intent.split('#').next().unwrap_or(intent)
}
