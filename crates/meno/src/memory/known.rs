//! The values that a training corpus names outside of its utterances, as a model has them: synonyms, lookup tables, lists.
//!
//! Enters: an annotation as the tagger leaves it. It leaves with what its spans stand for, and with the known phrases that
//! the tagger is unsure of in their slots, by the rule of [`reconcile`] and two more:
//!
//! - A list of months has *may* in it, and nobody has said it here: a phrase of which the tagger has no word in any span
//!   is left outside, unless it is long.
//! - A phrase that the corpus gives no slot, as Rasa's synonyms, says what a span of exactly these words stands for.
//!
//! What is taught comes after it and wins.

use super::index::{Entry, Found, Index};
use super::reconcile::{Rule, reconcile, relabel, tagged_words};
use crate::Annotation;
use crate::answer::{Decision, Span};
use crate::label::UNKNOWN;
use crate::utterance::KnownValue;

/// The known values of a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownValues {
    values: Vec<KnownValue>,
    index: Index,
}

/// The slot of a phrase that has none.
const ANY: &str = "";

impl KnownValues {
    /// Those of a corpus that can be of use to a tagger with these slots: a value of `city` is one of `city.to` too, and
    /// nothing is known of a slot that no utterance has.
    pub(crate) fn fit(values: &[KnownValue], slots: &[String]) -> Self {
        let has_role = |slot: &str, of: &str| slot.strip_prefix(of).is_some_and(|role| role.starts_with('.'));
        let mut found: Vec<KnownValue> = Vec::new();
        for value in values {
            match &value.slot {
                None => found.push(value.clone()),
                Some(of) => {
                    let fits = slots.iter().filter(|slot| *slot == of || has_role(slot, of));
                    found.extend(fits.map(|slot| KnownValue { slot: Some(slot.clone()), ..value.clone() }));
                }
            }
        }
        found.sort();
        found.dedup();
        KnownValues::new(found)
    }

    pub(crate) fn new(values: Vec<KnownValue>) -> Self {
        let mut index = Index::with_capacity(values.len());
        // Of entries at one place the newest is the first: one that says what it stands for.
        let (named, plain): (Vec<&KnownValue>, Vec<_>) =
            values.iter().partition(|value| value.stands_for.is_some());
        for (id, value) in (0..).zip(plain.into_iter().chain(named)) {
            let slot = value.slot.as_deref().unwrap_or(ANY);
            index.insert(Entry {
                id,
                phrase: &value.phrase,
                slot,
                value: value.stands_for.as_deref(),
                user: None,
            });
        }
        KnownValues { values, index }
    }

    pub(crate) fn values(&self) -> &[KnownValue] {
        &self.values
    }

    /// Says what the spans of an annotation stand for, and finds the phrases that the tagger is unsure of. `has_seen` is
    /// whether the tagger was trained on a word.
    pub(crate) fn mark<'t>(
        &self,
        mut annotation: Annotation<'t>,
        has_seen: impl Fn(&str) -> bool,
    ) -> Annotation<'t> {
        let mut found = self.index.find(annotation.text, None);
        found.retain_mut(|found| is_supported(found, &annotation));
        if found.is_empty() {
            return annotation;
        }
        let held = reconcile(Rule::default(), annotation.text, &found, &tagged_words(&annotation, has_seen));
        drop(found);
        relabel(&mut annotation, &held);
        for recalled in held {
            let start = annotation.tokens[recalled.token_span.start].start;
            if let Some(span) = annotation.spans.iter_mut().find(|span| span.start == start) {
                span.value = recalled.value;
            }
        }
        // That a value is known does not make an utterance one of those that the corpus is about.
        if annotation.decision != Decision::Reject {
            annotation.decision = Decision::of(&annotation.spans);
        }
        annotation
    }
}

/// Whether the tagger has a word of a phrase in some span, or the phrase is long. One without a slot takes that of the span
/// that has exactly its words.
fn is_supported<'a>(found: &mut Found<'a>, annotation: &'a Annotation<'_>) -> bool {
    if found.slot != ANY {
        let overlaps = |span: &Span<'_>| span.start < found.end && found.start < span.end;
        return found.n_words >= Rule::default().long || annotation.spans.iter().any(overlaps);
    }
    let is_same =
        |span: &&Span<'_>| (span.start, span.end) == (found.start, found.end) && span.slot != UNKNOWN;
    let same = annotation.spans.iter().find(is_same);
    found.slot = same.map_or(ANY, |span| &span.slot);
    same.is_some()
}
