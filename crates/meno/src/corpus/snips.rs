//! Snips JSON, both shapes.
//!
//! The 2017 benchmark has `{"PlayMusic": [{"data": [{"text": "play "}, {"text": "x", "entity": "artist"}]}]}`, where
//! `entity` is the slot. The dataset of snips-nlu has `{"intents": {"PlayMusic": {"utterances": [{"data": [...]}]}}}`,
//! where `slot_name` is the slot and `entity` its type. The second is written; intents stand in the order in which they
//! first occur, so utterances of one intent move together.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::json;
use serde_json::value::RawValue;

use super::finding::{Kind, Log};
use super::markup::{self, Piece};
use super::source::{LineCounter, Source, json_problem};
use super::{Corpus, Utterance};
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Vec<Utterance>> {
    let source = Source::open(path, log)?;
    let mut reader = Reader { path, lines: LineCounter::new(&source.text), log, utterances: Vec::new() };
    reader.document(&source.text);
    Ok(reader.utterances)
}

/// The dataset JSON of snips-nlu.
pub(super) fn render(corpus: &Corpus) -> Result<String> {
    let mut intents = Vec::new();
    let mut slots: Vec<String> = Vec::new();
    for (intent, utterances) in corpus.by_intent() {
        let mut rows = Vec::new();
        for utterance in utterances {
            let pieces = markup::pieces(utterance);
            let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
            markup::demand_same(corpus, utterance, "Snips", markup::assemble(&pieces).ok(), &text)?;
            let data: Vec<_> = pieces
                .iter()
                .map(|piece| match &piece.slot {
                    Some(slot) => json!({"text": piece.text, "entity": slot, "slot_name": slot}),
                    None => json!({"text": piece.text}),
                })
                .collect();
            slots.extend(pieces.into_iter().filter_map(|piece| piece.slot));
            rows.push(json!({ "data": data }).to_string());
        }
        let rows = rows.join(",\n        ");
        intents.push(format!(
            "    {}: {{\n      \"utterances\": [\n        {rows}\n      ]\n    }}",
            json!(intent)
        ));
    }
    slots.sort();
    slots.dedup();
    let entity = json!({"data": [], "use_synonyms": true, "automatically_extensible": true, "matching_strictness": 1.0});
    let entities: Vec<String> = slots.iter().map(|slot| format!("    {}: {entity}", json!(slot))).collect();
    Ok(format!(
        "{{\n  \"intents\": {{\n{}\n  }},\n  \"entities\": {{\n{}\n  }},\n  \"language\": \"en\"\n}}\n",
        intents.join(",\n"),
        entities.join(",\n")
    ))
}

struct Reader<'a> {
    path: &'a Path,
    lines: LineCounter<'a>,
    log: &'a mut Log,
    utterances: Vec<Utterance>,
}

impl<'a> Reader<'a> {
    fn document(&mut self, text: &'a str) {
        let Some(Pairs(pairs)) = self.parse(text) else { return };
        let nlu = pairs.iter().find(|(key, value)| key == "intents" && value.get().starts_with('{'));
        let Some((_, intents)) = nlu else {
            for (intent, rows) in pairs {
                self.rows(&intent, rows.get());
            }
            return;
        };
        let Some(Pairs(intents)) = self.parse(intents.get()) else { return };
        for (intent, value) in intents {
            let Some(block) = self.parse::<Block<'a>>(value.get()) else { continue };
            self.rows(&intent, block.utterances.get());
        }
    }

    fn rows(&mut self, intent: &str, text: &'a str) {
        let Some(rows) = self.parse::<Vec<&'a RawValue>>(text) else { return };
        for row in rows {
            let line = self.lines.line_of(row.get());
            let Some(Row { data }) = self.parse(row.get()) else { continue };
            let pieces: Vec<Piece> = data
                .into_iter()
                .map(|Datum { text, entity, slot_name }| Piece { text, slot: slot_name.or(entity) })
                .collect();
            match markup::assemble(&pieces) {
                Ok((words, _)) if words.is_empty() => {
                    self.log.add(self.path, line, Kind::EmptyLine, "no words in this utterance");
                }
                Ok((words, labels)) => {
                    let intent = intent.to_owned();
                    self.utterances.push(Utterance { words, labels, truth: None, intent, line });
                }
                Err(problem) => self.log.add(self.path, line, Kind::Syntax, problem),
            }
        }
    }

    /// Parses a part of the document; an error is noted on its line in the whole.
    fn parse<T: Deserialize<'a>>(&mut self, text: &'a str) -> Option<T> {
        let first_line = self.lines.line_of(text);
        serde_json::from_str(text)
            .map_err(|error| {
                let line = first_line + error.line().saturating_sub(1);
                self.log.add(self.path, line, Kind::Syntax, json_problem(&error));
            })
            .ok()
    }
}

#[derive(serde::Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    utterances: &'a RawValue,
}

#[derive(serde::Deserialize)]
struct Row {
    data: Vec<Datum>,
}

#[derive(serde::Deserialize)]
struct Datum {
    text: String,
    #[serde(default)]
    entity: Option<String>,
    #[serde(default)]
    slot_name: Option<String>,
}

/// An object with its keys in order and its values unread.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of intents")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::Format;
    use super::super::tests::{check_error, check_read};

    #[test]
    fn reads_both_shapes() {
        let check = |input: &str, expected: &Expect| check_read(Format::Snips, "x.json", input, expected);
        check(
            r#"{"PlayMusic": [
  {"data": [{"text": "play "}, {"text": "the x", "entity": "artist"}, {"text": "."}]},
  {"data": [{"text": "stop"}, {"text": "ped"}]}
]}"#,
            &expect!["2 PlayMusic play [the x|artist] .\n3 PlayMusic stopped\n"],
        );
        check(
            r#"{"language": "en", "entities": {}, "intents": {
  "B": {"utterances": [{"data": [{"text": "x", "entity": "t", "slot_name": "s"}, {"text": "y", "entity": "t"}]}]},
  "A": {"utterances": []}}}"#,
            &expect!["2 B [x|s] [y|t]\n"],
        );
    }

    #[test]
    fn names_what_is_wrong() {
        let check = |input: &str, expected: &Expect| check_error("x.json", input.as_bytes(), expected);
        check(
            "{\"A\": [\n {\"data\": [{\"txt\": \"a\"}]}]}",
            &expect![[r#"
            x.json:2: missing field `text`, at column 22
            hint: name another format, or mend the line"#]],
        );
        check(
            "{\"A\": [\n {\"data\": [",
            &expect![[r#"
            x.json:2: EOF while parsing a list, at column 11
            hint: name another format, or mend the line"#]],
        );
        check(
            "{\"A\": [\n\n {\"data\": [{\"text\": \" \", \"entity\": \"x\"}]}]}",
            &expect![[r#"
            x.json:3: slot `x` holds no word
            hint: name another format, or mend the line"#]],
        );
    }
}
