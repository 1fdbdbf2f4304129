//! Which format a file or folder is, by what stands in it.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::format::Format;
use super::{delimited, folder, rasa_markdown, word_tag};
use crate::{Error, Result};

/// So much of a file is looked at.
const LOOKED_AT: u64 = 1 << 16;

pub(super) fn detect(path: &Path) -> Result<Format> {
    let metadata = fs::metadata(path).map_err(|source| Error::read(path, source))?;
    if metadata.is_dir() {
        return of_folder(path);
    }
    let start = read_start(path)?;
    let start = String::from_utf8_lossy(&start);
    let start = start.trim_start_matches('\u{feff}').trim_start();
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension {
        "conll" | "iob" | "bio" => return Ok(Format::Conll),
        "yml" | "yaml" => return Ok(of_yaml(start).unwrap_or(Format::Rasa)),
        _ => {}
    }
    let is_word_tag = start.lines().next().is_some_and(word_tag::is_line);
    if start.starts_with(['{', '[']) && extension != "md" && !is_word_tag {
        let is_json = start[1..].trim_start().starts_with(['"', '{', '[', ']', '}']);
        if is_json {
            return of_json(start).ok_or_else(|| unknown_json(path, start));
        }
    }
    Ok(of_text(start))
}

/// A folder that is one corpus.
pub(super) fn of_folder(path: &Path) -> Result<Format> {
    let holds = |name: &str| path.join(name).is_dir();
    match () {
        () if path.join(folder::WORDS).is_file() => Ok(Format::Folder),
        () if holds("sentences") && (holds("lists") || holds("rules")) || is_hassil_language(path) => {
            Ok(Format::Hassil)
        }
        () if holds("intents")
            && (path.join("agent.json").is_file() || path.join("package.json").is_file()) =>
        {
            Ok(Format::Dialogflow)
        }
        () if holds("utterances") && path.join("app.json").is_file() => Ok(Format::Wit),
        () => Err(Error::Dataset {
            problem: format!("{} is a folder without {}", path.display(), folder::WORDS),
            hint: "name a split, for example its `train` folder, or a file".to_owned(),
        }),
    }
}

/// Whether a folder is `sentences/en` or `tests/en`: its first file of YAML, or that of its first folders, is hassil's.
fn is_hassil_language(path: &Path) -> bool {
    let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "yaml");
    let files =
        entries(path).flat_map(|path| if path.is_dir() { entries(&path).collect() } else { vec![path] });
    (parent == "sentences" || parent == "tests")
        && files.filter(is_yaml).take(4).any(|path| {
            let start = read_start(&path).unwrap_or_default();
            of_yaml(&String::from_utf8_lossy(&start)) == Some(Format::Hassil)
        })
}

fn read_start(path: &Path) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    let opened = File::open(path).and_then(|file| file.take(LOOKED_AT).read_to_end(&mut start));
    opened.map_err(|source| Error::read(path, source))?;
    Ok(start)
}

fn of_text(start: &str) -> Format {
    let first = start.lines().next().unwrap_or_default();
    match () {
        () if start.lines().any(rasa_markdown::is_heading) => Format::RasaMarkdown,
        () if word_tag::is_line(first) => Format::WordTag,
        () if delimited::is_header(first) => Format::Delimited,
        () => of_yaml(start).unwrap_or(Format::Conll),
    }
}

/// The YAML formats differ in their keys.
fn of_yaml(start: &str) -> Option<Format> {
    let has = |key: &str| {
        start.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    };
    match () {
        () if has("nlu") => Some(Format::Rasa),
        () if has("type") && (has("utterances") || has("values") || has("name")) => Some(Format::SnipsYaml),
        () if has("language")
            && ["intents", "data", "tests", "lists", "expansion_rules"].into_iter().any(has) =>
        {
            Some(Format::Hassil)
        }
        () => None,
    }
}

