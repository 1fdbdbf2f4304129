//! MASSIVE JSON lines: `{"utt": "wake me at nine", "annot_utt": "wake me at [time : nine]", "intent": "alarm_set"}`.
//!
//! `partition` (`train`, `dev`, `test`) is optional and says to which split a line belongs. `utt`, if there, must be
//! `annot_utt` without its marks. The format cannot quote brackets: a text whose brackets would be taken for marks is
//! refused by the writer.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::finding::Log;
use super::markup::{self, Piece};
use super::raw::Collector;
use super::source::{Source, json_problem};
use super::{Corpus, raw};
use crate::Result;
use crate::text::clusters;

/// Reads the lines of one partition, or all of them.
pub(super) fn read(path: &Path, partition: Option<&str>, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut found = Collector::new(path, log);
    for (line, text) in source.lines() {
        if text.trim().is_empty() {
            found.empty(line, "no utterance on this line");
            continue;
        }
        match serde_json::from_str::<Row>(text) {
            Ok(row) if partition.is_some() && row.partition.as_deref() != partition => {}
            Ok(row) => annotated(
                &mut found,
                line,
                &row.intent.unwrap_or_default(),
                row.utt.as_deref(),
                &row.annot_utt,
            ),
            Err(error) => found.note(line, json_problem(&error)),
        }
    }
    Ok(found.finish())
}

/// An utterance with marks such as `[time : nine]`; `bare` is its text without them, if the corpus has it.
pub(super) fn annotated(
    found: &mut Collector<'_>,
    line: usize,
    intent: &str,
    bare: Option<&str>,
    marked: &str,
) {
    let pieces = parse(marked);
    let (text, _) = raw::join(&pieces);
    // Spaces differ in languages that are written without them.
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    match bare.filter(|bare| letters(bare) != letters(&text)) {
        Some(bare) => {
            found.note(line, format!("the text with marks says `{text}`, that without them `{bare}`"))
        }
        None => found.pieces(line, intent, &pieces),
    }
}

/// The partitions that occur in the file, in order of occurrence.
pub(super) fn partitions(path: &Path) -> Result<Vec<String>> {
    let source = Source::open(path, &mut Log::default())?;
    let mut partitions: Vec<String> = Vec::new();
    for (_, text) in source.lines() {
        let partition = serde_json::from_str::<Row>(text).ok().and_then(|row| row.partition);
        partitions.extend(partition.filter(|partition| !partitions.contains(partition)));
    }
    Ok(partitions)
}

/// The text of the file, one object a line.
pub(super) fn render(corpus: &Corpus) -> Result<String> {
    let mut text = String::new();
    for (utterance_idx, utterance) in corpus.utterances.iter().enumerate() {
        let mark = |text: &str, slot: &str| format!("[{slot} : {text}]");
        let annot_utt = markup::render(corpus, utterance, "MASSIVE", mark, |line| Ok(parse(line)))?;
        let row = Row {
            id: Some(utterance_idx.to_string()),
            partition: None,
            intent: (!utterance.intent.is_empty()).then(|| utterance.intent.clone()),
            utt: Some(clusters::join(&utterance.words)),
            annot_utt,
        };
        text += &serde_json::to_string(&row).expect("strings are JSON");
        text.push('\n');
    }
    Ok(text)
}

#[derive(Serialize, Deserialize)]
struct Row {
    #[serde(default, skip_deserializing, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    utt: Option<String>,
    annot_utt: String,
}

/// Cuts `[slot : text]` out of a line; any other bracket is text.
pub(super) fn parse(line: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(close) = line[at..].find(']').map(|found| at + found) {
        let open = line[at..close].rfind('[').map(|found| at + found);
        at = close + 1;
        let Some(open) = open else { continue };
        let Some((slot, text)) = line[open + 1..close].split_once(" : ") else { continue };
        let (slot, text) = (slot.trim(), text.trim());
        if slot.is_empty() || slot.contains(' ') || text.is_empty() {
            continue;
        }
        pieces.push(Piece::plain(&line[plain..open]));
        pieces.push(Piece { text: text.to_owned(), slot: Some(slot.to_owned()) });
        plain = at;
    }
    pieces.push(Piece::plain(&line[plain..]));
    pieces
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::Format;
    use super::super::tests::{check_error, check_read};

    #[test]
    fn reads_marked_text() {
        let check = |annot_utt: &str, expected: &Expect| {
            let input = format!("{{\"intent\": \"i\", \"annot_utt\": \"{annot_utt}\"}}");
            check_read(Format::Massive, "x.jsonl", &input, expected);
        };
        check(
            "wake me at [time : nine am] on [date : friday]",
            &expect!["1 i wake me at [nine am|time] on [friday|date]\n"],
        );
        check("[a : x] [a : y]", &expect!["1 i [x|a] [y|a]\n"]);
        check("a [b] c] [d :e [t : f : g]", &expect!["1 i a b c d e [f g|t]\n"]);
    }

    #[test]
    fn names_what_is_wrong() {
        let check = |input: &str, expected: &Expect| check_error("x.jsonl", input.as_bytes(), expected);
        check(
            r#"{"utt": "a b", "annot_utt": "a [x : c]"}"#,
            &expect![[r#"
                x.jsonl:1: the text with marks says `a c`, that without them `a b`
                hint: name another format, or mend the line"#]],
        );
        check(
            r#"{"utt": "a b", "annot_utt": 7}"#,
            &expect![[r#"
                x.jsonl:1: invalid type: integer `7`, expected a string, at column 29
                hint: name another format, or mend the line"#]],
        );
    }
}
