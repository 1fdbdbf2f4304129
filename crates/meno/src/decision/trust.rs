//! Whether to act on a reading: by how likely it is right, and what an error costs.
//!
//! Acting on a reading that is wrong costs as much as `cost` questions, and one question mends about half of the wrong readings. So a
//! question is worth its price if `cost (1 - confidence) / 2 > 1`; else the reading is acted upon. Or the share of wrong acts is
//! promised: the lowest confidence of those acted upon is then such that on held-out utterances at most this share of the acts is
//! wrong, with one error more than was seen.

use serde::{Deserialize, Serialize};

use crate::uncertainty::{Confidence, ReadingScore};
use crate::{Error, Result};

/// How many questions a wrong act is worth, unless it is said.
pub const WRONG_ACT_COST: f64 = 5.0;

/// The share of wrong readings in which the part that is asked about is all that is wrong: half to two thirds were measured
/// (`docs/trust.md`).
const MENDED: f64 = 0.5;

/// When a reading is acted upon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// How likely it is right.
    pub confidence: Confidence,
    /// What measures how unlike the training set an utterance is.
    pub out_of_scope: ReadingScore,
    /// Above which out-of-scope score an utterance is rejected; none is if there is none.
    pub reject_above: Option<f64>,
    /// The least confidence with which it is acted upon.
    pub act_from: f64,
    /// What that gives on held-out utterances like those of the corpus.
    pub known: Expected,
    /// What it gives where slot values are new.
    pub new: Expected,
    /// Of held-out utterances like those of the corpus, the share that would be asked about if readings were acted upon from a
    /// confidence of 0, 0.05, 0.1 and so on to 1; models before it have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<f64>,
}

/// How many confidences to act from the shares of [`Trust::asked`] are counted for.
pub(crate) const N_ASKED: usize = 21;

/// Those shares, of readings with their confidence and whether something in them is unknown, which is asked about anyway.
pub(crate) fn asked(readings: &[(f64, bool)]) -> Vec<f64> {
    let share = |step: usize| {
        let act_from = step as f64 / (N_ASKED - 1) as f64;
        let is_asked = |&&(confidence, is_unknown): &&(f64, bool)| is_unknown || confidence < act_from;
        // Four places tell one in ten thousand.
        let share = readings.iter().filter(is_asked).count() as f64 / readings.len() as f64;
        (1e4 * share).round() / 1e4
    };
    if readings.is_empty() { Vec::new() } else { (0..N_ASKED).map(share).collect() }
}

/// What became of utterances that were not trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// All of them.
    pub utterances: usize,
    /// Those whose reading is wrong.
    pub wrong: usize,
    /// Those acted upon.
    pub acts: usize,
    /// Of these, those whose reading is wrong.
    pub wrong_acts: usize,
}

impl Trust {
    /// The same confidence, but with any of it a reading is acted upon, none is rejected by it; what that gives was never counted.
    pub(super) fn of_any_confidence(&self) -> Self {
        let nothing = Expected::default();
        Trust {
            act_from: 0.0,
            reject_above: None,
            known: nothing,
            new: nothing,
            asked: Vec::new(),
            ..self.clone()
        }
    }
}

impl Expected {
    /// Counts readings with their confidence and whether they are right.
    pub(crate) fn count(readings: &[(f64, bool)], act_from: f64) -> Self {
        let mut expected = Expected { utterances: readings.len(), ..Expected::default() };
        for &(confidence, is_right) in readings {
            let is_act = confidence >= act_from;
            expected.wrong += usize::from(!is_right);
            expected.acts += usize::from(is_act);
            expected.wrong_acts += usize::from(is_act && !is_right);
        }
        expected
    }

    /// Those that are not acted upon.
    pub fn questions(&self) -> usize {
        self.utterances - self.acts
    }

    /// Of these, those whose reading is right.
    pub fn needless(&self) -> usize {
        self.questions() - (self.wrong - self.wrong_acts)
    }
}

