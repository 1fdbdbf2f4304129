//! A store whose file goes away, is replaced, cut off or written over while it is open.

mod support;

use std::time::Duration;

use meno_store::{Access, Edit, Error, Memory, Scope, backup, open_backup};
use support::{adds, create, draft, knows, open, sql, within};

/// Nothing is acknowledged that goes into a file which nobody will find again.
#[test]
fn a_file_that_went_away_takes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("concepts.db");
    let location = path.to_str().unwrap();
    let (memory, admin) = (open(location), Scope::admin("admin"));
    memory.learn(&admin, draft("red moon|song")).unwrap();
    let other = dir.path().join("other.db");
    drop(open(other.to_str().unwrap()).learn(&admin, draft("blue moon|song")).unwrap());

    std::fs::remove_file(&path).unwrap();
    assert!(matches!(memory.learn(&admin, draft("lost moon|song")), Err(Error::Away { .. })));
    within(Duration::from_secs(3), || memory.trouble().is_some_and(|trouble| trouble.contains("gone")));
    assert_eq!(knows(&memory, "red moon", None), ["song"]);

    // Another store in its place is read, whatever its journal is like.
    std::fs::rename(&other, &path).unwrap();
    within(Duration::from_secs(3), || memory.trouble().is_none() && memory.len() == 1);
    within(Duration::from_secs(3), || knows(&memory, "blue moon", None) == ["song"]);
    assert!(knows(&memory, "red moon", None).is_empty());
    memory.learn(&admin, draft("green moon|song")).unwrap();

    // Garbage is no store.
    std::fs::write(dir.path().join("garbage"), "x".repeat(5000)).unwrap();
    std::fs::rename(dir.path().join("garbage"), &path).unwrap();
    within(Duration::from_secs(3), || memory.trouble().is_some());
    assert!(memory.learn(&admin, draft("lost moon|song")).is_err());
    assert_eq!(knows(&memory, "green moon", None), ["song"]);
}

/// What a store has acknowledged last stands in its log: nothing is acknowledged that goes into one which nobody will find again.
#[test]
fn a_log_that_went_away_takes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("concepts.db");
    let location = path.to_str().unwrap();
    let [log, away, crash] = ["concepts.db-wal", "away", "crash.db"].map(|name| dir.path().join(name));
    let (memory, admin) = (open(location), Scope::admin("admin"));
    memory.learn(&admin, draft("red moon|song")).unwrap();
    std::fs::rename(&log, &away).unwrap();
    assert!(matches!(memory.learn(&admin, draft("lost moon|song")), Err(Error::Away { .. })));
    within(Duration::from_secs(3), || memory.trouble().is_some_and(|trouble| trouble.contains("log")));
    assert_eq!(knows(&memory, "red moon", None), ["song"]);
    // All that was acknowledged is in the one file by now, whatever happens to the process.
    std::fs::copy(&path, &crash).unwrap();
    assert_eq!(knows(&open(crash.to_str().unwrap()), "red moon", None), ["song"]);
    std::fs::rename(&away, &log).unwrap();
    within(Duration::from_secs(3), || memory.trouble().is_none());
    memory.learn(&admin, draft("green moon|song")).unwrap();
    // What is written behind the end of a log that was cut off is not found either.
    std::fs::File::options().write(true).open(&log).unwrap().set_len(0).unwrap();
    assert!(memory.learn(&admin, draft("lost moon|song")).is_err());
    within(Duration::from_secs(3), || memory.trouble().is_some());
    assert_eq!(knows(&memory, "green moon", None), ["song"]);
}

/// A file that is cut off, or that is written over, is no store any more: it takes nothing, and what is known is known.
#[test]
fn a_damaged_file_takes_nothing() {
    for cut in [Some(0), Some(4096), Some(20_000), None] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("concepts.db");
        let location = path.to_str().unwrap();
        let admin = Scope::admin("admin");
        let many = (0..500).map(|i| Edit::Add(draft(&format!("moon {i}|song"))));
        open(location).edit(&admin, many.collect()).unwrap();
        let memory = open(location);
        let mut file = std::fs::File::options().write(true).open(&path).unwrap();
        match cut {
            Some(length) => file.set_len(length).unwrap(),
            None => std::io::Write::write_all(&mut file, &[7; 20_000]).unwrap(),
        }
        assert!(memory.learn(&admin, draft("lost moon|song")).is_err(), "{cut:?}");
        within(Duration::from_secs(3), || memory.trouble().is_some());
        assert_eq!(knows(&memory, "moon 7", None), ["song"]);
    }
}

