//! The tables, and how those of older programs become those of this one.
//!
//! `meno_concepts` has the concepts; everyone is the owner `''`. `meno_owners` has how many each owner has, how many bytes they
//! take, and the last number that was given to one of them. `meno_changes` has the journal: a row for each concept that a change touched, as JSON before and after, with its
//! owner and with who changed it, by name and by role; the rows of one change share a `batch`; a row that takes back another
//! batch names it in `undoes`, which is 0 elsewhere. What was erased leaves the numbers of concepts alone, as rows of the owner
//! `*`; the first number of an owner's block, which no concept has, stands for the owner. `meno_meta` has the schema's version under
//! `schema`, under `trimmed` the last row that was dropped from the journal, under `identity` a number that tells this store from others,
//! under `file` one that stays whatever is restored, under `unscrubbed` how many times something was erased that may have left traces
//! on the disk, and under `scrubbed` when the tables were last written anew, in milliseconds since 1970.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use meno::memory::Concept;

use crate::numbers::BLOCK;
use crate::sql::{Sql, columns, from_json, size};
use crate::{Access, Error, Result};

/// The version of the tables that this program makes.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// A step from one version to the next.
enum Step {
    Make(&'static str),
    Fill(fn(&mut dyn Ddl) -> Result<()>),
}
use Step::{Fill, Make};

/// How each version becomes the next, from none on. Never changed once released: there are stores of every version.
const MIGRATIONS: [&[Step]; 5] = [
    &[
        Make("CREATE TABLE meno_concepts (id {serial}, phrase TEXT NOT NULL, normal TEXT NOT NULL, slot TEXT NOT NULL,
           value TEXT, owner TEXT NOT NULL, source TEXT, created BIGINT NOT NULL, updated BIGINT NOT NULL,
           uses BIGINT NOT NULL)"),
        Make("CREATE UNIQUE INDEX meno_concepts_key ON meno_concepts (owner, normal, slot)"),
        Make("CREATE TABLE meno_changes (seq {serial}, batch BIGINT NOT NULL, undoes BIGINT NOT NULL,
           actor TEXT NOT NULL, concept BIGINT NOT NULL, was TEXT, became TEXT, time BIGINT NOT NULL)"),
        Make("INSERT INTO meno_meta (name, value) VALUES ('trimmed', 0)"),
    ],
    // What undo looks for.
    &[
        Make("CREATE INDEX meno_changes_batch ON meno_changes (batch)"),
        Make("CREATE INDEX meno_changes_undoes ON meno_changes (undoes)"),
    ],
    &[
        Make("ALTER TABLE meno_changes ADD COLUMN role TEXT NOT NULL DEFAULT 'user'"),
        Make("ALTER TABLE meno_changes ADD COLUMN owner TEXT NOT NULL DEFAULT ''"),
        // Everyone and admins had the same empty name: nobody can tell whose these were, so nobody takes them back.
        Make("UPDATE meno_changes SET role = 'unknown' WHERE actor = ''"),
        Fill(fill_owners_of_changes),
        Make("CREATE INDEX meno_changes_owner ON meno_changes (owner, seq)"),
        Make("CREATE TABLE meno_owners (owner TEXT NOT NULL PRIMARY KEY, concepts BIGINT NOT NULL,
           bytes BIGINT NOT NULL)"),
        Fill(|sql| fill_owners(sql)),
        Fill(|sql| give_identity(sql)),
    ],
    // Numbers were counted for all owners together.
    &[
        Make("ALTER TABLE meno_owners ADD COLUMN given BIGINT NOT NULL DEFAULT 0"),
        Make("CREATE INDEX meno_owners_given ON meno_owners (given)"),
        Fill(|sql| leave_old_numbers(sql)),
    ],
    &[
        // What is dropped because it is old.
        Make("CREATE INDEX meno_changes_time ON meno_changes (time)"),
        Make("INSERT INTO meno_meta (name, value) VALUES ('unscrubbed', 0), ('scrubbed', 0)"),
        Fill(|sql| give_random(sql, "file")),
    ],
];

/// Says of each change whose concept it changed.
fn fill_owners_of_changes(sql: &mut dyn Ddl) -> Result<()> {
    let mut owners = Vec::new();
    let changes = "SELECT seq, coalesce(became, was) FROM meno_changes";
    sql.query(changes, &[], &mut |row| {
        if let Some(text) = row.text(1)? {
            let concept: Concept = from_json(text, "the journal")?;
            owners.push((row.number(0)?, concept.owner));
        }
        Ok(())
    })?;
    for (seq, owner) in owners.iter().filter_map(|(seq, owner)| Some((*seq, owner.user()?))) {
        sql.execute("UPDATE meno_changes SET owner = $1 WHERE seq = $2", &[owner.into(), seq.into()])?;
    }
    Ok(())
}

/// Counts the concepts of each owner.
pub(crate) fn fill_owners(sql: &mut dyn Sql) -> Result<()> {
    let mut owners: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    sql.query(concat!("SELECT ", columns!(), " FROM meno_concepts"), &[], &mut |row| {
        let concept = crate::sql::concept(row)?;
        let (n, bytes) = owners.entry(concept.owner.user().unwrap_or("").to_owned()).or_default();
        *n += 1;
        *bytes += size(&concept);
        Ok(())
    })?;
    for (owner, (n, bytes)) in owners {
        let values = [owner.as_str().into(), n.into(), bytes.into()];
        sql.execute(
            "INSERT INTO meno_owners (owner, concepts, bytes) VALUES ($1, $2, $3) ON CONFLICT (owner)
               DO UPDATE SET concepts = $2, bytes = $3",
            &values,
        )?;
    }
    Ok(())
}

/// Has everyone go on in the block after all numbers that were given; other owners begin in blocks of their own.
fn leave_old_numbers(sql: &mut dyn Sql) -> Result<()> {
    let old = sql
        .number("SELECT coalesce(max(id), 0) FROM meno_concepts", &[])?
        .max(sql.number("SELECT coalesce(max(concept), 0) FROM meno_changes", &[])?);
    if old == 0 {
        return Ok(());
    }
    sql.execute(
        "INSERT INTO meno_owners (owner, concepts, bytes, given) VALUES ('', 0, 0, $1) ON CONFLICT (owner)
           DO UPDATE SET given = $1",
        &[((old / BLOCK + 1) * BLOCK - 1).into()],
    )
}

/// A number that no other store has, so that whoever follows this one notices when there is another in its place.
pub(crate) fn give_identity(sql: &mut dyn Sql) -> Result<()> {
    give_random(sql, "identity")
}

fn give_random(sql: &mut dyn Sql, name: &str) -> Result<()> {
    let number = RandomState::new().hash_one(0) >> 1;
    sql.execute("INSERT INTO meno_meta (name, value) VALUES ($1, $2)", &[name.into(), number.into()])
}

const META: &str =
    "CREATE TABLE IF NOT EXISTS meno_meta (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL)";

/// What differs between the databases.
pub(crate) trait Ddl: Sql {
    /// Runs a statement that makes something.
    fn make(&mut self, sql: &str) -> Result<()>;
    /// The type of a column that numbers rows and never uses a number twice.
    fn serial(&self) -> &'static str;
    /// Whether there is a table of this name.
    fn has_table(&mut self, name: &'static str) -> Result<bool>;
}

/// Whether the tables are of this program's version.
pub(crate) fn is_current(sql: &mut dyn Ddl) -> Result<bool> {
    Ok(version(sql)? == VERSION)
}

/// Brings the tables to this program's version, or says why not.
pub(crate) fn prepare(sql: &mut dyn Ddl, store: &str, access: Access) -> Result<()> {
    let found = version(sql)?;
    if found > VERSION {
        return Err(Error::Newer { store: store.to_owned(), found, known: VERSION });
    }
    if found == 0 && access == Access::Existing {
        return Err(Error::NotThere { store: store.to_owned() });
    }
    migrate(sql, found, VERSION)
}

/// The version of the tables; 0 if there are none.
fn version(sql: &mut dyn Ddl) -> Result<i64> {
    if !sql.has_table("meno_meta")? {
        return Ok(0);
    }
    Ok(sql.number("SELECT value FROM meno_meta WHERE name = 'schema'", &[])? as i64)
}

fn migrate(sql: &mut dyn Ddl, from: i64, to: i64) -> Result<()> {
    if from == to {
        return Ok(());
    }
    sql.make(META)?;
    for step in MIGRATIONS[from as usize..to as usize].iter().copied().flatten() {
        match step {
            Make(statement) => {
                let statement = statement.replace("{serial}", sql.serial());
                sql.make(&statement)?;
            }
            Fill(fill) => fill(sql)?,
        }
    }
    sql.execute("DELETE FROM meno_meta WHERE name = 'schema'", &[])?;
    sql.execute("INSERT INTO meno_meta (name, value) VALUES ('schema', $1)", &[(to as u64).into()])
}
