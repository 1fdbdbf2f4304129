//! Values of English phrases, against a table that was worked out by hand.

use std::fmt::Write;

use jiff::{ToSpan, Zoned};
use meno::description::Dimension;
use meno::resolve::{Grain, Lasting, Precision, Resolved, Shape, Shaped, Value, reference, resolve, zone};
use proptest::prelude::*;

const TABLE: &str = include_str!("values/english.txt");

/// A line of the table.
struct Case {
    now: Zoned,
    dimension: Dimension,
    phrase: &'static str,
    expected: &'static str,
}

fn cases() -> Vec<Case> {
    let (mut now, mut dimension) = (None, None);
    let mut cases = Vec::new();
    for line in TABLE.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(text) = line.strip_prefix("@ ") {
            now = Some(reference(text, None).unwrap());
        } else if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            dimension = Some(serde_json::from_value(name.into()).unwrap());
        } else {
            let (phrase, expected) = line.rsplit_once(" = ").unwrap_or_else(|| panic!("{line}"));
            cases.push(Case { now: now.clone().unwrap(), dimension: dimension.unwrap(), phrase, expected });
        }
    }
    cases
}

/// A value as the table has it.
fn shown(resolved: Option<&Resolved>) -> String {
    let Some(Resolved { value, precision }) = resolved else { return "null".to_owned() };
    let moment = |at: &Zoned, grain: Grain| {
        let format = if grain == Grain::Second { "%Y-%m-%dT%H:%M:%S" } else { "%Y-%m-%dT%H:%M" };
        at.strftime(format).to_string()
    };
    let grain_name = |grain: &Grain| format!("{grain:?}").to_lowercase();
    let unit = |unit: &Option<meno::resolve::Counted>| {
        unit.map_or(String::new(), |unit| format!(" {}", unit.duckling))
    };
    let mut text = match value {
        Value::Instant { at, grain } => format!("{} {}", moment(at, *grain), grain_name(grain)),
        Value::Interval { from, to, grain } => {
            format!("{} to {} {}", moment(from, *grain), moment(to, *grain), grain_name(grain))
        }
        Value::Duration(lasting) => units(lasting),
        Value::Number(number) => number.to_string(),
        Value::Percentage(number) => format!("{number}%"),
        Value::Ordinal(place) => place.to_string(),
        Value::Amount { value, unit: counted } | Value::Temperature { value, unit: counted } => {
            format!("{value}{}", unit(counted))
        }
    };
    if *precision == Precision::Approximate {
        text += " ~";
    }
    text
}

fn units(lasting: &Lasting) -> String {
    let Lasting { years, months, weeks, days, hours, minutes, seconds } = *lasting;
    let units = [
        (years, "years"),
        (months, "months"),
        (weeks, "weeks"),
        (days, "days"),
        (hours, "hours"),
        (minutes, "minutes"),
        (seconds, "seconds"),
    ];
    let shown: Vec<String> = units
        .iter()
        .filter(|(count, _)| *count != 0)
        .map(|(count, unit)| format!("{count} {unit}"))
        .collect();
    if shown.is_empty() { "0".to_owned() } else { shown.join(" ") }
}

#[test]
fn phrases_stand_for_what_was_worked_out() {
    let (cases, mut wrong) = (cases(), String::new());
    for Case { now, dimension, phrase, expected } in &cases {
        let found = shown(resolve(*dimension, phrase, now).as_ref());
        // A percentage where one is declared goes without its mark.
        let found = if *dimension == Dimension::Percentage { found.replace('%', "") } else { found };
        if found != *expected {
            writeln!(wrong, "{dimension:?} `{phrase}` at {now}: {found}, not {expected}").unwrap();
        }
    }
    let n_null = cases.iter().filter(|case| case.expected == "null").count();
    assert!(cases.len() >= 700 && n_null >= 250, "{} cases, {n_null} without a value", cases.len());
    assert!(wrong.is_empty(), "\n{wrong}");
}
