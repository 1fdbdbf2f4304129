//! A queue that is fair to callers: each has a lane, and lanes take turns by what their jobs cost.
//!
//! Deficit round robin (Shreedhar and Varghese, 1995): when its turn comes a lane gets some credit, and its jobs are taken as long as
//! it has credit for them. Whoever asks for little waits for one turn of each of the others, however much these ask for.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The credit of a turn: an utterance of some words.
pub(crate) const CREDIT: u32 = 64;

/// From this cost on a job is heavy.
const HEAVY: u32 = 256;

/// Jobs by their callers.
pub(crate) struct Lanes<K, T> {
    lanes: HashMap<K, Lane<T>>,
    /// Those with jobs, in the order of their turns.
    turns: VecDeque<K>,
    len: usize,
}

struct Lane<T> {
    jobs: VecDeque<(u32, T)>,
    /// What they cost together.
    cost: u64,
    credit: u32,
}

impl<K: Clone + Eq + Hash, T> Lanes<K, T> {
    pub fn new() -> Self {
        Lanes { lanes: HashMap::new(), turns: VecDeque::new(), len: 0 }
    }

    /// How many jobs wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many jobs of a caller wait.
    pub fn len_of(&self, caller: &K) -> usize {
        self.lanes.get(caller).map_or(0, |lane| lane.jobs.len())
    }

    /// What the jobs of a caller that wait cost together.
    pub fn cost_of(&self, caller: &K) -> u64 {
        self.lanes.get(caller).map_or(0, |lane| lane.cost)
    }

    pub fn push(&mut self, caller: K, cost: u32, job: T) {
        let lane = self.lanes.entry(caller).or_insert_with_key(|caller| {
            self.turns.push_back(caller.clone());
            Lane { jobs: VecDeque::new(), cost: 0, credit: 0 }
        });
        lane.jobs.push_back((cost, job));
        lane.cost += u64::from(cost);
        self.len += 1;
    }

    /// The next job of those that are fit to be taken, by whether they are heavy and by what they are; and whether it is heavy.
    pub fn pop(&mut self, is_fit: impl Fn(bool, &T) -> bool) -> Option<(T, bool)> {
        let mut n_unfit = 0;
        while n_unfit < self.turns.len() {
            let caller = self.turns.front()?;
            let lane = self.lanes.get_mut(caller).expect("whoever has a turn has a lane");
            let (cost, job) = lane.jobs.front().expect("a lane has jobs");
            let cost = *cost;
            if !is_fit(cost >= HEAVY, job) {
                n_unfit += 1;
                self.turns.rotate_left(1);
                continue;
            }
            if cost > lane.credit {
                lane.credit += CREDIT;
                n_unfit = 0;
                self.turns.rotate_left(1);
                continue;
            }
            lane.credit -= cost;
            lane.cost -= u64::from(cost);
            let (_, job) = lane.jobs.pop_front().expect("it was just looked at");
            self.len -= 1;
            if lane.jobs.is_empty() {
                // Credit is not saved for later.
                let caller = self.turns.pop_front().expect("it is its turn");
                self.lanes.remove(&caller);
            }
            return Some((job, cost >= HEAVY));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_little_waits_for_one_turn_of_the_others() {
        let mut lanes = Lanes::new();
        (0..100).for_each(|i| lanes.push("eve", 200, i));
        (0..3).for_each(|i| lanes.push("ben", 10, 1000 + i));
        lanes.push("anna", 10, 2000);
        assert_eq!((lanes.len(), lanes.len_of(&"eve"), lanes.len_of(&"nobody")), (104, 100, 0));
        assert_eq!((lanes.cost_of(&"eve"), lanes.cost_of(&"ben"), lanes.cost_of(&"nobody")), (20_000, 30, 0));
        let order: Vec<i32> = std::iter::from_fn(|| lanes.pop(|_, _| true)).map(|(job, _)| job).collect();
        assert_eq!(order.len(), 104);
        let place = |job: i32| order.iter().position(|&found| found == job).unwrap();
        assert!([1000, 1001, 1002, 2000].into_iter().all(|job| place(job) < 5), "{order:?}");
        assert!(order.iter().filter(|job| **job < 1000).is_sorted());
    }

    #[test]
    fn callers_share_by_cost_and_not_by_number() {
        let mut lanes = Lanes::new();
        (0..400).for_each(|_| lanes.push("small", 16, 16));
        (0..100).for_each(|_| lanes.push("large", 160, 160));
        let taken: Vec<i32> =
            std::iter::from_fn(|| lanes.pop(|_, _| true)).map(|(job, _)| job).take(220).collect();
        let of = |cost: i32| taken.iter().filter(|found| **found == cost).copied().sum::<i32>();
        assert!((of(16) - of(160)).abs() <= 320, "{} against {}", of(16), of(160));
    }

    #[test]
    fn heavy_jobs_wait_while_there_are_enough_of_them() {
        let mut lanes = Lanes::new();
        lanes.push("eve", 5000, 1);
        assert_eq!(lanes.pop(|is_heavy, _| !is_heavy), None);
        lanes.push("anna", 9, 2);
        assert_eq!(lanes.pop(|is_heavy, _| !is_heavy), Some((2, false)));
        assert_eq!(lanes.pop(|is_heavy, _| !is_heavy), None);
        assert_eq!(lanes.pop(|_, _| true), Some((1, true)));
        assert_eq!(lanes.pop(|_, _| true), None);
        assert_eq!(lanes.len(), 0);
    }
}
