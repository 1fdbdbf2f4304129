//! Trees to learn from and to be measured by.

use super::conllu::Sentence;
use super::upos::Upos;

/// A sentence with its tags and its tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The words.
    pub words: Vec<String>,
    /// The tag of each.
    pub upos: Vec<Upos>,
    /// The number of the head of each, from 1; 0 for the root.
    pub heads: Vec<usize>,
    /// How each relates to its head.
    pub relations: Vec<String>,
}

/// What tells whether two sentences are the same utterance: their letters and digits, in lower case.
pub fn utterance_key<S: AsRef<str>>(words: &[S]) -> String {
    let chars = words.iter().flat_map(|word| word.as_ref().chars());
    chars.filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

impl Tree {
    /// The tree of a sentence; `None` if a tag or a head is not given.
    pub fn new(sentence: &Sentence) -> Option<Self> {
        let words = &sentence.words;
        Some(Tree {
            words: words.iter().map(|word| word.form.clone()).collect(),
            upos: words.iter().map(|word| word.upos).collect::<Option<_>>()?,
            heads: words.iter().map(|word| word.head).collect::<Option<_>>()?,
            relations: words.iter().map(|word| word.relation.clone()).collect(),
        })
    }

    /// The sentence as a recogniser of speech would write it: in lower case and without punctuation, whose children go
    /// to its head. With `bare_clitics`, apostrophes at the edges of words are gone too (`s` for `'s`), as in Snips.
    ///
    /// `None` if nothing is left.
    pub fn spoken(&self, bare_clitics: bool) -> Option<Tree> {
        let is_punctuation = |idx: usize| {
            let is_kept = |c: char| c.is_alphanumeric() || "$%&+@#'’".contains(c);
            self.upos[idx] == Upos::Punct || !self.words[idx].contains(is_kept)
        };
        let mut numbers = vec![0; self.words.len()];
        let mut n_words = 0;
        for (idx, number) in numbers.iter_mut().enumerate() {
            if !is_punctuation(idx) {
                n_words += 1;
                *number = n_words;
            }
        }
        let mut spoken = Tree::default();
        for idx in (0..self.words.len()).filter(|&idx| numbers[idx] > 0) {
            let mut head = self.heads[idx];
            while head > 0 && numbers[head - 1] == 0 {
                head = self.heads[head - 1];
            }
            let mut word = self.words[idx].to_lowercase().replace('’', "'");
            if bare_clitics {
                let bare = word.trim_matches('\'');
                if !bare.is_empty() {
                    word = bare.to_owned();
                }
            }
            spoken.words.push(word);
            spoken.upos.push(self.upos[idx]);
            spoken.heads.push(if head == 0 { 0 } else { numbers[head - 1] });
            spoken.relations.push(self.relations[idx].clone());
        }
        spoken.keep_one_root();
        (n_words > 0).then_some(spoken)
    }

    /// Hangs words that lost a punctuation root under the first of them.
    fn keep_one_root(&mut self) {
        let Some(root) = self.heads.iter().position(|&head| head == 0) else { return };
        for idx in root + 1..self.heads.len() {
            if self.heads[idx] == 0 {
                self.heads[idx] = root + 1;
                self.relations[idx] = "parataxis".to_owned();
            }
        }
        self.relations[root] = "root".to_owned();
    }
}
