//! What a user feels of a tagger that asks: errors nobody asked about, and questions nobody needed.
//!
//! Enters: utterances, in a new-concept set with the truth beside the labels, and the concepts found in each, some of them
//! unknown: those are asked about. Leaves: shares in percent. For **new concepts**: *silent errors*, which are given a
//! wrong slot or wrong boundaries, or not found, without any question that touches them; *asked*, which a question touches;
//! *needless*, which are asked about with right boundaries though the guess was right. For **utterances**: those with a
//! needless question about any concept, new or known.

use std::sync::Arc;

use serde::Serialize;

use crate::label::{self, TokenSpan, UNKNOWN};
use crate::utterance::Utterance;

/// A concept that a tagger found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The first word.
    pub start: usize,
    /// One past the last word.
    pub end: usize,
    /// The slot that it most likely fills.
    pub slot: Arc<str>,
    /// How unsure the tagger is of it.
    pub uncertainty: f64,
    /// Whether it is asked about.
    pub unknown: bool,
}

impl Found {
    /// Whether it is this span, in its slot.
    pub fn is(&self, span: &TokenSpan) -> bool {
        (self.start, self.end, &*self.slot) == (span.start, span.end, span.slot.as_str())
    }
}

/// Counts over utterances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    utterances: usize,
    needless_utterances: usize,
    concepts: usize,
    silent: usize,
    asked: usize,
    needless: usize,
}

/// Shares in percent; where there was nothing to count they are not a number, and absent from JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct QuestionShares {
    /// Of the new concepts, those that went wrong without a question.
    #[serde(skip_serializing_if = "is_nan")]
    pub silent_errors: f64,
    /// Of the new concepts, those that were asked about.
    #[serde(skip_serializing_if = "is_nan")]
    pub asked: f64,
    /// Of the new concepts, those that were asked about though the guess was right.
    #[serde(skip_serializing_if = "is_nan")]
    pub needless: f64,
    /// Of the utterances, those with a question whose guess was right.
    #[serde(skip_serializing_if = "is_nan")]
    pub needless_utterances: f64,
}

fn is_nan(share: &f64) -> bool {
    share.is_nan()
}

impl Questions {
    /// Counts an utterance.
    pub fn add(&mut self, utterance: &Utterance, found: &[Found]) {
        let truth = label::spans(utterance.truth.as_ref().unwrap_or(&utterance.labels));
        let is_right = |found: &Found| truth.iter().any(|span| found.is(span));
        self.utterances += 1;
        self.needless_utterances += usize::from(found.iter().any(|found| found.unknown && is_right(found)));
        for span in label::iter_spans(&utterance.labels).filter(|span| span.slot == UNKNOWN) {
            let exact = |found: &&Found| (found.start, found.end) == (span.start, span.end);
            let touches = |found: &&Found| found.start < span.end && span.start < found.end;
            let right = found.iter().find(exact).filter(|found| is_right(found));
            let asked = found.iter().filter(touches).any(|found| found.unknown);
            self.concepts += 1;
            self.asked += usize::from(asked);
            self.silent += usize::from(!asked && right.is_none());
            self.needless += usize::from(right.is_some_and(|found| found.unknown));
        }
    }

    /// The shares; not a number where there was nothing to count.
    pub fn shares(&self) -> QuestionShares {
        let percent = |n: usize, of: usize| if of == 0 { f64::NAN } else { 100.0 * n as f64 / of as f64 };
        QuestionShares {
            silent_errors: percent(self.silent, self.concepts),
            asked: percent(self.asked, self.concepts),
            needless: percent(self.needless, self.concepts),
            needless_utterances: percent(self.needless_utterances, self.utterances),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_counted_is_absent() {
        let mut questions = Questions::default();
        questions.add(&Utterance { labels: vec!["O".to_owned()], ..Utterance::default() }, &[]);
        let json = serde_json::to_string(&questions.shares()).unwrap();
        assert_eq!(json, r#"{"needless_utterances":0.0}"#);
    }

    fn found(start: usize, end: usize, slot: &str, unknown: bool) -> Found {
        Found { start, end, slot: slot.into(), uncertainty: 0.0, unknown }
    }

    /// `play blue hills in rome`, where blue hills is a new song.
    fn check(found: &[Found], silent: usize, asked: usize, needless: usize, needless_utterances: usize) {
        let labels = |labels: &str| labels.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let utterance = Utterance {
            labels: labels("O B-unknown I-unknown O B-city"),
            truth: Some(labels("O B-song I-song O B-city")),
            ..Utterance::default()
        };
        let mut questions = Questions::default();
        questions.add(&utterance, found);
        let expected = Questions { utterances: 1, needless_utterances, concepts: 1, silent, asked, needless };
        assert_eq!(questions, expected, "{found:?}");
    }

    #[test]
    fn errors_without_a_question_and_questions_without_an_error() {
        check(&[], 1, 0, 0, 0);
        check(&[found(1, 3, "song", false), found(4, 5, "city", false)], 0, 0, 0, 0);
        check(&[found(1, 3, "city", false)], 1, 0, 0, 0);
        check(&[found(1, 2, "song", false)], 1, 0, 0, 0);
        check(&[found(1, 3, "song", true)], 0, 1, 1, 1);
        check(&[found(1, 3, "city", true)], 0, 1, 0, 0);
        check(&[found(2, 3, "city", true)], 0, 1, 0, 0);
        check(&[found(1, 3, "song", false), found(4, 5, "city", true)], 0, 0, 0, 1);
        check(&[found(4, 5, "song", true)], 1, 0, 0, 0);
    }
}
