//! Thresholds for taggers that find whole spans.

use serde::{Deserialize, Serialize};

use super::threshold::{Offer, Threshold};
use crate::{Error, Result};

/// The points of valid F1 that a threshold of spans may cost, unless another budget is asked for.
pub const SPAN_BUDGET: f64 = 0.5;

/// A concept that was found in a valid utterance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredSpan {
    /// How unsure the tagger is of it.
    pub uncertainty: f64,
    /// Whether boundaries and slot are right.
    pub correct: bool,
}

/// Above which uncertainty a span is more likely wrong than worth it: without such spans slot F1 is higher.
///
/// A tagger that was trained on little, or to find what it has never seen, finds too much. F1 is largest without the spans
/// that are right with less than half its probability (Lipton, Elkan and Naryanaswamy 2014); where that lies is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Doubt {
    /// The largest uncertainty of a span of the reading.
    pub above: f64,
    /// Slot F1 on the valid set without the others, in percent.
    pub slot_f1: f64,
}

/// Held-out slots that it takes to say which spans are too doubtful.
const ENOUGH_SLOTS: usize = 50;

/// Points of F1 that leaving spans out has to gain.
const WORTH_IT: f64 = 1.0;

/// Points of F1 that are given up for a reading with more spans.
const SLACK: f64 = 0.5;

impl Doubt {
    /// Where the doubt begins, on in-domain utterances that have `n_gold` slots and in which these spans were found; none if
    /// little is gained by it, or there is too little to tell.
    pub(crate) fn fit(spans: &[ScoredSpan], n_gold: usize) -> Option<Doubt> {
        if n_gold < ENOUGH_SLOTS {
            return None;
        }
        let mut spans = spans.to_vec();
        spans.sort_by(|a, b| a.uncertainty.total_cmp(&b.uncertainty));
        let mut n_correct = 0;
        let mut choices = Vec::new();
        for (idx, span) in spans.iter().enumerate() {
            n_correct += usize::from(span.correct);
            if spans.get(idx + 1).is_none_or(|next| next.uncertainty > span.uncertainty) {
                let slot_f1 = 200.0 * n_correct as f64 / (idx + 1 + n_gold) as f64;
                choices.push(Doubt { above: span.uncertainty, slot_f1 });
            }
        }
        let all = choices.last()?.slot_f1;
        let best = choices.iter().map(|choice| choice.slot_f1).fold(0.0, f64::max);
        if best - all < WORTH_IT {
            return None;
        }
        choices.into_iter().rfind(|choice| choice.slot_f1 >= best - SLACK)
    }
}

impl Threshold {
    /// The same, but not above this, so that what is left out of the reading is asked about.
    pub(crate) fn at_most(&self, value: f64, spans: &[ScoredSpan]) -> Threshold {
        if self.value <= value {
            return self.clone();
        }
        let n_right =
            |spans: &mut dyn Iterator<Item = &ScoredSpan>| spans.filter(|span| span.correct).count();
        let before = n_right(&mut spans.iter());
        let after = n_right(&mut spans.iter().filter(|span| span.uncertainty <= value));
        let f1_after = self.f1_before * after as f64 / before.max(1) as f64;
        Threshold { value, f1_after, ..self.clone() }
    }

    /// The lowest threshold that costs at most `budget` points of slot F1 on in-domain utterances, which have `n_gold`
    /// slots and in which these spans were found. An unknown concept is a wrong prediction; its words stay its own, so
    /// F1 falls with the threshold.
    pub fn for_spans(budget: f64, spans: &[ScoredSpan], n_gold: usize) -> Result<Threshold> {
        let mut spans = spans.to_vec();
        if n_gold == 0 || spans.iter().any(|span| !span.uncertainty.is_finite()) {
            let problem = "there is no slot to choose a threshold on".to_owned();
            let hint = "take labelled in-domain utterances that were not trained on".to_owned();
            return Err(Error::Threshold { problem, hint });
        }
        spans.sort_by(|a, b| b.uncertainty.total_cmp(&a.uncertainty));
        let mut n_correct = spans.iter().filter(|span| span.correct).count();
        let f1 = |n_correct: usize| 200.0 * n_correct as f64 / (spans.len() + n_gold) as f64;
        let first = spans.first().map_or(f64::MIN, |span| span.uncertainty);
        let f1_before = f1(n_correct);
        let mut offers = vec![Offer { value: first, f1: f1_before }];
        for (i, span) in spans.iter().enumerate() {
            n_correct -= usize::from(span.correct);
            let value = spans.get(i + 1).map_or(f64::MIN, |next| next.uncertainty);
            if value < span.uncertainty {
                // A lower threshold at the same price is the better offer.
                offers.pop_if(|offer| offer.f1 <= f1(n_correct));
                offers.push(Offer { value, f1: f1(n_correct) });
            }
        }
        let median = spans.get(spans.len() / 2).map_or(0.0, |span| span.uncertainty);
        Threshold { value: first, budget, f1_before, f1_after: f1_before, median, offers }.offered(budget)
    }

