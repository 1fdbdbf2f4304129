//! `meno completions`: what a shell needs to complete the arguments of meno.

use std::process::ExitCode;

use clap_complete::{Generator, Shell};
use meno::Result;

use crate::output::print;

const EXAMPLES: &str = "\
Examples:
  meno completions bash > ~/.local/share/bash-completion/completions/meno
  meno completions zsh > ~/.zfunc/_meno
  meno completions fish > ~/.config/fish/completions/meno.fish";

/// What was typed after `meno completions`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the completions of `command`.
pub fn run(args: Args, mut command: clap::Command) -> Result<ExitCode> {
    command.set_bin_name("meno");
    command.build();
    let mut script = Vec::new();
    args.shell.try_generate(&command, &mut script).expect("memory takes everything");
    print(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::SUCCESS)
}
