//! What was written by hand: reads `source/`, understands its notation and refuses what does not add up.
//!
//! A pattern or sentence is `intent: words`, where `{slot.kind,kind}` draws a value, `[words=slot]` is a value
//! as it stands and `(one|other|)` is a choice. Value files hold `[kind]` sections of values between commas.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use meno::{Error, Result};

/// The slot types; each has a file in `values/` and one in `new/`.
pub const SLOTS: [&str; 5] = ["item", "media", "person", "place", "time"];
const MIN_PATTERNS: usize = 150;
const MIN_VALUES: usize = 60;
const MIN_SENTENCES: usize = 60;

/// Everything below `source/`, checked.
pub struct Source {
    pub patterns: Vec<Pattern>,
    pub sentences: Vec<Pattern>,
    /// Values by `slot.kind`, in the order of the files.
    pub kinds: Vec<Kind>,
    /// Openers, closers, fillers and repairs.
    pub speech: Vec<Kind>,
}

/// The values that fit the same places in a sentence.
#[derive(Debug)]
pub struct Kind {
    pub slot: String,
    pub name: String,
    /// Commonest first.
    pub values: Vec<String>,
    /// Values for the `new` set only.
    pub concepts: Vec<String>,
}

/// One line of `patterns.txt` or `sentences.txt`.
#[derive(Debug)]
pub struct Pattern {
    pub intent: String,
    pub pieces: Vec<Piece>,
    pub path: PathBuf,
    pub line: usize,
}

#[derive(Debug, PartialEq)]
pub enum Piece {
    Word(String),
    /// A value of one of these kinds (indices into [`Source::kinds`]).
    Value {
        kind_idxs: Vec<usize>,
        possessive: bool,
    },
    Literal {
        words: String,
        slot: String,
    },
    Choice(Vec<Vec<Piece>>),
}

impl Source {
    /// Reads the folder `source/`.
    pub fn read(dir: &Path) -> Result<Source> {
        let mut kinds = Vec::new();
        for slot in SLOTS {
            let mut known = read_sections(&dir.join(format!("values/{slot}.txt")), slot)?;
            let path = dir.join(format!("new/{slot}.txt"));
            for new in read_sections(&path, slot)? {
                let kind = known.iter_mut().find(|kind| kind.name == new.name);
                let Some(kind) = kind else {
                    return Err(problem(&path, 1, format!("no kind `{}` in values/{slot}.txt", new.name)));
                };
                kind.concepts = new.values;
            }
            kinds.extend(known);
        }
        let source = Source {
            patterns: read_patterns(&dir.join("patterns.txt"), &kinds)?,
            sentences: read_patterns(&dir.join("sentences.txt"), &kinds)?,
            speech: read_sections(&dir.join("disfluencies.txt"), "speech")?,
            kinds,
        };
        source.check(dir)?;
        Ok(source)
    }

    /// The words strewn in as `name`.
    pub fn speech(&self, name: &str) -> &[String] {
        let kind = self.speech.iter().find(|kind| kind.name == name);
        kind.map_or(&[], |kind| &kind.values)
    }

    fn check(&self, dir: &Path) -> Result<()> {
        let file = |name: &str| dir.join(name);
        for slot in SLOTS {
            let of_slot = || self.kinds.iter().filter(|kind| kind.slot == slot);
            let values: HashSet<&String> = of_slot().flat_map(|kind| &kind.values).collect();
            if values.len() < MIN_VALUES {
                let found = format!("{} distinct values, wanted {MIN_VALUES}", values.len());
                return Err(problem(&file(&format!("values/{slot}.txt")), 1, found));
            }
        }
        for (name, patterns, wanted) in [
            ("patterns.txt", &self.patterns, MIN_PATTERNS),
            ("sentences.txt", &self.sentences, MIN_SENTENCES),
        ] {
            if patterns.len() < wanted {
                return Err(problem(&file(name), 1, format!("{} lines, wanted {wanted}", patterns.len())));
            }
        }
        for name in ["opener", "closer", "filler", "repair"] {
            if self.speech(name).is_empty() {
                return Err(problem(&file("disfluencies.txt"), 1, format!("no section [{name}]")));
            }
        }
        if let Some(sentence) = self.sentences.iter().find(|line| {
            line.pieces.iter().any(|piece| matches!(piece, Piece::Value { .. } | Piece::Choice(_)))
        }) {
            let found = "a sentence is one utterance: no placeholder, no choice";
            return Err(problem(&sentence.path, sentence.line, found));
        }
        self.check_concepts(dir)
    }

