//! What can go wrong with a store.

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong, in words a user can act on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store cannot be reached now; nothing was changed. It may come back.
    #[error("{store} cannot be reached: {problem}")]
    Away {
        /// The store, without passwords.
        store: String,
        /// Why.
        problem: String,
    },
    /// Others ask the store for so much that there was no turn in time; nothing was changed.
    #[error("{store} is busy")]
    Busy {
        /// The store, without passwords.
        store: String,
    },
    /// What was erased is in no answer any more, but not overwritten on the disk either.
    #[error("what was erased is still on the disk of {store}: others read there")]
    NotScrubbed {
        /// The store, without passwords.
        store: String,
    },
    /// The database cannot prove to be what the address asks for, or has no TLS.
    #[error("{store} is not trusted: {problem}")]
    Distrusted {
        /// The store, without passwords.
        store: String,
        /// Why.
        problem: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// PostgreSQL was left out when this program was built.
    #[error("this program was built without PostgreSQL")]
    WithoutPostgres,
    /// There is no store there.
    #[error("there is no concept store at {store}")]
    NotThere {
        /// The store.
        store: String,
    },
    /// The store was made by a newer program.
    #[error("{store} has schema {found}, but this program knows schemas up to {known}")]
    Newer {
        /// The store.
        store: String,
        /// Its schema.
        found: i64,
        /// The newest that is known.
        known: i64,
    },
    /// There is something else than a store of concepts.
    #[error("{store} is not a concept store: {problem}")]
    NotAStore {
        /// The store.
        store: String,
        /// What was found.
        problem: String,
    },
    /// There is a log, and nothing of the file that it belongs to: to make a store there would throw the log away.
    #[error("{store} {problem}, but its log {store}-wal is not")]
    LogAlone {
        /// The store.
        store: String,
        /// What became of its file.
        problem: &'static str,
    },
    /// A concept is not there, or not to be seen.
    #[error("there is no concept {id}")]
    NoConcept {
        /// Its number.
        id: u64,
    },
    /// A concept belongs to somebody else.
    #[error("concept {id} is {owner}'s")]
    NotYours {
        /// Its number.
        id: u64,
        /// Whose it is.
        owner: String,
    },
    /// A change that other changes stand in the way of.
    #[error("{problem}")]
    Conflict {
        /// What stands in the way.
        problem: String,
    },
    /// An owner has as much as it may.
    #[error("there are {limit} {what} already, which is as many as an owner may have")]
    Full {
        /// Of what: concepts or bytes.
        what: &'static str,
        /// How many an owner may have.
        limit: u64,
    },
    /// A concept that is not fit to be remembered, or a file that cannot be read or written.
    #[error(transparent)]
    Engine(#[from] meno::Error),
    /// The database failed.
    #[error("{store}: {source}")]
    Database {
        /// The store.
        store: String,
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// What the user can do about it, if there is something to say.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Away { .. } => {
                Some("what is known is still answered; try again when the database is back")
            }
            Error::Busy { .. } => Some("try again in a moment"),
            Error::NotScrubbed { .. } => Some("erase it again when they have ended, for example a backup"),
            Error::Distrusted { hint, .. } => Some(hint),
            Error::WithoutPostgres => Some("build it with the feature `postgres`, or name a file"),
            Error::NotThere { .. } => {
                Some("the first concept that is added makes one; or name another store")
            }
            Error::Newer { .. } => Some("use the program that wrote it, or a newer one"),
            Error::NotAStore { .. } => Some("name a file that is not there yet, or one that meno made"),
            Error::LogAlone { .. } => {
                Some("put the file back beside its log; without the log a new store is made there")
            }
            Error::NoConcept { .. } => Some("the list of concepts shows the numbers"),
            Error::NotYours { .. } => Some("change concepts of your own"),
            Error::Full { .. } => Some("forget some, or ask whoever runs the server for more"),
            Error::Conflict { .. } | Error::Database { .. } => None,
            Error::Engine(error) => error.hint(),
        }
    }
}
