//! The order of the modules: a module of the engine imports those that stand before it in `lib.rs`.
//!
//! An import is any path from the root of the crate in code that is not a test: `crate::a::B`, a group
//! `crate::{a, b::C}`, in macros as well, or as many `super::` as lead there. What the root exports again, as
//! `crate::Error`, counts for the module it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

use super::items::inline_modules;
use super::scan::{after, closing, line, skip_space, word_at, words};
use super::tree::{File, Rust, Tree};
use super::{Check, Finding};

const SOURCE: &str = "crates/meno/src/";
const ROOT: &str = "crates/meno/src/lib.rs";

/// Every import of a later module, and every name of the root whose module cannot be told.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(root) = Root::read(tree) else { return Vec::new() };
    let mut findings = Vec::new();
    for (file, rust) in sources(tree) {
        for (at, name) in root_names(&file.path, &rust.live) {
            if let Some((text, what)) = root.objection(module_of(&file.path), name) {
                findings.push(Finding::new(Check::Modules, file, line(&file.text, at), text, what));
            }
        }
    }
    findings
}

/// The imports of each module, as a table.
pub fn graph(tree: &Tree) -> String {
    let Some(root) = Root::read(tree) else { return String::new() };
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, rust) in sources(tree) {
        for (_, name) in root_names(&file.path, &rust.live) {
            if let Position::In(to) = root.position(name) {
                edges.entry(module_of(&file.path)).or_default().insert(to);
            }
        }
    }
    let mut out = String::new();
    let mut n_back = 0;
    for module in &root.modules {
        let imports = edges.get(module).cloned().unwrap_or_default();
        let mut row = format!("{module:<12} ->");
        for to in root.modules.iter().filter(|to| *to != module && imports.contains(*to)) {
            let is_back = root.is_after(to, module);
            n_back += usize::from(is_back);
            row += &format!(" {}{to}", if is_back { "!" } else { "" });
        }
        writeln!(out, "{row}").expect("a string takes everything");
    }
    out + &format!("\n{n_back} imports of a later module (marked !)\n")
}

/// What `lib.rs` declares.
struct Root<'t> {
    modules: Vec<&'t str>,
    /// The module of each name that is exported again.
    exports: BTreeMap<&'t str, &'t str>,
    /// What is defined in `lib.rs` itself.
    own: BTreeSet<&'t str>,
}

/// Where a name of the root comes from.
enum Position<'t> {
    /// In a module, which may be that of an exported name.
    In(&'t str),
    Root,
    Unknown,
}

impl<'t> Root<'t> {
    fn read(tree: &'t Tree) -> Option<Root<'t>> {
        let code = tree.file(ROOT)?.rust.as_ref()?.live.as_str();
        let mut root = Root { modules: Vec::new(), exports: BTreeMap::new(), own: BTreeSet::new() };
        for (at, word) in words(code) {
            let next = skip_space(code, at + word.len());
            match (word, word_at(code, next)) {
                ("mod", Some(name)) => root.modules.push(name),
                ("use", _) => root.exports.extend(exports(&code[next..])),
                ("fn" | "struct" | "enum" | "trait" | "const" | "static" | "type", Some(name)) => {
                    root.own.insert(name);
                }
                _ => {}
            }
        }
        Some(root)
    }

    fn position(&self, name: &str) -> Position<'t> {
        let module = self.exports.get(name).copied().unwrap_or(name);
        match self.modules.iter().find(|known| **known == module) {
            Some(module) => Position::In(module),
            None if self.own.contains(name) || self.exports.contains_key(name) || name == "self" => {
                Position::Root
            }
            None => Position::Unknown,
        }
    }

    /// What is wrong with the use of a name by a module: in a word, and in a sentence.
    fn objection<'n>(&self, module: &str, name: &'n str) -> Option<(&'n str, String)>
    where
        't: 'n,
    {
        match self.position(name) {
            Position::In(to) if self.is_after(to, module) => {
                Some((to, format!("{module} imports crate::{name}, but {to} stands after it in {ROOT}")))
            }
            Position::Unknown => Some((name, format!("{ROOT} neither declares nor exports {name} by name"))),
            _ => None,
        }
    }

    fn place(&self, module: &str) -> Option<usize> {
        self.modules.iter().position(|known| *known == module)
    }

    fn is_after(&self, module: &str, than: &str) -> bool {
        self.place(than).is_some_and(|than| self.place(module) > Some(than))
    }
}

/// The names that a `use` brings, each with its module: the last of each path, or what stands after `as`.
fn exports(code: &str) -> Vec<(&str, &str)> {
    let statement = code.split(';').next().unwrap_or_default();
    let Some((_, module)) = words(statement).find(|(_, word)| !["crate", "self"].contains(word)) else {
        return Vec::new();
    };
    let ends = statement.split(['{', '}', ',']).filter(|part| !part.trim_end().ends_with("::"));
    ends.filter_map(|part| words(part).last()).map(|(_, name)| (name, module)).collect()
}

fn sources(tree: &Tree) -> impl Iterator<Item = (&File, &Rust)> {
    tree.rust(SOURCE).filter(|(file, _)| file.path != ROOT)
}

