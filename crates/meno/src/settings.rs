//! How a model is trained: plain data, kept in the model file.

use serde::{Deserialize, Serialize};

use crate::encoder::MAX_SCORED;
use crate::pretrained::Pretrained;
use crate::tensors::is_zero;
use crate::{Error, Result};

pub use crate::encoder::Calibration;

/// Steps below which the default tagger is undertrained (docs/corpora.md).
const MIN_STEPS: usize = 2500;

/// More epochs than these teach nothing more, however few their steps are.
const MAX_EPOCHS: usize = 400;

/// The same for a pretrained encoder, which knows much before.
const MIN_FINE_TUNING_STEPS: usize = 1000;
const MAX_FINE_TUNING_EPOCHS: usize = 60;

/// How to train. The default is a span tagger; [`TrainSettings::slot_gated`] is the tagger of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
pub struct TrainSettings {
    /// Passes over the data.
    pub epochs: usize,
    /// Utterances of a step.
    pub batch: usize,
    /// Learning rate of Adam.
    pub rate: f32,
    /// How much the slots count in the loss; the intent counts 1.
    pub slot_weight: f32,
    /// Share of activations dropped before and after the LSTM.
    pub dropout: f32,
    /// The gradient's global norm is clipped to this.
    pub clip: f32,
    /// Width of a word embedding; a multiple of 16.
    pub embedding: usize,
    /// Width of the hidden state of one direction; a multiple of 16.
    pub hidden: usize,
    /// What is trained.
    pub architecture: Architecture,
    /// What all randomness comes from.
    pub seed: u64,
}

/// What is trained, and what only that has.
#[derive(Clone, Debug, PartialEq)]
pub enum Architecture {
    /// The slot-gated tagger, with the entropy regularizer if it is to be calibrated.
    SlotGated(Option<CalibrationSettings>),
    /// The span tagger.
    SpanTagger(SpanTaggerSettings),
    /// A pretrained encoder with the heads of the span tagger.
    Transformer(TransformerSettings),
}

/// What only the span tagger has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpanTaggerSettings {
    /// Layers of the LSTM: 1 or 2.
    pub layers: usize,
    /// Width of a character's embedding; a multiple of 16.
    pub character: usize,
    /// Filters of the char-CNN; a multiple of 16.
    pub filters: usize,
    /// Whether there is a char-CNN.
    #[serde(rename = "letters")]
    pub char_cnn: bool,
    /// Whether words have the frozen vectors that come with the program.
    pub vectors: bool,
    /// Word dropout: a word that occurs n times is read as one outside the vocabulary with probability a / (a + n); this is
    /// a.
    pub unknown_words: f32,
    /// What the logit of being outside of all spans loses for a word that never was.
    pub outside_penalty: f64,
    /// How much the log probabilities of its words' slots count in where a span begins and ends. Older models had none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joint_slots: f64,
    /// Width of the head that scores whole spans beside their words, a multiple of 16; 0 if there is none, as in older models.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub span_scores: usize,
    /// The most words of a span that it scores.
    #[serde(default = "longest_scored", skip_serializing_if = "is_usual")]
    pub longest_scored: usize,
    /// The learning rate falls evenly to this share of it.
    pub last_rate: f32,
    /// How mentions are replaced by others.
    #[serde(rename = "substitution")]
    pub replacement: MentionReplacement,
}

fn longest_scored() -> usize {
    8
}

fn is_usual(longest: &usize) -> bool {
    *longest == longest_scored()
}

impl Default for SpanTaggerSettings {
    fn default() -> Self {
        SpanTaggerSettings {
            layers: 2,
            character: 32,
            filters: 64,
            char_cnn: true,
            vectors: true,
            unknown_words: 1.0,
            outside_penalty: 2.0,
            joint_slots: 0.5,
            span_scores: 32,
            longest_scored: longest_scored(),
            last_rate: 0.02,
            replacement: MentionReplacement::default(),
        }
    }
}

