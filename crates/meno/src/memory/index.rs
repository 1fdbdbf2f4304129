//! Finds phrases in texts: a hash table of word sequences.
//!
//! Words, slots, values and owners are kept once and named by numbers; a concept is 32 bytes and 8 for each word. Its key is
//! its owner with the stems of its words, so a search for a user meets that user's concepts and everyone's, and no other.
//! A search looks up every run of words that is not longer than the longest phrase beginning with its first word; longer
//! ones than one word only if some phrase begins with its first two, as a small filter tells.
//!
//! What is found is bounded whatever was taught, so that a search takes time and memory in proportion to the text: of the phrases
//! that begin with one word the [`NESTED`] longest are found, and of each owner's phrase the newest [`MAX_SLOTS`] concepts.
//!
//! What was removed leaves its texts behind, until there is so much of it that the index is better made anew ([`Index::anew`]).

use std::cmp::Reverse;
use std::ops::Range;

use super::concept::{Concept, MAX_SLOTS, MAX_WORDS};
use super::normal::{LoneS, Word, Words};
use super::spelling::{Spelling, slips};
use super::table::{Filter, Hasher, Interner, Table};

/// What of a concept is needed to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The concept.
    pub id: u64,
    /// The phrase as it was said.
    pub phrase: &'a str,
    /// The slot type.
    pub slot: &'a str,
    /// The value that it stands for.
    pub value: Option<&'a str>,
    /// The user whose it is; `None` for everyone.
    pub user: Option<&'a str>,
}

/// A concept that stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'i> {
    /// The concept.
    pub id: u64,
    /// The slot type.
    pub slot: &'i str,
    /// The value that it stands for.
    pub value: Option<&'i str>,
    /// Whether it is the user's own, not everyone's.
    pub own: bool,
    /// Whether the words are those of the phrase, not a plural, a possessive or a misspelling of them.
    pub exact: bool,
    /// How many words it has.
    pub n_words: usize,
    /// The first byte in the text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// The phrases of all concepts.
#[derive(Clone, Debug)]
pub struct Index {
    /// Stems and normal forms; the byte of each is how long the longest phrase is that begins with it.
    words: Interner,
    slots: Interner,
    values: Interner,
    owners: Interner,
    concepts: Vec<Indexed>,
    /// Places in `concepts` that can be filled again.
    free: Vec<u32>,
    /// The stems of the words of all concepts.
    stems: Vec<u32>,
    /// Their normal forms.
    normals: Vec<u32>,
    /// The bytes that concepts took which are gone, about.
    n_stale: usize,
    /// How many concepts are left out because there are newer ones of the same phrase.
    n_left_out: usize,
    by_phrase: Table,
    by_id: Table,
    /// The first two words of phrases.
    pairs: Filter,
    /// The words of each owner's phrases.
    vocabulary: Filter,
    hasher: Hasher,
    /// What phrases are read into.
    buffer: Words,
}

#[derive(Clone, Copy, Debug)]
struct Indexed {
    id: u64,
    /// The first of its words in `stems` and `normals`.
    start: u32,
    /// None if its place is free.
    n_words: u8,
    has_value: bool,
    /// Whether it is not in the table of phrases.
    is_left_out: bool,
    owner: u32,
    slot: u32,
    value: u32,
}

impl Indexed {
    /// Where its words are.
    fn words(&self) -> Range<usize> {
        self.start as usize..self.start as usize + usize::from(self.n_words)
    }
}

/// A concept as an index has it.
#[derive(Clone, Copy)]
pub struct Kept<'i> {
    index: &'i Index,
    indexed: &'i Indexed,
}

impl<'i> Kept<'i> {
    /// The concept.
    pub fn id(&self) -> u64 {
        self.indexed.id
    }

