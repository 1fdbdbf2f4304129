//! Values of slots that a corpus names outside of its utterances: synonyms, lookup tables, entity lists.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Corpus;
use super::tagged::cannot_hold_value;
use crate::Result;
use crate::label;
use crate::text::{Normalizer, clusters};
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
    /// among the values or in `annotated`, pairs of a slot and a phrase.
    pub(super) fn settle(
        values: &mut Vec<KnownValue>,
        annotated: impl Iterator<Item = (String, String)>,
        normalizer: &Normalizer,
    ) {
        let key = |phrase: &str| key(normalizer, phrase);
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

/// A phrase as it is compared with others.
fn key(normalizer: &Normalizer, phrase: &str) -> String {
    normalizer.read(phrase).iter().map(|token| token.word.to_owned() + " ").collect()
}

/// The known values as Rasa has them: `("synonym", "New York")` with its phrases, `("lookup", "city")` with its values.
pub(super) type Lists<'a> = BTreeMap<(&'static str, &'a str), BTreeSet<&'a str>>;

impl Corpus {
    /// Pairs of a slot and a phrase in the utterances.
    pub(super) fn annotated(&self) -> impl Iterator<Item = (String, String)> {
        self.utterances.iter().flat_map(|utterance| {
            let phrase = |span: &label::TokenSpan| clusters::join(&utterance.words[span.start..span.end]);
            label::spans(&utterance.labels).into_iter().map(move |span| (span.slot.clone(), phrase(&span)))
        })
    }

    /// The known values as lists of lines. A synonym has no slot there; where nothing else would tell it, the phrase stands
    /// in the lookup table of its slot too.
    pub(super) fn value_lists(&self, format: &str) -> Result<Lists<'_>> {
        let mut lists = Lists::new();
        if self.known_values.is_empty() {
            return Ok(lists);
        }
        let normalizer = Normalizer::default();
        let plain = self.known_values.iter().filter(|value| value.stands_for.is_none());
        let listed = plain.filter_map(|value| Some((value.slot.clone()?, value.phrase.clone())));
        let told: HashSet<(String, String)> =
            self.annotated().chain(listed).map(|(slot, phrase)| (slot, key(&normalizer, &phrase))).collect();
        for value in &self.known_values {
            let KnownValue { slot, phrase, stands_for } = value;
            for text in value.names().chain(slot.as_deref()) {
                if text.trim() != text || text.is_empty() || text.contains(char::is_control) {
                    return Err(cannot_hold_value(self, format, text));
                }
            }
            let is_told = |slot: &String| {
                value.names().any(|name| told.contains(&(slot.clone(), key(&normalizer, name))))
            };
            if let Some(name) = stands_for.as_deref().or_else(|| slot.is_none().then_some(phrase)) {
                lists.entry(("synonym", name)).or_default().insert(phrase);
            }
            if let Some(slot) = slot.as_ref().filter(|slot| stands_for.is_none() || !is_told(slot)) {
                lists.entry(("lookup", slot)).or_default().insert(phrase);
            }
        }
        Ok(lists)
    }
}
