//! Counts what was written, as Markdown for the corpus' README.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use meno::corpus::Utterance;
use meno::label;

use super::Splits;
use super::settings::Settings;

/// The new concepts of an utterance, as text.
pub fn concepts(utterance: &Utterance) -> Vec<String> {
    values(utterance).into_iter().filter(|(slot, _)| slot == "unknown").map(|(_, value)| value).collect()
}

/// The share of the values in `test`, counted as often as they occur, that `train` never has in that slot.
pub fn unseen_values(train: &[Utterance], test: &[Utterance]) -> f64 {
    let seen: HashSet<(String, String)> = train.iter().flat_map(values).collect();
    share(test.iter().flat_map(values).map(|value| !seen.contains(&value)))
}

/// The same with every value counted once.
pub fn unseen_distinct_values(train: &[Utterance], test: &[Utterance]) -> f64 {
    let seen: HashSet<(String, String)> = train.iter().flat_map(values).collect();
    let distinct: HashSet<(String, String)> = test.iter().flat_map(values).collect();
    share(distinct.iter().map(|value| !seen.contains(value)))
}

/// The statistics of the corpus.
pub fn markdown(splits: &Splits, settings: &Settings) -> String {
    let mut out = String::new();
    let vocabulary: HashSet<&String> = splits.train.iter().flat_map(|utterance| &utterance.words).collect();
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let mut row = |name: &str, cell: &dyn Fn(&[Utterance]) -> String| {
        let cells = splits.named().iter().map(|(_, utterances)| cell(utterances)).collect();
        rows.push((name.to_owned(), cells));
    };
    row("utterances", &|split| split.len().to_string());
    row("words an utterance", &|split| format!("{:.2}", ratio(n_words(split), split.len())));
    row("distinct words", &|split| {
        distinct(split.iter().flat_map(|utterance| utterance.words.clone())).to_string()
    });
    row("slot values", &|split| {
        split.iter().map(|utterance| values(utterance).len()).sum::<usize>().to_string()
    });
    row("distinct slot values", &|split| distinct(split.iter().flat_map(values)).to_string());
    row("words a value", &|split| {
        let all: Vec<_> = split.iter().flat_map(values).collect();
        format!("{:.2}", ratio(all.iter().map(|(_, value)| value.split(' ').count()).sum(), all.len()))
    });
    row("utterances without a slot", &|split| {
        split.iter().filter(|utterance| values(utterance).is_empty()).count().to_string()
    });
    row("utterances with two or more", &|split| {
        split.iter().filter(|utterance| values(utterance).len() > 1).count().to_string()
    });
    row("values not in train, %", &|split| format!("{:.1}", 100.0 * unseen_values(&splits.train, split)));
    row("distinct values not in train, %", &|split| {
        format!("{:.1}", 100.0 * unseen_distinct_values(&splits.train, split))
    });
    row("words not in train, %", &|split| {
        let words = split.iter().flat_map(|utterance| &utterance.words);
        format!("{:.1}", 100.0 * share(words.map(|word| !vocabulary.contains(word))))
    });
    for slot in settings.slots.iter().map(|slot| slot.name) {
        row(&format!("slot `{slot}`"), &|split| {
            let all = split.iter().flat_map(true_values);
            all.filter(|(found, _)| found == slot).count().to_string()
        });
    }
    let intents: BTreeSet<&String> = splits.train.iter().map(|utterance| &utterance.intent).collect();
    for intent in intents {
        row(&format!("intent `{intent}`"), &|split| {
            split.iter().filter(|utterance| utterance.intent == *intent).count().to_string()
        });
    }
    let names: Vec<&str> = splits.named().iter().map(|(name, _)| *name).collect();
    writeln!(out, "| | {} |\n|---|{}", names.join(" | "), "--:|".repeat(names.len()))
        .expect("a string takes everything");
    for (name, cells) in rows {
        writeln!(out, "| {name} | {} |", cells.join(" | ")).expect("a string takes everything");
    }
    if !splits.new.is_empty() {
        out += &new_concepts(&splits.new, &splits.train);
    }
    out
}

fn new_concepts(new: &[Utterance], train: &[Utterance]) -> String {
    let all: Vec<String> = new.iter().flat_map(concepts).collect();
    let n_words: usize = all.iter().map(|concept| concept.split(' ').count()).sum();
    let mut by_length: BTreeMap<usize, usize> = BTreeMap::new();
    for concept in all.iter().collect::<BTreeSet<_>>() {
        *by_length.entry(concept.split(' ').count()).or_default() += 1;
    }
    let lengths: Vec<String> = by_length.iter().map(|(length, n)| format!("{n} of {length}")).collect();
    let mut slots: HashMap<String, HashSet<String>> = HashMap::new();
    for (slot, value) in train.iter().flat_map(values) {
        slots.entry(value).or_default().insert(slot);
    }
    let ambiguous = slots.values().filter(|slots| slots.len() > 1).count();
    format!(
        "\nNew concepts: {} occurrences of {} concepts in {} utterances, {:.2} an utterance, {:.2} words each; \
         by words: {}.\nValues that stand in train under more than one slot type: {ambiguous}.\n",
        all.len(),
        distinct(all.iter()),
        new.len(),
        ratio(all.len(), new.len()),
        ratio(n_words, all.len()),
        lengths.join(", "),
    )
}

fn values(utterance: &Utterance) -> Vec<(String, String)> {
    values_of(utterance, &utterance.labels)
}

fn true_values(utterance: &Utterance) -> Vec<(String, String)> {
    values_of(utterance, utterance.truth.as_ref().unwrap_or(&utterance.labels))
}

fn values_of(utterance: &Utterance, labels: &[String]) -> Vec<(String, String)> {
    let spans = label::spans(labels).into_iter();
    spans.map(|span| (span.slot, utterance.words[span.start..span.end].join(" "))).collect()
}

fn n_words(utterances: &[Utterance]) -> usize {
    utterances.iter().map(|utterance| utterance.words.len()).sum()
}

fn distinct<T: Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> usize {
    items.collect::<HashSet<_>>().len()
}

fn share(items: impl Iterator<Item = bool>) -> f64 {
    let (mut n, mut n_true) = (0, 0);
    for item in items {
        n += 1;
        n_true += usize::from(item);
    }
    ratio(n_true, n)
}

fn ratio(n: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { n as f64 / of as f64 }
}
