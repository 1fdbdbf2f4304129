//! The templates of hassil: `(turn|switch) on [the] {area} <light>`.
//!
//! `(a|b)` is a choice, `[a]` may be left out, `(a;b)` is both in any order, `{list}` or `{list:slot}` is a value of a
//! list, `{1..5:slot}` a number, `<rule>` another template. A backslash takes a character as it is.

/// A template as a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Text(String),
    Sequence(Vec<Expression>),
    Alternative(Vec<Expression>),
    Permutation(Vec<Expression>),
    List { list: String, slot: String },
    Rule(String),
}

/// Templates are not nested deeper.
const DEEPEST: usize = 64;

/// Parses a template; else what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Expression, String> {
    let mut parser = Parser { rest: text.trim(), depth: 0 };
    let expression = parser.group(None)?;
    match parser.rest.chars().next() {
        None => Ok(expression),
        Some(c) => Err(format!("`{c}` in `{text}` closes nothing")),
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    /// What stands up to `close`, or up to the end or any closing mark.
    fn group(&mut self, close: Option<char>) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("the brackets are nested too deeply".to_owned());
        }
        let mut group = Group { kind: Kind::Sequence, items: Vec::new(), last: Vec::new() };
        while let Some(c) = self.rest.chars().next() {
            match c {
                ')' | ']' | '}' | '>' => break,
                '|' | ';' => {
                    self.rest = &self.rest[1..];
                    group.separate(if c == '|' { Kind::Alternative } else { Kind::Permutation });
                }
                '(' => {
                    self.rest = &self.rest[1..];
                    let item = self.group(Some(')'))?;
                    group.last.push(item);
                }
                '[' => {
                    self.rest = &self.rest[1..];
                    let mut items = match self.group(Some(']'))? {
                        Expression::Alternative(items) => items,
                        item => vec![item],
                    };
                    items.push(Expression::Text(String::new()));
                    group.last.push(Expression::Alternative(items));
                }
                '{' => group.last.push(list(&self.name('}')?)),
                '<' => group.last.push(Expression::Rule(self.name('>')?)),
                _ => group.last.push(Expression::Text(self.text())),
            }
        }
        self.depth -= 1;
        if let Some(close) = close {
            match self.rest.strip_prefix(close) {
                Some(rest) => self.rest = rest,
                None => return Err(format!("a bracket is not closed by `{close}`")),
            }
        }
        Ok(group.finish())
    }

    fn name(&mut self, close: char) -> Result<String, String> {
        let Some((name, rest)) = self.rest[1..].split_once(close) else {
            return Err(format!("`{}` is not closed by `{close}`", self.rest));
        };
        if name.is_empty() || name.contains(['(', '[', '{', '<', '|']) {
            return Err(format!("`{name}` is no name"));
        }
        self.rest = rest;
        Ok(name.to_owned())
    }

    fn text(&mut self) -> String {
        let mut text = String::new();
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            if !escaped && "()[]{}<>|;".contains(c) {
                self.rest = &self.rest[at..];
                return text;
            }
            escaped = !escaped && c == '\\';
            if !escaped {
                text.push(c);
            }
        }
        self.rest = "";
        text
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sequence,
    Alternative,
    Permutation,
}

/// A group that is being read; separators of another sort make one item of what stands before them.
struct Group {
    kind: Kind,
    items: Vec<Expression>,
    /// The sequence after the last separator.
    last: Vec<Expression>,
}

impl Group {
    fn separate(&mut self, kind: Kind) {
        let last = Expression::Sequence(std::mem::take(&mut self.last));
        if self.kind == Kind::Sequence {
            self.items = vec![spaced(kind, last)];
        } else {
            self.items.push(spaced(self.kind, last));
            if self.kind != kind {
                let items = std::mem::take(&mut self.items);
                self.items = vec![spaced(kind, make(self.kind, items))];
            }
        }
        self.kind = kind;
    }

    fn finish(mut self) -> Expression {
        let last = Expression::Sequence(self.last);
        if self.kind == Kind::Sequence {
            return last;
        }
        self.items.push(spaced(self.kind, last));
        make(self.kind, self.items)
    }
}

fn make(kind: Kind, items: Vec<Expression>) -> Expression {
    match kind {
        Kind::Sequence => Expression::Sequence(items),
        Kind::Alternative => Expression::Alternative(items),
        Kind::Permutation => Expression::Permutation(items),
    }
}

/// The parts of a permutation have spaces around them.
fn spaced(kind: Kind, item: Expression) -> Expression {
    let space = || Expression::Text(" ".to_owned());
    match kind {
        Kind::Permutation => Expression::Sequence(vec![space(), item, space()]),
        _ => item,
    }
}

fn list(name: &str) -> Expression {
    let (list, slot) = name.split_once(':').unwrap_or((name, name));
    // `@` marks values that only the response of Home Assistant sees.
    let (list, slot) = (list.trim_start_matches('@'), slot.trim_start_matches('@'));
    Expression::List { list: list.to_owned(), slot: slot.to_owned() }
}
