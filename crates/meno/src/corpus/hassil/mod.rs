//! hassil YAML, the sentences of Home Assistant: templates with lists and rules, and tests with slots.
//!
//! A file has `intents: {HassTurnOn: {data: [...]}}`, or `data: [...]` in a folder called after its intent; blocks of `data`
//! have `sentences`, templates that are expanded. A file of tests has `tests: [{sentences: [...], slots: {...}}]`. Lists and
//! rules stand in the file itself, in `_common.yaml` beside it, or in the folders `lists/LANGUAGE` and `rules/LANGUAGE`
//! beside `sentences/LANGUAGE`. The names of areas, floors and devices are those of Home Assistant's user: here they are
//! the ones that `tests/LANGUAGE` has; a list that is nowhere has its own name as its only value, as in PyPI's
//! `hassil.sample`. Templates with any text in them (wildcards) are left out, as there.
//!
//! - `template`: text to tree;
//! - `expand`: tree to sentences;
//! - `labelled`: where the values of slots stand in a sentence;
//! - `names`: lists and rules.

mod expand;
mod labelled;
mod names;
mod template;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::Corpus;
use super::finding::Log;
use super::raw::{Collector, join};
use super::source::Source;
use super::yaml::{self, Node};
use crate::random::Random;
use crate::{Error, Result};
use expand::{Expander, Names};
use template::Expression;

/// How many sentences are made of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// All sentences, up to this number; else so many at random.
    pub most: usize,
    /// What the random ones come from.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling { most: 64, seed: 1 }
    }
}

/// Reads templates, expanded as stated, and tests.
pub fn read_with(path: &Path, sampling: Sampling) -> Result<Corpus> {
    let mut log = Log::default();
    let corpus = read(path, sampling, &mut log)?;
    corpus.demand_utterances(&mut log);
    log.into_result()?;
    Ok(corpus)
}

pub(super) fn read(path: &Path, sampling: Sampling, log: &mut Log) -> Result<Corpus> {
    let mut found = Corpus { path: path.to_owned(), raw: true, ..Corpus::default() };
    let files = files(path)?;
    let mut names = Names::default();
    for file in names::companions(files.first().map_or(path, PathBuf::as_path), path.is_dir()) {
        names::gather(&parse(&file, log)?, &mut names);
    }
    let mut documents = Vec::with_capacity(files.len());
    for file in files {
        let document = parse(&file, log)?;
        names::gather(&document, &mut names);
        documents.push((file, document));
    }
    for (file, document) in &documents {
        let mut reader = Reader {
            found: Collector::new(file, log),
            names: &names,
            sampling,
            seen: HashSet::new(),
            slots: BTreeSet::new(),
        };
        document.iter().for_each(|document| reader.document(file, document));
        let Reader { found: mut part, slots, .. } = reader;
        part.known_values(names::known_values(&names, &slots));
        let part = part.finish();
        found.utterances.extend(part.utterances);
        found.known_values.extend(part.known_values);
    }
    found.known_values.sort();
    found.known_values.dedup();
    Ok(found)
}

fn parse(path: &Path, log: &mut Log) -> Result<Vec<Node>> {
    let source = Source::open(path, log)?;
    Ok(yaml::parse_all(&source.text).unwrap_or_else(|(line, problem)| {
        Collector::new(path, log).note(line, problem);
        Vec::new()
    }))
}

/// The file itself, or the YAML files of sentences in a folder, sorted.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let sentences = path.join("sentences");
    let root = if sentences.is_dir() { sentences } else { path.to_owned() };
    let mut languages: Vec<PathBuf> =
        names::entries(&root)?.into_iter().filter(|path| path.is_dir()).collect();
    let root = match languages.len() {
        1 if root != path => languages.remove(0),
        2.. if root != path => {
            return Err(Error::Dataset {
                problem: format!("{} holds {} languages", root.display(), languages.len()),
                hint: format!("name the folder of one, such as {}", languages[0].display()),
            });
        }
        _ => root,
    };
    names::yaml_files(&root)
}

