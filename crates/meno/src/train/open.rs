//! Which slots have more values than a corpus shows.
//!
//! Some look so by their values. Others show it if the tagger misses values that were held out, and finds them once it is trained
//! as if the slot were open. One slot after the other is tried, the one whose values are missed most often first.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::folds::train_on;
use super::replacement::open_slots;
use super::span_tagger::forms;
use super::{Part, TrainSettings, Watch, cross_fit, read};
use crate::corpus::{Corpus, WithoutValues, values_of};
use crate::features::Vectors;
use crate::label;
use crate::text::Unspaced;
use crate::{Error, Model, Result};

/// Of fewer utterances too few values can be held out to tell anything. Of more the tries would take too long, and a slot that
/// is open has enough values to look so.
const UTTERANCES: RangeInclusive<usize> = 200..=2500;

/// How many slots are tried.
const TRIES: usize = 3;

/// A slot is tried if so many mentions of values that were held out are missed,
const MISSED: usize = 5;

/// and at least this share of them.
const MISSED_SHARE: f64 = 0.5;

/// A slot is open if so many more of them are found once it is trained as if it were, in standard deviations.
const DEVIATIONS: f64 = 2.0;

/// The slots that are open by the look of their values. The values of these are replaced in training, unless the settings name
/// others.
pub fn looks_open(train: &Corpus, settings: &TrainSettings) -> Result<Vec<String>> {
    let Some(replacement) = settings.replacement() else { return Ok(Vec::new()) };
    if let Some(open) = &replacement.open {
        return Ok(open.clone());
    }
    let (_, features, examples) = read(train, settings)?;
    let vectors = match settings.span_tagger() {
        Some(tagger) => forms(tagger, &features)?.vectors,
        None => Vectors::built_in().cloned(),
    };
    Ok(open_slots(&features, &examples, vectors.as_ref()))
}

/// The settings with the slots that are open by values that were held out; those that were given if there are no more than look so.
pub fn with_open_slots(
    train: &Corpus,
    settings: &TrainSettings,
    threads: usize,
    watch: &mut (dyn Watch + Send),
) -> Result<TrainSettings> {
    let is_stated = settings.span_tagger().is_none_or(|tagger| tagger.replacement.open.is_some());
    let is_unspaced = train.normalizer().settings().unspaced != Unspaced::default();
    if is_stated || is_unspaced || !UTTERANCES.contains(&train.utterances.len()) {
        return Ok(settings.clone());
    }
    super::on_threads(threads, || {
        let looks = looks_open(train, settings)?;
        let found = find(train, settings, looks.clone(), watch)?;
        Ok(if found == looks { settings.clone() } else { settings.clone().with_open(found) })
    })
}

fn find(
    train: &Corpus,
    settings: &TrainSettings,
    mut open: Vec<String>,
    watch: &mut (dyn Watch + Send),
) -> Result<Vec<String>> {
    let Some(cut) = train.without_values(1, settings.seed).pop() else { return Ok(open) };
    if cut.rest.utterances.iter().all(|utterance| utterance.words.is_empty()) {
        return Ok(open);
    }
    let settings = TrainSettings { epochs: cross_fit::epochs(settings), ..settings.clone() };
    let mut part = Part { watch, done: 0, epochs: settings.epochs };
    let mut read = |open: &[String]| -> Result<Read> {
        let settings = settings.clone().with_open(open.to_vec());
        let model = train_on(&cut.rest, &settings, None, &mut part)?.ok_or(Error::Stopped)?;
        part.done += settings.epochs;
        part.epochs += settings.epochs;
        Ok(Read::by(&model, &cut))
    };
    let mut best = read(&open)?;
    for slot in best.candidates(&open) {
        let tried = [&open[..], std::slice::from_ref(&slot)].concat();
        let read = read(&tried)?;
        if read.is_better(&best, &slot) {
            (open, best) = (tried, read);
        }
    }
    Ok(open)
}

/// How a model reads what was held out.
struct Read {
    /// For each utterance whether all its slots are right.
    is_right: Vec<bool>,
    /// For each slot whether each mention of a value that was held out is found.
    is_found: BTreeMap<String, Vec<bool>>,
}

