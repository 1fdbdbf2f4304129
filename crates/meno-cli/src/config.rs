//! The settings of a training as a file.

use std::path::Path;
use std::{fs, ptr};

use meno::train::TransformerSettings;
use meno::train::{Architecture, CalibrationSettings, MentionReplacement, SpanTaggerSettings, TrainSettings};
use meno::{Error, Result};
use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Table, Value};

/// What settings are called here and, since the model file has other names for them, there; both are read.
const KEPT_NAMES: [(&str, &str); 4] = [
    ("span_tagger", "tagger"),
    ("replacement", "substitution"),
    ("mentions", "concepts"),
    ("char_cnn", "letters"),
];

/// Settings that are not there while they are what they were in older programs.
const LEFT_OUT: [&str; 7] = [
    "span_tagger.replacement.open",
    "tagger.substitution.open",
    "transformer.replacement.open",
    "span_tagger.span_scores",
    "span_tagger.longest_scored",
    "transformer.span_scores",
    "transformer.longest_scored",
];

/// The settings in TOML, with what each means.
pub fn print(settings: &TrainSettings) -> String {
    let TrainSettings { epochs, batch, rate, slot_weight, dropout, clip, embedding, hidden, seed, .. } =
        settings;
    let mut text = format!(
        "\
# passes over the data
epochs = {epochs}
# utterances of a step
batch = {batch}
# learning rate of Adam
rate = {rate}
# how much the slots count in the loss, where the intent counts 1
slot_weight = {slot_weight:?}
# share of activations that are dropped before and after the LSTM
dropout = {dropout:?}
# the gradient's norm is clipped to this
clip = {clip:?}
# widths of a word's embedding and of the hidden state of one direction: multiples of 16
embedding = {embedding}
hidden = {hidden}
# what all randomness comes from
seed = {seed}
"
    );
    text += &match &settings.architecture {
        Architecture::SlotGated(None) => String::new(),
        Architecture::SlotGated(Some(calibration)) => print_calibration("calibrate", calibration),
        Architecture::SpanTagger(tagger) => print_tagger(tagger),
        Architecture::Transformer(transformer) => print_transformer(transformer),
    };
    text
}

fn print_calibration(name: &str, settings: &CalibrationSettings) -> String {
    let CalibrationSettings { lambda, unknown_words, bounds } = settings;
    format!(
        "
[{name}]
# how much the entropy of a word counts beside its cross entropy
lambda = {lambda:?}
# word dropout: words that occur n times are read as never seen with probability a / (a + n): a
unknown_words = {unknown_words:?}
# how far the calibration may move concentrations, as a share of the largest
delta = {:?}
# what every concentration is multiplied by
scale = {:?}
",
        bounds.delta, bounds.scale
    )
}

fn print_tagger(settings: &SpanTaggerSettings) -> String {
    let SpanTaggerSettings {
        layers,
        character,
        filters,
        char_cnn,
        vectors,
        unknown_words,
        outside_penalty,
        joint_slots,
        span_scores,
        longest_scored,
        last_rate,
        replacement,
    } = settings;
    let text = format!(
        "
[span_tagger]
# layers of the LSTM: 1 or 2
layers = {layers}
# width of a character's embedding, and filters over the characters of a word: multiples of 16
character = {character}
filters = {filters}
# whether the characters of a word are read
char_cnn = {char_cnn}
# whether words have the frozen vectors that come with the program
vectors = {vectors}
# word dropout: words that occur n times are read as never seen with probability a / (a + n): a
unknown_words = {unknown_words:?}
# what the logit of being outside of all concepts loses for a word that never was
outside_penalty = {outside_penalty:?}
# how much the log probabilities of its words' slots count in where a concept begins and ends
joint_slots = {joint_slots:?}
# width of the head that scores whole concepts beside their words, a multiple of 16; 0 is none
span_scores = {span_scores}
# the most words of a concept that it scores
longest_scored = {longest_scored}
# the learning rate falls evenly to this share of it
last_rate = {last_rate:?}
"
    );
    text + &print_replacement("span_tagger", replacement)
}

