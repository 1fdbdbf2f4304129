//! What every store does, tested on each.

mod support;

use meno::memory::{Concept, Draft, Owner, Source, normal_form};
use meno_store::{
    Access, Amendment, Edit, Error, Mark, News, OwnJournal, Query, Quota, SCHEMA_VERSION, Scope, Store, open,
    read_concepts, write_lines,
};
use support::{ANNA, BEN, adds, all, create, draft, on_every_store, sql};

fn phrases(store: &mut dyn Store, user: Option<&str>, text: &str) -> Vec<String> {
    let query = Query { text: text.to_owned(), ..Query::default() };
    store.list(&Scope::of(user), &query).unwrap().into_iter().map(|concept| concept.phrase).collect()
}

fn slot(slot: &str) -> Amendment {
    Amendment { slot: Some(slot.to_owned()), ..Amendment::default() }
}

#[test]
fn concepts_are_added_changed_and_removed() {
    on_every_store(|location| {
        let mut store = create(location);
        assert!(all(&mut *store).is_empty());
        store
            .edit(&Scope::admin("admin"), adds(&["Red Moon|song", "home|place|anna|12 Elm Street"]), 100)
            .unwrap();
        assert_eq!(
            all(&mut *store),
            ["1 Red Moon|song|-|- 100 100 0", &format!("{ANNA} home|place|anna|12 Elm Street 100 100 0")]
        );
        // The same words and slot are the same concept.
        store
            .edit(&Scope::admin("admin"), adds(&["red  MOON!|song||Moon (red)", "red moon|album"]), 200)
            .unwrap();
        store.count_uses(&[(1, 2), (1, 3), (99, 1)]).unwrap();
        let id = 2;
        store
            .edit(
                &Scope::admin("admin"),
                vec![Edit::Amend { id, to: slot("movie") }, Edit::Remove { id: ANNA }],
                300,
            )
            .unwrap();
        let expected = ["1 red  MOON!|song|-|Moon (red) 100 200 5", "2 red moon|movie|-|- 200 300 0"];
        assert_eq!(all(&mut *store), expected);
        let value = Amendment { value: Some(None), phrase: Some("Red Moons".into()), ..Amendment::default() };
        store.edit(&Scope::admin("admin"), vec![Edit::Amend { id: 1, to: value }], 400).unwrap();
        assert_eq!(all(&mut *store)[0], "1 Red Moons|song|-|- 100 400 5");
        drop(store);
        let mut store = open(location, Access::Existing).unwrap();
        assert_eq!(all(&mut *store).len(), 2);
        assert_eq!((store.count().unwrap(), store.concept(&Scope::admin("admin"), ANNA).unwrap()), (2, None));
        let concept = store.concept(&Scope::admin("admin"), 1).unwrap().unwrap();
        assert_eq!(concept.normal, "red moons");
    });
}

#[test]
fn users_are_apart() {
    on_every_store(|location| {
        let mut store = create(location);
        let [anna, ben, nobody] = [Some("anna"), Some("ben"), None].map(Scope::of);
        store
            .edit(&Scope::admin("admin"), adds(&["home|place", "home|place|anna", "home|place|ben"]), 1)
            .unwrap();
        let owners = |store: &mut dyn Store, scope: &Scope| -> Vec<Owner> {
            store.list(scope, &Query::default()).unwrap().into_iter().map(|concept| concept.owner).collect()
        };
        assert_eq!(owners(&mut *store, &nobody), [Owner::Everyone]);
        assert_eq!(owners(&mut *store, &ben), [Owner::Everyone, Owner::User("ben".into())]);
        assert!(store.concept(&anna, BEN).unwrap().is_none());
        for (scope, id, message) in [
            (&anna, 1, "concept 1 is everyone's".to_owned()),
            (&anna, BEN, format!("there is no concept {BEN}")),
            (&anna, 9, "there is no concept 9".to_owned()),
            (&nobody, ANNA, format!("there is no concept {ANNA}")),
        ] {
            for edit in [Edit::Remove { id }, Edit::Amend { id, to: slot("x") }] {
                assert_eq!(store.edit(scope, vec![edit], 2).unwrap_err().to_string(), message);
            }
        }
        let error = store.edit(&anna, adds(&["x|song|ben"]), 2).unwrap_err();
        assert_eq!(error.to_string(), "anna cannot teach for ben");
        store.edit(&anna, adds(&["x|song|anna"]), 2).unwrap();
        assert_eq!(store.count().unwrap(), 4);
        // Only her own change can be taken back by her.
        assert_eq!(store.undo(&anna, 3).unwrap().len(), 1);
        assert!(store.undo(&anna, 3).unwrap().is_empty());
        assert!(store.undo(&ben, 3).unwrap().is_empty());
        assert_eq!(store.undo(&Scope::admin("admin"), 3).unwrap().len(), 3);
        assert_eq!(store.count().unwrap(), 0);
    });
}

