//! What texts must not say: a library's messages no flags of the command, files no place on one machine.

use super::scan::line;
use super::tree::{File, Tree};
use super::{Check, Finding};

/// Whoever calls these may not be the command.
const LIBRARIES: &[&str] = &["crates/meno/src/", "crates/meno-store/src/", "crates/meno-server/src/"];

/// Top-level folders of one machine; without slashes, lest they be found here.
const MACHINE_FOLDERS: &[&str] = &["home", "root", "work", "tmp/wt", "Users"];

/// Signs of a package registry that others may not reach; in two parts, likewise.
const REGISTRIES: &[&str] = &[
    concat!("index-", "url"),
    concat!("registry", "+http"),
    concat!("replace-", "with"),
    concat!("artif", "actory"),
    concat!("jf", "rog.io"),
];

/// Flags and commands in the strings of the libraries.
pub fn check_messages(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in LIBRARIES.iter().flat_map(|library| tree.rust(library)) {
        for literal in &rust.literals {
            for named in commands(&literal.value) {
                let what = format!(
                    "a message of a library names `{named}`; say what is needed, the command says how"
                );
                findings.push(Finding::new(Check::Messages, file, line(&file.text, literal.at), named, what));
            }
        }
    }
    findings
}

/// The flags (`--epochs`) and commands (`meno train` in backticks) that a text names.
fn commands(text: &str) -> Vec<&str> {
    let flags = text.match_indices("--").filter(|(at, _)| is_flag(text, *at));
    let commands = text
        .match_indices("`meno ")
        .filter(|(at, _)| text[at + 6..].starts_with(|c: char| c.is_ascii_lowercase()));
    let flags = flags.map(|(at, _)| until(text, at, at + 2));
    flags.chain(commands.map(|(at, _)| until(text, at + 1, at + 6))).collect()
}

fn is_flag(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-')
        && text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
}

/// The text from `begin` to the end of the word at `word`.
fn until(text: &str, begin: usize, word: usize) -> &str {
    let end = text[word..].find(|c: char| !c.is_alphanumeric() && c != '-').map_or(text.len(), |n| word + n);
    &text[begin..end]
}

/// Paths of one machine and registries, in any file but lock files.
pub fn check_machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| !is_lock(file)) {
        for (number, text) in file.text.lines().enumerate() {
            if let Some(named) = machine(text) {
                let what =
                    format!("names {named}, which is of one machine; take a relative path or a setting");
                findings.push(Finding::new(Check::Machine, file, number + 1, &named, what));
            }
        }
    }
    findings
}

fn is_lock(file: &File) -> bool {
    ["Cargo.lock", "package-lock.json"].iter().any(|name| file.path.rsplit('/').next() == Some(name))
}

/// The first path or registry of one machine that a line names.
fn machine(line: &str) -> Option<String> {
    let folders = MACHINE_FOLDERS.iter().map(|folder| format!("/{folder}/"));
    let registries = REGISTRIES.iter().filter(|name| line.contains(**name)).map(|name| name.to_string());
    folders.filter(|folder| begins_path(line, folder)).chain(registries).next()
}

/// Whether `folder` stands in the line and nothing leads to it.
fn begins_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        !line[..at].ends_with(|c: char| c.is_alphanumeric() || ['.', '-', '_', '~', '}', ')'].contains(&c))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree;
    use super::*;

    fn named(path: &str, text: &str) -> Vec<String> {
        check_messages(&tree(&[(path, text)])).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn messages_of_libraries_name_no_flags() {
        let path = "crates/meno/src/a.rs";
        assert_eq!(
            named(path, r##"hint("raise --epochs"); b(r#"--max-body"#)"##),
            ["--epochs", "--max-body"]
        );
        assert_eq!(
            named(path, r#"f("`meno data check DIR` lists them; `--store` too")"#),
            ["--store", "meno data"]
        );
        assert_eq!(named(path, "f(\"try \\\n    --threads 1\")"), ["--threads"]);
        assert_eq!(named("crates/meno-server/src/a.rs", "#[error(\"no --x\")] struct A;"), ["--x"]);
    }

    #[test]
    fn other_texts_may() {
        let path = "crates/meno/src/a.rs";
        assert_eq!(
            named(
                path,
                r#"// raise --epochs
            f("a -- b", "a--b", "---", "`meno`", "meno train", '-'); #[cfg(test)] mod tests { "--c" }"#
            ),
            [""; 0]
        );
        assert_eq!(named("crates/meno-cli/src/a.rs", r#"f("raise --epochs")"#), [""; 0]);
        assert_eq!(named("crates/meno/tests/a.rs", r#"f("raise --epochs")"#), [""; 0]);
    }

    fn machines(path: &str, text: &str) -> usize {
        check_machine(&tree(&[(path, text)])).len()
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        for folder in MACHINE_FOLDERS {
            assert_eq!(machines("a.md", &format!("see `/{folder}/x`")), 1, "{folder}");
            assert_eq!(machines("a.py", &format!("open(\"/{folder}/x\")")), 1, "{folder}");
            assert_eq!(machines("Cargo.lock", &format!("/{folder}/x")), 0, "{folder}");
        }
        for name in REGISTRIES {
            assert_eq!(machines("a.toml", &format!("{name} = 1")), 1, "{name}");
        }
    }

    #[test]
    fn other_paths_are_not() {
        let inner =
            |folder| ["a", "..", "~", "https://a.org", "$dir"].map(|before| format!("{before}/{folder}/x"));
        let others = ["/etc/x", "homework/", "$dir/x"].map(str::to_owned);
        for text in MACHINE_FOLDERS.iter().flat_map(inner).chain(others) {
            assert_eq!(machines("a.md", &text), 0, "{text}");
        }
    }
}
