//! What a request brings: its body, its query, its path; each refusal in the shape of a [`Problem`].

use std::fmt::Display;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::App;
use crate::bodies::SMALL;
use crate::problem::{Code, Problem};
use crate::trail::Trail;

/// A body of JSON that says so. What a page of another site can send without asking does not say so.
pub(crate) struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        if !says(&request, "application/json") {
            let hint = "send `Content-Type: application/json`";
            return Err(Problem::new(Code::MediaType, "the body does not say that it is JSON", hint));
        }
        AnyJson::from_request(request, app).await.map(|AnyJson(value)| Json(value))
    }
}

/// Whether a body says that it is of a type.
fn says(request: &Request, content_type: &str) -> bool {
    let stated = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = stated.and_then(|value| value.split(';').next()).map_or("", str::trim);
    essence.eq_ignore_ascii_case(content_type)
}

/// A body of lines of JSON that says so, unread.
pub(crate) struct JsonLines(pub String);

impl FromRequest<Arc<App>> for JsonLines {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        if !says(&request, "application/x-ndjson") {
            let hint = "send `Content-Type: application/x-ndjson`";
            return Err(Problem::new(
                Code::MediaType,
                "the body does not say that it is lines of JSON",
                hint,
            ));
        }
        let text = String::from_utf8(body(request, app).await?.to_vec());
        text.map(JsonLines)
            .map_err(|_| Problem::new(Code::BadRequest, "the body is not UTF-8", "save the file as UTF-8"))
    }
}

/// A body of JSON, whatever it says that it is.
pub(crate) struct AnyJson<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for AnyJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let body = body(request, app).await?;
        serde_json::from_slice(&body).map(AnyJson).map_err(|error| wrong(&error))
    }
}

async fn body(request: Request, app: &Arc<App>) -> Result<Bytes, Problem> {
    let limit = app.config.max_body;
    let too_large = || {
        let message = format!("the body has more than {limit} bytes");
        Problem::new(Code::TooLarge, message, "send less at once, or have the server take more")
    };
    let length = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let length = length.and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let trail = request.extensions().get::<Arc<Trail>>().cloned();
    let mut body = request.into_body();
    let reading = async {
        let mut bytes = Vec::new();
        // One whose length is not told may become as long as any.
        let room = length.map_or(limit, |length| length as usize);
        if length.is_some_and(|length| length > SMALL as u64) {
            hold(app, trail.as_deref(), room)?;
        }
        while let Some(frame) = body.frame().await {
            let unread = |_| Problem::new(Code::BadRequest, "the body could not be read", "send it again");
            let Ok(piece) = frame.map_err(unread)?.into_data() else { continue };
            if bytes.len() + piece.len() > limit {
                return Err(too_large());
            }
            if length.is_none() && bytes.len() + piece.len() > SMALL {
                hold(app, trail.as_deref(), room)?;
            }
            bytes.extend_from_slice(&piece);
        }
        Ok::<Bytes, Problem>(bytes.into())
    };
    tokio::time::timeout(app.config.timeout, reading).await.map_err(|_| {
        Problem::new(Code::SlowBody, "the body did not come in time", "send it faster, or less at once")
    })?
}

/// Finds room for a large body, as long as it is answered.
fn hold(app: &App, trail: Option<&Trail>, n: usize) -> Result<(), Problem> {
    let Some(trail) = trail.filter(|trail| trail.held.get().is_none()) else { return Ok(()) };
    let caller = trail.caller.get().map_or(0, |caller| caller.id);
    let held = app.bodies.hold(caller, n).ok_or_else(|| {
        let message = "so much is being answered that there is no room for this body";
        Problem::new(Code::Busy, message, "wait for answers before you send more, or send less at once")
    })?;
    let _ = trail.held.set(held);
    Ok(())
}

fn wrong(error: &serde_json::Error) -> Problem {
    match error.classify() {
        Category::Data => {
            let hint = "the body does not have the shape that /openapi.json says";
            Problem::new(Code::WrongShape, error.to_string(), hint)
        }
        _ => {
            Problem::new(Code::BadJson, format!("not JSON: {error}"), "the body is one JSON object in UTF-8")
        }
    }
}

/// The name in the path.
pub(crate) struct Name(pub String);

impl FromRequestParts<Arc<App>> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let name = Path::from_request_parts(parts, app).await;
        name.map(|Path(name)| Name(name)).map_err(|_| {
            Problem::new(Code::BadRequest, "the path is not UTF-8", "write `%` and hex digits for its bytes")
        })
    }
}

/// The parameters of the address.
pub(crate) struct Parameters<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let read = Query::from_request_parts(parts, app).await;
        read.map(|Query(value)| Parameters(value)).map_err(|rejection: QueryRejection| {
            let hint = "/openapi.json says which parameters there are";
            Problem::new(Code::WrongShape, rejection.body_text(), hint)
        })
    }
}

/// Refuses a text that is too long.
pub(crate) fn demand_short(app: &App, what: impl Display, text: &str) -> Result<(), Problem> {
    let limit = app.config.max_text;
    // A character has at most four bytes, so most texts need not be counted.
    if text.len() > limit && text.chars().count() > limit {
        let message = format!("{what} has more than {limit} characters");
        return Err(Problem::new(Code::TooLong, message, "nobody speaks so long; split it"));
    }
    Ok(())
}
