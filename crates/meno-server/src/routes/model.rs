//! `/v1/model`: what answers, and another one in its place.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use meno::Result as Reading;
use serde_json::json;
use tokio::sync::oneshot;

use crate::access::{By, Right};
use crate::audit::Deed;
use crate::engine::Loaded;
use crate::problem::{Code, Problem};
use crate::trail::Trail;
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
/// Requests under way are answered by the old model. A file that cannot be read leaves the old model.
#[utoipa::path(
    post,
    path = "/v1/model/reload",
    responses((status = 200, description = "The new model", body = schema::ModelInfo))
)]
pub(crate) async fn load(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
) -> Result<Response, Problem> {
    caller.demand(Right::Admin)?;
    let loaded = again(&app, trail, Code::BadModel, App::reload_model).await?;
    Ok(told(&app, &loaded))
}

/// Read the certificate and its key again
///
/// Who connects from now on is shown the new one. Files that cannot be read leave the old one.
#[utoipa::path(
    post,
    path = "/v1/certificate/reload",
    responses((status = 200, description = "How many there are", body = schema::access::CertificateInfo))
)]
pub(crate) async fn load_certificate(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
) -> Result<Response, Problem> {
    caller.demand(Right::Admin)?;
    let certificates = again(&app, trail, Code::BadCertificate, App::reload_certificate).await?;
    Ok(reply::value(StatusCode::OK, &json!({ "certificates": certificates })))
}

/// Reads something again on a thread of its own, which waits for nothing else, and writes it down.
pub(super) async fn again<T: Send + 'static>(
    app: &Arc<App>,
    trail: Arc<Trail>,
    code: Code,
    read: impl FnOnce(&App) -> Reading<T> + Send + 'static,
) -> Result<T, Problem> {
    let (app, (sender, receiver)) = (app.clone(), oneshot::channel());
    std::thread::spawn(move || {
        let read = read(&app);
        let deed = Deed::new("reload", None, &[], 200);
        match &read {
            Ok(_) => app.record(&trail, deed),
            Err(_) => app.record(&trail, Deed { code: Some(code.name()), status: Some(422), ..deed }),
        }
        sender.send(read).is_ok()
    });
    let read = receiver.await.map_err(|_| Problem::mistake())?;
    read.map_err(|error| Problem::new(code, error.to_string(), error.hint().unwrap_or_default()))
}

fn told(app: &App, loaded: &Loaded) -> Response {
    let model = &loaded.model;
    let policy = model.policy();
    let trust =
        policy.trust.as_ref().map(|trust| json!({ "act_from": trust.act_from, "asked": trust.asked }));
    let book = app.assistant().book.clone().describing(model.description());
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
