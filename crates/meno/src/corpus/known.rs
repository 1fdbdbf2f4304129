//! Values of slots that a corpus names outside of its utterances: synonyms, lookup tables, entity lists.

use std::collections::{BTreeSet, HashMap};

pub use crate::utterance::KnownValue;

impl KnownValue {
    /// The name of a value and all the phrases for it, itself among them.
    pub(super) fn with_synonyms<'a>(
        slot: Option<&'a str>,
        value: &'a str,
        synonyms: impl IntoIterator<Item = &'a str>,
    ) -> impl Iterator<Item = KnownValue> {
        let itself = std::iter::once(KnownValue::new(slot, value, None));
        itself.chain(synonyms.into_iter().map(move |phrase| KnownValue::new(slot, phrase, Some(value))))
    }

    /// Sorts values and takes repeated ones out.
    ///
    /// A phrase that the corpus gives no slot has the slots that the same phrase, or what it stands for, has elsewhere:
    /// among the values or in `annotated`, pairs of a slot and a phrase. `key` makes phrases comparable.
    pub(super) fn settle(
        values: &mut Vec<KnownValue>,
        annotated: impl Iterator<Item = (String, String)>,
        key: impl Fn(&str) -> String,
    ) {
        let (with_slot, without): (Vec<_>, Vec<_>) = values.drain(..).partition(|value| value.slot.is_some());
        if !without.is_empty() {
            let mut slots: HashMap<String, BTreeSet<String>> = HashMap::new();
            annotated.for_each(|(slot, phrase)| _ = slots.entry(key(&phrase)).or_default().insert(slot));
            for value in &with_slot {
                for name in value.names() {
                    slots.entry(key(name)).or_default().extend(value.slot.clone());
                }
            }
            for value in without {
                let found: BTreeSet<&String> =
                    value.names().filter_map(|name| slots.get(&key(name))).flatten().collect();
                let with = |slot: Option<&String>| KnownValue { slot: slot.cloned(), ..value.clone() };
                if found.is_empty() {
                    values.push(with(None));
                }
                values.extend(found.into_iter().map(|slot| with(Some(slot))));
            }
        }
        values.extend(with_slot);
        values.sort();
        values.dedup();
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.phrase.as_str()).chain(self.stands_for.as_deref())
    }
}
