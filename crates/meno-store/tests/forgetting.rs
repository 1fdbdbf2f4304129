//! The end of what was taught: a journal that goes back so far and no further, and what is erased.

mod support;

use meno::memory::{Draft, Owner, Source};
use meno_store::{Edit, Erased, Error, News, Query, Scope, Store};
use support::{ANNA, adds, all, create, draft, on_every_store};

/// What was forgotten long ago is in no journal, whoever taught it.
#[test]
fn the_journal_goes_back_for_a_time() {
    on_every_store(|location| {
        let (mut store, anna) = (create(location), Scope::of(Some("anna")));
        store.edit(&anna, adds(&["home|place|anna", "gym|place|anna"]), 1_000).unwrap();
        store.edit(&anna, vec![Edit::Remove { id: ANNA }], 2_000).unwrap();
        store.edit(&Scope::of(None), adds(&["tea|drink"]), 3_000).unwrap();
        let mut follower = create(location);
        let seen = follower.entries(&mut |_| {}).unwrap();
        store.tidy(4_000, 1_500).unwrap();
        let owner = Owner::User("anna".into());
        assert_eq!(store.journal(&owner, 0, 10).unwrap().len(), 1);
        assert!(store.is_journal_cut().unwrap());
        // Who has seen what was dropped goes on; what is kept can be undone, and the rest stays as it is.
        assert_eq!(follower.news(seen).unwrap(), News::Changed(Vec::new(), seen));
        assert_eq!(store.undo(&anna, 5_000).unwrap().len(), 1);
        assert!(store.undo(&anna, 5_000).unwrap().is_empty());
        assert_eq!(store.count().unwrap(), 3);
        store.tidy(9_000, 9_000).unwrap();
        assert!(store.journal(&owner, 0, 10).unwrap().is_empty());
        store.edit(&anna, adds(&["pool|place|anna"]), 10_000).unwrap();
        assert_eq!(store.undo(&anna, 11_000).unwrap().len(), 1);
    });
}

/// Few large changes fill the journal as many small ones do.
#[test]
fn the_journal_of_an_owner_is_bounded_in_bytes() {
    on_every_store(|location| {
        let (mut store, anna) = (create(location), Scope::of(Some("anna")));
        let text = |i: usize, part: char| format!("{i}{}", String::from(part).repeat(4000));
        let large = |i: usize| {
            let source = Source { words: vec![text(i, 'w')], labels: vec![], intent: text(i, 'i') };
            Edit::Add(Draft { value: Some(text(i, 'v')), source: Some(source), ..draft("home|place|anna") })
        };
        for i in 0..700 {
            store.edit(&anna, vec![large(i)], 1).unwrap();
        }
        let owner = Owner::User("anna".into());
        let (mut rows, mut bytes, mut after, mut largest_page) = (0, 0, 0, 0);
        loop {
            let page = store.journal(&owner, after, 10_000).unwrap();
            let Some(last) = page.last() else { break };
            let size: usize = page.iter().map(|row| serde_json::to_string(row).unwrap().len()).sum();
            (after, rows, bytes) = (last.seq, rows + page.len(), bytes + size);
            largest_page = largest_page.max(size);
        }
        assert!((200..600).contains(&rows), "{rows} rows");
        assert!((4 << 20..10 << 20).contains(&bytes), "{bytes} bytes");
        assert!(largest_page < 2 << 20, "{largest_page} bytes on a page");
        assert_eq!(store.undo(&anna, 2).unwrap().len(), 1);
        // Pages of concepts end by bytes, too, and none is left out.
        let edits = (0..300)
            .map(|i| Edit::Add(Draft { value: Some(text(i, 'v')), ..draft(&format!("w{i}|song|anna")) }));
        store.edit(&anna, edits.collect(), 3).unwrap();
        let mut query = Query { bytes: 1 << 16, ..Query::default() };
        let mut n = 0;
        while let Some(last) = store.list(&anna, &query).unwrap().last() {
            n += store.list(&anna, &query).unwrap().len();
            query.after = last.id;
        }
        assert_eq!(n, 301);
    });
}

#[test]
fn nobody_pushes_the_changes_of_others_out_of_the_journal() {
    on_every_store(|location| {
        let mut store = create(location);
        let [anna, ben] = [Some("anna"), Some("ben")].map(Scope::of);
        store.edit(&anna, adds(&["home|place|anna"]), 1).unwrap();
        for batch in 0..12 {
            let many = (0..100).map(|i| Edit::Add(draft(&format!("w{batch} {i}|song|ben")))).collect();
            store.edit(&ben, many, 2).unwrap();
        }
        let rows = |store: &mut dyn Store, user: &str| {
            store.journal(&Owner::User(user.into()), 0, 10_000).unwrap().len()
        };
        assert_eq!((rows(&mut *store, "anna"), rows(&mut *store, "ben")), (1, 1_000));
        assert_eq!(store.undo(&anna, 3).unwrap().len(), 1);
    });
}

/// All bytes that a store has on disk, as far as they can be read.
fn bytes_of(location: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for ending in ["", "-wal"] {
        bytes.extend(std::fs::read(format!("{location}{ending}")).unwrap_or_default());
    }
    bytes
}

