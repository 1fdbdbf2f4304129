//! Mention replacement: new concepts for training, made of the values that a corpus has.
//!
//! A value of an open slot is replaced by another value, of its own slot or of any open one, or by a synthetic one; the label
//! stays. So the tagger learns to go by the sentence, and not by the value. A value of any slot may be replaced by one that
//! the corpus says the slot to have ([`KnownValue`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use crate::features::{Example, Features, UNKNOWN_WORD, Vectors};
use crate::label::paired_spans;
use crate::memory::MAX_WORDS;
use crate::random::Random;
use crate::settings::MentionReplacement;
use crate::text::Normalizer;
use crate::utterance::KnownValue;

/// A word of a replaced mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// One of the vocabulary.
    Known(u32),
    /// A synthetic one.
    New(String),
}

/// Where a word of an example comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// It was there, at this place.
    Kept(usize),
    /// It is of a mention that took the place of another.
    Drawn(Word),
}

/// What mentions are replaced by.
pub(super) struct Mentions<'a> {
    settings: &'a MentionReplacement,
    words: &'a [Arc<str>],
    /// For each slot all its values, as often as they occur.
    values: Vec<Vec<&'a [u32]>>,
    open: Vec<bool>,
    /// The distinct values of open slots.
    all: Vec<&'a [u32]>,
    /// Their words, but for the frequent ones.
    parts: Vec<u32>,
    /// Those of each slot.
    slot_parts: Vec<Vec<u32>>,
    /// The distinct values of more than one word: those of each slot, and those of all open slots.
    slot_phrases: Vec<Vec<&'a [u32]>>,
    phrases: Vec<&'a [u32]>,
    rare: Vec<u32>,
    frequent: Vec<bool>,
    /// Whether each word is frequent outside of spans.
    function: Vec<bool>,
    known: KnownMentions,
}

/// For each slot the values that the corpus names outside of its utterances.
pub(super) type KnownMentions = Vec<Vec<Vec<Word>>>;

/// The known values of each slot of a paired set of labels, in the words of the tagger.
pub(super) fn known_mentions(
    values: &[KnownValue],
    normalizer: &Normalizer,
    features: &Features,
) -> KnownMentions {
    let slots = features.labels.paired_slots();
    let mut known = vec![Vec::new(); slots.len()];
    for KnownValue { slot, phrase, .. } in values {
        let Some(at) = slots.iter().position(|name| Some(&**name) == slot.as_deref()) else { continue };
        let word = |form: &str| match features.word(form) {
            UNKNOWN_WORD => Word::New(form.to_owned()),
            id => Word::Known(id),
        };
        let words: Vec<Word> = normalizer
            .read(phrase)
            .iter()
            .map(|token| word(normalizer.vocabulary_form(token.word)))
            .collect();
        if (1..=MAX_WORDS).contains(&words.len()) {
            known[at].push(words);
        }
    }
    known
}

/// A slot is open if it has at least this many distinct values,
const MIN_VALUES: usize = 15;
/// at most this share of their words has a digit,
const MAX_DIGITS: f64 = 0.3;
/// they have at least this many distinct words for each of them: times are made of few words,
const MIN_WORDS: f64 = 0.7;
/// they are as uneven as this many that are equally frequent,
const MIN_PERPLEXITY: f64 = 10.0;
/// and as so many, unless they are names: there are always more names, but few kinds of weather.
const SURE_PERPLEXITY: f64 = 50.0;
/// The mean share of capitals that makes words names.
const NAMES: f32 = 0.35;
/// Of synthetic words that are not spliced, the share that are any rare words.
const RARE_SHARE: f32 = 0.2;
/// A word that occurs at most this often is rare.
const RARE: usize = 3;
/// A word that occurs in at least this many different values, or outside of spans this often, is no name.
const FREQUENT: usize = 20;

