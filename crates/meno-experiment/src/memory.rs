//! What memory does for a model: what it breaks, and what it finds.

use std::collections::HashMap;

use serde::Serialize;

use meno::corpus::{Corpus, Utterance};
use meno::engine::Tokenization;
use meno::label::{self, TokenSpanRef, UNKNOWN};
use meno::memory::{Entry, Index, Remembered, Rule};
use meno::metrics::{Evaluation, Mode};
use meno::random::Random;
use meno::{Model, Result, Worker};

/// Slot F1 on in-domain utterances before and after many concepts were learnt that have nothing to do with them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Harm {
    /// How many concepts were learnt.
    pub concepts: usize,
    /// How many spans of the utterances memory laid claim to.
    pub recalled: usize,
    /// Slot F1 without them, in percent; unknown spans count as wrong.
    pub slot_f1_before: f64,
    /// Slot F1 with them.
    pub slot_f1_after: f64,
}

/// How many new concepts have their true slot and boundaries, in percent, before and after each was learnt from one utterance
/// and looked for in the others.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Help {
    /// How many concepts were learnt.
    pub concepts: usize,
    /// How many times they stand in other utterances.
    pub tested: usize,
    /// The share that the model has right by itself.
    pub recognised_before: f64,
    /// The share with memory.
    pub recognised_after: f64,
    /// Slot F1 over all slots of these utterances, new concepts with their true slot among them.
    pub slot_f1_before: f64,
    /// The same with memory.
    pub slot_f1_after: f64,
}

/// Learns random phrases: as many words as the values of the training set have, drawn from the words of these values, each
/// phrase with the slot of a value drawn at random.
pub fn harm(model: &Model, rule: Rule, train: &Corpus, test: &Corpus, n: usize, seed: u64) -> Result<Harm> {
    let values: Vec<(&[String], &str)> = (train.utterances.iter())
        .flat_map(|utterance| {
            let value = |span: TokenSpanRef<'_>| (span.start, span.end);
            label::iter_spans(&utterance.labels)
                .map(move |span| (&utterance.words[value(span).0..value(span).1], span.slot))
        })
        .collect();
    let words: Vec<&String> = values.iter().flat_map(|(words, _)| words.iter()).collect();
    let mut random = Random::new(seed);
    let mut index = Index::with_capacity(n);
    if !values.is_empty() {
        for id in 0..n as u64 {
            let n_words = values[random.below(values.len())].0.len();
            let phrase: Vec<&str> = (0..n_words).map(|_| words[random.below(words.len())].as_str()).collect();
            let slot = values[random.below(values.len())].1;
            index.insert(Entry { id, phrase: &phrase.join(" "), slot, value: None, user: None });
        }
    }
    let mut worker = model.worker();
    let (mut before, mut after) = (Evaluation::new(Mode::default()), Evaluation::new(Mode::default()));
    let mut recalled = 0;
    for utterance in &test.utterances {
        let evaluated = Evaluated::new(model, &mut worker, rule, &index, utterance);
        recalled += evaluated.recalled;
        before.add(&utterance.labels, &evaluated.before, &utterance.intent, &utterance.intent)?;
        after.add(&utterance.labels, &evaluated.after, &utterance.intent, &utterance.intent)?;
    }
    let [slot_f1_before, slot_f1_after] = [before, after].map(|evaluation| evaluation.report().slot_f1);
    Ok(Harm { concepts: index.len(), recalled, slot_f1_before, slot_f1_after })
}

/// Teaches every concept of a new-concept set from the first utterance that has it, and tests on the others.
pub fn help(model: &Model, rule: Rule, new: &Corpus) -> Result<Help> {
    let mut index = Index::default();
    let mut first: HashMap<(String, &str), usize> = HashMap::new();
    let places: Vec<Vec<(TokenSpanRef<'_>, bool)>> = (new.utterances.iter().enumerate())
        .map(|(utterance_idx, utterance)| {
            let spans = new_concepts(utterance).map(|span| {
                let phrase = utterance.words[span.start..span.end].join(" ");
                let id = first.len() as u64;
                let taught = *first.entry((phrase.clone(), span.slot)).or_insert_with(|| {
                    index.insert(Entry { id, phrase: &phrase, slot: span.slot, value: None, user: None });
                    utterance_idx
                });
                (span, taught != utterance_idx)
            });
            spans.collect()
        })
        .collect();
    let mut worker = model.worker();
    let (mut tested, mut found) = (0, [0, 0]);
    let mut evaluations = [Evaluation::new(Mode::default()), Evaluation::new(Mode::default())];
    for (utterance, places) in
        new.utterances.iter().zip(&places).filter(|(_, places)| places.iter().any(|p| p.1))
    {
        let evaluated = Evaluated::new(model, &mut worker, rule, &index, utterance);
        let truth = utterance.truth.as_ref().unwrap_or(&utterance.labels);
        for (labels, (found, evaluation)) in
            [&evaluated.before, &evaluated.after].into_iter().zip(found.iter_mut().zip(&mut evaluations))
        {
            evaluation.add(truth, labels, "", "")?;
            let right = |place: &&(TokenSpanRef<'_>, bool)| {
                place.1 && label::iter_spans(labels).any(|s| s == place.0)
            };
            *found += places.iter().filter(right).count();
        }
        tested += places.iter().filter(|place| place.1).count();
    }
    let share = |found: usize| 100.0 * found as f64 / tested.max(1) as f64;
    let [slot_f1_before, slot_f1_after] = evaluations.map(|evaluation| evaluation.report().slot_f1);
    Ok(Help {
        concepts: index.len(),
        tested,
        recognised_before: share(found[0]),
        recognised_after: share(found[1]),
        slot_f1_before,
        slot_f1_after,
    })
}

/// The new concepts of an utterance with their true slots.
fn new_concepts(utterance: &Utterance) -> impl Iterator<Item = TokenSpanRef<'_>> {
    let truth = utterance.truth.as_ref().unwrap_or(&utterance.labels);
    label::iter_spans(&utterance.labels)
        .filter(|span| span.slot == UNKNOWN)
        .map(|span| TokenSpanRef { slot: label::split(&truth[span.start]).1, ..span })
}

/// The labels of an utterance without and with memory.
struct Evaluated {
    before: Vec<String>,
    after: Vec<String>,
    recalled: usize,
}

impl Evaluated {
    fn new(
        model: &Model,
        worker: &mut Worker,
        rule: Rule,
        index: &Index,
        utterance: &Utterance,
    ) -> Evaluated {
        let text = utterance.words.join(" ");
        let annotation = worker.annotate(&text, Tokenization::Pretokenized);
        let labels = |annotation: &meno::Annotation<'_>| {
            annotation.tokens.iter().map(|token| token.label.to_string()).collect()
        };
        let before = labels(&annotation);
        let remembered =
            Remembered::new(rule, annotation, &index.find(&text, None), |word| model.has_seen(word));
        Evaluated { before, after: labels(&remembered.annotation), recalled: remembered.memory.len() }
    }
}
