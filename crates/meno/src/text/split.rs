//! Applies the habits of a corpus to a text.
//!
//! The text falls into pieces between spaces. Most are plain words and are copied. Of the others, a piece that
//! the corpus has is kept whole, with the marks around it taken off if need be (`St.,` where the corpus has
//! `st.`); the rest is read a character at a time, each mark treated by what stands on both sides of it.

use std::ops::Range;

use super::chars::{Class, class, lone_mark, plain};
use super::clusters::{begins, is_stacker, is_unspaced};
use super::{Case, Normalizer, Place, Tokens, Unspaced};

impl Normalizer {
    pub(super) fn split(&self, text: &str, tokens: &mut Tokens) {
        let bytes = text.as_bytes();
        let mut start = 0;
        while start < bytes.len() {
            if KINDS[bytes[start] as usize] == SPACE {
                start += 1;
                continue;
            }
            let mut kinds = 0;
            let mut end = start;
            while end < bytes.len() && KINDS[bytes[end] as usize] != SPACE {
                kinds |= KINDS[bytes[end] as usize];
                end += 1;
            }
            if self.is_plain(kinds) {
                tokens.words.push_str(&text[start..end]);
                let word = tokens.word_start();
                match self.settings.case {
                    Case::Lower => tokens.words[word..].make_ascii_lowercase(),
                    Case::Upper => tokens.words[word..].make_ascii_uppercase(),
                    Case::Keep => {}
                }
                tokens.close(start, end);
            } else {
                self.split_piece(text, start..end, tokens);
            }
            start = end;
        }
    }

    /// Whether a piece of these kinds of bytes is a word in which only the case may change.
    fn is_plain(&self, kinds: u8) -> bool {
        let meridiem = self.settings.split_meridiem && kinds & DIGIT != 0 && kinds & (LOWER | UPPER) != 0;
        let other_case = match self.settings.case {
            Case::Lower => UPPER,
            Case::Upper => LOWER,
            Case::Keep => 0,
        };
        kinds & OTHER == 0 && !meridiem && !(self.kept_is_cased && kinds & other_case != 0)
    }

    fn split_piece(&self, text: &str, piece: Range<usize>, tokens: &mut Tokens) {
        if self.keep(text, piece.clone(), tokens) {
            return;
        }
        if self.settings.lone_marks && self.is_lone_mark(&text[piece.clone()]) {
            tokens.words.push_str(&text[piece.clone()]);
            tokens.close(piece.start, piece.end);
            return;
        }
        match self.known_core(text, piece.clone(), tokens) {
            Some(core) => {
                Splitter::new(self, text, piece.start..core.start, tokens).run();
                self.keep(text, core.clone(), tokens);
                Splitter::new(self, text, core.end..piece.end, tokens).run();
            }
            None => {
                let first = tokens.len();
                Splitter::new(self, text, piece.clone(), tokens).run();
                if let Some(segmenter) = &self.segmenter
                    && text[piece].contains(is_unspaced)
                {
                    segmenter.join(tokens, first);
                }
            }
        }
    }

    /// Whether a piece is one mark, and not one that is a word anyway.
    fn is_lone_mark(&self, piece: &str) -> bool {
        lone_mark(piece).is_some_and(|mark| self.marks[mark as usize].edge != Place::Apart)
    }

    /// Makes a token of a kept word, in the first of these forms that is one: as typed, in the case of the
    /// corpus, with plain marks.
    fn keep(&self, text: &str, range: Range<usize>, tokens: &mut Tokens) -> bool {
        let Some(word) = self.kept_form(&text[range.clone()], tokens) else { return false };
        tokens.words.push_str(word);
        tokens.close(range.start, range.end);
        true
    }

    /// The end of `tokens.words` is the scratch space, to save an allocation.
    fn kept_form(&self, piece: &str, tokens: &mut Tokens) -> Option<&str> {
        let kept = |word: &str| self.settings.kept.get(word).map(String::as_str);
        if piece.is_empty() || piece.len() > self.longest_kept {
            return None;
        }
        if let Some(word) = kept(piece) {
            return Some(word);
        }
        for form in [|c| c, plain] {
            let scratch = tokens.words.len();
            piece.chars().for_each(|c| self.settings.case.push(form(c), &mut tokens.words));
            let cased = &tokens.words[scratch..];
            let word = if cased == piece { None } else { kept(cased) };
            tokens.words.truncate(scratch);
            if word.is_some() || piece.is_ascii() {
                return word;
            }
        }
        None
    }

