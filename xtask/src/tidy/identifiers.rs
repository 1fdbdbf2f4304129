//! Names of the code in documents, which the code must have.
//!
//! In backticks, `Type` must be a word of the sources; for `Type::member` the member must stand in a file that has
//! the type, for `module::item` the item in a file of the module.

use std::collections::{BTreeMap, BTreeSet};

use super::dependencies::all_dependencies;
use super::markdown::{Place, mentions};
use super::paths::expand;
use super::scan::words;
use super::tree::{File, Tree};
use super::{Check, Finding};

/// Names in documents that are not of our code.
const FOREIGN: &[&str] = &["Host"];

/// Every name in `ARCHITECTURE.md` and `docs/*.md` that the sources do not have.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let names = Names::read(tree);
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_document(&file.path)) {
        for mention in mentions(&file.text).iter().filter(|mention| mention.place == Place::Code) {
            for name in expand(&mention.text) {
                if let Some(what) = names.missing(path(&name)) {
                    findings.push(Finding::new(Check::Identifiers, file, mention.line, path(&name), what));
                }
            }
        }
    }
    findings
}

fn is_document(path: &str) -> bool {
    let name = path.strip_prefix("docs/").unwrap_or(path);
    path == "ARCHITECTURE.md" || (name != path && name.ends_with(".md") && !name.contains('/'))
}

/// The path of names that a text begins with; nothing if more follows than arguments.
fn path(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':').unwrap_or(text.len());
    if text[end..].is_empty() || text[end..].starts_with(['(', '<']) { &text[..end] } else { "" }
}

/// The words of each source.
struct Names<'t> {
    words: BTreeMap<&'t str, BTreeSet<&'t str>>,
    /// What is defined: types, traits.
    types: BTreeSet<&'t str>,
    /// Crates of others.
    crates: BTreeSet<String>,
}

impl<'t> Names<'t> {
    fn read(tree: &'t Tree) -> Names<'t> {
        let mut names =
            Names { words: BTreeMap::new(), types: BTreeSet::new(), crates: all_dependencies(tree) };
        names.crates.extend(["std", "core", "alloc"].map(str::to_owned));
        for file in &tree.files {
            let Some(text) = source(file) else { continue };
            let words: Vec<&str> = words(text).map(|(_, word)| word).collect();
            let defined = words
                .windows(2)
                .filter(|pair| ["struct", "enum", "trait", "type", "class"].contains(&pair[0]));
            names.types.extend(defined.map(|pair| pair[1]));
            names.words.insert(&file.path, words.into_iter().collect());
        }
        names
    }

    /// What is wrong with a path of names.
    fn missing(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split("::").collect();
        let first = parts[0];
        if parts.len() == 1 {
            let is_known = !is_type(first)
                || FOREIGN.contains(&first)
                || self.words.values().any(|words| words.contains(first));
            return (!is_known).then(|| format!("no source has a word {first}"));
        }
        if parts.contains(&"") || self.crates.contains(first) {
            return None;
        }
        parts.windows(2).find_map(|pair| self.missing_member(pair[0], pair[1]))
    }

    fn missing_member(&self, owner: &str, member: &str) -> Option<String> {
        if is_type(owner) && !self.types.contains(owner) {
            return Some(format!("no source defines {owner}"));
        }
        let mut files = self.words.iter().filter(|(path, words)| {
            if is_type(owner) { words.contains(owner) } else { is_of_module(path, owner) }
        });
        let has_member = files.any(|(path, words)| words.contains(member) || is_of_module(path, member));
        (!has_member).then(|| format!("no source of {owner} has a word {member}"))
    }
}

/// The text in which names are looked for: code, without comments where they can be told.
fn source(file: &File) -> Option<&str> {
    match &file.rust {
        Some(rust) => Some(&rust.code),
        None => [".js", ".py"].iter().any(|end| file.path.ends_with(end)).then_some(&file.text),
    }
}

/// A capital, and a small letter somewhere after it.
fn is_type(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.contains(|c: char| c.is_ascii_lowercase())
}

fn is_of_module(path: &str, module: &str) -> bool {
    path.trim_end_matches(".rs").split('/').any(|part| part.replace('-', "_") == module)
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree;
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let files = [
            ("docs/a.md", text),
            ("crates/meno/Cargo.toml", "[package]\nname = \"meno\"\n[dependencies]\nserde = \"1\""),
            (
                "crates/meno/src/text/split.rs",
                "/// Lost\npub struct Tokens { words: u8 }\nimpl Tokens { fn len() {} }",
            ),
            ("crates/meno/src/other.rs", "pub enum Kind { Odd }\nfn cut() -> &str { \"Quoted\" }"),
            ("page/app.js", "class Page {}"),
        ];
        check(&tree(&files)).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn names_of_the_code_may_stand() {
        let text = "`Tokens`, `Tokens::len(x)`, `Tokens::words`, `Kind::Odd`, `text::split`, `text::{split, Tokens}`, \
            `meno::other::cut`, `Page`, `serde::Missing`, `std::Missing`, `O`, `GET`, `not a Name`, Missing";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn other_names_are_found() {
        assert_eq!(found("`Missing` and `Lost` and `Quoted`"), ["Missing", "Lost", "Quoted"]);
        assert_eq!(
            found("`Missing::len`, `Tokens::cut`, `Kind::Even`"),
            ["Missing::len", "Tokens::cut", "Kind::Even"]
        );
        assert_eq!(found("`text::cut`, `meno::text::{split, gone}`"), ["text::cut", "meno::text::gone"]);
    }

    #[test]
    fn only_documents_are_read() {
        assert!(is_document("ARCHITECTURE.md") && is_document("docs/math.md"));
        assert!(!is_document("README.md") && !is_document("docs/results/a.md") && !is_document("docs/a.svg"));
    }
}
