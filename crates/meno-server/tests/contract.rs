//! The contract (`tests/contract` of the workspace), replayed over HTTP.

#[path = "../../../tests/contract/mod.rs"]
mod contract;
mod support;

use std::fs;
use std::path::Path;

use contract::{
    Annotations, Dialogues, Ledger, NOTHING_REMEMBERED, NOW, Reading, Taken, Unknown, hash, is_comparable,
    json, list, raw, records, timeless,
};
use meno::Model;
use meno::dialogue::Phrasebook;
use meno::memory::{Owner, Spelling};
use meno_server::Config;
use meno_store::Assistant;
use serde::{Deserialize, Serialize};
use serde_json::json as value;
use serde_json::value::RawValue;
use support::{Answer, Running};
use tempfile::TempDir;

/// A server for a model; what cannot be said over HTTP is said to the model, which is then saved.
fn serve(dir: &Path, model: &Model, unknown: Unknown, config: impl FnOnce(&mut Config)) -> Running {
    let file = dir.join("model.meno");
    unknown.apply(model.clone()).save(&file).unwrap();
    let mut settings = Config {
        listen: "127.0.0.1:0".to_owned(),
        threads: 1,
        max_text: 1 << 16,
        max_batch: 1000,
        ..Config::new(file)
    };
    config(&mut settings);
    Running::start(settings)
}

fn body(answer: &Answer) -> &str {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text()
}

/// What `meno tag` prints: over HTTP an annotation also has what memory knows of it, which is nothing here.
fn without_memory(answer: &str) -> String {
    match answer.strip_suffix(NOTHING_REMEMBERED) {
        Some(annotation) => format!("{annotation}}}"),
        None => format!("without an empty memory: {answer}"),
    }
}

/// Every text alone, and all of a reading at once.
fn replay(name: &str) {
    if !is_comparable() {
        return;
    }
    let recorded = Annotations::read(name);
    let (model, dir) = (recorded.model.model(), tempfile::tempdir().unwrap());
    let mut ledger = Ledger::new(name);
    for (unknown, cases) in recorded.by_settings() {
        let server = serve(dir.path(), &model, unknown, |_| ());
        let mut client = server.client();
        for reading in [Reading::Text, Reading::Words] {
            let cases: Vec<_> = cases.iter().filter(|(_, case)| case.reading == reading).collect();
            let texts: Vec<String> = cases.iter().map(|(_, case)| case.text.whole()).collect();
            let mut alone = Vec::new();
            for ((idx, case), text) in cases.iter().zip(&texts) {
                let request = value!({ "text": text, "reading": reading, "now": NOW });
                let answer = client.json("POST", "/v1/annotate", &request);
                let found = without_memory(body(&answer));
                ledger.check(format!("{} over HTTP", case.name(*idx)), case.expected.get(), &found);
                alone.push(body(&answer).to_owned());
            }
            let request = value!({ "texts": texts, "reading": reading, "now": NOW });
            let together = client.json("POST", "/v1/annotate", &request);
            let expected = format!("{{\"annotations\":[{}]}}", alone.join(","));
            assert!(
                body(&together) == expected,
                "{name}: other bytes if all are asked for at once, {unknown:?}"
            );
        }
    }
    ledger.close();
}

contract::tests_of_models!(replay);

