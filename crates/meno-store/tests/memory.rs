//! The handle that answers, alone, beside others, and when its database is away.

mod support;

use std::time::{Duration, Instant};

use meno::answer::{Decision, Span, TokenLabel};
use meno::engine::Tokenization;
use meno::memory::Owner;
use meno::{Annotation, Model};
use meno_store::{Access, Amendment, Edit, Error, Memory, Query, Scope};
use support::{Server, adds, draft, knows, on_every_store, open, sql, within};

/// What a tagger has seen that was never trained.
fn never(_: &str) -> bool {
    false
}

/// What such a tagger makes of words.
fn annotation(text: &str) -> Annotation<'_> {
    let mut at = 0;
    let tokens = text.split(' ').map(|word| {
        let start = at;
        at += word.len() + 1;
        TokenLabel {
            text: word,
            start,
            end: start + word.len(),
            label: "O".into(),
            probability: 0.5,
            verdict: None,
        }
    });
    Annotation {
        text,
        intent: None,
        confidence: None,
        decision: Decision::Act,
        tokens: tokens.collect(),
        spans: Vec::new(),
        outside: Vec::new(),
    }
}

#[test]
fn what_is_learnt_is_known_at_once() {
    on_every_store(|location| {
        let memory = open(location);
        let anna = Scope::of(Some("anna"));
        let learnt = memory.learn(&anna, draft("Burpees and Regrets|playlist|anna|workout mix")).unwrap();
        let remembered = memory.remember(annotation("play burpees and regrets now"), Some("anna"), never);
        assert_eq!(remembered.annotation.spans[0].text, "burpees and regrets");
        assert_eq!(&*remembered.annotation.tokens[3].label, "I-playlist");
        assert_eq!(remembered.memory[0].value.as_deref(), Some("workout mix"));
        assert!(
            memory.remember(annotation("play burpees and regrets"), Some("ben"), never).memory.is_empty()
        );
        memory.flush().unwrap();
        assert_eq!(memory.concept(&anna, learnt.id).unwrap().unwrap().uses, 1);

        let to = Amendment { slot: Some("album".into()), ..Amendment::default() };
        memory.amend(&anna, learnt.id, to).unwrap();
        assert_eq!(knows(&memory, "burpees and regrets", Some("anna")), ["album"]);
        memory.remove(&anna, learnt.id).unwrap();
        assert!(knows(&memory, "burpees and regrets", Some("anna")).is_empty());
        memory.undo(&anna).unwrap();
        memory.undo(&anna).unwrap();
        assert_eq!(knows(&memory, "burpees and regrets", Some("anna")), ["playlist"]);
        assert_eq!((memory.len(), memory.trouble()), (1, None));
        drop(memory);
        let memory = Memory::open(location, Access::Existing).unwrap();
        assert_eq!(knows(&memory, "burpees and regrets", Some("anna")), ["playlist"]);
    });
}

/// Its cities and albums are few; the first of one word are Paris and Thriller.
const MODEL: &[u8] = include_bytes!("../../meno/tests/models/span_tagger-1.meno");

/// What was taught, what of the model's own takes its place, and sentences around it.
const BESIDE: [(&str, &str, &[&str]); 3] = [
    (
        "Çağla",
        "paris",
        &["{}, Rome!", "is it cold in {} at six", "Play \"the wall\", in {}?", "the weather {}"],
    ),
    ("Qwyx Zzyzx", "thriller", &["play abbey road or {}", "weather paris {}", "put {} on in New York at 9"]),
    ("Zorblax", "paris", &["play {} by rome", "weather in {} now", "{} or {} at 7", "the wall in {}"]),
];

/// The words that are not of a phrase, their labels, and what else is said of them.
fn beside(annotation: &Annotation<'_>, phrase: &str) -> Vec<(String, String, String)> {
    let shown = |token: &TokenLabel<'_>| {
        assert_eq!(token.text, &annotation.text[token.start..token.end]);
        let said = (token.probability, &token.verdict);
        (token.text.to_owned(), token.label.to_string(), format!("{said:?}"))
    };
    annotation
        .tokens
        .iter()
        .filter(|token| !phrase.split(' ').any(|word| word == token.text))
        .map(shown)
        .collect()
}

