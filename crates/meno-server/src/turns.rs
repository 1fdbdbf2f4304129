//! Turns at the store: few read and write it at a time, one of them for a caller, and the others wait in [`Lanes`].
//!
//! What reads or writes the store runs on threads that may wait. Whoever asks for much has no more of them than whoever asks for little.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::App;
use crate::engine::CallerId;
use crate::lanes::{CREDIT, Lanes};
use crate::problem::{Code, Problem};

/// So many read at once. One waits for the disk while another makes its answer.
const READERS: usize = 2;

/// There is one journal.
const WRITERS: usize = 1;

/// So many of a caller wait at most: whoever waits has a connection that nobody else can have.
const WAITING: usize = 64;

/// Who may use the store now, and who waits.
pub(crate) struct Turns {
    queue: Mutex<Queue>,
    capacity: usize,
}

struct Queue {
    waiting: Lanes<CallerId, Waiting>,
    /// Those whose turn it is.
    inside: HashSet<CallerId>,
}

struct Waiting {
    caller: CallerId,
    go: oneshot::Sender<Turn>,
}

/// A turn, until this is dropped.
struct Turn {
    turns: Arc<Turns>,
    caller: CallerId,
}

impl Turns {
    pub fn of_readers() -> Arc<Self> {
        Turns::new(READERS)
    }

    pub fn of_writers() -> Arc<Self> {
        Turns::new(WRITERS)
    }

    fn new(capacity: usize) -> Arc<Self> {
        let queue = Queue { waiting: Lanes::new(), inside: HashSet::new() };
        Arc::new(Turns { queue: Mutex::new(queue), capacity })
    }

    /// Waits for a turn at some cost.
    async fn wait(self: &Arc<Self>, caller: CallerId, cost: u32) -> Result<Turn, Problem> {
        let (go, turn) = oneshot::channel();
        self.lock().push(cost, Waiting { caller, go })?;
        self.go_on();
        turn.await.map_err(|_| Problem::mistake())
    }

    /// Gives turns to those who wait.
    fn go_on(self: &Arc<Self>) {
        loop {
            let next = self.lock().next(self.capacity);
            let Some(Waiting { caller, go }) = next else { return };
            // Whoever went away just now gives it back at once.
            drop(go.send(Turn { turns: self.clone(), caller }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, cost: u32, waiting: Waiting) -> Result<(), Problem> {
        if self.waiting.len_of(&waiting.caller) >= WAITING {
            let message = format!("{WAITING} requests of yours wait for the store");
            return Err(Problem::new(Code::Busy, message, "wait for answers before you send more"));
        }
        self.waiting.push(waiting.caller, cost, waiting);
        Ok(())
    }

    /// Whose turn it is, if there is room for one more.
    fn next(&mut self, capacity: usize) -> Option<Waiting> {
        while self.inside.len() < capacity {
            let is_fit = |_, next: &Waiting| next.go.is_closed() || !self.inside.contains(&next.caller);
            let (next, _) = self.waiting.pop(is_fit)?;
            if !next.go.is_closed() {
                self.inside.insert(next.caller);
                return Some(next);
            }
        }
        None
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.lock().inside.remove(&self.caller);
        self.turns.go_on();
    }
}

/// What `work` reads from the store, when it is the caller's turn.
pub(crate) async fn read<T: Send + 'static>(
    app: &Arc<App>,
    caller: CallerId,
    work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    take(app, &app.readers, (caller, CREDIT), work).await
}

/// What comes of `work`, which makes about so many changes, when it is the caller's turn.
pub(crate) async fn write<T: Send + 'static>(
    app: &Arc<App>,
    caller: CallerId,
    n_changes: u32,
    work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    take(app, &app.writers, (caller, n_changes), work).await
}

async fn take<T: Send + 'static>(
    app: &Arc<App>,
    turns: &Arc<Turns>,
    (caller, cost): (CallerId, u32),
    work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let late = |_| Problem::new(Code::TooSlow, "the store had no time for it", "try again later");
    let turn = timeout(app.config.timeout, turns.wait(caller, cost)).await.map_err(late)??;
    let shared = app.clone();
    let (sender, receiver) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        // What nobody waits for any more is not begun.
        if !sender.is_closed() {
            let _ = sender.send(work(&shared));
        }
    });
    match timeout(app.config.timeout, receiver).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Problem::mistake()),
        Err(_) => {
            let message = "the store does not answer; what was asked for may still be done";
            Err(Problem::new(Code::StoreAway, message, "look before you try again"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Wait = Pin<Box<dyn Future<Output = Result<Turn, Problem>>>>;

    fn turn_of(wait: &mut Wait) -> Option<Result<Turn, Problem>> {
        match wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    /// Somebody who waits, and the turn if it came at once.
    fn ask(turns: &Arc<Turns>, caller: CallerId) -> (Wait, Option<Result<Turn, Problem>>) {
        let turns = turns.clone();
        let mut wait: Wait = Box::pin(async move { turns.wait(caller, CREDIT).await });
        let turn = turn_of(&mut wait);
        (wait, turn)
    }

    #[test]
    fn a_caller_has_one_turn_at_a_time_and_leaves_room_for_others() {
        let turns = Turns::new(2);
        let (_, first) = ask(&turns, 1);
        assert!(first.is_some());
        let mut own: Vec<Wait> = (0..WAITING).map(|_| ask(&turns, 1).0).collect();
        let (_, refused) = ask(&turns, 1);
        assert_eq!(refused.unwrap().err().unwrap().code(), Code::Busy.name());
        let (_, other) = ask(&turns, 2);
        assert!(other.is_some());
        // All turns are taken. Whoever goes away does not keep the next one waiting.
        let (mut third, none) = ask(&turns, 3);
        assert!(none.is_none());
        drop(own.remove(0));
        drop((first, other));
        let turns_of_own = own.iter_mut().map(turn_of).collect::<Vec<_>>();
        let with_turns = turns_of_own.iter().filter(|turn| turn.is_some()).count();
        assert_eq!((with_turns, turns_of_own[0].is_some()), (1, true));
        assert!(turn_of(&mut third).is_some());
    }
}
