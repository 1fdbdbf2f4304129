//! Under load and at the edges: a new model, a full queue, clients that are slow, the end.

mod support;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use meno_server::{Config, TokenSource, new_token};
use serde_json::{Value, json};
use support::schema::{Annotation, ModelInfo};
use support::{Answer, Client, Running, config, model, other_model, within};

/// Some seconds of work for one thread.
fn much() -> Value {
    json!({ "texts": vec!["play the wall in paris ".repeat(150); 256] })
}

/// Some tenths of a second of work for one thread that is not cut into parts.
fn long() -> String {
    "play the wall in paris ".repeat(40_000)
}

#[test]
fn a_new_model_answers_and_no_request_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m");
    std::fs::copy(model(), &path).unwrap();
    let server = Running::start(Config { model: path.clone(), ..config() });
    let scores = std::sync::Mutex::new(BTreeSet::new());
    let (is_done, n_answers) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = server.client();
                while !is_done.load(Ordering::Relaxed) {
                    let answer =
                        client.json("POST", "/v1/annotate", &json!({ "text": "play zorblax road now" }));
                    let annotation: Annotation = answer.ok(200);
                    let score = annotation.tokens[0].reason.as_ref().map(|reason| reason.score.clone());
                    scores.lock().unwrap().insert(score);
                    n_answers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for (generation, source) in (2..).zip([other_model(), model()].into_iter().cycle().take(120)) {
            std::fs::copy(&source, &path).unwrap();
            let info: ModelInfo = server.post("/v1/model/reload", &Value::Null).ok(200);
            assert_eq!(info.generation, generation);
            let is_other = source == other_model();
            assert_eq!(info.architecture, if is_other { "slot-gated" } else { "span-tagger" });
            // Whoever asks after the answer is answered by the new model.
            let answer = server.post("/v1/annotate", &json!({ "text": "play zorblax road now" }));
            assert_eq!(answer.ok::<Annotation>(200).tokens[0].reason.is_none(), is_other);
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(scores.into_inner().unwrap(), BTreeSet::from([None, Some("concept".to_owned())]));
    assert!(n_answers.into_inner() > 20);
}

#[test]
fn a_bad_model_file_leaves_the_old_model() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m");
    std::fs::copy(model(), &path).unwrap();
    let server = Running::start(Config { model: path.clone(), ..config() });
    std::fs::write(&path, "not a model").unwrap();
    let answer = server.post("/v1/model/reload", &Value::Null);
    assert_eq!(answer.refusal(), (422, "bad_model".to_owned()));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(server.post("/v1/model/reload", &Value::Null).refusal(), (422, "bad_model".to_owned()));
    let info: ModelInfo = server.get("/v1/model").ok(200);
    assert_eq!(info.generation, 1);
    assert_eq!(server.post("/v1/annotate", &json!({ "text": "play" })).status, 200);
}

#[test]
fn a_full_queue_refuses_and_the_others_are_answered() {
    let timeout = Duration::from_secs(60);
    let (max_body, max_text) = (2 << 20, 2 << 20);
    let server = Running::start(Config { threads: 1, queue: 1, timeout, max_body, max_text, ..config() });
    let metrics_have = |line: &str| server.get("/metrics").text().lines().any(|found| found == line);
    let send = |text: &str| server.post("/v1/annotate", &json!({ "text": text }));
    let long = long().repeat(2);
    let refuse = |answer: &Answer| {
        assert_eq!(answer.refusal(), (429, "busy".to_owned()));
        assert_eq!(answer.header("retry-after"), Some("1"));
    };
    let n_refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        // One is answered, one waits, for as long as it takes until the first is begun.
        let patient = || {
            let answer = loop {
                let answer = send(&long);
                if answer.status != 429 {
                    break answer;
                }
                refuse(&answer);
                n_refused.fetch_add(1, Ordering::Relaxed);
            };
            assert_eq!(answer.status, 200);
        };
        scope.spawn(patient);
        scope.spawn(patient);
        let is_full = || metrics_have("meno_queue_length 1");
        within(timeout, || (0..10).all(|_| is_full()));
        for _ in 0..4 {
            refuse(&send("play"));
            n_refused.fetch_add(1, Ordering::Relaxed);
        }
        assert!(is_full());
    });
    assert!(metrics_have(&format!("meno_rejected_total {}", n_refused.into_inner())));
}

