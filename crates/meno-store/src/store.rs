//! What a store does, written once for every database.

use meno::memory::{Concept, Draft, Entry, Owner};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::journal::Batch;
use crate::sql::{Backend, Row, columns, concept};

/// Who asks: what may be seen and changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Sees and changes the concepts of all users.
    All,
    /// Sees the owner's concepts and everyone's, changes the owner's.
    Of(Owner),
}

/// A change to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A concept is learnt; if the owner has one of the same words and slot, it is changed.
    Add(Draft),
    /// As `Add`, but a new concept keeps its times and uses. Its id is given anew.
    Import(Box<Concept>),
    /// A concept is changed.
    Amend {
        /// The concept.
        id: u64,
        /// What becomes of it.
        to: Amendment,
    },
    /// A concept is forgotten.
    Remove {
        /// The concept.
        id: u64,
    },
}

/// What becomes of a concept; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Amendment {
    /// Another phrase.
    pub phrase: Option<String>,
    /// Another slot.
    pub slot: Option<String>,
    /// Another value, or none.
    pub value: Option<Option<String>>,
}

/// What a change did to a concept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The concept before; `None` if it is new.
    pub before: Option<Concept>,
    /// The concept after; `None` if it is gone.
    pub after: Option<Concept>,
}

/// Which concepts to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Part of the phrase in its normal form, of the slot, or of the value; empty for all.
    pub text: String,
    /// The slot; empty for all.
    pub slot: String,
    /// Only ids above this one: that of the last concept of the page before.
    pub after: u64,
    /// At most so many.
    pub limit: u64,
}

impl Default for Query {
    fn default() -> Self {
        Query { text: String::new(), slot: String::new(), after: 0, limit: i64::MAX as u64 }
    }
}

/// What happened since somebody looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// These concepts are now as they stand here, or gone; and the number to ask with the next time.
    Changed(Vec<(u64, Option<Concept>)>, u64),
    /// More than the journal still has: everything must be read anew.
    Everything,
}

/// A place where concepts are kept. What a method that changes something returned is on disk.
pub trait Store: Send {
    /// What it is called in messages, without passwords.
    fn name(&self) -> String;

    /// Makes some edits, all or none.
    fn edit(&mut self, scope: &Scope, edits: Vec<Edit>, time: u64) -> Result<Vec<Change>>;

    /// Takes back the last change of the scope; the changes that this took, none if nothing was left to take back.
    fn undo(&mut self, scope: &Scope, time: u64) -> Result<Vec<Change>>;

    /// Concepts in the order of their ids.
    fn list(&mut self, scope: &Scope, query: &Query) -> Result<Vec<Concept>>;

    /// One concept, if it is there and may be seen.
    fn concept(&mut self, scope: &Scope, id: u64) -> Result<Option<Concept>>;

    /// How many concepts there are in all.
    fn count(&mut self) -> Result<u64>;

