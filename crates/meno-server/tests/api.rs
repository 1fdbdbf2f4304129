//! Every address: what it answers, what it refuses, and the shape of both.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use meno::Model;
use meno::engine::Tokenization;
use meno::memory::Remembered;
use meno_server::Config;
use serde_json::{Value, json};
use support::schema::{
    Annotated, Annotation, Concept, Decision, Imported, ModelInfo, Outcome, Page, RasaParse, Ready, Turn,
    Undone,
};
use support::{Running, config, model, other_model, trusting_model};

#[test]
fn annotate_says_what_the_engine_says() {
    let server = Running::start(config());
    let model = Model::load(&model()).unwrap();
    let mut worker = model.worker();
    for text in
        ["weather in new york", "play zorblax road now", "", "Pläy “Abbey Road” 🎵, please!", "\0\n\t"]
    {
        let answer = server.post("/v1/annotate", &json!({ "text": text }));
        let annotation: Annotation = answer.ok(200);
        let expected =
            Remembered { annotation: worker.annotate(text, Tokenization::Raw), memory: Vec::new() };
        assert_eq!(answer.text(), serde_json::to_string(&expected).unwrap());
        assert_eq!(annotation.text, text);
    }
    let asked: Annotation = server.post("/v1/annotate", &json!({ "text": "play zorblax road now" })).ok(200);
    assert_eq!((asked.decision, asked.about.and_then(|about| about.span)), (Decision::Ask, Some(0)));
}

/// What the engine says with this threshold.
fn judged(file: &std::path::Path, text: &str, threshold: f64) -> String {
    let model = Model::load(file).unwrap().with_threshold(threshold).unwrap();
    let annotation = model.worker().annotate(text, Tokenization::Raw);
    serde_json::to_string(&Remembered { annotation, memory: Vec::new() }).unwrap()
}

#[test]
fn annotate_takes_another_threshold() {
    // One that finds spans, and one that labels words.
    for (file, text) in
        [(model(), "play abbey road now"), (other_model(), "what flights leave from boston to denver")]
    {
        let server = Running::start(Config { model: file.clone(), ..config() });
        let ask =
            |threshold: f64| server.post("/v1/annotate", &json!({ "text": text, "threshold": threshold }));
        for (threshold, decision) in [(-1e6, Decision::Ask), (1e6, Decision::Act)] {
            let answer = ask(threshold);
            let annotation: Annotation = answer.ok(200);
            assert_eq!(annotation.decision, decision, "{threshold}: {}", answer.text());
            let n_unknown = annotation.spans.iter().filter(|span| span.slot == "unknown").count();
            assert_eq!(n_unknown > 0, decision == Decision::Ask, "{}", answer.text());
            assert_eq!(answer.text(), judged(&file, text, threshold));
        }
        // It is for that request alone. The model's own, if it has one, is as none.
        let plain = server.post("/v1/annotate", &json!({ "text": text }));
        let info: ModelInfo = server.get("/v1/model").ok(200);
        if let Some(own) = info.threshold.and_then(|threshold| threshold["value"].as_f64()) {
            assert_eq!(ask(own).text(), plain.text());
        }
        let several = server.post("/v1/annotate", &json!({ "texts": [text, text], "threshold": -1e6 }));
        let one = ask(-1e6);
        assert_eq!(several.text(), format!("{{\"annotations\":[{0},{0}]}}", one.text()));
    }
}

#[test]
fn what_was_taught_is_known_with_any_threshold() {
    let server = Running::start(config());
    let concept: Concept =
        server.post("/v1/concepts", &json!({ "phrase": "zorblax road", "slot": "album" })).ok(201);
    let request = json!({ "text": "play zorblax road now", "threshold": -1e6 });
    let known: Annotation = server.post("/v1/annotate", &request).ok(200);
    assert_eq!(known.memory[0].concept, concept.id);
    assert_eq!((known.spans[0].slot.as_str(), known.decision), ("album", Decision::Act));
}

