//! Whatever is sent: an answer that is no mistake of the server's, and JSON wherever it says so.
//!
//! The first byte says which request it is, the rest is its body.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use libfuzzer_sys::fuzz_target;
use meno_server::{Config, router};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

const REQUESTS: [(&str, &str, &str); 7] = [
    ("POST", "/v1/annotate", "application/json"),
    ("POST", "/v1/dialogue", "application/json"),
    ("POST", "/v1/concepts", "application/json"),
    ("POST", "/v1/concepts/import", "application/x-ndjson"),
    ("PATCH", "/v1/concepts/1", "application/json"),
    ("POST", "/model/parse", "application/json"),
    ("POST", "/v1/concepts/undo", "application/json"),
];

static SERVER: LazyLock<(Runtime, Router)> = LazyLock::new(|| {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/meno/tests/models/span_tagger-1.meno");
    let (router, _) = router(Config { threads: 1, ..Config::new(model) }).expect("a sound model");
    (Builder::new_current_thread().enable_all().build().expect("a runtime"), router)
});

fuzz_target!(|input: &[u8]| {
    let Some((which, body)) = input.split_first() else { return };
    let (method, path, kind) = REQUESTS[usize::from(*which) % REQUESTS.len()];
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    let request =
        request.header(header::CONTENT_TYPE, kind).body(Body::from(body.to_vec())).expect("a request");
    let (runtime, router) = &*SERVER;
    runtime.block_on(async {
        let answer = router.clone().oneshot(request).await.expect("a router always answers");
        let (head, body) = answer.into_parts();
        assert_ne!(head.status, StatusCode::INTERNAL_SERVER_ERROR, "{method} {path}");
        let body = to_bytes(body, usize::MAX).await.expect("a whole body");
        if head.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json") {
            serde_json::from_slice::<serde_json::Value>(&body).expect("JSON");
        }
    });
});
