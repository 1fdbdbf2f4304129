//! The `meno` command: arguments to settings to the engine, and results to standard output.
//!
//! Exit codes: 0 done, 1 done and something was found, 2 failed.

mod data;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Spoken language understanding that knows what it does not know.
#[derive(Parser)]
#[command(name = "meno", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Look into corpora, find what is wrong with them, and convert them.
    Data(data::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Data(args) => data::run(args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        if let Some(hint) = error.hint() {
            eprintln!("hint: {hint}");
        }
        ExitCode::from(2)
    })
}
