//! What an answer to a question means.

use std::ops::Range;

use super::phrasebook::{Hear, Phrasebook};

/// What a person answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing at all.
    Empty,
    /// The request is to be dropped.
    Cancel,
    Yes,
    No,
    /// This known slot type.
    Type(String),
    /// A slot type that is not known, said in so many words.
    NewType(String),
    /// Perhaps a slot type that is not known.
    PerhapsType(String),
    /// The phrase is another name for this.
    Alias(String),
    /// The phrase is this part of the request, in bytes; and what it is, if that was said too.
    Boundaries(Range<usize>, Option<String>),
    /// None of these.
    Unclear,
}

/// What an answer is read against.
pub(super) struct Asked<'a> {
    /// The utterance that the question is about.
    pub request: &'a str,
    /// The words in question, in bytes of it.
    pub phrase: Range<usize>,
    /// The types that were offered, in their order.
    pub options: &'a [String],
    /// All types.
    pub types: &'a [String],
    pub book: &'a Phrasebook,
}

/// Nobody answers at such length, and reading takes time with the square of it.
const MAX_WORDS: usize = 40;

/// A longer name of a type is not believed.
const MAX_TYPE: usize = 40;

/// A word of a text in lower case, and where it stands.
struct Word {
    form: String,
    place: Range<usize>,
}

fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for piece in text.split_whitespace() {
        let trimmed = piece.trim_matches(|c: char| !c.is_alphanumeric());
        if !trimmed.is_empty() {
            // Both are slices of the text.
            let start = trimmed.as_ptr() as usize - text.as_ptr() as usize;
            let form = trimmed.to_lowercase().replace('’', "'");
            words.push(Word { form, place: start..start + trimmed.len() });
        }
    }
    words
}

