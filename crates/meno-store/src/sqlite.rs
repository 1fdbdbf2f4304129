//! SQLite: one file, for one machine.
//!
//! In WAL mode with `synchronous = FULL`: a change is on disk when it is acknowledged, and other processes read on while it
//! is made.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};

use crate::schema::{self, Ddl};
use crate::sql::{Backend, Row, Sql, Value};
use crate::{Access, Error, Result};

/// How long a change waits for those of other processes.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, access: Access) -> Result<Self> {
        if access == Access::Existing && !path.exists() {
            return Err(Error::NotThere { store: path.display().to_string() });
        }
        let open = || -> rusqlite::Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.set_prepared_statement_cache_capacity(64);
            Ok(connection)
        };
        let connection = open().map_err(|error| failed(&path.display().to_string(), error))?;
        let mut store = Sqlite { connection, path: path.to_owned() };
        store.demand_own(access)?;
        let name = Backend::name(&store);
        // It is kept in the file, so only in one that is ours.
        let wal = store.connection.pragma_update(None, "journal_mode", "WAL");
        wal.map_err(|error| failed(&name, error))?;
        store.transaction("BEGIN IMMEDIATE", |tables| schema::prepare(tables, &name, access))?;
        Ok(store)
    }

    /// Refuses the file of another program.
    fn demand_own(&mut self, access: Access) -> Result<()> {
        let store = Backend::name(self);
        let names = self.transaction("BEGIN", |tables| {
            let mut names = Vec::new();
            let sql = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
            tables.query(sql, &[], &mut |row| {
                names.push(row.string(0)?);
                Ok(())
            })?;
            Ok(names)
        })?;
        match names.first() {
            None if access == Access::Existing => Err(Error::NotThere { store }),
            Some(other) if !names.iter().any(|name| name == "meno_meta") => {
                Err(Error::NotAStore { store, problem: format!("it has a table `{other}`") })
            }
            _ => Ok(()),
        }
    }

    fn transaction<T>(&mut self, begin: &str, work: impl FnOnce(&mut Tables<'_>) -> Result<T>) -> Result<T> {
        let name = Backend::name(self);
        let run = |sql: &str| self.connection.execute_batch(sql).map_err(|error| failed(&name, error));
        run(begin)?;
        let result = work(&mut Tables { connection: &self.connection, name: &name });
        let result = result.and_then(|result| run("COMMIT").map(|()| result));
        if result.is_err() {
            // Nothing is open any more if the database itself gave up.
            let _ = run("ROLLBACK");
        }
        result
    }
}

impl Backend for Sqlite {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn write<T>(&mut self, work: impl FnOnce(&mut dyn Sql) -> Result<T>) -> Result<T> {
        self.transaction("BEGIN IMMEDIATE", |tables| work(tables))
    }

    fn read<T>(&mut self, work: impl FnOnce(&mut dyn Sql) -> Result<T>) -> Result<T> {
        self.transaction("BEGIN", |tables| work(tables))
    }
}

struct Tables<'a> {
    connection: &'a Connection,
    name: &'a str,
}

impl Sql for Tables<'_> {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<()> {
        let run = || self.connection.prepare_cached(sql)?.execute(params_from_iter(values));
        run().map(|_| ()).map_err(|error| failed(self.name, error))
    }

    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        let failed = |error| failed(self.name, error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(&Answer { row, name: self.name })?;
        }
        Ok(())
    }
}

impl Ddl for Tables<'_> {
    fn make(&mut self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|error| failed(self.name, error))
    }

    fn serial(&self) -> &'static str {
        "INTEGER PRIMARY KEY AUTOINCREMENT"
    }

    fn has_table(&mut self, name: &'static str) -> Result<bool> {
        Ok(self.number("SELECT count(*) FROM sqlite_master WHERE name = $1", &[name.into()])? > 0)
    }
}

struct Answer<'a> {
    row: &'a rusqlite::Row<'a>,
    name: &'a str,
}

impl Row for Answer<'_> {
    fn int(&self, column: usize) -> Result<i64> {
        self.row.get(column).map_err(|error| failed(self.name, error))
    }

    fn text(&self, column: usize) -> Result<Option<&str>> {
        match self.row.get_ref(column) {
            Ok(ValueRef::Null) => Ok(None),
            Ok(value) => value.as_str().map(Some).map_err(|error| failed(self.name, error.into())),
            Err(error) => Err(failed(self.name, error)),
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Value::Int(number) => number.to_sql(),
            Value::Text(text) => text.to_sql(),
        }
    }
}

fn failed(name: &str, error: rusqlite::Error) -> Error {
    let store = name.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Away { store, problem: "other processes are writing to it".to_owned() }
        }
        Some(ErrorCode::NotADatabase) => {
            Error::NotAStore { store, problem: "it is not an SQLite file".to_owned() }
        }
        _ => Error::Database { store, source: Box::new(error) },
    }
}
