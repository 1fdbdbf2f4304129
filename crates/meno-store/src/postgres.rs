//! PostgreSQL: one database, for many servers.
//!
//! Writers take an advisory lock, so that changes are committed in the order of their numbers and whoever follows the
//! journal misses none. A connection that was lost is made anew when it is next needed. Connections are not encrypted:
//! they are for a socket, a private network or a tunnel.

use std::collections::HashMap;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Statement};

use crate::schema::{self, Ddl};
use crate::sql::{Backend, Row, Sql, Value};
use crate::{Access, Error, Result};

/// How long it may take to connect.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a statement may take, waiting for other writers included, in milliseconds.
const STATEMENT_TIMEOUT: u32 = 60_000;

/// Any number that other programs hardly use: `meno` in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1835363951)";

pub(crate) struct Postgres {
    config: Config,
    name: String,
    access: Access,
    link: Option<Link>,
}

/// A connection, and the statements that it knows.
struct Link {
    client: Client,
    statements: HashMap<&'static str, Statement>,
}

impl Postgres {
    pub(crate) fn open(url: &str, access: Access) -> Result<Self> {
        let name = without_password(url);
        let mut config: Config = url.parse().map_err(|error: postgres::Error| {
            let problem = match std::error::Error::source(&error) {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            };
            Error::NotAStore { store: name.clone(), problem }
        })?;
        config.connect_timeout(PATIENCE).tcp_user_timeout(PATIENCE).application_name("meno");
        let mut store = Postgres { config, name, access, link: None };
        store.link()?;
        // It was there once, so what comes back is not made anew.
        store.access = Access::Existing;
        Ok(store)
    }

    /// The connection, made anew if it was lost.
    fn link(&mut self) -> Result<&mut Link> {
        if self.link.as_ref().is_none_or(|link| link.client.is_closed()) {
            self.link = None;
            let client = self.config.connect(NoTls).map_err(|error| failed(&self.name, error))?;
            let mut link = Link { client, statements: HashMap::new() };
            let timeout = format!("SET statement_timeout = {STATEMENT_TIMEOUT}");
            link.client.batch_execute(&timeout).map_err(|error| failed(&self.name, error))?;
            let (name, access) = (&self.name, self.access);
            transaction(&mut link, name, WRITE, |tables| schema::prepare(tables, name, access))?;
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
        let is_dead = |link: &mut Link| link.client.is_valid(PATIENCE).is_err();
        if begin == WRITE && self.link.as_mut().is_some_and(is_dead) {
            self.link = None;
        }
        let result = transaction(self.link()?, &name, begin, |tables| work(tables));
        if matches!(result, Err(Error::Away { .. })) {
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
    for sql in begin {
        link.client.batch_execute(sql).map_err(|error| failed(name, error))?;
    }
    let result = work(&mut Tables { link, name });
    match result {
        Ok(result) => {
            link.client.batch_execute("COMMIT").map_err(|error| failed(name, error))?;
            Ok(result)
        }
        Err(error) => {
            // A connection that is lost has rolled back already.
            let _ = link.client.batch_execute("ROLLBACK");
            Err(error)
        }
    }
}

impl Backend for Postgres {
    fn name(&self) -> String {
        self.name.clone()
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
        let statement = self.link.client.prepare(sql).map_err(|error| failed(self.name, error))?;
        self.link.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

impl Sql for Tables<'_> {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<()> {
        let statement = self.statement(sql)?;
        let result = self.link.client.execute(&statement, &params(values));
        result.map(|_| ()).map_err(|error| failed(self.name, error))
    }

    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        let statement = self.statement(sql)?;
        let failed = |error| failed(self.name, error);
        let mut rows = self.link.client.query_raw(&statement, params(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(&Answer { row, name: self.name })?;
        }
        Ok(())
    }
}

impl Ddl for Tables<'_> {
    fn make(&mut self, sql: &str) -> Result<()> {
        self.link.client.batch_execute(sql).map_err(|error| failed(self.name, error))
    }

    fn serial(&self) -> &'static str {
        "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
    }

    fn has_table(&mut self, name: &'static str) -> Result<bool> {
        Ok(self.number("SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)", &[name.into()])? > 0)
    }
}

struct Answer<'a> {
    row: postgres::Row,
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

fn failed(name: &str, error: postgres::Error) -> Error {
    let store = name.to_owned();
    let Some(said) = error.as_db_error() else {
        let source = std::error::Error::source(&error);
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
