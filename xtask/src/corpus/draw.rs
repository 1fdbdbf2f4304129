//! Combines patterns and values into the four splits.
//!
//! Some values and some patterns are held out of train, so that valid and test ask for more than recall;
//! the commonest values never are, as a corpus without "tomorrow" in train would be of no use.

use std::collections::HashSet;

use meno::Result;
use meno::corpus::Utterance;
use meno::label::{self, TokenSpan};
use meno::random::Random;

use super::settings::Settings;
use super::source::{Pattern, Piece, Source, problem, without_lead};
use super::speech::{Part, chance, disturb, misspell};

/// How often one pattern is tried before it is given up as exhausted.
const N_TRIES: usize = 40;

/// The corpus.
pub struct Splits {
    pub train: Vec<Utterance>,
    pub valid: Vec<Utterance>,
    pub test: Vec<Utterance>,
    pub new: Vec<Utterance>,
}

impl Splits {
    /// The splits that there are with the names of their folders.
    pub fn named(&self) -> Vec<(&'static str, &[Utterance])> {
        let all: [(&str, &[Utterance]); 4] =
            [("train", &self.train), ("valid", &self.valid), ("test", &self.test), ("new", &self.new)];
        all.into_iter().filter(|(_, split)| !split.is_empty()).collect()
    }
}

/// Draws every split from `source`.
pub fn draw(source: &Source) -> Result<Splits> {
    let sizes = source.settings.sizes;
    let mut random = Random::new(source.settings.seed);
    let mut generator = Generator::new(source, &mut random);
    let mut sentences: Vec<&Pattern> = source.sentences.iter().collect();
    random.shuffle(&mut sentences);
    let n = sentences.len();
    let (in_train, rest) = sentences.split_at(n * 8 / 10);
    let (in_valid, in_test) = rest.split_at(if sizes[2] > 0 { n * 7 / 100 } else { rest.len() });

    let train = generator.split(sizes[0], in_train, false, &mut random.fork(1))?;
    let valid = generator.split(sizes[1], in_valid, true, &mut random.fork(2))?;
    let test = generator.split(sizes[2], in_test, true, &mut random.fork(3))?;
    let new = generator.new_concepts(&mut random.fork(4))?;
    Ok(Splits { train, valid, test, new })
}

struct Generator<'a> {
    source: &'a Source,
    settings: &'a Settings,
    /// For each kind, the values train may use, commonest first, and those it may not.
    known: Vec<Vec<&'a str>>,
    held_out: Vec<Vec<&'a str>>,
    /// For each intent, commonest first.
    known_patterns: Vec<Vec<&'a Pattern>>,
    held_out_patterns: Vec<&'a Pattern>,
    /// Every text so far: none stands twice.
    texts: HashSet<String>,
}

/// A new concept that has to stand somewhere.
#[derive(Clone, Copy)]
struct Concept<'a> {
    kind_idx: usize,
    words: &'a str,
}

impl<'a> Generator<'a> {
    fn new(source: &'a Source, random: &mut Random) -> Self {
        let settings = source.settings;
        let (mut known, mut held_out) = (Vec::new(), Vec::new());
        for kind in &source.kinds {
            let values: Vec<&str> = kind.values.iter().map(String::as_str).collect();
            let (kind_known, kind_held_out) =
                hold_out(&values, settings.head, settings.held_out_values, random);
            known.push(kind_known);
            held_out.push(kind_held_out);
        }
        let mut intents: Vec<&str> = Vec::new();
        for pattern in &source.patterns {
            if !intents.contains(&pattern.intent.as_str()) {
                intents.push(&pattern.intent);
            }
        }
        let (mut known_patterns, mut held_out_patterns) = (Vec::new(), Vec::new());
        for intent in intents {
            let of_intent: Vec<&Pattern> = source.patterns.iter().filter(|p| p.intent == intent).collect();
            let (intent_known, intent_held_out) =
                hold_out(&of_intent, settings.head, settings.held_out_patterns, random);
            known_patterns.push(intent_known);
            held_out_patterns.extend(intent_held_out);
        }
        Generator {
            source,
            settings,
            known,
            held_out,
            known_patterns,
            held_out_patterns,
            texts: HashSet::new(),
        }
    }