#[test]
fn numbers_tell_nothing_about_others() {
    on_every_store(|location| {
        let mut store = create(location);
        let [anna, ben] = [Some("anna"), Some("ben")].map(Scope::of);
        let mut learnt = Vec::new();
        for n in 0..3 {
            let many: Vec<String> = (0..n).map(|i| format!("b{n} {i}|song|ben")).collect();
            store.edit(&ben, adds(&many.iter().map(String::as_str).collect::<Vec<_>>()), 1).unwrap();
            store.edit(&Scope::of(None), adds(&[&format!("e{n}|song")]), 1).unwrap();
            let change = store.edit(&anna, adds(&[&format!("a{n}|song|anna")]), 1).unwrap().remove(0);
            learnt.push(change.after.unwrap().id);
        }
        assert_eq!(learnt, [ANNA, ANNA + 1, ANNA + 2]);
        store.undo(&ben, 2).unwrap();
        store.undo(&anna, 2).unwrap();
        let mut own = OwnJournal::default();
        let rows = store.journal(&Owner::User("anna".into()), 0, 10).unwrap();
        let numbers = rows.into_iter().map(|row| own.row(row)).map(|row| (row.seq, row.batch, row.undoes));
        assert_eq!(numbers.collect::<Vec<_>>(), [(1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 3)]);
        let ids = |store: &mut dyn Store, scope: &Scope, after| -> Vec<u64> {
            let query = Query { after, limit: 3, ..Query::default() };
            store.list(scope, &query).unwrap().iter().map(|concept| concept.id).collect()
        };
        assert_eq!(ids(&mut *store, &anna, 0), [1, 2, 3]);
        assert_eq!(ids(&mut *store, &anna, 3), [ANNA, ANNA + 1]);
        // Who has everything erased, everyone too, takes no number of another.
        for owner in [Owner::Everyone, Owner::User("anna".into())] {
            store.erase(&Scope::admin("ops"), &owner, 3).unwrap();
        }
        let taught = store.edit(&Scope::admin("ops"), adds(&["e|song", "a|song|anna"]), 4).unwrap();
        let taught: Vec<u64> = taught.into_iter().map(|change| change.after.unwrap().id).collect();
        assert_eq!(taught, [4, ANNA]);
    });
}

/// Whoever finds its numbers taken, or has given all of a block, goes on in the next.
#[test]
fn full_blocks_of_numbers_are_left() {
    on_every_store(|location| {
        let (mut store, admin) = (create(location), Scope::admin("admin"));
        store.edit(&admin, adds(&["x|song", "a|song|anna", "b|song|ben"]), 1).unwrap();
        sql(location, "UPDATE meno_owners SET given = 1048575 WHERE owner = ''");
        sql(location, &format!("UPDATE meno_owners SET given = {} WHERE owner = 'anna'", BEN - 2));
        let changes = store.edit(&admin, adds(&["y|song", "c|song|anna", "d|song|anna"]), 2).unwrap();
        let ids: Vec<u64> = changes.into_iter().map(|change| change.after.unwrap().id).collect();
        assert_eq!(ids, [(1 << 20) + 1, BEN + (1 << 20), BEN + (1 << 20) + 1]);
    });
}

