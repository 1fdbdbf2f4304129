//! Dialogues under way, in memory: they end when nobody speaks for a while, or when there are too many.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use meno::dialogue::State;
use meno::memory::Owner;

/// Where a dialogue stands. Its turns are taken one after the other.
pub(crate) type Session = Arc<tokio::sync::Mutex<State>>;

type Key = (Owner, String);

/// The dialogues of all callers; nobody gets at those of another.
pub(crate) struct Sessions {
    sessions: Mutex<HashMap<Key, (Session, Instant)>>,
    capacity: usize,
    lifetime: Duration,
}

impl Sessions {
    pub fn new(capacity: usize, lifetime: Duration) -> Self {
        Sessions { sessions: Mutex::default(), capacity, lifetime }
    }

    /// The dialogue of this name, or a new one.
    pub fn session(&self, owner: &Owner, name: &str, now: Instant) -> Session {
        let mut sessions = self.lock();
        let key = (owner.clone(), name.to_owned());
        let is_alive = |used: Instant| now.saturating_duration_since(used) < self.lifetime;
        if let Some((session, used)) = sessions.get_mut(&key)
            && is_alive(*used)
        {
            *used = now;
            return session.clone();
        }
        if sessions.len() >= self.capacity {
            sessions.retain(|_, (_, used)| is_alive(*used));
        }
        if sessions.len() >= self.capacity
            && let Some(oldest) = sessions.iter().min_by_key(|(_, (_, used))| *used)
        {
            let oldest = oldest.0.clone();
            sessions.remove(&oldest);
        }
        let session = Session::default();
        sessions.insert(key, (session.clone(), now));
        session
    }

    /// Ends a dialogue, if there is one.
    pub fn end(&self, owner: &Owner, name: &str) {
        self.lock().remove(&(owner.clone(), name.to_owned()));
    }

    pub fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, (Session, Instant)>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_apart_expire_and_give_way() {
        let sessions = Sessions::new(2, Duration::from_secs(10));
        let [anna, ben] = ["anna", "ben"].map(|name| Owner::User(name.to_owned()));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let first = sessions.session(&anna, "s", at(0));
        assert!(Arc::ptr_eq(&first, &sessions.session(&anna, "s", at(9))));
        assert!(!Arc::ptr_eq(&first, &sessions.session(&ben, "s", at(10))));
        assert!(Arc::ptr_eq(&first, &sessions.session(&anna, "s", at(18))));
        // The oldest is ben's.
        sessions.session(&anna, "t", at(19));
        assert_eq!(sessions.len(), 2);
        assert!(Arc::ptr_eq(&first, &sessions.session(&anna, "s", at(20))));
        assert!(!Arc::ptr_eq(&first, &sessions.session(&anna, "s", at(30))));
        sessions.end(&anna, "s");
        sessions.end(&anna, "s");
        assert_eq!(sessions.len(), 0);
    }
}
