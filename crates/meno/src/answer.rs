//! The answer: what a tagger says of a text, with byte offsets into it, and what to do about it.
//!
//! Enters: the words of a text, `Decoded`, an `Assessment` and the `Verdict` on it. Leaves: an [`Annotation`]. Its spans are
//! sorted and do not overlap. The same code answers for models and for tables of logits.

use std::ops::Range;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::decision::{self, Policy, Rejection, Verdict};
use crate::decoding::Decoded;
use crate::emissions::Logits;
use crate::label::{self, LabelSet, UNKNOWN};
use crate::math::top;
use crate::resolve::Shaped;
use crate::syntax::phrase::Why;
use crate::uncertainty::Assessment;

/// How many labels after the first choice a reason names.
pub(crate) const RUNNERS_UP: usize = 2;

/// What a model says about an utterance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Annotation<'t> {
    /// The text as it was given.
    pub text: &'t str,
    /// The likeliest intent; `None` if there are no words or the corpus had no intents.
    pub intent: Option<Choice>,
    /// How likely intent and slots are all right, by the tagger alone; `None` if the model does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
    /// What to do about it.
    #[serde(flatten)]
    pub decision: Decision,
    /// The words.
    pub tokens: Vec<TokenLabel<'t>>,
    /// The slots, in the order of the text.
    pub spans: Vec<Span<'t>>,
    /// The stretches of words outside of all slots, with how likely nothing of them belongs into one; none if the model does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<Outside<'t>>,
}

/// What to do about an utterance.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
pub enum Decision {
    /// Do what it asks for.
    Act,
    /// Ask about a part of it first.
    Ask {
        /// What to ask about.
        about: About,
    },
    /// Reject it.
    Reject {
        /// Why.
        because: Rejection,
    },
}

/// What a question is about, and what the answer might be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct About {
    /// The part.
    #[serde(flatten)]
    pub part: Part,
    /// The words in question, if it is about words: the first byte and one past the last.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Range<usize>>,
    /// Slots, or intents, with their probabilities, the likeliest first.
    pub options: Vec<Choice>,
}

/// A part of a reading.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// A span, by its number from 0: an unknown one, the least certain.
    Span(usize),
    /// Words outside of all spans, by the number of their stretch from 0.
    Outside(usize),
    /// The intent, by the name of the likeliest.
    Intent(Arc<str>),
}

/// How many answers to a question are thought of.
const OPTIONS: usize = 3;

impl Annotation<'_> {
    /// Appends it as JSON. Here and not where it is used, because a quick build optimises the engine alone.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        serde_json::to_writer(out, self).expect("an annotation is plain data");
    }

    /// Decides anew, after spans were found or named that the tagger did not know.
    pub(crate) fn decide_again(&mut self) {
        let asked = match &self.decision {
            Decision::Ask { about: About { place, .. } } => place.clone(),
            _ => None,
        };
        let spans = &self.spans;
        let is_filled =
            |place: &Range<usize>| spans.iter().any(|span| span.start < place.end && place.start < span.end);
        self.outside.retain(|outside| !is_filled(&(outside.start..outside.end)));
        let is_answered = asked.as_ref().is_some_and(is_filled);
        match (self.unknown(), &mut self.decision) {
            (Some(about), decision) => *decision = Decision::Ask { about },
            (None, Decision::Ask { about: About { part: Part::Outside(idx), .. } }) if !is_answered => {
                let is_asked = |outside: &Outside<'_>| {
                    asked
                        .as_ref()
                        .is_some_and(|place| outside.start <= place.start && place.end <= outside.end)
                };
                *idx = self.outside.iter().position(is_asked).unwrap_or_default();
            }
            (None, Decision::Ask { about: About { part: Part::Intent(_), .. } }) => {}
            (None, decision) => *decision = Decision::Act,
        }
    }

    /// The unknown span that is least certain.
    fn unknown(&self) -> Option<About> {
        let uncertainty = |span: &Span<'_>| span.guess.as_ref().map_or(0.0, |guess| guess.uncertainty);
        let unknown = self.spans.iter().enumerate().filter(|(_, span)| span.slot == UNKNOWN);
        let worst = unknown.max_by(|a, b| uncertainty(a.1).total_cmp(&uncertainty(b.1)).then(b.0.cmp(&a.0)));
        worst.map(|(idx, span)| About {
            part: Part::Span(idx),
            place: Some(span.start..span.end),
            options: slot_options(span.start..span.end, span.guess.as_ref(), &self.tokens),
        })
    }
}