impl<'a> Mentions<'a> {
    /// From the examples of a corpus with a paired set of labels; `vectors` tell how often a word is capitalised.
    pub(super) fn new(
        settings: &'a MentionReplacement,
        features: &'a Features,
        examples: &'a [Example],
        vectors: Option<&Vectors>,
        known: KnownMentions,
    ) -> Self {
        let (slots, words) = (features.labels.paired_slots(), features.words.names());
        let (counts, outside) = counts(words.len(), examples);
        let values = values_of_slots(slots.len(), examples);
        let capitals = |word: &str| vectors.and_then(|vectors| vectors.capitals(word));
        let distinct: Vec<BTreeSet<&[u32]>> =
            values.iter().map(|values| values.iter().copied().collect()).collect();
        let open: Vec<bool> = match &settings.open {
            Some(names) => slots.iter().map(|slot| names.iter().any(|name| **name == **slot)).collect(),
            None => values.iter().map(|values| is_open(values, words, capitals)).collect(),
        };
        let all: Vec<&[u32]> = distinct
            .iter()
            .zip(&open)
            .filter(|(_, open)| **open)
            .flat_map(|(values, _)| values)
            .copied()
            .collect();
        let mut spread: HashMap<u32, usize> = HashMap::new();
        all.iter().copied().flatten().for_each(|word| *spread.entry(*word).or_default() += 1);
        let frequent: Vec<bool> = (0..)
            .zip(&outside)
            .map(|(word, &n)| n >= FREQUENT || spread.get(&word).is_some_and(|&n| n >= FREQUENT))
            .collect();
        let is_part = |word: &u32| !frequent[*word as usize];
        let parts = all.iter().copied().flatten().copied().filter(is_part).collect();
        let slot_parts =
            distinct.iter().map(|values| values.iter().copied().flatten().copied().filter(is_part).collect());
        let slot_parts = slot_parts.collect();
        let is_phrase = |value: &&[u32]| value.len() > 1;
        let slot_phrases =
            distinct.iter().map(|values| values.iter().copied().filter(is_phrase).collect()).collect();
        let phrases = all.iter().copied().filter(is_phrase).collect();
        let function = outside.iter().map(|&n| n >= FREQUENT).collect();
        let rare = (1..words.len() as u32)
            .filter(|&word| counts[word as usize] <= RARE && !has_digit(&words[word as usize]))
            .collect();
        Mentions {
            settings,
            words,
            values,
            open,
            all,
            parts,
            slot_parts,
            slot_phrases,
            phrases,
            rare,
            frequent,
            function,
            known,
        }
    }

    /// The words of an example with their labels, with mentions replaced in this share of all examples.
    pub(super) fn replace(&self, example: &Example, share: f32, random: &mut Random) -> Vec<(Source, u32)> {
        let keep = |range: Range<usize>| range.map(|i| (Source::Kept(i), example.labels[i]));
        let (mut words, mut done) = (Vec::with_capacity(example.words.len()), 0);
        let replaces = random.uniform() < share;
        for (slot, range) in paired_spans(&example.labels).filter(|_| replaces) {
            if !self.is_replaceable(slot as usize) || random.uniform() >= self.settings.mentions {
                continue;
            }
            words.extend(keep(done..range.start));
            let begin = example.labels[range.start];
            let drawn = self.draw(slot as usize, random).into_iter();
            words.extend(drawn.enumerate().map(|(i, word)| (Source::Drawn(word), begin + u32::from(i > 0))));
            done = range.end;
        }
        words.extend(keep(done..example.words.len()));
        words
    }

    /// Whether a mention of this slot may be replaced.
    fn is_replaceable(&self, slot: usize) -> bool {
        self.is_open(slot) || !self.known[slot].is_empty()
    }

    fn is_open(&self, slot: usize) -> bool {
        self.open[slot] && !self.all.is_empty() && !self.parts.is_empty()
    }

    /// A mention for a slot that is replaceable.
    fn draw(&self, slot: usize, random: &mut Random) -> Vec<Word> {
        let value = self.draw_value(slot, random);
        if !self.is_open(slot) || !happens(self.settings.led, random) {
            return value;
        }
        self.lead(slot, value, random)
    }

    /// A value with the leading function word of another, of the slot or of any open one; most have none.
    fn lead(&self, slot: usize, mut value: Vec<Word>, random: &mut Random) -> Vec<Word> {
        let leads = |word: u32| self.function[word as usize];
        if let [Word::Known(first), _, ..] = value[..]
            && leads(first)
        {
            value.remove(0);
        }
        let is_own = random.uniform() < self.settings.same_words;
        let models = if is_own { &self.values[slot] } else { &self.all };
        if let [first, _, ..] = *models[random.below(models.len())]
            && leads(first)
        {
            value.insert(0, Word::Known(first));
        }
        value
    }

