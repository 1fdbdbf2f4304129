//! The handle that answers, alone, beside others, and when its database is away.

mod support;

use std::time::{Duration, Instant};

use meno::Annotation;
use meno::answer::{Decision, TokenLabel};
use meno::memory::Owner;
use meno_store::{Access, Amendment, Edit, Error, Memory, Query, Scope};
use support::{Server, adds, draft, on_every_store};

fn open(location: &str) -> Memory {
    Memory::open(location, Access::Create).unwrap()
}

fn knows(memory: &Memory, text: &str, user: Option<&str>) -> Vec<String> {
    memory.find(text, user).into_iter().map(|known| known.slot).collect()
}

/// Waits until something holds, and gives how long that took.
fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "not within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    start.elapsed()
}

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

#[test]
fn two_see_each_others_concepts_within_a_second() {
    on_every_store(|location| {
        let (one, other) = (open(location), open(location));
        let concept = one.learn(&Scope::All, draft("red moon|song")).unwrap();
        let second = Duration::from_secs(1);
        within(second, || knows(&other, "red moon", None) == ["song"]);
        other.remove(&Scope::All, concept.id).unwrap();
        within(second, || knows(&one, "red moon", None).is_empty());
        one.undo(&Scope::All).unwrap();
        within(second, || knows(&other, "red moon", None) == ["song"]);
        // More than the journal keeps.
        let many = (0..10_050).map(|i| Edit::Add(draft(&format!("w{i}|song")))).collect();
        one.edit(&Scope::All, adds(&["blue moon|song"])).unwrap();
        one.edit(&Scope::All, many).unwrap();
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
                memory.learn(&Scope::Of(owner), draft(&format!("home|place|u{}|{i}", i % 4))).unwrap();
            }
            memory.learn(&Scope::All, draft("the last one|song")).unwrap();
        });
        assert_eq!(memory.len(), 5);
    });
}

#[test]
fn an_async_server_can_ask_and_drop_it() {
    on_every_store(|location| {
        let memory = open(location);
        memory.learn(&Scope::All, draft("red moon|song")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async move {
            let remembered = memory.remember(annotation("play red moon"), None, never);
            assert_eq!(remembered.memory.len(), 1);
            let learner = memory.clone();
            let learn = move || learner.learn(&Scope::All, draft("blue moon|song")).unwrap();
            tokio::task::spawn_blocking(learn).await.unwrap();
            assert_eq!(knows(&memory, "blue moon", None), ["song"]);
            drop(memory);
        });
        let memory = open(location);
        within(Duration::from_secs(1), || memory.concept(&Scope::All, 1).unwrap().unwrap().uses == 1);
    });
}

#[test]
fn answers_while_the_database_is_away_and_recovers() {
    let Some(server) = Server::start() else { return };
    let location = server.database();
    let (memory, other) = (open(&location), open(&location));
    memory.learn(&Scope::All, draft("red moon|song")).unwrap();
    within(Duration::from_secs(1), || other.len() == 1);
    server.kill();

    let refused = memory.learn(&Scope::All, draft("blue moon|song")).unwrap_err();
    assert!(matches!(refused, Error::Away { .. }), "{refused}");
    assert!(matches!(memory.list(&Scope::All, &Query::default()), Err(Error::Away { .. })));
    assert!(memory.trouble().is_some());
    within(Duration::from_secs(5), || other.trouble().is_some());
    for memory in [&memory, &other] {
        assert_eq!(knows(memory, "red moon", None), ["song"]);
        assert_eq!(memory.remember(annotation("play red moon"), None, never).memory.len(), 1);
        assert!(knows(memory, "blue moon", None).is_empty());
    }

    server.restart();
    // The first that learns again need not wait for anything.
    memory.learn(&Scope::All, draft("green moon|song")).unwrap();
    within(Duration::from_secs(5), || knows(&other, "green moon", None) == ["song"]);
    within(Duration::from_secs(5), || memory.trouble().is_none() && other.trouble().is_none());
    other.learn(&Scope::All, draft("blue moon|song")).unwrap();
    within(Duration::from_secs(1), || knows(&memory, "blue moon", None) == ["song"]);
    let concepts = memory.list(&Scope::All, &Query::default()).unwrap();
    assert_eq!(concepts.len(), 3, "what was acknowledged is there, what was refused is not");
    memory.flush().unwrap();
    other.flush().unwrap();
    within(Duration::from_secs(5), || memory.concept(&Scope::All, 1).unwrap().unwrap().uses == 2);
}

#[test]
fn a_volatile_memory_is_like_any_other_until_it_is_dropped() {
    let memory = Memory::volatile().unwrap();
    let concept = memory.learn(&Scope::All, draft("red moon | song")).unwrap();
    assert_eq!(memory.find("play red moon", None)[0].id, concept.id);
    assert_eq!(memory.list(&Scope::All, &Query::default()).unwrap(), [concept]);
    assert_eq!(memory.undo(&Scope::All).unwrap().len(), 1);
    assert!(memory.find("play red moon", None).is_empty());
    assert!(Memory::volatile().unwrap().is_empty());
}
