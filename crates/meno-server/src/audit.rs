//! The audit log: a line of JSON for every change, every refusal and every look at what others taught, and never what was said.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use meno::{Error, Result};
use serde::Serialize;

use crate::access::name;
use crate::limit::{Bucket, Limit};
use crate::log::{note, warn};
use crate::trail::Trail;

/// What was done. The rest of its line is who did it, and when.
#[derive(Serialize)]
pub(crate) struct Deed<'a> {
    pub action: &'static str,
    /// Whose concepts; `*` for those of all.
    pub owner: Option<&'a str>,
    pub concepts: &'a [u64],
    pub status: Option<u16>,
    /// Why it was refused.
    pub code: Option<&'static str>,
}

impl<'a> Deed<'a> {
    pub fn new(action: &'static str, owner: Option<&'a str>, concepts: &'a [u64], status: u16) -> Self {
        Deed { action, owner, concepts, status: Some(status), code: None }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    request_id: &'a str,
    trace_id: Option<&'a str>,
    method: &'static str,
    route: &'a str,
    by: Option<&'a str>,
    token: Option<String>,
    #[serde(flatten)]
    deed: Deed<'a>,
    /// How many refusals before it have no line.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<u64>,
}

/// So many refusals of a caller have a line, a second and at once; nobody fills the disk by being refused.
const REFUSALS: (f64, u32) = (20.0, 200);

/// A file that lines are added to.
pub(crate) struct Audit {
    path: PathBuf,
    sink: Mutex<Sink>,
    /// Lines that could not be written; whoever counts does not wait for the disk.
    n_lost: AtomicU64,
    /// What is left of the refusals of all that have no token.
    strangers: Bucket,
    n_omitted: AtomicU64,
}

struct Sink {
    file: File,
    /// Whether the last line was lost, perhaps after a part of it was written.
    is_failing: bool,
}

impl Audit {
    pub fn open(path: &Path) -> Result<Self> {
        let sink = Sink { file: open(path)?, is_failing: false };
        let (n_lost, n_omitted) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Audit {
            path: path.to_owned(),
            sink: Mutex::new(sink),
            n_lost,
            strangers: Bucket::default(),
            n_omitted,
        })
    }

    /// Whether one more refusal is to be recorded; if not, it is counted.
    pub fn takes_refusal(&self, trail: &Trail) -> bool {
        let bucket = trail.caller.get().map_or(&self.strangers, |caller| &caller.usage.refusals);
        let (rate, burst) = REFUSALS;
        let is_taken = bucket.take(Limit::new(rate, Some(burst)), Instant::now()).is_ok();
        self.n_omitted.fetch_add(u64::from(!is_taken), Ordering::Relaxed);
        is_taken
    }

    /// Goes on in the file that has the name now: the old one may have got another.
    pub fn reopen(&self) -> Result<()> {
        self.lock().file = open(&self.path)?;
        Ok(())
    }

    /// Adds a line. If that fails the server goes on, and the log says so.
    pub fn record(&self, trail: &Trail, deed: Deed<'_>) {
        let caller = trail.caller.get();
        let line = Line {
            time: format!("{:.3}", Timestamp::now()),
            request_id: &trail.request_id,
            trace_id: trail.trace_id.as_deref(),
            method: trail.method,
            route: &trail.route,
            by: caller.map(|caller| name(&caller.owner)),
            token: caller.and_then(|caller| caller.token()),
            deed,
            omitted: Some(self.n_omitted.swap(0, Ordering::Relaxed)).filter(|&n| n > 0),
        };
        let json = serde_json::to_string(&line).expect("a line is plain data");
        let path = self.path.display();
        let (written, was_failing) = self.lock().add(&json);
        self.n_lost.fetch_add(u64::from(written.is_err()), Ordering::Relaxed);
        match (written, was_failing) {
            (Ok(()), true) => note(format_args!("the audit log {path} can be written again")),
            (Err(error), false) => warn(format_args!("the audit log {path} cannot be written: {error}")),
            _ => {}
        }
    }

    /// How many lines could not be written.
    pub fn n_lost(&self) -> u64 {
        self.n_lost.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink {
    /// Adds a line; whether the one before was lost.
    fn add(&mut self, json: &str) -> (io::Result<()>, bool) {
        // After a part of a line there is a new one.
        let begin = if self.is_failing { "\n" } else { "" };
        let written = self.file.write_all(format!("{begin}{json}\n").as_bytes());
        let was_failing = std::mem::replace(&mut self.is_failing, written.is_err());
        (written, was_failing)
    }
}

fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|source| Error::Write { path: path.to_owned(), source })
}
