//! Raw text with slots in it, to words and labels.
//!
//! Text that nobody has cut into words is read by the tokenizer that reads what users type, so that training and use
//! see the same words: `to [Katy](person).` is `to katy`, and so is `To Katy?`. A slot that begins or ends inside of a
//! word cuts it there (`[New York](city)s` is `new york s`), unless only marks would be left on one side: `$[5](sum)`
//! is `5`, as it is when a user types it. A slot or an utterance of nothing but marks keeps them as they are. Scripts
//! without spaces are cut into clusters ([`crate::text::clusters`]), so that a slot can begin and end wherever a word does.

use std::ops::Range;
use std::path::Path;

use super::finding::{Kind, Log};
use super::known::KnownValue;
use super::markup::Piece;
use super::{Corpus, Utterance};
use crate::text::Normalizer;

/// A slot by its place in the text, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) range: Range<usize>,
    pub(super) name: String,
}

impl Slot {
    /// A slot by its place in characters, or in UTF-16 code units if only these fit what the corpus says its text is.
    ///
    /// The end is exclusive. Tools disagree about the unit beyond the basic plane, where emoji are.
    pub(super) fn at(
        text: &str,
        (start, end): (usize, usize),
        name: &str,
        value: Option<&str>,
    ) -> Result<Slot, String> {
        let by_char = |_: char| 1;
        let ranges = [byte_range(text, start, end, by_char), byte_range(text, start, end, char::len_utf16)];
        let fits =
            |range: &Range<usize>| value.is_none_or(|value| text[range.clone()].trim() == value.trim());
        match ranges.into_iter().flatten().find(fits) {
            Some(range) => Ok(Slot { range, name: name.to_owned() }),
            None => Err(match value {
                Some(value) => format!("slot `{name}` (`{value}`) is not at {start}..{end} of `{text}`"),
                None => format!("slot `{name}` at {start}..{end} lies outside of `{text}`"),
            }),
        }
    }

    /// A slot by its place in UTF-16 code units.
    pub(super) fn at_utf16(text: &str, start: usize, end: usize, name: &str) -> Result<Slot, String> {
        match byte_range(text, start, end, char::len_utf16) {
            Some(range) => Ok(Slot { range, name: name.to_owned() }),
            None => Err(format!("slot `{name}` at {start}..{end} lies outside of `{text}`")),
        }
    }
}

/// The bytes of a place that is measured in other units.
fn byte_range(text: &str, start: usize, end: usize, units: impl Fn(char) -> usize) -> Option<Range<usize>> {
    let mut at = 0;
    let mut found = [None; 2];
    for (byte, c) in text.char_indices().chain([(text.len(), '\0')]) {
        for (place, wanted) in found.iter_mut().zip([start, end]) {
            if at == wanted {
                *place = Some(byte);
            }
        }
        at += units(c);
    }
    match found {
        [Some(start), Some(end)] if start <= end => Some(start..end),
        _ => None,
    }
}

/// Where the readers of raw text put what they find.
pub(super) struct Collector<'a> {
    path: &'a Path,
    log: &'a mut Log,
    normalizer: Normalizer,
    utterances: Vec<Utterance>,
    known_values: Vec<KnownValue>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(path: &'a Path, log: &'a mut Log) -> Self {
        let normalizer = Normalizer::raw();
        Collector { path, log, normalizer, utterances: Vec::new(), known_values: Vec::new() }
    }

    /// An utterance whose slots are places in its text.
    pub(super) fn text(&mut self, line: usize, intent: &str, text: &str, slots: Vec<Slot>) {
        match words(&self.normalizer, text, slots) {
            Ok((words, _)) if words.is_empty() => {
                self.log.add(self.path, line, Kind::EmptyLine, "no words in this utterance");
            }
            Ok((words, labels)) => {
                let intent = intent.to_owned();
                self.utterances.push(Utterance { words, labels, truth: None, intent, line });
            }
            Err(problem) => self.note(line, problem),
        }
    }

    /// An utterance in pieces.
    pub(super) fn pieces(&mut self, line: usize, intent: &str, pieces: &[Piece]) {
        let (text, slots) = join(pieces);
        self.text(line, intent, &text, slots);
    }

    /// Phrases that are values of slots, whatever the utterances say.
    pub(super) fn known_values(&mut self, known_values: impl IntoIterator<Item = KnownValue>) {
        self.known_values.extend(known_values.into_iter().filter(|value| !value.phrase.is_empty()));
    }

    /// A line that says nothing.
    pub(super) fn empty(&mut self, line: usize, problem: &str) {
        self.log.add(self.path, line, Kind::EmptyLine, problem);
    }

    /// What makes the file unreadable.
    pub(super) fn note(&mut self, line: usize, problem: impl Into<String>) {
        self.log.add(self.path, line, Kind::Syntax, problem);
    }

    /// What is likely a slip of the pen.
    pub(super) fn suspect(&mut self, line: usize, problem: impl Into<String>) {
        self.log.add(self.path, line, Kind::Markup, problem);
    }

    pub(super) fn finish(self) -> Corpus {
        let Collector { path, utterances, mut known_values, normalizer, .. } = self;
        let mut corpus = Corpus { path: path.to_owned(), utterances, raw: true, ..Corpus::default() };
        KnownValue::settle(&mut known_values, corpus.annotated(), &normalizer);
        corpus.known_values = known_values;
        corpus
    }
}

