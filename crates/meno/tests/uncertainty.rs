//! Scores, temperatures and thresholds agree with NumPy, SciPy and seqeval (`scripts/goldens/uncertainty_goldens.py`).

use std::collections::BTreeMap;

use meno::decision::{ScoredUtterance, Threshold};
use meno::external::{Calibration, FitSettings, Input, Table, TableSettings, Temperature};
use meno::uncertainty::Score;
use serde::Deserialize;

#[derive(Deserialize)]
struct Goldens {
    scores: Vec<Row>,
    temperatures: Vec<Temperatures>,
    thresholds: Vec<Thresholds>,
}

#[derive(Deserialize)]
struct Row {
    logits: Vec<f32>,
    scores: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Temperatures {
    logits: Vec<Vec<f32>>,
    gold: Vec<usize>,
    temperature: f64,
}

#[derive(Deserialize)]
struct Thresholds {
    gold: Vec<Vec<String>>,
    first_choices: Vec<Vec<String>>,
    uncertainty: Vec<Vec<f64>>,
    budget: f64,
    value: f64,
    f1_before: f64,
    f1_after: f64,
}

fn goldens() -> Goldens {
    serde_json::from_str(include_str!("goldens/uncertainty.json")).expect("the goldens are of this form")
}

#[test]
fn scores_are_those_of_scipy() {
    for row in goldens().scores {
        assert_eq!(row.scores.len(), Score::ALL.len());
        for (name, golden) in row.scores {
            let found = name.parse::<Score>().unwrap().of(&row.logits);
            let error = (found - golden).abs() / golden.abs().max(1e-3);
            assert!(error < 1e-11, "{name} of {:?}: {found} instead of {golden}", row.logits);
        }
    }
}

#[test]
fn the_likeliest_temperature_is_that_of_scipy() {
    for case in goldens().temperatures {
        let names: Vec<String> = (0..case.logits[0].len()).map(|label| format!("B-{label}")).collect();
        let gold: Vec<&String> = case.gold.iter().map(|&label| &names[label]).collect();
        let tokens = vec!["w"; gold.len()];
        let line = serde_json::json!({
            "label_names": names, "tokens": tokens, "logits": case.logits, "labels": gold,
        });
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("valid.jsonl");
        std::fs::write(&path, line.to_string()).unwrap();
        let table = Table::read(&path, &TableSettings::default()).unwrap();
        let settings = FitSettings { temperature: Temperature::Likeliest, ..FitSettings::default() };
        let found = Calibration::fit(&table, Input::Logits, &settings).unwrap().temperature;
        // A minimum is flat: an optimiser that sees 16 digits of it finds 8 of its place.
        let error = (found / case.temperature - 1.0).abs();
        assert!(error < 1e-6, "{found} instead of {}", case.temperature);
    }
}

#[test]
fn thresholds_are_those_of_trying_all_with_seqeval() {
    for case in goldens().thresholds {
        let first: Vec<Vec<&str>> =
            case.first_choices.iter().map(|labels| labels.iter().map(String::as_str).collect()).collect();
        let evaluated: Vec<_> = (0..case.gold.len())
            .map(|i| ScoredUtterance {
                gold: &case.gold[i],
                first_choices: &first[i],
                uncertainty: &case.uncertainty[i],
            })
            .collect();
        let found = Threshold::choose(case.budget, &evaluated).unwrap();
        assert_eq!(found.value, case.value, "budget {}", case.budget);
        assert!((found.f1_before - case.f1_before).abs() < 1e-9);
        assert!((found.f1_after - case.f1_after).abs() < 1e-9);
    }
}
