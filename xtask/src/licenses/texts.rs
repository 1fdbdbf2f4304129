//! The texts that crates come with: licences and notices, each kept once.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::metadata::Package;

/// How the names of files with licences begin, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
const END_OF_APACHE: &str = "END OF TERMS AND CONDITIONS";

/// Texts in the order in which they were first met.
#[derive(Default)]
pub struct Texts {
    texts: Vec<String>,
    keys: Vec<String>,
}

impl Texts {
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// The numbers, from 0, of the texts of a crate.
    pub fn of(&mut self, package: &Package) -> Result<Vec<usize>, String> {
        let failed = |error: io::Error| format!("{}: {error}", package.dir.display());
        let mut numbers = Vec::new();
        for path in files(&package.dir).map_err(failed)? {
            let text = String::from_utf8_lossy(&fs::read(&path).map_err(failed)?).into_owned();
            numbers.push(self.add(&text));
        }
        if numbers.is_empty() {
            numbers.push(self.add(&standard(package)?));
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    fn add(&mut self, text: &str) -> usize {
        let key = key(text);
        self.keys.iter().position(|other| *other == key).unwrap_or_else(|| {
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            self.texts.push(lines.join("\n").trim_matches('\n').to_owned());
            self.keys.push(key);
            self.keys.len() - 1
        })
    }
}

/// What two copies of a text have in common: not the white space, and of the Apache licence not the appendix, which only tells how
/// to use it.
fn key(text: &str) -> String {
    let words = text.replace("https://", "http://").split_whitespace().collect::<Vec<_>>().join(" ");
    match words.split_once(END_OF_APACHE) {
        Some((terms, _)) if words.starts_with("Apache License") => terms.trim_end().to_owned(),
        _ => words.trim_end_matches(END_OF_APACHE).trim_end().to_owned(),
    }
}

/// The files with licences and notices in a folder, in the order of their names.
fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The standard text for a crate that brings none, by a licence that it offers.
fn standard(package: &Package) -> Result<String, String> {
    let licenses = package.license.replace(['(', ')'], " ");
    let offers = |name| licenses.split([' ', '/']).any(|word| word == name);
    if offers("Apache-2.0") {
        return Ok(include_str!("../../../LICENSE-APACHE").to_owned());
    }
    if offers("BSL-1.0") {
        return Ok(include_str!("boost.txt").to_owned());
    }
    if offers("MIT") {
        let (_, terms) = include_str!("../../../LICENSE-MIT").split_once("Permission").unwrap_or_default();
        let authors = match package.authors.is_empty() {
            true => format!("the authors of {}", package.name),
            false => package.authors.join(", "),
        };
        return Ok(format!("MIT License\n\nCopyright (c) {authors}\n\nPermission{terms}"));
    }
    Err(format!("{} {} brings no text for its licence {:?}", package.name, package.version, package.license))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_kept_once() {
        let mut texts = Texts::default();
        let apache = "Apache License\nhttp://www.apache.org/\nterms\nEND OF TERMS AND CONDITIONS";
        assert_eq!(texts.add("MIT  \n\nCopyright A\n"), 0);
        assert_eq!(texts.add("MIT\n\nCopyright B\n"), 1);
        assert_eq!(texts.add("MIT Copyright\n A"), 0);
        assert_eq!(texts.add(apache), 2);
        assert_eq!(texts.add(&format!("  {}\n\nAPPENDIX", apache.replace("http:", "https:"))), 2);
        assert_eq!(texts.add(apache.trim_end_matches(END_OF_APACHE)), 2);
        assert_eq!(texts.iter().next(), Some("MIT\n\nCopyright A"));
    }

    #[test]
    fn a_crate_without_texts_gets_the_standard_one() {
        let package = |license: &str| Package {
            name: "a".to_owned(),
            version: "1.0.0".to_owned(),
            license: license.to_owned(),
            authors: vec!["Ann".to_owned()],
            dir: PathBuf::new(),
            is_linked: true,
        };
        let mit = standard(&package("MIT")).unwrap();
        assert!(mit.starts_with("MIT License\n\nCopyright (c) Ann\n\nPermission is hereby granted"), "{mit}");
        assert!(standard(&package("MIT/Apache-2.0")).unwrap().contains("Apache License"));
        assert!(standard(&package("BSL-1.0")).unwrap().starts_with("Boost Software License"));
        assert!(standard(&package("Zlib")).is_err());
    }
}
