//! The second reading: a word that the tagger does not know spoils what it makes of the words beside it.
//!
//! Enters: a text in which memory found concepts. Leaves: the same text with a known value in the place of each
//! ([`Rereading`]), and then, with what the tagger makes of that, the answer to the first text. The words of the concepts stay
//! as the first reading and memory have them; all else is from the second, at its place in the first text.

use std::ops::Range;

use super::reconcile::{Recalled, Remembered, hold};
use crate::Annotation;
use crate::answer::{About, Decision, Outside, Span, TokenLabel, TokenVerdict};
use crate::label::{self, UNKNOWN};
use crate::syntax::phrase::Why;

/// A text with known values in the places of concepts.
#[derive(Debug)]
pub(crate) struct Rereading {
    /// What is to be read.
    pub text: String,
    /// In the order of the text.
    swaps: Vec<Swap>,
}

/// A known value in the place of a concept.
#[derive(Debug)]
struct Swap {
    /// The bytes of the concept in the first text.
    concept: Range<usize>,
    /// The bytes of the value in the second.
    value: Range<usize>,
}

impl Rereading {
    /// The text of an annotation with `stand_in` of each concept in its place, where it has one; `None` if none has.
    pub(crate) fn new<'a>(
        remembered: &Remembered<'_>,
        stand_in: impl Fn(&Recalled<'_>) -> Option<&'a str>,
    ) -> Option<Self> {
        let Annotation { text: first, tokens, .. } = &remembered.annotation;
        let (mut text, mut swaps, mut rest) = (String::new(), Vec::<Swap>::new(), 0);
        for recalled in &remembered.memory {
            let Some(value) = stand_in(recalled) else { continue };
            let Range { start, end } = recalled.token_span;
            let concept = tokens[start].start..tokens[end - 1].end;
            text += &first[rest..concept.start];
            rest = concept.end;
            swaps.push(Swap { concept, value: text.len()..text.len() + value.len() });
            text += value;
        }
        text += &first[rest..];
        (!swaps.is_empty()).then_some(Rereading { text, swaps })
    }

    /// The answer to the first text with what the tagger makes of the second. Where that has other words beside the concepts,
    /// or more that are unknown, the first reading stays: it is to be understood better.
    pub(crate) fn merge<'t>(&self, remembered: Remembered<'t>, second: Annotation<'_>) -> Remembered<'t> {
        let Remembered { annotation: first, memory } = &remembered;
        let tokens = self.tokens(&first.tokens, &second.tokens);
        let is_better = |tokens: &Vec<_>| n_unknown(tokens) <= n_unknown(&first.tokens);
        let Some(tokens) = tokens.filter(is_better) else { return remembered };
        let concepts = first.spans.iter().filter(|span| self.has(&(span.start..span.end))).cloned();
        let others = second.spans.into_iter().map(|span| self.span(first.text, span));
        let spans = concepts.chain(others.filter(|span| !self.has(&(span.start..span.end)))).collect();
        let outside = second.outside.into_iter().map(|outside| self.outside(first.text, &outside));
        let mut annotation = Annotation {
            text: first.text,
            intent: second.intent,
            confidence: second.confidence,
            decision: self.decision(second.decision),
            tokens,
            spans,
            outside: outside.collect(),
        };
        hold(&mut annotation, memory);
        Remembered { annotation, memory: remembered.memory }
    }

    /// The place in the first text of one in the second; of a part of a known value it is the whole concept.
    fn place(&self, place: Range<usize>) -> Range<usize> {
        let shifted = |byte: usize| {
            let before = self.swaps.iter().rev().find(|swap| swap.value.end <= byte);
            before.map_or(byte, |swap| byte - swap.value.end + swap.concept.end)
        };
        let swap = |byte: usize| self.swaps.iter().find(|swap| swap.value.contains(&byte));
        let start = swap(place.start).map_or_else(|| shifted(place.start), |swap| swap.concept.start);
        let last = place.end.saturating_sub(1);
        let end = swap(last).map_or_else(|| shifted(place.end), |swap| swap.concept.end);
        start..end
    }

