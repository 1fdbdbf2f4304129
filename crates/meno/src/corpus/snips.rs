//! Snips JSON, both shapes.
//!
//! The 2017 benchmark has `{"PlayMusic": [{"data": [{"text": "play "}, {"text": "x", "entity": "artist"}]}]}`, where
//! `entity` is the slot. The dataset of snips-nlu has `{"intents": {"PlayMusic": {"utterances": [{"data": [...]}]}}}`,
//! where `slot_name` is the slot and `entity` its type. The second is written; intents stand in the order in which they
//! first occur, so utterances of one intent move together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::Corpus;
use super::finding::Log;
use super::json::{Document, Pairs};
use super::known::KnownValue;
use super::markup::{self, Piece};
use super::source::Source;
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut reader = Reader { document: Document::new(path, &source, log), slots: BTreeMap::new() };
    reader.document();
    Ok(reader.document.found.finish())
}

/// The dataset JSON of snips-nlu.
pub(super) fn render(corpus: &Corpus) -> Result<String> {
    let mut intents = Vec::new();
    let mut slots: Vec<String> = Vec::new();
    for (intent, utterances) in corpus.by_intent() {
        let mut rows = Vec::new();
        for utterance in utterances {
            let pieces = markup::pieces(utterance);
            markup::demand_markup(corpus, utterance, "Snips")?;
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
    document: Document<'a>,
    /// The slots of each entity.
    slots: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Reader<'a> {
    fn document(&mut self) {
        let Some(Pairs(pairs)) = self.document.parse(self.document.text) else { return };
        let part = |key: &str| pairs.iter().find(|(name, value)| name == key && value.get().starts_with('{'));
        let Some((_, intents)) = part("intents") else {
            for (intent, rows) in pairs {
                self.rows(&intent, rows.get());
            }
            return;
        };
        let Some(Pairs(intents)) = self.document.parse(intents.get()) else { return };
        for (intent, value) in intents {
            let Some(block) = self.document.parse::<Block<'a>>(value.get()) else { continue };
            self.rows(&intent, block.utterances.get());
        }
        if let Some((_, entities)) = part("entities") {
            self.entities(entities.get());
        }
    }

    fn rows(&mut self, intent: &str, text: &'a str) {
        for (line, Row { data }) in self.document.items(text) {
            let mut pieces = Vec::with_capacity(data.len());
            for Datum { text, entity, slot_name } in data {
                if let (Some(entity), Some(slot)) = (&entity, &slot_name) {
                    self.slots.entry(entity.clone()).or_default().insert(slot.clone());
                }
                pieces.push(Piece { text, slot: slot_name.or(entity) });
            }
            self.document.found.pieces(line, intent, &pieces);
        }
    }

    fn entities(&mut self, text: &'a str) {
        let Some(Pairs(entities)) = self.document.parse(text) else { return };
        for (name, value) in entities {
            let Some(Entity { data }) = self.document.parse(value.get()) else { continue };
            let slots = self.slots.remove(&name).unwrap_or_else(|| BTreeSet::from([name]));
            for slot in &slots {
                for EntityValue { value, synonyms } in &data {
                    let synonyms = synonyms.iter().map(String::as_str);
                    self.document.found.known_values(KnownValue::with_synonyms(Some(slot), value, synonyms));
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    utterances: &'a RawValue,
}

#[derive(Deserialize)]
struct Row {
    data: Vec<Datum>,
}

#[derive(Deserialize)]
struct Datum {
    text: String,
    #[serde(default)]
    entity: Option<String>,
    #[serde(default)]
    slot_name: Option<String>,
}

/// Built-in entities such as `snips/datetime` have no data.
#[derive(Deserialize)]
struct Entity {
    #[serde(default)]
    data: Vec<EntityValue>,
}

#[derive(Deserialize)]
struct EntityValue {
    value: String,
    #[serde(default)]
    synonyms: Vec<String>,
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::Format;
    use super::super::tests::{check_error, check_read};

    #[test]
    fn reads_both_shapes() {
        let check = |input: &str, expected: &Expect| {
            check_read(Format::Snips, "x.json", input, expected);
        };
        check(
            r#"{"PlayMusic": [
  {"data": [{"text": "play "}, {"text": "the x", "entity": "artist"}, {"text": "."}]},
  {"data": [{"text": "stop"}, {"text": "ped"}]}
]}"#,
            &expect!["2 PlayMusic play [the x|artist]\n3 PlayMusic stopped\n"],
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
                x.json:2: missing field `text`, at column 23
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
