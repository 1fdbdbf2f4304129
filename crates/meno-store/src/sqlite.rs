//! SQLite: one file, for one machine.
//!
//! In WAL mode with `synchronous = FULL`: a change is on disk when it is acknowledged, and other processes read on while it
//! is made. What is deleted is overwritten with zeros. A file that was deleted or replaced while it was open takes no more
//! changes: the one that stands there now is opened. Nor does one that was cut off or written over, or whose log went away, for
//! a crash would lose what is in that.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};

use crate::content::{Files, State, has_log, immutable, log_alone};
use crate::schema::{self, Ddl};
use crate::sql::{Backend, PATIENCE, Row, Sql, Value, columns};
use crate::{Access, Error, Result};

/// So many instructions of a statement between two looks at the clock.
const INSTRUCTIONS: i32 = 10_000;

/// The name of a store that is in no file.
const IN_MEMORY: &str = ":memory:";

pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    /// The files as they were opened; `None` in memory.
    files: Option<Files>,
    deadline: Deadline,
}

/// When a statement is to have given something, for a handler that SQLite calls.
#[derive(Clone)]
struct Deadline {
    patience: Duration,
    start: Instant,
    /// In milliseconds after the start.
    at: Arc<AtomicU64>,
}

impl Deadline {
    fn new(patience: Duration) -> Self {
        Deadline { patience, start: Instant::now(), at: Arc::default() }
    }

    fn renew(&self) {
        let at = (self.start.elapsed() + self.patience).as_millis() as u64;
        self.at.store(at, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.start.elapsed().as_millis() as u64 > self.at.load(Ordering::Relaxed)
    }
}

impl Sqlite {
    pub(crate) fn open(path: &Path, access: Access) -> Result<Self> {
        Sqlite::open_for(path, access, PATIENCE)
    }

    fn open_for(path: &Path, access: Access, patience: Duration) -> Result<Self> {
        let name = path.display().to_string();
        let is_file = path.as_os_str() != IN_MEMORY;
        if is_file && path.is_dir() {
            return Err(Error::NotAStore { store: name, problem: "it is a folder".to_owned() });
        }
        if is_file && let Some(problem) = log_alone(path) {
            return Err(Error::LogAlone { store: name, problem });
        }
        if is_file && !path.exists() {
            if access == Access::Existing {
                return Err(Error::NotThere { store: name });
            }
            make_private(path).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    Error::NotAStore { store: name.clone(), problem: "its folder is not there".to_owned() }
                }
                _ => Error::Database { store: name.clone(), source: error.into() },
            })?;
        }
        let deadline = Deadline::new(patience);
        deadline.renew();
        let watched = deadline.clone();
        let open = || -> rusqlite::Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let mut connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(patience)?;
            connection.progress_handler(INSTRUCTIONS, Some(move || watched.is_over()))?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "secure_delete", "ON")?;
            connection.set_prepared_statement_cache_capacity(64);
            Ok(connection)
        };
        let connection = open().map_err(|error| failed(&name, error))?;
        let mut store = Sqlite { connection, path: path.to_owned(), files: None, deadline };
        store.demand_own(access)?;
        // It is kept in the file, so only in one that is ours.
        let wal = store.connection.pragma_update(None, "journal_mode", "WAL");
        wal.map_err(|error| failed(&name, error))?;
        store.transaction("BEGIN IMMEDIATE", |tables| schema::prepare(tables, &name, access))?;
        if is_file {
            // The file has its number from the beginning, by which it is known; if others read just now it has it later.
            let _ = store.connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
            store.files = Files::of(path);
        }
        Ok(store)
    }

    /// Opens a file as it is, without writing anything to it or beside it; `None` if it has to be opened to be written to.
    pub(crate) fn open_to_read(path: &Path) -> Result<Option<Self>> {
        let name = path.display().to_string();
        if path.is_dir() {
            return Err(Error::NotAStore { store: name, problem: "it is a folder".to_owned() });
        }
        if !path.exists() {
            return Err(Error::NotThere { store: name });
        }
        if has_log(path) {
            return Ok(None);
        }
        let deadline = Deadline::new(PATIENCE);
        let connection = immutable(path).map_err(|error| failed(&name, error))?;
        let mut store = Sqlite { connection, path: path.to_owned(), files: None, deadline };
        store.demand_own(Access::Existing)?;
        let is_current = store.transaction("BEGIN", |tables| schema::is_current(tables))?;
        Ok(is_current.then_some(store))
    }

    /// Opens what stands where the file stood, if that is another one.
    fn demand_same_file(&mut self) -> Result<()> {
        let Some(files) = &mut self.files else { return Ok(()) };
        let away = |problem: &str| Error::Away {
            store: self.path.display().to_string(),
            problem: problem.to_owned(),
        };
        match files.state() {
            State::Same => Ok(()),
            State::Gone => Err(away("the file is gone")),
            State::Damaged => Err(away("the file was cut off or written over")),
            State::HalfWritten => {
                let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
                Ok(())
            }
            State::LogGone => {
                if !has_log(&self.path) {
                    // What is in it is saved as long as this connection has it. Where another took its place, it is not ours to read.
                    let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
                }
                Err(away("its log is gone"))
            }
            State::Replaced => {
                files.remove_log();
                let other = Sqlite::open_for(&self.path, Access::Existing, self.deadline.patience)
                    .map_err(|error| away(&format!("the file was replaced: {error}")))?;
                // Closing it would touch files of the same names, which are not its own.
                std::mem::forget(std::mem::replace(self, other));
                Ok(())
            }
        }
    }

    /// Brings all that the log has into the file; whether nobody who reads kept it from that.
    fn checkpoint(&self) -> rusqlite::Result<bool> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map(|is_busy: bool| !is_busy)
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
        self.demand_same_file()?;
        self.deadline.renew();
        let name = Backend::name(self);
        let run = |sql: &str| self.connection.execute_batch(sql).map_err(|error| failed(&name, error));
        run(begin)?;
        let result =
            work(&mut Tables { connection: &self.connection, name: &name, deadline: &self.deadline });
        let result = result.and_then(|result| run("COMMIT").map(|()| result));
        if result.is_err() {
            // Nothing is open any more if the database itself gave up.
            let _ = run("ROLLBACK");
        }
        result
    }
}

