//! What is taken out of a store, however much there is.

mod support;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use meno::corpus::to_jsonl;
use meno::memory::to_corpus;
use meno_server::{Config, TokenSource, new_token};
use serde_json::json;
use socket2::{Domain, Socket, Type};
use support::{Client, Running, config, within};

/// A concept of an utterance that has two, so far apart that they are read at different times.
fn line(idx: usize) -> String {
    let (utterance, place) = (idx % 1500, idx / 1500);
    let phrase = [format!("moon {utterance}"), format!("city{utterance}")][place].clone();
    let words = format!("play moon {utterance} in city{utterance}");
    let source = match utterance % 7 {
        0 => json!({ "words": words.split(' ').collect::<Vec<_>>() }),
        _ => json!({ "words": words.split(' ').collect::<Vec<_>>(), "intent": "play" }),
    };
    let slot = ["album", "city"][place];
    json!({ "phrase": phrase, "slot": slot, "source": source }).to_string()
}

/// It is made a page at a time, and is what is made of all concepts at once.
#[test]
fn a_long_corpus_is_streamed_and_whole() {
    let server = Running::start(config());
    let mut lines: Vec<String> = (0..3000).map(line).collect();
    lines.push(json!({ "phrase": "without", "slot": "album" }).to_string());
    let headers = [("content-type", "application/x-ndjson")];
    let imported =
        server.client().send("POST", "/v1/concepts/import", &headers, Some(lines.join("\n").as_bytes()));
    assert_eq!(imported.status, 200, "{}", imported.text());
    let concepts = server.get("/v1/concepts/export");
    let concepts = meno_store::read_concepts("export".as_ref(), concepts.text(), 0).unwrap();
    assert_eq!(concepts.len(), 3001);
    let expected = to_corpus(&concepts).corpus;
    assert_eq!(expected.utterances.len(), 1500 - 1500usize.div_ceil(7));
    assert_eq!(expected.utterances[0].labels, ["O", "B-album", "I-album", "O", "B-city"]);
    assert!(server.get("/v1/concepts/export?as=corpus").text() == to_jsonl(&expected).unwrap());
}

/// Two who may read 10 MB of what everyone was taught.
fn with_much(config: Config) -> (Running, [String; 2]) {
    let made = [("eve", "read"), ("anna", "read"), ("root", "admin")]
        .map(|(name, rights)| new_token(name, rights).unwrap());
    let lines: Vec<String> = made.iter().map(|(_, line)| line.clone()).collect();
    let [eve, anna, root] = made.map(|(token, _)| token);
    let tokens = Some(TokenSource::Lines(lines.join("\n")));
    let server = Running::start(Config { tokens, max_body: 16 << 20, ..config });
    let long = "x".repeat(2000);
    let concept = |n: u32| json!({ "phrase": format!("moon {n} {long}"), "slot": "album" }).to_string();
    let lines: Vec<String> = (0..2500).map(concept).collect();
    let kind = [("content-type", "application/x-ndjson")];
    let mut client = server.client().with_token(&root);
    let path = "/v1/concepts/import?owner=everyone";
    assert_eq!(client.send("POST", path, &kind, Some(lines.join("\n").as_bytes())).status, 200);
    (server, [eve, anna])
}

/// A connection from an address, with little room for what it does not read, and what it asks for.
fn asking(server: &Running, from: [u8; 4], token: &str, path: &str) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
    socket.connect(&server.address.into()).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n")
        .unwrap();
    stream
}

/// The status that a connection is told; the rest of the answer is not read.
fn status(mut stream: &TcpStream) -> u16 {
    let mut head = [0; 12];
    std::io::Read::read_exact(&mut stream, &mut head).unwrap();
    str::from_utf8(&head[9..]).unwrap().parse().unwrap()
}

/// Whoever does not take its exports gets no more of them, and others get theirs.
#[test]
fn answers_that_are_not_taken_are_few() {
    let (server, [eve, anna]) = with_much(Config { threads: 2, ..config() });
    for path in ["/v1/concepts/export", "/v1/owners/eve", "/v1/concepts/export?as=corpus"] {
        let _ = asking(&server, [127, 0, 0, 1], &eve, path);
    }
    let ask = || asking(&server, [127, 0, 0, 1], &eve, "/v1/concepts/export");
    let mut held: Vec<TcpStream> = (0..60).map(|_| ask()).collect();
    let told: Vec<u16> = held.iter().map(status).collect();
    let n_answered = told.iter().filter(|status| **status == 200).count();
    assert!((5..30).contains(&n_answered), "{n_answered}");
    assert!(told.iter().all(|status| matches!(status, 200 | 429)), "{told:?}");
    let get = |token: &str, path: &str| server.client().with_token(token).get(path);
    // What went away at the beginning may have left its room only now.
    let mut refused = get(&eve, "/v1/concepts/export");
    within(Duration::from_secs(10), || {
        held.push(ask());
        refused = get(&eve, "/v1/concepts/export");
        refused.status == 429
    });
    assert_eq!(refused.refusal(), (429, "busy".to_owned()));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(get(&anna, "/v1/concepts/export").body.split(|byte| *byte == b'\n').count(), 2501);
    assert_eq!(get(&eve, "/v1/concepts?limit=1").status, 200);
    drop(held);
    within(Duration::from_secs(10), || get(&eve, "/v1/concepts/export").status == 200);
}

/// One token from two addresses does not keep others out.
#[test]
fn answers_that_are_not_taken_leave_places_to_others() {
    let places = Config { connections: 64, address_connections: 32, threads: 2, ..config() };
    let (server, [eve, _]) = with_much(places);
    let held: Vec<TcpStream> =
        (0..64).map(|n| asking(&server, [127, 0, 0, 2 + n / 32], &eve, "/v1/concepts/export")).collect();
    std::thread::sleep(Duration::from_millis(500));
    for _ in 0..5 {
        let begun = Instant::now();
        let other = asking(&server, [127, 0, 0, 9], "nobody", "/healthz");
        assert_eq!(status(&other), 200);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }
    drop(held);
}

/// A whole answer that is not taken is counted too.
#[test]
fn large_answers_that_are_not_taken_are_counted() {
    let timeout = Duration::from_secs(60);
    let room = Config { max_bodies: 1 << 20, max_text: 1 << 20, timeout, threads: 2, ..config() };
    let (server, [eve, anna]) = with_much(room);
    let ask = |client: &mut Client, text: &str| {
        client.json("POST", "/v1/annotate", &json!({ "text": text })).status
    };
    let long = json!({ "text": "play the wall ".repeat(8000) }).to_string();
    let mut deaf = asking(&server, [127, 0, 0, 1], &eve, "/healthz");
    let head = "POST /v1/annotate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    write!(deaf, "{head}\r\nauthorization: Bearer {eve}\r\ncontent-length: {}\r\n\r\n{long}", long.len())
        .unwrap();
    within(timeout, || ask(&mut server.client().with_token(&eve), "play") == 429);
    assert_eq!(ask(&mut server.client().with_token(&anna), "play"), 200);
    drop(deaf);
    within(Duration::from_secs(10), || ask(&mut server.client().with_token(&eve), "play") == 200);
}
