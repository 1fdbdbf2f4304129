//! Rust source without its comments and literals: enough to find words, braces and messages.
//!
//! Source enters; [`Scan`] leaves. Its code is as long as the source, so that an offset means the same in both:
//! comments, strings and characters are blanked, line ends are kept.

/// A string as the program sees it, and where it begins.
#[derive(Debug, PartialEq)]
pub struct Literal {
    pub at: usize,
    pub value: String,
}

/// What is left of a source.
pub struct Scan {
    pub code: String,
    pub literals: Vec<Literal>,
}

/// Reads a Rust source.
pub fn scan(source: &str) -> Scan {
    let mut scanner = Scanner { source, at: 0, code: source.as_bytes().to_vec(), literals: Vec::new() };
    while scanner.at < source.len() {
        scanner.step();
    }
    let code = String::from_utf8(scanner.code).expect("only whole characters are blanked");
    Scan { code, literals: scanner.literals }
}

struct Scanner<'s> {
    source: &'s str,
    at: usize,
    code: Vec<u8>,
    literals: Vec<Literal>,
}

impl<'s> Scanner<'s> {
    fn rest(&self) -> &'s [u8] {
        &self.source.as_bytes()[self.at..]
    }

    fn step(&mut self) {
        let rest = self.rest();
        match rest[0] {
            b'/' if rest.starts_with(b"//") => self.blank(find(rest, 0, b"\n")),
            b'/' if rest.starts_with(b"/*") => self.blank(block_comment(rest)),
            b'"' => self.string(0),
            b'\'' => self.character(0),
            byte if is_word(byte) => self.word(),
            _ => self.at += 1,
        }
    }

    /// A word, or a literal that begins with letters.
    fn word(&mut self) {
        let rest = self.rest();
        let n = rest.iter().take_while(|byte| is_word(**byte)).count();
        let (word, after) = rest.split_at(n);
        let hashes = after.iter().take_while(|byte| **byte == b'#').count();
        match (word, after.first()) {
            (b"r" | b"br" | b"cr", _) if after.get(hashes) == Some(&b'"') => self.raw_string(n, hashes),
            (b"b" | b"c", Some(b'"')) => self.string(n),
            (b"b", Some(b'\'')) => self.character(n),
            _ => self.at += n,
        }
    }

    fn string(&mut self, prefix: usize) {
        let rest = self.rest();
        let mut end = prefix + 1;
        while end < rest.len() && rest[end] != b'"' {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        let end = end.min(rest.len());
        let value = unescape(&self.source[self.at + prefix + 1..self.at + end]);
        self.literals.push(Literal { at: self.at, value });
        self.blank(end + 1);
    }

    fn raw_string(&mut self, prefix: usize, hashes: usize) {
        let rest = self.rest();
        let begin = prefix + hashes + 1;
        let end = find(rest, begin, format!("\"{}", "#".repeat(hashes)).as_bytes());
        let value = self.source[self.at + begin..self.at + end].to_owned();
        self.literals.push(Literal { at: self.at, value });
        self.blank(end + 1 + hashes);
    }

    /// A character in quotes, or the quote of a lifetime.
    fn character(&mut self, prefix: usize) {
        let rest = self.rest();
        let inside = prefix + 1;
        if rest.get(inside) == Some(&b'\\') {
            return self.blank(find(rest, inside + 2, b"'") + 1);
        }
        let width = self.source[self.at + inside..].chars().next().map_or(0, char::len_utf8);
        if rest.get(inside + width) == Some(&b'\'') {
            self.blank(inside + width + 1);
        } else {
            self.at += inside;
        }
    }

    /// Takes `n` bytes for no code.
    fn blank(&mut self, n: usize) {
        let end = (self.at + n).min(self.code.len());
        blank(&mut self.code[self.at..end]);
        self.at = end;
    }
}

