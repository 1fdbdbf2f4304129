//! Words in pieces: the normaliser, the pre-tokenizer and the WordPiece vocabulary of the BERT family.
//!
//! Enters: a word as it is written. Leaves: the ids of its pieces, from 1 to [`MAX_PIECES`]. The longest piece that the word
//! begins with is taken, then the longest that the rest begins with, and so on; pieces that go on with a word have `##` before
//! them in the vocabulary. A word of which some part is in no piece is unknown as a whole.
//!
//! The ids are those of the Python package `tokenizers`, but for two things: no text becomes a special token (`[CLS]` is a
//! bracket, a word and a bracket), and what is a mark or an accent is told by a later Unicode than the 8.0 of that package.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// No more pieces of a word than these are kept, unless something else is said.
pub(crate) const MAX_PIECES: usize = 8;

/// What pieces have before them that go on with a word.
pub(crate) const CONTINUED: &str = "##";

/// How text is cut before the vocabulary is asked, and which pieces are special. A change of what it means is a new name in
/// model files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PieceSettings {
    /// Control characters and the like are left out.
    pub clean_text: bool,
    /// Chinese characters are words, each of them.
    pub split_ideographs: bool,
    /// Accents are taken off.
    pub strip_accents: bool,
    /// Capitals become small letters.
    pub lowercase: bool,
    /// A word of more characters is unknown.
    pub max_characters: usize,
    /// What stands for words that have no pieces.
    pub unknown: u32,
    /// What stands before an utterance.
    pub cls: u32,
    /// What stands after it.
    pub sep: u32,
}

/// A vocabulary of pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordPieces {
    settings: PieceSettings,
    /// No more pieces of a word than these are kept.
    most: usize,
    /// All pieces by their ids, a line feed between two.
    names: String,
    /// Where each of them ends.
    ends: Vec<u32>,
    /// Their ids in the order of their bytes; of two that are the same the later one stands first.
    sorted: Vec<u32>,
    /// Those of `sorted` that go on with a word.
    continued: Range<usize>,
}

impl WordPieces {
    /// Its name in model files.
    pub(crate) const NAME: &str = "word_pieces.v1";

    /// A vocabulary of these pieces by their ids, a line feed between two.
    pub(crate) fn new(names: String, settings: PieceSettings) -> Result<Self, String> {
        if u32::try_from(names.len()).is_err() {
            return Err(format!("a vocabulary of {} bytes", names.len()));
        }
        let mut ends: Vec<u32> =
            names.bytes().zip(0..).filter(|(byte, _)| *byte == b'\n').map(|(_, at)| at).collect();
        ends.push(names.len() as u32);
        let n = ends.len();
        for (what, id) in [("unknown", settings.unknown), ("cls", settings.cls), ("sep", settings.sep)] {
            if id as usize >= n {
                return Err(format!("the piece {what:?} is {id}, but there are only {n}"));
            }
        }
        let sorted = (0..n as u32).collect();
        let mut pieces = WordPieces { settings, most: MAX_PIECES, names, ends, sorted, continued: 0..0 };
        let mut sorted = std::mem::take(&mut pieces.sorted);
        sorted.sort_unstable_by(|&a, &b| pieces.name(a).cmp(pieces.name(b)).then(b.cmp(&a)));
        pieces.sorted = sorted;
        pieces.continued =
            CONTINUED.bytes().enumerate().fold(0..n, |range, (at, byte)| pieces.narrow(range, at, byte));
        Ok(pieces)
    }

    /// The same with more or fewer pieces of a word kept, at least one.
    #[cfg(feature = "onnx")]
    pub(crate) fn with_most(self, most: usize) -> Self {
        WordPieces { most: most.max(1), ..self }
    }

    /// How text is cut before the vocabulary is asked.
    pub(crate) fn settings(&self) -> &PieceSettings {
        &self.settings
    }

    /// All pieces by their ids, a line feed between two.
    pub(crate) fn names(&self) -> &str {
        &self.names
    }

    /// How many pieces there are; ids are below it.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// What stands before an utterance.
    pub(crate) fn cls(&self) -> u32 {
        self.settings.cls
    }

    /// What stands after an utterance.
    pub(crate) fn sep(&self) -> u32 {
        self.settings.sep
    }