/// What some words might be: the guess at the whole if there is one, then what the first choices and runners-up of the words
/// speak for.
pub(crate) fn slot_options(
    place: Range<usize>,
    guess: Option<&Guess>,
    tokens: &[TokenLabel<'_>],
) -> Vec<Choice> {
    let tokens: Vec<_> =
        tokens.iter().filter(|token| place.start <= token.start && token.end <= place.end).collect();
    let mut options: Vec<Choice> = Vec::new();
    for token in &tokens {
        let Some(verdict) = &token.verdict else { continue };
        let runners_up = verdict.reason.runners_up.iter().map(|up| (&*up.label, up.probability));
        let first_choice = (&*verdict.first_choice, token.probability);
        for (label, probability) in std::iter::once(first_choice).chain(runners_up) {
            let (prefix, slot) = label::split(label);
            let share = probability / tokens.len() as f32;
            match options.iter_mut().find(|option| *option.name == *slot) {
                _ if prefix == "O" => {}
                Some(option) => option.probability += share,
                None => options.push(Choice::new(slot.into(), share)),
            }
        }
    }
    options.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    if let Some(guess) = guess {
        options.retain(|option| option.name != guess.slot);
        options.insert(0, Choice::new(guess.slot.clone(), guess.probability));
    }
    options.truncate(OPTIONS);
    options
}

/// A name and how likely it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The name.
    pub name: Arc<str>,
    /// Its probability.
    pub probability: f32,
    /// How likely it is right, if the model says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
}

impl Choice {
    /// Without a word on how likely it is right.
    pub(crate) fn new(name: Arc<str>, probability: f32) -> Self {
        Choice { name, probability, confidence: None }
    }
}

/// A word and its label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenLabel<'t> {
    /// The word as it stands in the text.
    pub text: &'t str,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The IOB2 label; `B-unknown` or `I-unknown` if the word is unknown.
    pub label: Arc<str>,
    /// The probability of the tagger's first choice.
    pub probability: f32,
    /// How unsure the model is; `None` if it has no threshold.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<TokenVerdict>,
}

/// How unsure a model is of a word, and what follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenVerdict {
    /// The tagger's own label.
    pub first_choice: Arc<str>,
    /// How unsure it is; higher is less sure.
    #[serde(serialize_with = "shortest")]
    pub uncertainty: f64,
    /// Whether that is over the threshold, or the word belongs to a phrase with one that is.
    pub unknown: bool,
    /// By what it was decided.
    pub reason: Reason,
    /// What joins it to an unknown word, by its number from 0, if it is not over the threshold itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grown: Option<Why>,
}

/// By what a word was decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// The name of the score that gave the uncertainty.
    pub score: &'static str,
    /// The largest uncertainty that is still known.
    pub threshold: f64,
    /// The likeliest labels after the first choice.
    pub runners_up: Vec<RunnerUp>,
}

/// A label that was not chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunnerUp {
    /// Its name.
    pub label: Arc<str>,
    /// Its probability.
    pub probability: f32,
}

/// A slot and the piece of text that fills it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Span<'t> {
    /// The slot type.
    pub slot: String,
    /// The words as they stand in the text.
    pub text: &'t str,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What the words stand for, if the corpus said that they stand for something else ([`crate::KnownValue`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What the words are, if the slot declares it and somebody asked ([`crate::Model::resolve`]); `Some(None)`, which is written
    /// as null, where that is not known for sure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Option<Box<Shaped>>>,
    /// How likely boundaries and slot are right, if the model says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
    /// What the tagger takes it for and how sure it is, if it finds whole spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guess: Option<Guess>,
}

/// Words outside of all slots.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outside<'t> {
    /// The words as they stand in the text.
    pub text: &'t str,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// How likely nothing of them belongs into a slot.
    pub confidence: f32,
}

/// The slot that a span most likely fills.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Guess {
    /// The slot, also where the span is `unknown`.
    pub slot: Arc<str>,
    /// How likely it is, given that there is a span.
    pub probability: f32,
    /// How likely there is a span of exactly these words.
    #[serde(flatten, serialize_with = "under_both_names")]
    pub boundaries: f32,
    /// How unsure the model is of both; higher is less sure.
    #[serde(serialize_with = "shortest")]
    pub uncertainty: f64,
}

/// Writes it as `boundaries`, and for one version as `limits`, as it was called before.
fn under_both_names<S: Serializer>(boundaries: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct("Boundaries", 2)?;
    fields.serialize_field("boundaries", boundaries)?;
    fields.serialize_field("limits", boundaries)?;
    fields.end()
}

