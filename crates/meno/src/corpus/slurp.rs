//! SLURP JSON lines: `{"sentence": "wake me friday", "sentence_annotation": "wake me [date : friday]", "intent": "alarm_set"}`.
//!
//! Without `sentence_annotation` the slots are `entities`, each with its `type` and the indices of its `tokens` in
//! `span`. Without `intent` it is `scenario` and `action`, joined with `_`.

use std::path::Path;

use serde::Deserialize;

use super::Corpus;
use super::finding::Log;
use super::massive;
use super::raw::{Collector, Slot};
use super::source::{Source, json_problem};
use crate::Result;

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut found = Collector::new(path, log);
    for (line, text) in source.lines() {
        if text.trim().is_empty() {
            found.empty(line, "no utterance on this line");
            continue;
        }
        match serde_json::from_str::<Row>(text) {
            Ok(row) => row.collect(line, &mut found),
            Err(error) => found.note(line, json_problem(&error)),
        }
    }
    Ok(found.finish())
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    sentence: Option<String>,
    #[serde(default)]
    sentence_annotation: Option<String>,
    #[serde(default)]
    intent: Option<String>,
    #[serde(default)]
    scenario: Option<String>,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    tokens: Vec<Token>,
    #[serde(default)]
    entities: Vec<Entity>,
}

#[derive(Deserialize)]
struct Token {
    surface: String,
}

#[derive(Deserialize)]
struct Entity {
    span: Vec<usize>,
    #[serde(rename = "type")]
    slot: String,
}

impl Row {
    fn collect(self, line: usize, found: &mut Collector<'_>) {
        let intent = self.intent.unwrap_or_else(|| {
            [self.scenario, self.action].into_iter().flatten().collect::<Vec<_>>().join("_")
        });
        if let Some(marked) = &self.sentence_annotation {
            return massive::annotated(found, line, &intent, self.sentence.as_deref(), marked);
        }
        if self.tokens.is_empty() {
            return found.note(line, "there is neither `sentence_annotation` nor `tokens`");
        }
        let mut text = String::new();
        let mut places = Vec::with_capacity(self.tokens.len());
        for token in &self.tokens {
            let start = text.len();
            text += &token.surface;
            places.push(start..text.len());
            text.push(' ');
        }
        let mut slots = Vec::with_capacity(self.entities.len());
        for Entity { span, slot: name } in self.entities {
            let (first, last) = (span.iter().min(), span.iter().max());
            let place = |index: Option<&usize>| index.and_then(|index| places.get(*index));
            let (Some(first), Some(last)) = (place(first), place(last)) else {
                let n_tokens = places.len();
                return found
                    .note(line, format!("`span` {span:?} of `{name}` is not among {n_tokens} tokens"));
            };
            slots.push(Slot { range: first.start..last.end, name });
        }
        found.text(line, &intent, &text, slots);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::Format;
    use super::super::tests::{check_error, check_read};

    const LINE: &str = r#"{"slurp_id": 12818, "sentence": "Remind me about the meeting on Friday.", "sentence_annotation": "Remind me about the [event_name : meeting] on [date : Friday].", "intent": "calendar_set", "action": "set", "tokens": [{"surface": "remind", "id": 0, "lemma": "remind", "pos": "VB"}], "scenario": "calendar", "recordings": [{"file": "audio-1501406998.flac", "wer": 0.0}], "entities": [{"span": [4], "type": "event_name"}]}"#;

    #[test]
    fn reads_both_ways_to_say_slots() {
        let check = |input: &str, expected: &Expect| {
            check_read(Format::Slurp, "train.jsonl", input, expected);
        };
        check(LINE, &expect!["1 calendar_set remind me about the [meeting|event_name] on [friday|date]\n"]);
        check(
            r#"{"slurp_id": 1, "sentence": "wake me at nine am", "scenario": "alarm", "action": "set", "tokens": [{"surface": "wake"}, {"surface": "me"}, {"surface": "at"}, {"surface": "nine"}, {"surface": "am"}], "entities": [{"span": [3, 4], "type": "time"}]}"#,
            &expect!["1 alarm_set wake me at [nine am|time]\n"],
        );
    }

    #[test]
    fn names_what_is_wrong() {
        let check = |input: &str, expected: &Expect| check_error("x.jsonl", input.as_bytes(), expected);
        check(
            r#"{"slurp_id": 1, "sentence": "a", "intent": "i", "tokens": [{"surface": "a"}], "entities": [{"span": [1], "type": "x"}]}"#,
            &expect![[r#"
                x.jsonl:1: `span` [1] of `x` is not among 1 tokens
                hint: name another format, or mend the line"#]],
        );
        check(
            &format!("{LINE}\n{{\"slurp_id\": 2}}"),
            &expect![[r#"
                x.jsonl:2: there is neither `sentence_annotation` nor `tokens`
                hint: name another format, or mend the line"#]],
        );
    }
}
