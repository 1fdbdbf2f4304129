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
        if self.values.is_empty() {
            return annotation;
        }
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
        if !matches!(annotation.decision, Decision::Reject { .. }) {
            annotation.decide_again();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Reason, TokenLabel, TokenVerdict, spans_at};
    use crate::decision::Rejection;
    use crate::memory::{Entry, Remembered};

    fn value(slot: &str, phrase: &str, stands_for: &str) -> KnownValue {
        let given = |text| Some(text).filter(|text: &&str| !text.is_empty());
        KnownValue::new(given(slot), phrase, given(stands_for))
    }

    /// Words with labels, `?` behind those that are unknown.
    fn annotation<'t>(text: &'t str, labels: &str) -> Annotation<'t> {
        let tokens: Vec<TokenLabel<'t>> = (text.split(' ').zip(labels.split(' ')))
            .map(|(word, label)| {
                let start = word.as_ptr().addr() - text.as_ptr().addr();
                let reason = Reason { score: "concept", threshold: 0.0, runners_up: Vec::new() };
                let first_choice = label.trim_end_matches('?').into();
                let unknown = label.ends_with('?');
                let verdict = TokenVerdict { first_choice, uncertainty: 0.0, unknown, reason, grown: None };
                let label = if unknown { "B-unknown" } else { label };
                let end = start + word.len();
                TokenLabel {
                    text: word,
                    start,
                    end,
                    label: label.into(),
                    probability: 0.9,
                    verdict: Some(verdict),
                }
            })
            .collect();
        let places: Vec<(usize, usize)> = tokens.iter().map(|token| (token.start, token.end)).collect();
        let labels: Vec<&str> = tokens.iter().map(|token| &*token.label).collect();
        let spans = spans_at(text, &places, &labels);
        let (intent, confidence, outside) = (None, None, Vec::new());
        let mut annotation =
            Annotation { text, intent, confidence, decision: Decision::Act, tokens, spans, outside };
        annotation.decide_again();
        annotation
    }

    fn shown(annotation: &Annotation<'_>) -> String {
        let span = |span: &Span<'_>| {
            let value = span.value.as_ref().map(|value| format!("={value}"));
            format!("[{}|{}{}]", span.text, span.slot, value.unwrap_or_default())
        };
        annotation.spans.iter().map(span).collect::<Vec<_>>().join(" ")
    }

    fn values() -> KnownValues {
        KnownValues::new(vec![
            value("", "2", "two"),
            value("number", "a couple of", "two"),
            value("topping", "pepperoni", ""),
            value("topping", "pepperoni", "salami"),
            value("topping", "rocket", ""),
            value("month", "may", ""),
        ])
    }

    /// Of what follows, the tagger was trained on all but rocket.
    fn check(text: &str, labels: &str, expected: &str) {
        let marked = values().mark(annotation(text, labels), |word| word != "rocket");
        assert_eq!(shown(&marked), expected, "{text}");
    }

    #[test]
    fn spans_stand_for_values() {
        check("with pepperoni", "O B-topping", "[pepperoni|topping=salami]");
        check("with Pepperonis !", "O B-topping O", "[Pepperonis|topping=salami]");
        check("with pepperoni", "O B-size", "[pepperoni|size]");
        // A synonym without a slot: in any slot, but only of exactly its words.
        check("2 pizzas", "B-number O", "[2|number=two]");
        check("2 large pizzas", "B-size I-size O", "[2 large|size]");
        check("2 pizzas", "O O", "");
        check("2 pizzas", "B-number? O", "[2|unknown]");
    }

    #[test]
    fn known_phrases_are_found_where_the_tagger_is_unsure() {
        check("with rocket", "O B-size", "[rocket|topping]");
        check("with rocket", "O B-size?", "[rocket|topping]");
        check("in may", "O B-day?", "[may|month]");
        // Of one or two words alone nothing is made.
        check("may i have a rocket", "O O O O O", "");
        check("a couple of pizzas", "O O O O", "[a couple of|number=two]");
    }

    #[test]
    fn what_is_rejected_stays_so_and_what_is_taught_wins() {
        let mut rejected = annotation("with rocket", "O B-size?");
        rejected.decision = Decision::Reject { because: Rejection::OutOfScope };
        assert_eq!(values().mark(rejected.clone(), |_| true).decision, rejected.decision);
        let marked = values().mark(annotation("with rocket", "O B-size?"), |_| true);
        assert_eq!(marked.decision, Decision::Act);

        let mut index = Index::default();
        let text = "pepperoni or rocket";
        index.insert(Entry { id: 1, phrase: "rocket", slot: "game", value: None, user: None });
        index.insert(Entry {
            id: 2,
            phrase: "pepperoni",
            slot: "topping",
            value: Some("hot salami"),
            user: None,
        });
        let marked = values().mark(annotation(text, "B-topping O B-size?"), |_| true);
        let taught = Remembered::new(Rule::default(), marked, &index.find(text, None), |_| true);
        let stands_for: Vec<_> =
            taught.annotation.spans.iter().map(|span| (&*span.slot, taught.value_of(span))).collect();
        assert_eq!(stands_for, [("topping", Some("hot salami")), ("game", None)]);
    }

    #[test]
    fn values_are_those_of_the_slots_that_there_are() {
        let slots = ["city.from", "city.to", "date"].map(str::to_owned);
        let known = KnownValues::fit(
            &[
                value("city", "oslo", ""),
                value("date", "today", ""),
                value("help", "help me", ""),
                value("", "a", "b"),
            ],
            &slots,
        );
        let shown: Vec<_> =
            known.values().iter().map(|value| (value.slot.as_deref(), &*value.phrase)).collect();
        assert_eq!(
            shown,
            [(None, "a"), (Some("city.from"), "oslo"), (Some("city.to"), "oslo"), (Some("date"), "today")]
        );
    }
}
