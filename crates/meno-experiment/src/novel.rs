//! Novel slot detection (Wu et al., 2021): slots of which the training has nothing are to be found as such.
//!
//! Enters: a [`Dataset`] and the slots to hold out. Leaves: a dataset whose train and valid have no utterance with such a
//! slot and whose test calls them `unknown`, neighbours joined; and how a model finds them there. Its threshold comes from
//! the valid set, which has none.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::Dataset;
use crate::concepts::labels_of;
use meno::corpus::Corpus;
use meno::label::{self, TokenSpan, UNKNOWN};
use meno::metrics::{Evaluation, Mode, Scores, SlotCounts};
use meno::{Model, Result};

/// How novel slots were found, in percent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NovelReport {
    /// Spans with exact boundaries.
    pub spans: Scores,
    /// Words.
    pub tokens: Scores,
    /// F1 of the slots that the training had.
    pub known_f1: f64,
}

/// The dataset of the task.
pub fn hold_out(dataset: &Dataset, novel: &BTreeSet<String>) -> Dataset {
    let mut test = dataset.test.clone();
    for utterance in &mut test.utterances {
        let mut spans = label::spans(&utterance.labels);
        for span in spans.iter_mut().filter(|span| novel.contains(&span.slot)) {
            span.slot = UNKNOWN.to_owned();
        }
        utterance.labels = label::labels(&joined(spans), utterance.words.len());
    }
    Dataset { train: without(&dataset.train, novel), valid: without(&dataset.valid, novel), test }
}

/// The utterances without these slots.
fn without(corpus: &Corpus, slots: &BTreeSet<String>) -> Corpus {
    let mut corpus = corpus.clone();
    corpus
        .utterances
        .retain(|utterance| !utterance.labels.iter().any(|label| slots.contains(label::split(label).1)));
    corpus
}

/// Unknown spans that touch become one.
fn joined(spans: Vec<TokenSpan>) -> Vec<TokenSpan> {
    let mut joined: Vec<TokenSpan> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if [&*last.slot, &*span.slot] == [UNKNOWN; 2] && last.end == span.start => {
                last.end = span.end;
            }
            _ => joined.push(span),
        }
    }
    joined
}

/// A model on the test set of the task.
pub fn evaluate(model: &Model, test: &Corpus) -> Result<NovelReport> {
    let mut worker = model.worker();
    let (mut evaluation, mut tokens) = (Evaluation::new(Mode::Conlleval), SlotCounts::default());
    for utterance in &test.utterances {
        let (_, intent) = worker.tag(&utterance.words);
        let found = label::spans(&labels_of(&worker.found(), utterance.words.len()));
        let labels = label::labels(&joined(found), utterance.words.len());
        evaluation.add(&utterance.labels, &labels, &utterance.intent, &intent)?;
        for (gold, predicted) in utterance.labels.iter().zip(&labels) {
            let [gold, predicted] = [gold, predicted].map(|label| label::split(label).1 == UNKNOWN);
            tokens.gold += usize::from(gold);
            tokens.predicted += usize::from(predicted);
            tokens.correct += usize::from(gold && predicted);
        }
    }
    let mut known = SlotCounts::default();
    for (_, counts) in evaluation.slots().iter().filter(|(slot, _)| *slot != UNKNOWN) {
        known.gold += counts.gold;
        known.predicted += counts.predicted;
        known.correct += counts.correct;
    }
    let spans = evaluation.slots().get(UNKNOWN).copied().unwrap_or_default();
    Ok(NovelReport { spans: spans.scores(), tokens: tokens.scores(), known_f1: known.scores().f1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meno::corpus::Utterance;

    fn corpus(labels: &[&str]) -> Corpus {
        let utterance = |labels: &&str| Utterance {
            words: labels.split(' ').map(str::to_owned).collect(),
            labels: labels.split(' ').map(str::to_owned).collect(),
            ..Utterance::default()
        };
        Corpus { utterances: labels.iter().map(utterance).collect(), ..Corpus::default() }
    }

    #[test]
    fn what_is_held_out_is_nowhere_but_in_the_test() {
        let all = corpus(&["O B-city I-city B-time", "B-artist O", "O B-time B-city B-city O"]);
        let dataset = Dataset { train: all.clone(), valid: all.clone(), test: all };
        let held_out = hold_out(&dataset, &["city".to_owned(), "time".to_owned()].into());
        let labels = |corpus: &Corpus| -> Vec<String> {
            corpus.utterances.iter().map(|utterance| utterance.labels.join(" ")).collect()
        };
        assert_eq!(labels(&held_out.train), ["B-artist O"]);
        assert_eq!(labels(&held_out.valid), ["B-artist O"]);
        let expected = ["O B-unknown I-unknown I-unknown", "B-artist O", "O B-unknown I-unknown I-unknown O"];
        assert_eq!(labels(&held_out.test), expected);
    }
}
