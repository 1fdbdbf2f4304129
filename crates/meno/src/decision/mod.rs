//! What to do about what a tagger is unsure of: the only place with thresholds.
//!
//! Enters: an `Assessment`. Leaves: a `Verdict`: which words and spans are unknown, and whether the utterance is rejected. A
//! word or a span whose uncertainty is **over** the threshold is unknown; what a tagger of spans takes to be outside of
//! all spans never is. A [`Policy`] is all that the decision depends on. It is fitted on in-domain data that the tagger
//! was not trained on, and stored in the model.

mod growth;
mod spans;
mod threshold;
mod trust;

use serde::{Deserialize, Serialize};

use crate::decoding::Decoded;
use crate::label::OUTSIDE_LABEL;
use crate::uncertainty::{Assessment, OutOfScopeScore, Score, Scorer};
use crate::{Error, Result};

pub use growth::{Growth, MaskedSlots, Predictions};
pub use spans::{Doubt, SPAN_BUDGET, ScoredSpan};
pub use threshold::{BUDGET, Offer, ScoredUtterance, Threshold};
pub use trust::{Expected, Trust, WRONG_ACT_COST};
pub(crate) use trust::{N_ASKED, act_from_cost, act_from_risk, asked};

/// The share of in-domain utterances that are not rejected.
const ACCEPTED: f64 = 0.995;
/// So many utterances have one that is not: of fewer, the limit is the highest score of all.
pub(crate) const ENOUGH_TO_REJECT: usize = 200;

/// When words, spans and utterances are unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// What measures the uncertainty.
    pub scorer: Scorer,
    /// Above which uncertainty a word or a span is unknown; nothing is if there is none.
    pub threshold: Option<Threshold>,
    /// Which spans are so doubtful that the reading is better without them; none are if there is none.
    pub doubt: Option<Doubt>,
    /// What measures how unlike the training set an utterance is.
    pub out_of_scope: OutOfScopeScore,
    /// Above which out-of-scope score an utterance is rejected; none is if there is none.
    pub reject: Option<f64>,
    /// Above which foreignness ([`crate::Worker::foreignness`]) an utterance is rejected as one in another language; none is
    /// if there is none.
    pub reject_foreign: Option<f64>,
    /// How unknown words grow to phrases; they do not if there is none.
    pub growth: Option<Growth>,
    /// When a reading is acted upon; if there is none, whenever nothing in it is unknown.
    pub trust: Option<Trust>,
}

/// A threshold with the name of the score that it bounds, as files have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedThreshold {
    /// The name of the score.
    pub score: String,
    /// The threshold.
    #[serde(flatten)]
    pub threshold: Threshold,
}

/// What is decided about an utterance.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Verdict {
    /// Which words are over the threshold.
    pub tokens: Vec<bool>,
    /// Which spans are.
    pub spans: Vec<bool>,
    /// Why the utterance is rejected, if it is.
    pub reject: Option<Rejection>,
    /// What is asked about where no span is unknown and the reading is not trusted.
    pub about: Option<Part>,
}

/// Why an utterance is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// It is unlike everything that the tagger was trained on.
    OutOfScope,
    /// It is in another language than the corpus.
    Language,
}

/// A part of a reading that is no span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A stretch of words outside of all spans, by its number.
    Outside(usize),
    /// The intent.
    Intent,
}

impl Policy {
    /// One by which nothing is ever unknown.
    pub fn never(scorer: Scorer) -> Self {
        Policy {
            scorer,
            threshold: None,
            doubt: None,
            out_of_scope: OutOfScopeScore::default(),
            reject: None,
            reject_foreign: None,
            growth: None,
            trust: None,
        }
    }

    /// Whether it decides about whole spans, not about words.
    pub fn is_span_level(&self) -> bool {
        matches!(self.scorer, Scorer::Span(_))
    }

    /// The threshold with the name of the score that it bounds.
    pub fn named_threshold(&self) -> Option<NamedThreshold> {
        let score = self.scorer.name().to_owned();
        self.threshold.clone().map(|threshold| NamedThreshold { score, threshold })
    }

    /// The same with another threshold, which decides alone ([`Self::by_stated`]).
    pub fn with_threshold(&self, value: f64) -> Result<Self> {
        if !value.is_finite() {
            let problem = format!("the threshold is {value}");
            return Err(Error::Setting { problem, hint: "it must be a finite number".to_owned() });
        }
        let threshold = match &self.threshold {
            Some(stored) => Threshold { value, ..stored.clone() },
            None => Threshold::stated(value),
        };
        Ok(self.by_stated(threshold))
    }

