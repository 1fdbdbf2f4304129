//! What is taken out of a store, however much there is.

mod support;

use meno::corpus::to_jsonl;
use meno::memory::to_corpus;
use serde_json::json;
use support::{Running, config};

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
