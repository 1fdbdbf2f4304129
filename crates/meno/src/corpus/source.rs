//! From the bytes of a file to its lines: UTF-8 is demanded, a leading byte-order mark and CRLF are tolerated.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::finding::{Kind, Log};
use crate::{Error, Result};

const BOM: char = '\u{feff}';

/// A decoded text file.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Source {
    /// Reads a file; lines that are not UTF-8 are noted, and their bad bytes become U+FFFD.
    pub(super) fn open(path: &Path, log: &mut Log) -> Result<Self> {
        let bytes = fs::read(path).map_err(|source| Error::read(path, source))?;
        Ok(Source { path: path.to_owned(), text: decode(path, bytes, log) })
    }

    /// The lines without their ends, numbered from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(line_idx, line)| (line_idx + 1, line))
    }
}

/// Whether `text` would lose its first character to the tolerance for byte-order marks.
pub(super) fn begins_with_bom(text: &str) -> bool {
    text.starts_with(BOM)
}

fn decode(path: &Path, bytes: Vec<u8>, log: &mut Log) -> String {
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            note_bad_lines(path, error.as_bytes(), log);
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
    };
    if begins_with_bom(&text) {
        text.drain(..BOM.len_utf8());
    }
    text
}

fn note_bad_lines(path: &Path, bytes: &[u8], log: &mut Log) {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        log.add(path, 1, Kind::NotUtf8, "the file is UTF-16, not UTF-8");
        return;
    }
    for (line_idx, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if let Err(error) = std::str::from_utf8(line) {
            let byte_idx = error.valid_up_to();
            let message =
                format!("not UTF-8: byte 0x{:02X} at byte {} of the line", line[byte_idx], byte_idx + 1);
            log.add(path, line_idx + 1, Kind::NotUtf8, message);
        }
    }
}

impl Source {
    /// Reads each line as a value of JSON; lines that are none are noted.
    pub(super) fn each_json<T: DeserializeOwned>(
        &self,
        log: &mut Log,
        mut each: impl FnMut(usize, T, &mut Log) -> Result<()>,
    ) -> Result<()> {
        for (line, text) in self.lines() {
            if text.trim().is_empty() {
                log.add(&self.path, line, Kind::EmptyLine, "no utterance on this line");
                continue;
            }
            match serde_json::from_str(text) {
                Ok(value) => each(line, value, log)?,
                Err(error) => log.add(&self.path, line, Kind::Syntax, json_problem(&error)),
            }
        }
        Ok(())
    }
}

/// The lines of byte offsets.
pub(super) struct Lines<'a> {
    text: &'a str,
    /// Where the lines after the first begin.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Lines { text, starts: text.match_indices('\n').map(|(at, _)| at + 1).collect() }
    }

    /// The line on which `part`, a slice of the text, begins.
    pub(super) fn line_of(&self, part: &str) -> usize {
        self.place_of(part).0
    }

    /// The line on which `part` begins, and how many bytes of the line stand before it.
    pub(super) fn place_of(&self, part: &str) -> (usize, usize) {
        let offset = part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        let n_starts = self.starts.partition_point(|start| *start <= offset);
        let start = n_starts.checked_sub(1).map_or(0, |last| self.starts[last]);
        (n_starts + 1, offset - start)
    }
}

/// What serde_json says without its own place, which counts from the start of the slice it was given.
pub(super) fn json_problem(error: &serde_json::Error) -> String {
    json_problem_at(error, 0)
}

/// As [`json_problem`], in a slice with so many bytes before it on its first line.
pub(super) fn json_problem_at(error: &serde_json::Error, before: usize) -> String {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let before = if error.line() == 1 { before } else { 0 };
    format!("{message}, at column {}", before + error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], text: &str, findings: &[&str]) {
        let mut log = Log::default();
        assert_eq!(decode(Path::new("f"), bytes.to_vec(), &mut log), text);
        let found: Vec<String> = log.findings.iter().map(|finding| finding.to_string()).collect();
        assert_eq!(found, findings);
    }

    #[test]
    fn decodes_and_names_bad_bytes() {
        check(b"\xef\xbb\xbfa b", "a b", &[]);
        check(
            b"ok\ncaf\xe9 x\n\xff",
            "ok\ncaf\u{fffd} x\n\u{fffd}",
            &[
                "f:2: not-utf8: not UTF-8: byte 0xE9 at byte 4 of the line",
                "f:3: not-utf8: not UTF-8: byte 0xFF at byte 1 of the line",
            ],
        );
        check(b"\xff\xfea\0", "\u{fffd}\u{fffd}a\0", &["f:1: not-utf8: the file is UTF-16, not UTF-8"]);
    }
}
