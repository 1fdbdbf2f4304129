//! Where concepts are kept: SQLite, one file, or PostgreSQL, shared by many servers.
//!
//! A [`Store`] keeps concepts and a journal of their changes on disk: what it has acknowledged survives the death of the
//! process at any moment. A [`Memory`] is a store with an [`meno::memory::Index`] of all its concepts, kept in step with
//! what this and other processes change: many threads read it at once, and it answers when the store is away.
//!
//! ```
//! use meno::memory::Draft;
//! use meno_store::{Access, Memory, Scope};
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("concepts.db");
//! let memory = Memory::open(path.to_str().unwrap(), Access::Create)?;
//! let draft = Draft { phrase: "Burpees and Regrets".into(), slot: "playlist".into(), ..Draft::default() };
//! memory.learn(&Scope::admin("anna"), draft)?;
//! assert_eq!(memory.find("wake me with burpees and regrets", None)[0].slot, "playlist");
//! # Ok::<(), meno_store::Error>(())
//! ```
//!
//! - `error`: what can go wrong.
//! - `store`: what a store does, written once in SQL that both databases speak.
//! - `journal`: changes that can be undone, and that other processes follow.
//! - `numbers`: by which concepts are called.
//! - `schema`: the tables and their versions.
//! - `content`: whether the file of a store is still what was opened.
//! - `sqlite`, `postgres`: how each database is opened, locked and asked; `tls`: how the way to the second is protected.
//! - `trust`: whom a client with TLS trusts, with the feature `tls`.
//! - `desk`: a connection that many threads ask in turn.
//! - `memory`: the handle that answers.
//! - `backup`: everything in a store, written to a file and back.
//! - `assistant`: a turn of a conversation that asks and learns.
//! - `clock`: the moment at which something is said.
//! - `jsonl`: concepts as lines of JSON.

mod assistant;
mod backup;
mod clock;
mod content;
mod desk;
mod error;
mod journal;
mod jsonl;
mod memory;
mod numbers;
#[cfg(feature = "postgres")]
mod postgres;
mod schema;
mod sql;
mod sqlite;
mod store;
#[cfg(feature = "postgres")]
mod tls;
#[cfg(feature = "tls")]
pub mod trust;

pub use assistant::{Assistant, Turn};
pub use backup::{backup, open_backup, restore};
pub use clock::Clock;
pub use error::{Error, Result};
pub use jsonl::{read_concepts, write_lines};
pub use memory::{Known, Memory, now};
pub use numbers::{ErasedOwner, OwnJournal};
pub use schema::VERSION as SCHEMA_VERSION;
pub use store::{
    Amendment, Change, Edit, Entered, Erased, Mark, News, Put, Query, Quota, Record, Scope, Store,
};

/// What may happen to a store that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is an error.
    Existing,
    /// It is made.
    Create,
}

/// Opens a store: `postgres://...` is a PostgreSQL database, for which the feature `postgres` is needed, all else the file of an
/// SQLite one.
pub fn open(location: &str, access: Access) -> Result<Box<dyn Store>> {
    if location.starts_with("postgres://") || location.starts_with("postgresql://") {
        #[cfg(feature = "postgres")]
        return Ok(Box::new(postgres::Postgres::open(location, access)?));
        #[cfg(not(feature = "postgres"))]
        return Err(Error::WithoutPostgres);
    } else {
        Ok(Box::new(sqlite::Sqlite::open(location.as_ref(), access)?))
    }
}
