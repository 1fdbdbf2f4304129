//! The file of notices that `meno --licenses` prints: what enters is written and read here alone.
//!
//! ```text
//! Crates in the program:
//!
//!   name version, expression [numbers of texts]
//!
//! Crates that only build or test it:
//!
//!   name version, expression
//!
//! --- 1 ---
//!
//! text
//! ```

use std::fmt::Write as _;

use super::metadata::Package;
use super::texts::Texts;

const LINKED: &str = "Crates in the program, with the numbers of the texts below:";
const OTHERS: &str = "Crates that only build or test it:";

/// A crate as the file lists it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub name: String,
    pub version: String,
    pub license: String,
}

/// The file for these crates.
pub fn write(packages: &[Package]) -> Result<String, String> {
    let mut texts = Texts::default();
    let mut out = format!("{LINKED}\n\n");
    for package in packages.iter().filter(|package| package.is_linked) {
        let numbers: Vec<String> = texts.of(package)?.iter().map(|number| (number + 1).to_string()).collect();
        let _ = writeln!(out, "{} [{}]", line(package), numbers.join(", "));
    }
    let _ = write!(out, "\n{OTHERS}\n\n");
    for package in packages.iter().filter(|package| !package.is_linked) {
        let _ = writeln!(out, "{}", line(package));
    }
    for (number, text) in texts.iter().enumerate() {
        let _ = write!(out, "\n--- {} ---\n\n{text}\n", number + 1);
    }
    Ok(out)
}

fn line(package: &Package) -> String {
    format!("  {} {}, {}", package.name, package.version, package.license)
}

/// All crates that the file lists, in order.
pub fn read(text: &str) -> Vec<Entry> {
    let lists = text.split("\n--- 1 ---\n").next().unwrap_or_default();
    let mut entries: Vec<Entry> = lists.lines().filter_map(entry).collect();
    entries.sort();
    entries
}

fn entry(line: &str) -> Option<Entry> {
    let (name, rest) = line.strip_prefix("  ")?.split_once(' ')?;
    let (version, license) = rest.split_once(", ")?;
    let license = license.split(" [").next().unwrap_or_default();
    Some(Entry { name: name.to_owned(), version: version.to_owned(), license: license.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let dir = std::env::temp_dir().join(format!("meno-notices-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("LICENSE-MIT"), "MIT\n\n  not a crate, but text [1]\n").unwrap();
        let package = |name: &str, is_linked| Package {
            name: name.to_owned(),
            version: "1.0.0+a".to_owned(),
            license: "(MIT OR Zlib) AND Unicode-3.0".to_owned(),
            authors: Vec::new(),
            dir: dir.clone(),
            is_linked,
        };
        let text = write(&[package("b", true), package("a", false)]).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(text.contains("\n  b 1.0.0+a, (MIT OR Zlib) AND Unicode-3.0 [1]\n"), "{text}");
        assert!(text.ends_with("\n--- 1 ---\n\nMIT\n\n  not a crate, but text [1]\n"), "{text}");
        let names: Vec<String> = read(&text).into_iter().map(|entry| entry.name + &entry.license).collect();
        assert_eq!(names, ["a(MIT OR Zlib) AND Unicode-3.0", "b(MIT OR Zlib) AND Unicode-3.0"]);
    }
}
