//! `meno quantize`: from a model to one with smaller weights.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use meno::engine::WeightFormat;
use meno::{Model, Result, atomic};

use crate::output::print;

const EXAMPLES: &str = "\
Examples:
  meno quantize my.model -o small.model                  smaller, and faster
  meno quantize my.model -o half.model --weights bf16    of a pretrained encoder: half the size

The LSTMs of the default tagger, or the layers and pieces of a pretrained encoder, get a quarter of their size. The answers are nearly the same: `meno eval` tells how good both are. What has 8 bits cannot be made into anything else.";

/// What was typed after `meno quantize`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The model, of the default tagger or on a pretrained encoder.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The model file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What weights become: 8 bits with scales, or, of a pretrained encoder, floats of 16 bits.
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    weights: Weights,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Weights {
    #[default]
    Int8,
    Bf16,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let format = match args.weights {
        Weights::Int8 => WeightFormat::Int8,
        Weights::Bf16 => WeightFormat::Bf16,
    };
    atomic::demand_writable(&args.output)?;
    let model = Model::load(&args.model)?;
    let before = model.to_bytes().len();
    let bytes = model.with_weights(format)?.to_bytes();
    atomic::write(&args.output, &bytes)?;
    let megabytes = |n: usize| n as f64 / 1e6;
    let (path, small, large) = (args.output.display(), megabytes(bytes.len()), megabytes(before));
    print(format!("{path}: {small:.1} MB, of {large:.1} MB"))?;
    Ok(ExitCode::SUCCESS)
}