#[test]
fn edits_are_made_together_or_not_at_all() {
    on_every_store(|location| {
        let mut store = create(location);
        let mut edits = adds(&["red|song", "blue|song"]);
        edits.push(Edit::Remove { id: 77 });
        assert!(matches!(store.edit(&Scope::admin("admin"), edits, 1), Err(Error::NoConcept { id: 77 })));
        let unfit = vec![Edit::Add(draft("red|song")), Edit::Add(Draft::default())];
        assert!(matches!(store.edit(&Scope::admin("admin"), unfit, 1), Err(Error::Engine(_))));
        assert_eq!(store.count().unwrap(), 0);
        let mark = store.entries(&mut |_| panic!("there is nothing")).unwrap();
        assert_eq!(store.news(mark).unwrap(), News::Changed(Vec::new(), mark));
        assert_eq!(mark.seq, 0);
        store.edit(&Scope::admin("admin"), adds(&["red|song", "red|album"]), 1).unwrap();
        let ids: Vec<u64> =
            store.list(&Scope::admin("admin"), &Query::default()).unwrap().iter().map(|c| c.id).collect();
        let error = store
            .edit(&Scope::admin("admin"), vec![Edit::Amend { id: ids[1], to: slot("song") }], 2)
            .unwrap_err();
        assert_eq!(error.to_string(), format!("concept {} is already the song `red`", ids[0]));
    });
}

#[test]
fn changes_are_undone_one_after_the_other() {
    on_every_store(|location| {
        let mut store = create(location);
        let mut states = vec![all(&mut *store)];
        for edits in [
            adds(&["red|song"]),
            adds(&["red|song||Red", "blue|song|anna"]),
            vec![Edit::Amend { id: ANNA, to: slot("album") }],
            vec![Edit::Remove { id: 1 }, Edit::Remove { id: ANNA }],
        ] {
            store.edit(&Scope::admin("admin"), edits, 10 * states.len() as u64).unwrap();
            states.push(all(&mut *store));
        }
        for expected in states.iter().rev().skip(1) {
            assert!(!store.undo(&Scope::admin("admin"), 99).unwrap().is_empty());
            assert_eq!(&all(&mut *store), expected);
        }
        assert!(store.undo(&Scope::admin("admin"), 99).unwrap().is_empty());
        // Something new after an undo is undone first.
        store.edit(&Scope::admin("admin"), adds(&["green|song"]), 100).unwrap();
        assert_eq!(store.undo(&Scope::admin("admin"), 101).unwrap().len(), 1);
        assert!(store.undo(&Scope::admin("admin"), 102).unwrap().is_empty());
        assert!(all(&mut *store).is_empty());
    });
}

#[test]
fn what_somebody_else_changed_is_not_undone() {
    on_every_store(|location| {
        let mut store = create(location);
        let anna = Scope::of(Some("anna"));
        store.edit(&anna, adds(&["home|place|anna"]), 1).unwrap();
        store.edit(&Scope::admin("admin"), vec![Edit::Amend { id: ANNA, to: slot("song") }], 2).unwrap();
        let error = store.undo(&anna, 3).unwrap_err();
        let message = format!("concept {ANNA} was changed since, so the change before cannot be undone");
        assert_eq!(error.to_string(), message);
        assert_eq!(store.count().unwrap(), 1);
        // Being used is no change.
        store.undo(&Scope::admin("admin"), 4).unwrap();
        store.count_uses(&[(ANNA, 7)]).unwrap();
        store.undo(&anna, 5).unwrap();
        assert_eq!(store.count().unwrap(), 0);
    });
}

