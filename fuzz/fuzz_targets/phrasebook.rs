//! Whatever is in a file of phrases: an error that names the line, or a book by which a conversation can be held.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use meno::dialogue::Phrasebook;

fuzz_target!(|text: &str| {
    match Phrasebook::read(text, Path::new("phrases")) {
        Ok(book) => drop(book.describing(&Default::default())),
        Err(error) => assert!(error.to_string().starts_with("phrases:"), "{error}"),
    }
});
