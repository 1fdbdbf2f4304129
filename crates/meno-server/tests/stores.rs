//! Concepts that are kept: over a restart, between two servers, and while the database is away.

mod support;

use std::time::Duration;

use meno::memory::Owner;
use meno_server::{Config, TokenSource, new_token};
use meno_store::{Access, Scope};
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

/// The value of a count without labels.
fn count(server: &Running, name: &str) -> String {
    let text = server.get("/metrics").text().to_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// Nobody has to come for a dialogue to end: neither when nobody spoke for long nor when another program erases its owner.
#[test]
fn dialogues_end_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("concepts.db").to_str().unwrap().to_owned();
    let anna = Owner::User("anna".to_owned());
    let start = |session_lifetime| {
        let owner = anna.clone();
        let server =
            Running::start(Config { store: Some(store.clone()), owner, session_lifetime, ..config() });
        let turn = json!({ "session": "s", "text": "play zorblax road" });
        server.post("/v1/dialogue", &turn).ok::<Turn>(200);
        assert_eq!(count(&server, "meno_sessions"), "1");
        server
    };
    let server = start(Duration::from_secs(3));
    within(Duration::from_secs(6), || count(&server, "meno_sessions") == "0");
    let server = start(Duration::from_secs(600));
    let mut command = meno_store::open(&store, Access::Existing).unwrap();
    command.erase(&Scope::admin("meno memory"), &Owner::User("ben".to_owned()), 1).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(count(&server, "meno_sessions"), "1", "it is another's");
    command.erase(&Scope::admin("meno memory"), &anna, 1).unwrap();
    within(Duration::from_secs(3), || count(&server, "meno_sessions") == "0");
}

#[test]
fn a_file_that_is_cut_off_takes_nothing_and_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("concepts.db");
    let server = on(path.to_str().unwrap());
    for i in 0..3 {
        teach(&server, &format!("zorblax {i}")).ok::<Concept>(201);
    }
    assert_eq!(count(&server, "meno_store_up"), "1");
    std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    for i in 3..6 {
        assert_eq!(teach(&server, &format!("zorblax {i}")).refusal(), (503, "store_away".to_owned()));
    }
    within(Duration::from_secs(3), || !server.get("/readyz").ok::<Ready>(200).learning);
    assert_eq!(count(&server, "meno_store_up"), "0");
    assert!(knows(&server, "zorblax 1"));
}

/// All that anna sees of numbers is the same whether ben teaches or not.
#[test]
fn numbers_tell_nothing_about_others() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let alone = seen_by_anna(&file("alone.db"), 0);
    assert!(alone.contains("\"seq\":4"), "{alone}");
    assert_eq!(seen_by_anna(&file("among_others.db"), 3), alone);
    let Some(database) = Database::start() else { return };
    assert_eq!(seen_by_anna(&database.address, 3), alone);
}

/// What anna is told while she teaches, and ben so many times as often.
fn seen_by_anna(store: &str, times: usize) -> String {
    let made = ["anna", "ben"].map(|name| new_token(name, "read,teach").unwrap());
    let lines: Vec<String> = made.iter().map(|(_, line)| line.clone()).collect();
    let tokens = Some(TokenSource::Lines(lines.join("\n")));
    let server = Running::start(Config { store: Some(store.to_owned()), tokens, ..config() });
    let [mut anna, mut ben] = made.map(|(token, _)| server.client().with_token(&token));
    let concept = |phrase: String| json!({ "phrase": phrase, "slot": "album" });
    let mut seen = String::new();
    for n in 0..3 {
        for time in 0..times {
            let taught = ben.json("POST", "/v1/concepts", &concept(format!("ben {n} {time}")));
            assert_eq!(taught.status, 201);
        }
        seen += anna.json("POST", "/v1/concepts", &concept(format!("anna {n}"))).text();
    }
    for (method, path) in [
        ("POST", "/v1/concepts/undo"),
        ("GET", "/v1/concepts?limit=1"),
        ("GET", "/v1/concepts/export"),
        ("GET", "/v1/owners/anna"),
    ] {
        let answer = anna.json(method, path, &Value::Null);
        assert_eq!(answer.status, 200, "{}", answer.text());
        seen += answer.text();
    }
    without_times(&seen)
}

/// JSON without the times at which something was done.
fn without_times(text: &str) -> String {
    let keys = ["\"created\":", "\"updated\":", "\"time\":"];
    keys.iter().fold(text.to_owned(), |text, key| {
        let mut parts = text.split(key);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| text + key + part.trim_start_matches(|c: char| c.is_ascii_digit()))
    })
}

/// A database that takes what is sent and says nothing: everybody is told within 3 s, and it holds up nothing that does not need it.
#[test]
fn a_silent_database_holds_nothing_up() {
    let Some(database) = Database::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokens");
    let made = ["root", "eve"].map(|name| new_token(name, "admin").unwrap());
    std::fs::write(&path, made.each_ref().map(|(_, line)| line.as_str()).join("\n")).unwrap();
    let tokens = Some(TokenSource::File(path.clone()));
    let server = Running::start(Config { store: Some(database.address.clone()), tokens, ..config() });
    let [(root, root_line), (eve, _)] = made;
    let ask = |token: &str, method: &str, path: &str, body: &Value| {
        server.client().with_token(token).json(method, path, body)
    };
    let concept = json!({ "phrase": "zorblax road", "slot": "album", "owner": "root" });
    assert_eq!(ask(&root, "POST", "/v1/concepts", &concept).status, 201);
    let is_learning = || server.get("/readyz").ok::<Ready>(200).learning;
    let is_up = || ask(&root, "GET", "/metrics", &Value::Null).text().contains("meno_store_up 1\n");
    let is_known = || {
        let request = json!({ "text": "play zorblax road now" });
        ask(&root, "POST", "/v1/annotate", &request).ok::<Annotation>(200).memory.len() == 1
    };
    assert!(is_learning() && is_up() && is_known());
    database.signal("STOP");
    let silent_for = std::time::Instant::now();
    std::thread::scope(|scope| {
        // More than there are threads that wait for stores.
        for _ in 0..32 {
            let list = || ask(&root, "GET", "/v1/concepts", &Value::Null).status;
            scope.spawn(move || assert!(matches!(list(), 429 | 503)));
        }
        // The model and the tokens are read meanwhile.
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(ask(&root, "POST", "/v1/model/reload", &Value::Null).status, 200);
        std::fs::write(&path, &root_line).unwrap();
        assert_eq!(ask(&root, "POST", "/v1/tokens/reload", &Value::Null).status, 200);
        assert_eq!(ask(&eve, "GET", "/v1/model", &Value::Null).status, 401);
        assert!(is_known());
        assert!(silent_for.elapsed() < Duration::from_secs(1), "{:?}", silent_for.elapsed());
        within(Duration::from_secs(3) - silent_for.elapsed(), || !is_learning() && !is_up());
        println!("told after {:?}", silent_for.elapsed());
    });
    let start = std::time::Instant::now();
    for _ in 0..20 {
        assert_eq!(ask(&root, "POST", "/v1/concepts", &concept).refusal(), (503, "store_away".to_owned()));
        assert!(is_known());
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    database.signal("CONT");
    let back = within(Duration::from_secs(3), || is_learning() && is_up());
    println!("back after {back:?}");
    assert_eq!(ask(&root, "POST", "/v1/concepts", &concept).status, 201);
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
