//! What the tests of the server share: a server in this process, and a client that says exactly what it is told.

#![allow(dead_code)]

#[path = "../../../../tests/left_out.rs"]
mod left_out;
/// The shapes of answers, as the server tells them.
#[path = "../../src/schema/mod.rs"]
pub mod schema;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use left_out::left_out;
use meno::Model;
use meno::corpus::{Corpus, Utterance};
use meno::decision::{Policy, Threshold};
use meno::engine::Tokenization;
use meno::train::{Architecture, SpanTaggerSettings, TrainSettings};
use meno_server::{Config, Server, Stop};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;

/// A span tagger for albums and cities; `play zorblax road now` makes it ask about `zorblax road`.
pub fn model() -> PathBuf {
    trained("small.meno")
}

/// The same with the policy that training gave it, which says how likely a reading is right.
pub fn trusting_model() -> PathBuf {
    trained("trusting.meno")
}

fn trained(name: &str) -> PathBuf {
    static DIR: OnceLock<TempDir> = OnceLock::new();
    let dir = DIR.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let model = train();
        model.save(&dir.path().join("trusting.meno")).unwrap();
        let small = policy(&model);
        model.with_policy(small).save(&dir.path().join("small.meno")).unwrap();
        dir
    });
    dir.path().join(name)
}

/// Another model, of the paper's kind.
pub fn other_model() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../meno/tests/models/format-1.meno")
}

/// Intents and utterances; `A` is an album, `C` a city.
const TEMPLATES: [(&str, &str); 8] = [
    ("play", "play A"),
    ("play", "play A now"),
    ("play", "put on A please"),
    ("play", "please play A in C"),
    ("weather", "weather in C"),
    ("weather", "the weather in C now"),
    ("weather", "weather C please"),
    ("weather", "now the weather in C"),
];

const VALUES: [(&str, &str); 4] =
    [("the wall", "paris"), ("abbey road", "new york"), ("thriller", "rome"), ("blue train", "oslo")];

fn train() -> Model {
    let utterances = TEMPLATES.into_iter().flat_map(|template| VALUES.map(|values| filled(template, values)));
    let corpus = Corpus { path: "small".into(), utterances: utterances.collect(), ..Corpus::default() };
    let tagger = SpanTaggerSettings { character: 16, filters: 16, ..SpanTaggerSettings::default() };
    let settings = TrainSettings {
        epochs: 40,
        rate: 5e-3,
        batch: 4,
        embedding: 16,
        hidden: 16,
        dropout: 0.2,
        architecture: Architecture::SpanTagger(tagger),
        ..TrainSettings::slot_gated()
    };
    meno::train(&corpus, &corpus, &settings).unwrap()
}

/// One by which *zorblax road* is unknown.
fn policy(model: &Model) -> Policy {
    let mut worker = model.worker();
    let mut uncertainty = |text: &str, phrase: &str| {
        let annotation = worker.annotate(text, Tokenization::Raw);
        let span = annotation.spans.iter().find(|span| span.text == phrase);
        span.and_then(|span| span.guess.as_ref()).map(|guess| guess.uncertainty).unwrap()
    };
    let known = uncertainty("play abbey road now", "abbey road");
    let unknown = uncertainty("play zorblax road now", "zorblax road");
    assert!(known < unknown, "{known} {unknown}");
    let value = (known + unknown) / 2.0;
    let threshold = Threshold {
        value,
        budget: 0.5,
        f1_before: 100.0,
        f1_after: 100.0,
        median: known,
        offers: Vec::new(),
    };
    Policy { threshold: Some(threshold), ..Policy::never(model.policy().scorer) }
}

fn filled((intent, template): (&str, &str), (album, city): (&str, &str)) -> Utterance {
    let mut utterance = Utterance { intent: intent.to_owned(), ..Utterance::default() };
    for word in template.split(' ') {
        let (words, slot) = match word {
            "A" => (album, "album"),
            "C" => (city, "city"),
            word => (word, ""),
        };
        for (idx, word) in words.split(' ').enumerate() {
            utterance.words.push(word.to_owned());
            utterance.labels.push(match (slot, idx) {
                ("", _) => "O".to_owned(),
                (slot, 0) => format!("B-{slot}"),
                (slot, _) => format!("I-{slot}"),
            });
        }
    }
    utterance
}

/// On a free port, with two threads.
pub fn config() -> Config {
    Config { listen: "127.0.0.1:0".to_owned(), threads: 2, ..Config::new(model()) }
}

/// A server that ends with this.
pub struct Running {
    pub address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn start(config: Config) -> Running {
        let server = Server::bind(config).unwrap();
        let (address, stop) = (server.address(), server.stopper());
        let thread = std::thread::spawn(move || server.run().unwrap());
        Running { address, stop, thread: Some(thread) }
    }

    /// Asks the server to end.
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// Waits for the end.
    pub fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.client().send("GET", path, &[], None)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.client().json("POST", path, body)
    }

    pub fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.client().json(method, path, body)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}

