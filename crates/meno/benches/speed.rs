//! Speed of training and inference, as JSON lines: the engine's side of `scripts/bench_peers.sh`.
use meno::corpus::*;
use meno::encoder::*;
use meno::features::*;
use meno::train::*;
use std::ops::ControlFlow;
use std::time::Instant;

fn read(dir: &str) -> Vec<Utterance> {
    let get = |f: &str| std::fs::read_to_string(format!("{dir}/{f}")).unwrap();
    let (a, b, c) = (get("seq.in"), get("seq.out"), get("label"));
    a.lines()
        .zip(b.lines())
        .zip(c.lines())
        .map(|((a, b), c)| Utterance {
            words: a.split_whitespace().map(str::to_owned).collect(),
            labels: b.split_whitespace().map(str::to_owned).collect(),
            intent: c.trim().to_owned(),
            ..Default::default()
        })
        .filter(|u| !u.words.is_empty())
        .collect()
}
fn norm(w: &str) -> String {
    if w.bytes().all(|b| b.is_ascii_digit()) { "0".into() } else { w.to_owned() }
}
fn argmax(x: &[f32]) -> usize {
    let mut b = 0;
    for i in 1..x.len() {
        if x[i] > x[b] {
            b = i
        }
    }
    b
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let dir = &args[1];
    let get =
        |k: &str, d: usize| args.iter().position(|a| a == k).map_or(d, |i| args[i + 1].parse().unwrap());
    let (threads, epochs, seed) = (get("--threads", 1), get("--epochs", 3), get("--seed", 1));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| run(dir, epochs, seed));
}
fn run(dir: &str, epochs: usize, seed: usize) {
    let train = read(&format!("{dir}/train"));
    let f = Features::fit(train.iter(), norm);
    let enc = |u: &Utterance| Example {
        words: u.words.iter().map(|w| f.word(&norm(w))).collect(),
        labels: u.labels.iter().map(|l| f.labels.id(l).unwrap_or(0)).collect(),
        intent: f.intents.id(first_intent(&u.intent)).unwrap_or(0),
    };
    let ex: Vec<Example> = train.iter().map(enc).collect();
    let net = SlotGated::new(SlotGatedShape {
        words: f.words.len(),
        labels: f.labels.len(),
        intents: f.intents.len(),
        embedding: 64,
        hidden: 64,
    });
    let kernels = Kernels::best();
    let mut t = Trainer::new(
        &net,
        kernels,
        &ex,
        TrainSettings {
            seed: seed as u64,
            epochs,
            rate: std::env::var("RATE").map_or(2e-3, |r| r.parse().unwrap()),
            dropout: std::env::var("DROP").map_or(0.5, |r| r.parse().unwrap()),
            ..Default::default()
        },
    );
    let mut w = Workspace::default();
    let mut best = (0.0, 0.0, 0.0, 0);
    for e in 0..epochs {
        let t0 = Instant::now();
        let ControlFlow::Continue(loss) = t.run_epoch(|_, _| ControlFlow::Continue(())) else {
            unreachable!()
        };
        let dt = t0.elapsed().as_secs_f64();
        let p = t.parameters();
        let mut r = vec![];
        for split in ["valid", "test"] {
            let (mut tp, mut np, mut ng, mut ok, mut n) = (0, 0, 0, 0, 0);
            for u in read(&format!("{dir}/{split}")) {
                let x = enc(&u);
                net.forward(kernels, p, std::iter::once(&x.words[..]), None, &mut w);
                let pred: Vec<&str> = net.slot_logits(&w).map(|l| f.labels.name(argmax(l) as u32)).collect();
                let (g, q) = (tags::spans(&u.labels), tags::spans(&pred));
                tp += g.iter().filter(|s| q.contains(s)).count();
                np += q.len();
                ng += g.len();
                n += 1;
                let i = argmax(net.intent_logits(&w).next().unwrap());
                ok += usize::from(u.intent.split('#').any(|g| g == f.intents.name(i as u32)));
            }
            r.push((200.0 * tp as f64 / (np + ng) as f64, 100.0 * ok as f64 / n as f64));
        }
        if r[0].0 > best.0 {
            best = (r[0].0, r[1].0, r[1].1, e)
        }
        println!(
            "epoch {e} loss {loss:.4} {dt:.3}s valid {:.2}/{:.2} test {:.2}/{:.2}",
            r[0].0, r[0].1, r[1].0, r[1].1
        );
    }
    println!("best epoch {} valid {:.2} test {:.2} intent {:.2}", best.3, best.0, best.1, best.2);
    let p = t.parameters();
    let test: Vec<Example> = read(&format!("{dir}/test")).iter().map(enc).collect();
    let mut ts = vec![];
    for _ in 0..5 {
        for x in &test {
            let t0 = Instant::now();
            net.forward(kernels, p, std::iter::once(&x.words[..]), None, &mut w);
            std::hint::black_box(net.slot_logits(&w).map(argmax).sum::<usize>());
            ts.push(t0.elapsed().as_nanos());
        }
    }
    ts.sort();
    println!("p50 {} ns p99 {}", ts[ts.len() / 2], ts[ts.len() * 99 / 100]);
}