#[test]
fn concepts_are_searched() {
    on_every_store(|location| {
        let mut store = create(location);
        let lines = [
            "Burpees & Regrets|playlist",
            "The Driver's Mix|playlist",
            "home|place|anna|12 Elm Street",
            "100%|song",
            "a_b|song",
            "CAFÉ|place",
            "home|place|ben",
        ];
        store.edit(&Scope::admin("admin"), adds(&lines), 1).unwrap();
        for (user, text, expected) in [
            (None, "regret", vec!["Burpees & Regrets"]),
            (None, "DRIVERS", vec!["The Driver's Mix"]),
            (None, "playlist", vec!["Burpees & Regrets", "The Driver's Mix"]),
            (None, "home", vec![]),
            (Some("anna"), "home", vec!["home"]),
            (Some("anna"), "Elm", vec!["home"]),
            (None, "%", vec![]),
            (None, "_", vec!["a_b"]),
            (None, "Café", vec!["CAFÉ"]),
            (None, "' OR 1=1 --", vec![]),
            (None, "", vec!["Burpees & Regrets", "The Driver's Mix", "100%", "a_b", "CAFÉ"]),
        ] {
            assert_eq!(phrases(&mut *store, user, text), expected, "{text}");
        }
        let page = |after, limit| Query { after, limit, slot: "place".into(), ..Query::default() };
        let ids = |store: &mut dyn Store, query: Query| -> Vec<u64> {
            store.list(&Scope::admin("admin"), &query).unwrap().iter().map(|concept| concept.id).collect()
        };
        assert_eq!(ids(&mut *store, page(0, 2)), [5, ANNA]);
        assert_eq!(ids(&mut *store, page(ANNA, 2)), [BEN]);
        assert!(ids(&mut *store, page(BEN, 2)).is_empty());
    });
}

#[test]
fn any_text_comes_back_as_it_was() {
    on_every_store(|location| {
        let mut store = create(location);
        let texts = [
            "'; DROP TABLE meno_concepts; --",
            "<script>alert(1)</script>",
            "😀 $1 ?1 :a",
            "日本語",
            "é\u{301}",
            "\\x00",
        ];
        for text in texts {
            let source =
                Source { words: vec![text.replace(' ', "_")], labels: vec!["O".into()], intent: text.into() };
            let draft = Draft {
                phrase: text.to_owned(),
                slot: "söng-x".to_owned(),
                value: Some(text.to_owned()),
                owner: Owner::User(text.to_owned()),
                source: Some(source),
            };
            let change = store
                .edit(&Scope::admin("admin"), vec![Edit::Add(draft.clone())], u64::MAX >> 1)
                .unwrap()
                .remove(0);
            let id = change.after.unwrap().id;
            let Concept { phrase, slot, value, owner, source, normal, created, .. } =
                store.concept(&Scope::admin("admin"), id).unwrap().unwrap();
            assert_eq!(normal, normal_form(text));
            assert_eq!(created, u64::MAX >> 1);
            assert_eq!(Draft { phrase, slot, value, owner, source }, draft);
        }
        assert_eq!(store.count().unwrap(), texts.len() as u64);
    });
}

#[test]
fn what_is_exported_can_be_imported() {
    on_every_store(|location| {
        let mut store = create(location);
        let source = Some(Source::of_text("play red moon", "play"));
        let edits = vec![
            Edit::Add(Draft { source, ..draft("red moon|song") }),
            Edit::Add(draft("home|place|anna|x")),
        ];
        store.edit(&Scope::admin("admin"), edits, 1).unwrap();
        store.count_uses(&[(ANNA, 4)]).unwrap();
        let concepts = store.list(&Scope::admin("admin"), &Query::default()).unwrap();
        let mut lines = Vec::new();
        write_lines(&mut lines, &concepts).unwrap();
        let read = read_concepts("x.jsonl".as_ref(), str::from_utf8(&lines).unwrap(), 9).unwrap();
        let import = |store: &mut dyn Store| {
            let edits = read.iter().map(|concept| Edit::Import(Box::new(concept.clone()))).collect();
            store.edit(&Scope::admin("admin"), edits, 9).unwrap();
        };
        let removes = vec![Edit::Remove { id: 1 }, Edit::Remove { id: ANNA }];
        store.edit(&Scope::admin("admin"), removes, 5).unwrap();
        for _ in 0..2 {
            import(&mut *store);
            let again = store.list(&Scope::admin("admin"), &Query::default()).unwrap();
            let without_id = |concepts: &[Concept]| -> Vec<Concept> {
                concepts.iter().map(|concept| Concept { id: 0, ..concept.clone() }).collect()
            };
            assert_eq!(without_id(&again), without_id(&concepts));
        }
        // An import is taken back as a whole.
        assert_eq!(store.undo(&Scope::admin("admin"), 10).unwrap().len(), 2);
        assert_eq!(store.undo(&Scope::admin("admin"), 10).unwrap().len(), 2);
        assert_eq!(store.count().unwrap(), 0);
    });
}

