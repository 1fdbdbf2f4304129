//! What the tests of the stores share: a store of each kind.

#![allow(dead_code)]

#[path = "../../../../tests/left_out.rs"]
mod left_out;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use left_out::left_out;
use meno::memory::{Concept, Draft};
use meno_store::{Access, Edit, Memory, Query, Scope, Store};

/// Runs a test on an empty store of each kind, given by its location.
pub fn on_every_store(test: impl Fn(&str)) {
    let dir = tempfile::tempdir().unwrap();
    test(dir.path().join("concepts.db").to_str().unwrap());
    if let Some(server) = server() {
        test(&server.database());
    }
}

/// A PostgreSQL server that ends with this process; `None`, loudly, where none can be had.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref()
}

pub struct Server {
    pub dir: PathBuf,
    pub address: String,
}

impl Server {
    pub fn start() -> Option<Server> {
        Server::start_with(&[])
    }

    /// One that can be reached by a port of this machine, too.
    pub fn start_on(port: u16) -> Option<Server> {
        Server::start_with(&[&port.to_string()])
    }

    fn start_with(more: &[&str]) -> Option<Server> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // The path of a socket must be short.
        let dir = std::env::temp_dir().join(format!("meno-pg-{}-{count}", std::process::id()));
        let process = std::process::id().to_string();
        match script(&[&["start", dir.to_str().unwrap(), &process], more].concat()) {
            Ok(address) => Some(Server { dir, address }),
            Err(reason) => {
                left_out("tests on PostgreSQL", &format!("there is {reason}"));
                None
            }
        }
    }

    /// The address of a new database.
    pub fn database(&self) -> String {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("test{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let mut client = postgres::Client::connect(&self.address, postgres::NoTls).unwrap();
        client.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        self.address.replace("/postgres?", &format!("/{name}?"))
    }

    /// Turns on TLS, with a certificate and a key as PEM.
    pub fn secure(&self, certificate: &Path, key: &Path) {
        let dir = self.dir.to_str().unwrap();
        script(&["tls", dir, certificate.to_str().unwrap(), key.to_str().unwrap()]).unwrap();
    }

    /// Ends the server as a power cut would.
    pub fn kill(&self) {
        script(&["kill", self.dir.to_str().unwrap()]).unwrap();
    }

    /// Sends a signal to the server and all that it started.
    pub fn signal(&self, name: &str) {
        script(&["signal", self.dir.to_str().unwrap(), name]).unwrap();
    }

    /// The address of a copy that the database's own programs make.
    pub fn copy(&self, location: &str) -> String {
        let (_, from) = location.split_once("@/").unwrap();
        let (from, _) = from.split_once('?').unwrap();
        let copy = format!("{from}_copy");
        script(&["copy", self.dir.to_str().unwrap(), from, &copy]).unwrap();
        location.replace(&format!("/{from}?"), &format!("/{copy}?"))
    }

    pub fn restart(&self) {
        script(&["start", self.dir.to_str().unwrap()]).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = script(&["stop", self.dir.to_str().unwrap()]);
    }
}

fn script(args: &[&str]) -> Result<String, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.sh");
    let output = Command::new(script).args(args).output().map_err(|error| error.to_string())?;
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() { Ok(stdout.trim().to_owned()) } else { Err(stderr.trim().to_owned()) }
}

/// Runs statements on the database itself.
pub fn sql(location: &str, statements: &str) {
    if location.starts_with("postgres://") {
        postgres::Client::connect(location, postgres::NoTls).unwrap().batch_execute(statements).unwrap();
    } else {
        rusqlite::Connection::open(location).unwrap().execute_batch(statements).unwrap();
    }
}

/// The numbers of the first concepts of two owners: blocks of 2^20, found by their names.
pub const ANNA: u64 = 2_593_940_045_825;
pub const BEN: u64 = 4_737_995_898_881;

pub fn create(location: &str) -> Box<dyn Store> {
    meno_store::open(location, Access::Create).unwrap()
}

/// A concept with all that a store says of it.
pub fn shown(concept: &Concept) -> String {
    let Concept { id, phrase, slot, value, owner, created, updated, uses, .. } = concept;
    let owner = owner.user().unwrap_or("-");
    let value = value.as_deref().unwrap_or("-");
    format!("{id} {phrase}|{slot}|{owner}|{value} {created} {updated} {uses}")
}

pub fn all(store: &mut dyn Store) -> Vec<String> {
    store.list(&Scope::admin("admin"), &Query::default()).unwrap().iter().map(shown).collect()
}

pub fn open(location: &str) -> Memory {
    Memory::open(location, Access::Create).unwrap()
}

pub fn knows(memory: &Memory, text: &str, user: Option<&str>) -> Vec<String> {
    memory.find(text, user).into_iter().map(|known| known.slot).collect()
}

/// Waits until something holds, and gives how long that took.
pub fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "not within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    start.elapsed()
}

/// `phrase | slot | owner | value`, the last two as need be.
pub fn draft(line: &str) -> Draft {
    let mut parts = line.split('|').map(|part| part.trim().to_owned());
    let mut part = || parts.next().filter(|part| !part.is_empty());
    let (phrase, slot) = (part().unwrap(), part().unwrap());
    let owner = part().into();
    Draft { phrase, slot, owner, value: part(), source: None }
}

pub fn adds(lines: &[&str]) -> Vec<Edit> {
    lines.iter().map(|line| Edit::Add(draft(line))).collect()
}
