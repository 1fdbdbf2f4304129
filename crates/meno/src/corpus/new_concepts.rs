//! New-concept sets: labelled utterances in which slot values are replaced by values that training never saw.
//!
//! Enters: a labelled set and a list of values by slot. Leaves: a corpus whose `labels` are `unknown` where a value was
//! replaced, and whose `truth` has the true slot there (Shen, Chen and Jin, 2020). Every slot value that the list has
//! values for is replaced; an utterance without one is left out. The values of a slot are dealt like cards, in random
//! order and none twice before all were used. Values are written as the set writes its words, so that a list from
//! elsewhere (`O'Hare, Chicago`) gives no words away by their looks.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Corpus, Utterance};
use crate::label;
use crate::label::UNKNOWN;
use crate::random::Random;
use crate::text::Normalizer;
use crate::{Error, Result};

/// New values for slots of a labelled set.
#[derive(Clone, Debug)]
pub struct NewValues {
    path: PathBuf,
    normalizer: Normalizer,
    values: Vec<NewValue>,
}

/// A new value of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewValue {
    /// The slot.
    pub slot: String,
    /// The words of the value, as the set would write them.
    pub words: Vec<String>,
    /// Where it stands in its file, from 1.
    pub line: usize,
}

impl fmt::Display for NewValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of {}", self.words.join(" "), self.slot)
    }
}

impl NewValues {
    /// Reads a list for `set`: lines of a slot, a tab and a value, or a JSON object of lists of values by slot.
    ///
    /// A value that stands there twice counts once.
    pub fn read(path: &Path, set: &Corpus) -> Result<Self> {
        let bytes = fs::read(path).map_err(|source| Error::read(path, source))?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Error::corpus(path, 1, "the file is not UTF-8", "save the list of values as UTF-8")
        })?;
        NewValues::parse(path, text.strip_prefix('\u{feff}').unwrap_or(&text), set)
    }

    fn parse(path: &Path, text: &str, set: &Corpus) -> Result<Self> {
        if let Some(utterance) = set.utterances.iter().find(|utterance| utterance.truth.is_some()) {
            let problem = "new concepts are in it already";
            return Err(Error::corpus(&set.path, utterance.line, problem, "name a set as it was labelled"));
        }
        let entries =
            if text.trim_start().starts_with('{') { of_json(path, text)? } else { of_lines(path, text)? };
        if entries.is_empty() {
            return Err(Error::corpus(path, 1, "there is no value in it", LAYOUT));
        }
        let normalizer = Normalizer::fit(set.utterances.iter().map(|utterance| utterance.words.as_slice()));
        let labels = set.utterances.iter().flat_map(|utterance| &utterance.labels);
        let slots: BTreeSet<&str> =
            labels.map(|label| label::split(label).1).filter(|slot| !slot.is_empty()).collect();
        let (mut values, mut known) = (Vec::new(), HashSet::new());
        for (line, slot, value) in entries {
            if !slots.contains(slot.as_str()) {
                let problem = format!("no utterance of {} has the slot `{slot}`", set.path.display());
                let there: Vec<&str> = slots.into_iter().collect();
                return Err(Error::corpus(
                    path,
                    line,
                    problem,
                    format!("its slots are {}", there.join(", ")),
                ));
            }
            let words = words(&normalizer, &value);
            if words.is_empty() {
                let problem = format!("the value of `{slot}` has no words: {value:?}");
                return Err(Error::corpus(path, line, problem, "write a value, or take the line away"));
            }
            if known.insert((slot.clone(), words.clone())) {
                values.push(NewValue { slot, words, line });
            }
        }
        Ok(NewValues { path: path.to_owned(), normalizer, values })
    }

    /// The values, in the order of the file.
    pub fn values(&self) -> &[NewValue] {
        &self.values
    }

    /// The values that stand in `train` as values of their slot, whatever their case, with the line of the first
    /// utterance that has them.
    pub fn seen_in(&self, train: &Corpus) -> Vec<(&NewValue, usize)> {
        let mut seen: HashMap<(String, Vec<String>), usize> = HashMap::new();
        for utterance in &train.utterances {
            for span in label::iter_spans(&utterance.labels) {
                let words = words(&self.normalizer, &utterance.words[span.start..span.end].join(" "));
                seen.entry((span.slot.to_owned(), lower(&words))).or_insert(utterance.line);
            }
        }
        let line = |value: &NewValue| seen.get(&(value.slot.clone(), lower(&value.words))).copied();
        self.values.iter().filter_map(|value| Some((value, line(value)?))).collect()
    }

    /// Those that `train` has not; fails if none are left for a slot.
    pub fn unseen_in(&self, train: &Corpus) -> Result<Self> {
        let seen: HashSet<&NewValue> = self.seen_in(train).into_iter().map(|(value, _)| value).collect();
        let (seen, values): (Vec<_>, Vec<_>) = self.values.iter().partition(|value| seen.contains(value));
        let is_left = |slot: &str| values.iter().any(|value| value.slot == slot);
        if let Some(value) = seen.iter().find(|value| !is_left(&value.slot)) {
            let problem = format!("every value of `{}` was seen in training", value.slot);
            return Err(Error::corpus(&self.path, value.line, problem, "add values, or take the slot away"));
        }
        Ok(NewValues { values: values.into_iter().cloned().collect(), ..self.clone() })
    }

    /// Puts the values into `set`: at most `copies` different utterances of each that has a slot for them.
    pub fn substitute(&self, set: &Corpus, seed: u64, copies: usize) -> Corpus {
        let mut decks = self.decks(seed);
        let mut utterances: Vec<Utterance> = Vec::new();
        for utterance in &set.utterances {
            let first = utterances.len();
            for _ in 0..copies {
                let Some(mut made) = replaced(utterance, &mut decks) else { break };
                if utterances[first..].iter().all(|other| other.words != made.words) {
                    made.line = utterances.len() + 1;
                    utterances.push(made);
                }
            }
        }
        Corpus { utterances, ..set.bare() }
    }

    fn decks(&self, seed: u64) -> BTreeMap<&str, Deck<'_>> {
        let mut decks: BTreeMap<&str, Deck<'_>> = BTreeMap::new();
        for value in &self.values {
            let part = decks.len() as u64;
            let new = || Deck { values: Vec::new(), next: 0, random: Random::new(seed).fork(part) };
            decks.entry(&value.slot).or_insert_with(new).values.push(&value.words);
        }
        decks
    }
}

