//! What a store does, written once for every database.

use std::time::Duration;

use meno::memory::{Concept, Draft, Entry, Kept, Owner, normal_form};
use serde::{Deserialize, Serialize};

use crate::backup;
use crate::journal::{Batch, drop_before};
use crate::numbers::ErasedOwner;
use crate::sql::{Backend, MOST_USES, Row, Sql, columns, concept, from_json, size};
use crate::{Error, Result};

/// Who asks: what may be seen and changed, and under whose name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The admin who acts; `None` if the owner does.
    admin: Option<String>,
    /// Whose concepts are changed; `None` for those of all, which only an admin changes.
    owner: Option<Owner>,
    quota: Option<Quota>,
}

/// How much an owner may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Concepts.
    pub concepts: u64,
    /// Bytes of their texts.
    pub bytes: u64,
}

/// How much there was of an owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Erased {
    /// Concepts.
    pub concepts: u64,
    /// Rows of the journal.
    pub changes: u64,
}

/// A row of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entered {
    /// Its number.
    pub seq: u64,
    /// The change that it is a part of.
    pub batch: u64,
    /// The change that this one takes back; 0 for none.
    pub undoes: u64,
    /// What the actor was: `user` or `admin`, or `unknown` in an old store.
    pub role: String,
    /// Who made the change; empty for everyone.
    pub actor: String,
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// What it did.
    pub change: Change,
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
    /// And not many more bytes than these: none but the first is beyond them. Then there are more if there are any.
    pub bytes: u64,
}

impl Query {
    /// What finds the concepts of this query.
    pub(crate) fn search(&self) -> Search<'_> {
        let normal = normal_form(&self.text);
        let letters = normal.replace(' ', "");
        Search { query: self, text: self.text.trim(), normal, letters }
    }
}

/// A query on its way through many concepts.
pub(crate) struct Search<'q> {
    query: &'q Query,
    text: &'q str,
    normal: String,
    /// The normal form without spaces.
    letters: String,
}

impl Search<'_> {
    /// Whether a concept is looked for, as [`Store::list`] has it.
    pub(crate) fn finds(&self, concept: &Concept) -> bool {
        let in_phrase = || !self.normal.is_empty() && concept.normal.contains(&self.normal);
        self.fits(concept.id, &concept.slot, concept.value.as_deref(), in_phrase)
    }

    /// Whether it may be: of its phrase an index has the words alone, not the spaces between them. `buffer` is for these.
    pub(crate) fn may_find(&self, kept: Kept<'_>, buffer: &mut String) -> bool {
        let in_phrase = || {
            buffer.clear();
            buffer.extend(kept.normals());
            !self.letters.is_empty() && buffer.contains(&self.letters)
        };
        self.fits(kept.id(), kept.slot(), kept.value(), in_phrase)
    }

    fn fits(&self, id: u64, slot: &str, value: Option<&str>, in_phrase: impl FnOnce() -> bool) -> bool {
        let has = |text: &str| !self.text.is_empty() && text.contains(self.text);
        let is_all = self.text.is_empty() && self.normal.is_empty();
        id > self.query.after
            && (self.query.slot.is_empty() || slot == self.query.slot)
            && (is_all || has(slot) || value.is_some_and(has) || in_phrase())
    }
}

impl Default for Query {
    fn default() -> Self {
        let no_limit = i64::MAX as u64;
        Query { text: String::new(), slot: String::new(), after: 0, limit: no_limit, bytes: no_limit }
    }
}

/// How far somebody has followed the journal of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Which store it is.
    pub store: u64,
    /// The last row that was seen.
    pub seq: u64,
}

/// A row of a store, as a backup has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A concept.
    Concept(Box<Concept>),
    /// An owner, with the last number that was given to a concept of it.
    Given(String, u64),
    /// A row of the journal, with its owner, and the number of the concept.
    Change(Box<Entered>, String, u64),
    /// The last row that was dropped from the journal.
    Trimmed(u64),
}

/// Where the rows of a backup go.
pub type Put<'a> = dyn FnMut(Record) -> Result<()> + 'a;

/// What happened since somebody looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// These concepts are now as they stand here, or gone; and the mark to ask with the next time.
    Changed(Vec<(u64, Option<Concept>)>, Mark),
    /// More than the journal still has, or it is another store: everything must be read anew.
    Everything,
}

/// A place where concepts are kept. What a method that changes something returned is on disk.
pub trait Store: Send {
    /// What it is called in messages, without passwords.
    fn name(&self) -> String;

