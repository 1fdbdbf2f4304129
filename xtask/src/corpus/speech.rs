//! Makes an utterance sound spoken, or typed: openers, closers, fillers, repetitions, restarts, self-repairs and typos.
//!
//! What is strewn in is never labelled; a value that is taken back ("at seven no at eight") is still a value.

use meno::corpus::Utterance;
use meno::random::Random;

use super::settings::Settings;
use super::source::Source;

/// A word outside any slot, or a whole value.
#[derive(Clone, Debug)]
pub enum Part {
    Word(String),
    Value {
        words: String,
        slot: String,
        /// The kind it was drawn from; `None` for a literal.
        kind_idx: Option<usize>,
        new: bool,
        possessive: bool,
    },
}

/// Words said again when speech stumbles or is repaired.
const PREPOSITIONS: [&str; 9] = ["to", "at", "on", "in", "for", "with", "from", "by", "about"];

/// True with a chance of `percent` in a hundred.
pub fn chance(random: &mut Random, percent: usize) -> bool {
    random.below(100) < percent
}

/// Disturbs `parts` as speech would; `value` draws another value of a kind for self-repairs.
pub fn disturb(
    source: &Source,
    parts: &mut Vec<Part>,
    random: &mut Random,
    value: &mut dyn FnMut(usize, &mut Random) -> String,
) {
    let say = |name: &str, random: &mut Random| {
        let choices = source.speech(name);
        words(&choices[random.below(choices.len())])
    };
    match random.below(100) {
        0..=2 => repair(parts, random, say("repair", &mut random.fork(1)), value),
        3..=11 => {
            let filler = say("filler", random);
            hesitate(parts, random, filler);
        }
        12..=13 => stumble(parts, random),
        14..=15 => restart(parts, random),
        _ => {}
    }
    let polite = parts.iter().any(|part| is_word(part, "please"));
    if chance(random, 8) {
        let opener = say("opener", random);
        let repeats =
            matches!((&opener[0], &parts[0]), (Part::Word(said), Part::Word(first)) if said == first);
        let twice_polite = polite && is_word(&opener[0], "please");
        if !repeats && !twice_polite {
            parts.splice(0..0, opener);
        }
    }
    if chance(random, 6) && !parts.iter().any(|part| is_word(part, "please")) {
        parts.extend(say("closer", random));
    }
}

/// The words of `text` as parts outside any slot.
pub fn words(text: &str) -> Vec<Part> {
    text.split(' ').map(|word| Part::Word(word.to_owned())).collect()
}

fn is_word(part: &Part, text: &str) -> bool {
    matches!(part, Part::Word(word) if word == text)
}

fn is_preposition(part: &Part) -> bool {
    matches!(part, Part::Word(word) if PREPOSITIONS.contains(&word.as_str()))
}

fn value_positions(parts: &[Part]) -> Vec<usize> {
    (0..parts.len()).filter(|&idx| matches!(parts[idx], Part::Value { .. })).collect()
}

/// Speakers hesitate before the word they look for: mostly before a value, never inside one.
///
/// Elsewhere only a plain "uh" sounds right.
fn hesitate(parts: &mut Vec<Part>, random: &mut Random, filler: Vec<Part>) {
    let mut values = value_positions(parts);
    values.retain(|&at| at > 0);
    if !values.is_empty() && chance(random, 80) {
        let at = values[random.below(values.len())];
        parts.splice(at..at, filler);
    } else if parts.len() > 1 {
        let at = 1 + random.below(parts.len() - 1);
        parts.insert(at, Part::Word("uh".to_owned()));
    }
}

/// "at seven" becomes "at at seven".
fn stumble(parts: &mut Vec<Part>, random: &mut Random) {
    let prepositions: Vec<usize> = (0..parts.len()).filter(|&idx| is_preposition(&parts[idx])).collect();
    if !prepositions.is_empty() {
        let at = prepositions[random.below(prepositions.len())];
        parts.insert(at, parts[at].clone());
    }
}

/// "can you call ann" becomes "can you can you call ann".
fn restart(parts: &mut Vec<Part>, random: &mut Random) {
    let n_words = parts.iter().take_while(|part| matches!(part, Part::Word(_))).count().min(3);
    if n_words > 0 && n_words < parts.len() {
        let again = parts[..1 + random.below(n_words)].to_vec();
        parts.splice(0..0, again);
    }
}

/// "at seven" becomes "at six no wait at seven": the value taken back comes first.
fn repair(
    parts: &mut Vec<Part>,
    random: &mut Random,
    mut phrase: Vec<Part>,
    value: &mut dyn FnMut(usize, &mut Random) -> String,
) {
    let positions = value_positions(parts);
    if positions.is_empty() {
        return;
    }
    let at = positions[random.below(positions.len())];
    let Part::Value { words, slot, kind_idx: Some(kind_idx), possessive: false, .. } = parts[at].clone()
    else {
        return;
    };
    let taken_back = value(kind_idx, random);
    if taken_back == words {
        return;
    }
    if at > 0 && is_preposition(&parts[at - 1]) && chance(random, 50) {
        phrase.push(parts[at - 1].clone());
    }
    let kind_idx = Some(kind_idx);
    phrase.insert(0, Part::Value { words: taken_back, slot, kind_idx, new: false, possessive: false });
    parts.splice(at..at, phrase);
}

/// Misspells a few words: a letter is missing, doubled or swapped with the next one.
///
/// Never a short word, a value that something has to understand, or a new concept.
pub fn misspell(utterance: &mut Utterance, settings: &Settings, random: &mut Random) {
    if settings.typos == 0 {
        return;
    }
    for (word, label) in utterance.words.iter_mut().zip(&utterance.labels) {
        let slot = label.get(2..).map(|name| settings.slots.iter().find(|slot| slot.name == name));
        let may = match slot {
            None => true,
            Some(slot) => slot.is_some_and(|slot| !slot.closed),
        };
        let long = word.len() > 3 && word.bytes().all(|letter| letter.is_ascii_lowercase());
        if may && long && random.below(1000) < settings.typos {
            *word = typo(word, random);
        }
    }
}

/// The first letter stays, as people mostly get it right.
fn typo(word: &str, random: &mut Random) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = 1 + random.below(letters.len() - 2);
    match random.below(3) {
        0 => {
            letters.remove(at);
        }
        1 => letters.insert(at, letters[at]),
        _ => letters.swap(at, at + 1),
    }
    letters.into_iter().collect()
}
