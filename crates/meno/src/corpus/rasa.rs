//! Rasa NLU training data in YAML.
//!
//! Under `nlu` stand intents with `examples`, a block of lines such as `- to [Paris](city)` ([`super::rasa_text`]).
//! Synonyms, lookup tables, regular expressions of plain words and the values of entities are known values. Everything
//! outside of `nlu` is skipped. Rasa cannot quote brackets: a text whose brackets would be taken for marks is refused by
//! the writer. Intents stand in the order in which they first occur.

use std::path::Path;

use super::finding::Log;
use super::known::KnownValue;
use super::raw::Collector;
use super::source::Source;
use super::yaml::{self, Node, Value};
use super::{Corpus, markup, rasa_text, tagged};
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut reader = Reader { found: Collector::new(path, log) };
    match yaml::parse(&source.text) {
        Ok(Some(document)) => reader.document(&document),
        Ok(None) => {}
        Err((line, problem)) => reader.found.note(line, problem),
    }
    Ok(reader.found.finish())
}

/// The sections that stand in files of a Rasa project beside its examples.
const OTHER_SECTIONS: [&str; 14] = [
    "stories",
    "rules",
    "responses",
    "intents",
    "entities",
    "slots",
    "forms",
    "actions",
    "session_config",
    "pipeline",
    "policies",
    "recipe",
    "endpoints",
    "e2e_actions",
];

/// Whether a file belongs to a Rasa project but has no examples, so that a reader of its folder passes it over: its
/// domain, stories, rules or configuration.
pub fn is_passed_over(path: &Path) -> Result<bool> {
    let source = Source::open(path, &mut Log::default())?;
    Ok(yaml::parse(&source.text).ok().flatten().is_some_and(|document| other_section(&document).is_some()))
}

/// What a file of a Rasa project holds that has no examples: its first section, such as `stories`.
fn other_section(document: &Node) -> Option<&'static str> {
    if document.get("nlu").is_some() {
        return None;
    }
    OTHER_SECTIONS.into_iter().find(|section| document.get(section).is_some())
}

/// The YAML of Rasa 3.
pub(super) fn render(corpus: &Corpus) -> Result<String> {
    let mut text = "version: \"3.1\"\n\nnlu:\n".to_owned();
    for (intent, utterances) in corpus.by_intent() {
        let first = utterances[0];
        if intent.is_empty() {
            return Err(tagged::cannot_hold(corpus, first, "Rasa", "it has no intent"));
        }
        text += &format!("- intent: {}\n  examples: |\n", quote(intent));
        for utterance in utterances {
            let parse = |line: &str| rasa_text::parse(line).map(|example| example.pieces);
            let line = markup::render(corpus, utterance, "Rasa", rasa_text::mark, parse)?;
            if let Some(character) = line.chars().find(|&character| !is_printable(character)) {
                let problem = format!("YAML has no place for the character `{}`", character.escape_unicode());
                return Err(tagged::cannot_hold(corpus, utterance, "Rasa", &problem));
            }
            text += &format!("    - {line}\n");
        }
    }
    for ((kind, name), phrases) in corpus.value_lists("Rasa")? {
        text += &format!("- {kind}: {}\n  examples: |\n", quote(name));
        for phrase in phrases {
            if !phrase.chars().all(is_printable) {
                return Err(tagged::cannot_hold_value(corpus, "Rasa", phrase));
            }
            text += &format!("    - {phrase}\n");
        }
    }
    Ok(text)
}

struct Reader<'a> {
    found: Collector<'a>,
}

