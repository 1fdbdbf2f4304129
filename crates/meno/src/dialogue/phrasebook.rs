//! What is said and understood in a dialogue, from a file that can be replaced or translated.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde::Deserialize;

use super::{Slot, nouns};
use crate::description::{Description, Dimension, SlotDescription};
use crate::{Error, Result};

/// The words of a dialogue.
#[derive(Clone, Debug, PartialEq)]
pub struct Phrasebook {
    say: BTreeMap<String, String>,
    pub(super) hear: Hear,
    kinds: BTreeMap<String, Vec<String>>,
    cues: BTreeMap<String, Vec<String>>,
    description: Description,
    is_english: bool,
}

/// What is understood; all in lower case.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Hear {
    pub yes: Vec<String>,
    pub no: Vec<String>,
    pub cancel: Vec<String>,
    pub thank: Vec<String>,
    pub greet: Vec<String>,
    pub bye: Vec<String>,
    pub help: Vec<String>,
    pub why: Vec<String>,
    pub repeat: Vec<String>,
    pub undo: Vec<String>,
    pub dont_know: Vec<String>,
    pub denial: Vec<String>,
    pub just: Vec<String>,
    pub alias: Vec<String>,
    pub intro: Vec<String>,
    pub article: Vec<String>,
    pub own: Vec<String>,
    pub direction: Vec<String>,
    /// After these, a second name of the same kind is another one.
    pub another: Vec<String>,
    pub cut: Vec<String>,
    pub filler: Vec<String>,
    pub number: Vec<Vec<String>>,
    pub not: Vec<String>,
    pub is: Vec<String>,
    pub that: Vec<String>,
    pub repair: Vec<String>,
    pub option: Vec<String>,
    pub ordinary: Vec<String>,
    pub teach: Vec<String>,
    pub last: Vec<String>,
    pub one: Vec<String>,
    pub weak: Vec<String>,
    pub hedge: Vec<String>,
    pub vocative: Vec<String>,
    pub relative: Vec<String>,
    pub naming: Vec<String>,
    pub deny: Vec<String>,
    pub apart: Vec<String>,
    pub together: Vec<String>,
    pub none: Vec<String>,
    pub object: Vec<String>,
    pub sort: Vec<String>,
    pub lacks: Vec<String>,
    pub whole: Vec<String>,
    pub remark: Vec<String>,
    pub subject: Vec<String>,
    pub instead: Vec<String>,
    pub ask: Vec<String>,
    pub meant: Vec<String>,
    pub but: Vec<String>,
}

/// What is called by a name.
pub(super) type Names = HashMap<String, Vec<String>>;

/// A file: all parts of it may be left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    say: BTreeMap<String, String>,
    #[serde(default)]
    hear: BTreeMap<String, toml::Value>,
    #[serde(default)]
    kinds: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    cues: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    types: BTreeMap<String, SlotDescription>,
}

const ENGLISH: &str = include_str!("english.toml");

impl Phrasebook {
    /// The one that comes with the program.
    pub fn english() -> Self {
        let file: File = toml::from_str(ENGLISH).expect("a test reads it");
        let hear = Hear::deserialize(toml::Value::Table(file.hear.into_iter().collect()));
        Phrasebook {
            say: file.say,
            hear: hear.expect("a test reads it"),
            kinds: file.kinds,
            cues: file.cues,
            description: Description::default(),
            is_english: true,
        }
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
        book.is_english = file.hear.is_empty();
        for (name, words) in file.hear {
            let Some(place) = hear.get_mut(&name) else {
                return Err(bad(line_of(&name), format!("nothing that is heard is called `{name}`")));
            };
            *place = words;
            book.hear = Hear::deserialize(toml::Value::Table(hear.clone().into_iter().collect()))
                .map_err(|error| bad(line_of(&name), format!("`{name}`: {}", error.message())))?;
        }
        book.kinds.extend(file.kinds);
        book.cues.extend(file.cues);
        book.description.slots = file.types;
        Ok(book)
    }

    /// A sentence with its places filled.
    pub(super) fn say(&self, name: &str, places: &[(&str, &str)]) -> String {
        fill(self.say.get(name).map_or("", String::as_str), places)
    }

    /// The same with what a corpus says of its slots and intents, where this book does not say it.
    pub fn describing(mut self, corpus: &Description) -> Self {
        for (slot, words) in &corpus.slots {
            self.description.slots.entry(slot.clone()).or_insert_with(|| words.clone());
        }
        for (intent, words) in &corpus.intents {
            self.description.intents.entry(intent.clone()).or_insert_with(|| words.clone());
        }
        self
    }

    /// What slots and intents are called.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// A slot type as a question calls it: `a playlist`.
    pub(crate) fn type_with_article(&self, slot: &str) -> String {
        if let Some(say) = self.description.slots.get(slot).and_then(|words| words.say.clone()) {
            return say;
        }
        let name = plain_name(slot);
        let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {name}")
    }

    /// What an intent is called.
    pub(super) fn intent(&self, name: &str) -> String {
        let described = self.description.intents.get(name).and_then(|words| words.say.clone());
        let typed = || self.description.slots.get(name).and_then(|words| words.say.clone());
        described.or_else(typed).unwrap_or_else(|| plain_name(name))
    }

