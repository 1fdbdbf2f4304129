//! Tables with a header, separated by commas, semicolons or tabs, as HWU64 comes.
//!
//! The text stands in `answer_annotation` with marks (`wake me at [time : nine]`), or in a column called `text`,
//! `utterance`, `sentence` or `query`; the intent in `intent`, `category` or `label`, with `scenario` and `_` before it
//! if there is such a column. Quotes and line breaks inside of quotes are those of RFC 4180.

use std::path::Path;

use super::Corpus;
use super::finding::Log;
use super::massive;
use super::raw::Collector;
use super::source::Source;
use crate::Result;

const TEXTS: [&str; 6] = ["answer_annotation", "annotation", "text", "utterance", "sentence", "query"];
const INTENTS: [&str; 3] = ["intent", "category", "label"];

pub(super) fn read(path: &Path, log: &mut Log) -> Result<Corpus> {
    let source = Source::open(path, log)?;
    let mut found = Collector::new(path, log);
    let header = source.text.lines().next().unwrap_or_default();
    let Some(columns) = Columns::of(header) else {
        found.note(1, no_columns(header));
        return Ok(found.finish());
    };
    for (line, row) in rows(&source.text, columns.separator).skip(1) {
        if row.iter().all(|field| field.trim().is_empty()) {
            continue;
        }
        let Some(text) = row.get(columns.text) else {
            let problem = format!("{} columns, but the text is in column {}", row.len(), columns.text + 1);
            found.note(line, problem);
            continue;
        };
        let field =
            |index: Option<usize>| index.and_then(|index| row.get(index)).map_or("", |field| field.trim());
        let intent = match (field(columns.scenario), field(columns.intent)) {
            ("", intent) => intent.to_owned(),
            (scenario, intent) => format!("{scenario}_{intent}"),
        };
        match text.trim() {
            "" | "null" => found.empty(line, "no text in this row"),
            text => massive::annotated(&mut found, line, &intent, None, text),
        }
    }
    Ok(found.finish())
}

/// Whether a first line is the header of such a table.
pub(super) fn is_header(line: &str) -> bool {
    Columns::of(line).is_some()
}

fn no_columns(header: &str) -> String {
    let names: Vec<&str> = header.split([',', ';', '\t']).map(str::trim).collect();
    format!("no column is called {}: there is `{}`", TEXTS.join(", "), names.join("`, `"))
}

struct Columns {
    separator: char,
    text: usize,
    intent: Option<usize>,
    scenario: Option<usize>,
}

impl Columns {
    fn of(header: &str) -> Option<Columns> {
        let separator =
            [';', '\t', ','].into_iter().max_by_key(|separator| header.matches(*separator).count())?;
        let (_, names) = rows(header, separator).next()?;
        let names: Vec<String> = names.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
        let column =
            |wanted: &[&str]| wanted.iter().find_map(|name| names.iter().position(|found| found == name));
        let intent = column(&INTENTS);
        if names.len() < 2 || intent.is_none() {
            return None;
        }
        Some(Columns { separator, text: column(&TEXTS)?, intent, scenario: column(&["scenario"]) })
    }
}

/// The rows with the line each begins on.
fn rows(text: &str, separator: char) -> impl Iterator<Item = (usize, Vec<String>)> {
    let mut chars = text.chars().peekable();
    let mut line = 1;
    std::iter::from_fn(move || {
        chars.peek()?;
        let start = line;
        let mut row = vec![String::new()];
        let mut quoted = false;
        while let Some(c) = chars.next() {
            let field = row.last_mut().expect("a row has a field");
            match c {
                '"' if quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
                '"' if quoted || field.is_empty() => quoted = !quoted,
                '\n' => {
                    line += 1;
                    if !quoted {
                        break;
                    }
                    field.push(c);
                }
                '\r' if !quoted => {}
                c if c == separator && !quoted => row.push(String::new()),
                c => field.push(c),
            }
        }
        Some((start, row))
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::Format;
    use super::super::tests::{check_error, check_read};

    #[test]
    fn reads_hwu64() {
        let check = |input: &str, expected: &Expect| {
            check_read(Format::Delimited, "NLU-Data-Home-Domain-Annotated-All.csv", input, expected);
        };
        check(
            "userid;answerid;scenario;intent;status;answer_annotation;notes;suggested_entities;answer_normalised;answer;question\n\
             1;1;alarm;set;;wake me up at [time : five am] [date : this week];;;wake me up at five am this week;wake me up at 5am this week;write what you would tell\n\
             1;2;alarm;set;IRR_XR;null;;;;x;y\n\
             2;3;audio;volume_mute;;\"quiet; \"\"please\"\"\";;;;;\n",
            &expect![[r#"
                2 alarm_set wake me up at [five am|time] [this week|date]
                4 audio_volume_mute quiet please
            "#]],
        );
        check("text,category\r\nhow are you?,greet\r\n", &expect!["2 greet how are you\n"]);
    }

    #[test]
    fn names_what_is_wrong() {
        check_error(
            "x.csv",
            b"text,intent\n\n",
            &expect![[r#"
                x.csv:1: there is no utterance in it
                hint: check the path; the file holds nothing to read"#]],
        );
        check_error(
            "x.csv",
            b"intent,text\nonly one\n",
            &expect![[r#"
                x.csv:2: 1 columns, but the text is in column 2
                hint: name another format, or mend the line"#]],
        );
    }
}
