//! Text as people type it to words of a tree: punctuation marks are words of their own.

use std::ops::Range;

/// Marks that are cut off at the beginning of a word.
const OPENING: &str = "\"“”‘([{<«¿¡—–";
/// Marks that are cut off at its end.
const CLOSING: &str = "\"“”)]}>»,;:!?…—–";
/// Words that end with a full stop.
const ABBREVIATIONS: [&str; 14] =
    ["mr", "mrs", "ms", "dr", "st", "jr", "sr", "vs", "prof", "inc", "ltd", "co", "ft", "mt"];

/// The places of the words in a text, in bytes, in rising order.
///
/// Clitics stay with their word; [`super::SyntaxWorker::parse`] splits them.
pub fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            cut(text, start..at, &mut words);
            start = at + c.len_utf8();
        }
    }
    cut(text, start..text.len(), &mut words);
    words
}

/// Cuts marks off what stands between two spaces.
fn cut(text: &str, Range { mut start, mut end }: Range<usize>, words: &mut Vec<Range<usize>>) {
    while let Some(mark) = text[start..end].chars().next().filter(|&c| OPENING.contains(c)) {
        words.push(start..start + mark.len_utf8());
        start += mark.len_utf8();
    }
    let mut marks = Vec::new();
    while let Some(mark) = text[start..end].chars().next_back() {
        let at = end - mark.len_utf8();
        let is_cut = CLOSING.contains(mark) || mark == '.' && !is_abbreviation(&text[start..at]);
        if !is_cut {
            break;
        }
        // `...` is one mark.
        match marks.last_mut() {
            Some(Range { start: first, .. }) if mark == '.' && text[*first..].starts_with('.') => *first = at,
            _ => marks.push(at..end),
        }
        end = at;
    }
    if start < end {
        words.push(start..end);
    }
    words.extend(marks.into_iter().rev());
}

/// Whether a full stop after it belongs to it.
fn is_abbreviation(stem: &str) -> bool {
    let is_single = stem.len() == 1 && stem.as_bytes()[0].is_ascii_alphabetic() && stem != "I" && stem != "i";
    let is_dotted = stem.contains('.') && stem.split('.').all(|part| part.chars().count() == 1);
    is_single || is_dotted || ABBREVIATIONS.iter().any(|known| known.eq_ignore_ascii_case(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = words(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn marks_are_words() {
        check("Play 'Gimme Shelter', please!", &["Play", "'Gimme", "Shelter'", ",", "please", "!"]);
        check(
            "Wake me at 5:30 a.m. (tomorrow).",
            &["Wake", "me", "at", "5:30", "a.m.", "(", "tomorrow", ")", "."],
        );
        check("St. Paul... really?!", &["St.", "Paul", "...", "really", "?", "!"]);
        check("\"Hey\"", &["\"", "Hey", "\""]);
    }

    #[test]
    fn odd_text_has_words_too() {
        check("", &[]);
        check(" \t\u{a0}\n", &[]);
        check("...", &["..."]);
        check("🎵 日本語。 \u{0}", &["🎵", "日本語。", "\u{0}"]);
    }
}