struct Reader<'a> {
    found: Collector<'a>,
    names: &'a Names,
    sampling: Sampling,
    /// The sentences so far, by intent.
    seen: HashSet<(String, String)>,
    /// The lists that were used, each with its slot.
    slots: BTreeSet<(String, String)>,
}

impl Reader<'_> {
    fn document(&mut self, file: &Path, document: &Node) {
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        for (name, intent) in document.get("intents").map(Node::map).unwrap_or_default() {
            let (Some(name), Some(blocks)) = (name.text(), intent.get("data").and_then(Node::list)) else {
                self.found.note(name.line, "an intent has no `data`");
                continue;
            };
            blocks.iter().for_each(|block| self.block(name, block));
        }
        for block in document.get("data").and_then(Node::list).unwrap_or_default() {
            self.block(&folder, block);
        }
        for test in document.get("tests").and_then(Node::list).unwrap_or_default() {
            self.test(&folder, test);
        }
    }

    fn block(&mut self, intent: &str, block: &Node) {
        let Some(sentences) = block.get("sentences").and_then(Node::list) else {
            return self.found.note(block.line, format!("a block of `{intent}` has no list of `sentences`"));
        };
        let local = ["expansion_rules", "lists"].iter().any(|key| block.get(key).is_some());
        let own = local.then(|| {
            let mut own = self.names.clone();
            names::gather(std::slice::from_ref(block), &mut own);
            own
        });
        let names = own.as_ref().unwrap_or(self.names);
        for sentence in sentences {
            let Some(text) = sentence.text() else {
                self.found.note(sentence.line, "a sentence is not text");
                continue;
            };
            match template::parse(text) {
                Ok(expression) => self.sentences(intent, sentence.line, &expression, names),
                Err(problem) => self.found.note(sentence.line, problem),
            }
        }
    }

    fn sentences(&mut self, intent: &str, line: usize, expression: &Expression, names: &Names) {
        let mut lists = BTreeSet::new();
        names::lists_of(expression, names, &mut lists);
        if lists.iter().any(|(list, _)| matches!(names.lists.get(list), Some(expand::List::Wildcard))) {
            return;
        }
        let with_missing = names::with_missing(names, &lists);
        let names = with_missing.as_ref().unwrap_or(names);
        let mut expander = Expander::new(names);
        let count = match expander.count(expression) {
            Ok(count) => count,
            Err(problem) => return self.found.note(line, problem),
        };
        let chosen = chosen(count, self.sampling, line);
        for n in chosen {
            let pieces = expander.nth(expression, n);
            let (text, _) = join(&pieces);
            if self.seen.insert((intent.to_owned(), text)) {
                self.found.pieces(line, intent, &pieces);
            }
        }
        self.slots.append(&mut lists);
    }

    fn test(&mut self, folder: &str, test: &Node) {
        // The intent is a folder, or a map of a name and slots.
        let intent = test.get("intent");
        let name =
            intent.and_then(|intent| intent.text().or_else(|| intent.get("name").and_then(Node::text)));
        let slots = test.get("slots").or_else(|| intent.and_then(|intent| intent.get("slots")));
        let Some(sentences) = test.get("sentences").and_then(Node::list) else {
            return self.found.note(test.line, "a test has no list of `sentences`");
        };
        for sentence in sentences {
            let Some(text) = sentence.text() else { continue };
            let slots = labelled::slots(text, slots.map(Node::map).unwrap_or_default(), self.names);
            self.found.text(sentence.line, name.unwrap_or(folder), text, slots);
        }
    }
}

/// All numbers below `count`, or as many as there may be at random; in order.
fn chosen(count: u128, sampling: Sampling, line: usize) -> Vec<u128> {
    if count <= sampling.most as u128 {
        return (0..count).collect();
    }
    let mut random = Random::new(sampling.seed).fork(line as u64);
    let mut chosen = BTreeSet::new();
    while chosen.len() < sampling.most {
        let n = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        chosen.insert(n % count);
    }
    chosen.into_iter().collect()
}