#[test]
fn what_stands_beside_a_concept_is_read_as_beside_a_known_value() {
    let model = Model::from_bytes(MODEL, "model".as_ref()).unwrap();
    assert_eq!(
        ["city", "album", "x"].map(|slot| model.stand_in(slot)),
        [Some("paris"), Some("thriller"), None]
    );
    let memory = Memory::volatile().unwrap();
    for concept in ["Çağla|city", "Zorblax|city", "Qwyx Zzyzx|album"] {
        memory.learn(&Scope::admin("admin"), draft(concept)).unwrap();
    }
    let mut worker = model.worker();
    for (phrase, known, patterns) in BESIDE {
        for pattern in patterns {
            let text = pattern.replace("{}", phrase);
            let taught = memory.annotate(&mut worker, None, &text, Tokenization::Raw, None).annotation;
            let usual = pattern.replace("{}", known);
            let usual = worker.annotate(&usual, Tokenization::Raw);
            assert_eq!(taught.intent, usual.intent, "{text}");
            assert_eq!(beside(&taught, phrase), beside(&usual, known), "{text}");
            let has = |span: &Span<'_>| span.text == phrase && &text[span.start..span.end] == phrase;
            assert_eq!(taught.spans.iter().filter(|span| has(span)).count(), pattern.matches("{}").count());
        }
    }
}

#[test]
fn a_concept_leaves_what_is_beside_it_in_its_slot() {
    let model = Model::from_bytes(MODEL, "model".as_ref()).unwrap();
    let memory = Memory::volatile().unwrap();
    for concept in ["Çağla|city", "Qwyx Zzyzx|album", "New York|city"] {
        memory.learn(&Scope::admin("admin"), draft(concept)).unwrap();
    }
    let mut worker = model.worker();
    let mut check = |text: &str, once: &str, again: &str| {
        let shown = |annotation: &Annotation<'_>| -> String {
            let span = |span: &Span<'_>| format!("[{}|{}]", span.text, span.slot);
            annotation.spans.iter().map(span).collect::<Vec<_>>().join(" ")
        };
        let annotation = worker.annotate(text, Tokenization::Raw);
        let remembered = memory.remember(annotation, None, |word| model.has_seen(word));
        assert_eq!(shown(&remembered.annotation), once);
        let remembered = memory.annotate(&mut worker, None, text, Tokenization::Raw, None);
        assert_eq!(shown(&remembered.annotation), again);
    };
    check(
        "play Abbey Road or Qwyx Zzyzx!",
        "[Abbey Road or|unknown] [Qwyx Zzyzx|album]",
        "[Abbey Road|album] [Qwyx Zzyzx|album]",
    );
    check("play Çağla rome", "[Çağla|city] [rome|unknown]", "[Çağla|city] [rome|city]");
    check(
        "weather paris Qwyx Zzyzx",
        "[paris|unknown] [Qwyx Zzyzx|album]",
        "[paris|city] [Qwyx Zzyzx|album]",
    );
    // What the model knows as a value is read as it stands.
    let text = "play the wall in New York at six";
    let annotation = worker.annotate(text, Tokenization::Raw);
    let once = memory.remember(annotation, None, |word| model.has_seen(word));
    assert_eq!(memory.annotate(&mut worker, None, text, Tokenization::Raw, None), once);
    assert_eq!(once.memory.len(), 1);
}

