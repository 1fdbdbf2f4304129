//! What is kept of requests: their names, and who changed what.

mod support;

use std::path::Path;
use std::time::Duration;

use meno_server::{Config, TokenSource, new_token};
use serde_json::{Value, json};
use support::schema::{Concept, Failure, Turn};
use support::{Answer, Client, Running, config, within};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Who did what of whose, to which concepts, and what came of it.
fn told(line: &Value) -> String {
    let text = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
    let (concepts, status) = (&line["concepts"], &line["status"]);
    format!("{} {} of {} {concepts} {status}", text("by"), text("action"), text("owner"))
}

#[test]
fn changes_and_refusals_are_recorded_without_what_was_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit");
    let users = [("anna", "read,teach"), ("ben", "read"), ("root", "admin")];
    let made = users.map(|(name, rights)| new_token(name, rights).unwrap());
    let source = made.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n");
    let [(anna, anna_line), (ben, _), (root, _)] = &made;
    let tokens = Some(TokenSource::Lines(source.clone()));
    let server = Running::start(Config { tokens, audit: Some(path.clone()), ..config() });
    let ask = |token: &str, method: &str, path: &str, body: Value| {
        server.client().with_token(token).json(method, path, &body)
    };
    let concept = json!({ "phrase": "secret moon", "slot": "album" });
    let id = ask(anna, "POST", "/v1/concepts", concept.clone()).ok::<Concept>(201).id;
    let own = format!("/v1/concepts/{id}");
    assert_eq!(ask(anna, "PATCH", &own, json!({ "value": "secret sun" })).status, 200);
    assert_eq!(ask(root, "DELETE", &format!("{own}?owner=anna"), Value::Null).status, 204);
    assert_eq!(ask(root, "POST", "/v1/concepts/undo?owner=anna", Value::Null).status, 200);
    let lesson = b"{\"phrase\": \"secret star\", \"slot\": \"album\"}\n";
    let kind = [("content-type", "application/x-ndjson")];
    let imported = server.client().with_token(anna).send("POST", "/v1/concepts/import", &kind, Some(lesson));
    assert_eq!(imported.status, 200);
    let say = |text: &str| ask(anna, "POST", "/v1/dialogue", json!({ "session": "s", "text": text }));
    say("play zorblax road now");
    let taught = say("an album").ok::<Turn>(200).concepts;
    assert_eq!(ask(root, "POST", "/v1/tokens/reload", Value::Null).status, 200);
    assert_eq!(ask(anna, "GET", "/v1/concepts?query=secret", Value::Null).status, 200);
    assert_eq!(ask(root, "DELETE", "/v1/owners/anna", Value::Null).status, 200);
    // What is refused is written down without having anybody wait for it.
    let n_lines = |n: usize| within(Duration::from_secs(10), || lines(&path).len() == n);
    n_lines(8);
    assert_eq!(ask(ben, "POST", "/v1/concepts", concept).status, 403);
    n_lines(9);
    assert_eq!(server.get("/v1/model").status, 401);
    n_lines(10);
    let found = lines(&path);
    let import = found[4]["concepts"][0].as_u64().unwrap();
    assert_eq!(
        found.iter().map(told).collect::<Vec<_>>(),
        [
            format!("anna teach of anna [{id}] 201"),
            format!("anna edit of anna [{id}] 200"),
            format!("root forget of anna [{id}] 204"),
            format!("root undo of anna [{id}] 200"),
            format!("anna import of anna [{import}] 200"),
            format!("anna teach of anna {} 200", json!(taught)),
            "root reload of - [] 200".to_owned(),
            "root erase of anna [] 200".to_owned(),
            "ben refused of - [] 403".to_owned(),
            "- refused of - [] 401".to_owned(),
        ]
    );
    assert_eq!(found[0]["token"], anna_line.split(' ').nth(2).unwrap()[..8]);
    assert_eq!(
        (&found[8]["code"], &found[8]["method"], &found[8]["route"]),
        (&json!("forbidden"), &json!("POST"), &json!("/v1/concepts"))
    );
    assert!(found[0]["time"].as_str().is_some_and(|time| time.ends_with('Z')));
    let text = std::fs::read_to_string(&path).unwrap();
    for secret in ["secret", "zorblax", anna, root] {
        assert!(!text.contains(secret), "{text}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// Of what is read there is a line where an admin looks at what others taught.
#[test]
fn looks_of_an_admin_at_others_are_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit");
    let made =
        [("anna", "read,teach"), ("root", "admin")].map(|(name, rights)| new_token(name, rights).unwrap());
    let source = made.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n");
    let [(anna, _), (root, _)] = &made;
    let tokens = Some(TokenSource::Lines(source));
    let server = Running::start(Config { tokens, audit: Some(path.clone()), ..config() });
    let look = |token: &str, path: &str| server.client().with_token(token).json("GET", path, &Value::Null);
    for own in ["/v1/concepts?owner=root", "/v1/concepts/export", "/v1/owners/root", "/v1/concepts/7"] {
        look(root, own);
    }
    look(anna, "/v1/owners/anna");
    let others = [
        ("/v1/concepts?owner=anna", "root read of anna [] 200"),
        ("/v1/concepts/7?owner=anna", "root read of anna [7] 200"),
        ("/v1/concepts/export?owner=*", "root read of * [] 200"),
        ("/v1/concepts/export?as=corpus&owner=ben", "root read of ben [] 200"),
        ("/v1/owners/ben", "root read of ben [] 200"),
        ("/v1/tokens", "root read of * [] 200"),
    ];
    for (path, _) in others {
        look(root, path);
    }
    within(Duration::from_secs(10), || lines(&path).len() >= others.len());
    let found: Vec<String> = lines(&path).iter().map(told).collect();
    assert_eq!(found, others.map(|(_, line)| line));
}

/// What could not be read again is told, too.
#[test]
fn a_reload_that_fails_has_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let [path, model] = ["audit", "m"].map(|name| dir.path().join(name));
    std::fs::copy(support::model(), &model).unwrap();
    let server = Running::start(Config { audit: Some(path.clone()), model: model.clone(), ..config() });
    std::fs::write(&model, "not a model").unwrap();
    assert_eq!(server.post("/v1/model/reload", &Value::Null).status, 422);
    let line = lines(&path).pop().unwrap();
    assert_eq!((told(&line), &line["code"]), ("everyone reload of - [] 422".to_owned(), &json!("bad_model")));
}