impl Backend for Sqlite {
    const BY_IDS: &'static str = concat!(
        "SELECT ",
        columns!(),
        " FROM meno_concepts WHERE id IN (SELECT value FROM json_each($1))
           AND ($2 = 'all' OR owner = '' OR owner = $3) ORDER BY id"
    );

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn set_patience(&mut self, patience: Duration) {
        self.deadline.patience = patience;
        // It fails in no case: the connection is open.
        let _ = self.connection.busy_timeout(patience);
    }

    fn write<T>(&mut self, work: impl FnOnce(&mut dyn Sql) -> Result<T>) -> Result<T> {
        let result = self.transaction("BEGIN IMMEDIATE", |tables| work(tables))?;
        let Some(files) = &mut self.files else { return Ok(result) };
        // What was written to a file that went away meanwhile is lost, and so is what stands behind a log without a beginning.
        let problem = match files.state() {
            State::Same | State::HalfWritten | State::LogGone if files.has_whole_log() => return Ok(result),
            State::Same | State::HalfWritten | State::LogGone => "its log was cut off",
            State::Gone | State::Replaced => "the file went away while it was written to",
            State::Damaged => "the file was cut off or written over",
        };
        Err(Error::Away { store: Backend::name(self), problem: problem.to_owned() })
    }

    /// It does so by itself.
    fn renumber(&mut self) -> Result<()> {
        Ok(())
    }

    fn empty_log(&mut self) -> Result<()> {
        let store = Backend::name(self);
        match self.checkpoint() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::NotScrubbed { store }),
            Err(error) => Err(failed(&store, error)),
        }
    }

    fn rewrite(&mut self) -> Result<()> {
        let name = Backend::name(self);
        self.connection.progress_handler(0, None::<fn() -> bool>).map_err(|error| failed(&name, error))?;
        let result = self.connection.execute_batch("VACUUM").map_err(|error| failed(&name, error));
        let watched = self.deadline.clone();
        let _ = self.connection.progress_handler(INSTRUCTIONS, Some(move || watched.is_over()));
        result.and_then(|()| Backend::empty_log(self))
    }

    fn read<T>(&mut self, work: impl FnOnce(&mut dyn Sql) -> Result<T>) -> Result<T> {
        self.transaction("BEGIN", |tables| work(tables))
    }
}

impl Drop for Sqlite {
    /// Whoever copies the one file has everything.
    fn drop(&mut self) {
        self.deadline.renew();
        if self.files.as_mut().is_some_and(|files| files.state() == State::Damaged) {
            // The log belongs to what was there before: there is nothing to bring it into.
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            return;
        }
        // If others read it just now, the last of them does it.
        let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }
}

/// Makes an empty file that only its owner reads and writes; concepts are private.
fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        // Another process was faster.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        opened => opened.map(drop),
    }
}

struct Tables<'a> {
    connection: &'a Connection,
    name: &'a str,
    deadline: &'a Deadline,
}

impl Sql for Tables<'_> {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<()> {
        self.deadline.renew();
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
        self.deadline.renew();
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            self.deadline.renew();
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
    let away = |problem: &str| Error::Away { store: store.clone(), problem: problem.to_owned() };
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { store },
        Some(ErrorCode::OperationInterrupted) => away("it did not answer in time"),
        Some(ErrorCode::DiskFull) => away("the disk is full"),
        Some(ErrorCode::ReadOnly) => away("it can only be read"),
        Some(ErrorCode::SystemIoFailure) => away("the disk failed"),
        Some(ErrorCode::DatabaseCorrupt) => away("the file is damaged"),
        Some(ErrorCode::NotADatabase) => {
            Error::NotAStore { store, problem: "it is not an SQLite file".to_owned() }
        }
        _ => Error::Database { store, source: Box::new(error) },
    }
}
