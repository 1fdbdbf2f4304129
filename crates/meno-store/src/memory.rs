//! The handle that answers: an index in this process, kept in step with a store.
//!
//! Everything that is found comes from the index, under a lock that readers share. What is learnt goes to the store first
//! and then, by way of the journal, into the index; a thread follows the journal for what other processes learn. One lock
//! orders both, so that the index never goes back to an older state of a concept. Lists are read over a connection of their
//! own, so that nobody who reads stands in the way of those who teach.
//!
//! A store that is away is asked again and again by the thread that follows it; until it is back, and can be written to,
//! what needs it fails at once, and nothing else does.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use meno::decision::Policy;
use meno::engine::Tokenization;
use meno::memory::{Concept, Draft, Entry, Found, Index, Owner, Recalled, Remembered, Rule, Spelling};
use meno::{Annotation, Worker};

use crate::desk::{Desk, lock};
use crate::numbers::ErasedOwner;
use crate::sql::size;
use crate::store::{Amendment, Change, Edit, Entered, Erased, Mark, News, Query, Scope, Search, Store};
use crate::{Access, Error, Result, open};

/// How often the journal is looked at.
const INTERVAL: Duration = Duration::from_millis(200);

/// How long a store may take to answer before it counts as away.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long others may hold a store so that nobody here can write to it, before it counts as away.
const HELD: Duration = Duration::from_secs(3);

/// How long a store has at the end.
const FAREWELL: Duration = Duration::from_millis(500);

/// At each so many looks at the journal it is seen whether the store can be written to, and at each so many it is tidied.
const TURNS: u64 = 5;
const TIDYINGS: u64 = 300;

/// How many changes the index takes at a time, before readers have their turn.
const PORTION: usize = 1000;

/// How many concepts are read at a time: a page of long ones may end soon.
const AT_ONCE: usize = 250;

/// Concepts that many threads ask for; clones are the same memory.
///
/// `find` and `remember` take microseconds and may be called anywhere, and so may dropping it. What changes or lists concepts
/// waits for a disk or a network: an async server calls it on a thread for such work (`spawn_blocking`).
#[derive(Clone)]
pub struct Memory {
    shared: Arc<Shared>,
    spelling: Spelling,
}

struct Shared {
    index: RwLock<Index>,
    /// What the index has of the journal. Whoever changes the index holds this lock.
    seen: Mutex<Mark>,
    writer: Desk,
    /// Another connection; `None` if there can be only one.
    reader: Option<Desk>,
    /// A third, by which the journal is followed.
    follower: Option<Desk>,
    uses: Mutex<HashMap<u64, u64>>,
    /// Why the store is away; `None` if it is there.
    trouble: Mutex<Option<String>>,
    /// Since when others have been holding it; `None` if it can be written to.
    held: Mutex<Option<Instant>>,
    /// How many milliseconds the journal goes back.
    journal_age: AtomicU64,
    /// Of whom everything was erased, for whoever asks.
    erased: Mutex<Vec<ErasedOwner>>,
}

/// A concept that stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The concept.
    pub id: u64,
    /// The slot type.
    pub slot: String,
    /// The value that it stands for.
    pub value: Option<String>,
    /// The first byte in the text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// The time by this machine's clock, in milliseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

impl Memory {
    /// Opens a store ([`open`]) and reads all its concepts.
    pub fn open(location: &str, access: Access) -> Result<Memory> {
        let store = open(location, access)?;
        let again = || open(location, Access::Existing);
        Memory::new(store, Some([again()?, again()?]))
    }

    /// A memory that is forgotten with the last of its clones.
    pub fn volatile() -> Result<Memory> {
        Memory::new(open(":memory:", Access::Create)?, None)
    }

    /// `others` are the connections for readers and for following the journal; nobody else can change a store without them.
    fn new(mut store: Box<dyn Store>, others: Option<[Box<dyn Store>; 2]>) -> Result<Memory> {
        let (index, seen) = load(store.as_mut())?;
        let (reader, follower) = others.map(|[reader, follower]| (reader, follower)).unzip();
        let shared = Arc::new(Shared {
            index: RwLock::new(index),
            seen: Mutex::new(seen),
            writer: Desk::new(store, PATIENCE),
            reader: reader.map(|reader| Desk::new(reader, PATIENCE)),
            follower: follower.map(|follower| Desk::new(follower, PATIENCE)),
            uses: Mutex::default(),
            trouble: Mutex::default(),
            held: Mutex::default(),
            journal_age: AtomicU64::new(u64::MAX),
            erased: Mutex::default(),
        });
        follow(Arc::downgrade(&shared))?;
        Ok(Memory { shared, spelling: Spelling::Strict })
    }