    /// Whether a place in the first text has something of a concept that was replaced.
    fn has(&self, place: &Range<usize>) -> bool {
        self.swaps.iter().any(|swap| swap.concept.start < place.end && place.start < swap.concept.end)
    }

    /// The first words as the second reading has them; `None` if it has others.
    fn tokens<'t>(&self, first: &[TokenLabel<'t>], second: &[TokenLabel<'_>]) -> Option<Vec<TokenLabel<'t>>> {
        let places: Vec<Range<usize>> =
            second.iter().map(|token| self.place(token.start..token.end)).collect();
        let number = |token_idx: usize| first.partition_point(|token| token.start < places[token_idx].start);
        let mut others = places.iter().zip(second).filter(|(place, _)| !self.has(place));
        let token = |token: &TokenLabel<'t>| {
            if self.has(&(token.start..token.end)) {
                return Some(token.clone());
            }
            let (place, again) = others.next().filter(|(place, _)| **place == (token.start..token.end))?;
            let verdict = again.verdict.clone().map(|verdict| TokenVerdict {
                grown: verdict.grown.map(|why| Why { from: number(why.from), ..why }),
                ..verdict
            });
            let (label, probability) = (again.label.clone(), again.probability);
            Some(TokenLabel {
                text: token.text,
                start: place.start,
                end: place.end,
                label,
                probability,
                verdict,
            })
        };
        let tokens = first.iter().map(token).collect::<Option<_>>()?;
        others.next().is_none().then_some(tokens)
    }

    fn span<'t>(&self, text: &'t str, span: Span<'_>) -> Span<'t> {
        let Range { start, end } = self.place(span.start..span.end);
        let Span { slot, value, resolved, confidence, guess, .. } = span;
        Span { slot, text: &text[start..end], start, end, value, resolved, confidence, guess }
    }

    fn outside<'t>(&self, text: &'t str, outside: &Outside<'_>) -> Outside<'t> {
        let Range { start, end } = self.place(outside.start..outside.end);
        Outside { text: &text[start..end], start, end, confidence: outside.confidence }
    }

    fn decision(&self, decision: Decision) -> Decision {
        match decision {
            Decision::Ask { about: About { part, place, options } } => {
                Decision::Ask { about: About { part, place: place.map(|place| self.place(place)), options } }
            }
            decision => decision,
        }
    }
}

