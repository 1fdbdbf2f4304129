//! Memory or the tagger: which of them is right about some words.
//!
//! Enters: the concepts that stand in a text ([`super::Index::find`]) and the tagger's words, each with its label and how
//! sure the tagger is of it. Leave: the concepts that hold. The rule:
//!
//! 1. The longest phrase is evaluated first, then the one further left; words that a concept holds are no other's.
//! 2. Where the tagger has exactly these words in the concept's slot, or in one of the same kind, both agree. Kinds are for
//!    slots with roles: `toloc.city_name` and `fromloc.city_name` are the same after the last dot.
//! 3. Elsewhere **memory wins where the tagger is unsure** of one of the words: it is unknown, and the phrase has the whole of
//!    each unknown span that it touches, or the training set has neither the word nor its plural or singular. Where exactly
//!    the learnt words stand, a word of which the training set has only the plural or singular is enough, and the words of
//!    a long phrase ([`Rule::long`]) are hardly there by chance: memory has it, however sure the tagger is.
//! 4. **All else is plainly something else**: a word or two that the tagger knows and is sure of. "Play *next* song" stays
//!    as it is though *next* is a playlist.
//!
//! Of several concepts with the same words, and of the slots of their kinds, that slot is taken which the tagger finds
//! likeliest, whatever it made of the words in the end. Where memory wins, its words have its label; what is left of a
//! span of the tagger that it cuts keeps its own. `docs/memory.md` has what the rule gives and what others would.

use std::ops::Range;

use serde::Serialize;

use super::index::Found;
use super::normal::{LoneS, Words};
use crate::Annotation;
use crate::answer::{Decision, Span, TokenLabel, spans_at};
use crate::label;

/// A word as a tagger leaves it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaggedWord<'a> {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The IOB2 label.
    pub label: &'a str,
    /// Whether it is over the threshold.
    pub unknown: bool,
    /// Whether the tagger was trained on it.
    pub seen: Seen,
    /// The likeliest labels and their probabilities, whatever became of the word.
    pub choices: Vec<(&'a str, f32)>,
}

/// What a training set has of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// Neither the word nor a variant.
    Never,
    /// Its plural or singular.
    Variant,
    /// The word.
    Itself,
}

/// When memory wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// How many words make a phrase so long that it is not there by chance.
    pub long: usize,
}

impl Default for Rule {
    fn default() -> Self {
        Rule { long: 3 }
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
    let mut is_taken = vec![false; words.len()];
    for same in found.chunk_by(|a, b| (a.start, a.end) == (b.start, b.end)) {
        let Some(token_span) = covered(text, &same[0], words) else { continue };
        if is_taken[token_span.clone()].contains(&true) {
            continue;
        }
        let Some((found, slot)) = rule.choose(same, words, &token_span) else { continue };
        is_taken[token_span.clone()].fill(true);
        recalled.push(Recalled {
            concept: found.id,
            slot: slot.to_owned(),
            value: found.value.map(str::to_owned),
            text: &text[found.start..found.end],
            start: found.start,
            end: found.end,
            token_span,
        });
    }
    recalled.sort_by_key(|recalled| recalled.start);
    recalled
}

impl Rule {
    /// Which of the concepts with the same words holds, if any, and in which slot.
    fn choose<'a>(
        self,
        same: &'a [Found<'a>],
        words: &[TaggedWord<'a>],
        token_span: &Range<usize>,
    ) -> Option<(&'a Found<'a>, &'a str)> {
        let named = |slot: &str| {
            let kin = || same.iter().find(|found| same_kind(found.slot, slot));
            same.iter().find(|found| found.slot == slot).or_else(kin)
        };
        if let Some(slot) = slot_of(words, token_span)
            && let Some(found) = named(slot)
        {
            return Some((found, slot));
        }
        let covered = &words[token_span.clone()];
        let is_long = covered.len() >= self.long;
        let is_unknown = covered.iter().any(|word| word.unknown) && !cuts_unknown(words, token_span);
        let is_unsure = |least: Seen| is_unknown || covered.iter().any(|word| word.seen <= least);
        let wins = |found: &&Found<'_>| match found.exact {
            true => is_long || is_unsure(Seen::Variant),
            false => is_unsure(Seen::Never),
        };
        let first = same.iter().find(wins)?;
        let mut best = (first, first.slot, score(covered, first.slot));
        let labels = covered.iter().flat_map(|word| &word.choices).map(|&(label, _)| label::split(label).1);
        for slot in same.iter().map(|found| found.slot).chain(labels) {
            let score = score(covered, slot);
            if score > best.2
                && let Some(found) = named(slot).filter(wins)
            {
                best = (found, slot, score);
            }
        }
        Some((best.0, best.1))
    }
}

