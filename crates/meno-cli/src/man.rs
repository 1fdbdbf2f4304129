//! `meno man`: the manual pages, one for each command, for those who pack the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_mangen::Man;
use meno::{Error, Result, atomic};

/// What was typed after `meno man`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder to write them to.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Writes the pages of `command` and all commands below it.
pub fn run(args: Args, command: Command) -> Result<ExitCode> {
    fs::create_dir_all(&args.dir).map_err(|source| Error::Write { path: args.dir.clone(), source })?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write(&command, &args.dir)?;
    Ok(ExitCode::SUCCESS)
}

fn write(command: &Command, dir: &Path) -> Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write(below, dir)?;
    }
    let page = Man::new(command.clone());
    let mut bytes = Vec::new();
    page.render(&mut bytes).expect("memory takes everything");
    atomic::write(&dir.join(page.get_filename()), &bytes)
}
