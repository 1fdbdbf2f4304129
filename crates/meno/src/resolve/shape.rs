//! Values as JSON, in the shapes that Duckling and Snips gave them.

use std::fmt::{self, Display};

use jiff::Zoned;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::{Counted, Grain, Lasting, Precision, Resolved, Value};

/// How values are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// As Duckling does, and Rasa with it; the dimension is added as `dim`.
    #[default]
    Duckling,
    /// As Snips NLU does.
    Snips,
}

/// A value and how it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Shaped {
    /// What it is.
    pub resolved: Resolved,
    /// How it is written.
    pub shape: Shape,
}

impl Serialize for Shaped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.shape {
            Shape::Duckling => duckling(&self.resolved.value, serializer),
            Shape::Snips => snips(&self.resolved, serializer),
        }
    }
}

/// A number without a fraction is written as a whole one.
struct Plain(f64);

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            whole if whole.fract() == 0.0 && whole.abs() < 1e15 => serializer.serialize_i64(whole as i64),
            number => serializer.serialize_f64(number),
        }
    }
}

// --- people ----------------------------------------------------------------------------------------------

/// For people: `2026-11-18 06:30`, `1 hour 30 minutes`, `20 EUR`.
impl Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = |at: &Zoned, grain: Grain| {
            let format = match grain {
                Grain::Day => "%Y-%m-%d",
                Grain::Hour | Grain::Minute => "%Y-%m-%d %H:%M",
                Grain::Second => "%Y-%m-%d %H:%M:%S",
            };
            at.strftime(format).to_string()
        };
        match &self.value {
            Value::Instant { at, grain } => f.write_str(&moment(at, *grain)),
            Value::Interval { from, to, grain } => {
                write!(f, "{} to {}", moment(from, *grain), moment(to, *grain))
            }
            Value::Duration(lasting) => Display::fmt(lasting, f),
            Value::Number(number) => write!(f, "{number}"),
            Value::Percentage(number) => write!(f, "{number}%"),
            Value::Ordinal(place) => write!(f, "{place}"),
            Value::Amount { value, unit } | Value::Temperature { value, unit } => {
                write!(f, "{value}")?;
                unit.map_or(Ok(()), |unit| write!(f, " {}", unit.duckling))
            }
        }
    }
}

impl Display for Lasting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lasting { years, months, weeks, days, hours, minutes, seconds } = *self;
        let units = [
            (years, "year"),
            (months, "month"),
            (weeks, "week"),
            (days, "day"),
            (hours, "hour"),
            (minutes, "minute"),
            (seconds, "second"),
        ];
        let shown = units.iter().filter(|(count, _)| *count != 0);
        let shown =
            shown.map(|(count, unit)| format!("{count} {unit}{}", if *count == 1 { "" } else { "s" }));
        match shown.collect::<Vec<_>>() {
            none if none.is_empty() => f.write_str("0 seconds"),
            shown => f.write_str(&shown.join(" ")),
        }
    }
}

// --- Duckling --------------------------------------------------------------------------------------------

/// A moment as Duckling writes it.
fn duckling_time(at: &Zoned) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.000%:z").to_string()
}

#[derive(Serialize)]
struct Moment {
    value: String,
    grain: Grain,
}

#[derive(Serialize)]
struct Normalized {
    value: i64,
    unit: &'static str,
}

fn duckling<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("dim", dimension(value))?;
    let is_interval = matches!(value, Value::Interval { .. });
    map.serialize_entry("type", if is_interval { "interval" } else { "value" })?;
    match value {
        Value::Instant { at, grain } => {
            map.serialize_entry("value", &duckling_time(at))?;
            map.serialize_entry("grain", grain)?;
        }
        Value::Interval { from, to, grain } => {
            let moment = |at| Moment { value: duckling_time(at), grain: *grain };
            map.serialize_entry("from", &moment(from))?;
            map.serialize_entry("to", &moment(to))?;
        }
        Value::Duration(lasting) => {
            let (count, unit) = counted(lasting);
            map.serialize_entry("value", &count)?;
            map.serialize_entry("unit", unit)?;
            map.serialize_entry(unit, &count)?;
            let normalized = Normalized { value: lasting.approximate_seconds(), unit: "second" };
            map.serialize_entry("normalized", &normalized)?;
        }
        Value::Ordinal(place) => map.serialize_entry("value", place)?,
        Value::Number(number) | Value::Percentage(number) => map.serialize_entry("value", &Plain(*number))?,
        Value::Amount { value, unit } | Value::Temperature { value, unit } => {
            map.serialize_entry("value", &Plain(*value))?;
            if let Some(Counted { duckling, .. }) = unit {
                map.serialize_entry("unit", duckling)?;
            }
        }
    }
    map.end()
}

