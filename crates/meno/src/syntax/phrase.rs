//! From unknown words to the phrases they stand in.
//!
//! A rule says which words belong together; the unknown words grow to the unbroken run of such words around them, and
//! never over a *wall*, a word whose label is certain. Three rules:
//!
//! - `literal`, the paper's words: climb compound, adjectival and possessive edges to the head of the noun phrase, and
//!   take it with all its descendants.
//! - `tree`: climb and descend the edges inside a noun phrase alone. On trees of Universal Dependencies prepositions,
//!   determiners, other noun phrases and relative clauses hang under the noun as well, and are none of the phrase.
//! - `run`: the words around that are nouns, names, adjectives, numbers and the like, without any tree.
//!
//! Pure functions: no threshold, no model.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Parse, Upos};
use crate::Error;

/// What belongs to a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// The head of the noun phrase with all its descendants.
    Literal,
    /// What edges inside a noun phrase join.
    Tree,
    /// Neighbours of a nominal part of speech.
    Run,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 3] = [Rule::Literal, Rule::Tree, Rule::Run];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Literal => "literal",
            Rule::Tree => "tree",
            Rule::Run => "run",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rule {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name).ok_or_else(|| Error::Setting {
            problem: format!("unknown phrase rule `{name}`"),
            hint: "rules are literal, tree and run".to_owned(),
        })
    }
}

/// Why a word was added to a phrase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Why {
    /// The word of the phrase from which it was reached, from 0.
    pub from: usize,
    /// How.
    #[serde(flatten)]
    pub link: Link,
}

/// What joins two words of a phrase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// It is the head; the relation is that of the other word.
    Head(Arc<str>),
    /// It is a child, in this relation.
    Child(Arc<str>),
    /// It is a neighbour with this part of speech.
    Neighbour(Upos),
}

/// Which words are unknown after growing.
///
/// All slices are as long as the parse. What was unknown stays so; a wall never becomes so.
pub fn grow(rule: Rule, parse: &Parse, unknown: &[bool], walls: &[bool]) -> Vec<bool> {
    let why = explain(rule, parse, unknown, walls);
    unknown.iter().zip(why).map(|(&unknown, why)| unknown || why.is_some()).collect()
}

/// Why each word that [`grow`] adds is added; `None` for all others.
pub(crate) fn explain(rule: Rule, parse: &Parse, unknown: &[bool], walls: &[bool]) -> Vec<Option<Why>> {
    let n = parse.heads.len();
    assert!(n == unknown.len() && n == walls.len(), "one flag for each word");
    let links = Links::new(parse);
    let mut added: Vec<Option<Why>> = vec![None; n];
    for start in (0..n).filter(|&word| unknown[word]) {
        let reached = match rule {
            Rule::Literal => links.literal(start),
            Rule::Tree => links.tree(start),
            Rule::Run => links.run(start),
        };
        let is_open = |word: usize| unknown[word] || reached[word].is_some() && !walls[word];
        let left = (0..start).rev().take_while(|&word| is_open(word));
        for word in left.chain((start + 1..n).take_while(|&word| is_open(word))) {
            if !unknown[word] && added[word].is_none() {
                added[word].clone_from(&reached[word]);
            }
        }
    }
    added
}

/// Edges that the paper climbs.
const CLIMBED: [&str; 3] = ["compound", "amod", "nmod:poss"];
/// Edges inside a noun phrase. UD-ATIS heads names on their first word, hence `flat`.
const INSIDE: [&str; 5] = ["compound", "amod", "nmod:poss", "flat", "nummod"];

struct Links<'a> {
    parse: &'a Parse,
    children: Vec<Vec<usize>>,
}

impl<'a> Links<'a> {
    fn new(parse: &'a Parse) -> Self {
        let mut children = vec![Vec::new(); parse.heads.len()];
        for (word, &head) in parse.heads.iter().enumerate() {
            if head > 0 {
                children[head - 1].push(word);
            }
        }
        Links { parse, children }
    }

    fn relation(&self, word: usize) -> &Arc<str> {
        &self.parse.relations[word]
    }

    /// Climbs while `may_climb` a word to its head; gives the last word.
    fn climb(
        &self,
        start: usize,
        reached: &mut [Option<Why>],
        may_climb: impl Fn(usize, usize) -> bool,
    ) -> usize {
        let mut word = start;
        while let Some(head) = self.parse.heads[word].checked_sub(1) {
            if !may_climb(word, head) {
                break;
            }
            reached[head] = Some(Why { from: word, link: Link::Head(self.relation(word).clone()) });
            word = head;
        }
        word
    }

    /// Descends from all words reached along children that `may_descend`.
    fn descend(
        &self,
        top: usize,
        start: usize,
        reached: &mut [Option<Why>],
        may_descend: impl Fn(usize) -> bool,
    ) {
        let mut waiting = vec![top];
        while let Some(word) = waiting.pop() {
            for &child in self.children[word].iter().filter(|&&child| may_descend(child)) {
                waiting.push(child);
                if child != start && reached[child].is_none() {
                    let link = Link::Child(self.relation(child).clone());
                    reached[child] = Some(Why { from: word, link });
                }
            }
        }
    }

