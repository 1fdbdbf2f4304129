//! `meno serve`: the model over HTTP.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Arg, ArgAction, ValueEnum};
use meno::Result;
use meno::memory::{EVERYONE, Owner};
use meno_server::{Config, LogFormat, TlsFiles, TokenSource, note, rate, serve};
use meno_store::{Assistant, Clock, Quota};

use crate::chat::phrasebook;
use crate::memory::told;
use crate::settings::SpellingArgs;

const EXAMPLES: &str = "\
Examples:
  meno serve my.model --store concepts.db         then open http://127.0.0.1:8080/
  meno serve my.model --store postgres://anna@db/meno --listen 0.0.0.0:8080 --tokens tokens.txt
  meno serve my.model --listen 0.0.0.0:8443 --tokens tokens.txt --tls-cert server.pem --tls-key server.key
  curl -H 'Content-Type: application/json' -d '{\"text\": \"wake me at six\"}' http://127.0.0.1:8080/v1/annotate

The interface is described at /openapi.json. SIGHUP reads the certificate, the tokens, the phrases and the model again,
SIGTERM ends the server when what is under way is done. Every option may also stand in the environment, as the help names
it; what is typed wins. The lines of the tokens themselves may stand in MENO_TOKENS.";

/// The environment variable with tokens.
const TOKENS: &str = "MENO_TOKENS";

/// What was typed after `meno serve`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, mut_args = in_environment)]
pub struct Args {
    /// A model file that `meno train` wrote.
    #[arg(value_name = "MODEL", env = "MENO_MODEL")]
    model: PathBuf,
    /// Where concepts are kept: a file, or postgres://... Without it they are forgotten when the server ends.
    // There may be a password in it.
    #[arg(long, value_name = "STORE", hide_env_values = true)]
    store: Option<String>,
    /// The address to listen on; another one than this machine's own needs tokens.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// Another address, on which /healthz, /readyz and /metrics are answered whatever happens on the first.
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<String>,
    /// The server's certificate as PEM, with those that lead to an authority after it: connections are encrypted by TLS.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A file with a line for each token: owner, rights, hash; see `meno help token`.
    #[arg(long, value_name = "FILE", env = "MENO_TOKENS_FILE")]
    tokens: Option<PathBuf>,
    /// Whose concepts are known and taught where there are no tokens.
    #[arg(long, value_name = "USER", default_value = EVERYONE, conflicts_with = "tokens")]
    owner: String,
    #[command(flatten)]
    spelling: SpellingArgs,
    /// What dialogues say and understand, in place of plain English: docs/dialogue.md.
    #[arg(long, value_name = "FILE")]
    phrases: Option<PathBuf>,
    /// The time zone of those who ask, for example Europe/Berlin, unless a request states one; by default this machine's.
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Threads that run the model; by default one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    #[command(flatten)]
    limits: Limits,
    /// Write a line to standard error for every request, without what was said; json for programs.
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, default_missing_value = "text")]
    log: Option<Format>,
    /// With --log, also what was said.
    #[arg(long, requires = "log")]
    log_text: bool,
    /// Add a line of JSON to this file for every change and every refusal: who, what, of whose; never what was said.
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// An object a line.
    Json,
}

impl From<Format> for LogFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => LogFormat::Text,
            Format::Json => LogFormat::Json,
        }
    }
}

/// Gives every option a variable: `--owner-concepts` has `MENO_OWNER_CONCEPTS`.
fn in_environment(arg: Arg) -> Arg {
    let arg = match arg.get_action() {
        // A variable has a value.
        ArgAction::SetTrue => arg.value_parser(BoolishValueParser::new()),
        _ => arg,
    };
    match arg.get_long() {
        Some(long) if arg.get_env().is_none() => {
            let name = format!("MENO_{}", long.replace('-', "_").to_uppercase());
            arg.env(name)
        }
        _ => arg,
    }
}

