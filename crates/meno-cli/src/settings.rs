//! The arguments that say how to train, and what they mean.

use std::num::NonZeroUsize;

use meno::train::TrainSettings;

/// What was typed; what was not keeps its default, or the value of the training that goes on.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "How to train")]
pub struct TrainArgs {
    /// Passes over the data (20).
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Utterances of a step (16).
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Width of the hidden state of one direction, a multiple of 16 (64).
    #[arg(long, value_name = "N")]
    hidden: Option<usize>,
    /// Width of a word embedding, a multiple of 16 (64).
    #[arg(long, value_name = "N")]
    embedding: Option<usize>,
    /// Learning rate (0.002).
    #[arg(long, value_name = "X")]
    rate: Option<f32>,
    /// How much the slots count in the loss, where the intent counts 1 (16).
    #[arg(long, value_name = "X")]
    slot_weight: Option<f32>,
    /// Share of activations that are dropped while training (0.5).
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

/// The number of threads that was typed, or one for each core.
pub fn threads(typed: Option<NonZeroUsize>) -> usize {
    typed.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command};

    /// The defaults stand in the help by hand, because what was not typed must be told from what was.
    #[test]
    fn help_tells_the_defaults() {
        let TrainSettings { epochs, batch, hidden, embedding, rate, slot_weight, dropout, .. } =
            TrainSettings::default();
        let command = TrainArgs::augment_args(Command::new("train"));
        for (name, value) in [
            ("epochs", epochs.to_string()),
            ("batch", batch.to_string()),
            ("hidden", hidden.to_string()),
            ("embedding", embedding.to_string()),
            ("rate", rate.to_string()),
            ("slot_weight", slot_weight.to_string()),
            ("dropout", dropout.to_string()),
        ] {
            let arg = command.get_arguments().find(|arg| arg.get_id() == name).expect(name);
            let help = arg.get_help().expect(name).to_string();
            assert!(help.ends_with(&format!("({value})")), "{name}: {help}");
        }
    }
}