    /// The lowest threshold above which lies at most this share of further in-domain spans, on average over valid sets
    /// (split conformal prediction): of n spans, the one of rank ceil((n + 1) (1 - share)).
    pub(crate) fn conformal(&self, share: f64, spans: &[ScoredSpan]) -> Result<Threshold> {
        if !(0.0..1.0).contains(&share) || share == 0.0 {
            let problem = format!("a share of false alarms of {share}");
            return Err(Error::Setting { problem, hint: "it lies between 0 and 1, such as 0.02".to_owned() });
        }
        let mut uncertainties: Vec<f64> = spans.iter().map(|span| span.uncertainty).collect();
        uncertainties.sort_by(f64::total_cmp);
        let value = uncertainties[conformal_rank(share, spans.len())? - 1];
        let right = |above: bool| {
            spans.iter().filter(|span| span.correct && (above || span.uncertainty <= value)).count()
        };
        let f1_after = self.f1_before * right(false) as f64 / right(true).max(1) as f64;
        Ok(Threshold { value, budget: self.f1_before - f1_after, f1_after, ..self.clone() })
    }
}

/// The rank, from 1, of the conformal threshold among so many spans; too few of them promise nothing.
pub(super) fn conformal_rank(share: f64, n_spans: usize) -> Result<usize> {
    let rank = ((n_spans + 1) as f64 * (1.0 - share)).ceil() as usize;
    if (1..=n_spans).contains(&rank) {
        return Ok(rank);
    }
    let problem = format!("{n_spans} concepts in the valid split promise no share of {share}");
    let hint = format!("the smallest share that they can promise is {:.4}", 1.0 / (n_spans + 1) as f64);
    Err(Error::Threshold { problem, hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(notation: &str) -> Vec<ScoredSpan> {
        let read = |word: &str| {
            let (uncertainty, mark) = word.split_at(word.len() - 1);
            ScoredSpan { uncertainty: uncertainty.parse().unwrap(), correct: mark == "+" }
        };
        notation.split(' ').map(read).collect()
    }

    #[test]
    fn the_lowest_threshold_within_the_budget() {
        // Four found of four: 3 of 4 are right, F1 75, each right one that is called unknown costs 25.
        let found = spans("1+ 2+ 3- 4+");
        for (budget, value, f1) in [(0.0, 4.0, 75.0), (24.0, 4.0, 75.0), (25.0, 2.0, 50.0), (50.0, 1.0, 25.0)]
        {
            let threshold = Threshold::for_spans(budget, &found, 4).unwrap();
            assert_eq!((threshold.value, threshold.f1_after), (value, f1), "budget {budget}");
            assert_eq!(threshold.f1_before, 75.0);
        }
        // A wrong one costs nothing.
        let threshold = Threshold::for_spans(0.0, &spans("1+ 2+ 3+ 4-"), 4).unwrap();
        assert_eq!(threshold.value, 3.0);
        // Those of the same uncertainty are unknown together.
        let threshold = Threshold::for_spans(25.0, &spans("1+ 2+ 2+ 3-"), 4).unwrap();
        assert_eq!(threshold.value, 2.0);
        assert!(Threshold::for_spans(1.0, &[], 0).is_err());
    }

    /// So many right and wrong spans, all of one uncertainty.
    fn many(uncertainty: f64, right: usize, wrong: usize) -> Vec<ScoredSpan> {
        let span = |idx: usize| ScoredSpan { uncertainty, correct: idx < right };
        (0..right + wrong).map(span).collect()
    }

    #[test]
    fn spans_that_are_mostly_wrong_are_left_out() {
        // F1 with the first 40: 72 / 100; with the next 20, half of them right, 92 / 120; with the last 40, 100 / 160.
        let found = [many(1.0, 36, 4), many(2.0, 10, 10), many(3.0, 4, 36)].concat();
        let doubt = Doubt::fit(&found, 60).unwrap();
        assert_eq!(doubt.above, 2.0);
        assert!((doubt.slot_f1 - 9200.0 / 120.0).abs() < 1e-9);
        // What is asked about begins there, and all that is right above it is lost: 46 of 50.
        let threshold = Threshold::for_spans(0.0, &found, 60).unwrap();
        assert_eq!((threshold.value, threshold.f1_before), (3.0, 62.5));
        let lower = threshold.at_most(doubt.above, &found);
        assert_eq!((lower.value, lower.f1_after), (2.0, 57.5));
        assert_eq!(threshold.at_most(4.0, &found), threshold);
    }

    #[test]
    fn nothing_is_left_out_for_little_or_by_chance() {
        // Without the last three, 196 / 198 instead of 196 / 201: 1.5 points. Without the last one 0.5 points.
        assert_eq!(Doubt::fit(&[many(1.0, 98, 0), many(2.0, 0, 3)].concat(), 100).unwrap().above, 1.0);
        assert_eq!(Doubt::fit(&[many(1.0, 98, 0), many(2.0, 0, 1)].concat(), 100), None);
        assert_eq!(Doubt::fit(&[many(1.0, 40, 0), many(2.0, 0, 40)].concat(), 49), None);
        assert_eq!(Doubt::fit(&[], 100), None);
    }

    #[test]
    fn conformal_rank() {
        let found: Vec<_> =
            (1..=99).map(|i| ScoredSpan { uncertainty: f64::from(i), correct: true }).collect();
        let threshold = Threshold::for_spans(0.5, &found, 99).unwrap();
        for (share, value) in [(0.02, 98.0), (0.5, 50.0), (0.011, 99.0), (0.01, 99.0)] {
            assert_eq!(threshold.conformal(share, &found).unwrap().value, value, "share {share}");
        }
        assert!(threshold.conformal(0.009, &found).is_err());
        assert!(threshold.conformal(0.0, &found).is_err());
    }
}
