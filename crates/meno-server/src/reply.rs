//! Answers as bytes with a type.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

/// JSON that is already written.
pub(crate) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    typed(status, "application/json", body)
}

/// A value as JSON.
pub(crate) fn value(status: StatusCode, value: &impl Serialize) -> Response {
    json(status, serde_json::to_vec(value).expect("answers are plain data"))
}

/// Something of another type.
pub(crate) fn typed(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
