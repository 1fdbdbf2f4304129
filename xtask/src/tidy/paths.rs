//! Paths that documents name, which must be there.
//!
//! A word in backticks is a path if it begins with something at the top of the repository, or ends as a source does;
//! then it may leave out where it begins (`encoder/chain.rs`). In a fenced block only the former counts, since
//! commands name files of their own. A link is relative to its document. Braces are expanded, a star fits any name.

use super::markdown::{Mention, Place, mentions};
use super::tree::{File, Tree};
use super::{Check, Finding};

/// A change log names what was.
const HISTORY: &str = "CHANGELOG.md";

const SOURCES: &[&str] = &[".rs", ".py", ".js", ".sh"];

/// Every path in a document that leads nowhere.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md") && file.path != HISTORY) {
        for mention in mentions(&file.text) {
            for path in missing(tree, file, &mention) {
                let what = format!("{path} does not exist");
                findings.push(Finding::new(Check::Paths, file, mention.line, &path, what));
            }
        }
    }
    findings
}

fn missing(tree: &Tree, file: &File, mention: &Mention) -> Vec<String> {
    let text = &mention.text;
    if mention.place == Place::Link {
        return missing_link(tree, file, text).into_iter().collect();
    }
    let paths =
        text.split_whitespace().filter(|word| word.contains('/') && !is_placeholder(word)).flat_map(expand);
    let mut missing: Vec<String> = paths.map(|path| trim(&path).to_owned()).collect();
    missing.retain(|path| !leads(tree, file, path, mention.place));
    missing
}

fn missing_link(tree: &Tree, file: &File, target: &str) -> Option<String> {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || path.contains(':') {
        return None;
    }
    let path = resolve(&file.path, path)?;
    (!tree.has(&path)).then_some(path)
}

/// Whether a word is no path of ours, or one that is there.
fn leads(tree: &Tree, file: &File, path: &str, place: Place) -> bool {
    let begins_at_top = tree.top().contains(path.split('/').next().unwrap_or_default());
    if begins_at_top {
        // The tests of a crate may be named without the crate.
        let in_a_crate =
            |other: &File| path.starts_with("tests/") && other.path.contains(&format!("/{path}"));
        return tree.has(path)
            || resolve(&file.path, path).is_some_and(|path| tree.has(&path))
            || tree.files.iter().any(in_a_crate);
    }
    let is_source = SOURCES.iter().any(|end| path.ends_with(end)) && !path.starts_with(['.', '/']);
    place == Place::Fence
        || !is_source
        || tree.files.iter().any(|file| file.path.ends_with(&format!("/{path}")))
}

/// Whether a word stands for paths of somebody else.
fn is_placeholder(word: &str) -> bool {
    word.contains("://") || word.contains(['$', '<', '>', '=', '…', '@'])
}

/// Without the marks around it.
fn trim(path: &str) -> &str {
    path.trim_matches(['"', '\'', '(', ')', ',', ';', ':', '`']).trim_end_matches(['.', '/'])
}

/// The paths of a group of braces, `a/{b,c}.rs`.
pub fn expand(word: &str) -> Vec<String> {
    let group = word.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    match group {
        Some((head, (group, tail))) => {
            group.split(',').flat_map(|part| expand(&format!("{head}{}{tail}", part.trim()))).collect()
        }
        None => vec![word.to_owned()],
    }
}

/// A path relative to a document as one from the root; none if it leads out of the repository.
fn resolve(document: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let files =
            [(path, text), ("README.md", ""), ("crates/a/src/b/c.rs", ""), ("crates/a/src/b/d.rs", "")];
        check(&tree(&files)).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn what_is_there_may_be_named() {
        let text = "`crates/a/src/b/`, `crates/a/src/b/{c,d}.rs`, `crates/a/src/b/*.rs`, `b/c.rs`, `sh crates/a`\n\
            [x](../crates/a/src/b/c.rs#L1) [y](#z) [z](guide.md)\n```sh\nrun crates/a --out my/new.rs\n```";
        assert_eq!(found("docs/guide.md", text), [""; 0]);
    }

    #[test]
    fn what_is_not_is_found() {
        assert_eq!(found("A.md", "`crates/a/src/b/{c,e}.rs`"), ["crates/a/src/b/e.rs"]);
        assert_eq!(found("A.md", "`b/e.rs`, `c.rs`"), ["b/e.rs"]);
        assert_eq!(found("docs/a.md", "[x](crates/a) [y](b.md)"), ["docs/crates/a", "docs/b.md"]);
        assert_eq!(found("A.md", "```sh\nrun \"crates/a/new\"\n```"), ["crates/a/new"]);
    }

    #[test]
    fn paths_of_others_are_not_looked_for() {
        let text = "`my-bot/test`, `../shared/data`, `$DIR/crates/x`, `crates/<name>`, `/v1/crates`, `GET /x`, \
            `https://a.org/crates/x.rs`, [a](https://b.org/c) [b](../../issues) [c](mailto:d@e)";
        assert_eq!(found("A.md", text), [""; 0]);
        assert_eq!(found("CHANGELOG.md", "`crates/gone`"), [""; 0]);
    }
}