fn n_unknown(tokens: &[TokenLabel<'_>]) -> usize {
    tokens.iter().filter(|token| label::split(&token.label).1 == UNKNOWN).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Choice, Guess, Part, Reason, spans_at};
    use crate::decision::Rejection;
    use crate::memory::{Entry, Index, Rule};
    use crate::syntax::phrase::Link;

    /// A reading of a text from `word/label` for each of its words.
    fn read<'t>(text: &'t str, tagged: &str) -> Annotation<'t> {
        let mut rest = 0;
        let token = |tagged: &str| {
            let (word, label) = tagged.split_once('/').unwrap();
            let start = rest + text[rest..].find(word).unwrap();
            let end = start + word.len();
            rest = end;
            let label = label.into();
            TokenLabel { text: &text[start..end], start, end, label, probability: 0.5, verdict: None }
        };
        let tokens: Vec<TokenLabel<'_>> = tagged.split(' ').map(token).collect();
        let places: Vec<(usize, usize)> = tokens.iter().map(|token| (token.start, token.end)).collect();
        let labels: Vec<&str> = tokens.iter().map(|token| &*token.label).collect();
        let spans = spans_at(text, &places, &labels);
        let mut annotation = Annotation {
            text,
            intent: None,
            confidence: None,
            decision: Decision::Act,
            tokens,
            spans,
            outside: Vec::new(),
        };
        annotation.decide_again();
        annotation
    }

    /// What memory finds in a first reading; nothing of it was trained on.
    fn remember<'t>(text: &'t str, tagged: &str) -> Remembered<'t> {
        let mut index = Index::default();
        let taught = [
            ("Oleander", "person"),
            ("Çağla", "person"),
            ("Ville-d'Été", "city"),
            ("red moon", "song"),
            ("moon base", "city"),
        ];
        for ((phrase, slot), id) in taught.into_iter().zip(1..) {
            index.insert(Entry { id, phrase, slot, value: None, user: None });
        }
        Remembered::new(Rule::default(), read(text, tagged), &index.find(text, None), |_| false)
    }

    fn stand_in(recalled: &Recalled<'_>) -> Option<&'static str> {
        match &*recalled.slot {
            "person" => Some("mom"),
            "city" => Some("Tromsø"),
            _ => None,
        }
    }

    /// The second text, and what is made of the first in the end.
    fn check(text: &str, first: &str, second: &str, again: &str, expected: &str) {
        let remembered = remember(text, first);
        let rereading = Rereading::new(&remembered, stand_in).unwrap();
        assert_eq!(rereading.text, second);
        let merged = rereading.merge(remembered, read(&rereading.text, again));
        let shown = merged.annotation.spans.iter().map(|span| {
            assert_eq!(span.text, &text[span.start..span.end]);
            format!("[{}|{}]", span.text, span.slot)
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{text}");
        for token in &merged.annotation.tokens {
            assert_eq!(token.text, &text[token.start..token.end]);
        }
    }

    #[test]
    fn what_stands_beside_a_concept_keeps_its_slot() {
        check(
            "call Oleander tomorrow",
            "call/O Oleander/B-unknown tomorrow/B-unknown",
            "call mom tomorrow",
            "call/O mom/B-person tomorrow/B-time",
            "[Oleander|person] [tomorrow|time]",
        );
        check(
            "Çağla, at SIX?",
            "Çağla/B-unknown at/I-unknown SIX/I-unknown",
            "mom, at SIX?",
            "mom/B-person at/O SIX/B-time",
            "[Çağla|person] [SIX|time]",
        );
        check(
            "is it é in Ville-d'Été",
            "is/O it/O é/O in/O Ville/B-unknown -d'Été/I-unknown",
            "is it é in Tromsø",
            "is/O it/O é/B-item in/O Tromsø/B-city",
            "[é|item] [Ville-d'Été|city]",
        );
        check(
            "«Çağla» – Oleander ø six",
            "Çağla/B-unknown Oleander/I-unknown ø/O six/B-unknown",
            "«mom» – mom ø six",
            "mom/B-person mom/B-person ø/B-item six/B-time",
            "[Çağla|person] [Oleander|person] [ø|item] [six|time]",
        );
    }

    #[test]
    fn concepts_keep_their_words_whatever_becomes_of_the_known_values() {
        // What is left of a span keeps its slot, as it does in the first reading.
        check(
            "call Oleander tomorrow",
            "call/O Oleander/B-person tomorrow/O",
            "call mom tomorrow",
            "call/B-item mom/I-item tomorrow/I-item",
            "[call|item] [Oleander|person] [tomorrow|item]",
        );
        // Known values of more or fewer words; a concept without one stays as it is.
        check(
            "red moon for Oleander now",
            "red/O moon/O for/O Oleander/O now/O",
            "red moon for mom now",
            "red/B-media moon/O for/O mo/O m/O now/B-time",
            "[red moon|song] [Oleander|person] [now|time]",
        );
        // Other words beside them.
        check(
            "call Oleander tomorrow",
            "call/O Oleander/O tomorrow/B-time",
            "call mom tomorrow",
            "call/O mom/O tom/O orrow/O",
            "[Oleander|person] [tomorrow|time]",
        );
        check(
            "call Oleander tomorrow",
            "call/O Oleander/O tomorrow/B-time",
            "call mom tomorrow",
            "call/O mom/O",
            "[Oleander|person] [tomorrow|time]",
        );
        // More that is unknown.
        check(
            "call Oleander tomorrow",
            "call/O Oleander/O tomorrow/B-time",
            "call mom tomorrow",
            "call/O mom/B-person tomorrow/B-unknown",
            "[Oleander|person] [tomorrow|time]",
        );
        assert!(Rereading::new(&remember("play red moon", "play/O red/O moon/O"), stand_in).is_none());
        assert!(Rereading::new(&remember("play it", "play/O it/O"), stand_in).is_none());
    }

    #[test]
    fn all_else_is_from_the_second_reading() {
        let text = "tell Çağla it is late now";
        let first = remember(text, "tell/O Çağla/B-unknown it/I-unknown is/O late/O now/O");
        let rereading = Rereading::new(&first, stand_in).unwrap();
        let mut second = read(&rereading.text, "tell/O mom/B-unknown it/O is/O late/O now/B-time");
        assert_eq!(second.text, "tell mom it is late now");
        let outside = |start: usize, end: usize| Outside {
            text: &second.text[start..end],
            start,
            end,
            confidence: start as f32,
        };
        second.outside = vec![outside(0, 8), outside(9, 19)];
        second.intent = Some(Choice::new("message".into(), 0.9));
        second.confidence = Some(0.8);
        let guess = Guess { slot: "time".into(), probability: 0.7, boundaries: 0.6, uncertainty: 1.0 };
        second.spans[1].guess = Some(guess.clone());
        second.spans[1].value = Some("at once".to_owned());
        second.spans[1].confidence = Some(0.5);
        let decided = |decision: Decision| {
            let merged = rereading.merge(first.clone(), Annotation { decision, ..second.clone() });
            merged.annotation
        };
        let ask = |part, place| Decision::Ask { about: About { part, place, options: Vec::new() } };

        // The known value was unknown, but the concept is not.
        let merged = decided(second.decision.clone());
        assert_eq!(merged.decision, Decision::Act);
        assert_eq!((merged.intent, merged.confidence), (second.intent.clone(), Some(0.8)));
        let now = &merged.spans[1];
        assert_eq!((now.text, now.value.as_deref(), now.confidence), ("now", Some("at once"), Some(0.5)));
        assert_eq!((&now.guess, &merged.spans[0].guess), (&Some(guess), &None));
        // A stretch with the known value in it is filled.
        let outside: Vec<_> =
            merged.outside.iter().map(|outside| (outside.text, outside.confidence)).collect();
        assert_eq!(outside, [("it is late", 9.0)]);

        let late = text.find("late").unwrap();
        let asked = decided(ask(Part::Outside(1), Some(15..19)));
        assert_eq!(asked.decision, ask(Part::Outside(0), Some(late..late + 4)));
        assert_eq!(decided(ask(Part::Outside(0), Some(5..8))).decision, Decision::Act);
        let intent = ask(Part::Intent("message".into()), None);
        assert_eq!(decided(intent.clone()).decision, intent);
        assert_eq!(decided(Decision::Reject { because: Rejection::OutOfScope }).decision, Decision::Act);
    }

    #[test]
    fn words_that_made_others_unknown_have_their_numbers_in_the_first_text() {
        let first = remember("to moon base by bus", "to/O moon/O base/O by/O bus/O");
        let rereading = Rereading::new(&first, stand_in).unwrap();
        let mut second = read(&rereading.text, "to/O Tromsø/B-city by/O bus/O");
        let verdict = |from: usize| TokenVerdict {
            first_choice: "O".into(),
            uncertainty: 0.0,
            unknown: true,
            reason: Reason { score: "energy", threshold: 1.0, runners_up: Vec::new() },
            grown: Some(Why { from, link: Link::Head("flat".into()) }),
        };
        second.tokens[0].verdict = Some(verdict(1));
        second.tokens[2].verdict = Some(verdict(3));
        let merged = rereading.merge(first, second).annotation;
        let from = |token: &TokenLabel<'_>| Some(token.verdict.as_ref()?.grown.as_ref()?.from);
        let grown: Vec<Option<usize>> = merged.tokens.iter().map(from).collect();
        assert_eq!(grown, [Some(1), None, None, Some(4), None]);
    }
}