/// Writes a number that is an f32 with no more digits than an f32 needs.
fn shortest<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match *number as f32 {
        single if f64::from(single) == *number => serializer.serialize_f32(single),
        _ => serializer.serialize_f64(*number),
    }
}

/// All that an answer is made of.
pub(crate) struct Parts<'a> {
    pub labels: &'a LabelSet,
    /// The likeliest first.
    pub intents: Vec<Choice>,
    pub decoded: &'a Decoded,
    /// Of the labels of each word.
    pub probabilities: &'a Logits,
    pub assessment: &'a Assessment,
    pub policy: &'a Policy,
    pub verdict: &'a Verdict,
    /// Why words join those that are over the threshold; empty if nothing grows.
    pub grown: Vec<Option<Why>>,
}

impl Parts<'_> {
    /// Puts them together; `places` are the first byte of each word and one past its last.
    pub(crate) fn assemble<'t>(self, text: &'t str, places: &[(usize, usize)]) -> Annotation<'t> {
        let labels = self.final_labels();
        let mut spans = spans_at(text, places, &labels);
        for (span, guess) in spans.iter_mut().zip(self.guesses()) {
            span.guess = Some(guess);
        }
        let confidences = self.assessment.confidences.as_ref();
        for (span, &confidence) in spans.iter_mut().zip(confidences.iter().flat_map(|all| &all.spans)) {
            span.confidence = Some(confidence as f32);
        }
        let outside = confidences.iter().flat_map(|all| &all.outside).map(|(range, confidence)| {
            let (start, end) = (places[range.start].0, places[range.end - 1].1);
            Outside { text: &text[start..end], start, end, confidence: *confidence as f32 }
        });
        let tokens = (places.iter().zip(labels).enumerate())
            .map(|(token_idx, (&(start, end), label))| TokenLabel {
                text: &text[start..end],
                start,
                end,
                label,
                probability: self.probabilities.row(token_idx)[self.decoded.labels[token_idx] as usize],
                verdict: self.token_verdict(token_idx),
            })
            .collect();
        let intent = self.intents.first().map(|intent| Choice {
            confidence: confidences.and_then(|all| all.intent).map(|confidence| confidence as f32),
            ..intent.clone()
        });
        let confidence = confidences.map(|all| all.reading as f32);
        let mut annotation = Annotation {
            text,
            intent,
            confidence,
            decision: Decision::Act,
            tokens,
            spans,
            outside: outside.collect(),
        };
        annotation.decision = self.decision(&annotation, places);
        annotation
    }

    fn decision(&self, annotation: &Annotation<'_>, places: &[(usize, usize)]) -> Decision {
        if let Some(because) = self.verdict.reject {
            return Decision::Reject { because };
        }
        if let Some(about) = annotation.unknown() {
            return Decision::Ask { about };
        }
        match self.verdict.about {
            None => Decision::Act,
            Some(decision::Part::Intent) => Decision::Ask {
                about: About {
                    part: Part::Intent(self.intents.first().map_or("".into(), |intent| intent.name.clone())),
                    place: None,
                    options: self.intents.iter().take(OPTIONS).cloned().collect(),
                },
            },
            Some(decision::Part::Outside(idx)) => {
                let words =
                    self.assessment.confidences.as_ref().map_or(0..1, |all| all.suspects[idx].clone());
                let place = places[words.start].0..places[words.end - 1].1;
                let options = slot_options(place.clone(), None, &annotation.tokens);
                Decision::Ask { about: About { part: Part::Outside(idx), place: Some(place), options } }
            }
        }
    }

    fn is_unknown(&self, token_idx: usize) -> bool {
        self.verdict.tokens[token_idx] || self.grown.get(token_idx).is_some_and(Option::is_some)
    }

    /// The tagger's own label of a word.
    fn first_choice(&self, token_idx: usize) -> &Arc<str> {
        self.labels.name(self.decoded.labels[token_idx])
    }

    fn final_labels(&self) -> Vec<Arc<str>> {
        let n = self.decoded.labels.len();
        let first: Vec<Arc<str>> = (0..n).map(|token_idx| self.first_choice(token_idx).clone()).collect();
        if self.policy.threshold.is_none() {
            return first;
        }
        if self.policy.is_span_level() {
            let mut labels = first;
            for (span, _) in
                self.decoded.spans.iter().zip(&self.verdict.spans).filter(|(_, unknown)| **unknown)
            {
                labels[span.start..span.end].fill(self.labels.unknown(false));
                labels[span.start] = self.labels.unknown(true);
            }
            return labels;
        }
        let unknown: Vec<bool> = (0..n).map(|token_idx| self.is_unknown(token_idx)).collect();
        let first: Vec<&str> = first.iter().map(|label| &**label).collect();
        label::mark(&first, &unknown).iter().map(|label| self.labels.shared(label)).collect()
    }

    fn guesses(&self) -> impl Iterator<Item = Guess> {
        self.decoded.spans.iter().zip(&self.assessment.spans).map(|(span, &uncertainty)| Guess {
            slot: self.labels.slot(span.slot).clone(),
            probability: span.probability,
            boundaries: span.boundaries,
            uncertainty,
        })
    }

    fn token_verdict(&self, token_idx: usize) -> Option<TokenVerdict> {
        let threshold = self.policy.threshold.as_ref()?;
        let likeliest = top(self.probabilities.row(token_idx), RUNNERS_UP + 1).into_iter();
        let others = likeliest.filter(|(label, _)| *label != self.decoded.labels[token_idx]).take(RUNNERS_UP);
        let runner_up =
            |(label, probability)| RunnerUp { label: self.labels.name(label).clone(), probability };
        Some(TokenVerdict {
            first_choice: self.first_choice(token_idx).clone(),
            uncertainty: self.assessment.tokens[token_idx],
            unknown: self.is_unknown(token_idx),
            reason: Reason {
                score: self.policy.scorer.name(),
                threshold: threshold.value,
                runners_up: others.map(runner_up).collect(),
            },
            grown: self.grown.get(token_idx).cloned().flatten(),
        })
    }
}