    /// One of train, valid, test: its `sentences` and patterns in turn until it is full.
    fn split(
        &mut self,
        size: usize,
        sentences: &[&'a Pattern],
        evaluation: bool,
        random: &mut Random,
    ) -> Result<Vec<Utterance>> {
        let mut utterances = Vec::new();
        for sentence in sentences {
            let parts = self.fill(sentence, evaluation, &mut Vec::new(), random);
            utterances.extend(self.finish(sentence, &parts, random)?);
        }
        if !evaluation {
            for pattern in self.known_patterns.concat() {
                utterances.extend(self.try_pattern(pattern, evaluation, &[], random)?);
            }
        }
        let mut held_out = Deck::default();
        while utterances.len() < size {
            let pattern = if evaluation && chance(random, self.settings.draw_held_out_pattern) {
                held_out.next(&self.held_out_patterns, random)
            } else {
                let of_intent = &self.known_patterns[random.below(self.known_patterns.len())];
                common(of_intent, self.settings.pattern_skew, random)
            };
            utterances.extend(self.try_pattern(pattern, evaluation, &[], random)?);
        }
        random.shuffle(&mut utterances);
        Ok(number(utterances))
    }

    /// The `new` split: every concept in turn, in patterns as test draws them.
    fn new_concepts(&mut self, random: &mut Random) -> Result<Vec<Utterance>> {
        let concepts: Vec<Concept<'a>> = (self.source.kinds.iter().enumerate())
            .flat_map(|(kind_idx, kind)| kind.concepts.iter().map(move |words| Concept { kind_idx, words }))
            .collect();
        let size = self.settings.sizes[3];
        let mut deck = Deck::default();
        let mut n_failed = 0;
        let mut utterances = Vec::new();
        while utterances.len() < size {
            let n_concepts = if utterances.len() < self.settings.n_double { 2 } else { 1 };
            let wanted: Vec<Concept<'a>> = (0..n_concepts).map(|_| deck.next(&concepts, random)).collect();
            let held_out = chance(random, self.settings.draw_held_out_pattern);
            let mut fitting =
                if held_out { self.held_out_patterns.clone() } else { self.fitting_known(&wanted, random) };
            fitting.retain(|pattern| fits(&pattern.pieces, &wanted));
            let utterance = match fitting.as_slice() {
                [] => None,
                fitting => self.try_pattern(
                    common(fitting, self.settings.pattern_skew, random),
                    true,
                    &wanted,
                    random,
                )?,
            };
            match utterance {
                Some(utterance) => utterances.push(utterance),
                // A concept that no pattern can hold would be put back for ever.
                None if n_failed > N_TRIES * size => {
                    let path = &self.source.patterns[0].path;
                    return Err(problem(path, 1, format!("no pattern holds `{}`", wanted[0].words)));
                }
                None => {
                    n_failed += 1;
                    wanted.into_iter().for_each(|concept| deck.put_back(concept, random));
                }
            }
        }
        random.shuffle(&mut utterances);
        Ok(number(utterances))
    }

    /// The known patterns of an intent that can hold `wanted`.
    fn fitting_known(&self, wanted: &[Concept<'a>], random: &mut Random) -> Vec<&'a Pattern> {
        let can_hold =
            |patterns: &&Vec<&Pattern>| patterns.iter().any(|pattern| fits(&pattern.pieces, wanted));
        let intents: Vec<&Vec<&Pattern>> = self.known_patterns.iter().filter(can_hold).collect();
        if intents.is_empty() { Vec::new() } else { intents[random.below(intents.len())].clone() }
    }

    /// An utterance of `pattern` that was not said before and holds all of `wanted`, if there is one.
    fn try_pattern(
        &mut self,
        pattern: &'a Pattern,
        evaluation: bool,
        wanted: &[Concept<'a>],
        random: &mut Random,
    ) -> Result<Option<Utterance>> {
        for _ in 0..N_TRIES {
            let mut missing = wanted.to_vec();
            let mut parts = self.fill(pattern, evaluation, &mut missing, random);
            if !missing.is_empty() {
                continue;
            }
            disturb(self.source, &mut parts, random, &mut |kind_idx, random| {
                self.value(kind_idx, evaluation, random).to_owned()
            });
            let utterance = self.finish(pattern, &parts, random)?;
            if utterance.is_some() {
                return Ok(utterance);
            }
        }
        Ok(None)
    }

    /// The pattern with its choices made and its values drawn; concepts that found a place leave `missing`.
    fn fill(
        &self,
        pattern: &'a Pattern,
        evaluation: bool,
        missing: &mut Vec<Concept<'a>>,
        random: &mut Random,
    ) -> Vec<Part> {
        let mut pieces = Vec::new();
        choose(&pattern.pieces, random, &mut pieces);
        // Where each concept goes is chosen among all places it fits, so that it is not always the first.
        let mut concept_at = vec![None; pieces.len()];
        missing.retain(|concept| {
            let free: Vec<usize> = (0..pieces.len())
                .filter(|&idx| concept_at[idx].is_none() && takes(pieces[idx], concept.kind_idx))
                .collect();
            if !free.is_empty() {
                concept_at[free[random.below(free.len())]] = Some(*concept);
            }
            free.is_empty()
        });
        let mut used: HashSet<&str> = HashSet::new();
        let mut parts = Vec::new();
        for (piece, concept) in pieces.into_iter().zip(concept_at) {
            parts.push(match piece {
                Piece::Word(word) => Part::Word(word.clone()),
                Piece::Literal { words, slot } => Part::Value {
                    words: words.clone(),
                    slot: slot.clone(),
                    kind_idx: None,
                    new: false,
                    possessive: false,
                },
                Piece::Value { kind_idxs, possessive } => {
                    let (kind_idx, words) = match concept {
                        Some(concept) => (concept.kind_idx, concept.words),
                        None => self.unused_value(kind_idxs, evaluation, &mut used, random),
                    };
                    let slot = self.source.kinds[kind_idx].slot.clone();
                    let words = if *possessive { possessive_of(words) } else { words.to_owned() };
                    let new = concept.is_some();
                    Part::Value { words, slot, kind_idx: Some(kind_idx), new, possessive: *possessive }
                }
                Piece::Choice(_) => unreachable!("choices were made above"),
            });
        }
        parts
    }

    fn unused_value(
        &self,
        kind_idxs: &[usize],
        evaluation: bool,
        used: &mut HashSet<&'a str>,
        random: &mut Random,
    ) -> (usize, &'a str) {
        loop {
            let n_values: usize = kind_idxs.iter().map(|&idx| self.source.kinds[idx].values.len()).sum();
            let mut nth = random.below(n_values);
            let kind_idx = *kind_idxs
                .iter()
                .find(|&&idx| {
                    let n = self.source.kinds[idx].values.len();
                    let here = nth < n;
                    nth = nth.saturating_sub(n);
                    here
                })
                .expect("nth is below the sum");
            let value = self.value(kind_idx, evaluation, random);
            if used.insert(value) {
                return (kind_idx, value);
            }
        }
    }

    /// A value of a kind: common ones more often, held-out ones only in evaluation.
    fn value(&self, kind_idx: usize, evaluation: bool, random: &mut Random) -> &'a str {
        if evaluation && chance(random, self.settings.draw_held_out) {
            let values = &self.held_out[kind_idx];
            return values[random.below(values.len())];
        }
        common(&self.known[kind_idx], self.settings.value_skew, random)
    }

    /// The labelled utterance, unless its text was said before.
    fn finish(
        &mut self,
        pattern: &Pattern,
        parts: &[Part],
        random: &mut Random,
    ) -> Result<Option<Utterance>> {
        if let Some(found) = split_value(parts, self.settings.joined) {
            return Err(problem(&pattern.path, pattern.line, found));
        }
        let mut utterance = label(parts, &pattern.intent);
        misspell(&mut utterance, self.settings, random);
        Ok(self.texts.insert(utterance.words.join(" ")).then_some(utterance))
    }
}

/// Parts `items`, commonest first, into those train may use and `percent` of them that it may not.
fn hold_out<T: Copy>(items: &[T], head: usize, percent: usize, random: &mut Random) -> (Vec<T>, Vec<T>) {
    let n = items.len();
    let mut tail: Vec<usize> = (n * head / 100..n).collect();
    random.shuffle(&mut tail);
    tail.truncate(n * percent / 100);
    let pick = |held_out: bool| {
        let chosen = (0..n).filter(|idx| tail.contains(idx) == held_out);
        chosen.map(|idx| items[idx]).collect()
    };
    (pick(false), pick(true))
}

/// An item of a list that has the commonest first: the head far more often than the tail.
fn common<T: Copy>(items: &[T], skew: usize, random: &mut Random) -> T {
    let rank = (0..skew).map(|_| random.below(items.len())).min().expect("the skew is not 0");
    items[rank]
}

/// Items in random order, again and again, so that all are used equally often.
struct Deck<T>(Vec<T>);

impl<T> Default for Deck<T> {
    fn default() -> Self {
        Deck(Vec::new())
    }
}

impl<T: Copy> Deck<T> {
    fn next(&mut self, items: &[T], random: &mut Random) -> T {
        if self.0.is_empty() {
            self.0.extend_from_slice(items);
            random.shuffle(&mut self.0);
        }
        self.0.pop().expect("there is at least one item")
    }

    /// Puts an item that could not be used anywhere, so that the same two do not meet for ever.
    fn put_back(&mut self, item: T, random: &mut Random) {
        self.0.insert(random.below(self.0.len() + 1), item);
    }
}

fn choose<'a>(pieces: &'a [Piece], random: &mut Random, chosen: &mut Vec<&'a Piece>) {
    for piece in pieces {
        match piece {
            Piece::Choice(choices) => choose(&choices[random.below(choices.len())], random, chosen),
            piece => chosen.push(piece),
        }
    }
}

fn takes(piece: &Piece, kind_idx: usize) -> bool {
    matches!(piece, Piece::Value { kind_idxs, possessive: false } if kind_idxs.contains(&kind_idx))
}

/// Whether some choice of `pieces` could hold each concept (not necessarily all at once).
fn fits(pieces: &[Piece], concepts: &[Concept<'_>]) -> bool {
    concepts.iter().all(|concept| {
        pieces.iter().any(|piece| match piece {
            Piece::Choice(choices) => choices.iter().any(|choice| fits(choice, &[*concept])),
            piece => takes(piece, concept.kind_idx),
        })
    })
}

fn possessive_of(words: &str) -> String {
    if words.ends_with('s') { format!("{words}'") } else { format!("{words}'s") }
}

/// Where a time is one value however long it is, no pattern may put two where "friday at nine" would be one.
fn split_value(parts: &[Part], joined: &[&str]) -> Option<String> {
    let joins =
        |part: &Part| matches!(part, Part::Word(word) if ["at", "on", "in", "by"].contains(&word.as_str()));
    joined.iter().find_map(|joined| {
        let is_one = |part: &Part| matches!(part, Part::Value { slot, .. } if slot == joined);
        let adjacent = parts.windows(2).any(|pair| is_one(&pair[0]) && is_one(&pair[1]))
            || parts.windows(3).any(|three| is_one(&three[0]) && joins(&three[1]) && is_one(&three[2]));
        adjacent.then(|| format!("two {joined}s that would be one value"))
    })
}

fn label(parts: &[Part], intent: &str) -> Utterance {
    let mut words: Vec<String> = Vec::new();
    let (mut spans, mut true_spans) = (Vec::new(), Vec::new());
    let mut any_new = false;
    for part in parts {
        match part {
            Part::Word(word) => words.push(word.clone()),
            Part::Value { words: value, slot, new, .. } => {
                let (lead, value) = without_lead(value);
                words.extend(lead.split_whitespace().map(str::to_owned));
                if words.last().is_some_and(|word| word == "a") && wants_an(value) {
                    words.pop();
                    words.push("an".to_owned());
                }
                let start = words.len();
                words.extend(value.split(' ').map(str::to_owned));
                let end = words.len();
                let shown = if *new { "unknown" } else { slot };
                spans.push(TokenSpan { start, end, slot: shown.to_owned() });
                true_spans.push(TokenSpan { start, end, slot: slot.clone() });
                any_new |= new;
            }
        }
    }
    let n_tokens = words.len();
    Utterance {
        words,
        labels: label::labels(&spans, n_tokens),
        truth: any_new.then(|| label::labels(&true_spans, n_tokens)),
        intent: intent.to_owned(),
        line: 0,
    }
}

/// Whether "an" stands before these words.
fn wants_an(words: &str) -> bool {
    let starts = |with: &[&str]| with.iter().any(|start| words.starts_with(start));
    starts(&["a", "e", "i", "o", "u", "8", "11 ", "18 "]) && !starts(&["one", "uni", "use", "uk", "eu"])
}

fn number(mut utterances: Vec<Utterance>) -> Vec<Utterance> {
    for (idx, utterance) in utterances.iter_mut().enumerate() {
        utterance.line = idx + 1;
    }
    utterances
}
