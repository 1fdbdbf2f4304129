//! Concepts as lines of JSON: what is exported can be imported, here or elsewhere.

use std::io::Write;
use std::path::Path;

use meno::memory::{Concept, Draft, Owner, Source};
use meno::{Error, Result};
use serde::{Deserialize, Serialize};

/// A line of a file; all but phrase and slot may be left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    phrase: String,
    slot: String,
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    owner: Owner,
    #[serde(default)]
    source: Option<Source>,
    #[serde(default)]
    created: Option<u64>,
    #[serde(default)]
    updated: Option<u64>,
    #[serde(default)]
    uses: u64,
    /// Both are given anew.
    #[serde(default, rename = "id")]
    _id: u64,
    #[serde(default, rename = "normal")]
    _normal: String,
}

/// Reads concepts from lines of JSON, each fit to be remembered. Those without times get `now`.
pub fn read_concepts(path: &Path, text: &str, now: u64) -> Result<Vec<Concept>> {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines().zip(1..);
    lines.filter(|(line, _)| !line.trim().is_empty()).map(|(line, n)| read_line(path, line, n, now)).collect()
}

fn read_line(path: &Path, text: &str, line: usize, now: u64) -> Result<Concept> {
    let refuse = |problem: String, hint: &str| Error::Corpus {
        path: path.to_owned(),
        line,
        problem,
        hint: hint.to_owned(),
    };
    let line: Line = serde_json::from_str(text).map_err(|error| {
        // Every line is the first one to the parser.
        let problem = error.to_string().replace(" at line 1 column ", ", column ");
        refuse(
            problem,
            r#"a line is {"phrase": "red moon", "slot": "song"}, perhaps with value, owner and source"#,
        )
    })?;
    let Line { phrase, slot, value, owner, source, created, updated, uses, .. } = line;
    let draft = Draft { phrase, slot, value, owner, source };
    let normal =
        draft.check().map_err(|error| refuse(error.to_string(), error.hint().unwrap_or_default()))?;
    let Draft { phrase, slot, value, owner, source } = draft;
    let created = created.unwrap_or(now);
    let updated = updated.unwrap_or(created);
    Ok(Concept { id: 0, phrase, normal, slot, value, owner, source, created, updated, uses })
}

/// Writes things, such as concepts, as lines of JSON.
pub fn write_lines(out: &mut impl Write, things: &[impl Serialize]) -> std::io::Result<()> {
    for thing in things {
        serde_json::to_writer(&mut *out, thing)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
