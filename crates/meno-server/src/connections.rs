//! Who is connected: whoever comes finds a place, and whoever says nothing for longest gives it up.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Whoever has something to say has said it by then, over a slow network too.
const SHORTEST: Duration = Duration::from_millis(500);

/// The connections that are open.
pub(crate) struct Connections {
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    next: AtomicU64,
    /// How many there may be, and how many of them from one address.
    capacity: usize,
    share: usize,
}

/// One that is open.
pub(crate) struct Connection {
    address: IpAddr,
    /// Requests under way on it.
    n_requests: AtomicUsize,
    /// When something was heard from it or taken by it last, in nanoseconds after the start.
    active: AtomicU64,
    start: Instant,
    /// Told when it is to give up its place.
    pub evicted: Notify,
}

/// A place that is given back when this is dropped.
pub(crate) struct Place {
    connections: Arc<Connections>,
    number: u64,
    pub connection: Arc<Connection>,
}

impl Connection {
    /// Something was heard or taken.
    pub fn touch(&self) {
        self.active.store(self.start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// A request is under way until what this gives is dropped.
    pub fn request(self: &Arc<Self>) -> UnderWay {
        self.n_requests.fetch_add(1, Ordering::Relaxed);
        UnderWay(self.clone())
    }

    fn is_idle(&self) -> bool {
        self.n_requests.load(Ordering::Relaxed) == 0
    }

    fn idle_since(&self) -> Instant {
        self.start + Duration::from_nanos(self.active.load(Ordering::Relaxed))
    }
}

/// A request of a connection.
pub(crate) struct UnderWay(Arc<Connection>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.touch();
        self.0.n_requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connections {
    pub fn new(capacity: usize, share: usize) -> Arc<Self> {
        Arc::new(Connections { open: Mutex::default(), next: AtomicU64::new(0), capacity, share })
    }

    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether all places are taken.
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// How long somebody may be silent: less, the fewer places there are.
    pub fn patience(&self, most: Duration) -> Duration {
        let less = match 4 * self.len() / self.capacity {
            0 | 1 => most,
            2 => most / 4,
            _ => most / 16,
        };
        less.max(SHORTEST).min(most)
    }

    /// A place for whoever comes from an address; `None` if all that it could take have requests under way.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let address = network(address);
        let mut open = self.lock();
        let n_own = open.values().filter(|connection| connection.address == address).count();
        if n_own >= self.share {
            evict(&mut open, |connection| connection.address == address)?;
        } else if open.len() >= self.capacity {
            evict(&mut open, |_| true)?;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection {
            address,
            n_requests: AtomicUsize::new(0),
            active: AtomicU64::new(0),
            start: Instant::now(),
            evicted: Notify::new(),
        });
        open.insert(number, connection.clone());
        Some(Place { connections: self.clone(), number, connection })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the place of whoever has been idle for longest.
fn evict(open: &mut HashMap<u64, Arc<Connection>>, may_go: impl Fn(&Connection) -> bool) -> Option<()> {
    let idle = open.iter().filter(|(_, connection)| connection.is_idle() && may_go(connection));
    let (&number, _) = idle.min_by_key(|(_, connection)| connection.idle_since())?;
    open.remove(&number)?.evicted.notify_one();
    Some(())
}

/// What counts as one address: of IPv6 the half that a network is given; whoever has one has all addresses in it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address => address,
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        for (one, other, is_one) in [
            ("2001:db8::1", "2001:db8::ffff:1:2:3", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
        ] {
            let [one, other] = [one, other].map(|address| network(address.parse().unwrap()));
            assert_eq!(one == other, is_one, "{one} {other}");
        }
    }

    #[test]
    fn whoever_is_silent_for_longest_gives_way() {
        let connections = Connections::new(3, 2);
        let [here, there, elsewhere] = [1, 2, 3].map(|last| IpAddr::from([127, 0, 0, last]));
        let is_open = |place: &Place| connections.lock().contains_key(&place.number);
        let first = connections.enter(here).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let second = connections.enter(here).unwrap();
        first.connection.touch();
        std::thread::sleep(Duration::from_millis(5));
        // An address has its share: its own oldest goes.
        let third = connections.enter(here).unwrap();
        assert_eq!([&first, &second, &third].map(is_open), [true, false, true]);
        let other = connections.enter(there).unwrap();
        assert_eq!(connections.len(), 3);
        // All places are taken: the oldest of all goes, but none with a request under way.
        let under_way = first.connection.request();
        let last = connections.enter(elsewhere).unwrap();
        assert_eq!([&first, &third, &other, &last].map(is_open), [true, false, true, true]);
        let all = [&other, &last].map(|place| place.connection.request());
        assert!(connections.enter(there).is_none());
        drop(under_way);
        assert!(connections.enter(there).is_some());
        drop(all);
        drop((first, second, third, other, last));
        assert_eq!(connections.len(), 0);
    }
}
