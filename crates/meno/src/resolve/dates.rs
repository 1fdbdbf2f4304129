//! Days and longer stretches of the calendar: `friday`, `5th of may`, `next week`, `a week from friday`.

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

use super::calendar;
use super::duration::Lasting;
use super::numbers::{cardinal, is_whole, ordinal};

/// What a date is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stretch {
    Day(Date),
    /// From a day to one past the last.
    Days(Date, Date),
}

impl Stretch {
    pub(super) fn day(self) -> Option<Date> {
        match self {
            Stretch::Day(day) => Some(day),
            Stretch::Days(..) => None,
        }
    }

    /// Reads all of a phrase, as it is said on a day.
    pub(super) fn read(tokens: &[&str], today: Date) -> Option<Self> {
        let tokens = tokens.strip_suffix(&["'s"]).filter(|rest| *rest != ["new", "year"]).unwrap_or(tokens);
        let tokens = match tokens {
            ["the", rest @ ..] => rest,
            _ => tokens,
        };
        stretch(tokens, today).or_else(|| Some(Stretch::Day(day(tokens, today)?)))
    }
}

fn day(tokens: &[&str], today: Date) -> Option<Date> {
    match tokens {
        ["today"] => Some(today),
        ["tomorrow"] => today.tomorrow().ok(),
        ["yesterday"] => today.yesterday().ok(),
        ["day", "after", rest @ ..] => whole_day(rest, today)?.tomorrow().ok(),
        ["day", "before", rest @ ..] => whole_day(rest, today)?.yesterday().ok(),
        [year, "-", month, "-", day] | [year, "/", month, "/", day] => iso(year, month, day),
        _ => of_week(tokens, today)
            .or_else(|| of_month(tokens, today))
            .or_else(|| calendar::holiday(tokens, today))
            .or_else(|| counted(tokens, today)),
    }
}

/// A day that something is counted from.
fn whole_day(tokens: &[&str], today: Date) -> Option<Date> {
    Stretch::read(tokens, today)?.day()
}

fn iso(year: &str, month: &str, day: &str) -> Option<Date> {
    let is_fit = |text: &str, n: usize| is_whole(text) && text.len() == n;
    let is_iso = is_fit(year, 4) && is_fit(month, 2) && is_fit(day, 2);
    Date::new(year.parse().ok().filter(|_| is_iso)?, month.parse().ok()?, day.parse().ok()?).ok()
}

// --- weeks -----------------------------------------------------------------------------------------------

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "mon" => Weekday::Monday,
        "tuesday" | "tue" | "tues" => Weekday::Tuesday,
        "wednesday" | "wed" => Weekday::Wednesday,
        "thursday" | "thu" | "thur" | "thurs" => Weekday::Thursday,
        "friday" | "fri" => Weekday::Friday,
        "saturday" | "sat" => Weekday::Saturday,
        "sunday" | "sun" => Weekday::Sunday,
        _ => return None,
    })
}

fn monday(today: Date) -> Option<Date> {
    today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok()
}

/// A day of the week that is so many weeks after this one.
fn in_week(weekday: Weekday, n_weeks: i64, today: Date) -> Option<Date> {
    let days = 7 * n_weeks + i64::from(weekday.to_monday_zero_offset());
    monday(today)?.checked_add(days.days()).ok()
}

/// A bare weekday is the first after today.
fn of_week(tokens: &[&str], today: Date) -> Option<Date> {
    match tokens {
        [name] => today.nth_weekday(1, weekday(name)?).ok(),
        // Said on that very day it may be today or in a week.
        ["this", name] | ["this", "coming", name] | ["coming", name] => {
            let weekday = weekday(name).filter(|weekday| *weekday != today.weekday())?;
            today.nth_weekday(1, weekday).ok()
        }
        ["next", name] => in_week(weekday(name)?, 1, today),
        ["last", name] => today.nth_weekday(-1, weekday(name)?).ok(),
        [name, "next", "week"]
        | [name, "of", "next", "week"]
        | ["next", "week", name]
        | ["next", "week", "on", name] => in_week(weekday(name)?, 1, today),
        [name, "this", "week"] | [name, "of", "this", "week"] => in_week(weekday(name)?, 0, today),
        _ => None,
    }
}

// --- months ----------------------------------------------------------------------------------------------

pub(super) fn month(word: &str) -> Option<i8> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let is_short =
        |name: &&str| word.len() == 3 && name.starts_with(word) || word == "sept" && **name == *"september";
    let at = NAMES.iter().position(|name| *name == word || is_short(name))?;
    i8::try_from(at + 1).ok()
}

/// A day of a month, with the month or without, with the weekday or without.
fn of_month(tokens: &[&str], today: Date) -> Option<Date> {
    if let Some((name, rest)) = tokens.split_first()
        && let Some(weekday) = weekday(name)
    {
        let rest = rest.strip_prefix(&[","]).unwrap_or(rest);
        let rest = rest.strip_prefix(&["the"]).unwrap_or(rest);
        if let Some(number) = day_number(rest, false) {
            return next_with(today, |day| day.day() == number && day.weekday() == weekday);
        }
        return of_named_month(rest, today).filter(|day| day.weekday() == weekday);
    }
    match day_number(tokens, false) {
        Some(number) => next_with(today, |day| day.day() == number),
        None => of_named_month(tokens, today),
    }
}

