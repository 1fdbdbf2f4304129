//! Everything in a dataset that spoils training or measuring.
//!
//! A dataset folder or a single split enters; all [`Finding`]s leave, not only the first. Labels and intents are compared
//! with the `train` split. In a new-concept set the label `unknown` is legal, and the true labels are compared instead.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use unicode_normalization::is_nfc;

use super::finding::{Finding, Kind, Log};
use super::{Corpus, Split, Utterance, folder, splits};
use crate::label;
use crate::label::UNKNOWN;
use crate::text::clusters;
use crate::{Error, Result};

/// The problems of a dataset or split, sorted by file and line; an error only if something cannot be opened at all.
pub fn check(path: &Path) -> Result<Vec<Finding>> {
    check_splits(splits(path)?)
}

/// The same of splits that were found.
pub fn check_splits(splits: Vec<Split>) -> Result<Vec<Finding>> {
    let mut log = Log::default();
    let mut parts: Vec<Part> = Vec::new();
    for split in splits {
        let mut own = Log::default();
        let corpus = split.read_leniently(None, &mut own)?;
        log.findings.append(&mut own.findings);
        for file in files(&split) {
            characters(&file, &mut log)?;
        }
        corpus.utterances.iter().for_each(|utterance| truth(&split, utterance, &mut log));
        described(&split, &corpus, &mut log)?;
        parts.push(Part { split, corpus });
    }
    if let Some(train) = parts.iter().find(|part| part.split.name == "train") {
        let seen = Seen::new(&train.corpus);
        for part in parts.iter().filter(|part| part.split.name != "train") {
            unseen(part, &seen, &mut log);
        }
    }
    repeats(&parts, &mut log);
    similar_names(&parts, &mut log);
    let mut findings = log.findings;
    findings.sort();
    findings.dedup();
    Ok(findings)
}

struct Part {
    split: Split,
    corpus: Corpus,
}

/// What the description of a dataset says that the data has not.
fn described(split: &Split, corpus: &Corpus, log: &mut Log) -> Result<()> {
    let Some(file) = &split.description else { return Ok(()) };
    match corpus.clone().described_by(file) {
        Err(Error::Corpus { path, line, problem, .. }) => log.add(&path, line, Kind::Description, problem),
        described => drop(described?),
    }
    Ok(())
}

/// The files that a split consists of.
fn files(split: &Split) -> Vec<PathBuf> {
    if !split.files.is_empty() {
        return split.files.clone();
    }
    if !split.path.is_dir() {
        return vec![split.path.clone()];
    }
    folder::FILES.iter().map(|name| split.path.join(name)).filter(|path| path.is_file()).collect()
}

/// The file of a split in which `name` stands, if the split is a folder.
fn file(split: &Split, name: &str) -> PathBuf {
    let is_folder = split.path.join(folder::WORDS).is_file();
    if is_folder { split.path.join(name) } else { split.path.clone() }
}

/// Bytes that are legal but almost always damage.
fn characters(path: &Path, log: &mut Log) -> Result<()> {
    let bytes = fs::read(path).map_err(|source| Error::read(path, source))?;
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Ok(());
    }
    let mut first_ending = None;
    let mut mixed = false;
    for (line_idx, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        if line.ends_with(b"\n") && !mixed {
            let crlf = line.ends_with(b"\r\n");
            mixed = *first_ending.get_or_insert(crlf) != crlf;
            if mixed {
                let (this, others) = if crlf { ("CRLF", "LF") } else { ("LF", "CRLF") };
                let message = format!("this line ends in {this}, those before it in {others}");
                log.add(path, line_idx + 1, Kind::LineEnding, message);
            }
        }
        if let Ok(text) = std::str::from_utf8(line) {
            odd_characters(path, line_idx + 1, text, log);
        }
    }
    Ok(())
}

fn odd_characters(path: &Path, line: usize, text: &str, log: &mut Log) {
    let odd = [
        ('\0', "a NUL character"),
        ('\u{fffd}', "the replacement character U+FFFD, left by a wrong conversion"),
        ('\u{feff}', "a byte-order mark"),
    ];
    for (character, name) in odd {
        if let Some(byte_idx) = text.find(character) {
            log.add(path, line, Kind::Character, format!("byte {} of the line is {name}", byte_idx + 1));
        }
    }
    if text.is_ascii() {
        return;
    }
    if let Some(word) = text.split_whitespace().find(|word| !is_nfc(word)) {
        let message = format!("`{word}` is not in Unicode normal form C, in which people type");
        log.add(path, line, Kind::Normalisation, message);
    }
}

/// True labels may differ from labels only where a new concept stands, and then over the same words.
fn truth(split: &Split, utterance: &Utterance, log: &mut Log) {
    let Some(truth) = &utterance.truth else { return };
    let spans = label::spans(&utterance.labels);
    let true_spans = label::spans(truth);
    let fits = spans.len() == true_spans.len()
        && spans.iter().zip(&true_spans).all(|(span, true_span)| {
            let same_words = (span.start, span.end) == (true_span.start, true_span.end);
            same_words && (span.slot == UNKNOWN || span.slot == true_span.slot)
        });
    if !fits {
        let message = "the true labels differ from the labels by more than the type of new concepts";
        log.add(&file(split, "seq.true"), utterance.line, Kind::Truth, message);
    }
}

