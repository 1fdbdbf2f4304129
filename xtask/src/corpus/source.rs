//! What was written by hand: reads `source/`, understands its notation and refuses what does not add up.
//!
//! A pattern or sentence is `intent: words`, where `{slot.kind,kind}` draws a value, `[words=slot]` is a value
//! as it stands and `(one|other|)` is a choice; `$name = words` before it lets `$name` stand for the words. Value
//! files hold `[kind]` sections of values between commas; `(my) boss` is the value `boss` after the word `my`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use meno::{Error, Result};

use super::settings::Settings;

/// Everything below `source/`, checked.
pub struct Source {
    pub settings: &'static Settings,
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
    pub fn read(dir: &Path, settings: &'static Settings) -> Result<Source> {
        let reader = Reader { settings };
        let mut kinds = Vec::new();
        for slot in settings.slots.iter().map(|slot| slot.name) {
            let mut known = reader.sections(&dir.join(format!("values/{slot}.txt")), slot)?;
            let path = dir.join(format!("new/{slot}.txt"));
            let new = if path.exists() { reader.sections(&path, slot)? } else { Vec::new() };
            for new in new {
                let kind = known.iter_mut().find(|kind| kind.name == new.name);
                let Some(kind) = kind else {
                    return Err(problem(&path, 1, format!("no kind `{}` in values/{slot}.txt", new.name)));
                };
                kind.concepts = new.values;
            }
            kinds.extend(known);
        }
        let source = Source {
            settings,
            patterns: reader.patterns(&dir.join("patterns.txt"), &kinds)?,
            sentences: reader.patterns(&dir.join("sentences.txt"), &kinds)?,
            speech: reader.sections(&dir.join("disfluencies.txt"), "speech")?,
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
        for slot in self.settings.slots {
            let of_slot = || self.kinds.iter().filter(|kind| kind.slot == slot.name);
            let path = file(&format!("values/{}.txt", slot.name));
            let values: HashSet<&str> =
                of_slot().flat_map(|kind| &kind.values).map(|value| without_lead(value).1).collect();
            if values.len() < slot.min_values {
                let found = format!("{} distinct values, wanted {}", values.len(), slot.min_values);
                return Err(problem(&path, 1, found));
            }
            // Fewer have none that could be held out.
            let n_held_out = |kind: &Kind| kind.values.len() * self.settings.held_out_values / 100;
            if let Some(kind) = of_slot().find(|kind| n_held_out(kind) == 0) {
                return Err(problem(&path, 1, format!("too few values of [{}]", kind.name)));
            }
        }
        for (name, patterns, wanted) in [
            ("patterns.txt", &self.patterns, self.settings.min_patterns),
            ("sentences.txt", &self.sentences, self.settings.min_sentences),
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
            known.extend(kind.values.iter().map(|value| (without_lead(value).1, kind.slot.as_str())));
        }
        for pattern in self.patterns.iter().chain(&self.sentences) {
            collect_literals(&pattern.pieces, &mut known);
        }
        for kind in &self.kinds {
            for concept in &kind.concepts {
                if let Some(slot) = known.insert(without_lead(concept).1, &kind.slot) {
                    let path = dir.join(format!("new/{}.txt", kind.slot));
                    return Err(problem(&path, 1, format!("`{concept}` is already a value of {slot}")));
                }
            }
        }
        Ok(())
    }
}

/// The words before a value that do not belong to it, and the value: `(my) boss` is `my` and `boss`.
pub fn without_lead(value: &str) -> (&str, &str) {
    value.strip_prefix('(').and_then(|value| value.split_once(") ")).unwrap_or(("", value))
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

/// Reads the files as a corpus has them.
#[derive(Clone, Copy)]
struct Reader {
    settings: &'static Settings,
}

impl Reader {
    fn sections(self, path: &Path, slot: &str) -> Result<Vec<Kind>> {
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
                self.check_value(value).map_err(|found| problem(path, line, found))?;
                // Fillers are repeated on purpose: it makes them commoner.
                if slot != "speech" && kind.values.iter().any(|other| other == value) {
                    return Err(problem(path, line, format!("`{value}` stands twice in [{}]", kind.name)));
                }
                kind.values.push(value.to_owned());
            }
        }
        Ok(kinds)
    }