impl Reader<'_> {
    fn document(&mut self, document: &Node) {
        let Some(nlu) = document.get("nlu") else {
            let has = other_section(document).map_or(String::new(), |section| format!(", but `{section}`"));
            self.found.note(document.line, format!("there is no `nlu` section{has}"));
            return;
        };
        let Some(items) = nlu.list() else {
            self.found.note(nlu.line, "`nlu` is not a list");
            return;
        };
        for item in items {
            self.item(item);
        }
    }

    fn item(&mut self, item: &Node) {
        let kinds = ["intent", "synonym", "lookup", "regex"];
        let found = kinds.into_iter().find_map(|kind| item.get(kind).map(|name| (kind, name)));
        let Some((kind, name_node)) = found else { return };
        let Some(name) = name_node.text().filter(|name| !name.is_empty()) else {
            let article = if kind == "intent" { "an" } else { "a" };
            self.found.note(name_node.line, format!("{article} {kind} has no name"));
            return;
        };
        let Some(examples) = item.get("examples") else {
            self.found.note(name_node.line, format!("{kind} `{name}` has no `examples`"));
            return;
        };
        for (line, text) in self.examples(examples) {
            match kind {
                "intent" => example(&mut self.found, name, line, &text),
                _ => self.found.known_values(rasa_value(kind, name, &text)),
            }
        }
    }

    /// The lines of a block, or the items of a list.
    fn examples(&mut self, examples: &Node) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        match &examples.value {
            Value::Scalar(block) => {
                for (line, text) in (examples.line..).zip(block.lines()) {
                    match text.strip_prefix('-') {
                        Some(text) => found.push((line, text.to_owned())),
                        None if text.trim().is_empty() => {}
                        None => self.found.note(line, format!("`{text}` does not begin with `- `")),
                    }
                }
            }
            Value::List(items) => {
                for item in items {
                    match item.text().or(item.get("text").and_then(Node::text)) {
                        Some(text) => found.push((item.line, text.to_owned())),
                        None => self.found.note(item.line, "an example has no `text`"),
                    }
                }
            }
            Value::Map(_) => {
                self.found.note(examples.line, "`examples` is neither a block of lines nor a list");
            }
        }
        found
    }
}

/// One example of an intent.
pub(super) fn example(found: &mut Collector<'_>, intent: &str, line: usize, text: &str) {
    match rasa_text::parse(text) {
        Ok(example) => {
            rasa_text::suspicions(&example.pieces)
                .into_iter()
                .for_each(|problem| found.suspect(line, problem));
            found.pieces(line, intent, &example.pieces);
            found.known_values(example.known_values);
        }
        Err(problem) => found.note(line, problem),
    }
}

/// What a line of a synonym, a lookup table or a regular expression says; patterns that are no plain words say nothing.
pub(super) fn rasa_value(kind: &str, name: &str, text: &str) -> Option<KnownValue> {
    let text = text.trim();
    match kind {
        "synonym" => Some(KnownValue::new(None, text, Some(name))),
        "regex" if !text.chars().all(|c| c.is_alphanumeric() || " '-_,".contains(c)) => None,
        _ => Some(KnownValue::new(Some(name), text, None)),
    }
}

/// A YAML scalar on one line: plain where that is safe, else in double quotes, whose escapes are those of JSON.
fn quote(name: &str) -> String {
    let word = |character: char| character.is_ascii_alphanumeric() || "_./".contains(character);
    let reserved = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(word)
        && !reserved.contains(&name.to_ascii_lowercase().as_str());
    if plain {
        return name.to_owned();
    }
    let quoted = serde_json::to_string(name).expect("a string is JSON");
    quoted
        .chars()
        .map(|character| match is_printable(character) && !"\u{85}\u{2028}\u{2029}".contains(character) {
            true => character.to_string(),
            false => format!("\\U{:08X}", u32::from(character)),
        })
        .collect()
}