impl Read {
    fn by(model: &Model, cut: &WithoutValues) -> Self {
        let known: BTreeSet<_> = cut.rest.utterances.iter().flat_map(values_of).collect();
        let mut worker = model.worker();
        let mut read = Read { is_right: Vec::new(), is_found: BTreeMap::new() };
        for utterance in cut.new.utterances.iter().chain(&cut.known.utterances) {
            let (labels, _) = worker.tag(&utterance.words);
            let found: Vec<_> = label::iter_spans(&labels).collect();
            let spans: Vec<_> = label::iter_spans(&utterance.labels).collect();
            read.is_right.push(found == spans);
            for (span, value) in spans.iter().zip(values_of(utterance)) {
                if !known.contains(&value) {
                    read.is_found.entry(span.slot.to_owned()).or_default().push(found.contains(span));
                }
            }
        }
        read
    }

    /// The slots to try, the one whose values are missed most often first.
    fn candidates(&self, open: &[String]) -> Vec<String> {
        let n_missed = |is_found: &[bool]| is_found.iter().filter(|is_found| !**is_found).count();
        let is_candidate = |(slot, is_found): &(&String, &Vec<bool>)| {
            let n_missed = n_missed(is_found);
            !open.contains(slot)
                && n_missed >= MISSED
                && n_missed as f64 >= MISSED_SHARE * is_found.len() as f64
        };
        let mut candidates: Vec<_> = self.is_found.iter().filter(is_candidate).collect();
        candidates.sort_by_key(|(_, is_found)| std::cmp::Reverse(n_missed(is_found)));
        candidates.into_iter().take(TRIES).map(|(slot, _)| slot.clone()).collect()
    }

    /// Whether more mentions of a slot are found, and not fewer utterances are read rightly.
    fn is_better(&self, other: &Read, slot: &str) -> bool {
        is_more(&self.is_found[slot], &other.is_found[slot]) && !is_more(&other.is_right, &self.is_right)
    }
}

/// Whether more of the first are true than chance gives, by those of which only one of the two is.
fn is_more(these: &[bool], others: &[bool]) -> bool {
    let (mut gained, mut lost) = (0.0, 0.0);
    for (this, other) in these.iter().zip(others) {
        gained += f64::from(u8::from(*this && !other));
        lost += f64::from(u8::from(!this && *other));
    }
    gained - lost > DEVIATIONS * f64::sqrt(gained + lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+` is true, `-` is not.
    fn signs(signs: &str) -> Vec<bool> {
        signs.chars().map(|sign| sign == '+').collect()
    }

    fn read(slots: &[(&str, &str)], is_right: &str) -> Read {
        let is_found = slots.iter().map(|(slot, found)| ((*slot).to_owned(), signs(found)));
        Read { is_right: signs(is_right), is_found: is_found.collect() }
    }

    #[test]
    fn slots_are_tried_whose_values_are_missed() {
        let slots = [
            ("area", "-----+"),
            ("name", "-------+"),
            ("few", "----"),
            ("found", "------+++++++"),
            ("open", "--------"),
        ];
        assert_eq!(read(&slots, "").candidates(&["open".to_owned()]), ["name", "area"]);
    }

    #[test]
    fn more_than_chance_gives() {
        // 5 > 2 sqrt(5), 4 is not above 2 sqrt(4), and 6 - 1 is not above 2 sqrt(7).
        assert!(is_more(&signs("+++++---"), &signs("--------")));
        assert!(!is_more(&signs("++++----"), &signs("--------")));
        assert!(!is_more(&signs("++++++--"), &signs("------+-")));
    }

    #[test]
    fn a_slot_is_open_if_its_values_are_found_and_nothing_else_suffers() {
        let before = read(&[("s", "--------")], "++++++++");
        assert!(read(&[("s", "+++++---")], "+++++---").is_better(&before, "s"), "three errors are chance");
        assert!(!read(&[("s", "+++++---")], "+-------").is_better(&before, "s"), "seven are not");
    }
}
