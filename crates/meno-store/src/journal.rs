//! Changes that can be undone, and that other processes follow.

use std::collections::BTreeMap;

use meno::memory::{Concept, Draft, MAX_SLOTS, Owner, normal_form};

use crate::numbers::{self, ErasedOwner};
use crate::sql::{MOST_USES, Sql, Value, columns, from_json, size};
use crate::store::{Amendment, Change, Edit, Erased, Scope};
use crate::{Error, Result};

/// How many rows of the journal are kept for each owner, besides those of the last change.
const KEPT: u64 = 1_000;

/// The bytes that they may take, about; twice as many if small ones follow large ones.
const KEPT_BYTES: u64 = 8 << 20;

/// Smaller rows are not that many bytes together.
const LARGE: usize = (KEPT_BYTES / KEPT) as usize;

/// The owner of rows that tell that concepts are gone, and nothing of them.
const NOBODY: &str = "*";

/// What was added to the totals of an owner, less what was taken away.
#[derive(Default)]
struct Added {
    concepts: i64,
    bytes: i64,
    /// The last number that was given to a concept; 0 if none was.
    given: u64,
}

/// One change that is being made.
pub(crate) struct Batch<'a> {
    sql: &'a mut dyn Sql,
    scope: &'a Scope,
    number: u64,
    /// The batch that this one takes back; 0 for none.
    undoes: u64,
    time: u64,
    /// How many rows of the journal it has so far, and the bytes of the largest of them.
    written: u64,
    largest: usize,
    /// The owners whose concepts were changed, with what that added to their totals.
    touched: BTreeMap<String, Added>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(sql: &'a mut dyn Sql, scope: &'a Scope, time: u64) -> Result<Self> {
        let number = sql.number("SELECT coalesce(max(batch), 0) + 1 FROM meno_changes", &[])?;
        Ok(Batch { sql, scope, number, undoes: 0, time, written: 0, largest: 0, touched: BTreeMap::new() })
    }

    /// Makes all edits, or none if one fails.
    pub(crate) fn edit(mut self, edits: Vec<Edit>) -> Result<Vec<Change>> {
        let changes = edits.into_iter().map(|edit| self.one(edit)).collect::<Result<Vec<_>>>()?;
        self.finish()?;
        Ok(changes)
    }

    fn one(&mut self, edit: Edit) -> Result<Change> {
        match edit {
            Edit::Add(draft) => {
                let time = self.time;
                self.add(draft, time, time, 0)
            }
            Edit::Import(concept) => {
                let Concept { phrase, slot, value, owner, source, created, updated, uses, .. } = *concept;
                self.add(Draft { phrase, slot, value, owner, source }, created, updated, uses)
            }
            Edit::Amend { id, to } => self.amend(id, to),
            Edit::Remove { id } => {
                let before = self.own(id)?;
                self.record(Change { before: Some(before), after: None })
            }
        }
    }

    /// Adds a concept, or changes the one of the same owner, phrase and slot.
    fn add(&mut self, draft: Draft, created: u64, updated: u64, uses: u64) -> Result<Change> {
        let normal = draft.check()?;
        if !self.scope.changes(&draft.owner) {
            let owner = draft.owner.user().unwrap_or("everyone").to_owned();
            let problem = format!("{} cannot teach for {owner}", self.scope.actor());
            return Err(Error::Conflict { problem });
        }
        let before = self.by_key(&draft.owner, &normal, &draft.slot)?;
        if before.is_none() {
            self.demand_room(&draft.owner, &normal)?;
        }
        let Draft { phrase, slot, value, owner, source } = draft;
        let after = match &before {
            Some(before) => Concept { phrase, value, source, updated, ..before.clone() },
            None => {
                let uses = uses.min(MOST_USES);
                Concept { id: 0, phrase, normal, slot, value, owner, source, created, updated, uses }
            }
        };
        self.record(Change { before, after: Some(after) })
    }

    fn amend(&mut self, id: u64, to: Amendment) -> Result<Change> {
        let before = self.own(id)?;
        let draft = Draft {
            phrase: to.phrase.unwrap_or_else(|| before.phrase.clone()),
            slot: to.slot.unwrap_or_else(|| before.slot.clone()),
            value: to.value.unwrap_or_else(|| before.value.clone()),
            owner: before.owner.clone(),
            source: before.source.clone(),
        };
        let normal = draft.check()?;
        if let Some(other) = self.by_key(&draft.owner, &normal, &draft.slot)?.filter(|other| other.id != id) {
            let problem = format!("concept {} is already the {} `{}`", other.id, other.slot, other.phrase);
            return Err(Error::Conflict { problem });
        }
        if normal != before.normal {
            self.demand_room(&draft.owner, &normal)?;
        }
        let Draft { phrase, slot, value, .. } = draft;
        let after = Concept { phrase, normal, slot, value, updated: self.time, ..before.clone() };
        self.record(Change { before: Some(before), after: Some(after) })
    }

    /// Refuses one more slot of a phrase that has as many as are found.
    fn demand_room(&mut self, owner: &Owner, normal: &str) -> Result<()> {
        let count = "SELECT count(*) FROM meno_concepts WHERE owner = $1 AND normal = $2";
        let n = self.sql.number(count, &[owner.user().unwrap_or("").into(), normal.into()])?;
        if n < MAX_SLOTS as u64 {
            return Ok(());
        }
        let problem = format!("the phrase `{normal}` has {n} slots already");
        Err(meno::Error::Concept { problem, hint: "forget one of them first".to_owned() }.into())
    }

    /// Takes back the last change of this actor that was not taken back yet, if all of it is within the scope.
    pub(crate) fn undo(mut self) -> Result<Vec<Change>> {
        self.undoes = self.sql.number(
            "SELECT coalesce(max(batch), 0) FROM meno_changes AS c WHERE undoes = 0 AND role = $1 AND actor = $2
               AND NOT EXISTS (SELECT 1 FROM meno_changes AS u WHERE u.undoes = c.batch)
               AND ($3 = 'all' OR NOT EXISTS (SELECT 1 FROM meno_changes AS o WHERE o.batch = c.batch AND o.owner <> $4))",
            &[
                self.scope.role().into(),
                self.scope.actor().into(),
                self.scope.kind().into(),
                self.scope.owner_name().into(),
            ],
        )?;
        let mut rows: Vec<(Option<String>, Option<String>)> = Vec::new();
        self.sql.query(
            "SELECT was, became FROM meno_changes WHERE batch = $1 AND batch > 0 ORDER BY seq DESC",
            &[self.undoes.into()],
            &mut |row| {
                rows.push((row.text(0)?.map(str::to_owned), row.text(1)?.map(str::to_owned)));
                Ok(())
            },
        )?;
        let mut changes = Vec::with_capacity(rows.len());
        for (was, became) in rows {
            changes.push(self.take_back(parse(was)?, parse(became)?)?);
        }
        self.finish()?;
        Ok(changes)
    }

    fn take_back(&mut self, was: Option<Concept>, became: Option<Concept>) -> Result<Change> {
        let id = was.as_ref().or(became.as_ref()).map_or(0, |concept| concept.id);
        let now = self.by_id(id)?;
        // Uses are counted outside the journal.
        let uses = now.as_ref().map_or(0, |now| now.uses);
        let counted = |concept: Option<Concept>| concept.map(|concept| Concept { uses, ..concept });
        if now != counted(became) {
            let problem = format!("concept {id} was changed since, so the change before cannot be undone");
            return Err(Error::Conflict { problem });
        }
        let after = if now.is_some() { counted(was) } else { was };
        if let Some(after) = &after
            && let Some(other) = self.by_key(&after.owner, &after.normal, &after.slot)?
            && other.id != id
        {
            let problem = format!("concept {} is already the {} `{}`", other.id, other.slot, other.phrase);
            return Err(Error::Conflict { problem });
        }
        self.record(Change { before: now, after })
    }

    /// The concept, if the scope may change it.
    fn own(&mut self, id: u64) -> Result<Concept> {
        // Whether there is none or somebody else's is not to be told, nor by the time that it takes.
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM meno_concepts WHERE id = $1 AND ($2 = 'all' OR owner = '' OR owner = $3)"
        );
        let values = [id.into(), self.scope.kind().into(), self.scope.owner_name().into()];
        let concept = self.sql.concepts(sql, &values)?.pop().ok_or(Error::NoConcept { id })?;
        if !self.scope.changes(&concept.owner) {
            let owner = concept.owner.user().unwrap_or("everyone").to_owned();
            return Err(Error::NotYours { id, owner });
        }
        Ok(concept)
    }

    fn by_id(&mut self, id: u64) -> Result<Option<Concept>> {
        let sql = concat!("SELECT ", columns!(), " FROM meno_concepts WHERE id = $1");
        Ok(self.sql.concepts(sql, &[id.into()])?.pop())
    }

    fn by_key(&mut self, owner: &Owner, normal: &str, slot: &str) -> Result<Option<Concept>> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM meno_concepts WHERE owner = $1 AND normal = $2 AND slot = $3"
        );
        let owner = owner.user().unwrap_or("");
        Ok(self.sql.concepts(sql, &[owner.into(), normal.into(), slot.into()])?.pop())
    }

    /// Takes away all that there is of an owner. The numbers of the concepts stay, for those who follow the journal.
    pub(crate) fn erase(mut self, owner: &Owner) -> Result<Erased> {
        let name = owner.user().unwrap_or("");
        let mut ids = Vec::new();
        self.sql.query("SELECT id FROM meno_concepts WHERE owner = $1", &[name.into()], &mut |row| {
            ids.push(row.number(0)?);
            Ok(())
        })?;
        let changes =
            self.sql.number("SELECT count(*) FROM meno_changes WHERE owner = $1", &[name.into()])?;
        let last = self
            .sql
            .number("SELECT coalesce(max(seq), 0) FROM meno_changes WHERE owner = $1", &[name.into()])?;
        for sql in [
            "DELETE FROM meno_concepts WHERE owner = $1",
            "DELETE FROM meno_changes WHERE owner = $1",
            "DELETE FROM meno_owners WHERE owner = $1 AND owner <> ''",
            // Everyone goes on counting, for all know these numbers.
            "UPDATE meno_owners SET concepts = 0, bytes = 0 WHERE owner = $1",
        ] {
            self.sql.execute(sql, &[name.into()])?;
        }
        raise_trimmed(self.sql, last)?;
        for id in ids.iter().copied().chain([ErasedOwner::new(owner).number()]) {
            self.write_down(NOBODY, id, [None, None])?;
        }
        if !ids.is_empty() || changes > 0 {
            self.sql.execute("UPDATE meno_meta SET value = value + 1 WHERE name = 'unscrubbed'", &[])?;
        }
        self.touched.insert(NOBODY.to_owned(), Added::default());
        self.finish()?;
        Ok(Erased { concepts: ids.len() as u64, changes })
    }

    /// Keeps the totals of the owners, and refuses what is more than one may have.
    fn count(&mut self) -> Result<()> {
        let grown = |added: &Added| (added.concepts, added.bytes, added.given) != (0, 0, 0);
        for (owner, added) in self.touched.iter().filter(|(_, added)| grown(added)) {
            let owner = Value::from(owner.as_str());
            let values = [owner, Value::Int(added.concepts), Value::Int(added.bytes), added.given.into()];
            self.sql.execute(
                "INSERT INTO meno_owners (owner, concepts, bytes, given) VALUES ($1, $2, $3, $4) ON CONFLICT (owner)
                   DO UPDATE SET concepts = meno_owners.concepts + $2, bytes = meno_owners.bytes + $3,
                   given = CASE WHEN $4 = 0 THEN meno_owners.given ELSE $4 END",
                &values,
            )?;
            let Some(quota) = self.scope.quota() else { continue };
            for (sql, what, limit, added) in [
                (
                    "SELECT concepts FROM meno_owners WHERE owner = $1",
                    "concepts",
                    quota.concepts,
                    added.concepts,
                ),
                ("SELECT bytes FROM meno_owners WHERE owner = $1", "bytes", quota.bytes, added.bytes),
            ] {
                if added > 0 && self.sql.number(sql, &[owner])? > limit {
                    return Err(Error::Full { what, limit });
                }
            }
        }
        Ok(())
    }

    /// Does a change and writes it down.
    fn record(&mut self, mut change: Change) -> Result<Change> {
        match (&change.before, &mut change.after) {
            (None, Some(after)) => {
                // One that comes back has its old number.
                if after.id == 0 {
                    after.id = self.give(after.owner.user().unwrap_or(""))?;
                }
                insert(self.sql, after)?;
            }
            (Some(_), Some(after)) => update(self.sql, after)?,
            (Some(before), None) => {
                self.sql.execute("DELETE FROM meno_concepts WHERE id = $1", &[before.id.into()])?;
            }
            (None, None) => {}
        }
        let [was, became] = [&change.before, &change.after].map(|concept| concept.as_ref().map(to_json));
        if let Some(concept) = change.before.as_ref().or(change.after.as_ref()) {
            let owner = concept.owner.user().unwrap_or("");
            self.write_down(owner, concept.id, [was.as_deref(), became.as_deref()])?;
            let of = |concept: &Option<Concept>| concept.as_ref().map_or((0, 0), |of| (1, size(of) as i64));
            let ((n_before, bytes_before), (n, bytes)) = (of(&change.before), of(&change.after));
            let added = self.touched.entry(owner.to_owned()).or_default();
            added.concepts += n - n_before;
            added.bytes += bytes - bytes_before;
        }
        Ok(change)
    }

    /// A number for a new concept of an owner.
    fn give(&mut self, owner: &str) -> Result<u64> {
        let added = self.touched.entry(owner.to_owned()).or_default();
        if added.given == 0 {
            added.given =
                self.sql.number("SELECT given FROM meno_owners WHERE owner = $1", &[owner.into()])?;
        }
        added.given = numbers::next(self.sql, owner, added.given)?;
        Ok(added.given)
    }

    fn write_down(&mut self, owner: &str, id: u64, [was, became]: [Option<&str>; 2]) -> Result<()> {
        self.written += 1;
        self.largest = self.largest.max(was.map_or(0, str::len) + became.map_or(0, str::len));
        self.sql.execute(
            "INSERT INTO meno_changes (batch, undoes, role, actor, owner, concept, was, became, time)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            &[
                self.number.into(),
                self.undoes.into(),
                self.scope.role().into(),
                self.scope.actor().into(),
                owner.into(),
                id.into(),
                was.into(),
                became.into(),
                self.time.into(),
            ],
        )
    }

    /// Counts what was done, and drops old rows of those whose concepts were changed: what was deleted long ago is to be forgotten, and nobody's changes
    /// push out those of others.
    fn finish(mut self) -> Result<()> {
        self.count()?;
        for owner in std::mem::take(&mut self.touched).into_keys() {
            let last = self.last_of_too_many(&owner)?.max(self.last_of_too_much(&owner)?);
            if last > 0 {
                let values = [owner.as_str().into(), last.into()];
                self.sql.execute("DELETE FROM meno_changes WHERE owner = $1 AND seq <= $2", &values)?;
                raise_trimmed(self.sql, last)?;
            }
        }
        Ok(())
    }

    /// The last of the rows of an owner that are too many; 0 if there is none.
    fn last_of_too_many(&mut self, owner: &str) -> Result<u64> {
        // A small change does not wait until all of a large one is dropped, but more is dropped than is written.
        let at_most = KEPT + 2 * self.written;
        self.sql.number(
            "SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM meno_changes WHERE owner = $1 AND batch < $2
               AND seq <= (SELECT seq FROM meno_changes WHERE owner = $1 ORDER BY seq DESC LIMIT 1 OFFSET $3)
               ORDER BY seq LIMIT $4) AS old",
            &[owner.into(), self.number.into(), KEPT.into(), at_most.into()],
        )
    }

    /// The last of the rows of an owner that are too many bytes with those after them; 0 if there is none.
    fn last_of_too_much(&mut self, owner: &str) -> Result<u64> {
        if self.largest <= LARGE {
            return Ok(0);
        }
        self.sql.number(
            "SELECT coalesce(max(seq), 0) FROM (SELECT seq, batch, sum(octet_length(coalesce(was, ''))
               + octet_length(coalesce(became, ''))) OVER (ORDER BY seq DESC) AS bytes
               FROM meno_changes WHERE owner = $1) AS sizes WHERE batch < $2 AND bytes > $3",
            &[owner.into(), self.number.into(), KEPT_BYTES.into()],
        )
    }
}