    /// All concepts as an index needs them, and the number to ask for news with.
    fn entries(&mut self, each: &mut dyn FnMut(Entry<'_>)) -> Result<u64>;

    /// What was changed since a number was given, by whatever process.
    fn news(&mut self, since: u64) -> Result<News>;

    /// Adds to the number of times that concepts were used. Not a change: it is not undone, and no news.
    fn count_uses(&mut self, uses: &[(u64, u64)]) -> Result<()>;
}

impl<B: Backend> Store for B {
    fn name(&self) -> String {
        Backend::name(self)
    }

    fn edit(&mut self, scope: &Scope, edits: Vec<Edit>, time: u64) -> Result<Vec<Change>> {
        self.write(|sql| Batch::new(sql, scope, time)?.edit(edits))
    }

    fn undo(&mut self, scope: &Scope, time: u64) -> Result<Vec<Change>> {
        self.write(|sql| Batch::new(sql, scope, time)?.undo())
    }

    fn list(&mut self, scope: &Scope, query: &Query) -> Result<Vec<Concept>> {
        // A part is contained if the text changes without it; the databases' own functions for it have different names.
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM meno_concepts WHERE id > $1 AND ($2 = 'all' OR owner = '' OR owner = $3)
               AND ($4 = '' OR slot = $4)
               AND (($5 = '' AND $6 = '') OR ($5 <> '' AND replace(normal, $5, '') <> normal)
                    OR replace(slot, $6, '') <> slot OR replace(coalesce(value, ''), $6, '') <> coalesce(value, ''))
               ORDER BY id LIMIT $7"
        );
        let normal = meno::memory::normal_form(&query.text);
        let values = [
            query.after.into(),
            scope.kind().into(),
            scope.actor().into(),
            query.slot.as_str().into(),
            normal.as_str().into(),
            query.text.trim().into(),
            query.limit.into(),
        ];
        self.read(|tables| tables.concepts(sql, &values))
    }

    fn concept(&mut self, scope: &Scope, id: u64) -> Result<Option<Concept>> {
        let sql = concat!("SELECT ", columns!(), " FROM meno_concepts WHERE id = $1");
        let concept = self.read(|tables| tables.concepts(sql, &[id.into()]))?.pop();
        Ok(concept.filter(|concept| scope.sees(&concept.owner)))
    }

    fn count(&mut self) -> Result<u64> {
        self.read(|sql| sql.number("SELECT count(*) FROM meno_concepts", &[]))
    }

    fn entries(&mut self, each: &mut dyn FnMut(Entry<'_>)) -> Result<u64> {
        let mut give = |row: &dyn Row| -> Result<()> {
            each(Entry {
                id: row.number(0)?,
                phrase: row.text(1)?.unwrap_or_default(),
                slot: row.text(2)?.unwrap_or_default(),
                value: row.text(3)?,
                user: row.text(4)?.filter(|user| !user.is_empty()),
            });
            Ok(())
        };
        self.read(|sql| {
            sql.query("SELECT id, phrase, slot, value, owner FROM meno_concepts", &[], &mut give)?;
            sql.number(LAST, &[])
        })
    }

    fn news(&mut self, since: u64) -> Result<News> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            ", changed, seq FROM (SELECT concept AS changed, max(seq) AS seq FROM meno_changes WHERE seq > $1
               GROUP BY concept) AS changes LEFT JOIN meno_concepts ON id = changed ORDER BY seq"
        );
        self.read(|tables| {
            let last = tables.number(LAST, &[])?;
            let trimmed = tables.number("SELECT value FROM meno_meta WHERE name = 'trimmed'", &[])?;
            // A journal that ends earlier than it did is that of a store which was put back to an older state.
            if since < trimmed || last < since {
                return Ok(News::Everything);
            }
            let mut changed = Vec::new();
            if last > since {
                tables.query(sql, &[since.into()], &mut |row| {
                    let is_there = row.text(1)?.is_some();
                    changed.push((row.number(10)?, is_there.then(|| concept(row)).transpose()?));
                    Ok(())
                })?;
            }
            Ok(News::Changed(changed, last))
        })
    }

    fn count_uses(&mut self, uses: &[(u64, u64)]) -> Result<()> {
        self.write(|sql| {
            for &(id, uses) in uses {
                let values = [uses.into(), id.into()];
                sql.execute("UPDATE meno_concepts SET uses = uses + $1 WHERE id = $2", &values)?;
            }
            Ok(())
        })
    }
}

const LAST: &str =
    "SELECT coalesce(max(seq), (SELECT value FROM meno_meta WHERE name = 'trimmed')) FROM meno_changes";

impl Scope {
    /// The scope of a user by name; without one, of what is everyone's.
    pub fn of(user: Option<&str>) -> Scope {
        Scope::Of(Owner::from(user.map(str::to_owned)))
    }

    /// Whether a concept of this owner may be seen.
    pub fn sees(&self, owner: &Owner) -> bool {
        *owner == Owner::Everyone || self.changes(owner)
    }

    /// Whether a concept of this owner may be changed.
    pub fn changes(&self, owner: &Owner) -> bool {
        match self {
            Scope::All => true,
            Scope::Of(user) => user == owner,
        }
    }

    /// `all` or `one`, for statements.
    pub(crate) fn kind(&self) -> &'static str {
        if *self == Scope::All { "all" } else { "one" }
    }

    /// The name under which changes are written down.
    pub(crate) fn actor(&self) -> &str {
        match self {
            Scope::All => "",
            Scope::Of(owner) => owner.user().unwrap_or(""),
        }
    }
}
