//! A folder with `seq.in`, `seq.out` and `label`, one utterance a line.
//!
//! `seq.in` holds words, `seq.out` their tags, `label` the intent. Without `label` there are no intents. In a
//! new-concept set `seq.true` gives the true slot type of what `seq.out` calls `unknown`. Words are split at white space.

use std::path::Path;

use super::description::DESCRIPTION;
use super::finding::{Kind, Log};
use super::scheme::Scheme;
use super::source::{Source, begins_with_bom};
use super::tagged::{self, Places};
use super::{Corpus, Utterance};
use crate::Result;

/// The words; a folder that has this file is a split.
pub(super) const WORDS: &str = "seq.in";
const LABELS: &str = "seq.out";
const TRUTH: &str = "seq.true";
const INTENTS: &str = "label";

/// Every file of the format.
pub(super) const FILES: [&str; 4] = [WORDS, LABELS, TRUTH, INTENTS];

/// The files of a folder as text, for a corpus that is part of a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct FolderText<'a> {
    /// What `seq.in` holds.
    pub words: &'a str,
    /// What `seq.out` holds.
    pub labels: &'a str,
    /// What `seq.true` holds, in a new-concept set.
    pub truth: Option<&'a str>,
    /// What `label` holds, if there are intents.
    pub intents: Option<&'a str>,
    /// What `corpus.toml` beside the folder says, if it is there.
    pub description: Option<&'a str>,
}

impl FolderText<'_> {
    /// Reads the corpus; `path` names it in messages.
    pub fn read(&self, path: &Path) -> Result<Corpus> {
        let source = |name: &str, text: &str| Source { path: path.join(name), text: text.to_owned() };
        let files = Files {
            words: source(WORDS, self.words),
            labels: source(LABELS, self.labels),
            truth: self.truth.map(|text| source(TRUTH, text)),
            intents: self.intents.map(|text| source(INTENTS, text)),
        };
        let mut log = Log::default();
        let corpus =
            Corpus { path: path.to_owned(), utterances: parse(path, &files, &mut log), ..Corpus::default() };
        corpus.demand_utterances(&mut log);
        log.into_result()?;
        match self.description {
            Some(text) => corpus.described(&source(DESCRIPTION, text)),
            None => Ok(corpus),
        }
    }
}

pub(super) fn read(dir: &Path, log: &mut Log) -> Result<Vec<Utterance>> {
    let files = Files {
        words: Source::open(&dir.join(WORDS), log)?,
        labels: Source::open(&dir.join(LABELS), log)?,
        truth: open_if_there(&dir.join(TRUTH), log)?,
        intents: open_if_there(&dir.join(INTENTS), log)?,
    };
    Ok(parse(dir, &files, log))
}

struct Files {
    words: Source,
    labels: Source,
    truth: Option<Source>,
    intents: Option<Source>,
}

fn parse(dir: &Path, Files { words, labels, truth, intents }: &Files, log: &mut Log) -> Vec<Utterance> {
    let mut word_lines: Vec<&str> = words.text.lines().collect();
    word_lines
        .truncate(word_lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1));
    let n_lines = word_lines.len();
    let mut aligned = same_count(labels, n_lines, log);
    for source in [truth, intents].into_iter().flatten() {
        aligned &= same_count(source, n_lines, log);
    }

    let label_lines: Vec<&str> = labels.text.lines().collect();
    let truth_lines: Option<Vec<&str>> = truth.as_ref().map(|source| source.text.lines().collect());
    let intent_lines: Option<Vec<&str>> = intents.as_ref().map(|source| source.text.lines().collect());
    let rows = Rows { word_lines, label_lines, truth_lines, intent_lines, aligned };
    let mut utterances = rows.pair(dir, log);
    let places = Places { labels: &labels.path, truth: &dir.join(TRUTH), label_lines: None };
    tagged::decode(&mut utterances, None, &places, log);
    utterances
}

