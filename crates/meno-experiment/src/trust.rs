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

impl TrustReport {
    /// Of the readings of a set.
    pub fn of(readings: &[Reading]) -> Result<Self> {
        let n = readings.len();
        let count = |is: &dyn Fn(&Reading) -> bool| readings.iter().filter(|reading| is(reading)).count();
        let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        let n_right = count(&|reading| reading.is_right);
        let n_acts = count(&|reading| reading.outcome == Outcome::Act);
        let n_wrong_acts = count(&|reading| reading.outcome == Outcome::Act && !reading.is_right);
        let aurc = |uncertainty: &dyn Fn(&Reading) -> f64| -> Result<f64> {
            let pairs = readings.iter().map(|reading| (uncertainty(reading), !reading.is_right));
            Ok(100.0 * RiskCoverage::new(pairs)?.aurc().unwrap_or(f64::NAN))
        };
        let confidence = |reading: &Reading| reading.confidence.unwrap_or(0.0);
        let reliability =
            Reliability::new(readings.iter().map(|reading| (confidence(reading), reading.is_right)))?;
        Ok(TrustReport {
            utterances: n,
            wrong: percent(n - n_right, n),
            acts: percent(n_acts, n),
            risk: percent(n_wrong_acts, n_acts),
            needless: percent(n_right - (n_acts - n_wrong_acts), n_right),
            aurc: aurc(&|reading| -confidence(reading))?,
            aurc_probability: aurc(&|reading| reading.unlikeliness)?,
            aurc_best: aurc(&|reading| f64::from(u8::from(!reading.is_right)))?,
            believed: 100.0 * readings.iter().map(confidence).sum::<f64>() / n.max(1) as f64,
            calibration_error: 100.0 * reliability.ece().unwrap_or(0.0),
        })
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
