//! The answer: what a tagger says of a text, with byte offsets into it, and what to do about it.
//!
//! Enters: the words of a text, `Decoded`, an `Assessment` and the `Verdict` on it. Leaves: an [`Annotation`]. Its spans are
//! sorted and do not overlap. The same code answers for models and for tables of logits.

use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::decision::{Policy, Verdict};
use crate::decoding::Decoded;
use crate::emissions::Logits;
use crate::label::{self, LabelSet, UNKNOWN};
use crate::math::top;
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
    /// What to do about it.
    #[serde(flatten)]
    pub decision: Decision,
    /// The words.
    pub tokens: Vec<TokenLabel<'t>>,
    /// The slots, in the order of the text.
    pub spans: Vec<Span<'t>>,
}

/// What to do about an utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
pub enum Decision {
    /// Do what it asks for.
    Act,
    /// Ask about a span first: the unknown one that is least certain.
    Ask {
        /// Its number among the spans, from 0.
        about: usize,
    },
    /// Reject it: it is about something else than the corpus was.
    Reject,
}

impl Decision {
    /// For an utterance with these spans, if it is not rejected.
    pub(crate) fn of(spans: &[Span<'_>]) -> Self {
        let uncertainty = |span: &Span<'_>| span.guess.as_ref().map_or(0.0, |guess| guess.uncertainty);
        let unknown = spans.iter().enumerate().filter(|(_, span)| span.slot == UNKNOWN);
        match unknown.max_by(|a, b| uncertainty(a.1).total_cmp(&uncertainty(b.1)).then(b.0.cmp(&a.0))) {
            Some((about, _)) => Decision::Ask { about },
            None => Decision::Act,
        }
    }
}

/// A name and how likely it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The name.
    pub name: Arc<str>,
    /// Its probability.
    pub probability: f32,
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
    /// What the tagger takes it for and how sure it is, if it finds whole spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guess: Option<Guess>,
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
    pub intent: Option<Choice>,
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
        let decision = if self.verdict.reject { Decision::Reject } else { Decision::of(&spans) };
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
        Annotation { text, intent: self.intent, decision, tokens, spans }
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
            Some(Span { slot, text, start, end, value: None, guess: None })
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
            intent: None,
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
        assert_eq!(found.decision, Decision::Ask { about: 1 });
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
            assert_eq!(found.decision, about.map_or(Decision::Act, |about| Decision::Ask { about }));
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
