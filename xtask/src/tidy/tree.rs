//! The files of the repository: those that git has or would take, read once.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use super::items;
use super::scan::{self, Literal};

/// A file; one that is not text is empty.
pub struct File {
    pub path: String,
    pub text: String,
    /// There is none for other languages.
    pub rust: Option<Rust>,
}

/// A Rust source, taken apart.
pub struct Rust {
    /// Without comments and literals.
    pub code: String,
    /// Without tests as well.
    pub live: String,
    /// The strings outside tests.
    pub literals: Vec<Literal>,
    /// The lines outside tests, empty ones and comments too.
    pub n_live_lines: usize,
}

/// All files, in the order of their paths.
pub struct Tree {
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the repository at `root`.
    pub fn read(root: &Path) -> io::Result<Tree> {
        let mut files = Vec::new();
        for path in list(root)? {
            let bytes = fs::read(root.join(&path))?;
            files.push((path, String::from_utf8(bytes).unwrap_or_default()));
        }
        Ok(Tree::new(files))
    }

    /// A tree of paths and texts.
    pub fn new(files: Vec<(String, String)>) -> Tree {
        let mut files: Vec<File> = files.into_iter().map(|(path, text)| File::new(path, text)).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut tests = Vec::new();
        for file in &files {
            tests.extend(file.test_modules());
        }
        for file in &mut files {
            if tests.iter().any(|module| is_module_file(&file.path, module)) {
                file.make_test();
            }
        }
        Tree { files }
    }

    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether there is a file or folder of that name; a star stands for any part of a file name.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.iter().any(|file| {
            let depth = path.split('/').count();
            let head: Vec<&str> = file.path.split('/').take(depth).collect();
            head.len() == depth && head.iter().zip(path.split('/')).all(|(name, pattern)| fits(name, pattern))
        })
    }

    /// What stands at the top.
    pub fn top(&self) -> BTreeSet<&str> {
        self.files.iter().filter_map(|file| file.path.split('/').next()).collect()
    }

    /// The Rust sources below a folder, given with its slash.
    pub fn rust<'t>(&'t self, below: &'t str) -> impl Iterator<Item = (&'t File, &'t Rust)> {
        let files = self.files.iter().filter(move |file| file.path.starts_with(below));
        files.filter_map(|file| Some((file, file.rust.as_ref()?)))
    }
}

impl File {
    fn new(path: String, text: String) -> File {
        let rust = path.ends_with(".rs").then(|| Rust::new(&text));
        let mut file = File { path, text, rust };
        if file.in_test_folder() {
            file.make_test();
        }
        file
    }

    fn in_test_folder(&self) -> bool {
        self.path.split('/').any(|part| ["tests", "benches", "fuzz"].contains(&part))
    }

    /// Whether the file is about tests as a whole.
    pub fn is_test(&self) -> bool {
        match &self.rust {
            Some(rust) => rust.n_live_lines == 0,
            None => self.in_test_folder() || self.path.contains("_test."),
        }
    }

    fn make_test(&mut self) {
        if let Some(rust) = &mut self.rust {
            rust.live = " ".repeat(rust.live.len());
            rust.literals.clear();
            rust.n_live_lines = 0;
        }
    }

    /// The paths, without an ending, of the modules that this file declares for tests only.
    fn test_modules(&self) -> Vec<String> {
        let Some(rust) = &self.rust else { return Vec::new() };
        let (folder, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let stem = match name {
            "mod.rs" | "lib.rs" | "main.rs" => String::new(),
            _ => format!("{}/", name.trim_end_matches(".rs")),
        };
        items::test_modules(&rust.code).iter().map(|module| format!("{folder}/{stem}{module}")).collect()
    }
}

impl Rust {
    fn new(text: &str) -> Rust {
        let scan::Scan { code, mut literals } = scan::scan(text);
        let tests = items::tests(&code);
        let mut live = code.clone().into_bytes();
        let mut n_live_lines = text.lines().count();
        for range in &tests {
            scan::blank(&mut live[range.clone()]);
            n_live_lines -= text[range.clone()].lines().count().min(n_live_lines);
            literals.retain(|literal| !range.contains(&literal.at));
        }
        let live = String::from_utf8(live).expect("only whole characters are blanked");
        Rust { code, live, literals, n_live_lines }
    }
}

/// The files that git has or would take, without those that were removed.
fn list(root: &Path) -> io::Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let paths: BTreeSet<&str> = listed.split('\0').filter(|path| root.join(path).is_file()).collect();
    Ok(paths.into_iter().map(str::to_owned).collect())
}

fn is_module_file(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Whether a name fits a pattern with at most one star.
fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

/// A tree for tests, of paths and texts.
#[cfg(test)]
pub fn tree(files: &[(&str, &str)]) -> Tree {
    Tree::new(files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_there() {
        let tree = tree(&[("docs/a.md", ""), ("src/b/c.rs", "")]);
        for path in ["docs", "docs/", "docs/a.md", "docs/*.md", "src/b", "src/*/c.rs"] {
            assert!(tree.has(path), "{path}");
        }
        for path in ["doc", "docs/a", "docs/*.rs", "src/b/c.rs/d"] {
            assert!(!tree.has(path), "{path}");
        }
    }

    #[test]
    fn a_module_for_tests_is_a_test_wherever_it_stands() {
        let tree = tree(&[
            ("a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod checks;\n"),
            ("a/src/b.rs", "#[cfg(test)]\nmod goldens;\nfn c() {}\n"),
            ("a/src/b/goldens.rs", "fn d() {}"),
            ("a/src/checks/e.rs", "fn f() {}"),
            ("a/tests/g.rs", "fn h() {}"),
        ]);
        let tests: Vec<bool> = tree.files.iter().map(File::is_test).collect();
        assert_eq!(tests, [false, true, true, false, true], "b, b/goldens, checks/e, lib, tests/g");
        assert_eq!(tree.file("a/src/b.rs").unwrap().rust.as_ref().unwrap().n_live_lines, 1);
    }
}