/// The files of the folder, in the given scheme.
pub(super) fn render(corpus: &Corpus, scheme: Scheme) -> Result<Vec<(&'static str, Vec<u8>)>> {
    tagged::demand_columns(corpus, "a folder")?;
    let with_truth = corpus.utterances.iter().filter(|utterance| utterance.truth.is_some()).count();
    let first = &corpus.utterances[0];
    if with_truth != 0 && with_truth != corpus.utterances.len() {
        let problem = "some utterances have true labels and some have none";
        return Err(tagged::cannot_hold(corpus, first, "a folder", problem));
    }
    if begins_with_bom(&first.words[0]) {
        return Err(tagged::cannot_hold(corpus, first, "a folder", "it begins with a byte-order mark"));
    }
    let lines = |line: &dyn Fn(&Utterance) -> String| -> Vec<u8> {
        corpus.utterances.iter().flat_map(|utterance| (line(utterance) + "\n").into_bytes()).collect()
    };
    let mut files = vec![
        (WORDS, lines(&|utterance| utterance.words.join(" "))),
        (LABELS, lines(&|utterance| scheme.encode(&utterance.labels).join(" "))),
    ];
    if with_truth != 0 {
        let truth =
            |utterance: &Utterance| scheme.encode(utterance.truth.as_deref().unwrap_or_default()).join(" ");
        files.push((TRUTH, lines(&truth)));
    }
    if corpus.utterances.iter().any(|utterance| !utterance.intent.is_empty()) {
        if begins_with_bom(&first.intent) {
            return Err(tagged::cannot_hold(
                corpus,
                first,
                "a folder",
                "its intent begins with a byte-order mark",
            ));
        }
        files.push((INTENTS, lines(&|utterance| utterance.intent.clone())));
    }
    Ok(files)
}

fn open_if_there(path: &Path, log: &mut Log) -> Result<Option<Source>> {
    if path.exists() { Source::open(path, log).map(Some) } else { Ok(None) }
}

/// Notes a file that has another number of lines than `seq.in`; blank lines at its end do not count.
fn same_count(source: &Source, n_lines: usize, log: &mut Log) -> bool {
    let found = source.text.lines().count();
    let filled =
        source.lines().filter(|(_, line)| !line.trim().is_empty()).last().map_or(0, |(line, _)| line);
    if found < n_lines || filled > n_lines {
        let file = source.path.file_name().unwrap_or_default().display();
        let found = if found < n_lines { found } else { filled };
        let message = format!("{file} has {found} lines but {WORDS} has {n_lines}");
        log.add(&source.path, found.min(n_lines) + 1, Kind::Length, message);
        return false;
    }
    true
}

struct Rows<'a> {
    word_lines: Vec<&'a str>,
    label_lines: Vec<&'a str>,
    truth_lines: Option<Vec<&'a str>>,
    intent_lines: Option<Vec<&'a str>>,
    /// Whether all files have as many lines as `seq.in`.
    aligned: bool,
}

impl Rows<'_> {
    fn pair(&self, dir: &Path, log: &mut Log) -> Vec<Utterance> {
        let [words_path, labels_path, truth_path, intents_path] = FILES.map(|name| dir.join(name));
        let mut utterances = Vec::with_capacity(self.word_lines.len());
        for (line_idx, (word_line, label_line)) in self.word_lines.iter().zip(&self.label_lines).enumerate() {
            let line = line_idx + 1;
            let words = split(word_line);
            let labels = split(label_line);
            let truth =
                self.truth_lines.as_ref().and_then(|lines| lines.get(line_idx)).map(|line| split(line));
            let intent = self.intent_lines.as_ref().and_then(|lines| lines.get(line_idx));
            let n_truth = truth.as_ref().map_or(words.len(), Vec::len);
            let fits = tagged::same_length(&labels_path, line, words.len(), (labels.len(), "labels"), log)
                && tagged::same_length(&truth_path, line, words.len(), (n_truth, "true labels"), log);
            if !fits && !self.aligned {
                // A line is missing in one file, so everything after it is shifted: one finding says it all.
                break;
            }
            if words.is_empty() && fits {
                log.add(&words_path, line, Kind::EmptyLine, "no words on this line");
            } else if intent.is_some_and(|intent| intent.trim().is_empty()) {
                log.add(&intents_path, line, Kind::EmptyLine, "no intent on this line");
            }
            if fits && !words.is_empty() {
                let intent = intent.map_or(String::new(), |intent| intent.trim().to_owned());
                utterances.push(Utterance { words, labels, truth, intent, line });
            }
        }
        utterances
    }
}

fn split(line: &str) -> Vec<String> {
    let mut words = Vec::with_capacity(1 + line.bytes().filter(|&byte| byte == b' ').count());
    // The ASCII split is several times faster; it differs from the other in the vertical tab only.
    if line.bytes().all(|byte| byte.is_ascii() && byte != b'\x0b') {
        words.extend(line.split_ascii_whitespace().map(str::to_owned));
    } else {
        words.extend(line.split_whitespace().map(str::to_owned));
    }
    words
}