fn print_transformer(settings: &TransformerSettings) -> String {
    let TransformerSettings {
        encoder,
        head_rate,
        piece_rate,
        weight_decay,
        warm_up,
        plain_epochs,
        plain_replacement,
        plain_rate,
        outside_penalty,
        joint_slots,
        span_scores,
        longest_scored,
        replacement,
        labels,
    } = settings;
    let text = format!(
        "
[transformer]
# which encoder it is, by its fingerprint
encoder = {encoder:?}
# learning rates of the heads and of the embeddings of pieces; that of the encoder is `rate`
head_rate = {head_rate:?}
piece_rate = {piece_rate:?}
# how much of a weight of the encoder a step takes away for each unit of the learning rate
weight_decay = {weight_decay:?}
# share of the steps over which the learning rate rises; then it falls to 0
warm_up = {warm_up:?}
# share of the epochs, the last ones, in which values are replaced in this share of the utterances alone, and what learning
# rates are multiplied by in them
plain_epochs = {plain_epochs:?}
plain_replacement = {plain_replacement:?}
plain_rate = {plain_rate:?}
# what the logit of being outside of all concepts loses for a word that never was
outside_penalty = {outside_penalty:?}
# how much the log probabilities of its words' slots count in where a concept begins and ends
joint_slots = {joint_slots:?}
# width of the head that scores whole concepts beside their words, a multiple of 16; 0 is none
span_scores = {span_scores}
# the most words of a concept that it scores
longest_scored = {longest_scored}
"
    );
    let labels = labels.map_or(String::new(), |labels| {
        let text = "\n# words are labelled, as by the tagger of the paper, and no spans are found\n[transformer.labels]\n";
        let calibration = |settings| print_calibration("transformer.labels.calibration", &settings);
        text.to_owned() + &labels.calibration.map_or(String::new(), calibration)
    });
    text + &print_replacement("transformer", replacement) + &labels
}

fn print_replacement(within: &str, replacement: &MentionReplacement) -> String {
    let MentionReplacement {
        utterances,
        mentions,
        same_slot,
        any_slot,
        crossed,
        patterns,
        spliced,
        same_words,
        led,
        open,
    } = replacement;
    let open = match open {
        // A list of strings is the same in JSON.
        Some(slots) => format!("open = {}", serde_json::json!(slots)),
        None => "# open = [\"artist\", \"city\"]".to_owned(),
    };
    format!(
        "
# mention replacement: values are put in the place of others, their labels stay
[{within}.replacement]
# share of utterances in which that is done, and share of their spans
utterances = {utterances:?}
mentions = {mentions:?}
# of these, share that get another value of the slot, and share that get one of any open slot; others are synthetic
same_slot = {same_slot:?}
any_slot = {any_slot:?}
# of the synthetic ones, share that are the head of one value and the tail of another
crossed = {crossed:?}
# of the other synthetic ones, share that keep the frequent words of a value of the slot
patterns = {patterns:?}
# of synthetic words, share that are spliced from two; of all, share that are made of words of the slot
spliced = {spliced:?}
same_words = {same_words:?}
# of all these values, share whose leading function word is drawn anew, as often as values of the slot or of any have one
led = {led:?}
# slots whose values are replaced; by default those with many different values, or some that are names
{open}
"
    )
}

/// What shows which settings there are.
const HINT: &str = "`meno train --print-config` shows what there is";

/// Reads such a file; what it does not say is as in `base`, what it says must be in `base`.
pub fn read(path: &Path, base: TrainSettings) -> Result<TrainSettings> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    parse(&text, base).map_err(|Wrong { line, problem, hint }| Error::Setting {
        problem: format!("{}:{line}: {problem}", path.display()),
        hint,
    })
}

/// What is wrong with a file, and where.
#[derive(Debug, PartialEq)]
struct Wrong {
    line: usize,
    problem: String,
    hint: String,
}

fn parse(text: &str, base: TrainSettings) -> Result<TrainSettings, Wrong> {
    let entries = entries(text)?;
    let base = Table::try_from(base).expect("settings are a table");
    for entry in &entries {
        let mut alone = base.clone();
        let result = entry.put(&mut alone).and_then(|()| {
            let typed: Result<TrainSettings, toml::de::Error> = alone.try_into();
            typed.map_err(|error| format!("`{}`: {}", entry.path.join("."), error.message().trim_end()))
        });
        result.map_err(|problem| Wrong { line: entry.line, problem, hint: HINT.to_owned() })?;
    }
    let without = |left_out: Option<&Entry>| {
        let mut settings = base.clone();
        for entry in entries.iter().filter(|entry| left_out.is_none_or(|left_out| !ptr::eq(*entry, left_out)))
        {
            entry.put(&mut settings).expect("it was put there alone");
        }
        let settings: TrainSettings = settings.try_into().expect("each has its type");
        settings.check().map(|()| settings)
    };
    without(None).map_err(|error| {
        let problem = error.to_string();
        // The line without which something else is wrong, or nothing.
        let is_to_blame =
            |entry: &&Entry| without(Some(entry)).map_or_else(|other| other.to_string() != problem, |_| true);
        let line = entries.iter().rfind(is_to_blame).map_or(1, |entry| entry.line);
        Wrong { line, problem, hint: error.hint().unwrap_or_default().to_owned() }
    })
}

/// A setting as a file has it: its names from the outermost table on.
struct Entry {
    path: Vec<String>,
    value: Value,
    line: usize,
}

