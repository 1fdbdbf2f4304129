//! Which wordings the training data had, with slots in the place of their values: `play [song] by [artist]`.
//!
//! What a tagger makes of a text is likelier right if training had something of the same build. Kept is a set of numbers, one for
//! each pair and triple of neighbouring pieces, for each whole wording of an intent, and for each slot and set of slots of
//! an intent.

use super::{Example, UNKNOWN_WORD};
use crate::label::{SlotId, paired_spans};

/// What training had.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wordings {
    /// In rising order.
    keys: Vec<u32>,
}

/// What of a reading training never had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NewWording {
    /// Pairs of neighbouring pieces.
    pub pairs: usize,
    /// Triples.
    pub triples: usize,
    /// Pieces, the two ends of the text among them.
    pub pieces: usize,
    /// Whether training had the whole wording with this intent.
    pub is_known: bool,
    /// Slots that the intent never had.
    pub slots: usize,
    /// Whether the intent never had just these slots.
    pub slot_set: bool,
}

/// A word, a slot, or an end of the text.
type Piece = u32;

const START: Piece = 1 << 31;
const END: Piece = START + 1;
const FIRST_SLOT: Piece = START + 2;

/// What a number stands for, so that a pair is no wording.
#[derive(Clone, Copy)]
enum Kind {
    Pair,
    Triple,
    Whole,
    IntentSlot,
    IntentSlots,
}

impl Wordings {
    /// Their name in model files; another arithmetic is another name.
    pub(crate) const NAME: &str = "wordings.v1";

    pub(crate) fn fit(examples: &[Example]) -> Self {
        let mut keys = Vec::new();
        for Example { words, labels, intent } in examples {
            let spans: Vec<_> =
                paired_spans(labels).map(|(slot, range)| (slot, range.start, range.end)).collect();
            let pieces = pieces(words.iter().copied(), &spans);
            keys.extend(pairs(&pieces).chain(triples(&pieces)));
            keys.push(whole(*intent, &pieces));
            let slots = slots(&spans);
            keys.extend(slots.iter().map(|&slot| intent_slot(*intent, slot)));
            keys.push(intent_slots(*intent, &slots));
        }
        keys.sort_unstable();
        keys.dedup();
        Wordings { keys }
    }

    /// From numbers in rising order, as [`Wordings::keys`] gave them.
    pub(crate) fn new(keys: Vec<u32>) -> Option<Self> {
        keys.windows(2).all(|pair| pair[0] < pair[1]).then_some(Wordings { keys })
    }

    pub(crate) fn keys(&self) -> &[u32] {
        &self.keys
    }

    fn has(&self, key: u32) -> bool {
        self.keys.binary_search(&key).is_ok()
    }

    /// What is new in a reading: words by their ids, spans as slot, first word and one past the last, sorted.
    pub(crate) fn compare(
        &self,
        words: impl Iterator<Item = u32>,
        spans: &[(SlotId, usize, usize)],
        intent: u32,
    ) -> NewWording {
        let (pieces, slots) = (pieces(words, spans), slots(spans));
        NewWording {
            pairs: pairs(&pieces).filter(|&key| !self.has(key)).count(),
            triples: triples(&pieces).filter(|&key| !self.has(key)).count(),
            pieces: pieces.len(),
            is_known: !pieces.contains(&UNKNOWN_WORD) && self.has(whole(intent, &pieces)),
            slots: slots.iter().filter(|&&slot| !self.has(intent_slot(intent, slot))).count(),
            slot_set: !self.has(intent_slots(intent, &slots)),
        }
    }
}

fn pieces(words: impl Iterator<Item = u32>, spans: &[(SlotId, usize, usize)]) -> Vec<Piece> {
    let mut pieces = vec![START];
    let mut spans = spans.iter().peekable();
    for (token_idx, word) in words.enumerate() {
        while spans.next_if(|span| span.2 <= token_idx).is_some() {}
        match spans.peek() {
            Some(&&(slot, start, _)) if start == token_idx => pieces.push(FIRST_SLOT + slot),
            Some(&&(_, start, _)) if start < token_idx => {}
            _ => pieces.push(word),
        }
    }
    pieces.push(END);
    pieces
}

/// The distinct slots, in rising order.
fn slots(spans: &[(SlotId, usize, usize)]) -> Vec<SlotId> {
    let mut slots: Vec<SlotId> = spans.iter().map(|span| span.0).collect();
    slots.sort_unstable();
    slots.dedup();
    slots
}

fn pairs(pieces: &[Piece]) -> impl Iterator<Item = u32> {
    pieces.windows(2).map(|pair| key(Kind::Pair, pair))
}

fn triples(pieces: &[Piece]) -> impl Iterator<Item = u32> {
    pieces.windows(3).map(|triple| key(Kind::Triple, triple))
}

fn whole(intent: u32, pieces: &[Piece]) -> u32 {
    fold(key(Kind::Whole, pieces), intent)
}

fn intent_slot(intent: u32, slot: SlotId) -> u32 {
    key(Kind::IntentSlot, &[intent, slot])
}

fn intent_slots(intent: u32, slots: &[SlotId]) -> u32 {
    fold(key(Kind::IntentSlots, slots), intent)
}

fn key(kind: Kind, parts: &[u32]) -> u32 {
    parts.iter().fold(fold(0, kind as u32), |key, &part| fold(key, part))
}

/// A step of a hash by multiplication and rotation; two sets of pieces have the same one in four billion times.
fn fold(key: u32, part: u32) -> u32 {
    let mixed = (u64::from(key.rotate_left(5) ^ part) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 32) as u32 ^ mixed as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::{begin_label, inside_label};

    /// Words 1 and 2, then a value of two words of slot 0; intent 0.
    fn example() -> Example {
        Example { words: vec![1, 2, 8, 9], labels: vec![0, 0, begin_label(0), inside_label(0)], intent: 0 }
    }

    #[test]
    fn values_do_not_count_but_their_slots_do() {
        let wordings = Wordings::fit(&[example()]);
        let compare = |words: &[u32], spans: &[(SlotId, usize, usize)], intent| {
            wordings.compare(words.iter().copied(), spans, intent)
        };
        let known = NewWording { pieces: 5, is_known: true, ..NewWording::default() };
        assert_eq!(compare(&[1, 2, 7, 7, 7], &[(0, 2, 5)], 0), known);
        // Another slot, which the intent never had.
        let other = NewWording { pairs: 2, triples: 2, pieces: 5, is_known: false, slots: 1, slot_set: true };
        assert_eq!(compare(&[1, 2, 8], &[(1, 2, 3)], 0), other);
        // Another intent.
        let other = NewWording { is_known: false, slots: 1, slot_set: true, ..known };
        assert_eq!(compare(&[1, 2, 8], &[(0, 2, 3)], 1), other);
        // No slot, and a word that training did not have.
        let none = compare(&[1, UNKNOWN_WORD], &[], 0);
        assert_eq!(
            none,
            NewWording { pairs: 2, triples: 2, pieces: 4, is_known: false, slots: 0, slot_set: true }
        );
    }

    #[test]
    fn keys_are_believed_only_in_rising_order() {
        let keys = Wordings::fit(&[example()]).keys().to_vec();
        assert_eq!(Wordings::new(keys.clone()), Some(Wordings { keys: keys.clone() }));
        assert_eq!(Wordings::new(keys.into_iter().rev().collect()), None);
    }
}
