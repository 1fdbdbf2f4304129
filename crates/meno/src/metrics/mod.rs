//! How good a tagger is, counted as conlleval and seqeval count.
//!
//! Enters: gold and predicted labels and intents, an utterance at a time ([`Evaluation::add`]).
//! Leaves: a [`Report`] in percent. A slot is right only if its first word, its last word and its name are
//! (Tjong Kim Sang and Buchholz, CoNLL-2000). A quotient without a denominator is 0, as is the average of no
//! slots, where seqeval gives `nan`.
//!
//! The modules below evaluate scores instead of labels: whether a score finds what it is meant to find ([`detection`]),
//! whether probabilities can be believed ([`calibration_error`]), what is gained by leaving words out
//! ([`risk_coverage`]), and whether one method is better than another or was lucky ([`t_test`]). [`new_concepts`] counts
//! spans as [`Evaluation`] does, in a corpus with concepts that were never seen.
//!
//! ```
//! use meno::metrics::Evaluation;
//!
//! let mut evaluation = Evaluation::default();
//! evaluation.add(&["O", "B-city", "I-city"], &["O", "B-city", "O"], "flight", "flight")?;
//! evaluation.add(&["B-city", "O"], &["B-city", "O"], "fare#flight", "fare")?;
//! let report = evaluation.report();
//! assert_eq!((report.slot_f1, report.utterance_accuracy), (50.0, 50.0));
//! # Ok::<(), meno::Error>(())
//! ```

pub mod calibration_error;
pub mod detection;
pub mod new_concepts;
pub mod questions;
pub mod risk_coverage;
pub mod t_test;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::label::{self, TokenSpanRef};
use crate::{Error, Result};

/// Counts utterances; nothing of them is kept, so memory grows with the number of slot types only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evaluation {
    mode: Mode,
    slots: BTreeMap<String, SlotCounts>,
    tokens: Share,
    intents: Share,
    utterances: Share,
}

/// How labels that are not IOB2 are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// As conlleval and seqeval's default mode: an orphan `I-x` is a slot. See [`label::spans`].
    #[default]
    Conlleval,
    /// As seqeval's `mode="strict", scheme=IOB2`: an orphan `I-x` is not. See [`label::spans_strict`].
    Strict,
}

/// How often a slot type was there, was predicted, and both at the same place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounts {
    /// Spans in the gold labels.
    pub gold: usize,
    /// Spans in the predicted labels.
    pub predicted: usize,
    /// Spans in both, with the same boundaries.
    pub correct: usize,
}

impl Evaluation {
    /// An evaluation that has seen nothing.
    pub fn new(mode: Mode) -> Self {
        Evaluation { mode, ..Evaluation::default() }
    }

    /// Counts an utterance; an empty gold intent means that the corpus has none, and is not evaluated.
    ///
    /// Fails, and counts nothing, if there are not as many gold as predicted labels.
    pub fn add<G, P>(
        &mut self,
        gold: &[G],
        predicted: &[P],
        gold_intent: &str,
        predicted_intent: &str,
    ) -> Result<()>
    where
        G: AsRef<str>,
        P: AsRef<str>,
    {
        if gold.len() != predicted.len() {
            let utterance = self.utterances.all + 1;
            return Err(Error::LabelCount { utterance, gold: gold.len(), predicted: predicted.len() });
        }
        match self.mode {
            Mode::Conlleval => self.count(label::iter_spans(gold), label::iter_spans(predicted)),
            Mode::Strict => self.count(label::iter_spans_strict(gold), label::iter_spans_strict(predicted)),
        }
        let n_right =
            gold.iter().zip(predicted).filter(|(gold, label)| gold.as_ref() == label.as_ref()).count();
        self.tokens.right += n_right;
        self.tokens.all += gold.len();
        let intent_right = accepts_intent(gold_intent, predicted_intent);
        if !gold_intent.is_empty() {
            self.intents.add(intent_right);
        }
        self.utterances.add(n_right == gold.len() && (intent_right || gold_intent.is_empty()));
        Ok(())
    }

    /// Both counts together.
    pub fn merge(mut self, other: Evaluation) -> Self {
        for (slot, counts) in other.slots {
            let sum = self.slots.entry(slot).or_default();
            sum.gold += counts.gold;
            sum.predicted += counts.predicted;
            sum.correct += counts.correct;
        }
        for (sum, part) in [
            (&mut self.tokens, other.tokens),
            (&mut self.intents, other.intents),
            (&mut self.utterances, other.utterances),
        ] {
            sum.right += part.right;
            sum.all += part.all;
        }
        self
    }

    /// The counts of every slot type seen.
    pub fn slots(&self) -> &BTreeMap<String, SlotCounts> {
        &self.slots
    }

