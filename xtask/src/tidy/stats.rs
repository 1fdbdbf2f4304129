//! Figures of the code without its tests: how long functions are, how much is public, how it tells cases apart.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::items::{bound_closures, functions};
use super::scan::{after, skip_space, word_at, words};
use super::tree::{Rust, Tree};

const PUBLIC: &[&str] = &["fn", "struct", "enum", "trait", "const", "type", "mod", "use"];
const QUALIFIERS: &[&str] = &["async", "unsafe", "extern"];

const LEGEND: &str = "
Without tests. code: lines that are neither empty nor comment; public: `pub` before fn, struct, enum, trait,
const, type, mod or use, in private modules too; closures: those bound by `let`, and how many in 1000 lines of code.
";

const ENUM_LEGEND: &str = "\
Lines and patterns outside tests and the file that defines the enum. A line has `Enum::Variant`; in a pattern it stands
before `=>`, between `let` and `=`, or in `matches!`, on that line.
";

/// The figures of all crates as text.
pub fn text(tree: &Tree) -> String {
    let mut crates: BTreeMap<&str, Figures> = BTreeMap::new();
    let mut lengths = Vec::new();
    for (name, path, rust) in sources(tree) {
        crates.entry(name).or_default().add(rust);
        lengths.extend(functions(&rust.live).iter().map(|function| (function.n_lines, function.name, path)));
    }
    lengths.sort_unstable();
    let mut out = function_lengths(&lengths);
    let _ = writeln!(
        out,
        "\n{:<12} {:>6} {:>6} {:>7} {:>9} {:>9}",
        "crate", "lines", "code", "public", "closures", "per 1000"
    );
    for (name, figures) in &crates {
        let Figures { n_lines, n_code, n_public, n_closures } = *figures;
        let rate = 1000.0 * n_closures as f64 / n_code.max(1) as f64;
        let _ =
            writeln!(out, "{name:<12} {n_lines:>6} {n_code:>6} {n_public:>7} {n_closures:>9} {rate:>9.1}");
    }
    out + LEGEND
}

fn function_lengths(lengths: &[(usize, &str, &str)]) -> String {
    let Some((longest, name, path)) = lengths.last() else { return "no functions\n".to_owned() };
    let (median, p90) = (quantile(lengths, 50), quantile(lengths, 90));
    let n = lengths.len();
    format!("{n} functions, lines of each: median {median}, p90 {p90}, max {longest} ({name} in {path})\n")
}

/// The length that `percent` of the functions do not exceed.
fn quantile(lengths: &[(usize, &str, &str)], percent: usize) -> usize {
    lengths[(lengths.len() * percent).div_ceil(100) - 1].0
}

/// Where the variants of an enum are named, as text.
pub fn enum_text(tree: &Tree, name: &str) -> String {
    let mut files: Vec<(&str, Sites)> = Vec::new();
    for (_, path, rust) in sources(tree).filter(|(_, _, rust)| !defines(&rust.code, name)) {
        let sites = sites(&rust.live, name);
        if sites.n_lines > 0 {
            files.push((path, sites));
        }
    }
    let n_lines: usize = files.iter().map(|(_, sites)| sites.n_lines).sum();
    let n_patterns: usize = files.iter().map(|(_, sites)| sites.n_patterns).sum();
    let mut out = format!(
        "\n{name}: {n_lines} lines name a variant, {n_patterns} of them in a pattern, in {} files\n",
        files.len()
    );
    for (path, Sites { n_lines, n_patterns }) in files {
        let _ = writeln!(out, "{n_lines:>4} {n_patterns:>4}  {path}");
    }
    out + ENUM_LEGEND
}

/// The sources of the crates: crate, path, source.
fn sources(tree: &Tree) -> impl Iterator<Item = (&str, &str, &Rust)> {
    tree.rust("crates/").filter_map(|(file, rust)| {
        let (name, rest) = file.path["crates/".len()..].split_once('/')?;
        (rest.starts_with("src/") && !file.is_test()).then_some((name, file.path.as_str(), rust))
    })
}