    /// The kept word that is left of a piece without some of the marks around it: without as few as may be.
    ///
    /// No more than [`MARKS_KEPT`] marks on each side are taken to belong to a word, which bounds the search.
    fn known_core(&self, text: &str, piece: Range<usize>, tokens: &mut Tokens) -> Option<Range<usize>> {
        if self.settings.kept.is_empty() {
            return None;
        }
        let is_edge = |c: char| matches!(class(c), Class::Mark(_) | Class::Space | Class::Ignored);
        let inner = text[piece.clone()].trim_end_matches(is_edge);
        let end = piece.start + inner.len();
        let start = end - inner.trim_start_matches(is_edge).len();
        if start == end || (start..end) == piece {
            return None;
        }
        let mut starts = [start; MARKS_KEPT + 1];
        for (place, (at, _)) in starts[1..].iter_mut().zip(text[piece.start..start].char_indices().rev()) {
            *place = piece.start + at;
        }
        let mut ends = [end; MARKS_KEPT + 1];
        for (place, (at, c)) in ends[1..].iter_mut().zip(text[end..piece.end].char_indices()) {
            *place = end + at + c.len_utf8();
        }
        // Places that no mark fills repeat the innermost one; that core is looked up last, and once.
        let outermost_first = |places: [usize; MARKS_KEPT + 1]| {
            let inner = places[0];
            places.into_iter().skip(1).rev().filter(move |place| *place != inner).chain([inner])
        };
        outermost_first(ends)
            .flat_map(|end| outermost_first(starts).map(move |start| start..end))
            .filter(|core| *core != piece)
            .find(|core| self.kept_form(&text[core.clone()], tokens).is_some())
    }
}

/// How many marks on each side of a word can belong to it: `'n'`, `...and`.
const MARKS_KEPT: usize = 3;

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const OTHER: u8 = 8;
const SPACE: u8 = 16;

const KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b' ' | b'\t'..=b'\r' => SPACE,
            _ => OTHER,
        };
        byte += 1;
    }
    kinds
};

/// Reads a piece character by character.
struct Splitter<'a> {
    normalizer: &'a Normalizer,
    text: &'a str,
    piece: Range<usize>,
    tokens: &'a mut Tokens,
    /// The place of the word that is being written, in the text.
    open: Option<Range<usize>>,
    /// Whether that word is of symbols.
    is_symbol: bool,
    /// The character before, if it is part of a word; without accents.
    before: Option<char>,
    /// How many letters end there.
    n_letters: usize,
}

impl<'a> Splitter<'a> {
    fn new(normalizer: &'a Normalizer, text: &'a str, piece: Range<usize>, tokens: &'a mut Tokens) -> Self {
        Splitter { normalizer, text, piece, tokens, open: None, is_symbol: false, before: None, n_letters: 0 }
    }

    fn run(mut self) {
        let (text, piece) = (self.text, self.piece.clone());
        for (at, c) in text[piece.clone()].char_indices() {
            let char_span = piece.start + at..piece.start + at + c.len_utf8();
            match class(c) {
                Class::Word => self.word(c, char_span),
                Class::Mark(mark) => self.mark(mark, c, char_span),
                Class::Symbol => self.symbol(c, char_span),
                Class::Extend => self.extend(c, char_span),
                Class::Space => {
                    self.close();
                    self.forget();
                }
                Class::Ignored => {}
            }
        }
        self.close();
    }

    fn word(&mut self, c: char, char_span: Range<usize>) {
        let rest = &self.text[char_span.end..self.piece.end];
        if self.begins_cluster(c, rest) {
            self.close();
            self.forget();
        } else if self.is_symbol || self.begins_meridiem(c, rest) || self.begins_negation(c, rest) {
            self.close();
        }
        self.write(c, char_span);
        let c = plain(c);
        self.n_letters = if c.is_alphabetic() { self.n_letters + 1 } else { 0 };
        self.before = Some(c);
    }

    fn mark(&mut self, mark: char, c: char, char_span: Range<usize>) {
        let rest = &self.text[char_span.end..self.piece.end];
        match self.place(mark, rest) {
            Place::Attached if self.open.is_some() || rest.starts_with(char::is_alphanumeric) => {
                self.write(c, char_span);
            }
            // There is nothing that the mark could be attached to.
            Place::Attached | Place::Dropped => self.close(),
            Place::Joined => self.cover(char_span),
            Place::Apart
                if mark == '\'' && self.before.is_some() && rest.starts_with(char::is_alphanumeric) =>
            {
                if begins_with_clitic(rest) {
                    self.close();
                }
                self.write(c, char_span);
            }
            Place::Apart => {
                self.close();
                self.write(c, char_span);
                self.close();
            }
        }
        self.forget();
    }