/// Whoever is refused all the time does not fill the disk, and takes no line of others.
#[test]
fn refusals_do_not_fill_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit");
    let (ben, line) = new_token("ben", "read").unwrap();
    let tokens = Some(TokenSource::Lines(line));
    let server = Running::start(Config { tokens, audit: Some(path.clone()), ..config() });
    let n = 1500;
    let mut stranger = server.client();
    (0..n).for_each(|_| assert_eq!(stranger.get("/v1/model").status, 401));
    let concept = json!({ "phrase": "red moon", "slot": "album" });
    let teach = server.client().with_token(&ben).json("POST", "/v1/concepts", &concept);
    assert_eq!(teach.status, 403);
    within(Duration::from_secs(10), || lines(&path).iter().any(|line| line["by"] == "ben"));
    let found = lines(&path);
    assert!((200..n).contains(&found.len()), "{}", found.len());
    let omitted: u64 = found.iter().filter_map(|line| line["omitted"].as_u64()).sum();
    assert_eq!(found.len() as u64 + omitted, n as u64 + 1);
}

#[test]
fn a_full_disk_does_not_stop_the_server() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let server = Running::start(Config { audit: Some("/dev/full".into()), ..config() });
    for phrase in ["red moon", "blue moon"] {
        let concept = json!({ "phrase": phrase, "slot": "album" });
        assert_eq!(server.post("/v1/concepts", &concept).status, 201);
    }
    let metrics = server.get("/metrics");
    assert!(metrics.text().contains("\nmeno_audit_failures_total 2\n"), "{}", metrics.text());
}

#[test]
fn every_answer_has_the_name_of_its_request() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit");
    let server = Running::start(Config { audit: Some(path.clone()), ..config() });
    let get = |path: &str, headers: &[(&str, &str)]| server.client().send("GET", path, headers, None);
    let id = |answer: &Answer| answer.header("x-request-id").unwrap().to_owned();
    for path in ["/healthz", "/v1/model", "/nowhere", "/v1/concepts/7"] {
        assert_eq!(id(&get(path, &[("x-request-id", "my.id-1")])), "my.id-1", "{path}");
    }
    let refused: Failure = get("/nowhere", &[("x-request-id", "my.id-2")]).read();
    assert_eq!(refused.error.request_id, "my.id-2");
    let long = "x".repeat(65);
    let new = ["a b", "", long.as_str()].map(|bad| id(&get("/healthz", &[("x-request-id", bad)])));
    for (idx, id) in new.iter().enumerate() {
        assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        assert!(!new[..idx].contains(id));
    }
    let teach = |client: &mut Client, parent: &str| {
        let headers =
            [("content-type", "application/json"), ("x-request-id", "t-1"), ("traceparent", parent)];
        let body = json!({ "phrase": "red moon", "slot": "album" }).to_string();
        assert_eq!(client.send("POST", "/v1/concepts", &headers, Some(body.as_bytes())).status, 201);
    };
    teach(&mut server.client(), &format!("00-{TRACE}-00f067aa0ba902b7-01"));
    teach(&mut server.client(), "00-nonsense");
    let traces: Vec<Value> = lines(&path).iter().map(|line| line["trace_id"].clone()).collect();
    assert_eq!(traces, [json!(TRACE), Value::Null]);
    assert_eq!(lines(&path)[0]["request_id"], "t-1");
}