/// One who says that a concept was used as often as a number can tell has it counted like any other, and nobody is the worse for it.
#[test]
fn no_count_of_uses_is_too_large() {
    on_every_store(|location| {
        let mut store = create(location);
        let line =
            |uses: u64| format!(r#"{{"phrase": "red moon", "slot": "song{}", "uses": {uses}}}"#, uses % 7);
        let lines = [line(u64::MAX), line(i64::MAX as u64 - 1), line(3)].join("\n");
        let concepts = read_concepts("x.jsonl".as_ref(), &lines, 9).unwrap();
        let edits = concepts.into_iter().map(|concept| Edit::Import(Box::new(concept))).collect();
        store.edit(&Scope::admin("admin"), edits, 9).unwrap();
        store.count_uses(&[(1, 5), (2, u64::MAX), (3, 1)]).unwrap();
        store.count_uses(&[(1, u64::MAX), (3, 1)]).unwrap();
        let uses = |store: &mut dyn Store| {
            let concepts = store.list(&Scope::admin("admin"), &Query::default()).unwrap();
            concepts.iter().map(|concept| concept.uses).collect::<Vec<_>>()
        };
        assert_eq!(uses(&mut *store), [1 << 53, 1 << 53, 5]);
        // Where one of an older program has a larger count.
        sql(location, &format!("UPDATE meno_concepts SET uses = {} WHERE id = 1", i64::MAX));
        store.count_uses(&[(1, 1)]).unwrap();
        assert_eq!(uses(&mut *store), [1 << 53, 1 << 53, 5]);
    });
}

#[test]
fn others_can_follow_what_changes() {
    on_every_store(|location| {
        let (mut one, mut other) = (create(location), create(location));
        let mut seen = other.entries(&mut |_| panic!("there is nothing")).unwrap();
        let mut follow = || match other.news(seen).unwrap() {
            News::Changed(changed, last) => {
                seen = last;
                changed.into_iter().map(|(id, concept)| (id, concept.map(|c| c.slot))).collect::<Vec<_>>()
            }
            News::Everything => panic!("the journal is whole"),
        };
        assert!(follow().is_empty());
        one.edit(&Scope::admin("admin"), adds(&["red|song", "blue|song"]), 1).unwrap();
        one.edit(&Scope::admin("admin"), vec![Edit::Amend { id: 1, to: slot("album") }], 2).unwrap();
        assert_eq!(follow(), [(2, Some("song".into())), (1, Some("album".into()))]);
        one.edit(&Scope::admin("admin"), vec![Edit::Remove { id: 2 }], 3).unwrap();
        one.undo(&Scope::admin("admin"), 4).unwrap();
        one.undo(&Scope::admin("admin"), 5).unwrap();
        assert_eq!(follow(), [(2, Some("song".into())), (1, Some("song".into()))]);
        assert!(follow().is_empty());
    });
}

#[test]
fn a_long_journal_is_cut_and_followers_start_anew() {
    on_every_store(|location| {
        let mut store = create(location);
        let first = store.entries(&mut |_| panic!("there is nothing")).unwrap();
        store.edit(&Scope::admin("admin"), adds(&["red|song"]), 1).unwrap();
        let many = (0..1_050).map(|i| Edit::Add(draft(&format!("w{i}|song")))).collect();
        store.edit(&Scope::admin("admin"), many, 2).unwrap();
        assert_eq!(store.news(first).unwrap(), News::Everything);
        let mut n = 0;
        let seen = store.entries(&mut |_| n += 1).unwrap();
        assert_eq!(n, 1_051);
        assert_eq!(store.news(seen).unwrap(), News::Changed(Vec::new(), seen));
        // A store that was put back to an older state is read anew, too, and so is another one.
        assert_eq!(store.news(Mark { seq: seen.seq + 1, ..seen }).unwrap(), News::Everything);
        assert_eq!(store.news(Mark { store: seen.store ^ 1, ..seen }).unwrap(), News::Everything);
        // The last change is whole, whatever its size.
        assert_eq!(store.undo(&Scope::admin("admin"), 3).unwrap().len(), 1_050);
        assert_eq!(store.count().unwrap(), 1);
    });
}

#[test]
fn undo_is_ones_own() {
    on_every_store(|location| {
        let mut store = create(location);
        let [everyone, anna] = [None, Some("anna")].map(Scope::of);
        let (ops, dev) = (Scope::admin("ops"), Scope::admin("dev"));
        // The admin's private concepts, an import, and what everyone was taught.
        store.edit(&ops, adds(&["salary|document|ops|secret", "home|place|anna"]), 1).unwrap();
        store.edit(&everyone, adds(&["tea|drink"]), 2).unwrap();
        store.edit(&ops, adds(&["lunch|meal"]), 3).unwrap();
        let for_anna = Scope::admin("ops").within(Owner::User("anna".into()));
        store.edit(&for_anna, adds(&["gym|place|anna"]), 4).unwrap();
        let undone = |store: &mut dyn Store, scope: &Scope| -> Vec<String> {
            let changes = store.undo(scope, 9).unwrap();
            changes.into_iter().filter_map(|change| change.before).map(|concept| concept.phrase).collect()
        };
        for scope in [&anna, &dev, &Scope::of(Some("ops"))] {
            assert!(undone(&mut *store, scope).is_empty(), "{scope:?}");
        }
        assert_eq!(undone(&mut *store, &everyone), ["tea"]);
        assert!(undone(&mut *store, &everyone).is_empty());
        // An admin who acts for one owner takes back nothing of another.
        assert_eq!(undone(&mut *store, &for_anna), ["gym"]);
        assert!(undone(&mut *store, &for_anna).is_empty());
        assert_eq!(undone(&mut *store, &ops), ["lunch"]);
        assert_eq!(undone(&mut *store, &ops), ["home", "salary"]);
        assert_eq!(store.count().unwrap(), 0);
    });
}

#[test]
fn a_phrase_has_few_slots() {
    on_every_store(|location| {
        let (mut store, admin) = (create(location), Scope::admin("admin"));
        let slots = |owner: &str| (0..8).map(|i| format!("red moon|s{i}|{owner}")).collect::<Vec<_>>();
        for owner in ["", "anna"] {
            store
                .edit(&admin, adds(&slots(owner).iter().map(String::as_str).collect::<Vec<_>>()), 1)
                .unwrap();
        }
        let error = store.edit(&admin, adds(&["Red  Moon!|s8|anna"]), 2).unwrap_err();
        assert_eq!(error.to_string(), "the phrase `red moon` has 8 slots already");
        assert_eq!(error.hint(), Some("forget one of them first"));
        let changes = store.edit(&admin, adds(&["blue moon|s8|anna", "red moon|s7|anna|Moon"]), 3).unwrap();
        let id = changes[0].after.as_ref().unwrap().id;
        let phrase = Amendment { phrase: Some("red moon".into()), ..Amendment::default() };
        assert!(store.edit(&admin, vec![Edit::Amend { id, to: phrase.clone() }], 4).is_err());
        store.edit(&admin, vec![Edit::Remove { id: ANNA }], 5).unwrap();
        store
            .edit(&admin, vec![Edit::Amend { id, to: phrase }, Edit::Amend { id, to: slot("s9") }], 6)
            .unwrap();
        assert_eq!(store.count().unwrap(), 16);
    });
}

#[test]
fn an_owner_has_no_more_than_its_quota() {
    on_every_store(|location| {
        let mut store = create(location);
        let quota = Quota { concepts: 3, bytes: 60 };
        let anna = Scope::of(Some("anna")).up_to(quota);
        store.edit(&anna, adds(&["one|song|anna", "two|song|anna", "three|song|anna"]), 1).unwrap();
        let error = store.edit(&anna, adds(&["four|song|anna"]), 2).unwrap_err();
        assert!(matches!(error, Error::Full { what: "concepts", limit: 3 }), "{error}");
        // What is there can be changed and forgotten; an admin may give more, and undo is no way around it.
        store.edit(&anna, adds(&["one|song|anna|1"]), 3).unwrap();
        store.edit(&anna, vec![Edit::Remove { id: ANNA + 1 }], 4).unwrap();
        let long = format!("four|song|anna|{}", "x".repeat(40));
        let error = store.edit(&anna, adds(&[&long]), 5).unwrap_err();
        assert!(matches!(error, Error::Full { what: "bytes", limit: 60 }), "{error}");
        store.edit(&Scope::admin("ops"), adds(&[&long]), 6).unwrap();
        store.edit(&Scope::of(Some("ben")).up_to(quota), adds(&["four|song|ben"]), 7).unwrap();
        assert!(matches!(store.undo(&anna, 8), Err(Error::Full { .. })));
        assert_eq!(store.count().unwrap(), 4);
    });
}

#[test]
fn many_write_at_once_and_nothing_is_missed() {
    on_every_store(|location| {
        let mut follower = create(location);
        let mut seen = follower.entries(&mut |_| panic!("there is nothing")).unwrap();
        let mut ids = Vec::new();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || {
                    let mut store = create(location);
                    for i in 0..25 {
                        store
                            .edit(
                                &Scope::admin("admin"),
                                adds(&[&format!("w{writer} {i}|song"), "shared|song"]),
                                i,
                            )
                            .unwrap();
                    }
                });
            }
            while ids.len() < 101 {
                let News::Changed(changed, last) = follower.news(seen).unwrap() else {
                    panic!("a cut journal")
                };
                ids.extend(changed.iter().map(|(id, _)| *id));
                ids.sort_unstable();
                ids.dedup();
                seen = last;
            }
        });
        assert_eq!(follower.count().unwrap(), 101);
    });
}

