//! A connection that many threads ask in turn, none of them for longer than a moment.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::store::Store;
use crate::{Error, Result};

/// Where a connection lies while nobody asks it.
pub(crate) struct Desk {
    store: Mutex<Option<Box<dyn Store>>>,
    is_back: Condvar,
    name: String,
    patience: Duration,
}

/// A connection that somebody took; it is put back whatever happens.
struct Taken<'a> {
    desk: &'a Desk,
    store: Option<Box<dyn Store>>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *lock(&self.desk.store) = self.store.take();
        self.desk.is_back.notify_one();
    }
}

impl Desk {
    /// Whoever asks waits this long for others, and as long again for each answer of the database.
    pub(crate) fn new(mut store: Box<dyn Store>, patience: Duration) -> Self {
        store.set_patience(patience);
        let name = store.name();
        Desk { store: Mutex::new(Some(store)), is_back: Condvar::new(), name, patience }
    }

    pub(crate) fn ask<T>(&self, work: impl FnOnce(&mut dyn Store) -> Result<T>) -> Result<T> {
        let place = lock(&self.store);
        let waited = self.is_back.wait_timeout_while(place, self.patience, |store| store.is_none());
        let (mut place, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let store = place.take();
        drop(place);
        if store.is_none() {
            return Err(Error::Busy { store: self.name.clone() });
        }
        let mut taken = Taken { desk: self, store };
        work(taken.store.as_mut().expect("it was just taken").as_mut())
    }

    /// Whether somebody has the connection.
    pub(crate) fn is_asked(&self) -> bool {
        lock(&self.store).is_none()
    }

    /// What the store is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The connection, if nobody has it; nobody gets it any more.
    pub(crate) fn clear(&self) -> Option<Box<dyn Store>> {
        lock(&self.store).take()
    }
}

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
