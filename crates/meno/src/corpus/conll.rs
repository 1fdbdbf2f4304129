//! CoNLL: a word and its tag on each line, a blank line between utterances.
//!
//! Columns are separated by tabs, or by spaces if a line has no tab. Which column holds what is found out by
//! `columns.rs`, or stated in a [`Layout`]. A line that begins with `# ` is a comment; `# intent: PlayMusic` gives
//! the intent of the utterance that follows, `# truth: O B-artist` the true labels of a new-concept set. In a file with
//! an index before each word, every line that begins with `#` is a comment. `-DOCSTART-` lines are skipped.

use std::path::Path;
use std::str::FromStr;

use super::columns;
use super::finding::{Kind, Log};
use super::scheme::{Scheme, is_tag};
use super::source::{Source, begins_with_bom};
use super::tagged::{self, Places};
use super::{Corpus, Utterance};
use crate::{Error, Result};

const DOCUMENT_START: &str = "-DOCSTART-";

/// Which columns hold what, from 0, and the scheme of the tags. What is `None` is found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The column of the word.
    pub word: Option<usize>,
    /// The column of the tag.
    pub tag: Option<usize>,
    /// The scheme.
    pub scheme: Option<Scheme>,
}

impl FromStr for Layout {
    type Err = Error;

    /// Two numbers from 1, for word and tag: `2,4`.
    fn from_str(text: &str) -> Result<Self> {
        let column = |text: &str| text.trim().parse::<usize>().ok()?.checked_sub(1);
        match text.split_once(',').map(|(word, tag)| (column(word), column(tag))) {
            Some((Some(word), Some(tag))) if word != tag => {
                Ok(Layout { word: Some(word), tag: Some(tag), scheme: None })
            }
            _ => Err(Error::Setting {
                problem: format!("`{text}` does not name two columns"),
                hint: "give the numbers of the columns of word and tag, counted from 1, such as `2,4`"
                    .to_owned(),
            }),
        }
    }
}

/// Reads a file whose columns are not the usual ones.
pub fn read_with(path: &Path, layout: &Layout) -> Result<Corpus> {
    let mut log = Log::default();
    let corpus = read_leniently(path, layout, &mut log)?;
    log.into_result()?;
    Ok(corpus)
}

pub(super) fn read_leniently(path: &Path, layout: &Layout, log: &mut Log) -> Result<Corpus> {
    let corpus = Corpus { path: path.to_owned(), utterances: read(path, layout, log)?, ..Corpus::default() };
    corpus.demand_utterances(log);
    Ok(corpus)
}

pub(super) fn read(path: &Path, layout: &Layout, log: &mut Log) -> Result<Vec<Utterance>> {
    let source = Source::open(path, log)?;
    let found = columns::find(source.lines().map(|(_, text)| text));
    let mut reader = Reader {
        path,
        word: layout.word.unwrap_or(found.word),
        tag: layout.tag.or(found.tag),
        indexed: found.indexed,
        utterances: Vec::new(),
        label_lines: Vec::new(),
        current: Utterance::default(),
    };
    for (line, text) in source.lines() {
        reader.line(line, text, log);
    }
    reader.finish(log);
    let Reader { mut utterances, label_lines, .. } = reader;
    let places = Places { labels: path, truth: path, label_lines: Some(&label_lines) };
    tagged::decode(&mut utterances, layout.scheme, &places, log);
    Ok(utterances)
}

/// The text of the file, word and tag separated by a tab.
pub(super) fn render(corpus: &Corpus, scheme: Scheme) -> Result<String> {
    tagged::demand_columns(corpus, "CoNLL")?;
    let mut text = String::new();
    for utterance in &corpus.utterances {
        if utterance.words.iter().any(|word| word == DOCUMENT_START) {
            let problem = format!("the word `{DOCUMENT_START}` begins a document");
            return Err(tagged::cannot_hold(corpus, utterance, "CoNLL", &problem));
        }
        if !utterance.intent.is_empty() {
            text += &format!("# intent: {}\n", utterance.intent);
        }
        if let Some(truth) = &utterance.truth {
            text += &format!("# truth: {}\n", scheme.encode(truth).join(" "));
        }
        for (word, tag) in utterance.words.iter().zip(scheme.encode(&utterance.labels)) {
            text += &format!("{word}\t{tag}\n");
        }
        text.push('\n');
    }
    if begins_with_bom(&text) {
        let problem = "it begins with a byte-order mark";
        return Err(tagged::cannot_hold(corpus, &corpus.utterances[0], "CoNLL", problem));
    }
    Ok(text)
}

