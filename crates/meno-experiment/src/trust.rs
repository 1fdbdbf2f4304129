//! Whether a model acts only on what it reads rightly: risk against coverage, and whether its confidence can be believed.
//!
//! A reading is right if intent and slots are all right; an unknown span counts as the slot that it is guessed to be. *Risk* is the
//! share of wrong readings among those acted upon.

use meno::answer::Decision;
use meno::corpus::{Corpus, Utterance};
use meno::engine::Tokenization;
use meno::label;
use meno::metrics::calibration_error::Reliability;
use meno::metrics::detection::Ranking;
use meno::metrics::risk_coverage::RiskCoverage;
use meno::{Annotation, Model, Result};
use serde::Serialize;

/// What a model made of an utterance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// How likely it is right, if the model says so.
    pub confidence: Option<f64>,
    /// Minus the log probability of its labels and its intent, each by itself: what every tagger has.
    pub unlikeliness: f64,
    /// Whether it is right.
    pub is_right: bool,
    /// Whether it is acted upon, asked about or rejected.
    pub outcome: Outcome,
}

/// What became of an utterance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Acted upon.
    Act,
    /// Asked about.
    Ask,
    /// Rejected.
    Reject,
}

/// What the readings of a set show, in percent.
#[derive(Clone, Debug, Serialize)]
pub struct TrustReport {
    /// Utterances.
    pub utterances: usize,
    /// The share whose reading is wrong.
    pub wrong: f64,
    /// The share that is acted upon.
    pub acts: f64,
    /// The share of these whose reading is wrong.
    pub risk: f64,
    /// The share that is asked about.
    pub asks: f64,
    /// The share that is rejected.
    pub rejects: f64,
    /// Of the utterances that are not acted upon, the share that is read rightly.
    pub needless_questions: f64,
    /// Of the utterances that are read rightly, the share that is not acted upon.
    pub needless: f64,
    /// The area under the curve of risk against coverage, by confidence; the lower, the better.
    pub aurc: f64,
    /// The same by the probability of the reading.
    pub aurc_probability: f64,
    /// The same if all that is right came first: no order is better.
    pub aurc_best: f64,
    /// The mean of the confidence.
    pub believed: f64,
    /// The expected calibration error of the confidence.
    pub calibration_error: f64,
}

/// What a model makes of each utterance.
pub fn readings(model: &Model, corpus: &Corpus) -> Vec<Reading> {
    let mut worker = model.worker();
    let read = |utterance: &Utterance| {
        let text = utterance.words.join(" ");
        let annotation = worker.annotate(&text, Tokenization::Pretokenized);
        let minus_ln = |probability: f32| -f64::from(probability.max(1e-9)).ln();
        let words = annotation.tokens.iter().map(|token| token.probability);
        let intent = annotation.intent.iter().map(|intent| intent.probability);
        Reading {
            confidence: annotation.confidence.map(f64::from),
            unlikeliness: words.chain(intent).map(minus_ln).sum(),
            is_right: is_right(&annotation, utterance),
            outcome: match annotation.decision {
                Decision::Act => Outcome::Act,
                Decision::Ask { .. } => Outcome::Ask,
                Decision::Reject { .. } => Outcome::Reject,
            },
        }
    };
    corpus.utterances.iter().filter(|utterance| !utterance.words.is_empty()).map(read).collect()
}

fn is_right(annotation: &Annotation<'_>, utterance: &Utterance) -> bool {
    let first_choice = |token: &meno::answer::TokenLabel<'_>| {
        token.verdict.as_ref().map_or(&token.label, |verdict| &verdict.first_choice).to_string()
    };
    let found: Vec<String> = annotation.tokens.iter().map(first_choice).collect();
    let is_intended = match &annotation.intent {
        Some(intent) if !utterance.intent.is_empty() => {
            utterance.intent.split('#').any(|gold| gold == &*intent.name) || utterance.intent == *intent.name
        }
        _ => true,
    };
    is_intended && label::spans(&found) == label::spans(utterance.truth.as_ref().unwrap_or(&utterance.labels))
}

