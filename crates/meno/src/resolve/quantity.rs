//! Money, temperatures and percentages: a number and what it counts.

use super::numbers::{cardinal, is_digits, number};

/// What an amount or a temperature is counted in, by the name of Duckling and by that of Snips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// `EUR`, `$`, `celsius`.
    pub duckling: &'static str,
    /// `€`, `$`, `celsius`.
    pub snips: &'static str,
}

const fn counted(duckling: &'static str, snips: &'static str) -> Counted {
    Counted { duckling, snips }
}

/// A dollar is not always a US dollar, nor a pound always one of Great Britain.
const DOLLAR: Counted = counted("$", "$");
const POUND: Counted = counted("£", "£");
const EURO: Counted = counted("EUR", "€");
const CENT: Counted = counted("cent", "cent");

const CURRENCIES: [(&[&str], Counted); 14] = [
    (&["$", "dollar", "dollars", "buck", "bucks"], DOLLAR),
    (&["usd"], counted("USD", "USD")),
    (&["£", "pound", "pounds", "quid"], POUND),
    (&["gbp"], counted("GBP", "GBP")),
    (&["€", "euro", "euros", "eur"], EURO),
    (&["¥"], counted("¥", "¥")),
    (&["yen", "jpy"], counted("JPY", "JPY")),
    (&["rupee", "rupees", "inr"], counted("INR", "INR")),
    (&["chf"], counted("CHF", "CHF")),
    (&["yuan", "cny"], counted("CNY", "CNY")),
    (&["cad"], counted("CAD", "CAD")),
    (&["aud"], counted("AUD", "AUD")),
    (&["cent", "cents"], CENT),
    (&["penny", "pence", "p"], counted("pence", "pence")),
];

const LANDS: [(&[&str], Counted); 4] = [
    (&["us", "dollar"], counted("USD", "USD")),
    (&["canadian", "dollar"], counted("CAD", "CAD")),
    (&["australian", "dollar"], counted("AUD", "AUD")),
    (&["swiss", "franc"], counted("CHF", "CHF")),
];

fn currency(tokens: &[&str]) -> Option<Counted> {
    match tokens {
        [one] => CURRENCIES.iter().find(|(names, _)| names.contains(one)).map(|(_, counted)| *counted),
        [land, what] => {
            let what = what.strip_suffix('s').unwrap_or(what);
            LANDS.iter().find(|(name, _)| *name == [*land, what]).map(|(_, counted)| *counted)
        }
        _ => None,
    }
}

fn is_small(counted: Counted) -> bool {
    matches!(counted.duckling, "cent" | "pence")
}

/// An amount of money; without a currency where none was said.
pub(super) fn amount(tokens: &[&str]) -> Option<(f64, Option<Counted>)> {
    let found = match tokens {
        [mark @ ("$" | "£" | "€" | "¥"), rest @ ..] if rest.first().is_some_and(|first| is_digits(first)) =>
        {
            let rest = rest.strip_suffix(&["dollars"]).unwrap_or(rest);
            (number(rest)?, currency(&[mark]))
        }
        [code, count @ ..] if code.len() == 3 && currency(&[code]).is_some() && !count.is_empty() => {
            (number(count)?, currency(&[code]))
        }
        _ => counted_amount(tokens).or_else(|| Some((number(tokens)?, None)))?,
    };
    (found.0 >= 0.0).then_some(found)
}

/// `20 euros`, `two pounds fifty`, `five dollars and twenty cents`.
fn counted_amount(tokens: &[&str]) -> Option<(f64, Option<Counted>)> {
    let at = (1..tokens.len()).find(|&at| {
        currency(&tokens[at..=at]).is_some() || currency(tokens.get(at..at + 2).unwrap_or(&[])).is_some()
    })?;
    let n_words = if currency(&tokens[at..=at]).is_some() { 1 } else { 2 };
    let unit = currency(&tokens[at..at + n_words])?;
    let whole = match &tokens[..at] {
        ["a" | "an"] => 1.0,
        ["half", "a"] => 0.5,
        ["half", "a", scale] => 0.5 * number(&["a", scale])?,
        count => number(count)?,
    };
    let rest = &tokens[at + n_words..];
    if rest.is_empty() {
        return Some((whole, Some(unit)));
    }
    let rest = rest.strip_prefix(&["and"]).unwrap_or(rest);
    let small = match rest.split_last()? {
        (last, count) if currency(&[last]).is_some_and(is_small) => cardinal(count)?,
        // `two pounds fifty`, but not `two pounds and fifty` or `two pounds five`.
        _ if rest.len() == tokens.len() - at - n_words => cardinal(rest).filter(|count| *count >= 10)?,
        _ => return None,
    };
    let is_fit = small < 100 && whole.fract() == 0.0 && !is_small(unit);
    is_fit.then_some(((whole * 100.0 + small as f64) / 100.0, Some(unit)))
}

/// A temperature; without a unit where none was said, `degree` where nothing but that was.
pub(super) fn temperature(tokens: &[&str]) -> Option<(f64, Option<Counted>)> {
    if let [rest @ .., "below", "zero"] = tokens {
        let (degrees, unit) = temperature(rest)?;
        return (degrees > 0.0).then_some((-degrees, unit));
    }
    let (rest, scale) = match tokens {
        [rest @ .., "celsius" | "centigrade" | "c"] => (rest, Some(counted("celsius", "celsius"))),
        [rest @ .., "fahrenheit" | "f"] => (rest, Some(counted("fahrenheit", "fahrenheit"))),
        [rest @ .., "kelvin" | "k"] => (rest, Some(counted("kelvin", "kelvin"))),
        rest => (rest, None),
    };
    match rest {
        [count @ .., "degrees" | "degree" | "°"] => {
            Some((number(count)?, Some(scale.unwrap_or(counted("degree", "degree")))))
        }
        count => Some((number(count)?, scale)),
    }
}

/// What was said in percent.
pub(super) fn percentage(tokens: &[&str]) -> Option<f64> {
    match tokens {
        [count @ .., "percent" | "%" | "pct"] | [count @ .., "per", "cent"] => number(count),
        _ => None,
    }
}