impl Asked<'_> {
    /// What an answer means.
    pub(super) fn understand(&self, text: &str) -> Answer {
        let words = words(text);
        let forms: Vec<&str> = words.iter().map(|word| word.form.as_str()).collect();
        let hear = &self.book.hear;
        if forms.is_empty() {
            return Answer::Empty;
        }
        if forms.len() > MAX_WORDS {
            return Answer::Unclear;
        }
        if is_all(&forms, &hear.cancel, &hear.filler) {
            return Answer::Cancel;
        }
        if let Some(boundaries) = self.boundaries(&words) {
            return boundaries;
        }
        if let Some(end) = find_phrase(&forms, &hear.alias) {
            return alias(text, &words[end..], hear);
        }
        let (is_no, forms) = without_lead(&forms, &hear.no);
        let (is_yes, forms) = without_lead(forms, &hear.yes);
        if forms.iter().all(|form| hear.filler.iter().any(|filler| filler == form)) && (is_yes || is_no) {
            return if is_no { Answer::No } else { Answer::Yes };
        }
        if let Some(idx) = self.number(forms) {
            return self.options.get(idx).cloned().map_or(Answer::Unclear, Answer::Type);
        }
        self.named(forms).map_or_else(|| self.new_type(forms), Answer::Type)
    }

    /// `2`, `the second one`: a number from 0.
    fn number(&self, forms: &[&str]) -> Option<usize> {
        let hear = &self.book.hear;
        let is_filler = |form: &&&str| hear.filler.iter().any(|filler| filler == **form);
        let is_number =
            |form: &str| hear.number.iter().position(|names| names.iter().any(|name| name == form));
        // `one` is both: alone it is a number.
        let said: Vec<&&str> = forms.iter().filter(|form| !is_filler(form)).collect();
        match (said.as_slice(), forms) {
            ([form], _) => is_number(form),
            ([], [form]) => is_number(form),
            _ => None,
        }
    }

    /// A type by one of its names, offered ones first.
    fn named(&self, forms: &[&str]) -> Option<String> {
        let hear = &self.book.hear;
        let types = || self.options.iter().chain(self.types);
        let is_filler = |form: &str| hear.filler.iter().any(|filler| filler == form);
        (0..forms.len()).find_map(|start| {
            let head = forms[..start].iter().all(|form| is_filler(form));
            let ends = (start + 1..=forms.len()).rev();
            let ends = ends.filter(|&end| head && forms[end..].iter().all(|form| is_filler(form)));
            ends.filter_map(|end| {
                let name = forms[start..end].join(" ");
                types().find(|slot| self.is_name(slot, &name)).cloned()
            })
            .next()
        })
    }

    fn is_name(&self, slot: &str, said: &str) -> bool {
        let singular = said.strip_suffix('s');
        self.book.names(slot).iter().any(|name| name == said || Some(name.as_str()) == singular)
    }

    /// `just regrets`, `no, burpees and regrets`, `only regrets, it's an album`.
    fn boundaries(&self, words: &[Word]) -> Option<Answer> {
        let hear = &self.book.hear;
        let forms: Vec<&str> = words.iter().map(|word| word.form.as_str()).collect();
        let (said_no, rest) = without_lead(&forms, &hear.no);
        let (said_just, rest) = without_lead(rest, &hear.just);
        if !said_no && !said_just || rest.is_empty() {
            return None;
        }
        let request = self::words(self.request);
        // The longest run of the request's words that the answer goes on with, and that touches the phrase.
        let matched = (0..request.len())
            .filter_map(|start| {
                let n =
                    rest.iter().zip(&request[start..]).take_while(|(said, word)| **said == word.form).count();
                let place = (n > 0).then(|| request[start].place.start..request[start + n - 1].place.end)?;
                let touches = place.start < self.phrase.end && self.phrase.start < place.end;
                (touches && place != self.phrase).then_some((n, place))
            })
            .max_by_key(|(n, place)| (*n, std::cmp::Reverse(place.start)))?;
        let (n, place) = matched;
        match &rest[n..] {
            [] => Some(Answer::Boundaries(place, None)),
            rest => Some(Answer::Boundaries(place, Some(self.named(rest)?))),
        }
    }

    /// `it's a podcast`, or perhaps `podcast`.
    fn new_type(&self, forms: &[&str]) -> Answer {
        let hear = &self.book.hear;
        let (_, rest) = without_lead(forms, &hear.filler_introductions());
        let (has_intro, rest) = without_lead(rest, &hear.intro);
        let (has_article, rest) = without_lead(rest, &hear.article);
        let is_filler = |form: &&&str| hear.filler.iter().any(|filler| filler == **form);
        let rest: Vec<&str> = rest.iter().skip_while(is_filler).copied().collect();
        let name = rest.join("_");
        let is_name = !name.is_empty()
            && name.len() <= MAX_TYPE
            && rest.len() <= 3
            && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'');
        match (is_name, has_article || has_intro) {
            (false, _) => Answer::Unclear,
            (true, true) => Answer::NewType(name),
            (true, false) if forms.len() <= 2 => Answer::PerhapsType(name),
            (true, false) => Answer::Unclear,
        }
    }
}

impl Hear {
    /// Fillers that are no introduction by themselves: `um`, `well`.
    fn filler_introductions(&self) -> Vec<String> {
        let first = |phrase: &String| phrase.split(' ').next().unwrap_or_default().to_owned();
        let introduced: Vec<String> = self.intro.iter().chain(&self.article).map(first).collect();
        self.filler.iter().filter(|filler| !introduced.contains(filler)).cloned().collect()
    }
}

/// Whether the words are one of these phrases, with nothing but fillers around it.
fn is_all(forms: &[&str], phrases: &[String], fillers: &[String]) -> bool {
    phrases.iter().any(|phrase| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        forms.windows(phrase.len()).enumerate().any(|(start, window)| {
            let mut around = forms[..start].iter().chain(&forms[start + phrase.len()..]);
            window == phrase && around.all(|form| fillers.iter().any(|filler| filler == form))
        })
    })
}

/// The end of the first of these phrases that stands in the words.
fn find_phrase(forms: &[&str], phrases: &[String]) -> Option<usize> {
    (0..forms.len()).find_map(|start| {
        let ends = phrases.iter().filter_map(|phrase| {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            forms[start..].starts_with(&phrase).then_some(start + phrase.len())
        });
        ends.max()
    })
}

