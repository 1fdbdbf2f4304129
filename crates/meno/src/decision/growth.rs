//! How a model grows its unknown words to phrases: a rule and the certainty that makes a word a wall, chosen on
//! in-domain data.
//!
//! In-domain data has no new concept, so its slots are masked: the words of one are replaced by a word never seen, and what
//! the model then calls unknown should grow to the slot again. Trees are those of the true words.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::label::{self, TokenSpan};
use crate::syntax::phrase::{Rule, Why, explain};
use crate::syntax::{Parse, SyntaxWorker};
use crate::utterance::Utterance;

/// How unknown words grow to phrases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// What belongs to a phrase.
    pub rule: Rule,
    /// A word whose label is at least so probable is a wall, over which nothing grows.
    pub sure: f32,
    /// Of the slots of the valid set whose words were read as never seen, the percentage that was called unknown
    /// exactly as it stands, without growing.
    pub exact_before: f64,
    /// The same with growing.
    pub exact_after: f64,
}

/// Labelled utterances, again for each of their slots, with its words read as words never seen.
#[derive(Clone, Debug)]
pub struct MaskedSlots {
    /// What a model is to read.
    pub utterances: Vec<Utterance>,
    slots: Vec<(TokenSpan, Arc<Parse>)>,
}

/// What a model says about an utterance with a masked slot, for each word.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// Whether it is over the threshold.
    pub unknown: Vec<bool>,
    /// The probability of its label.
    pub probabilities: Vec<f32>,
}

/// Not in any vocabulary, as no word has a space.
const NEVER_SEEN: &str = "never seen";

impl MaskedSlots {
    /// Masks each slot of these utterances in turn.
    pub fn new(worker: &mut SyntaxWorker, utterances: &[Utterance]) -> Self {
        let mut masked = MaskedSlots { utterances: Vec::new(), slots: Vec::new() };
        for utterance in utterances {
            let words: Vec<&str> = utterance.words.iter().map(String::as_str).collect();
            let parse = Arc::new(worker.parse(&words));
            for slot in label::spans(&utterance.labels) {
                let mut copy = utterance.clone();
                copy.words[slot.start..slot.end].fill(NEVER_SEEN.to_owned());
                masked.utterances.push(copy);
                masked.slots.push((slot, Arc::clone(&parse)));
            }
        }
        masked
    }

    /// The growth by one of the rules that finds most slots exactly; `None` if none finds more than not growing does.
    ///
    /// # Panics
    /// If there are not as many predictions as utterances.
    pub fn choose(&self, rules: &[Rule], predictions: &[Predictions]) -> Option<Growth> {
        assert_eq!(predictions.len(), self.slots.len(), "one prediction for each utterance");
        let cases = || self.slots.iter().zip(predictions);
        let percent = |n_exact: usize| 100.0 * n_exact as f64 / self.slots.len().max(1) as f64;
        let n_before = cases().filter(|((slot, _), prediction)| is_exact(slot, &prediction.unknown)).count();
        let (mut n_best, mut best) = (n_before, None);
        for &rule in rules {
            for sure in SURE {
                let growth = Growth { rule, sure, exact_before: percent(n_before), exact_after: 0.0 };
                let grown = |parse, prediction: &Predictions| {
                    growth.grow(parse, &prediction.unknown, &prediction.probabilities)
                };
                let n_exact = cases()
                    .filter(|((slot, parse), prediction)| is_exact(slot, &grown(parse, prediction)))
                    .count();
                if n_exact > n_best {
                    n_best = n_exact;
                    best = Some(Growth { exact_after: percent(n_exact), ..growth });
                }
            }
        }
        best
    }
}

/// Whether the unknown words are those of the slot, and none beside it.
fn is_exact(slot: &TokenSpan, unknown: &[bool]) -> bool {
    let before = slot.start.checked_sub(1).is_some_and(|word| unknown[word]);
    let after = unknown.get(slot.end).is_some_and(|&unknown| unknown);
    unknown[slot.start..slot.end].iter().all(|&unknown| unknown) && !before && !after
}

