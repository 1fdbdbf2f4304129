//! How long a store of a million concepts takes to be ready, as JSON lines.
//!
//! ```text
//! cargo bench -p meno-store --bench start                              a million concepts in SQLite
//! cargo bench -p meno-store --bench start -- 100000 postgres://...     another number, another store (empty before)
//! ```
//!
//! Concepts have one to six words of 100,000, every tenth a value, nine of ten one of 1,000 owners. The memory is what the
//! process grows by; `learn_us` is one concept on disk and in the index.

use std::time::Instant;

use meno::memory::{Concept, Draft, Owner};
use meno::random::Random;
use meno_store::{Access, Edit, Memory, Scope, open};
use serde_json::json;

/// How many concepts are learnt at a time.
const BATCH: usize = 20_000;

fn main() -> meno_store::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let n: usize = args.first().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let dir = tempfile::tempdir().expect("there is a place for temporary files");
    let file = dir.path().join("concepts.db").display().to_string();
    let location = args.get(1).unwrap_or(&file);
    let seconds = fill(location, n)?;
    println!("{}", json!({ "concepts": n, "import_s": seconds }));

    let before = resident();
    let start = Instant::now();
    let memory = Memory::open(location, Access::Existing)?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{}",
        json!({ "concepts": memory.len(), "open_s": seconds, "memory_mb": (resident() - before) / 1e6 })
    );

    let start = Instant::now();
    for i in 0..200 {
        let draft =
            Draft { phrase: format!("never heard of {i}"), slot: "song".to_owned(), ..Draft::default() };
        memory.learn(&Scope::admin("admin"), draft)?;
    }
    println!("{}", json!({ "learn_us": start.elapsed().as_secs_f64() * 1e6 / 200.0 }));
    Ok(())
}

fn fill(location: &str, n: usize) -> meno_store::Result<f64> {
    let mut store = open(location, Access::Create)?;
    let mut random = Random::new(1);
    let start = Instant::now();
    let mut left = n;
    while left > 0 {
        let batch = left.min(BATCH);
        store.edit(
            &Scope::admin("admin"),
            (0..batch).map(|_| Edit::Import(Box::new(concept(&mut random)))).collect(),
            1,
        )?;
        left = n.saturating_sub(store.count()? as usize);
    }
    Ok(start.elapsed().as_secs_f64())
}

fn concept(random: &mut Random) -> Concept {
    let n_words = 1 + random.below(3) + random.below(4);
    let words = |random: &mut Random, n: usize| -> String {
        (0..n).map(|_| format!("word{}", random.below(100_000))).collect::<Vec<_>>().join(" ")
    };
    Concept {
        id: 0,
        phrase: words(random, n_words),
        normal: String::new(),
        slot: format!("slot{}", random.below(50)),
        value: (random.below(10) == 0).then(|| words(random, 2)),
        owner: if random.below(10) > 0 {
            Owner::User(format!("user{}", random.below(1000)))
        } else {
            Owner::Everyone
        },
        source: None,
        created: 1,
        updated: 1,
        uses: 0,
    }
}

/// The resident memory of this process in bytes; 0 where it is not told.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4096.0
}
