//! The habits of a corpus, as they are stored in a model.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// How a corpus writes its words. Fields that a stored model lacks have their default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Which case words are put in.
    pub case: Case,
    /// Whether every word of digits only is `0` to the vocabulary, as in the recipe of the slot-gated model
    /// (Goo et al., NAACL 2018); the words of tokens keep their digits.
    pub digits: bool,
    /// What becomes of each mark. A fitted corpus lists them all, so that a model keeps its ways even if a
    /// later version has other defaults; a mark that is not listed has its place in [`Mark::all`].
    pub marks: BTreeMap<char, Mark>,
    /// What becomes of the full stops between single letters: `u.s.` is `u.s` attached, `u s` dropped, `us` joined.
    pub initials: Place,
    /// Whether `5pm` is the two words `5 pm`.
    pub split_meridiem: bool,
    /// Whether a single mark between spaces is a word even if beside a word it would be dropped.
    pub lone_marks: bool,
    /// The words of the corpus that the rules above would change, such as `st.`: they are left alone.
    pub kept: BTreeSet<String>,
    /// How text of scripts without spaces is cut; a corpus of other scripts does not say.
    #[serde(skip_serializing_if = "Unspaced::is_whole")]
    pub unspaced: Unspaced,
}

/// How text of scripts that have no spaces between words is cut (`docs/languages.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unspaced {
    /// Not at all: what stands between spaces is a word.
    #[default]
    Whole,
    /// Into clusters, the smallest units that words begin and end with: a Chinese character, a Thai consonant with its
    /// vowels. For corpora of raw text.
    Clusters,
    /// Into the words of the corpus, with how often each occurs. For corpora that others have cut into words.
    Words(BTreeMap<String, u32>),
}

impl Unspaced {
    fn is_whole(&self) -> bool {
        *self == Unspaced::Whole
    }
}

/// The case of the words of a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// All lower: the text is put in lower case.
    #[default]
    Lower,
    /// All upper: the text is put in upper case.
    Upper,
    /// Mixed: the text stays as it is.
    Keep,
}

/// What becomes of a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Stays in its word: `5:30` is `5:30`.
    Attached,
    /// Is a word: `5:30` is `5 : 30`. An apostrophe goes with what follows: `it's` is `it 's`, `don't` is `do n't`.
    Apart,
    /// Ends the word and is gone: `5:30` is `5 30`.
    #[default]
    Dropped,
    /// Is gone, and the word goes on: `5:30` is `530`.
    Joined,
}

/// What becomes of a mark at different places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mark {
    /// Before or after a word, or beside another mark.
    pub edge: Place,
    /// Between two letters, or a letter and a digit.
    pub letters: Place,
    /// Between two digits.
    pub digits: Place,
}

impl Mark {
    /// Every mark and its place if the corpus does not show another. `$` stands for all currencies, `!` for
    /// all marks that are not listed.
    pub fn all() -> impl Iterator<Item = (char, Mark)> {
        use Place::{Attached, Dropped, Joined};
        let rules = [
            ("!?;\"()[]{}", [Dropped, Dropped, Dropped]),
            (".", [Dropped, Attached, Attached]),
            (",", [Dropped, Dropped, Joined]),
            (":", [Dropped, Dropped, Attached]),
            ("'", [Dropped, Attached, Attached]),
            ("-", [Dropped, Dropped, Dropped]),
            ("/", [Attached, Dropped, Attached]),
            ("*", [Dropped, Attached, Attached]),
            ("$%", [Joined, Attached, Attached]),
        ];
        rules.into_iter().flat_map(|(marks, [edge, letters, digits])| {
            marks.chars().map(move |mark| (mark, Mark { edge, letters, digits }))
        })
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            case: Case::Lower,
            digits: true,
            marks: BTreeMap::new(),
            initials: Place::Joined,
            split_meridiem: false,
            lone_marks: false,
            kept: BTreeSet::new(),
            unspaced: Unspaced::Whole,
        }
    }
}

impl Case {
    /// Appends a character in this case.
    pub(super) fn push(self, c: char, words: &mut String) {
        match self {
            Case::Lower if c.is_ascii() => words.push(c.to_ascii_lowercase()),
            Case::Lower => words.extend(c.to_lowercase()),
            Case::Upper => words.extend(c.to_uppercase()),
            Case::Keep => words.push(c),
        }
    }

    /// A word in this case.
    pub(super) fn apply(self, word: &str) -> String {
        let mut cased = String::with_capacity(word.len());
        word.chars().for_each(|c| self.push(c, &mut cased));
        cased
    }
}