#[test]
fn two_see_each_others_concepts_within_a_second() {
    on_every_store(|location| {
        let (one, other) = (open(location), open(location));
        let concept = one.learn(&Scope::admin("admin"), draft("red moon|song")).unwrap();
        let second = Duration::from_secs(1);
        within(second, || knows(&other, "red moon", None) == ["song"]);
        other.remove(&Scope::admin("admin"), concept.id).unwrap();
        within(second, || knows(&one, "red moon", None).is_empty());
        one.undo(&Scope::admin("admin")).unwrap();
        within(second, || knows(&other, "red moon", None) == ["song"]);
        // More than the journal keeps.
        let many = (0..10_050).map(|i| Edit::Add(draft(&format!("w{i}|song")))).collect();
        one.edit(&Scope::admin("admin"), adds(&["blue moon|song"])).unwrap();
        one.edit(&Scope::admin("admin"), many).unwrap();
        within(Duration::from_secs(5), || other.len() == 10_052);
    });
}

#[test]
fn many_read_while_some_learn() {
    on_every_store(|location| {
        let memory = open(location);
        std::thread::scope(|scope| {
            for reader in 0..4 {
                let memory = memory.clone();
                scope.spawn(move || {
                    let user = format!("u{reader}");
                    while knows(&memory, "the last one", None).is_empty() {
                        let found = memory.find("my home", Some(&user));
                        assert!(found.len() <= 1, "{found:?}");
                    }
                });
            }
            for i in 0..40 {
                let owner = Owner::User(format!("u{}", i % 4));
                memory.learn(&Scope::own(owner), draft(&format!("home|place|u{}|{i}", i % 4))).unwrap();
            }
            memory.learn(&Scope::admin("admin"), draft("the last one|song")).unwrap();
        });
        assert_eq!(memory.len(), 5);
    });
}

#[test]
fn an_async_server_can_ask_and_drop_it() {
    on_every_store(|location| {
        let memory = open(location);
        memory.learn(&Scope::admin("admin"), draft("red moon|song")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async move {
            let remembered = memory.remember(annotation("play red moon"), None, never);
            assert_eq!(remembered.memory.len(), 1);
            let learner = memory.clone();
            let learn = move || learner.learn(&Scope::admin("admin"), draft("blue moon|song")).unwrap();
            tokio::task::spawn_blocking(learn).await.unwrap();
            assert_eq!(knows(&memory, "blue moon", None), ["song"]);
            drop(memory);
        });
        let memory = open(location);
        within(Duration::from_secs(1), || {
            memory.concept(&Scope::admin("admin"), 1).unwrap().unwrap().uses == 1
        });
    });
}

#[test]
fn answers_while_the_database_is_away_and_recovers() {
    let Some(server) = Server::start() else { return };
    let location = server.database();
    let (memory, other) = (open(&location), open(&location));
    memory.learn(&Scope::admin("admin"), draft("red moon|song")).unwrap();
    within(Duration::from_secs(1), || other.len() == 1);
    server.kill();

    let refused = memory.learn(&Scope::admin("admin"), draft("blue moon|song")).unwrap_err();
    assert!(matches!(refused, Error::Away { .. }), "{refused}");
    assert!(matches!(memory.list(&Scope::admin("admin"), &Query::default()), Err(Error::Away { .. })));
    assert!(memory.trouble().is_some());
    within(Duration::from_secs(5), || other.trouble().is_some());
    for memory in [&memory, &other] {
        assert_eq!(knows(memory, "red moon", None), ["song"]);
        assert_eq!(memory.remember(annotation("play red moon"), None, never).memory.len(), 1);
        assert!(knows(memory, "blue moon", None).is_empty());
    }

    server.restart();
    within(Duration::from_secs(3), || memory.trouble().is_none());
    memory.learn(&Scope::admin("admin"), draft("green moon|song")).unwrap();
    within(Duration::from_secs(5), || knows(&other, "green moon", None) == ["song"]);
    within(Duration::from_secs(5), || memory.trouble().is_none() && other.trouble().is_none());
    other.learn(&Scope::admin("admin"), draft("blue moon|song")).unwrap();
    within(Duration::from_secs(1), || knows(&memory, "blue moon", None) == ["song"]);
    let concepts = memory.list(&Scope::admin("admin"), &Query::default()).unwrap();
    assert_eq!(concepts.len(), 3, "what was acknowledged is there, what was refused is not");
    memory.flush().unwrap();
    other.flush().unwrap();
    within(Duration::from_secs(5), || memory.concept(&Scope::admin("admin"), 1).unwrap().unwrap().uses == 2);
}

