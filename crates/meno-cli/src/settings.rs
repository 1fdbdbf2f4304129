//! The arguments that say how to train and what is unknown, and what they mean.

use std::num::NonZeroUsize;

use meno::corpus::conll::Layout;
use meno::decision::{BUDGET, Policy, PolicySettings, Threshold};
use meno::memory::Spelling;
use meno::resolve::Shape;
use meno::syntax::phrase::Rule;
use meno::train::{Calibration, CalibrationSettings, TrainSettings};
use meno::{Error, Model, Result};
use meno_store::Clock;

use crate::output::note;

/// Which columns of a CoNLL file hold what.
#[derive(clap::Args)]
pub struct ColumnsArgs {
    /// The data is CoNLL, and these are the columns of word and tag, counted from 1; found out by default.
    #[arg(long, value_name = "WORD,TAG")]
    columns: Option<String>,
}

impl ColumnsArgs {
    pub fn layout(&self) -> Result<Option<Layout>> {
        self.columns.as_ref().map(|text| text.parse()).transpose()
    }
}

/// How concepts that were taught are looked for.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct SpellingArgs {
    /// Find concepts with one slip in a word of five letters or more, where the tagger does not know the word.
    #[arg(long)]
    misspellings: bool,
}

impl From<SpellingArgs> for Spelling {
    fn from(args: SpellingArgs) -> Self {
        if args.misspellings { Spelling::Forgiving } else { Spelling::Strict }
    }
}

/// When and where something is said, and how what it stands for is written.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Values")]
pub struct ValueArgs {
    /// The moment at which it is said, for what times and dates stand for: RFC 3339; by default now.
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// The time zone of those who say it, for example Europe/Berlin; by default this machine's.
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
}

impl ValueArgs {
    pub fn clock(&self) -> Result<Clock> {
        Clock::default().at(self.now.as_deref(), self.zone.as_deref())
    }
}

/// How values are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ShapeName {
    /// As Duckling does.
    #[default]
    Duckling,
    /// As Snips NLU does.
    Snips,
}

impl From<ShapeName> for Shape {
    fn from(name: ShapeName) -> Self {
        match name {
            ShapeName::Duckling => Shape::Duckling,
            ShapeName::Snips => Shape::Snips,
        }
    }
}

/// Which network is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ArchitectureName {
    /// The default: a BiLSTM with a CRF that finds whole spans and scores each as a whole.
    #[value(alias = "tagger")]
    SpanTagger,
    /// The slot-gated tagger of the paper, calibrated or plain, which scores words.
    #[value(alias = "paper")]
    SlotGated,
}

impl ArchitectureName {
    /// What it is trained with unless something else is said.
    pub fn settings(self) -> TrainSettings {
        match self {
            ArchitectureName::SpanTagger => TrainSettings::default(),
            ArchitectureName::SlotGated => TrainSettings::calibrated(),
        }
    }
}

/// What was typed; what was not keeps its default, or the value of the training that goes on.
///
/// Two defaults in a help text are those of the two architectures.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "How to train")]
pub struct TrainArgs {
    /// Passes over the data, more by default where 30 are few steps (30, slot-gated 20).
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Utterances of a step (32, slot-gated 16).
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Width of the hidden state of one direction, a multiple of 16 (96, slot-gated 64).
    #[arg(long, value_name = "N")]
    hidden: Option<usize>,
    /// Width of a word embedding, a multiple of 16 (64).
    #[arg(long, value_name = "N")]
    embedding: Option<usize>,
    /// Learning rate (0.0025, slot-gated 0.002).
    #[arg(long, value_name = "X")]
    rate: Option<f32>,
    /// How much the slots count in the loss, where the intent counts 1 (4, slot-gated 16).
    #[arg(long, value_name = "X")]
    slot_weight: Option<f32>,
    /// Share of activations that are dropped while training (0.4, slot-gated 0.5).
    #[arg(long, value_name = "X")]
    dropout: Option<f32>,
    /// The slots that have more values than the data shows, such as names: their values are replaced in training. By default
    /// those that look so, which `meno data stats` prints.
    #[arg(long, value_name = "SLOTS", value_delimiter = ',')]
    open: Option<Vec<String>>,
}

impl TrainArgs {
    /// `base` as a corpus of so many utterances needs it, with what was typed.
    pub fn for_corpus(&self, base: TrainSettings, n_utterances: usize) -> TrainSettings {
        self.over(base.for_corpus(n_utterances))
    }

    pub fn names_open_slots(&self) -> bool {
        self.open.is_some()
    }