/// What training sees.
struct Seen<'a> {
    labels: HashSet<&'a str>,
    slots: HashSet<&'a str>,
    intents: HashSet<&'a str>,
}

impl<'a> Seen<'a> {
    fn new(train: &'a Corpus) -> Self {
        let labels: HashSet<&str> =
            train.utterances.iter().flat_map(|utterance| &utterance.labels).map(String::as_str).collect();
        let slots = labels.iter().map(|label| label::split(label).1).collect();
        let intents = train.utterances.iter().flat_map(|utterance| utterance.intent.split('#')).collect();
        Seen { labels, slots, intents }
    }
}

/// Labels and intents that training never sees, each once for a split with the number of places.
fn unseen(part: &Part, seen: &Seen<'_>, log: &mut Log) {
    let mut places: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for utterance in &part.corpus.utterances {
        let mut count = |what, value| places.entry((what, value)).or_insert((utterance.line, 0)).1 += 1;
        let is_new = |label: &str| utterance.truth.is_some() && label::split(label).1 == UNKNOWN;
        for label in utterance.labels.iter().filter(|label| !seen.labels.contains(label.as_str())) {
            if !is_new(label) {
                count("label", label);
            }
        }
        for (prefix, slot) in utterance.truth.iter().flatten().map(|label| label::split(label)) {
            if prefix == "B" && !seen.slots.contains(slot) {
                count("true slot", slot);
            }
        }
        let intent = &utterance.intent;
        if !intent.is_empty() && !intent.split('#').any(|intent| seen.intents.contains(intent)) {
            count("intent", intent);
        }
    }
    for ((what, value), (line, n)) in places {
        let (file_name, kind) = match what {
            "label" => ("seq.out", Kind::UnseenLabel),
            "true slot" => ("seq.true", Kind::UnseenLabel),
            _ => ("label", Kind::UnseenIntent),
        };
        let message = format!("{what} `{value}` never occurs in train (here: {n})");
        log.add(&file(&part.split, file_name), line, kind, message);
    }
}

/// Slots and intents whose names differ in case only, such as `Device` beside `device`.
fn similar_names(parts: &[Part], log: &mut Log) {
    let mut first: HashMap<(&str, String), &str> = HashMap::new();
    let mut told: HashSet<(&str, &str)> = HashSet::new();
    for part in parts {
        for utterance in &part.corpus.utterances {
            let slots = utterance.labels.iter().map(|label| ("slot", label::split(label).1));
            for (what, name) in slots.chain(utterance.intent.split('#').map(|intent| ("intent", intent))) {
                let other = *first.entry((what, name.to_lowercase())).or_insert(name);
                if other != name && told.insert((what, name)) {
                    let path = file(&part.split, if what == "slot" { "seq.out" } else { "label" });
                    let message = format!("{what} `{name}` beside `{other}`: they differ in case only");
                    log.add(&path, utterance.line, Kind::Markup, message);
                }
            }
        }
    }
}

/// The same text in two splits, and the same text with other labels or another intent anywhere.
fn repeats(parts: &[Part], log: &mut Log) {
    let mut first: HashMap<&[String], (usize, &Utterance)> = HashMap::new();
    for (part_idx, part) in parts.iter().enumerate() {
        for utterance in &part.corpus.utterances {
            let (first_idx, other) = *first.entry(&utterance.words).or_insert((part_idx, utterance));
            let place = format!("{} line {}", parts[first_idx].split.name, other.line);
            let path = file(&part.split, folder::WORDS);
            if first_idx != part_idx {
                let message = format!("`{}` also stands in {place}", shorten(&utterance.words));
                log.add(&path, utterance.line, Kind::Duplicate, message);
            }
            let gold = |utterance: &'_ Utterance| {
                utterance.truth.clone().unwrap_or_else(|| utterance.labels.clone())
            };
            if gold(utterance) != gold(other) {
                let message = format!("`{}` has other labels in {place}", shorten(&utterance.words));
                log.add(&path, utterance.line, Kind::Conflict, message);
            }
            if utterance.intent != other.intent {
                let (intent, other) = (&utterance.intent, &other.intent);
                let text = shorten(&utterance.words);
                let message = format!("`{text}` has intent `{intent}`, in {place} it is `{other}`");
                log.add(&path, utterance.line, Kind::Conflict, message);
            }
        }
    }
}

