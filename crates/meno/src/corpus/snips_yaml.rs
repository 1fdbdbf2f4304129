//! The YAML dataset of snips-nlu: documents of `type: intent` and `type: entity`.
//!
//! An utterance is `turn on the light in the [room](kitchen)` or `[room:rooms](kitchen)`, where `rooms` is the entity of
//! the slot. The values of an entity, each alone or a list of it and its synonyms, are known values of its slots.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Corpus;
use super::finding::Log;
use super::known::KnownValue;
use super::markup::Piece;
use super::raw::Collector;
use super::source::Source;
use super::yaml::{self, Node};
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut found = Collector::new(path, log);
    match yaml::parse_all(&source.text) {
        Ok(documents) => {
            let mut slots = Slots::default();
            documents.iter().for_each(|document| intent(&mut found, document, &mut slots));
            documents.iter().for_each(|document| entity(&mut found, document, &slots));
        }
        Err((line, problem)) => found.note(line, problem),
    }
    Ok(found.finish())
}

/// The slots of each entity.
type Slots = BTreeMap<String, BTreeSet<String>>;

fn name<'a>(found: &mut Collector<'_>, document: &'a Node) -> Option<(&'a str, &'a str)> {
    let kind = document.get("type").and_then(Node::text);
    let name = document.get("name").and_then(Node::text).filter(|name| !name.is_empty());
    match (kind, name) {
        (Some(kind @ ("intent" | "entity")), Some(name)) => Some((kind, name)),
        (Some(kind @ ("intent" | "entity")), None) => {
            found.note(document.line, format!("an {kind} has no `name`"));
            None
        }
        (kind, _) => {
            let kind = kind.map_or("no `type`".to_owned(), |kind| format!("type `{kind}`"));
            found.note(document.line, format!("a document of {kind}: it is `intent` or `entity`"));
            None
        }
    }
}

fn intent(found: &mut Collector<'_>, document: &Node, slots: &mut Slots) {
    let Some(("intent", name)) = name(found, document) else { return };
    for slot in document.get("slots").and_then(Node::list).unwrap_or_default() {
        if let (Some(name), Some(entity)) = (text(slot, "name"), text(slot, "entity")) {
            slots.entry(entity.to_owned()).or_default().insert(name.to_owned());
        }
    }
    let Some(utterances) = document.get("utterances").and_then(Node::list) else {
        return found.note(document.line, format!("intent `{name}` has no list of `utterances`"));
    };
    for utterance in utterances {
        let Some(text) = utterance.text() else {
            found.note(utterance.line, "an utterance is not text; one that begins with `[` needs quotes");
            continue;
        };
        match parse(text, slots) {
            Ok(pieces) => found.pieces(utterance.line, name, &pieces),
            Err(problem) => found.note(utterance.line, problem),
        }
    }
}

fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.get(key).and_then(Node::text)
}

fn entity(found: &mut Collector<'_>, document: &Node, slots: &Slots) {
    if text(document, "type") != Some("entity") {
        return;
    }
    let Some((_, name)) = name(found, document) else { return };
    let itself = BTreeSet::from([name.to_owned()]);
    for value in document.get("values").and_then(Node::list).unwrap_or_default() {
        let names: Vec<&str> = match value.list() {
            Some(names) => names.iter().filter_map(Node::text).collect(),
            None => value.text().into_iter().collect(),
        };
        let Some((value, synonyms)) = names.split_first() else { continue };
        for slot in slots.get(name).unwrap_or(&itself) {
            found.known_values(KnownValue::with_synonyms(Some(slot), value, synonyms.iter().copied()));
        }
    }
}

/// Cuts `[slot](text)` and `[slot:entity](text)` out of a line; any other bracket is text.
fn parse(line: &str, slots: &mut Slots) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(middle) = line[at..].find("](").map(|found| at + found) {
        let Some(open) = line[at..middle].rfind('[').map(|found| at + found) else {
            return Err(format!("`{}` opens no bracket", &line[at..middle + 2]));
        };
        let Some(close) = line[middle..].find(')').map(|found| middle + found) else {
            return Err(format!("`{}` is not closed", &line[open..middle + 2]));
        };
        let (slot, entity) = line[open + 1..middle].split_once(':').unwrap_or((&line[open + 1..middle], ""));
        if !entity.is_empty() {
            slots.entry(entity.to_owned()).or_default().insert(slot.to_owned());
        }
        pieces.push(Piece::plain(&line[plain..open]));
        pieces.push(Piece { text: line[middle + 2..close].to_owned(), slot: Some(slot.to_owned()) });
        at = close + 1;
        plain = at;
    }
    pieces.push(Piece::plain(&line[plain..]));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::Format;
    use super::super::tests::{check_error, check_read, known};

    #[test]
    fn reads_intents_and_entities() {
        let corpus = check_read(
            Format::SnipsYaml,
            "dataset.yaml",
            "# turnLightOn intent\n---\ntype: intent\nname: turnLightOn\nslots:\n  - name: room\n    entity: rooms\nutterances:\n\
             \x20 - Turn on the lights in the [room](kitchen)\n  - give me some light in the [place:rooms](living room), please\n\n\
             ---\ntype: entity\nname: rooms\nautomatically_extensible: no\nvalues:\n- bedroom\n- [living room, main room]\n",
            &expect![[r#"
                9 turnLightOn turn on the lights in the [kitchen|room]
                10 turnLightOn give me some light in the [living room|place] please
            "#]],
        );
        assert_eq!(
            known(&corpus),
            [
                "place bedroom",
                "place living room",
                "place main room = living room",
                "room bedroom",
                "room living room",
                "room main room = living room",
            ]
        );
    }

    #[test]
    fn names_what_is_wrong() {
        check_error(
            "x.yaml",
            b"type: intent\nname: a\nutterances:\n- b [c](d\n",
            &expect![[r#"
                x.yaml:4: `[c](` is not closed
                hint: name another format, or mend the line"#]],
        );
        check_error(
            "x.yaml",
            b"type: intent\nname: a\n---\ntype: story\n",
            &expect![[r#"
                x.yaml:1: intent `a` has no list of `utterances`
                hint: name another format, or mend the line"#]],
        );
    }
}
