//! Scores agree with seqeval to 1e-12; `scripts/goldens/seqeval_goldens.py` made the numbers.

use std::collections::BTreeMap;

use meno::metrics::{Evaluation, Mode, Report, Scores};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    gold: Vec<Vec<String>>,
    predicted: Vec<Vec<String>>,
    default: Option<Golden>,
    strict: Option<Golden>,
}

/// Precision, recall, F1 (from 0 to 1) and support.
type Row = (f64, f64, f64, usize);

#[derive(Deserialize)]
struct Golden {
    types: BTreeMap<String, Row>,
    micro: Row,
    r#macro: Option<Row>,
    weighted: Option<Row>,
}

#[test]
fn scores_agree_with_seqeval() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("goldens/seqeval.json")).expect("the goldens are of this form");
    let mut n_checked = 0;
    for (case_idx, case) in cases.iter().enumerate() {
        for (mode, golden) in [(Mode::Conlleval, &case.default), (Mode::Strict, &case.strict)] {
            let Some(golden) = golden else { continue };
            let mut evaluation = Evaluation::new(mode);
            for (gold, predicted) in case.gold.iter().zip(&case.predicted) {
                evaluation.add(gold, predicted, "", "").expect("the goldens have equal lengths");
            }
            check(&evaluation.report(), golden, &format!("case {case_idx}, {mode:?}"));
            n_checked += 1;
        }
    }
    assert!(n_checked > 400, "only {n_checked} checked");
}

fn check(report: &Report, golden: &Golden, case: &str) {
    let names = |slots: Vec<&String>| slots.into_iter().cloned().collect::<Vec<_>>();
    assert_eq!(names(report.slots.keys().collect()), names(golden.types.keys().collect()), "{case}");
    for (slot, row) in &golden.types {
        close(report.slots[slot], *row, &format!("{case}, {slot}"));
    }
    close(report.micro_average(), golden.micro, &format!("{case}, micro"));
    let nothing = (0.0, 0.0, 0.0, 0);
    close(report.macro_average(), golden.r#macro.unwrap_or(nothing), &format!("{case}, macro"));
    close(report.weighted_average(), golden.weighted.unwrap_or(nothing), &format!("{case}, weighted"));
}

fn close(scores: Scores, (precision, recall, f1, support): Row, case: &str) {
    assert_eq!(scores.support, support, "{case}");
    for (found, golden) in [(scores.precision, precision), (scores.recall, recall), (scores.f1, f1)] {
        assert!((found / 100.0 - golden).abs() < 1e-12, "{case}: {found} % instead of {golden}");
    }
}
