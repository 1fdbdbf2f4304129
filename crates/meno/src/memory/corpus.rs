//! Concepts as utterances to train on.

use std::collections::HashMap;

use super::concept::{Concept, Source};
use super::index::{Entry, Index};
use crate::label;
use crate::utterance::{Corpus, Utterance};

/// A corpus, and what could not be in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exported {
    /// The utterances in which concepts were learnt.
    pub corpus: Corpus,
    /// How many concepts have no utterance, or one in which they do not stand.
    pub without_source: usize,
    /// How many utterances have no intent where others have one.
    pub without_intent: usize,
}

/// The utterances in which concepts were learnt, each once, with the slots of all concepts that were learnt there.
///
/// A concept's words have the slot that it has now, whatever the utterance was labelled with when it was learnt.
pub fn to_corpus<'a>(concepts: impl IntoIterator<Item = &'a Concept>) -> Exported {
    let mut exported = Exported::default();
    let mut places: HashMap<(&[String], &str), usize> = HashMap::new();
    for concept in concepts {
        let Some((source, range)) = place_of(concept) else {
            exported.without_source += 1;
            continue;
        };
        let utterances = &mut exported.corpus.utterances;
        let at = *places.entry((&source.words, &source.intent)).or_insert_with(|| {
            utterances.push(utterance(source, utterances.len() + 1));
            utterances.len() - 1
        });
        relabel(&mut utterances[at].labels, range, &concept.slot);
    }
    let utterances = &mut exported.corpus.utterances;
    if utterances.iter().any(|utterance| !utterance.intent.is_empty()) {
        let before = utterances.len();
        utterances.retain(|utterance| !utterance.intent.is_empty());
        exported.without_intent = before - utterances.len();
    }
    exported
}

/// The utterance in which a concept was learnt, if it stands there.
pub fn source_of(concept: &Concept) -> Option<&Source> {
    place_of(concept).map(|(source, _)| source)
}

/// As [`to_corpus`], one concept at a time: labels it in the utterance in which it was learnt, the first of several makes that. Does nothing
/// if it does not stand there.
pub fn label_in(utterance: &mut Option<Utterance>, concept: &Concept) {
    let Some((source, range)) = place_of(concept) else { return };
    let utterance = utterance.get_or_insert_with(|| self::utterance(source, 1));
    if utterance.words == source.words {
        relabel(&mut utterance.labels, range, &concept.slot);
    }
}

/// The utterance of a concept and its words there.
fn place_of(concept: &Concept) -> Option<(&Source, std::ops::Range<usize>)> {
    let source = concept.source.as_ref()?;
    let mut index = Index::default();
    index.insert(Entry::from(concept));
    let text = source.words.join(" ");
    let found = *index.find(&text, concept.owner.user()).first()?;
    let word_at = |byte: usize| text[..byte].matches(' ').count();
    Some((source, word_at(found.start)..word_at(found.end) + 1))
}

fn utterance(source: &Source, line: usize) -> Utterance {
    let outside = || vec!["O".to_owned(); source.words.len()];
    let labels = if source.labels.is_empty() { outside() } else { source.labels.clone() };
    // What nobody could name is not to be learnt.
    let known = |label: String| {
        if label::split(&label).1 == label::UNKNOWN { "O".to_owned() } else { label }
    };
    let labels = labels.into_iter().map(known).collect();
    Utterance { words: source.words.clone(), labels, truth: None, intent: source.intent.clone(), line }
}

fn relabel(labels: &mut [String], range: std::ops::Range<usize>, slot: &str) {
    if let Some(next) = labels.get_mut(range.end)
        && let ("I", cut) = label::split(next)
    {
        *next = label::iob(cut, true);
    }
    for (idx, label) in labels[range].iter_mut().enumerate() {
        *label = label::iob(slot, idx == 0);
    }
}
