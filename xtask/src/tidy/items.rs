//! Functions, modules and test code, found in code that [`super::scan`] has left.

use std::ops::Range;

use super::scan::{after, closing, line, skip_space, word_at, words};

/// A function with a body.
#[derive(Debug, PartialEq)]
pub struct Function<'c> {
    pub name: &'c str,
    pub at: usize,
    /// From `fn` to its closing brace.
    pub n_lines: usize,
}

/// Every function with a body, nested ones too.
pub fn functions(code: &str) -> Vec<Function<'_>> {
    let keywords = words(code).filter(|(_, word)| *word == "fn");
    keywords.filter_map(|(at, _)| function(code, at)).collect()
}

fn function(code: &str, at: usize) -> Option<Function<'_>> {
    let begin = skip_space(code, at + 2);
    let name = word_at(code, begin + usize::from(code[begin..].starts_with('$')))?;
    let open = head_end(code, begin);
    if code.as_bytes().get(open) != Some(&b'{') {
        return None;
    }
    let close = closing(code, open)?;
    Some(Function { name, at, n_lines: line(code, close) - line(code, at) + 1 })
}

/// Where the head of an item ends: at its brace, at its semicolon, or where what surrounds it closes.
fn head_end(code: &str, mut at: usize) -> usize {
    while let Some(byte) = code.as_bytes().get(at) {
        match byte {
            b';' | b'{' | b'}' | b')' | b']' => return at,
            b'(' | b'[' => at = closing(code, at).unwrap_or(code.len()),
            _ => {}
        }
        at += 1;
    }
    code.len()
}

/// The items that are compiled for tests only, with their attributes.
pub fn tests(code: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in code.match_indices('#') {
        if found.last().is_some_and(|last| last.contains(&at)) {
            continue;
        }
        match attribute(code, at) {
            Some(Attribute { is_test: true, is_inner: true, .. }) => {
                return std::iter::once(0..code.len()).collect();
            }
            Some(Attribute { is_test: true, end, .. }) => found.push(at..item_end(code, end)),
            _ => {}
        }
    }
    found
}

/// The names of the modules in files of their own that are compiled for tests only.
pub fn test_modules(code: &str) -> Vec<&str> {
    let ranges = tests(code);
    let items = ranges.iter().map(|range| &code[range.clone()]).filter(|item| item.ends_with(';'));
    items
        .filter_map(|item| words(item).skip_while(|(_, word)| *word != "mod").nth(1))
        .map(|found| found.1)
        .collect()
}

/// The bodies of modules that are written out in the file.
pub fn inline_modules(code: &str) -> Vec<Range<usize>> {
    let keywords = words(code).filter(|(_, word)| *word == "mod");
    keywords.filter_map(|(at, _)| inline_module(code, at)).collect()
}

fn inline_module(code: &str, at: usize) -> Option<Range<usize>> {
    // In a macro the name may be one of its variables.
    let name = skip_space(code, at + 3);
    let name = name + usize::from(code[name..].starts_with('$'));
    let open = skip_space(code, name + word_at(code, name)?.len());
    (code.as_bytes().get(open) == Some(&b'{')).then(|| closing(code, open))?.map(|close| open..close)
}

struct Attribute {
    is_test: bool,
    is_inner: bool,
    end: usize,
}

fn attribute(code: &str, hash: usize) -> Option<Attribute> {
    let is_inner = code[hash + 1..].starts_with('!');
    let open = hash + 1 + usize::from(is_inner);
    if !code[open..].starts_with('[') {
        return None;
    }
    let end = closing(code, open)? + 1;
    let text: String = code[open + 1..end - 1].split_whitespace().collect();
    let is_test = ["test", "cfg(test)"].contains(&text.as_str())
        || (text.starts_with("cfg(all(")
            && words(&text).any(|(_, word)| word == "test")
            && !text.contains("not("));
    Some(Attribute { is_test, is_inner, end })
}