#[test]
fn a_request_that_waits_too_long_is_given_up() {
    let timeout = Duration::from_millis(100);
    let server = Running::start(Config { threads: 1, timeout, max_text: 1 << 20, ..config() });
    let answer = server.post("/v1/annotate", &json!({ "text": long() }));
    assert_eq!(answer.refusal(), (503, "too_slow".to_owned()));
    assert_eq!(answer.header("retry-after"), Some("1"));
}

#[test]
fn the_end_waits_for_what_is_under_way() {
    let timeout = Duration::from_secs(60);
    let mut server = Running::start(Config { threads: 1, timeout, grace: timeout, ..config() });
    let mut idle = server.client();
    assert_eq!(idle.get("/healthz").status, 200);
    let mut busy = server.client();
    let address = server.address;
    let answer = std::thread::scope(|scope| {
        let answer = scope.spawn(|| busy.json("POST", "/v1/annotate", &much()));
        within(timeout, || server.get("/metrics").text().contains("meno_connections 3"));
        std::thread::sleep(Duration::from_millis(100));
        server.stop();
        within(timeout, || std::net::TcpStream::connect(address).is_err());
        answer.join().unwrap()
    });
    assert_eq!(answer.status, 200);
    assert!(idle.answer(false).is_none(), "an idle connection is closed");
    server.join();
}

