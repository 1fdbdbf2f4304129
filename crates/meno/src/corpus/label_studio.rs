//! Label Studio: tasks with annotations, exported as JSON.
//!
//! A task has its text in `data`, under `text` or the first name whose value is a string, and in
//! `annotations[].result[]` places (`value.start`, `value.end`, `value.labels`) and choices (`value.choices`), the first
//! of which is the intent. The first annotation that was not cancelled counts; a task without one is left out.

use std::path::Path;

use serde::Deserialize;

use super::Corpus;
use super::finding::Log;
use super::json::{Document, Pairs};
use super::raw::Slot;
use super::source::Source;
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut document = Document::new(path, &source, log);
    for (line, task) in document.items::<Task<'_>>(&source.text) {
        let Some(text) = task.text() else {
            document.found.note(line, "`data` has no text in it");
            continue;
        };
        let Some(annotation) = task.annotations.iter().find(|annotation| !annotation.was_cancelled) else {
            document.found.empty(line, "this task has no annotation");
            continue;
        };
        match annotation.slots(&text) {
            Ok(slots) => document.found.text(line, annotation.intent(), &text, slots),
            Err(problem) => document.found.note(line, problem),
        }
    }
    Ok(document.found.finish())
}

#[derive(Deserialize)]
struct Task<'a> {
    #[serde(borrow)]
    data: Pairs<'a>,
    #[serde(default)]
    annotations: Vec<Annotation>,
}

impl Task<'_> {
    fn text(&self) -> Option<String> {
        let Pairs(data) = &self.data;
        let strings = || data.iter().filter(|(_, value)| value.get().starts_with('"'));
        let (_, text) = strings().find(|(name, _)| name == "text").or_else(|| strings().next())?;
        serde_json::from_str(text.get()).ok()
    }
}

#[derive(Deserialize)]
struct Annotation {
    #[serde(default)]
    was_cancelled: bool,
    #[serde(default)]
    result: Vec<Region>,
}

#[derive(Deserialize)]
struct Region {
    #[serde(default)]
    value: Value,
}

#[derive(Default, Deserialize)]
struct Value {
    #[serde(default)]
    start: Option<usize>,
    #[serde(default)]
    end: Option<usize>,
    #[serde(default)]
    text: Option<serde_json::Value>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    choices: Vec<String>,
}

impl Annotation {
    fn intent(&self) -> &str {
        self.result.iter().find_map(|region| region.value.choices.first()).map_or("", String::as_str)
    }

    fn slots(&self, text: &str) -> Result<Vec<Slot>, String> {
        let mut slots = Vec::new();
        for Region { value } in &self.result {
            let Some(label) = value.labels.first() else { continue };
            let (Some(start), Some(end)) = (value.start, value.end) else {
                return Err(format!("the region `{label}` has no `start` and `end`"));
            };
            let marked = value.text.as_ref().and_then(serde_json::Value::as_str);
            slots.push(Slot::at(text, (start, end), label, marked)?);
        }
        Ok(slots)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::Format;
    use super::super::tests::{check_error, check_read};

    #[test]
    fn reads_tasks() {
        check_read(
            Format::LabelStudio,
            "project-1.json",
            r#"[{"id": 1, "data": {"text": "Fly to Paris, please."}, "annotations": [
  {"id": 3, "was_cancelled": true, "result": []},
  {"id": 4, "was_cancelled": false, "result": [
   {"value": {"start": 7, "end": 12, "text": "Paris", "labels": ["city"]}, "id": "a", "from_name": "label", "to_name": "text", "type": "labels"},
   {"value": {"choices": ["fly"]}, "from_name": "intent", "to_name": "text", "type": "choices"}]}], "predictions": []},
 {"id": 2, "data": {"text": "not yet"}, "annotations": []}]"#,
            &expect!["1 fly fly to [paris|city] please\n"],
        );
    }

    #[test]
    fn names_what_is_wrong() {
        check_error(
            "x.json",
            br#"[{"data": {"text": "a b"}, "annotations": [{"result": [{"value": {"start": 2, "end": 9, "labels": ["x"]}}]}]}]"#,
            &expect![[r#"
                x.json:1: slot `x` at 2..9 lies outside of `a b`
                hint: name another format, or mend the line"#]],
        );
    }
}
