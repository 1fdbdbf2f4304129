//! What words stand for, over HTTP.

mod support;

use meno::corpus::FolderText;
use meno::train::TrainSettings;
use meno_server::Config;
use serde_json::{Value, json};
use support::{Answer, Running};
use tempfile::TempDir;

const NOW: &str = "2026-11-17T08:00:00+01:00";

/// A server for a model with a slot of times, which its name declares.
fn server() -> (TempDir, Running) {
    let corpus = FolderText {
        words: "wake me at six\nwake me at noon\nwake me tomorrow\nwake me tonight\ncall anna\nplease call peter",
        labels: "O O O B-time\nO O O B-time\nO O B-time\nO O B-time\nO B-person\nO O B-person",
        intents: Some("alarm\nalarm\nalarm\nalarm\ncall\ncall"),
        ..FolderText::default()
    };
    let corpus = corpus.read("six utterances".as_ref()).unwrap();
    let settings = TrainSettings { epochs: 40, ..TrainSettings::default() };
    let model = meno::train(&corpus, &corpus, &settings).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("alarm.meno");
    model.save(&file).unwrap();
    let config = Config { listen: "127.0.0.1:0".to_owned(), threads: 1, ..Config::new(file) };
    (dir, Running::start(config))
}

fn body(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_str(answer.text()).unwrap()
}

fn span<'a>(annotation: &'a Value, slot: &str) -> &'a Value {
    let spans = annotation["spans"].as_array().unwrap();
    spans.iter().find(|span| span["slot"] == slot).unwrap_or_else(|| panic!("{annotation}"))
}

#[test]
fn slots_that_declare_what_they_are_are_resolved() {
    let (_dir, server) = server();
    let request = |text: &str| json!({ "text": text, "now": NOW, "threshold": 1e9 });
    let six = body(&server.post("/v1/annotate", &request("wake me at six")));
    let expected =
        json!({ "dim": "time", "type": "value", "value": "2026-11-17T18:00:00.000+01:00", "grain": "hour" });
    assert_eq!(span(&six, "time")["resolved"], expected);
    let anna = body(&server.post("/v1/annotate", &request("call anna")));
    assert!(!span(&anna, "person").as_object().unwrap().contains_key("resolved"));

    let elsewhere = json!({ "text": "wake me at six", "now": NOW, "zone": "America/New_York", "threshold": 1e9,
        "values": "snips" });
    let elsewhere = body(&server.post("/v1/annotate", &elsewhere));
    assert_eq!(span(&elsewhere, "time")["resolved"]["value"], "2026-11-17 06:00:00 -05:00");

    let turn = json!({ "session": "s", "text": "wake me at noon", "now": NOW });
    let turn = body(&server.post("/v1/dialogue", &turn));
    assert_eq!(span(&turn["annotation"], "time")["resolved"]["value"], "2026-11-17T12:00:00.000+01:00");
}

#[test]
fn rasa_has_what_duckling_gives() {
    let (_dir, server) = server();
    let entity = |text: &str| {
        let answer = body(&server.post("/model/parse", &json!({ "text": text, "now": NOW })));
        let entities = answer["entities"].as_array().unwrap().clone();
        entities.into_iter().find(|entity| entity["entity"] == "time").unwrap_or_else(|| panic!("{answer}"))
    };
    let noon = entity("wake me at noon");
    assert_eq!(noon["value"], "2026-11-17T12:00:00.000+01:00");
    assert_eq!(noon["additional_info"]["grain"], "hour");
    let tonight = entity("wake me tonight");
    let expected = json!({ "from": "2026-11-17T18:00:00.000+01:00", "to": "2026-11-18T00:00:00.000+01:00" });
    assert_eq!(tonight["value"], expected);
    assert_eq!(tonight["additional_info"]["type"], "interval");
}

#[test]
fn bad_moments_and_zones_are_refused() {
    let (_dir, server) = server();
    for (path, request) in [
        ("/v1/annotate", json!({ "text": "call anna", "now": "soon" })),
        ("/v1/annotate", json!({ "text": "call anna", "zone": "Mars/Olympus" })),
        ("/v1/dialogue", json!({ "session": "s", "text": "call anna", "now": "2026-11-17T08:00:00" })),
        ("/model/parse", json!({ "text": "call anna", "zone": "" })),
    ] {
        let answer = server.post(path, &request);
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains("for example"), "{}", answer.text());
    }
}