/// Drops all rows from before a time.
pub(crate) fn drop_before(sql: &mut dyn Sql, time: u64) -> Result<()> {
    let last =
        sql.number("SELECT coalesce(max(seq), 0) FROM meno_changes WHERE time < $1", &[time.into()])?;
    if last > 0 {
        sql.execute("DELETE FROM meno_changes WHERE time < $1", &[time.into()])?;
        raise_trimmed(sql, last)?;
    }
    Ok(())
}

/// Whoever has not seen this row of the journal reads everything anew.
fn raise_trimmed(sql: &mut dyn Sql, last: u64) -> Result<()> {
    sql.execute("UPDATE meno_meta SET value = $1 WHERE name = 'trimmed' AND value < $1", &[last.into()])
}

pub(crate) fn insert(sql: &mut dyn Sql, concept: &Concept) -> Result<()> {
    debug_assert_eq!(concept.normal, normal_form(&concept.phrase));
    let source = concept.source.as_ref().map(to_json);
    sql.execute(
        "INSERT INTO meno_concepts (id, phrase, normal, slot, value, owner, source, created, updated, uses)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &[
            concept.id.into(),
            concept.phrase.as_str().into(),
            concept.normal.as_str().into(),
            concept.slot.as_str().into(),
            concept.value.as_deref().into(),
            concept.owner.user().unwrap_or("").into(),
            source.as_deref().into(),
            concept.created.into(),
            concept.updated.into(),
            concept.uses.into(),
        ],
    )
}

fn update(sql: &mut dyn Sql, concept: &Concept) -> Result<()> {
    let source = concept.source.as_ref().map(to_json);
    sql.execute(
        "UPDATE meno_concepts SET phrase = $1, normal = $2, slot = $3, value = $4, source = $5, updated = $6
           WHERE id = $7",
        &[
            concept.phrase.as_str().into(),
            concept.normal.as_str().into(),
            concept.slot.as_str().into(),
            concept.value.as_deref().into(),
            source.as_deref().into(),
            concept.updated.into(),
            concept.id.into(),
        ],
    )
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("concepts are plain data")
}

fn parse(text: Option<String>) -> Result<Option<Concept>> {
    text.map(|text| from_json(&text, "the journal")).transpose()
}
