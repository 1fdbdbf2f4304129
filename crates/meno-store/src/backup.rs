//! Everything in a store, written to a file and back.
//!
//! A backup is a store of its own: one SQLite file, whatever the store is, which every command opens. It has the store as it was at
//! one moment, while others read and write on.

use std::path::Path;

use crate::content::beside;
use crate::journal::{insert, to_json};
use crate::schema;
use crate::sql::{Sql, Value, columns, concept};
use crate::sqlite::Sqlite;
use crate::store::{Put, Record, entered};
use crate::{Access, Error, Result, Store, open};

/// Writes a store to a file, in the place of what is there; how many concepts it has.
pub fn backup(store: &mut dyn Store, file: &Path) -> Result<u64> {
    if file.is_dir() {
        return Err(unfit(file, "it is a folder"));
    }
    if file.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        return Err(unfit(file, "its folder is not there"));
    }
    if is_same(Path::new(&store.name()), file) {
        let problem = format!("{} is the store itself", file.display());
        let hint = "name another file: what is taught meanwhile would not be in it";
        return Err(meno::Error::Setting { problem, hint: hint.to_owned() }.into());
    }
    let unfinished = beside(file, ".unfinished");
    let gone =
        |error: std::io::Error| Error::Database { store: file.display().to_string(), source: error.into() };
    remove(&unfinished).and_then(|()| remove_logs(&unfinished)).map_err(gone)?;
    // Closed by now: the file is whole by itself, but with the log of another it would be taken for that.
    let renamed = write(store, &unfinished).and_then(|n| {
        remove_logs(file).and_then(|()| std::fs::rename(&unfinished, file)).map_err(gone).map(|()| n)
    });
    if renamed.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    renamed
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn remove(file: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes what stands beside a database whose end was a crash.
fn remove_logs(file: &Path) -> std::io::Result<()> {
    ["-wal", "-shm", "-journal"].iter().try_for_each(|ending| remove(&beside(file, ending)))
}

fn write(store: &mut dyn Store, file: &Path) -> Result<u64> {
    let mut copy = open(location(file)?, Access::Create)?;
    copy.replace(&mut |put| store.dump(put))?;
    copy.count()
}

/// Puts what a backup has in the place of all that a store has, all or nothing; how many concepts that is.
pub fn restore(store: &mut dyn Store, file: &Path) -> Result<u64> {
    let mut copy = open_backup(file)?;
    store.replace(&mut |put| copy.dump(put))?;
    store.count()
}

/// Opens a backup to be read. One that is whole and of this program's version may be one that nobody can write to.
pub fn open_backup(file: &Path) -> Result<Box<dyn Store>> {
    if let Some(copy) = Sqlite::open_to_read(file)? {
        return Ok(Box::new(copy));
    }
    open(location(file)?, Access::Existing).map_err(|error| match error {
        Error::Away { store, problem } => {
            let problem = format!(
                "{store} has to be written to, for it is of an older program or not whole: {problem}"
            );
            let hint =
                "copy it to where it can be written to, with the file `-wal` beside it if there is one";
            meno::Error::Setting { problem, hint: hint.to_owned() }.into()
        }
        error => error,
    })
}

fn location(file: &Path) -> Result<&str> {
    let refuse = || unfit(file, "its name is not UTF-8");
    file.to_str().ok_or_else(refuse)
}

fn unfit(file: &Path, problem: &str) -> Error {
    Error::NotAStore { store: file.display().to_string(), problem: problem.to_owned() }
}

pub(crate) fn dump(sql: &mut dyn Sql, put: &mut Put<'_>) -> Result<()> {
    sql.query(concat!("SELECT ", columns!(), " FROM meno_concepts ORDER BY id"), &[], &mut |row| {
        put(Record::Concept(Box::new(concept(row)?)))
    })?;
    let given = "SELECT owner, given FROM meno_owners WHERE given > 0 ORDER BY owner";
    sql.query(given, &[], &mut |row| put(Record::Given(row.string(0)?, row.number(1)?)))?;
    let changes = "SELECT seq, batch, undoes, role, actor, time, was, became, owner, concept FROM meno_changes ORDER BY seq";
    sql.query(changes, &[], &mut |row| {
        put(Record::Change(Box::new(entered(row)?), row.string(8)?, row.number(9)?))
    })?;
    let trimmed = sql.number("SELECT value FROM meno_meta WHERE name = 'trimmed'", &[])?;
    put(Record::Trimmed(trimmed))
}

pub(crate) fn replace(sql: &mut dyn Sql, fill: &mut dyn FnMut(&mut Put<'_>) -> Result<()>) -> Result<()> {
    for statement in ["DELETE FROM meno_concepts", "DELETE FROM meno_changes", "DELETE FROM meno_owners"] {
        sql.execute(statement, &[])?;
    }
    fill(&mut |record| put(sql, record))?;
    schema::fill_owners(sql)?;
    // It is another store to those who follow it.
    sql.execute("DELETE FROM meno_meta WHERE name = 'identity'", &[])?;
    schema::give_identity(sql)
}

fn put(sql: &mut dyn Sql, record: Record) -> Result<()> {
    match record {
        Record::Concept(concept) => insert(sql, &concept),
        Record::Given(owner, number) => sql.execute(
            "INSERT INTO meno_owners (owner, concepts, bytes, given) VALUES ($1, 0, 0, $2)",
            &[owner.as_str().into(), number.into()],
        ),
        Record::Change(row, owner, id) => {
            let [was, became] =
                [&row.change.before, &row.change.after].map(|concept| concept.as_ref().map(to_json));
            let values = [
                row.seq.into(),
                row.batch.into(),
                row.undoes.into(),
                row.role.as_str().into(),
                row.actor.as_str().into(),
                owner.as_str().into(),
                id.into(),
                Value::from(was.as_deref()),
                became.as_deref().into(),
                row.time.into(),
            ];
            sql.execute(
                "INSERT INTO meno_changes (seq, batch, undoes, role, actor, owner, concept, was, became, time)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                &values,
            )
        }
        Record::Trimmed(seq) => {
            sql.execute("UPDATE meno_meta SET value = $1 WHERE name = 'trimmed'", &[seq.into()])
        }
    }
}