/// Whether the words begin with some of these phrases, and what follows them.
fn without_lead<'f, 'w>(mut forms: &'f [&'w str], phrases: &[String]) -> (bool, &'f [&'w str]) {
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

/// What a phrase stands for: the rest of the answer as it was typed, without fillers around it.
fn alias(text: &str, words: &[Word], hear: &Hear) -> Answer {
    let is_filler = |word: &&Word| hear.filler.contains(&word.form);
    let first = words.iter().position(|word| !is_filler(&word));
    let last = words.iter().rposition(|word| !is_filler(&word));
    match (first, last) {
        (Some(first), Some(last)) => {
            Answer::Alias(text[words[first].place.start..words[last].place.end].to_owned())
        }
        _ => Answer::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = "add gimme shelter to my burpees and regrets playlist";

    fn check(answer: &str, expected: Answer) {
        let book = Phrasebook::english();
        let name = |name: &str| name.to_owned();
        let asked = Asked {
            request: REQUEST,
            phrase: 24..43,
            options: &["playlist", "album"].map(name),
            types: &["album", "artist", "playlist", "toloc.city_name", "music_item"].map(name),
            book: &book,
        };
        assert_eq!(&REQUEST[asked.phrase.clone()], "burpees and regrets");
        assert_eq!(asked.understand(answer), expected, "{answer}");
    }

    fn check_type(answer: &str, slot: &str) {
        check(answer, Answer::Type(slot.to_owned()));
    }

    #[test]
    fn types_are_named_in_many_ways() {
        for answer in [
            "playlist",
            "a playlist",
            "It's a playlist!",
            "playlists",
            "it is my playlist, please",
            "1",
            "one",
        ] {
            check_type(answer, "playlist");
        }
        for answer in ["first", "the first one", "um, the first"] {
            check_type(answer, "playlist");
        }
        for answer in ["2", "the second", "the latter", "no, an album", "yes, an album"] {
            check_type(answer, "album");
        }
        check_type("a city", "toloc.city_name");
        check_type("it's a music item", "music_item");
    }

    #[test]
    fn yes_no_and_never_mind() {
        for (answer, expected) in [
            ("yes", Answer::Yes),
            ("Yeah, right!", Answer::Yes),
            ("no", Answer::No),
            ("none of that", Answer::No),
            ("something else", Answer::No),
            ("never mind", Answer::Cancel),
            ("oh, forget it please", Answer::Cancel),
            ("", Answer::Empty),
            (" ?! ", Answer::Empty),
        ] {
            check(answer, expected);
        }
    }

    #[test]
    fn another_name_for_something() {
        let alias = |value: &str| Answer::Alias(value.to_owned());
        check("it's what I call my Workout Mix", alias("Workout Mix"));
        check("that's short for Burpees & Regrets 2019, please", alias("Burpees & Regrets 2019"));
        check("it means", Answer::Unclear);
    }

    #[test]
    fn other_boundaries() {
        let regrets = || REQUEST.find("regrets").unwrap()..REQUEST.find(" playlist").unwrap();
        check("no, just regrets", Answer::Boundaries(regrets(), None));
        check("only Regrets", Answer::Boundaries(regrets(), None));
        check("just regrets, it's an album", Answer::Boundaries(regrets(), Some("album".to_owned())));
        let longer = || REQUEST.find("my").unwrap()..REQUEST.find(" playlist").unwrap();
        check("no, my burpees and regrets", Answer::Boundaries(longer(), None));
        // What the phrase is already, or what does not touch it, is no correction.
        check("no, gimme shelter", Answer::PerhapsType("gimme_shelter".to_owned()));
    }

    #[test]
    fn types_that_are_new() {
        check("it's a podcast", Answer::NewType("podcast".to_owned()));
        check("a fitness program", Answer::NewType("fitness_program".to_owned()));
        check("podcast", Answer::PerhapsType("podcast".to_owned()));
        check("what is the weather in rome tomorrow", Answer::Unclear);
        check("it's a <script>alert(1)</script>", Answer::Unclear);
        check(&"a ".repeat(10_000), Answer::Unclear);
        check(&format!("a {}", "x".repeat(5000)), Answer::Unclear);
    }
}