/// A store that a program of this version made, opened by this one.
fn older(location: &str, version: usize) -> Box<dyn Store> {
    let first = match location.starts_with("postgres") {
        true => include_str!("stores/schema1.postgres.sql"),
        false => include_str!("stores/schema1.sqlite.sql"),
    };
    let steps = [
        first,
        include_str!("stores/schema2.sql"),
        include_str!("stores/schema3.sql"),
        include_str!("stores/schema4.sql"),
    ];
    steps[..version].iter().for_each(|step| sql(location, step));
    open(location, Access::Existing).unwrap()
}

#[test]
fn an_older_schema_is_migrated() {
    on_every_store(|location| {
        let mut store = older(location, 1);
        assert_eq!(all(&mut *store), ["1 Red Moon|song|anna|Moon (red) 100 200 3"]);
        store.edit(&Scope::admin("admin"), adds(&["blue|song"]), 300).unwrap();
        assert_eq!(store.undo(&Scope::admin("admin"), 301).unwrap().len(), 1);
        let taken_back = store.undo(&Scope::of(Some("anna")), 302).unwrap();
        assert_eq!(taken_back[0].after.as_ref().unwrap().value, None);
        drop(store);
        assert_eq!(all(&mut *open(location, Access::Existing).unwrap()).len(), 1);
    });
}

