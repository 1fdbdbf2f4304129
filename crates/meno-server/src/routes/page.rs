//! The page and its files, which are part of the program.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::routing::get;

use crate::{App, reply};

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The address of each file, its type and its text.
const FILES: [(&str, &str, &str); 11] = [
    ("/", HTML, include_str!("../../page/index.html")),
    ("/page/style.css", STYLE, include_str!("../../page/style.css")),
    ("/page/app.js", SCRIPT, include_str!("../../page/app.js")),
    ("/page/concepts.js", SCRIPT, include_str!("../../page/concepts.js")),
    ("/page/dom.js", SCRIPT, include_str!("../../page/dom.js")),
    ("/page/sentence.js", SCRIPT, include_str!("../../page/sentence.js")),
    ("/page/server.js", SCRIPT, include_str!("../../page/server.js")),
    ("/page/answer.js", SCRIPT, include_str!("../../page/answer.js")),
    ("/page/talk.js", SCRIPT, include_str!("../../page/talk.js")),
    ("/page/tree.js", SCRIPT, include_str!("../../page/tree.js")),
];

pub(super) fn router() -> Router<Arc<App>> {
    FILES.into_iter().fold(Router::new(), |router, (address, content_type, text)| {
        let file = move || async move {
            let mut response = reply::typed(StatusCode::OK, content_type, text);
    ("/page/words.js", SCRIPT, include_str!("../../page/words.js")),
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        };
        router.route(address, get(file))
    })
}