/// The spans that IOB labels mark, with the first byte of each token and one past its last.
pub(crate) fn spans_at<'t, S: AsRef<str>>(
    text: &'t str,
    places: &[(usize, usize)],
    labels: &[S],
) -> Vec<Span<'t>> {
    label::iter_spans(labels)
        .filter_map(|span| {
            let (start, _) = *places.get(span.start)?;
            let (_, end) = *places.get(span.end.checked_sub(1)?)?;
            let (slot, text) = (span.slot.to_owned(), text.get(start..end)?);
            Some(Span { slot, text, start, end, value: None, resolved: None, confidence: None, guess: None })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::Hypothesis;
    use crate::label::Names;
    use crate::uncertainty::{Score, Scorer, SpanScore};

    const TEXT: &str = "fly to new york now";
    const PLACES: [(usize, usize); 5] = [(0, 3), (4, 6), (7, 10), (11, 15), (16, 19)];

    fn labels() -> LabelSet {
        LabelSet::new(Names::new(["O", "B-city", "I-city", "B-time", "I-time"]))
    }

    /// The answer to [`TEXT`] if words have these labels and probabilities.
    fn answer(
        policy: Policy,
        labels_of_words: [u32; 5],
        probabilities: [[f32; 5]; 5],
        spans: Vec<Hypothesis>,
        assessment: Assessment,
    ) -> Annotation<'static> {
        let mut rows = Logits::new(5);
        rows.extend(probabilities.iter().map(|row| &row[..]));
        let decoded = Decoded { labels: labels_of_words.to_vec(), spans, ..Decoded::default() };
        let verdict = policy.decide(&assessment, &decoded);
        let parts = Parts {
            labels: &labels(),
            intents: Vec::new(),
            decoded: &decoded,
            probabilities: &rows,
            assessment: &assessment,
            policy: &policy,
            verdict: &verdict,
            grown: Vec::new(),
        };
        parts.assemble(TEXT, &PLACES)
    }

    fn shown(annotation: &Annotation<'_>) -> (String, Vec<(String, String)>) {
        let labels: Vec<&str> = annotation.tokens.iter().map(|token| &*token.label).collect();
        let spans = annotation.spans.iter().map(|span| (span.slot.clone(), span.text.to_owned()));
        (labels.join(" "), spans.collect())
    }

    fn asked(annotation: &Annotation<'_>) -> Option<Part> {
        match &annotation.decision {
            Decision::Ask { about } => Some(about.part.clone()),
            _ => None,
        }
    }

    const SURE: [f32; 5] = [0.9, 0.1, 0.0, 0.0, 0.0];

    #[test]
    fn an_unknown_span_keeps_its_words_and_its_guess() {
        let span = |start, end, slot| Hypothesis {
            start,
            end,
            slot,
            boundaries: 0.8,
            probability: 0.7,
            disagreement: 0.1,
        };
        let policy = Policy::never(Scorer::Span(SpanScore::default())).with_threshold(1.0).unwrap();
        // Both words of the city are unknown, and so is the time beside it: they stay two spans.
        let found = answer(
            policy,
            [0, 0, 1, 2, 3],
            [SURE; 5],
            vec![span(2, 4, 0), span(4, 5, 1)],
            Assessment {
                tokens: vec![5.0, 5.0, 2.0, 2.0, 3.0],
                spans: vec![2.0, 3.0],
                ..Assessment::default()
            },
        );
        let (labels, spans) = shown(&found);
        assert_eq!(labels, "O O B-unknown I-unknown B-unknown");
        assert_eq!(spans, [("unknown", "new york"), ("unknown", "now")].map(|(a, b)| (a.into(), b.into())));
        let guesses: Vec<&str> = found.spans.iter().map(|span| &*span.guess.as_ref().unwrap().slot).collect();
        assert_eq!(guesses, ["city", "time"]);
        // The less certain of the two is asked about.
        assert_eq!(asked(&found), Some(Part::Span(1)));
        let unknown: Vec<bool> =
            found.tokens.iter().map(|token| token.verdict.as_ref().unwrap().unknown).collect();
        assert_eq!(unknown, [false, false, true, true, true]);
    }

    #[test]
    fn unknown_words_overwrite_labels_and_what_is_cut_begins_anew() {
        let policy = Policy::never(Scorer::Token(Score::Energy)).with_threshold(1.0).unwrap();
        let assess = |tokens: [f64; 5]| Assessment { tokens: tokens.to_vec(), ..Assessment::default() };
        let check = |uncertainty, expected: &str, about: Option<usize>| {
            let found = answer(policy.clone(), [0, 0, 1, 2, 3], [SURE; 5], Vec::new(), assess(uncertainty));
            assert_eq!(shown(&found).0, expected);
            assert_eq!(asked(&found), about.map(Part::Span));
        };
        check([0.0; 5], "O O B-city I-city B-time", None);
        check([0.0, 0.0, 2.0, 0.0, 0.0], "O O B-unknown B-city B-time", Some(0));
        check([0.0, 2.0, 2.0, 2.0, 0.0], "O B-unknown I-unknown I-unknown B-time", Some(0));
        check([0.0, 0.0, 0.0, 0.0, 2.0], "O O B-city I-city B-unknown", Some(1));
    }

    #[test]
    fn runners_up_are_the_likeliest_of_the_other_labels() {
        let policy = Policy::never(Scorer::Token(Score::Energy)).with_threshold(1.0).unwrap();
        // The second word is labelled with its second choice, as decoding whole spans may do.
        let found = answer(
            policy,
            [0, 1, 0, 0, 0],
            [SURE, [0.5, 0.3, 0.1, 0.06, 0.04], SURE, SURE, SURE],
            Vec::new(),
            Assessment { tokens: vec![0.0; 5], ..Assessment::default() },
        );
        let token = &found.tokens[1];
        assert_eq!((&*token.verdict.as_ref().unwrap().first_choice, token.probability), ("B-city", 0.3));
        let runners_up = |token_idx: usize| -> Vec<(String, f32)> {
            let verdict = found.tokens[token_idx].verdict.as_ref().unwrap();
            let runner_up = |other: &RunnerUp| (other.label.to_string(), other.probability);
            verdict.reason.runners_up.iter().map(runner_up).collect()
        };
        assert_eq!(runners_up(1), [("O".to_owned(), 0.5), ("I-city".to_owned(), 0.1)]);
        assert_eq!(runners_up(0), [("B-city".to_owned(), 0.1), ("I-city".to_owned(), 0.0)]);
    }

    #[test]
    fn a_number_has_the_digits_that_it_needs() {
        let json = |uncertainty| {
            let guess = Guess { slot: "x".into(), probability: 0.1, boundaries: 0.2, uncertainty };
            serde_json::to_string(&guess).unwrap()
        };
        assert!(json(f64::from(0.1f32)).ends_with(r#""uncertainty":0.1}"#), "{}", json(f64::from(0.1f32)));
        assert!(json(0.1).ends_with(r#""uncertainty":0.1}"#));
        assert!(json(-0.9997532412967132).ends_with(r#""uncertainty":-0.9997532412967132}"#));
    }
}
