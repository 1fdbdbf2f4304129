//! How often a caller may ask: a token bucket, of which only the moment is kept at which it is full again (GCRA).

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many requests a second, and how many at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    rate: f64,
    burst: f64,
}

impl Limit {
    /// At once may come what comes in a second, unless it is said.
    pub fn new(rate: f64, burst: Option<u32>) -> Self {
        // A program may set any number, and a duration is not any.
        let rate = rate.clamp(0.001, 1e6);
        Limit { rate, burst: burst.map_or(rate, f64::from).max(1.0) }
    }

    /// So many a day, all of them at once if so wished.
    pub fn daily(requests: u32) -> Self {
        Limit { rate: f64::from(requests) / 86_400.0, burst: f64::from(requests) }
    }

    /// How long so many requests take to come back.
    fn time(self, requests: f64) -> Duration {
        Duration::from_secs_f64(requests / self.rate)
    }
}

/// What a caller has left.
#[derive(Debug, Default)]
pub(crate) struct Bucket(Mutex<Option<Instant>>);

impl Bucket {
    /// Takes out a request; if there is none left, how long until there is.
    pub fn take(&self, limit: Limit, now: Instant) -> Result<(), Duration> {
        let mut full = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let owed = demand(*full, limit, now)?;
        *full = Some(now + owed + limit.time(1.0));
        Ok(())
    }

    /// Whether there is a request left, which stays; if there is none, how long until there is.
    pub fn look(&self, limit: Limit, now: Instant) -> Result<(), Duration> {
        let full = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        demand(full, limit, now).map(drop)
    }

    /// Takes out more for what was let in already; what is not there is owed, and later requests wait for it.
    pub fn charge(&self, limit: Limit, requests: f64, now: Instant) {
        let mut full = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *full = Some(full.map_or(now, |full| full.max(now)) + limit.time(requests));
    }
}

/// How long it takes until a bucket is full again, if there is a request left in it; else how long until there is.
fn demand(full: Option<Instant>, limit: Limit, now: Instant) -> Result<Duration, Duration> {
    let owed = full.map_or(Duration::ZERO, |full| full.saturating_duration_since(now));
    let wait = owed.saturating_sub(limit.time(limit.burst - 1.0));
    if wait.is_zero() { Ok(owed) } else { Err(wait) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_let_in_and_then_the_rate() {
        let (bucket, limit, start) = (Bucket::default(), Limit::new(2.0, Some(3)), Instant::now());
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        for _ in 0..3 {
            assert_eq!(bucket.take(limit, at(0)), Ok(()));
        }
        assert_eq!(bucket.take(limit, at(0)), Err(Duration::from_millis(500)));
        // What is refused costs nothing, and the wait is a true one.
        assert_eq!(bucket.take(limit, at(100)), Err(Duration::from_millis(400)));
        assert_eq!(bucket.take(limit, at(500)), Ok(()));
        assert!(bucket.take(limit, at(600)).is_err());
        // Whoever was silent has a burst again, and not more.
        let n = (0..10).filter(|_| bucket.take(limit, at(60_000)).is_ok()).count();
        assert_eq!(n, 3);
    }

    #[test]
    fn a_day_has_its_requests() {
        let (bucket, limit, start) = (Bucket::default(), Limit::daily(24), Instant::now());
        for _ in 0..24 {
            assert_eq!(bucket.look(limit, start), Ok(()));
            assert_eq!(bucket.take(limit, start), Ok(()));
        }
        let hour = Duration::from_secs(3600);
        assert_eq!(bucket.look(limit, start), Err(hour));
        assert_eq!(bucket.take(limit, start + hour / 2), Err(hour / 2));
        assert_eq!(bucket.take(limit, start + hour), Ok(()));
    }

    #[test]
    fn what_costs_more_is_owed() {
        let (bucket, limit, start) = (Bucket::default(), Limit::new(1.0, None), Instant::now());
        assert_eq!(bucket.take(limit, start), Ok(()));
        bucket.charge(limit, 9.0, start);
        assert_eq!(bucket.take(limit, start), Err(Duration::from_secs(10)));
        assert_eq!(bucket.take(limit, start + Duration::from_secs(10)), Ok(()));
    }
}