#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct Limits {
    /// Requests a second that a token allows, unless its line says it; others are refused with 429.
    #[arg(long, value_name = "N", value_parser = requests_a_second)]
    rate: Option<f64>,
    /// Requests that a token allows at once; by default those of a second.
    #[arg(long, value_name = "N")]
    burst: Option<NonZeroU32>,
    /// Requests that may wait for the model; others are refused with 429.
    #[arg(long, value_name = "N", default_value = "1024")]
    queue: NonZeroUsize,
    /// Open connections; who is silent for longest gives way to others.
    #[arg(long, value_name = "N", default_value = "1024")]
    connections: NonZeroUsize,
    /// Open connections from one address.
    #[arg(long, value_name = "N", default_value = "512")]
    address_connections: NonZeroUsize,
    /// Bytes of a body.
    #[arg(long, value_name = "BYTES", default_value = "1048576")]
    max_body: usize,
    /// Bytes of all bodies that are answered at once, half of them of one token; bodies up to 16384 are not counted.
    #[arg(long, value_name = "BYTES", default_value = "33554432")]
    max_bodies: usize,
    /// Characters of a text.
    #[arg(long, value_name = "N", default_value = "4096")]
    max_text: usize,
    /// Texts of a request.
    #[arg(long, value_name = "N", default_value = "256")]
    max_batch: usize,
    /// Seconds that a client may take to send or to take something, and that a request may wait.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,
    /// Seconds that requests under way have when the server ends.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    grace: Duration,
    /// Dialogues that are kept; the oldest give way.
    #[arg(long, value_name = "N", default_value = "10000")]
    sessions: NonZeroUsize,
    /// Dialogues of one owner that are kept; its oldest give way.
    #[arg(long, value_name = "N", default_value = "1000")]
    owner_sessions: NonZeroUsize,
    /// Concepts that one owner may have; admins may give more.
    #[arg(long, value_name = "N", default_value = "100000")]
    owner_concepts: u64,
    /// Bytes that the concepts of one owner may take.
    #[arg(long, value_name = "BYTES", default_value = "67108864")]
    owner_bytes: u64,
    /// Minutes that a dialogue waits for the next turn.
    #[arg(long, value_name = "N", default_value = "30")]
    session_minutes: u32,
    /// Days after which a change is dropped from the journal, and with it what was forgotten; it cannot be undone any more.
    #[arg(long, value_name = "N", default_value = "30")]
    journal_days: u32,
}

/// What helps stands in the message, here and below: the parser of arguments has no other place for it.
pub fn seconds(text: &str) -> Result<Duration, String> {
    // An hour is longer than anybody waits, and far from what a clock cannot add.
    let seconds = text.parse().ok().filter(|seconds| (0.001..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        let text = text.escape_debug();
        format!("`{text}` is no number of seconds\nhint: there may be 0.001 to 3600, such as 10")
    })
}

fn requests_a_second(text: &str) -> Result<f64, String> {
    rate(text).map_err(|error| match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    })
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let Args {
        model,
        store,
        listen,
        admin_listen,
        tls_cert,
        tls_key,
        tokens,
        owner: name,
        spelling,
        phrases,
        zone,
        threads,
        limits,
        log,
        log_text,
        audit,
    } = args;
    let from_environment =
        || Some(TokenSource::Lines(std::env::var_os(TOKENS)?.to_string_lossy().into_owned()));
    let defaults = Config::new(model);
    let config = Config {
        store,
        listen,
        tls: tls_cert.zip(tls_key).map(|(certificate, key)| TlsFiles { certificate, key }),
        tokens: tokens.map(TokenSource::File).or_else(from_environment),
        owner: Owner::named(&name)?,
        spelling: spelling.into(),
        phrases: phrases.clone(),
        assistant: Assistant { book: phrasebook(phrases.as_deref())?, ..Assistant::default() },
        clock: Clock::default().at(None, zone.as_deref())?,
        threads: threads.map_or(defaults.threads, usize::from),
        rate: limits.rate,
        burst: limits.burst.map(u32::from),
        queue: limits.queue.into(),
        connections: limits.connections.into(),
        address_connections: limits.address_connections.into(),
        admin_listen,
        max_body: limits.max_body,
        max_bodies: limits.max_bodies,
        max_text: limits.max_text,
        max_batch: limits.max_batch,
        timeout: limits.timeout,
        grace: limits.grace,
        sessions: limits.sessions.into(),
        owner_sessions: limits.owner_sessions.into(),
        quota: Quota { concepts: limits.owner_concepts, bytes: limits.owner_bytes },
        session_lifetime: Duration::from_secs(60 * u64::from(limits.session_minutes)),
        journal_age: Duration::from_secs(24 * 60 * 60 * u64::from(limits.journal_days)),
        log: log.map(LogFormat::from),
        log_text,
        audit,
        signals: true,
        ..defaults
    };
    survive_mistakes();
    let keeps = config.store.is_some();
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let started = |address| {
        note(format_args!("{scheme}://{address}/"));
        if !keeps {
            note("concepts are forgotten when the server ends; --store FILE keeps them");
        }
    };
    serve(config, started).map_err(told)?;
    Ok(ExitCode::SUCCESS)
}

/// A mistake in one request does not end the others. What was said may be in the message, so only the place is told.
fn survive_mistakes() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        note(format_args!("error: a mistake in meno itself: {place}"));
    }));
}
