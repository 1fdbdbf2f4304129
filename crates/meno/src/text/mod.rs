//! From text as people type it to words, with byte offsets into the original.
//!
//! Enters: `Play 'Gimme Shelter', please!`. Leaves: the words that a corpus would have there, `play gimme shelter
//! please`, each with its place in the text. Every corpus has habits of its own (`don't`, `don t`, `do n't`), and
//! a tagger only knows words written its way, so a [`Normalizer`] is fitted to the words of the training corpus
//! and stored with the model.
//!
//! - `chars`: what a character is: part of a word, a mark, a space.
//! - `clusters`: the smallest units of scripts without spaces.
//! - `settings`: the habits of a corpus, as stored in a model.
//! - `fit`: finds the habits.
//! - `split`: applies them.
//! - `segment`: the words of a corpus in text without spaces.
//!
//! Invariants: offsets are half-open, in bytes, on character boundaries and increasing; text made of the
//! corpus's own words comes back word for word, because a piece between spaces that the corpus has is left
//! alone; the time is linear in the length of the text; no text is an error.
//!
//! Not done: composed and decomposed letters (`é` in one or in two characters) stay different words.

pub(crate) mod chars;
pub(crate) mod clusters;
mod fit;
mod segment;
mod settings;
mod split;
#[cfg(test)]
pub(crate) mod tests;

pub use settings::{Case, Mark, Place, Settings, Unspaced};

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use segment::Segmenter;

/// Turns text into the words of a corpus; its JSON form is that of its [`Settings`].
///
/// ```
/// use meno::text::Normalizer;
///
/// let corpus = [vec!["what's", "the", "fare", "to", "st.", "paul"], vec!["fly", "after", "5", "pm"]];
/// let normalizer = Normalizer::fit(corpus.iter().map(Vec::as_slice));
/// let text = "What’s the fare to St. Paul, after 5pm?";
/// let tokens = normalizer.read(text);
/// let words: Vec<&str> = tokens.iter().map(|token| token.word).collect();
/// assert_eq!(words, ["what's", "the", "fare", "to", "st.", "paul", "after", "5", "pm"]);
/// let paul = tokens.get(5).unwrap();
/// assert_eq!(&text[paul.start..paul.end], "Paul");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Settings", into = "Settings")]
pub struct Normalizer {
    settings: Settings,
    /// By character code, so that a mark costs no search.
    marks: [Mark; 128],
    /// No longer piece of text can be a kept word, whatever its case; bounds the search for one.
    longest_kept: usize,
    /// Some kept word is not in the case of the corpus, so that even plain words must be looked up.
    kept_is_cased: bool,
    /// Puts words of scripts without spaces together.
    segmenter: Option<Segmenter>,
}

impl Normalizer {
    /// Finds the habits of a corpus in the words of its utterances.
    pub fn fit<'a, S: AsRef<str> + 'a>(utterances: impl IntoIterator<Item = &'a [S]>) -> Self {
        fit::fit(utterances)
    }

    /// Reads raw text of corpora whose habits nobody knows yet: as [`Normalizer::default`], with scripts without spaces in
    /// clusters.
    pub fn raw() -> Self {
        Normalizer::new(Settings { unspaced: Unspaced::Clusters, ..Settings::default() })
    }

    /// The same habits, except that words of a corpus that they would change are left alone, and that nothing is said of
    /// scripts without spaces if the corpus has none of them.
    pub fn keeping<'a, S: AsRef<str> + 'a>(self, utterances: impl IntoIterator<Item = &'a [S]>) -> Self {
        let words: HashSet<&str> = utterances.into_iter().flatten().map(AsRef::as_ref).collect();
        let places = |(mark, default)| (mark, *self.settings.marks.get(&mark).unwrap_or(&default));
        let marks = Mark::all().map(places).collect();
        let has_unspaced = words.iter().any(|word| word.contains(clusters::is_unspaced));
        let unspaced = if has_unspaced { self.settings.unspaced } else { Unspaced::Whole };
        fit::keep(Normalizer::new(Settings { marks, unspaced, ..self.settings }), &words)
    }