#[test]
fn annotate_takes_many_texts_trees_and_words() {
    let server = Running::start(config());
    let many: Annotated =
        server.post("/v1/annotate", &json!({ "texts": ["weather in rome", "", "play"] })).ok(200);
    let Annotated::Many(many) = many else { panic!("{many:?}") };
    let texts: Vec<&str> = many.annotations.iter().map(|annotation| annotation.text.as_str()).collect();
    assert_eq!(texts, ["weather in rome", "", "play"]);
    assert_eq!(server.post("/v1/annotate", &json!({ "texts": [] })).value(), json!({ "annotations": [] }));

    let request = json!({ "text": "play the wall in rome", "syntax": true });
    let annotation: Annotation = server.post("/v1/annotate", &request).ok(200);
    let parse = annotation.parse.unwrap();
    assert_eq!(parse.len(), annotation.tokens.len());
    assert_eq!(parse.iter().filter(|node| node.head.is_none()).count(), 1);
    assert_eq!((parse[2].upos.as_str(), parse[2].relation.as_str(), parse[2].head), ("NOUN", "obj", Some(0)));
    let empty: Annotation = server.post("/v1/annotate", &json!({ "text": "", "syntax": true })).ok(200);
    assert_eq!(empty.parse, Some(Vec::new()));

    let words = |reading: &str| {
        let request = json!({ "text": "play now, please", "reading": reading });
        let annotation: Annotation = server.post("/v1/annotate", &request).ok(200);
        annotation.tokens.into_iter().map(|token| token.text).collect::<Vec<_>>()
    };
    assert_eq!(words("words"), ["play", "now,", "please"]);
    assert!(!words("text").contains(&"now,".to_owned()));
}