struct Reader<'a> {
    path: &'a Path,
    word: usize,
    /// The last column if `None`.
    tag: Option<usize>,
    /// Whether an index stands before each word.
    indexed: bool,
    utterances: Vec<Utterance>,
    label_lines: Vec<usize>,
    current: Utterance,
}

impl Reader<'_> {
    fn line(&mut self, line: usize, text: &str, log: &mut Log) {
        let columns = columns::split(text);
        if columns.is_empty() {
            self.finish(log);
        } else if self.is_comment(text, &columns) {
            self.comment(text);
        } else {
            self.token(line, text, &columns, log);
        }
    }

    /// `# text` is a comment, `#tag O` and `#<tab>O` are words; so is `# O`, where a comment is very unlikely.
    fn is_comment(&self, text: &str, columns: &[&str]) -> bool {
        if self.indexed {
            return text.starts_with('#');
        }
        let in_utterance = !self.current.words.is_empty();
        let tagged = columns.len() > 1 && is_tag(columns[columns.len() - 1]);
        columns[0] == "#" && !text.starts_with("#\t") && !(tagged && (columns.len() == 2 || in_utterance))
    }

    fn comment(&mut self, text: &str) {
        let Some((key, value)) = text[1..].split_once([':', '=']) else { return };
        match key.trim() {
            "intent" => value.trim().clone_into(&mut self.current.intent),
            "truth" => self.current.truth = Some(value.split_whitespace().map(str::to_owned).collect()),
            _ => {}
        }
    }

    fn token(&mut self, line: usize, text: &str, columns: &[&str], log: &mut Log) {
        let tag = self.tag.unwrap_or(columns.len() - 1);
        let needed = self.word.max(tag).max(1) + 1;
        if columns.len() < needed {
            let message = format!("`{text}` has fewer than {needed} columns");
            log.add(self.path, line, Kind::Syntax, message);
            return;
        }
        let word = columns[self.word];
        if word == DOCUMENT_START {
            return;
        }
        if self.current.words.is_empty() {
            self.current.line = line;
        }
        self.current.words.push(word.to_owned());
        self.current.labels.push(columns[tag].to_owned());
        self.label_lines.push(line);
    }

    fn finish(&mut self, log: &mut Log) {
        if self.current.words.is_empty() {
            // A comment before a blank line says nothing about the utterance after it.
            self.current = Utterance::default();
            return;
        }
        let utterance = std::mem::take(&mut self.current);
        let n_truth = utterance.truth.as_ref().map_or(utterance.words.len(), Vec::len);
        let counts = (n_truth, "true labels");
        if tagged::same_length(self.path, utterance.line, utterance.words.len(), counts, log) {
            self.utterances.push(utterance);
        } else {
            self.label_lines.truncate(self.label_lines.len() - utterance.words.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::Format;
    use super::super::tests::{check_error, check_read, compact};
    use super::*;

    fn check(input: &str, expected: &Expect) {
        check_read(Format::Conll, "x.conll", input, expected);
    }

    #[test]
    fn reads_words_tags_and_intents() {
        check("play O\nx B-a\ny I-a\n\nstop O\n", &expect!["1  play [x y|a]\n5  stop\n"]);
        check("# intent: Play\n#\tO\n#x B-a\n\n# c\n# O\n", &expect!["2 Play # [#x|a]\n6  #\n"]);
        check("-DOCSTART- -X- O O\n\nEU NNP I-NP I-org\n\n\n", &expect!["3  [EU|org]\n"]);
        check("a U-x\r\nb B-x\r\nc L-x\r\n", &expect!["1  [a|x] [b c|x]\n"]);
        check("\u{feff}a I-x\nb B-x", &expect!["1  [a|x] [b|x]\n"]);
        check("a B-time-range\nb I-time-range", &expect!["1  [a b|time-range]\n"]);
    }

    #[test]
    fn finds_the_columns() {
        // xSID: an index, the word, the intent, the tag.
        check(
            "# id: 1\n# text: Weck mich um 7\n# intent: alarm/set_alarm\n# slots: 13:14:datetime\n\
             1\tWeck\talarm/set_alarm\tO\n2\tmich\talarm/set_alarm\tO\n3\tum\talarm/set_alarm\tO\n\
             4\t7\talarm/set_alarm\tB-datetime\n\n# id: 2\n# intent: x\n1\tStopp\tx\tO\n",
            &expect!["5 alarm/set_alarm Weck mich um [7|datetime]\n12 x Stopp\n"],
        );
        // MIT: the tag before the word.
        check(
            "O\tany\nB-Rating\tgood\nI-Rating\tones\n\nO\tbye\n",
            &expect!["1  any [good ones|Rating]\n5  bye\n"],
        );
        // GermEval: comments with a tab, an index, the word, outer and inner tags.
        check(
            "#\thttp://de.wikipedia.org/wiki/Manfred_Korfmann [2009-10-17]\n1\tAufgrund\tO\tO\n\
             2\tTroia\tB-LOC\tO\n3\tFC\tB-ORG\tB-LOC\n4\t#\tO\tO\n",
            &expect!["2  Aufgrund [Troia|LOC] [FC|ORG] #\n"],
        );
        check("New York\tB-city\nnow\tO\n", &expect!["1  [New York|city] now\n"]);
        // Numbers that are words.
        check("1 O\n2 O\n\n1 O\n", &expect!["1  1 2\n4  1\n"]);
    }

    #[test]
    fn names_what_is_wrong() {
        let check = |input: &str, expected: &Expect| check_error("x.conll", input.as_bytes(), expected);
        check(
            "a O\nb X-foo\n",
            &expect![[r#"
            x.conll:2: unknown tag `X-foo`: the scheme is none of IOB1, IOB2 and BILOU
            hint: labels are O, B-slot, I-slot (IOB) and with L-slot, U-slot or E-slot, S-slot (BILOU)"#]],
        );
        check(
            "a O\n# c\nb X-foo\n",
            &expect![[r#"
            x.conll:3: unknown tag `X-foo`: the scheme is none of IOB1, IOB2 and BILOU
            hint: labels are O, B-slot, I-slot (IOB) and with L-slot, U-slot or E-slot, S-slot (BILOU)"#]],
        );
        check(
            "a O\nb\n",
            &expect![[r#"
                x.conll:2: `b` has fewer than 2 columns
                hint: name another format, or mend the line"#]],
        );
        check(
            "a O\nb B-\n",
            &expect![[r#"
            x.conll:2: tag `B-` names no slot
            hint: labels are O, B-slot, I-slot (IOB) and with L-slot, U-slot or E-slot, S-slot (BILOU)"#]],
        );
        check(
            "# only a comment\n",
            &expect![[r#"
            x.conll:1: there is no utterance in it
            hint: check the path; the file holds nothing to read"#]],
        );
    }

    #[test]
    fn takes_other_columns_and_a_stated_scheme() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.conll");
        std::fs::write(&path, "1 B-x a -\n2 I-x b -\n").unwrap();
        let layout = Layout { word: Some(2), tag: Some(1), scheme: Some(Scheme::Iob2) };
        let corpus = read_with(&path, &layout).unwrap();
        assert_eq!(compact(&corpus), "1  [a b|x]\n");
        assert_eq!("3, 2".parse::<Layout>().unwrap(), Layout { scheme: None, ..layout });
        for bad in ["", "3", "0,1", "2,2", "a,b"] {
            assert!(bad.parse::<Layout>().is_err(), "{bad}");
        }
    }
}