fn dimension(value: &Value) -> &'static str {
    match value {
        Value::Instant { .. } | Value::Interval { .. } => "time",
        Value::Duration(_) => "duration",
        Value::Number(_) => "number",
        Value::Ordinal(_) => "ordinal",
        Value::Percentage(_) => "percentage",
        Value::Amount { .. } => "amount-of-money",
        Value::Temperature { .. } => "temperature",
    }
}

/// The whole in the smallest unit that was said.
fn counted(lasting: &Lasting) -> (i64, &'static str) {
    let Lasting { years, months, weeks, days, hours, minutes, seconds } = *lasting;
    let total = lasting.approximate_seconds();
    let is_of_calendar = (years, months) != (0, 0);
    let is_of_seconds = (weeks, days, hours, minutes, seconds) != (0, 0, 0, 0, 0);
    match () {
        // A month has no fixed number of days.
        () if is_of_calendar && is_of_seconds => (total, "second"),
        () if months != 0 => (12 * years + months, "month"),
        () if years != 0 => (years, "year"),
        () if seconds != 0 => (total, "second"),
        () if minutes != 0 => (total / 60, "minute"),
        () if hours != 0 => (total / 3_600, "hour"),
        () if days != 0 => (total / 86_400, "day"),
        () if weeks != 0 => (weeks, "week"),
        () => (0, "second"),
    }
}

// --- Snips -----------------------------------------------------------------------------------------------

fn snips_time(at: &Zoned) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
}

fn snips_grain(grain: Grain) -> &'static str {
    match grain {
        Grain::Second => "Second",
        Grain::Minute => "Minute",
        Grain::Hour => "Hour",
        Grain::Day => "Day",
    }
}

#[derive(Serialize)]
#[serde(tag = "kind")]
enum Snips {
    InstantTime { value: String, grain: &'static str, precision: Precision },
    TimeInterval { from: String, to: String },
    Duration(SnipsDuration),
    Number { value: f64 },
    Ordinal { value: u64 },
    Percentage { value: f64 },
    AmountOfMoney { value: f64, precision: Precision, unit: Option<&'static str> },
    Temperature { value: f64, unit: Option<&'static str> },
}

#[derive(Serialize)]
struct SnipsDuration {
    years: i64,
    quarters: i64,
    months: i64,
    weeks: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
    precision: Precision,
}

fn snips<S: Serializer>(resolved: &Resolved, serializer: S) -> Result<S::Ok, S::Error> {
    let precision = resolved.precision;
    let unit = |unit: &Option<Counted>| unit.map(|unit| unit.snips);
    let written = match &resolved.value {
        Value::Instant { at, grain } => {
            Snips::InstantTime { value: snips_time(at), grain: snips_grain(*grain), precision }
        }
        Value::Interval { from, to, .. } => {
            Snips::TimeInterval { from: snips_time(from), to: snips_time(to) }
        }
        Value::Duration(lasting) => {
            let Lasting { years, months, weeks, days, hours, minutes, seconds } = *lasting;
            let quarters = 0;
            Snips::Duration(SnipsDuration {
                years,
                quarters,
                months,
                weeks,
                days,
                hours,
                minutes,
                seconds,
                precision,
            })
        }
        Value::Number(value) => Snips::Number { value: *value },
        Value::Ordinal(value) => Snips::Ordinal { value: *value },
        Value::Percentage(value) => Snips::Percentage { value: *value },
        Value::Amount { value, unit: counted } => {
            Snips::AmountOfMoney { value: *value, precision, unit: unit(counted) }
        }
        Value::Temperature { value, unit: counted } => {
            Snips::Temperature { value: *value, unit: unit(counted) }
        }
    };
    written.serialize(serializer)
}