    fn draw_value(&self, slot: usize, random: &mut Random) -> Vec<Word> {
        let MentionReplacement { same_slot, any_slot, .. } = *self.settings;
        let known = |value: &[u32]| value.iter().map(|&word| Word::Known(word)).collect();
        let x = random.uniform();
        if x < same_slot || !self.is_open(slot) {
            let own = &self.values[slot];
            let at = random.below(own.len() + self.known[slot].len());
            return own
                .get(at)
                .map_or_else(|| self.known[slot][at - own.len()].clone(), |value| known(value));
        }
        if x < same_slot + any_slot {
            return known(self.all[random.below(self.all.len())]);
        }
        self.synthesize(slot, random)
    }

    /// The head of a value of the slot and the tail of another, which may be of any open one: function words and joints
    /// are where values have them.
    fn cross(&self, slot: usize, random: &mut Random) -> Vec<Word> {
        let own = &self.slot_phrases[slot];
        let tails = if random.uniform() < self.settings.same_words { own } else { &self.phrases };
        let mut cut = |phrases: &[&'a [u32]]| {
            let phrase = phrases[random.below(phrases.len())];
            phrase.split_at(1 + random.below(phrase.len() - 1))
        };
        let ((head, _), (_, tail)) = (cut(own), cut(tails));
        head.iter().chain(tail).map(|&word| Word::Known(word)).collect()
    }

    /// As long as a value of the slot, or nearly.
    fn synthesize(&self, slot: usize, random: &mut Random) -> Vec<Word> {
        if !self.slot_phrases[slot].is_empty() && happens(self.settings.crossed, random) {
            return self.cross(slot, random);
        }
        let own = &self.values[slot];
        let model = own[random.below(own.len())];
        if random.uniform() < self.settings.patterns {
            let word = |&word: &u32| match self.frequent[word as usize] {
                true => Word::Known(word),
                false => self.synthesize_word(slot, random),
            };
            return model.iter().map(word).collect();
        }
        let n = match random.below(5) {
            0 => model.len() + 1,
            1 => model.len().max(2) - 1,
            _ => model.len(),
        };
        (0..n).map(|_| self.synthesize_word(slot, random)).collect()
    }

    fn synthesize_word(&self, slot: usize, random: &mut Random) -> Word {
        let MentionReplacement { spliced, same_words, .. } = *self.settings;
        let own = &self.slot_parts[slot];
        let parts = if random.uniform() < same_words && !own.is_empty() { own } else { &self.parts };
        let x = random.uniform();
        if x < spliced {
            Word::New(self.splice(parts, random))
        } else if x < spliced + RARE_SHARE * (1.0 - spliced) && !self.rare.is_empty() {
            Word::Known(self.rare[random.below(self.rare.len())])
        } else {
            Word::Known(parts[random.below(parts.len())])
        }
    }

    /// The beginning of one word and the end of another, or a word in disorder.
    fn splice(&self, parts: &[u32], random: &mut Random) -> String {
        let mut letters =
            || -> Vec<char> { self.words[parts[random.below(parts.len())] as usize].chars().collect() };
        let (mut first, second) = (letters(), letters());
        if random.uniform() < 0.3 {
            random.shuffle(&mut first);
            return first.into_iter().collect();
        }
        let head = 1 + random.below(first.len().max(2) - 1);
        let tail = random.below(second.len().max(1));
        first.truncate(head);
        first.into_iter().chain(second.into_iter().skip(tail)).take(12).collect()
    }
}

/// Nothing is drawn for what never happens, so that old settings give what they gave.
fn happens(share: f32, random: &mut Random) -> bool {
    share > 0.0 && random.uniform() < share
}

/// How often each word occurs, and how often outside of all spans.
pub(super) fn counts(n_words: usize, examples: &[Example]) -> (Vec<usize>, Vec<usize>) {
    let (mut counts, mut outside) = (vec![0; n_words], vec![0; n_words]);
    for Example { words, labels, .. } in examples {
        for (&word, &label) in words.iter().zip(labels) {
            counts[word as usize] += 1;
            outside[word as usize] += usize::from(label == 0);
        }
    }
    (counts, outside)
}

