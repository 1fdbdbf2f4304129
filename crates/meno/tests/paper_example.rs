//! The example of Shen, Chen and Jin (2020), table 1: "reserve at Mario's Italiano for 1 pm".
//!
//! A model that knows restaurants, games, countries and times, but neither of the two words, is to be sure of all words
//! but those two (`L` and `H` in the paper), and to mark them as one phrase.

use meno::Model;
use meno::corpus::{Corpus, Utterance};
use meno::decision::BUDGET;
use meno::engine::Reading;
use meno::random::Random;
use meno::train::{Outcome, TrainSettings, fit};

const PATTERNS: [(&str, &str); 9] = [
    ("reserve", "reserve at R for T"),
    ("reserve", "reserve a table at R for T"),
    ("reserve", "book R for T"),
    ("reserve", "reserve for T at R"),
    ("play", "play G at T"),
    ("play", "start G"),
    ("travel", "how far is C"),
    ("travel", "when is it T in C"),
    ("alarm", "wake me at T"),
];

const VALUES: [(&str, &str, &[&str]); 4] = [
    (
        "R",
        "restaurant",
        &["harvest", "joe's diner", "blue lagoon", "casa luna", "anna's kitchen", "the mill", "sushi corner"],
    ),
    ("G", "game", &["chess", "tetris", "pirate's cove", "snake", "space race"]),
    ("C", "country", &["france", "japan", "new zealand", "peru", "south africa"]),
    ("T", "time", &["1 pm", "2 pm", "7 pm", "noon", "9 am", "half past six", "midnight"]),
];

fn corpus(name: &str, n: usize, mut random: Random) -> Corpus {
    let utterance = |_| {
        let (intent, pattern) = PATTERNS[random.below(PATTERNS.len())];
        let mut utterance = Utterance { intent: intent.to_owned(), ..Utterance::default() };
        for word in pattern.split(' ') {
            match VALUES.iter().find(|(letter, ..)| *letter == word) {
                None => {
                    utterance.words.push(word.to_owned());
                    utterance.labels.push("O".to_owned());
                }
                Some((_, slot, values)) => {
                    for (i, word) in values[random.below(values.len())].split(' ').enumerate() {
                        utterance.words.push(word.to_owned());
                        utterance.labels.push(format!("{}-{slot}", if i == 0 { "B" } else { "I" }));
                    }
                }
            }
        }
        utterance
    };
    Corpus { path: name.into(), utterances: (0..n).map(utterance).collect() }
}

fn model(seed: u64) -> Model {
    let random = Random::new(5);
    let (train, valid) = (corpus("train", 400, random.fork(0)), corpus("valid", 100, random.fork(1)));
    let settings = TrainSettings { seed, ..TrainSettings::calibrated() };
    let Outcome::Finished(model) = fit(&train, &valid, &settings, 1, None, &mut ()).unwrap() else {
        panic!("nothing stopped it")
    };
    let threshold = model.choose_threshold(model.default_score(), BUDGET, &valid.utterances).unwrap();
    model.with_threshold(Some(threshold))
}

#[test]
fn unsure_of_the_restaurant_and_of_nothing_else() {
    for seed in 1..=3 {
        let model = model(seed);
        let annotation = model.worker().annotate("Reserve at Mario's Italiano for 1 pm", Reading::Text);
        let labels: Vec<(&str, &str)> =
            annotation.tokens.iter().map(|token| (token.text, &*token.label)).collect();
        let expected = [
            ("Reserve", "O"),
            ("at", "O"),
            ("Mario's", "B-unknown"),
            ("Italiano", "I-unknown"),
            ("for", "O"),
            ("1", "B-time"),
            ("pm", "I-time"),
        ];
        assert_eq!(labels, expected, "seed {seed}");
        let doubts = annotation.tokens.iter().map(|token| token.doubt.as_ref().unwrap());
        let (high, low): (Vec<_>, Vec<_>) = doubts.partition(|doubt| doubt.unknown);
        let least = high.iter().map(|doubt| doubt.uncertainty).fold(f32::INFINITY, f32::min);
        let most = low.iter().map(|doubt| doubt.uncertainty).fold(f32::NEG_INFINITY, f32::max);
        assert!(least > most, "seed {seed}: {least} for unknown words, {most} for known ones");
        let spans: Vec<(&str, &str)> = annotation.spans.iter().map(|span| (&*span.slot, span.text)).collect();
        assert_eq!(spans, [("unknown", "Mario's Italiano"), ("time", "1 pm")], "seed {seed}");
    }
}
