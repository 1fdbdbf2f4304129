//! A few requests for each intent, so that a model can tell what can be said.

use std::collections::{BTreeMap, HashMap};

use crate::description::Description;
use crate::features::first_intent;
use crate::label::UNKNOWN;
use crate::utterance::Utterance;

/// How many requests an intent gets.
const N_EXAMPLES: usize = 3;
/// How many words one may have: fewer say too little, more are hard to take in.
const LENGTH: std::ops::RangeInclusive<usize> = 2..=9;
/// A word that occurs less often is rather a slip or a name that nobody else would say.
const OFTEN: usize = 2;

/// The description with requests of the training set for intents that have none: those whose wording is the most frequent, one
/// for each wording. Without them if it would become too large.
pub(super) fn with_examples(description: Description, utterances: &[Utterance]) -> Description {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in utterances.iter().flat_map(|utterance| &utterance.words) {
        *counts.entry(word).or_default() += 1;
    }
    let is_fit = |utterance: &&Utterance| {
        let Utterance { words, labels, intent, .. } = utterance;
        !intent.is_empty()
            && LENGTH.contains(&words.len())
            && words.iter().all(|word| counts[word.as_str()] >= OFTEN && !word.contains(char::is_control))
            && !labels.iter().any(|label| label.ends_with(UNKNOWN))
    };
    let mut intents: BTreeMap<&str, Vec<&Utterance>> = BTreeMap::new();
    for utterance in utterances.iter().filter(is_fit) {
        intents.entry(first_intent(&utterance.intent)).or_default().push(utterance);
    }
    let mut described = description.clone();
    for (intent, utterances) in intents {
        let words = described.intents.entry(intent.to_owned()).or_default();
        if words.examples.is_empty() {
            words.examples = typical(&utterances, |word| counts[word]);
        }
    }
    if described.is_small() { described } else { description }
}

/// The most frequent wordings, each by the request that is said most often, or that has the most common words.
fn typical(utterances: &[&Utterance], count: impl Fn(&str) -> usize) -> Vec<String> {
    // How often it is said, and how often its rarest word.
    let mut wordings: BTreeMap<Vec<&str>, BTreeMap<String, (usize, usize)>> = BTreeMap::new();
    for utterance in utterances {
        let texts = wordings.entry(wording(utterance)).or_default();
        let rarest = utterance.words.iter().map(|word| count(word)).min().unwrap_or_default();
        texts.entry(utterance.words.join(" ")).or_insert((0, rarest)).0 += 1;
    }
    let mut wordings: Vec<_> = wordings.into_iter().collect();
    let frequency = |texts: &BTreeMap<String, (usize, usize)>| texts.values().map(|(n, _)| n).sum::<usize>();
    wordings.sort_by_key(|(wording, texts)| (std::cmp::Reverse(frequency(texts)), wording.len()));
    let text = |texts: BTreeMap<String, (usize, usize)>| {
        // Of several the first in the alphabet.
        texts.into_iter().rev().max_by_key(|(_, common)| *common).map(|(text, _)| text)
    };
    wordings.into_iter().take(N_EXAMPLES).filter_map(|(_, texts)| text(texts)).collect()
}

/// The words, with the names of slots, behind a dash, in the place of their values.
fn wording(utterance: &Utterance) -> Vec<&str> {
    let pieces = utterance.words.iter().zip(&utterance.labels).filter_map(|(word, label)| {
        if label.starts_with("I-") { None } else { Some(label.strip_prefix('B').unwrap_or(word)) }
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::IntentDescription;

    fn utterance(intent: &str, words: &str, labels: &str) -> Utterance {
        let [words, labels] = [words, labels].map(|text| text.split(' ').map(str::to_owned).collect());
        Utterance { words, labels, intent: intent.to_owned(), ..Utterance::default() }
    }

    #[test]
    fn frequent_wordings_of_known_words_are_kept() {
        let mut utterances = vec![
            utterance("play", "play jazz", "O B-music"),
            utterance("play", "play red moon", "O B-music I-music"),
            utterance("play", "play red moon", "O B-music I-music"),
            utterance("play#stop", "put on jazz", "O O B-music"),
            utterance("play", "put on jazz", "O O B-music"),
            utterance("play", "play zorblax", "O B-unknown"),
            utterance("play", "play once", "O O"),
            utterance("", "put on", "O O"),
            utterance("stop", "stop", "O"),
            utterance("said", "stop jazz", "O B-music"),
        ];
        utterances.extend((0..3).map(|_| utterance("call", "call anna", "O B-person")));
        let mut described = Description::default();
        let own = IntentDescription { examples: vec!["own".to_owned()], ..IntentDescription::default() };
        described.intents.insert("said".to_owned(), own);
        let described = with_examples(described, &utterances);
        let of = |intent: &str| described.intents.get(intent).map(|intent| intent.examples.clone());
        assert_eq!(of("play"), Some(vec!["play red moon".to_owned(), "put on jazz".to_owned()]));
        assert_eq!(of("call"), Some(vec!["call anna".to_owned()]));
        assert_eq!(of("said"), Some(vec!["own".to_owned()]));
        assert_eq!((of("stop"), of("")), (None, None));
    }

    #[test]
    fn what_would_be_too_much_is_left_out() {
        let long = "x".repeat(Description::MAX_BYTES);
        let utterances = vec![utterance("play", &format!("{long} {long}"), "O O")];
        assert_eq!(with_examples(Description::default(), &utterances), Description::default());
    }
}