/// What a list looks like.
const LAYOUT: &str = "a line is a slot, a tab and a value; or the file is JSON, {\"slot\": [\"value\", ...]}";

/// Values in random order, none twice before all were dealt.
struct Deck<'a> {
    values: Vec<&'a [String]>,
    next: usize,
    random: Random,
}

impl<'a> Deck<'a> {
    fn deal(&mut self) -> &'a [String] {
        if self.next == 0 {
            self.random.shuffle(&mut self.values);
        }
        let value = self.values[self.next];
        self.next = (self.next + 1) % self.values.len();
        value
    }
}

/// The utterance with every value replaced for which there are new ones; `None` if there is no such value.
fn replaced(utterance: &Utterance, decks: &mut BTreeMap<&str, Deck<'_>>) -> Option<Utterance> {
    let Utterance { words, labels, intent, .. } = utterance;
    let mut made = Utterance { intent: intent.clone(), truth: Some(Vec::new()), ..Utterance::default() };
    let truth = made.truth.get_or_insert_default();
    let mut done = 0;
    let mut is_new = false;
    for span in label::iter_spans(labels) {
        let Some(deck) = decks.get_mut(span.slot) else { continue };
        is_new = true;
        for token_idx in done..span.start {
            made.words.push(words[token_idx].clone());
            made.labels.push(labels[token_idx].clone());
            truth.push(labels[token_idx].clone());
        }
        for (word_idx, word) in deck.deal().iter().enumerate() {
            let prefix = if word_idx == 0 { "B" } else { "I" };
            made.words.push(word.clone());
            made.labels.push(format!("{prefix}-{UNKNOWN}"));
            truth.push(format!("{prefix}-{}", span.slot));
        }
        done = span.end;
    }
    for token_idx in done..words.len() {
        made.words.push(words[token_idx].clone());
        made.labels.push(labels[token_idx].clone());
        truth.push(labels[token_idx].clone());
    }
    is_new.then_some(made)
}

fn words(normalizer: &Normalizer, text: &str) -> Vec<String> {
    normalizer.read(text).iter().map(|token| token.word.to_owned()).collect()
}

fn lower(words: &[String]) -> Vec<String> {
    words.iter().map(|word| word.to_lowercase()).collect()
}

/// Line, slot and value.
type Entry = (usize, String, String);

fn of_lines(path: &Path, text: &str) -> Result<Vec<Entry>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(line_idx, line)| match line.split_once('\t') {
            Some((slot, value)) if !slot.trim().is_empty() => {
                Ok((line_idx + 1, slot.trim().to_owned(), value.to_owned()))
            }
            Some(_) => Err(Error::corpus(path, line_idx + 1, "there is no slot before the tab", LAYOUT)),
            None => Err(Error::corpus(path, line_idx + 1, format!("no tab in `{line}`"), LAYOUT)),
        })
        .collect()
}