    /// The user whose it is; `None` for everyone.
    pub fn user(&self) -> Option<&'i str> {
        (self.indexed.owner != EVERYONE).then(|| self.index.owners.text(self.indexed.owner))
    }

    /// The slot type.
    pub fn slot(&self) -> &'i str {
        self.index.slots.text(self.indexed.slot)
    }

    /// The value that it stands for.
    pub fn value(&self) -> Option<&'i str> {
        self.indexed.has_value.then(|| self.index.values.text(self.indexed.value))
    }

    /// The normal forms of the words of its phrase.
    pub fn normals(&self) -> impl Iterator<Item = &'i str> {
        self.index.normals[self.indexed.words()].iter().map(|&id| self.index.words.text(id))
    }

    /// The stems and the normal forms.
    fn words(&self) -> impl Iterator<Item = (&'i str, &'i str)> {
        let stems = self.index.stems[self.indexed.words()].iter();
        stems.map(|&id| self.index.words.text(id)).zip(self.normals())
    }

    fn entry(&self) -> Entry<'i> {
        Entry { id: self.id(), phrase: "", slot: self.slot(), value: self.value(), user: self.user() }
    }

    /// The bytes that it takes, about: words and slots are often shared.
    fn size(&self) -> usize {
        let words: usize = self.normals().map(|word| word.len() + WORD).sum();
        words + self.value().map_or(0, str::len) + self.slot().len() + self.user().map_or(0, str::len)
    }
}

/// The bytes of the two numbers of a word.
const WORD: usize = 8;

/// So many bytes may always be left behind.
const STALE: usize = 16 << 10;

/// A word of a text, and the number of its stem if a phrase has it.
type Place<'a> = (Word<'a>, Option<u32>);

/// Of the phrases that begin with one word of a text, or that stand around a misspelt one, so many are found: the longest.
pub(super) const NESTED: usize = 4;

/// So many words are tried that a misspelt one may be.
const MAX_SLIPS: usize = 4;

/// A concept whose phrase stands in a text, by the number of its first word there.
#[derive(Clone, Copy)]
struct Run {
    concept: u32,
    first: usize,
    n_words: usize,
}

impl Run {
    /// What sorts the longest first.
    fn place(&self) -> (Reverse<usize>, usize) {
        (Reverse(self.n_words), self.first)
    }
}

/// Keeps those at the places of the most words.
fn keep_longest(runs: &mut Vec<Run>) {
    runs.sort_by_key(Run::place);
    let n = runs.chunk_by(|a, b| a.place() == b.place()).take(NESTED).map(<[Run]>::len).sum();
    runs.truncate(n);
}

/// The first owner's number; users have names that are not empty.
const EVERYONE: u32 = 0;

impl<'a> From<&'a Concept> for Entry<'a> {
    fn from(concept: &'a Concept) -> Self {
        Entry {
            id: concept.id,
            phrase: &concept.phrase,
            slot: &concept.slot,
            value: concept.value.as_deref(),
            user: concept.owner.user(),
        }
    }
}

impl Default for Index {
    fn default() -> Self {
        Index::with_capacity(0)
    }
}

