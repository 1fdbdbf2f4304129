//! From templates to sentences: how many there are, and which is the n-th.
//!
//! The sentences of a template are numbered in the order in which PyPI's `hassil.sample` yields them, the last part of a
//! sequence changing fastest. So all of them can be had, or a few at random, without making the others.

use std::collections::HashMap;

use super::super::markup::Piece;
use super::template::Expression;

/// No sentence is longer, in characters.
const LONGEST: u128 = 10_000;

/// What the lists and rules of a template are.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) lists: HashMap<String, List>,
    pub(super) rules: HashMap<String, Expression>,
}

/// The values of a list.
#[derive(Clone, Debug)]
pub(super) enum List {
    /// All values in one choice, and what each means if that is something else.
    Values(Expression, Vec<Option<String>>),
    Range(Vec<String>),
    /// Any text.
    Wildcard,
}

/// How many sentences there are, and how long the longest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    n: u128,
    length: u128,
}

/// A template with all its names.
pub(super) struct Expander<'a> {
    names: &'a Names,
    /// Of the rules (`<rule>`) and lists that were looked at; `None` while that goes on.
    extents: HashMap<(bool, &'a str), Option<Extent>>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(names: &'a Names) -> Self {
        Expander { names, extents: HashMap::new() }
    }

    /// The number of sentences; an error if a name is missing, a rule contains itself, or they are too many or too long.
    pub(super) fn count(&mut self, expression: &'a Expression) -> Result<u128, String> {
        let Extent { n, length } = self.extent(expression)?;
        match () {
            () if n == u128::MAX => Err("there are too many sentences to count them".to_owned()),
            () if length > LONGEST => Err(format!("a sentence is longer than {LONGEST} characters")),
            () => Ok(n),
        }
    }

    fn extent(&mut self, expression: &'a Expression) -> Result<Extent, String> {
        Ok(match expression {
            Expression::Text(text) => Extent { n: 1, length: text.chars().count() as u128 },
            Expression::Sequence(items) => self.product(items)?,
            Expression::Alternative(items) => {
                let mut extent = Extent { n: 0, length: 0 };
                for item in items {
                    let item = self.extent(item)?;
                    extent.n = extent.n.saturating_add(item.n);
                    extent.length = extent.length.max(item.length);
                }
                extent
            }
            Expression::Permutation(items) => {
                let extent = self.product(items)?;
                let orders = (1..=items.len() as u128).fold(1, u128::saturating_mul);
                Extent { n: extent.n.saturating_mul(orders), ..extent }
            }
            Expression::Rule(name) => self.named(true, name)?,
            Expression::List { list, .. } => self.named(false, list)?,
        })
    }

    fn product(&mut self, items: &'a [Expression]) -> Result<Extent, String> {
        let mut extent = Extent { n: 1, length: 0 };
        for item in items {
            let item = self.extent(item)?;
            extent.n = extent.n.saturating_mul(item.n);
            extent.length = extent.length.saturating_add(item.length);
        }
        Ok(extent)
    }

    fn named(&mut self, is_rule: bool, name: &'a str) -> Result<Extent, String> {
        match self.extents.get(&(is_rule, name)) {
            Some(Some(extent)) => return Ok(*extent),
            Some(None) => return Err(format!("`{name}` contains itself")),
            None => {}
        }
        self.extents.insert((is_rule, name), None);
        let names = self.names;
        let found = match (is_rule, names.rules.get(name), names.lists.get(name)) {
            (true, Some(rule), _) => self.extent(rule),
            (true, None, _) => Err(format!("there is no rule `<{name}>`")),
            (false, _, Some(List::Values(values, _))) => self.extent(values),
            (false, _, Some(List::Range(numbers))) => {
                let length = numbers.iter().map(String::len).max().unwrap_or(0);
                Ok(Extent { n: numbers.len() as u128, length: length as u128 })
            }
            (false, _, Some(List::Wildcard)) => Err(format!("`{{{name}}}` can be any text")),
            (false, _, None) => Err(format!("there is no list `{{{name}}}`")),
        };
        if found.is_err() {
            self.extents.remove(&(is_rule, name));
        }
        let extent = found?;
        self.extents.insert((is_rule, name), Some(extent));
        Ok(extent)
    }

    /// The sentence of a number below [`Expander::count`].
    pub(super) fn nth(&mut self, expression: &'a Expression, n: u128) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.write(expression, n, None, &mut pieces);
        pieces
    }

    fn write(&mut self, expression: &'a Expression, n: u128, slot: Option<&str>, pieces: &mut Vec<Piece>) {
        let names = self.names;
        match expression {
            Expression::Text(text) => push(text, slot, pieces),
            Expression::Sequence(items) => self.write_all(&items.iter().collect::<Vec<_>>(), n, slot, pieces),
            Expression::Alternative(items) => {
                let mut n = n;
                for item in items {
                    let n_item = self.size(item);
                    if n < n_item {
                        return self.write(item, n, slot, pieces);
                    }
                    n -= n_item;
                }
            }
            Expression::Permutation(items) => {
                let n_each = items.iter().map(|item| self.size(item)).product::<u128>().max(1);
                let order = permutation(items, n / n_each);
                self.write_all(&order, n % n_each, slot, pieces);
            }
            Expression::Rule(name) => self.write(&names.rules[name], n, slot, pieces),
            Expression::List { list, slot: own } => {
                let slot = slot.unwrap_or(own);
                let first = pieces.len();
                match &names.lists[list] {
                    List::Values(values, _) => self.write(values, n, Some(slot), pieces),
                    List::Range(numbers) => push(&numbers[n as usize], Some(slot), pieces),
                    List::Wildcard => {}
                }
                let value = pieces.split_off(first).into_iter().map(|piece| piece.text).collect::<String>();
                pieces.push(Piece { text: value, slot: Some(slot.to_owned()) });
            }
        }
    }

    /// Writes parts one after the other; `n` has a digit for each, the last one the lowest.
    fn write_all(&mut self, items: &[&'a Expression], n: u128, slot: Option<&str>, pieces: &mut Vec<Piece>) {
        let mut digits = vec![0; items.len()];
        let mut rest = n;
        for (digit, item) in digits.iter_mut().zip(items).rev() {
            let size = self.size(item).max(1);
            *digit = rest % size;
            rest /= size;
        }
        for (digit, item) in digits.into_iter().zip(items) {
            self.write(item, digit, slot, pieces);
        }
    }

    fn size(&mut self, expression: &'a Expression) -> u128 {
        self.extent(expression).map_or(0, |extent| extent.n)
    }
}

fn push(text: &str, slot: Option<&str>, pieces: &mut Vec<Piece>) {
    pieces.push(Piece { text: text.to_owned(), slot: slot.map(str::to_owned) });
}

/// The n-th order of items, in the order of Python's `itertools.permutations`.
fn permutation(items: &[Expression], n: u128) -> Vec<&Expression> {
    let mut left: Vec<&Expression> = items.iter().collect();
    let mut order = Vec::with_capacity(items.len());
    let mut n = n;
    while !left.is_empty() {
        let n_rest: u128 = (1..left.len() as u128).product();
        let index = (n / n_rest) as usize % left.len();
        n %= n_rest;
        order.push(left.remove(index));
    }
    order
}