    /// What becomes of a mark, by what stands on both sides of it.
    fn place(&self, mark: char, rest: &str) -> Place {
        let normalizer = self.normalizer;
        let places = normalizer.marks[mark as usize];
        let mut rest =
            rest.chars().filter(|&c| !matches!(class(c), Class::Extend | Class::Ignored)).map(plain);
        // Beside a cluster, which is a word of its own, a mark is at the edge.
        let is_inside = |c: &char| c.is_alphanumeric() && !(self.cuts_clusters() && is_unspaced(*c));
        let alphanumeric = |c: Option<char>| c.filter(is_inside);
        let (Some(before), Some(after)) = (alphanumeric(self.before), alphanumeric(rest.next())) else {
            return places.edge;
        };
        let is_letter = |c: char| c.is_alphabetic() && is_inside(&c);
        let single = self.n_letters == 1 && after.is_alphabetic() && !rest.next().is_some_and(is_letter);
        match mark {
            '.' if single => normalizer.settings.initials,
            _ if before.is_numeric() && after.is_numeric() => places.digits,
            _ => places.letters,
        }
    }

    fn symbol(&mut self, c: char, char_span: Range<usize>) {
        if !self.is_symbol {
            self.close();
        }
        self.write(c, char_span);
        self.is_symbol = true;
        self.forget();
    }

    /// Writes what goes with the character before it, or nothing if that was dropped.
    fn extend(&mut self, c: char, char_span: Range<usize>) {
        if self.open.is_some() || char_span.start == self.piece.start {
            self.write(c, char_span);
        }
    }

    /// Whether a word begins here because of [`super::Settings::split_meridiem`].
    fn begins_meridiem(&self, c: char, rest: &str) -> bool {
        self.normalizer.settings.split_meridiem
            && matches!(c, 'a' | 'A' | 'p' | 'P')
            && self.before.is_some_and(|before| before.is_ascii_digit())
            && ends_word(rest.strip_prefix('.').unwrap_or(rest), "m")
    }

    /// Whether the `n` of `n't` begins a word here.
    fn begins_negation(&self, c: char, rest: &str) -> bool {
        let mut after = rest.chars();
        matches!(c, 'n' | 'N')
            && self.normalizer.marks['\'' as usize].letters == Place::Apart
            && after.next().is_some_and(|c| plain(c) == '\'')
            && ends_word(after.as_str(), "t")
            && self.open.clone().is_none_or(|word| self.text[word].chars().all(char::is_alphabetic))
    }

    /// Whether a word begins here because of [`super::Settings::unspaced`].
    fn begins_cluster(&self, c: char, rest: &str) -> bool {
        let written = &self.tokens.words[self.tokens.word_start()..];
        let Some(last) = written.chars().next_back().filter(|_| self.cuts_clusters()) else { return false };
        match self.before {
            Some(before) => begins(if is_stacker(last) { last } else { before }, c, rest),
            None => is_unspaced(c),
        }
    }

    fn cuts_clusters(&self) -> bool {
        self.normalizer.settings.unspaced != Unspaced::Whole
    }

    /// What comes next is not beside a letter or a digit.
    fn forget(&mut self) {
        self.before = None;
        self.n_letters = 0;
    }

    /// Appends a character to the open word, or opens one with it.
    fn write(&mut self, c: char, char_span: Range<usize>) {
        self.cover(char_span);
        self.normalizer.settings.case.push(plain(c), &mut self.tokens.words);
    }

    /// Extends the open word's place over a character, or opens a word there.
    fn cover(&mut self, char_span: Range<usize>) {
        self.open.get_or_insert(char_span.clone()).end = char_span.end;
    }

    fn close(&mut self) {
        self.is_symbol = false;
        let Some(word) = self.open.take() else { return };
        if self.tokens.words.len() == self.tokens.word_start() {
            // Nothing but joined marks, such as a lone `$`.
            self.tokens.words.push_str(&self.text[word.clone()]);
        }
        self.tokens.close(word.start, word.end);
    }
}

fn begins_with_clitic(rest: &str) -> bool {
    ["s", "d", "m", "ll", "re", "ve"].iter().any(|clitic| ends_word(rest, clitic))
}

/// Whether `rest` is `ending`, in any case, up to the end of a word.
fn ends_word(rest: &str, ending: &str) -> bool {
    rest.get(..ending.len()).is_some_and(|start| start.eq_ignore_ascii_case(ending))
        && !rest[ending.len()..].starts_with(char::is_alphanumeric)
}