/// A connection.
pub struct Client {
    pub stream: TcpStream,
    host: String,
    token: Option<String>,
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream, host: address.to_string(), token: None }
    }

    pub fn with_token(self, token: &str) -> Client {
        Client { token: Some(token.to_owned()), ..self }
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], None)
    }

    pub fn json(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        self.send(method, path, &[("content-type", "application/json")], Some(body.to_string().as_bytes()))
    }

    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            text += &format!("host: {}\r\n", self.host);
        }
        if let Some(token) = &self.token {
            text += &format!("authorization: Bearer {token}\r\n");
        }
        headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
        if let Some(body) = body {
            text += &format!("content-length: {}\r\n", body.len());
        }
        let mut bytes = format!("{text}\r\n").into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        // It may be refused before all of it is there.
        let _ = self.stream.write_all(&bytes);
        self.answer(method == "HEAD").expect("an answer")
    }

    /// Reads an answer; `None` if the connection ends before.
    pub fn answer(&mut self, is_head: bool) -> Option<Answer> {
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at;
            }
            self.more(&mut bytes)?;
        };
        let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
        let mut lines = text.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let header =
            |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
        let headers: Vec<(String, String)> = lines.filter_map(header).collect();
        let mut answer = Answer { status, headers, body: Vec::new() };
        let length = match answer.header("content-length") {
            Some(length) if !is_head => length.parse().unwrap(),
            _ => 0,
        };
        if !is_head && answer.header("transfer-encoding") == Some("chunked") {
            answer.body = self.chunks(bytes.split_off(head + 4))?;
            return Some(answer);
        }
        while bytes.len() < head + 4 + length {
            self.more(&mut bytes)?;
        }
        answer.body = bytes.split_off(head + 4);
        Some(answer)
    }

    /// Reads a body that comes in pieces, each after its length; `None` if it breaks off.
    fn chunks(&mut self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = loop {
                match bytes.windows(2).position(|two| two == b"\r\n") {
                    Some(at) => break at,
                    None => self.more(&mut bytes)?,
                }
            };
            let length = usize::from_str_radix(str::from_utf8(&bytes[..line]).ok()?, 16).ok()?;
            while bytes.len() < line + 2 + length + 2 {
                self.more(&mut bytes)?;
            }
            body.extend_from_slice(&bytes[line + 2..][..length]);
            bytes.drain(..line + 2 + length + 2);
            if length == 0 {
                return Some(body);
            }
        }
    }

    fn more(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        let mut piece = [0; 16 * 1024];
        match self.stream.read(&mut piece) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&piece[..n]),
            _ => return None,
        }
        Some(())
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body, which must have exactly this shape.
    pub fn read<T: DeserializeOwned>(&self) -> T {
        assert_eq!(self.header("content-type"), Some("application/json"), "{}", self.text());
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn value(&self) -> Value {
        self.read()
    }

    /// The shape of an answer with this status.
    pub fn ok<T: DeserializeOwned>(&self, status: u16) -> T {
        assert_eq!(self.status, status, "{}", self.text());
        self.read()
    }

    /// The status and the code of a refusal, which has the shape that all have.
    pub fn refusal(&self) -> (u16, String) {
        let failure: schema::Failure = self.read();
        assert!(!failure.error.message.is_empty());
        assert_eq!(self.header("x-request-id"), Some(failure.error.request_id.as_str()));
        (self.status, failure.error.code)
    }
}

/// Waits until something holds, and gives how long that took.
pub fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "not within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    start.elapsed()
}

/// A PostgreSQL server that ends with this.
pub struct Database {
    dir: PathBuf,
    pub address: String,
}

impl Database {
    /// `None`, loudly, where none can be had.
    pub fn start() -> Option<Database> {
        // The path of a socket must be short.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("meno-pg-s{}-{count}", std::process::id()));
        match script(&["start", dir.to_str().unwrap(), &std::process::id().to_string()]) {
            Ok(address) => Some(Database { dir, address }),
            Err(reason) => {
                left_out("tests on PostgreSQL", &format!("there is {reason}"));
                None
            }
        }
    }

    /// Ends it as a power cut would.
    pub fn kill(&self) {
        script(&["kill", self.dir.to_str().unwrap()]).unwrap();
    }

    /// Sends a signal to the server and all that it started.
    pub fn signal(&self, name: &str) {
        script(&["signal", self.dir.to_str().unwrap(), name]).unwrap();
    }

    pub fn restart(&self) {
        script(&["start", self.dir.to_str().unwrap()]).unwrap();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = script(&["stop", self.dir.to_str().unwrap()]);
    }
}

fn script(args: &[&str]) -> Result<String, String> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.sh");
    let output = Command::new(script).args(args).output().map_err(|error| error.to_string())?;
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() { Ok(stdout.trim().to_owned()) } else { Err(stderr.trim().to_owned()) }
}