/// What only a pretrained encoder has. Its rate is that of [`TrainSettings`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransformerSettings {
    /// Which encoder it is, by its fingerprint.
    pub encoder: String,
    /// Learning rate of the heads.
    pub head_rate: f32,
    /// Learning rate of the embeddings of pieces.
    pub piece_rate: f32,
    /// How much of a weight of the encoder's matrices a step takes away for each unit of the learning rate.
    pub weight_decay: f32,
    /// Over this share of the steps the learning rate rises evenly from 0; then it falls to 0.
    pub warm_up: f32,
    /// The share of the epochs, the last ones, in which few mentions are replaced. The learning rate rises and falls once more.
    pub plain_epochs: f32,
    /// The share of utterances in which they are in these.
    pub plain_replacement: f32,
    /// What the learning rates are multiplied by in these.
    pub plain_rate: f32,
    /// What the logit of being outside of all spans loses for a word that never was.
    pub outside_penalty: f64,
    /// How much the log probabilities of its words' slots count in where a span begins and ends. Older models had none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joint_slots: f64,
    /// Width of the head that scores whole spans beside their words, a multiple of 16; 0 if there is none, as in older models.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub span_scores: usize,
    /// The most words of a span that it scores.
    #[serde(default = "longest_scored", skip_serializing_if = "is_usual")]
    pub longest_scored: usize,
    /// How mentions are replaced by others in the epochs before.
    #[serde(rename = "substitution")]
    pub replacement: MentionReplacement,
    /// Whether it labels words, as the paper's tagger does, and does not find spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<LabelSettings>,
}

/// What only a pretrained encoder that labels words has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LabelSettings {
    /// The entropy regularizer, if it is to be calibrated.
    pub calibration: Option<CalibrationSettings>,
}

impl Default for TransformerSettings {
    fn default() -> Self {
        TransformerSettings {
            encoder: String::new(),
            head_rate: 1e-3,
            piece_rate: 1e-4,
            weight_decay: 0.01,
            warm_up: 0.1,
            plain_epochs: 0.45,
            plain_replacement: 0.1,
            plain_rate: 0.5,
            outside_penalty: 2.0,
            joint_slots: 0.5,
            span_scores: 64,
            longest_scored: 12,
            replacement: MentionReplacement { utterances: 0.4, ..MentionReplacement::default() },
            labels: None,
        }
    }
}

impl TransformerSettings {
    /// Of so many epochs, those in which mentions are replaced.
    pub fn replacing_epochs(&self, epochs: usize) -> usize {
        epochs - (f64::from(self.plain_epochs) * epochs as f64).round() as usize
    }
}

/// Mention replacement: how the values of slots are replaced by others while a span tagger is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MentionReplacement {
    /// The share of utterances in which mentions are replaced.
    pub utterances: f32,
    /// The share of the mentions of such an utterance that are.
    #[serde(rename = "concepts")]
    pub mentions: f32,
    /// Of these, the share that get another value of the same slot.
    pub same_slot: f32,
    /// And the share that get a value of any open slot; all others get a synthetic one.
    pub any_slot: f32,
    /// Of the synthetic ones, the share that are the head of one value and the tail of another. Older models had none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub crossed: f32,
    /// Of the others, the share in which the frequent words of a value stay where they are.
    pub patterns: f32,
    /// The share of synthetic words that are spliced from parts of two others.
    pub spliced: f32,
    /// The share of other synthetic words that come from values of the same slot.
    pub same_words: f32,
    /// Of all that replace a mention, the share whose leading function word is drawn anew, as often as values of the slot, or
    /// of any open one, have one. Older models had none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub led: f32,
    /// The slots whose mentions are replaced; by default those that look open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<Vec<String>>,
}

impl Default for MentionReplacement {
    fn default() -> Self {
        MentionReplacement {
            utterances: 0.3,
            mentions: 0.7,
            same_slot: 0.25,
            any_slot: 0.35,
            crossed: 0.5,
            patterns: 0.5,
            spliced: 0.4,
            same_words: 0.5,
            led: 0.75,
            open: None,
        }
    }
}

