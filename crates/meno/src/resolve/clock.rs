//! Times of day: `7:30 pm`, `half past six`, `noon`, `six in the morning`.

use jiff::Zoned;
use jiff::civil::{Date, DateTime, Time};

use super::Grain;
use super::numbers::{cardinal, is_digits, is_whole};

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    /// From 0, or from 1 to 12 where it is not said which half of the day is meant.
    hour: i8,
    minute: i8,
    second: i8,
    half: Half,
    grain: Grain,
}

/// Which half of the day a time is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    /// Either.
    Any,
    /// The hour tells: it is one of 24.
    Told,
    /// Its name tells: `noon`, `midnight`.
    Named,
}

/// A part of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Morning,
    Afternoon,
    Evening,
    Night,
}

impl Part {
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "morning" => Some(Part::Morning),
            "afternoon" => Some(Part::Afternoon),
            "evening" => Some(Part::Evening),
            "night" => Some(Part::Night),
            _ => None,
        }
    }

    /// Its first hour and one past its last, as Duckling has them, but for a morning, which begins at midnight there.
    pub(super) fn hours(self) -> (i8, i8) {
        match self {
            Part::Morning => (4, 12),
            Part::Afternoon => (12, 19),
            Part::Evening | Part::Night => (18, 24),
        }
    }
}

impl Clock {
    /// Reads all of a phrase.
    pub(super) fn read(tokens: &[&str]) -> Option<Self> {
        match tokens {
            ["exactly", rest @ ..] | [rest @ .., "sharp"] | [rest @ .., "on", "the", "dot"] => {
                Self::read(rest)
            }
            [rest @ .., "in", "the", part] => Self::told(rest)?.in_part(Part::of(part)?),
            [rest @ .., "at", "night"] => Self::told(rest)?.at_night(),
            ["12" | "twelve", name @ ("noon" | "midnight")] => Self::told(&[name]),
            ["12" | "twelve", "oclock", name @ ("noon" | "midnight")] => Self::told(&[name]),
            _ => Self::told(tokens),
        }
    }

    /// With am or pm, or without.
    fn told(tokens: &[&str]) -> Option<Self> {
        match tokens {
            [rest @ .., "am"] | [rest @ .., "a", "m"] => Self::core(rest)?.halved(rest, 0),
            [rest @ .., "pm"] | [rest @ .., "p", "m"] => Self::core(rest)?.halved(rest, 12),
            _ => Self::core(tokens),
        }
    }

    fn core(tokens: &[&str]) -> Option<Self> {
        let past = |word: &&str| matches!(*word, "past" | "after");
        let to = |word: &&str| matches!(*word, "to" | "till" | "til" | "before" | "of");
        if let Some(at) = tokens.iter().position(past) {
            return Self::on_the_hour(&tokens[at + 1..])?.plus(minutes(&tokens[..at])?);
        }
        if let Some(at) = tokens.iter().position(to) {
            return Self::on_the_hour(&tokens[at + 1..])?.minus(minutes_to(&tokens[..at])?);
        }
        match tokens {
            // `half six` is half past six.
            ["half", hour @ ..] => Self::on_the_hour(hour)?.plus(30),
            [hour, ":", minute, ":", second] => {
                let clock = Self::of_digits(hour, two_digits(minute)?)?;
                Some(Clock { second: two_digits(second)?, grain: Grain::Second, ..clock })
            }
            [hour, ":", minute] | [hour, "h", minute] => Self::of_digits(hour, two_digits(minute)?),
            [hour, "h"] if is_whole(hour) => Self::on_the_hour(&[hour]),
            [code, "hours"] if is_whole(code) && code.len() == 4 => Self::of_code(code),
            [code] if is_whole(code) && matches!(code.len(), 3 | 4) => {
                Self::of_code(code).filter(|_| !is_year(code))
            }
            [pointed] if is_digits(pointed) && pointed.contains('.') => {
                let (hour, minute) = pointed.split_once('.')?;
                Self::of_digits(hour, two_digits(minute)?)
            }
            [hour, "oh" | "o", minute] if *minute != "clock" => {
                let minute = cardinal(&[minute]).filter(|minute| (1..10).contains(minute))?;
                Self::on_the_hour(&[hour])?.plus(minute as i8)
            }
            [hour, minute @ ..]
                if !minute.is_empty() && *minute != ["oclock"] && *minute != ["o", "clock"] =>
            {
                let minute = cardinal(minute).filter(|minute| (10..60).contains(minute))?;
                let is_spelt_alike = is_digits(hour) == is_digits(tokens[1]);
                Self::on_the_hour(&[hour])?.plus(minute as i8).filter(|_| is_spelt_alike)
            }
            _ => Self::on_the_hour(tokens),
        }
    }

