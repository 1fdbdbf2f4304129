//! Days that come back every year.

use jiff::ToSpan;
use jiff::civil::Date;

/// The next day with a name, from today on.
pub(super) fn holiday(tokens: &[&str], today: Date) -> Option<Date> {
    let tokens = match tokens {
        ["this", rest @ ..] => rest,
        _ => tokens,
    };
    // Possessives are written in many ways, and `day` is often left out.
    let words: Vec<&str> = tokens.iter().copied().filter(|token| *token != "'s").collect();
    let (month, day) = match words[..] {
        ["christmas" | "xmas"] | ["christmas" | "xmas", "day"] => (12, 25),
        ["christmas" | "xmas", "eve"] => (12, 24),
        ["boxing", "day"] => (12, 26),
        ["new", "year" | "years", "eve"] => (12, 31),
        ["new", "year" | "years", "day"] => (1, 1),
        ["valentine" | "valentines", "day"] | ["valentines"] => (2, 14),
        ["st" | "saint", "patrick" | "patricks", "day"] => (3, 17),
        ["april", "fool" | "fools", "day"] => (4, 1),
        ["halloween"] => (10, 31),
        _ => return near_easter(&words, today),
    };
    next_yearly(month, day, today)
}

/// The next such day of a month, from today on.
pub(super) fn next_yearly(month: i8, day: i8, today: Date) -> Option<Date> {
    // The 29th of February may be eight years away.
    let dates = (0..=8).filter_map(|n| Date::new(today.year().checked_add(n)?, month, day).ok());
    dates.into_iter().find(|date| *date >= today)
}

fn near_easter(words: &[&str], today: Date) -> Option<Date> {
    let days = match words {
        ["good", "friday"] => -2,
        ["easter"] | ["easter", "sunday"] => 0,
        ["easter", "monday"] => 1,
        _ => return None,
    };
    let in_year = |n: i16| easter(today.year().checked_add(n)?)?.checked_add(i64::from(days).days()).ok();
    (0..=1).filter_map(in_year).find(|date| *date >= today)
}

/// Easter Sunday of the western churches: the algorithm of Meeus, Jones and Butcher.
fn easter(year: i16) -> Option<Date> {
    let year_number = i32::from(year);
    let (a, b, c) = (year_number % 19, year_number / 100, year_number % 100);
    let (d, e) = (b / 4, b % 4);
    let g = (8 * b + 13) / 25;
    let h = (19 * a + b - d - g + 15) % 30;
    let (i, k) = (c / 4, c % 4);
    let l = (32 + 2 * e + 2 * i - h - k) % 7;
    let m = (a + 11 * h + 19 * l) / 433;
    let month = (h + l - 7 * m + 90) / 25;
    let day = (h + l - 7 * m + 33 * month + 19) % 32;
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}