/// For each slot all its values, as often as they occur.
fn values_of_slots(n_slots: usize, examples: &[Example]) -> Vec<Vec<&[u32]>> {
    let mut values = vec![Vec::new(); n_slots];
    for Example { words, labels, .. } in examples {
        paired_spans(labels).for_each(|(slot, range)| values[slot as usize].push(&words[range]));
    }
    values
}

/// The slots that look open by their values.
pub(super) fn open_slots(
    features: &Features,
    examples: &[Example],
    vectors: Option<&Vectors>,
) -> Vec<String> {
    let (slots, words) = (features.labels.paired_slots(), features.words.names());
    let capitals = |word: &str| vectors.and_then(|vectors| vectors.capitals(word));
    let values = values_of_slots(slots.len(), examples);
    let open = slots.iter().zip(values).filter(|(_, values)| is_open(values, words, capitals));
    open.map(|(slot, _)| slot.to_string()).collect()
}

/// Whether a slot with these values has others too.
fn is_open(values: &[&[u32]], words: &[Arc<str>], capitals: impl Fn(&str) -> Option<f32>) -> bool {
    let mut counts: BTreeMap<&[u32], usize> = BTreeMap::new();
    values.iter().for_each(|&value| *counts.entry(value).or_default() += 1);
    let text = |word: &u32| -> &str { &words[*word as usize] };
    let n_words: usize = counts.keys().map(|value| value.len()).sum();
    let n_digits = counts.keys().copied().flatten().filter(|word| has_digit(text(word))).count();
    let distinct: BTreeSet<u32> = counts.keys().copied().flatten().copied().collect();
    let share = |&n: &usize| n as f64 / values.len() as f64;
    let perplexity = counts.values().map(share).map(|share| -share * share.ln()).sum::<f64>().exp();
    let capitals: Vec<f32> = distinct.iter().filter_map(|word| capitals(text(word))).collect();
    let are_names = capitals.is_empty() || capitals.iter().sum::<f32>() >= NAMES * capitals.len() as f32;
    counts.len() >= MIN_VALUES
        && (n_digits as f64) < MAX_DIGITS * n_words as f64
        && distinct.len() as f64 >= MIN_WORDS * counts.len() as f64
        && perplexity >= MIN_PERPLEXITY
        && (perplexity >= SURE_PERPLEXITY || are_names)
}