fn of_json(start: &str) -> Option<Format> {
    let keys = keys(start);
    let first_line = start.lines().next().unwrap_or_default();
    let line_keys = self::keys(first_line);
    let in_line = |key: &str| line_keys.contains(&(1, key));
    let at = |depth: usize, key: &str| keys.contains(&(depth, key));
    let anywhere = |key: &str| keys.iter().any(|(_, found)| *found == key);
    let is_object = start.starts_with('{');
    match () {
        () if in_line("annot_utt") => Some(Format::Massive),
        () if in_line("sentence_annotation") || in_line("slurp_id") => Some(Format::Slurp),
        () if in_line("tokens") => Some(Format::Jsonl),
        () if at(1, "luis_schema_version") || anywhere("startPos") => Some(Format::Luis),
        () if at(1, "projectFileVersion") || at(1, "assets") => Some(Format::Clu),
        () if !is_object && at(2, "annotations") => Some(Format::LabelStudio),
        () if at(1, "utterances") || !is_object && at(2, "text") => Some(Format::Wit),
        () if !is_object && at(2, "data") => Some(Format::Dialogflow),
        () if is_object && (at(1, "intents") || anywhere("data")) => Some(Format::Snips),
        // Empty, or damaged before the first key: the reader says what is wrong.
        () if is_object && keys.is_empty() => Some(Format::Snips),
        () => None,
    }
}

fn unknown_json(path: &Path, start: &str) -> Error {
    let mut names: Vec<&str> = keys(start).into_iter().map(|(_, key)| key).collect();
    names.sort_unstable();
    names.dedup();
    let nearest = [
        (Format::Jsonl, ["tokens", "ner_tags", "labels", "words"]),
        (Format::Massive, ["utt", "annot_utt", "partition", "locale"]),
        (Format::Wit, ["text", "entities", "intent", "start"]),
        (Format::LabelStudio, ["annotations", "result", "value", "predictions"]),
        (Format::Snips, ["intents", "data", "utterances", "slot_name"]),
    ];
    let shared = |keys: &[&str]| keys.iter().filter(|key| names.contains(*key)).count();
    let nearest = nearest.iter().max_by_key(|(_, keys)| shared(keys)).filter(|(_, keys)| shared(keys) > 0);
    let hint = match nearest {
        Some((format, keys)) => {
            let missing: Vec<String> =
                keys.iter().filter(|key| !names.contains(*key)).map(|key| format!("`{key}`")).collect();
            format!("the nearest format is {format}, which also has {}", missing.join(", "))
        }
        None => format!(
            "the nearest format is jsonl, with `tokens` and `ner_tags` in each line; all are {}",
            Format::names()
        ),
    };
    names.truncate(8);
    let found = if names.is_empty() { "nothing".to_owned() } else { format!("`{}`", names.join("`, `")) };
    Error::Corpus {
        path: path.to_owned(),
        line: 1,
        problem: format!("JSON of no known format: its fields are {found}"),
        hint,
    }
}

/// The keys of objects in the beginning of a JSON text, each with its depth; damaged text gives the keys before the
/// damage.
fn keys(text: &str) -> Vec<(usize, &str)> {
    let mut keys = Vec::new();
    let mut depth = 0_usize;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at + 1;
                at = start;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let is_key = text.get(at + 1..).is_some_and(|rest| rest.trim_start().starts_with(':'));
                keys.extend(text.get(start..at).filter(|_| is_key).map(|key| (depth, key)));
            }
            _ => {}
        }
        at += 1;
    }
    keys
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::tests::check_error;
    use super::*;

    #[test]
    fn finds_keys_and_depths() {
        let found = keys(r#"[{"a": "b:", "c\"": [1, {"d" : {}}]}, "e"#);
        assert_eq!(found, [(2, "a"), (2, "c\\\""), (4, "d")]);
    }

    #[test]
    fn names_the_fields_and_the_nearest_format() {
        check_error(
            "x.json",
            br#"{"words": ["a"], "labels": ["O"], "id": 1}"#,
            &expect![[r#"
                x.json:1: JSON of no known format: its fields are `id`, `labels`, `words`
                hint: the nearest format is jsonl, which also has `tokens`, `ner_tags`"#]],
        );
        check_error(
            "x.json",
            br#"{"a": 1}"#,
            &expect![[r#"
                x.json:1: JSON of no known format: its fields are `a`
                hint: the nearest format is jsonl, with `tokens` and `ner_tags` in each line; all are folder, conll, jsonl, snips, rasa, massive, word-tag, rasa-md, slurp, csv, snips-yaml, hassil, dialogflow, luis, clu, wit and label-studio"#]],
        );
    }
}
