//! How well new concepts are found in a new-concept set: precision, recall and F1 in percent, counted in four ways.
//!
//! Enters: utterances whose labels have `unknown` where a new concept stands and whose truth has its true slot, and the
//! final labels of a tagger. A prediction finds a new concept if its boundaries are exact and it is `unknown` or has the true
//! slot. Recall is the share of the new concepts found, but in **all slots** that of all slots. They differ in what precision is
//! measured against:
//!
//! - **unknown**: predicted unknown spans, and true slots on new concepts; never saying unknown has a precision of 100;
//! - **all slots**: all predicted spans, and all slots of the utterances are to be found: the ordinary F1, where unknown is
//!   accepted for a new concept;
//! - **strict**: as unknown, and every wrong prediction of a known slot that overlaps a new concept;
//! - **any**: all predicted spans, though only new concepts are to be found.
//!
//! Labels are read as conlleval reads them ([`label::iter_spans`]).

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::{Scores, SlotCounts};
use crate::label::UNKNOWN;
use crate::label::{self, TokenSpanRef};
use crate::utterance::Utterance;
use crate::{Error, Result};

/// Counts over utterances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewConcepts {
    utterances: usize,
    /// New concepts in the gold labels.
    concepts: usize,
    /// All slots in the gold labels, new concepts among them.
    slots: usize,
    /// Predicted spans of any kind.
    predicted: usize,
    /// Of them, unknown ones.
    unknown: usize,
    /// Unknown ones that are new concepts.
    found: usize,
    /// New concepts that were given their true slot.
    named: usize,
    /// Known slots in the gold labels that were predicted as such.
    known: usize,
    /// Other predictions of a slot that overlap a new concept.
    wrong: usize,
}

/// The four ways of counting, and how the new concepts were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "Written")]
pub struct NewConceptScores {
    /// Unknown spans and true slots.
    pub unknown: Scores,
    /// All slots.
    pub all_slots: Scores,
    /// As unknown, with wrong known slots on new concepts: the headline.
    pub strict: Scores,
    /// All predicted spans against new concepts only.
    pub any: Scores,
    /// How many spans were called unknown.
    pub unknown_spans: usize,
    /// How many new concepts were called unknown, with exact boundaries.
    pub found_unknown: usize,
    /// How many new concepts were given their true slot, with exact boundaries.
    pub found_named: usize,
}

/// As it is written: for one version the ways of counting have the letters that they had before, too.
#[derive(Serialize)]
struct Written {
    unknown: Scores,
    all_slots: Scores,
    strict: Scores,
    any: Scores,
    a: Scores,
    b: Scores,
    c: Scores,
    d: Scores,
    unknown_spans: usize,
    found_unknown: usize,
    found_named: usize,
}

impl From<NewConceptScores> for Written {
    fn from(scores: NewConceptScores) -> Self {
        let NewConceptScores { unknown, all_slots, strict, any, unknown_spans, found_unknown, found_named } =
            scores;
        let (a, b, c, d) = (unknown, all_slots, strict, any);
        Written { unknown, all_slots, strict, any, a, b, c, d, unknown_spans, found_unknown, found_named }
    }
}

impl NewConcepts {
    /// Counts an utterance. Where it has no `truth` its labels are the truth.
    ///
    /// Fails, and counts nothing, if there are not as many gold as predicted labels.
    pub fn add<P: AsRef<str>>(&mut self, utterance: &Utterance, predicted: &[P]) -> Result<()> {
        let labels = &utterance.labels;
        let truth = utterance.truth.as_ref().unwrap_or(labels);
        if let Some(gold) = [labels.len(), truth.len()].into_iter().find(|&n| n != predicted.len()) {
            let utterance = self.utterances + 1;
            return Err(Error::LabelCount { utterance, gold, predicted: predicted.len() });
        }
        let gold: Vec<GoldSpan<'_>> = label::iter_spans(labels)
            .map(|span| GoldSpan {
                span: TokenSpanRef { slot: label::split(&truth[span.start]).1, ..span },
                is_new: span.slot == UNKNOWN,
            })
            .collect();
        self.utterances += 1;
        self.slots += gold.len();
        self.concepts += gold.iter().filter(|gold| gold.is_new).count();
        for span in label::iter_spans(predicted) {
            self.count(&gold, span);
        }
        Ok(())
    }