    /// The same with another confidence from which a reading is acted upon: the lower, the fewer questions. What is over the
    /// threshold is asked about with any.
    pub fn with_act_from(&self, value: f64) -> Result<Self> {
        let refuse = |problem: String, hint: &str| Err(Error::Setting { problem, hint: hint.to_owned() });
        match &self.trust {
            _ if !(0.0..=1.0).contains(&value) => {
                refuse(format!("it acts from a confidence of {value}"), "a confidence lies between 0 and 1")
            }
            None => refuse(
                "the model does not say how likely its readings are right".to_owned(),
                "state a threshold instead",
            ),
            Some(trust) => {
                let trust = Trust { act_from: value, ..trust.clone() };
                Ok(Policy { trust: Some(trust), ..self.clone() })
            }
        }
    }

    /// The same with a threshold that somebody states: it decides alone. A reading in which nothing is over it is acted upon,
    /// however likely it is right; the confidence is still given. What is out of scope is told by the words, not by the reading,
    /// so that it does not depend on the threshold.
    pub fn by_stated(&self, threshold: Threshold) -> Self {
        let trust = self.trust.as_ref().map(Trust::of_any_confidence);
        Policy { threshold: Some(threshold), trust, ..self.clone() }
    }

    /// Forgets the spans that are too doubtful, unless they are unknown: those are asked about.
    pub(crate) fn settle(&self, assessment: &mut Assessment, decoded: &mut Decoded) {
        let is_unknown = |uncertainty: f64| {
            self.threshold.as_ref().is_some_and(|threshold| threshold.is_unknown(uncertainty))
        };
        let is_forgotten = |uncertainty: f64| self.is_doubtful(uncertainty) && !is_unknown(uncertainty);
        let Decoded { labels, spans, .. } = decoded;
        let mut of_span = assessment.spans.iter();
        spans.retain(|span| {
            let is_forgotten = of_span.next().is_some_and(|&uncertainty| is_forgotten(uncertainty));
            if is_forgotten {
                labels[span.start..span.end].fill(OUTSIDE_LABEL);
            }
            !is_forgotten
        });
        assessment.spans.retain(|&uncertainty| !is_forgotten(uncertainty));
    }

    /// The labels without the spans that are too doubtful.
    pub(crate) fn reading(&self, assessment: &Assessment, decoded: &Decoded) -> Vec<u32> {
        let mut labels = decoded.labels.clone();
        let spans = decoded.spans.iter().zip(&assessment.spans);
        for (span, _) in spans.filter(|(_, uncertainty)| self.is_doubtful(**uncertainty)) {
            labels[span.start..span.end].fill(OUTSIDE_LABEL);
        }
        labels
    }

    fn is_doubtful(&self, uncertainty: f64) -> bool {
        self.doubt.is_some_and(|doubt| uncertainty > doubt.above)
    }

    /// Decides about an utterance.
    pub(crate) fn decide(&self, assessment: &Assessment, decoded: &Decoded) -> Verdict {
        let is_unknown = |&uncertainty: &f64| {
            self.threshold.as_ref().is_some_and(|threshold| threshold.is_unknown(uncertainty))
        };
        let is_foreign = |highest: f64| assessment.foreignness > highest;
        let reject = match self.reject_foreign {
            Some(highest) if is_foreign(highest) => Some(Rejection::Language),
            _ => self.is_out_of_scope(assessment, decoded).then_some(Rejection::OutOfScope),
        };
        let mut spans: Vec<bool> = assessment.spans.iter().map(is_unknown).collect();
        let is_asked = reject.is_some() || spans.contains(&true);
        let about = match self.weakest(assessment).filter(|_| !is_asked) {
            Some(Weakest::Span(span_idx)) => {
                spans[span_idx] = true;
                None
            }
            Some(Weakest::Other(part)) => Some(part),
            None => None,
        };
        let tokens = match self.scorer {
            Scorer::Token(_) => assessment.tokens.iter().map(is_unknown).collect(),
            Scorer::Span(_) => {
                let mut tokens = vec![false; assessment.tokens.len()];
                for (span, _) in decoded.spans.iter().zip(&spans).filter(|(_, unknown)| **unknown) {
                    tokens[span.start..span.end].fill(true);
                }
                tokens
            }
        };
        Verdict { tokens, spans, reject, about }
    }

