//! Dialogflow ES: an exported agent, or the phrases of one intent.
//!
//! `intents/NAME_usersays_en.json` is a list of phrases whose `data` are pieces of text, with `alias` where one is a
//! parameter: that is the slot. `entities/NAME_entries_en.json` are values with synonyms, known values of the slots whose
//! `meta` is `@NAME`. The intent is the name in the file `intents/NAME.json` if it is there, else that of the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Corpus;
use super::finding::Log;
use super::json::Document;
use super::known::KnownValue;
use super::markup::Piece;
use super::source::Source;
use crate::{Error, Result};

const PHRASES: &str = "_usersays_";
const ENTRIES: &str = "_entries_";

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    let mut slots = BTreeMap::new();
    if !path.is_dir() {
        return read_phrases(path, &mut slots, log);
    }
    let mut corpus = Corpus { path: path.to_owned(), raw: true, ..Corpus::default() };
    for file in json_files(&path.join("intents"))? {
        if name_before(&file, PHRASES).is_some() {
            corpus.utterances.extend(read_phrases(&file, &mut slots, log)?.utterances);
        }
    }
    let entities = path.join("entities");
    for file in if entities.is_dir() { json_files(&entities)? } else { Vec::new() } {
        if let Some(name) = name_before(&file, ENTRIES) {
            corpus.known_values.extend(read_entries(&file, &name, &slots, log)?.known_values);
        }
    }
    corpus.known_values.sort();
    corpus.known_values.dedup();
    Ok(corpus)
}

/// The JSON files of a folder, sorted.
pub(super) fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let read =
        || std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut files: Vec<PathBuf> = read().map_err(|source| Error::read(folder, source))?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}

fn name_before(path: &Path, mark: &str) -> Option<String> {
    let stem = path.file_stem()?.to_string_lossy();
    stem.rsplit_once(mark).map(|(name, _)| name.to_owned())
}

/// The slots of each entity (`@city`).
type Slots = BTreeMap<String, BTreeSet<String>>;

fn read_phrases(path: &Path, slots: &mut Slots, log: &mut Log) -> Result<Corpus> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let file_name = name_before(path, PHRASES).unwrap_or(stem);
    let intent = std::fs::read(path.with_file_name(format!("{file_name}.json"))).ok();
    let intent = intent.and_then(|bytes| serde_json::from_slice::<Intent>(&bytes).ok());
    let intent = intent.map_or(file_name, |intent| intent.name);
    let source = Source::open(path, log)?;
    let mut document = Document::new(path, &source, log);
    for (line, Phrase { data }) in document.items(&source.text) {
        let mut pieces = Vec::with_capacity(data.len());
        for Part { text, alias, meta } in data {
            let slot = alias.filter(|alias| !alias.is_empty());
            if let (Some(slot), Some(meta)) = (&slot, meta) {
                slots.entry(meta.trim_start_matches('@').to_owned()).or_default().insert(slot.clone());
            }
            pieces.push(Piece { text, slot });
        }
        document.found.pieces(line, &intent, &pieces);
    }
    Ok(document.found.finish())
}

fn read_entries(path: &Path, name: &str, slots: &Slots, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut document = Document::new(path, &source, log);
    let itself = BTreeSet::from([name.to_owned()]);
    for (_, Entry { value, synonyms }) in document.items::<Entry>(&source.text) {
        for slot in slots.get(name).unwrap_or(&itself) {
            let synonyms = synonyms.iter().map(String::as_str);
            document.found.known_values(KnownValue::with_synonyms(Some(slot), &value, synonyms));
        }
    }
    Ok(document.found.finish())
}

#[derive(Deserialize)]
struct Intent {
    name: String,
}

#[derive(Deserialize)]
struct Phrase {
    data: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    text: String,
    #[serde(default)]
    alias: Option<String>,
    #[serde(default)]
    meta: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    value: String,
    #[serde(default)]
    synonyms: Vec<String>,
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::tests::{check_error, check_read, compact, known};
    use super::super::{Format, read};

    const PHRASES: &str = r#"[
  {"id": "a", "data": [{"text": "Room in ", "userDefined": false}, {"text": "Mountain View", "meta": "@sys.geo-city", "alias": "geo-city", "userDefined": true}, {"text": "?", "userDefined": false}], "isTemplate": false, "count": 0, "updated": 0},
  {"id": "b", "data": [{"text": "a "}, {"text": "big one", "meta": "@size", "alias": "room-size"}]}
]"#;

    #[test]
    fn reads_phrases_and_agents() {
        let expected = expect!["2 book room in [mountain view|geo-city]\n3 book a [big one|room-size]\n"];
        check_read(Format::Dialogflow, "book_usersays_en.json", PHRASES, &expected);
        let dir = tempfile::tempdir().unwrap();
        for folder in ["intents", "entities"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("package.json", r#"{"version": "1.0.0"}"#);
        write("intents/book.json", r#"{"id": "x", "name": "room.book", "auto": true}"#);
        write("intents/book_usersays_en.json", PHRASES);
        write("entities/size.json", r#"{"name": "size"}"#);
        write("entities/size_entries_en.json", r#"[{"value": "large", "synonyms": ["large", "big one"]}]"#);
        assert_eq!(Format::detect(dir.path()).unwrap(), Format::Dialogflow);
        let corpus = read(dir.path(), None).unwrap();
        expect!["2 room.book room in [mountain view|geo-city]\n3 room.book a [big one|room-size]\n"]
            .assert_eq(&compact(&corpus));
        assert_eq!(known(&corpus), ["room-size big one = large", "room-size large"]);
    }

    #[test]
    fn names_what_is_wrong() {
        check_error(
            "x_usersays_en.json",
            b"[\n {\"data\": [{\"txt\": \"a\"}]}]",
            &expect![[r#"
                x_usersays_en.json:2: missing field `text`, at column 23
                hint: name another format, or mend the line"#]],
        );
    }
}