#[test]
fn the_end_does_not_wait_for_ever() {
    let mut server = Running::start(Config { grace: Duration::from_millis(200), ..config() });
    let mut slow = server.client();
    slow.stream.write_all(b"POST /v1/annotate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    server.stop();
    server.join();
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// One long text takes longer than requests under way have: the end does not wait for it, and the store is whole all the same.
#[test]
fn the_end_does_not_wait_for_one_long_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("concepts.db");
    let store = Some(path.to_str().unwrap().to_owned());
    let (grace, max) = (Duration::from_millis(100), 8 << 20);
    let mut server =
        Running::start(Config { threads: 1, grace, max_body: max, max_text: max, store, ..config() });
    let concept = json!({ "phrase": "red moon", "slot": "album" });
    assert_eq!(server.post("/v1/concepts", &concept).status, 201);
    let mut client = server.client();
    let text = json!({ "text": long(), "syntax": true }).to_string();
    let head =
        "POST /v1/annotate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ";
    client.stream.write_all(format!("{head}{}\r\n\r\n{text}", text.len()).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let start = Instant::now();
    server.stop();
    server.join();
    let took = start.elapsed();
    println!("ended after {took:?}");
    assert!(took < grace + Duration::from_millis(1500), "{took:?}");
    let copy = dir.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    let mut copy = meno_store::open(copy.to_str().unwrap(), meno_store::Access::Existing).unwrap();
    assert_eq!(copy.count().unwrap(), 1);
}

/// A client that sends a byte now and then, or nothing, is sent away.
#[test]
fn slow_clients_do_not_hold_connections() {
    let timeout = Duration::from_millis(300);
    let server = Running::start(Config { connections: 2, timeout, ..config() });
    let mut silent = server.client();
    let mut slow = server.client();
    let start = Instant::now();
    for byte in b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: aaaaaaaaaaaaaaaaaaaaaaa" {
        if slow.stream.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(silent.answer(false).is_none());
    // Perhaps it is told that it was too slow.
    assert!(slow.answer(false).is_none_or(|answer| answer.status == 408));
    assert!(start.elapsed() < Duration::from_secs(10));
    // There are places again.
    assert_eq!(server.get("/healthz").status, 200);

    let mut body = server.client();
    body.stream.write_all(b"POST /v1/annotate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{").unwrap();
    assert_eq!(body.answer(false).unwrap().refusal(), (408, "slow_body".to_owned()));
}

/// A client that does not take its answer is sent away too.
#[test]
fn a_client_that_does_not_read_is_sent_away() {
    let server = Running::start(Config { connections: 1, timeout: Duration::from_secs(1), ..config() });
    let mut deaf = server.client();
    let request = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    // More answers than the system keeps for it.
    for _ in 0..2000 {
        deaf.stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        if deaf.stream.write_all(request).is_err() {
            break;
        }
    }
    // The only place is free again.
    assert_eq!(server.get("/healthz").status, 200);
}

/// Whoever says nothing gives way, whoever is being answered does not.
#[test]
fn silent_connections_give_way() {
    let server = Running::start(Config { connections: 20, address_connections: 20, ..config() });
    let silent: Vec<Client> = (0..200).map(|_| server.client()).collect();
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(server.get("/healthz").status, 200);
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    drop(silent);

    let server = Running::start(Config {
        connections: 1,
        address_connections: 1,
        timeout: Duration::from_secs(60),
        ..config()
    });
    let mut busy = server.client();
    let answer = std::thread::scope(|scope| {
        let answer = scope.spawn(|| busy.json("POST", "/v1/annotate", &much()));
        std::thread::sleep(Duration::from_millis(100));
        let mut other = server.client();
        let _ = other.stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
        // It waits for a while, and takes no place of one that is being answered.
        drop(other.answer(false));
        answer.join().unwrap()
    });
    assert_eq!(answer.status, 200);
}

/// While one caller floods the server with batches, the single requests of another are answered soon.
#[test]
fn a_flood_of_one_caller_does_not_hold_up_another() {
    let made = ["eve", "anna"].map(|name| new_token(name, "read").unwrap());
    let lines: Vec<String> = made.iter().map(|(_, line)| line.clone()).collect();
    let [eve, anna] = made.map(|(token, _)| token);
    let tokens = Some(TokenSource::Lines(lines.join("\n")));
    let server = Running::start(Config { threads: 2, tokens, timeout: Duration::from_secs(60), ..config() });
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    server.client().with_token(&eve).json("POST", "/v1/annotate", &much());
                }
            });
        }
        std::thread::sleep(Duration::from_millis(300));
        let mut client = server.client().with_token(&anna);
        let mut ask = || {
            let start = Instant::now();
            let answer = client.json("POST", "/v1/annotate", &json!({ "text": "play the wall" }));
            assert_eq!(answer.status, 200);
            start.elapsed()
        };
        let times = (0..100).map(|_| ask()).collect();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        times
    });
    times.sort();
    println!("p50 {:?}, p99 {:?}", times[50], times[98]);
    assert!(times[98] < Duration::from_millis(200), "{:?}", times[98]);
}