fn shorten(words: &[String]) -> String {
    const MOST: usize = 80;
    let text = clusters::join(words);
    match text.char_indices().nth(MOST) {
        Some((byte_idx, _)) => format!("{}...", &text[..byte_idx]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::tests::shared_data;
    use super::*;

    /// Files by path below the dataset, `\n`-joined.
    fn check_dataset(files: &[(&str, &[u8])], expected: &Expect) {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let text: String = check(dir.path()).unwrap().iter().map(|finding| format!("{finding}\n")).collect();
        expected.assert_eq(&text.replace(&format!("{}/", dir.path().display()), ""));
    }

    #[test]
    fn a_clean_dataset_has_no_findings() {
        check_dataset(
            &[
                ("train.conll", b"# intent: P\nplay O\nx B-a\n"),
                ("dev.conll", b"# intent: P#Q\nplay O\ny B-a\n"),
                ("ood/seq.in", b"play some z\n"),
                ("ood/seq.out", b"O O B-unknown\n"),
                ("ood/seq.true", b"O O B-a\n"),
                ("ood/label", b"P\n"),
            ],
            &expect![""],
        );
    }

    #[test]
    fn lists_every_unreadable_line() {
        check_dataset(
            &[
                ("train/seq.in", b"a b\n\nc\xff\nd\ne\nf g\n"),
                ("train/seq.out", b"O\n\nX-y\nB-\nI-z\nO B-w\n"),
                ("train/label", b"i\n\ni\ni\n\ni\n"),
                ("valid.jsonl", b"{\"tokens\": [\n\n{\"tokens\":[\"a\"],\"ner_tags\":[]}\n"),
            ],
            &expect![[r#"
                train/label:5: empty-line: no intent on this line
                train/seq.in:2: empty-line: no words on this line
                train/seq.in:3: not-utf8: not UTF-8: byte 0xFF at byte 2 of the line
                train/seq.out:1: length: 2 words but 1 labels
                train/seq.out:3: tag: unknown tag `X-y`: the scheme is none of IOB1, IOB2 and BILOU
                train/seq.out:4: tag: tag `B-` names no slot
                train/seq.out:5: sequence: `I-z` continues no span of its slot
                valid.jsonl:1: syntax: EOF while parsing a list, at column 12
                valid.jsonl:2: empty-line: no utterance on this line
                valid.jsonl:3: length: 1 words but 0 labels
            "#]],
        );
    }

    #[test]
    fn lists_odd_characters() {
        check_dataset(
            &[
                ("train/seq.in", "\u{feff}a\r\nb\0 c\ncafe\u{301} \u{fffd}\r\n".as_bytes()),
                ("train/seq.out", b"O\nO O\nO O\n"),
            ],
            &expect![[r#"
                train/seq.in:1: character: byte 1 of the line is a byte-order mark
                train/seq.in:2: character: byte 2 of the line is a NUL character
                train/seq.in:2: line-ending: this line ends in LF, those before it in CRLF
                train/seq.in:3: character: byte 8 of the line is the replacement character U+FFFD, left by a wrong conversion
                train/seq.in:3: normalisation: `café` is not in Unicode normal form C, in which people type
            "#]],
        );
    }

    #[test]
    fn compares_splits() {
        check_dataset(
            &[
                ("train.conll", b"# intent: P\nplay O\nx B-a\n\n# intent: P\nplay O\nx O\n"),
                ("test.conll", b"# intent: Q\nplay O\nx B-a\n\n# intent: R\ngo O\ny B-b\nz I-a\n"),
                ("ood/seq.in", b"play z z\nplay u\n"),
                ("ood/seq.out", b"O B-unknown I-unknown\nO B-unknown\n"),
                ("ood/seq.true", b"O B-a B-a\nO B-new\n"),
            ],
            &expect![[r#"
                ood/seq.true:1: truth: the true labels differ from the labels by more than the type of new concepts
                ood/seq.true:2: unseen-label: true slot `new` never occurs in train (here: 1)
                test.conll:2: unseen-intent: intent `Q` never occurs in train (here: 1)
                test.conll:2: duplicate: `play x` also stands in train line 2
                test.conll:2: conflict: `play x` has intent `Q`, in train line 2 it is `P`
                test.conll:6: unseen-label: label `B-b` never occurs in train (here: 1)
                test.conll:6: unseen-intent: intent `R` never occurs in train (here: 1)
                test.conll:8: sequence: `I-a` continues no span of its slot
                train.conll:6: conflict: `play x` has other labels in train line 2
            "#]],
        );
    }

    #[test]
    fn lists_slips_of_the_pen() {
        check_dataset(
            &[(
                "train.yml",
                b"nlu:\n- intent: on\n  examples: |\n    - in the [kitchen(room)\n    - in [](room)\n    - the [lights] (device)\n    - [lamp](device)\n    - [tv](Device)\n",
            )],
            &expect![[r#"
                train.yml:4: markup: `[kitchen(room)` has a bracket that is not closed
                train.yml:5: markup: `[](room)` marks no words
                train.yml:6: markup: `[lights] (device)` has a space before the slot
                train.yml:8: markup: slot `Device` beside `device`: they differ in case only
            "#]],
        );
    }

    #[test]
    fn finds_the_known_traps_of_the_shared_data() {
        let Some(data) = shared_data("finds_the_known_traps_of_the_shared_data") else { return };
        let findings = check(&data.join("atis")).unwrap();
        let test = data.join("atis/test/seq.out");
        let unseen =
            findings.iter().filter(|finding| finding.kind == Kind::UnseenLabel && finding.path == test);
        assert_eq!(unseen.count(), 6);
        assert!(!findings.iter().any(|finding| finding.kind.is_fatal()));
    }
}