    /// Whether a word says nothing by itself that could be asked about.
    pub(super) fn is_ordinary(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        self.hear.ordinary.contains(&word) || self.hear.ordinary.contains(&shortened(&word))
    }

    /// Whether a word says nothing in an answer.
    pub(super) fn is_filler(&self, word: &str) -> bool {
        self.hear.filler.contains(&word.to_lowercase())
    }

    /// Whether a word says whose something is.
    pub(super) fn is_own(&self, word: &str) -> bool {
        self.hear.own.contains(&word.to_lowercase())
    }

    /// Whether a clause that begins with a word tells something and asks for nothing.
    pub(super) fn begins_remark(&self, word: &str) -> bool {
        self.hear.remark.iter().chain(&self.hear.own).chain(&self.hear.vocative).any(|lead| lead == word)
    }

    /// Whether a word within a clause says that something is so.
    pub(super) fn tells(&self, word: &str) -> bool {
        self.hear.ask.iter().any(|verb| verb == word)
    }

    /// The name that is all that is said, behind words that say so: `no, just Wonk`.
    pub(super) fn name_alone<'t>(&self, text: &'t str) -> Option<&'t str> {
        let text = text.trim_matches(|c: char| !c.is_alphanumeric());
        let text = after_lead(text, &self.hear.no).unwrap_or(text);
        after_lead(text, &self.hear.whole).or_else(|| after_lead(text, &self.hear.just))
    }

    /// Whether a text begins as people say what something is: `it's`, `he's`.
    pub(super) fn begins_intro(&self, text: &str) -> bool {
        after_lead(text, &self.hear.intro).is_some()
    }

    /// Whether the values of a slot are numbers of something.
    pub(super) fn has_unit(&self, slot: &str) -> bool {
        let dimension = self.description.slots.get(slot).and_then(|words| words.resolve);
        matches!(dimension, Some(Dimension::Duration | Dimension::Temperature))
    }

    /// Whether the values of a slot are numbers.
    pub(super) fn counts(&self, slot: &str) -> bool {
        self.description.slots.get(slot).is_some_and(|words| words.resolve == Some(Dimension::Number))
    }

    /// Whether a second name of the same kind after a word is another one.
    pub(super) fn is_before_another(&self, word: &str) -> bool {
        self.hear.another.contains(&word.to_lowercase())
    }

    /// Whether a word only leads to what is said.
    pub(super) fn is_lead(&self, word: &str) -> bool {
        let is_repair = |word: String| self.hear.repair.contains(&word) || self.hear.no.contains(&word);
        self.is_filler(word) || self.is_ordinary(word) || is_repair(word.to_lowercase())
    }

    /// Whether answers are in English, so that the model of English answers understands them.
    pub(super) fn hears_english(&self) -> bool {
        self.is_english
    }

    /// The words of an intent: of its name, of what it is called, and those of its examples that are not ordinary.
    pub(super) fn intent_words(&self, name: &str) -> BTreeSet<String> {
        let words = |text: &str| -> Vec<String> {
            let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            words.map(str::to_lowercase).collect()
        };
        let examples = self.description.intents.get(name).map(|words| words.examples.join(" "));
        let says = |word: &String| !self.is_ordinary(word) && !self.is_filler(word);
        // `on` and `off` say which of two it is.
        let tells = |word: &String| says(word) || self.hear.direction.contains(word);
        let name = words(&plain_name(name)).into_iter().chain(words(&self.intent(name))).filter(tells);
        name.chain(words(&examples.unwrap_or_default()).into_iter().filter(says)).collect()
    }

    /// What an answer may call a slot type or an intent, in lower case.
    pub(super) fn names(&self, slot: &str) -> Vec<String> {
        let plain = plain_name(slot);
        let mut names = vec![slot.to_lowercase(), plain.clone()];
        // `playlist name` and `city name` are called `playlist` and `city`.
        names.extend(plain.strip_suffix(" name").map(str::to_owned));
        let described = self.description.slots.get(slot).map(|words| &words.names);
        names.extend(described.into_iter().flatten().map(|name| name.to_lowercase()));
        let intent = self.description.intents.get(slot).and_then(|words| words.say.clone());
        names.extend(intent.map(|say| say.to_lowercase()));
        let kinds = plain.split(' ').filter_map(|word| self.kinds.get(word));
        names.extend(kinds.flatten().cloned());
        names
    }

    /// What a slot type itself is called, without the names of things that are one.
    pub(super) fn own_names(&self, slot: &str) -> Vec<String> {
        let plain = plain_name(slot);
        let say = self.description.slots.get(slot).and_then(|words| words.say.clone());
        let said = say.map(|say| say.split_once(' ').map_or(say.clone(), |(_, name)| name.to_lowercase()));
        [Some(plain.clone()), plain.strip_suffix(" name").map(str::to_owned), said]
            .into_iter()
            .flatten()
            .collect()
    }

    /// The slot types, or intents, by what they are called.
    pub(super) fn index<'s>(&self, slots: impl Iterator<Item = &'s String>) -> Names {
        let mut names = Names::new();
        for slot in slots {
            for name in self.names(slot) {
                let of_name = names.entry(name).or_default();
                if !of_name.contains(slot) {
                    of_name.push(slot.clone());
                }
            }
        }
        names
    }

    /// The kind of thing that a noun names.
    pub(super) fn kind_of(&self, noun: &str) -> Option<&'static str> {
        nouns::kind_of(noun).filter(|_| self.is_english)
    }

    /// Whether a slot type is called by a kind: `geographic_place` by `place`.
    pub(super) fn is_of_kind(&self, slot: &str, kind: &str) -> bool {
        plain_name(slot).split(' ').any(|word| word == kind)
    }

    /// Words that tell of a kind without its name, in lower case.
    pub(super) fn cues(&self, slot: &str) -> Vec<String> {
        plain_name(slot).split(' ').filter_map(|word| self.cues.get(word)).flatten().cloned().collect()
    }

    /// Whether requests of an intent are rejected.
    pub(super) fn rejects(&self, intent: &str) -> bool {
        self.description.rejects(intent)
    }

    /// The slots without which an intent cannot be carried out.
    pub(super) fn required(&self, intent: &str) -> Vec<String> {
        self.description
            .intents
            .get(intent)
            .map_or_else(Vec::new, |intent| intent.required.iter().cloned().collect())
    }

    /// How a slot is asked for that a request lacks.
    pub(super) fn ask_for(&self, slot: &str) -> String {
        let ask = self.description.slots.get(slot).and_then(|words| words.ask.clone());
        ask.unwrap_or_else(|| self.say("ask_missing", &[("type", &self.type_with_article(slot))]))
    }

    /// Some values of a slot, for whoever does not know what to say.
    pub(super) fn values_of(&self, slot: &str) -> Option<String> {
        let examples = &self.description.slots.get(slot)?.examples;
        let examples: Vec<String> = examples.iter().map(|example| format!("*{example}*")).collect();
        (!examples.is_empty()).then(|| self.say("help", &[("examples", &examples.join(", "))]))
    }

    /// Whether the values of a slot are turned into something, so that not any words will do.
    pub(super) fn resolves(&self, slot: &str) -> bool {
        self.description.slots.get(slot).is_some_and(|words| words.resolve.is_some())
    }

    /// What is said of a request that is carried out, if the corpus says it.
    pub(super) fn reply(&self, intent: &str, slots: &[Slot]) -> Option<String> {
        let replies = &self.description.intents.get(intent)?.reply;
        let value = |name: &str| {
            let values = slots.iter().filter(|slot| slot.slot == name);
            let values: Vec<&str> = values.map(|slot| slot.value.as_deref().unwrap_or(&slot.text)).collect();
            (!values.is_empty()).then(|| values.join(", "))
        };
        // Of several items, `{number} {item}` would give the number to the first.
        let is_one = |name: &str| slots.iter().filter(|slot| slot.slot == name).count() == 1;
        let is_clear = |reply: &str| !reply.contains("} {") || places(reply).all(is_one);
        let fits = |reply: &&String| places(reply).all(|name| value(name).is_some()) && is_clear(reply);
        let template = replies.iter().find(fits)?;
        let filled: Vec<(&str, String)> =
            places(template).filter_map(|name| Some((name, value(name)?))).collect();
        let filled: Vec<(&str, &str)> = filled.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Some(fill(template, &filled))
    }

    /// Requests that can be made, of different intents.
    pub(super) fn examples(&self) -> impl Iterator<Item = &str> {
        self.description.intents.values().filter_map(|words| words.examples.first().map(String::as_str))
    }
}

