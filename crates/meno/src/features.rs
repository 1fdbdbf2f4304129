//! From words to ids: what the encoder sees of an utterance, and what its answers mean.

use std::collections::HashMap;

use crate::corpus::Utterance;
use crate::corpus::tags;
use crate::encoder::Form;

/// The id of every word that the training data did not have.
pub const UNKNOWN: u32 = 0;

/// Names with ids, the more frequent first.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<String>,
    ids: HashMap<String, u32>,
}

impl Names {
    /// These names, in this order.
    pub fn new(names: Vec<String>) -> Self {
        let ids = names.iter().cloned().zip(0..).collect();
        Names { names, ids }
    }

    /// The distinct names after `first`, by falling frequency, then in order of appearance.
    fn count<'a>(first: &[&str], names: impl Iterator<Item = &'a str>) -> Self {
        let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
        for (position, name) in names.enumerate() {
            counts.entry(name).or_insert((0, position)).0 += 1;
        }
        let mut ranked: Vec<_> = counts.into_iter().filter(|(name, _)| !first.contains(name)).collect();
        ranked.sort_by_key(|&(_, (count, position))| (std::cmp::Reverse(count), position));
        let ranked = ranked.into_iter().map(|(name, _)| name);
        Names::new(first.iter().copied().chain(ranked).map(str::to_owned).collect())
    }

    /// The id of a name.
    pub fn id(&self, name: &str) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// The name of an id.
    pub fn name(&self, id: u32) -> &str {
        &self.names[id as usize]
    }

    /// All names in the order of their ids.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// The vocabulary, the labels and the intents of a training corpus.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// Words; [`UNKNOWN`] is the first.
    pub words: Names,
    /// Slot labels; `O` is the first.
    pub labels: Names,
    /// Intents.
    pub intents: Names,
}

/// The name under which unknown words stand in the vocabulary; no word of a corpus can look like it.
const UNKNOWN_NAME: &str = "<unknown word>";

impl Features {
    /// What a training corpus knows, with its words in the form in which the normaliser leaves them.
    pub fn fit<'a>(
        utterances: impl Iterator<Item = &'a Utterance> + Clone,
        word: impl Fn(&str) -> String,
    ) -> Self {
        let words: Vec<String> = utterances.clone().flat_map(|u| &u.words).map(|w| word(w)).collect();
        Features {
            words: Names::count(&[UNKNOWN_NAME], words.iter().map(String::as_str)),
            labels: Names::count(&["O"], utterances.clone().flat_map(|u| &u.labels).map(String::as_str)),
            intents: Names::count(&[], utterances.map(|u| first_intent(&u.intent))),
        }
    }

    /// The same with two labels for each slot, `B-` and `I-`, whether or not both occur: label `1 + 2 n` begins slot n.
    pub fn with_paired_labels(mut self) -> Self {
        let slots =
            self.labels.names().iter().map(|label| tags::split(label).1).filter(|slot| !slot.is_empty());
        let slots = Names::count(&[], slots);
        let pairs = slots.names().iter().flat_map(|slot| ["B", "I"].map(|prefix| format!("{prefix}-{slot}")));
        self.labels = Names::new(std::iter::once("O".to_owned()).chain(pairs).collect());
        self
    }

    /// The slots, in the order of paired labels.
    pub fn slots(&self) -> Vec<String> {
        let begins = self.labels.names().iter().filter_map(|label| label.strip_prefix("B-"));
        begins.map(str::to_owned).collect()
    }

    /// The id of a normalised word.
    pub fn word(&self, word: &str) -> u32 {
        self.words.id(word).unwrap_or(UNKNOWN)
    }
}

/// The characters of the words of a corpus.
#[derive(Clone, Debug, Default)]
pub struct Alphabet {
    characters: Vec<char>,
    ids: HashMap<char, u8>,
}

/// Ids of characters: all that are not in the alphabet, and the ends of a word.
const OTHER: u8 = 0;
const WORD_START: u8 = 1;
const WORD_END: u8 = 2;
const N_SPECIAL: usize = 3;
/// Characters of a word that are looked at, its first ones.
const MAX_CHARACTERS: usize = 14;

impl Alphabet {
    /// The most characters that there can be.
    pub const MAX: usize = u8::MAX as usize + 1 - N_SPECIAL;

    /// These characters, in this order; at most [`Alphabet::MAX`] of them.
    pub fn new(characters: Vec<char>) -> Self {
        let ids = characters.iter().copied().zip(N_SPECIAL as u8..=u8::MAX).collect();
        Alphabet { characters, ids }
    }

    /// The characters of these words, the more frequent first.
    pub fn fit<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let letters: Vec<String> = words.flat_map(str::chars).map(String::from).collect();
        let names = Names::count(&[], letters.iter().map(String::as_str));
        let most = names.names().iter().take(Alphabet::MAX);
        Alphabet::new(most.flat_map(|name| name.chars()).collect())
    }

    /// The characters in the order of their ids.
    pub fn characters(&self) -> &[char] {
        &self.characters
    }

    /// How many ids there are.
    pub fn len(&self) -> usize {
        N_SPECIAL + self.characters.len()
    }

    /// Whether there is no character but the special ones.
    pub fn is_empty(&self) -> bool {
        self.characters.is_empty()
    }

    /// What a word looks like.
    pub fn form(&self, word: &str) -> Form {
        let id = |c: char| self.ids.get(&c).copied().unwrap_or(OTHER);
        let letters = word.chars().take(MAX_CHARACTERS).map(id);
        let mut characters: Vec<u8> = std::iter::once(WORD_START).chain(letters).chain([WORD_END]).collect();
        if characters.len() == 2 {
            characters.insert(1, OTHER);
        }
        Form { characters, vector: Vec::new() }
    }
}

/// The intent that a corpus names first: `a` of `a#b`.
pub fn first_intent(intent: &str) -> &str {
    intent.split('#').next().unwrap_or(intent)
}
