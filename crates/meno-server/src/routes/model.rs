//! `/v1/model`: what answers, and another one in its place.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use meno::Result as Loading;
use serde_json::json;

use crate::access::{By, Right};
use crate::engine::Loaded;
use crate::extract::blocking;
use crate::problem::{Code, Problem};
use crate::{App, reply, schema};

/// Show the model that answers
#[utoipa::path(
    get,
    path = "/v1/model",
    responses((status = 200, description = "The model", body = schema::ModelInfo))
)]
pub(crate) async fn show(State(app): State<Arc<App>>, By(caller): By) -> Result<Response, Problem> {
    caller.demand(Right::Read)?;
    Ok(told(&app, &app.engine.model()))
}

/// Load the model file again
///
/// Requests under way are answered by the old model. A file that cannot be read leaves everything as it is.
#[utoipa::path(
    post,
    path = "/v1/model/reload",
    responses((status = 200, description = "The new model", body = schema::ModelInfo))
)]
pub(crate) async fn load(State(app): State<Arc<App>>, By(caller): By) -> Result<Response, Problem> {
    caller.demand(Right::Admin)?;
    let loaded = blocking(&app, |app| {
        reload(app).map_err(|error| {
            let hint = error.hint().unwrap_or_default().to_owned();
            Problem::new(Code::BadModel, error.to_string(), hint)
        })
    })
    .await?;
    Ok(told(&app, &loaded))
}

/// Reads the model and the tokens again; what cannot be read leaves everything as it is.
pub(crate) fn reload(app: &App) -> Loading<Arc<Loaded>> {
    let loaded = Loaded::read(&app.config.model)?;
    app.access.reload()?;
    Ok(app.engine.renew(loaded))
}

fn told(app: &App, loaded: &Loaded) -> Response {
    let model = &loaded.model;
    let policy = model.policy();
    let trust =
        policy.trust.as_ref().map(|trust| json!({ "act_from": trust.act_from, "asked": trust.asked }));
    let book = app.assistant.book.clone().describing(model.description());
    let (architecture, recipe) =
        if policy.is_span_level() { ("span-tagger", "tagger") } else { ("slot-gated", "paper") };
    let info = json!({
        "architecture": architecture,
        "recipe": recipe,
        "slots": model.slots(),
        "intents": model.features().intents.names().iter().filter(|name| !name.is_empty()).collect::<Vec<_>>(),
        "threshold": policy.named_threshold(),
        "reject": policy.reject,
        "trust": trust,
        "description": book.description(),
        "record": model.record(),
        "file": loaded.file,
        "size": loaded.size,
        "loaded": loaded.time,
        "generation": loaded.generation,
        "version": env!("CARGO_PKG_VERSION"),
    });
    reply::value(StatusCode::OK, &info)
}
