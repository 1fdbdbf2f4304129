//! The arguments that say how to train and what is unknown, and what they mean.

use std::num::NonZeroUsize;

use meno::corpus::Corpus;
use meno::decision::{BUDGET, CONCEPT_BUDGET, Threshold};
use meno::encoder::Calibration;
use meno::engine::CONCEPT_SCORE;
use meno::memory::Spelling;
use meno::syntax::phrase::Rule;
use meno::train::{CalibrationSettings, TrainSettings};
use meno::uncertainty::Score;
use meno::{Error, Model, Result};

use crate::output::note;

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

/// Which model is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Recipe {
    /// Finds concepts and names them, and judges each as a whole.
    Tagger,
    /// The slot-gated tagger of the paper, calibrated or plain, which judges words.
    Paper,
}

impl Recipe {
    /// What it is trained with unless something else is said.
    pub fn settings(self) -> TrainSettings {
        match self {
            Recipe::Tagger => TrainSettings::tagger(),
            Recipe::Paper => TrainSettings::calibrated(),
        }
    }
}

/// What was typed; what was not keeps its default, or the value of the training that goes on.
///
/// Two defaults in a help text are those of the two recipes.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "How to train")]
pub struct TrainArgs {
    /// Passes over the data (30, paper 20).
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Utterances of a step (32, paper 16).
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Width of the hidden state of one direction, a multiple of 16 (96, paper 64).
    #[arg(long, value_name = "N")]
    hidden: Option<usize>,
    /// Width of a word embedding, a multiple of 16 (64).
    #[arg(long, value_name = "N")]
    embedding: Option<usize>,
    /// Learning rate (0.0025, paper 0.002).
    #[arg(long, value_name = "X")]
    rate: Option<f32>,
    /// How much the slots count in the loss, where the intent counts 1 (4, paper 16).
    #[arg(long, value_name = "X")]
    slot_weight: Option<f32>,
    /// Share of activations that are dropped while training (0.4, paper 0.5).
    #[arg(long, value_name = "X")]
    dropout: Option<f32>,
}

impl TrainArgs {
    /// `base` with what was typed.
    pub fn over(&self, base: TrainSettings) -> TrainSettings {
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

/// What was typed about the second loss.
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
    /// Words that occur N times are read as never seen with probability A / (A + N) (1).
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
    /// With --recipe paper, what measures the uncertainty of a word: entropy, confidence, entropy-plus-one, top-variance, softmax-entropy,
    /// max-logit, energy or mutual-information; by default entropy, with --plain softmax-entropy.
    #[arg(long, value_name = "NAME")]
    score: Option<String>,
    /// How many points of slot F1 saying `unknown` may cost on the valid split (0.5, paper 1).
    #[arg(long, value_name = "POINTS", allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Not a budget but a promise: at most this share of in-domain concepts is called unknown, such as 0.02.
    #[arg(long, value_name = "SHARE", conflicts_with = "budget")]
    false_alarm: Option<f64>,
    /// With --recipe paper, how unknown words grow to phrases.
    #[arg(long, value_enum, default_value_t)]
    phrases: Phrases,
}

impl ThresholdArgs {
    /// Refuses what cannot work, before anything long begins.
    pub fn check(&self) -> Result<()> {
        self.score.as_deref().map(str::parse::<Score>).transpose()?;
        let refuse = |problem: String, hint: &str| Err(Error::Setting { problem, hint: hint.to_owned() });
        match (self.budget, self.false_alarm) {
            (Some(budget), _) if budget.is_nan() || budget < 0.0 => {
                refuse(format!("the budget is {budget}"), "it is a number of points of F1, 0 or more")
            }
            (_, Some(share)) if !(share > 0.0 && share < 1.0) => refuse(
                format!("the share of false alarms is {share}"),
                "it lies between 0 and 1, such as 0.02",
            ),
            _ => Ok(()),
        }
    }

