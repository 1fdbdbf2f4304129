//! Finds the habits of a corpus in its words.
//!
//! Each habit is decided by counting what speaks for each way of writing; where the corpus has nothing to say,
//! the default of [`Settings`] stands. Whatever the decisions, words that they would change are kept.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::chars::{Class, class, lone_mark, plain};
use super::clusters::is_unspaced;
use super::segment::clusters;
use super::{Case, Mark, Normalizer, Place, Settings, Unspaced};

/// So many words with a mark at their edge are a habit; fewer are abbreviations such as `st.`.
const PRODUCTIVE_EDGE: usize = 8;
/// So many words with a mark inside, and one for so many utterances, are a habit; fewer are slips.
const PRODUCTIVE_INSIDE: usize = 3;
const UTTERANCES_PER_MARK_INSIDE: usize = 1000;
/// A mark is a word of the corpus if it is one in an utterance of so many.
const UTTERANCES_PER_MARK: usize = 100;
/// Marks between spaces are left alone if there is one in so many utterances.
const UTTERANCES_PER_LONE_MARK: usize = 1000;
/// One word in so many may be in another case.
const WORDS_PER_CASE_SLIP: usize = 1000;
/// A corpus is of a script without spaces if one word in so many is.
const WORDS_PER_UNSPACED: usize = 20;

pub(super) fn fit<'a, S: AsRef<str> + 'a>(utterances: impl IntoIterator<Item = &'a [S]>) -> Normalizer {
    let mut evidence = Evidence::default();
    for utterance in utterances {
        evidence.add_utterance(utterance);
    }
    evidence.add_words();
    keep(Normalizer::new(evidence.settings()), &evidence.words.into_keys().collect())
}

/// Leaves those of `words` alone that the normaliser would change.
pub(super) fn keep(mut normalizer: Normalizer, words: &HashSet<&str>) -> Normalizer {
    let mut kept = std::mem::take(&mut normalizer.settings.kept);
    for word in words {
        let tokens = normalizer.read(word);
        if tokens.len() != 1 || tokens.iter().any(|token| token.word != *word) {
            kept.insert((*word).to_owned());
        }
    }
    Normalizer::new(Settings { kept, ..normalizer.settings })
}

/// What was counted.
#[derive(Default)]
struct Evidence<'a> {
    n_utterances: usize,
    /// How often each word occurs.
    words: HashMap<&'a str, usize>,
    marks: BTreeMap<char, MarkEvidence>,
    /// Words with a letter in upper and in lower case, and all words.
    n_upper: usize,
    n_lower: usize,
    n_words: usize,
    apostrophe: Ways,
    colon: Ways,
    initials: Ways,
    meridiem: Ways,
}

/// How often each way of writing was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Ways {
    attached: usize,
    apart: usize,
    dropped: usize,
    joined: usize,
}

impl Ways {
    /// The most frequent way; among equals the one that changes least.
    fn most(self) -> Option<Place> {
        let ways = [
            (self.joined, Place::Joined),
            (self.dropped, Place::Dropped),
            (self.apart, Place::Apart),
            (self.attached, Place::Attached),
        ];
        ways.into_iter().filter(|(n, _)| *n > 0).max_by_key(|(n, _)| *n).map(|(_, place)| place)
    }
}

/// Where a mark was seen.
#[derive(Default)]
struct MarkEvidence {
    /// As a word, and as a word between two numbers.
    alone: usize,
    alone_in_number: usize,
    /// Before or after a word: how often, and with how many words.
    edge: usize,
    edge_words: usize,
    /// Between letters: with how many words.
    letters_words: usize,
    /// Between digits: how often.
    digits: usize,
}

impl<'a> Evidence<'a> {
    /// Counts what shows in the order of words.
    fn add_utterance<S: AsRef<str>>(&mut self, utterance: &'a [S]) {
        self.n_utterances += 1;
        let mut before = ["", ""];
        for word in utterance {
            let word = word.as_ref();
            *self.words.entry(word).or_default() += 1;
            self.add_pair(before, word);
            before = [before[1], word];
        }
    }