fn has_digit(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` values of one word, each as often as said; upper case stands for words that are mostly capitalised.
    fn open(n: usize, frequency: impl Fn(usize) -> usize, name: impl Fn(usize) -> String) -> bool {
        let words: Vec<Arc<str>> = (0..n).map(|i| name(i).into()).collect();
        let ids: Vec<[u32; 1]> = (0..n as u32).map(|id| [id]).collect();
        let values: Vec<&[u32]> =
            ids.iter().enumerate().flat_map(|(i, id)| vec![id.as_slice(); frequency(i)]).collect();
        let capitals = |word: &str| {
            (word != "?").then(|| f32::from(u8::from(word.starts_with(|c: char| c.is_uppercase()))))
        };
        is_open(&values, &words, capitals)
    }

    #[test]
    fn open_slots_have_many_values_or_names() {
        let (word, name) =
            (|i: usize| format!("w{}", "x".repeat(i)), |i: usize| format!("N{}", "x".repeat(i)));
        assert!(open(60, |_| 1, word), "many values");
        assert!(!open(14, |_| 1, name), "few values");
        assert!(!open(20, |_| 9, word), "few values that are no names");
        assert!(open(20, |_| 9, name), "few names");
        assert!(open(20, |_| 9, |_| "?".to_owned()), "words of which nothing is known may be names");
        assert!(!open(60, |i| if i == 0 { 10_000 } else { 1 }, name), "one value nearly always");
        assert!(!open(60, |_| 1, |i| i.to_string()), "numbers");
    }

    /// What a corpus of these words and labels has.
    fn fit(utterances: &[(&str, &str)]) -> (Features, Vec<Example>) {
        let list = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let utterance = |(words, labels): &(&str, &str)| crate::utterance::Utterance {
            words: list(words),
            labels: list(labels),
            ..Default::default()
        };
        let utterances: Vec<_> = utterances.iter().map(utterance).collect();
        let mut features = Features::fit(utterances.iter(), str::to_owned);
        features.labels = features.labels.paired();
        let example = |utterance: &crate::utterance::Utterance| Example {
            words: utterance.words.iter().map(|word| features.word(word)).collect(),
            labels: utterance.labels.iter().map(|label| features.labels.id(label).unwrap()).collect(),
            intent: 0,
        };
        let examples = utterances.iter().map(example).collect();
        (features, examples)
    }

    fn slot(features: &Features, name: &str) -> usize {
        features.labels.paired_slots().iter().position(|slot| **slot == *name).unwrap()
    }

    /// What is drawn in many turns, each thing once, in words.
    fn drawn(mentions: &Mentions<'_>, mut draw: impl FnMut(&mut Random) -> Vec<Word>) -> Vec<String> {
        let mut random = Random::new(1);
        let text = |word: Word| match word {
            Word::Known(word) => mentions.words[word as usize].to_string(),
            Word::New(word) => word,
        };
        let phrases = (0..200).map(|_| draw(&mut random).into_iter().map(text).collect::<Vec<_>>().join(" "));
        phrases.collect::<BTreeSet<String>>().into_iter().collect()
    }

    fn settings(open: &[&str]) -> MentionReplacement {
        let open = Some(open.iter().map(|&slot| slot.to_owned()).collect());
        MentionReplacement { same_slot: 0.0, any_slot: 0.0, led: 0.0, open, ..MentionReplacement::default() }
    }

    #[test]
    fn crossed_values_are_a_head_and_a_tail() {
        let (features, examples) =
            fit(&[("a of b", "B-title I-title I-title"), ("c d", "B-title I-title"), ("e", "B-title")]);
        let settings = MentionReplacement { crossed: 1.0, ..settings(&["title"]) };
        let mentions = Mentions::new(&settings, &features, &examples, None, vec![Vec::new()]);
        let expected = ["a b", "a d", "a of b", "a of d", "a of of b", "c b", "c d", "c of b"];
        assert_eq!(drawn(&mentions, |random| mentions.draw(0, random)), expected);
    }

    #[test]
    fn a_leading_function_word_comes_and_goes() {
        let (the, outside) = (vec!["the"; FREQUENT].join(" "), vec!["O"; FREQUENT].join(" "));
        let (features, examples) =
            fit(&[(&the, &outside), ("the a", "B-title I-title"), ("b c", "B-name I-name")]);
        let lead = |slot_name: &str, value: &str, same_words: f32| {
            let settings = MentionReplacement { same_words, ..settings(&["title", "name"]) };
            let mentions = Mentions::new(&settings, &features, &examples, None, vec![Vec::new(); 2]);
            let slot = slot(&features, slot_name);
            let value: Vec<Word> = value.split(' ').map(|word| Word::Known(features.word(word))).collect();
            drawn(&mentions, |random| mentions.lead(slot, value.clone(), random))
        };
        assert_eq!(lead("title", "b", 1.0), ["the b"], "all titles begin so");
        assert_eq!(lead("title", "the a", 1.0), ["the a"]);
        assert_eq!(lead("name", "the a", 1.0), ["a"], "no name does");
        assert_eq!(lead("name", "the", 1.0), ["the"], "something is left");
        assert_eq!(lead("name", "b c", 0.0), ["b c", "the b c"], "the values of all open slots");
    }

    #[test]
    fn known_values_take_the_place_of_others() {
        let (features, examples) = fit(&[("with ham on it", "O B-topping O B-thing")]);
        let value = |slot, phrase| KnownValue::new(Some(slot), phrase, None);
        let values = [value("topping", "Sun-dried ham!"), value("street", "it")];
        let known = known_mentions(&values, &Normalizer::default(), &features);
        let settings = MentionReplacement::default();
        let mentions = Mentions::new(&settings, &features, &examples, None, known);
        let slot = |name: &str| slot(&features, name);
        assert!(mentions.is_replaceable(slot("topping")) && !mentions.is_replaceable(slot("thing")));
        let (new, ham) = (|word: &str| Word::New(word.to_owned()), Word::Known(features.word("ham")));
        let [own, known] = [vec![ham.clone()], vec![new("sun"), new("dried"), ham]];
        let mut random = Random::new(1);
        let drawn: Vec<_> = (0..40).map(|_| mentions.draw(slot("topping"), &mut random)).collect();
        assert!(drawn.iter().all(|value| [&own, &known].contains(&value)), "{drawn:?}");
        assert!(drawn.contains(&own) && drawn.contains(&known), "{drawn:?}");
    }
}
