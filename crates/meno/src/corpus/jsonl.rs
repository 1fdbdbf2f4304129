//! JSON lines, as Hugging Face datasets export them: `{"tokens": ["play", "x"], "ner_tags": ["O", "B-artist"]}`.
//!
//! `intent` is optional, and so is `truth`, the true tags of a new-concept set. Tags are strings of any scheme. They may
//! be integers if a list of names lies beside the file: a JSON array of strings in `<stem>.names.json` or `names.json`.
//! This format holds any word, white space included.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::finding::{Kind, Log};
use super::scheme::Scheme;
use super::source::{Source, json_problem};
use super::tagged::{self, Places};
use super::{Corpus, Utterance};
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Vec<Utterance>> {
    let source = Source::open(path, log)?;
    let mut names = Names::Unread;
    let mut utterances = Vec::new();
    source.each_json(log, |line, row: Row, log| {
        utterances.extend(row.into_utterance(path, line, &mut names, log)?);
        Ok(())
    })?;
    let places = Places { labels: path, truth: path, label_lines: None };
    tagged::decode(&mut utterances, None, &places, log);
    Ok(utterances)
}

/// The text of the file, one object a line.
pub(super) fn render(corpus: &Corpus, scheme: Scheme) -> String {
    let mut text = String::new();
    for utterance in &corpus.utterances {
        let row = RowOut {
            tokens: &utterance.words,
            ner_tags: scheme.encode(&utterance.labels),
            truth: utterance.truth.as_ref().map(|truth| scheme.encode(truth)),
            intent: (!utterance.intent.is_empty()).then_some(&utterance.intent),
        };
        text += &serde_json::to_string(&row).expect("strings and lists are JSON");
        text.push('\n');
    }
    text
}

#[derive(Serialize)]
struct RowOut<'a> {
    tokens: &'a [String],
    ner_tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truth: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intent: Option<&'a String>,
}

#[derive(Deserialize)]
struct Row {
    tokens: Vec<String>,
    ner_tags: Vec<Tag>,
    #[serde(default)]
    truth: Option<Vec<Tag>>,
    #[serde(default)]
    intent: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a tag is a string or a number")]
enum Tag {
    Name(String),
    Index(usize),
}

impl Row {
    fn into_utterance(
        self,
        path: &Path,
        line: usize,
        names: &mut Names,
        log: &mut Log,
    ) -> Result<Option<Utterance>> {
        let words = self.tokens;
        let n_truth = self.truth.as_ref().map_or(words.len(), Vec::len);
        if !tagged::same_length(path, line, words.len(), (self.ner_tags.len(), "labels"), log)
            || !tagged::same_length(path, line, words.len(), (n_truth, "true labels"), log)
        {
            return Ok(None);
        }
        if let Some(token_idx) = words.iter().position(|word| word.is_empty()) {
            log.add(path, line, Kind::Syntax, format!("token {} is empty", token_idx + 1));
            return Ok(None);
        }
        if words.is_empty() {
            log.add(path, line, Kind::EmptyLine, "no tokens on this line");
            return Ok(None);
        }
        let labels = names.resolve(self.ner_tags, path, line, log)?;
        let truth = self.truth.map(|truth| names.resolve(truth, path, line, log)).transpose()?;
        let intent = self.intent.unwrap_or_default();
        Ok(Some(Utterance { words, labels, truth, intent, line }))
    }
}

/// The names of integer tags, read when the first such tag is met.
enum Names {
    Unread,
    Missing,
    Known(PathBuf, Vec<String>),
}

impl Names {
    fn resolve(&mut self, tags: Vec<Tag>, path: &Path, line: usize, log: &mut Log) -> Result<Vec<String>> {
        let mut labels = Vec::with_capacity(tags.len());
        for tag in tags {
            match tag {
                Tag::Name(name) => labels.push(name),
                Tag::Index(index) => {
                    if matches!(self, Names::Unread) {
                        *self = Names::open(path, log)?;
                    }
                    let name = self.name(index).unwrap_or_else(|problem| {
                        log.add(path, line, Kind::Tag, problem);
                        "O".to_owned()
                    });
                    labels.push(name);
                }
            }
        }
        Ok(labels)
    }

    fn open(path: &Path, log: &mut Log) -> Result<Names> {
        for candidate in [path.with_extension("names.json"), path.with_file_name("names.json")] {
            if !candidate.is_file() {
                continue;
            }
            let source = Source::open(&candidate, log)?;
            return Ok(match serde_json::from_str(&source.text) {
                Ok(names) => Names::Known(candidate, names),
                Err(error) => {
                    log.add(&candidate, error.line(), Kind::Syntax, json_problem(&error));
                    Names::Missing
                }
            });
        }
        Ok(Names::Missing)
    }

    fn name(&self, index: usize) -> Result<String, String> {
        match self {
            Names::Known(path, names) => names.get(index).cloned().ok_or_else(|| {
                format!("tag {index} is not among the {} names of {}", names.len(), path.display())
            }),
            _ => Err(format!(
                "tag {index} is a number, and there is no `names.json` beside the file to name it"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::tests::{check_error, check_read, compact};
    use super::super::{Format, read};

    #[test]
    fn reads_strings_of_any_scheme() {
        let check = |input: &str, expected: &Expect| check_read(Format::Jsonl, "x.jsonl", input, expected);
        check(
            "{\"tokens\":[\"play\",\"x\"],\"ner_tags\":[\"O\",\"U-a\"],\"intent\":\"P\",\"id\":7}\n\n",
            &expect!["1 P play [x|a]\n"],
        );
    }

    #[test]
    fn reads_integers_with_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, r#"{"tokens":["a","b"],"ner_tags":[1,2]}"#).unwrap();
        let error = read(&path, None).unwrap_err().to_string();
        assert!(error.contains("tag 1 is a number, and there is no `names.json`"), "{error}");
        std::fs::write(dir.path().join("names.json"), r#"["O","B-x","I-x"]"#).unwrap();
        assert_eq!(compact(&read(&path, None).unwrap()), "1  [a b|x]\n");
        std::fs::write(dir.path().join("x.names.json"), r#"["O","B-x"]"#).unwrap();
        let error = read(&path, None).unwrap_err().to_string();
        assert!(error.contains("tag 2 is not among the 2 names of"), "{error}");
    }

    #[test]
    fn names_what_is_wrong() {
        let check = |input: &str, expected: &Expect| check_error("x.jsonl", input.as_bytes(), expected);
        let good = r#"{"tokens":["a"],"ner_tags":["O"]}"#;
        check(
            &format!("{good}\n{{\"tokens\":[\"a\"]}}"),
            &expect![[r#"
                x.jsonl:2: missing field `ner_tags`, at column 16
                hint: name another format, or mend the line"#]],
        );
        check(
            r#"{"tokens":["a","b"],"ner_tags":["O"]}"#,
            &expect![[r#"
                x.jsonl:1: 2 words but 1 labels
                hint: every word needs one label"#]],
        );
        check(
            &format!("{good}\n{{\"tokens\": oops"),
            &expect![[r#"
                x.jsonl:2: expected value, at column 12
                hint: name another format, or mend the line"#]],
        );
        check(
            r#"{"tokens":[""],"ner_tags":["O"]}"#,
            &expect![[r#"
                x.jsonl:1: token 1 is empty
                hint: name another format, or mend the line"#]],
        );
    }
}
