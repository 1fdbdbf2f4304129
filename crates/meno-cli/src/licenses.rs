//! `meno --licenses`: the licences of meno and of all that is in the program.

use std::process::ExitCode;

use meno::Result;

use crate::output::print;

const HEAD: &str = "\
meno is licensed under MIT or Apache-2.0, at your choice. It is made of the work of many others: data and SQLite, which come
first, and the crates that follow, with their licences.";

/// What is in the program besides crates of others, and under which terms.
const PARTS: [(&str, &str); 6] = [
    ("meno: the MIT licence", include_str!("../LICENSE-MIT")),
    ("meno: the Apache licence", include_str!("../LICENSE-APACHE")),
    ("the table of English words", meno_english::NOTICE),
    ("the syntax model for English", meno_english_syntax::NOTICE),
    ("LICENSE-CC-BY-SA-4.0", meno_english_syntax::LICENSE),
    ("the letters of pictures, and SQLite", OTHERS),
];
const OTHERS: &str = "\
Noto Sans 1.04, Copyright 2012 Google Inc., under the Apache License, Version 2.0; changed: only some letters are left. Noto is
a trademark of Google Inc.

SQLite is in the public domain: https://sqlite.org/copyright.html";
/// Made by `cargo xtask licenses`.
const CRATES: &str = include_str!("../licenses.txt");

/// Prints all of them.
pub fn run() -> Result<ExitCode> {
    let mut text = HEAD.to_owned();
    for (title, terms) in PARTS {
        text.push_str(&format!("\n\n=== {title} ===\n\n{}", terms.trim_end()));
    }
    print(format_args!("{text}\n\n=== crates ===\n\n{}", CRATES.trim_end()))?;
    Ok(ExitCode::SUCCESS)
}
