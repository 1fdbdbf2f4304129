//! Rasa NLU training data of Rasa 1, in Markdown.
//!
//! `## intent:greet` begins the examples of an intent, one a line after `- `; `## synonym:`, `## lookup:` and `## regex:`
//! are known values, as in YAML ([`super::rasa`]). A lookup table may be a file, named by its path from the folder of
//! this file. Titles (`# ...`) and comments (`<!-- ... -->`) are skipped.

use std::path::{Component, Path};

use super::finding::Log;
use super::raw::Collector;
use super::source::{Source, begins_with_bom};
use super::{Corpus, markup, rasa, rasa_text, tagged};
use crate::Result;

const KINDS: [&str; 4] = ["intent", "synonym", "lookup", "regex"];

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut found = Collector::new(path, log);
    let mut section: Option<(String, String)> = None;
    let mut in_comment = false;
    for (line, text) in source.lines() {
        let text = without_comments(text, &mut in_comment);
        let text = text.trim();
        if let Some(title) = text.strip_prefix("##").filter(|title| !title.starts_with('#')) {
            section = heading(title).map(|(kind, name)| (kind.to_owned(), name.to_owned()));
            if section.is_none() {
                let title = title.trim();
                found.note(
                    line,
                    format!("`## {title}` is none of `## intent:`, `synonym:`, `lookup:`, `regex:`"),
                );
            }
        } else if let Some(item) = text.strip_prefix(['-', '*', '+']) {
            match section.as_ref().map(|(kind, name)| (kind.as_str(), name.as_str())) {
                Some(("intent", name)) => rasa::example(&mut found, name, line, item),
                Some((kind, name)) => found.known_values(rasa::rasa_value(kind, name, item)),
                None => found.note(line, format!("`{text}` stands before the first `## intent:`")),
            }
        } else if !text.is_empty() && !text.starts_with('#') {
            match section.as_ref().map(|(kind, name)| (kind.as_str(), name.as_str())) {
                Some(("lookup", name)) => lookup_file(&mut found, path, line, name, text),
                _ => found.note(line, format!("`{text}` does not begin with `- `")),
            }
        }
    }
    Ok(found.finish())
}

/// A line without what stands in comments; one may go on over many lines.
fn without_comments(line: &str, in_comment: &mut bool) -> String {
    let mut text = String::new();
    let mut rest = line;
    loop {
        let mark = if *in_comment { "-->" } else { "<!--" };
        let Some((before, after)) = rest.split_once(mark) else { break };
        if !*in_comment {
            text += before;
        }
        *in_comment = !*in_comment;
        rest = after;
    }
    if !*in_comment {
        text += rest;
    }
    text
}

/// Whether a line is a heading of this format.
pub(super) fn is_heading(line: &str) -> bool {
    line.strip_prefix("##").is_some_and(|title| heading(title).is_some())
}

fn heading(title: &str) -> Option<(&str, &str)> {
    let (kind, name) = title.split_once(':')?;
    KINDS.contains(&kind.trim()).then(|| (kind.trim(), name.trim())).filter(|(_, name)| !name.is_empty())
}

fn lookup_file(found: &mut Collector<'_>, path: &Path, line: usize, name: &str, file: &str) {
    // A corpus from elsewhere must not reach for files that are none of its own.
    let is_beside =
        Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let read = if is_beside {
        std::fs::read_to_string(path.with_file_name(file))
    } else {
        Err(std::io::Error::other("it is not in the folder of this file"))
    };
    match read {
        Ok(text) => {
            found.known_values(text.lines().filter_map(|value| rasa::rasa_value("lookup", name, value)))
        }
        Err(error) => found.suspect(line, format!("the lookup table `{file}` cannot be read: {error}")),
    }
}

/// The Markdown of Rasa 1.
pub(super) fn render(corpus: &Corpus) -> Result<String> {
    const NAME: &str = "Rasa Markdown";
    let mut text = String::new();
    for (intent, utterances) in corpus.by_intent() {
        let is_heading = heading(&format!(" intent:{intent}")).is_some_and(|(_, name)| name == intent);
        if !is_heading || intent.contains(char::is_control) {
            let problem = format!("the intent `{}` is no heading", intent.escape_debug());
            return Err(tagged::cannot_hold(corpus, utterances[0], NAME, &problem));
        }
        text += &format!("## intent:{intent}\n");
        for utterance in utterances {
            let parse = |line: &str| rasa_text::parse(line.trim()).map(|example| example.pieces);
            let line = markup::render(corpus, utterance, NAME, rasa_text::mark, parse)?;
            if line.contains("<!--") || begins_with_bom(&line) || line.contains(char::is_control) {
                let problem = format!("`{}` is no line", line.escape_debug());
                return Err(tagged::cannot_hold(corpus, utterance, NAME, &problem));
            }
            text += &format!("- {line}\n");
        }
        text.push('\n');
    }
    for ((kind, name), phrases) in corpus.value_lists(NAME)? {
        text += &format!("## {kind}:{name}\n");
        for phrase in phrases {
            if [name, phrase].iter().any(|text| text.contains("<!--") || text.contains('\u{feff}')) {
                return Err(tagged::cannot_hold_value(corpus, NAME, phrase));
            }
            text += &format!("- {phrase}\n");
        }
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::Format;
    use super::super::tests::{check_error, check_read, known};

    #[test]
    fn reads_intents_and_values() {
        let corpus = check_read(
            Format::RasaMarkdown,
            "nlu.md",
            "# data\n\n## intent:check_balance\n- what is my balance <!-- no entity -->\n\
             - how much do I have on my [savings](source_account), please?\n\
             - how much on the [savings account](source_account:savings)\n\
             <!-- ## intent:x\n- y -->\n## synonym:savings\n- pink pig\n\n## regex:zipcode\n- [0-9]{5}\n- none\n\n\
             ## lookup:currencies\n- Yen\n- USD\n",
            &expect![[r#"
                4 check_balance what is my balance
                5 check_balance how much do i have on my [savings|source_account] please
                6 check_balance how much on the [savings account|source_account]
            "#]],
        );
        assert_eq!(
            known(&corpus),
            [
                "currencies USD",
                "currencies Yen",
                "source_account pink pig = savings",
                "source_account savings account = savings",
                "zipcode none",
            ]
        );
    }

    #[test]
    fn names_what_is_wrong() {
        check_error(
            "x.md",
            b"## intent:a\n- b\n## happy path\n* greet\n",
            &expect![[r#"
                x.md:3: `## happy path` is none of `## intent:`, `synonym:`, `lookup:`, `regex:`
                hint: name another format, or mend the line"#]],
        );
        check_error(
            "x.md",
            b"## intent:a\nb\n",
            &expect![[r#"
                x.md:2: `b` does not begin with `- `
                hint: name another format, or mend the line"#]],
        );
    }
}
