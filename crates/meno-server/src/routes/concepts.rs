//! `/v1/concepts`: what was taught, listed, changed, taken out.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use meno::memory::{Concept, Draft};
use meno_store::{Amendment, Change, Edit, Query, Scope, now, read_concepts};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

use super::learnt;
use crate::access::{By, Right, name};
use crate::audit::Deed;
use crate::extract::{Json, JsonLines, Parameters};
use crate::problem::{Code, Problem};
use crate::stream::{self, Page, Pages};
use crate::trail::Trail;
use crate::{App, reply, schema, turns};

/// How many concepts a page has at most.
const MAX_PAGE: u64 = 1000;

/// So many lines are learnt at once, unless an admin imports them: nobody else teaches meanwhile.
const MAX_LINES: usize = 2000;

/// For whom an admin acts.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OwnerQuery {
    /// Only for admins: the owner for whom this is done; `everyone`, or `*` for all.
    owner: Option<String>,
}

/// Which concepts to list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Part of the phrase, the slot or the value.
    query: Option<String>,
    /// The slot.
    slot: Option<String>,
    /// Only numbers above this one: the `next` of the page before.
    after: Option<u64>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u64>,
    /// Only for admins: the owner for whom this is done; `everyone`, or `*` for all.
    owner: Option<String>,
}

/// List concepts, those of the owner and everyone's
#[utoipa::path(
    get,
    path = "/v1/concepts",
    params(ListQuery),
    responses((status = 200, description = "A page of concepts", body = schema::Page))
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
    Parameters(list): Parameters<ListQuery>,
) -> Result<Response, Problem> {
    caller.demand(Right::Read)?;
    let (scope, other) = (app.scope(&caller, list.owner.as_deref())?, caller.other(list.owner.as_deref()));
    let limit = list.limit.unwrap_or(100);
    if !(1..=MAX_PAGE).contains(&limit) {
        let message = format!("a page has 1 to {MAX_PAGE} concepts, not {limit}");
        return Err(Problem::new(Code::WrongShape, message, "take the next page with `after`"));
    }
    let [text, slot] = [list.query, list.slot].map(Option::unwrap_or_default);
    demand_no_null(&[&text, &slot])?;
    let query = Query { text, slot, after: list.after.unwrap_or(0), limit, bytes: stream::PIECE as u64 };
    let read = move |app: &App| {
        let (concepts, next) = app.memory.page(&scope, &query)?;
        app.record_reading(&trail, other.as_deref(), &[]);
        Ok(reply::value(StatusCode::OK, &json!({ "concepts": concepts, "next": next })))
    };
    turns::read(&app, caller.id, read).await
}

/// A concept to be learnt.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConceptRequest {
    /// The words, as they are said.
    #[schema(example = "burpees and regrets")]
    phrase: String,
    /// The slot that they fill.
    #[schema(example = "playlist")]
    slot: String,
    /// The known value that they are another name for.
    #[serde(default)]
    value: Option<String>,
    /// Only for admins: the owner for whom it is learnt.
    #[serde(default)]
    owner: Option<String>,
}

/// Learn a concept; one of the same words and slot is changed
#[utoipa::path(
    post,
    path = "/v1/concepts",
    request_body = ConceptRequest,
    responses((status = 201, description = "It is learnt, and on disk", body = schema::Concept))
)]
pub(crate) async fn teach(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
    Json(request): Json<ConceptRequest>,
) -> Result<Response, Problem> {
    caller.demand(Right::Teach)?;
    let scope = app.scope(&caller, request.owner.as_deref())?;
    let Some(owner) = scope.owner().cloned() else {
        let hint = "name an owner, or `everyone`";
        return Err(Problem::new(Code::WrongShape, "a concept has one owner", hint));
    };
    let ConceptRequest { phrase, slot, value, .. } = request;
    let draft = Draft { phrase, slot, value, owner, source: None };
    let learn = move |app: &App| {
        let concept = app.memory.learn(&scope, draft)?;
        app.record(&trail, Deed::new("teach", Some(name(&concept.owner)), &[concept.id], 201));
        Ok(concept)
    };
    let concept = turns::write(&app, caller.id, 1, learn).await?;
    Ok(reply::value(StatusCode::CREATED, &concept))
}

/// The number of a concept in an address.
type Id = Result<Path<u64>, PathRejection>;

fn number(id: Id) -> Result<u64, Problem> {
    id.map(|Path(id)| id).map_err(|_| {
        Problem::new(
            Code::NotFound,
            "there is no such concept",
            "concepts have numbers; GET /v1/concepts lists them",
        )
    })
}

