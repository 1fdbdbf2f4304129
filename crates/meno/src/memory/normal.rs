//! The words of a phrase or a text as memory compares them.
//!
//! A model's tokenizer is fitted to its corpus; concepts outlive models, so memory has one of its own. Words are in lower
//! case and composed (NFC); punctuation and spaces separate them; apostrophes are gone: `Rock ’n’ Roll` and `rock n roll`
//! are the same words. Each has a *stem* besides, under which it is looked up: without a possessive `'s` and, by the rules
//! of Harman's S stemmer (*How effective is suffixing?*, 1991), a plural `s`: `mix`, `mixes`, `mix's` and `mixes'` have
//! one stem. Where the words themselves differ, a match is not [exact](super::Found::exact). Scripts without spaces are
//! read in clusters, as in raw text, so that `東京` is found in `東京の天気`.
//!
//! Some corpora write `driver's` as `driver 's`, some as `driver s`. The first goes with the word before it; of the second
//! there are two readings, and a text is searched in both.

use unicode_normalization::UnicodeNormalization;

use crate::text::chars::{Class, class, plain};
use crate::text::clusters::{begins, space_between};

/// The form under which a phrase is compared: its words with one space between them, but none between clusters.
///
/// ```
/// assert_eq!(meno::memory::normal_form(" The “Driver’s” Mix! "), "the drivers mix");
/// ```
pub fn normal_form(phrase: &str) -> String {
    let words = Words::read(phrase, LoneS::Joined);
    let mut normal = String::new();
    let (mut before, mut end) = ("", 0);
    for word in words.iter() {
        let is_symbol = |word: &str| word.chars().any(|c| class(c) == Class::Symbol);
        let is_cluster = word.start == end
            && !space_between(before, word.normal)
            && !is_symbol(before)
            && !is_symbol(word.normal);
        if !normal.is_empty() && !is_cluster {
            normal.push(' ');
        }
        normal.push_str(word.normal);
        (before, end) = (word.normal, word.end);
    }
    normal
}

/// A word and its place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub(super) normal: &'a str,
    pub(super) stem: &'a str,
    /// The first byte.
    pub(super) start: usize,
    /// One past the last byte.
    pub(super) end: usize,
}

/// What becomes of an `s` between spaces, after a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoneS {
    /// It is a word: `play s club 7`.
    Apart,
    /// It ends the word before: `my driver s license`.
    Joined,
}

/// The words of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// The normal forms, one after the other, and so the stems.
    normals: String,
    stems: String,
    places: Vec<Placed>,
    /// Whether the other reading of [`LoneS`] would be another one.
    pub(super) has_lone_s: bool,
}

#[derive(Clone, Copy, Debug)]
struct Placed {
    normal_end: usize,
    stem_end: usize,
    start: usize,
    end: usize,
}

impl Words {
    pub(super) fn read(text: &str, lone_s: LoneS) -> Self {
        let mut words = Words::default();
        words.read_into(text, lone_s);
        words
    }

    /// As [`Words::read`], in the place of what was there: without allocation once it has grown.
    pub(super) fn read_into(&mut self, text: &str, lone_s: LoneS) {
        let mut reader = Reader { words: std::mem::take(self), lone_s, open: None, apostrophe: None };
        reader.words.normals.clear();
        reader.words.stems.clear();
        reader.words.places.clear();
        reader.words.has_lone_s = false;
        for (at, c) in text.char_indices() {
            reader.read(c, at..at + c.len_utf8(), &text[at + c.len_utf8()..]);
        }
        reader.close();
        *self = reader.words;
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Word<'_>> {
        let (mut normal_start, mut stem_start) = (0, 0);
        self.places.iter().map(move |placed| {
            let normal = &self.normals[normal_start..placed.normal_end];
            let stem = &self.stems[stem_start..placed.stem_end];
            (normal_start, stem_start) = (placed.normal_end, placed.stem_end);
            Word { normal, stem, start: placed.start, end: placed.end }
        })
    }
}

/// Reads a text character by character.
struct Reader {
    words: Words,
    lone_s: LoneS,
    /// The place of the word that is being written.
    open: Option<(usize, usize)>,
    /// Where an apostrophe stood last in the word that is being written, in bytes from its start.
    apostrophe: Option<usize>,
}

impl Reader {
    fn read(&mut self, c: char, at: std::ops::Range<usize>, rest: &str) {
        match class(c) {
            Class::Word => {
                let written = &self.words.normals[self.start()..];
                if written.chars().next_back().is_some_and(|before| begins(before, c, rest)) {
                    self.close();
                }
                self.write(plain(c), at);
            }
            Class::Extend if self.open.is_some() => self.write(c, at),
            Class::Mark('\'') => self.apostrophe = Some(self.length()),
            Class::Symbol => {
                self.close();
                self.write(c, at);
                self.close();
            }
            Class::Mark(_) | Class::Space => self.close(),
            Class::Extend | Class::Ignored => {}
        }
    }

    fn write(&mut self, c: char, at: std::ops::Range<usize>) {
        self.open.get_or_insert((at.start, at.end)).1 = at.end;
        if c.is_ascii() {
            self.words.normals.push(c.to_ascii_lowercase());
        } else {
            self.words.normals.extend(c.to_lowercase());
        }
    }

    /// Where the word that is being written begins.
    fn start(&self) -> usize {
        self.words.places.last().map_or(0, |placed| placed.normal_end)
    }