    /// `base` with what was typed.
    pub fn over(&self, mut base: TrainSettings) -> TrainSettings {
        if let Some(open) = &self.open {
            base = base.with_open(open.clone());
        }
        TrainSettings {
            epochs: self.epochs.unwrap_or(base.epochs),
            batch: self.batch.unwrap_or(base.batch),
            hidden: self.hidden.unwrap_or(base.hidden),
            embedding: self.embedding.unwrap_or(base.embedding),
            rate: self.rate.unwrap_or(base.rate),
            slot_weight: self.slot_weight.unwrap_or(base.slot_weight),
            dropout: self.dropout.unwrap_or(base.dropout),
            ..base
        }
    }
}

/// What was typed about the entropy regularizer.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "How to learn what is unknown")]
pub struct CalibrationArgs {
    /// How far the calibration may move concentrations, as a share of the largest (0.1).
    #[arg(long, value_name = "X")]
    delta: Option<f32>,
    /// How much the entropy of a word counts beside its cross entropy (0.001).
    #[arg(long, value_name = "X")]
    lambda: Option<f32>,
    /// What every concentration is multiplied by (1).
    #[arg(long, value_name = "X")]
    scale: Option<f32>,
    /// Word dropout: words that occur N times are read as never seen with probability A / (A + N) (1).
    #[arg(long, value_name = "A")]
    unknown_words: Option<f32>,
}

impl CalibrationArgs {
    /// Whether anything was.
    pub fn is_typed(&self) -> bool {
        [self.delta, self.lambda, self.scale, self.unknown_words].iter().any(Option::is_some)
    }

    /// `base` with what was typed.
    pub fn over(&self, base: CalibrationSettings) -> CalibrationSettings {
        CalibrationSettings {
            lambda: self.lambda.unwrap_or(base.lambda),
            unknown_words: self.unknown_words.unwrap_or(base.unknown_words),
            bounds: Calibration {
                delta: self.delta.unwrap_or(base.bounds.delta),
                scale: self.scale.unwrap_or(base.bounds.scale),
            },
        }
    }
}

/// What was typed about the threshold of a new model.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "How to learn what is unknown")]
pub struct ThresholdArgs {
    /// With --architecture slot-gated, what measures the uncertainty of a word: entropy, confidence, entropy-plus-one, top-variance, softmax-entropy,
    /// max-logit, energy or mutual-information; by default entropy, with --plain softmax-entropy.
    #[arg(long, value_name = "NAME")]
    score: Option<String>,
    /// How many points of slot F1 saying `unknown` may cost on the valid split (0.5, slot-gated 1).
    #[arg(long, value_name = "POINTS", allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Not a budget but a promise: at most this share of in-domain concepts is called unknown, such as 0.02.
    #[arg(long, value_name = "SHARE", conflicts_with = "budget")]
    false_alarm: Option<f64>,
    /// How many questions a wrong act is worth (5): the higher, the more is asked.
    #[arg(long, value_name = "N")]
    wrong_act_cost: Option<f64>,
    /// Not a cost but a promise: at most this share of the acts is wrong, such as 0.05.
    #[arg(long, value_name = "SHARE", conflicts_with = "wrong_act_cost")]
    risk: Option<f64>,
    /// With --architecture slot-gated, how unknown words grow to phrases.
    #[arg(long, value_enum, default_value_t)]
    phrases: Phrases,
}

impl ThresholdArgs {
    /// What they mean for an architecture; refuses what only the other has.
    pub fn settings(&self, architecture: ArchitectureName) -> Result<PolicySettings> {
        match (architecture, &self.score, self.false_alarm) {
            (ArchitectureName::SpanTagger, Some(_), _) => {
                return Err(only_with("--score", "it scores words by it"));
            }
            (ArchitectureName::SlotGated, _, Some(_)) => {
                return Err(Error::Setting {
                    problem: "--false-alarm is a promise about concepts".to_owned(),
                    hint: "leave out --false-alarm, or leave out --architecture slot-gated".to_owned(),
                });
            }
            _ => {}
        }
        let settings = PolicySettings {
            score: self.score.as_deref().map(str::parse).transpose()?,
            budget: self.budget,
            false_alarm: self.false_alarm,
            phrases: self.phrases.into(),
            wrong_act_cost: self.wrong_act_cost,
            risk: self.risk,
        };
        settings.check()?;
        Ok(settings)
    }
}

/// Says so if nothing will ever be unknown.
pub fn note_never_unknown(model: &Model) {
    if model.policy().threshold.is_none() {
        note("note: no slot in the valid split, so no word will be called unknown");
    }
}

/// Something was typed that only `--architecture slot-gated` has.
pub fn only_with(what: &str, why: &str) -> Error {
    let problem = format!("{what} is of the slot-gated tagger: {why}");
    Error::Setting { problem, hint: "add --architecture slot-gated, or leave it out".to_owned() }
}

/// How unknown words are to grow to phrases.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Phrases {
    /// By the rule that finds most slots of the valid split, or not at all.
    #[default]
    Best,
    /// Not at all.
    None,
    /// To the head of the noun phrase with all that hangs under it.
    Literal,
    /// Along edges inside noun phrases.
    Tree,
    /// Over neighbours of a nominal part of speech.
    Run,
}

