//! `/v1/tokens`: who may ask, for admins.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::model::again;
use crate::access::{By, Caller, Right, name};
use crate::problem::{Code, Problem};
use crate::trail::Trail;
use crate::{App, reply, schema, turns};

/// List the tokens that are known, and what was done with them since the server started
#[utoipa::path(
    get,
    path = "/v1/tokens",
    responses((status = 200, description = "The tokens, by the first digits of their hashes", body = schema::access::TokenList))
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
) -> Result<Response, Problem> {
    caller.demand(Right::Admin)?;
    let record = move |app: &App| {
        app.record_reading(&trail, Some("*"), &[]);
        Ok(())
    };
    turns::read(&app, caller.id, record).await?;
    let tokens: Vec<Value> = app.access.callers().iter().map(|caller| told(caller)).collect();
    Ok(reply::value(StatusCode::OK, &json!({ "tokens": tokens })))
}

fn told(caller: &Caller) -> Value {
    json!({
        "id": caller.token(),
        "owner": name(&caller.owner),
        "rights": caller.rights.iter().map(|right| right.name()).collect::<Vec<_>>(),
        "expires": caller.terms.expires.map(|expires| expires.to_string()),
        "rate": caller.terms.rate,
        "quota": caller.terms.quota,
        "last_used": caller.usage.last().map(|time| time.to_string()),
        "requests": caller.usage.n_requests(),
    })
}

/// Read the file of tokens again
///
/// Tokens that are not in it any more are not known from now on. A file that cannot be read leaves the old ones.
#[utoipa::path(
    post,
    path = "/v1/tokens/reload",
    responses((status = 200, description = "How many there are", body = schema::access::TokensInfo))
)]
pub(crate) async fn load(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
) -> Result<Response, Problem> {
    caller.demand(Right::Admin)?;
    let tokens = again(&app, trail, Code::BadTokens, App::reload_tokens).await?;
    Ok(reply::value(StatusCode::OK, &json!({ "tokens": tokens })))
}
