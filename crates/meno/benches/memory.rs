//! How large and fast the index of a million concepts is, as JSON lines.
//!
//! ```text
//! cargo bench -p meno --bench memory            a million concepts
//! cargo bench -p meno --bench memory -- 10000   another number
//! ```
//!
//! Concepts are of one to six words, drawn by Zipf's law from 50,000 words and as many made-up ones, none twice for an
//! owner; one in ten stands for a value, nine in ten belong to one of 1,000 users. Utterances are of 12 words from the same source, half of them with a
//! concept of the user in it. Each has its own time, with the caches full of others; the memory is the growth of the
//! process.

use std::collections::HashSet;
use std::time::Instant;

use meno::memory::{Entry, Index};
use meno::random::Random;
use serde_json::json;

const USERS: usize = 1000;

struct Made {
    phrase: String,
    slot: String,
    value: Option<String>,
    user: Option<String>,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let n: usize = args.first().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let mut random = Random::new(1);
    let mut seen = HashSet::new();
    let concepts = std::iter::repeat_with(|| concept(&mut random));
    let mut is_new = |made: &Made| seen.insert((made.phrase.clone(), made.user.clone()));
    let made: Vec<Made> = concepts.filter(&mut is_new).take(n).collect();
    drop(seen);
    let before = resident();
    let start = Instant::now();
    let mut index = Index::with_capacity(n);
    for (made, id) in made.iter().zip(1..) {
        index.insert(entry(made, id));
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{}", json!({ "concepts": n, "build_s": seconds, "memory_mb": (resident() - before) / 1e6 }));
    let (mut times, mut found) = (Vec::new(), 0);
    for _ in 0..100_000 {
        let (text, user) = utterance(&mut random, &made);
        let start = Instant::now();
        found += index.find(&text, user.as_deref()).len();
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_by(f64::total_cmp);
    let [p50, p99] = [0.5, 0.99].map(|share| times[(share * (times.len() - 1) as f64) as usize]);
    let found = found as f64 / times.len() as f64;
    println!("{}", json!({ "find_mean_us": mean, "p50_us": p50, "p99_us": p99, "found": found }));
    let start = Instant::now();
    for id in 1..=n.min(100_000) as u64 {
        index.remove(id);
        index.insert(entry(&made[id as usize - 1], id));
    }
    println!("{}", json!({ "replace_us": start.elapsed().as_secs_f64() * 1e6 / n.min(100_000) as f64 }));
}

fn entry(made: &Made, id: u64) -> Entry<'_> {
    let Made { phrase, slot, value, user } = made;
    Entry { id, phrase, slot, value: value.as_deref(), user: user.as_deref() }
}

fn word(random: &mut Random) -> String {
    if random.uniform() < 0.2 {
        return format!("w{:x}", random.below(50_000));
    }
    // Zipf's law by inversion: the logarithm of the rank is uniform.
    let rank = (random.uniform() * 50_000f32.ln()).exp();
    format!("word{}", rank as usize)
}

fn words(random: &mut Random, n: usize) -> String {
    (0..n).map(|_| word(random)).collect::<Vec<_>>().join(" ")
}

fn concept(random: &mut Random) -> Made {
    let n_words = 1 + random.below(3) + random.below(4);
    Made {
        phrase: words(random, n_words),
        slot: format!("slot{}", random.below(50)),
        value: (random.below(10) == 0).then(|| words(random, 2)),
        user: (random.below(10) > 0).then(|| format!("user{}", random.below(USERS))),
    }
}

fn utterance(random: &mut Random, made: &[Made]) -> (String, Option<String>) {
    if random.below(2) == 0 {
        return (words(random, 12), Some(format!("user{}", random.below(USERS))));
    }
    let concept = &made[random.below(made.len())];
    (format!("{} {} {}", words(random, 4), concept.phrase, words(random, 4)), concept.user.clone())
}

/// The resident memory of this process in bytes; 0 where it is not told.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4096.0
}