    /// A normaliser with given habits.
    pub fn new(settings: Settings) -> Self {
        let mut marks = [Mark::default(); 128];
        for (mark, places) in Mark::all() {
            marks[mark as usize] = *settings.marks.get(&mark).unwrap_or(&places);
        }
        // Letters that change case change by a factor of 3 in length at most.
        let longest_kept = 3 * settings.kept.iter().map(String::len).max().unwrap_or(0);
        let kept_is_cased = settings.kept.iter().any(|word| settings.case.apply(word) != *word);
        let segmenter = match &settings.unspaced {
            Unspaced::Words(counts) => Some(Segmenter::new(counts)),
            Unspaced::Whole | Unspaced::Clusters => None,
        };
        Normalizer { settings, marks, longest_kept, kept_is_cased, segmenter }
    }

    /// The habits.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The same normaliser with [`Settings::digits`] on or off.
    pub fn with_digits(mut self, digits: bool) -> Self {
        self.settings.digits = digits;
        self
    }

    /// The words of a text as people type it.
    pub fn read(&self, text: &str) -> Tokens {
        let mut tokens = Tokens::default();
        self.read_into(text, &mut tokens);
        tokens
    }

    /// As [`Normalizer::read`], into a buffer that is emptied first: without allocation once it has grown.
    pub fn read_into(&self, text: &str, tokens: &mut Tokens) {
        tokens.clear();
        self.split(text, tokens);
    }

    /// The words of a text that already is words of the corpus with white space between them: as they are.
    pub fn words(&self, text: &str) -> Tokens {
        let mut tokens = Tokens::default();
        self.words_into(text, &mut tokens);
        tokens
    }

    /// As [`Normalizer::words`], into a buffer that is emptied first.
    pub fn words_into(&self, text: &str, tokens: &mut Tokens) {
        tokens.clear();
        for word in text.split_whitespace() {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            tokens.words.push_str(word);
            tokens.close(start, start + word.len());
        }
    }

    /// The form of a word under which the vocabulary knows it; the same for words of the corpus and of a text.
    ///
    /// With [`Settings::digits`], any number is `0`.
    pub fn vocabulary_form<'a>(&self, word: &'a str) -> &'a str {
        let number =
            self.settings.digits && !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        if number { "0" } else { word }
    }
}

impl Default for Normalizer {
    /// Reads raw text whose habits nobody knows: lower case, marks around words dropped.
    fn default() -> Self {
        Normalizer::new(Settings::default())
    }
}

impl From<Settings> for Normalizer {
    fn from(settings: Settings) -> Self {
        Normalizer::new(settings)
    }
}

impl From<Normalizer> for Settings {
    fn from(normalizer: Normalizer) -> Self {
        normalizer.settings
    }
}

/// A word and its place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The word as the corpus would write it.
    pub word: &'a str,
    /// Its first byte in the original.
    pub start: usize,
    /// One past its last byte in the original.
    pub end: usize,
}

/// The tokens of a text: a buffer to be used again for the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// All words, one after the other.
    words: String,
    places: Vec<Placed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placed {
    /// Where the word ends in `words`; it begins where the one before ends.
    word_end: usize,
    start: usize,
    end: usize,
}

impl Tokens {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// A token by its index.
    pub fn get(&self, token_idx: usize) -> Option<Token<'_>> {
        let Placed { start, end, .. } = *self.places.get(token_idx)?;
        Some(Token { word: self.text_of(token_idx, token_idx), start, end })
    }

    /// All tokens in the order of the text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Token<'_>> + DoubleEndedIterator + Clone {
        (0..self.len()).map(|token_idx| self.get(token_idx).expect("the index is in range"))
    }

    fn clear(&mut self) {
        self.words.clear();
        self.places.clear();
    }

    /// The words of neighbours from one token to another, both included, as one word.
    fn text_of(&self, first: usize, last: usize) -> &str {
        let start = first.checked_sub(1).map_or(0, |before| self.places[before].word_end);
        &self.words[start..self.places[last].word_end]
    }

    /// Where the word that is being written begins in `words`.
    fn word_start(&self) -> usize {
        self.places.last().map_or(0, |placed| placed.word_end)
    }

    /// Makes a token of what was written to `words` since the last one.
    fn close(&mut self, start: usize, end: usize) {
        self.places.push(Placed { word_end: self.words.len(), start, end });
    }
}
