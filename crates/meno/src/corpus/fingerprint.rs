//! A number that tells one corpus from another.
//!
//! 128-bit FNV-1a over words, labels, intents and known values in order, every string preceded by its length so that no two corpora
//! run together. It does not depend on the path, the format or the machine. FNV is no defence against someone who wants
//! a collision; it says from which data a model was made. Written by hand because the standard library's hasher is free
//! to change between releases.

use super::{Corpus, KnownValue};

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

impl Corpus {
    /// The fingerprint as 32 hexadecimal digits; the same utterances and known values give the same digits for ever.
    pub fn fingerprint(&self) -> String {
        let mut hash = Fnv(OFFSET);
        hash.number(self.utterances.len());
        for utterance in &self.utterances {
            hash.strings(&utterance.words);
            hash.strings(&utterance.labels);
            hash.strings(utterance.truth.as_deref().unwrap_or_default());
            hash.string(&utterance.intent);
        }
        // They came later: what has none keeps its digits.
        for KnownValue { slot, phrase, stands_for } in &self.known_values {
            let texts = [slot.as_deref(), Some(phrase), stands_for.as_deref()];
            texts.into_iter().for_each(|text| hash.string(text.unwrap_or_default()));
        }
        format!("{:032x}", hash.0)
    }
}

struct Fnv(u128);

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }

    fn number(&mut self, number: usize) {
        self.bytes(&(number as u64).to_le_bytes());
    }

    fn string(&mut self, string: &str) {
        self.number(string.len());
        self.bytes(string.as_bytes());
    }

    fn strings(&mut self, strings: &[String]) {
        self.number(strings.len());
        strings.iter().for_each(|string| self.string(string));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::corpus;
    use super::*;

    #[test]
    fn is_fnv_1a() {
        let of = |bytes: &[u8]| {
            let mut hash = Fnv(OFFSET);
            hash.bytes(bytes);
            format!("{:032x}", hash.0)
        };
        // From the test vectors of the FNV draft (draft-eastlake-fnv).
        assert_eq!(of(b""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(of(b"a"), "d228cb696f1a8caf78912b704e4a8964");
        assert_eq!(of(b"foobar"), "343e1662793c64bf6f0d3597ba446f18");
    }

    #[test]
    fn tells_corpora_apart() {
        let one = corpus(&["Play play [x y|a]"]).fingerprint();
        assert_eq!(one, corpus(&["Play play [x y|a]"]).fingerprint());
        for other in ["Stop play [x y|a]", "Play play [x|a] [y|a]", "Play play x y", "Play pla yx y"] {
            assert_ne!(one, corpus(&[other]).fingerprint(), "{other}");
        }
    }
}
