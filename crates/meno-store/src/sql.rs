//! The little that is asked of a database.

use std::time::Duration;

use meno::memory::{Concept, Owner};
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// No concept is counted to be used more often. An import may say any number, and a sum that no column can hold would make
/// the rows unreadable for all.
pub(crate) const MOST_USES: u64 = 1 << 53;

/// A value that is put into a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Int(i64),
    Text(Option<&'a str>),
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        // Ids and times are below 2^63, and so are counts of uses, which end at `MOST_USES`.
        Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(Some(text))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Value::Text(text)
    }
}

/// A row of an answer.
pub(crate) trait Row {
    /// A column that holds a number.
    fn int(&self, column: usize) -> Result<i64>;
    /// A column that holds text or nothing.
    fn text(&self, column: usize) -> Result<Option<&str>>;

    fn number(&self, column: usize) -> Result<u64> {
        Ok(u64::try_from(self.int(column)?).unwrap_or(0))
    }

    fn string(&self, column: usize) -> Result<String> {
        Ok(self.text(column)?.unwrap_or_default().to_owned())
    }
}

/// Statements inside a transaction.
///
/// Parameters are written `$1`, `$2` and so on, as PostgreSQL has them. SQLite takes these for names and numbers them in
/// the order in which they first appear, so they first appear in the order of their numbers.
pub(crate) trait Sql {
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<()>;

    fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()>;

    /// The number that is the whole answer.
    fn number(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64> {
        let mut number = 0;
        self.query(sql, values, &mut |row| {
            number = row.number(0)?;
            Ok(())
        })?;
        Ok(number)
    }

    fn concepts(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Concept>> {
        let mut concepts = Vec::new();
        self.query(sql, values, &mut |row| {
            concepts.push(concept(row)?);
            Ok(())
        })?;
        Ok(concepts)
    }
}

/// How long a database may take to give something, if nobody says otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A database with transactions.
pub(crate) trait Backend: Send {
    /// The concepts whose ids a JSON array has, and that a scope may see, in the order of their ids.
    const BY_IDS: &'static str;

    /// What it is called in messages, without passwords.
    fn name(&self) -> String;

    /// Runs `work` in one transaction, of which there is one at a time; nothing of it stays if it fails.
    fn write<T>(&mut self, work: impl FnOnce(&mut dyn Sql) -> Result<T>) -> Result<T>;

    /// How long it may take to give something from now on; then it counts as away.
    fn set_patience(&mut self, patience: Duration);

    /// Goes on numbering the journal after the greatest number that there is.
    fn renumber(&mut self) -> Result<()>;

    /// Takes what was there before out of the database's log, as far as it is the store's own.
    fn empty_log(&mut self) -> Result<()>;

    /// Writes the tables anew: what was deleted leaves traces in their pages. Nobody else writes meanwhile.
    fn rewrite(&mut self) -> Result<()>;

    /// Runs `work` in one transaction that sees the store as it was at one moment.
    fn read<T>(&mut self, work: impl FnOnce(&mut dyn Sql) -> Result<T>) -> Result<T>;
}

macro_rules! columns {
    () => {
        "id, phrase, normal, slot, value, owner, source, created, updated, uses"
    };
}
pub(crate) use columns;

/// Reads what a store wrote as JSON; `place` is where it stands.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str, place: &str) -> Result<T> {
    serde_json::from_str(text)
        .map_err(|error| Error::Database { store: place.to_owned(), source: Box::new(error) })
}

/// How many bytes a concept takes, about.
pub(crate) fn size(concept: &Concept) -> u64 {
    let words = |texts: &[String]| texts.iter().map(|text| text.len() + 3).sum::<usize>();
    let source = concept.source.as_ref();
    let source =
        source.map_or(0, |source| words(&source.words) + words(&source.labels) + source.intent.len());
    let value = concept.value.as_ref().map_or(0, String::len);
    (concept.phrase.len() + concept.normal.len() + concept.slot.len() + value + source) as u64
}

/// Reads what [`columns`] names.
pub(crate) fn concept(row: &dyn Row) -> Result<Concept> {
    Ok(Concept {
        id: row.number(0)?,
        phrase: row.string(1)?,
        normal: row.string(2)?,
        slot: row.string(3)?,
        value: row.text(4)?.map(str::to_owned),
        owner: Owner::from(Some(row.string(5)?)),
        source: row.text(6)?.map(|text| from_json(text, "a stored source")).transpose()?,
        created: row.number(7)?,
        updated: row.number(8)?,
        uses: row.number(9)?,
    })
}