/// The text that pieces make, and the places of their slots.
pub(super) fn join(pieces: &[Piece]) -> (String, Vec<Slot>) {
    let mut text = String::new();
    let mut slots = Vec::new();
    for piece in pieces {
        let start = text.len();
        text += &piece.text;
        slots.extend(piece.slot.clone().map(|name| Slot { range: start..text.len(), name }));
    }
    (text, slots)
}

/// The words and labels of a text; a slot without a name or without text, and slots that overlap, are errors.
pub(super) fn words(
    normalizer: &Normalizer,
    text: &str,
    mut slots: Vec<Slot>,
) -> Result<(Vec<String>, Vec<String>), String> {
    slots.sort_by_key(|slot| slot.range.start);
    demand_places(text, &slots)?;
    let mut found = Words { normalizer, text, slots: &slots, words: Vec::new() };
    for token in normalizer.read(text).iter() {
        found.token(token.word, token.start..token.end);
    }
    found.keep_marks();
    let mut labels = Vec::with_capacity(found.words.len());
    let mut before = None;
    for word in &found.words {
        labels.push(match word.slot {
            None => "O".to_owned(),
            Some(slot) if before == Some(slot) => format!("I-{}", slots[slot].name),
            Some(slot) => format!("B-{}", slots[slot].name),
        });
        before = word.slot;
    }
    Ok((found.words.into_iter().map(|word| word.word).collect(), labels))
}

fn demand_places(text: &str, slots: &[Slot]) -> Result<(), String> {
    let mut end = 0;
    for Slot { range, name } in slots {
        let Some(value) = text.get(range.clone()) else {
            return Err(format!("slot `{name}` lies outside of the text, or inside of a character"));
        };
        if name.is_empty() {
            return Err(format!("`{value}` is marked with an empty slot"));
        }
        if value.trim().is_empty() {
            return Err(format!("slot `{name}` holds no word"));
        }
        if range.start < end {
            return Err(format!("slot `{name}` (`{value}`) begins inside of another"));
        }
        end = range.end;
    }
    Ok(())
}

struct Word {
    start: usize,
    word: String,
    slot: Option<usize>,
}

struct Words<'a> {
    normalizer: &'a Normalizer,
    text: &'a str,
    slots: &'a [Slot],
    words: Vec<Word>,
}

