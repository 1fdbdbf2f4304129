//! What all commands share of standard output and standard error.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;

use meno::memory::is_hidden;
use meno::{Error, Result};

use crate::hints;

/// Prints to standard output.
///
/// A reader that has seen enough, such as `head`, is no failure.
pub fn print(text: impl Display) -> Result<()> {
    written(writeln!(io::stdout().lock(), "{text}"))
}

/// Prints to standard error. Where even that fails there is no one left to tell, so it is not `eprintln`, which panics.
pub fn note(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Tells an error and what may help.
pub fn complain(error: &Error) {
    note(format_args!("error: {error}"));
    if let Some(hint) = hints::hint(error) {
        note(format_args!("hint: {hint}"));
    }
}

/// A write to standard output as a result of the engine; a closed pipe is none of its errors.
pub fn written(result: io::Result<()>) -> Result<()> {
    match result {
        Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::Write { path: PathBuf::from("standard output"), source })
        }
        _ => Ok(()),
    }
}

/// Text without what a terminal would obey, or nobody would see.
pub fn shown(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// The same for lines of JSON, which stay what they are: they have such characters by their numbers.
pub fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // Only a text in quotes has others.
            c if c.is_ascii_control() && c != '\u{7f}' || !is_hidden(c) => out.push(c),
            c => out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
        }
    }
    out
}

/// `1 thread`, `2 threads`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// JSON with line breaks, for results that are read as often as parsed.
pub fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("results are plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_same_without_what_a_terminal_obeys() {
        let text = "a\u{202e}b\u{9b}1m\u{7f}é😀\u{e0001}\n\u{1b}";
        let json = serde_json::to_string(text).unwrap() + "\n";
        let escaped = escaped(&json);
        assert_eq!(escaped, "\"a\\u202eb\\u009b1m\\u007fé😀\\udb40\\udc01\\n\\u001b\"\n");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        assert_eq!(shown(text), "a\u{fffd}b\u{fffd}1m\u{fffd}é😀\u{fffd}\u{fffd}\u{fffd}");
    }
}