#[test]
fn nobody_undoes_what_was_nobodys_in_an_older_schema() {
    on_every_store(|location| {
        let mut store = older(location, 2);
        for scope in [Scope::of(None), Scope::admin("admin"), Scope::admin("")] {
            assert!(store.undo(&scope, 400).unwrap().is_empty());
        }
        assert_eq!(store.journal(&Owner::User("anna".into()), 0, 10).unwrap().len(), 2);
        // Totals were counted: what there is may go, but no more may come.
        let quota = Quota { concepts: 1, bytes: 1000 };
        let anna = Scope::of(Some("anna")).up_to(quota);
        assert!(matches!(store.edit(&anna, adds(&["x|song|anna"]), 401), Err(Error::Full { .. })));
        store.edit(&anna, vec![Edit::Remove { id: 1 }], 402).unwrap();
        store.edit(&anna, adds(&["x|song|anna"]), 403).unwrap();
    });
}

/// Old numbers stay; new ones tell neither how many there were nor how many others have.
#[test]
fn owners_of_an_older_schema_count_by_themselves() {
    on_every_store(|location| {
        let (mut store, admin) = (older(location, 3), Scope::admin("admin"));
        store.edit(&admin, adds(&["milk|drink", "x|song|anna", "y|song|ben", "juice|drink"]), 400).unwrap();
        let ids: Vec<u64> =
            store.list(&admin, &Query::default()).unwrap().iter().map(|concept| concept.id).collect();
        let everyone = (1 << 20) + 1;
        assert_eq!(ids, [1, 2, everyone, everyone + 1, ANNA, BEN]);
        // So they do after a backup is restored, and a number is not given twice.
        let (dir, _) = (tempfile::tempdir().unwrap(), store.undo(&admin, 401).unwrap());
        let file = dir.path().join("backup");
        meno_store::backup(&mut *store, &file).unwrap();
        meno_store::restore(&mut *store, &file).unwrap();
        let changes = store.edit(&admin, adds(&["milk|drink", "x|song|anna"]), 402).unwrap();
        let ids: Vec<u64> = changes.into_iter().map(|change| change.after.unwrap().id).collect();
        assert_eq!(ids, [everyone + 2, ANNA + 1]);
    });
}

