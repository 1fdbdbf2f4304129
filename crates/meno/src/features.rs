//! From words to ids: what the encoder sees of an utterance, and what its answers mean.

use std::collections::HashMap;

use crate::corpus::Utterance;

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

    /// The id of a normalised word.
    pub fn word(&self, word: &str) -> u32 {
        self.words.id(word).unwrap_or(UNKNOWN)
    }
}

/// The intent that a corpus names first: `a` of `a#b`.
pub fn first_intent(intent: &str) -> &str {
    intent.split('#').next().unwrap_or(intent)
}
