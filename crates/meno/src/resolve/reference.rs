//! The moment at which something is said, as people state it.

use jiff::Zoned;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;

use crate::{Error, Result};

/// A time zone by its name in the IANA database.
pub fn zone(name: &str) -> Result<TimeZone> {
    TimeZone::get(name).map_err(|_| Error::Setting {
        problem: format!("there is no time zone `{name}`"),
        hint: "a name of the IANA database, for example `Europe/Berlin`, or `UTC`".to_owned(),
    })
}

/// A moment in RFC 3339, perhaps with its zone in brackets, as it is in a zone if one is given. Without that it needs an offset.
pub fn reference(text: &str, zone: Option<&TimeZone>) -> Result<Zoned> {
    read(text, zone).ok_or_else(|| Error::Setting {
        problem: format!("`{text}` is no moment in time"),
        hint: "for example `2026-11-17T08:00:00+01:00` or `2026-11-17T08:00:00[Europe/Berlin]`".to_owned(),
    })
}

fn read(text: &str, zone: Option<&TimeZone>) -> Option<Zoned> {
    let in_zone =
        |moment: Zoned| zone.map_or_else(|| moment.clone(), |zone| moment.with_time_zone(zone.clone()));
    if text.contains('[') {
        return text.parse().ok().map(in_zone);
    }
    let pieces = Pieces::parse(text).ok()?;
    let time = pieces.date().to_datetime(pieces.time()?);
    match pieces.to_numeric_offset() {
        Some(offset) => time.to_zoned(offset.to_time_zone()).ok().map(in_zone),
        None => time.to_zoned(zone?.clone()).ok(),
    }
}