#[test]
fn an_older_journal_gets_an_end() {
    on_every_store(|location| {
        let (mut store, admin) = (older(location, 4), Scope::admin("admin"));
        let anna = Owner::User("anna".into());
        assert_eq!(store.journal(&anna, 0, 10).unwrap().len(), 2);
        store.tidy(1_000, 201).unwrap();
        assert!(store.journal(&anna, 0, 10).unwrap().is_empty());
        assert_eq!(store.journal(&Owner::Everyone, 0, 10).unwrap().len(), 1);
        store.erase(&admin, &anna, 2_000).unwrap();
        assert_eq!(all(&mut *store), ["2 Tea|drink|-|- 300 300 0"]);
    });
}

#[test]
fn a_newer_schema_is_refused() {
    on_every_store(|location| {
        drop(create(location));
        sql(location, "UPDATE meno_meta SET value = 99 WHERE name = 'schema'");
        let error = open(location, Access::Create).err().unwrap().to_string();
        let message = format!("has schema 99, but this program knows schemas up to {SCHEMA_VERSION}");
        assert!(error.ends_with(&message), "{error}");
    });
}

#[test]
fn what_is_not_there_is_not_made_by_reading() {
    on_every_store(|location| {
        assert!(matches!(open(location, Access::Existing), Err(Error::NotThere { .. })));
        assert!(location.starts_with("postgres") || !std::path::Path::new(location).exists());
    });
}

#[test]
fn files_of_other_programs_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    sql(&path("other.db"), "CREATE TABLE songs (name TEXT)");
    std::fs::write(path("text.db"), "x".repeat(5000)).unwrap();
    for (name, problem) in [("other.db", "it has a table `songs`"), ("text.db", "it is not an SQLite file")] {
        let before = std::fs::read(path(name)).unwrap();
        match open(&path(name), Access::Create) {
            Err(Error::NotAStore { problem: found, .. }) => assert_eq!(found, problem),
            other => panic!("{name}: {}", other.err().map_or("opened".to_owned(), |error| error.to_string())),
        }
        assert!(std::fs::read(path(name)).unwrap() == before, "{name} was changed");
    }
    assert!(matches!(open(&path("no/x.db"), Access::Create), Err(Error::NotAStore { .. })));
    assert!(matches!(open("postgres://:x:y/", Access::Create), Err(Error::NotAStore { .. })));
    assert!(matches!(open("postgres://anna@127.0.0.1:1/x", Access::Create), Err(Error::Away { .. })));
}

#[test]
fn lines_that_are_no_concepts_are_named() {
    for (text, problem) in [
        ("\n{\"phrase\": \"x\"}", "x.jsonl:2: missing field `slot`, column 15"),
        (
            "{\"phrase\": \"x\", \"slot\": \"s\", \"vlaue\": 1}",
            "x.jsonl:1: unknown field `vlaue`, expected one of",
        ),
        ("{\"phrase\": \"?\", \"slot\": \"s\"}", "x.jsonl:1: there is no word in the phrase `?`"),
        ("nonsense", "x.jsonl:1: expected"),
    ] {
        let error = read_concepts("x.jsonl".as_ref(), text, 1).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
    let read =
        read_concepts("x".as_ref(), "\u{feff}{\"phrase\": \"X\", \"slot\": \"s\", \"owner\": null}\n", 7)
            .unwrap();
    assert_eq!((read[0].normal.as_str(), read[0].created, &read[0].owner), ("x", 7, &Owner::Everyone));
}
