//! The lists and rules of hassil files, and where they are.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::expand::{Expander, List, Names};
use super::template::{self, Expression};
use crate::corpus::known::KnownValue;
use crate::corpus::raw::join;
use crate::corpus::yaml::Node;
use crate::{Error, Result};

/// A list with more phrases for a value gives no known values: they are a grammar of their own.
const MOST_PHRASES: u128 = 16;
/// A range has no more numbers.
const MOST_NUMBERS: i64 = 10_000;

/// The YAML files in a folder and those below it, sorted.
pub(super) fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            files.extend(yaml_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
    }
    Ok(files)
}

pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut entries = read().map_err(|source| Error::read(folder, source))?;
    entries.sort();
    Ok(entries)
}

/// The files in which the lists and rules of a file stand.
pub(super) fn companions(file: &Path, of_folder: bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let common = file.with_file_name("_common.yaml");
    if !of_folder && common.is_file() && common != file {
        files.push(common);
    }
    // .../sentences/en/HassTurnOn/a.yaml, or .../sentences/en/a.yaml
    let parts = file.ancestors().find_map(|folder| {
        let root = folder.parent()?;
        let is_kind = root.file_name().is_some_and(|name| name == "sentences" || name == "tests");
        is_kind.then(|| Some((root.parent()?, folder.file_name()?))).flatten()
    });
    if let Some((root, language)) = parts {
        for kind in ["lists", "rules", "tests"] {
            files.extend(yaml_files(&root.join(kind).join(language)).unwrap_or_default());
        }
        files.extend(
            Some(root.join("sentences").join(language).join("_common.yaml")).filter(|path| path.is_file()),
        );
    }
    files
}

/// Adds the lists and rules that documents have, and the areas, floors and devices of tests.
pub(super) fn gather(documents: &[Node], names: &mut Names) {
    for document in documents {
        for (name, rule) in document.get("expansion_rules").map(Node::map).unwrap_or_default() {
            if let (Some(name), Some(Ok(rule))) = (name.text(), rule.text().map(template::parse)) {
                names.rules.insert(name.to_owned(), rule);
            }
        }
        for (name, node) in document.get("lists").map(Node::map).unwrap_or_default() {
            if let (Some(name), Some(list)) = (name.text(), list(node)) {
                names.lists.insert(name.to_owned(), list);
            }
        }
        for (key, list) in [("areas", "area"), ("floors", "floor"), ("entities", "name")] {
            for item in document.get(key).and_then(Node::list).unwrap_or_default() {
                let Some(Ok(value)) = item.get("name").and_then(Node::text).map(template::parse) else {
                    continue;
                };
                let values = names.lists.entry(list.to_owned());
                let List::Values(Expression::Alternative(values), outs) =
                    values.or_insert_with(|| List::Values(Expression::Alternative(Vec::new()), Vec::new()))
                else {
                    continue;
                };
                if !values.contains(&value) {
                    values.push(value);
                    outs.push(None);
                }
            }
        }
    }
}

fn list(node: &Node) -> Option<List> {
    if node.get("wildcard").and_then(Node::text) == Some("true") {
        return Some(List::Wildcard);
    }
    if let Some(range) = node.get("range") {
        let number =
            |key: &str| range.get(key).and_then(Node::text).and_then(|text| text.parse::<i64>().ok());
        let fractions: &[&str] = match range.get("fractions").and_then(Node::text) {
            Some("halves") => &["5"],
            Some("tenths") => &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
            _ => &[],
        };
        return numbers(number("from")?, number("to")?, number("step").unwrap_or(1), fractions);
    }
    let text = |value: &Node, key: &str| value.get(key).and_then(Node::text).map(str::to_owned);
    let (mut values, mut outs) = (Vec::new(), Vec::new());
    for value in node.get("values")?.list()? {
        let phrase = value.text().map(str::to_owned).or_else(|| text(value, "in"));
        if let Some(Ok(phrase)) = phrase.map(|phrase| template::parse(&phrase)) {
            values.push(phrase);
            outs.push(text(value, "out"));
        }
    }
    Some(List::Values(Expression::Alternative(values), outs))
}

