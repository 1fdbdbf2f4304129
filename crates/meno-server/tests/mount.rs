//! The router in an application of one's own, under a prefix.

mod support;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use meno_server::{Config, TokenSource, new_token, router};
use serde_json::{Value, json};
use support::schema::{Annotation, Decision, ModelInfo, Outcome, Turn};
use support::{Answer, Client, config, within};
use tokio::runtime::Runtime;

/// Threads are counted, so one test has them at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// An application with a runtime of its own, which ends with this.
struct Outer {
    address: SocketAddr,
    _runtime: Runtime,
}

impl Outer {
    fn start(app: Router) -> Outer {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let service = TowerToHyperService::new(app.clone());
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Outer { address, _runtime: runtime }
    }

    fn get(&self, path: &str) -> Answer {
        Client::new(self.address).send("GET", path, &[], None)
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        Client::new(self.address).json("POST", path, body)
    }
}

/// The addresses that the page names.
fn named(html: &str) -> Vec<&str> {
    let attributes =
        html.split("href=\"").chain(html.split("src=\"")).filter_map(|rest| rest.split('"').next());
    attributes.filter(|address| address.contains("page/")).collect()
}

/// Where a browser on the page at `path` looks for a relative address.
fn resolved(path: &str, address: &str) -> String {
    let (folder, _) = path.rsplit_once('/').unwrap();
    format!("{folder}/{}", address.strip_prefix("./").unwrap_or(address))
}

#[test]
fn everything_answers_under_a_prefix() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (nlu, handle) = router(config()).unwrap();
    let own = Router::new().route("/hello", get(|| async { "hello" })).fallback(|| async { "elsewhere" });
    let outer = Outer::start(own.nest("/nlu", nlu.clone()).nest_service("/deep/er", nlu));
    assert_eq!(outer.get("/hello").text(), "hello");
    assert_eq!(outer.get("/v1/model").text(), "elsewhere");
    assert_eq!(outer.get("/hello").header("content-security-policy"), None);

    for prefix in ["/nlu", "/deep/er"] {
        let request = json!({ "text": "play zorblax road now" });
        let asked: Annotation = outer.post(&format!("{prefix}/v1/annotate"), &request).ok(200);
        assert_eq!(asked.decision, Decision::Ask);
        let document: Value = outer.get(&format!("{prefix}/openapi.json")).ok(200);
        assert_eq!(document["servers"], json!([{ "url": prefix }]));
        assert!(document["paths"]["/v1/annotate"].is_object());
        assert_eq!(outer.get(&format!("{prefix}/nowhere")).refusal(), (404, "not_found".to_owned()));
        assert_eq!(outer.get(&format!("{prefix}/v1/annotate")).refusal(), (405, "method".to_owned()));
    }

    for path in ["/nlu", "/deep/er", "/deep/er/"] {
        let page = outer.get(path);
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{path}"
        );
        assert!(page.header("content-security-policy").is_some());
        assert_eq!(named(page.text()).len(), 2);
        for address in named(page.text()) {
            let file = resolved(path, address);
            assert_eq!(outer.get(&file).status, 200, "{path}: {file}");
        }
    }
    // Modules name each other, and addresses, from where they are.
    let script = outer.get("/nlu/page/app.js");
    assert!(script.text().contains("from \"./server.js\"") && !script.text().contains("from \"/"));

    let say = |text: &str| -> Turn {
        outer.post("/nlu/v1/dialogue", &json!({ "session": "s", "text": text })).ok(200)
    };
    assert_eq!(say("play zorblax road now").reply.outcome, Outcome::Ask);
    let taught = say("an album");
    assert_eq!((taught.reply.outcome, taught.concepts.len()), (Outcome::Act, 1));

    let send = |headers: &[(&str, &str)]| {
        Client::new(outer.address).send("POST", "/nlu/v1/concepts/undo", headers, None)
    };
    assert_eq!(send(&[("host", "evil.example")]).refusal(), (421, "wrong_host".to_owned()));
    assert_eq!(send(&[("origin", "http://evil.example")]).refusal(), (403, "wrong_origin".to_owned()));
    assert_eq!(send(&[("origin", &format!("http://{}", outer.address))]).status, 200);

    let metrics = outer.get("/nlu/metrics");
    let counted = r#"meno_requests_total{method="POST",route="/nlu/v1/dialogue",status="200"} 2"#;
    assert!(metrics.text().lines().any(|line| line == counted), "{}", metrics.text());
    assert!(!metrics.text().contains("nowhere"), "{}", metrics.text());

    handle.reload().unwrap();
    assert_eq!(outer.get("/nlu/v1/model").ok::<ModelInfo>(200).generation, 2);
    handle.stop();
    let answer = outer.post("/nlu/v1/annotate", &json!({ "text": "play" }));
    assert_eq!(answer.refusal(), (503, "stopped".to_owned()));
    assert_eq!(outer.get("/nlu/healthz").status, 200);
}

#[test]
fn with_tokens_an_application_may_have_a_name() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (token, line) = new_token("anna", "read").unwrap();
    let (nlu, _handle) = router(Config { tokens: Some(TokenSource::Lines(line)), ..config() }).unwrap();
    let outer = Outer::start(Router::new().nest("/nlu", nlu));
    assert_eq!(outer.get("/nlu/v1/model").refusal().0, 401);
    let authorization = format!("Bearer {token}");
    let headers = [
        ("host", "app.example"),
        ("origin", "https://app.example"),
        ("authorization", authorization.as_str()),
    ];
    assert_eq!(Client::new(outer.address).send("GET", "/nlu/v1/model", &headers, None).status, 200);
}

/// How many threads run models in this process.
#[cfg(target_os = "linux")]
fn n_engines() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "meno-engine").count()
}

#[cfg(target_os = "linux")]
#[test]
fn threads_end_with_the_router_or_by_its_handle() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = Duration::from_secs(10);
    within(limit, || n_engines() == 0);
    // In an async runtime, as an application would.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (nlu, handle) = router(config()).unwrap();
        let app: Router = Router::new().nest("/nlu", nlu);
        within(limit, || n_engines() == 2);
        drop(app);
        within(limit, || n_engines() == 0);
        handle.stop();
        assert_eq!(handle.reload().unwrap_err().to_string(), "nothing answers any more");

        let (nlu, handle) = router(config()).unwrap();
        within(limit, || n_engines() == 2);
        handle.stop();
        within(limit, || n_engines() == 0);
        drop(nlu);
    });
}