/// The server that does not answer is stopped, not ended: its sockets stay open and take what is sent.
#[test]
fn a_silent_database_is_told_within_seconds() {
    let Some(server) = Server::start() else { return };
    let location = server.database();
    let memory = open(&location);
    let admin = Scope::admin("admin");
    memory.learn(&admin, draft("red moon|song")).unwrap();
    for _ in 0..2 {
        server.signal("STOP");
        let told = within(Duration::from_secs(3), || memory.trouble().is_some());
        println!("told after {told:?}");
        // Nothing waits any more: what needs the store is refused, everything else is answered.
        let start = Instant::now();
        for _ in 0..50 {
            assert!(matches!(memory.learn(&admin, draft("blue moon|song")), Err(Error::Away { .. })));
            assert!(matches!(memory.list(&admin, &Query::default()), Err(Error::Away { .. })));
            assert_eq!(knows(&memory, "red moon", None), ["song"]);
        }
        assert!(start.elapsed() < Duration::from_millis(100), "{:?}", start.elapsed());
        std::thread::sleep(Duration::from_secs(1));
        server.signal("CONT");
        within(Duration::from_secs(3), || memory.trouble().is_none());
        assert_eq!(memory.list(&admin, &Query::default()).unwrap().len(), 1);
    }
    memory.learn(&admin, draft("green moon|song")).unwrap();
    // Closing it waits for nobody either, known to be away or not, with uses that are not counted yet.
    for is_known in [false, true] {
        let memory = open(&location);
        memory.remember(annotation("play red moon"), None, never);
        server.signal("STOP");
        if is_known {
            within(Duration::from_secs(5), || memory.trouble().is_some());
        }
        let start = Instant::now();
        memory.close();
        let took = start.elapsed();
        server.signal("CONT");
        assert!(took < Duration::from_millis(if is_known { 200 } else { 1500 }), "{took:?}");
    }
}

/// A store that others hold is not one in which anything can be learnt, whoever holds it.
#[test]
fn a_store_that_others_hold_is_told_within_seconds() {
    on_every_store(|location| {
        let (memory, admin) = (open(location), Scope::admin("admin"));
        memory.learn(&admin, draft("red moon|song")).unwrap();
        let hold: Box<dyn FnOnce()> = match location.starts_with("postgres") {
            true => {
                let mut client = postgres::Client::connect(location, postgres::NoTls).unwrap();
                client.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(1835363951)").unwrap();
                Box::new(move || drop(client))
            }
            false => {
                let other = rusqlite::Connection::open(location).unwrap();
                other.execute_batch("BEGIN IMMEDIATE").unwrap();
                Box::new(move || drop(other))
            }
        };
        within(Duration::from_secs(8), || memory.trouble().is_some_and(|trouble| trouble.contains("hold")));
        let start = Instant::now();
        assert!(matches!(memory.learn(&admin, draft("blue moon|song")), Err(Error::Away { .. })));
        assert!(start.elapsed() < Duration::from_millis(100), "it waited");
        assert_eq!(knows(&memory, "red moon", None), ["song"]);
        hold();
        within(Duration::from_secs(5), || memory.trouble().is_none());
        memory.learn(&admin, draft("green moon|song")).unwrap();
    });
}

/// A process that stands still in the middle of a change holds up others for a moment only.
#[test]
fn postgres_ends_a_change_that_stands_still() {
    let Some(server) = support::server() else { return };
    let location = server.database();
    let (mut still, mut other) = (support::create(&location), support::create(&location));
    still.set_patience(Duration::from_secs(1));
    other.set_patience(Duration::from_secs(10));
    let stood = still.replace(&mut |_| {
        std::thread::scope(|scope| {
            let edit = || other.edit(&Scope::admin("admin"), adds(&["red moon|song"]), 1);
            assert!(scope.spawn(edit).join().unwrap().is_ok());
        });
        Ok(())
    });
    assert!(matches!(stood, Err(Error::Away { .. })), "{stood:?}");
    assert_eq!(other.count().unwrap(), 1);
}