/// The entropy regularizer: the entropy of the calibrated Dirichlet distributions is made large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CalibrationSettings {
    /// How much the entropy of a word counts beside its cross entropy.
    pub lambda: f32,
    /// Word dropout: a word that occurs n times is read as one outside the vocabulary with probability a / (a + n); this is
    /// a. The label of a word read so is not told: only its entropy counts.
    pub unknown_words: f32,
    /// The bounds of the calibration.
    #[serde(flatten)]
    pub bounds: Calibration,
}

impl Default for CalibrationSettings {
    fn default() -> Self {
        CalibrationSettings { lambda: 1e-3, unknown_words: 1.0, bounds: Calibration::default() }
    }
}

impl Default for TrainSettings {
    fn default() -> Self {
        TrainSettings {
            epochs: 30,
            batch: 32,
            rate: 2.5e-3,
            slot_weight: 4.0,
            dropout: 0.4,
            clip: 5.0,
            embedding: 64,
            hidden: 96,
            architecture: Architecture::SpanTagger(SpanTaggerSettings::default()),
            seed: 1,
        }
    }
}

impl TrainSettings {
    /// With as many epochs as a corpus of so many utterances needs: small ones need more, since what counts is steps.
    pub fn for_corpus(self, n_utterances: usize) -> Self {
        let steps_of_epoch = n_utterances.div_ceil(self.batch.max(1)).max(1);
        let (steps, epochs) = match self.architecture {
            Architecture::Transformer(_) => (MIN_FINE_TUNING_STEPS, MAX_FINE_TUNING_EPOCHS),
            _ => (MIN_STEPS, MAX_EPOCHS),
        };
        let needed = steps.div_ceil(steps_of_epoch).min(epochs);
        TrainSettings { epochs: self.epochs.max(needed), ..self }
    }

    /// The slot-gated tagger: the defaults of Goo et al. (2018), read as `docs/math.md` says.
    pub fn slot_gated() -> Self {
        TrainSettings {
            epochs: 20,
            batch: 16,
            rate: 2e-3,
            slot_weight: 16.0,
            dropout: 0.5,
            hidden: 64,
            architecture: Architecture::SlotGated(None),
            ..TrainSettings::default()
        }
    }

    /// The same with the entropy regularizer.
    pub fn calibrated() -> Self {
        let architecture = Architecture::SlotGated(Some(CalibrationSettings::default()));
        TrainSettings { architecture, ..TrainSettings::slot_gated() }
    }

    /// A tagger on a pretrained encoder.
    pub fn transformer(encoder: &Pretrained) -> Self {
        let hidden = encoder.shape.hidden;
        let transformer =
            TransformerSettings { encoder: encoder.fingerprint(), ..TransformerSettings::default() };
        TrainSettings {
            epochs: 9,
            rate: 2e-4,
            slot_weight: 1.0,
            dropout: 0.1,
            embedding: hidden,
            hidden,
            architecture: Architecture::Transformer(transformer),
            ..TrainSettings::default()
        }
    }

    /// The tagger of the paper on a pretrained encoder: a label for each word, and no mention is replaced.
    pub fn labels_on(encoder: &Pretrained, calibration: Option<CalibrationSettings>) -> Self {
        let base = TrainSettings::transformer(encoder);
        let transformer = TransformerSettings {
            encoder: encoder.fingerprint(),
            plain_epochs: 0.0,
            plain_replacement: 0.0,
            outside_penalty: 0.0,
            joint_slots: 0.0,
            span_scores: 0,
            longest_scored: longest_scored(),
            replacement: MentionReplacement { utterances: 0.0, ..MentionReplacement::default() },
            labels: Some(LabelSettings { calibration }),
            ..TransformerSettings::default()
        };
        // As much as the sum over an utterance of ten words.
        let slot_weight = 10.0;
        TrainSettings { epochs: 6, slot_weight, architecture: Architecture::Transformer(transformer), ..base }
    }

