//! How good tags and trees are, by the definitions of the CoNLL 2018 shared task.
//!
//! A word is attached rightly if its head is right (UAS), and rightly labelled if the universal part of its relation,
//! before the colon, is right too (LAS). Punctuation counts. With gold words, as here, precision, recall and F1 are one
//! number.

use std::ops::AddAssign;

use super::treebank::Tree;
use crate::{Error, Result};

/// Counts of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// Sentences compared.
    pub sentences: usize,
    /// Words compared.
    pub words: usize,
    /// With the right tag.
    pub upos: usize,
    /// With the right head.
    pub heads: usize,
    /// With the right head and the right relation.
    pub labelled: usize,
}

impl Scores {
    /// Compares two analyses of a sentence, the `number`-th, from 1.
    pub fn compare(&mut self, number: usize, gold: &Tree, found: &Tree) -> Result<()> {
        if gold.words != found.words {
            return Err(Error::Setting {
                problem: format!("sentence {number}: the words differ, so the trees cannot be compared"),
                hint: "both must have the words of the gold file, in its order".to_owned(),
            });
        }
        self.sentences += 1;
        for idx in 0..gold.words.len() {
            let head = gold.heads[idx] == found.heads[idx];
            self.words += 1;
            self.upos += usize::from(gold.upos[idx] == found.upos[idx]);
            self.heads += usize::from(head);
            let is_same = universal(&gold.relations[idx]) == universal(&found.relations[idx]);
            self.labelled += usize::from(head && is_same);
        }
        Ok(())
    }

    /// The share of right tags, in per cent.
    pub fn upos_percent(&self) -> f64 {
        self.percent(self.upos)
    }

    /// The unlabelled attachment score, in per cent.
    pub fn uas(&self) -> f64 {
        self.percent(self.heads)
    }

    /// The labelled attachment score, in per cent.
    pub fn las(&self) -> f64 {
        self.percent(self.labelled)
    }

    fn percent(&self, n: usize) -> f64 {
        if self.words == 0 { 0.0 } else { 100.0 * n as f64 / self.words as f64 }
    }
}

impl AddAssign for Scores {
    fn add_assign(&mut self, other: Scores) {
        self.sentences += other.sentences;
        self.words += other.words;
        self.upos += other.upos;
        self.heads += other.heads;
        self.labelled += other.labelled;
    }
}

/// The part of a relation that all languages share.
pub fn universal(relation: &str) -> &str {
    relation.split(':').next().unwrap_or_default()
}