    /// What stands for words that have no pieces.
    pub(crate) fn unknown(&self) -> u32 {
        self.settings.unknown
    }

    /// Appends the pieces of a word, at least one and at most as many as are kept. White space may stand in it.
    pub(crate) fn pieces(&self, word: &str, out: &mut Vec<u32>) {
        let start = out.len();
        let PieceSettings { clean_text, split_ideographs, strip_accents, .. } = self.settings;
        let apart = |c: char| {
            let space = (split_ideographs && is_ideograph(c)).then_some(' ');
            [space, Some(c), space].into_iter().flatten()
        };
        let chars = word.chars().filter(|&c| !(clean_text && is_dirt(c))).flat_map(apart);
        match strip_accents {
            true => self.cut(chars.nfd().filter(|&c| !is_accent(c)), out),
            false => self.cut(chars, out),
        }
        out.truncate(start + self.most);
        if out.len() == start {
            out.push(self.settings.unknown);
        }
    }

    /// Words end at white space; each mark is a word of its own.
    fn cut(&self, chars: impl Iterator<Item = char>, out: &mut Vec<u32>) {
        let most = out.len() + self.most;
        let mut word = String::new();
        let mut place = |c: char, out: &mut Vec<u32>| {
            let is_mark = is_punctuation(c);
            if is_mark || c.is_whitespace() {
                self.cut_word(&word, out);
                word.clear();
            }
            if is_mark {
                self.cut_word(c.encode_utf8(&mut [0; 4]), out);
            } else if !c.is_whitespace() {
                word.push(c);
            }
        };
        for c in chars {
            match self.settings.lowercase {
                true => c.to_lowercase().for_each(|c| place(c, out)),
                false => place(c, out),
            }
            if out.len() >= most {
                return;
            }
        }
        self.cut_word(&word, out);
    }

    fn cut_word(&self, word: &str, out: &mut Vec<u32>) {
        let start = out.len();
        let (mut rest, mut range, mut skipped) = (word, 0..self.len(), 0);
        let is_long = word.chars().nth(self.settings.max_characters).is_some();
        while !rest.is_empty() {
            let Some((piece, n_bytes)) = self.longest(rest, range, skipped).filter(|_| !is_long) else {
                out.truncate(start);
                return out.push(self.settings.unknown);
            };
            out.push(piece);
            (rest, range, skipped) = (&rest[n_bytes..], self.continued.clone(), CONTINUED.len());
        }
    }

    /// The longest piece of a range that a text begins with, `skipped` bytes of the piece aside, and how much of the text it is.
    fn longest(&self, text: &str, mut range: Range<usize>, skipped: usize) -> Option<(u32, usize)> {
        let mut best = None;
        for (at, byte) in text.bytes().enumerate() {
            range = self.narrow(range, skipped + at, byte);
            let Some(&first) = self.sorted[range.clone()].first() else { break };
            // A piece that is all of the text so far stands before those that go on.
            if self.name(first).len() == skipped + at + 1 {
                best = Some((first, at + 1));
            }
        }
        best
    }

    /// Those of a range that have this byte at this place; they have the same bytes before it.
    fn narrow(&self, range: Range<usize>, at: usize, byte: u8) -> Range<usize> {
        let has = |&id: &u32| self.name(id).get(at).copied();
        let ids = &self.sorted[range.clone()];
        let start = ids.partition_point(|id| has(id) < Some(byte));
        let n = ids[start..].partition_point(|id| has(id) == Some(byte));
        range.start + start..range.start + start + n
    }

    fn name(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize + 1 };
        &self.names.as_bytes()[start..self.ends[id] as usize]
    }
}

/// Control characters, formats and those of private use; tabs and line ends are white space.
fn is_dirt(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\u{fffd}' => true,
        c if c.is_ascii() => c.is_ascii_control(),
        c => {
            use GeneralCategory::{Control, Format, PrivateUse};
            matches!(c.general_category(), Control | Format | PrivateUse)
        }
    }
}

fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::NonspacingMark
}

fn is_punctuation(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_punctuation(),
        false => c.general_category_group() == GeneralCategoryGroup::Punctuation,
    }
}

/// The blocks that BERT takes for Chinese; the last but one begins where it says, not where the block does.
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}'
        | '\u{2f800}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests;