#[test]
fn what_is_erased_is_nowhere() {
    on_every_store(|location| {
        let mut store = create(location);
        let (ops, anna) = (Scope::admin("ops"), Scope::of(Some("anna")));
        store.edit(&ops, adds(&["tea|drink", "zanzibarsecret|place|anna"]), 1).unwrap();
        store.edit(&anna, adds(&["home|place|anna|zanzibarsecret lane"]), 2).unwrap();
        store.edit(&anna, vec![Edit::Remove { id: ANNA }], 3).unwrap();
        let seen = store.entries(&mut |_| {}).unwrap();
        let is_file = !location.starts_with("postgres");
        let has = |bytes: &[u8]| bytes.windows(14).any(|window| window == b"zanzibarsecret");
        assert!(!is_file || has(&bytes_of(location)), "it is there to be erased");
        let owner = Owner::User("anna".into());
        assert_eq!(store.journal(&owner, 0, 10).unwrap().len(), 3);
        let erased = store.erase(&ops, &owner, 4).unwrap();
        assert_eq!(erased, Erased { concepts: 1, changes: 3 });
        assert!(store.journal(&owner, 0, 10).unwrap().is_empty());
        assert_eq!(all(&mut *store), ["1 tea|drink|-|- 1 1 0"]);
        assert!(store.undo(&anna, 5).unwrap().is_empty());
        assert!(!is_file || !has(&bytes_of(location)), "it is still on the disk");
        // Others hear that the concept is gone.
        match store.news(seen).unwrap() {
            News::Everything => {}
            News::Changed(changed, _) => assert_eq!(changed, [(ANNA + 1, None), (ANNA - 1, None)]),
        }
        let told = store.erasures(seen.seq).unwrap();
        assert_eq!(told.len(), 1);
        assert!(
            told[0].is(&owner) && !told[0].is(&Owner::User("ben".into())) && !told[0].is(&Owner::Everyone)
        );
        // Whoever comes back under the name begins with nothing.
        assert_eq!(store.erase(&ops, &owner, 6).unwrap(), Erased::default());
        store.edit(&anna, adds(&["home|place|anna"]), 7).unwrap();
        assert_eq!(store.undo(&anna, 8).unwrap().len(), 1);
    });
}

/// Whoever reads the file keeps what was there before in its log: that is told, and the next time does it.
#[test]
fn what_could_not_be_erased_from_the_disk_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("concepts.db");
    let location = path.to_str().unwrap();
    let (mut store, ops, anna) = (create(location), Scope::admin("ops"), Owner::User("anna".into()));
    store.set_patience(std::time::Duration::from_millis(50));
    store.edit(&ops, adds(&["zanzibarsecret|place|anna"]), 1).unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM meno_concepts").unwrap();
    let error = store.erase(&ops, &anna, 2).unwrap_err();
    assert!(matches!(error, Error::NotScrubbed { .. }), "{error}");
    assert!(all(&mut *store).is_empty(), "it is in no answer");
    drop(reader);
    assert_eq!(store.erase(&ops, &anna, 3).unwrap(), Erased::default());
    assert!(!bytes_of(location).windows(14).any(|window| window == b"zanzibarsecret"));
}

/// What changes when the tables are written anew.
fn tables(location: &str) -> i64 {
    if !location.starts_with("postgres") {
        let connection = rusqlite::Connection::open(location).unwrap();
        return connection.query_row("PRAGMA schema_version", [], |row| row.get(0)).unwrap();
    }
    let mut client = postgres::Client::connect(location, postgres::NoTls).unwrap();
    let sql = "SELECT relfilenode::bigint FROM pg_class WHERE relname = 'meno_concepts'";
    client.query_one(sql, &[]).unwrap().get(0)
}

/// Others wait while the tables are written anew, so a user has that done now and then only.
#[test]
fn nobody_has_the_tables_written_anew_again_and_again() {
    on_every_store(|location| {
        let (mut store, ops) = (create(location), Scope::admin("ops"));
        let [anna, ben] = ["anna", "ben"].map(|name| Owner::User(name.into()));
        let minute = 60_000;
        let erase = |store: &mut dyn Store, scope: &Scope, owner: &Owner, time: u64| {
            let before = tables(location);
            store.erase(scope, owner, time).unwrap();
            before != tables(location)
        };
        let own = |owner: &Owner| Scope::own(owner.clone());
        let teach =
            |store: &mut dyn Store| store.edit(&ops, adds(&["x|song|anna", "y|song|ben"]), 1).unwrap();
        assert!(!erase(&mut *store, &own(&anna), &anna, minute), "there was nothing");
        teach(&mut *store);
        assert!(erase(&mut *store, &own(&anna), &anna, 20 * minute));
        assert!(!erase(&mut *store, &own(&ben), &ben, 25 * minute), "it is too soon");
        let before = tables(location);
        store.tidy(29 * minute, 0).unwrap();
        assert_eq!(tables(location), before);
        store.tidy(31 * minute, 0).unwrap();
        assert_ne!(tables(location), before, "what waited is done");
        let before = tables(location);
        store.tidy(60 * minute, 0).unwrap();
        assert_eq!(tables(location), before, "nothing waits");
        // An admin does not wait, and clocks that jump hold up nobody.
        teach(&mut *store);
        assert!(erase(&mut *store, &ops, &anna, 32 * minute));
        assert!(erase(&mut *store, &own(&ben), &ben, 2 * minute));
    });
}
