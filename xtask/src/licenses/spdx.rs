//! Licence expressions: whether the licences that are allowed satisfy one.
//!
//! `expression := all ("OR" all)*`, `all := one ("AND" one)*`, `one := "(" expression ")" | NAME ("WITH" NAME)?`. The slash is the
//! old way to write `OR`.

/// Whether the allowed licences satisfy the expression; an error says what cannot be read.
pub fn satisfied(expression: &str, allowed: &[String]) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = Words { words: spaced.split_whitespace().collect(), next: 0, allowed };
    let satisfied = words.any()?;
    match words.peek() {
        None => Ok(satisfied),
        Some(word) => Err(format!("{word:?} does not belong into {expression:?}")),
    }
}

struct Words<'a> {
    words: Vec<&'a str>,
    next: usize,
    allowed: &'a [String],
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).copied()
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.next += usize::from(found);
        found
    }

    fn any(&mut self) -> Result<bool, String> {
        let mut any = self.all()?;
        while self.take("OR") {
            any |= self.all()?;
        }
        Ok(any)
    }

    fn all(&mut self) -> Result<bool, String> {
        let mut all = self.one()?;
        while self.take("AND") {
            all &= self.one()?;
        }
        Ok(all)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let inner = self.any()?;
            return if self.take(")") { Ok(inner) } else { Err("a parenthesis is not closed".to_owned()) };
        }
        let mut name = self.name()?.to_owned();
        if self.take("WITH") {
            name = format!("{name} WITH {}", self.name()?);
        }
        Ok(self.allowed.contains(&name))
    }

    fn name(&mut self) -> Result<&'a str, String> {
        let name = self.peek().filter(|word| !matches!(*word, "(" | ")" | "OR" | "AND" | "WITH"));
        self.next += 1;
        name.ok_or_else(|| "the name of a licence is missing".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_satisfied_or_not() {
        let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        for (expression, expected) in [
            ("MIT", Ok(true)),
            ("GPL-3.0-only", Ok(false)),
            ("MIT OR GPL-3.0-only", Ok(true)),
            ("GPL-3.0-only/MIT", Ok(true)),
            ("MIT AND GPL-3.0-only", Ok(false)),
            ("GPL-3.0-only AND MIT OR Zlib", Ok(true)),
            ("GPL-3.0-only AND (MIT OR Zlib)", Ok(false)),
            ("(MIT OR GPL-3.0-only) AND Zlib", Ok(true)),
            ("Apache-2.0", Ok(false)),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0", Ok(true)),
            ("", Err(())),
            ("MIT Zlib", Err(())),
            ("(MIT", Err(())),
            ("MIT OR", Err(())),
        ] {
            assert_eq!(satisfied(expression, &allowed).map_err(|_| ()), expected, "{expression}");
        }
    }
}
