//! `/v1/owners`: everything that there is about one of them, to be taken out or away.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use meno::memory::Owner;
use meno_store::{OwnJournal, Query, Scope};
use serde_json::json;

use crate::access::{By, Caller, Right, known_owner, name as name_of};
use crate::audit::Deed;
use crate::extract::blocking;
use crate::problem::Problem;
use crate::stream::{self, Pages};
use crate::trail::Trail;
use crate::{App, reply, schema};

/// Concepts or rows of the journal on a page, and the bytes after which it ends.
const PAGE: u64 = 1000;
const PAGE_BYTES: u64 = 1 << 20;

/// The owner of a name, if the caller may speak for it: its own, or any for an admin.
fn demand_owner(caller: &Caller, name: &str, right: Right) -> Result<Owner, Problem> {
    let named = known_owner(name)?;
    caller.demand(if named == caller.owner && named != Owner::Everyone { right } else { Right::Admin })?;
    Ok(named)
}

/// Take out everything that there is about an owner
///
/// Lines of JSON: `{\"concept\": ...}` for what the owner was taught, then `{\"change\": ...}` for each row of the journal.
/// Dialogues under way are not part of it: they are in no store. A token takes out its own owner, an admin any.
#[utoipa::path(
    get,
    path = "/v1/owners/{owner}",
    params(("owner" = String, Path, description = "The owner, or `everyone`")),
    responses((status = 200, description = "Lines of JSON", body = String, content_type = "application/x-ndjson"))
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    By(caller): By,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let owner = demand_owner(&caller, &name, Right::Read)?;
    let (own, scope) = (owner.clone(), Scope::own(owner.clone()));
    let concepts = Pages::new(app.clone(), move |app, after| {
        let query = Query { after, limit: PAGE, bytes: PAGE_BYTES, ..Query::default() };
        let page = app.memory.list(&scope, &query)?;
        let next = page.last().map(|concept| concept.id);
        let page = page.into_iter().filter(|concept| concept.owner == own);
        Ok((page.map(|concept| json!({ "concept": concept })).collect(), next))
    });
    let own = Mutex::new(OwnJournal::default());
    let journal = Pages::new(app, move |app, after| {
        let page = app.memory.journal(&owner, after, PAGE)?;
        let next = page.last().map(|row| row.seq);
        let mut own = own.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((page.into_iter().map(|row| json!({ "change": own.row(row) })).collect(), next))
    });
    stream::lines(vec![concepts, journal]).await
}

/// Forget everything about an owner: concepts, the journal of their changes, and dialogues under way
///
/// It cannot be undone. What it leaves on the disk of the store is overwritten at once; where an owner, not an admin, asks for it again within ten
/// minutes, traces may stay until these are over. While others read there, for example a backup, it is refused as busy after it is gone from all
/// answers, and is to be asked for again. A token erases its own owner, an admin any.
#[utoipa::path(
    delete,
    path = "/v1/owners/{owner}",
    params(("owner" = String, Path, description = "The owner, or `everyone`")),
    responses((status = 200, description = "What was there", body = schema::Erased))
)]
pub(crate) async fn erase(
    State(app): State<Arc<App>>,
    By(caller): By,
    Extension(trail): Extension<Arc<Trail>>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let owner = demand_owner(&caller, &name, Right::Teach)?;
    let sessions = app.sessions.end_all(&owner);
    let scope = match caller.is_admin() {
        true => Scope::admin(name_of(&caller.owner)),
        false => Scope::own(owner.clone()),
    };
    let erase = move |app: &App| {
        let erased = app.memory.erase(&scope, &owner);
        let status = if erased.is_ok() { 200 } else { 429 };
        if matches!(erased, Ok(_) | Err(meno_store::Error::NotScrubbed { .. })) {
            app.record(&trail, Deed::new("erase", Some(name_of(&owner)), &[], status));
        }
        Ok(erased?)
    };
    let erased = blocking(&app, erase).await?;
    let erased = json!({ "concepts": erased.concepts, "changes": erased.changes, "sessions": sessions });
    Ok(reply::value(StatusCode::OK, &erased))
}