    fn patterns(self, path: &Path, kinds: &[Kind]) -> Result<Vec<Pattern>> {
        let mut seen = HashSet::new();
        let mut macros: Vec<(String, String)> = Vec::new();
        let mut patterns = Vec::new();
        for (line, text) in read_lines(path)? {
            if let Some((name, words)) = text.split_once(" = ")
                && name.starts_with('$')
            {
                macros.push((name.to_owned(), expand(words, &macros)));
                continue;
            }
            let (intent, words) = text
                .split_once(": ")
                .ok_or_else(|| problem(path, line, format!("no `intent: ` in `{text}`")))?;
            let words = &expand(words, &macros);
            if !seen.insert(words.to_owned()) {
                return Err(problem(path, line, format!("`{words}` stands twice")));
            }
            let pieces = self.parse(words, kinds).map_err(|found| problem(path, line, found))?;
            patterns.push(Pattern { intent: intent.to_owned(), pieces, path: path.to_owned(), line });
        }
        Ok(patterns)
    }

    /// A value, with or without words before it.
    fn check_value(self, value: &str) -> Result<(), String> {
        let (lead, value) = without_lead(value);
        if !lead.is_empty() {
            self.check_words(lead)?;
        }
        self.check_words(value)
    }

    /// Words as the corpus has them: lower-case letters and apostrophes, one space between.
    fn check_words(self, words: &str) -> Result<(), String> {
        let fits = |word: &str| {
            let fits = |character: char| {
                character.is_ascii_lowercase()
                    || character == '\''
                    || self.settings.digits && (character.is_ascii_digit() || ":&.%$".contains(character))
            };
            !word.is_empty() && word.chars().all(fits)
        };
        if words.split(' ').all(fits) {
            Ok(())
        } else {
            Err(format!("`{words}`: lower-case words, one space between"))
        }
    }

    fn parse(self, text: &str, kinds: &[Kind]) -> Result<Vec<Piece>, String> {
        let mut pieces = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let close = match rest.as_bytes()[0] {
                b'{' => '}',
                b'[' => ']',
                b'(' => ')',
                _ => {
                    let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
                    self.check_words(word)?;
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
                ']' => self.parse_literal(inside)?,
                _ => Piece::Choice(
                    inside.split('|').map(|choice| self.parse(choice, kinds)).collect::<Result<_, _>>()?,
                ),
            });
            rest = if possessive && close == '}' { &after[2..] } else { after };
            if !rest.is_empty() && !rest.starts_with(' ') {
                return Err(format!("no space before `{rest}`"));
            }
            rest = rest.trim_start();
        }
        Ok(pieces)
    }

    fn parse_literal(self, inside: &str) -> Result<Piece, String> {
        let (words, slot) = inside.split_once('=').ok_or_else(|| format!("no slot in [{inside}]"))?;
        self.check_words(words)?;
        if !self.settings.slots.iter().any(|known| known.name == slot) {
            return Err(format!("no slot `{slot}`"));
        }
        Ok(Piece::Literal { words: words.to_owned(), slot: slot.to_owned() })
    }
}

/// `$name` replaced by the words that it stands for.
fn expand(words: &str, macros: &[(String, String)]) -> String {
    let expand_word = |word: &str| {
        let found = macros.iter().find(|(name, _)| name == word);
        found.map_or_else(|| word.to_owned(), |(_, words)| words.clone())
    };
    words.split(' ').map(expand_word).collect::<Vec<_>>().join(" ")
}

fn parse_kinds(inside: &str, kinds: &[Kind]) -> Result<Vec<usize>, String> {
    let (slot, names) = inside.split_once('.').ok_or_else(|| format!("no kind in {{{inside}}}"))?;
    let find = |name: &str| kinds.iter().position(|kind| kind.slot == slot && kind.name == name);
    names.split(',').map(|name| find(name).ok_or_else(|| format!("no values of {slot}.{name}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::settings::CONCEPTS;
    use super::*;

    const READER: Reader = Reader { settings: &CONCEPTS };

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
            READER.parse("is {person.who}'s bus [home=place] (at {time.hour}|) ok", &kinds()).unwrap(),
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
            assert_eq!(READER.parse(text, &kinds()).unwrap_err(), found);
        }
    }
}