impl From<Phrases> for meno::decision::Phrases {
    fn from(phrases: Phrases) -> Self {
        match phrases {
            Phrases::Best => Self::Best,
            Phrases::None => Self::None,
            Phrases::Literal => Self::By(Rule::Literal),
            Phrases::Tree => Self::By(Rule::Tree),
            Phrases::Run => Self::By(Rule::Run),
        }
    }
}

/// What was typed to override the threshold of a model.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "What is unknown")]
pub struct OverrideArgs {
    /// Words of a higher uncertainty are unknown, whatever the model has as its threshold; that alone decides, not the confidence.
    #[arg(long, value_name = "X", allow_negative_numbers = true, conflicts_with = "budget")]
    threshold: Option<f64>,
    /// How many points of slot F1 saying `unknown` may cost, as measured when the model was made.
    #[arg(long, value_name = "POINTS", allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Call single words unknown, not the phrases around them.
    #[arg(long)]
    single_words: bool,
}

impl OverrideArgs {
    /// Whether a threshold or a budget was.
    pub fn is_typed(self) -> bool {
        self.threshold.is_some() || self.budget.is_some()
    }

    /// The model with what was typed.
    pub fn apply(self, model: Model) -> Result<Model> {
        let model = self.without_growth(model);
        if !self.is_typed() {
            return Ok(model);
        }
        let unknown = |_| {
            let problem = "the model has no threshold, and nothing to choose one on".to_owned();
            Err(Error::Threshold { problem, hint: "train it anew, with slots in the valid split".to_owned() })
        };
        let threshold = self.threshold(model.policy().threshold.as_ref(), unknown)?;
        let policy = model.policy().by_stated(threshold);
        Ok(model.with_policy(policy))
    }

    /// The model, without its growth of phrases if that was typed.
    pub fn without_growth(self, model: Model) -> Model {
        let policy = model.policy().clone();
        if self.single_words { model.with_policy(Policy { growth: None, ..policy }) } else { model }
    }

    /// The stored threshold with what was typed; where none is stored, what `choose` finds for a budget.
    pub fn threshold(
        self,
        stored: Option<&Threshold>,
        choose: impl FnOnce(f64) -> Result<Threshold>,
    ) -> Result<Threshold> {
        match (self.threshold, self.budget, stored) {
            (Some(value), ..) if !value.is_finite() => {
                let problem = format!("the threshold is {value}");
                Err(Error::Setting { problem, hint: "it must be a finite number".to_owned() })
            }
            (Some(value), _, Some(stored)) => Ok(Threshold { value, ..stored.clone() }),
            (Some(value), _, None) => Ok(Threshold::stated(value)),
            (None, Some(budget), Some(stored)) if !stored.offers.is_empty() => stored.for_budget(budget),
            (None, None, Some(stored)) => Ok(stored.clone()),
            (None, budget, _) => choose(budget.unwrap_or(BUDGET)),
        }
    }
}

/// The number of threads that was typed, or one for each core.
pub fn threads(typed: Option<NonZeroUsize>) -> usize {
    typed.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command};

    fn check(command: Command, defaults: &[(&str, String)]) {
        for (name, value) in defaults {
            let arg = command.get_arguments().find(|arg| arg.get_id() == name).expect(name);
            let help = arg.get_help().expect(name).to_string();
            assert!(help.ends_with(&format!("({value})")), "{name}: {help}");
        }
    }

    /// The defaults stand in the help by hand, because what was not typed must be told from what was.
    #[test]
    fn help_tells_the_defaults() {
        let values = |settings: TrainSettings| {
            let TrainSettings { epochs, batch, hidden, embedding, rate, slot_weight, dropout, .. } = settings;
            [
                ("epochs", epochs.to_string()),
                ("batch", batch.to_string()),
                ("hidden", hidden.to_string()),
                ("embedding", embedding.to_string()),
                ("rate", rate.to_string()),
                ("slot_weight", slot_weight.to_string()),
                ("dropout", dropout.to_string()),
            ]
        };
        let both = values(TrainSettings::default()).into_iter().zip(values(TrainSettings::slot_gated()));
        let defaults: Vec<_> = both
            .map(|((name, tagger), (_, paper))| match tagger == paper {
                true => (name, paper),
                false => (name, format!("{tagger}, slot-gated {paper}")),
            })
            .collect();
        check(TrainArgs::augment_args(Command::new("train")), &defaults);
        let CalibrationSettings { lambda, unknown_words, bounds } = CalibrationSettings::default();
        check(
            CalibrationArgs::augment_args(Command::new("train")),
            &[
                ("lambda", lambda.to_string()),
                ("unknown_words", unknown_words.to_string()),
                ("delta", bounds.delta.to_string()),
                ("scale", bounds.scale.to_string()),
            ],
        );
    }
}