/// The top-level module of a file of the engine.
fn module_of(path: &str) -> &str {
    path[SOURCE.len()..].split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

/// The names in the root of the crate that the code of a file begins paths with, and where.
fn root_names<'c>(path: &str, code: &'c str) -> Vec<(usize, &'c str)> {
    let modules = inline_modules(code);
    let mut names = Vec::new();
    for (at, word) in words(code) {
        let root = match word {
            "crate" => after(code, at + word.len(), "::"),
            "super" if !code[..at].trim_end().ends_with("::") => {
                after_supers(code, at, depth(path) + n_around(&modules, at))
            }
            _ => None,
        };
        names.extend(root.map(|root| heads(code, root)).unwrap_or_default());
    }
    names
}

/// How many modules a file is below the root.
fn depth(path: &str) -> usize {
    path[SOURCE.len()..].trim_end_matches("/mod.rs").split('/').count()
}

fn n_around(modules: &[Range<usize>], at: usize) -> usize {
    modules.iter().filter(|module| module.contains(&at)).count()
}

/// What follows `n` times `super::` and no more.
fn after_supers(code: &str, mut at: usize, n: usize) -> Option<usize> {
    for _ in 0..n {
        at = after(code, at, "super").and_then(|at| after(code, at, "::"))?;
    }
    (word_at(code, at) != Some("super")).then_some(at)
}

/// The names a path goes on with: one, or those of a group.
fn heads(code: &str, at: usize) -> Vec<(usize, &str)> {
    if !code[at..].starts_with('{') {
        return name_at(code, at).map(|name| (at, name)).into_iter().collect();
    }
    let end = closing(code, at).unwrap_or(code.len());
    let mut names = Vec::new();
    let mut next = at + 1;
    while next < end {
        let begin = skip_space(code, next);
        names.extend(name_at(code, begin).map(|name| (begin, name)));
        next = entry_end(code, begin, end) + 1;
    }
    names
}

/// A name, or the star that stands for all.
fn name_at(code: &str, at: usize) -> Option<&str> {
    code[at..].starts_with('*').then_some("*").or_else(|| word_at(code, at))
}

/// Where an entry of a group ends: at its comma, past inner groups, or with the group.
fn entry_end(code: &str, mut at: usize, end: usize) -> usize {
    while at < end && code.as_bytes()[at] != b',' {
        if code.as_bytes()[at] == b'{' {
            at = closing(code, at).unwrap_or(end);
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree;
    use super::*;

    const LIB: &str = "//! Docs.\npub mod error;\n#[cfg(feature = \"x\")]\npub mod text;\nmod logits;\npub mod engine;\n\
        pub use engine::{Model, worker::Worker as Hand};\npub use error::{Error, Result};\npub const SIZE: u8 = 1;\n\
        #[cfg(test)]\nmod tests;\n";

    /// The lines of the findings in `source` as the file `path` of the engine.
    fn check_lines(path: &str, source: &str, lines: &[usize]) {
        let tree = tree(&[(ROOT, LIB), (&format!("{SOURCE}{path}"), source)]);
        let found: Vec<usize> = check(&tree).iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "{source}");
    }

    #[test]
    fn earlier_modules_may_be_imported() {
        check_lines("logits.rs", "use crate::text::{self, Tokens};\nuse crate::{Error, text::x, SIZE};", &[]);
        check_lines(
            "logits/table.rs",
            "use crate::logits::x;\nuse super::engine;\nfn f(x: crate::Result) {}",
            &[],
        );
        check_lines("bin/tool.rs", "use super::super::engine;", &[]);
        check_lines("engine.rs", "use crate::{error, text, logits};\npub(crate) fn f() {}", &[]);
    }

    #[test]
    fn later_ones_may_not() {
        check_lines("text.rs", "use crate::error::Error;\nuse crate::engine::Worker;", &[2]);
        check_lines(
            "text.rs",
            "use crate::{\n    error::{Error, Result},\n    logits::{a, b},\n    engine,\n};",
            &[3, 4],
        );
        check_lines("text.rs", "fn f() -> u8 {\n    crate\n        ::logits::g()\n}", &[3]);
        check_lines("text.rs", "macro_rules! m {\n    () => { $crate::engine::x }\n}", &[2]);
    }

    #[test]
    fn names_of_the_root_count_for_their_module() {
        check_lines("text.rs", "use crate::{Error, Model};\nuse crate::Hand;", &[1, 2]);
        check_lines("text.rs", "use crate::Nothing;\nuse crate::*;\nuse crate::{error::*, *};", &[1, 2, 3]);
    }

    #[test]
    fn super_leads_to_the_root() {
        check_lines(
            "text.rs",
            "use super::engine;\nmod inner { use super::engine; use super::super::logits; }",
            &[1, 2],
        );
        check_lines("text/mod.rs", "use super::engine;", &[1]);
        check_lines("text/chars.rs", "use super::engine;\nuse super::super::engine::x;", &[2]);
    }

    #[test]
    fn comments_strings_and_tests_import_nothing() {
        check_lines(
            "text.rs",
            "/// [`crate::engine::Worker`]\n// use crate::engine;\nconst A: &str = \"crate::engine\";",
            &[],
        );
        check_lines(
            "text.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::engine;\n}\n#[test]\nfn a() { crate::logits::b() }",
            &[],
        );
        check_lines("tests.rs", "use crate::engine;", &[]);
    }

    #[test]
    fn the_graph_marks_back_edges() {
        let tree =
            tree(&[(ROOT, LIB), ("crates/meno/src/text.rs", "use crate::{engine, error, Error, logits};")]);
        let expected = "error        ->\ntext         -> error !logits !engine\nlogits       ->\nengine       ->\n\n\
            2 imports of a later module (marked !)\n";
        assert_eq!(graph(&tree), expected);
    }
}
