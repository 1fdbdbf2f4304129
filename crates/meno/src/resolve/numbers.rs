//! Numbers and places in a row, in digits and in words.

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const SCALES: [(&str, u64); 4] =
    [("billion", 1_000_000_000), ("million", 1_000_000), ("thousand", 1_000), ("hundred", 100)];
/// Those that are not their cardinal and `th`.
const ORDINALS: [(&str, &str); 8] = [
    ("first", "one"),
    ("second", "two"),
    ("third", "three"),
    ("fifth", "five"),
    ("eighth", "eight"),
    ("ninth", "nine"),
    ("twelfth", "twelve"),
    ("tenth", "ten"),
];

/// A number, with its sign and fraction.
pub(super) fn number(tokens: &[&str]) -> Option<f64> {
    match tokens {
        ["minus" | "negative", rest @ ..] => unsigned(rest).map(|number| -number),
        [one] if one.starts_with('-') => digits(&one[1..]).map(|number| -number),
        _ => unsigned(tokens),
    }
}

fn unsigned(tokens: &[&str]) -> Option<f64> {
    match tokens {
        ["half"] | ["a" | "one", "half"] => Some(0.5),
        ["a" | "one", "quarter"] => Some(0.25),
        ["three", "quarters"] => Some(0.75),
        ["dozen"] | ["a", "dozen"] => Some(12.0),
        ["half", "a", "dozen"] => Some(6.0),
        ["a", "couple"] => Some(2.0),
        [whole @ .., "and", "a", part] => fraction(part).and_then(|part| Some(plain(whole)? + part)),
        [whole @ .., "and", "three", "quarters"] => Some(plain(whole)? + 0.75),
        [whole @ .., "dozen"] => Some(12.0 * cardinal(whole)? as f64),
        _ => plain(tokens).or_else(|| pointed(tokens)),
    }
}

/// What follows `and a`.
fn fraction(word: &str) -> Option<f64> {
    match word {
        "half" => Some(0.5),
        "quarter" => Some(0.25),
        _ => None,
    }
}

/// Digits, words, or digits before a scale: `3.5`, `twenty one`, `1.5 million`.
fn plain(tokens: &[&str]) -> Option<f64> {
    match tokens {
        [one] => digits(one).or_else(|| Some(cardinal(tokens)? as f64)),
        [count, scale] if is_digits(count) => Some(digits(count)? * scale_of(scale)? as f64),
        _ => Some(cardinal(tokens)? as f64),
    }
}

/// `three point one four`, `zero point five`.
fn pointed(tokens: &[&str]) -> Option<f64> {
    let at = tokens.iter().position(|token| *token == "point")?;
    let whole = if at == 0 { 0 } else { cardinal(&tokens[..at])? };
    let mut text = format!("{whole}.");
    for token in &tokens[at + 1..] {
        match *token {
            "oh" => text.push('0'),
            digit if is_whole(digit) && tokens.len() == at + 2 => text.push_str(digit),
            digit => text.push(char::from_digit(small(digit).filter(|digit| *digit < 10)? as u32, 10)?),
        }
    }
    (tokens.len() > at + 1).then(|| text.parse().ok()).flatten()
}

/// A whole number from 0 in digits or words.
pub(super) fn cardinal(tokens: &[&str]) -> Option<u64> {
    match tokens {
        [one] if is_whole(one) => digits(one).map(|number| number as u64),
        _ => in_words(tokens),
    }
}

/// A place in a row, from 1: `third`, `21st`, `one hundred and first`.
pub(super) fn ordinal(tokens: &[&str]) -> Option<u64> {
    let tokens = tokens.strip_prefix(&["the"]).unwrap_or(tokens);
    if let [number, suffix] = tokens
        && is_whole(number)
    {
        let number = digits(number)? as u64;
        return (number > 0 && *suffix == suffix_of(number)).then_some(number);
    }
    let (last, head) = tokens.split_last()?;
    let irregular =
        ORDINALS.iter().find(|(ordinal, _)| ordinal == last).map(|(_, cardinal)| (*cardinal).to_owned());
    let regular = || {
        let stem = last.strip_suffix("th")?;
        Some(stem.strip_suffix("ie").map_or_else(|| stem.to_owned(), |stem| format!("{stem}y")))
    };
    let cardinal = irregular.or_else(regular)?;
    let words: Vec<&str> = head.iter().copied().chain([cardinal.as_str()]).collect();
    in_words(&words).filter(|number| *number > 0)
}

fn suffix_of(number: u64) -> &'static str {
    match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

fn in_words(tokens: &[&str]) -> Option<u64> {
    for (name, size) in SCALES {
        if let Some(at) = tokens.iter().position(|token| *token == name) {
            let count = match &tokens[..at] {
                [] | ["a"] => 1,
                head => cardinal(head)?,
            };
            // `nineteen hundred`, but not `twenty hundred`.
            let is_fit = match name {
                "hundred" => count < 100 && !count.is_multiple_of(10),
                _ => (1..1000).contains(&count),
            };
            let rest = match &tokens[at + 1..] {
                [] => 0,
                ["and", rest @ ..] | rest => in_words(rest).filter(|rest| (1..size).contains(rest))?,
            };
            return is_fit.then(|| count * size + rest);
        }
    }
    match tokens {
        [one] => small(one).or_else(|| tens(one)),
        [ten, one] => Some(tens(ten)? + small(one).filter(|one| (1..10).contains(one))?),
        _ => None,
    }
}

fn small(word: &str) -> Option<u64> {
    SMALL.iter().position(|small| *small == word).map(|number| number as u64)
}

fn tens(word: &str) -> Option<u64> {
    let word = if word == "fourty" { "forty" } else { word };
    TENS.iter().position(|ten| *ten == word).map(|idx| 20 + 10 * idx as u64)
}

fn scale_of(word: &str) -> Option<u64> {
    SCALES.iter().find(|(name, _)| *name == word).map(|(_, size)| *size)
}

/// Whether a token is digits, perhaps with a point.
pub(super) fn is_digits(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a token is digits without a point.
pub(super) fn is_whole(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit())
}

/// `0730` is a code or a time of day, no number.
fn digits(token: &str) -> Option<f64> {
    let has_leading_zero = token.len() > 1 && token.starts_with('0') && !token.starts_with("0.");
    (is_digits(token) && !has_leading_zero).then(|| token.parse().ok()).flatten()
}