    /// Refuses what only the other recipe has.
    pub fn check_recipe(&self, recipe: Recipe) -> Result<()> {
        match (recipe, &self.score, self.false_alarm) {
            (Recipe::Tagger, Some(_), _) => Err(only_with("--score", "it judges words by it")),
            (Recipe::Paper, _, Some(_)) => Err(Error::Setting {
                problem: "--false-alarm is a promise about concepts".to_owned(),
                hint: "leave it out, or --recipe paper".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// The model with a threshold and a growth of phrases chosen on `valid`, if that has slots.
    pub fn apply(&self, model: Model, valid: &Corpus) -> Result<Model> {
        let mut labels = valid.utterances.iter().flat_map(|utterance| &utterance.labels);
        if labels.all(|label| label == "O") {
            note("note: no slot in the valid split, so no word will be called unknown");
            return Ok(model);
        }
        if model.judges_concepts() {
            let budget = self.budget.unwrap_or(CONCEPT_BUDGET);
            return model.with_concept_thresholds(budget, self.false_alarm, &valid.utterances);
        }
        let score = self.score.as_deref().map_or(Ok(model.default_score()), str::parse)?;
        let threshold = model.choose_threshold(score, self.budget.unwrap_or(BUDGET), &valid.utterances)?;
        let model = model.with_threshold(Some(threshold));
        let growth = match self.phrases {
            Phrases::Best => model.choose_growth(&Rule::ALL, &valid.utterances),
            Phrases::None => None,
            Phrases::Literal => model.choose_growth(&[Rule::Literal], &valid.utterances),
            Phrases::Tree => model.choose_growth(&[Rule::Tree], &valid.utterances),
            Phrases::Run => model.choose_growth(&[Rule::Run], &valid.utterances),
        };
        Ok(model.with_growth(growth))
    }
}

/// Something was typed that only `--recipe paper` has.
pub fn only_with(what: &str, why: &str) -> Error {
    let problem = format!("{what} is of the tagger of the paper: {why}");
    Error::Setting { problem, hint: "add --recipe paper, or leave it out".to_owned() }
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

impl Default for ThresholdArgs {
    fn default() -> Self {
        ThresholdArgs { score: None, budget: None, false_alarm: None, phrases: Phrases::Best }
    }
}

/// What was typed to override the threshold of a model.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "What is unknown")]
pub struct OverrideArgs {
    /// Words of a higher uncertainty are unknown, whatever the model has as its threshold.
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
            Err(Error::Setting { problem, hint: "train it anew, with slots in the valid split".to_owned() })
        };
        let score = if model.judges_concepts() { CONCEPT_SCORE } else { model.default_score().name() };
        let threshold = self.threshold(model.threshold(), score, unknown)?;
        Ok(model.with_threshold(Some(threshold)))
    }

    /// The model, without its growth of phrases if that was typed.
    pub fn without_growth(self, model: Model) -> Model {
        if self.single_words { model.with_growth(None) } else { model }
    }

    /// The stored threshold with what was typed; where none is stored, what `choose` finds for a budget.
    pub fn threshold(
        self,
        stored: Option<&Threshold>,
        score: &str,
        choose: impl FnOnce(f64) -> Result<Threshold>,
    ) -> Result<Threshold> {
        match (self.threshold, self.budget, stored) {
            (Some(value), ..) if !value.is_finite() => {
                let problem = format!("the threshold is {value}");
                Err(Error::Setting { problem, hint: "it must be a finite number".to_owned() })
            }
            (Some(value), _, Some(stored)) => Ok(Threshold { value, ..stored.clone() }),
            (Some(value), _, None) => Ok(Threshold::stated(score, value)),
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
        let both = values(TrainSettings::tagger()).into_iter().zip(values(TrainSettings::default()));
        let defaults: Vec<_> = both
            .map(|((name, tagger), (_, paper))| match tagger == paper {
                true => (name, paper),
                false => (name, format!("{tagger}, paper {paper}")),
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
