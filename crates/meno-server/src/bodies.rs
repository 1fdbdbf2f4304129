//! How many bytes of bodies there may be at once: many large requests and answers together do not take the memory of all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::CallerId;

/// A body up to this size is not counted: there are no more of them than connections.
pub(crate) const SMALL: usize = 16 << 10;

/// The bytes of bodies that are read, answered or taken just now.
pub(crate) struct Bodies {
    held: Mutex<HashMap<CallerId, usize>>,
    capacity: usize,
}

/// The bytes of a body, until this is dropped.
pub(crate) struct Held {
    bodies: Arc<Bodies>,
    caller: CallerId,
    n: usize,
}

impl Bodies {
    pub fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Bodies { held: Mutex::default(), capacity })
    }

    /// Room for a body. A caller has half of all; whoever has none yet finds room beyond that, and for one body in any case.
    pub fn hold(self: &Arc<Self>, caller: CallerId, n: usize) -> Option<Held> {
        let mut held = self.lock();
        let (own, all) = (held.get(&caller).copied().unwrap_or(0), held.values().sum::<usize>());
        let fits = match own {
            0 => all == 0 || all + n <= 2 * self.capacity,
            own => own + n <= self.capacity / 2 && all + n <= self.capacity,
        };
        if !fits {
            return None;
        }
        *held.entry(caller).or_default() += n;
        Some(Held { bodies: self.clone(), caller, n })
    }

    /// Room for what is there already, beyond all limits: whoever asks next finds less.
    pub fn count(self: &Arc<Self>, caller: CallerId, n: usize) -> Held {
        *self.lock().entry(caller).or_default() += n;
        Held { bodies: self.clone(), caller, n }
    }

    /// Whether a caller has not more than its share already.
    pub fn has_room(&self, caller: CallerId) -> bool {
        self.lock().get(&caller).is_none_or(|&own| own <= self.capacity / 2)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallerId, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// It has become more.
    pub fn grow(&mut self, n: usize) {
        *self.bodies.lock().entry(self.caller).or_default() += n;
        self.n += n;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.bodies.lock();
        if let Some(n) = held.get_mut(&self.caller) {
            *n -= self.n;
            if *n == 0 {
                held.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_has_half_and_others_find_room() {
        let bodies = Bodies::new(10);
        let [first, second] = [3, 2].map(|n| bodies.hold(1, n));
        assert!(first.is_some() && second.is_some() && bodies.hold(1, 1).is_none());
        let other = bodies.hold(2, 5);
        assert!(other.is_some() && bodies.hold(2, 1).is_none());
        // It is full, but not for who has nothing yet.
        let late = bodies.hold(3, 9);
        assert!(late.is_some() && bodies.hold(4, 2).is_none());
        drop((first, other, late));
        assert!(bodies.hold(1, 3).is_some());
        drop(second);
        // Whatever its size, one body has room.
        let large = bodies.hold(1, 100);
        assert!(large.is_some() && bodies.hold(2, 1).is_none());
        drop(large);
        assert!(bodies.lock().is_empty());
        // What is there already is counted, and then there is no room for more.
        let mut answer = bodies.count(1, 5);
        assert!(bodies.has_room(1) && bodies.hold(1, 1).is_none());
        answer.grow(1);
        assert!(!bodies.has_room(1) && bodies.has_room(2));
        drop(answer);
        assert!(bodies.has_room(1) && bodies.lock().is_empty());
    }
}