    /// How unlike the training set an utterance is.
    pub(crate) fn out_of_scope(&self, assessment: &Assessment, decoded: &Decoded) -> f64 {
        assessment.out_of_scope.unwrap_or_else(|| self.out_of_scope.of(decoded))
    }

    /// Whether it is too unlike it: by the score of the reading if there is a limit to that, else by that of the words.
    fn is_out_of_scope(&self, assessment: &Assessment, decoded: &Decoded) -> bool {
        let limit = self.trust.as_ref().and_then(|trust| trust.reject_above);
        let is_above = match limit.zip(assessment.out_of_scope) {
            Some((highest, score)) => score > highest,
            None => self.reject.is_some_and(|highest| self.out_of_scope.of(decoded) > highest),
        };
        is_above && !decoded.labels.is_empty()
    }

    /// The part of a reading that is least likely right, if the reading is not trusted: what to ask about.
    fn weakest(&self, assessment: &Assessment) -> Option<Weakest> {
        let (trust, confidences) = (self.trust.as_ref()?, assessment.confidences.as_ref()?);
        if confidences.reading >= trust.act_from {
            return None;
        }
        let spans = confidences.spans.iter().enumerate().map(|(idx, &p)| (p, Weakest::Span(idx)));
        let outside = confidences.outside.iter().enumerate();
        let outside = outside.map(|(idx, &(_, p))| (p, Weakest::Other(Part::Outside(idx))));
        let intent = confidences.intent.map(|p| (p, Weakest::Other(Part::Intent)));
        let parts = spans.chain(outside).chain(intent);
        parts.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, part)| part)
    }
}

/// What is least likely right.
#[derive(Clone, Copy)]
enum Weakest {
    Span(usize),
    Other(Part),
}

/// How a policy is fitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicySettings {
    /// The score of words; by default the one that suits the tagger. Taggers of spans have their own.
    pub score: Option<Score>,
    /// How many points of slot F1 saying unknown may cost on the valid set: by default [`BUDGET`], or [`SPAN_BUDGET`] for a
    /// tagger of spans.
    pub budget: Option<f64>,
    /// Not a budget but a promise (split conformal prediction): at most this share of in-domain spans is unknown.
    pub false_alarm: Option<f64>,
    /// How unknown words grow to phrases.
    pub phrases: Phrases,
    /// How many questions a wrong act is worth: by default [`WRONG_ACT_COST`].
    pub wrong_act_cost: Option<f64>,
    /// Not a cost but a promise: at most this share of the acts is wrong.
    pub risk: Option<f64>,
}

/// How unknown words are to grow to phrases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phrases {
    /// By the rule that finds most slots of the valid set, or not at all.
    #[default]
    Best,
    /// Not at all.
    None,
    /// By this rule, if it finds more slots than none.
    By(crate::syntax::phrase::Rule),
}

impl PolicySettings {
    /// Refuses what cannot work, naming the value.
    pub fn check(&self) -> Result<()> {
        let refuse = |problem: String, hint: &str| Err(Error::Setting { problem, hint: hint.to_owned() });
        match (self.budget, self.false_alarm) {
            (Some(budget), _) if budget.is_nan() || budget < 0.0 => {
                refuse(format!("the budget is {budget}"), "it is a number of points of F1, 0 or more")
            }
            (_, Some(share)) if !(share > 0.0 && share < 1.0) => refuse(
                format!("the share of false alarms is {share}"),
                "it lies between 0 and 1, such as 0.02",
            ),
            _ => match (self.wrong_act_cost, self.risk) {
                (Some(cost), _) if !(cost > 0.0 && cost.is_finite()) => {
                    refuse(format!("a wrong act costs {cost} questions"), "it is a number above 0, such as 5")
                }
                (_, Some(risk)) if !(risk > 0.0 && risk < 1.0) => refuse(
                    format!("the share of wrong acts is {risk}"),
                    "it lies between 0 and 1, such as 0.05",
                ),
                _ => Ok(()),
            },
        }
    }

    /// Refuses a promise that so many utterances and spans to validate on cannot keep, before anything is trained. A tagger
    /// finds about as many spans as there are.
    pub(crate) fn check_promise(&self, n_utterances: usize, n_spans: usize) -> Result<()> {
        match (self.false_alarm, self.risk) {
            (Some(share), _) if n_spans > 0 => spans::conformal_rank(share, n_spans).map(|_| ()),
            (_, Some(risk)) => trust::demand_enough(risk, n_utterances),
            _ => Ok(()),
        }
    }
}