/// The least confidence with which acting costs no more than asking.
pub(crate) fn act_from_cost(cost: f64) -> f64 {
    (1.0 - 1.0 / (MENDED * cost)).max(0.0)
}

/// The least confidence with which at most this share of the acts is wrong, by readings with their confidence and whether they
/// are right, of utterances like those to come; 1, with which nothing is acted upon, if there is none.
///
/// For every higher confidence the share of errors, with one more than was seen, is no larger either (as in conformal
/// selection, Jin and Candès 2023, with the share of false discoveries among those selected).
pub(crate) fn act_from_risk(risk: f64, readings: &[(f64, bool)]) -> f64 {
    let mut readings = readings.to_vec();
    readings.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut n_wrong, mut best) = (0, 1.0);
    for (idx, &(confidence, is_right)) in readings.iter().enumerate() {
        n_wrong += usize::from(!is_right);
        let is_last = readings.get(idx + 1).is_none_or(|next| next.0 < confidence);
        if is_last && (n_wrong + 1) as f64 <= risk * (idx + 2) as f64 {
            best = confidence;
        }
    }
    best
}

/// Refuses a share of wrong acts that so many utterances cannot promise even if all are read rightly.
pub(super) fn demand_enough(risk: f64, n_utterances: usize) -> Result<()> {
    let smallest = 1.0 / (n_utterances + 1) as f64;
    if smallest <= risk {
        return Ok(());
    }
    Err(Error::Threshold {
        problem: format!("{n_utterances} held-out utterances promise no share of {risk} wrong acts"),
        hint: format!(
            "the smallest share that they can promise is {smallest:.4}; more utterances, or a larger share, or the cost of a \
             wrong act instead of a promise"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_is_asked_about_rises_with_the_confidence_asked_for() {
        let shares = asked(&[(0.9, false), (0.5, false), (0.99, true)]);
        assert_eq!(shares.len(), N_ASKED);
        assert_eq!((shares[0], shares[10], shares[11], shares[20]), (0.3333, 0.3333, 0.6667, 1.0));
        assert!(asked(&[]).is_empty());
    }

    /// `.` is right, `x` is wrong, from the most certain to the least.
    fn readings(notation: &str) -> Vec<(f64, bool)> {
        let n = notation.len() as f64;
        notation.chars().enumerate().map(|(idx, sign)| (1.0 - idx as f64 / n, sign == '.')).collect()
    }

    #[test]
    fn a_wrong_act_costs_as_much_as_some_questions() {
        assert_eq!(act_from_cost(1.0), 0.0);
        assert!((act_from_cost(5.0) - 0.6).abs() < 1e-12);
        assert!((act_from_cost(20.0) - 0.9).abs() < 1e-12);
    }

    #[test]
    fn risk_is_promised_with_one_error_more_than_was_seen() {
        // Of the first ten all are right: (0 + 1) / 11 <= 0.1. With the error: 2 / 12, then it never falls to 0.1 again.
        let some = readings("..........x...");
        assert_eq!(act_from_risk(0.1, &some), some[9].0);
        assert_eq!(act_from_risk(0.2, &some), some[13].0);
        // Errors come too early for a smaller share: nothing is acted upon.
        assert_eq!(act_from_risk(0.05, &some), 1.0);
        assert_eq!(act_from_risk(0.5, &readings("x.")), 1.0);
    }

    #[test]
    fn too_few_utterances_promise_nothing() {
        assert!(demand_enough(0.05, 19).is_ok());
        let error = demand_enough(0.05, 18).unwrap_err();
        assert_eq!(error.to_string(), "18 held-out utterances promise no share of 0.05 wrong acts");
    }

    #[test]
    fn what_is_to_be_expected() {
        let expected = Expected::count(&readings("..x.x"), 0.5);
        assert_eq!(expected, Expected { utterances: 5, wrong: 2, acts: 3, wrong_acts: 1 });
        assert_eq!((expected.questions(), expected.needless()), (2, 1));
    }
}
