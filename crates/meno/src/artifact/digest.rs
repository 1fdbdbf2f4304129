//! A digest of a model file, which the file itself holds: a byte that was lost or changed on the way is noticed.
//!
//! It is the XXH3 of 128 bits of all bytes of the file, with zeros where the digest stands, as hexadecimal digits.

use xxhash_rust::xxh3::Xxh3;

/// Hexadecimal digits of a digest.
const DIGITS: usize = 32;

/// How the field begins, as it stands in the header: a document inside of a string.
const FIELD: &[u8] = br#"\"digest\":\""#;

/// What a document has before the digest of its file is known.
pub(super) fn unknown() -> String {
    "0".repeat(DIGITS)
}

/// Writes its digest into a file that has zeros in the place of it.
pub(super) fn write(file: &mut [u8]) {
    if let Some(at) = place(file) {
        let digest = of(file, at);
        file[at..at + DIGITS].copy_from_slice(digest.as_bytes());
    }
}

/// Refuses a file whose digest is not the one that it holds.
pub(super) fn check(file: &[u8], held: &str) -> Result<(), String> {
    let found = place(file).map(|at| of(file, at));
    match found {
        Some(found) if found == held => Ok(()),
        _ => {
            Err("it is damaged: its bytes are not those that were written (the digest is another)".to_owned())
        }
    }
}

/// Where the digest stands. The header comes first, and nothing in it but the field itself is written like this: in a text inside
/// of the document quotes are escaped twice.
fn place(file: &[u8]) -> Option<usize> {
    let at = file.windows(FIELD.len()).position(|window| window == FIELD)? + FIELD.len();
    (at + DIGITS <= file.len()).then_some(at)
}

fn of(file: &[u8], at: usize) -> String {
    let mut hasher = Xxh3::new();
    hasher.update(&file[..at]);
    hasher.update(unknown().as_bytes());
    hasher.update(&file[at + DIGITS..]);
    format!("{:032x}", hasher.digest128())
}
