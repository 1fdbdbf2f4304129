//! wit.ai: the utterances of an exported app, alone or in its folder.
//!
//! A file is `{"utterances": [...]}` or the list itself, with `{"text": "fly to sfo", "intent": "fly", "entities":
//! [{"entity": "wit$location:to", "start": 7, "end": 10, "body": "sfo", "entities": []}], "traits": []}`. The slot is the
//! entity, or `entity.role` if the role is not the entity's own name. In a folder, `entities/*.json` have keywords with
//! synonyms, which are known values.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::finding::Log;
use super::json::Document;
use super::known::KnownValue;
use super::luis::outermost;
use super::raw::Slot;
use super::source::Source;
use super::{Corpus, dialogflow};
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    if !path.is_dir() {
        return read_file(path, log);
    }
    let mut corpus = Corpus { path: path.to_owned(), raw: true, ..Corpus::default() };
    for file in dialogflow::json_files(&path.join("utterances"))? {
        corpus.utterances.extend(read_file(&file, log)?.utterances);
    }
    for file in entity_files(path)? {
        corpus.known_values.extend(read_entity(&file, log)?.known_values);
    }
    corpus.known_values.sort();
    corpus.known_values.dedup();
    Ok(corpus)
}

fn entity_files(path: &Path) -> Result<Vec<PathBuf>> {
    let folder = path.join("entities");
    if folder.is_dir() { dialogflow::json_files(&folder) } else { Ok(Vec::new()) }
}

fn read_file(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut document = Document::new(path, &source, log);
    let rows = if source.text.trim_start().starts_with('[') {
        Some(source.text.as_str())
    } else {
        document.parse::<File<'_>>(&source.text).map(|file| file.utterances.get())
    };
    for (line, row) in rows.map(|rows| document.items::<Row>(rows)).unwrap_or_default() {
        let slot = |entity: &Entity| {
            let places = (entity.start, entity.end);
            Slot::at(&row.text, places, &entity.slot(), entity.body.as_deref())
        };
        let intent = row.intent.as_deref().unwrap_or_default();
        match row.entities.iter().map(slot).collect::<Result<Vec<_>, _>>() {
            Ok(slots) => document.found.text(line, intent, &row.text, outermost(slots)),
            Err(problem) => document.found.note(line, problem),
        }
    }
    Ok(document.found.finish())
}

fn read_entity(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut document = Document::new(path, &source, log);
    if let Some(EntityKind { name, keywords }) = document.parse(&source.text) {
        for Keyword { keyword, synonyms } in &keywords {
            let synonyms = synonyms.iter().map(String::as_str);
            document.found.known_values(KnownValue::with_synonyms(Some(&name), keyword, synonyms));
        }
    }
    Ok(document.found.finish())
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    utterances: &'a RawValue,
}

#[derive(Deserialize)]
struct Row {
    text: String,
    #[serde(default)]
    intent: Option<String>,
    #[serde(default)]
    entities: Vec<Entity>,
}

#[derive(Deserialize)]
struct Entity {
    entity: String,
    start: usize,
    end: usize,
    #[serde(default)]
    body: Option<String>,
}

impl Entity {
    fn slot(&self) -> String {
        match self.entity.split_once(':') {
            Some((name, role)) if name.trim_start_matches("wit$") == role => name.to_owned(),
            Some((name, role)) => format!("{name}.{role}"),
            None => self.entity.clone(),
        }
    }
}

#[derive(Deserialize)]
struct EntityKind {
    name: String,
    #[serde(default)]
    keywords: Vec<Keyword>,
}

#[derive(Deserialize)]
struct Keyword {
    keyword: String,
    #[serde(default)]
    synonyms: Vec<String>,
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::tests::{check_error, check_read, compact, known};
    use super::super::{Format, read};

    const UTTERANCES: &str = r#"{"utterances": [
  {"text": "Fly to 😀 SFO!", "intent": "fly", "entities": [{"entity": "wit$location:to", "start": 9, "end": 12, "body": "SFO", "entities": []}], "traits": []},
  {"text": "in pink", "entities": [{"entity": "color:color", "start": 3, "end": 7, "body": "pink", "entities": []}], "traits": []}]}"#;

    #[test]
    fn reads_utterances() {
        let expected = expect!["2 fly fly to 😀 [sfo|wit$location.to]\n3  in [pink|color]\n"];
        check_read(Format::Wit, "utterances-1.json", UTTERANCES, &expected);
        let dir = tempfile::tempdir().unwrap();
        let app = dir.path().join("app");
        for folder in ["utterances", "entities"] {
            std::fs::create_dir_all(app.join(folder)).unwrap();
        }
        std::fs::write(app.join("app.json"), "{}").unwrap();
        std::fs::write(app.join("utterances/utterances-1.json"), UTTERANCES).unwrap();
        let entity = r#"{"name": "color", "lookups": ["keywords"], "keywords": [{"keyword": "pink", "synonyms": ["rose"]}]}"#;
        std::fs::write(app.join("entities/color.json"), entity).unwrap();
        assert_eq!(Format::detect(&app).unwrap(), Format::Wit);
        let corpus = read(&app, None).unwrap();
        expected.assert_eq(&compact(&corpus));
        assert_eq!(known(&corpus), ["color pink", "color rose = pink"]);
    }

    #[test]
    fn names_what_is_wrong() {
        check_error(
            "x.json",
            br#"[{"text": "a b", "entities": [{"entity": "x", "start": 0, "end": 1, "body": "b"}]}]"#,
            &expect![[r#"
                x.json:1: slot `x` (`b`) is not at 0..1 of `a b`
                hint: name another format, or mend the line"#]],
        );
    }
}
