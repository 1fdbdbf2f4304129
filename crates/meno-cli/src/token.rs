//! `meno token`: a token for a user of a server.

use std::path::PathBuf;
use std::process::ExitCode;

use meno::{Error, Result, atomic};
use meno_server::new_token;

use crate::output::{note, print};

const EXAMPLES: &str = "\
Examples:
  meno token anna read,teach --tokens tokens.txt    prints the token, and adds its hash to the file
  meno token everyone admin                         prints the token and, as a note, the line for the file
  curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:8080/v1/concepts

Rights: read (annotate, see concepts), teach (hold dialogues, change concepts of one's own), admin (all of that for every
owner, load another model). The file has hashes only: a token that is lost is lost, and to take one away its line is
deleted. A server that runs reads the file again at SIGHUP.";

/// What was typed after `meno token`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Whose concepts it is for; `everyone` for those that all users know.
    #[arg(value_name = "OWNER")]
    owner: String,
    /// What it allows: read, teach, admin, separated by commas.
    #[arg(value_name = "RIGHTS")]
    rights: String,
    /// The file to add it to.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let (token, line) = new_token(&args.owner, &args.rights)?;
    match args.tokens {
        Some(path) => {
            let mut text = match std::fs::read_to_string(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
                read => read.map_err(|source| Error::Read { path: path.clone(), source })?,
            };
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            atomic::write(&path, format!("{text}{line}\n").as_bytes())?;
        }
        None => note(format_args!("the line for the file of tokens: {line}")),
    }
    print(token)?;
    Ok(ExitCode::SUCCESS)
}