    /// The same memory, in which misspellings are forgiven or not; at first they are not.
    pub fn with_spelling(self, spelling: Spelling) -> Self {
        Memory { spelling, ..self }
    }

    /// The same memory, which drops changes from the journal when they are so old; at first it drops none by age.
    pub fn with_journal_of(self, age: Duration) -> Self {
        self.shared.journal_age.store(age.as_millis() as u64, Ordering::Relaxed);
        self
    }

    /// The owners of whom everything was erased since this was asked before, by whatever process.
    pub fn take_erased(&self) -> Vec<ErasedOwner> {
        std::mem::take(&mut lock(&self.shared.erased))
    }

    /// How many concepts there are.
    pub fn len(&self) -> usize {
        self.shared.index().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Why the store cannot be reached; `None` if it can.
    pub fn trouble(&self) -> Option<String> {
        lock(&self.shared.trouble).clone()
    }

    /// Every concept of the user and of everyone that stands in a text, in the order of [`Index::find`].
    pub fn find(&self, text: &str, user: Option<&str>) -> Vec<Known> {
        let index = self.shared.index();
        index.find_spelt(text, user, self.spelling).into_iter().map(Known::from).collect()
    }

    /// What memory and a model make of a text together, by another policy than the model's if there is one: where memory
    /// finds concepts, the rest is read again ([`Worker::read_again`]).
    pub fn annotate<'t>(
        &self,
        worker: &mut Worker,
        policy: Option<&Policy>,
        text: &'t str,
        tokenization: Tokenization,
        user: Option<&str>,
    ) -> Remembered<'t> {
        let annotation = match policy {
            Some(policy) => worker.annotate_by(policy, text, tokenization),
            None => worker.annotate(text, tokenization),
        };
        self.complete(worker, policy, annotation, tokenization, user)
    }

    /// As [`Memory::annotate`], of what the worker said of a text before.
    pub fn complete<'t>(
        &self,
        worker: &mut Worker,
        policy: Option<&Policy>,
        annotation: Annotation<'t>,
        tokenization: Tokenization,
        user: Option<&str>,
    ) -> Remembered<'t> {
        let remembered = self.remember(annotation, user, |word| worker.model().has_seen(word));
        worker.read_again(remembered, policy, tokenization)
    }

    /// As [`Memory::annotate`], where some words, in bytes, are known to be of a slot whatever memory says.
    pub fn annotate_knowing<'t>(
        &self,
        worker: &mut Worker,
        text: &'t str,
        user: Option<&str>,
        known: &[(Range<usize>, String)],
    ) -> Remembered<'t> {
        let annotation = worker.annotate(text, Tokenization::Raw);
        let remembered = self.remember(annotation, user, |word| worker.model().has_seen(word));
        worker.read_again(remembered.knowing(known), None, Tokenization::Raw)
    }

    /// What memory makes of a text that some tagger has annotated; concepts that hold are counted as used. `has_seen` is
    /// whether the tagger was trained on a word ([`meno::Model::has_seen`]).
    pub fn remember<'t>(
        &self,
        annotation: Annotation<'t>,
        user: Option<&str>,
        has_seen: impl Fn(&str) -> bool,
    ) -> Remembered<'t> {
        let remembered = {
            let index = self.shared.index();
            let found = index.find_spelt(annotation.text, user, self.spelling);
            Remembered::new(Rule::default(), annotation, &found, has_seen)
        };
        if !remembered.memory.is_empty() {
            self.count(&remembered.memory);
        }
        remembered
    }

    fn count(&self, recalled: &[Recalled<'_>]) {
        let mut uses = lock(&self.shared.uses);
        for recalled in recalled {
            *uses.entry(recalled.concept).or_default() += 1;
        }
    }

    /// Remembers a concept. Once this returns it is on disk and found.
    pub fn learn(&self, scope: &Scope, draft: Draft) -> Result<Concept> {
        let change = self.one(scope, Edit::Add(draft))?;
        Ok(change.after.expect("what was added is there"))
    }

    /// Changes a concept.
    pub fn amend(&self, scope: &Scope, id: u64, to: Amendment) -> Result<Concept> {
        let change = self.one(scope, Edit::Amend { id, to })?;
        Ok(change.after.expect("what was changed is there"))
    }

    /// Forgets a concept.
    pub fn remove(&self, scope: &Scope, id: u64) -> Result<Concept> {
        let change = self.one(scope, Edit::Remove { id })?;
        Ok(change.before.expect("what is gone was there"))
    }

    fn one(&self, scope: &Scope, edit: Edit) -> Result<Change> {
        let mut changes = self.edit(scope, vec![edit])?;
        Ok(changes.pop().expect("an edit is a change"))
    }

    /// Makes some edits, all or none; one undo takes them back together.
    pub fn edit(&self, scope: &Scope, edits: Vec<Edit>) -> Result<Vec<Change>> {
        self.change(|store| store.edit(scope, edits, now()))
    }

    /// Takes back the last change of the scope ([`Store::undo`]).
    pub fn undo(&self, scope: &Scope) -> Result<Vec<Change>> {
        self.change(|store| store.undo(scope, now()))
    }

    /// Takes away all that there is of an owner, from the disk too.
    pub fn erase(&self, scope: &Scope, owner: &Owner) -> Result<Erased> {
        self.change(|store| store.erase(scope, owner, now()))
    }

    /// Concepts as they are stored, found by the index, in the order of their ids; fails while the store is away.
    pub fn list(&self, scope: &Scope, query: &Query) -> Result<Vec<Concept>> {
        self.page(scope, query).map(|(concepts, _)| concepts)
    }

    /// As [`Memory::list`], and the id after which the next page begins, if there are more.
    pub fn page(&self, scope: &Scope, query: &Query) -> Result<(Vec<Concept>, Option<u64>)> {
        let search = query.search();
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let ids = self.shared.search(scope, &search);
        let (mut concepts, mut taken) = (Vec::<Concept>::new(), 0);
        for ids in ids.chunks(limit.saturating_add(1).min(AT_ONCE)) {
            let read = self.shared.read(|store| store.concepts(scope, ids))?;
            for concept in read.into_iter().filter(|concept| search.finds(concept)) {
                if concepts.len() >= limit || taken + size(&concept) > query.bytes && !concepts.is_empty() {
                    let next = concepts.last().map(|concept| concept.id);
                    return Ok((concepts, next));
                }
                taken += size(&concept);
                concepts.push(concept);
            }
        }
        self.shared.demand_store()?;
        Ok((concepts, None))
    }

    /// A concept as it is stored; fails while the store is away.
    pub fn concept(&self, scope: &Scope, id: u64) -> Result<Option<Concept>> {
        self.shared.read(|store| store.concept(scope, id))
    }

    /// Those of some concepts that are there and may be seen, in the order of their ids; fails while the store is away.
    pub fn concepts(&self, scope: &Scope, ids: &[u64]) -> Result<Vec<Concept>> {
        self.shared.read(|store| store.concepts(scope, ids))
    }

    /// What the journal has of an owner, after a row, at most so many rows; fails while the store is away.
    pub fn journal(&self, owner: &Owner, after: u64, limit: u64) -> Result<Vec<Entered>> {
        self.shared.read(|store| store.journal(owner, after, limit))
    }

    fn change<T>(&self, work: impl FnOnce(&mut dyn Store) -> Result<T>) -> Result<T> {
        self.shared.write(|store| {
            let result = work(store);
            if matches!(result, Ok(_) | Err(Error::NotScrubbed { .. })) {
                // It is done; if the store goes away just now, the follower brings it into the index later.
                let _ = self.shared.catch_up(store);
            }
            result
        })
    }

    /// Ends what is done with the store, as dropping the last clone does: what needs it fails from now on.
    pub fn close(&self) {
        self.shared.close();
    }

    /// Writes the counts of uses to the store now, not at the next look at the journal.
    pub fn flush(&self) -> Result<()> {
        self.shared.write(|store| self.shared.write_uses(store))
    }
}

