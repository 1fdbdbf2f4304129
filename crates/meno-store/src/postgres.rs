//! PostgreSQL: one database, for many servers.
//!
//! Writers take an advisory lock, so that changes are committed in the order of their numbers and whoever follows the
//! journal misses none. Everything that is asked has a deadline; a connection that was lost or does not answer is left and
//! made anew when it is next needed.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Statement};

use crate::schema::{self, Ddl};
use crate::sql::{Backend, PATIENCE, Row, Sql, Value, columns};
use crate::tls::{Security, Tls, distrust};
use crate::{Access, Error, Result};

/// How long it may take to connect.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

/// Any number that other programs hardly use: `meno` in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1835363951)";

pub(crate) struct Postgres {
    config: Config,
    tls: Tls,
    name: String,
    access: Access,
    patience: Duration,
    link: Option<Link>,
}

/// A connection, what drives it, and the statements that it knows.
struct Link {
    /// There until this is dropped.
    runtime: Option<Runtime>,
    client: Client,
    statements: HashMap<&'static str, Statement>,
    patience: Duration,
}

impl Drop for Link {
    /// Waits for nobody: a database that does not answer is not told goodbye.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Link {
    fn open(config: &Config, tls: &Tls, name: &str, patience: Duration) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Error::Database { store: name.to_owned(), source: Box::new(error) })?;
        let connected = runtime.block_on(async {
            tokio::time::timeout(CONNECT_PATIENCE.min(patience), config.connect(tls.clone())).await
        });
        let (client, connection) = match connected {
            Ok(connected) => connected.map_err(|error| failed(name, error))?,
            Err(_) => return Err(silent(name)),
        };
        runtime.spawn(connection);
        Ok(Link { runtime: Some(runtime), client, statements: HashMap::new(), patience })
    }

    /// What the database answers, if it does so in time.
    fn wait<T>(
        &self,
        name: &str,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        let runtime = self.runtime.as_ref().expect("it is there until this is dropped");
        let answer = async { tokio::time::timeout(self.patience, answer).await };
        match runtime.block_on(answer) {
            Ok(answer) => answer.map_err(|error| failed(name, error)),
            Err(_) => Err(silent(name)),
        }
    }

    /// The database gives up a little sooner, to say why. A process that stands still in the middle of a change, or is gone without
    /// a word, holds up others for no longer than that.
    fn set_patience(&mut self, name: &str, patience: Duration) -> Result<()> {
        self.patience = patience;
        let (answer, idle) = (patience.as_millis() * 4 / 5, patience.as_millis());
        let sql =
            format!("SET statement_timeout = {answer}; SET idle_in_transaction_session_timeout = {idle}");
        self.run(name, &sql)
    }

    fn run(&self, name: &str, sql: &str) -> Result<()> {
        self.wait(name, self.client.batch_execute(sql))
    }
}

const SILENT: &str = "it did not answer in time";

fn silent(name: &str) -> Error {
    Error::Away { store: name.to_owned(), problem: SILENT.to_owned() }
}

impl Postgres {
    pub(crate) fn open(url: &str, access: Access) -> Result<Self> {
        let name = without_password(url);
        let (security, url) = Security::take(url)?;
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let problem = match std::error::Error::source(&error) {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            };
            Error::NotAStore { store: name.clone(), problem }
        })?;
        config.connect_timeout(CONNECT_PATIENCE).tcp_user_timeout(CONNECT_PATIENCE).application_name("meno");
        let tls = security.apply(&mut config)?;
        let mut store = Postgres { config, tls, name, access, patience: PATIENCE, link: None };
        store.link()?;
        // It was there once, so what comes back is not made anew.
        store.access = Access::Existing;
        Ok(store)
    }

    /// The connection, made anew if it was lost.
    fn link(&mut self) -> Result<&mut Link> {
        if self.link.as_ref().is_none_or(|link| link.client.is_closed()) {
            self.link = None;
            let mut link = Link::open(&self.config, &self.tls, &self.name, self.patience)?;
            link.set_patience(&self.name, self.patience)?;
            let (name, access) = (&self.name, self.access);
            // Whoever only comes back does not wait for writers.
            if !transaction(&mut link, name, READ, |tables| schema::is_current(tables))? {
                transaction(&mut link, name, WRITE, |tables| schema::prepare(tables, name, access))?;
            }
            self.link = Some(link);
        }
        Ok(self.link.as_mut().expect("it was just made"))
    }

    fn run<T>(
        &mut self,
        begin: &'static [&'static str],
        work: impl FnOnce(&mut dyn Sql) -> Result<T>,
    ) -> Result<T> {
        let name = self.name.clone();
        // A server that went away and came back is noticed at the first statement: one more try before any work.
        if let Some(Err(error)) = self.link.as_ref().map(|link| link.run(&name, "")) {
            self.link = None;
            if matches!(&error, Error::Away { problem, .. } if problem == SILENT) {
                return Err(error);
            }
        }
        let result = transaction(self.link()?, &name, begin, |tables| work(tables));
        // A transaction that could not begin or end is left to the database with its connection.
        if matches!(result, Err(Error::Away { .. } | Error::Busy { .. })) {
            self.link = None;
        }
        result
    }
}

const WRITE: &[&str] = &["BEGIN", LOCK];
const READ: &[&str] = &["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"];