impl Reading {
    fn confidence(&self) -> f64 {
        self.confidence.unwrap_or(0.0)
    }
}

impl TrustReport {
    /// Of the readings of a set.
    pub fn of(readings: &[Reading]) -> Result<Self> {
        let n = readings.len();
        let count = |is: &dyn Fn(&Reading) -> bool| readings.iter().filter(|reading| is(reading)).count();
        let n_right = count(&|reading| reading.is_right);
        let n_acts = count(&|reading| reading.outcome == Outcome::Act);
        let n_wrong_acts = count(&|reading| reading.outcome == Outcome::Act && !reading.is_right);
        let n_needless = n_right - (n_acts - n_wrong_acts);
        let aurc = |order: Order| -> Result<f64> {
            Ok(100.0 * order.risk_coverage(readings)?.aurc().unwrap_or(f64::NAN))
        };
        let beliefs = readings.iter().map(|reading| (reading.confidence(), reading.is_right));
        Ok(TrustReport {
            utterances: n,
            wrong: percent(n - n_right, n),
            acts: percent(n_acts, n),
            risk: percent(n_wrong_acts, n_acts),
            asks: percent(count(&|reading| reading.outcome == Outcome::Ask), n),
            rejects: percent(count(&|reading| reading.outcome == Outcome::Reject), n),
            needless_questions: percent(n_needless, n - n_acts),
            needless: percent(n_needless, n_right),
            aurc: aurc(Order::Confidence)?,
            aurc_probability: aurc(Order::Probability)?,
            aurc_best: aurc(Order::Best)?,
            believed: 100.0 * readings.iter().map(Reading::confidence).sum::<f64>() / n.max(1) as f64,
            calibration_error: 100.0 * Reliability::new(beliefs)?.ece().unwrap_or(0.0),
        })
    }
}

fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

/// Risk against coverage: what share of the readings would be wrong if those up to some doubt were acted upon. All in percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curves {
    /// By confidence.
    pub confidence: Vec<(f64, f64)>,
    /// By the probability of the reading.
    pub probability: Vec<(f64, f64)>,
    /// If all that is right came first.
    pub best: Vec<(f64, f64)>,
    /// Where the model's decisions stand: what it acts on, and how much of that is wrong; `None` if it never acts.
    pub acts: Option<(f64, f64)>,
}

impl Curves {
    /// Of the readings of a set.
    pub fn of(readings: &[Reading]) -> Result<Self> {
        let curve = |order: Order| -> Result<Vec<(f64, f64)>> {
            let points = order.risk_coverage(readings)?.curve();
            Ok(points.iter().map(|point| (100.0 * point.coverage, 100.0 * point.risk)).collect())
        };
        let TrustReport { acts, risk, .. } = TrustReport::of(readings)?;
        Ok(Curves {
            confidence: curve(Order::Confidence)?,
            probability: curve(Order::Probability)?,
            best: curve(Order::Best)?,
            acts: (acts > 0.0).then_some((acts, risk)),
        })
    }
}

/// Which readings would be acted upon first.
#[derive(Clone, Copy)]
enum Order {
    Confidence,
    Probability,
    Best,
}

impl Order {
    fn risk_coverage(self, readings: &[Reading]) -> Result<RiskCoverage> {
        let pair = |(idx, reading): (usize, &Reading)| {
            let doubt = match self {
                Order::Confidence => -reading.confidence(),
                Order::Probability => reading.unlikeliness,
                // No two are alike, so that the curve has a point for each and not one straight line over all that is wrong.
                Order::Best => (idx + if reading.is_right { 0 } else { readings.len() }) as f64,
            };
            (doubt, !reading.is_right)
        };
        RiskCoverage::new(readings.iter().enumerate().map(pair))
    }
}

