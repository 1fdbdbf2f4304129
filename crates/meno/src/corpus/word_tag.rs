//! One utterance a line, each word with its tag: `play:O thriller:B-album <=> PlayMusic`.
//!
//! The tag follows the last colon of a word. A leading `BOS:O` and a trailing `EOS:O` are no words.

use std::path::Path;

use super::finding::{Kind, Log};
use super::scheme::Scheme;
use super::source::{Source, begins_with_bom};
use super::tagged::{self, Places};
use super::{Corpus, Utterance};
use crate::Result;

const ARROW: &str = "<=>";

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Vec<Utterance>> {
    let source = Source::open(path, log)?;
    let mut utterances = Vec::new();
    for (line, text) in source.lines() {
        if text.trim().is_empty() {
            log.add(path, line, Kind::EmptyLine, "no utterance on this line");
            continue;
        }
        match parse(line, text) {
            Ok(utterance) if utterance.words.is_empty() => {
                log.add(path, line, Kind::EmptyLine, "no words on this line");
            }
            Ok(utterance) => utterances.push(utterance),
            Err(problem) => log.add(path, line, Kind::Syntax, problem),
        }
    }
    let places = Places { labels: path, truth: path, label_lines: None };
    tagged::decode(&mut utterances, None, &places, log);
    Ok(utterances)
}

/// Whether a line looks like one of this format.
pub(super) fn is_line(line: &str) -> bool {
    line.split_once(ARROW).is_some_and(|(words, _)| words.split_whitespace().all(|word| word.contains(':')))
}

/// The text of the file.
pub(super) fn render(corpus: &Corpus, scheme: Scheme) -> Result<String> {
    const NAME: &str = "word:tag";
    tagged::demand_columns(corpus, NAME)?;
    let mut text = String::new();
    for utterance in &corpus.utterances {
        let tags = scheme.encode(&utterance.labels);
        let words: Vec<String> =
            utterance.words.iter().zip(&tags).map(|(word, tag)| format!("{word}:{tag}")).collect();
        let line = format!("{} {ARROW} {}", words.join(" "), utterance.intent);
        let same = parse(utterance.line, line.trim_end()).is_ok_and(|found| {
            found.words == utterance.words && found.labels == tags && found.intent == utterance.intent
        });
        if !same || utterance.truth.is_some() || begins_with_bom(&line) {
            let problem = format!("`{line}` would be read differently");
            return Err(tagged::cannot_hold(corpus, utterance, NAME, &problem));
        }
        text += &line;
        text.push('\n');
    }
    Ok(text)
}

fn parse(line: usize, text: &str) -> Result<Utterance, String> {
    let Some((tagged, intent)) = text.rsplit_once(ARROW) else {
        return Err(format!("there is no `{ARROW}` on the line"));
    };
    let mut pairs = Vec::new();
    for (index, word) in tagged.split_whitespace().enumerate() {
        match word.rsplit_once(':').filter(|(word, _)| !word.is_empty()) {
            Some(pair) => pairs.push(pair),
            None => return Err(format!("word {} `{word}` is not `word:tag`", index + 1)),
        }
    }
    if pairs.first() == Some(&("BOS", "O")) {
        pairs.remove(0);
    }
    if pairs.last() == Some(&("EOS", "O")) {
        pairs.pop();
    }
    Ok(Utterance {
        words: pairs.iter().map(|(word, _)| (*word).to_owned()).collect(),
        labels: pairs.iter().map(|(_, tag)| (*tag).to_owned()).collect(),
        truth: None,
        intent: intent.trim().to_owned(),
        line,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::Format;
    use super::super::tests::{check_error, check_read};

    #[test]
    fn reads_words_with_tags() {
        check_read(
            Format::WordTag,
            "train",
            "BOS:O i:O want:O to:O leave:O at:O 8:30:B-time am:I-time <=> atis_flight\nstop:O <=> Stop\n",
            &expect!["1 atis_flight i want to leave at [8:30 am|time]\n2 Stop stop\n"],
        );
    }

    #[test]
    fn names_what_is_wrong() {
        check_error(
            "train",
            b"a:O <=> x\nb:O c <=> x\n",
            &expect![[r#"
                train:2: word 2 `c` is not `word:tag`
                hint: name another format, or mend the line"#]],
        );
        check_error(
            "train",
            b"a:O <=> x\nb:O\n",
            &expect![[r#"
                train:2: there is no `<=>` on the line
                hint: name another format, or mend the line"#]],
        );
    }
}
