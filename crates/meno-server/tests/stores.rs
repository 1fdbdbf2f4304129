//! Concepts that are kept: over a restart, between two servers, and while the database is away.

mod support;

use std::time::Duration;

use meno_server::Config;
use serde_json::{Value, json};
use support::schema::{Annotation, Concept, Outcome, Page, Ready, Turn};
use support::{Database, Running, config, within};

fn on(store: &str) -> Running {
    Running::start(Config { store: Some(store.to_owned()), ..config() })
}

fn teach(server: &Running, phrase: &str) -> support::Answer {
    server.post("/v1/concepts", &json!({ "phrase": phrase, "slot": "album" }))
}

fn knows(server: &Running, phrase: &str) -> bool {
    let request = json!({ "text": format!("play {phrase} now") });
    let annotation: Annotation = server.post("/v1/annotate", &request).ok(200);
    annotation.memory.iter().any(|recalled| recalled.text == phrase)
}

#[test]
fn what_is_taught_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("concepts.db");
    let store = path.to_str().unwrap();
    let concept: Concept = teach(&on(store), "zorblax road").ok(201);
    let server = on(store);
    assert!(knows(&server, "zorblax road"));
    within(Duration::from_secs(5), || {
        let page: Page = server.get("/v1/concepts").ok(200);
        page.concepts[0].id == concept.id && page.concepts[0].uses == 1
    });
}

#[test]
fn without_a_store_everything_is_forgotten_but_works() {
    let server = Running::start(config());
    teach(&server, "zorblax road").ok::<Concept>(201);
    assert!(knows(&server, "zorblax road"));
    assert!(!knows(&Running::start(config()), "zorblax road"));
}

#[test]
fn servers_share_a_database_and_outlive_it() {
    let Some(database) = Database::start() else { return };
    let [one, two] = [0, 1].map(|_| on(&database.address));
    for n in 0..5 {
        let phrase = format!("zorblax{n} road");
        teach(&one, &phrase).ok::<Concept>(201);
        assert!(knows(&one, &phrase));
        within(Duration::from_secs(1), || knows(&two, &phrase));
    }

    let asked: Turn =
        one.post("/v1/dialogue", &json!({ "session": "s", "text": "play quux road now" })).ok(200);
    assert_eq!(asked.reply.outcome, Outcome::Ask);
    database.kill();
    within(Duration::from_secs(10), || !one.get("/readyz").ok::<Ready>(200).learning);
    let ready: Ready = one.get("/readyz").ok(200);
    assert!(ready.ready && ready.reason.is_some(), "{ready:?}");
    assert!(knows(&one, "zorblax0 road") && knows(&two, "zorblax4 road"));
    let answer = json!({ "session": "s", "text": "an album" });
    let refusals = [
        teach(&one, "foo road"),
        one.post("/v1/dialogue", &answer),
        one.get("/v1/concepts"),
        one.get("/v1/concepts/export"),
        one.post("/v1/concepts/undo", &Value::Null),
    ];
    for refused in refusals {
        assert_eq!(refused.refusal(), (503, "store_away".to_owned()));
        assert_eq!(refused.header("retry-after"), Some("5"));
    }
    assert!(one.get("/metrics").text().contains("meno_store_up 0"));

    database.restart();
    within(Duration::from_secs(10), || one.get("/readyz").ok::<Ready>(200).learning);
    // The turn that could not be learnt has not happened, so it can be taken again.
    let taught: Turn = one.post("/v1/dialogue", &answer).ok(200);
    assert_eq!(taught.concepts.len(), 1);
    within(Duration::from_secs(5), || knows(&two, "quux road"));
    teach(&two, "foo road").ok::<Concept>(201);
    within(Duration::from_secs(1), || knows(&one, "foo road"));
}