/// The probabilities that walls are tried with.
const SURE: [f32; 6] = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999];

impl Growth {
    /// Why each word that is added to the unknown ones is added; `None` for all others.
    pub(crate) fn explain(&self, parse: &Parse, unknown: &[bool], probabilities: &[f32]) -> Vec<Option<Why>> {
        let walls: Vec<bool> = probabilities.iter().map(|&p| p >= self.sure).collect();
        explain(self.rule, parse, unknown, &walls)
    }

    /// Which words are unknown after growing.
    pub fn grow(&self, parse: &Parse, unknown: &[bool], probabilities: &[f32]) -> Vec<bool> {
        let why = self.explain(parse, unknown, probabilities);
        unknown.iter().zip(why).map(|(&unknown, why)| unknown || why.is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::FolderText;
    use crate::syntax::{Syntax, Upos};

    /// For each prediction a sentence `large corner table today`, of which the first three words are a slot and a noun
    /// phrase, under which `today` hangs.
    fn choose(rules: &[Rule], predictions: &[(&str, [f32; 4])]) -> Option<Growth> {
        let parse = Arc::new(Parse {
            upos: vec![Upos::Adj, Upos::Noun, Upos::Noun, Upos::Noun],
            heads: vec![3, 3, 0, 3],
            relations: ["amod", "compound", "root", "nmod"].map(Into::into).to_vec(),
        });
        let slot = TokenSpan { start: 0, end: 3, slot: "table".to_owned() };
        let slots = vec![(slot, parse); predictions.len()];
        let prediction = |(unknown, probabilities): &(&str, [f32; 4])| Predictions {
            unknown: unknown.chars().map(|c| c == '?').collect(),
            probabilities: probabilities.to_vec(),
        };
        let predictions: Vec<Predictions> = predictions.iter().map(prediction).collect();
        MaskedSlots { utterances: Vec::new(), slots }.choose(rules, &predictions)
    }

    const UNSURE: [f32; 4] = [0.4; 4];

    #[test]
    fn the_rule_and_the_walls_that_find_most_are_chosen() {
        // Walls below 0.85 stop before `table`, walls above 0.97 do not keep a run from `today`.
        let sure_of_today = [0.4, 0.4, 0.85, 0.97];
        let predictions = [(".?..", sure_of_today), ("??..", sure_of_today)];
        let growth = choose(&[Rule::Tree], &predictions).unwrap();
        assert_eq!((growth.rule, growth.sure), (Rule::Tree, 0.9));
        assert_eq!((growth.exact_before, growth.exact_after), (0.0, 100.0));
        assert_eq!(choose(&[Rule::Run], &predictions).unwrap().sure, 0.9);
        assert_eq!(choose(&[Rule::Run], &[(".?..", UNSURE)]), None);
    }

    #[test]
    fn what_is_exact_without_growing_is_left_alone() {
        let whole = ("???.", UNSURE);
        assert_eq!(choose(&Rule::ALL, &[whole]), None);
        assert_eq!(choose(&Rule::ALL, &[]), None);
        let growth = choose(&Rule::ALL, &[whole, whole, (".?..", UNSURE)]).unwrap();
        assert_eq!((growth.rule, growth.exact_after), (Rule::Tree, 100.0));
        assert!((growth.exact_before - 200.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn each_slot_is_hidden_in_a_copy() {
        let text = FolderText {
            words: "wake me at six am today\nstop\n",
            labels: "O O O B-t I-t B-d\nO\n",
            ..FolderText::default()
        };
        let corpus = text.read("toy".as_ref()).unwrap();
        let syntax = Syntax::english();
        let masked = MaskedSlots::new(&mut syntax.worker(), &corpus.utterances);
        let words: Vec<String> =
            masked.utterances.iter().map(|utterance| utterance.words.join("|")).collect();
        assert_eq!(words, ["wake|me|at|never seen|never seen|today", "wake|me|at|six|am|never seen"]);
    }
}