#[test]
fn whose_everything_was_erased_is_told_to_all() {
    on_every_store(|location| {
        let (memory, admin) = (open(location), Scope::admin("admin"));
        memory.learn(&admin, draft("home|place|ben")).unwrap();
        let mut command = meno_store::open(location, Access::Existing).unwrap();
        for name in ["anna", "ben"] {
            let owner = Owner::User(name.to_owned());
            // Of one there is nothing but what she says just now.
            command.erase(&admin, &owner, 1).unwrap();
            let mut told = Vec::new();
            within(Duration::from_secs(1), || {
                told.extend(memory.take_erased());
                !told.is_empty()
            });
            assert!(told.iter().all(|gone| gone.is(&owner) && !gone.is(&Owner::Everyone)), "{name}");
        }
        assert!(memory.is_empty());
    });
}

/// A search that takes long has a connection of its own.
#[test]
fn readers_do_not_stand_in_the_way_of_teachers() {
    on_every_store(|location| {
        let (memory, admin) = (open(location), Scope::admin("admin"));
        let many = (0..20_000).map(|i| Edit::Add(draft(&format!("w{i} and other words|song")))).collect();
        memory.edit(&admin, many).unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let slowest = std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        let query = Query { text: "zzz".to_owned(), ..Query::default() };
                        let _ = memory.list(&admin, &query);
                    }
                });
            }
            let teach = |i: usize| {
                let start = Instant::now();
                memory.learn(&admin, draft(&format!("taught {i}|song"))).map(|_| start.elapsed())
            };
            let taught: Vec<_> = (0..20).map(teach).collect();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            taught.into_iter().map(Result::unwrap).max().unwrap()
        });
        assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    });
}

/// A memory finds by its index what the store finds by reading everything.
#[test]
fn a_memory_lists_what_its_store_lists() {
    on_every_store(|location| {
        let (memory, admin) = (open(location), Scope::admin("admin"));
        let words = ["red", "moon", "Café", "100%", "日本", "dan's", "a_b", "s"];
        let owners = ["", "anna", "ben"];
        let some = |i: usize| {
            let phrase = [words[i % 8], words[i / 8 % 8], words[i / 24 % 8]].join(" ");
            format!("{phrase}|{}|{}|{}", ["song", "place"][i % 2], owners[i % 3], words[i % 7])
        };
        let drafts: Vec<String> = (0..192).map(some).collect();
        memory.edit(&admin, adds(&drafts.iter().map(String::as_str).collect::<Vec<_>>())).unwrap();
        memory.remove(&admin, 5).unwrap();
        let mut store = meno_store::open(location, Access::Existing).unwrap();
        for scope in [&admin, &Scope::of(None), &Scope::of(Some("anna")), &Scope::of(Some("nobody"))] {
            for text in
                ["", " ", "oon", "red moon", "n 日", "n's m", "日本 d", "fé", "%", "_", "ong", "dan's", "zzz"]
            {
                for (slot, after, limit) in [("", 0, 1000), ("place", 20, 7), ("", 30, 1), ("none", 0, 10)] {
                    let query = Query {
                        text: text.to_owned(),
                        slot: slot.to_owned(),
                        after,
                        limit,
                        ..Query::default()
                    };
                    let listed = memory.list(scope, &query).unwrap();
                    assert_eq!(listed, store.list(scope, &query).unwrap(), "{scope:?} {query:?}");
                }
            }
        }
    });
}

