//! Points and stretches of time: a day, a time of day, or both.

use jiff::Zoned;
use jiff::civil::{Date, Time};

use super::clock::{Clock, Part};
use super::dates::Stretch;
use super::duration::Lasting;
use super::numbers::is_digits;
use super::{Grain, Value};

/// A date alone.
pub(super) fn date(tokens: &[&str], now: &Zoned) -> Option<Value> {
    match Stretch::read(tokens, now.date())? {
        Stretch::Day(day) => Some(Value::Instant { at: begin(day, now)?, grain: Grain::Day }),
        Stretch::Days(from, to) => interval(begin(from, now)?, begin(to, now)?, Grain::Day),
    }
}

/// A time of day, a date, or both.
pub(super) fn time(tokens: &[&str], now: &Zoned) -> Option<Value> {
    if let ["now"] | ["right", "now"] = tokens {
        return instant(whole_second(now)?, Grain::Second);
    }
    // A bare number may be a year, but no slot of times holds years.
    let is_number = matches!(tokens, [one] if is_digits(one));
    let stated = from_now(tokens, now).or_else(|| date(tokens, now).filter(|_| !is_number));
    if stated.is_some() {
        return stated;
    }
    let alone = When::read(tokens).and_then(|when| when.next(now));
    let part = Anchor::read(tokens, now.date()).and_then(|anchor| anchor.part_of_day(now));
    let both = (1..tokens.len()).flat_map(|at| joined(&tokens[..at], &tokens[at..], now));
    let mut found = alone.into_iter().chain(part).chain(both);
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// `in ten minutes`, `an hour from now`, `two hours ago`.
fn from_now(tokens: &[&str], now: &Zoned) -> Option<Value> {
    let span = |tokens: &[&str]| Lasting::read(tokens).filter(Lasting::is_of_clock)?.span();
    let at = match tokens {
        ["in", count @ ..] | [count @ .., "from", "now"] => now.checked_add(span(count)?),
        [count @ .., "ago"] => now.checked_sub(span(count)?),
        _ => return None,
    };
    instant(whole_second(&at.ok()?)?, Grain::Second)
}

/// What two parts of a phrase give as a day and a time, in either order.
fn joined(left: &[&str], right: &[&str], now: &Zoned) -> impl Iterator<Item = Value> + use<> {
    let without = |tokens: &[&str], links: &[&str]| -> usize {
        usize::from(tokens.first().is_some_and(|first| links.contains(first)))
    };
    let resolve = |day: &[&str], time: &[&str]| {
        let anchor = Anchor::read(day, now.date())?;
        anchor.at(When::read(time)?, now)
    };
    let time_last = resolve(left, &right[without(right, &["at", ",", "around", "about", "by"])..]);
    let day_last = resolve(&right[without(right, &["on", ","])..], left);
    time_last.into_iter().chain(day_last)
}

/// A day, and perhaps a part of it.
struct Anchor {
    day: Date,
    part: Option<Part>,
}

impl Anchor {
    fn read(tokens: &[&str], today: Date) -> Option<Self> {
        let in_part = |day: &[&str], part: &str| {
            Some(Anchor { day: Stretch::read(day, today)?.day()?, part: Some(Part::of(part)?) })
        };
        match tokens {
            ["tonight"] => Some(Anchor { day: today, part: Some(Part::Night) }),
            ["this", part] if Part::of(part).is_some() => Some(Anchor { day: today, part: Part::of(part) }),
            ["last", "night"] => Some(Anchor { day: today.yesterday().ok()?, part: Some(Part::Night) }),
            [day @ .., "in", "the", part] => in_part(day, part),
            [day @ .., "at", "night"] => in_part(day, "night"),
            [day @ .., part] if Part::of(part).is_some() => in_part(day, part),
            day => Some(Anchor { day: Stretch::read(day, today)?.day()?, part: None }),
        }
    }

    fn part_of_day(&self, now: &Zoned) -> Option<Value> {
        let (first, end) = self.part?.hours();
        let at = |hour: i8| match hour {
            24 => begin(self.day.tomorrow().ok()?, now),
            _ => self.day.to_datetime(Time::new(hour, 0, 0, 0).ok()?).to_zoned(now.time_zone().clone()).ok(),
        };
        interval(at(first)?, at(end)?, Grain::Hour)
    }

    fn at(&self, when: When, now: &Zoned) -> Option<Value> {
        match when {
            When::At(clock) => instant(self.clock(&clock, now)?, clock.grain()),
            When::From(start, end) => {
                let from = self.clock(&start, now)?;
                let to = end.next(&from)?;
                interval(from, to, start.grain().min(end.grain()))
            }
        }
    }

    fn clock(&self, clock: &Clock, now: &Zoned) -> Option<Zoned> {
        if let Some(part) = self.part {
            return clock.on_part(self.day, part, now);
        }
        match (clock.is_open(), self.day.cmp(&now.date())) {
            (true, std::cmp::Ordering::Less) => None,
            (true, std::cmp::Ordering::Equal) => clock.on(self.day, now),
            _ => clock
                .on(self.day, &begin(self.day, now)?.checked_sub(jiff::SignedDuration::from_secs(1)).ok()?),
        }
    }
}

/// A time of day, or from one to another.
#[derive(Clone, Copy)]
enum When {
    At(Clock),
    From(Clock, Clock),
}

impl When {
    fn read(tokens: &[&str]) -> Option<Self> {
        Clock::read(tokens).map(When::At).or_else(|| Self::range(tokens))
    }

    fn range(tokens: &[&str]) -> Option<Self> {
        let (tokens, links): (&[&str], &[&str]) = match tokens {
            ["from", rest @ ..] => (rest, &["to", "until", "till", "-"]),
            ["between", rest @ ..] => (rest, &["and"]),
            // In words it may as well be `ten to nine`.
            [first, ..] if is_digits(first) => (tokens, &["to", "-"]),
            _ => return None,
        };
        let at = tokens.iter().position(|token| links.contains(token))?;
        let (start, end) = (Clock::read(&tokens[..at])?, Clock::read(&tokens[at + 1..])?);
        match (start.is_open(), end.is_open()) {
            // `nine to five` is not in the night, but who knows.
            (true, true) => None,
            (true, false) => Some(When::From(start.shortly_before(&end), end)),
            (false, _) => Some(When::From(start, end)),
        }
    }

    fn next(self, now: &Zoned) -> Option<Value> {
        match self {
            When::At(clock) => instant(clock.next(now)?, clock.grain()),
            When::From(start, end) => {
                let from = start.next(now)?;
                let to = end.next(&from)?;
                interval(from, to, start.grain().min(end.grain()))
            }
        }
    }
}

fn instant(at: Zoned, grain: Grain) -> Option<Value> {
    Some(Value::Instant { at, grain })
}

fn interval(from: Zoned, to: Zoned, grain: Grain) -> Option<Value> {
    (from < to).then_some(Value::Interval { from, to, grain })
}

/// The first moment of a day.
fn begin(day: Date, like: &Zoned) -> Option<Zoned> {
    day.to_zoned(like.time_zone().clone()).ok()
}

fn whole_second(at: &Zoned) -> Option<Zoned> {
    at.with().subsec_nanosecond(0).build().ok()
}
