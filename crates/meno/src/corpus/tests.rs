//! What every format must do, and the notation of the tests: `"PlayMusic play [the x|artist]"`.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::format::{Rendered, render};
use super::*;
use crate::label;
use crate::text::tests::left_out::left_out;

/// A corpus from lines of an intent and words, spans as `[words|slot]`.
pub(super) fn corpus(lines: &[&str]) -> Corpus {
    let utterances = lines.iter().enumerate().map(|(line_idx, line)| utterance(line, line_idx + 1)).collect();
    of_utterances(utterances)
}

fn of_utterances(utterances: Vec<Utterance>) -> Corpus {
    Corpus { path: PathBuf::from("corpus"), utterances, ..Corpus::default() }
}

fn utterance(line: &str, line_number: usize) -> Utterance {
    let mut parts = line.split(' ');
    let intent = parts.next().unwrap_or_default().to_owned();
    let (mut words, mut labels, mut open): (Vec<String>, Vec<String>, Option<usize>) = Default::default();
    for part in parts {
        let word = part.strip_prefix('[').unwrap_or(part);
        if word != part {
            open = Some(words.len());
        }
        match (open, word.strip_suffix(']').and_then(|word| word.split_once('|'))) {
            (Some(start), Some((word, slot))) => {
                words.push(word.to_owned());
                labels.push(format!("B-{slot}"));
                labels.resize(words.len(), format!("I-{slot}"));
                debug_assert!(start < words.len());
                open = None;
            }
            (Some(_), None) => words.push(word.to_owned()),
            _ => {
                words.push(word.to_owned());
                labels.push("O".to_owned());
            }
        }
    }
    Utterance { words, labels, truth: None, intent, line: line_number }
}

/// The inverse of [`corpus`], each line with its number first.
pub(super) fn compact(corpus: &Corpus) -> String {
    let mut text = String::new();
    for utterance in &corpus.utterances {
        let mut words = utterance.words.clone();
        for span in label::spans(&utterance.labels) {
            words[span.start].insert(0, '[');
            words[span.end - 1] += &format!("|{}]", span.slot);
        }
        text += &format!("{} {} {}\n", utterance.line, utterance.intent, words.join(" "));
    }
    text
}

/// Reads `input` as a file called `name`, whose format must also be detected.
pub(super) fn check_read(format: Format, name: &str, input: &str, expected: &Expect) -> Corpus {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, input).unwrap();
    assert_eq!(Format::detect(&path).unwrap(), format, "{input}");
    let corpus = read(&path, None).unwrap();
    expected.assert_eq(&compact(&corpus));
    assert!(corpus.utterances.iter().all(|utterance| utterance.words.len() == utterance.labels.len()));
    corpus
}

/// The known values of a corpus: the slot or `-`, the phrase, and what it stands for.
pub(super) fn known(corpus: &Corpus) -> Vec<String> {
    let line = |value: &KnownValue| {
        let stands_for = value.stands_for.as_ref().map_or(String::new(), |value| format!(" = {value}"));
        format!("{} {}{stands_for}", value.slot.as_deref().unwrap_or("-"), value.phrase)
    };
    corpus.known_values.iter().map(line).collect()
}

/// The error of reading `input`, without the folder it stood in.
pub(super) fn check_error(name: &str, input: &[u8], expected: &Expect) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), input).unwrap();
    expected.assert_eq(&message(&read(&dir.path().join(name), None).unwrap_err(), dir.path()));
}

fn message(error: &crate::Error, dir: &Path) -> String {
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    format!("{error}{hint}")
        .replace(&format!("{}/", dir.display()), "")
        .replace(&dir.display().to_string(), "DIR")
}

fn check_folder(files: &[(&str, &str)], expected: &Expect) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let found = match read(dir.path(), None) {
        Ok(corpus) => compact(&corpus),
        Err(error) => message(&error, dir.path()),
    };
    expected.assert_eq(&found);
}

#[test]
fn reads_a_folder() {
    check_folder(
        &[("seq.in", "play x \r\n\r\n  stop\r\n\r\n"), ("seq.out", "O B-a\n\nO\n"), ("label", "P\n\nS\n\n")],
        &expect!["1 P play [x|a]\n3 S stop\n"],
    );
    check_folder(&[("seq.in", "\u{feff}play x"), ("seq.out", "O U-a")], &expect!["1  play [x|a]\n"]);
}

