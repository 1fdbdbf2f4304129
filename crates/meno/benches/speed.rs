//! How fast the slot-gated tagger trains and answers, as JSON lines: the engine's side of `scripts/bench_peers.sh`.
//!
//! ```text
//! cargo bench -p meno --bench speed -- train DIR [--threads N] [--epochs N]   seconds an epoch
//! cargo bench -p meno --bench speed -- infer DIR        one utterance, from word ids to label ids
//! cargo bench -p meno --bench speed -- score DIR        the entropy of all words beside the tagger's own time
//! cargo bench -p meno --bench speed -- annotate DIR     the default tagger, from text to decision
//! cargo bench -p meno --bench speed -- lengths          the same at 8, 64 and 512 words
//! cargo bench -p meno --bench speed -- corpus DIR       seconds an epoch on an eighth, a quarter, a half, all of DIR
//! cargo bench -p meno --bench speed -- peak             multiply-adds this core can do
//! cargo bench -p meno --bench speed -- int8             products with weights of 8 bits beside those with floats
//! cargo bench -p meno --bench speed -- products [TEXT]  the share of them that matrix products reach, of those whose name has TEXT
//! ```

mod int8;
mod products;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use meno::bench::{Example, Features, Kernels, Network, SlotGated, SlotGatedShape, SlotGatedTask};
use meno::bench::{Trainer, Workspace, first_intent, largest};
use meno::corpus::read_split;
use meno::engine::{Tokenization, WeightFormat};
use meno::random::Random;
use meno::text::Normalizer;
use meno::train::{Calibration, Options, TrainSettings, fit};
use serde_json::{Value, json};

fn main() -> meno::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let option = |name: &str, default: usize| {
        let at = args.iter().position(|arg| *arg == name);
        at.and_then(|at| args.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let lines = match args[..] {
        ["train", dir, ..] => vec![train(&Data::read(dir)?, option("--threads", 1), option("--epochs", 3))],
        ["infer", dir, ..] => vec![infer(&Data::read(dir)?)],
        ["score", dir, ..] => score(&Data::read(dir)?),
        ["annotate", dir, ..] => {
            annotate(Path::new(dir), option("--hidden", TrainSettings::default().hidden))?
        }
        ["lengths", ..] => lengths(),
        ["corpus", dir, ..] => corpus(&Data::read(dir)?),
        ["peak", ..] => vec![peak()],
        ["int8"] => int8::int8(),
        ["products"] => products::products(""),
        ["products", only, ..] => products::products(only),
        // `cargo bench` without arguments runs every bench.
        _ => vec![peak()].into_iter().chain(lengths()).collect(),
    };
    for line in lines {
        println!("{line}");
    }
    Ok(())
}

struct Data {
    name: String,
    shape: SlotGatedShape,
    train: Vec<Example>,
    test: Vec<Example>,
}

impl Data {
    fn read(dir: &str) -> meno::Result<Self> {
        let dir = Path::new(dir);
        let (train, test) = (read_split(dir, "train")?, read_split(dir, "test")?);
        let normalizer =
            Normalizer::fit(train.utterances.iter().map(|u| u.words.as_slice())).with_digits(true);
        let features =
            Features::fit(train.utterances.iter(), |word| normalizer.vocabulary_form(word).to_owned());
        let examples = |corpus: &meno::corpus::Corpus| -> Vec<Example> {
            let utterances = corpus.utterances.iter().filter(|utterance| !utterance.words.is_empty());
            let example = |u: &meno::corpus::Utterance| Example {
                words: u.words.iter().map(|word| features.word(normalizer.vocabulary_form(word))).collect(),
                labels: u.labels.iter().map(|label| features.labels.id(label).unwrap_or(0)).collect(),
                intent: features.intents.id(first_intent(&u.intent)).unwrap_or(0),
            };
            utterances.map(example).collect()
        };
        let shape = SlotGatedShape {
            words: features.words.len(),
            labels: features.labels.len(),
            intents: features.intents.len(),
            embedding: 64,
            hidden: 64,
            calibrated: false,
        };
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Data { name, shape, train: examples(&train), test: examples(&test) })
    }

    /// Multiplications and additions of the matrix products and attentions of one training pass over `examples`.
    fn flops(&self, examples: &[Example]) -> f64 {
        let SlotGatedShape { labels, intents, embedding: e, hidden: h, .. } = self.shape;
        let d = 2 * h;
        let word = 8 * h * (e + h) + 3 * d * d + 2 * d * labels;
        let utterance = 4 * h * d + (d + 4 * h) * (d + intents);
        let forward: usize = (examples.iter())
            .map(|example| example.words.len())
            .map(|n| n * word + utterance + 2 * n * n * d)
            .sum();
        // Forward, gradient of the inputs, gradient of the weights; a multiplication and an addition each.
        (forward * 3 * 2) as f64
    }
}

