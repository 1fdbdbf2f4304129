//! What the formats with one tag for each word share: tags to IOB2 on reading, and the demands of a line on writing.

use std::path::Path;

use super::finding::{Kind, Log};
use super::scheme::Scheme;
use super::{Corpus, Utterance};
use crate::{Error, Result};

/// Where the tags of an utterance stand.
pub(super) struct Places<'a> {
    pub(super) labels: &'a Path,
    pub(super) truth: &'a Path,
    /// The line of every label in turn, where they are not all on the line of the utterance.
    pub(super) label_lines: Option<&'a [usize]>,
}

/// Turns the raw tags of `utterances` into IOB2 labels, in the scheme stated or else detected.
pub(super) fn decode(
    utterances: &mut [Utterance],
    scheme: Option<Scheme>,
    places: &Places<'_>,
    log: &mut Log,
) {
    let scheme = scheme.unwrap_or_else(|| {
        let truths = utterances.iter().filter_map(|utterance| utterance.truth.as_deref());
        Scheme::detect(utterances.iter().map(|utterance| utterance.labels.as_slice()).chain(truths))
    });
    let mut n_done = 0;
    for utterance in utterances {
        let line = utterance.line;
        scheme.decode(&mut utterance.labels, |token_idx, kind, problem| {
            let line = places.label_lines.map_or(line, |lines| lines[n_done + token_idx]);
            log.add(places.labels, line, kind, problem);
        });
        n_done += utterance.labels.len();
        if let Some(truth) = &mut utterance.truth {
            scheme.decode(truth, |_, kind, problem| log.add(places.truth, line, kind, problem));
        }
    }
}

/// Notes a different number of words and labels; such an utterance cannot be used.
pub(super) fn same_length(
    path: &Path,
    line: usize,
    n_words: usize,
    (n_labels, what): (usize, &str),
    log: &mut Log,
) -> bool {
    if n_words != n_labels {
        log.add(path, line, Kind::Length, format!("{n_words} words but {n_labels} {what}"));
    }
    n_words == n_labels
}

/// Demands what a format of lines and columns needs: no white space in words and slots, an intent on one line.
pub(super) fn demand_columns(corpus: &Corpus, format: &str) -> Result<()> {
    for utterance in &corpus.utterances {
        let truth = utterance.truth.iter().flatten();
        for value in utterance.words.iter().chain(&utterance.labels).chain(truth) {
            if value.contains(char::is_whitespace) {
                return Err(cannot_hold(
                    corpus,
                    utterance,
                    format,
                    &format!("`{value}` has white space in it"),
                ));
            }
        }
        let intent = &utterance.intent;
        if intent.trim() != intent || intent.contains(char::is_control) {
            let problem = format!("the intent `{}` does not fit on a line", intent.escape_debug());
            return Err(cannot_hold(corpus, utterance, format, &problem));
        }
    }
    Ok(())
}

/// The error of a writer whose format has no way to say something.
pub(super) fn cannot_hold(corpus: &Corpus, utterance: &Utterance, format: &str, problem: &str) -> Error {
    let problem = format!("cannot be written as {format}: {problem}");
    Error::Unwritable { path: corpus.path.clone(), line: utterance.line, problem }
}

/// The same of a known value.
pub(super) fn cannot_hold_value(corpus: &Corpus, format: &str, text: &str) -> Error {
    let problem = format!("cannot be written as {format}: the value `{}` does not fit", text.escape_debug());
    Error::Unwritable { path: corpus.path.clone(), line: 1, problem }
}
