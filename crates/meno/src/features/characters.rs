//! Words as characters, for the char-CNN of a span tagger.

use std::collections::{HashMap, HashSet};

use super::Form;
use crate::label::Names;
use crate::text::chars::script;

/// The characters of the words of a corpus.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alphabet {
    characters: Vec<char>,
    ids: HashMap<char, u8>,
    scripts: HashSet<u32>,
}

/// Ids of characters: all that are not in the alphabet, and the ends of a word.
const OTHER: u8 = 0;
const WORD_START: u8 = 1;
const WORD_END: u8 = 2;
const N_SPECIAL: usize = 3;

impl Alphabet {
    /// The most characters that there can be.
    pub(crate) const MAX: usize = u8::MAX as usize + 1 - N_SPECIAL;

    /// Characters of a word that are looked at, its first ones.
    pub(crate) const MAX_CHARACTERS: usize = 14;

    /// These characters, in this order; at most [`Alphabet::MAX`] of them.
    pub(crate) fn new(characters: Vec<char>) -> Self {
        let ids = characters.iter().copied().zip(N_SPECIAL as u8..=u8::MAX).collect();
        let scripts = characters.iter().map(|&c| script(c)).collect();
        Alphabet { characters, ids, scripts }
    }

    /// The characters of these words, the more frequent first.
    pub(crate) fn fit<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let letters: Vec<String> = words.flat_map(str::chars).map(String::from).collect();
        let names = Names::count(&[], letters.iter().map(String::as_str));
        let most = names.names().iter().take(Alphabet::MAX);
        Alphabet::new(most.flat_map(|name| name.chars()).collect())
    }

    /// The characters in the order of their ids.
    pub(crate) fn characters(&self) -> &[char] {
        &self.characters
    }

    /// Whether a character of its script is among them.
    pub(crate) fn has_script_of(&self, c: char) -> bool {
        self.scripts.contains(&script(c))
    }

    /// How many ids there are.
    pub(crate) fn len(&self) -> usize {
        N_SPECIAL + self.characters.len()
    }

    /// What a word looks like.
    pub(crate) fn form(&self, word: &str) -> Form {
        let id = |c: char| self.ids.get(&c).copied().unwrap_or(OTHER);
        let letters = word.chars().take(Self::MAX_CHARACTERS).map(id);
        let mut characters: Vec<u8> = std::iter::once(WORD_START).chain(letters).chain([WORD_END]).collect();
        if characters.len() == 2 {
            characters.insert(1, OTHER);
        }
        Form { characters, ..Form::default() }
    }
}
