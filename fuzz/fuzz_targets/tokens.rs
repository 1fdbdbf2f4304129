//! Whatever is in a file of tokens: an error that names the line, or as many tokens as there are lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meno_server::TokenSource;

fuzz_target!(|text: &str| match TokenSource::Lines(text.to_owned()).count() {
    Ok(n) => assert!(n <= text.lines().count()),
    Err(error) => assert!(error.to_string().starts_with("MENO_TOKENS:"), "{error}"),
});
