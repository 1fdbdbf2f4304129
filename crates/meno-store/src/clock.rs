//! The moment at which something is said: by this machine's clock, or stated.

use jiff::Zoned;
use jiff::tz::TimeZone;
use meno::resolve::{reference, zone};

/// What tells the time, in a zone.
#[derive(Clone, Debug)]
pub struct Clock {
    zone: TimeZone,
    /// It stands still.
    stated: Option<Zoned>,
}

impl Default for Clock {
    /// This machine's clock and zone.
    fn default() -> Self {
        Clock { zone: TimeZone::system(), stated: None }
    }
}

impl Clock {
    /// The same clock in another zone, or one that stands still at a moment; as [`reference()`] reads it.
    pub fn at(&self, now: Option<&str>, zone_name: Option<&str>) -> meno::Result<Clock> {
        let named = zone_name.map(zone).transpose()?;
        let stated = now.map(|now| reference(now, named.as_ref())).transpose()?;
        let in_zone =
            |stated: &Zoned| stated.with_time_zone(named.clone().unwrap_or_else(|| self.zone.clone()));
        let stated = stated.or_else(|| self.stated.as_ref().map(in_zone));
        Ok(Clock { zone: named.unwrap_or_else(|| self.zone.clone()), stated })
    }

    /// The same clock, which stands still from now on.
    pub fn stopped(self) -> Clock {
        let stated = Some(self.now());
        Clock { stated, ..self }
    }

    /// What it shows.
    pub fn now(&self) -> Zoned {
        self.stated.clone().unwrap_or_else(|| Zoned::now().with_time_zone(self.zone.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(clock: &Clock) -> String {
        clock.now().to_string()
    }

    #[test]
    fn a_stated_moment_stands_still() {
        let clock = Clock::default().at(Some("2026-11-17T08:00:00+01:00"), None).unwrap();
        assert_eq!(shown(&clock), "2026-11-17T08:00:00+01:00[+01:00]");
        let elsewhere = clock.at(None, Some("America/New_York")).unwrap();
        assert_eq!(shown(&elsewhere), "2026-11-17T02:00:00-05:00[America/New_York]");
        let local = Clock::default().at(Some("2026-07-01T08:00:00"), Some("Europe/Berlin")).unwrap();
        assert_eq!(shown(&local), "2026-07-01T08:00:00+02:00[Europe/Berlin]");
    }

    #[test]
    fn what_is_no_moment_and_no_zone_is_refused() {
        for (now, zone) in [
            (Some("tomorrow"), None),
            (Some("2026-11-17T08:00:00"), None),
            (Some("2026-13-17T08:00:00Z"), None),
            (Some("2026-11-17"), Some("Europe/Berlin")),
            (Some("2026-11-17T08:00:00+05:00[Europe/Berlin]"), None),
            (None, Some("Europe/Atlantis")),
            (None, Some("")),
        ] {
            let error = Clock::default().at(now, zone).unwrap_err();
            assert!(error.hint().is_some_and(|hint| hint.contains("for example")), "{error}");
        }
    }
}