    /// Makes some edits, all or none.
    fn edit(&mut self, scope: &Scope, edits: Vec<Edit>, time: u64) -> Result<Vec<Change>>;

    /// Takes back the last change that was made in this scope by the same actor; the changes that this took, none if nothing was
    /// left to take back.
    fn undo(&mut self, scope: &Scope, time: u64) -> Result<Vec<Change>>;

    /// Concepts in the order of their ids.
    fn list(&mut self, scope: &Scope, query: &Query) -> Result<Vec<Concept>>;

    /// Those of some concepts that are there and may be seen, in the order of their ids.
    fn concepts(&mut self, scope: &Scope, ids: &[u64]) -> Result<Vec<Concept>>;

    /// One concept, if it is there and may be seen.
    fn concept(&mut self, scope: &Scope, id: u64) -> Result<Option<Concept>> {
        Ok(self.concepts(scope, &[id])?.pop())
    }

    /// How many concepts there are in all.
    fn count(&mut self) -> Result<u64>;

    /// Takes away the concepts of an owner and all that the journal has of them, from the disk too: for an admin at once; for others
    /// traces may be left there until [`Store::tidy`], since nobody may have everything written anew again and again.
    fn erase(&mut self, scope: &Scope, owner: &Owner, time: u64) -> Result<Erased>;

    /// The owners of whom everything was erased after a row of the journal.
    fn erasures(&mut self, after: u64) -> Result<Vec<ErasedOwner>>;

    /// What is to be done from time to time: drops what the journal has from before a moment, and takes what was erased from the disk.
    fn tidy(&mut self, time: u64, oldest: u64) -> Result<()>;

    /// What the journal has of an owner, after a row, at most so many rows. There are fewer if they are large, but none only at the end.
    fn journal(&mut self, owner: &Owner, after: u64, limit: u64) -> Result<Vec<Entered>>;

    /// Whether the journal does not have old changes any more.
    fn is_journal_cut(&mut self) -> Result<bool>;

    /// Waits for a turn to write, and leaves it.
    fn wait_for_turn(&mut self) -> Result<()>;

    /// Fails if nothing can be written now.
    fn check(&mut self) -> Result<()>;

