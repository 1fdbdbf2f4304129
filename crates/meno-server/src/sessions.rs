//! Dialogues under way, in memory: they end when nobody speaks for a while, or when there are too many.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use meno::dialogue::State;
use meno::memory::Owner;

/// Where a dialogue stands. Its turns are taken one after the other.
pub(crate) type Session = Arc<tokio::sync::Mutex<State>>;

/// The dialogues of an owner by name, with when somebody spoke last.
type Own = HashMap<String, (Session, Instant)>;

/// The dialogues of all callers; nobody gets at those of another, and nobody's many dialogues end those of others.
pub(crate) struct Sessions {
    sessions: Mutex<HashMap<Owner, Own>>,
    capacity: usize,
    /// How many an owner may have.
    share: usize,
    lifetime: Duration,
}

impl Sessions {
    pub fn new(capacity: usize, share: usize, lifetime: Duration) -> Self {
        Sessions { sessions: Mutex::default(), capacity, share, lifetime }
    }

    /// The dialogue of this name, or a new one; then the owner's oldest gives way if it has too many, or if there are too many
    /// in all the oldest of whoever has most.
    pub fn session(&self, owner: &Owner, name: &str, now: Instant) -> Session {
        let mut sessions = self.lock();
        let is_alive = |used: Instant| self.is_alive(used, now);
        let own = sessions.entry(owner.clone()).or_default();
        if let Some((session, used)) = own.get_mut(name)
            && is_alive(*used)
        {
            *used = now;
            return session.clone();
        }
        own.remove(name);
        if own.len() >= self.share {
            end_oldest(own);
        }
        if n_sessions(&sessions) >= self.capacity {
            self.retain_alive(&mut sessions, now);
        }
        if n_sessions(&sessions) >= self.capacity
            && let Some(most) = sessions.values_mut().max_by_key(|own| own.len())
        {
            end_oldest(most);
        }
        let session = Session::default();
        sessions.entry(owner.clone()).or_default().insert(name.to_owned(), (session.clone(), now));
        session
    }

    /// Ends a dialogue, if there is one.
    pub fn end(&self, owner: &Owner, name: &str) {
        let mut sessions = self.lock();
        if let Some(own) = sessions.get_mut(owner) {
            own.remove(name);
            if own.is_empty() {
                sessions.remove(owner);
            }
        }
    }

    /// Ends all dialogues of an owner; how many there were.
    pub fn end_all(&self, owner: &Owner) -> usize {
        self.lock().remove(owner).map_or(0, |own| own.len())
    }

    /// Ends the dialogues of some owners.
    pub fn end_where(&self, is_over: impl Fn(&Owner) -> bool) {
        self.lock().retain(|owner, _| !is_over(owner));
    }

    /// Ends dialogues in which nobody spoke for too long.
    pub fn end_old(&self, now: Instant) {
        self.retain_alive(&mut self.lock(), now);
    }

    fn retain_alive(&self, sessions: &mut HashMap<Owner, Own>, now: Instant) {
        sessions.retain(|_, own| {
            own.retain(|_, (_, used)| self.is_alive(*used, now));
            !own.is_empty()
        });
    }

    fn is_alive(&self, used: Instant, now: Instant) -> bool {
        now.saturating_duration_since(used) < self.lifetime
    }

    pub fn len(&self) -> usize {
        n_sessions(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Owner, Own>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn n_sessions(sessions: &HashMap<Owner, Own>) -> usize {
    sessions.values().map(HashMap::len).sum()
}

fn end_oldest(own: &mut Own) {
    if let Some(name) = own.iter().min_by_key(|(_, (_, used))| *used).map(|(name, _)| name.clone()) {
        own.remove(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_apart_expire_and_give_way() {
        let sessions = Sessions::new(3, 2, Duration::from_secs(10));
        let [anna, ben] = ["anna", "ben"].map(|name| Owner::User(name.to_owned()));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let first = sessions.session(&anna, "s", at(0));
        assert!(Arc::ptr_eq(&first, &sessions.session(&anna, "s", at(9))));
        assert!(!Arc::ptr_eq(&first, &sessions.session(&ben, "s", at(10))));
        assert!(Arc::ptr_eq(&first, &sessions.session(&anna, "s", at(18))));
        assert_eq!(sessions.len(), 2);
        // One that expired begins anew.
        assert!(!Arc::ptr_eq(&first, &sessions.session(&anna, "s", at(30))));
        sessions.end(&anna, "s");
        sessions.end(&anna, "s");
        assert_eq!(sessions.len(), 1);
        // Nobody has to come for those that expired to be gone.
        sessions.session(&anna, "t", at(35));
        sessions.end_old(at(40));
        assert_eq!(sessions.len(), 1);
        sessions.end_where(|owner| *owner == anna);
        assert_eq!(sessions.len(), 0);
    }

    /// Whoever opens many loses the oldest of them, and nobody else does.
    #[test]
    fn many_sessions_of_one_end_none_of_another() {
        let sessions = Sessions::new(5, 4, Duration::from_secs(10));
        let [anna, ben, eve] = ["anna", "ben", "eve"].map(|name| Owner::User(name.to_owned()));
        let now = Instant::now();
        let first = sessions.session(&anna, "s", now);
        for i in 1..100 {
            sessions.session(&eve, &format!("e{i}"), now + Duration::from_millis(i));
        }
        assert_eq!(sessions.len(), 5);
        let last = sessions.session(&eve, "e99", now + Duration::from_millis(99));
        sessions.session(&ben, "s", now + Duration::from_millis(100));
        assert_eq!(sessions.len(), 5);
        let later = now + Duration::from_secs(1);
        assert!(Arc::ptr_eq(&first, &sessions.session(&anna, "s", later)));
        assert!(Arc::ptr_eq(&last, &sessions.session(&eve, "e99", later)));
        assert_eq!(sessions.end_all(&eve), 3);
        assert_eq!(sessions.len(), 2);
    }
}