/// Show a concept
#[utoipa::path(
    get,
    path = "/v1/concepts/{id}",
    params(("id" = u64, Path, description = "The number of the concept"), OwnerQuery),
    responses((status = 200, description = "The concept", body = schema::Concept))
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
    id: Id,
    Parameters(query): Parameters<OwnerQuery>,
) -> Result<Response, Problem> {
    caller.demand(Right::Read)?;
    let (id, scope) = (number(id)?, app.scope(&caller, query.owner.as_deref())?);
    let other = caller.other(query.owner.as_deref());
    let read = move |app: &App| {
        let concept = app.memory.concept(&scope, id)?;
        app.record_reading(&trail, other.as_deref(), &[id]);
        Ok(concept)
    };
    let concept = turns::read(&app, caller.id, read).await?;
    let concept = concept.ok_or(meno_store::Error::NoConcept { id })?;
    Ok(reply::value(StatusCode::OK, &concept))
}

/// What becomes of a concept; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AmendmentRequest {
    /// Other words.
    #[serde(default)]
    phrase: Option<String>,
    /// Another slot.
    #[serde(default)]
    slot: Option<String>,
    /// Another value that it is a name for, or null for none.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    value: Option<Option<String>>,
}

/// A field that is there, even if it is null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Change a concept
#[utoipa::path(
    patch,
    path = "/v1/concepts/{id}",
    params(("id" = u64, Path, description = "The number of the concept"), OwnerQuery),
    request_body = AmendmentRequest,
    responses((status = 200, description = "The concept as it is now", body = schema::Concept))
)]
pub(crate) async fn amend(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
    id: Id,
    Parameters(query): Parameters<OwnerQuery>,
    Json(request): Json<AmendmentRequest>,
) -> Result<Response, Problem> {
    caller.demand(Right::Teach)?;
    let (id, scope) = (number(id)?, app.scope(&caller, query.owner.as_deref())?);
    let AmendmentRequest { phrase, slot, value } = request;
    let to = Amendment { phrase, slot, value };
    let amend = move |app: &App| {
        let concept = app.memory.amend(&scope, id, to)?;
        app.record(&trail, Deed::new("edit", Some(name(&concept.owner)), &[id], 200));
        Ok(concept)
    };
    let concept = turns::write(&app, caller.id, 1, amend).await?;
    Ok(reply::value(StatusCode::OK, &concept))
}

/// Forget a concept
#[utoipa::path(
    delete,
    path = "/v1/concepts/{id}",
    params(("id" = u64, Path, description = "The number of the concept"), OwnerQuery),
    responses((status = 204, description = "It is forgotten"))
)]
pub(crate) async fn forget(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
    id: Id,
    Parameters(query): Parameters<OwnerQuery>,
) -> Result<Response, Problem> {
    caller.demand(Right::Teach)?;
    let (id, scope) = (number(id)?, app.scope(&caller, query.owner.as_deref())?);
    let remove = move |app: &App| {
        let concept = app.memory.remove(&scope, id)?;
        app.record(&trail, Deed::new("forget", Some(name(&concept.owner)), &[id], 204));
        Ok(())
    };
    turns::write(&app, caller.id, 1, remove).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Take back the owner's last change that was not taken back yet
#[utoipa::path(
    post,
    path = "/v1/concepts/undo",
    params(OwnerQuery),
    responses((status = 200, description = "What this changed", body = schema::Undone))
)]
pub(crate) async fn undo(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
    Parameters(query): Parameters<OwnerQuery>,
) -> Result<Response, Problem> {
    caller.demand(Right::Teach)?;
    let scope = app.scope(&caller, query.owner.as_deref())?;
    let undo = move |app: &App| {
        let changes = app.memory.undo(&scope)?;
        app.record(&trail, Deed::new("undo", Some(named(&scope)), &ids(&changes), 200));
        Ok(reply::value(StatusCode::OK, &json!({ "changes": changes })))
    };
    turns::write(&app, caller.id, 1, undo).await
}

/// What to export.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// Concepts, or the utterances in which they were learnt.
    #[serde(default, rename = "as")]
    #[param(inline)]
    form: Form,
    /// Only for admins: the owner for whom this is done; `everyone`, or `*` for all.
    owner: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Form {
    /// Lines of JSON, as `meno memory import` reads them.
    #[default]
    Jsonl,
    /// Lines of JSON with `tokens`, `ner_tags` and `intent`, to train on.
    Corpus,
}

