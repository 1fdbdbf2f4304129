//! Rasa NLU training data in YAML.
//!
//! Under `nlu` stand intents with `examples`, a block of lines such as `- to [Paris](city)` or
//! `- to [LA]{"entity": "city", "role": "to", "value": "Los Angeles"}`. The slot is the entity, or `entity.role` if there
//! is a role, since two roles are two slots. `value` and `group` are dropped. Synonyms, lookup tables, regular expressions
//! and everything outside `nlu` are skipped. Rasa cannot quote brackets: a text whose brackets would be taken for marks is
//! refused by the writer. Intents stand in the order in which they first occur.

use std::path::Path;

use serde::Deserialize;

use super::finding::{Kind, Log};
use super::markup::{self, Piece};
use super::source::{Source, json_problem};
use super::yaml::{self, Node, Value};
use super::{Corpus, Utterance, tagged};
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Vec<Utterance>> {
    let source = Source::open(path, log)?;
    let mut reader = Reader { path, log, utterances: Vec::new() };
    match yaml::parse(&source.text) {
        Ok(Some(document)) => reader.document(&document),
        Ok(None) => {}
        Err((line, problem)) => reader.log.add(path, line, Kind::Syntax, problem),
    }
    Ok(reader.utterances)
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
            let mark = |text: &str, slot: &str| {
                if slot.contains([':', ')']) {
                    format!("[{text}]{}", serde_json::json!({ "entity": slot }))
                } else {
                    format!("[{text}]({slot})")
                }
            };
            let line = markup::render(corpus, utterance, "Rasa", mark, parse)?;
            if let Some(character) = line.chars().find(|&character| !is_printable(character)) {
                let problem = format!("YAML has no place for the character `{}`", character.escape_unicode());
                return Err(tagged::cannot_hold(corpus, utterance, "Rasa", &problem));
            }
            text += &format!("    - {line}\n");
        }
    }
    Ok(text)
}

struct Reader<'a> {
    path: &'a Path,
    log: &'a mut Log,
    utterances: Vec<Utterance>,
}

impl Reader<'_> {
    fn document(&mut self, document: &Node) {
        let Some(nlu) = document.get("nlu") else {
            self.note(document.line, "there is no `nlu` section");
            return;
        };
        let Some(items) = nlu.list() else {
            self.note(nlu.line, "`nlu` is not a list");
            return;
        };
        for item in items {
            let Some(intent) = item.get("intent") else { continue };
            let Some(name) = intent.text().filter(|name| !name.is_empty()) else {
                self.note(intent.line, "an intent has no name");
                continue;
            };
            match item.get("examples") {
                Some(examples) => self.examples(name, examples),
                None => self.note(intent.line, &format!("intent `{name}` has no `examples`")),
            }
        }
    }

    fn examples(&mut self, intent: &str, examples: &Node) {
        match &examples.value {
            Value::Scalar(block) => {
                for (line, text) in (examples.line..).zip(block.lines()) {
                    match text.strip_prefix('-') {
                        Some(text) => self.example(intent, line, text),
                        None if text.trim().is_empty() => {}
                        None => self.note(line, &format!("`{text}` does not begin with `- `")),
                    }
                }
            }
            Value::List(items) => {
                for item in items {
                    match item.text().or(item.get("text").and_then(Node::text)) {
                        Some(text) => self.example(intent, item.line, text),
                        None => self.note(item.line, "an example has no `text`"),
                    }
                }
            }
            Value::Map(_) => self.note(examples.line, "`examples` is neither a block of lines nor a list"),
        }
    }

    fn example(&mut self, intent: &str, line: usize, text: &str) {
        match parse(text).and_then(|pieces| markup::assemble(&pieces)) {
            Ok((words, _)) if words.is_empty() => {
                self.log.add(self.path, line, Kind::EmptyLine, "no words in this example");
            }
            Ok((words, labels)) => {
                self.utterances.push(Utterance {
                    words,
                    labels,
                    truth: None,
                    intent: intent.to_owned(),
                    line,
                });
            }
            Err(problem) => self.note(line, &problem),
        }
    }

    fn note(&mut self, line: usize, problem: &str) {
        self.log.add(self.path, line, Kind::Syntax, problem);
    }
}

