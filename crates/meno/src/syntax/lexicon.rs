//! From words to rows of the embedding table.
//!
//! A word is the sum of a few rows: one for itself (or one for all words that are not in the lexicon), and one each
//! for its beginning, its endings and its shape, so that a new word is not unknown altogether. What a row stands for is
//! kept as a 64-bit fingerprint.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Rows that describe a word.
pub(crate) const N_FEATURES: usize = 7;

/// In place of a row that is not in the table.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// The row of all words that are not in the lexicon.
pub(crate) const UNKNOWN_ROW: u32 = 0;

/// The rows of a word; the first is its own.
pub(crate) type Rows = [u32; N_FEATURES];

/// The fingerprints of a word's features.
pub(crate) type Keys = [u64; N_FEATURES];

/// Which row belongs to which fingerprint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lexicon {
    rows: HashMap<u64, u32, BuildHasherDefault<Identity>>,
}

impl Lexicon {
    /// Row `i + 1` belongs to fingerprint `i`; `None` if one occurs twice.
    pub(super) fn new(keys: &[u64]) -> Option<Self> {
        let rows: HashMap<_, _, _> = keys.iter().zip(1..).map(|(&key, row)| (key, row)).collect();
        (rows.len() == keys.len()).then_some(Lexicon { rows })
    }

    /// The row of a fingerprint.
    pub(super) fn row(&self, key: u64) -> Option<u32> {
        self.rows.get(&key).copied()
    }

    /// The rows of a word.
    pub(super) fn rows<const N: usize>(&self, keys: &[u64; N]) -> [u32; N] {
        let mut rows = keys.map(|key| self.row(key).unwrap_or(NO_ROW));
        if rows[0] == NO_ROW {
            rows[0] = UNKNOWN_ROW;
        }
        rows
    }
}

/// Fingerprints are random enough as they are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Reads words; holds its buffers between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    chars: Vec<char>,
}

impl Reader {
    /// The fingerprints of the features of each word of a sentence.
    pub(super) fn read<S: AsRef<str>>(&mut self, words: &[S], keys: &mut Vec<Keys>) {
        let is_cased = words.iter().any(|word| word.as_ref().chars().any(char::is_uppercase));
        keys.clear();
        for (idx, word) in words.iter().enumerate() {
            let ([word, beginning, a, b, c, d], shape) = self.word(word.as_ref());
            keys.push([word, beginning, a, b, c, d, Self::place_key(shape, is_cased, idx == 0)]);
        }
    }

    /// The fingerprint of a word's shape and place.
    pub(super) fn place_key(shape: u64, is_cased: bool, is_first: bool) -> u64 {
        fingerprint(7 + (shape << 2 | u64::from(is_cased) << 1 | u64::from(is_first)), &[])
    }

    /// The fingerprints of a word wherever it stands, and its shape.
    pub(super) fn word(&mut self, word: &str) -> ([u64; N_FEATURES - 1], u64) {
        self.chars.clear();
        self.chars.extend(word.chars().flat_map(char::to_lowercase).map(normal));
        let n = self.chars.len();
        let ending = |length: usize| &self.chars[n.saturating_sub(length)..];
        let keys = [
            fingerprint(1, &self.chars),
            fingerprint(2, &self.chars[..n.min(3)]),
            fingerprint(3, ending(1)),
            fingerprint(4, ending(2)),
            fingerprint(5, ending(3)),
            fingerprint(6, ending(4)),
        ];
        (keys, shape(word))
    }
}

/// A lower-case character with digits made alike and apostrophes made plain.
fn normal(c: char) -> char {
    match c {
        '0'..='9' => '0',
        '’' | '‘' | '`' => '\'',
        c => c,
    }
}

/// Capitals, digits and marks as bits.
fn shape(word: &str) -> u64 {
    let mut chars = word.chars();
    let capital = chars.next().is_some_and(char::is_uppercase);
    let capitals = capital && chars.clone().next().is_some() && !chars.any(char::is_lowercase);
    let digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let letter = word.chars().any(char::is_alphabetic);
    let mark = word.chars().any(|c| !c.is_alphanumeric());
    let single = word.chars().nth(1).is_none();
    [capital, capitals, digit, letter, mark, single]
        .into_iter()
        .fold(0, |bits, bit| bits << 1 | u64::from(bit))
}

/// FNV-1a over characters, its bits mixed at the end (SplitMix64).
fn fingerprint(kind: u64, chars: &[char]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325 ^ kind.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for &c in chars {
        hash = (hash ^ u64::from(c)).wrapping_mul(0x0000_0100_0000_01B3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ (hash >> 31)
}
