//! The example of Shen, Chen and Jin (2020), table 1: "reserve at Mario's Italiano for 1 pm".
//!
//! A model that knows how tables are reserved, but not this restaurant, is to be less sure of its name than of every other
//! word (`H` and `L` in the paper), so that a threshold marks the name, and only that, as one phrase.

#[path = "../../../tests/left_out.rs"]
mod left_out;

use std::path::Path;

use left_out::left_out;
use meno::corpus::read_split;
use meno::decision::Policy;
use meno::engine::Tokenization;
use meno::train::TrainSettings;

/// As Snips writes it.
const TEXT: &str = "reserve at mario s italiano for 1 pm";

#[test]
fn unsure_of_the_restaurant_and_of_nothing_else() {
    let Some(data) = std::env::var_os("MENO_DATA") else {
        return left_out("the paper's example", "$MENO_DATA does not say where Snips is");
    };
    let snips = Path::new(&data).join("snips");
    let (train, valid) = (read_split(&snips, "train").unwrap(), read_split(&snips, "valid").unwrap());
    let settings = TrainSettings::calibrated();
    let model = meno::train(&train, &valid, &settings).unwrap();
    let policy = Policy { growth: None, ..model.policy().clone() };
    let model = model.with_policy(policy);
    let annotation = model.worker().annotate(TEXT, Tokenization::Pretokenized);
    let uncertainty = |idx: usize| annotation.tokens[idx].verdict.as_ref().unwrap().uncertainty;
    let least = [2, 3, 4].map(uncertainty).into_iter().fold(f64::INFINITY, f64::min);
    let most = [0, 1, 5, 6, 7].map(uncertainty).into_iter().fold(f64::NEG_INFINITY, f64::max);
    assert!(least > most, "{least} for the restaurant, {most} for other words");

    let model = model.with_threshold((least + most) / 2.0).unwrap();
    let annotation = model.worker().annotate(TEXT, Tokenization::Pretokenized);
    let spans: Vec<(&str, &str)> = annotation.spans.iter().map(|span| (&*span.slot, span.text)).collect();
    assert_eq!(spans, [("unknown", "mario s italiano"), ("timeRange", "1 pm")]);
}