/// How often the confidence in an in-domain utterance is above that in a text that is out of scope.
pub fn out_of_scope_auroc(model: &Model, texts: &[&str], in_domain: &Corpus) -> Result<Option<f64>> {
    let mut worker = model.worker();
    let mut score = |text: &str, tokenization| {
        worker.annotate(text, tokenization);
        worker.out_of_scope()
    };
    let mut pairs = Vec::new();
    for text in texts {
        pairs.push((score(text, Tokenization::Raw), true));
    }
    for utterance in &in_domain.utterances {
        pairs.push((score(&utterance.words.join(" "), Tokenization::Pretokenized), false));
    }
    Ok(Ranking::new(pairs)?.auroc())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.` is right, `x` is wrong, from the most confident to the least; a capital letter is what becomes of it.
    fn readings(notation: &str) -> Vec<Reading> {
        let signs: Vec<&str> = notation.split_whitespace().collect();
        let reading = |(idx, sign): (usize, &&str)| Reading {
            confidence: Some(1.0 - (idx + 1) as f64 / 10.0),
            // The wrong way round, so that the two orders are told apart.
            unlikeliness: -(idx as f64),
            is_right: sign.starts_with('.'),
            outcome: match &sign[1..] {
                "A" => Outcome::Act,
                "Q" => Outcome::Ask,
                _ => Outcome::Reject,
            },
        };
        signs.iter().enumerate().map(reading).collect()
    }

    #[test]
    fn a_report_counted_by_hand() {
        let report = TrustReport::of(&readings(".A .A xA .Q xQ xQ .R xR")).unwrap();
        let shares = [report.wrong, report.acts, report.asks, report.rejects];
        assert_eq!((report.utterances, shares), (8, [50.0, 37.5, 37.5, 25.0]));
        assert!((report.risk - 100.0 / 3.0).abs() < 1e-9);
        // Two of the four that are right are not acted upon, two of the five that are not acted upon are right.
        assert_eq!((report.needless, report.needless_questions), (50.0, 40.0));
        // Confidence is 0.9, 0.8 and so on to 0.2.
        assert!((report.believed - 55.0).abs() < 1e-9);
        let mean = |risks: [f64; 8]| 100.0 * risks.iter().sum::<f64>() / 8.0;
        let expected = [
            (report.aurc, mean([0.0, 0.0, 1.0 / 3.0, 0.25, 0.4, 0.5, 3.0 / 7.0, 0.5])),
            (report.aurc_probability, mean([1.0, 0.5, 2.0 / 3.0, 0.75, 0.6, 2.0 / 3.0, 4.0 / 7.0, 0.5])),
            (report.aurc_best, mean([0.0, 0.0, 0.0, 0.0, 0.2, 1.0 / 3.0, 3.0 / 7.0, 0.5])),
        ];
        for (found, expected) in expected {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn the_points_of_the_curves() {
        let curves = Curves::of(&readings(".A xA .Q xR")).unwrap();
        let rounded = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            points.iter().map(|&(coverage, risk)| (coverage, risk.round())).collect()
        };
        assert_eq!(rounded(&curves.confidence), [(25.0, 0.0), (50.0, 50.0), (75.0, 33.0), (100.0, 50.0)]);
        assert_eq!(rounded(&curves.probability), [(25.0, 100.0), (50.0, 50.0), (75.0, 67.0), (100.0, 50.0)]);
        assert_eq!(rounded(&curves.best), [(25.0, 0.0), (50.0, 0.0), (75.0, 33.0), (100.0, 50.0)]);
        assert_eq!(curves.acts, Some((50.0, 50.0)));
        let never = Curves::of(&readings(".Q xR")).unwrap();
        assert_eq!(never.acts, None);
        assert_eq!(Curves::of(&[]).unwrap().confidence, []);
    }

    #[test]
    fn of_equal_confidence_there_is_one_point() {
        let mut readings = readings(".A xA .Q");
        readings[1].confidence = readings[0].confidence;
        let curves = Curves::of(&readings).unwrap();
        assert_eq!(curves.confidence.len(), 2);
        assert_eq!(curves.best.len(), 3);
    }
}
