//! The tables, and how those of older programs become those of this one.
//!
//! `meno_concepts` has the concepts; everyone is the owner `''`. `meno_changes` has the journal: a row for each concept that
//! a change touched, as JSON before and after; the rows of one change share a `batch`; a row that takes back another batch
//! names it in `undoes`, which is 0 elsewhere. `meno_meta` has the schema's version under `schema` and under `trimmed` the
//! last row that was dropped from the journal.

use crate::sql::Sql;
use crate::{Access, Error, Result};

/// The version of the tables that this program makes.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// How each version becomes the next, from none on. Never changed once released: there are stores of every version.
const MIGRATIONS: [&[&str]; 2] = [
    &[
        "CREATE TABLE meno_concepts (id {serial}, phrase TEXT NOT NULL, normal TEXT NOT NULL, slot TEXT NOT NULL,
           value TEXT, owner TEXT NOT NULL, source TEXT, created BIGINT NOT NULL, updated BIGINT NOT NULL,
           uses BIGINT NOT NULL)",
        "CREATE UNIQUE INDEX meno_concepts_key ON meno_concepts (owner, normal, slot)",
        "CREATE TABLE meno_changes (seq {serial}, batch BIGINT NOT NULL, undoes BIGINT NOT NULL, actor TEXT NOT NULL,
           concept BIGINT NOT NULL, was TEXT, became TEXT, time BIGINT NOT NULL)",
        "INSERT INTO meno_meta (name, value) VALUES ('trimmed', 0)",
    ],
    // What undo looks for.
    &[
        "CREATE INDEX meno_changes_batch ON meno_changes (batch)",
        "CREATE INDEX meno_changes_undoes ON meno_changes (undoes)",
    ],
];

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
    for statement in MIGRATIONS[from as usize..to as usize].iter().copied().flatten() {
        let statement = statement.replace("{serial}", sql.serial());
        sql.make(&statement)?;
    }
    sql.execute("DELETE FROM meno_meta WHERE name = 'schema'", &[])?;
    sql.execute("INSERT INTO meno_meta (name, value) VALUES ('schema', $1)", &[(to as u64).into()])
}
