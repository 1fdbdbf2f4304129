//! `meno token`: a token for a user of a server.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meno::{Error, Result};
use meno_server::{Expiry, Terms, TokenSource, new_token, quota, rate};

use crate::output::{note, print};

const EXAMPLES: &str = "\
Examples:
  meno token anna read,teach --tokens tokens.txt    prints the token, and adds its hash to the file
  meno token anna read --tokens tokens.txt --days 90 --rate 20 --quota 5000
  meno token everyone admin                         prints the token and, as a note, the line for the file
  meno token --list --tokens tokens.txt             owner, rights, first digits of the hash
  curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:8080/v1/concepts

Rights: read (annotate, see concepts), teach (hold dialogues, change concepts of one's own), metrics (see /metrics), admin
(all of that for every owner, load another model). The file has hashes only: a token that is lost is lost, and to take one
away its line is deleted. A server that runs reads the file again at SIGHUP. When a token was last used is told by GET /v1/tokens of
the server, as far as it knows: since its start.";

/// What was typed after `meno token`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Whose concepts it is for; `everyone` for those that all users know.
    #[arg(value_name = "OWNER", required_unless_present = "list")]
    owner: Option<String>,
    /// What it allows: read, teach, metrics, admin, separated by commas.
    #[arg(value_name = "RIGHTS", required_unless_present = "list")]
    rights: Option<String>,
    /// The file to add it to.
    #[arg(long, value_name = "FILE", env = "MENO_TOKENS_FILE")]
    tokens: Option<PathBuf>,
    /// When it is valid no more: a day, which begins in UTC, or a time such as 2027-01-31T12:00:00Z.
    #[arg(long, value_name = "DAY")]
    expires: Option<String>,
    /// The same, as days from now.
    #[arg(long, value_name = "N", conflicts_with = "expires")]
    days: Option<u32>,
    /// Requests a second that it allows, in place of what `meno serve --rate` says.
    #[arg(long, value_name = "N")]
    rate: Option<String>,
    /// Requests a day that it allows.
    #[arg(long, value_name = "N")]
    quota: Option<String>,
    /// Show the tokens of the file.
    #[arg(long, requires = "tokens", conflicts_with_all = ["owner", "rights", "expires", "days", "rate", "quota"])]
    list: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let (Some(owner), Some(rights)) = (&args.owner, &args.rights) else { return list(args.tokens) };
    let expires = match (&args.expires, args.days) {
        (Some(text), _) => Some(Expiry::parse(text)?),
        (None, days) => days.map(Expiry::in_days).transpose()?,
    };
    if let Some(expires) = expires.filter(|expires| expires.is_past()) {
        let problem = format!("a token that expires at {expires} is of no use");
        return Err(Error::Setting { problem, hint: "name a day to come".to_owned() });
    }
    let (rate, quota) = (args.rate.as_deref().map(rate), args.quota.as_deref().map(quota));
    let terms = Terms { expires, rate: rate.transpose()?, quota: quota.transpose()? };
    let (token, line) = new_token(owner, rights)?;
    let line = format!("{line}{terms}");
    match args.tokens {
        Some(path) => {
            append(&path, &line).map_err(|source| Error::Write { path, source })?;
        }
        None => note(format_args!("the line for the file of tokens: {line}")),
    }
    print(token)?;
    Ok(ExitCode::SUCCESS)
}

fn list(tokens: Option<PathBuf>) -> Result<ExitCode> {
    for line in tokens.map_or(Ok(Vec::new()), |path| TokenSource::File(path).list())? {
        print(line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Adds a line to a file, which keeps its owner and mode; others who do the same wait. A new file is for its owner alone.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file: File = options.open(path)?;
    file.lock()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let written = file.write_all(format!("{end}{line}\n").as_bytes()).and_then(|()| file.sync_data());
    if written.is_err() {
        // Half a line would be refused, and every token with it.
        let _ = file.set_len(text.len() as u64);
    }
    written
}
