//! How long something takes: `ten minutes`, `an hour and a half`, `2 hrs 30 mins`.

use jiff::Span;

use super::numbers::{is_whole, number};

/// A length of time by the units in which it was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lasting {
    /// Years.
    pub years: i64,
    /// Months.
    pub months: i64,
    /// Weeks.
    pub weeks: i64,
    /// Days.
    pub days: i64,
    /// Hours.
    pub hours: i64,
    /// Minutes.
    pub minutes: i64,
    /// Seconds.
    pub seconds: i64,
}

/// A unit of time, the largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
}

/// Longer is not meant.
const MOST: f64 = 100_000.0;

impl Unit {
    fn of(word: &str) -> Option<(Self, f64)> {
        let unit = match word {
            "second" | "seconds" | "sec" | "secs" | "s" => Unit::Second,
            "minute" | "minutes" | "min" | "mins" | "m" => Unit::Minute,
            "hour" | "hours" | "hr" | "hrs" | "h" => Unit::Hour,
            "day" | "days" => Unit::Day,
            "week" | "weeks" | "wk" | "wks" => Unit::Week,
            "fortnight" | "fortnights" => return Some((Unit::Week, 2.0)),
            "month" | "months" => Unit::Month,
            "year" | "years" | "yr" | "yrs" => Unit::Year,
            "decade" | "decades" => return Some((Unit::Year, 10.0)),
            _ => return None,
        };
        Some((unit, 1.0))
    }

    /// Those with a fixed length.
    fn seconds(self) -> Option<i64> {
        match self {
            Unit::Year | Unit::Month => None,
            Unit::Week => Some(7 * 86_400),
            Unit::Day => Some(86_400),
            Unit::Hour => Some(3_600),
            Unit::Minute => Some(60),
            Unit::Second => Some(1),
        }
    }
}

impl Lasting {
    /// Reads all of a phrase.
    pub(super) fn read(mut tokens: &[&str]) -> Option<Self> {
        let mut lasting = Lasting::default();
        let mut last: Option<Unit> = None;
        while !tokens.is_empty() {
            if let (["and", "a", "half" | "quarter"] | ["and", "three", "quarters"], Some(unit)) =
                (tokens, last)
            {
                let part = number(&tokens[1..]).filter(|part| *part < 1.0)?;
                return lasting.plus(unit, part).filter(|_| unit <= Unit::Minute);
            }
            // `1h30`
            if let ([minutes], Some(Unit::Hour)) = (tokens, last)
                && is_whole(minutes)
                && minutes.len() == 2
            {
                return lasting.plus(Unit::Minute, number(&[minutes.trim_start_matches('0')]).unwrap_or(0.0));
            }
            let at = tokens.iter().position(|token| Unit::of(token).is_some())?;
            let (unit, times) = Unit::of(tokens[at])?;
            if last.is_some_and(|last| unit <= last) {
                return None;
            }
            let count = match &tokens[..at] {
                // `hour and a half`
                [] if last.is_none() && matches!(tokens[1..], ["and", "a", "half"]) => 1.0,
                ["and" | ",", count @ ..] if last.is_some() => how_many(count)?,
                count => how_many(count)?,
            };
            lasting = lasting.plus(unit, count * times)?;
            (last, tokens) = (Some(unit), &tokens[at + 1..]);
        }
        last.map(|_| lasting)
    }

    /// With so many units more; `None` if a part of a unit is not a whole number of smaller ones.
    fn plus(mut self, unit: Unit, count: f64) -> Option<Self> {
        if !(0.0..=MOST).contains(&count) {
            return None;
        }
        let (whole, part) = (count.trunc(), count.fract());
        let field = match unit {
            Unit::Year => &mut self.years,
            Unit::Month => &mut self.months,
            Unit::Week => &mut self.weeks,
            Unit::Day => &mut self.days,
            Unit::Hour => &mut self.hours,
            Unit::Minute => &mut self.minutes,
            Unit::Second => &mut self.seconds,
        };
        *field += whole as i64;
        if unit == Unit::Year {
            self.months += exact(part * 12.0)?;
            return Some(self);
        }
        if part == 0.0 {
            return Some(self);
        }
        let mut rest = exact(part * unit.seconds()? as f64)?;
        let mut take = |seconds: i64| {
            let count = rest / seconds;
            rest -= count * seconds;
            count
        };
        self.days += take(86_400);
        self.hours += take(3_600);
        self.minutes += take(60);
        self.seconds += take(1);
        Some(self)
    }

    /// Whether no unit is below a day.
    pub(super) fn is_of_days(&self) -> bool {
        (self.hours, self.minutes, self.seconds) == (0, 0, 0)
    }

    /// Whether no unit is above an hour.
    pub(super) fn is_of_clock(&self) -> bool {
        (self.years, self.months, self.weeks, self.days) == (0, 0, 0, 0)
    }

    /// For arithmetic.
    pub(super) fn span(&self) -> Option<Span> {
        let span = Span::new().try_years(self.years).ok()?.try_months(self.months).ok()?;
        let span = span.try_weeks(self.weeks).ok()?.try_days(self.days).ok()?;
        let span = span.try_hours(self.hours).ok()?.try_minutes(self.minutes).ok()?;
        span.try_seconds(self.seconds).ok()
    }

    /// In seconds, with 30 days to a month and 365 to a year.
    pub fn approximate_seconds(&self) -> i64 {
        let days = 365 * self.years + 30 * self.months + 7 * self.weeks + self.days;
        86_400 * days + 3_600 * self.hours + 60 * self.minutes + self.seconds
    }
}

fn exact(number: f64) -> Option<i64> {
    let rounded = number.round();
    ((number - rounded).abs() < 1e-6).then_some(rounded as i64)
}

/// The words before a unit.
fn how_many(tokens: &[&str]) -> Option<f64> {
    match tokens {
        ["a" | "an"] => Some(1.0),
        ["half", "a" | "an"] => Some(0.5),
        ["quarter", "of", "an" | "a"] | ["a", "quarter", "of", "an" | "a"] | ["quarter"] => Some(0.25),
        ["three", "quarters", "of", "an" | "a"] => Some(0.75),
        ["couple"] | ["couple", "of"] | ["a", "couple", "of"] => Some(2.0),
        _ => number(tokens).filter(|number| *number >= 0.0),
    }
}