    fn length(&self) -> usize {
        self.words.normals.len() - self.start()
    }

    fn close(&mut self) {
        let apostrophe = self.apostrophe.take();
        let Some((start, end)) = self.open.take() else { return };
        let word_start = self.start();
        if !self.words.normals[word_start..].is_ascii() {
            let composed: String = self.words.normals[word_start..].nfc().collect();
            self.words.normals.truncate(word_start);
            self.words.normals.push_str(&composed);
        }
        let normal = &self.words.normals[word_start..];
        if normal == "s"
            && let Some(before) = self.words.places.last_mut()
        {
            let is_clitic = apostrophe == Some(0);
            self.words.has_lone_s |= !is_clitic;
            if is_clitic || self.lone_s == LoneS::Joined {
                (before.normal_end, before.end) = (self.words.normals.len(), end);
                return;
            }
        }
        let is_possessive = normal.ends_with('s') && apostrophe == Some(normal.len() - 1) && normal.len() > 1;
        let (stem, ending) = stem(&normal[..normal.len() - usize::from(is_possessive)]);
        self.words.stems.push_str(stem);
        self.words.stems.push_str(ending);
        let (normal_end, stem_end) = (self.words.normals.len(), self.words.stems.len());
        self.words.places.push(Placed { normal_end, stem_end, start, end });
    }
}

/// A word without its plural, in two parts. Words of three letters and less are left alone: `gas`, `his`.
fn stem(word: &str) -> (&str, &str) {
    if word.chars().nth(3).is_none() {
        return (word, "");
    }
    let singular = match word.strip_suffix('s') {
        Some(rest) if !rest.ends_with(['s', 'u']) => rest,
        _ => word,
    };
    if let Some(rest) = singular.strip_suffix("ie").filter(|rest| rest.len() > 1) {
        return (rest, "y");
    }
    // `mixes` has lost its `s` and `horse` has none: both stand without the `e`.
    let hisses = |rest: &str| ["s", "x", "z", "ch", "sh"].iter().any(|sound| rest.ends_with(sound));
    (singular.strip_suffix('e').filter(|rest| hisses(rest)).unwrap_or(singular), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let words = Words::read(text, LoneS::Apart);
        let shown: Vec<String> =
            words.iter().map(|w| format!("{}/{}@{}", w.normal, w.stem, &text[w.start..w.end])).collect();
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    #[test]
    fn reads_words() {
        check("", "");
        check("?! …", "");
        check(
            "Play 'Gimme Shelter', please!",
            "play/play@Play gimme/gimme@Gimme shelter/shelter@Shelter please/pleas@please",
        );
        check("rock ’n’ roll", "rock/rock@rock n/n@n roll/roll@roll");
        check("hip-hop AC/DC C++", "hip/hip@hip hop/hop@hop ac/ac@AC dc/dc@DC c++/c++@C++");
        check("don't", "dont/dont@don't");
        check("driver's mix", "drivers/driver@driver's mix/mix@mix");
        check("driver 's mix", "drivers/driver@driver 's mix/mix@mix");
        check("s club 7", "s/s@s club/club@club 7/7@7");
        check("'s", "s/s@s");
        check("I ❤️ it", "i/i@I ❤/❤@❤ it/it@it");
        check("東京の天気", "東/東@東 京/京@京 の/の@の 天/天@天 気/気@気");
        check("ตั้งเวลา 7โมง", "ตั้/ตั้@ตั้ ง/ง@ง เว/เว@เว ลา/ลา@ลา 7/7@7 โม/โม@โม ง/ง@ง");
    }

    #[test]
    fn letters_are_composed_and_small() {
        check("CAFE\u{301}", "café/café@CAFE\u{301}");
        assert_eq!(normal_form("CAFE\u{301}"), normal_form("café"));
        assert_eq!(normal_form("ＦＵＬＬ"), "full");
        assert_eq!(normal_form("東京 タワー♥7階"), "東京 タワー ♥ 7階");
    }

    #[test]
    fn a_lone_s_ends_a_word_or_is_one() {
        assert_eq!(normal_form("driver s mix"), normal_form("driver's mix"));
        assert_eq!(normal_form("s club 7"), "s club 7");
        assert!(Words::read("play s club", LoneS::Apart).has_lone_s);
        assert!(!Words::read("s driver's", LoneS::Apart).has_lone_s);
    }

    #[test]
    fn plurals_and_possessives_have_one_stem() {
        for group in [
            "mix mixes mix's mixes' mixs",
            "city cities city's",
            "movie movies",
            "bus buses bus's",
            "horse horses",
            "cache caches",
            "boss bosses boss's",
            "regret regrets",
            "menu menu's",
            "focus focuses focus's",
            "James James's James'",
        ] {
            let words = Words::read(group, LoneS::Apart);
            let first = words.iter().next().unwrap().stem;
            let different: Vec<_> = words.iter().filter(|word| word.stem != first).collect();
            assert!(different.is_empty(), "{group}: {first} but {different:?}");
        }
        for (one, other) in
            [("plan", "plane"), ("his", "hi"), ("part", "party"), ("pas", "pass"), ("on", "one")]
        {
            let stem_of = |word: &str| Words::read(word, LoneS::Apart).iter().next().unwrap().stem.to_owned();
            assert_ne!(stem_of(one), stem_of(other));
        }
    }
}
