//! `/v1/dialogue`: turns of a conversation that asks, learns and remembers.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use meno_store::Change;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::annotate::{self, ShapeName};
use super::concepts::ids;
use crate::access::{By, Right, name as name_of};
use crate::audit::Deed;
use crate::engine::{Context, Turn as QueueTurn};
use crate::extract::{Json, Name, demand_short};
use crate::problem::{Code, Problem};
use crate::trail::Trail;
use crate::{App, reply, schema, turns};

/// The longest name of a session.
const MAX_NAME: usize = 64;

/// A turn.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TurnRequest {
    /// The dialogue, by a name that the client chooses.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$", example = "kitchen-1")]
    session: String,
    /// What was said.
    #[schema(example = "play burpees and regrets")]
    text: String,
    /// When it is said, in RFC 3339, for what times and dates stand for; now if it is left out.
    #[serde(default)]
    #[schema(nullable = false, example = "2026-11-17T08:00:00+01:00")]
    now: Option<String>,
    /// The time zone of who says it.
    #[serde(default)]
    #[schema(nullable = false, example = "Europe/Berlin")]
    zone: Option<String>,
    /// How values are written.
    #[serde(default)]
    values: ShapeName,
    /// Above which uncertainty something is unknown, in place of the model's own threshold, for this turn.
    #[serde(default)]
    #[schema(nullable = false, example = 0.5)]
    threshold: Option<f64>,
    /// From which confidence it acts, in place of the model's own, for this turn: the lower, the fewer questions.
    #[serde(default)]
    #[schema(nullable = false, minimum = 0, maximum = 1, example = 0.6)]
    act_from: Option<f64>,
}

/// As [`schema::Turn`].
#[derive(Serialize)]
struct Turn<'a> {
    session: &'a str,
    reply: &'a RawValue,
    annotation: &'a RawValue,
    concepts: Vec<u64>,
}

/// Take a turn
///
/// A session belongs to the owner of the token. It ends when nobody speaks for a while.
#[utoipa::path(
    post,
    path = "/v1/dialogue",
    request_body = TurnRequest,
    responses((status = 200, description = "What is said in return", body = schema::Turn))
)]
pub(crate) async fn turn(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
    Json(request): Json<TurnRequest>,
) -> Result<Response, Problem> {
    let TurnRequest { session: name, text, threshold, act_from, now, zone, values } = request;
    caller.demand(Right::Teach)?;
    demand_name(&name)?;
    demand_short(&app, "the text", &text)?;
    let clock = app.clock(now.as_deref(), zone.as_deref())?;
    let said = app.said([text.as_str()]);
    let session = app.sessions.session(&caller.owner, &name, Instant::now());
    let mut state = session.lock().await;
    // A turn reads a text several times.
    let n_words = 4 * annotate::n_words(&text);
    app.access.charge(&caller, n_words);
    let (before, assistant, owner) = (state.clone(), app.assistant(), caller.owner.clone());
    let work = move |context: &mut Context<'_>| {
        // A dialogue reads some texts anew, so that what decides is best a part of the model.
        let by = |policy| context.worker.model().clone().with_policy(policy).worker();
        let mut other = annotate::policy(context, (threshold, act_from))?.map(by);
        let worker = other.as_mut().unwrap_or(&mut context.worker);
        let (mut turn, edits) = assistant.listen(worker, context.memory, &owner, before, &text);
        turn.resolve(context.worker.model(), values.into(), || clock.now());
        let mut annotation = Vec::new();
        annotate::write(&mut annotation, turn.heard, None);
        Ok::<_, Problem>((turn.state, raw(&turn.reply), annotation, edits))
    };
    let (after, reply, annotation, edits) =
        app.engine.run(QueueTurn::new(caller.id, n_words), work).await??;
    // If it cannot be learnt, the turn has not happened.
    let changes: Vec<Change> = match edits.is_empty() {
        true => Vec::new(),
        false => {
            let (scope, id) = (app.scope(&caller, None)?, caller.id);
            let edit = move |app: &App| {
                let changes = app.memory.edit(&scope, edits)?;
                let is_gone = changes.iter().all(|change| change.after.is_none());
                let action = if is_gone { "forget" } else { "teach" };
                app.record(&trail, Deed::new(action, Some(name_of(&caller.owner)), &ids(&changes), 200));
                Ok(changes)
            };
            turns::write(&app, id, 1, edit).await?
        }
    };
    *state = after;
    let annotation: Box<RawValue> = serde_json::from_slice(&annotation).expect("it was just written");
    let concepts =
        changes.iter().filter_map(|change| change.after.as_ref()).map(|concept| concept.id).collect();
    let turn = Turn { session: &name, reply: &reply, annotation: &annotation, concepts };
    Ok(said.with(reply::value(StatusCode::OK, &turn)))
}

/// End a dialogue
#[utoipa::path(
    delete,
    path = "/v1/dialogue/{session}",
    params(("session" = String, Path, description = "The dialogue", pattern = "^[A-Za-z0-9_-]{1,64}$")),
    responses((status = 204, description = "It is not there any more"))
)]
pub(crate) async fn end(
    State(app): State<Arc<App>>,
    By(caller): By,
    Name(name): Name,
) -> Result<Response, Problem> {
    caller.demand(Right::Teach)?;
    demand_name(&name)?;
    app.sessions.end(&caller.owner, &name);
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn demand_name(name: &str) -> Result<(), Problem> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_fit) {
        return Ok(());
    }
    let hint = "1 to 64 letters, digits, `_` and `-`";
    Err(Problem::new(Code::WrongShape, "this is no name of a session", hint))
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("replies are plain data")
}