#[test]
fn names_what_is_wrong_in_a_folder() {
    check_folder(
        &[("seq.in", "a b\nc\n"), ("seq.out", "O\nO\n")],
        &expect![[r#"
        seq.out:1: 2 words but 1 labels
        hint: every word needs one label"#]],
    );
    check_folder(
        &[("seq.in", "a\nb\nc\n"), ("seq.out", "O\nO\n"), ("label", "x\nx\nx\n")],
        &expect![[r#"
            seq.out:3: seq.out has 2 lines but seq.in has 3
            hint: every word needs one label"#]],
    );
    check_folder(
        &[("seq.in", "a\n"), ("seq.out", "O\n"), ("label", "x\ny\n")],
        &expect![[r#"
        label:2: label has 2 lines but seq.in has 1
        hint: every word needs one label"#]],
    );
    check_folder(
        &[("seq.in", "a\n"), ("seq.out", "O\n"), ("seq.true", "O O\n")],
        &expect![[r#"
        seq.true:1: 1 words but 2 true labels
        hint: every word needs one label"#]],
    );
    check_folder(
        &[("seq.in", ""), ("seq.out", "")],
        &expect![[r#"
        DIR:1: there is no utterance in it
        hint: check the path; the file holds nothing to read"#]],
    );
    check_folder(
        &[("seq.in", "a\n")],
        &expect![[r#"
        cannot read seq.out: No such file or directory (os error 2)
        hint: check the path"#]],
    );
    check_folder(
        &[("seq.out", "O\n")],
        &expect![[r#"
        DIR is a folder without seq.in
        hint: name a split, for example its `train` folder, or a file"#]],
    );
}

#[test]
fn names_what_is_wrong_in_any_file() {
    check_error(
        "x.conll",
        b"",
        &expect![[r#"
        x.conll:1: there is no utterance in it
        hint: check the path; the file holds nothing to read"#]],
    );
    check_error(
        "x.jsonl",
        b"\n\n",
        &expect![[r#"
        x.jsonl:1: there is no utterance in it
        hint: check the path; the file holds nothing to read"#]],
    );
    check_error(
        "x.yml",
        b"",
        &expect![[r#"
        x.yml:1: there is no utterance in it
        hint: check the path; the file holds nothing to read"#]],
    );
    check_error(
        "x.conll",
        b"a O\ncaf\xe9 O\n",
        &expect![[r#"
        x.conll:2: not UTF-8: byte 0xE9 at byte 4 of the line
        hint: save the file as UTF-8, for example with `iconv -f latin1 -t utf-8`"#]],
    );
    let missing = read(Path::new("no/such/folder"), None).unwrap_err();
    expect![[r#"
        cannot read no/such/folder: No such file or directory (os error 2)
        hint: check the path"#]]
    .assert_eq(&message(&missing, Path::new("-")));
}

#[test]
fn a_line_of_a_megabyte_is_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let word = "x".repeat(1 << 20);
    let many = "y ".repeat(1 << 19);
    fs::write(dir.path().join("seq.in"), format!("{word}\n{many}\n")).unwrap();
    fs::write(dir.path().join("seq.out"), format!("O\n{}\n", "O ".repeat(1 << 19))).unwrap();
    let corpus = read(dir.path(), None).unwrap();
    assert_eq!(corpus.utterances[0].words[0].len(), 1 << 20);
    assert_eq!(corpus.utterances[1].words.len(), 1 << 19);
    for format in Format::WRITTEN {
        let path = dir.path().join(format!("{format}.out"));
        let mut corpus = corpus.clone();
        corpus.utterances.iter_mut().for_each(|utterance| utterance.intent = "i".to_owned());
        write(&corpus, &path, format).unwrap();
        assert_eq!(read(&path, Some(format)).unwrap().utterances.len(), 2, "{format}");
    }
}

#[test]
fn finds_splits_in_folders_and_files() {
    let dir = tempfile::tempdir().unwrap();
    let error =
        |name: &str| message(&read_split(dir.path(), name).unwrap_err(), dir.path().parent().unwrap());
    assert!(error("train").contains("holds no split"));
    let data = corpus(&["P play [x|a]"]);
    write(&data, &dir.path().join("train"), Format::Folder).unwrap();
    write(&data, &dir.path().join("dev.conll"), Format::Conll).unwrap();
    write(&data, &dir.path().join("ood.jsonl"), Format::Jsonl).unwrap();
    fs::write(dir.path().join("domain.yml"), "a: b").unwrap();
    let names: Vec<String> = splits(dir.path()).unwrap().into_iter().map(|split| split.name).collect();
    assert_eq!(names, ["train", "valid", "ood"]);
    assert_eq!(compact(&read_split(dir.path(), "dev").unwrap()), "2 P play [x|a]\n");
    assert!(error("test").contains("has no `test` split\nhint: there is train, valid, ood"));
    write(&data, &dir.path().join("valid.jsonl"), Format::Jsonl).unwrap();
    assert!(error("valid").contains("are there"));

    let massive = dir.path().join("en.jsonl");
    let line = |partition: &str| {
        format!("{{\"partition\":\"{partition}\",\"annot_utt\":\"{partition} [a : x]\"}}\n")
    };
    fs::write(&massive, line("test") + &line("train") + &line("dev") + &line("train")).unwrap();
    assert_eq!(compact(&read_split(&massive, "train").unwrap()), "2  train [x|a]\n4  train [x|a]\n");
    let names: Vec<String> = splits(&massive).unwrap().into_iter().map(|split| split.name).collect();
    assert_eq!(names, ["train", "valid", "test"]);
}

#[test]
fn writers_refuse_what_they_cannot_say() {
    let dir = tempfile::tempdir().unwrap();
    let check = |corpus: &Corpus, format: Format, expected: &Expect| {
        let path = dir.path().join("out");
        let error = write(corpus, &path, format).unwrap_err();
        expected.assert_eq(&message(&error, dir.path()));
        assert!(!path.exists());
    };
    check(
        &corpus(&["P a[x](y)"]),
        Format::Rasa,
        &expect![[r#"
        corpus:1: cannot be written as Rasa: `a[x](y)` would be read differently
        hint: JSONL holds any word, slot and intent"#]],
    );
    check(
        &corpus(&[" no intent"]),
        Format::Rasa,
        &expect![[r#"
        corpus:1: cannot be written as Rasa: it has no intent
        hint: JSONL holds any word, slot and intent"#]],
    );
    check(
        &corpus(&["P a\u{1} b"]),
        Format::Rasa,
        &expect![[r#"
        corpus:1: cannot be written as Rasa: YAML has no place for the character `\u{1}`
        hint: JSONL holds any word, slot and intent"#]],
    );
    check(
        &corpus(&["P a [b]|x]"]),
        Format::Massive,
        &expect![[r#"
        corpus:1: cannot be written as MASSIVE: `a [x : b]]` would be read differently
        hint: JSONL holds any word, slot and intent"#]],
    );
    check(
        &corpus(&["P -DOCSTART- b"]),
        Format::Conll,
        &expect![[r#"
        corpus:1: cannot be written as CoNLL: the word `-DOCSTART-` begins a document
        hint: JSONL holds any word, slot and intent"#]],
    );
    check(
        &corpus(&["P \u{feff}a b"]),
        Format::Folder,
        &expect![[r#"
        corpus:1: cannot be written as a folder: it begins with a byte-order mark
        hint: JSONL holds any word, slot and intent"#]],
    );
    check(&corpus(&[]), Format::Folder, &expect!["corpus:1: cannot be written: there is no utterance in it"]);
    let mut odd = corpus(&["P a b"]);
    odd.utterances[0].words[0] = "New York".to_owned();
    check(
        &odd,
        Format::Conll,
        &expect![[r#"
        corpus:1: cannot be written as CoNLL: `New York` has white space in it
        hint: JSONL holds any word, slot and intent"#]],
    );
    check(
        &odd,
        Format::Snips,
        &expect![[r#"
        corpus:1: cannot be written as Snips: `New York` has white space in it
        hint: JSONL holds any word, slot and intent"#]],
    );
    odd.utterances[0].labels.pop();
    check(
        &odd,
        Format::Jsonl,
        &expect![[r#"
        corpus:1: cannot be written: 2 words but 1 labels"#]],
    );
    let mut truth = corpus(&["P a b"]);
    truth.utterances[0].truth = Some(vec!["O".to_owned(), "B-x".to_owned()]);
    check(
        &truth,
        Format::Snips,
        &expect![[r#"
        corpus:1: cannot be written as Snips: it has true labels beside its labels
        hint: JSONL holds any word, slot and intent"#]],
    );
}

/// Words of any script and punctuation, brackets aside.
fn tame_word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[a-zA-Z0-9'.,:;#/\\-]{1,6}",
        "[äöüßéèñ漢字кий😀\u{301}]{1,4}",
        Just("#".to_owned()),
        Just("O".to_owned()),
        Just("B-x".to_owned()),
    ]
}

/// Utterances with spans of `slot`, adjacent ones of the same slot included.
fn utterances(
    word: impl Strategy<Value = String>,
    slot: &'static str,
    intent: &'static str,
) -> impl Strategy<Value = Vec<Utterance>> {
    let piece = (proptest::collection::vec(word, 1..4), proptest::option::of(slot));
    let one = (proptest::collection::vec(piece, 1..5), intent);
    proptest::collection::vec(one, 1..6).prop_map(|rows| {
        let from_pieces = |(pieces, intent): (Vec<(_, Option<String>)>, String)| {
            let mut utterance = Utterance { intent, ..Utterance::default() };
            for (words, slot) in pieces {
                let words: Vec<String> = words;
                let first = utterance.words.len();
                utterance.words.extend(words);
                let n_words = utterance.words.len();
                match slot {
                    Some(slot) => {
                        utterance.labels.push(format!("B-{slot}"));
                        utterance.labels.resize(n_words, format!("I-{slot}"));
                    }
                    None => utterance.labels.resize(n_words, "O".to_owned()),
                }
                debug_assert!(first < n_words);
            }
            utterance
        };
        rows.into_iter().map(from_pieces).collect()
    })
}

/// Words, spans and intents as they come back; formats that group by intent keep the order within each.
fn round_trip(corpus: &Corpus, format: Format, scheme: Scheme) -> crate::Result<Vec<Utterance>> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x").with_extension(format.extension().unwrap_or_default());
    // Not `write_with`: waiting for the disk would take most of the time of these tests.
    match render(corpus, format, scheme)? {
        Rendered::File(text) => fs::write(&path, text).unwrap(),
        Rendered::Folder(files) => {
            fs::create_dir(&path).unwrap();
            files.iter().for_each(|(name, bytes)| fs::write(path.join(name), bytes).unwrap());
        }
    }
    assert_eq!(Format::detect(&path).unwrap(), format);
    let mut utterances = read(&path, Some(format)).unwrap().utterances;
    utterances.iter_mut().for_each(|utterance| utterance.line = 0);
    Ok(utterances)
}

/// What must come back: utterances of one intent together where the format groups them, and words as raw text is read
/// where it holds raw text.
fn expected(corpus: &Corpus, format: Format) -> Vec<Utterance> {
    let mut utterances = match format {
        Format::Snips | Format::Rasa | Format::RasaMarkdown => corpus
            .by_intent()
            .into_iter()
            .flat_map(|(_, utterances)| utterances.into_iter().cloned())
            .collect(),
        _ => corpus.utterances.clone(),
    };
    if !format.has_tags() {
        for utterance in &mut utterances {
            let (text, slots) = raw::join(&markup::pieces(utterance));
            (utterance.words, utterance.labels) = raw::words(&Normalizer::raw(), &text, slots).unwrap();
        }
    }
    utterances
}

/// What a format may refuse; JSONL may refuse nothing.
fn is_too_odd(utterance: &Utterance, format: Format) -> bool {
    let of_words = |odd: &[char]| utterance.words.iter().any(|word| word.contains(odd));
    let of_slots = |odd: &[char]| label::spans(&utterance.labels).iter().any(|span| span.slot.contains(odd));
    let intent = &utterance.intent;
    match format {
        Format::Jsonl => false,
        Format::Snips => of_words(&[' ']),
        Format::Rasa => {
            of_words(&[' ', '[', ']', '\u{1}', '\u{feff}']) || of_slots(&['}', '"']) || intent.is_empty()
        }
        Format::Massive => of_words(&[' ', '[', ']']) || of_slots(&[' ', '[', ']', ':']),
        Format::Folder | Format::Conll => {
            let odd_intent = intent.trim() != intent || intent.contains(['\n', '\u{85}', '\u{feff}']);
            of_words(&[' ', '\u{feff}']) || of_slots(&[' ']) || odd_intent
        }
        // Words may look like marks and comments, slots have colons, intents are headings.
        _ => true,
    }
}

const SLOT: &str = "[a-c][a-c_.\\-]{0,2}";
const INTENT: &str = "[A-Z][a-zA-Z]{0,3}(#[a-z]{1,2})?";
const SCHEMES: [Scheme; 3] = [Scheme::Iob1, Scheme::Iob2, Scheme::Bilou];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_format_gives_back_what_it_got(utterances in utterances(tame_word(), SLOT, INTENT)) {
        let corpus = of_utterances(utterances);
        for format in Format::WRITTEN {
            let schemes = if format.has_tags() { &SCHEMES[..] } else { &SCHEMES[..1] };
            for &scheme in schemes {
                let found = round_trip(&corpus, format, scheme).unwrap();
                prop_assert_eq!(found, expected(&corpus, format), "{} {}", format, scheme);
            }
        }
    }

    #[test]
    fn odd_strings_come_back_or_are_refused(
        utterances in utterances(
            "[\\[\\](){}:|\\\\\"#a \u{1}\u{feff}-]{1,5}",
            "[a\\[\\](){}:\" -]{1,3}",
            "[ -~\n\u{85}\u{e9}\u{2028}\u{feff}]{0,3}"
        )
    ) {
        for utterance in utterances {
            let corpus = of_utterances(vec![utterance]);
            for format in Format::WRITTEN {
                match round_trip(&corpus, format, Scheme::Iob2) {
                    Ok(found) => prop_assert_eq!(found, expected(&corpus, format), "{}", format),
                    Err(error) => prop_assert!(is_too_odd(&corpus.utterances[0], format), "{}", error),
                }
            }
        }
    }

    #[test]
    fn true_labels_come_back(mut utterances in utterances(tame_word(), SLOT, INTENT)) {
        for utterance in &mut utterances {
            utterance.truth = Some(std::mem::replace(&mut utterance.labels, vec!["O".to_owned(); utterance.words.len()]));
        }
        let corpus = of_utterances(utterances);
        for format in [Format::Folder, Format::Conll, Format::Jsonl] {
            for scheme in SCHEMES {
                prop_assert_eq!(&round_trip(&corpus, format, scheme).unwrap(), &corpus.utterances);
            }
        }
    }

    #[test]
    fn readers_never_panic(text in "[ -~\\n\\t\u{e9}]{0,200}", json in "(\\{\"(tokens|data|utt|annot_utt|intents)\": ?[\\[{\"]?){0,4}") {
        let dir = tempfile::tempdir().unwrap();
        for input in [text, json] {
            let path = dir.path().join("x");
            fs::write(&path, &input).unwrap();
            for format in Format::ALL {
                let _ = read(&path, Some(format));
            }
        }
    }
}

/// The data for development: where `MENO_DATA` points, or beside the workspace.
pub(super) fn shared_data(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("MENO_DATA").map_or(beside, PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    left_out(test, "neither $MENO_DATA nor ../shared/data is there");
    None
}

#[test]
fn reads_the_shared_data() {
    let Some(data) = shared_data("reads_the_shared_data") else { return };
    let sizes = [("snips", [13_084, 700, 700, 1_449, 4_329]), ("atis", [4_478, 500, 893, 473, 1_626])];
    for (name, sizes) in sizes {
        let splits = splits(&data.join(name)).unwrap();
        let names: Vec<&str> = splits.iter().map(|split| split.name.as_str()).collect();
        assert_eq!(names, ["train", "valid", "test", "ood-dev", "ood-test"]);
        for (split, size) in splits.iter().zip(sizes) {
            let corpus = split.read().unwrap();
            assert_eq!(corpus.utterances.len(), size, "{name} {}", split.name);
            assert_eq!(corpus.utterances[0].truth.is_some(), split.name.starts_with("ood"));
            for format in [Format::Folder, Format::Conll, Format::Jsonl] {
                let mut found = round_trip(&corpus, format, Scheme::Bilou).unwrap();
                found
                    .iter_mut()
                    .zip(&corpus.utterances)
                    .for_each(|(found, expected)| found.line = expected.line);
                assert!(found == corpus.utterances, "{name} {} {format}", split.name);
            }
        }
    }
}