    /// A new concept must be new: no value of any slot, nor another concept.
    fn check_concepts(&self, dir: &Path) -> Result<()> {
        let mut known: HashMap<&str, &str> = HashMap::new();
        for kind in &self.kinds {
            known.extend(kind.values.iter().map(|value| (value.as_str(), kind.slot.as_str())));
        }
        for pattern in self.patterns.iter().chain(&self.sentences) {
            collect_literals(&pattern.pieces, &mut known);
        }
        for kind in &self.kinds {
            for concept in &kind.concepts {
                if let Some(slot) = known.insert(concept, &kind.slot) {
                    let path = dir.join(format!("new/{}.txt", kind.slot));
                    return Err(problem(&path, 1, format!("`{concept}` is already a value of {slot}")));
                }
            }
        }
        Ok(())
    }
}

fn collect_literals<'a>(pieces: &'a [Piece], known: &mut HashMap<&'a str, &'a str>) {
    for piece in pieces {
        match piece {
            Piece::Literal { words, slot } => {
                known.insert(words, slot);
            }
            Piece::Choice(choices) => choices.iter().for_each(|choice| collect_literals(choice, known)),
            _ => {}
        }
    }
}

/// An error in a source file.
pub fn problem(path: &Path, line: usize, problem: impl Into<String>) -> Error {
    let hint = "the notation is described in data/concepts/README.md".to_owned();
    Error::Corpus { path: path.to_owned(), line, problem: problem.into(), hint }
}

/// The lines that say something, with their numbers from 1.
fn read_lines(path: &Path) -> Result<Vec<(usize, String)>> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let lines = text.lines().enumerate().map(|(idx, line)| (idx + 1, line.trim().to_owned()));
    Ok(lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect())
}

fn read_sections(path: &Path, slot: &str) -> Result<Vec<Kind>> {
    let mut kinds: Vec<Kind> = Vec::new();
    for (line, text) in read_lines(path)? {
        if let Some(name) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            if kinds.iter().any(|kind| kind.name == name) {
                return Err(problem(path, line, format!("section [{name}] stands twice")));
            }
            let (slot, name) = (slot.to_owned(), name.to_owned());
            kinds.push(Kind { slot, name, values: Vec::new(), concepts: Vec::new() });
            continue;
        }
        let Some(kind) = kinds.last_mut() else {
            return Err(problem(path, line, "a value stands before the first [section]"));
        };
        for value in text.split(',').map(str::trim) {
            check_words(value).map_err(|found| problem(path, line, found))?;
            // Fillers are repeated on purpose: it makes them commoner.
            if slot != "speech" && kind.values.iter().any(|other| other == value) {
                return Err(problem(path, line, format!("`{value}` stands twice in [{}]", kind.name)));
            }
            kind.values.push(value.to_owned());
        }
    }
    Ok(kinds)
}

fn read_patterns(path: &Path, kinds: &[Kind]) -> Result<Vec<Pattern>> {
    let mut seen = HashSet::new();
    let mut patterns = Vec::new();
    for (line, text) in read_lines(path)? {
        let (intent, words) =
            text.split_once(": ").ok_or_else(|| problem(path, line, format!("no `intent: ` in `{text}`")))?;
        if !seen.insert(words.to_owned()) {
            return Err(problem(path, line, format!("`{words}` stands twice")));
        }
        let pieces = parse(words, kinds).map_err(|found| problem(path, line, found))?;
        patterns.push(Pattern { intent: intent.to_owned(), pieces, path: path.to_owned(), line });
    }
    Ok(patterns)
}

