//! The words of an answer, and set phrases among them.

use std::ops::Range;

use crate::dialogue::phrasebook::Hear;

/// A word of a text in lower case, and where it stands.
pub(super) struct Word {
    pub(super) form: String,
    pub(super) place: Range<usize>,
    /// Whether a mark stands between it and the word before.
    pub(super) after_mark: bool,
}

pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for piece in text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '…')) {
        let trimmed = piece.trim_matches(|c: char| !c.is_alphanumeric());
        if !trimmed.is_empty() {
            // Both are slices of the text.
            let start = trimmed.as_ptr() as usize - text.as_ptr() as usize;
            let form = trimmed.to_lowercase().replace('’', "'");
            let before = words.last().map_or(0, |word: &Word| word.place.end);
            let after_mark = text[before..start].contains([',', ';', '.', '!', '?', ':', '…']);
            words.push(Word { form, place: start..start + trimmed.len(), after_mark });
        }
    }
    words
}

/// Whether words begin as people begin to teach: `remember that`.
pub(super) fn is_led(hear: &Hear, forms: &[&str]) -> bool {
    hear.teach.iter().any(|lead| forms_begin(forms, lead))
}

pub(super) fn forms_begin(forms: &[&str], phrase: &str) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    forms.starts_with(&phrase)
}

/// Whether the words are one of these phrases, with nothing but fillers around it.
pub(super) fn is_all(forms: &[&str], phrases: &[String], fillers: &[String]) -> bool {
    phrases.iter().any(|phrase| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        forms.windows(phrase.len()).enumerate().any(|(start, window)| {
            let mut around = forms[..start].iter().chain(&forms[start + phrase.len()..]);
            window == phrase && around.all(|form| fillers.iter().any(|filler| filler == form))
        })
    })
}

/// The end of the first of these phrases that stands in the words.
pub(super) fn find_phrase(forms: &[&str], phrases: &[String]) -> Option<usize> {
    (0..forms.len()).find_map(|start| {
        let ends = phrases.iter().filter_map(|phrase| {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            forms[start..].starts_with(&phrase).then_some(start + phrase.len())
        });
        ends.max()
    })
}

/// Whether the words begin with some of these phrases, and what follows them.
pub(super) fn without_lead<'f, 'w>(mut forms: &'f [&'w str], phrases: &[String]) -> (bool, &'f [&'w str]) {
    let n_before = forms.len();
    loop {
        let lengths = phrases.iter().filter_map(|phrase| {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            forms.starts_with(&phrase).then_some(phrase.len())
        });
        match lengths.max() {
            Some(length) => forms = &forms[length..],
            None => return (forms.len() < n_before, forms),
        }
    }
}