fn train(data: &Data, threads: usize, epochs: usize) -> Value {
    let seconds = seconds_per_epoch(data, &data.train, threads, epochs);
    json!({
        "what": "train", "peer": "meno", "data": data.name, "threads": threads,
        "seconds_per_epoch": seconds, "gflops": data.flops(&data.train) / seconds / 1e9,
    })
}

/// The best of some epochs after a first one that only warms up.
fn seconds_per_epoch(data: &Data, examples: &[Example], threads: usize, epochs: usize) -> f64 {
    let network = SlotGated::new(data.shape);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    pool.install(|| {
        let settings = TrainSettings::slot_gated();
        let task = SlotGatedTask::new(&network, examples, &settings);
        let mut trainer = Trainer::new(task, Kernels::best(), settings.schedule());
        let mut best = f64::INFINITY;
        for epoch in 0..epochs.max(2) {
            let start = Instant::now();
            let _ = trainer.run_epoch(|_, _| ControlFlow::Continue(()));
            if epoch > 0 {
                best = best.min(start.elapsed().as_secs_f64());
            }
        }
        best
    })
}

fn infer(data: &Data) -> Value {
    let network = SlotGated::new(data.shape);
    let parameters = network.initial(&mut Random::new(1));
    let mut times = latencies(&network, &parameters, &data.test, 5);
    times.sort_by(f64::total_cmp);
    json!({
        "what": "infer", "peer": "meno", "data": data.name,
        "p50_us": times[times.len() / 2], "p99_us": times[times.len() * 99 / 100],
    })
}