/// Take out concepts, as they are or to train on
#[utoipa::path(
    get,
    path = "/v1/concepts/export",
    params(ExportQuery),
    responses((status = 200, description = "Lines of JSON", body = String, content_type = "application/x-ndjson"))
)]
pub(crate) async fn export(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
    Parameters(query): Parameters<ExportQuery>,
) -> Result<Response, Problem> {
    caller.demand(Right::Read)?;
    let scope = app.scope(&caller, query.owner.as_deref())?;
    let room = stream::room(&app, caller.id)?;
    if let other @ Some(_) = caller.other(query.owner.as_deref()) {
        let record = move |app: &App| {
            app.record_reading(&trail, other.as_deref(), &[]);
            Ok(())
        };
        turns::read(&app, caller.id, record).await?;
    }
    match query.form {
        Form::Jsonl => {
            let lines = Pages::new(app, caller.id, move |app, after| {
                let (concepts, next) = page(app, &scope, after)?;
                Ok(stream::page(concepts.iter().map(|concept| (concept.id, concept)), next))
            });
            stream::lines(room, vec![lines]).await
        }
        Form::Corpus => learnt::export(app, caller.id, room, scope).await,
    }
}

/// A page of all concepts that are seen, and after which the next begins.
pub(super) fn page(app: &App, scope: &Scope, after: u64) -> Result<Page<Vec<Concept>>, Problem> {
    let query = Query { after, limit: MAX_PAGE, bytes: stream::PIECE as u64, ..Query::default() };
    Ok(app.memory.page(scope, &query)?)
}

/// Learn many concepts at once, from lines as `export` gives them
///
/// All of them are learnt, or none; one undo takes them back. There are at most 2000, unless an admin sends them. They become the owner's; only an admin who acts for all, with
/// `owner=*`, keeps the owners that the lines name.
#[utoipa::path(
    post,
    path = "/v1/concepts/import",
    params(OwnerQuery),
    request_body(content = String, content_type = "application/x-ndjson", description = "Lines of JSON, each with `phrase` and `slot`"),
    responses((status = 200, description = "They are learnt, and on disk", body = schema::Imported))
)]
pub(crate) async fn import(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
    Parameters(query): Parameters<OwnerQuery>,
    JsonLines(text): JsonLines,
) -> Result<Response, Problem> {
    caller.demand(Right::Teach)?;
    let scope = app.scope(&caller, query.owner.as_deref())?;
    let n_lines = text.lines().count();
    if n_lines > MAX_LINES && !caller.is_admin() {
        let message = format!("there are {n_lines} lines, more than {MAX_LINES}");
        let hint = "send them in several requests, each of which is learnt by itself, or ask an admin";
        return Err(Problem::new(Code::TooMany, message, hint));
    }
    let n_lines = u32::try_from(n_lines).unwrap_or(u32::MAX);
    app.access.charge(&caller, n_lines);
    let import = move |app: &App| {
        let changes = app.memory.edit(&scope, lessons(&scope, &text)?)?;
        app.record(&trail, Deed::new("import", Some(named(&scope)), &ids(&changes), 200));
        let n_new = changes.iter().filter(|change| change.before.is_none()).count();
        Ok(reply::value(StatusCode::OK, &json!({ "concepts": changes.len(), "new": n_new })))
    };
    turns::write(&app, caller.id, n_lines, import).await
}

/// What lines of JSON teach.
fn lessons(scope: &Scope, text: &str) -> Result<Vec<Edit>, Problem> {
    let mut concepts = read_concepts("the file".as_ref(), text, now()).map_err(|error| {
        Problem::new(Code::BadConcept, error.to_string(), error.hint().unwrap_or_default())
    })?;
    if let Some(owner) = scope.owner() {
        concepts.iter_mut().for_each(|concept| concept.owner = owner.clone());
    }
    Ok(concepts.into_iter().map(|concept| Edit::Import(Box::new(concept))).collect())
}

/// Whose concepts are changed, for the audit log.
fn named(scope: &Scope) -> &str {
    scope.owner().map_or("*", name)
}

/// The concepts that changes are of.
pub(super) fn ids(changes: &[Change]) -> Vec<u64> {
    let concept = |change: &Change| Some(change.after.as_ref().or(change.before.as_ref())?.id);
    changes.iter().filter_map(concept).collect()
}

/// Refuses what PostgreSQL cannot compare.
fn demand_no_null(texts: &[&str]) -> Result<(), Problem> {
    match texts.iter().any(|text| text.contains('\0')) {
        true => Err(Problem::new(Code::WrongShape, "there is a null character in it", "take it out")),
        false => Ok(()),
    }
}