fn item_end(code: &str, at: usize) -> usize {
    let mut at = skip_space(code, at);
    while let Some(other) = code[at..].starts_with('#').then(|| attribute(code, at)).flatten() {
        at = skip_space(code, other.end);
    }
    let end = head_end(code, at);
    match code.as_bytes().get(end) {
        Some(b'{') => closing(code, end).map_or(code.len(), |close| close + 1),
        Some(b';') => end + 1,
        _ => end,
    }
}

/// The number of closures that are bound to a name: `let x = |y| ...`.
pub fn bound_closures(code: &str) -> usize {
    words(code).filter(|(at, word)| *word == "let" && binds_closure(code, *at)).count()
}

fn binds_closure(code: &str, at: usize) -> bool {
    let head = &code[at..head_end(code, at)];
    let Some((_, value)) = head.split_once(" =") else { return false };
    let mut value = value.trim_start();
    for word in ["async", "move"] {
        value = after(value, 0, word).map_or(value, |rest| &value[rest..]);
    }
    value.starts_with('|')
}

#[cfg(test)]
mod tests {
    use super::super::scan::scan;
    use super::*;

    fn lengths(source: &str) -> Vec<(String, usize)> {
        let code = scan(source).code;
        functions(&code).into_iter().map(|function| (function.name.to_owned(), function.n_lines)).collect()
    }

    #[test]
    fn functions_end_at_their_brace() {
        assert_eq!(lengths("fn a() {}\nfn b(\n) {\n  '}';\n}"), [("a".to_owned(), 1), ("b".to_owned(), 4)]);
        assert_eq!(lengths("fn a() {\n  \"}\";\n  r#\"}\"#; // }\n}"), [("a".to_owned(), 4)]);
        assert_eq!(lengths("fn a(x: [u8; 2]) -> [u8; 2]\nwhere X: Y {\n}"), [("a".to_owned(), 3)]);
    }

    #[test]
    fn what_has_no_body_is_no_function() {
        assert_eq!(lengths("trait A { fn b(&self); }\ntype F = fn(u8) -> u8;"), []);
        assert_eq!(lengths("macro_rules! m { (fn $a:ident) => { fn $a() {\n} } }"), [("a".to_owned(), 2)]);
    }

    /// The code that is left without tests.
    fn live(source: &str) -> String {
        let code = scan(source).code;
        let mut left = code.clone().into_bytes();
        tests(&code).into_iter().for_each(|range| super::super::scan::blank(&mut left[range]));
        words(std::str::from_utf8(&left).unwrap()).map(|(_, word)| word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn test_code_is_found() {
        assert_eq!(
            live("mod a; #[cfg(test)]\n#[allow(x)]\nmod tests { fn b() { '}' } } mod c;"),
            "mod a mod c"
        );
        assert_eq!(live("#[test] fn a() {} fn b() {}"), "fn b");
        assert_eq!(live("#[cfg(test)] use a::{b, c}; fn d() {}"), "fn d");
        assert_eq!(live("#[cfg(all(test, unix))] fn a() {} fn d() {}"), "fn d");
        assert_eq!(live("#![cfg(test)] fn a() {}"), "");
    }

    #[test]
    fn other_attributes_are_not_tests() {
        assert_eq!(live("#[cfg(not(test))] fn a() {}"), "cfg not test fn a");
        assert_eq!(live("#[cfg(any(test, unix))] fn a() {}"), "cfg any test unix fn a");
        assert_eq!(live("#[cfg(feature = \"test\")] fn a() {}"), "cfg feature fn a");
        assert_eq!(live("// #[cfg(test)]\nfn a() {}"), "fn a");
    }

    #[test]
    fn test_modules_in_files_are_named() {
        assert_eq!(
            test_modules("#[cfg(test)]\npub(crate) mod checks; mod b; #[cfg(test)] mod c {}"),
            ["checks"]
        );
    }

    #[test]
    fn bound_closures_are_counted() {
        assert_eq!(bound_closures("let a = |x| x; let mut b = move || 1; let c: &F = | | 2;"), 3);
        assert_eq!(bound_closures("let a = b | c; let d = e.map(|x| x); if let A | B = f {}"), 0);
    }
}
