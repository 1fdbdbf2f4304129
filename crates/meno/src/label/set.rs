//! The labels of a tagger, and what each says of a word.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::{Names, UNKNOWN, iob, split};

/// The number of a slot.
pub type SlotId = u32;

/// The IOB labels of a tagger; `O` is the first.
///
/// In a set that is *paired* label 0 is `O`, label `1 + 2 n` begins slot `n` and label `2 + 2 n` goes on with it. Span
/// taggers have such sets; others have the labels of their corpus, in any order.
#[derive(Clone, Debug)]
pub struct LabelSet {
    names: Names,
    /// Those of the labels that begin a span, in their order.
    slots: Vec<Arc<str>>,
    begin_unknown: Arc<str>,
    inside_unknown: Arc<str>,
}

impl LabelSet {
    /// Of these labels.
    pub fn new(names: Names) -> Self {
        let [begin_unknown, inside_unknown] = [true, false].map(|is_first| iob(UNKNOWN, is_first).into());
        let slots =
            names.names().iter().filter_map(|label| label.strip_prefix("B-")).map(Into::into).collect();
        LabelSet { names, slots, begin_unknown, inside_unknown }
    }

    /// The paired set of the same slots.
    pub fn paired(&self) -> Self {
        let slots = self.names.names().iter().map(|label| split(label).1).filter(|slot| !slot.is_empty());
        let slots = Names::count(&[], slots);
        let pairs = slots.names().iter().flat_map(|slot| [true, false].map(|is_first| iob(slot, is_first)));
        LabelSet::new(Names::new(std::iter::once("O".to_owned()).chain(pairs)))
    }

    /// Whether it is paired.
    pub(crate) fn is_paired(&self) -> bool {
        let pair = |pair: &[Arc<str>]| match pair {
            [begin, inside] => {
                begin.strip_prefix("B-").is_some_and(|slot| inside.strip_prefix("I-") == Some(slot))
            }
            _ => false,
        };
        self.names
            .names()
            .split_first()
            .is_some_and(|(outside, rest)| &**outside == "O" && rest.chunks(2).all(pair))
    }

    /// The name of a label.
    pub fn name(&self, label: u32) -> &Arc<str> {
        self.names.name(label)
    }

    /// All names in the order of their ids.
    pub fn names(&self) -> &[Arc<str>] {
        self.names.names()
    }

    /// The id of a label.
    pub fn id(&self, label: &str) -> Option<u32> {
        self.names.id(label)
    }

    /// How many labels there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The slots, in alphabetical order.
    pub fn slots(&self) -> Vec<String> {
        let slots: BTreeSet<&str> =
            self.names().iter().map(|label| split(label).1).filter(|slot| !slot.is_empty()).collect();
        slots.into_iter().map(str::to_owned).collect()
    }

    /// The slots of a paired set, in the order of their numbers.
    pub(crate) fn paired_slots(&self) -> &[Arc<str>] {
        &self.slots
    }

    /// The name of a slot of a paired set.
    pub(crate) fn slot(&self, slot: SlotId) -> &Arc<str> {
        &self.slots[slot as usize]
    }

    /// A label that answers share, if it is one of these or of an unknown span.
    pub(crate) fn shared(&self, label: &str) -> Arc<str> {
        match self.id(label) {
            Some(id) => self.name(id).clone(),
            None if *label == *self.begin_unknown => self.begin_unknown.clone(),
            None if *label == *self.inside_unknown => self.inside_unknown.clone(),
            None => label.into(),
        }
    }

    /// The label of the first word of an unknown span, or of a later one.
    pub(crate) fn unknown(&self, is_first: bool) -> Arc<str> {
        if is_first { self.begin_unknown.clone() } else { self.inside_unknown.clone() }
    }
}

impl Default for LabelSet {
    fn default() -> Self {
        LabelSet::new(Names::default())
    }
}

/// The label of a word outside of all slots in a paired set.
pub(crate) const OUTSIDE_LABEL: u32 = 0;

/// The label with which a slot begins in a paired set.
pub(crate) fn begin_label(slot: SlotId) -> u32 {
    1 + 2 * slot
}

/// The label with which a slot goes on in a paired set.
pub(crate) fn inside_label(slot: SlotId) -> u32 {
    2 + 2 * slot
}

/// Where a word stands by its label of a paired set: [`Boundary::Outside`], or a boundary tag and the slot.
pub(crate) fn parts(label: u32) -> (Boundary, Option<SlotId>) {
    match label.checked_sub(1) {
        None => (Boundary::Outside, None),
        Some(pair) if pair % 2 == 0 => (Boundary::Begin, Some(pair / 2)),
        Some(pair) => (Boundary::Inside, Some(pair / 2)),
    }
}

/// Where a word stands: the tags of a linear-chain CRF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boundary {
    Outside = 0,
    Begin = 1,
    Inside = 2,
}

/// The spans of labels of a paired set with their slots.
pub(crate) fn paired_spans(labels: &[u32]) -> impl Iterator<Item = (SlotId, Range<usize>)> {
    labels.iter().enumerate().filter_map(|(start, &label)| match parts(label) {
        (Boundary::Begin, Some(slot)) => {
            let inside = |&&label: &&u32| label == inside_label(slot);
            Some((slot, start..start + 1 + labels[start + 1..].iter().take_while(inside).count()))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(labels: &str) -> LabelSet {
        LabelSet::new(Names::new(labels.split(' ')))
    }

    #[test]
    fn a_paired_set_has_both_labels_of_each_slot() {
        let labels = set("O I-city B-time B-city");
        assert!(!labels.is_paired());
        let paired = labels.paired();
        assert_eq!(paired.names().join(" "), "O B-city I-city B-time I-time");
        assert!(paired.is_paired());
        assert_eq!([&**paired.slot(0), paired.slot(1)], ["city", "time"]);
        assert_eq!(paired.paired_slots().len(), 2);
        assert_eq!(paired.slots(), ["city", "time"]);
        for wrong in ["B-x I-x", "O B-x", "O B-x I-y", "O I-x B-x"] {
            assert!(!set(wrong).is_paired(), "{wrong}");
        }
        assert!(set("O").is_paired());
    }

    #[test]
    fn labels_of_a_paired_set_and_their_parts_are_inverse() {
        assert_eq!(parts(0), (Boundary::Outside, None));
        for slot in [0, 1, 7] {
            assert_eq!(parts(begin_label(slot)), (Boundary::Begin, Some(slot)));
            assert_eq!(parts(inside_label(slot)), (Boundary::Inside, Some(slot)));
        }
    }

    #[test]
    fn spans_of_paired_labels() {
        // O, slot 0 over two words, slot 1, slot 0 again, and slot 0 after it.
        let spans: Vec<_> = paired_spans(&[0, 1, 2, 3, 1, 1, 2, 0]).collect();
        assert_eq!(spans, [(0, 1..3), (1, 3..4), (0, 4..5), (0, 5..7)]);
    }
}