impl Entry {
    /// Puts it in the place of what there is; refuses what there is not.
    fn put(&self, settings: &mut Table) -> Result<(), String> {
        let unknown = |depth: usize| format!("there is no setting `{}`", self.path[..=depth].join("."));
        let kept: Vec<&str> = self.path.iter().map(|typed| kept_name(typed)).collect();
        let (name, tables) = kept.split_last().expect("a setting has a name");
        let mut table = settings;
        for (depth, within) in tables.iter().enumerate() {
            table = table.get_mut(*within).and_then(Value::as_table_mut).ok_or_else(|| unknown(depth))?;
        }
        let value = match (table.get(*name), &self.value) {
            (None, _) if !LEFT_OUT.contains(&&*self.path.join(".")) => return Err(unknown(tables.len())),
            (Some(Value::Float(_)), Value::Integer(value)) => Value::Float(*value as f64),
            (_, value) => value.clone(),
        };
        table.insert((*name).to_owned(), value);
        Ok(())
    }
}

fn kept_name(typed: &str) -> &str {
    KEPT_NAMES.iter().find(|(name, _)| *name == typed).map_or(typed, |(_, kept)| kept)
}

/// What a file has, from its first line to its last.
fn entries(text: &str) -> Result<Vec<Entry>, Wrong> {
    let line_at = |offset: usize| 1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count();
    let wrong = |error: toml::de::Error| Wrong {
        line: line_at(error.span().map_or(0, |span| span.start)),
        problem: error.message().trim_end().to_owned(),
        hint: HINT.to_owned(),
    };
    let mut tables = vec![(Vec::new(), DeTable::parse(text).map_err(wrong)?.into_inner())];
    let mut entries = Vec::new();
    while let Some((within, table)) = tables.pop() {
        for (name, value) in table {
            let line = line_at(name.span().start);
            let path = [&within[..], &[name.into_inner().into_owned()]].concat();
            match value.get_ref() {
                DeValue::Table(inner) if !inner.is_empty() => tables.push((path, inner.clone())),
                _ => {
                    let value = Value::deserialize(ValueDeserializer::from(value)).map_err(wrong)?;
                    entries.push(Entry { path, value, line });
                }
            }
        }
    }
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_what_is_read() {
        let mut changed = TrainSettings { epochs: 3, dropout: 0.25, seed: 9, ..TrainSettings::default() };
        if let Architecture::SpanTagger(tagger) = &mut changed.architecture {
            tagger.vectors = false;
            tagger.span_scores = 0;
            tagger.replacement.open = Some(vec!["a \"b\"".to_owned()]);
        }
        for settings in
            [TrainSettings::default(), TrainSettings::calibrated(), TrainSettings::slot_gated(), changed]
        {
            let mut base = settings.clone();
            base.epochs += 1;
            if let Architecture::SpanTagger(tagger) = &mut base.architecture {
                tagger.unknown_words = 0.9;
                tagger.replacement.open = None;
            }
            assert_eq!(parse(&print(&settings), base), Ok(settings));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, expected_line: usize, expected: &str| {
            let Wrong { line, problem, hint } = parse(text, TrainSettings::default()).unwrap_err();
            assert_eq!((line, &*problem), (expected_line, expected), "{text}");
            assert!(!hint.is_empty(), "{text}");
        };
        check("epoch = 3", 1, "there is no setting `epoch`");
        check("\n[span_tagger]\nfilter = 3", 3, "there is no setting `span_tagger.filter`");
        check("[calibrate]\nlambda = 1", 2, "there is no setting `calibrate`");
        check("[calibrate]", 1, "there is no setting `calibrate`");
        check("epochs.first = 1", 1, "there is no setting `epochs`");
        check("seed = 3\nepochs = \"many\"", 2, "`epochs`: invalid type: string \"many\", expected usize");
        check(
            "span_tagger = 3",
            1,
            "`span_tagger`: invalid type: integer `3`, expected struct SpanTaggerSettings",
        );
        check("seed = 1\nepochs = ", 2, "string values must be quoted, expected literal string");
        // Of the right type and out of range.
        check("[span_tagger]\nlayers = 1\nspan_scores = 7\n\nfilters = 32", 3, "span_scores is 7");
        check("[span_tagger]\nlongest_scored = 99", 2, "longest_scored is 99");
        check("rate = nan", 1, "rate is NaN");
        check("batch = 1\nepochs = 0\nseed = 1", 2, "0 epochs with batches of 1");
        check("[span_tagger.replacement]\nmentions = 2", 2, "mentions is 2");
        // Of two that are wrong each is found, and of two that are wrong together one.
        check("dropout = 2\nclip = 0", 1, "dropout is 2");
        let together = "[span_tagger.replacement]\nany_slot = 0.5\nled = 1\nsame_slot = 0.75";
        check(together, 4, "same_slot and any_slot together is 1.25");
    }

    /// By its name, and by the one it had before.
    #[test]
    fn slots_to_replace() {
        for table in ["span_tagger.replacement", "tagger.substitution"] {
            let text = format!("rate = 1\n[{table}]\nopen = [\"city\"]");
            let settings = parse(&text, TrainSettings::default()).unwrap();
            assert_eq!(settings.rate, 1.0);
            assert_eq!(settings.span_tagger().unwrap().replacement.open, Some(vec!["city".to_owned()]));
        }
    }
}
