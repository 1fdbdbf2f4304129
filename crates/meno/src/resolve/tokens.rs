//! The words, numbers and marks of a phrase.
//!
//! A number is digits with at most one decimal point (`1,000` is `1000`) and the minus that stands right before it, a word is
//! letters, a mark is one character. What a grammar could not account for ends it here: a phrase is read whole or not at all.

/// Nobody names a value in more words.
const MAX_TOKENS: usize = 20;
/// Nor in more bytes.
const MAX_BYTES: usize = 160;

/// The tokens of a phrase, in small letters; `None` if it is too long or has a character that stands in no value.
pub(super) fn tokens(phrase: &str) -> Option<Vec<String>> {
    if phrase.len() > MAX_BYTES {
        return None;
    }
    let phrase = phrase.to_lowercase().replace(['’', '‘', '`'], "'").replace('−', "-");
    let phrase = phrase.trim_end_matches(|c: char| c.is_whitespace() || ".,!?;".contains(c));
    let chars: Vec<char> = phrase.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let (token, n) = next(&chars[at..], before)?;
        at += n;
        found.extend(token);
    }
    (1..=MAX_TOKENS).contains(&found.len()).then_some(found)
}

/// The token at the beginning, if it is one, and how many characters it takes.
fn next(chars: &[char], before: Option<char>) -> Option<(Option<String>, usize)> {
    let first = *chars.first()?;
    let second = chars.get(1).copied();
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase());
    match first {
        c if c.is_whitespace() => Some((None, 1)),
        'a'..='z' => Some(word(chars)),
        '0'..='9' => number(chars).map(|(number, n)| (Some(number), n)),
        '\'' if second == Some('s') && !is_letter(chars.get(2).copied()) => Some((Some("'s".to_owned()), 2)),
        // `new years' eve`
        '\'' if before == Some('s') => Some((None, 1)),
        '-' if is_digit(second) && before.is_none_or(|c| c.is_whitespace() || c == '$') => {
            number(&chars[1..]).map(|(number, n)| (Some(format!("-{number}")), n + 1))
        }
        // `twenty-five`, `30-minute`, `5-may`
        '-' if is_letter(before) && (is_letter(second) || is_digit(second)) => Some((None, 1)),
        '-' if is_digit(before) && is_letter(second) => Some((None, 1)),
        '–' => Some((Some("-".to_owned()), 1)),
        '-' | ':' | '/' | ',' | '$' | '£' | '€' | '¥' | '%' | '°' => Some((Some(first.to_string()), 1)),
        _ => None,
    }
}

/// Letters, and the points and apostrophes between and after them: `a.m.`, `o'clock`.
fn word(chars: &[char]) -> (Option<String>, usize) {
    let mut word = String::new();
    let mut n = 0;
    while let Some(&c) = chars.get(n) {
        let after = chars.get(n + 1).copied();
        let is_possessive = after == Some('s') && !chars.get(n + 2).is_some_and(char::is_ascii_lowercase);
        match c {
            'a'..='z' => word.push(c),
            '.' => {}
            '\'' if after.is_some_and(|c| c.is_ascii_lowercase()) && !is_possessive => {}
            _ => break,
        }
        n += 1;
    }
    (Some(word), n)
}

fn number(chars: &[char]) -> Option<(String, usize)> {
    let digits = |from: usize| chars[from..].iter().take_while(|c| c.is_ascii_digit()).count();
    let first = digits(0);
    let mut n = first;
    let mut number: String = chars[..n].iter().collect();
    // Groups of three after one to three digits.
    while first <= 3 && chars.get(n) == Some(&',') && digits(n + 1) == 3 {
        number.extend(&chars[n + 1..n + 4]);
        n += 4;
    }
    if chars.get(n) == Some(&'.') && digits(n + 1) > 0 {
        let end = n + 1 + digits(n + 1);
        number.extend(&chars[n..end]);
        n = end;
    }
    let goes_on = chars.get(n) == Some(&'.') && digits(n + 1) > 0;
    (number.len() <= 15 && !goes_on).then_some((number, n))
}