    fn add_pair(&mut self, before: [&str; 2], word: &str) {
        let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        if let Some(mark) = lone_mark(before[1])
            && is_number(before[0])
            && is_number(word)
        {
            self.marks.entry(mark).or_default().alone_in_number += 1;
        }
        let lower = word.to_ascii_lowercase();
        match lower.as_str() {
            "am" | "pm" if is_number(before[1]) => {
                self.meridiem.apart += 1;
                match (before[0].len(), before[1].len()) {
                    (_, 3 | 4) => self.colon.joined += 1,
                    (1 | 2, 2) if is_number(before[0]) => self.colon.dropped += 1,
                    _ => {}
                }
            }
            "m" if before[1].eq_ignore_ascii_case("a") || before[1].eq_ignore_ascii_case("p") => {
                self.initials.dropped += 1;
            }
            "s" | "t" | "d" | "m" | "ll" | "re" | "ve" if !before[1].is_empty() => {
                self.apostrophe.dropped += 1
            }
            _ => {}
        }
    }

    /// Counts what shows in the words themselves.
    fn add_words(&mut self) {
        let words: Vec<(&str, usize)> = self.words.iter().map(|(word, n)| (*word, *n)).collect();
        for (word, n) in words {
            self.n_words += n;
            self.n_upper += if word.chars().any(char::is_uppercase) { n } else { 0 };
            self.n_lower += if word.chars().any(char::is_lowercase) { n } else { 0 };
            let lower: String = word.chars().map(|c| plain(c).to_ascii_lowercase()).collect();
            self.add_contraction(&lower, n);
            if is_initials(&lower) {
                self.initials.attached += n;
            }
            let hours = lower.strip_suffix("am").or_else(|| lower.strip_suffix("pm")).unwrap_or("");
            if hours.ends_with(|c: char| c.is_ascii_digit()) {
                self.meridiem.attached += n;
            }
            self.add_marks(&lower, n);
        }
    }

    fn add_contraction(&mut self, word: &str, n: usize) {
        const JOINED: [&str; 13] = [
            "dont", "didnt", "doesnt", "isnt", "wasnt", "couldnt", "wouldnt", "whats", "thats", "youre",
            "theyre", "ive", "youve",
        ];
        match word {
            "'s" | "'d" | "'m" | "'ll" | "'re" | "'ve" | "n't" => self.apostrophe.apart += n,
            _ if JOINED.contains(&word) => self.apostrophe.joined += n,
            _ if word.trim_matches('\'').contains('\'') => self.apostrophe.attached += n,
            _ => {}
        }
    }

    fn add_marks(&mut self, word: &str, n: usize) {
        if let Some(mark) = lone_mark(word) {
            self.marks.entry(mark).or_default().alone += n;
            return;
        }
        // Clitics are no words with a quote before them.
        if matches!(word, "'s" | "'d" | "'m" | "'ll" | "'re" | "'ve" | "n't") {
            return;
        }
        let chars: Vec<char> = word.chars().collect();
        for (idx, &c) in chars.iter().enumerate() {
            let Class::Mark(mark) = class(c) else { continue };
            let evidence = self.marks.entry(mark).or_default();
            let beside =
                |idx: Option<usize>| idx.and_then(|idx| chars.get(idx)).filter(|c| c.is_alphanumeric());
            match (beside(idx.checked_sub(1)), beside(Some(idx + 1))) {
                (Some(before), Some(after)) if before.is_numeric() && after.is_numeric() => {
                    evidence.digits += n
                }
                (Some(_), Some(_)) => evidence.letters_words += 1,
                _ => {
                    evidence.edge += n;
                    evidence.edge_words += 1;
                }
            }
        }
    }

