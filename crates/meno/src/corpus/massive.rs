//! MASSIVE JSON lines: `{"utt": "wake me at nine", "annot_utt": "wake me at [time : nine]", "intent": "alarm_set"}`.
//!
//! `partition` (`train`, `dev`, `test`) is optional and says to which split a line belongs. `utt`, if there, must be
//! `annot_utt` without its marks. The format cannot quote brackets: a text whose brackets would be taken for marks is
//! refused by the writer.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::finding::{Kind, Log};
use super::markup::{self, Piece};
use super::source::Source;
use super::{Corpus, Utterance};
use crate::Result;

/// Reads the lines of one partition, or all of them.
pub(super) fn read(path: &Path, partition: Option<&str>, log: &mut Log) -> Result<Vec<Utterance>> {
    let source = Source::open(path, log)?;
    let mut utterances = Vec::new();
    source.each_json(log, |line, row: Row, log| {
        if partition.is_some() && row.partition.as_deref() != partition {
            return Ok(());
        }
        match row.into_utterance(line) {
            Ok(utterance) if utterance.words.is_empty() => {
                log.add(path, line, Kind::EmptyLine, "no words on this line");
            }
            Ok(utterance) => utterances.push(utterance),
            Err(problem) => log.add(path, line, Kind::Syntax, problem),
        }
        Ok(())
    })?;
    Ok(utterances)
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
            utt: Some(utterance.words.join(" ")),
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

impl Row {
    fn into_utterance(self, line: usize) -> Result<Utterance, String> {
        let pieces = parse(&self.annot_utt);
        let (words, labels) = markup::assemble(&pieces)?;
        if let Some(utt) = &self.utt {
            // Spaces differ in languages that are written without them.
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            if letters(utt) != words.concat() {
                return Err(format!("`annot_utt` says `{}` but `utt` says `{utt}`", words.join(" ")));
            }
        }
        Ok(Utterance { words, labels, truth: None, intent: self.intent.unwrap_or_default(), line })
    }
}

/// Cuts `[slot : text]` out of a line; any other bracket is text.
fn parse(line: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(open) = line[at..].find('[').map(|found| at + found) {
        at = open + 1;
        let Some(close) = line[open..].find(']').map(|found| open + found) else { break };
        let Some((slot, text)) = line[open + 1..close].split_once(" : ") else { continue };
        let (slot, text) = (slot.trim(), text.trim());
        if slot.is_empty() || slot.contains(['[', ' ']) || text.is_empty() {
            continue;
        }
        pieces.push(Piece::plain(&line[plain..open]));
        pieces.push(Piece { text: text.to_owned(), slot: Some(slot.to_owned()) });
        at = close + 1;
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
        check("a [b] c] [d :e [t : f : g]", &expect!["1 i a [b] c] [d :e [f : g|t]\n"]);
    }

    #[test]
    fn names_what_is_wrong() {
        let check = |input: &str, expected: &Expect| check_error("x.jsonl", input.as_bytes(), expected);
        check(
            r#"{"utt": "a b", "annot_utt": "a [x : c]"}"#,
            &expect![[r#"
                x.jsonl:1: `annot_utt` says `a c` but `utt` says `a b`
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
