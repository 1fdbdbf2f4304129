//! An utterance as a transformer reads it.

/// The pieces of an utterance between `[CLS]` and `[SEP]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// All pieces.
    pub pieces: Vec<u32>,
    /// For each word which of them is its first.
    pub firsts: Vec<u32>,
}

impl Sequence {
    /// Begins anew, with `[CLS]`.
    pub(crate) fn begin(&mut self, cls: u32) {
        self.pieces.clear();
        self.firsts.clear();
        self.pieces.push(cls);
    }

    /// Adds a word, unless more than so many pieces would be there at the end.
    pub(crate) fn push(&mut self, word: &[u32], most: usize) -> bool {
        let fits = self.pieces.len() + word.len() < most;
        if fits {
            self.firsts.push(self.pieces.len() as u32);
            self.pieces.extend_from_slice(word);
        }
        fits
    }

    /// Ends with `[SEP]`.
    pub(crate) fn end(&mut self, sep: u32) {
        self.pieces.push(sep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_added_while_there_is_room() {
        let mut sequence = Sequence::default();
        for _ in 0..2 {
            sequence.begin(101);
            let pushed = [[7, 8].as_slice(), &[9], &[5, 6], &[4]].map(|word| sequence.push(word, 6));
            sequence.end(102);
            assert_eq!(pushed, [true, true, false, true]);
            assert_eq!(sequence.pieces, [101, 7, 8, 9, 4, 102]);
            assert_eq!(sequence.firsts, [1, 3, 4]);
        }
    }
}