    /// What was counted so far, in percent.
    pub fn report(&self) -> Report {
        let mut total = SlotCounts::default();
        for counts in self.slots.values() {
            total.gold += counts.gold;
            total.predicted += counts.predicted;
            total.correct += counts.correct;
        }
        let total = total.scores();
        Report {
            slot_precision: total.precision,
            slot_recall: total.recall,
            slot_f1: total.f1,
            intent_accuracy: (self.intents.all > 0).then(|| self.intents.percent()),
            utterance_accuracy: self.utterances.percent(),
            token_accuracy: self.tokens.percent(),
            utterances: self.utterances.all,
            slots: self.slots.iter().map(|(slot, counts)| (slot.clone(), counts.scores())).collect(),
        }
    }

    /// Both lists are sorted and free of overlaps, so one pass finds the spans that they share.
    fn count<'a>(
        &mut self,
        gold: impl Iterator<Item = TokenSpanRef<'a>>,
        predicted: impl Iterator<Item = TokenSpanRef<'a>>,
    ) {
        let mut gold = gold.peekable();
        for span in predicted {
            while let Some(passed) = gold.next_if(|gold| gold.start < span.start) {
                self.slot(passed.slot).gold += 1;
            }
            let correct = gold.peek() == Some(&span);
            let counts = self.slot(span.slot);
            counts.predicted += 1;
            counts.correct += usize::from(correct);
        }
        for passed in gold {
            self.slot(passed.slot).gold += 1;
        }
    }

    fn slot(&mut self, name: &str) -> &mut SlotCounts {
        // Not `entry`: it would copy the name of every span.
        if !self.slots.contains_key(name) {
            self.slots.insert(name.to_owned(), SlotCounts::default());
        }
        self.slots.get_mut(name).expect("was inserted above")
    }
}

impl SlotCounts {
    /// Precision, recall and their harmonic mean, in percent.
    pub fn scores(&self) -> Scores {
        let precision = percent(self.correct, self.predicted);
        let recall = percent(self.correct, self.gold);
        let sum = precision + recall;
        let f1 = if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 };
        Scores { precision, recall, f1, support: self.gold }
    }
}

/// Whether an intent is right: the gold intent `a#b` accepts `a`, `b` and `a#b`.
pub(crate) fn accepts_intent(gold: &str, predicted: &str) -> bool {
    gold == predicted || gold.split('#').any(|intent| intent == predicted)
}

/// The results, in percent. Its JSON form is part of the interface: names are added, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The share of the predicted slots that are right.
    pub slot_precision: f64,
    /// The share of the gold slots that were found.
    pub slot_recall: f64,
    /// The harmonic mean of the two, over all slots (micro average).
    pub slot_f1: f64,
    /// The share of the intents that are right; nothing if no utterance has a gold intent.
    pub intent_accuracy: Option<f64>,
    /// The share of the utterances with every label and the intent right.
    pub utterance_accuracy: f64,
    /// The share of the words with the right label.
    pub token_accuracy: f64,
    /// How many utterances were counted.
    pub utterances: usize,
    /// Each slot type that is in the gold or in the predicted labels.
    pub slots: BTreeMap<String, Scores>,
}

/// The results for one slot type, or an average of several, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The share of the predicted slots that are right.
    pub precision: f64,
    /// The share of the gold slots that were found.
    pub recall: f64,
    /// The harmonic mean of the two.
    pub f1: f64,
    /// How many gold slots there are.
    pub support: usize,
}

impl Report {
    /// The scores over all slots together.
    pub fn micro_average(&self) -> Scores {
        let support = self.slots.values().map(|scores| scores.support).sum();
        Scores { precision: self.slot_precision, recall: self.slot_recall, f1: self.slot_f1, support }
    }

    /// The mean over slot types, each with the same weight.
    pub fn macro_average(&self) -> Scores {
        self.average(|_| 1.0)
    }

    /// The mean over slot types, each weighted by its support.
    pub fn weighted_average(&self) -> Scores {
        self.average(|scores| scores.support as f64)
    }

    fn average(&self, weight: impl Fn(&Scores) -> f64) -> Scores {
        let mut average = Scores::default();
        let mut total = 0.0;
        for scores in self.slots.values() {
            let weight = weight(scores);
            total += weight;
            average.precision += weight * scores.precision;
            average.recall += weight * scores.recall;
            average.f1 += weight * scores.f1;
            average.support += scores.support;
        }
        if total > 0.0 {
            average.precision /= total;
            average.recall /= total;
            average.f1 /= total;
        }
        average
    }
}

