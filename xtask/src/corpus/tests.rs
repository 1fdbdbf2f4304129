use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use meno::label;
use serde::Deserialize;

use super::settings::{ASSISTANT, CONCEPTS};
use super::*;

fn dir(settings: &Settings) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data").join(settings.name)
}

fn splits(settings: &'static Settings) -> Splits {
    build(&dir(settings), settings).unwrap()
}

#[test]
fn committed_files_are_what_the_generator_writes() {
    for settings in CORPORA {
        for (path, content) in files(&splits(settings)) {
            let name = settings.name;
            let committed = fs::read_to_string(dir(settings).join(&path)).unwrap();
            assert!(
                committed == content,
                "{name}/{path} differs: run `cargo run --release -p xtask -- {name}`"
            );
        }
    }
}

#[test]
fn concepts_has_the_shape_the_paper_reports() {
    let splits = splits(&CONCEPTS);
    let sizes: Vec<usize> = splits.named().iter().map(|(_, split)| split.len()).collect();
    assert_eq!(sizes, [1534, 219, 440, 594]);
    assert_eq!(slots(&splits.train).len(), 5);
    assert_eq!(intents(&splits.train).len(), 10);

    let concepts: Vec<String> = splits.new.iter().flat_map(stats::concepts).collect();
    assert_eq!(concepts.len(), 642); // 1.08 an utterance
    assert_eq!(concepts.iter().collect::<HashSet<_>>().len(), 140);
    let n_words: usize = concepts.iter().map(|concept| concept.split(' ').count()).sum();
    let words_each = n_words as f64 / concepts.len() as f64;
    assert!((3.6..3.8).contains(&words_each), "{words_each}");
}

#[test]
fn no_text_stands_twice_and_no_new_concept_stands_elsewhere() {
    for settings in CORPORA {
        let splits = splits(settings);
        let mut texts = HashSet::new();
        for (name, utterances) in splits.named() {
            for utterance in utterances {
                assert!(texts.insert(utterance.words.join(" ")), "{name}: {:?}", utterance.words);
                assert_eq!(utterance.words.len(), utterance.labels.len());
            }
        }
        let concepts: HashSet<String> = splits.new.iter().flat_map(stats::concepts).collect();
        for utterance in splits.train.iter().chain(&splits.valid).chain(&splits.test) {
            let text = format!(" {} ", utterance.words.join(" "));
            for concept in &concepts {
                assert!(!text.contains(&format!(" {concept} ")), "{concept} in {text}");
            }
        }
    }
}

#[test]
fn a_fair_share_of_test_is_new_to_a_model() {
    for (settings, wanted) in [(&CONCEPTS, 0.20..0.35), (&ASSISTANT, 0.50..0.65)] {
        let splits = splits(settings);
        let unseen = stats::unseen_distinct_values(&splits.train, &splits.test);
        assert!(wanted.contains(&unseen), "{}: {unseen}", settings.name);
    }
}

#[test]
fn every_kind_of_request_of_the_assistant_is_met_often_enough() {
    let splits = splits(&ASSISTANT);
    for utterances in [&splits.train, &splits.valid, &splits.test] {
        assert_eq!(intents(utterances).len(), 22);
    }
    for intent in intents(&splits.train) {
        let n = splits.train.iter().filter(|utterance| utterance.intent == intent).count();
        assert!(n >= 120, "{intent}: {n}");
    }
    let names: BTreeSet<String> = ASSISTANT.slots.iter().map(|slot| slot.name.to_owned()).collect();
    assert_eq!(slots(&splits.train), names);
}

/// `corpus.toml`: how a corpus is talked about.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    slots: BTreeMap<String, SlotWords>,
    intents: BTreeMap<String, IntentWords>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SlotWords {
    say: String,
    ask: Option<String>,
    names: Vec<String>,
    examples: Vec<String>,
    resolve: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IntentWords {
    say: String,
    #[serde(default)]
    reply: Vec<String>,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    required: Vec<String>,
    #[serde(default)]
    reject: bool,
}

#[test]
fn the_assistant_can_talk_of_every_slot_and_intent() {
    let text = fs::read_to_string(dir(&ASSISTANT).join("corpus.toml")).unwrap();
    let words: Words = toml::from_str(&text).unwrap();
    let train = splits(&ASSISTANT).train;
    assert_eq!(words.slots.keys().cloned().collect::<BTreeSet<_>>(), slots(&train));
    assert_eq!(words.intents.keys().cloned().collect::<BTreeSet<_>>(), intents(&train));

    let mut names = HashSet::new();
    for (slot, words) in &words.slots {
        assert!(!words.say.is_empty() && words.names.len() >= 6 && words.examples.len() == 3, "{slot}");
        assert!(words.resolve.as_ref().is_none_or(|resolve| resolve == slot), "{slot}");
        for name in &words.names {
            assert!(names.insert(name), "{slot}: {name} stands twice");
            assert_eq!(*name, name.to_lowercase());
        }
    }
    for (intent, IntentWords { say, reply, examples, required, reject }) in &words.intents {
        let asks = |slot: &String| words.slots[slot].ask.is_some();
        assert!(required.iter().all(asks), "{intent}: it is not said how to ask for what it requires");
        if *reject {
            continue;
        }
        assert!(!say.is_empty() && !reply.is_empty() && examples.len() == 3, "{intent}");
        assert!(required.iter().all(|slot| words.slots.contains_key(slot)), "{intent}");
        let last = reply.last().unwrap();
        assert!(!last.contains('{') || !required.is_empty(), "{intent}: no reply without a slot");
        for reply in reply {
            for slot in reply.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()) {
                assert!(words.slots.contains_key(slot), "{intent}: {reply}");
            }
        }
    }
}

#[test]
fn what_is_out_of_scope_stands_once_and_that_of_test_in_no_split() {
    let splits = splits(&ASSISTANT);
    let of_splits: HashSet<String> = (splits.named().into_iter())
        .flat_map(|(_, split)| split.iter().map(|utterance| utterance.words.join(" ")))
        .collect();
    let mut texts = HashSet::new();
    for name in ["dev", "test"] {
        let text = fs::read_to_string(dir(&ASSISTANT).join("out-of-scope").join(name)).unwrap();
        assert!(text.lines().count() >= 170, "{name}");
        for line in text.lines() {
            assert!(!line.is_empty() && texts.insert(line.to_owned()), "{name}: `{line}` stands twice");
            assert!(name == "dev" || !of_splits.contains(line), "{name}: `{line}` stands in a split");
        }
    }
}

fn slots(utterances: &[Utterance]) -> BTreeSet<String> {
    let spans = utterances.iter().flat_map(|utterance| label::spans(&utterance.labels));
    spans.map(|span| span.slot).filter(|slot| slot != "unknown").collect()
}

fn intents(utterances: &[Utterance]) -> BTreeSet<String> {
    utterances.iter().map(|utterance| utterance.intent.clone()).collect()
}