/// A backup under load has whole changes, all that were acknowledged before it began, and can be undone like the store itself.
#[test]
fn a_backup_is_the_store_at_one_moment() {
    on_every_store(|location| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("backup");
        let (memory, admin) = (open(location), Scope::admin("admin"));
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let pair = |i: usize| adds(&[&format!("left {i}|song"), &format!("right {i}|song|anna")]);
        (0..50).for_each(|i| drop(memory.edit(&admin, pair(i)).unwrap()));
        let n = std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 50.. {
                    if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        return;
                    }
                    memory.edit(&admin, pair(i)).unwrap();
                }
            });
            let mut store = meno_store::open(location, Access::Existing).unwrap();
            let written: Vec<_> = (0..5).map(|_| meno_store::backup(store.as_mut(), &file)).collect();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            written.into_iter().map(Result::unwrap).last().unwrap() as usize
        });
        assert!(n >= 100 && n.is_multiple_of(2), "{n}");
        // The one file is all of it.
        let alone = dir.path().join("alone");
        std::fs::copy(&file, &alone).unwrap();
        assert_eq!(open(alone.to_str().unwrap()).len(), n);

        // Restored while it is used: a server sees it, goes on counting, and can undo.
        memory.edit(&admin, adds(&["later|song"])).unwrap();
        let mut store = meno_store::open(location, Access::Existing).unwrap();
        assert_eq!(meno_store::restore(store.as_mut(), &file).unwrap() as usize, n);
        within(Duration::from_secs(3), || memory.len() == n && knows(&memory, "later", None).is_empty());
        let learnt = memory.learn(&admin, draft("new|song|anna")).unwrap();
        assert!(
            memory.list(&admin, &Query::default()).unwrap().iter().all(|concept| concept.id <= learnt.id)
        );
        assert_eq!(memory.undo(&admin).unwrap().len(), 1);
        assert_eq!(memory.undo(&admin).unwrap().len(), 2);
        let quota = meno_store::Quota { concepts: 3, bytes: 10_000 };
        let anna = Scope::of(Some("anna")).up_to(quota);
        assert!(matches!(memory.learn(&anna, draft("x|song|anna")), Err(Error::Full { .. })));

        // What is no backup changes nothing.
        std::fs::write(&alone, "x".repeat(5000)).unwrap();
        assert!(meno_store::restore(store.as_mut(), &alone).is_err());
        assert!(meno_store::restore(store.as_mut(), &dir.path().join("nowhere")).is_err());
        assert_eq!(memory.list(&admin, &Query::default()).unwrap().len(), n - 2);
    });
}

/// What the database's own programs copy while it is written to is the store at one moment, too.
#[test]
fn other_programs_copy_it_whole() {
    on_every_store(|location| {
        let (memory, admin) = (open(location), Scope::admin("admin"));
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let pair = |i: usize| adds(&[&format!("left {i}|song"), &format!("right {i}|song|anna")]);
        (0..50).for_each(|i| drop(memory.edit(&admin, pair(i)).unwrap()));
        let copy = std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 50.. {
                    if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        return;
                    }
                    memory.edit(&admin, pair(i)).unwrap();
                }
            });
            let copy = match support::server().filter(|_| location.starts_with("postgres")) {
                Some(server) => server.copy(location),
                None => {
                    let copy = format!("{location}.copy");
                    sql(location, &format!("VACUUM INTO '{copy}'"));
                    copy
                }
            };
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            copy
        });
        let copied = open(&copy);
        let n = copied.len();
        assert!(n >= 100 && n.is_multiple_of(2), "{n}");
        copied.learn(&admin, draft("new|song")).unwrap();
        assert_eq!(copied.undo(&admin).unwrap().len(), 1);
        assert_eq!(copied.undo(&admin).unwrap().len(), 2);
    });
}

#[test]
fn a_volatile_memory_is_like_any_other_until_it_is_dropped() {
    let memory = Memory::volatile().unwrap();
    let concept = memory.learn(&Scope::admin("admin"), draft("red moon | song")).unwrap();
    assert_eq!(memory.find("play red moon", None)[0].id, concept.id);
    assert_eq!(memory.list(&Scope::admin("admin"), &Query::default()).unwrap(), [concept]);
    assert_eq!(memory.undo(&Scope::admin("admin")).unwrap().len(), 1);
    assert!(memory.find("play red moon", None).is_empty());
    assert!(Memory::volatile().unwrap().is_empty());
}