fn transaction<T>(
    link: &mut Link,
    name: &str,
    begin: &[&str],
    work: impl FnOnce(&mut Tables<'_>) -> Result<T>,
) -> Result<T> {
    for &sql in begin {
        link.run(name, sql).map_err(|error| match error {
            // The database answers, but others write.
            Error::Away { store, problem } if sql == LOCK && problem != SILENT => Error::Busy { store },
            error => error,
        })?;
    }
    let result = work(&mut Tables { link, name });
    match result {
        Ok(result) => {
            link.run(name, "COMMIT")?;
            Ok(result)
        }
        // A connection that is lost rolls back by itself.
        Err(error @ Error::Away { .. }) => Err(error),
        Err(error) => {
            let _ = link.run(name, "ROLLBACK");
            Err(error)
        }
    }
}

impl Backend for Postgres {
    const BY_IDS: &'static str = concat!(
        "SELECT ",
        columns!(),
        " FROM meno_concepts WHERE id IN (SELECT value::bigint FROM json_array_elements_text($1::text::json))
           AND ($2 = 'all' OR owner = '' OR owner = $3) ORDER BY id"
    );

    fn name(&self) -> String {
        self.name.clone()
    }

    fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
        let name = self.name.clone();
        if self.link.as_mut().is_some_and(|link| link.set_patience(&name, patience).is_err()) {
            self.link = None;
        }
    }

    fn renumber(&mut self) -> Result<()> {
        let name = self.name.clone();
        let link = self.link()?;
        let sql = "SELECT setval(pg_get_serial_sequence('meno_changes', 'seq'),
                     (SELECT coalesce(max(seq), 0) + 1 FROM meno_changes), false)";
        link.run(&name, sql)
    }

    /// It is the database's: its archives are, too.
    fn empty_log(&mut self) -> Result<()> {
        Ok(())
    }

    fn rewrite(&mut self) -> Result<()> {
        let name = self.name.clone();
        let link = self.link()?;
        link.patience = PATIENCE;
        let result = ["SET statement_timeout = 0", "VACUUM FULL meno_concepts", "VACUUM FULL meno_changes"]
            .into_iter()
            .try_for_each(|sql| link.run(&name, sql));
        // The next connection has the deadlines again.
        self.link = None;
        result
    }

    fn write<T>(&mut self, work: impl FnOnce(&mut dyn Sql) -> Result<T>) -> Result<T> {
        self.run(WRITE, work)
    }

    fn read<T>(&mut self, work: impl FnOnce(&mut dyn Sql) -> Result<T>) -> Result<T> {
        self.run(READ, work)
    }
}

struct Tables<'a> {
    link: &'a mut Link,
    name: &'a str,
}

impl Tables<'_> {
    fn statement(&mut self, sql: &'static str) -> Result<Statement> {
        if let Some(statement) = self.link.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.link.wait(self.name, self.link.client.prepare(sql))?;
        self.link.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

impl Sql for Tables<'_> {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<()> {
        let statement = self.statement(sql)?;
        let params = params(values);
        self.link.wait(self.name, self.link.client.execute(&statement, &params)).map(|_| ())
    }

    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        let statement = self.statement(sql)?;
        let rows = self.link.wait(self.name, self.link.client.query_raw(&statement, params(values)))?;
        let mut rows = pin!(rows);
        while let Some(row) = self.link.wait(self.name, rows.try_next())? {
            each(&Answer { row, name: self.name })?;
        }
        Ok(())
    }
}

impl Ddl for Tables<'_> {
    fn make(&mut self, sql: &str) -> Result<()> {
        self.link.run(self.name, sql)
    }

    fn serial(&self) -> &'static str {
        "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
    }

    fn has_table(&mut self, name: &'static str) -> Result<bool> {
        Ok(self.number("SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)", &[name.into()])? > 0)
    }
}

struct Answer<'a> {
    row: tokio_postgres::Row,
    name: &'a str,
}

impl Row for Answer<'_> {
    fn int(&self, column: usize) -> Result<i64> {
        self.row.try_get(column).map_err(|error| failed(self.name, error))
    }

    fn text(&self, column: usize) -> Result<Option<&str>> {
        self.row.try_get(column).map_err(|error| failed(self.name, error))
    }
}

fn params<'a>(values: &'a [Value<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    let param = |value: &'a Value<'_>| -> &'a (dyn ToSql + Sync) {
        match value {
            Value::Int(number) => number,
            Value::Text(text) => text,
        }
    };
    values.iter().map(param).collect()
}

fn failed(name: &str, error: tokio_postgres::Error) -> Error {
    let store = name.to_owned();
    let Some(said) = error.as_db_error() else {
        let source = std::error::Error::source(&error);
        if let Some((problem, hint)) = source.and_then(distrust) {
            return Error::Distrusted { store, problem, hint };
        }
        let problem = source.map_or_else(|| error.to_string(), |source| source.to_string());
        // Without a reason it is a closed connection or a time that ran out.
        let is_away = source.is_none_or(|source| source.is::<std::io::Error>());
        return match is_away {
            true => Error::Away { store, problem },
            false => Error::Database { store, source: problem.into() },
        };
    };
    let is_away = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::QUERY_CANCELED,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::READ_ONLY_SQL_TRANSACTION,
    ]
    .contains(said.code());
    match is_away {
        true => Error::Away { store, problem: said.message().to_owned() },
        false => Error::Database { store, source: said.message().to_owned().into() },
    }
}

/// The address without what stands between the first colon of the user and the `@`, and without a password parameter.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    let address = match address.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => address.to_owned(),
    };
    let query: Vec<&str> =
        query.split('&').filter(|part| !part.is_empty() && !part.starts_with("password")).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    format!("{scheme}://{address}{query}")
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("postgres://host/db", "postgres://host/db"),
            ("postgres://anna:secret@host:5432/db", "postgres://anna@host:5432/db"),
            ("postgres://anna:se@cret@host/db", "postgres://anna@host/db"),
            (
                "postgresql://host/db?user=anna&password=secret&host=/tmp",
                "postgresql://host/db?user=anna&host=/tmp",
            ),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