fn of_json(path: &Path, text: &str) -> Result<Vec<Entry>> {
    let refuse = |error: &serde_json::Error, line: usize| {
        Error::corpus(path, line, format!("not a JSON object of lists of strings: {error}"), LAYOUT)
    };
    let lists: Lists<'_> = serde_json::from_str(text).map_err(|error| refuse(&error, error.line().max(1)))?;
    let mut entries = Vec::new();
    for (slot, values) in lists.0 {
        for raw in values {
            let before = raw.get().as_ptr() as usize - text.as_ptr() as usize;
            let line = 1 + text[..before].matches('\n').count();
            let value: String = serde_json::from_str(raw.get()).map_err(|error| refuse(&error, line))?;
            entries.push((line, slot.clone(), value));
        }
    }
    Ok(entries)
}

/// Lists by slot, in the order of the file; a slot may stand there more than once.
struct Lists<'a>(Vec<(String, Vec<&'a RawValue>)>);

impl<'de> Deserialize<'de> for Lists<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Lists<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut lists = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    lists.push(entry);
                }
                Ok(Lists(lists))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{compact, corpus};
    use super::super::{Format, read, write};
    use super::*;
    use proptest::prelude::*;

    fn values(text: &str, set: &Corpus) -> Result<NewValues> {
        NewValues::parse(Path::new("values"), text, set)
    }

    fn error(text: &str, set: &Corpus) -> String {
        let error = values(text, set).unwrap_err();
        format!("{error}; {}", error.hint().unwrap_or_default())
    }

    /// The corpus with its true labels in place of the others.
    fn with_truth(corpus: &Corpus) -> Corpus {
        let mut corpus = corpus.clone();
        for utterance in &mut corpus.utterances {
            utterance.labels = utterance.truth.take().unwrap();
        }
        corpus
    }

    #[test]
    fn replaces_every_value_that_it_has_new_ones_for() {
        let set = corpus(&[
            "book fly from [new york|from] to [boston|to] [today|day]",
            "stop stop",
            "book to [paris|to]",
        ]);
        let made = values("from\tSan José, CA\nto\tOslo\n", &set).unwrap().substitute(&set, 1, 1);
        let expected = "\
1 book fly from [san josé ca|unknown] to [oslo|unknown] [today|day]
2 book to [oslo|unknown]
";
        assert_eq!(compact(&made), expected);
        assert_eq!(
            compact(&with_truth(&made)),
            expected.replace("ca|unknown", "ca|from").replace("oslo|unknown", "oslo|to")
        );
    }

    #[test]
    fn values_are_dealt_like_cards() {
        let set = corpus(&["go to [a|city]"; 6]);
        let list = "city\tx\ncity\ty\ncity\tz\ncity\tX\n";
        let made = values(list, &set).unwrap().substitute(&set, 3, 1);
        let dealt: Vec<&str> = made.utterances.iter().map(|utterance| utterance.words[1].as_str()).collect();
        for round in dealt.chunks(3) {
            let mut round = round.to_vec();
            round.sort_unstable();
            assert_eq!(round, ["x", "y", "z"]);
        }
        // Copies that would be the same are one.
        assert_eq!(values("city\tx\n", &set).unwrap().substitute(&set, 3, 5).utterances.len(), 6);
        assert_eq!(values(list, &set).unwrap().substitute(&set, 3, 2).utterances.len(), 12);
    }

    #[test]
    fn json_is_the_same_as_lines() {
        let set = corpus(&["go [a|x] [b|y]"]);
        let lines = values("x\tone two\ny\tthree\nx\tfour\n", &set).unwrap();
        let json = values("{\"x\": [\"one two\"],\n \"y\": [\"three\"],\n \"x\": [\"four\"]}", &set).unwrap();
        assert_eq!(lines.values(), json.values());
    }

    #[test]
    fn values_seen_in_training_are_found() {
        let set = corpus(&["go to [rome|city] by [bus|by]"]);
        let train = corpus(&["go to [paris|city]", "go to [New York|city] from [oslo|from]"]);
        let list = values("city\tNew York!\ncity\tOslo\nby\tmule\ncity\tParis\n", &set).unwrap();
        let seen: Vec<(usize, usize)> =
            list.seen_in(&train).iter().map(|(value, line)| (value.line, *line)).collect();
        assert_eq!(seen, [(1, 2), (4, 1)]);
        let left: Vec<String> =
            list.unseen_in(&train).unwrap().values().iter().map(NewValue::to_string).collect();
        assert_eq!(left, ["`oslo` of city", "`mule` of by"]);
        let error = values("city\tparis\nby\tmule\n", &set).unwrap().unseen_in(&train).unwrap_err();
        assert_eq!(error.to_string(), "values:1: every value of `city` was seen in training");
    }

    #[test]
    fn refuses_what_is_no_list() {
        let set = corpus(&["go to [rome|city] by [bus|by]"]);
        for (text, expected) in [
            ("", "values:1: there is no value in it; a line is"),
            ("{}", "values:1: there is no value in it; a line is"),
            ("city\toslo\n\ncity oslo\n", "values:3: no tab in `city oslo`; a line is"),
            ("city\toslo\n\toslo\n", "values:2: there is no slot before the tab; a line is"),
            ("town\toslo\n", "values:1: no utterance of corpus has the slot `town`; its slots are by, city"),
            ("unknown\toslo\n", "values:1: no utterance of corpus has the slot `unknown`; its slots"),
            ("city\toslo\ncity\t \n", "values:2: the value of `city` has no words: \" \"; write"),
            ("city\t?!\n", "values:1: the value of `city` has no words: \"?!\"; write"),
            ("{\"city\": [\"oslo\",\n  7]}", "values:2: not a JSON object of lists of strings: invalid type"),
            ("{\"city\": \"oslo\"}", "values:1: not a JSON object of lists of strings: invalid type"),
            ("{\"city\": [\n\"oslo\"", "values:2: not a JSON object of lists of strings: EOF"),
        ] {
            let error = error(text, &set);
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
        let mut made = set.clone();
        made.utterances[0].truth = Some(made.utterances[0].labels.clone());
        assert!(error("city\toslo\n", &made).starts_with("corpus:1: new concepts are in it already; "));
    }

    fn any_set() -> impl Strategy<Value = Corpus> {
        let part = prop_oneof![Just("o"), Just("[a b|x]"), Just("[c|y]"), Just("[d e f|z]"), Just("[g|x]")];
        let line = prop::collection::vec(part, 1..7).prop_map(|parts| format!("intent {}", parts.join(" ")));
        let lines = prop::collection::vec(line, 1..9);
        // Every slot must be somewhere.
        lines.prop_map(|mut lines| {
            lines.push("intent [a|x] [c|y]".to_owned());
            corpus(&lines.iter().map(String::as_str).collect::<Vec<_>>())
        })
    }

    proptest! {
        #[test]
        fn everything_else_stays_as_it_was(set in any_set(), seed in any::<u64>()) {
            let made = values("x\tn1 n2 n3\nx\tn4\ny\tn5 n6\n", &set).unwrap().substitute(&set, seed, 1);
            let originals = set.utterances.iter().filter(|utterance| {
                label::iter_spans(&utterance.labels).any(|span| span.slot != "z")
            });
            prop_assert_eq!(made.utterances.len(), originals.clone().count());
            for (made, original) in made.utterances.iter().zip(originals) {
                let truth = label::spans(made.truth.as_ref().unwrap());
                let (labels, before) = (label::spans(&made.labels), label::spans(&original.labels));
                // The same slots in the same order, and nothing but `z` is known.
                let slots = |spans: &[label::TokenSpan]| spans.iter().map(|span| span.slot.clone()).collect::<Vec<_>>();
                prop_assert_eq!(slots(&truth), slots(&before));
                prop_assert_eq!(truth.len(), labels.len());
                for ((truth, label), before) in truth.iter().zip(&labels).zip(&before) {
                    prop_assert_eq!((truth.start, truth.end), (label.start, label.end));
                    let words = &made.words[truth.start..truth.end];
                    if truth.slot == "z" {
                        prop_assert_eq!(&label.slot, "z");
                        prop_assert_eq!(words, &original.words[before.start..before.end]);
                    } else {
                        prop_assert_eq!(&label.slot, UNKNOWN);
                        prop_assert!(words.iter().all(|word| word.starts_with('n')));
                    }
                }
                let outside = |words: &[String], labels: &[String]| {
                    let pairs = words.iter().zip(labels).filter(|(_, label)| *label == "O");
                    pairs.map(|(word, _)| word.clone()).collect::<Vec<_>>()
                };
                prop_assert_eq!(outside(&made.words, &made.labels), outside(&original.words, &original.labels));
            }
        }

        #[test]
        fn the_same_seed_gives_the_same_set_and_it_is_read_back(set in any_set(), seed in any::<u64>()) {
            let list = values("x\tn1 n2 n3\nx\tn4\ny\tn5 n6\n", &set).unwrap();
            let made = list.substitute(&set, seed, 2);
            prop_assert_eq!(&made, &list.substitute(&set, seed, 2));
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("new");
            write(&made, &path, Format::Folder).unwrap();
            prop_assert_eq!(read(&path, None).unwrap().utterances, made.utterances);
        }
    }
}
