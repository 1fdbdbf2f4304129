//! How well a rule recovers phrases: of each gold slot with two or more words one word is marked, and the rule has to
//! find the others.
//!
//! Every word of the slot is marked in turn. A result is *exact* if the phrase is the slot, *over* if it has a word
//! outside it, *under* if it lacks one of its words; it may be both of these.

use std::collections::BTreeMap;

use super::phrase::{Rule, grow};
use super::{Parse, SyntaxWorker, Upos};
use crate::label::{TokenSpan, spans};
use crate::utterance::Utterance;

/// What stops a phrase from growing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Walls {
    /// Nothing.
    None,
    /// Words of other slots, as if they were certain.
    Slots,
    /// All words outside the slot, as if they were certain.
    Oracle,
}

impl Walls {
    /// All of them.
    pub const ALL: [Walls; 3] = [Walls::None, Walls::Slots, Walls::Oracle];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Walls::None => "none",
            Walls::Slots => "other slots",
            Walls::Oracle => "oracle",
        }
    }
}

/// How a phrase is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// By a rule.
    Rule(Rule),
    /// Everything up to the next wall, without function words at its ends: what a rule could reach.
    Fill,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 4] =
        [Method::Rule(Rule::Literal), Method::Rule(Rule::Tree), Method::Rule(Rule::Run), Method::Fill];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Rule(rule) => rule.name(),
            Method::Fill => "fill",
        }
    }
}

/// How often a phrase was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Words that were marked.
    pub marked: usize,
    /// The phrase is the slot.
    pub exact: usize,
    /// It has a word outside the slot.
    pub over: usize,
    /// It lacks a word of the slot.
    pub under: usize,
}

impl Tally {
    fn count(&mut self, grown: &[bool], marked: usize, &TokenSpan { start, end, .. }: &TokenSpan) {
        let first = (0..marked).rev().take_while(|&word| grown[word]).last().unwrap_or(marked);
        let last = (marked..grown.len()).take_while(|&word| grown[word]).last().unwrap_or(marked);
        let (over, under) = (first < start || last >= end, first > start || last + 1 < end);
        self.marked += 1;
        self.exact += usize::from(!over && !under);
        self.over += usize::from(over);
        self.under += usize::from(under);
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// How phrases were found.
    pub method: Method,
    /// What stopped them.
    pub walls: Walls,
    /// Over all slots.
    pub all: Tally,
    /// For each slot.
    pub slots: BTreeMap<String, Tally>,
}

/// Measures all methods with all walls.
pub fn measure(worker: &mut SyntaxWorker, utterances: &[Utterance]) -> Vec<Row> {
    let rows = Walls::ALL.into_iter().flat_map(|walls| Method::ALL.map(|method| (method, walls)));
    let mut rows: Vec<Row> = rows
        .map(|(method, walls)| Row { method, walls, all: Tally::default(), slots: BTreeMap::new() })
        .collect();
    for utterance in utterances {
        let slots = spans(&utterance.labels);
        let is_phrase = |slot: &&TokenSpan| slot.end - slot.start >= 2;
        if !slots.iter().any(|slot| is_phrase(&slot)) {
            continue;
        }
        let words: Vec<&str> = utterance.words.iter().map(String::as_str).collect();
        let parse = worker.parse(&words);
        for slot in slots.iter().filter(is_phrase) {
            for row in &mut rows {
                let walls = walls(row.walls, &slots, slot, words.len());
                let of_slot = row.slots.entry(slot.slot.clone()).or_default();
                for marked in slot.start..slot.end {
                    let grown = find(row.method, &parse, marked, &walls);
                    row.all.count(&grown, marked, slot);
                    of_slot.count(&grown, marked, slot);
                }
            }
        }
    }
    rows
}

fn walls(walls: Walls, slots: &[TokenSpan], slot: &TokenSpan, n: usize) -> Vec<bool> {
    let is_other = |word: usize| !(slot.start..slot.end).contains(&word);
    (0..n)
        .map(|word| match walls {
            Walls::None => false,
            Walls::Slots => is_other(word) && slots.iter().any(|slot| (slot.start..slot.end).contains(&word)),
            Walls::Oracle => is_other(word),
        })
        .collect()
}

fn find(method: Method, parse: &Parse, marked: usize, walls: &[bool]) -> Vec<bool> {
    let n = walls.len();
    match method {
        Method::Rule(rule) => {
            let unknown: Vec<bool> = (0..n).map(|word| word == marked).collect();
            grow(rule, parse, &unknown, walls)
        }
        Method::Fill => {
            let is_function = |word: usize| {
                use Upos::{Adp, Aux, Cconj, Det, Part, Pron, Punct, Sconj};
                matches!(parse.upos[word], Adp | Aux | Cconj | Det | Part | Pron | Punct | Sconj)
            };
            let first = (0..marked).rev().take_while(|&word| !walls[word]).last().unwrap_or(marked);
            let last =
                (marked..n).take_while(|&word| word == marked || !walls[word]).last().unwrap_or(marked);
            let first = (first..marked).find(|&word| !is_function(word)).unwrap_or(marked);
            let last =
                (marked..=last).rev().find(|&word| word == marked || !is_function(word)).unwrap_or(marked);
            (0..n).map(|word| (first..=last).contains(&word)).collect()
        }
    }
}