/// Cuts marks out of an example; brackets that no mark follows are text, as in Rasa.
fn parse(line: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(open) = line[at..].find('[').map(|found| at + found) {
        at = open + 1;
        let Some(close) = line[open..].find(']').map(|found| open + found) else { break };
        let Some((slot, length)) = mark(&line[close + 1..])? else { continue };
        if close == open + 1 {
            continue;
        }
        pieces.push(Piece::plain(&line[plain..open]));
        pieces.push(Piece { text: line[open + 1..close].to_owned(), slot: Some(slot) });
        at = close + 1 + length;
        plain = at;
    }
    pieces.push(Piece::plain(&line[plain..]));
    Ok(pieces)
}

/// The slot and the length in bytes of the mark at the start of `text`, if there is one.
fn mark(text: &str) -> Result<Option<(String, usize)>, String> {
    let end_at = |close: &str| text.find(close).map(|found| found + close.len());
    if text.starts_with('(') {
        // The part after a colon is a synonym, in the style of Rasa 1.
        let Some(end) = end_at(")") else { return Ok(None) };
        let entity = text[1..end - 1].split(':').next().unwrap_or_default();
        return Ok((!entity.is_empty()).then(|| (entity.to_owned(), end)));
    }
    let (start, close) = if text.starts_with('{') {
        (0, "}")
    } else if text.starts_with("[{") {
        // Several entities over one text; the first is taken.
        (1, "}]")
    } else {
        return Ok(None);
    };
    let (Some(end), Some(brace)) = (end_at(close), end_at("}")) else { return Ok(None) };
    let json = &text[start..brace];
    let entity: Entity = serde_json::from_str(json)
        .map_err(|error| format!("`{json}` is not an entity: {}", json_problem(&error)))?;
    let slot = match entity.role {
        Some(role) => format!("{}.{role}", entity.entity),
        None => entity.entity,
    };
    Ok(Some((slot, end)))
}

#[derive(Deserialize)]
struct Entity {
    entity: String,
    #[serde(default)]
    role: Option<String>,
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
    use super::super::tests::{check_error, check_read};

    #[test]
    fn reads_examples() {
        let check = |examples: &str, expected: &Expect| {
            let lines: String = examples.lines().map(|line| format!("    {line}\n")).collect();
            let input = format!("version: \"3.1\"\nnlu:\n- intent: go\n  examples: |\n{lines}");
            check_read(Format::Rasa, "x.yml", &input, expected);
        };
        check("- to [New York](city)\n\n- now", &expect!["5 go to [New York|city]\n7 go now\n"]);
        check("\n- leading blank line", &expect!["6 go leading blank line\n"]);
        check("- [a](x) [b](x)[c](x)d", &expect!["5 go [a|x] [b|x] [c|x] d\n"]);
        check(
            r#"- [LA]{"entity": "city", "role": "to", "value": "L A"} x"#,
            &expect!["5 go [LA|city.to] x\n"],
        );
        check(r#"- [LA][{"entity": "a"}, {"entity": "b"}] x"#, &expect!["5 go [LA|a] x\n"]);
        check("- [ny](city:N Y) # [x] (y) [](z) [q", &expect!["5 go [ny|city] # [x] (y) [](z) [q\n"]);
    }

    #[test]
    fn skips_what_it_does_not_need() {
        check_read(
            Format::Rasa,
            "x.yml",
            "nlu:\n- synonym: a\n  examples: |\n    - b\n\
             - intent: g\n  examples:\n  - text: |\n      hi [x](y)\n    metadata: {a: 1}\n  - hello\n\
             - lookup: c\n  examples: |\n    - d\n\
             - regex: e\n  examples: |\n    - \\d+\n\
             responses:\n  utter: [x]\n",
            &expect!["7 g hi [x|y]\n10 g hello\n"],
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