    fn count(&mut self, gold: &[GoldSpan<'_>], span: TokenSpanRef<'_>) {
        let is_exact = |gold: &&GoldSpan<'_>| (gold.span.start, gold.span.end) == (span.start, span.end);
        let overlaps = |gold: &GoldSpan<'_>| span.start < gold.span.end && gold.span.start < span.end;
        let exact = gold.iter().find(is_exact);
        self.predicted += 1;
        if span.slot == UNKNOWN {
            self.unknown += 1;
            self.found += usize::from(exact.is_some_and(|gold| gold.is_new));
            return;
        }
        match exact.filter(|gold| gold.span.slot == span.slot) {
            Some(gold) if gold.is_new => self.named += 1,
            Some(_) => self.known += 1,
            None => self.wrong += usize::from(gold.iter().any(|gold| gold.is_new && overlaps(gold))),
        }
    }

    /// What was counted so far.
    pub fn scores(&self) -> NewConceptScores {
        let correct = self.found + self.named;
        let among = |predicted| SlotCounts { gold: self.concepts, predicted, correct }.scores();
        let claimed = self.unknown + self.named;
        let all = SlotCounts { gold: self.slots, predicted: self.predicted, correct: correct + self.known };
        NewConceptScores {
            unknown: among(claimed),
            all_slots: all.scores(),
            strict: among(claimed + self.wrong),
            any: among(self.predicted),
            unknown_spans: self.unknown,
            found_unknown: self.found,
            found_named: self.named,
        }
    }
}

/// Counts of both together.
impl AddAssign for NewConcepts {
    fn add_assign(&mut self, other: NewConcepts) {
        for (sum, part) in [
            (&mut self.utterances, other.utterances),
            (&mut self.concepts, other.concepts),
            (&mut self.slots, other.slots),
            (&mut self.predicted, other.predicted),
            (&mut self.unknown, other.unknown),
            (&mut self.found, other.found),
            (&mut self.named, other.named),
            (&mut self.known, other.known),
            (&mut self.wrong, other.wrong),
        ] {
            *sum += part;
        }
    }
}

/// A span of the gold labels under its true slot.
struct GoldSpan<'a> {
    span: TokenSpanRef<'a>,
    is_new: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels of `play [?blue hills|song] in [rome|city]`: `?` marks a new concept, whose label in the first list is
    /// `unknown`.
    fn labels(notation: &str) -> (Vec<String>, Vec<String>) {
        let (mut labels, mut truth) = (Vec::new(), Vec::new());
        for piece in notation.split_inclusive(']').flat_map(|piece| {
            let (outside, span) = piece.split_once('[').unwrap_or((piece, ""));
            [(outside, false), (span, true)]
        }) {
            let (text, is_span) = piece;
            let (words, slot) = text.trim_end_matches(']').split_once('|').unwrap_or((text, ""));
            for (word_idx, _) in words.split_whitespace().enumerate() {
                let prefix = if word_idx == 0 { 'B' } else { 'I' };
                let label = |slot: &str| if is_span { format!("{prefix}-{slot}") } else { "O".to_owned() };
                labels.push(label(if words.starts_with('?') { UNKNOWN } else { slot }));
                truth.push(label(slot));
            }
        }
        (labels, truth)
    }

    /// Adds up lines of `gold => predicted`, and gives precision and recall by the four ways of counting.
    fn check(lines: &[(&str, &str)], expected: [(f64, f64); 4]) {
        let mut counts = NewConcepts::default();
        for (gold, predicted) in lines {
            let (labels, truth) = labels(gold);
            let predicted = self::labels(predicted).0;
            counts
                .add(&Utterance { labels, truth: Some(truth), ..Utterance::default() }, &predicted)
                .unwrap();
        }
        let scores = counts.scores();
        let found =
            [scores.unknown, scores.all_slots, scores.strict, scores.any].map(|s| (s.precision, s.recall));
        for (found, expected) in found.iter().zip(&expected) {
            let close = (found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9;
            assert!(close, "{lines:?}: {found:?} instead of {expected:?}");
        }
    }

    const THIRD: f64 = 100.0 / 3.0;
    const GOLD: &str = "play [?blue hills|song] in [rome|city]";

    #[test]
    fn unknown_and_the_true_slot_both_find_a_new_concept() {
        let all = [(100.0, 100.0), (100.0, 100.0), (100.0, 100.0), (50.0, 100.0)];
        check(&[(GOLD, "play [blue hills|unknown] in [rome|city]")], all);
        check(&[(GOLD, GOLD)], all);
        check(&[(GOLD, "play [blue hills|song] in [rome|city]")], all);
    }

    #[test]
    fn a_wrong_slot_on_a_new_concept_counts_in_all_but_unknown() {
        let missed = [(0.0, 0.0), (50.0, 50.0), (0.0, 0.0), (0.0, 0.0)];
        check(&[(GOLD, "play [blue hills|city] in [rome|city]")], missed);
        check(&[(GOLD, "play [blue|song] hills in [rome|city]")], missed);
        // Said nowhere to be a new concept, in another utterance it was found: only `unknown` does not see the mistake.
        check(
            &[(GOLD, "play [blue hills|city] in [rome|city]"), (GOLD, "play [blue hills|song] in rome")],
            [(100.0, 50.0), (2.0 * THIRD, 50.0), (50.0, 50.0), (THIRD, 50.0)],
        );
    }

    #[test]
    fn a_fragment_called_unknown_is_wrong_in_all() {
        check(
            &[(GOLD, "play [blue|unknown] [hills|song] in [rome|city]")],
            [(0.0, 0.0), (THIRD, 50.0), (0.0, 0.0), (0.0, 0.0)],
        );
    }

    #[test]
    fn unknown_on_a_known_slot_is_wrong_in_all() {
        check(
            &[(GOLD, "play [blue hills|unknown] in [rome|unknown]")],
            [(50.0, 100.0), (50.0, 50.0), (50.0, 100.0), (50.0, 100.0)],
        );
    }

    #[test]
    fn a_wrong_slot_elsewhere_counts_in_all_slots_and_any_only() {
        check(
            &[(GOLD, "[play|song] [blue hills|unknown] in [rome|song]")],
            [(100.0, 100.0), (THIRD, 50.0), (100.0, 100.0), (THIRD, 100.0)],
        );
    }

    #[test]
    fn adjacent_new_concepts_are_two() {
        check(
            &[("[?anna|artist] [?blue|song]", "[anna blue|unknown]")],
            [(0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)],
        );
        check(
            &[("[?anna|artist] [?blue|song]", "[anna|artist] [blue|artist]")],
            [(100.0, 50.0), (50.0, 50.0), (50.0, 50.0), (50.0, 50.0)],
        );
    }

    #[test]
    fn nothing_is_zero_and_lengths_must_agree() {
        assert_eq!(NewConcepts::default().scores(), NewConceptScores::default());
        let utterance = Utterance { labels: vec!["O".to_owned()], ..Utterance::default() };
        let error = NewConcepts::default().add(&utterance, &["O", "O"]).unwrap_err();
        assert_eq!(error.to_string(), "utterance 1: 1 gold labels but 2 predicted");
    }
}
