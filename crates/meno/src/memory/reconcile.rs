//! Memory or the tagger: which of them is right about some words.
//!
//! Enters: the concepts that stand in a text ([`super::Index::find`]) and the tagger's words, each with its label and how
//! sure the tagger is of it. Leave: the concepts that hold. The rule:
//!
//! 1. The longest phrase is judged first, then the one further left; words that a concept holds are no other's. Of
//!    concepts with the same words one is judged: that whose slot the tagger has there, else the first in the order of
//!    [`super::Index::find`].
//! 2. Where the tagger has the same words in the same slot, both agree.
//! 3. A phrase of n words stands somewhere without being meant with probability chanceⁿ ([`Rule::chance`]). **Memory wins
//!    where the tagger's doubt is larger**: 1 − ∏ p over the words, where p is the probability of the tagger's label and 0
//!    for an unknown word. So memory has every phrase with an unknown word, and long ones nearly always; "play *next* song"
//!    stays as it is even if *next* is a playlist, for the tagger is sure of that one word.
//! 4. A phrase of which only plurals or possessives stand there (`exact` is false) has as many words as are the same.
//!
//! Where memory wins, its words have its label. What is left of a span of the tagger that it cuts keeps its own.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

use super::index::Found;
use crate::Annotation;
use crate::corpus::tags;
use crate::spans::assemble_at;

/// A word as a tagger leaves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaggedWord<'a> {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The IOB2 label.
    pub label: &'a str,
    /// The probability of the label; 0 if the word is unknown.
    pub sure: f32,
}

/// When memory wins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// How probable it is that a learnt word stands somewhere without being meant.
    pub chance: f64,
}

impl Default for Rule {
    fn default() -> Self {
        Rule { chance: 0.05 }
    }
}

/// A concept that was recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recalled<'t> {
    /// The concept.
    pub concept: u64,
    /// The slot type.
    pub slot: String,
    /// The value that it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The words as they stand in the text.
    pub text: &'t str,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The words of the tagger that it covers.
    #[serde(skip)]
    pub token_span: Range<usize>,
}

/// The concepts that hold, in the order of the text; they do not overlap.
pub fn reconcile<'t>(
    rule: Rule,
    text: &'t str,
    found: &[Found<'_>],
    words: &[TaggedWord<'_>],
) -> Vec<Recalled<'t>> {
    let mut recalled: Vec<Recalled<'t>> = Vec::new();
    for same in found.chunk_by(|a, b| (a.start, a.end) == (b.start, b.end)) {
        let Some(token_span) = covered(text, &same[0], words) else { continue };
        let is_taken = |held: &Recalled<'_>| {
            held.token_span.start < token_span.end && token_span.start < held.token_span.end
        };
        if recalled.iter().any(is_taken) {
            continue;
        }
        let slot = slot_of(words, &token_span);
        let agreed = same.iter().find(|found| Some(found.slot) == slot);
        if let Some(found) =
            agreed.or_else(|| same.first().filter(|found| rule.holds(found, &words[token_span.clone()])))
        {
            recalled.push(Recalled {
                concept: found.id,
                slot: found.slot.to_owned(),
                value: found.value.map(str::to_owned),
                text: &text[found.start..found.end],
                start: found.start,
                end: found.end,
                token_span,
            });
        }
    }
    recalled.sort_by_key(|recalled| recalled.start);
    recalled
}

impl Rule {
    fn holds(self, found: &Found<'_>, words: &[TaggedWord<'_>]) -> bool {
        let sure: f64 = words.iter().map(|word| f64::from(word.sure)).product();
        let n_same = found.n_words - usize::from(!found.exact);
        1.0 - sure > self.chance.powi(n_same as i32)
    }
}

/// The tagger's words under a phrase; `None` if there is none, or if one reaches beyond the phrase.
fn covered(text: &str, found: &Found<'_>, words: &[TaggedWord<'_>]) -> Option<Range<usize>> {
    let first = words.partition_point(|word| word.end <= found.start);
    let last = words.partition_point(|word| word.start < found.end);
    if first >= last {
        return None;
    }
    let says_more =
        |range: Range<usize>| text.get(range).is_some_and(|text| text.contains(char::is_alphanumeric));
    let before = says_more(words[first].start..found.start);
    let after = says_more(found.end..words[last - 1].end);
    (!before && !after).then_some(first..last)
}

/// The slot that the tagger gives to exactly these words.
fn slot_of<'a>(words: &[TaggedWord<'a>], span: &Range<usize>) -> Option<&'a str> {
    let ("B" | "I", slot) = tags::split(words[span.start].label) else { return None };
    let goes_on = |word: &TaggedWord<'_>| tags::split(word.label) == ("I", slot);
    let is_whole =
        words[span.start + 1..span.end].iter().all(goes_on) && !words.get(span.end).is_some_and(goes_on);
    let begins = tags::split(words[span.start].label).0 == "B"
        || span.start.checked_sub(1).is_none_or(|before| tags::split(words[before].label).1 != slot);
    (is_whole && begins).then_some(slot)
}

/// An annotation in which memory has had its say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remembered<'t> {
    /// The annotation, with the labels and spans of the concepts that hold.
    #[serde(flatten)]
    pub annotation: Annotation<'t>,
    /// The concepts.
    pub memory: Vec<Recalled<'t>>,
}

impl<'t> Remembered<'t> {
    /// Reconciles what a model and memory make of a text.
    pub fn new(rule: Rule, mut annotation: Annotation<'t>, found: &[Found<'_>]) -> Self {
        let memory = reconcile(rule, annotation.text, found, &tagged_words(&annotation));
        for recalled in &memory {
            relabel(&mut annotation, recalled);
        }
        if !memory.is_empty() {
            let labels: Vec<&str> = annotation.tokens.iter().map(|token| token.label.as_ref()).collect();
            let places = annotation.tokens.iter().map(|token| (token.start, token.end));
            annotation.spans = assemble_at(annotation.text, &places.collect::<Vec<_>>(), &labels);
        }
        Remembered { annotation, memory }
    }
}

fn tagged_words<'a>(annotation: &'a Annotation<'_>) -> Vec<TaggedWord<'a>> {
    let word = |token: &'a crate::engine::TokenLabel<'_>| TaggedWord {
        start: token.start,
        end: token.end,
        label: &token.label,
        sure: if token.doubt.as_ref().is_some_and(|doubt| doubt.unknown) { 0.0 } else { token.probability },
    };
    annotation.tokens.iter().map(word).collect()
}

fn relabel(annotation: &mut Annotation<'_>, recalled: &Recalled<'_>) {
    for token_idx in recalled.token_span.clone() {
        let prefix = if token_idx == recalled.token_span.start { "B" } else { "I" };
        annotation.tokens[token_idx].label = Cow::Owned(format!("{prefix}-{}", recalled.slot));
    }
    // What was cut off begins anew.
    if let Some(next) = annotation.tokens.get_mut(recalled.token_span.end)
        && let ("I", slot) = tags::split(&next.label)
    {
        next.label = Cow::Owned(format!("B-{slot}"));
    }
}