    fn on_the_hour(tokens: &[&str]) -> Option<Self> {
        let named = |hour| Clock { hour, minute: 0, second: 0, half: Half::Named, grain: Grain::Hour };
        match tokens {
            ["noon" | "midday" | "noontime"] => Some(named(12)),
            ["midnight"] => Some(named(0)),
            [hour, "oclock"] | [hour, "o", "clock"] | [hour] => match is_whole(hour) {
                true => Self::of_digits(hour, 0).map(|clock| Clock { grain: Grain::Hour, ..clock }),
                false => {
                    Self::new(cardinal(&[hour])?, 0, false).map(|clock| Clock { grain: Grain::Hour, ..clock })
                }
            },
            _ => None,
        }
    }

    fn of_digits(hour: &str, minute: i8) -> Option<Self> {
        let is_fit = is_whole(hour) && hour.len() <= 2;
        Self::new(hour.parse().ok().filter(|_| is_fit)?, minute, hour.starts_with('0'))
    }

    /// `0730`, `1845`, `730`.
    fn of_code(code: &str) -> Option<Self> {
        let (hour, minute) = code.split_at_checked(code.len() - 2)?;
        Self::of_digits(hour, two_digits(minute)?)
    }

    fn new(hour: u64, minute: i8, is_of_24: bool) -> Option<Self> {
        let half = if is_of_24 || hour == 0 || hour > 12 { Half::Told } else { Half::Any };
        let hour = i8::try_from(hour).ok().filter(|hour| *hour < 24)?;
        Some(Clock { hour, minute, second: 0, half, grain: Grain::Minute })
    }

    fn plus(self, minutes: i8) -> Option<Self> {
        let is_fit = self.minute == 0 && (1..60).contains(&minutes);
        is_fit.then_some(Clock { minute: minutes, grain: Grain::Minute, ..self })
    }

    fn minus(self, minutes: i8) -> Option<Self> {
        let hour = match (self.hour, self.half) {
            (1, Half::Any) => 12,
            (0, _) => 23,
            (hour, _) => hour - 1,
        };
        let half = if self.half == Half::Named { Half::Told } else { self.half };
        Clock { hour, half, ..self }.plus(60 - minutes)
    }

    /// In the half of the day that begins at an hour.
    fn halved(self, tokens: &[&str], begin: i8) -> Option<Self> {
        let is_fit = self.half != Half::Named && (1..=12).contains(&self.hour);
        // `quarter to twelve pm` is said of both halves, and `ten to six pm` of eight hours as well.
        let is_doubtful = tokens.contains(&"to")
            && (self.hour == 11
                || !tokens.iter().any(|token| matches!(*token, "quarter" | "minutes" | "twenty")));
        (is_fit && !is_doubtful).then_some(Clock { hour: self.hour % 12 + begin, half: Half::Told, ..self })
    }

    fn in_part(self, part: Part) -> Option<Self> {
        let (hour, next_day) = self.hour_in(part)?;
        (!next_day).then_some(Clock { hour, half: Half::Told, ..self })
    }

    fn at_night(self) -> Option<Self> {
        let hour = match (self.half, self.hour) {
            (Half::Any, hour @ 6..=11) => hour + 12,
            (Half::Any, 12) => 0,
            (Half::Any, hour @ 1..=4) => hour,
            (Half::Told, hour @ (0..=4 | 18..=23)) => hour,
            _ => return None,
        };
        Some(Clock { hour, half: Half::Told, ..self })
    }

    /// The hour in a part of a day, and whether it belongs to the day after.
    fn hour_in(self, part: Part) -> Option<(i8, bool)> {
        let hour = match (part, self.half, self.hour) {
            (Part::Morning, Half::Any, hour @ 1..=11) => hour,
            (Part::Afternoon, Half::Any, 12) => 12,
            (Part::Afternoon, Half::Any, hour @ 1..=6) => hour + 12,
            (Part::Evening, Half::Any, hour @ 4..=11) => hour + 12,
            (Part::Night, Half::Any, hour @ 5..=11) => hour + 12,
            (Part::Night, Half::Any, 12) | (Part::Night, _, 0) => return Some((0, true)),
            (Part::Morning, Half::Told, hour @ 1..=11) => hour,
            (Part::Afternoon, Half::Told, hour @ 12..=18) => hour,
            (Part::Evening, Half::Told, hour @ 16..=23) => hour,
            (Part::Night, Half::Told, hour @ 17..=23) => hour,
            _ => return None,
        };
        Some((hour, false))
    }

