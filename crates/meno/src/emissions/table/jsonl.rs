//! Logits as JSON lines: `{"tokens": ["play", "x"], "logits": [[2.1, -1.0], [0.3, 0.9]], "labels": ["O", "B-artist"]}`.
//!
//! `labels`, the gold labels, may be left out. They are names, or integers that count the label names from 0. The first
//! line may be `{"label_names": ["O", "B-artist"]}`, in the order of the logits.

use std::path::Path;

use serde::Deserialize;

use super::{Label, Raw, too_few_labels};
use crate::{Error, Result};

const HINT: &str = "a line is {\"tokens\": [...], \"logits\": [[...], ...], \"labels\": [...]}; JSON has no NaN and no Infinity";

#[derive(Deserialize)]
struct Line {
    label_names: Option<Vec<String>>,
    tokens: Option<Vec<String>>,
    logits: Option<Vec<Vec<f32>>>,
    labels: Option<Vec<Label>>,
}

pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Raw> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        Error::corpus(path, line, "not UTF-8", "JSON is UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut raw = Raw { lines: Some(Vec::new()), words: Some(Vec::new()), ..Raw::default() };
    for (line_idx, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let fault = |problem: String| Error::corpus(path, line_idx + 1, problem, HINT);
        let line: Line = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            fault(format!("{message}, at column {}", error.column()))
        })?;
        raw.take(line, line_idx + 1).map_err(fault)?;
    }
    Ok(raw)
}

impl Raw {
    fn take(&mut self, line: Line, number: usize) -> Result<(), String> {
        if let Some(names) = line.label_names {
            if !self.lengths.is_empty() || self.label_names.is_some() {
                return Err("`label_names` stand on the first line".to_owned());
            }
            self.label_names = Some(names);
            if line.tokens.is_none() && line.logits.is_none() {
                return Ok(());
            }
        }
        let tokens = line.tokens.ok_or("there are no `tokens`")?;
        let rows = line.logits.ok_or("there are no `logits`")?;
        if tokens.len() != rows.len() {
            return Err(format!("{} tokens but {} rows of logits", tokens.len(), rows.len()));
        }
        self.take_rows(&rows)?;
        self.take_gold(line.labels, tokens.len())?;
        self.lengths.push(tokens.len());
        self.lines.get_or_insert_default().push(number);
        self.words.get_or_insert_default().extend(tokens);
        Ok(())
    }

    fn take_rows(&mut self, rows: &[Vec<f32>]) -> Result<(), String> {
        for (token_idx, row) in rows.iter().enumerate() {
            if self.values.is_empty() {
                self.n_labels = row.len();
                too_few_labels(row.len()).map_or(Ok(()), Err)?;
            }
            if row.len() != self.n_labels {
                let (word, found, n_labels) = (token_idx + 1, row.len(), self.n_labels);
                return Err(format!("word {word} has {found} logits, but there are {n_labels} labels"));
            }
            self.values.extend(row);
        }
        Ok(())
    }

    fn take_gold(&mut self, labels: Option<Vec<Label>>, n_tokens: usize) -> Result<(), String> {
        let is_first = self.lengths.is_empty();
        match (labels, &mut self.gold) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err("there are no `labels`, but other lines have them".to_owned()),
            (Some(_), None) if !is_first => Err("there are `labels`, but other lines have none".to_owned()),
            (Some(labels), _) if labels.len() != n_tokens => {
                Err(format!("{n_tokens} tokens but {} labels", labels.len()))
            }
            (Some(labels), gold) => {
                gold.get_or_insert_default().extend(labels);
                Ok(())
            }
        }
    }
}
