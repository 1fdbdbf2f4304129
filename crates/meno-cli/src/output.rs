//! What all commands share of standard output and standard error.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;

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

/// `1 thread`, `2 threads`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// JSON with line breaks, for results that are read as often as parsed.
pub fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("results are plain data")
}
