//! Values of English phrases, against a table that was worked out by hand.

use std::fmt::Write;

use jiff::{ToSpan, Zoned};
use meno::description::Dimension;
use meno::resolve::{Grain, Lasting, Precision, Resolved, Shape, Shaped, Value, reference, resolve, zone};
use meno::{Model, Tokenization};
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
    let mut text = match value {
        Value::Instant { at, grain } => format!("{} {}", moment(at, *grain), grain_name(grain)),
        Value::Interval { from, to, grain } => {
            format!("{} to {} {}", moment(from, *grain), moment(to, *grain), grain_name(grain))
        }
        Value::Duration(lasting) => units(lasting),
        Value::Number(number) => number.to_string(),
        Value::Percentage(number) => format!("{number}%"),
        Value::Ordinal(place) => place.to_string(),
        Value::Amount { value, unit } | Value::Temperature { value, unit } => {
            format!("{value}{}", unit.map_or(String::new(), |unit| format!(" {}", unit.duckling)))
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

fn json(dimension: Dimension, phrase: &str, shape: Shape) -> String {
    let now = reference("2026-11-17T08:00:00+01:00", None).unwrap();
    let resolved = resolve(dimension, phrase, &now).unwrap_or_else(|| panic!("{phrase}"));
    serde_json::to_string(&Shaped { resolved, shape }).unwrap()
}

/// A dimension, a phrase, and its value byte for byte in the shapes of Duckling and Snips, as the documents of both have them.
const SHAPES: [(Dimension, &str, &str, &str); 11] = [
    (
        Dimension::Time,
        "tomorrow at half past six",
        r#"{"dim":"time","type":"value","value":"2026-11-18T06:30:00.000+01:00","grain":"minute"}"#,
        r#"{"kind":"InstantTime","value":"2026-11-18 06:30:00 +01:00","grain":"Minute","precision":"Exact"}"#,
    ),
    (
        Dimension::Time,
        "around nine",
        r#"{"dim":"time","type":"value","value":"2026-11-17T09:00:00.000+01:00","grain":"hour"}"#,
        r#"{"kind":"InstantTime","value":"2026-11-17 09:00:00 +01:00","grain":"Hour","precision":"Approximate"}"#,
    ),
    (
        Dimension::Date,
        "this weekend",
        concat!(
            r#"{"dim":"time","type":"interval","from":{"value":"2026-11-21T00:00:00.000+01:00","grain":"day"},"#,
            r#""to":{"value":"2026-11-23T00:00:00.000+01:00","grain":"day"}}"#
        ),
        r#"{"kind":"TimeInterval","from":"2026-11-21 00:00:00 +01:00","to":"2026-11-23 00:00:00 +01:00"}"#,
    ),
    (
        Dimension::Duration,
        "an hour and a half",
        concat!(
            r#"{"dim":"duration","type":"value","value":90,"unit":"minute","minute":90,"#,
            r#""normalized":{"value":5400,"unit":"second"}}"#
        ),
        concat!(
            r#"{"kind":"Duration","years":0,"quarters":0,"months":0,"weeks":0,"days":0,"hours":1,"minutes":30,"#,
            r#""seconds":0,"precision":"Exact"}"#
        ),
    ),
    (
        Dimension::Number,
        "twenty-five",
        r#"{"dim":"number","type":"value","value":25}"#,
        r#"{"kind":"Number","value":25.0}"#,
    ),
    (
        Dimension::Number,
        "3.5",
        r#"{"dim":"number","type":"value","value":3.5}"#,
        r#"{"kind":"Number","value":3.5}"#,
    ),
    (
        Dimension::Ordinal,
        "third",
        r#"{"dim":"ordinal","type":"value","value":3}"#,
        r#"{"kind":"Ordinal","value":3}"#,
    ),
    (
        Dimension::Amount,
        "20 euros",
        r#"{"dim":"amount-of-money","type":"value","value":20,"unit":"EUR"}"#,
        r#"{"kind":"AmountOfMoney","value":20.0,"precision":"Exact","unit":"€"}"#,
    ),
    (
        Dimension::Temperature,
        "21 degrees",
        r#"{"dim":"temperature","type":"value","value":21,"unit":"degree"}"#,
        r#"{"kind":"Temperature","value":21.0,"unit":"degree"}"#,
    ),
    (
        Dimension::Temperature,
        "68",
        r#"{"dim":"temperature","type":"value","value":68}"#,
        r#"{"kind":"Temperature","value":68.0,"unit":null}"#,
    ),
    (
        Dimension::Number,
        "30 percent",
        r#"{"dim":"percentage","type":"value","value":30}"#,
        r#"{"kind":"Percentage","value":30.0}"#,
    ),
];

#[test]
fn two_shapes() {
    for (dimension, phrase, duckling, snips) in SHAPES {
        assert_eq!(json(dimension, phrase, Shape::Duckling), duckling, "{phrase}");
        assert_eq!(json(dimension, phrase, Shape::Snips), snips, "{phrase}");
    }
}

#[test]
fn durations_are_told_in_their_smallest_unit() {
    for (phrase, expected) in [
        ("two weeks", r#""value":2,"unit":"week","week":2,"normalized":{"value":1209600,"#),
        ("two weeks and a day", r#""value":15,"unit":"day","day":15,"normalized":{"value":1296000,"#),
        ("a year and a half", r#""value":18,"unit":"month","month":18,"normalized":{"value":47088000,"#),
        ("three years", r#""value":3,"unit":"year","year":3,"normalized":{"value":94608000,"#),
        ("a month and three days", r#""value":2851200,"unit":"second","#),
        ("2 hrs 30 mins", r#""value":150,"unit":"minute","minute":150,"normalized":{"value":9000,"#),
    ] {
        let json = json(Dimension::Duration, phrase, Shape::Duckling);
        assert!(json.contains(expected), "{phrase}: {json}");
    }
}

// --- what always holds -----------------------------------------------------------------------------------

const DIMENSIONS: [Dimension; 8] = [
    Dimension::Time,
    Dimension::Date,
    Dimension::Duration,
    Dimension::Number,
    Dimension::Ordinal,
    Dimension::Amount,
    Dimension::Temperature,
    Dimension::Percentage,
];

/// Zones with odd offsets, gaps at midnight, days that were left out.
const ZONES: [&str; 7] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",
];

fn moments() -> impl Strategy<Value = Zoned> {
    let seconds = -2_000_000_000_i64..4_000_000_000;
    (seconds, 0..ZONES.len()).prop_map(|(seconds, at)| {
        jiff::Timestamp::from_second(seconds).unwrap().to_zoned(zone(ZONES[at]).unwrap())
    })
}

/// Words of the table in any order, and marks.
fn phrases() -> impl Strategy<Value = String> {
    let mut words: Vec<&'static str> = cases().iter().flat_map(|case| case.phrase.split(' ')).collect();
    words.extend([
        "9999",
        "0",
        "-0",
        "00",
        "99999999999999",
        "9999-12-31",
        "hundred",
        "billion",
        "decades",
        "9999 years",
    ]);
    words.sort_unstable();
    words.dedup();
    prop::collection::vec(prop::sample::select(words), 1..7).prop_map(|words| words.join(" "))
}

fn instant(value: &Value) -> &Zoned {
    match value {
        Value::Instant { at, .. } => at,
        Value::Interval { from, .. } => from,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_is_too_odd(text in "\\PC{0,40}", now in moments()) {
        for dimension in DIMENSIONS {
            let resolved = resolve(dimension, &text, &now);
            prop_assert_eq!(&resolved, &resolve(dimension, &format!("  {text} "), &now));
        }
    }

    #[test]
    fn no_phrase_is_too_odd(phrase in phrases(), now in moments()) {
        for dimension in DIMENSIONS {
            let Some(resolved) = resolve(dimension, &phrase, &now) else { continue };
            for shape in [Shape::Duckling, Shape::Snips] {
                serde_json::to_string(&Shaped { resolved: resolved.clone(), shape }).unwrap();
            }
            if let Value::Interval { from, to, .. } = &resolved.value {
                prop_assert!(from < to, "{phrase}: {resolved}");
            }
            // Written large, or with another word that means nothing.
            prop_assert_eq!(resolve(dimension, &phrase.to_uppercase(), &now), Some(resolved));
            prop_assert_eq!(resolve(dimension, &format!("{phrase} zorblax"), &now), None);
        }
    }

    #[test]
    fn at_the_ends_of_the_calendar(phrase in phrases()) {
        for now in ["9999-12-30T22:00:00Z", "-009999-01-03T00:00:00Z"] {
            let now = reference(now, None).unwrap();
            for dimension in DIMENSIONS {
                resolve(dimension, &phrase, &now);
            }
        }
    }

    #[test]
    fn what_is_to_come_is_in_the_future(now in moments()) {
        let days = ["tomorrow", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "next week"];
        for phrase in days {
            let resolved = resolve(Dimension::Date, phrase, &now).unwrap();
            let at = instant(&resolved.value);
            prop_assert!(*at > now, "{phrase} at {now}: {at}");
            prop_assert!(at.date() <= now.date() + 8.days(), "{phrase} at {now}: {at}");
        }
        for phrase in ["six", "7:30", "noon", "midnight", "quarter to nine", "0730", "11 pm"] {
            // Where clocks leave the time out there is none.
            let Some(resolved) = resolve(Dimension::Time, phrase, &now) else { continue };
            let at = instant(&resolved.value);
            prop_assert!(*at > now && at.date() <= now.date() + 2.days(), "{phrase} at {now}: {at}");
        }
    }

    #[test]
    fn a_time_is_what_clocks_show(now in moments(), hour in 0_i8..24, minute in 0_i8..60) {
        let phrase = format!("tomorrow at {hour:02}:{minute:02}");
        if let Some(resolved) = resolve(Dimension::Time, &phrase, &now) {
            let at = instant(&resolved.value);
            prop_assert_eq!((at.hour(), at.minute()), (hour, minute));
            prop_assert_eq!(at.date(), now.date().tomorrow().unwrap());
        }
    }

    #[test]
    fn numbers_in_words(number in 0_u64..10_000_000) {
        let now = reference("2026-11-17T08:00:00Z", None).unwrap();
        for words in [in_words(number, " and "), in_words(number, " ")] {
            let resolved = resolve(Dimension::Number, &words, &now).map(|resolved| resolved.value);
            prop_assert_eq!(resolved, Some(Value::Number(number as f64)), "{}", words);
        }
    }
}

/// A number as people say it.
fn in_words(number: u64, and: &str) -> String {
    const SMALL: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
                         seventeen eighteen nineteen";
    const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";
    let word = |list: &str, at: u64| list.split_whitespace().nth(at as usize).unwrap().to_owned();
    let scaled = |size: u64, name: &str| {
        let rest = match number % size {
            0 => String::new(),
            rest if rest < 100 => format!("{and}{}", in_words(rest, and)),
            rest => format!(" {}", in_words(rest, and)),
        };
        format!("{} {name}{rest}", in_words(number / size, and))
    };
    match number {
        0..20 => word(SMALL, number),
        20..100 if number.is_multiple_of(10) => word(TENS, number / 10 - 2),
        20..100 => format!("{}-{}", word(TENS, number / 10 - 2), word(SMALL, number % 10)),
        100..1000 => scaled(100, "hundred"),
        1000..1_000_000 => scaled(1000, "thousand"),
        _ => scaled(1_000_000, "million"),
    }
}

// --- models ----------------------------------------------------------------------------------------------

#[test]
fn a_model_that_declares_nothing_asks_no_clock() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/format-2.meno");
    let model = Model::load(path.as_ref()).unwrap();
    let mut annotation = model.worker().annotate("weather in new york", Tokenization::Raw);
    assert!(!annotation.spans.is_empty());
    model.resolve(&mut annotation, Shape::Duckling, || unreachable!("nothing is declared"));
    assert!(annotation.spans.iter().all(|span| span.resolved.is_none()));
    assert!(!model.is_value("half past six"));
}