fn numbers(from: i64, to: i64, step: i64, fractions: &[&str]) -> Option<List> {
    if step < 1 || to < from || to.checked_sub(from)? / step > MOST_NUMBERS {
        return None;
    }
    let mut numbers = Vec::new();
    for number in (from..=to).step_by(usize::try_from(step).ok()?) {
        numbers.push(number.to_string());
        numbers.extend(fractions.iter().map(|fraction| format!("{number}.{fraction}")));
    }
    Some(List::Range(numbers))
}

/// The lists that a template has in it, each with its slot.
pub(super) fn lists_of(expression: &Expression, names: &Names, found: &mut BTreeSet<(String, String)>) {
    let mut rules = BTreeSet::new();
    lists_and_rules(expression, names, &mut rules, found);
}

fn lists_and_rules<'a>(
    expression: &'a Expression,
    names: &'a Names,
    rules: &mut BTreeSet<&'a str>,
    found: &mut BTreeSet<(String, String)>,
) {
    match expression {
        Expression::Text(_) => {}
        Expression::Sequence(items) | Expression::Alternative(items) | Expression::Permutation(items) => {
            items.iter().for_each(|item| lists_and_rules(item, names, rules, found));
        }
        Expression::List { list, slot } => _ = found.insert((list.clone(), slot.clone())),
        Expression::Rule(name) => {
            if let Some(rule) = names.rules.get(name).filter(|_| rules.insert(name)) {
                lists_and_rules(rule, names, rules, found);
            }
        }
    }
}

/// Lists that are nowhere: numbers where the name says so (`1..5`), else their own name.
pub(super) fn with_missing(names: &Names, lists: &BTreeSet<(String, String)>) -> Option<Names> {
    let missing: HashMap<String, List> = (lists.iter())
        .filter(|(list, _)| !names.lists.contains_key(list))
        .map(|(list, _)| (list.clone(), inline_range(list).unwrap_or_else(|| named_after_itself(list))))
        .collect();
    (!missing.is_empty()).then(|| {
        let mut names = names.clone();
        names.lists.extend(missing);
        names
    })
}

fn inline_range(name: &str) -> Option<List> {
    let (from, rest) = name.split_once("..")?;
    let (to, step) = rest.split_once(',').unwrap_or((rest, "1"));
    numbers(from.parse().ok()?, to.parse().ok()?, step.parse().ok()?, &[])
}

fn named_after_itself(name: &str) -> List {
    // The name that `hassil.sample` gives to devices.
    let name = if name == "name" { "entity" } else { name };
    List::Values(Expression::Alternative(vec![Expression::Text(name.replace('_', " "))]), vec![None])
}

/// The values of lists as known values of the slots that they fill.
pub(super) fn known_values(names: &Names, slots: &BTreeSet<(String, String)>) -> Vec<KnownValue> {
    let mut found = Vec::new();
    for (list, slot) in slots {
        for (phrases, out) in names.lists.get(list).map(|list| phrases(list, names)).unwrap_or_default() {
            let stands_for = out.or(phrases.first().cloned());
            found.extend(
                phrases.iter().map(|phrase| KnownValue::new(Some(slot), phrase, stands_for.as_deref())),
            );
        }
    }
    found
}

/// The values of a list: the phrases for each, and what they mean if that is something else.
pub(super) fn phrases(list: &List, names: &Names) -> Vec<(Vec<String>, Option<String>)> {
    let List::Values(Expression::Alternative(values), outs) = list else { return Vec::new() };
    let mut found = Vec::new();
    for (value, out) in values.iter().zip(outs) {
        let mut expander = Expander::new(names);
        if let Ok(count @ 1..=MOST_PHRASES) = expander.count(value) {
            found.push(((0..count).map(|n| join(&expander.nth(value, n)).0).collect(), out.clone()));
        }
    }
    found
}
