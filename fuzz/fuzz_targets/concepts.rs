//! Whatever is imported: an error, or concepts that are the same when they are written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use meno_store::{read_concepts, write_lines};

fuzz_target!(|text: &str| {
    let Ok(concepts) = read_concepts(Path::new("concepts"), text, 1) else { return };
    let mut lines = Vec::new();
    write_lines(&mut lines, &concepts).expect("memory can be written to");
    let lines = String::from_utf8(lines).expect("JSON is UTF-8");
    let again = read_concepts(Path::new("written"), &lines, 2).expect("what was written can be read");
    assert_eq!(again, concepts);
});