    fn settings(&self) -> Settings {
        let defaults = Settings::default();
        let slips = self.n_words / WORDS_PER_CASE_SLIP;
        let case = match (self.n_upper <= slips, self.n_lower <= slips) {
            (true, _) => Case::Lower,
            (_, true) => Case::Upper,
            _ => Case::Keep,
        };
        let marks: BTreeMap<char, Mark> =
            Mark::all().map(|(mark, default)| (mark, self.place(mark, default))).collect();
        let is_word = |mark: &char| marks[mark].edge == Place::Apart;
        let lone: usize =
            self.marks.iter().filter(|(mark, _)| !is_word(mark)).map(|(_, seen)| seen.alone).sum();
        Settings {
            case,
            marks,
            initials: self.initials.most().unwrap_or(defaults.initials),
            split_meridiem: self.meridiem.most() == Some(Place::Apart),
            lone_marks: lone > 0 && lone * UTTERANCES_PER_LONE_MARK >= self.n_utterances,
            unspaced: self.unspaced(),
            ..defaults
        }
    }

    fn unspaced(&self) -> Unspaced {
        let words = || self.words.iter().filter(|(word, _)| word.contains(is_unspaced));
        let n_unspaced: usize = words().map(|(_, n)| n).sum();
        if n_unspaced == 0 || n_unspaced * WORDS_PER_UNSPACED < self.n_words {
            return Unspaced::Whole;
        }
        if words().all(|(word, _)| clusters(word).count() == 1) {
            return Unspaced::Clusters;
        }
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Unspaced::Words(self.words.iter().map(|(word, &n)| ((*word).to_owned(), count(n))).collect())
    }

    fn place(&self, mark: char, default: Mark) -> Mark {
        let Some(seen) = self.marks.get(&mark) else {
            // Nothing seen of the mark itself; its absence can show all the same (`don t`, `530 pm`).
            return self.place_unseen(mark, default);
        };
        let is_word = seen.alone * UTTERANCES_PER_MARK >= self.n_utterances
            && seen.alone > 0
            && seen.alone >= seen.letters_words;
        let is_amount = matches!(mark, '$' | '%');
        // A mark that ends a clause belongs to the words that the corpus has with it, which are kept, and to no other: else
        // `to oslo?` would end in a new word wherever the corpus was cut at spaces.
        let ends_clause = matches!(mark, '.' | ',' | ';' | '!' | '?');
        let edge = if seen.edge >= seen.alone
            && !ends_clause
            && (seen.edge_words >= PRODUCTIVE_EDGE || is_amount && seen.edge > 0)
        {
            Place::Attached
        } else if is_word || is_amount && seen.alone > 0 {
            Place::Apart
        } else {
            default.edge
        };
        let is_inside = seen.letters_words >= PRODUCTIVE_INSIDE
            && seen.letters_words * UTTERANCES_PER_MARK_INSIDE >= self.n_utterances;
        let letters = if mark == '\'' {
            self.apostrophe.most().unwrap_or(default.letters)
        } else if is_inside {
            Place::Attached
        } else if edge == Place::Apart && default.letters == Place::Dropped {
            Place::Apart
        } else {
            default.letters
        };
        let colon = if mark == ':' { self.colon } else { Ways::default() };
        let digits = Ways { attached: seen.digits, apart: seen.alone_in_number, ..colon };
        Mark { edge, letters, digits: digits.most().unwrap_or(default.digits) }
    }

    fn place_unseen(&self, mark: char, default: Mark) -> Mark {
        match mark {
            '\'' => Mark { letters: self.apostrophe.most().unwrap_or(default.letters), ..default },
            ':' => Mark { digits: self.colon.most().unwrap_or(default.digits), ..default },
            _ => default,
        }
    }
}

/// Whether a word is single letters with full stops between them: `d.c.`, `p.m`.
fn is_initials(word: &str) -> bool {
    let word = word.strip_suffix('.').unwrap_or(word);
    word.contains('.')
        && word.split('.').all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic))
}