/// The score above which an utterance is rejected, from those of in-domain utterances; none if there are none.
pub(crate) fn reject_above(mut scores: Vec<f64>) -> Option<f64> {
    scores.sort_by(f64::total_cmp);
    let accepted = (scores.len() as f64 * ACCEPTED).ceil() as usize;
    scores.get(accepted.max(1) - 1).copied()
}

/// Of in-domain utterances with new values, the share that are not rejected: these are to be asked about.
const NEW_ACCEPTED: f64 = 0.95;

/// The score above which an utterance is rejected, from those of in-domain utterances and of those of them with new slot values;
/// none if there are none of the former.
pub(crate) fn reject_readings_above(natural: Vec<f64>, mut new: Vec<f64>) -> Option<f64> {
    new.sort_by(f64::total_cmp);
    let accepted = (new.len() as f64 * NEW_ACCEPTED).ceil() as usize;
    let highest_new = new.get(accepted.max(1) - 1).copied().unwrap_or(f64::NEG_INFINITY);
    reject_above(natural).map(|highest| highest.max(highest_new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::Hypothesis;
    use crate::emissions::Logits;
    use crate::uncertainty::{Confidence, Confidences, ReadingScore, SpanScore};

    fn span(start: usize, end: usize) -> Hypothesis {
        Hypothesis { start, end, slot: 0, boundaries: 0.9, probability: 0.9, disagreement: 0.1 }
    }

    fn trust(act_from: f64) -> Trust {
        let nothing = Expected::default();
        Trust {
            confidence: Confidence::fit(&[]),
            out_of_scope: ReadingScore::default(),
            reject_above: Some(3.0),
            act_from,
            known: nothing,
            asked: Vec::new(),
            new: nothing,
        }
    }

    /// Of five words, of which the second is one span and the last two are another.
    fn two_spans() -> Assessment {
        Assessment { tokens: vec![9.0, 5.0, 9.0, 7.0, 7.0], spans: vec![5.0, 7.0], ..Assessment::default() }
    }

    #[test]
    fn words_over_the_threshold_are_unknown() {
        let assessment = Assessment { tokens: vec![1.0, 2.0, 3.0], ..Assessment::default() };
        let decoded = Decoded { labels: vec![0; 3], ..Decoded::default() };
        let never = Policy::never(Scorer::Token(Score::Energy));
        assert_eq!(never.decide(&assessment, &decoded).tokens, [false; 3]);
        for (threshold, expected) in
            [(3.0, [false; 3]), (2.0, [false, false, true]), (0.5, [true; 3]), (f64::MAX, [false; 3])]
        {
            let policy = never.with_threshold(threshold).unwrap();
            assert_eq!(policy.decide(&assessment, &decoded).tokens, expected, "{threshold}");
        }
        assert!(never.with_threshold(f64::NAN).is_err());
    }

    #[test]
    fn what_is_outside_of_all_spans_is_never_unknown() {
        let decoded = Decoded {
            labels: vec![0, 1, 0, 1, 2],
            spans: vec![span(1, 2), span(3, 5)],
            ..Decoded::default()
        };
        let assessment = two_spans();
        let policy = Policy::never(Scorer::Span(SpanScore::default())).with_threshold(6.0).unwrap();
        let verdict = policy.decide(&assessment, &decoded);
        assert_eq!(verdict.spans, [false, true]);
        assert_eq!(verdict.tokens, [false, false, false, true, true]);
        assert_eq!(verdict.reject, None);
    }

    #[test]
    fn a_doubtful_span_is_no_part_of_the_reading_but_may_be_asked_about() {
        let decoded = Decoded {
            labels: vec![0, 1, 0, 3, 4],
            spans: vec![span(1, 2), span(3, 5)],
            ..Decoded::default()
        };
        let assessment = two_spans();
        let policy = Policy::never(Scorer::Span(SpanScore::default()));
        let doubtful = Policy { doubt: Some(Doubt { above: 6.0, slot_f1: 90.0 }), ..policy.clone() };
        for (policy, labels, reading, spans) in [
            (policy, [0, 1, 0, 3, 4], [0, 1, 0, 3, 4], vec![5.0, 7.0]),
            (doubtful.clone(), [0, 1, 0, 0, 0], [0, 1, 0, 0, 0], vec![5.0]),
            (doubtful.with_threshold(6.0).unwrap(), [0, 1, 0, 3, 4], [0, 1, 0, 0, 0], vec![5.0, 7.0]),
            (doubtful.with_threshold(8.0).unwrap(), [0, 1, 0, 0, 0], [0, 1, 0, 0, 0], vec![5.0]),
        ] {
            let (mut decoded, mut assessment) = (decoded.clone(), assessment.clone());
            policy.settle(&mut assessment, &mut decoded);
            assert_eq!((&decoded.labels[..], &assessment.spans), (&labels[..], &spans));
            assert_eq!(decoded.spans.len(), spans.len());
            assert_eq!(policy.reading(&assessment, &decoded), reading);
        }
    }

    #[test]
    fn a_reading_that_is_not_trusted_is_asked_about_at_its_weakest_part() {
        let decoded = Decoded {
            labels: vec![0, 1, 0, 1, 2],
            spans: vec![span(1, 2), span(3, 5)],
            ..Decoded::default()
        };
        let policy = Policy { trust: Some(trust(0.6)), ..Policy::never(Scorer::Span(SpanScore::default())) };
        let check = |reading: f64, [first, second, outside, intent]: [f64; 4], spans: [bool; 2], about| {
            let confidences = Confidences {
                reading,
                spans: vec![first, second],
                outside: vec![(0..1, 0.9), (2..3, outside)],
                suspects: vec![0..1, 2..3],
                intent: Some(intent),
            };
            let assessment = Assessment { confidences: Some(confidences), ..two_spans() };
            let verdict = policy.decide(&assessment, &decoded);
            assert_eq!((&verdict.spans[..], verdict.about), (&spans[..], about));
            assert_eq!(verdict.tokens[3], spans[1]);
        };
        check(0.6, [0.1; 4], [false; 2], None);
        check(0.5, [0.8, 0.7, 0.9, 0.9], [false, true], None);
        check(0.5, [0.8, 0.7, 0.6, 0.9], [false; 2], Some(Part::Outside(1)));
        check(0.5, [0.8, 0.7, 0.6, 0.5], [false; 2], Some(Part::Intent));
        // What is out of scope is rejected by the score of the reading, not by that of the words.
        for (score, expected) in [(Some(3.1), Some(Rejection::OutOfScope)), (Some(3.0), None), (None, None)] {
            let assessment = Assessment { out_of_scope: score, ..two_spans() };
            assert_eq!(policy.decide(&assessment, &decoded).reject, expected);
        }
        // What is unknown is asked about, whatever the rest is.
        let stored = Some(Threshold::stated(6.0));
        let unknown = Policy { threshold: stored, ..policy.clone() };
        let assessment = Assessment { confidences: Some(Confidences::default()), ..two_spans() };
        assert_eq!(unknown.decide(&assessment, &decoded).spans, [false, true]);
        assert_eq!(unknown.decide(&assessment, &decoded).about, None);
    }

    #[test]
    fn a_stated_threshold_decides_alone() {
        let decoded = Decoded {
            labels: vec![0, 1, 0, 1, 2],
            spans: vec![span(1, 2), span(3, 5)],
            ..Decoded::default()
        };
        let confidences = Confidences {
            reading: 0.1,
            spans: vec![0.1, 0.2],
            outside: vec![(0..1, 0.3), (2..3, 0.3)],
            suspects: vec![0..1, 2..3],
            intent: Some(0.05),
        };
        let assessment = Assessment { confidences: Some(confidences), ..two_spans() };
        let never = Policy::never(Scorer::Span(SpanScore::default()));
        let trusting = Policy { trust: Some(trust(0.6)), ..never };
        assert_eq!(trusting.decide(&assessment, &decoded).about, Some(Part::Intent));
        for (threshold, spans) in [(8.0, [false; 2]), (6.0, [false, true]), (4.0, [true; 2])] {
            let stated = trusting.with_threshold(threshold).unwrap();
            let verdict = stated.decide(&assessment, &decoded);
            assert_eq!((&verdict.spans[..], verdict.about), (&spans[..], None), "{threshold}");
            assert_eq!(stated.trust.as_ref().unwrap().confidence, trust(0.6).confidence);
            let unlike = Assessment { out_of_scope: Some(3.1), ..assessment.clone() };
            assert!(trusting.decide(&unlike, &decoded).reject.is_some());
            assert_eq!(stated.decide(&unlike, &decoded).reject, None);
        }
    }

    #[test]
    fn another_confidence_to_act_from_makes_it_ask_more_or_less() {
        let decoded = Decoded { labels: vec![1], spans: vec![span(0, 1)], ..Decoded::default() };
        let confidences = Confidences { reading: 0.7, spans: vec![0.7], ..Confidences::default() };
        let assessment = Assessment { confidences: Some(confidences), spans: vec![5.0], ..two_spans() };
        let assessment = Assessment { tokens: vec![5.0], ..assessment };
        let policy = Policy { trust: Some(trust(0.6)), ..Policy::never(Scorer::Span(SpanScore::default())) };
        for (act_from, is_asked) in [(0.0, false), (0.7, false), (0.71, true), (1.0, true)] {
            let other = policy.with_act_from(act_from).unwrap();
            assert_eq!(other.decide(&assessment, &decoded).spans, [is_asked], "{act_from}");
            assert_eq!(other.trust.unwrap().reject_above, Some(3.0));
        }
        for (act_from, problem) in [(1.5, "it acts from a confidence of 1.5"), (f64::NAN, "it acts from")] {
            assert!(policy.with_act_from(act_from).unwrap_err().to_string().starts_with(problem));
        }
        let without = Policy { trust: None, ..policy };
        assert!(without.with_act_from(0.5).is_err());
    }

    #[test]
    fn an_utterance_over_the_limit_is_rejected_unless_it_is_empty() {
        let mut decoded = Decoded { labels: vec![0], ..Decoded::default() };
        decoded.posteriors = Logits::new(2);
        decoded.posteriors.extend(std::iter::once(&[-0.7f32, -0.7][..]));
        let score = OutOfScopeScore::default().of(&decoded);
        for (reject, expected) in [(Some(score - 0.1), true), (Some(score), false), (None, false)] {
            let policy = Policy { reject, ..Policy::never(Scorer::Span(SpanScore::default())) };
            let expected = expected.then_some(Rejection::OutOfScope);
            assert_eq!(policy.decide(&Assessment::default(), &decoded).reject, expected);
        }
        let foreign = Assessment { foreignness: 0.6, ..Assessment::default() };
        for (reject_foreign, expected) in [(Some(0.5), true), (Some(0.6), false), (None, false)] {
            let policy = Policy { reject_foreign, ..Policy::never(Scorer::Span(SpanScore::default())) };
            let expected = expected.then_some(Rejection::Language);
            assert_eq!(policy.decide(&foreign, &decoded).reject, expected);
        }
        let policy = Policy { reject: Some(f64::MIN), ..Policy::never(Scorer::Span(SpanScore::default())) };
        assert_eq!(policy.decide(&Assessment::default(), &Decoded::default()).reject, None);
    }

    #[test]
    fn new_values_are_asked_about_and_not_rejected() {
        let natural = || (1..=200).map(f64::from).collect();
        assert_eq!(reject_readings_above(natural(), Vec::new()), Some(199.0));
        assert_eq!(reject_readings_above(natural(), (201..=300).map(f64::from).collect()), Some(295.0));
        assert_eq!(reject_readings_above(Vec::new(), vec![1.0]), None);
    }

    #[test]
    fn one_in_two_hundred_is_rejected() {
        assert_eq!(reject_above(Vec::new()), None);
        assert_eq!(reject_above(vec![3.0]), Some(3.0));
        assert_eq!(reject_above((1..=200).rev().map(f64::from).collect()), Some(199.0));
        assert_eq!(reject_above((1..=1000).map(f64::from).collect()), Some(995.0));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let problem = |settings: PolicySettings| settings.check().unwrap_err().to_string();
        let budget = |budget| PolicySettings { budget: Some(budget), ..PolicySettings::default() };
        let promise = |share| PolicySettings { false_alarm: Some(share), ..PolicySettings::default() };
        assert_eq!(problem(budget(-1.0)), "the budget is -1");
        assert_eq!(problem(budget(f64::NAN)), "the budget is NaN");
        for share in [0.0, 1.0, -0.5, f64::NAN] {
            assert_eq!(problem(promise(share)), format!("the share of false alarms is {share}"));
        }
        assert!(promise(0.02).check().is_ok() && budget(0.0).check().is_ok());
        let cost = PolicySettings { wrong_act_cost: Some(0.0), ..PolicySettings::default() };
        assert_eq!(problem(cost), "a wrong act costs 0 questions");
        let risk = PolicySettings { risk: Some(1.0), ..PolicySettings::default() };
        assert_eq!(problem(risk), "the share of wrong acts is 1");
    }
}