    fn literal(&self, start: usize) -> Vec<Option<Why>> {
        let mut reached = vec![None; self.children.len()];
        let top = self.climb(start, &mut reached, |word, _| CLIMBED.contains(&&**self.relation(word)));
        self.descend(top, start, &mut reached, |_| true);
        reached
    }

    fn tree(&self, start: usize) -> Vec<Option<Why>> {
        let mut reached = vec![None; self.children.len()];
        let is_inside = |word: usize| INSIDE.contains(&&**self.relation(word));
        let top = self.climb(start, &mut reached, |word, head| {
            (is_inside(word) || &**self.relation(word) == "det")
                && !matches!(self.parse.upos[head], Upos::Verb | Upos::Aux | Upos::Adp)
        });
        self.descend(top, start, &mut reached, is_inside);
        reached
    }

    fn run(&self, start: usize) -> Vec<Option<Why>> {
        let upos = &self.parse.upos;
        let is_nominal = |word: usize| {
            matches!(upos[word], Upos::Noun | Upos::Propn | Upos::Adj | Upos::Num | Upos::X | Upos::Sym)
        };
        let mut reached = vec![None; upos.len()];
        let neighbour = |from, word: usize| Some(Why { from, link: Link::Neighbour(upos[word]) });
        for word in (0..start).rev().take_while(|&word| is_nominal(word)) {
            reached[word] = neighbour(word + 1, word);
        }
        for word in (start + 1..upos.len()).take_while(|&word| is_nominal(word)) {
            reached[word] = neighbour(word - 1, word);
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words as `form/UPOS/head/relation`; `?` before an unknown word, `#` before a wall. Expected: the words that are
    /// unknown afterwards.
    fn check(rule: Rule, sentence: &str, expected: &str) {
        let mut parse = Parse::default();
        let (mut unknown, mut walls, mut forms) = (vec![], vec![], vec![]);
        for word in sentence.split(' ') {
            let columns: Vec<&str> = word.split('/').collect();
            unknown.push(columns[0].starts_with('?'));
            walls.push(columns[0].starts_with('#'));
            forms.push(columns[0].trim_start_matches(['?', '#']));
            parse.upos.push(Upos::from_name(columns[1]).expect("a tag"));
            parse.heads.push(columns[2].parse().expect("a number"));
            parse.relations.push(columns[3].into());
        }
        let grown = grow(rule, &parse, &unknown, &walls);
        let found: Vec<&str> = (0..forms.len()).filter(|&word| grown[word]).map(|word| forms[word]).collect();
        assert_eq!(found.join(" "), expected, "{rule}");
    }

    const TABLE: &str = "book/VERB/0/root a/DET/5/det large/ADJ/5/amod ?corner/NOUN/5/compound table/NOUN/1/obj \
                         at/ADP/7/case alinea/PROPN/5/nmod";

    #[test]
    fn the_rules_differ_in_what_they_take_of_a_noun_phrase() {
        check(Rule::Literal, TABLE, "a large corner table at alinea");
        check(Rule::Tree, TABLE, "large corner table");
        check(Rule::Run, TABLE, "large corner table");
    }

    #[test]
    fn names_are_joined_from_their_first_word() {
        let flat =
            "to/ADP/2/case san/PROPN/0/root ?francisco/PROPN/2/flat bay/PROPN/2/flat today/NOUN/2/nmod:tmod";
        check(Rule::Tree, flat, "san francisco bay");
        check(Rule::Literal, flat, "francisco");
        check(Rule::Run, flat, "san francisco bay today");
    }

    #[test]
    fn nothing_grows_over_a_wall() {
        let walled = TABLE.replace("large", "#large").replace(" at/", " #at/");
        check(Rule::Literal, &walled, "corner table");
        check(Rule::Tree, &walled, "corner table");
        check(Rule::Run, &walled, "corner table");
    }

    #[test]
    fn a_phrase_ends_at_a_verb() {
        let verb = "?play/NOUN/2/compound playing/VERB/0/root songs/NOUN/2/obj";
        check(Rule::Tree, verb, "play");
        check(Rule::Run, verb, "play");
    }

    #[test]
    fn every_added_word_has_its_reason() {
        let parse = Parse {
            upos: vec![Upos::Adj, Upos::Noun, Upos::Noun],
            heads: vec![3, 3, 0],
            relations: ["amod", "compound", "root"].map(Into::into).to_vec(),
        };
        let why = explain(Rule::Tree, &parse, &[false, true, false], &[false; 3]);
        let head = Why { from: 1, link: Link::Head("compound".into()) };
        let child = Why { from: 2, link: Link::Child("amod".into()) };
        assert_eq!(why, [Some(child), None, Some(head)]);
    }
}