    /// The same with or without the entropy regularizer, for a tagger that labels words.
    pub fn with_calibration(mut self, calibration: Option<CalibrationSettings>) -> Self {
        match &mut self.architecture {
            Architecture::SlotGated(settings) => *settings = calibration,
            Architecture::Transformer(TransformerSettings { labels: Some(labels), .. }) => {
                labels.calibration = calibration;
            }
            Architecture::SpanTagger(_) | Architecture::Transformer(_) => {}
        }
        self
    }

    /// The same with these slots open, for a tagger that finds spans.
    pub fn with_open(mut self, slots: Vec<String>) -> Self {
        match &mut self.architecture {
            Architecture::SlotGated(_) => {}
            Architecture::SpanTagger(tagger) => tagger.replacement.open = Some(slots),
            Architecture::Transformer(tagger) => tagger.replacement.open = Some(slots),
        }
        self
    }

    /// Whether the tagger finds whole spans, and does not label words.
    pub fn is_span_level(&self) -> bool {
        match &self.architecture {
            Architecture::SlotGated(_) => false,
            Architecture::SpanTagger(_) => true,
            Architecture::Transformer(settings) => settings.labels.is_none(),
        }
    }

    /// How mentions are replaced, if that is done.
    pub fn replacement(&self) -> Option<&MentionReplacement> {
        match &self.architecture {
            Architecture::SlotGated(_) => None,
            Architecture::SpanTagger(tagger) => Some(&tagger.replacement),
            Architecture::Transformer(tagger) => Some(&tagger.replacement),
        }
    }

    /// What the logit of being outside of all spans loses for a word that never was.
    pub fn outside_penalty(&self) -> f64 {
        match &self.architecture {
            Architecture::SlotGated(_) => 0.0,
            Architecture::SpanTagger(tagger) => tagger.outside_penalty,
            Architecture::Transformer(tagger) => tagger.outside_penalty,
        }
    }

    /// How much the log probabilities of its words' slots count in where a span begins and ends.
    pub fn joint_slots(&self) -> f64 {
        match &self.architecture {
            Architecture::SlotGated(_) => 0.0,
            Architecture::SpanTagger(tagger) => tagger.joint_slots,
            Architecture::Transformer(tagger) => tagger.joint_slots,
        }
    }

    /// What only a span tagger has, if that is trained.
    pub fn span_tagger(&self) -> Option<&SpanTaggerSettings> {
        match &self.architecture {
            Architecture::SpanTagger(settings) => Some(settings),
            Architecture::SlotGated(_) | Architecture::Transformer(_) => None,
        }
    }

    /// What only a pretrained encoder has, if that is trained.
    pub fn pretrained(&self) -> Option<&TransformerSettings> {
        match &self.architecture {
            Architecture::Transformer(settings) => Some(settings),
            Architecture::SlotGated(_) | Architecture::SpanTagger(_) => None,
        }
    }

    /// The entropy regularizer, if there is one.
    pub fn calibration(&self) -> Option<CalibrationSettings> {
        match &self.architecture {
            Architecture::SlotGated(calibration) => *calibration,
            Architecture::SpanTagger(_) => None,
            Architecture::Transformer(settings) => settings.labels.and_then(|labels| labels.calibration),
        }
    }

    /// Refuses what cannot work, naming the value.
    pub fn check(&self) -> Result<()> {
        check_widths(&[("embedding", self.embedding), ("hidden", self.hidden)])?;
        if self.epochs == 0 || self.batch == 0 {
            return refuse(
                format!("{} epochs with batches of {}", self.epochs, self.batch),
                "both must be at least 1",
            );
        }
        if !(0.0..=0.9).contains(&self.dropout) {
            return refuse(format!("dropout is {}", self.dropout), "it is a share from 0 to 0.9");
        }
        for (name, value) in [("rate", self.rate), ("slot_weight", self.slot_weight), ("clip", self.clip)] {
            if !value.is_finite() || value <= 0.0 {
                return refuse(format!("{name} is {value}"), "it must be a positive number");
            }
        }
        match &self.architecture {
            Architecture::SlotGated(calibration) => {
                calibration.as_ref().map_or(Ok(()), CalibrationSettings::check)
            }
            Architecture::SpanTagger(settings) => settings.check(),
            Architecture::Transformer(settings) => settings.check(),
        }
    }
}