    /// All concepts as an index needs them, and the mark to ask for news with.
    fn entries(&mut self, each: &mut dyn FnMut(Entry<'_>)) -> Result<Mark>;

    /// What was changed since a mark was given, by whatever process.
    fn news(&mut self, since: Mark) -> Result<News>;

    /// Everything, as it was at one moment; others read and write on meanwhile.
    fn dump(&mut self, put: &mut Put<'_>) -> Result<()>;

    /// Takes everything away and has what `fill` puts in its place, all or nothing. Whoever follows the journal reads it anew.
    fn replace(&mut self, fill: &mut dyn FnMut(&mut Put<'_>) -> Result<()>) -> Result<()>;

    /// How long the database may take to give something from now on; then it counts as away.
    fn set_patience(&mut self, patience: Duration);

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

    fn erase(&mut self, scope: &Scope, owner: &Owner, time: u64) -> Result<Erased> {
        owner.check()?;
        let erased = self.write(|sql| Batch::new(sql, scope, time)?.erase(owner))?;
        scrub(self, time, if scope.admin.is_some() { 0 } else { PAUSE })?;
        Ok(erased)
    }

    fn erasures(&mut self, after: u64) -> Result<Vec<ErasedOwner>> {
        let sql = "SELECT concept FROM meno_changes WHERE owner = '*' AND seq > $1 ORDER BY seq";
        let mut erased = Vec::new();
        self.read(|tables| {
            tables.query(sql, &[after.into()], &mut |row| {
                erased.extend(ErasedOwner::from_number(row.number(0)?));
                Ok(())
            })
        })?;
        Ok(erased)
    }

    fn tidy(&mut self, time: u64, oldest: u64) -> Result<()> {
        self.write(|sql| drop_before(sql, oldest))?;
        scrub(self, time, PAUSE)
    }

    fn is_journal_cut(&mut self) -> Result<bool> {
        self.read(|sql| Ok(sql.number(TRIMMED, &[])? > 0))
    }

    fn wait_for_turn(&mut self) -> Result<()> {
        self.write(|_| Ok(()))
    }

    fn journal(&mut self, owner: &Owner, after: u64, limit: u64) -> Result<Vec<Entered>> {
        let sql = "SELECT seq, batch, undoes, role, actor, time, was, became FROM meno_changes
                     WHERE owner = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        let name = owner.user().unwrap_or("");
        let (mut rows, mut bytes) = (Vec::new(), 0);
        self.read(|tables| {
            tables.query(sql, &[name.into(), after.into(), limit.into()], &mut |row| {
                for column in [6, 7] {
                    bytes += row.text(column)?.map_or(0, str::len);
                }
                if bytes <= PAGE_BYTES || rows.is_empty() {
                    rows.push(entered(row)?);
                }
                Ok(())
            })
        })?;
        Ok(rows)
    }

    fn check(&mut self) -> Result<()> {
        self.write(|sql| sql.execute("UPDATE meno_meta SET value = value WHERE name = 'schema'", &[]))
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
        let normal = normal_form(&query.text);
        let values = [
            query.after.into(),
            scope.kind().into(),
            scope.owner_name().into(),
            query.slot.as_str().into(),
            normal.as_str().into(),
            query.text.trim().into(),
            query.limit.into(),
        ];
        let (mut concepts, mut bytes) = (Vec::new(), 0);
        self.read(|tables| {
            tables.query(sql, &values, &mut |row| {
                let concept = concept(row)?;
                bytes += size(&concept);
                if bytes <= query.bytes || concepts.is_empty() {
                    concepts.push(concept);
                }
                Ok(())
            })
        })?;
        Ok(concepts)
    }

    fn concepts(&mut self, scope: &Scope, ids: &[u64]) -> Result<Vec<Concept>> {
        let ids = format!("{ids:?}");
        let values = [ids.as_str().into(), scope.kind().into(), scope.owner_name().into()];
        self.read(|tables| tables.concepts(B::BY_IDS, &values))
    }

    fn count(&mut self) -> Result<u64> {
        self.read(|sql| sql.number("SELECT count(*) FROM meno_concepts", &[]))
    }

    fn dump(&mut self, put: &mut Put<'_>) -> Result<()> {
        self.read(|sql| backup::dump(sql, put))
    }

    fn replace(&mut self, fill: &mut dyn FnMut(&mut Put<'_>) -> Result<()>) -> Result<()> {
        self.write(|sql| backup::replace(sql, fill))?;
        self.renumber()
    }

    fn set_patience(&mut self, patience: Duration) {
        Backend::set_patience(self, patience);
    }

    fn entries(&mut self, each: &mut dyn FnMut(Entry<'_>)) -> Result<Mark> {
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
            mark(sql)
        })
    }

    fn news(&mut self, since: Mark) -> Result<News> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            ", changed, seq FROM (SELECT concept AS changed, max(seq) AS seq FROM meno_changes WHERE seq > $1
               GROUP BY concept) AS changes LEFT JOIN meno_concepts ON id = changed ORDER BY seq"
        );
        self.read(|tables| {
            let last = mark(tables)?;
            let trimmed = tables.number(TRIMMED, &[])?;
            // A journal that ends earlier than it did is that of a store which was put back to an older state.
            if since.store != last.store || since.seq < trimmed || last.seq < since.seq {
                return Ok(News::Everything);
            }
            let mut changed = Vec::new();
            if last != since {
                tables.query(sql, &[since.seq.into()], &mut |row| {
                    let is_there = row.text(1)?.is_some();
                    changed.push((row.number(10)?, is_there.then(|| concept(row)).transpose()?));
                    Ok(())
                })?;
            }
            Ok(News::Changed(changed, last))
        })
    }

    fn count_uses(&mut self, uses: &[(u64, u64)]) -> Result<()> {
        const COUNT: &str = "UPDATE meno_concepts
            SET uses = CASE WHEN uses > $1 THEN $2 ELSE uses + $3 END WHERE id = $4";
        self.write(|sql| {
            for &(id, uses) in uses {
                let uses = uses.min(MOST_USES);
                let most_before = MOST_USES - uses;
                sql.execute(COUNT, &[most_before.into(), MOST_USES.into(), uses.into(), id.into()])?;
            }
            Ok(())
        })
    }
}

const TRIMMED: &str = "SELECT value FROM meno_meta WHERE name = 'trimmed'";

/// The bytes of concepts on a page of the journal, about.
const PAGE_BYTES: usize = 1 << 20;

/// The milliseconds from one time that the tables are written anew to the next, unless an admin asks for it: others wait meanwhile.
const PAUSE: u64 = 10 * 60 * 1000;

/// Sees to it that what was erased is not on the disk any more; traces of it may stay until the pause is over.
fn scrub(store: &mut impl Backend, time: u64, pause: u64) -> Result<()> {
    const VALUE: &str = "SELECT value FROM meno_meta WHERE name = $1";
    let (waiting, last) = store.read(|sql| {
        Ok((sql.number(VALUE, &["unscrubbed".into()])?, sql.number(VALUE, &["scrubbed".into()])?))
    })?;
    if waiting == 0 {
        return Ok(());
    }
    let is_due = time.abs_diff(last) >= pause;
    let scrubbed = store.empty_log().and_then(|()| if is_due { store.rewrite() } else { Ok(()) });
    scrubbed.map_err(|error| match error {
        Error::Busy { store } => Error::NotScrubbed { store },
        error => error,
    })?;
    if !is_due {
        return Ok(());
    }
    store.write(|sql| {
        sql.execute("UPDATE meno_meta SET value = $1 WHERE name = 'scrubbed'", &[time.into()])?;
        // Something more may have been erased meanwhile.
        sql.execute("UPDATE meno_meta SET value = value - $1 WHERE name = 'unscrubbed'", &[waiting.into()])
    })
}

/// Reads a row of the journal: seq, batch, undoes, role, actor, time, was, became.
pub(crate) fn entered(row: &dyn Row) -> Result<Entered> {
    let concept = |column: usize| -> Result<Option<Concept>> {
        row.text(column)?.map(|text| from_json(text, "the journal")).transpose()
    };
    Ok(Entered {
        seq: row.number(0)?,
        batch: row.number(1)?,
        undoes: row.number(2)?,
        role: row.string(3)?,
        actor: row.string(4)?,
        time: row.number(5)?,
        change: Change { before: concept(6)?, after: concept(7)? },
    })
}

/// The end of the journal.
fn mark(sql: &mut dyn Sql) -> Result<Mark> {
    const LAST: &str = "SELECT coalesce(max(seq), 0) FROM meno_changes";
    let [trimmed, store] = ["trimmed", "identity"]
        .map(|name| sql.number("SELECT value FROM meno_meta WHERE name = $1", &[name.into()]));
    Ok(Mark { store: store?, seq: sql.number(LAST, &[])?.max(trimmed?) })
}

impl Scope {
    /// A user, who sees what is everyone's and its own, and changes its own; without a name, whoever changes what is everyone's.
    pub fn of(user: Option<&str>) -> Scope {
        Scope::own(Owner::from(user.map(str::to_owned)))
    }

    /// An owner, who sees what is everyone's and its own, and changes its own.
    pub fn own(owner: Owner) -> Scope {
        Scope { admin: None, owner: Some(owner), quota: None }
    }

    /// An admin, who sees and changes the concepts of all users.
    pub fn admin(name: &str) -> Scope {
        Scope { admin: Some(name.to_owned()), owner: None, quota: None }
    }

    /// The same where only the concepts of this owner are changed.
    pub fn within(self, owner: Owner) -> Scope {
        Scope { owner: Some(owner), ..self }
    }

    /// The same where an owner may not have more than so much.
    pub fn up_to(self, quota: Quota) -> Scope {
        Scope { quota: Some(quota), ..self }
    }

    /// The owner whose concepts are changed; `None` for those of all.
    pub fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref()
    }

    /// Whether a concept of this owner may be seen.
    pub fn sees(&self, owner: &Owner) -> bool {
        *owner == Owner::Everyone || self.changes(owner)
    }

    /// Whether a concept of this user, or of everyone, may be seen.
    pub(crate) fn sees_user(&self, user: Option<&str>) -> bool {
        user.is_none() || self.owner.as_ref().is_none_or(|own| own.user() == user)
    }

    /// Whether a concept of this owner may be changed.
    pub fn changes(&self, owner: &Owner) -> bool {
        self.owner.as_ref().is_none_or(|own| own == owner)
    }

    pub(crate) fn quota(&self) -> Option<Quota> {
        self.quota
    }

    /// `all` or `one`, for statements.
    pub(crate) fn kind(&self) -> &'static str {
        if self.owner.is_none() { "all" } else { "one" }
    }

    /// The name of the owner, for statements.
    pub(crate) fn owner_name(&self) -> &str {
        self.owner.as_ref().and_then(Owner::user).unwrap_or("")
    }

    /// What the actor is, for the journal.
    pub(crate) fn role(&self) -> &'static str {
        if self.admin.is_some() { "admin" } else { "user" }
    }

    /// The name under which changes are written down.
    pub(crate) fn actor(&self) -> &str {
        self.admin.as_deref().unwrap_or(self.owner_name())
    }
}