/// The characters that YAML allows unescaped, line breaks aside.
fn is_printable(character: char) -> bool {
    matches!(character,
        '\t' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::Format;
    use super::super::tests::{check_error, check_read, known};

    #[test]
    fn reads_examples() {
        let check = |examples: &str, expected: &Expect| {
            let lines: String = examples.lines().map(|line| format!("    {line}\n")).collect();
            let input = format!("version: \"3.1\"\nnlu:\n- intent: go\n  examples: |\n{lines}");
            check_read(Format::Rasa, "x.yml", &input, expected);
        };
        check("- To [New York](city).\n\n- now", &expect!["5 go to [new york|city]\n7 go now\n"]);
        check("\n- leading blank line", &expect!["6 go leading blank line\n"]);
        check("- [a](x) [b](x)[c](x)d", &expect!["5 go [a|x] [b|x] [c|x] d\n"]);
        check(
            r#"- [LA]{"entity": "city", "role": "to", "value": "L A"} x"#,
            &expect!["5 go [la|city.to] x\n"],
        );
        check(r#"- [LA][{"entity": "a"}, {"entity": "b"}] x"#, &expect!["5 go [la|a] x\n"]);
        check("- [ny](city:N Y) # [x] (y) [](z) [q", &expect!["5 go [ny|city] # x y z q\n"]);
    }

    #[test]
    fn keeps_values_and_skips_the_rest() {
        let corpus = check_read(
            Format::Rasa,
            "x.yml",
            "nlu:\n- synonym: a\n  examples: |\n    - b\n\
             - intent: g\n  examples:\n  - text: |\n      hi [x](y)\n    metadata: {a: 1}\n  - hello\n\
             - lookup: c\n  examples: |\n    - d\n\
             - regex: e\n  examples: |\n    - \\d+\n\
             responses:\n  utter: [x]\n",
            &expect!["7 g hi [x|y]\n10 g hello\n"],
        );
        assert_eq!(known(&corpus), ["- b = a", "c d"]);
        let corpus = check_read(
            Format::Rasa,
            "x.yml",
            "nlu:\n- synonym: New York\n  examples: |\n    - NYC\n    - big apple\n\
             - intent: g\n  examples: |\n    - to [nyc](city)\n    - to [LA]{\"entity\": \"city\", \"value\": \"Los Angeles\"}\n\
             - regex: help\n  examples: |\n    - help me\n    - \\bhelp\\b\n",
            &expect!["8 g to [nyc|city]\n9 g to [la|city]\n"],
        );
        assert_eq!(
            known(&corpus),
            ["- big apple = New York", "city LA = Los Angeles", "city NYC = New York", "help help me"]
        );
    }

    #[test]
    fn names_what_is_wrong() {
        let check = |input: &str, expected: &Expect| check_error("x.yml", input.as_bytes(), expected);
        check(
            "nlu:\n- intent: a\n  examples: |\n    - b\n    c\n",
            &expect![[r#"
                x.yml:5: `c` does not begin with `- `
                hint: name another format, or mend the line"#]],
        );
        check(
            "nlu:\n- intent: a\n  examples: |\n    - [b]{\"x\": 1}\n",
            &expect![[r#"
                x.yml:4: `{"x": 1}` is not an entity: missing field `entity`, at column 8
                hint: name another format, or mend the line"#]],
        );
        check(
            "nlu:\n- intent: [a\n",
            &expect![[r#"
                x.yml:3: while parsing a flow sequence, expected ',' or ']'
                hint: name another format, or mend the line"#]],
        );
        check(
            "version: 3\n",
            &expect![[r#"
                x.yml:1: there is no `nlu` section
                hint: name another format, or mend the line"#]],
        );
        check(
            "version: 3\nstories:\n- story: x\n",
            &expect![[r#"
                x.yml:1: there is no `nlu` section, but `stories`
                hint: name another format, or mend the line"#]],
        );
        check(
            "nlu:\n- intent: a\n",
            &expect![[r#"
                x.yml:2: intent `a` has no `examples`
                hint: name another format, or mend the line"#]],
        );
        check(
            "nlu: &a\n- *a\n",
            &expect![[r#"
                x.yml:2: YAML aliases are not supported
                hint: name another format, or mend the line"#]],
        );
    }
}