/// Floods a server with what eve asks for on some connections; how long anna's requests take meanwhile.
fn during_a_flood(
    n_connections: usize,
    flood: impl Fn(&mut Client) -> Answer + Sync,
    mut ask: impl FnMut(&mut Client, usize) -> Answer,
) -> Vec<Duration> {
    let made = ["eve", "anna"].map(|name| new_token(name, "read,teach").unwrap());
    let lines: Vec<String> = made.iter().map(|(_, line)| line.clone()).collect();
    let [eve, anna] = made.map(|(token, _)| token);
    let dir = tempfile::tempdir().unwrap();
    let store = Some(dir.path().join("concepts.db").to_str().unwrap().to_owned());
    let tokens = Some(TokenSource::Lines(lines.join("\n")));
    let server =
        Running::start(Config { threads: 2, tokens, store, timeout: Duration::from_secs(60), ..config() });
    let kind = [("content-type", "application/x-ndjson")];
    let mut client = server.client().with_token(&eve);
    assert_eq!(client.send("POST", "/v1/concepts/import", &kind, Some(lessons(2000).as_bytes())).status, 200);
    let is_over = AtomicBool::new(false);
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        for _ in 0..n_connections {
            scope.spawn(|| {
                let mut client = server.client().with_token(&eve);
                while !is_over.load(Ordering::Relaxed) {
                    if flood(&mut client).status == 429 {
                        // As it is told to, but sooner.
                        std::thread::sleep(Duration::from_millis(20));
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        let mut client = server.client().with_token(&anna);
        let mut timed = |n| {
            let begun = Instant::now();
            let answer = ask(&mut client, n);
            assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
            begun.elapsed()
        };
        let times = (0..30).map(&mut timed).collect();
        is_over.store(true, Ordering::Relaxed);
        times
    });
    times.sort();
    println!("p50 {:?}, longest {:?}", times[15], times[29]);
    times
}

/// Lines to import.
fn lessons(n: usize) -> String {
    (0..n).map(|n| json!({ "phrase": format!("moon {n}"), "slot": "album" }).to_string() + "\n").collect()
}

fn teach(client: &mut Client, n: usize) -> Answer {
    client.json("POST", "/v1/concepts", &json!({ "phrase": format!("sun {n}"), "slot": "album" }))
}

/// Whoever lists concepts on many connections holds up nobody who teaches or asks.
#[test]
fn a_flood_of_lists_does_not_hold_up_another() {
    let list = |client: &mut Client| client.get("/v1/concepts?limit=1000");
    let times = during_a_flood(100, list, |client, n| match n % 2 {
        0 => teach(client, n),
        _ => client.get("/v1/concepts?limit=10"),
    });
    assert!(times[15] < Duration::from_millis(100) && times[29] < Duration::from_millis(500), "{times:?}");
}

/// Whoever imports as much as may be on some connections holds up nobody who teaches for long.
#[test]
fn a_flood_of_imports_does_not_hold_up_another() {
    let lines = lessons(2000);
    let kind = [("content-type", "application/x-ndjson")];
    let import =
        |client: &mut Client| client.send("POST", "/v1/concepts/import", &kind, Some(lines.as_bytes()));
    let times = during_a_flood(8, import, teach);
    assert!(times[15] < Duration::from_millis(400) && times[29] < Duration::from_secs(1), "{times:?}");
}

/// What is wrong with an import is found where nobody waits for it.
#[test]
fn a_flood_of_bad_imports_does_not_hold_up_another() {
    let lines = lessons(25_000) + "{\"phrase\":";
    let kind = [("content-type", "application/x-ndjson")];
    let import =
        |client: &mut Client| client.send("POST", "/v1/concepts/import", &kind, Some(lines.as_bytes()));
    let times = during_a_flood(10, import, |client, n| match n % 2 {
        0 => client.get("/healthz"),
        _ => client.json("POST", "/v1/annotate", &json!({ "text": "play the wall" })),
    });
    assert!(times[15] < Duration::from_millis(50) && times[29] < Duration::from_millis(500), "{times:?}");
}

#[test]
fn bytes_that_are_no_request_do_no_harm() {
    let server = Running::start(config());
    let mut random = meno::random::Random::new(7);
    for n in 0..300 {
        let mut client = Client::new(server.address);
        let mut bytes: Vec<u8> = (0..n).map(|_| (random.next_u64() & 0xff) as u8).collect();
        if n % 3 == 0 {
            bytes.splice(0..0, *b"POST /v1/annotate HTTP/1.1\r\nhost: localhost\r\n");
        }
        let _ = client.stream.write_all(&bytes);
        let _ = client.stream.shutdown(std::net::Shutdown::Write);
        if let Some(answer) = client.answer(false) {
            assert!((400..500).contains(&answer.status), "{}", answer.status);
        }
    }
    assert_eq!(server.get("/healthz").status, 200);
}
