//! Files and functions that are short enough to be read at once, and `unsafe` where it belongs.

use super::items::{Function, functions};
use super::scan::{line, words};
use super::tree::{File, Tree};
use super::{Check, Finding};

const LANGUAGES: &[&str] = &[".rs", ".py", ".js"];
const FILE_LINES: usize = 700;
const TEST_FILE_LINES: usize = 900;
const FUNCTION_LINES: usize = 70;

/// Where `unsafe` may stand.
const KERNELS: &[&str] = &["crates/meno/src/kernel/", "crates/meno/src/encoder/kernel/"];

/// Where it may stand besides, and why.
const UNSAFE: &[(&str, &str)] = &[(
    "crates/meno/tests/artifact.rs",
    "a global allocator that notes how much a hostile file makes us ask for",
)];

/// Files and functions that are too long.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.files.iter().filter(|file| LANGUAGES.iter().any(|end| file.path.ends_with(end)));
    sources.flat_map(|file| long_file(file).into_iter().chain(long_functions(file))).collect()
}

fn long_file(file: &File) -> Option<Finding> {
    let n_lines = file.text.lines().count();
    let limit = if file.is_test() { TEST_FILE_LINES } else { FILE_LINES };
    let what = format!("{n_lines} lines, over {limit}; move a part into a file of its own");
    (n_lines > limit).then(|| Finding::new(Check::Sizes, file, n_lines, "file", what))
}

fn long_functions(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Function { name, at, n_lines } in file.rust.iter().flat_map(|rust| functions(&rust.code)) {
        if n_lines > FUNCTION_LINES {
            let what = format!("fn {name} has {n_lines} lines, over {FUNCTION_LINES}");
            findings.push(Finding::new(Check::Sizes, file, line(&file.text, at), name, what));
        }
    }
    findings
}

/// The word `unsafe` in code outside the kernels, and exceptions that are none.
pub fn check_unsafe(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust("").filter(|(file, _)| !is_kernel(&file.path)) {
        let found: Vec<usize> =
            words(&rust.code).filter(|(_, word)| *word == "unsafe").map(|(at, _)| at).collect();
        if let Some((_, why)) = UNSAFE.iter().find(|(path, _)| *path == file.path) {
            if found.is_empty() {
                let what = format!("has no unsafe, but is excepted in xtask/src/tidy/sizes.rs: {why}");
                findings.push(Finding::new(Check::Unsafe, file, 1, "exception", what));
            }
            continue;
        }
        for at in found {
            let what = "unsafe outside the kernels; take a safe way, or one through a kernel".to_owned();
            findings.push(Finding::new(Check::Unsafe, file, line(&file.text, at), "unsafe", what));
        }
    }
    findings
}

fn is_kernel(path: &str) -> bool {
    KERNELS.iter().any(|kernel| path.starts_with(kernel))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree;
    use super::*;

    /// What is found in one file.
    fn found(check: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> Vec<(usize, String)> {
        check(&tree(&[(path, text)])).into_iter().map(|finding| (finding.line, finding.text)).collect()
    }

    #[test]
    fn long_files_are_found() {
        let long = "x\n".repeat(701);
        for path in ["a/src/b.rs", "a/b.py", "a/b.js"] {
            assert_eq!(found(check, path, &long), [(701, "file".to_owned())], "{path}");
        }
        for path in ["a/tests/b.rs", "scripts/page_test.py", "a/b.json", "a/b.md"] {
            assert_eq!(found(check, path, &long), [], "{path}");
        }
        assert_eq!(found(check, "a/src/b.rs", &"x\n".repeat(700)), []);
        assert_eq!(found(check, "a/tests/b.rs", &"x\n".repeat(901)).len(), 1);
    }

    #[test]
    fn long_functions_are_found() {
        let long = format!("\nfn a() {{{}}}\n", "\n".repeat(70));
        assert_eq!(found(check, "b.rs", &long), [(2, "a".to_owned())]);
        assert_eq!(found(check, "b.rs", &format!("fn a() {{{}}}\n", "\n".repeat(69))), []);
    }

    #[test]
    fn unsafe_outside_kernels_is_found() {
        let code = "#![deny(unsafe_op_in_unsafe_fn)]\nfn a() { unsafe { b() } }";
        assert_eq!(found(check_unsafe, "crates/meno/src/a.rs", code), [(2, "unsafe".to_owned())]);
        assert_eq!(found(check_unsafe, "crates/meno/src/encoder/kernel/a.rs", code), []);
        assert_eq!(found(check_unsafe, "crates/meno/src/a.rs", "// unsafe\nfn a() { \"unsafe\" }"), []);
    }

    #[test]
    fn exceptions_must_be_in_use() {
        assert_eq!(found(check_unsafe, UNSAFE[0].0, "unsafe impl A for B {}"), []);
        assert_eq!(found(check_unsafe, UNSAFE[0].0, "fn a() {}"), [(1, "exception".to_owned())]);
    }
}
