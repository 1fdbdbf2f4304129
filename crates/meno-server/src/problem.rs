//! What can be wrong with a request, as a caller is told: one table, one shape.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::log::warn;
use crate::reply;

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    BadRequest,
    BadJson,
    NoToken,
    Forbidden,
    WrongOrigin,
    OverQuota,
    NotFound,
    Method,
    SlowBody,
    Conflict,
    TooLarge,
    MediaType,
    Expectation,
    WrongHost,
    WrongShape,
    TooLong,
    TooMany,
    BadConcept,
    BadModel,
    BadTokens,
    BadCertificate,
    Busy,
    TooManyRequests,
    Mistake,
    Stopped,
    StoreAway,
    TooSlow,
}

impl Code {
    /// The status, the name in answers, and after how many seconds it is worth trying again.
    const fn row(self) -> (StatusCode, &'static str, Option<u8>) {
        match self {
            Code::BadRequest => (StatusCode::BAD_REQUEST, "bad_request", None),
            Code::BadJson => (StatusCode::BAD_REQUEST, "bad_json", None),
            Code::NoToken => (StatusCode::UNAUTHORIZED, "no_token", None),
            Code::Forbidden => (StatusCode::FORBIDDEN, "forbidden", None),
            Code::WrongOrigin => (StatusCode::FORBIDDEN, "wrong_origin", None),
            Code::OverQuota => (StatusCode::FORBIDDEN, "over_quota", None),
            Code::NotFound => (StatusCode::NOT_FOUND, "not_found", None),
            Code::Method => (StatusCode::METHOD_NOT_ALLOWED, "method", None),
            Code::SlowBody => (StatusCode::REQUEST_TIMEOUT, "slow_body", None),
            Code::Conflict => (StatusCode::CONFLICT, "conflict", None),
            Code::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large", None),
            Code::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", None),
            Code::Expectation => (StatusCode::EXPECTATION_FAILED, "expectation", None),
            Code::WrongHost => (StatusCode::MISDIRECTED_REQUEST, "wrong_host", None),
            Code::WrongShape => (StatusCode::UNPROCESSABLE_ENTITY, "wrong_shape", None),
            Code::TooLong => (StatusCode::UNPROCESSABLE_ENTITY, "too_long", None),
            Code::TooMany => (StatusCode::UNPROCESSABLE_ENTITY, "too_many", None),
            Code::BadConcept => (StatusCode::UNPROCESSABLE_ENTITY, "bad_concept", None),
            Code::BadModel => (StatusCode::UNPROCESSABLE_ENTITY, "bad_model", None),
            Code::BadTokens => (StatusCode::UNPROCESSABLE_ENTITY, "bad_tokens", None),
            Code::BadCertificate => (StatusCode::UNPROCESSABLE_ENTITY, "bad_certificate", None),
            Code::Busy => (StatusCode::TOO_MANY_REQUESTS, "busy", Some(1)),
            Code::TooManyRequests => (StatusCode::TOO_MANY_REQUESTS, "too_many_requests", Some(1)),
            Code::Mistake => (StatusCode::INTERNAL_SERVER_ERROR, "mistake", None),
            Code::Stopped => (StatusCode::SERVICE_UNAVAILABLE, "stopped", None),
            Code::StoreAway => (StatusCode::SERVICE_UNAVAILABLE, "store_away", Some(5)),
            Code::TooSlow => (StatusCode::SERVICE_UNAVAILABLE, "too_slow", Some(1)),
        }
    }
}

impl Code {
    /// As answers have it.
    pub fn name(self) -> &'static str {
        self.row().1
    }
}

/// Why a request is not answered.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    code: Code,
    message: String,
    hint: String,
    /// The seconds after which to try again, if they are known better than by the code.
    retry: Option<u64>,
}

impl Problem {
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Problem { code, message: message.into(), hint: hint.into(), retry: None }
    }

    /// The same where it is known when it is worth trying again.
    pub fn retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Problem { retry: Some(seconds), ..self }
    }

    /// What kind it is, as answers have it.
    pub fn code(&self) -> &'static str {
        self.code.name()
    }

    /// The answer to a request.
    pub fn body(&self, request_id: &str) -> Body {
        let Problem { message, hint, .. } = self;
        let error =
            json!({ "code": self.code(), "message": message, "hint": hint, "request_id": request_id });
        json!({ "error": error }).to_string().into()
    }

    /// Something that should not happen.
    pub fn mistake() -> Self {
        let message = "a mistake in meno itself; other requests are not affected";
        Problem::new(Code::Mistake, message, "please report it with the request that you sent")
    }
}

impl From<meno_store::Error> for Problem {
    fn from(error: meno_store::Error) -> Self {
        use meno_store::Error;
        let code = match &error {
            Error::NoConcept { .. } => Code::NotFound,
            Error::NotYours { .. } => Code::Forbidden,
            Error::Conflict { .. } => Code::Conflict,
            Error::Full { .. } => Code::OverQuota,
            Error::Engine(_) => Code::BadConcept,
            // What the store is called and what its database says is for the log, not for callers.
            Error::Busy { .. } => {
                return Problem::new(Code::Busy, "the store is busy", "try again in a moment");
            }
            Error::NotScrubbed { .. } => {
                let message = "what was erased is still on the disk of the store: others read there";
                return Problem::new(Code::Busy, message, error.hint().unwrap_or_default());
            }
            Error::Database { .. } => {
                warn(error);
                return Problem::away("the store failed");
            }
            _ => return Problem::away("the store cannot be reached"),
        };
        Problem::new(code, error.to_string(), error.hint().unwrap_or_default())
    }
}

impl Problem {
    fn away(message: &str) -> Self {
        let hint = "what is known is still answered; try again when the store is back";
        Problem::new(Code::StoreAway, message, hint)
    }
}

/// Without a body yet: whoever knows the request writes it.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, _, retry) = self.code.row();
        let mut response = reply::json(status, Body::empty());
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry.or(retry.map(u64::from)) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::NoToken {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}
