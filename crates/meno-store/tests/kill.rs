//! An acknowledged concept survives `kill -9`.
//!
//! A child learns concepts one after the other, forgets some, and says so on standard output after each; it is killed at a
//! random moment, 200 times for each store. What it has said must be there, and what it was doing must be done or not.

mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use meno::random::Random;
use meno_store::{Access, Edit, Query, Scope, open};
use support::{draft, on_every_store};

const KILLS: usize = 200;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match &args[1..] {
        [child, location, round] if child == "child" => learn(location, round),
        // What `cargo test -- --list` and filters ask for: this is one test.
        args if args.iter().any(|arg| arg == "--list") => println!("kill: test"),
        _ => on_every_store(survive),
    }
}

/// Learns without end.
fn learn(location: &str, round: &str) {
    let mut store = open(location, Access::Existing).expect("the store is there");
    let mut stdout = std::io::stdout().lock();
    let mut say = |line: String| writeln!(stdout, "{line}").and_then(|()| stdout.flush()).expect("a pipe");
    for i in 0u64.. {
        let learnt = draft(&format!("concept {round} {i}|song"));
        let change = store
            .edit(&Scope::admin("admin"), vec![Edit::Add(learnt)], i)
            .expect("it can be written")
            .remove(0);
        let concept = change.after.expect("it is there");
        say(format!("+ {} {}", concept.id, concept.normal));
        if i % 3 == 2 {
            store
                .edit(&Scope::admin("admin"), vec![Edit::Remove { id: concept.id }], i)
                .expect("it can be removed");
            say(format!("- {} {}", concept.id, concept.normal));
        }
    }
}

fn survive(location: &str) {
    drop(open(location, Access::Create).unwrap());
    let start = Instant::now();
    let mut random = Random::new(1);
    let mut acknowledged: BTreeMap<u64, String> = BTreeMap::new();
    let (mut n_acknowledged, mut n_unsaid) = (0, 0);
    for round in 0..KILLS {
        let said = killed_child(location, round, Duration::from_micros(random.below(15_000) as u64));
        n_acknowledged += said.len();
        let mut last = None;
        for line in said {
            let (sign, concept) = line.split_once(' ').unwrap();
            let (id, normal) = concept.split_once(' ').unwrap();
            let id: u64 = id.parse().unwrap();
            match sign {
                "+" => drop(acknowledged.insert(id, normal.to_owned())),
                _ => drop(acknowledged.remove(&id)),
            }
            last = Some((id, sign == "+"));
        }
        n_unsaid += compare(location, &mut acknowledged, last);
    }
    assert!(
        n_acknowledged > KILLS,
        "only {n_acknowledged} acknowledgements: the children were killed too early"
    );
    let kind = location.split(':').next().filter(|kind| *kind == "postgres").unwrap_or("sqlite");
    println!(
        "{kind}: {KILLS} kills, {n_acknowledged} changes acknowledged and kept, {n_unsaid} done but not yet said, {:.1} s",
        start.elapsed().as_secs_f64()
    );
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
    let mut child: Child = Command::new(std::env::current_exe().unwrap())
        .args(["child", location, &round.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout: BufReader<ChildStdout> = BufReader::new(child.stdout.take().unwrap());
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
    // A line without an end was not said to its end.
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(str::to_owned).collect()
}
