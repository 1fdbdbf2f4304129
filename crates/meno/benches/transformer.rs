//! How fast a pretrained encoder is trained and answers, as JSON lines.
//!
//! ```text
//! cargo bench -p meno --bench transformer -- train DIR FOLDER [--threads N] [--steps N]   seconds a step
//! cargo bench -p meno --bench transformer -- annotate DIR FOLDER [--utterances N] [--epochs N]
//!     one utterance, from text to decision, with weights of 32, 16 and 8 bits, after so many epochs on the first so many utterances
//! ```
//! DIR has splits train and test, FOLDER is an encoder of the BERT family.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use meno::Model;
use meno::bench::{Kernels, n_pieces};
use meno::corpus::{Corpus, read_split};
use meno::engine::{Tokenization, WeightFormat};
use meno::metrics::Mode;
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
    let lines = match args[..] {
        ["train", dir, folder, ..] => {
            vec![train(dir, folder, option("--threads", 1), option("--steps", 40))?]
        }
        ["annotate", dir, folder, ..] => {
            annotate(dir, folder, option("--utterances", 320), option("--epochs", 1))?
        }
        // `cargo bench` without arguments runs every bench; this one needs data and an encoder.
        _ => return Ok(()),
    };
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Counts steps, and stops after some.
struct Steps {
    left: usize,
    before: Instant,
    times: Vec<Duration>,
    /// What this thread had of the processor after the first step and the last one.
    busy: [f64; 2],
}

impl Watch for Steps {
    fn step(&mut self, _: &Progress) -> ControlFlow<()> {
        self.times.push(self.before.elapsed());
        self.before = Instant::now();
        self.busy[usize::from(self.times.len() > 1)] = busy();
        self.left -= 1;
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn epoch(&mut self, _: &EpochReport) {}
}

/// The seconds for which this thread had a processor, which others do not lengthen; 0 where the system does not tell.
fn busy() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn options(encoder: &Arc<Pretrained>, threads: usize) -> Options {
    Options { encoder: Some(encoder.clone()), threads, trust: false, ..Options::default() }
}

fn train(dir: &str, folder: &str, threads: usize, steps: usize) -> meno::Result<Value> {
    let encoder = Arc::new(Pretrained::open(Path::new(folder))?);
    let (corpus, valid) = (read_split(Path::new(dir), "train")?, read_split(Path::new(dir), "valid")?);
    let settings = TrainSettings::transformer(&encoder);
    let mut watch = Steps { left: steps, before: Instant::now(), times: Vec::new(), busy: [0.0; 2] };
    let Outcome::Stopped { .. } = fit(&corpus, &valid, &settings, options(&encoder, threads), &mut watch)?
    else {
        return Ok(json!({"error": "fewer steps than asked for"}));
    };
    // The first one waits for memory.
    let times = &watch.times[1..];
    let seconds = times.iter().sum::<Duration>().as_secs_f64() / times.len() as f64;
    let busy = (watch.busy[1] - watch.busy[0]) / times.len() as f64;
    let n_steps = corpus.utterances.len().div_ceil(settings.batch);
    let flops = flops(&encoder, &corpus) / n_steps as f64;
    Ok(json!({
        "what": "train", "peer": "meno", "threads": threads, "seconds_per_step": seconds,
        "seconds_per_epoch": seconds * n_steps as f64,
        "microseconds_per_piece": 1e6 * seconds * n_steps as f64 / n_all_pieces(&encoder, &corpus) as f64, "gflops": flops / seconds / 1e9,
        "busy_microseconds_per_piece": 1e6 * busy * n_steps as f64 / n_all_pieces(&encoder, &corpus) as f64,
        "busy_gflops": flops / busy / 1e9, "peak_gflops": peak() / 1e9,
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
        2.0 * kernels.multiply_adds(1_000_000) as f64 / start.elapsed().as_secs_f64()
    };
    (0..60).map(|_| once()).fold(0.0, f64::max)
}

/// With weights of 32, 16 and 8 bits. After a few steps they are as good as any, but for the F1.
fn annotate(dir: &str, folder: &str, n: usize, epochs: usize) -> meno::Result<Vec<Value>> {
    let encoder = Arc::new(Pretrained::open(Path::new(folder))?);
    let mut corpus = read_split(Path::new(dir), "train")?;
    let (valid, test) = (read_split(Path::new(dir), "valid")?, read_split(Path::new(dir), "test")?);
    corpus.utterances.truncate(n);
    let settings = TrainSettings { epochs, ..TrainSettings::transformer(&encoder) };
    let model = fit(&corpus, &corpus, &settings, options(&encoder, 2), &mut ())?.finished()?;
    let models = [
        ("f32", model.clone()),
        ("bf16", model.with_weights(WeightFormat::Bf16)?),
        ("int8", model.with_weights(WeightFormat::Int8)?),
    ];
    let mut times = [const { Vec::new() }; 3];
    let mut workers = models.each_ref().map(|(_, model)| model.worker());
    for (i, utterance) in test.utterances.iter().chain(&test.utterances).enumerate() {
        let text = utterance.words.join(" ");
        for (worker, times) in workers.iter_mut().zip(&mut times) {
            let start = Instant::now();
            std::hint::black_box(worker.annotate(&text, Tokenization::Pretokenized));
            // The first ones wait for memory.
            if i > 10 {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    let line = |((weights, model), mut times): ((&str, Model), Vec<f64>)| {
        times.sort_by(f64::total_cmp);
        let report = model.worker().evaluate(&valid.utterances, Mode::Conlleval)?.report();
        Ok(json!({
            "what": "annotate", "peer": "meno", "weights": weights, "bytes": model.to_bytes().len(),
            "p10_ms": times[times.len() / 10], "p50_ms": times[times.len() / 2],
            "p99_ms": times[times.len() * 99 / 100],
            "valid_slot_f1": report.slot_f1, "valid_intent_accuracy": report.intent_accuracy,
        }))
    };
    models.into_iter().zip(times).map(line).collect()
}