fn refuse(problem: String, hint: &str) -> Result<()> {
    Err(Error::Setting { problem, hint: hint.to_owned() })
}

fn check_widths(widths: &[(&str, usize)]) -> Result<()> {
    match widths.iter().find(|(_, width)| *width == 0 || *width > 4096 || !width.is_multiple_of(16)) {
        Some((name, width)) => refuse(format!("{name} is {width}"), "widths are multiples of 16 up to 4096"),
        None => Ok(()),
    }
}

fn check_shares(shares: &[(&str, f32)]) -> Result<()> {
    match shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
        Some((name, share)) => refuse(format!("{name} is {share}"), "it is a share from 0 to 1"),
        None => Ok(()),
    }
}

fn check_up_to_1000(name: &str, value: f64) -> Result<()> {
    match (0.0..=1e3).contains(&value) {
        true => Ok(()),
        false => refuse(format!("{name} is {value}"), "it is a number from 0 to 1000"),
    }
}

fn check_span_scores(width: usize, longest: usize) -> Result<()> {
    if width > 0 {
        check_widths(&[("span_scores", width)])?;
    }
    match (1..=MAX_SCORED).contains(&longest) {
        true => Ok(()),
        false => refuse(format!("longest_scored is {longest}"), "it is a number of words from 1 to 64"),
    }
}

impl SpanTaggerSettings {
    fn check(&self) -> Result<()> {
        check_widths(&[("character", self.character), ("filters", self.filters)])?;
        check_span_scores(self.span_scores, self.longest_scored)?;
        if !(1..=2).contains(&self.layers) {
            return refuse(format!("layers is {}", self.layers), "there are 1 or 2");
        }
        check_up_to_1000("outside_penalty", self.outside_penalty)?;
        check_up_to_1000("joint_slots", self.joint_slots)?;
        check_up_to_1000("unknown_words", self.unknown_words.into())?;
        check_shares(&[("last_rate", self.last_rate)])?;
        self.replacement.check()
    }
}

impl TransformerSettings {
    fn check(&self) -> Result<()> {
        check_span_scores(self.span_scores, self.longest_scored)?;
        check_up_to_1000("outside_penalty", self.outside_penalty)?;
        check_up_to_1000("joint_slots", self.joint_slots)?;
        let [head_rate, piece_rate] = [self.head_rate, self.piece_rate];
        for (name, value) in [("head_rate", head_rate), ("piece_rate", piece_rate)] {
            if !(0.0..=1.0).contains(&value) {
                return refuse(format!("{name} is {value}"), "it is a number from 0 to 1");
            }
        }
        check_shares(&[
            ("weight_decay", self.weight_decay),
            ("plain_epochs", self.plain_epochs),
            ("plain_replacement", self.plain_replacement),
            ("plain_rate", self.plain_rate),
        ])?;
        if !(0.0..=0.9).contains(&self.warm_up) {
            return refuse(format!("warm_up is {}", self.warm_up), "it is a share from 0 to 0.9");
        }
        let calibration = self.labels.and_then(|labels| labels.calibration);
        calibration.as_ref().map_or(Ok(()), CalibrationSettings::check)?;
        self.replacement.check()
    }
}

impl MentionReplacement {
    fn check(&self) -> Result<()> {
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
            ..
        } = *self;
        check_shares(&[
            ("utterances", utterances),
            ("mentions", mentions),
            ("same_slot", same_slot),
            ("any_slot", any_slot),
            ("same_slot and any_slot together", same_slot + any_slot),
            ("crossed", crossed),
            ("patterns", patterns),
            ("spliced", spliced),
            ("same_words", same_words),
            ("led", led),
        ])
    }
}

