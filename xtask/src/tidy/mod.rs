//! `cargo xtask tidy`: what must hold of the tree and no compiler checks.
//!
//! The files of the repository enter; findings leave, each with a file and a line. Every check is a function of the
//! [`Tree`] alone, and a test runs them all.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use known::KNOWN;
use tree::{File, Tree};

mod scan;
mod items;
mod tree;
mod markdown;
mod modules;
mod sizes;
mod texts;
mod paths;
mod identifiers;
mod dependencies;
mod profiles;
mod stats;
mod known;
#[cfg(test)]
#[path = "../../../tests/left_out.rs"]
mod left_out;

/// What can be asked for besides the checks.
pub const OPTIONS: &str = "--graph | --known | --stats [--enum NAME]";

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    Modules,
    Unsafe,
    Sizes,
    Paths,
    Identifiers,
    Dependencies,
    Profiles,
    Messages,
    Machine,
    /// The list of known findings itself.
    Known,
}

/// Something wrong in a file.
#[derive(Debug, PartialEq)]
pub struct Finding {
    check: Check,
    path: String,
    line: usize,
    /// What is wrong in few words that do not change with the lines around it.
    text: String,
    what: String,
}

impl Finding {
    fn new(check: Check, file: &File, line: usize, text: &str, what: String) -> Finding {
        Finding { check, path: file.path.clone(), line, text: text.to_owned(), what }
    }

    fn is(&self, known: &(Check, &str, &str)) -> bool {
        (self.check, self.path.as_str(), self.text.as_str()) == *known
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Runs the task with its options on the repository at `root`: 0 if it is tidy, 1 if not, 2 if that cannot be said.
pub fn run(root: &Path, options: &[&str]) -> ExitCode {
    let tree = match Tree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("error: the files of {} cannot be read: {error}", root.display());
            return ExitCode::from(2);
        }
    };
    match options {
        [] => report(&tree),
        ["--graph"] => show(&modules::graph(&tree)),
        ["--known"] => {
            show(&lines(&all(&tree).iter().filter(|finding| is_known(finding)).collect::<Vec<_>>()))
        }
        ["--stats"] => show(&stats::text(&tree)),
        ["--stats", "--enum", name] => show(&(stats::text(&tree) + &stats::enum_text(&tree, name))),
        _ => {
            eprintln!("usage: cargo xtask tidy [{OPTIONS}]");
            ExitCode::from(2)
        }
    }
}

fn report(tree: &Tree) -> ExitCode {
    let findings = settle(all(tree), KNOWN, tree);
    print!("{}", lines(&findings));
    if !KNOWN.is_empty() {
        eprintln!("{} findings are tolerated: cargo xtask tidy --known", KNOWN.len());
    }
    ExitCode::from(u8::from(!findings.is_empty()))
}

fn show(text: &str) -> ExitCode {
    print!("{text}");
    ExitCode::SUCCESS
}

fn lines(findings: &[impl fmt::Display]) -> String {
    findings.iter().map(|finding| format!("{finding}\n")).collect()
}

/// The findings of every check.
fn all(tree: &Tree) -> Vec<Finding> {
    let checks = [
        modules::check,
        sizes::check_unsafe,
        sizes::check,
        paths::check,
        identifiers::check,
        dependencies::check,
        profiles::check,
        texts::check_messages,
        texts::check_machine,
    ];
    checks.iter().flat_map(|check| check(tree)).collect()
}

fn is_known(finding: &Finding) -> bool {
    KNOWN.iter().any(|known| finding.is(known))
}

/// Takes out what is tolerated, and puts in what is tolerated for nothing.
fn settle(mut findings: Vec<Finding>, known: &[(Check, &str, &str)], tree: &Tree) -> Vec<Finding> {
    let stale: Vec<Finding> = known
        .iter()
        .filter(|entry| !findings.iter().any(|finding| finding.is(entry)))
        .map(|(check, path, text)| stale(*check, path, text, tree))
        .collect();
    findings.retain(|finding| !known.iter().any(|entry| finding.is(entry)));
    findings.extend(stale);
    findings
}

fn stale(check: Check, path: &str, text: &str, tree: &Tree) -> Finding {
    let list = "xtask/src/tidy/known.rs";
    let entry = format!("({check:?}, {path:?}, {text:?})");
    let place = tree.file(list).and_then(|file| file.text.lines().position(|line| line.contains(&entry)));
    let what = format!("{entry} is mended; strike it out");
    Finding {
        check: Check::Known,
        path: list.to_owned(),
        line: place.map_or(1, |place| place + 1),
        text: entry,
        what,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::left_out::left_out;
    use super::tree::tree;
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn the_repository_is_tidy() {
        let tree = match Tree::read(&root()) {
            Ok(tree) => tree,
            Err(error) => {
                return left_out("the check of the tree", &format!("git says: {error}"));
            }
        };
        let findings = lines(&settle(all(&tree), KNOWN, &tree));
        assert!(findings.is_empty(), "`cargo xtask tidy` says:\n{findings}");
    }

    /// The compiler has seen that they do, so a bracket too many is one that the scanner took for code, or did not.
    #[test]
    fn brackets_balance_in_every_source() {
        let Ok(tree) = Tree::read(&root()) else { return };
        for (file, rust) in tree.rust("") {
            let count = |bracket| rust.code.matches(bracket).count();
            assert_eq!(
                [count('{'), count('['), count('(')],
                [count('}'), count(']'), count(')')],
                "{}",
                file.path
            );
        }
    }

    #[test]
    fn known_findings_are_tolerated_while_they_last() {
        let path = "crates/meno/src/a.rs";
        let tree = tree(&[(path, "unsafe {}"), ("xtask/src/tidy/known.rs", "\n(Sizes, \"b.rs\", \"c\")")]);
        assert_eq!(settle(all(&tree), &[], &tree).len(), 1);
        assert_eq!(settle(all(&tree), &[(Check::Unsafe, path, "unsafe")], &tree), []);

        let stale = settle(Vec::new(), &[(Check::Sizes, "b.rs", "c")], &tree);
        assert_eq!(
            lines(&stale),
            "xtask/src/tidy/known.rs:2: (Sizes, \"b.rs\", \"c\") is mended; strike it out\n"
        );
    }
}
