//! `meno export`: a model for programs that are not Rust.

use std::path::PathBuf;
use std::process::ExitCode;

use meno::{Model, Result};

use crate::output::note;

const EXAMPLES: &str = "\
Examples:
  meno export my.meno --onnx my-onnx
  python3 examples/onnx/reader.py my-onnx < words.txt    ONNX Runtime and NumPy, no Rust

docs/onnx.md says what enters the graph, what leaves it, and what stands beside it.";

/// What was typed after `meno export`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A model file that `meno train` wrote.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The folder to write: the network as an ONNX graph, with the tables that it needs.
    #[arg(long, value_name = "DIR")]
    onnx: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode> {
    let files = Model::load(&args.model)?.export_onnx(&args.onnx)?;
    note(format_args!("{} written to {}", files.join(", "), args.onnx.display()));
    Ok(ExitCode::SUCCESS)
}