impl Index {
    /// An empty index with room for so many concepts.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut owners = Interner::default();
        owners.intern("");
        Index {
            words: Interner::default(),
            slots: Interner::default(),
            values: Interner::default(),
            owners,
            concepts: Vec::with_capacity(capacity),
            free: Vec::new(),
            stems: Vec::with_capacity(3 * capacity),
            normals: Vec::with_capacity(3 * capacity),
            n_stale: 0,
            n_left_out: 0,
            by_phrase: Table::with_capacity(capacity),
            by_id: Table::with_capacity(capacity),
            pairs: Filter::with_capacity(capacity),
            vocabulary: Filter::precise(3 * capacity),
            hasher: Hasher::default(),
            buffer: Words::default(),
        }
    }

    /// How many concepts there are.
    pub fn len(&self) -> usize {
        self.concepts.len() - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a concept, in the place of the one with the same id if there is one.
    ///
    /// A phrase that [`super::Draft::check`] refuses, without words or with too many, is never found.
    pub fn insert(&mut self, entry: Entry<'_>) {
        self.remove(entry.id);
        let mut words = std::mem::take(&mut self.buffer);
        words.read_into(entry.phrase, LoneS::Joined);
        if !words.is_empty() && words.len() <= MAX_WORDS {
            self.insert_words(entry, words.iter().map(|word| (word.stem, word.normal)));
        }
        self.buffer = words;
    }

    /// Adds a concept by the stems and the normal forms of its words.
    fn insert_words<'w>(&mut self, entry: Entry<'_>, words: impl Iterator<Item = (&'w str, &'w str)>) {
        let start = self.stems.len();
        let owner = entry.user.map_or(EVERYONE, |user| self.owners.intern(user));
        for (stem, normal) in words {
            let id = self.words.intern(stem);
            self.stems.push(id);
            self.normals.push(if normal == stem { id } else { self.words.intern(normal) });
        }
        let n_words = (self.stems.len() - start) as u8;
        let longest = self.words.byte_mut(self.stems[start]);
        *longest = n_words.max(*longest);
        let indexed = Indexed {
            id: entry.id,
            start: start as u32,
            n_words,
            has_value: entry.value.is_some(),
            is_left_out: false,
            owner,
            slot: self.slots.intern(entry.slot),
            value: entry.value.map_or(0, |value| self.values.intern(value)),
        };
        self.place(indexed);
    }

    fn place(&mut self, indexed: Indexed) {
        let at = match self.free.pop() {
            Some(at) => {
                self.concepts[at as usize] = indexed;
                at
            }
            None => {
                self.concepts.push(indexed);
                self.concepts.len() as u32 - 1
            }
        };
        self.by_id.insert(self.id_hash(indexed.id), at);
        self.enter(at);
        if self.pairs.is_full() || self.vocabulary.is_full() {
            self.refilter();
        } else {
            self.filter(&indexed);
        }
    }

    /// Has a concept be found by its phrase; if there are too many, the oldest of them is left out.
    fn enter(&mut self, at: u32) {
        let indexed = self.concepts[at as usize];
        let key = self.key(&indexed);
        self.by_phrase.insert(key, at);
        let same = || self.of_phrase(key, indexed.owner, self.phrase(&indexed));
        if same().count() <= MAX_SLOTS {
            return;
        }
        if let Some(oldest) = same().min_by_key(|&at| self.concepts[at as usize].id) {
            self.by_phrase.remove(key, oldest);
            self.concepts[oldest as usize].is_left_out = true;
            self.n_left_out += 1;
        }
    }

    /// Takes a concept out of the table of phrases; the newest that was left out there takes its place.
    fn leave(&mut self, at: u32) {
        let indexed = self.concepts[at as usize];
        if indexed.is_left_out {
            self.n_left_out -= 1;
            return;
        }
        self.by_phrase.remove(self.key(&indexed), at);
        if self.n_left_out == 0 {
            return;
        }
        let is_next = |other: &&Indexed| {
            other.is_left_out && other.owner == indexed.owner && self.phrase(other) == self.phrase(&indexed)
        };
        let next = self.concepts.iter().filter(is_next).map(|other| other.id).max();
        if let Some(at) = next.and_then(|id| self.at(id)) {
            self.concepts[at as usize].is_left_out = false;
            self.n_left_out -= 1;
            self.enter(at);
        }
    }

    /// The concepts of an owner's phrase that are not left out.
    fn of_phrase(&self, key: u64, owner: u32, words: &[u32]) -> impl Iterator<Item = u32> {
        self.by_phrase.candidates(key).filter(move |&at| {
            let indexed = &self.concepts[at as usize];
            indexed.owner == owner && self.phrase(indexed) == words
        })
    }

    /// Where a concept is.
    fn at(&self, id: u64) -> Option<u32> {
        self.by_id.candidates(self.id_hash(id)).find(|&at| self.concepts[at as usize].id == id)
    }

    /// Makes the filters anew, with room for as many again.
    fn refilter(&mut self) {
        self.pairs = Filter::with_capacity(2 * self.concepts.len());
        self.vocabulary = Filter::precise(2 * self.stems.len());
        for at in 0..self.concepts.len() {
            let indexed = self.concepts[at];
            self.filter(&indexed);
        }
    }

    fn filter(&mut self, indexed: &Indexed) {
        if let Some(pair) = self.pair(self.phrase(indexed)) {
            self.pairs.insert(pair);
        }
        for at in indexed.words() {
            self.vocabulary.insert(self.owned(indexed.owner, self.stems[at]));
        }
    }

    /// The hash of a word of somebody's phrases.
    fn owned(&self, owner: u32, stem: u32) -> u64 {
        self.hasher.mix(self.hasher.mix(0, owner.into()), stem.into())
    }

    /// The hash of the first two words.
    fn pair(&self, words: &[u32]) -> Option<u64> {
        let &[first, second, ..] = words else { return None };
        Some(self.hasher.mix(self.hasher.mix(0, first.into()), second.into()))
    }

    /// Takes a concept out; whether it was there.
    pub fn remove(&mut self, id: u64) -> bool {
        let Some(at) = self.at(id) else { return false };
        let indexed = self.concepts[at as usize];
        self.by_id.remove(self.id_hash(id), at);
        self.leave(at);
        self.n_stale += self.kept(&indexed).size();
        self.concepts[at as usize] = Indexed { start: 0, n_words: 0, is_left_out: false, ..indexed };
        self.free.push(at);
        true
    }

    /// The same index without what removed concepts left behind, if that is more than a third of all.
    pub fn anew(&self) -> Option<Index> {
        let is_wasteful = self.n_stale > (self.texts_size() + WORD * self.stems.len()) / 3 + STALE;
        is_wasteful.then(|| self.compacted())
    }

    /// The bytes of all texts.
    pub(super) fn texts_size(&self) -> usize {
        [&self.words, &self.slots, &self.values, &self.owners].map(Interner::size).iter().sum()
    }

    /// The same concepts in an index of their own.
    pub(super) fn compacted(&self) -> Index {
        let mut index = Index::with_capacity(self.len());
        for kept in self.in_places(0..self.n_places()) {
            index.insert_words(kept.entry(), kept.words());
        }
        index
    }

    /// How many places for concepts there are; some may be free.
    pub fn n_places(&self) -> usize {
        self.concepts.len()
    }

    /// The concepts in some of its places.
    pub fn in_places(&self, places: Range<usize>) -> impl Iterator<Item = Kept<'_>> {
        self.concepts[places].iter().filter(|indexed| indexed.n_words > 0).map(|indexed| self.kept(indexed))
    }

    fn kept<'i>(&'i self, indexed: &'i Indexed) -> Kept<'i> {
        Kept { index: self, indexed }
    }

    /// The concepts of the user and of everyone whose phrases stand in the text: the one of most words first, then the one
    /// that begins first, then exact ones, then the one that ends last; among those at one place the user's own first, then
    /// the newest. Where more than four phrases begin with the same word of the text, the longest are found.
    pub fn find(&self, text: &str, user: Option<&str>) -> Vec<Found<'_>> {
        self.find_spelt(text, user, Spelling::Strict)
    }

    /// As [`Index::find`], also with misspellings if they are forgiven.
    pub fn find_spelt(&self, text: &str, user: Option<&str>, spelling: Spelling) -> Vec<Found<'_>> {
        let user = user.filter(|user| !user.is_empty()).and_then(|user| self.owners.id(user));
        let owners = [Some(EVERYONE), user];
        let words = Words::read(text, LoneS::Apart);
        let mut found = Vec::new();
        self.find_words(&words, owners, spelling, &mut found);
        if words.has_lone_s {
            self.find_words(&Words::read(text, LoneS::Joined), owners, spelling, &mut found);
        }
        let order = |found: &Found<'_>| {
            let place = (Reverse(found.n_words), found.start, !found.exact, Reverse(found.end));
            (place, !found.own, Reverse(found.id))
        };
        found.sort_by_key(order);
        found.dedup();
        found
    }

    fn find_words<'i>(
        &'i self,
        words: &Words,
        owners: [Option<u32>; 2],
        spelling: Spelling,
        found: &mut Vec<Found<'i>>,
    ) {
        let mut places: Vec<Place<'_>> = words.iter().map(|word| (word, self.words.id(word.stem))).collect();
        let mut runs = Vec::new();
        for first in 0..places.len() {
            self.find_runs(&places, first, owners, &mut runs);
            keep_longest(&mut runs);
            found.extend(runs.drain(..).map(|run| self.found(run, &places)));
        }
        if spelling == Spelling::Strict {
            return;
        }
        for at in 0..places.len() {
            let (word, id) = places[at];
            // What others taught makes no difference.
            if id.is_some_and(|id| self.is_word_of(id, owners)) {
                continue;
            }
            let mut ids = Vec::new();
            slips(word.stem, |slip| ids.extend(self.words.id(slip)));
            ids.sort_unstable();
            ids.dedup();
            ids.retain(|&id| self.is_word_of(id, owners));
            for &id in ids.iter().take(MAX_SLIPS) {
                places[at].1 = Some(id);
                self.find_runs_over(&places, at, owners, &mut runs);
            }
            places[at].1 = id;
            let misspelt = |run| Found { exact: false, ..self.found(run, &places) };
            found.extend(runs.drain(..).map(misspelt));
        }
    }

    /// Whether somebody's phrases have a word, by its stem.
    fn is_word_of(&self, stem: u32, owners: [Option<u32>; 2]) -> bool {
        owners.into_iter().flatten().any(|owner| self.vocabulary.may_have(self.owned(owner, stem)))
    }

    /// Finds phrases that have this word; the longest are kept.
    fn find_runs_over(&self, places: &[Place<'_>], at: usize, owners: [Option<u32>; 2], runs: &mut Vec<Run>) {
        for first in (at + 1).saturating_sub(MAX_WORDS)..=at {
            self.find_runs(places, first, owners, runs);
            runs.retain(|run| at < run.first + run.n_words);
            keep_longest(runs);
        }
    }

    /// Finds phrases that begin with this word.
    fn find_runs(&self, places: &[Place<'_>], first: usize, owners: [Option<u32>; 2], runs: &mut Vec<Run>) {
        let longest = places[first].1.map_or(0, |id| self.words.byte(id));
        let (mut hash, mut words) = (0, [0; MAX_WORDS]);
        for (&(_, id), n_words) in places[first..].iter().take(usize::from(longest)).zip(1..) {
            let Some(id) = id else { break };
            words[n_words - 1] = id;
            hash = self.hasher.mix(hash, id.into());
            if n_words == 2 && !self.pairs.may_have(hash) {
                break;
            }
            for owner in owners.into_iter().flatten() {
                let key = self.hasher.mix(hash, owner.into());
                let there = self.of_phrase(key, owner, &words[..n_words]);
                runs.extend(there.map(|concept| Run { concept, first, n_words }));
            }
        }
    }

    fn found(&self, run: Run, places: &[Place<'_>]) -> Found<'_> {
        let words = &places[run.first..run.first + run.n_words];
        let indexed = &self.concepts[run.concept as usize];
        let kept = self.kept(indexed);
        Found {
            id: indexed.id,
            slot: kept.slot(),
            value: kept.value(),
            own: indexed.owner != EVERYONE,
            exact: kept.words().zip(words).all(|((_, normal), (word, _))| normal == word.normal),
            n_words: words.len(),
            start: words[0].0.start,
            end: words[words.len() - 1].0.end,
        }
    }

    fn phrase(&self, indexed: &Indexed) -> &[u32] {
        &self.stems[indexed.words()]
    }

    fn key(&self, indexed: &Indexed) -> u64 {
        let phrase = self.phrase(indexed).iter();
        let hash = phrase.fold(0, |hash, &word| self.hasher.mix(hash, word.into()));
        self.hasher.mix(hash, indexed.owner.into())
    }

    /// Stores count ids up: eight that follow each other share a cache line of the table.
    fn id_hash(&self, id: u64) -> u64 {
        let within = 7 << 32;
        self.hasher.mix(0, id / 8) & !within | id << 32 & within
    }
}