#[derive(Default)]
struct Figures {
    n_lines: usize,
    /// Lines with code.
    n_code: usize,
    n_public: usize,
    n_closures: usize,
}

impl Figures {
    fn add(&mut self, rust: &Rust) {
        self.n_lines += rust.n_live_lines;
        self.n_code += rust.live.lines().filter(|line| !line.trim().is_empty()).count();
        self.n_public +=
            words(&rust.live).filter(|(at, word)| *word == "pub" && is_public(&rust.live, *at)).count();
        self.n_closures += bound_closures(&rust.live);
    }
}

/// Whether an item follows `pub` at once.
fn is_public(code: &str, at: usize) -> bool {
    let mut next = skip_space(code, at + 3);
    while let Some(word) = word_at(code, next) {
        if !QUALIFIERS.contains(&word) {
            return PUBLIC.contains(&word);
        }
        next = skip_space(code, next + word.len());
    }
    false
}

#[derive(Debug, Default, PartialEq)]
struct Sites {
    n_lines: usize,
    n_patterns: usize,
}

fn sites(code: &str, name: &str) -> Sites {
    let mut sites = Sites::default();
    for line in code.lines() {
        let variants: Vec<usize> = words(line)
            .filter(|(at, word)| *word == name && is_variant(line, *at + name.len()))
            .map(|(at, _)| at)
            .collect();
        sites.n_lines += usize::from(!variants.is_empty());
        sites.n_patterns += usize::from(variants.iter().any(|at| is_pattern(line, *at)));
    }
    sites
}

/// Whether `::` and a capital follow.
fn is_variant(line: &str, at: usize) -> bool {
    after(line, at, "::").is_some_and(|at| line[at..].starts_with(|c: char| c.is_ascii_uppercase()))
}

fn is_pattern(line: &str, at: usize) -> bool {
    let (before, rest) = line.split_at(at);
    let is_bound =
        words(before).any(|(_, word)| word == "let") && !before.contains('=') && rest.contains(" = ");
    rest.contains("=>") || is_bound || before.contains("matches!")
}

fn defines(code: &str, name: &str) -> bool {
    words(code).any(|(at, word)| word == "enum" && word_at(code, skip_space(code, at + 4)) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tree;
    use super::*;

    #[test]
    fn figures_of_a_crate() {
        let source = "pub mod a;\npub(crate) fn b() {}\npub async fn c() {\n    let d = |x| x;\n}\n// e\n\
            pub struct F { pub g: u8 }\n#[cfg(test)]\nmod tests {\n    pub fn h() { let i = || 1; }\n}\n";
        let text = text(&tree(&[("crates/x/src/lib.rs", source), ("crates/x/tests/y.rs", source)]));
        assert!(text.starts_with("2 functions, lines of each: median 1, p90 3, max 3 (c in "), "{text}");
        assert!(text.contains("\nx                 7      6       3         1     166.7\n"), "{text}");
    }

    #[test]
    fn lines_that_name_variants() {
        let code = "match a {\n    Kind::A(x) | Kind::B => 1,\n    None => Kind::C,\n}\nif let Kind::A(_) = b {}\n\
            let c = Kind::A;\nmatches!(d, Kind::B);\nKind::new(); MyKind::A;\n(_, Kind::A) => e,\n";
        assert_eq!(sites(code, "Kind"), Sites { n_lines: 6, n_patterns: 4 });
        let files = [("crates/x/src/a.rs", "enum Kind { A }\nKind::A"), ("crates/x/src/b.rs", code)];
        let text = enum_text(&tree(&files), "Kind");
        assert!(
            text.starts_with("\nKind: 6 lines name a variant, 4 of them in a pattern, in 1 files\n"),
            "{text}"
        );
        assert!(text.contains("\n   6    4  crates/x/src/b.rs\n"), "{text}");
    }
}