impl Words<'_> {
    fn token(&mut self, word: &str, token_span: Range<usize>) {
        let parts = self.parts(token_span);
        let has_letters =
            |part: &&(Range<usize>, _)| self.text[part.0.clone()].contains(|c: char| c.is_alphanumeric());
        let mut with_letters = parts.iter().filter(has_letters);
        let whole = match (parts.as_slice(), with_letters.next(), with_letters.next()) {
            ([part], ..) | (_, Some(part), None) => Some(part.clone()),
            _ => None,
        };
        if let Some((range, slot)) = whole {
            self.words.push(Word { start: range.start, word: word.to_owned(), slot });
            return;
        }
        for (range, slot) in parts {
            for token in self.normalizer.read(&self.text[range.clone()]).iter() {
                let start = range.start + token.start;
                self.words.push(Word { start, word: token.word.to_owned(), slot });
            }
        }
    }

    /// A token cut where slots begin and end.
    fn parts(&self, token_span: Range<usize>) -> Vec<(Range<usize>, Option<usize>)> {
        let mut parts = Vec::new();
        let mut at = token_span.start;
        let first = self.slots.partition_point(|slot| slot.range.end <= at);
        for (slot_idx, slot) in self.slots.iter().enumerate().skip(first) {
            if slot.range.start >= token_span.end {
                break;
            }
            if at < slot.range.start {
                parts.push((at..slot.range.start, None));
                at = slot.range.start;
            }
            let end = slot.range.end.min(token_span.end);
            parts.push((at..end, Some(slot_idx)));
            at = end;
        }
        if at < token_span.end {
            parts.push((at..token_span.end, None));
        }
        parts
    }

    /// Gives the slots, and the text, that the tokenizer found no word in the words that white space makes.
    fn keep_marks(&mut self) {
        let mut filled = vec![false; self.slots.len()];
        self.words.iter().filter_map(|word| word.slot).for_each(|slot| filled[slot] = true);
        let n_before = self.words.len();
        for (slot_idx, slot) in self.slots.iter().enumerate().filter(|(slot_idx, _)| !filled[*slot_idx]) {
            self.push_between_spaces(slot.range.clone(), Some(slot_idx));
        }
        if self.words.is_empty() {
            self.push_between_spaces(0..self.text.len(), None);
        }
        if self.words.len() > n_before {
            self.words.sort_by_key(|word| word.start);
        }
    }

    fn push_between_spaces(&mut self, range: Range<usize>, slot: Option<usize>) {
        let text = self.text;
        for word in text[range].split_whitespace() {
            let start = word.as_ptr().addr() - text.as_ptr().addr();
            self.words.push(Word { start, word: word.to_owned(), slot });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots as `[text|slot]`, in the text and in what is expected.
    fn check(marked: &str, expected: &str) {
        let (text, slots) = join(&unmark(marked));
        let (words, labels) = words(&Normalizer::default(), &text, slots).unwrap();
        let corpus = Corpus {
            utterances: vec![Utterance { words, labels, ..Utterance::default() }],
            ..Corpus::default()
        };
        assert_eq!(super::super::tests::compact(&corpus).trim(), format!("0  {expected}"), "{marked}");
    }

    fn unmark(marked: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for part in marked.split('[') {
            let Some((slot, after)) = part.split_once(']') else {
                pieces.push(Piece::plain(part));
                continue;
            };
            let (text, slot) = slot.rsplit_once('|').unwrap();
            pieces.push(Piece { text: text.to_owned(), slot: Some(slot.to_owned()) });
            pieces.push(Piece::plain(after));
        }
        pieces
    }

    #[test]
    fn reads_as_users_are_read() {
        check("Transfer money to [Katy|person].", "transfer money to [katy|person]");
        check("transfer money to [Katy.|person]", "transfer money to [katy|person]");
        check("to [New  York|city]s, now!", "to [new york|city] s now");
        check("[a|x][b|x] [c|x]", "[a|x] [b|x] [c|x]");
        check("at [5|hour]:[30|minute] o'clock", "at [5|hour] [30|minute] o'clock");
        check("$[5|sum] and [5|sum]% of [1,000|sum]", "[5|sum] and [5|sum] of [1000|sum]");
        check("[Bob|person]'s car, isn't it?", "[bob|person] s car isn't it");
    }

    #[test]
    fn keeps_what_is_nothing_but_marks() {
        check("???", "???");
        check("put [!|mark] here", "put [!|mark] here");
        check("[...|mark]", "[...|mark]");
    }

    #[test]
    fn marks_capitals_and_fillers_leave_the_words_alone() {
        for marked in ["send it to [Katy|person]", "in [New York|city]", "[the blue lamp|device] on"] {
            let (text, slots) = join(&unmark(marked));
            let normalizer = Normalizer::default();
            let expected = words(&normalizer, &text, slots).unwrap();
            for (before, after) in [("", "?"), ("", "."), ("", "!"), ("", "..."), ("\"", "\""), ("(", " )")] {
                let (text, mut slots) = join(&unmark(marked));
                let shift = before.len();
                slots
                    .iter_mut()
                    .for_each(|slot| slot.range = slot.range.start + shift..slot.range.end + shift);
                for text in [text.clone(), text.to_uppercase()] {
                    let text = format!("{before}{text}{after}");
                    assert_eq!(words(&normalizer, &text, slots.clone()).unwrap(), expected, "{text}");
                }
            }
        }
    }

    #[test]
    fn finds_places_in_other_units() {
        let text = "é 😀 bob";
        let check = |found: Result<Slot, String>| assert_eq!(&text[found.unwrap().range], "bob");
        check(Slot::at(text, (4, 7), "x", Some("bob")));
        check(Slot::at(text, (5, 8), "x", Some("bob")));
        check(Slot::at(text, (4, 7), "x", None));
        check(Slot::at_utf16(text, 5, 8, "x"));
        assert!(Slot::at(text, (4, 9), "x", None).is_err());
        assert!(Slot::at(text, (4, 7), "x", Some("joe")).is_err());
    }

    #[test]
    fn refuses_bad_places() {
        let check = |slots: &[(Range<usize>, &str)], problem: &str| {
            let slots =
                slots.iter().map(|(range, name)| Slot { range: range.clone(), name: (*name).to_owned() });
            let found = words(&Normalizer::default(), "a bé c", slots.collect()).unwrap_err();
            assert_eq!(found, problem);
        };
        check(&[(0..20, "x")], "slot `x` lies outside of the text, or inside of a character");
        check(&[(0..4, "x")], "slot `x` lies outside of the text, or inside of a character");
        check(&[(2..3, "x"), (0..3, "y")], "slot `x` (`b`) begins inside of another");
        check(&[(1..2, "x")], "slot `x` holds no word");
        check(&[(0..1, "")], "`a` is marked with an empty slot");
    }
}
