//! The page and its files, which are part of the program.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::routing::get;

use crate::{App, reply};

/// The address of each file, its type and its text.
const FILES: [(&str, &str, &str); 3] = [
    ("/", "text/html; charset=utf-8", include_str!("../../page/index.html")),
    ("/page/style.css", "text/css; charset=utf-8", include_str!("../../page/style.css")),
    ("/page/app.js", "text/javascript; charset=utf-8", include_str!("../../page/app.js")),
];

pub(super) fn router() -> Router<Arc<App>> {
    FILES.into_iter().fold(Router::new(), |router, (address, content_type, text)| {
        let file = move || async move {
            let mut response = reply::typed(StatusCode::OK, content_type, text);
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        };
        router.route(address, get(file))
    })
}