impl Shared {
    fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the store; refuses at once what it could not do just now.
    fn write<T>(&self, work: impl FnOnce(&mut dyn Store) -> Result<T>) -> Result<T> {
        self.demand_store()?;
        // That others here have their turn is not the store's trouble.
        self.writer.ask(|store| {
            let result = self.note(work(store));
            if result.is_ok() {
                *lock(&self.held) = None;
            }
            result
        })
    }

    /// Reads the store.
    fn read<T>(&self, work: impl FnOnce(&mut dyn Store) -> Result<T>) -> Result<T> {
        let desk = self.reader.as_ref().unwrap_or(&self.writer);
        self.demand_store()?;
        // What takes long for one reader is not the store's trouble.
        desk.ask(work)
    }

    fn demand_store(&self) -> Result<()> {
        match lock(&self.trouble).clone() {
            Some(problem) => Err(Error::Away { store: self.writer.name().to_owned(), problem }),
            None => Ok(()),
        }
    }

    /// The ids of concepts that are looked for, and perhaps of some others, in their order.
    fn search(&self, scope: &Scope, search: &Search<'_>) -> Vec<u64> {
        let (mut ids, mut buffer) = (Vec::new(), String::new());
        let (mut start, mut n_places) = (0, 0);
        loop {
            // Between portions whoever learns has a turn.
            let index = self.index();
            if index.n_places() < n_places {
                // It was made anew.
                (start, ids) = (0, Vec::new());
            }
            n_places = index.n_places();
            let end = n_places.min(start + PORTION);
            if start >= end {
                break;
            }
            let seen = index.in_places(start..end).filter(|kept| scope.sees_user(kept.user()));
            ids.extend(seen.filter(|kept| search.may_find(*kept, &mut buffer)).map(|kept| kept.id()));
            start = end;
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Brings what changed in the store into the index.
    fn catch_up(&self, store: &mut dyn Store) -> Result<()> {
        let mut seen = lock(&self.seen);
        let news = store.news(*seen)?;
        if !matches!(&news, News::Changed(_, last) if *last == *seen) {
            lock(&self.erased).extend(store.erasures(seen.seq)?);
        }
        match news {
            News::Changed(changed, last) => {
                for portion in changed.chunks(PORTION) {
                    let mut index = self.index_mut();
                    for (id, concept) in portion {
                        match concept {
                            Some(concept) => index.insert(Entry::from(concept)),
                            None => drop(index.remove(*id)),
                        }
                    }
                }
                // Readers go on while it is made: nobody changes the old one meanwhile.
                let anew = self.index().anew();
                if let Some(index) = anew {
                    *self.index_mut() = index;
                }
                *seen = last;
            }
            News::Everything => {
                let (index, last) = load(store)?;
                *self.index_mut() = index;
                *seen = last;
            }
        }
        Ok(())
    }

    fn write_uses(&self, store: &mut dyn Store) -> Result<()> {
        let uses: Vec<(u64, u64)> = lock(&self.uses).drain().collect();
        if uses.is_empty() {
            return Ok(());
        }
        store.count_uses(&uses).inspect_err(|_| {
            let mut kept = lock(&self.uses);
            uses.iter().for_each(|&(id, n)| *kept.entry(id).or_default() += n);
        })
    }

    /// Keeps in mind that the store is away; whoever follows it finds out when it is back.
    fn note<T>(&self, result: Result<T>) -> Result<T> {
        match &result {
            Err(Error::Away { problem, .. }) => *lock(&self.trouble) = Some(problem.clone()),
            Err(
                error @ (Error::NotThere { .. }
                | Error::NotAStore { .. }
                | Error::LogAlone { .. }
                | Error::Newer { .. }
                | Error::Distrusted { .. }),
            ) => *lock(&self.trouble) = Some(error.to_string()),
            Err(Error::Busy { .. }) => self.note_held(),
            _ => {}
        }
        result
    }

    /// Others hold the store. That is no trouble at first, for everybody has a turn.
    fn note_held(&self) {
        let now = Instant::now();
        let waited_since = now.checked_sub(PATIENCE).unwrap_or(now);
        let since = *lock(&self.held).get_or_insert(waited_since);
        if now.saturating_duration_since(since) >= HELD {
            *lock(&self.trouble) = Some("others hold it and let nobody write".to_owned());
        }
    }

    /// What is done all the time: brings what others changed into the index, and uses to the store. A store that was away is
    /// back when it can be written to; whoever finds something new here may teach, too.
    fn follow(&self, store: &mut dyn Store, look: u64) -> Result<()> {
        if lock(&self.trouble).is_some() {
            store.check()?;
            *lock(&self.held) = None;
            *lock(&self.trouble) = None;
        }
        if self.reader.is_some() {
            self.catch_up(store)?;
        }
        // Whoever writes here finds out by itself.
        if look.is_multiple_of(TURNS) && !self.writer.is_asked() {
            store.wait_for_turn()?;
            *lock(&self.held) = None;
        }
        self.write_uses(store)?;
        if look.is_multiple_of(TIDYINGS) {
            let now = now();
            store.tidy(now, now.saturating_sub(self.journal_age.load(Ordering::Relaxed)))?;
        }
        Ok(())
    }

    /// Leaves the connections that nobody has just now.
    fn close(&self) {
        let store = self.writer.clear();
        let others = [&self.reader, &self.follower].map(|desk| desk.as_ref().and_then(Desk::clear));
        let Some(mut store) = store else { return };
        let uses: Vec<(u64, u64)> = lock(&self.uses).drain().collect();
        let is_away = lock(&self.trouble).is_some();
        // On a thread of its own: to ask PostgreSQL is not allowed on those of an async runtime.
        let close = move || {
            drop(others);
            if !uses.is_empty() && !is_away {
                store.set_patience(FAREWELL);
                // Nobody is left to be told.
                let _ = store.count_uses(&uses);
            }
        };
        if let Ok(closing) = std::thread::Builder::new().spawn(close) {
            let _ = closing.join();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

/// [`Entry`]s on their way to another thread, their texts in one piece.
#[derive(Default)]
struct Portion {
    texts: String,
    rows: Vec<Row>,
}

/// Where the texts of an entry end; each begins where the one before it ends.
struct Row {
    id: u64,
    phrase: usize,
    slot: usize,
    value: Option<usize>,
    user: Option<usize>,
}

impl Portion {
    fn push(&mut self, entry: &Entry<'_>) {
        let mut end = |text: &str| {
            self.texts.push_str(text);
            self.texts.len()
        };
        let (phrase, slot) = (end(entry.phrase), end(entry.slot));
        let (value, user) = (entry.value.map(&mut end), entry.user.map(&mut end));
        self.rows.push(Row { id: entry.id, phrase, slot, value, user });
    }

    fn index(&self, index: &mut Index) {
        let mut start = 0;
        for row in &self.rows {
            let mut text = |end: usize| &self.texts[std::mem::replace(&mut start, end)..end];
            let (phrase, slot) = (text(row.phrase), text(row.slot));
            let (value, user) = (row.value.map(&mut text), row.user.map(&mut text));
            index.insert(Entry { id: row.id, phrase, slot, value, user });
        }
    }
}

impl From<Found<'_>> for Known {
    fn from(found: Found<'_>) -> Self {
        Known {
            id: found.id,
            slot: found.slot.to_owned(),
            value: found.value.map(str::to_owned),
            start: found.start,
            end: found.end,
        }
    }
}

/// Reads all concepts on this thread and indexes them on another; with the mark to ask for news with.
fn load(store: &mut dyn Store) -> Result<(Index, Mark)> {
    let capacity = store.count()? as usize;
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<Portion>(8);
        let indexing = scope.spawn(move || {
            let mut index = Index::with_capacity(capacity);
            receiver.into_iter().for_each(|portion| portion.index(&mut index));
            index
        });
        let mut portion = Portion::default();
        let seen = store.entries(&mut |entry| {
            portion.push(&entry);
            if portion.rows.len() == PORTION {
                // It fails only if the other thread has ended, which is told below.
                let _ = sender.send(std::mem::take(&mut portion));
            }
        });
        let _ = sender.send(portion);
        drop(sender);
        let ended = |_| Error::Database { store: "a thread".to_owned(), source: "it ended early".into() };
        Ok((indexing.join().map_err(ended)?, seen?))
    })
}

/// Follows the journal until nobody has the memory any more.
fn follow(shared: Weak<Shared>) -> Result<()> {
    let thread = std::thread::Builder::new().name("meno-memory".to_owned());
    let spawned = thread.spawn(move || {
        for look in 1.. {
            std::thread::sleep(INTERVAL);
            let Some(shared) = shared.upgrade() else { return };
            let desk = shared.follower.as_ref().unwrap_or(&shared.writer);
            // Whatever goes wrong, it is tried again; a store that is away is told by `Memory::trouble`.
            let _ = desk.ask(|store| shared.note(shared.follow(store, look)));
        }
    });
    match spawned {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::Database { store: "a thread".to_owned(), source: Box::new(error) }),
    }
}