/// A sentence with its places filled.
fn fill(template: &str, places: &[(&str, &str)]) -> String {
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

/// The names in braces of a sentence.
fn places(sentence: &str) -> impl Iterator<Item = &str> {
    sentence.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(place, _)| place)
}

/// What follows the longest of some phrases that a text begins with.
fn after_lead<'t>(text: &'t str, leads: &[String]) -> Option<&'t str> {
    let begins =
        |lead: &&String| text.get(..lead.len()).is_some_and(|start| start.eq_ignore_ascii_case(lead));
    let rest = &text[leads.iter().filter(begins).map(String::len).max()?..];
    let name = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    (name.len() < rest.len()).then_some(name).filter(|name| !name.is_empty())
}

/// `pleeease` is `please`.
fn shortened(word: &str) -> String {
    let mut short = String::new();
    let mut letters = word.chars().peekable();
    while let Some(letter) = letters.next() {
        let mut n = 1;
        while letters.next_if_eq(&letter).is_some() {
            n += 1;
        }
        short.extend(std::iter::repeat_n(letter, if n > 2 { 1 } else { n }));
    }
    short
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
            ("[hear]\nyes = 1\n", "de.toml:2: `yes`: invalid type: integer `1`, expected a sequence"),
            ("[say]\nask_open = \n", "de.toml:2: "),
            ("[tipes.x]\n", "de.toml:1: unknown field `tipes`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
