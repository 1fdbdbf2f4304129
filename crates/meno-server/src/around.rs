//! What is done around every request: refuse what comes from other sites, count, log, and send headers.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::Body as _;
use serde::Serialize;

use crate::App;
use crate::audit::Deed;
use crate::bodies::SMALL;
use crate::log::{self, LogFormat};
use crate::problem::{Code, Problem};
use crate::stream::counted;
use crate::trail::{REQUEST_ID, Trail};

/// The page loads what it is made of and talks to its own server, and nothing else.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// What somebody said, kept with the answer for the log if the log is to have it.
#[derive(Clone)]
pub(crate) struct Said(pub String);

pub(crate) async fn around(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("-", MatchedPath::as_str);
    let trail = Arc::new(Trail::new(request.headers(), name(request.method()), route));
    request.extensions_mut().insert(trail.clone());
    let mut response = match admit(&app, &request).and_then(|()| meet(request.headers())) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if let Some(problem) = response.extensions().get::<Problem>() {
        *response.body_mut() = problem.body(&trail.request_id);
    }
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(value);
    }
    response.headers_mut().insert(REQUEST_ID, trail.header());
    let took = began.elapsed();
    app.metrics.count(trail.method, &trail.route, response.status().as_u16(), took);
    if let Some(format) = app.config.log {
        log(format, &trail, &response, 1e3 * took.as_secs_f64());
    }
    audit(&app, trail.clone(), &response);
    count(&app, &trail, response)
}

/// An answer that takes some memory is counted until its client has taken it; one that is streamed found room before.
fn count(app: &App, trail: &Trail, response: Response) -> Response {
    let size = response.body().size_hint().exact().map_or(0, |size| size as usize);
    let Some(caller) = trail.caller.get().filter(|_| size > SMALL) else { return response };
    let held = app.bodies.count(caller.id, size);
    response.map(|body| counted(body, held))
}

fn log(format: LogFormat, trail: &Trail, response: &Response, milliseconds: f64) {
    let Trail { method, route, .. } = trail;
    let status = response.status().as_u16();
    let said = response.extensions().get::<Said>();
    match format {
        LogFormat::Text => {
            let said = said.map_or(String::new(), |said| format!(" {:?}", said.0));
            log::line(format_args!("{method} {route} {status} {milliseconds:.1} ms{said}"));
        }
        LogFormat::Json => {
            let level = if response.status().is_server_error() { "error" } else { "info" };
            let (request_id, trace_id) = (trail.request_id.as_str(), trail.trace_id.as_deref());
            let milliseconds = (1e3 * milliseconds).round() / 1e3;
            let text = said.map(|said| said.0.as_str());
            log::entry(level, Answered { request_id, trace_id, method, route, status, milliseconds, text });
        }
    }
}

/// What the log has of a request.
#[derive(Serialize)]
struct Answered<'a> {
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<&'a str>,
    method: &'a str,
    route: &'a str,
    status: u16,
    milliseconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// Records who was not let in. What is changed is recorded where that is done, also if nobody waits for the answer.
fn audit(app: &Arc<App>, trail: Arc<Trail>, response: &Response) {
    let (status, code) = (response.status(), response.extensions().get().map(Problem::code));
    let is_refused = matches!(status.as_u16(), 401 | 403 | 421 | 429);
    if is_refused && app.audit.as_ref().is_some_and(|audit| audit.takes_refusal(&trail)) {
        let app = app.clone();
        tokio::task::spawn_blocking(move || {
            let deed = Deed::new("refused", None, &[], status.as_u16());
            app.record(&trail, Deed { code, ..deed });
        });
    }
}

/// A method is anything that a client types; the log and the counts have only those that there are.
fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// Refuses what a page of another site makes a browser send.
///
/// Such a page may have its own name lead to this machine; where no token protects the server, it must be called by an
/// address or `localhost`. And a browser names the site of the page in `Origin`.
fn admit(app: &App, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let host = text(headers, header::HOST).or_else(|| request.uri().authority().map(|host| host.as_str()));
    if !app.access.has_tokens() && host.is_some_and(|host| !is_local(host)) {
        let hint = "without tokens the server is called by an address or `localhost`";
        return Err(Problem::new(Code::WrongHost, "this is not the name of the server", hint));
    }
    match text(headers, header::ORIGIN) {
        Some(origin) if origin.split_once("://").map(|(_, host)| host) != host => {
            let hint = "pages of other sites cannot use this server";
            Err(Problem::new(Code::WrongOrigin, "this comes from a page of another site", hint))
        }
        _ => Ok(()),
    }
}

/// Refuses whoever expects something else than to be told when to send the body.
fn meet(headers: &HeaderMap) -> Result<(), Problem> {
    match text(headers, header::EXPECT) {
        Some(expected) if !expected.eq_ignore_ascii_case("100-continue") => {
            let message = "nothing can be expected of this server but `100-continue`";
            Err(Problem::new(Code::Expectation, message, "leave the header `Expect` out"))
        }
        _ => Ok(()),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

/// Whether a host, perhaps with a port, is an address or `localhost`.
fn is_local(host: &str) -> bool {
    let without_port = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = without_port.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(without_port);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_local() {
        for host in ["localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "[::1]"] {
            assert!(is_local(host), "{host}");
        }
        for host in
            ["", "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example:1"]
        {
            assert!(!is_local(host), "{host}");
        }
    }
}
