//! What words stand for: times, dates, durations, numbers, money, temperatures, percentages, in English.
//!
//! Enters: the text of a span, the [`Dimension`] that its slot declares, and a reference, the moment at which it is said. Leaves:
//! a value, or nothing. A phrase is read whole or not at all, for the declared dimension only, and never searched; where people
//! do not agree on what is meant (`11/20`, `midnight on friday`) there is no value, for a wrong one is far worse. Pure functions:
//! there is no clock here. `docs/values.md` has what is understood.

mod calendar;
mod clock;
mod dates;
mod duration;
mod moment;
mod numbers;
mod quantity;
mod reference;
mod shape;
mod tokens;

use jiff::Zoned;
use jiff::civil::date;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::description::Dimension;

pub use duration::Lasting;
pub use quantity::Counted;
pub use reference::{reference, zone};
pub use shape::{Shape, Shaped};

/// What some words stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The value.
    pub value: Value,
    /// Whether it was said to be about that.
    pub precision: Precision,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A point in time, or a day by its first moment.
    Instant {
        /// When.
        at: Zoned,
        /// How exactly it was said.
        grain: Grain,
    },
    /// A stretch of time.
    Interval {
        /// Its first moment.
        from: Zoned,
        /// One past its last.
        to: Zoned,
        /// How exactly it was said.
        grain: Grain,
    },
    /// How long something takes.
    Duration(Lasting),
    /// A number.
    Number(f64),
    /// A place in a row, from 1.
    Ordinal(u64),
    /// In percent.
    Percentage(f64),
    /// An amount of money.
    Amount {
        /// How much.
        value: f64,
        /// Of what, if it was said.
        unit: Option<Counted>,
    },
    /// A temperature.
    Temperature {
        /// How much.
        value: f64,
        /// On which scale, if it was said.
        unit: Option<Counted>,
    },
}

/// How exactly a time was said, the finest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grain {
    /// To the second.
    Second,
    /// To the minute.
    Minute,
    /// To the hour.
    Hour,
    /// To the day.
    Day,
}

/// Whether a value was said to be about that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Precision {
    /// Just that.
    Exact,
    /// `around`, `about`.
    Approximate,
}

/// What a phrase stands for if it is said at a moment; `None` if that is not known for sure.
///
/// ```
/// use meno::description::Dimension;
/// use meno::resolve::{Value, reference, resolve};
///
/// # fn main() -> meno::Result<()> {
/// let now = reference("2026-11-17T08:00:00+01:00", None)?;
/// let resolved = resolve(Dimension::Time, "tomorrow at half past six", &now).unwrap();
/// let Value::Instant { at, .. } = resolved.value else { panic!() };
/// assert_eq!(at.to_string(), "2026-11-18T06:30:00+01:00[+01:00]");
/// assert_eq!(resolve(Dimension::Date, "11/20", &now), None);
/// # Ok(())
/// # }
/// ```
pub fn resolve(dimension: Dimension, phrase: &str, now: &Zoned) -> Option<Resolved> {
    let tokens = tokens::tokens(phrase)?;
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let mut rest = &tokens[..];
    let mut precision = Precision::Exact;
    let is_of_time = matches!(dimension, Dimension::Time | Dimension::Date);
    let mut is_within = false;
    loop {
        // `in march`, but not `in six`.
        let fits = |value: &Value| !is_within || matches!(value, Value::Interval { .. });
        if let Some(value) = read(dimension, rest, now).filter(fits) {
            return Some(Resolved { value, precision });
        }
        rest = match rest {
            ["at" | "for" | "on" | "by" | "until" | "till", rest @ ..] => rest,
            ["around" | "about" | "approximately" | "roughly" | "approx", rest @ ..] => {
                precision = Precision::Approximate;
                rest
            }
            ["in", rest @ ..] if is_of_time => {
                is_within = true;
                rest
            }
            ["to", rest @ ..] if !is_of_time => rest,
            _ => return None,
        };
    }
}

fn read(dimension: Dimension, tokens: &[&str], now: &Zoned) -> Option<Value> {
    match dimension {
        Dimension::Time => moment::time(tokens, now),
        Dimension::Date => moment::date(tokens, now),
        Dimension::Duration => Lasting::read(tokens).map(Value::Duration),
        // `30 percent` is one too, and says what it is.
        Dimension::Number => {
            let number = || numbers::number(tokens).map(Value::Number);
            quantity::percentage(tokens).map(Value::Percentage).or_else(number)
        }
        Dimension::Ordinal => numbers::ordinal(tokens).map(Value::Ordinal),
        Dimension::Amount => quantity::amount(tokens).map(|(value, unit)| Value::Amount { value, unit }),
        Dimension::Temperature => {
            quantity::temperature(tokens).map(|(value, unit)| Value::Temperature { value, unit })
        }
        Dimension::Percentage => {
            let number = || numbers::number(tokens).filter(|number| number.fract() == 0.0);
            quantity::percentage(tokens).or_else(number).map(Value::Percentage)
        }
    }
}

/// Whether a phrase is a value of one of these dimensions, whenever it is said. A lone word that is also another, as *may* and
/// *sun* are, is none.
pub fn is_value(dimensions: impl IntoIterator<Item = Dimension>, phrase: &str) -> bool {
    let Ok(now) = date(2026, 1, 1).at(12, 0, 0, 0).to_zoned(TimeZone::UTC) else { return false };
    let is_lone = !phrase.trim().contains(|c: char| c.is_whitespace() || c.is_ascii_digit());
    let word = phrase.trim().to_lowercase();
    let is_telling = |dimension| match dimension {
        Dimension::Time | Dimension::Date => {
            word.len() > 3 && dates::month(&word).is_none() || numbers::cardinal(&[&word]).is_some()
        }
        Dimension::Ordinal => false,
        _ => numbers::cardinal(&[&word]).is_some(),
    };
    let mut dimensions = dimensions.into_iter();
    dimensions
        .any(|dimension| (!is_lone || is_telling(dimension)) && resolve(dimension, phrase, &now).is_some())
}