/// The first day from today on that fits, within a year and some.
fn next_with(today: Date, fits: impl Fn(Date) -> bool) -> Option<Date> {
    today.series(1.day()).take(430).find(|day| fits(*day))
}

fn of_named_month(tokens: &[&str], today: Date) -> Option<Date> {
    // A year in words has at most four.
    (0..=tokens.len().min(4)).find_map(|n| {
        let (rest, last) = tokens.split_at(tokens.len() - n);
        let rest = if n > 0 { rest.strip_suffix(&[","]).unwrap_or(rest) } else { rest };
        let (month, number) = month_and_day(rest)?;
        match n {
            0 => calendar::next_yearly(month, number, today),
            _ => Date::new(year(last)?, month, number).ok(),
        }
    })
}

fn month_and_day(tokens: &[&str]) -> Option<(i8, i8)> {
    match tokens {
        [name, "the", number @ ..] => Some((month(name)?, day_number(number, false)?)),
        [name, number @ ..] if month(name).is_some() => Some((month(name)?, day_number(number, true)?)),
        [number @ .., "of", name] => Some((month(name)?, day_number(number, false)?)),
        [number @ .., name] => {
            let is_digits = matches!(number, [one] if is_whole(one));
            Some((month(name)?, day_number(number, is_digits)?))
        }
        _ => None,
    }
}

/// `5th`, `twenty first`, and where it may be `5` and `five`.
fn day_number(tokens: &[&str], may_be_cardinal: bool) -> Option<i8> {
    let number = ordinal(tokens).or_else(|| cardinal(tokens).filter(|_| may_be_cardinal))?;
    i8::try_from(number).ok().filter(|number| (1..=31).contains(number))
}

/// `2027`, `twenty twenty seven`, `two thousand and three`.
fn year(tokens: &[&str]) -> Option<i16> {
    let pair = |tokens: &[&str]| cardinal(tokens).filter(|number| (10..100).contains(number));
    let number = match tokens {
        [digits] if is_whole(digits) => digits.parse().ok().filter(|_| digits.len() == 4)?,
        [century @ ("nineteen" | "twenty"), rest @ ..] => 100 * cardinal(&[century])? + pair(rest)?,
        _ => cardinal(tokens)?,
    };
    i16::try_from(number).ok().filter(|year| (1900..2200).contains(year))
}

// --- stretches -------------------------------------------------------------------------------------------

fn stretch(tokens: &[&str], today: Date) -> Option<Stretch> {
    let from = |from: Date, span: Span| Some(Stretch::Days(from, from.checked_add(span).ok()?));
    let n_cycles = |word: &str| match word {
        "last" => Some(-1),
        "this" => Some(0),
        "next" => Some(1),
        _ => None,
    };
    match tokens {
        ["weekend"] => weekend(0, today),
        [which, "weekend"] => weekend(n_cycles(which)?, today),
        ["week", "after", "next"] => from(monday(today)?.checked_add(2.weeks()).ok()?, 1.week()),
        [which, "week"] => from(monday(today)?.checked_add(n_cycles(which)?.weeks()).ok()?, 1.week()),
        [which, "month"] => {
            from(today.first_of_month().checked_add(n_cycles(which)?.months()).ok()?, 1.month())
        }
        [which, "year"] => from(today.first_of_year().checked_add(n_cycles(which)?.years()).ok()?, 1.year()),
        // Said in that very month it may be this one or that of next year.
        [name] | ["this", name] if month(name).is_some_and(|month| month != today.month()) => {
            from(calendar::next_yearly(month(name)?, 1, today)?, 1.month())
        }
        [name, rest @ ..] if month(name).is_some() && year(rest).is_some() => {
            from(Date::new(year(rest)?, month(name)?, 1).ok()?, 1.month())
        }
        [digits] if is_whole(digits) => from(Date::new(year(tokens)?, 1, 1).ok()?, 1.year()),
        _ => None,
    }
}

/// Saturday and Sunday.
fn weekend(n_weeks: i64, today: Date) -> Option<Stretch> {
    let saturday = in_week(Weekday::Saturday, n_weeks, today)?;
    Some(Stretch::Days(saturday, saturday.checked_add(2.days()).ok()?))
}

// --- counting --------------------------------------------------------------------------------------------

/// So many days, weeks, months or years from a day.
fn counted(tokens: &[&str], today: Date) -> Option<Date> {
    let days = |tokens: &[&str]| Lasting::read(tokens).filter(Lasting::is_of_days)?.span();
    match tokens {
        ["in", count @ ..] | [count @ .., "from", "now"] => today.checked_add(days(count)?).ok(),
        [count @ .., "ago"] => today.checked_sub(days(count)?).ok(),
        _ => {
            let at = tokens.iter().position(|token| matches!(*token, "from" | "after" | "before"))?;
            let (span, day) = (days(&tokens[..at])?, whole_day(&tokens[at + 1..], today)?);
            match tokens[at] {
                "before" => day.checked_sub(span).ok(),
                _ => day.checked_add(span).ok(),
            }
        }
    }
}
