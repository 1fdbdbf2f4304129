//! `/v1/owners`: everything that there is about one of them, to be taken out or away.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::Response;
use meno::memory::Owner;
use meno_store::{OwnJournal, Scope};
use serde_json::json;

use super::concepts::page;
use crate::access::{By, Caller, Right, known_owner, name as name_of};
use crate::audit::Deed;
use crate::extract::Name;
use crate::problem::Problem;
use crate::stream::{self, Pages};
use crate::trail::Trail;
use crate::{App, reply, schema, turns};

/// Rows of the journal that are read at a time.
const ROWS: u64 = 250;

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
    Extension(trail): Extension<Arc<Trail>>,
    Name(name): Name,
) -> Result<Response, Problem> {
    let owner = demand_owner(&caller, &name, Right::Read)?;
    let (own, scope) = (owner.clone(), Scope::own(owner.clone()));
    let room = stream::room(&app, caller.id)?;
    let other = caller.other(Some(&name));
    let concepts = Pages::new(app.clone(), caller.id, move |app, after| {
        let (page, next) = page(app, &scope, after)?;
        if after == 0 {
            app.record_reading(&trail, other.as_deref(), &[]);
        }
        let page = page.into_iter().filter(|concept| concept.owner == own);
        Ok(stream::page(page.map(|concept| (concept.id, json!({ "concept": concept }))), next))
    });
    let own = Mutex::new(OwnJournal::default());
    let journal = Pages::new(app, caller.id, move |app, after| {
        let rows = app.memory.journal(&owner, after, ROWS)?;
        let next = rows.last().map(|row| row.seq);
        let mut own = own.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(stream::page(rows.into_iter().map(|row| (row.seq, json!({ "change": own.row(row) }))), next))
    });
    stream::lines(room, vec![concepts, journal]).await
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
    Name(name): Name,
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
    let erased = turns::write(&app, caller.id, 1, erase).await?;
    let erased = json!({ "concepts": erased.concepts, "changes": erased.changes, "sessions": sessions });
    Ok(reply::value(StatusCode::OK, &erased))
}