/// Whether a phrase begins or ends inside an unknown span: the tagger knows the boundaries better than what is there.
fn cuts_unknown(words: &[TaggedWord<'_>], span: &Range<usize>) -> bool {
    let goes_on = |at: usize| words.get(at).is_some_and(|word| word.unknown && word.label.starts_with("I-"));
    goes_on(span.start) || (words[span.end - 1].unknown && goes_on(span.end))
}

/// Whether two slots are of the same kind: the same after the last dot, with a role before it.
fn same_kind(slot: &str, other: &str) -> bool {
    match (slot.rsplit_once('.'), other.rsplit_once('.')) {
        (Some((_, kind)), Some((_, other))) => kind == other,
        _ => slot == other,
    }
}

/// How likely the tagger finds a slot for some words, summed over them. What it says of other slots with the same role counts
/// half: of a city after `to`, it may think of a `toloc.airport_code`.
fn score(words: &[TaggedWord<'_>], slot: &str) -> f32 {
    let role = slot.rsplit_once('.').map(|(role, _)| role);
    let weight = |label: &str| match label::split(label) {
        ("B" | "I", other) if other == slot => 1.0,
        ("B" | "I", other) if role.is_some() && other.rsplit_once('.').map(|(role, _)| role) == role => 0.5,
        _ => 0.0,
    };
    words.iter().flat_map(|word| &word.choices).map(|&(label, p)| weight(label) * p).sum()
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
    let ("B" | "I", slot) = label::split(words[span.start].label) else { return None };
    let goes_on = |word: &TaggedWord<'_>| label::split(word.label) == ("I", slot);
    let is_whole =
        words[span.start + 1..span.end].iter().all(goes_on) && !words.get(span.end).is_some_and(goes_on);
    let begins = label::split(words[span.start].label).0 == "B"
        || span.start.checked_sub(1).is_none_or(|before| label::split(words[before].label).1 != slot);
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
    /// Appends it as JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        serde_json::to_writer(out, self).expect("an annotation is plain data");
    }

    /// Reconciles what a model and memory make of a text. `has_seen` is whether the model was trained on a word
    /// ([`crate::Model::has_seen`]).
    pub fn new(
        rule: Rule,
        mut annotation: Annotation<'t>,
        found: &[Found<'_>],
        has_seen: impl Fn(&str) -> bool,
    ) -> Self {
        let memory = match found {
            [] => Vec::new(),
            found => reconcile(rule, annotation.text, found, &tagged_words(&annotation, has_seen)),
        };
        if !memory.is_empty() {
            hold(&mut annotation, &memory);
        }
        Remembered { annotation, memory }
    }

    /// What a span stands for: by what was taught, else by what the training corpus said.
    pub fn value_of<'a>(&'a self, span: &'a Span<'_>) -> Option<&'a str> {
        let same = self.memory.iter().find(|recalled| recalled.start < span.end && span.start < recalled.end);
        same.and_then(|recalled| recalled.value.as_deref()).or(span.value.as_deref())
    }
}

pub(super) fn tagged_words<'a>(
    annotation: &'a Annotation<'_>,
    has_seen: impl Fn(&str) -> bool,
) -> Vec<TaggedWord<'a>> {
    let word = |token: &'a TokenLabel<'_>| {
        let verdict = token.verdict.as_ref();
        let first_choice = verdict.map_or(&*token.label, |verdict| &verdict.first_choice);
        let runners_up = verdict.into_iter().flat_map(|verdict| &verdict.reason.runners_up);
        let others = runners_up.map(|other| (&*other.label, other.probability));
        TaggedWord {
            start: token.start,
            end: token.end,
            label: &token.label,
            unknown: verdict.is_some_and(|verdict| verdict.unknown),
            seen: seen(token.text, &has_seen),
            choices: std::iter::once((first_choice, token.probability)).chain(others).collect(),
        }
    };
    annotation.tokens.iter().map(word).collect()
}

/// What the training set has of a word, punctuation and plural aside.
fn seen(text: &str, has_seen: impl Fn(&str) -> bool) -> Seen {
    let words = Words::read(text, LoneS::Joined);
    if has_seen(text) || (!words.is_empty() && words.iter().all(|word| has_seen(word.normal))) {
        return Seen::Itself;
    }
    let has_variant = |stem: &str| has_seen(stem) || has_seen(&format!("{stem}s"));
    let is_variant = !words.is_empty() && words.iter().all(|word| has_variant(word.stem));
    if is_variant { Seen::Variant } else { Seen::Never }
}

/// Labels the concepts that hold and decides anew: they need not be asked about, and are nothing to refuse.
pub(super) fn hold(annotation: &mut Annotation<'_>, held: &[Recalled<'_>]) {
    relabel(annotation, held);
    if matches!(annotation.decision, Decision::Reject { .. }) {
        annotation.decision = Decision::Act;
    }
    annotation.decide_again();
}

/// Gives the words of concepts that hold their labels, and makes the spans anew.
pub(super) fn relabel(annotation: &mut Annotation<'_>, held: &[Recalled<'_>]) {
    for recalled in held {
        relabel_words(&mut annotation.tokens, recalled);
    }
    let labels: Vec<&str> = annotation.tokens.iter().map(|token| &*token.label).collect();
    let places: Vec<(usize, usize)> =
        annotation.tokens.iter().map(|token| (token.start, token.end)).collect();
    let mut spans = spans_at(annotation.text, &places, &labels);
    for span in &mut spans {
        let same = annotation.spans.iter().find(|old| (old.start, old.end) == (span.start, span.end));
        span.guess = same.and_then(|old| old.guess.clone());
        let same = same.filter(|old| old.slot == span.slot);
        span.value = same.and_then(|old| old.value.clone());
        span.confidence = same.and_then(|old| old.confidence);
    }
    annotation.spans = spans;
}

fn relabel_words(tokens: &mut [TokenLabel<'_>], recalled: &Recalled<'_>) {
    for token_idx in recalled.token_span.clone() {
        let label = label::iob(&recalled.slot, token_idx == recalled.token_span.start);
        tokens[token_idx].label = label.into();
    }
    // What was cut off begins anew.
    if let Some(next) = tokens.get_mut(recalled.token_span.end)
        && let ("I", slot) = label::split(&next.label)
    {
        next.label = label::iob(slot, true).into();
    }
}