#[test]
fn dialogues() {
    if !is_comparable() {
        return;
    }
    let mut ledger = Ledger::new("dialogues");
    let dir = TempDir::new().unwrap();
    let mut models: Vec<(String, Model)> = Vec::new();
    for dialogue in Dialogues::read().dialogues {
        if models.iter().all(|(name, _)| *name != dialogue.model) {
            models.push((dialogue.model.clone(), Annotations::read(&dialogue.model).model.model()));
        }
        let (_, model) = models.iter().find(|(name, _)| *name == dialogue.model).unwrap();
        let server = serve(dir.path(), model, dialogue.unknown(), |config| {
            config.owner = Owner::from(dialogue.owner.clone());
            config.spelling = if dialogue.misspellings { Spelling::Forgiving } else { Spelling::Strict };
            if let Some(file) = &dialogue.phrases {
                let path = contract::workspace().join(file);
                let book = Phrasebook::read(&fs::read_to_string(&path).unwrap(), &path).unwrap();
                config.assistant = Assistant { book, ..Assistant::default() };
            }
        });
        for lesson in &dialogue.taught {
            assert_eq!(server.post("/v1/concepts", &value!(lesson)).status, 201);
        }
        for (idx, turn) in dialogue.turns.iter().enumerate() {
            let found = match &turn.say {
                None => timeless(body(&server.post("/v1/concepts/undo", &value!(null)))),
                Some(text) => {
                    let request = value!({ "session": "contract", "text": text, "now": NOW });
                    let answer = server.post("/v1/dialogue", &request);
                    // The name of the session comes first.
                    let rest = body(&answer).strip_prefix("{\"session\":\"contract\",");
                    let taken = format!("{{{}", rest.unwrap_or_else(|| panic!("{}", answer.text())));
                    let shortened = serde_json::from_str::<Taken<'_>>(&taken).map(|taken| taken.shortened());
                    shortened.unwrap_or_else(|error| panic!("{error}: {taken}"))
                }
            };
            ledger.check(format!("{} over HTTP", dialogue.name(idx)), turn.expected.get(), &found);
        }
    }
    ledger.close();
}

// --- requests --------------------------------------------------------------------------------------------

/// Requests to one server, one after the other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requests {
    model: String,
    requests: Vec<Request>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Request {
    method: String,
    path: String,
    /// The type of the body, if it says one.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    expected: Box<RawValue>,
}

/// What is recorded of an answer.
#[derive(Serialize)]
struct Recorded<'a> {
    status: u16,
    #[serde(rename = "type")]
    content_type: Option<&'a str>,
    body: String,
}

/// A longer body is recorded by its hash.
const LONGEST: usize = 8 * 1024;

impl Request {
    fn answer(&self, server: &Running) -> String {
        let mut headers: Vec<(&str, &str)> =
            self.content_type.iter().map(|name| ("content-type", name.as_str())).collect();
        headers.push(("x-request-id", "contract"));
        let bytes = self.body.as_ref().map(String::as_bytes);
        let answer = server.client().send(&self.method, &self.path, &headers, bytes);
        // A new version of the program is no change of the contract.
        let version = |version: &str| format!("\"version\":\"{version}\"");
        let body = timeless(answer.text()).replace(&version(env!("CARGO_PKG_VERSION")), &version("0"));
        let body = if body.len() > LONGEST { hash(body.as_bytes()) } else { body };
        json(&Recorded { status: answer.status, content_type: answer.header("content-type"), body })
    }
}

#[test]
fn requests() {
    if !is_comparable() {
        return;
    }
    let Requests { model, mut requests } = contract::read("requests");
    let dir = TempDir::new().unwrap();
    let server = serve(dir.path(), &Annotations::read(&model).model.model(), Unknown::default(), |config| {
        (config.max_text, config.max_batch) = (100, 4);
    });
    let answers: Vec<String> = requests.iter().map(|request| request.answer(&server)).collect();
    if records() {
        requests.iter_mut().zip(&answers).for_each(|(request, answer)| request.expected = raw(answer));
        let lines = list(requests.iter().map(json));
        contract::write(
            "requests",
            &format!("{{\n\"model\": {},\n\"requests\": {lines}\n}}\n", json(&model)),
        );
    }
    let mut ledger = Ledger::new("requests");
    for (idx, (request, answer)) in requests.iter().zip(&answers).enumerate() {
        let Request { method, path, body, .. } = request;
        let name = format!("request {} ({method} {path} {})", idx + 1, body.as_deref().unwrap_or_default());
        ledger.check(name, request.expected.get(), answer);
    }
    ledger.close();
}
