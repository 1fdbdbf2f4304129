//! Which column of a CoNLL file holds what.
//!
//! The tag is the column in which every line has a tag of some scheme; the last of several, except that a file with an
//! index has the outer tags before the inner ones, as GermEval does. The index is a first column of numbers that begin
//! at 0 or 1 in every utterance and grow by one. The word is the first column that is neither.

use std::collections::BTreeMap;

use super::scheme::is_tag;

/// So many lines are looked at.
const LOOKED_AT: usize = 5_000;

/// The columns, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) word: usize,
    /// The last if `None`.
    pub(super) tag: Option<usize>,
    pub(super) indexed: bool,
}

/// The columns of a line: between tabs, or between spaces if there is no tab.
pub(super) fn split(line: &str) -> Vec<&str> {
    let columns: Vec<&str> = if line.contains('\t') {
        line.split('\t').map(str::trim).collect()
    } else {
        line.split(' ').collect()
    };
    columns.into_iter().filter(|column| !column.is_empty()).collect()
}

/// Finds the columns by what stands in the lines.
pub(super) fn find<'a>(lines: impl Iterator<Item = &'a str>) -> Columns {
    let mut rows: Vec<Option<Vec<&str>>> = Vec::new();
    for line in lines.take(LOOKED_AT) {
        let columns = split(line);
        match columns.first() {
            None => rows.push(None),
            // Comments, or words that look like them: they say nothing about the columns.
            Some(first) if first.starts_with('#') || *first == "-DOCSTART-" => {}
            Some(_) => rows.push(Some(columns)),
        }
    }
    let n_columns = usual_length(&rows);
    let usual: Vec<&Vec<&str>> = rows.iter().flatten().filter(|row| row.len() == n_columns).collect();
    // The last column of lines that differ in length may be another one in each.
    let even = is_most(usual.len(), rows.iter().flatten().count());
    let indexed = n_columns >= 3 && is_index(&rows);
    let tagged =
        |column: &usize| is_most(usual.iter().filter(|row| is_tag(row[*column])).count(), usual.len());
    let first = usize::from(indexed);
    let tags: Vec<usize> = (first..n_columns).filter(tagged).collect();
    let tag = match tags.as_slice() {
        [outer, _, ..] if indexed => Some(*outer),
        [.., last] if even => Some(*last),
        _ => None,
    };
    let is_free =
        |column: &usize| Some(*column) != tag && (!tags.contains(column) || tags.len() == n_columns);
    let word = (first..n_columns).find(is_free).unwrap_or(0);
    Columns { word, tag, indexed }
}

/// Nine in ten: slips do not change what a column holds.
fn is_most(n: usize, of: usize) -> bool {
    n * 10 >= of * 9
}

fn usual_length(rows: &[Option<Vec<&str>>]) -> usize {
    let mut lengths = BTreeMap::<usize, usize>::new();
    rows.iter().flatten().for_each(|row| *lengths.entry(row.len()).or_default() += 1);
    lengths
        .into_iter()
        .max_by_key(|(length, n)| (*n, std::cmp::Reverse(*length)))
        .map_or(0, |(length, _)| length)
}

fn is_index(rows: &[Option<Vec<&str>>]) -> bool {
    let mut expected = None;
    for row in rows {
        let Some(row) = row else {
            expected = None;
            continue;
        };
        let number = row[0].parse::<usize>();
        match (number, expected) {
            (Ok(number @ 0..=1), None) => expected = Some(number + 1),
            (Ok(number), Some(next)) if number == next => expected = Some(number + 1),
            _ => return false,
        }
    }
    rows.iter().any(Option::is_some)
}
