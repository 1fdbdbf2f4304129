//! LUIS: an exported app (`luis_schema_version`), or a list of labelled utterances as its batch tests have.
//!
//! An utterance is `{"text": "book to paris", "intent": "Book", "entities": [{"entity": "city", "startPos": 8, "endPos":
//! 12}]}`; `endPos` is the last character, counted in UTF-16 code units. The slot is the entity, or `entity.role`. A
//! child inside of another entity is left to the outer one. Closed lists are known values.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Corpus;
use super::finding::Log;
use super::json::Document;
use super::known::KnownValue;
use super::raw::Slot;
use super::source::Source;
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut document = Document::new(path, &source, log);
    let rows = if source.text.trim_start().starts_with('[') {
        Some(source.text.as_str())
    } else {
        let app = document.parse::<App<'_>>(&source.text);
        for list in app.iter().flat_map(|app| &app.closed_lists) {
            for SubList { canonical, list: synonyms } in &list.sub_lists {
                let synonyms = synonyms.iter().map(String::as_str);
                document.found.known_values(KnownValue::with_synonyms(Some(&list.name), canonical, synonyms));
            }
        }
        app.map(|app| app.utterances.get())
    };
    for (line, row) in rows.map(|rows| document.items::<Row>(rows)).unwrap_or_default() {
        match row.slots() {
            Ok(slots) => document.found.text(line, &row.intent, &row.text, slots),
            Err(problem) => document.found.note(line, problem),
        }
    }
    Ok(document.found.finish())
}

#[derive(Deserialize)]
struct App<'a> {
    #[serde(borrow)]
    utterances: &'a RawValue,
    #[serde(default, rename = "closedLists")]
    closed_lists: Vec<ClosedList>,
}

#[derive(Deserialize)]
struct ClosedList {
    name: String,
    #[serde(default, rename = "subLists")]
    sub_lists: Vec<SubList>,
}

#[derive(Deserialize)]
struct SubList {
    #[serde(rename = "canonicalForm")]
    canonical: String,
    #[serde(default)]
    list: Vec<String>,
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
    entity: String,
    #[serde(default)]
    role: Option<String>,
    #[serde(rename = "startPos")]
    start: usize,
    /// The last character, not the one after it.
    #[serde(rename = "endPos")]
    last: usize,
}

impl Row {
    fn slots(&self) -> Result<Vec<Slot>, String> {
        let mut slots = Vec::with_capacity(self.entities.len());
        for Entity { entity, role, start, last } in &self.entities {
            let name = match role.as_deref().filter(|role| !role.is_empty()) {
                Some(role) => format!("{entity}.{role}"),
                None => entity.clone(),
            };
            slots.push(Slot::at_utf16(&self.text, *start, last.saturating_add(1), &name)?);
        }
        Ok(outermost(slots))
    }
}

/// Leaves out slots that lie inside of others.
pub(super) fn outermost(mut slots: Vec<Slot>) -> Vec<Slot> {
    slots.sort_by_key(|slot| (slot.range.start, std::cmp::Reverse(slot.range.end)));
    let mut end = 0;
    slots.retain(|slot| {
        let inside = slot.range.end <= end;
        end = end.max(slot.range.end);
        !inside
    });
    slots
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::Format;
    use super::super::tests::{check_error, check_read, known};

    #[test]
    fn reads_an_app() {
        let corpus = check_read(
            Format::Luis,
            "app.json",
            r#"{"luis_schema_version": "7.0.0", "intents": [{"name": "Book", "features": []}], "entities": [{"name": "Flight"}],
 "closedLists": [{"name": "Class", "subLists": [{"canonicalForm": "economy", "list": ["coach"]}], "roles": []}],
 "utterances": [
  {"text": "Book a 😀 flight to Paris!", "intent": "Book", "entities": [{"entity": "City", "startPos": 20, "endPos": 24, "role": "to", "children": []}]},
  {"text": "fly to new york", "intent": "Book", "entities": [{"entity": "City", "startPos": 7, "endPos": 14}, {"entity": "State", "startPos": 11, "endPos": 14}]}],
 "versionId": "0.1", "name": "example"}"#,
            &expect![[r#"
                4 Book book a 😀 flight to [paris|City.to]
                5 Book fly to [new york|City]
            "#]],
        );
        assert_eq!(known(&corpus), ["Class coach = economy", "Class economy"]);
    }

    #[test]
    fn names_what_is_wrong() {
        check_error(
            "x.json",
            br#"[
 {"text": "a b", "intent": "i", "entities": [{"entity": "x", "startPos": 2, "endPos": 3}]}]"#,
            &expect![[r#"
                x.json:2: slot `x` at 2..4 lies outside of `a b`
                hint: name another format, or mend the line"#]],
        );
    }
}
