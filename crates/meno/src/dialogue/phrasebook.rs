//! What is said and understood in a dialogue, from a file that can be replaced or translated.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::{Error, Result};

/// The words of a dialogue.
#[derive(Clone, Debug, PartialEq)]
pub struct Phrasebook {
    say: BTreeMap<String, String>,
    pub(super) hear: Hear,
    types: BTreeMap<String, TypeWords>,
}

/// What is understood; all in lower case.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Hear {
    pub yes: Vec<String>,
    pub no: Vec<String>,
    pub cancel: Vec<String>,
    pub just: Vec<String>,
    pub alias: Vec<String>,
    pub intro: Vec<String>,
    pub article: Vec<String>,
    pub filler: Vec<String>,
    pub number: Vec<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TypeWords {
    say: Option<String>,
    names: Vec<String>,
}

/// A file: all parts of it may be left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    say: BTreeMap<String, String>,
    #[serde(default)]
    hear: BTreeMap<String, toml::Value>,
    #[serde(default)]
    types: BTreeMap<String, TypeWords>,
}

const ENGLISH: &str = include_str!("english.toml");

impl Phrasebook {
    /// The one that comes with the program.
    pub fn english() -> Self {
        let file: File = toml::from_str(ENGLISH).expect("a test reads it");
        let hear = Hear::deserialize(toml::Value::Table(file.hear.into_iter().collect()));
        Phrasebook { say: file.say, hear: hear.expect("a test reads it"), types: file.types }
    }

    /// English with what a file says otherwise; `path` is for messages.
    pub fn read(text: &str, path: &Path) -> Result<Self> {
        let bad = |line: usize, problem: String| Error::Corpus {
            path: path.to_owned(),
            line,
            problem,
            hint: "docs/dialogue.md says what such a file has".to_owned(),
        };
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            bad(line, error.message().to_owned())
        })?;
        let line_of = |name: &str| {
            let is_it = |line: &str| {
                line.trim_start().strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('='))
            };
            text.lines().position(is_it).map_or(1, |line_idx| line_idx + 1)
        };
        let mut book = Phrasebook::english();
        for (name, sentence) in file.say {
            let Some(place) = book.say.get_mut(&name) else {
                return Err(bad(line_of(&name), format!("nothing that is said is called `{name}`")));
            };
            if let Some(odd) = places(&sentence).find(|odd| !places(place).any(|known| known == *odd)) {
                return Err(bad(line_of(&name), format!("nothing fills the place `{{{odd}}}` of `{name}`")));
            }
            *place = sentence;
        }
        let english: File = toml::from_str(ENGLISH).expect("a test reads it");
        let mut hear = english.hear;
        for (name, words) in file.hear {
            match hear.get_mut(&name) {
                Some(place) => *place = words,
                None => return Err(bad(line_of(&name), format!("nothing that is heard is called `{name}`"))),
            }
        }
        book.hear = Hear::deserialize(toml::Value::Table(hear.into_iter().collect()))
            .map_err(|error| bad(1, error.message().to_owned()))?;
        book.types = file.types;
        Ok(book)
    }

    /// A sentence with its places filled.
    pub(super) fn say(&self, name: &str, places: &[(&str, &str)]) -> String {
        let template = self.say.get(name).map_or("", String::as_str);
        let mut text = String::with_capacity(template.len() + 32);
        let mut rest = template;
        // Once through, so that what fills a place is never read as a place itself.
        while let Some(open) = rest.find('{') {
            text.push_str(&rest[..open]);
            let Some(close) = rest[open..].find('}') else { break };
            let place = &rest[open + 1..open + close];
            match places.iter().find(|(name, _)| *name == place) {
                Some((_, value)) => text.push_str(value),
                None => text.push_str(&rest[open..=open + close]),
            }
            rest = &rest[open + close + 1..];
        }
        text + rest
    }

    /// A slot type as a question calls it: `a playlist`.
    pub(crate) fn type_with_article(&self, slot: &str) -> String {
        if let Some(say) = self.types.get(slot).and_then(|words| words.say.clone()) {
            return say;
        }
        let name = plain_name(slot);
        let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {name}")
    }

    /// What an intent or a slot type is called, without an article.
    pub(super) fn plain(&self, name: &str) -> String {
        self.types.get(name).and_then(|words| words.say.clone()).unwrap_or_else(|| plain_name(name))
    }

    /// What an answer may call a slot type, in lower case.
    pub(super) fn names(&self, slot: &str) -> Vec<String> {
        let plain = plain_name(slot);
        let mut names = vec![slot.to_lowercase(), plain.clone()];
        // `playlist name` and `city name` are called `playlist` and `city`.
        names.extend(plain.strip_suffix(" name").map(str::to_owned));
        if let Some(words) = self.types.get(slot) {
            names.extend(words.names.iter().map(|name| name.to_lowercase()));
        }
        names
    }
}

/// The names in braces of a sentence.
fn places(sentence: &str) -> impl Iterator<Item = &str> {
    sentence.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(place, _)| place)
}

/// `toloc.city_name` is `city name`.
fn plain_name(slot: &str) -> String {
    slot.rsplit('.').next().unwrap_or(slot).replace(['_', '-'], " ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_once() {
        let book = Phrasebook::english();
        let said = book.say("ask_two", &[("phrase", "{a} & <b>"), ("a", "a song"), ("b", "an album")]);
        assert_eq!(said, "What is *{a} & <b>*: a song or an album?");
    }

    #[test]
    fn types_are_called_as_people_call_them() {
        let book = Phrasebook::english();
        assert_eq!(book.type_with_article("toloc.city_name"), "a city name");
        assert_eq!(book.type_with_article("album"), "an album");
        assert!(book.names("toloc.city_name").contains(&"city".to_owned()));
    }

    #[test]
    fn a_file_replaces_what_it_has() {
        let read = |text: &str| Phrasebook::read(text, "de.toml".as_ref());
        let german = "[say]\nask_open = \"Was ist *{phrase}*?\"\n[hear]\nyes = [\"ja\"]\n[types.album]\nsay = \"ein Album\"\nnames = [\"Platte\"]\n";
        let book = read(german).unwrap();
        assert_eq!(book.say("ask_open", &[("phrase", "x")]), "Was ist *x*?");
        assert_eq!(
            (book.hear.yes.as_slice(), book.hear.no.is_empty()),
            (["ja".to_owned()].as_slice(), false)
        );
        assert_eq!(book.type_with_article("album"), "ein Album");
        assert!(book.names("album").contains(&"platte".to_owned()));
        for (text, problem) in [
            ("[say]\nask_opne = \"?\"\n", "de.toml:2: nothing that is said is called `ask_opne`"),
            ("[say]\n\nask_open = \"{a}?\"\n", "de.toml:3: nothing fills the place `{a}` of `ask_open`"),
            ("[hear]\n yess = []\n", "de.toml:2: nothing that is heard is called `yess`"),
            ("[hear]\nyes = 1\n", "de.toml:1: invalid type: integer `1`, expected a sequence"),
            ("[say]\nask_open = \n", "de.toml:2: "),
            ("[tipes.x]\n", "de.toml:1: unknown field `tipes`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