impl CalibrationSettings {
    fn check(&self) -> Result<()> {
        let Calibration { delta, scale } = self.bounds;
        if !(0.0..=1.0).contains(&self.lambda) {
            return refuse(format!("lambda is {}", self.lambda), "it is a weight from 0 to 1");
        }
        check_up_to_1000("unknown_words", self.unknown_words.into())?;
        if !(0.0..=0.9).contains(&delta) {
            return refuse(format!("delta is {delta}"), "it is a share from 0 to 0.9");
        }
        if !(1e-6..=1e6).contains(&scale) {
            return refuse(format!("scale is {scale}"), "it is a factor from 1e-6 to 1e6");
        }
        Ok(())
    }
}

/// The settings as files have them.
#[derive(Serialize, Deserialize)]
#[serde(default)]
struct Flat {
    epochs: usize,
    batch: usize,
    rate: f32,
    slot_weight: f32,
    dropout: f32,
    clip: f32,
    embedding: usize,
    hidden: usize,
    calibrate: Option<CalibrationSettings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tagger: Option<SpanTaggerSettings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transformer: Option<TransformerSettings>,
    seed: u64,
}

/// What an old file does not say is as it was for the slot-gated tagger.
impl Default for Flat {
    fn default() -> Self {
        TrainSettings::slot_gated().into()
    }
}

impl From<TrainSettings> for Flat {
    fn from(settings: TrainSettings) -> Self {
        let (calibrate, tagger, transformer) = match settings.architecture {
            Architecture::SlotGated(calibrate) => (calibrate, None, None),
            Architecture::SpanTagger(tagger) => (None, Some(tagger), None),
            Architecture::Transformer(transformer) => (None, None, Some(transformer)),
        };
        let TrainSettings {
            epochs, batch, rate, slot_weight, dropout, clip, embedding, hidden, seed, ..
        } = settings;
        Flat {
            epochs,
            batch,
            rate,
            slot_weight,
            dropout,
            clip,
            embedding,
            hidden,
            calibrate,
            tagger,
            transformer,
            seed,
        }
    }
}

impl TryFrom<Flat> for TrainSettings {
    type Error = &'static str;

    fn try_from(flat: Flat) -> Result<Self, Self::Error> {
        let architecture = match (flat.calibrate, flat.tagger, flat.transformer) {
            (calibrate, None, None) => Architecture::SlotGated(calibrate),
            (None, Some(tagger), None) => Architecture::SpanTagger(tagger),
            (None, None, Some(transformer)) => Architecture::Transformer(transformer),
            (Some(_), ..) => return Err("only the slot-gated tagger can be calibrated"),
            (None, Some(_), Some(_)) => return Err("a tagger is a BiLSTM or a transformer, not both"),
        };
        let Flat { epochs, batch, rate, slot_weight, dropout, clip, embedding, hidden, seed, .. } = flat;
        Ok(TrainSettings {
            epochs,
            batch,
            rate,
            slot_weight,
            dropout,
            clip,
            embedding,
            hidden,
            architecture,
            seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A checkpoint of an earlier program goes on as it began.
    #[test]
    fn what_older_settings_do_not_say_is_left_out() {
        let tagger: SpanTaggerSettings =
            serde_json::from_str(r#"{"substitution": {"any_slot": 0.35}}"#).unwrap();
        assert_eq!((tagger.joint_slots, tagger.replacement.crossed, tagger.replacement.led), (0.0, 0.0, 0.0));
        assert_eq!(tagger.replacement.any_slot, 0.35);
        let written = serde_json::to_string(&SpanTaggerSettings::default()).unwrap();
        assert_eq!(
            serde_json::from_str::<SpanTaggerSettings>(&written).unwrap(),
            SpanTaggerSettings::default()
        );
    }
}