    pub(super) fn grain(&self) -> Grain {
        self.grain
    }

    /// Whether it is not said which half of the day is meant.
    pub(super) fn is_open(&self) -> bool {
        self.half == Half::Any
    }

    /// In the half of the day in which less time passes until another.
    pub(super) fn shortly_before(self, end: &Clock) -> Self {
        if self.half != Half::Any {
            return self;
        }
        let minutes = |hour: i8, minute: i8| 60 * i32::from(hour) + i32::from(minute);
        let until =
            |hour: &i8| (minutes(end.hour, end.minute) - minutes(*hour, self.minute) - 1).rem_euclid(1440);
        let hour = [self.hour % 12, self.hour % 12 + 12].into_iter().min_by_key(until).unwrap_or(self.hour);
        Clock { hour, half: Half::Told, ..self }
    }

    /// The first time after a moment at which clocks show it; `None` if they leave it out on that day.
    pub(super) fn next(&self, after: &Zoned) -> Option<Zoned> {
        let today = after.date();
        let days = [Some(today), today.tomorrow().ok(), today.tomorrow().and_then(Date::tomorrow).ok()];
        days.into_iter().flatten().find_map(|day| self.times_on(day, after)).flatten()
    }

    /// The first time on a day, after a moment.
    pub(super) fn on(&self, day: Date, after: &Zoned) -> Option<Zoned> {
        match (self.half, self.hour) {
            // At which end of the day midnight is, people do not agree.
            (Half::Named, 0) => None,
            // A day begins with the hour after midnight, but nobody calls that twelve without saying so.
            (Half::Any, 12) => Clock { half: Half::Told, ..*self }.on(day, after),
            _ => self.times_on(day, after).flatten(),
        }
    }

    /// At a time in a part of a day.
    pub(super) fn on_part(&self, day: Date, part: Part, now: &Zoned) -> Option<Zoned> {
        let (hour, next_day) = self.hour_in(part)?;
        let day = if next_day { day.tomorrow().ok()? } else { day };
        at(day.to_datetime(self.time(hour)?), now).into_iter().next()
    }

    fn time(&self, hour: i8) -> Option<Time> {
        Time::new(hour, self.minute, self.second, 0).ok()
    }

    /// The outer `None` is for a day on which it is over, the inner for one on which clocks leave it out.
    fn times_on(&self, day: Date, after: &Zoned) -> Option<Option<Zoned>> {
        let hours: &[i8] = match self.half {
            Half::Any => &[self.hour % 12, self.hour % 12 + 12],
            _ => &[self.hour],
        };
        for &hour in hours {
            let time = day.to_datetime(self.time(hour)?);
            let found = at(time, after);
            if found.is_empty() && time > after.datetime() {
                return Some(None);
            }
            if let Some(found) = found.into_iter().find(|found| found > after) {
                return Some(Some(found));
            }
        }
        None
    }
}

/// The moments at which clocks show a time: none where they are put forward, two where they are put back.
fn at(time: DateTime, like: &Zoned) -> Vec<Zoned> {
    let ambiguous = like.time_zone().to_ambiguous_zoned(time);
    if ambiguous.is_ambiguous() {
        let reject = ambiguous.clone().earlier().ok().filter(|earlier| earlier.datetime() == time);
        let later = ambiguous.later().ok().filter(|later| later.datetime() == time);
        return reject.into_iter().chain(later).collect();
    }
    ambiguous.compatible().ok().into_iter().collect()
}

/// The words before `past` and `to`.
fn minutes(tokens: &[&str]) -> Option<i8> {
    match tokens {
        ["half"] => Some(30),
        ["quarter"] | ["a", "quarter"] => Some(15),
        [count @ .., "minutes" | "minute" | "min"] | count => {
            cardinal(count).filter(|count| (1..60).contains(count)).map(|count| count as i8)
        }
    }
}

/// The words before `to`: `3 to 5` is rather two times.
fn minutes_to(tokens: &[&str]) -> Option<i8> {
    let count = minutes(tokens)?;
    let is_plain = match tokens {
        [.., "minutes" | "minute" | "min"] => true,
        [digits] if is_digits(digits) => count > 12,
        _ => count % 5 == 0 && count < 30,
    };
    is_plain.then_some(count)
}

fn two_digits(token: &str) -> Option<i8> {
    (is_whole(token) && token.len() == 2).then(|| token.parse().ok()).flatten().filter(|number| *number < 60)
}

/// `2015` is a year as well as a time.
fn is_year(code: &str) -> bool {
    matches!(code.get(..2), Some("19" | "20")) && code.len() == 4
}
