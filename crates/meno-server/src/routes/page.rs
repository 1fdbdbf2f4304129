//! The page and its files, which are part of the program.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::OriginalUri;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;

use crate::{App, reply};

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page; it names its files from where it stands.
const INDEX: &str = include_str!("../../page/index.html");

/// The address of each file, its type and its text.
const FILES: [(&str, &str, &str); 16] = [
    ("/page/style.css", STYLE, include_str!("../../page/style.css")),
    ("/page/answer.js", SCRIPT, include_str!("../../page/answer.js")),
    ("/page/app.js", SCRIPT, include_str!("../../page/app.js")),
    ("/page/bubble.js", SCRIPT, include_str!("../../page/bubble.js")),
    ("/page/data.js", SCRIPT, include_str!("../../page/data.js")),
    ("/page/details.js", SCRIPT, include_str!("../../page/details.js")),
    ("/page/dial.js", SCRIPT, include_str!("../../page/dial.js")),
    ("/page/dom.js", SCRIPT, include_str!("../../page/dom.js")),
    ("/page/form.js", SCRIPT, include_str!("../../page/form.js")),
    ("/page/memory.js", SCRIPT, include_str!("../../page/memory.js")),
    ("/page/request.js", SCRIPT, include_str!("../../page/request.js")),
    ("/page/server.js", SCRIPT, include_str!("../../page/server.js")),
    ("/page/speech.js", SCRIPT, include_str!("../../page/speech.js")),
    ("/page/talk.js", SCRIPT, include_str!("../../page/talk.js")),
    ("/page/tree.js", SCRIPT, include_str!("../../page/tree.js")),
    ("/page/words.js", SCRIPT, include_str!("../../page/words.js")),
];

pub(super) fn router() -> Router<Arc<App>> {
    FILES.into_iter().fold(Router::new().route("/", get(index)), |router, (address, content_type, text)| {
        router.route(address, get(move || async move { file(content_type, text) }))
    })
}

async fn index(OriginalUri(uri): OriginalUri) -> Response {
    file(HTML, placed(uri.path()))
}

fn file(content_type: &'static str, text: impl Into<Body>) -> Response {
    let mut response = reply::typed(StatusCode::OK, content_type, text);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// The page for where it was asked for. A router under a prefix answers at `/prefix`, which to a browser is a file of `/`.
fn placed(path: &str) -> Cow<'static, str> {
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.is_empty() {
        return INDEX.into();
    }
    // An application may have a prefix that its callers choose.
    let name = name.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    INDEX.replace("=\"page/", &format!("=\"./{name}/page/")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_finds_its_files_from_anywhere() {
        for (path, file) in [
            ("/", "page/app.js"),
            ("/nlu/", "page/app.js"),
            ("/nlu", "./nlu/page/app.js"),
            ("/a/b:c", "./b:c/page/app.js"),
            ("/\"><script>", "./&quot;>&lt;script>/page/app.js"),
        ] {
            assert!(placed(path).contains(&format!("src=\"{file}\"")), "{path}");
        }
        assert_eq!(placed("/nlu").matches("=\"./nlu/page/").count(), INDEX.matches("page/").count());
    }
}