/// Microseconds of each utterance of each pass after a first one that only warms up.
fn latencies(network: &SlotGated, parameters: &[f32], examples: &[Example], passes: usize) -> Vec<f64> {
    let (kernels, mut workspace) = (Kernels::best(), Workspace::default());
    let prepared = network.prepare(kernels, parameters, Calibration::default(), 1000);
    let mut times = Vec::new();
    for pass in 0..=passes {
        for example in examples {
            let start = Instant::now();
            network.infer(kernels, parameters, &prepared, &example.words, &mut workspace);
            let labels: u32 =
                network.slot_logits(&workspace).filter_map(largest).map(|(label, _)| label).sum();
            let intent = network.intent_logits(&workspace).next().and_then(largest);
            std::hint::black_box((labels, intent));
            if pass > 0 {
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    times
}

/// What the uncertainty costs: the entropy of every word of an utterance, beside what the tagger takes for it.
fn score(data: &Data) -> Vec<Value> {
    let line = |calibrated: bool| {
        let network = SlotGated::new(SlotGatedShape { calibrated, ..data.shape });
        let parameters = network.initial(&mut Random::new(1));
        let (kernels, mut workspace) = (Kernels::best(), Workspace::default());
        let prepared = network.prepare(kernels, &parameters, Calibration::default(), 1000);
        let (mut tagger, mut entropy) = (Vec::new(), Vec::new());
        for example in data.test.iter().cycle().take(6 * data.test.len()) {
            let start = Instant::now();
            network.infer(kernels, &parameters, &prepared, &example.words, &mut workspace);
            tagger.push(start.elapsed().as_secs_f64() * 1e6);
            let start = Instant::now();
            std::hint::black_box(network.entropies(kernels, &prepared, &mut workspace));
            entropy.push(start.elapsed().as_secs_f64() * 1e6);
        }
        let [tagger, entropy] = [tagger, entropy].map(|mut times| {
            // The first pass only warms up.
            times.drain(..data.test.len());
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        json!({
            "what": "score", "data": data.name, "labels": data.shape.labels, "calibrated": calibrated,
            "tagger_p50_us": tagger, "entropy_p50_us": entropy, "share": entropy / tagger,
        })
    };
    [false, true].map(line).to_vec()
}

/// The default tagger after one epoch, with thresholds: seconds of the epoch on two threads, and one utterance, with the confidence in
/// readings and without, in turn.
fn annotate(dir: &Path, hidden: usize) -> meno::Result<Vec<Value>> {
    let [train, valid, test] = ["train", "valid", "test"].map(|name| read_split(dir, name));
    let (train, valid, test) = (train?, valid?, test?);
    let settings = TrainSettings { epochs: 1, hidden, ..TrainSettings::default() };
    let model = |trust: bool| {
        let options = Options { threads: 2, trust, ..Options::default() };
        fit(&train, &valid, &settings, options, &mut ())?.finished()
    };
    let start = Instant::now();
    let bare = model(false)?;
    let seconds = start.elapsed().as_secs_f64();
    let whole = model(true)?;
    let small = whole.with_weights(WeightFormat::Int8)?;
    let mut workers = [whole.worker(), bare.worker(), small.worker()];
    let texts: Vec<String> = test.utterances.iter().map(|utterance| utterance.words.join(" ")).collect();
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for text in texts.iter().cycle().take(6 * texts.len()) {
        for (worker, times) in workers.iter_mut().zip(&mut times) {
            let start = Instant::now();
            std::hint::black_box(worker.annotate(text, Tokenization::Raw));
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    let [times, bare, small] = times.map(|mut times| {
        // The first pass only warms up.
        times.drain(..texts.len());
        times.sort_by(f64::total_cmp);
        times
    });
    let p50 = |times: &[f64]| times[times.len() / 2];
    Ok(vec![json!({
        "what": "annotate", "data": dir.display().to_string(), "hidden": hidden, "seconds_per_epoch": seconds,
        "p50_us": p50(&times), "p99_us": times[times.len() * 99 / 100],
        "p50_us_without_confidence": p50(&bare), "ratio": p50(&times) / p50(&bare), "p50_us_with_8_bits": p50(&small),
    })])
}

/// The cost of an utterance grows with its length, and attention's share with the square of it.
fn lengths() -> Vec<Value> {
    let shape = SlotGatedShape {
        words: 1000,
        labels: 120,
        intents: 20,
        embedding: 64,
        hidden: 64,
        calibrated: false,
    };
    let network = SlotGated::new(shape);
    let mut random = Random::new(1);
    let parameters = network.initial(&mut random);
    let mut line = |words: usize| {
        let mut word = || random.below(shape.words) as u32;
        let example = Example { words: (0..words).map(|_| word()).collect(), ..Example::default() };
        let mut times = latencies(&network, &parameters, &[example], 60);
        times.sort_by(f64::total_cmp);
        let p50 = times[times.len() / 2];
        json!({"what": "lengths", "words": words, "p50_us": p50, "us_per_word": p50 / words as f64})
    };
    [8, 64, 512].map(&mut line).to_vec()
}

/// The cost of an epoch grows with the corpus.
fn corpus(data: &Data) -> Vec<Value> {
    let line = |share: usize| {
        // Every so-manieth utterance, so that the lengths are those of the whole.
        let part: Vec<Example> = data.train.iter().step_by(share).cloned().collect();
        let seconds = seconds_per_epoch(data, &part, 1, 3);
        let us = seconds * 1e6 / part.len() as f64;
        json!({"what": "corpus", "data": data.name, "utterances": part.len(), "seconds_per_epoch": seconds, "us_per_utterance": us})
    };
    [8, 4, 2, 1].map(line).to_vec()
}

fn peak() -> Value {
    let kernels = Kernels::best();
    let mut best = 0.0f64;
    for _ in 0..5 {
        let start = Instant::now();
        let done = kernels.multiply_adds(20_000_000);
        best = best.max(2.0 * done as f64 / start.elapsed().as_secs_f64() / 1e9);
    }
    json!({"what": "peak", "gflops": best, "instructions": format!("{:?}", kernels.instructions())})
}