/// Words as the corpus has them: lower-case letters and apostrophes, one space between.
fn check_words(words: &str) -> Result<(), String> {
    let fits = |word: &str| {
        !word.is_empty() && word.chars().all(|character| character.is_ascii_lowercase() || character == '\'')
    };
    if words.split(' ').all(fits) {
        Ok(())
    } else {
        Err(format!("`{words}`: lower-case words, one space between"))
    }
}

fn parse(text: &str, kinds: &[Kind]) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let close = match rest.as_bytes()[0] {
            b'{' => '}',
            b'[' => ']',
            b'(' => ')',
            _ => {
                let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
                check_words(word)?;
                pieces.push(Piece::Word(word.to_owned()));
                rest = after.trim_start();
                continue;
            }
        };
        let (inside, after) =
            rest[1..].split_once(close).ok_or_else(|| format!("no `{close}` in `{rest}`"))?;
        let possessive = after.starts_with("'s");
        pieces.push(match close {
            '}' => Piece::Value { kind_idxs: parse_kinds(inside, kinds)?, possessive },
            ']' => parse_literal(inside)?,
            _ => {
                Piece::Choice(inside.split('|').map(|choice| parse(choice, kinds)).collect::<Result<_, _>>()?)
            }
        });
        rest = if possessive && close == '}' { &after[2..] } else { after };
        if !rest.is_empty() && !rest.starts_with(' ') {
            return Err(format!("no space before `{rest}`"));
        }
        rest = rest.trim_start();
    }
    Ok(pieces)
}

fn parse_kinds(inside: &str, kinds: &[Kind]) -> Result<Vec<usize>, String> {
    let (slot, names) = inside.split_once('.').ok_or_else(|| format!("no kind in {{{inside}}}"))?;
    let find = |name: &str| kinds.iter().position(|kind| kind.slot == slot && kind.name == name);
    names.split(',').map(|name| find(name).ok_or_else(|| format!("no values of {slot}.{name}"))).collect()
}

fn parse_literal(inside: &str) -> Result<Piece, String> {
    let (words, slot) = inside.split_once('=').ok_or_else(|| format!("no slot in [{inside}]"))?;
    check_words(words)?;
    if !SLOTS.contains(&slot) {
        return Err(format!("no slot `{slot}`"));
    }
    Ok(Piece::Literal { words: words.to_owned(), slot: slot.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> Vec<Kind> {
        let kind = |slot: &str, name: &str| Kind {
            slot: slot.to_owned(),
            name: name.to_owned(),
            values: Vec::new(),
            concepts: Vec::new(),
        };
        vec![kind("person", "who"), kind("time", "hour")]
    }

    #[test]
    fn reads_the_notation() {
        let word = |word: &str| Piece::Word(word.to_owned());
        let value = |kind_idx, possessive| Piece::Value { kind_idxs: vec![kind_idx], possessive };
        let home = Piece::Literal { words: "home".to_owned(), slot: "place".to_owned() };
        let at_hour = vec![word("at"), value(1, false)];
        assert_eq!(
            parse("is {person.who}'s bus [home=place] (at {time.hour}|) ok", &kinds()).unwrap(),
            [word("is"), value(0, true), word("bus"), home, Piece::Choice(vec![at_hour, vec![]]), word("ok")]
        );
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for (text, found) in [
            ("call {person.whom}", "no values of person.whom"),
            ("call {person}", "no kind in {person}"),
            ("call {person.who", "no `}` in `{person.who`"),
            ("call [ann=human]", "no slot `human`"),
            ("call Ann", "`Ann`: lower-case words, one space between"),
            ("call {person.who}now", "no space before `now`"),
        ] {
            assert_eq!(parse(text, &kinds()).unwrap_err(), found);
        }
    }
}
