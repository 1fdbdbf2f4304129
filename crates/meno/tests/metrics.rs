//! Scores of uncertainty agree with scikit-learn, SciPy and plain counting; `scripts/goldens/metrics_goldens.py` made
//! the numbers.

use meno::corpus::Utterance;
use meno::metrics::calibration_error::{Reliability, brier};
use meno::metrics::detection::Ranking;
use meno::metrics::new_concepts::NewConcepts;
use meno::metrics::risk_coverage::RiskCoverage;
use meno::metrics::t_test::{TTest, paired, welch};
use serde::Deserialize;

#[derive(Deserialize)]
struct Goldens {
    detection: Vec<DetectionCase>,
    reliability: Vec<ReliabilityCase>,
    brier: Vec<BrierCase>,
    risk_coverage: Vec<RiskCoverageCase>,
    t_tests: Vec<TTestCase>,
    new_concepts: Vec<NewConceptsCase>,
}

#[derive(Deserialize)]
struct DetectionCase {
    scores: Vec<f64>,
    positive: Vec<bool>,
    auroc: f64,
    aupr: f64,
    fpr_at_95_recall: f64,
    roc: Vec<[f64; 2]>,
    precision_recall: Vec<[f64; 3]>,
}

#[derive(Deserialize)]
struct ReliabilityCase {
    confidence: Vec<f64>,
    right: Vec<bool>,
    counts: Vec<usize>,
    ece: f64,
}

#[derive(Deserialize)]
struct BrierCase {
    rows: Vec<Vec<f64>>,
    labels: Vec<usize>,
    brier: f64,
}

#[derive(Deserialize)]
struct RiskCoverageCase {
    uncertainty: Vec<f64>,
    wrong: Vec<bool>,
    aurc: f64,
}

#[derive(Deserialize)]
struct TTestCase {
    first: Vec<f64>,
    second: Vec<f64>,
    other: Vec<f64>,
    paired: [f64; 3],
    welch: [f64; 3],
}

#[derive(Deserialize)]
struct NewConceptsCase {
    gold: Vec<Vec<String>>,
    truth: Vec<Vec<String>>,
    predicted: Vec<Vec<String>>,
    scores: Counts,
}

#[derive(Deserialize)]
struct Counts {
    unknown: [f64; 3],
    all_slots: [f64; 3],
    strict: [f64; 3],
    any: [f64; 3],
}

fn goldens() -> Goldens {
    serde_json::from_str(include_str!("goldens/metrics.json")).expect("the goldens are of this form")
}

fn close(found: &[f64], golden: &[f64], tolerance: f64, case: &str) {
    assert_eq!(found.len(), golden.len(), "{case}");
    for (found, golden) in found.iter().zip(golden) {
        let near = (found - golden).abs() <= tolerance * golden.abs().max(1e-3);
        assert!(near, "{case}: {found} instead of {golden}");
    }
}

#[test]
fn detection_agrees_with_scikit_learn() {
    for (idx, case) in goldens().detection.iter().enumerate() {
        let pairs = case.scores.iter().copied().zip(case.positive.iter().copied());
        let ranking = Ranking::new(pairs).unwrap();
        let detection = ranking.detection();
        let found = [detection.auroc, detection.aupr, detection.fpr_at_95_recall].map(Option::unwrap);
        close(&found, &[case.auroc, case.aupr, case.fpr_at_95_recall], 1e-12, &format!("case {idx}"));
        let roc: Vec<f64> = ranking
            .roc()
            .iter()
            .flat_map(|point| [point.false_positive_rate, point.true_positive_rate])
            .collect();
        close(&roc, case.roc.as_flattened(), 1e-12, &format!("ROC of case {idx}"));
        let curve: Vec<f64> = ranking
            .precision_recall()
            .iter()
            .flat_map(|point| [point.score, point.precision, point.recall])
            .collect();
        close(
            &curve,
            case.precision_recall.as_flattened(),
            1e-12,
            &format!("precision and recall of case {idx}"),
        );
    }
}

#[test]
fn calibration_error_agrees_with_scikit_learn() {
    let goldens = goldens();
    for (idx, case) in goldens.reliability.iter().enumerate() {
        let pairs = case.confidence.iter().copied().zip(case.right.iter().copied());
        let reliability = Reliability::new(pairs).unwrap();
        let counts: Vec<usize> = reliability.bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, case.counts, "case {idx}");
        close(&[reliability.ece().unwrap()], &[case.ece], 1e-11, &format!("ECE of case {idx}"));
    }
    for (idx, case) in goldens.brier.iter().enumerate() {
        let found = brier(case.rows.iter().zip(case.labels.iter().copied())).unwrap().unwrap();
        close(&[found], &[case.brier], 1e-12, &format!("Brier score of case {idx}"));
    }
}

#[test]
fn risk_coverage_is_the_mean_over_the_orders_of_ties() {
    for (idx, case) in goldens().risk_coverage.iter().enumerate() {
        let pairs = case.uncertainty.iter().copied().zip(case.wrong.iter().copied());
        let found = RiskCoverage::new(pairs).unwrap().aurc().unwrap();
        close(&[found], &[case.aurc], 1e-12, &format!("case {idx}"));
    }
}

#[test]
fn t_tests_agree_with_scipy() {
    let mut smallest: f64 = 1.0;
    for (idx, case) in goldens().t_tests.iter().enumerate() {
        let numbers = |test: Option<TTest>| test.map(|test| [test.t, test.df, test.p]).unwrap();
        for (found, golden) in [
            (numbers(paired(&case.first, &case.second)), case.paired),
            (numbers(welch(&case.first, &case.other)), case.welch),
        ] {
            close(&found, &golden, 1e-10, &format!("case {idx}"));
            assert!((found[2] / golden[2] - 1.0).abs() < 1e-9, "case {idx}: p = {}", found[2]);
            smallest = smallest.min(found[2]);
        }
    }
    assert!(smallest < 1e-8, "no small p-value was checked, the smallest is {smallest}");
}

#[test]
fn new_concepts_are_counted_as_defined() {
    for (idx, case) in goldens().new_concepts.into_iter().enumerate() {
        let mut whole = NewConcepts::default();
        for ((labels, truth), predicted) in case.gold.into_iter().zip(case.truth).zip(&case.predicted) {
            let utterance = Utterance { labels, truth: Some(truth), ..Utterance::default() };
            let mut part = NewConcepts::default();
            part.add(&utterance, predicted).unwrap();
            whole += part;
        }
        let scores = whole.scores();
        for (name, found, golden) in [
            ("unknown", scores.unknown, case.scores.unknown),
            ("all_slots", scores.all_slots, case.scores.all_slots),
            ("strict", scores.strict, case.scores.strict),
            ("any", scores.any, case.scores.any),
        ] {
            close(&[found.precision, found.recall, found.f1], &golden, 1e-12, &format!("case {idx}, {name}"));
        }
    }
}
