//! How fast the tagger and parser is, as JSON lines.
//!
//! ```text
//! cargo bench -p meno --bench syntax -- infer DIR     one utterance of the test split, from words to a tree
//! cargo bench -p meno --bench syntax -- lengths       microseconds a word in sentences of 10 to 5,000 words
//! cargo bench -p meno --bench syntax -- load          from bytes to a model
//! ```
//!
//! Of the model that comes with meno, or after `--model FILE` of another. Each time is the shortest of several rounds: the
//! machine may have other work to do. `infer` has its `first` round too, in which a word may be new to the worker.

use std::path::Path;
use std::time::Instant;

use meno::corpus::read_split;
use meno::random::Random;
use meno::syntax::Syntax;
use serde_json::{Value, json};

fn main() -> meno::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (bytes, command) = match args[..] {
        ["--model", model, ref command @ ..] => (std::fs::read(model), command),
        ref command => (Ok(Syntax::english().to_bytes()), command),
    };
    let bytes = bytes.map_err(|source| meno::Error::Read { path: args[1].into(), source })?;
    let syntax = Syntax::load(&bytes)?;
    let lines = match *command {
        ["infer", dir] => vec![infer(&syntax, Path::new(dir))?],
        ["lengths"] => lengths(&syntax),
        ["load"] => vec![load(&bytes)],
        // `cargo bench` without arguments runs every bench.
        _ => [lengths(&syntax), vec![load(&bytes)]].concat(),
    };
    for line in lines {
        println!("{line}");
    }
    Ok(())
}

/// The shortest of some rounds, in microseconds.
fn shortest(rounds: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e6
    };
    (0..rounds).map(time).fold(f64::INFINITY, f64::min)
}

fn infer(syntax: &Syntax, dir: &Path) -> meno::Result<Value> {
    let corpus = read_split(dir, "test")?;
    let mut worker = syntax.worker();
    let (mut first, mut times) = (Vec::new(), Vec::new());
    for utterance in &corpus.utterances {
        let words: Vec<&str> = utterance.words.iter().map(String::as_str).collect();
        first.push(shortest(1, || drop(worker.parse(&words))));
        times.push(shortest(20, || drop(worker.parse(&words))));
    }
    let words: usize = corpus.utterances.iter().map(|u| u.words.len()).sum();
    let words = words as f64 / times.len() as f64;
    let [p50, p99] = [0.5, 0.99].map(|share| quantile(&mut times, share));
    Ok(json!({
        "dir": dir, "utterances": times.len(), "words": words, "p50_us": p50, "p99_us": p99,
        "first_p50_us": quantile(&mut first, 0.5),
    }))
}

fn quantile(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(share * (times.len() - 1) as f64) as usize]
}

fn lengths(syntax: &Syntax) -> Vec<Value> {
    let words =
        ["play", "the", "new", "album", "by", "my", "favourite", "band", "in", "rome", "and", "xyzzy"];
    let mut random = Random::new(1);
    let mut worker = syntax.worker();
    let mut line = |n: usize| {
        let sentence: Vec<&str> = (0..n).map(|_| words[random.below(words.len())]).collect();
        let time = shortest(20, || drop(worker.parse(&sentence)));
        json!({ "words": n, "us": time, "us_a_word": time / n as f64 })
    };
    [10, 20, 50, 100, 200, 500, 1000, 2000, 5000].into_iter().map(&mut line).collect()
}

fn load(bytes: &[u8]) -> Value {
    json!({ "bytes": bytes.len(), "load_us": shortest(20, || drop(Syntax::load(bytes))) })
}
