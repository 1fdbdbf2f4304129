//! For those who run the server: whether it is alive, whether it can answer, what it counted.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::access::{Known, Right};
use crate::problem::Problem;
use crate::{App, reply, schema};

/// Whether the server is alive
#[utoipa::path(get, path = "/healthz", responses((status = 200, description = "It is", body = String)))]
pub(crate) async fn alive() -> Response {
    reply::typed(StatusCode::OK, "text/plain; charset=utf-8", "alive\n")
}

/// Whether the server can answer, and learn
#[utoipa::path(
    get,
    path = "/readyz",
    responses((status = 200, description = "It can; perhaps it cannot learn", body = schema::Ready))
)]
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Response {
    let ready = match app.memory.trouble() {
        None => json!({ "ready": true, "learning": true }),
        // What a database says of itself is for the log, not for everybody.
        Some(_) => {
            json!({ "ready": true, "learning": false, "reason": "the store cannot be reached or written to" })
        }
    };
    reply::value(StatusCode::OK, &ready)
}

/// What was counted, as Prometheus reads it
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "Counts", body = String)))]
pub(crate) async fn metrics(State(app): State<Arc<App>>, Known(caller): Known) -> Result<Response, Problem> {
    // They tell of everybody.
    caller.demand(Right::Metrics)?;
    let text = app.metrics.render(&app);
    Ok(reply::typed(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text))
}
