//! `meno backup` and `meno restore`: everything in a store of concepts, to a file and back.

use std::path::PathBuf;
use std::process::ExitCode;

use meno::Result;
use meno_store::{Access, open};

use crate::memory::told;
use crate::output::{count, note};

const EXAMPLES: &str = "\
Examples:
  meno backup concepts.backup
  meno backup concepts.backup --store postgres://anna@db/meno
  meno restore concepts.backup --store concepts.db

A backup is a store by itself: one SQLite file, which every command opens. It has the store as it was at one moment; servers
that use the store go on reading and writing. What is restored takes the place of everything that the store has, at once, and
servers notice it within a second. pg_dump and psql do the same for a PostgreSQL database with all its other tables.";

/// What was typed after `meno backup` or `meno restore`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The file with the backup.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The store: a file, or postgres://...
    // There may be a password in it.
    #[arg(
        long,
        value_name = "STORE",
        default_value = "concepts.db",
        env = "MENO_STORE",
        hide_env_values = true
    )]
    store: String,
}

/// Writes a backup.
pub fn backup(args: &Args) -> Result<ExitCode> {
    let mut store = open(&args.store, Access::Existing).map_err(told)?;
    let n = meno_store::backup(store.as_mut(), &args.file).map_err(told)?;
    note(format_args!("{}: {}", args.file.display(), count(n as usize, "concept")));
    Ok(ExitCode::SUCCESS)
}

/// Puts a backup in the place of what a store has.
pub fn restore(args: &Args) -> Result<ExitCode> {
    // Opened first, so that a file that is no backup makes no store.
    meno_store::open_backup(&args.file).map_err(told)?;
    let mut store = open(&args.store, Access::Create).map_err(told)?;
    let n = meno_store::restore(store.as_mut(), &args.file).map_err(told)?;
    note(format_args!("{}: {}", args.store, count(n as usize, "concept")));
    Ok(ExitCode::SUCCESS)
}