/// Spaces for all but line ends.
pub fn blank(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

/// Where `needle` begins at or after `from`, or the end.
fn find(bytes: &[u8], from: usize, needle: &[u8]) -> usize {
    let from = from.min(bytes.len());
    bytes[from..]
        .windows(needle.len())
        .position(|window| window == needle)
        .map_or(bytes.len(), |found| from + found)
}

/// The length of a comment that may hold others.
fn block_comment(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// The value of a string between its quotes; characters given by number become question marks.
fn unescape(raw: &str) -> String {
    let mut value = String::new();
    let mut rest = raw.chars();
    while let Some(char) = rest.next() {
        if char != '\\' {
            value.push(char);
            continue;
        }
        match rest.next() {
            Some('n') => value.push('\n'),
            Some('t') => value.push('\t'),
            Some('\n') => rest = rest.as_str().trim_start().chars(),
            Some('u' | 'x') => value.push('?'),
            Some(other) => value.push(other),
            None => {}
        }
    }
    value
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The words of a text with their offsets; numbers are none.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        while at < bytes.len() {
            let begin = at;
            at += bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
            if at == begin {
                at += 1;
            } else if !bytes[begin].is_ascii_digit() {
                return Some((begin, &text[begin..at]));
            }
        }
        None
    })
}

/// The word that begins at `at`, if one does.
pub fn word_at(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?;
    let n = rest.bytes().take_while(|byte| is_word(*byte)).count();
    (n > 0 && !rest.as_bytes()[0].is_ascii_digit()).then(|| &rest[..n])
}

/// The next offset at or after `at` that is not white.
pub fn skip_space(text: &str, at: usize) -> usize {
    at + text[at..].len() - text[at..].trim_start().len()
}

/// What follows the word or sign `token` at or after white space, if it stands there.
pub fn after(text: &str, at: usize, token: &str) -> Option<usize> {
    let at = skip_space(text, at);
    text[at..].starts_with(token).then(|| skip_space(text, at + token.len()))
}

/// The bracket that closes the one at `open`.
pub fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some(i);
        }
    }
    None
}

/// The line of an offset, counted from 1.
pub fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of the code, and the strings.
    fn check(source: &str, code: &str, strings: &[&str]) {
        let scan = scan(source);
        assert_eq!(scan.code.len(), source.len());
        let found: Vec<&str> = words(&scan.code).map(|(_, word)| word).collect();
        assert_eq!(found.join(" "), code, "{source}");
        let values: Vec<&str> = scan.literals.iter().map(|literal| literal.value.as_str()).collect();
        assert_eq!(values, strings, "{source}");
    }

    #[test]
    fn comments_are_blanked() {
        check("a // b \"c\"\nd", "a d", &[]);
        check("a /* b /* c */ d */ e", "a e", &[]);
        check("/// b `c`\nfn a() {} //! d", "fn a", &[]);
        check("a /* never closed", "a", &[]);
    }

    #[test]
    fn strings_are_blanked_and_kept() {
        check(r#"a("b // c", d)"#, "a d", &["b // c"]);
        check(r#"a("say \"b\" \\", d)"#, "a d", &["say \"b\" \\"]);
        check("a(\"one \\\n    two\")", "a", &["one two"]);
        check("a(\"one\ntwo\") b", "a b", &["one\ntwo"]);
        check(r##"a(r#"b "c" \"#, d, br"e\", b"f", c"g")"##, "a d", &["b \"c\" \\", "e\\", "f", "g"]);
        check("\"never closed", "", &["never closed"]);
    }

    #[test]
    fn characters_are_not_lifetimes() {
        check(r#"a('"', b, '\'', '\u{1F600}', 'é', b'"', '{') c"#, "a b c", &[]);
        check(
            "fn a<'b>(c: &'b str) -> &'static str { 'd: loop {} }",
            "fn a b c b str static str d loop",
            &[],
        );
        check("r#type r b 0b1 1.0e5", "r type r b", &[]);
    }

    #[test]
    fn brackets_close_over_what_is_not_code() {
        let code = scan("{ '}' \"}\" /* } */ ( [ ] ) } x").code;
        assert_eq!(closing(&code, 0), Some(26));
        assert_eq!(closing("(", 0), None);
    }

    #[test]
    fn lines_count_from_one() {
        assert_eq!((line("a\nb", 0), line("a\nb", 2)), (1, 2));
    }
}
