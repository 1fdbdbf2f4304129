//! The log, on standard error: lines for people, or JSON for programs.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use serde::Serialize;

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// An object a line.
    Json,
}

/// Standard error is that of the process, and so is its format.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// From now on the log is JSON.
pub(crate) fn write_json() {
    IS_JSON.store(true, Ordering::Relaxed);
}

/// A line of JSON.
#[derive(Serialize)]
struct Entry<T> {
    time: String,
    level: &'static str,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize)]
struct Message {
    message: String,
}

/// Tells something in the log.
pub fn note(text: impl Display) {
    tell("info", text);
}

/// Tells of trouble.
pub(crate) fn warn(text: impl Display) {
    tell("warn", text);
}

fn tell(level: &'static str, text: impl Display) {
    match IS_JSON.load(Ordering::Relaxed) {
        true => entry(level, Message { message: text.to_string() }),
        false => line(text),
    }
}

/// Writes a line of JSON.
pub(crate) fn entry(level: &'static str, rest: impl Serialize) {
    let entry = Entry { time: format!("{:.3}", Timestamp::now()), level, rest };
    line(serde_json::to_string(&entry).expect("an entry is plain data"));
}

/// Where even that fails there is no one left to tell, so it is not `eprintln`, which panics.
pub(crate) fn line(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