/// The same of a file whose content is in the log as yet, and of one that gets the content of another, or an older one of its own.
#[test]
fn a_file_that_was_written_over_takes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let [other, old, right] = ["other.db", "old.db", "right.db"].map(|name| dir.path().join(name));
    let admin = Scope::admin("admin");
    let many = |memory: &Memory| {
        let edits = (0..300).map(|i| Edit::Add(draft(&format!("star {i}|song"))));
        memory.edit(&admin, edits.collect()).unwrap();
    };
    many(&open(other.to_str().unwrap()));
    for (case, checkpoints) in
        [("cut", false), ("cut", true), ("other", false), ("other", true), ("old", true)]
    {
        let path = dir.path().join(format!("{case}{checkpoints}.db"));
        let location = path.to_str().unwrap();
        let memory = open(location);
        let bring_in = || sql(location, "PRAGMA wal_checkpoint(PASSIVE)");
        memory.learn(&admin, draft("red moon|song")).unwrap();
        bring_in();
        std::fs::copy(&path, &old).unwrap();
        many(&memory);
        if checkpoints {
            bring_in();
        }
        memory.learn(&admin, draft("blue moon|song")).unwrap();
        std::fs::copy(&path, &right).unwrap();
        // All connections look at the file a few times a second.
        std::thread::sleep(Duration::from_millis(500));
        match case {
            "cut" => std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap(),
            "other" => drop(std::fs::copy(&other, &path).unwrap()),
            _ => drop(std::fs::copy(&old, &path).unwrap()),
        }
        let refused = memory.learn(&admin, draft("lost moon|song"));
        assert!(matches!(refused, Err(Error::Away { .. })), "{case} {checkpoints}: {refused:?}");
        within(Duration::from_secs(3), || {
            memory.trouble().is_some_and(|trouble| trouble.contains("written over"))
        });
        assert_eq!(knows(&memory, "blue moon", None), ["song"]);
        // What belongs there comes back, and all that was acknowledged with it.
        std::fs::copy(&right, &path).unwrap();
        within(Duration::from_secs(3), || memory.trouble().is_none());
        memory.learn(&admin, draft("green moon|song")).unwrap();
        drop(memory);
        assert_eq!(open(location).len(), 303, "{case} {checkpoints}");
    }
}

/// Who opens a file that was emptied, or whose file went away, does not throw away the log, which has what was acknowledged last.
#[test]
fn a_log_without_its_file_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let [path, log, kept] = ["concepts.db", "concepts.db-wal", "kept.db"].map(|name| dir.path().join(name));
    let location = path.to_str().unwrap();
    let memory = open(location);
    memory.learn(&Scope::admin("admin"), draft("red moon|song")).unwrap();
    let [file, changes] = [&path, &log].map(|path| std::fs::read(path).unwrap());
    drop(memory);
    std::fs::write(&log, &changes).unwrap();
    for state in ["empty", "gone"] {
        match state {
            "empty" => std::fs::write(&path, "").unwrap(),
            _ => std::fs::remove_file(&path).unwrap(),
        }
        for access in [Access::Create, Access::Existing] {
            let refused = Memory::open(location, access).err().unwrap();
            assert!(matches!(refused, Error::LogAlone { .. }), "{state}: {refused}");
            assert!(refused.to_string().contains(state) && refused.hint().is_some(), "{refused}");
        }
        assert!(matches!(open_backup(&path), Err(Error::LogAlone { .. } | Error::NotThere { .. })));
        assert!(std::fs::metadata(&path).map_or(state == "gone", |file| file.len() == 0));
        assert!(std::fs::read(&log).unwrap() == changes, "{state}: the log is another");
    }
    // Both together have everything; without its log such a file is a new store.
    std::fs::write(&path, file).unwrap();
    assert_eq!(knows(&open(location), "red moon", None), ["song"]);
    std::fs::write(&kept, "").unwrap();
    assert_eq!(open(kept.to_str().unwrap()).len(), 0);
}

/// At the end nothing is written into a file that has another content by now.
#[test]
fn a_file_that_was_written_over_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let [path, other] = ["concepts.db", "other.db"].map(|name| dir.path().join(name));
    open(other.to_str().unwrap()).learn(&Scope::admin("admin"), draft("blue moon|song")).unwrap();
    let memory = open(path.to_str().unwrap());
    memory.learn(&Scope::admin("admin"), draft("red moon|song")).unwrap();
    std::fs::copy(&other, &path).unwrap();
    drop(memory);
    assert!(std::fs::read(&path).unwrap() == std::fs::read(&other).unwrap());
}

/// What stands beside a file of the same name is of a database that was there before: a log that was left by a crash would be taken for that
/// of the backup.
#[test]
fn a_backup_is_not_mixed_with_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let [path, copy] = ["concepts.db", "copy.db"].map(|name| dir.path().join(name));
    let mut store = create(path.to_str().unwrap());
    store.edit(&Scope::admin("admin"), adds(&["red moon|song", "blue moon|song"]), 1).unwrap();
    backup(&mut *store, &copy).unwrap();
    let beside = |file: &str, ending: &str| dir.path().join(format!("{file}{ending}"));
    let mut used = create(copy.to_str().unwrap());
    used.edit(&Scope::admin("admin"), vec![Edit::Remove { id: 1 }, Edit::Remove { id: 2 }], 2).unwrap();
    let log = std::fs::read(beside("copy.db", "-wal")).unwrap();
    drop(used);
    for file in ["copy.db", "copy.db.unfinished"] {
        std::fs::write(beside(file, "-wal"), &log).unwrap();
    }
    assert_eq!(backup(&mut *store, &copy).unwrap(), 2);
    assert_eq!(open(copy.to_str().unwrap()).len(), 2);
    assert!(["", "-wal", "-shm"].iter().all(|ending| !beside("copy.db.unfinished", ending).exists()));
    let itself = backup(&mut *store, &path).unwrap_err();
    assert!(itself.to_string().ends_with("is the store itself") && itself.hint().is_some(), "{itself}");
    assert_eq!(store.count().unwrap(), 2);
}

#[test]
fn a_copy_of_the_one_file_has_everything() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("concepts.db");
    let memory = open(path.to_str().unwrap());
    memory.learn(&Scope::admin("admin"), draft("red moon|song")).unwrap();
    drop(memory);
    let copy = dir.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    assert_eq!(knows(&open(copy.to_str().unwrap()), "red moon", None), ["song"]);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "others can read it");
    }
}
