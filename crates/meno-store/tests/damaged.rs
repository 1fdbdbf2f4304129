//! A store whose file was damaged is refused, or says what it can: nothing panics, and nothing runs for ever.

mod support;
#[path = "../../../tests/times.rs"]
mod times;

use std::path::Path;
use std::time::{Duration, Instant};

use meno::memory::{Owner, Source};
use meno::random::Random;
use meno_store::{Access, Amendment, Edit, Error, Memory, Query, Scope, open};
use support::{adds, create, draft};
use times::times;

/// The one file of a store with concepts of several owners and a journal, and of the log of one that was not closed.
fn sound(dir: &Path) -> [Vec<u8>; 2] {
    let path = dir.join("sound.db");
    let location = path.to_str().unwrap();
    let mut store = create(location);
    let (admin, anna) = (Scope::admin("ops"), Scope::of(Some("anna")));
    for i in 0..60 {
        let lines = [format!("red moon {i}|song||Moon {i}"), format!("home {i}|place|anna")];
        let mut edits = adds(&[&lines[0], &lines[1]]);
        let source = Source::of_text(&format!("play blue moon {i}"), "play");
        edits.push(Edit::Add(meno::memory::Draft {
            source: Some(source),
            ..draft(&format!("blue moon {i}|song"))
        }));
        store.edit(&admin, edits, 1).unwrap();
    }
    store.edit(&anna, adds(&["gym|place|anna"]), 2).unwrap();
    store.undo(&anna, 3).unwrap();
    let log = std::fs::read(format!("{location}-wal")).unwrap();
    drop(store);
    [std::fs::read(path).unwrap(), log]
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    match random.below(5) {
        0 => bytes.truncate(random.below(bytes.len() + 1)),
        1 => {
            // A page that was never written, or another one's.
            let pages = bytes.len() / 4096;
            let [from, to] = [(); 2].map(|()| 4096 * random.below(pages.max(1)));
            let page: Vec<u8> = bytes.iter().skip(from).take(4096).copied().collect();
            bytes.splice(to..(to + page.len()).min(bytes.len()), page);
        }
        2 => {
            let start = random.below(bytes.len());
            let end = (start + random.below(5000)).min(bytes.len());
            bytes[start..end].fill((random.next_u64() & 0xff) as u8);
        }
        _ => {
            for _ in 0..=random.below(20) {
                // Mostly where it does harm.
                let within = if random.below(2) == 0 { bytes.len() } else { bytes.len().min(4096) };
                bytes[random.below(within)] = (random.next_u64() & 0xff) as u8;
            }
        }
    }
}

/// All that a store can be asked for.
fn use_all(location: &str) -> Result<(), Error> {
    let mut store = open(location, Access::Existing)?;
    store.set_patience(Duration::from_secs(2));
    let (admin, anna) = (Scope::admin("ops"), Scope::of(Some("anna")));
    let owner = Owner::User("anna".to_owned());
    let listed = store.list(&admin, &Query::default()).map(|concepts| concepts.len());
    let mark = store.entries(&mut |_| ());
    let to = Amendment { value: Some(Some("x".to_owned())), ..Amendment::default() };
    let results = [
        listed.map(drop),
        store.count().map(drop),
        store.journal(&owner, 0, 100).map(drop),
        mark.and_then(|mark| store.news(mark)).map(drop),
        store.edit(&anna, adds(&["new|place|anna"]), 4).map(drop),
        store.edit(&admin, vec![Edit::Amend { id: 1, to }, Edit::Remove { id: 2 }], 5).map(drop),
        store.undo(&anna, 6).map(drop),
        store.undo(&admin, 7).map(drop),
        store.count_uses(&[(1, 1)]),
        store.check(),
        store.dump(&mut |_| Ok(())),
        store.erase(&admin, &owner, 8).map(drop),
    ];
    drop(store);
    let memory = Memory::open(location, Access::Existing)?;
    memory.find("play red moon 7 now", Some("anna"));
    results.into_iter().collect()
}

#[test]
fn damaged_stores_are_refused_or_say_what_they_can() {
    let dir = tempfile::tempdir().unwrap();
    let [file, log] = sound(dir.path());
    let path = dir.path().join("damaged.db");
    let location = path.to_str().unwrap();
    let log_path = format!("{location}-wal");
    let mut random = Random::new(17);
    let (n, mut n_refused) = (times(120, 350), 0);
    for round in 0..n {
        let (mut bytes, mut log) = (file.clone(), log.clone());
        // The log of another file is none, and that of this one may be damaged.
        let has_log = round % 4 == 0;
        damage(if has_log { &mut log } else { &mut bytes }, &mut random);
        std::fs::write(&path, bytes).unwrap();
        let _ = std::fs::remove_file(format!("{location}-shm"));
        match has_log {
            true => std::fs::write(&log_path, log).unwrap(),
            false => drop(std::fs::remove_file(&log_path)),
        }
        let start = Instant::now();
        if let Err(error) = use_all(location) {
            n_refused += 1;
            assert!(!error.to_string().is_empty());
        }
        assert!(start.elapsed() < Duration::from_secs(20), "round {round}: {:?}", start.elapsed());
    }
    println!("{n} damaged stores: {n_refused} refused, nothing panicked");
    assert!(n_refused > n / 4 && n_refused < n, "{n_refused} of {n}");
}
