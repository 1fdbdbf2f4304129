//! What the line of a token says after its hash: until when it is valid, how often it may ask, and how much in a day.

use std::fmt;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use meno::{Error, Result};

/// What holds for one token.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// When it is valid no more.
    pub expires: Option<Expiry>,
    /// Requests a second, in place of those that hold for all.
    pub rate: Option<f64>,
    /// Requests a day.
    pub quota: Option<u32>,
}

impl Terms {
    /// Reads words such as `expires=2027-01-31T00:00:00Z`, `rate=20` and `quota=5000`.
    pub(crate) fn parse(words: &[&str]) -> Result<Terms> {
        let mut terms = Terms::default();
        for word in words {
            let is_new = match word.split_once('=') {
                Some(("expires", time)) => terms.expires.replace(Expiry::parse(time)?).is_none(),
                Some(("rate", number)) => terms.rate.replace(rate(number)?).is_none(),
                Some(("quota", number)) => terms.quota.replace(quota(number)?).is_none(),
                _ => {
                    let words = "`expires=TIME`, `rate=N` and `quota=N`";
                    return Err(refuse(word, "is nothing that a token has", words));
                }
            };
            if !is_new {
                return Err(refuse(word, "is there a second time", "each of them once"));
            }
        }
        Ok(terms)
    }
}

/// As a line has them, each after a space.
impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(expires) = self.expires {
            write!(f, " expires={expires}")?;
        }
        if let Some(rate) = self.rate {
            write!(f, " rate={rate}")?;
        }
        self.quota.map_or(Ok(()), |quota| write!(f, " quota={quota}"))
    }
}

/// The first moment at which a token is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry(Timestamp);

impl Expiry {
    /// Reads a moment in RFC 3339, or a day, which is when it begins in UTC.
    pub fn parse(text: &str) -> Result<Expiry> {
        let day = || {
            // `Date` passes over a time of day, which would be lost.
            let date: Date = text.parse().ok().filter(|_| text.len() == "2027-01-31".len())?;
            Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
        };
        let time = text.parse().ok().or_else(day);
        time.map(Expiry).ok_or_else(|| refuse(text, "is no time", "2027-01-31, or 2027-01-31T00:00:00Z"))
    }

    /// So many days from now.
    pub fn in_days(days: u32) -> Result<Expiry> {
        let seconds = Timestamp::now().as_second();
        let time = Timestamp::from_second(seconds)
            .and_then(|now| now.checked_add(SignedDuration::from_hours(24 * i64::from(days))));
        time.map(Expiry).map_err(|_| refuse(&days.to_string(), "is too many days", "90"))
    }

    /// Whether it is over.
    pub fn is_past(self) -> bool {
        self.0 <= Timestamp::now()
    }
}

impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reads requests a second.
pub fn rate(text: &str) -> Result<f64> {
    let rate = text.parse().ok().filter(|rate| (0.001..=1e6).contains(rate));
    rate.ok_or_else(|| refuse(text, "is no number of requests a second", "0.001 to 1000000, such as 20"))
}

/// Reads requests a day.
pub fn quota(text: &str) -> Result<u32> {
    let quota = text.parse().ok().filter(|&quota| quota > 0);
    quota.ok_or_else(|| refuse(text, "is no number of requests a day", "1 or more, such as 5000"))
}

fn refuse(value: &str, problem: &str, example: &str) -> Error {
    Error::Setting {
        problem: format!("`{}` {problem}", value.escape_debug()),
        hint: format!("there may be {example}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &[&str]) -> String {
        Terms::parse(words).map_or_else(|error| error.to_string(), |terms| terms.to_string())
    }

    #[test]
    fn terms_are_read_as_they_are_written() {
        for (words, expected) in [
            (&[][..], ""),
            (&["rate=20"], " rate=20"),
            (&["rate=0.5", "expires=2027-01-31"], " expires=2027-01-31T00:00:00Z rate=0.5"),
            (&["quota=5000", "rate=2"], " rate=2 quota=5000"),
            (&["quota=0"], "`0` is no number of requests a day"),
            (&["quota=1", "quota=1"], "`quota=1` is there a second time"),
            (&["expires=2027-01-31T01:00:00+01:00"], " expires=2027-01-31T00:00:00Z"),
            (&["colour=red"], "`colour=red` is nothing that a token has"),
            (&["rate"], "`rate` is nothing that a token has"),
            (&["rate=1", "rate=2"], "`rate=2` is there a second time"),
            (&["rate=0"], "`0` is no number of requests a second"),
            (&["rate=NaN"], "`NaN` is no number of requests a second"),
            (&["expires=soon"], "`soon` is no time"),
            (&["expires=2027-01-31T10:00:00"], "`2027-01-31T10:00:00` is no time"),
            (&["expires=2027-02-29"], "`2027-02-29` is no time"),
        ] {
            assert_eq!(shown(words), expected, "{words:?}");
        }
    }

    #[test]
    fn days_are_counted_from_now() {
        assert!(Expiry::in_days(0).unwrap().is_past());
        let tomorrow = Expiry::in_days(1).unwrap();
        assert!(!tomorrow.is_past());
        assert_eq!(Expiry::parse(&tomorrow.to_string()).unwrap(), tomorrow);
        assert!(Expiry::in_days(u32::MAX).is_err());
    }
}
