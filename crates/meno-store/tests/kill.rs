//! An acknowledged concept survives `kill -9`.
//!
//! A child learns concepts one after the other, forgets some, and says so on standard output after each; it is killed at a
//! random moment, 200 times for each store, and so is the database itself. What it has said must be there, and what it was doing must be
//! done or not.

mod support;
#[path = "../../../tests/times.rs"]
mod times;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use meno::random::Random;
use meno_store::{Access, Change, Edit, Error, Query, Scope, Store, open};
use support::{Server, draft, on_every_store};
use times::times;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match &args[1..] {
        [child, location, round] if child == "child" => learn(location, round),
        // What `cargo test -- --list` and filters ask for: this is one test.
        args if args.iter().any(|arg| arg == "--list") => println!("kill: test"),
        _ => {
            on_every_store(survive);
            survive_the_database();
        }
    }
}

/// Learns without end.
fn learn(location: &str, round: &str) {
    let mut store = open(location, Access::Existing).expect("the store is there");
    let mut stdout = std::io::stdout().lock();
    let mut say = |line: String| writeln!(stdout, "{line}").and_then(|()| stdout.flush()).expect("a pipe");
    for i in 0u64.. {
        let learnt = draft(&format!("concept {round} {i}|song"));
        let Some(change) = edit(store.as_mut(), Edit::Add(learnt), i) else { return };
        let concept = change.after.expect("it is there");
        say(format!("+ {} {}", concept.id, concept.normal));
        if i % 3 == 2 {
            if edit(store.as_mut(), Edit::Remove { id: concept.id }, i).is_none() {
                return;
            }
            say(format!("- {} {}", concept.id, concept.normal));
        }
    }
}

/// `None` if the database was killed.
fn edit(store: &mut dyn Store, edit: Edit, time: u64) -> Option<Change> {
    match store.edit(&Scope::admin("admin"), vec![edit], time) {
        Err(Error::Away { .. }) => None,
        changes => changes.expect("it can be written").pop(),
    }
}

fn survive(location: &str) {
    drop(open(location, Access::Create).unwrap());
    let start = Instant::now();
    let mut random = Random::new(1);
    let kills = times(200, 300);
    let mut kept = Kept::default();
    for round in 0..kills {
        let said = killed_child(location, round, Duration::from_micros(random.below(15_000) as u64));
        kept.compare(location, said);
    }
    assert!(kept.n_said > kills, "only {} acknowledgements: the children were killed too early", kept.n_said);
    let kind = location.split(':').next().filter(|kind| *kind == "postgres").unwrap_or("sqlite");
    println!("{kind}: {kills} kills, {kept}, {:.1} s", start.elapsed().as_secs_f64());
}

/// The database is killed, not those who use it.
fn survive_the_database() {
    let Some(server) = Server::start() else { return };
    let location = server.database();
    drop(open(&location, Access::Create).unwrap());
    let start = Instant::now();
    let mut random = Random::new(2);
    let kills = times(3, 12);
    let mut kept = Kept::default();
    for round in 0..kills {
        let (mut child, mut stdout) = child(&location, round);
        let mut text = String::new();
        stdout.read_line(&mut text).unwrap();
        std::thread::sleep(Duration::from_millis(random.below(500) as u64));
        server.kill();
        // It ends by itself when the database is gone.
        stdout.read_to_string(&mut text).unwrap();
        child.wait().unwrap();
        server.restart();
        kept.compare(&location, whole_lines(&text));
    }
    assert!(kept.n_said > kills, "only {} acknowledgements", kept.n_said);
    println!("postgres itself: {kills} kills, {kept}, {:.1} s", start.elapsed().as_secs_f64());
}

/// What a store is known to have.
#[derive(Default)]
struct Kept {
    acknowledged: BTreeMap<u64, String>,
    n_said: usize,
    n_unsaid: usize,
}

impl Kept {
    /// Takes what a child said, and compares the store with it.
    fn compare(&mut self, location: &str, said: Vec<String>) {
        self.n_said += said.len();
        let mut last = None;
        for line in said {
            let (sign, concept) = line.split_once(' ').unwrap();
            let (id, normal) = concept.split_once(' ').unwrap();
            let id: u64 = id.parse().unwrap();
            match sign {
                "+" => drop(self.acknowledged.insert(id, normal.to_owned())),
                _ => drop(self.acknowledged.remove(&id)),
            }
            last = Some((id, sign == "+"));
        }
        self.n_unsaid += compare(location, &mut self.acknowledged, last);
    }
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Kept { n_said, n_unsaid, .. } = self;
        write!(f, "{n_said} changes acknowledged and kept, {n_unsaid} done but not yet said")
    }
}

/// Whether the store has what was said, but for one change that was made and not said; 1 if there is one.
fn compare(location: &str, acknowledged: &mut BTreeMap<u64, String>, last: Option<(u64, bool)>) -> usize {
    let mut store = open(location, Access::Existing).unwrap();
    // A database goes on with the last change of a client that is gone: what writes waits for it.
    store.check().unwrap();
    let stored = store.list(&Scope::admin("admin"), &Query::default()).unwrap();
    let stored: BTreeMap<u64, String> =
        stored.into_iter().map(|concept| (concept.id, concept.normal)).collect();
    let missing: Vec<u64> = acknowledged.keys().filter(|id| !stored.contains_key(id)).copied().collect();
    let unsaid: Vec<u64> = stored.keys().filter(|id| !acknowledged.contains_key(id)).copied().collect();
    let expected_gap = |id: &u64| last == Some((*id, true));
    assert!(missing.iter().all(expected_gap), "lost: {missing:?} of {}", acknowledged.len());
    assert!(unsaid.len() + missing.len() <= 1, "never said: {unsaid:?}, missing: {missing:?}");
    assert!(stored.iter().all(|(id, normal)| acknowledged.get(id).is_none_or(|said| said == normal)));
    *acknowledged = stored;
    unsaid.len() + missing.len()
}

/// Starts a child, kills it some time after its first word, and gives what it said.
fn killed_child(location: &str, round: usize, after: Duration) -> Vec<String> {
    let (mut child, mut stdout) = child(location, round);
    let mut text = String::new();
    // Every tenth is killed while it opens the store.
    if !round.is_multiple_of(10) {
        stdout.read_line(&mut text).unwrap();
    }
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    // What is in the pipe was said.
    while stdout.read_line(&mut text).unwrap() > 0 {}
    whole_lines(&text)
}

/// Starts a child that learns.
fn child(location: &str, round: usize) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child", location, &round.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

/// A line without an end was not said to its end.
fn whole_lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(str::to_owned).collect()
}