#[test]
fn refusals() {
    let server = Running::start(Config { max_body: 1000, max_text: 20, max_batch: 2, ..config() });
    let text = |n: usize| json!({ "text": "é".repeat(n) }).to_string();
    let cases = [
        ("POST", "/v1/annotate", "{", 400, "bad_json"),
        ("POST", "/v1/annotate", "", 400, "bad_json"),
        ("POST", "/v1/annotate", "{\"text\": \"\u{1}\"}", 400, "bad_json"),
        ("POST", "/v1/annotate", "[]", 422, "wrong_shape"),
        ("POST", "/v1/annotate", "{}", 422, "wrong_shape"),
        ("POST", "/v1/annotate", r#"{"text": 1}"#, 422, "wrong_shape"),
        ("POST", "/v1/annotate", r#"{"text": "a", "texts": []}"#, 422, "wrong_shape"),
        ("POST", "/v1/annotate", r#"{"text": "a", "reading": "tea leaves"}"#, 422, "wrong_shape"),
        ("POST", "/v1/annotate", r#"{"text": "a", "colour": "red"}"#, 422, "wrong_shape"),
        ("POST", "/v1/annotate", r#"{"text": "a", "threshold": "high"}"#, 422, "wrong_shape"),
        ("POST", "/v1/annotate", r#"{"text": "a", "threshold": [1]}"#, 422, "wrong_shape"),
        ("POST", "/v1/annotate", r#"{"text": "a", "threshold": 1e999}"#, 400, "bad_json"),
        ("POST", "/v1/annotate", r#"{"text": "a", "threshold": NaN}"#, 400, "bad_json"),
        ("POST", "/v1/annotate", &text(21), 422, "too_long"),
        ("POST", "/v1/annotate", r#"{"texts": ["a", "b", "c"]}"#, 422, "too_many"),
        ("POST", "/v1/annotate", &text(600), 413, "too_large"),
        ("POST", "/v1/dialogue", r#"{"text": "a"}"#, 422, "wrong_shape"),
        ("POST", "/v1/dialogue", r#"{"text": "a", "session": ""}"#, 422, "wrong_shape"),
        ("POST", "/v1/dialogue", r#"{"text": "a", "session": "a b"}"#, 422, "wrong_shape"),
        (
            "POST",
            "/v1/dialogue",
            &format!(r#"{{"text": "a", "session": "{}"}}"#, "x".repeat(65)),
            422,
            "wrong_shape",
        ),
        ("POST", "/v1/dialogue", r#"{"text": "ababababababababababab", "session": "s"}"#, 422, "too_long"),
        ("DELETE", "/v1/dialogue/a%20b", "", 422, "wrong_shape"),
        ("POST", "/v1/concepts", r#"{"phrase": "a"}"#, 422, "wrong_shape"),
        ("POST", "/v1/concepts", r#"{"phrase": "", "slot": "album"}"#, 422, "bad_concept"),
        ("POST", "/v1/concepts", r#"{"phrase": "a\u0000b", "slot": "album"}"#, 422, "bad_concept"),
        ("POST", "/v1/concepts", r#"{"phrase": "a", "slot": "two words"}"#, 422, "bad_concept"),
        ("POST", "/v1/concepts", r#"{"phrase": "a", "slot": "unknown"}"#, 422, "bad_concept"),
        ("GET", "/v1/concepts?limit=0", "", 422, "wrong_shape"),
        ("GET", "/v1/concepts?limit=1001", "", 422, "wrong_shape"),
        ("GET", "/v1/concepts?limit=many", "", 422, "wrong_shape"),
        ("GET", "/v1/concepts?after=-1", "", 422, "wrong_shape"),
        ("GET", "/v1/concepts?query=%00", "", 422, "wrong_shape"),
        ("GET", "/v1/concepts/7", "", 404, "not_found"),
        ("GET", "/v1/concepts/18446744073709551615", "", 404, "not_found"),
        ("GET", "/v1/concepts/99999999999999999999", "", 404, "not_found"),
        ("GET", "/v1/concepts/seven", "", 404, "not_found"),
        ("GET", "/v1/concepts/%ff", "", 404, "not_found"),
        ("GET", "/v1/owners/%ff", "", 400, "bad_request"),
        ("DELETE", "/v1/dialogue/%ff", "", 400, "bad_request"),
        ("POST", "/v1/concepts", r#"{"phrase": "a", "slot": "b", "owner": ""}"#, 422, "bad_concept"),
        ("DELETE", "/v1/concepts/7", "", 404, "not_found"),
        ("PATCH", "/v1/concepts/7", "{}", 404, "not_found"),
        ("PATCH", "/v1/concepts/7", r#"{"owner": "ben"}"#, 422, "wrong_shape"),
        ("GET", "/v1/concepts/export?as=pdf", "", 422, "wrong_shape"),
        ("POST", "/model/parse", "{}", 422, "wrong_shape"),
        ("GET", "/v1", "", 404, "not_found"),
        ("GET", "/page/../Cargo.toml", "", 404, "not_found"),
        ("GET", "/v1/annotate", "", 405, "method"),
        ("PUT", "/v1/concepts", "", 405, "method"),
        ("DELETE", "/v1/model", "", 405, "method"),
        ("POST", "/", "", 405, "method"),
    ];
    for (method, path, body, status, code) in cases {
        let headers = [("content-type", "application/json")];
        let answer = server.client().send(method, path, &headers, Some(body.as_bytes()));
        assert_eq!(answer.refusal(), (status, code.to_owned()), "{method} {path} {body}");
    }
    let answer = server.client().send("GET", "/v1/annotate", &[], None);
    assert_eq!(answer.header("allow"), Some("POST"));
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"] {
        let headers = [("content-type", content_type)];
        let answer = server.client().send("POST", "/v1/annotate", &headers, Some(br#"{"text": "a"}"#));
        assert_eq!(answer.refusal(), (415, "media_type".to_owned()));
    }
    let headers = [("content-type", "Application/JSON; charset=utf-8")];
    let answer = server.client().send("POST", "/v1/annotate", &headers, Some(br#"{"text": "a"}"#));
    assert_eq!(answer.status, 200);
    // Characters count, not bytes.
    assert_eq!(server.post("/v1/annotate", &json!({ "text": "é".repeat(20) })).status, 200);
}

/// A body whose length is not told is cut off at the same limit.
#[test]
fn chunks_are_limited_too() {
    let server = Running::start(Config { max_body: 1000, ..config() });
    let chunked = [("content-type", "application/json"), ("transfer-encoding", "chunked")];
    let send = |chunks: &str| {
        let mut client = server.client();
        let head = "POST /v1/annotate HTTP/1.1\r\nhost: localhost\r\n";
        let lines: String = chunked.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        std::io::Write::write_all(&mut client.stream, format!("{head}{lines}\r\n{chunks}").as_bytes())
            .unwrap();
        client.answer(false).unwrap()
    };
    assert_eq!(send("d\r\n{\"text\": \"a\"}\r\n0\r\n\r\n").status, 200);
    assert_eq!(send(&format!("7d0\r\n{}\r\n0\r\n\r\n", " ".repeat(2000))).refusal().0, 413);
    assert_eq!(send("zz\r\n").refusal(), (400, "bad_request".to_owned()));
}

#[test]
fn a_dialogue_asks_learns_and_knows() {
    let server = Running::start(config());
    let say = |session: &str, text: &str| {
        let turn: Turn = server.post("/v1/dialogue", &json!({ "session": session, "text": text })).ok(200);
        assert_eq!(turn.session, session);
        turn
    };
    let asked = say("a", "play zorblax road now");
    assert_eq!(asked.reply.outcome, Outcome::Ask);
    assert_eq!(asked.reply.phrase.as_deref(), Some("zorblax road"));
    assert_eq!(asked.annotation.decision, Decision::Ask);
    assert!(asked.concepts.is_empty());
    // Another session knows nothing of the question.
    assert!(say("b", "an album").reply.lessons.is_none());

    let taught = say("a", "an album");
    assert_eq!(taught.reply.outcome, Outcome::Act);
    assert_eq!(taught.reply.intent.as_deref(), Some("play"));
    assert_eq!(taught.reply.lessons.as_ref().map(Vec::len), Some(1));
    let slots = taught.reply.slots.unwrap();
    assert_eq!((slots[0].slot.as_str(), slots[0].text.as_str()), ("album", "zorblax road"));
    let [id] = taught.concepts[..] else { panic!("{:?}", taught.concepts) };
    let concept: Concept = server.get(&format!("/v1/concepts/{id}")).ok(200);
    assert_eq!(
        (concept.phrase.as_str(), concept.slot.as_str(), concept.owner),
        ("zorblax road", "album", None)
    );
    assert_eq!(concept.source.unwrap().intent.as_deref(), Some("play"));

    let known: Annotation = server.post("/v1/annotate", &json!({ "text": "put on Zorblax Road" })).ok(200);
    assert_eq!((known.decision, known.memory[0].concept), (Decision::Act, id));
    assert_eq!(say("c", "play zorblax road now").reply.outcome, Outcome::Act);
    let corpus = server.get("/v1/concepts/export?as=corpus");
    let line: Value = serde_json::from_str(corpus.text()).unwrap();
    assert_eq!(line["tokens"], json!(["play", "zorblax", "road", "now"]));
    assert_eq!(line["ner_tags"], json!(["O", "B-album", "I-album", "O"]));
    assert_eq!(line["intent"], "play");
}

#[test]
fn a_dialogue_that_was_ended_is_forgotten() {
    let server = Running::start(config());
    let turn = json!({ "session": "s", "text": "play zorblax road now" });
    let asked: Turn = server.post("/v1/dialogue", &turn).ok(200);
    assert_eq!(asked.reply.outcome, Outcome::Ask);
    for _ in 0..2 {
        assert_eq!(server.send("DELETE", "/v1/dialogue/s", &Value::Null).status, 204);
    }
    let turn: Turn = server.post("/v1/dialogue", &json!({ "session": "s", "text": "an album" })).ok(200);
    assert!(turn.concepts.is_empty());
}

#[test]
fn concepts_are_made_found_changed_and_taken_back() {
    let server = Running::start(config());
    let teach = |phrase: &str, slot: &str| -> Concept {
        server.post("/v1/concepts", &json!({ "phrase": phrase, "slot": slot })).ok(201)
    };
    let list = |query: &str| -> Vec<u64> {
        let page: Page = server.get(&format!("/v1/concepts{query}")).ok(200);
        page.concepts.iter().map(|concept| concept.id).collect()
    };
    let ids: Vec<u64> =
        [("Red Moon", "album"), ("Oz", "city"), ("blue moon", "song")].map(|(p, s)| teach(p, s).id).to_vec();
    assert_eq!(list(""), ids);
    assert_eq!(list("?slot=city"), [ids[1]]);
    assert_eq!(list("?query=moon"), [ids[0], ids[2]]);
    assert_eq!(list("?query=no+such"), [] as [u64; 0]);

    let page: Page = server.get("/v1/concepts?limit=2").ok(200);
    assert_eq!((page.concepts.len(), page.next), (2, Some(ids[1])));
    let page: Page = server.get(&format!("/v1/concepts?limit=2&after={}", ids[1])).ok(200);
    assert_eq!((page.concepts.len(), page.next), (1, None));

    let path = format!("/v1/concepts/{}", ids[0]);
    let patch = |body: Value| server.send("PATCH", &path, &body);
    let changed: Concept = patch(json!({ "value": "Moon (red)" })).ok(200);
    assert_eq!(changed.value.as_deref(), Some("Moon (red)"));
    let changed: Concept = patch(json!({ "phrase": "crimson moon" })).ok(200);
    assert_eq!((changed.normal.as_str(), changed.value.as_deref()), ("crimson moon", Some("Moon (red)")));
    let changed: Concept = patch(json!({ "value": null })).ok(200);
    assert_eq!(changed.value, None);
    assert_eq!(
        patch(json!({ "phrase": "Blue Moon", "slot": "song" })).refusal(),
        (409, "conflict".to_owned())
    );
    assert_eq!(patch(json!({ "phrase": " " })).refusal(), (422, "bad_concept".to_owned()));

    assert_eq!(server.send("DELETE", &path, &Value::Null).status, 204);
    assert_eq!(server.get(&path).refusal().0, 404);
    let undo = || server.send("POST", "/v1/concepts/undo", &Value::Null).ok::<Undone>(200);
    let undone = undo();
    assert_eq!(undone.changes[0].before, None);
    assert_eq!(undone.changes[0].after.as_ref().map(|concept| concept.id), Some(ids[0]));
    assert_eq!(server.get(&path).ok::<Concept>(200).phrase, "crimson moon");
    // Three changes of it, and three concepts.
    for _ in 0..6 {
        assert_eq!(undo().changes.len(), 1);
    }
    assert!(undo().changes.is_empty());
    assert_eq!(list(""), [] as [u64; 0]);
    assert_eq!(server.get("/v1/concepts/export").text(), "");
    assert_eq!(server.get("/v1/concepts/export?as=corpus").text(), "");
}

/// What is larger than a page comes in pieces, and the client sees that it is whole.
#[test]
fn a_long_export_is_streamed() {
    let server = Running::start(config());
    let lines: Vec<String> =
        (0..3500).map(|i| format!("{{\"phrase\": \"moon {i}\", \"slot\": \"album\"}}")).collect();
    let headers = [("content-type", "application/x-ndjson")];
    let lines = lines.join("\n");
    assert_eq!(
        server.client().send("POST", "/v1/concepts/import", &headers, Some(lines.as_bytes())).status,
        200
    );
    let answer = server.get("/v1/concepts/export");
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    let concepts = meno_store::read_concepts("export".as_ref(), answer.text(), 0).unwrap();
    assert_eq!(concepts.len(), 3500);
    assert_eq!(concepts[3499].phrase, "moon 3499");
    // One that nobody takes any more holds nothing up.
    drop(server.client().stream.write_all(b"GET /v1/concepts/export HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn what_is_exported_can_be_imported() {
    let server = Running::start(config());
    server
        .post("/v1/concepts", &json!({ "phrase": "red moon", "slot": "album", "value": "Moon" }))
        .ok::<Concept>(201);
    let answer = server.get("/v1/concepts/export?as=jsonl");
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let concepts = meno_store::read_concepts("export".as_ref(), answer.text(), 0).unwrap();
    assert_eq!((concepts[0].phrase.as_str(), concepts[0].value.as_deref()), ("red moon", Some("Moon")));
}

#[test]
fn many_concepts_are_learnt_at_once_or_none() {
    let server = Running::start(config());
    let import = |content_type: &str, text: &str| {
        let headers = [("content-type", content_type)];
        server.client().send("POST", "/v1/concepts/import", &headers, Some(text.as_bytes()))
    };
    let lines = "{\"phrase\": \"red moon\", \"slot\": \"album\", \"owner\": \"ben\", \"uses\": 3}\n\n{\"phrase\": \"Zorb\", \"slot\": \"city\"}\n";
    let imported: Imported = import("application/x-ndjson", lines).ok(200);
    assert_eq!((imported.concepts, imported.new), (2, 2));
    let again: Imported = import("application/x-ndjson", lines).ok(200);
    assert_eq!((again.concepts, again.new), (2, 0));
    let list = || server.get("/v1/concepts").ok::<Page>(200).concepts;
    assert_eq!((list().len(), list()[0].uses, list()[0].owner.clone()), (2, 3, None));
    let bad = format!("{lines}{{\"phrase\": \"x\"}}\n");
    assert_eq!(import("application/x-ndjson", &bad).refusal(), (422, "bad_concept".to_owned()));
    assert_eq!(import("application/json", lines).refusal(), (415, "media_type".to_owned()));
    let undo = || server.send("POST", "/v1/concepts/undo", &Value::Null).ok::<Undone>(200);
    undo();
    assert_eq!(undo().changes.len(), 2);
    assert!(list().is_empty());
}

/// A concept that would run in a page that trusts it. The server gives it as data that no browser reads as a page.
#[test]
fn a_concept_is_never_a_script() {
    let server = Running::start(config());
    let phrase = "<script>alert(1)</script>";
    let concept: Concept = server.post("/v1/concepts", &json!({ "phrase": phrase, "slot": "album" })).ok(201);
    assert_eq!(concept.phrase, phrase);
    let text = format!("play {phrase} now");
    let annotation: Annotation = server.post("/v1/annotate", &json!({ "text": text })).ok(200);
    assert_eq!(annotation.memory[0].concept, concept.id);
    for (path, content_type) in [
        ("/v1/concepts".to_owned(), "application/json"),
        ("/v1/concepts?query=%3Cscript%3E".to_owned(), "application/json"),
        (format!("/v1/concepts/{}", concept.id), "application/json"),
        ("/v1/concepts/export".to_owned(), "application/x-ndjson"),
    ] {
        let answer = server.get(&path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(content_type)), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
    let policy = server.get("/").header("content-security-policy").unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[test]
fn every_answer_has_headers_that_protect() {
    let server = Running::start(config());
    for path in ["/", "/page/app.js", "/page/style.css", "/v1/model", "/nowhere", "/healthz", "/metrics"] {
        let answer = server.get(path);
        for name in ["content-security-policy", "x-content-type-options", "referrer-policy", "cache-control"]
        {
            assert!(answer.header(name).is_some(), "{path}: {name}");
        }
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

/// A page of another site may have its name lead here, or send what a browser sends without asking.
#[test]
fn other_sites_are_refused() {
    let server = Running::start(config());
    let post = |headers: &[(&str, &str)]| server.client().send("POST", "/v1/concepts/undo", headers, None);
    for host in [
        "evil.example",
        "evil.example:8080",
        "",
        ":8080",
        "localhost.evil.example",
        "evil.example.localhost",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1, evil.example",
        "127.0.0.1/evil.example",
        "localhost:8080:8080",
        "local\u{e9}host",
        "[::1].evil.example",
        "[evil.example]",
        "2130706433",
        "0x7f.1",
    ] {
        let refused = post(&[("host", host)]);
        assert_eq!(refused.refusal(), (421, "wrong_host".to_owned()), "{host}");
    }
    let own = format!("http://{}", server.address);
    let port = server.address.port();
    for origin in [
        "http://evil.example",
        "https://evil.example",
        "null",
        "",
        "*",
        &server.address.to_string(),
        &format!("http://127.0.0.1:{}", port ^ 1),
        &format!("http://localhost:{port}"),
        &format!("{own}.evil.example"),
        &format!("{own}@evil.example"),
        &format!("{own}/"),
        &format!("{own} http://evil.example"),
    ] {
        let refused = post(&[("origin", origin)]);
        assert_eq!(refused.refusal(), (403, "wrong_origin".to_owned()), "{origin}");
    }
    assert_eq!(post(&[("origin", &own)]).status, 200);
    assert_eq!(post(&[("host", "localhost:8080"), ("origin", "http://localhost:8080")]).status, 200);
}

/// Whoever asks first whether to send the body is told, and nothing else may be expected.
#[test]
fn expectations_are_met_or_refused() {
    let server = Running::start(config());
    let answer = server.client().send("GET", "/v1/model", &[("expect", "a-miracle")], None);
    assert_eq!(answer.refusal(), (417, "expectation".to_owned()));
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let body = r#"{"text": "play"}"#;
    let head = "POST /v1/annotate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue";
    write!(stream, "{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len()).unwrap();
    let mut told = [0; 25];
    stream.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[test]
fn the_model_is_told() {
    let server = Running::start(config());
    let info: ModelInfo = server.get("/v1/model").ok(200);
    assert_eq!((info.architecture.as_str(), info.recipe.as_str()), ("span-tagger", "tagger"));
    assert_eq!(info.slots, ["album", "city"]);
    assert_eq!(info.file, "small.meno");
    assert_eq!(info.size, std::fs::metadata(model()).unwrap().len());
    assert_eq!(info.generation, 1);
    let threshold = info.threshold.unwrap();
    assert!(threshold["value"].is_number() && threshold["median"].is_number(), "{threshold}");
    let mut intents = info.intents;
    intents.sort();
    assert_eq!(intents, ["play", "weather"]);
    assert_eq!(info.trust, None);
    let server = Running::start(Config { model: trusting_model(), ..config() });
    let trust = server.get("/v1/model").ok::<ModelInfo>(200).trust.unwrap();
    assert!((0.0..=1.0).contains(&trust.act_from) && trust.asked.len() == 21, "{trust:?}");
    assert!(trust.asked.is_sorted() && trust.asked[20] <= 1.0, "{trust:?}");
    let described = info.description.intents.unwrap();
    assert!(described.values().all(|intent| !intent.examples.as_ref().unwrap().is_empty()), "{described:?}");
}

#[test]
fn a_stated_confidence_makes_a_dialogue_ask_more_or_less() {
    let server = Running::start(Config { model: trusting_model(), ..config() });
    let say = |session: &str, act_from: f64| {
        let turn = json!({ "session": session, "text": "weather in paris", "act_from": act_from });
        server.post("/v1/dialogue", &turn)
    };
    assert_eq!(say("more", 1.0).ok::<Turn>(200).reply.outcome, Outcome::Ask);
    let less: Turn = say("less", 0.0).ok(200);
    assert_eq!(less.reply.outcome, Outcome::Act);
    // The annotation is that of the same confidence.
    let annotate = |act_from: f64| {
        let request = json!({ "text": "weather in paris", "act_from": act_from });
        server.post("/v1/annotate", &request).ok::<Annotation>(200)
    };
    assert_eq!((annotate(0.0), annotate(1.0).decision), (less.annotation, Decision::Ask));
    assert_eq!(say("more", 1.5).refusal(), (422, "wrong_shape".to_owned()));
    // It holds for that turn alone.
    let turn = json!({ "session": "own", "text": "weather in paris" });
    let own: Turn = server.post("/v1/dialogue", &turn).ok(200);
    assert_eq!(own.annotation, server.post("/v1/annotate", &json!({ "text": "weather in paris" })).ok(200));
    // A model that does not say how likely it is right has a threshold to move.
    let server = Running::start(config());
    let say = |turn: Value| server.post("/v1/dialogue", &turn);
    let turn = json!({ "session": "s", "text": "play abbey road now", "act_from": 0.5 });
    assert_eq!(say(turn).refusal(), (422, "wrong_shape".to_owned()));
    let turn = json!({ "session": "s", "text": "play abbey road now", "threshold": -1e6 });
    assert_eq!(say(turn).ok::<Turn>(200).reply.outcome, Outcome::Ask);
}

/// The shape of `ParseResult`, `Intent` and `Entity` in Rasa's specification, docs/static/spec/rasa.yml of
/// github.com/RasaHQ/rasa at commit 00d092965836bc612d96eef5783f0c098d4b22f1: required are `text`; `confidence` and `name`;
/// `start`, `end`, `value` and `entity`.
#[test]
fn rasa_clients_are_understood() {
    let server = Running::start(config());
    server
        .post("/v1/concepts", &json!({ "phrase": "oz", "slot": "city", "value": "Oz Town" }))
        .ok::<Concept>(201);
    let text = "🎵 play abbey road in oz";
    let body = json!({ "text": text, "message_id": "b2831e73" }).to_string();
    // As `curl -d` sends it.
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let answer =
        server.client().send("POST", "/model/parse?emulation_mode=LUIS", &headers, Some(body.as_bytes()));
    let parsed: RasaParse = answer.ok(200);
    assert_eq!((parsed.text.as_str(), parsed.message_id.as_deref()), (text, Some("b2831e73")));
    assert_eq!(parsed.intent.name.as_deref(), Some("play"));
    assert_eq!(parsed.intent_ranking[0], parsed.intent);
    let sum: f32 = parsed.intent_ranking.iter().map(|intent| intent.confidence).sum();
    assert!((sum - 1.0).abs() < 1e-4 && parsed.intent_ranking.len() == 2, "{:?}", parsed.intent_ranking);
    let characters: Vec<char> = text.chars().collect();
    for entity in &parsed.entities {
        let words: String = characters[entity.start..entity.end].iter().collect();
        assert!(words == entity.value || entity.value == "Oz Town", "{entity:?}");
        assert_eq!(entity.extractor, "meno");
    }
    let oz = parsed.entities.iter().find(|entity| entity.value == "Oz Town").unwrap();
    assert_eq!((oz.entity.as_str(), oz.start, oz.end), ("city", 21, 23));
    assert_eq!(parsed.meno.memory[0].text, "oz");

    let value = answer.value();
    for (object, required) in [
        (&value, &["text", "intent", "intent_ranking", "entities"][..]),
        (&value["intent"], &["confidence", "name"]),
        (&value["entities"][0], &["start", "end", "value", "entity", "confidence"]),
    ] {
        assert!(required.iter().all(|name| object.get(name).is_some()), "{object}");
    }
    let nothing: RasaParse = server.post("/model/parse", &json!({ "text": "" })).ok(200);
    assert_eq!((nothing.intent.name, nothing.intent.confidence), (None, 0.0));
}

#[test]
fn health_and_counts() {
    let server = Running::start(config());
    assert_eq!(server.get("/healthz").text(), "alive\n");
    let ready: Ready = server.get("/readyz").ok(200);
    assert_eq!(ready, Ready { ready: true, learning: true, reason: None });
    server.post("/v1/annotate", &json!({ "text": "play" }));
    server.get("/nowhere-with-a-secret");
    server.client().send("BREW", "/v1/model", &[], None);
    let answer = server.get("/metrics");
    let metrics = answer.text();
    for line in [
        r#"meno_requests_total{method="POST",route="/v1/annotate",status="200"} 1"#,
        r#"meno_requests_total{method="GET",route="-",status="404"} 1"#,
        r#"meno_requests_total{method="other",route="/v1/model",status="405"} 1"#,
        "meno_rejected_total 0",
        "meno_queue_length 0",
        "meno_concepts 0",
        "meno_model_generation 1",
        "meno_store_up 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
    assert!(!metrics.contains("secret"), "{metrics}");
}

#[test]
fn the_description_names_every_address_and_holds_together() {
    let server = Running::start(config());
    let document: Value = server.get("/openapi.json").ok(200);
    let paths = document["paths"].as_object().unwrap();
    let mut operations: Vec<String> = paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(move |method| format!("{method} {path}"))
        })
        .collect();
    operations.sort();
    assert_eq!(
        operations,
        [
            "delete /v1/concepts/{id}",
            "delete /v1/dialogue/{session}",
            "delete /v1/owners/{owner}",
            "get /healthz",
            "get /metrics",
            "get /readyz",
            "get /v1/concepts",
            "get /v1/concepts/export",
            "get /v1/concepts/{id}",
            "get /v1/model",
            "get /v1/owners/{owner}",
            "get /v1/tokens",
            "patch /v1/concepts/{id}",
            "post /model/parse",
            "post /v1/annotate",
            "post /v1/certificate/reload",
            "post /v1/concepts",
            "post /v1/concepts/import",
            "post /v1/concepts/undo",
            "post /v1/dialogue",
            "post /v1/model/reload",
            "post /v1/tokens/reload",
        ]
    );
    let mut n_references = 0;
    each_reference(&document, &mut |reference| {
        let name = reference.strip_prefix("#/components/schemas/").unwrap();
        assert!(document["components"]["schemas"].get(name).is_some(), "{reference}");
        n_references += 1;
    });
    assert!(n_references > 20, "{n_references}");
}

fn each_reference(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                each(reference);
            }
            fields.values().for_each(|value| each_reference(value, each));
        }
        Value::Array(values) => values.iter().for_each(|value| each_reference(value, each)),
        _ => {}
    }
}

#[test]
fn head_is_get_without_the_body() {
    let server = Running::start(config());
    let answer = server.client().send("HEAD", "/v1/model", &[], None);
    assert_eq!((answer.status, answer.body.len()), (200, 0));
}
