//! The settings of a training as a file.

use std::fs;
use std::path::Path;

use meno::train::TransformerSettings;
use meno::train::{Architecture, CalibrationSettings, MentionReplacement, SpanTaggerSettings, TrainSettings};
use meno::{Error, Result};
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

/// Reads such a file; what it does not say is as in `base`, what it says must be in `base`.
pub fn read(path: &Path, base: TrainSettings) -> Result<TrainSettings> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    parse(&text, base).map_err(|problem| Error::Setting {
        problem: format!("{}: {problem}", path.display()),
        hint: "`meno train --print-config` shows what there is".to_owned(),
    })
}

fn parse(text: &str, base: TrainSettings) -> Result<TrainSettings, String> {
    let file: Table = text.parse().map_err(|e: toml::de::Error| e.to_string().trim_end().to_owned())?;
    let mut settings = Table::try_from(&base).map_err(|e| e.to_string())?;
    lay_over(&mut settings, file, "")?;
    settings.try_into().map_err(|e: toml::de::Error| e.message().to_owned())
}

fn lay_over(settings: &mut Table, file: Table, within: &str) -> Result<(), String> {
    for (typed, value) in file {
        let path = format!("{within}{typed}");
        let kept =
            KEPT_NAMES.iter().find(|(name, _)| *name == typed).map_or(typed, |(_, kept)| (*kept).to_owned());
        match (settings.get_mut(&kept), value) {
            (Some(Value::Table(settings)), Value::Table(file)) => {
                lay_over(settings, file, &format!("{path}."))?
            }
            (None, value) if LEFT_OUT.contains(&path.as_str()) => {
                settings.insert(kept, value);
            }
            (None, _) => return Err(format!("there is no setting `{path}`")),
            (Some(Value::Float(setting)), Value::Integer(value)) => *setting = value as f64,
            (Some(setting), value) => *setting = value,
        }
    }
    Ok(())
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
        let check = |text: &str, expected: &str| {
            let problem = parse(text, TrainSettings::default()).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        };
        check("epoch = 3", "there is no setting `epoch`");
        check("[span_tagger]\nfilter = 3", "there is no setting `span_tagger.filter`");
        check("[calibrate]\nlambda = 1", "there is no setting `calibrate`");
        check("epochs = \"many\"", "invalid type: string");
        check("epochs = ", "line 1");
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
