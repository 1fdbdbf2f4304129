//! How fast a pretrained encoder is trained and answers, as JSON lines.
//!
//! ```text
//! cargo bench -p meno --bench transformer -- train DIR FOLDER [--threads N] [--steps N]   seconds a step
//! cargo bench -p meno --bench transformer -- annotate DIR FOLDER                          one utterance, from text to decision
//! ```
//! DIR has splits train and test, FOLDER is an encoder of the BERT family.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use meno::bench::{Kernels, n_pieces};
use meno::corpus::{Corpus, read_split};
use meno::engine::Tokenization;
use meno::pretrained::Pretrained;
use meno::train::{EpochReport, Options, Outcome, Progress, TrainSettings, Watch, fit};
use serde_json::{Value, json};

fn main() -> meno::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let option = |name: &str, default: usize| {
        let at = args.iter().position(|arg| *arg == name);
        at.and_then(|at| args.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let line = match args[..] {
        ["train", dir, folder, ..] => train(dir, folder, option("--threads", 1), option("--steps", 40))?,
        ["annotate", dir, folder, ..] => annotate(dir, folder)?,
        // `cargo bench` without arguments runs every bench; this one needs data and an encoder.
        _ => return Ok(()),
    };
    println!("{line}");
    Ok(())
}

/// Counts steps, and stops after some.
struct Steps {
    left: usize,
    before: Instant,
    times: Vec<Duration>,
}

impl Watch for Steps {
    fn step(&mut self, _: &Progress) -> ControlFlow<()> {
        self.times.push(self.before.elapsed());
        self.before = Instant::now();
        self.left -= 1;
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn epoch(&mut self, _: &EpochReport) {}
}

fn options(encoder: &Arc<Pretrained>, threads: usize) -> Options {
    Options { encoder: Some(encoder.clone()), threads, trust: false, ..Options::default() }
}

fn train(dir: &str, folder: &str, threads: usize, steps: usize) -> meno::Result<Value> {
    let encoder = Arc::new(Pretrained::open(Path::new(folder))?);
    let (corpus, valid) = (read_split(Path::new(dir), "train")?, read_split(Path::new(dir), "valid")?);
    let settings = TrainSettings::transformer(&encoder);
    let mut watch = Steps { left: steps, before: Instant::now(), times: Vec::new() };
    let Outcome::Stopped { .. } = fit(&corpus, &valid, &settings, options(&encoder, threads), &mut watch)?
    else {
        return Ok(json!({"error": "fewer steps than asked for"}));
    };
    // The first one waits for memory.
    let times = &watch.times[1..];
    let seconds = times.iter().sum::<Duration>().as_secs_f64() / times.len() as f64;
    let n_steps = corpus.utterances.len().div_ceil(settings.batch);
    let flops = flops(&encoder, &corpus) / n_steps as f64;
    Ok(json!({
        "what": "train", "peer": "meno", "threads": threads, "seconds_per_step": seconds,
        "seconds_per_epoch": seconds * n_steps as f64,
        "microseconds_per_piece": 1e6 * seconds * n_steps as f64 / n_all_pieces(&encoder, &corpus) as f64, "gflops": flops / seconds / 1e9,
        "peak_gflops": peak() / 1e9,
    }))
}

/// Pieces of all utterances, with those before and after each.
fn n_all_pieces(encoder: &Pretrained, corpus: &Corpus) -> usize {
    let words = corpus.utterances.iter().flat_map(|utterance| &utterance.words);
    2 * corpus.utterances.len() + words.map(|word| n_pieces(encoder, word)).sum::<usize>()
}

/// Multiplications and additions of the matrix products of an epoch.
fn flops(encoder: &Pretrained, corpus: &Corpus) -> f64 {
    let (hidden, wide) = (encoder.shape.hidden as f64, encoder.shape.intermediate as f64);
    let weights = encoder.shape.layers as f64 * hidden * (4.0 * hidden + 2.0 * wide);
    let utterances = corpus.utterances.iter().map(|utterance| {
        let n = 2 + utterance.words.iter().map(|word| n_pieces(encoder, word)).sum::<usize>();
        n as f64 * (weights + encoder.shape.layers as f64 * 2.0 * n as f64 * hidden)
    });
    // Forward, gradient of the inputs, gradient of the weights; a multiplication and an addition each.
    6.0 * utterances.sum::<f64>()
}

/// What one core can do at best.
fn peak() -> f64 {
    let kernels = Kernels::best();
    let once = || {
        let start = Instant::now();
        2.0 * kernels.multiply_adds(20_000_000) as f64 / start.elapsed().as_secs_f64()
    };
    (0..3).map(|_| once()).fold(0.0, f64::max)
}

/// The weights are those of the encoder after a few steps: they do not change how long anything takes.
fn annotate(dir: &str, folder: &str) -> meno::Result<Value> {
    let encoder = Arc::new(Pretrained::open(Path::new(folder))?);
    let mut corpus = read_split(Path::new(dir), "train")?;
    let test = read_split(Path::new(dir), "test")?;
    corpus.utterances.truncate(320);
    let settings = TrainSettings { epochs: 1, ..TrainSettings::transformer(&encoder) };
    let model = fit(&corpus, &corpus, &settings, options(&encoder, 1), &mut ())?.finished()?;
    let mut worker = model.worker();
    let mut times = Vec::new();
    for pass in 0..3 {
        for utterance in &test.utterances {
            let text = utterance.words.join(" ");
            let start = Instant::now();
            std::hint::black_box(worker.annotate(&text, Tokenization::Pretokenized));
            if pass > 0 {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(json!({
        "what": "annotate", "peer": "meno", "p50_ms": times[times.len() / 2], "p99_ms": times[times.len() * 99 / 100],
    }))
}
