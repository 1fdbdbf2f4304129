//! Azure's conversational language understanding: a project with `assets`.
//!
//! An utterance is `{"text": "book to paris", "intent": "Book", "entities": [{"category": "city", "offset": 8, "length":
//! 5}]}`, counted in UTF-16 code units. The sublists of entities are known values.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Corpus;
use super::finding::Log;
use super::json::Document;
use super::known::KnownValue;
use super::luis::outermost;
use super::raw::Slot;
use super::source::Source;
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut document = Document::new(path, &source, log);
    let Some(Project { assets }) = document.parse(&source.text) else { return Ok(document.found.finish()) };
    let Some(Assets { utterances, entities }) = document.parse(assets.get()) else {
        return Ok(document.found.finish());
    };
    for EntityKind { category, list } in &entities {
        for Sublist { key, synonyms } in list.iter().flat_map(|list| &list.sublists) {
            let phrases = synonyms.iter().flat_map(|synonyms| &synonyms.values).map(String::as_str);
            document.found.known_values(KnownValue::with_synonyms(Some(category), key, phrases));
        }
    }
    for (line, row) in document.items::<Row>(utterances.get()) {
        let slot = |entity: &Entity| {
            Slot::at_utf16(
                &row.text,
                entity.offset,
                entity.offset.saturating_add(entity.length),
                &entity.category,
            )
        };
        match row.entities.iter().map(slot).collect::<Result<Vec<_>, _>>() {
            Ok(slots) => document.found.text(line, &row.intent, &row.text, outermost(slots)),
            Err(problem) => document.found.note(line, problem),
        }
    }
    Ok(document.found.finish())
}

#[derive(Deserialize)]
struct Project<'a> {
    #[serde(borrow)]
    assets: &'a RawValue,
}

#[derive(Deserialize)]
struct Assets<'a> {
    #[serde(borrow)]
    utterances: &'a RawValue,
    #[serde(default)]
    entities: Vec<EntityKind>,
}

#[derive(Deserialize)]
struct EntityKind {
    category: String,
    #[serde(default)]
    list: Option<List>,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    sublists: Vec<Sublist>,
}

#[derive(Deserialize)]
struct Sublist {
    #[serde(rename = "listKey")]
    key: String,
    #[serde(default)]
    synonyms: Vec<Synonyms>,
}

#[derive(Deserialize)]
struct Synonyms {
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Deserialize)]
struct Row {
    text: String,
    #[serde(default)]
    intent: String,
    #[serde(default)]
    entities: Vec<Entity>,
}

#[derive(Deserialize)]
struct Entity {
    category: String,
    offset: usize,
    length: usize,
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::Format;
    use super::super::tests::{check_error, check_read, known};

    #[test]
    fn reads_a_project() {
        let corpus = check_read(
            Format::Clu,
            "project.json",
            r#"{"projectFileVersion": "2022-10-01-preview", "stringIndexType": "Utf16CodeUnit",
 "metadata": {"projectKind": "Conversation", "language": "en"},
 "assets": {"projectKind": "Conversation", "intents": [{"category": "Read"}],
  "entities": [{"category": "Sender", "compositionSetting": "combineComponents", "list": {"sublists": [{"listKey": "Matt", "synonyms": [{"language": "en", "values": ["Matthew"]}]}]}}],
  "utterances": [
   {"text": "Open Matt's email.", "language": "en-us", "intent": "Read", "dataset": "Train", "entities": [{"category": "Sender", "offset": 5, "length": 4}]}]}}"#,
            &expect!["6 Read open [matt|Sender] s email\n"],
        );
        assert_eq!(known(&corpus), ["Sender Matt", "Sender Matthew = Matt"]);
    }

    #[test]
    fn names_what_is_wrong() {
        check_error(
            "x.json",
            b"{\"projectFileVersion\": \"1\",\n \"assets\": {\"intents\": []}}",
            &expect![[r#"
                x.json:2: missing field `utterances`, at column 26
                hint: name another format, or mend the line"#]],
        );
    }
}