/// A table for people: each slot type, the most frequent first, then averages, then accuracies.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut slots: Vec<(&str, Scores)> = self.slots.iter().map(|(slot, s)| (slot.as_str(), *s)).collect();
        slots.sort_by_key(|(_, scores)| std::cmp::Reverse(scores.support));
        let averages = [
            ("micro average", self.micro_average()),
            ("macro average", self.macro_average()),
            ("weighted average", self.weighted_average()),
        ];
        let rows = slots.iter().chain(&averages);
        let width =
            rows.map(|(name, _)| name.chars().count()).max().unwrap_or(0).max("utterance accuracy".len());
        writeln!(f, "{:width$}  precision  recall      f1  support", "slot")?;
        for (idx, (name, Scores { precision, recall, f1, support })) in
            slots.iter().chain(&averages).enumerate()
        {
            if idx == slots.len() {
                writeln!(f)?;
            }
            writeln!(f, "{name:width$}  {precision:9.2}  {recall:6.2}  {f1:6.2}  {support:7}")?;
        }
        writeln!(f)?;
        if let Some(intent_accuracy) = self.intent_accuracy {
            writeln!(f, "{:width$}  {intent_accuracy:9.2}", "intent accuracy")?;
        }
        writeln!(f, "{:width$}  {:9.2}", "utterance accuracy", self.utterance_accuracy)?;
        writeln!(f, "{:width$}  {:9.2}", "token accuracy", self.token_accuracy)?;
        writeln!(f, "{:width$}  {:9}", "utterances", self.utterances)
    }
}

/// How many of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    right: usize,
    all: usize,
}

impl Share {
    fn add(&mut self, right: bool) {
        self.right += usize::from(right);
        self.all += 1;
    }

    fn percent(self) -> f64 {
        percent(self.right, self.all)
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Each line is `gold labels | predicted labels | gold intent | predicted intent`.
    fn evaluate(lines: &str) -> Report {
        let mut evaluation = Evaluation::default();
        for line in lines.lines().filter(|line| line.contains('|')) {
            let [gold, predicted, gold_intent, intent] =
                line.split('|').map(str::trim).collect::<Vec<_>>().try_into().expect("four columns");
            let [gold, predicted] = [gold, predicted].map(|text| text.split_whitespace().collect::<Vec<_>>());
            evaluation.add(&gold, &predicted, gold_intent, intent).expect("equal lengths");
        }
        evaluation.report()
    }

    fn check(lines: &str, expect: Expect) {
        expect.assert_eq(&evaluate(lines).to_string());
    }

    #[test]
    fn table() {
        check(
            "B-city I-city O B-day | B-city I-city O B-day | flight      | flight
             O B-city             | O O                  | flight#fare | fare
             B-day O              | B-city O             | fare        | flight",
            expect![[r#"
                slot                precision  recall      f1  support
                city                    50.00   50.00   50.00        2
                day                    100.00   50.00   66.67        2

                micro average           66.67   50.00   57.14        4
                macro average           75.00   50.00   58.33        4
                weighted average        75.00   50.00   58.33        4

                intent accuracy         66.67
                utterance accuracy      33.33
                token accuracy          75.00
                utterances                  3
            "#]],
        );
    }

    #[test]
    fn nothing_is_zero() {
        for lines in ["", "| | |", "O | O | |"] {
            let report = evaluate(lines);
            assert_eq!(
                (report.slot_precision, report.slot_recall, report.slot_f1),
                (0.0, 0.0, 0.0),
                "{lines}"
            );
            assert_eq!(report.macro_average(), Scores::default());
            assert_eq!(report.intent_accuracy, None);
        }
        assert_eq!(evaluate("O | O | |").utterance_accuracy, 100.0);
    }

    #[test]
    fn intents() {
        for (gold, predicted, right) in [
            ("a", "a", true),
            ("a#b", "a", true),
            ("a#b", "b", true),
            ("a#b", "a#b", true),
            ("a#b", "b#a", false),
            ("a", "a#b", false),
            ("a", "", false),
        ] {
            assert_eq!(accepts_intent(gold, predicted), right, "{gold} {predicted}");
        }
    }

    #[test]
    fn different_lengths_are_an_error_and_count_nothing() {
        let mut evaluation = Evaluation::default();
        evaluation.add(&["O"], &["O"], "a", "a").expect("equal lengths");
        let before = evaluation.clone();
        let error = evaluation.add(&["O", "B-x"], &["O"], "a", "a").expect_err("different lengths");
        assert_eq!(error.to_string(), "utterance 2: 2 gold labels but 1 predicted");
        assert_eq!(evaluation, before);
    }

    #[test]
    fn json_names() {
        let report = evaluate("B-x | B-x | a | a");
        let json = serde_json::to_string(&report).expect("a report is plain data");
        expect![[r#"{"slot_precision":100.0,"slot_recall":100.0,"slot_f1":100.0,"intent_accuracy":100.0,"utterance_accuracy":100.0,"token_accuracy":100.0,"utterances":1,"slots":{"x":{"precision":100.0,"recall":100.0,"f1":100.0,"support":1}}}"#]]
            .assert_eq(&json);
        assert_eq!(serde_json::from_str::<Report>(&json).expect("reads back"), report);
    }
}
