//! Training the tagger and the parser together on treebanks.
//!
//! Each sentence is learnt as it is and as it would be spoken. A batch is cut into shards whose gradients are summed in
//! their order, so the result is the same for any number of threads.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;

use super::gradient::{Example, Practice, Shard};
use super::lexicon::{Keys, Lexicon, NO_ROW, Reader, UNKNOWN_ROW};
use super::model::{Embedding, Model, Record};
use super::network::{Network, Shape, add};
use super::treebank::{Tree, utterance_key};
use crate::kernel::{Adam, BETA1, BETA2, Buffer, Kernels, StepSize};
use crate::nn::{Parameters, row_of, transpose};
use crate::random::Random;
use crate::{Error, Result};

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntaxSettings {
    /// What all randomness comes from.
    pub seed: u64,
    /// Threads to train on; what comes out does not depend on it.
    pub threads: usize,
    /// Passes over the treebanks.
    pub epochs: usize,
    /// Sentences of a step.
    pub batch: usize,
    /// The size of a step at the beginning; it falls to nothing.
    pub rate: f32,
    /// The share of activations that is dropped.
    pub dropout: f32,
    /// A word that occurs `n` times is read as unknown with probability `a / (a + n)`.
    pub unknown: f32,
    /// The share of wrong actions that are taken all the same, after the first pass.
    pub exploration: f32,
    /// Width of an embedding.
    pub embedding: usize,
    /// Width of a hidden state of each layer.
    pub hidden: [usize; 2],
    /// Width of the layers that decide.
    pub decision: usize,
    /// Words and parts of words that occur less often have no row of their own.
    pub least: usize,
    /// A relation that occurs less often is learnt as the one it is a kind of.
    pub least_relation: usize,
}

impl Default for SyntaxSettings {
    fn default() -> Self {
        SyntaxSettings {
            seed: 1,
            threads: 1,
            epochs: 25,
            batch: 32,
            rate: 3e-3,
            dropout: 0.2,
            unknown: 0.25,
            exploration: 0.9,
            embedding: 96,
            hidden: [32, 32],
            decision: 64,
            least: 2,
            least_relation: 20,
        }
    }
}

/// Sentences of a shard.
const SHARD: usize = 8;
/// Batches whose sentences are sorted by length together.
const WINDOW: usize = 16;
/// Gradients are cut down to this norm.
const CLIP: f32 = 2.0;

/// Trains a model. `watch` is told the passes done, of how many, and the mean loss of a word in the last one.
pub(crate) fn train(
    trees: &[Tree],
    settings: &SyntaxSettings,
    mut watch: impl FnMut(usize, usize, f64) -> ControlFlow<()>,
) -> Result<ControlFlow<(), Model>> {
    if trees.is_empty() {
        return Err(Error::Setting {
            problem: "the treebanks have no sentence to train on".to_owned(),
            hint: "every word needs a tag, a head and a relation".to_owned(),
        });
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.threads.max(1)).build();
    let pool = pool.map_err(|e| Error::Setting {
        problem: format!("cannot start {} threads: {e}", settings.threads),
        hint: "ask for fewer".to_owned(),
    })?;
    let mut trainer = Trainer::new(trees, settings);
    for epoch in 0..settings.epochs {
        let loss = pool.install(|| trainer.run_epoch(epoch));
        if watch(epoch + 1, settings.epochs, loss).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(trainer.finish(trees)))
}

struct Trainer<'a> {
    settings: &'a SyntaxSettings,
    kernels: Kernels,
    network: Network,
    keys: Vec<u64>,
    relations: Vec<Arc<str>>,
    examples: Vec<Example>,
    /// For each row of a word how likely it is read as unknown.
    unknown: Vec<f32>,
    parameters: Parameters,
    transposed: Buffer,
    moments: [Buffer; 2],
    rows: RowGradient,
    shards: Vec<Shard>,
    n_steps: usize,
}

/// The gradient of the embeddings that occur in a batch.
#[derive(Default)]
struct RowGradient {
    touched: Vec<u32>,
    /// For each row of the table its place among the touched, or [`NO_ROW`].
    places: Vec<u32>,
    sums: Buffer,
}

impl<'a> Trainer<'a> {
    fn new(trees: &[Tree], settings: &'a SyntaxSettings) -> Self {
        let inventory = Inventory::new(trees, settings);
        let shape = Shape {
            embedding: settings.embedding,
            hidden: settings.hidden,
            action: settings.decision,
            relation: settings.decision,
            rows: inventory.keys.len() + 1,
            tags: 17,
            relations: inventory.relations.len(),
        };
        let kernels = Kernels::best();
        let network = Network::new(shape);
        let parameters = network.initial(&mut Random::new(settings.seed).fork(0));
        let mut examples = Vec::new();
        for (idx, tree) in trees.iter().enumerate() {
            let spoken = tree.spoken(idx % 2 == 0);
            examples.extend(
                [Some(tree), spoken.as_ref()].into_iter().flatten().map(|tree| inventory.example(tree)),
            );
        }
        let n_shards = settings.batch.div_ceil(SHARD);
        let share = |&count: &usize| settings.unknown / (settings.unknown + count as f32);
        let mut unknown: Vec<f32> = inventory.counts.iter().map(share).collect();
        unknown[UNKNOWN_ROW as usize] = 0.0;
        Trainer {
            settings,
            kernels,
            unknown,
            keys: inventory.keys,
            relations: inventory.relations,
            examples,
            transposed: Buffer::zeros(network.layout.matrices()),
            moments: [(); 2].map(|()| Buffer::zeros(network.layout.len())),
            rows: RowGradient { places: vec![NO_ROW; shape.rows], ..RowGradient::default() },
            shards: (0..n_shards).map(|_| Shard::default()).collect(),
            n_steps: 0,
            parameters,
            network,
        }
    }

    /// One pass in random order; gives the mean loss.
    fn run_epoch(&mut self, epoch: usize) -> f64 {
        let mut random = Random::new(self.settings.seed).fork(1 + epoch as u64);
        let mut order: Vec<usize> = (0..self.examples.len()).collect();
        random.shuffle(&mut order);
        let batch = self.settings.batch;
        for window in order.chunks_mut(WINDOW * batch) {
            window.sort_by_key(|&i| std::cmp::Reverse(self.examples[i].rows.len()));
        }
        let mut batches: Vec<&[usize]> = order.chunks(batch).collect();
        random.shuffle(&mut batches);
        let all_steps = (batches.len() * self.settings.epochs) as f32;
        let exploration = if epoch == 0 { 0.0 } else { self.settings.exploration };
        let mut loss = 0.0;
        for (step, batch) in batches.iter().enumerate() {
            let rate = self.settings.rate * (1.0 - self.n_steps as f32 / all_steps);
            loss += self.step(batch, exploration, rate, &random.fork(step as u64));
        }
        loss / batches.len() as f64
    }

    fn step(&mut self, batch: &[usize], exploration: f32, rate: f32, random: &Random) -> f64 {
        let (network, kernels) = (&self.network, self.kernels);
        transpose(kernels, &network.matrices(), &self.parameters, &mut self.transposed);
        let n_words: usize = batch.iter().map(|&i| self.examples[i].rows.len()).sum();
        let practice = Practice { exploration, dropout: self.settings.dropout, weight: 1.0 / n_words as f32 };
        let n_shards = batch.len().div_ceil(SHARD);
        let (examples, unknown) = (&self.examples, &self.unknown);
        let parameters: (&[f32], &[f32]) = (&self.parameters, &self.transposed);
        self.shards[..n_shards].par_iter_mut().enumerate().for_each(|(i, shard)| {
            // Dealt out by falling length, the shards are sorted and have about the same work.
            let examples: Vec<&Example> =
                batch.iter().skip(i).step_by(n_shards).map(|&i| &examples[i]).collect();
            shard.run(network, kernels, parameters, &examples, unknown, practice, random.fork(i as u64));
        });
        let (first, others) = self.shards[..n_shards].split_first_mut().expect("a batch has a sentence");
        let dense = network.dense;
        for other in &*others {
            kernels.add(&other.gradient[..dense], &mut first.gradient[..dense]);
        }
        let loss = first.loss + others.iter().map(|shard| shard.loss).sum::<f64>();
        self.rows.sum(network, &self.shards[..n_shards]);
        let gradient = &self.shards[0].gradient[..dense];
        let norm = (kernels.sum_squares(gradient) + kernels.sum_squares(self.rows.sums(network))).sqrt();
        let scale = if norm > CLIP { CLIP / norm } else { 1.0 };
        self.n_steps += 1;
        let n_steps = self.n_steps as i32;
        let size =
            StepSize { rate: rate / (1.0 - BETA1.powi(n_steps)), second: 1.0 / (1.0 - BETA2.powi(n_steps)) };
        let [first, second] = &mut self.moments;
        let state = Adam {
            parameters: &mut self.parameters[..dense],
            first: &mut first[..dense],
            second: &mut second[..dense],
        };
        kernels.adam(state, gradient, scale, size);
        let table = network.embedding;
        let width = table.width();
        for (&row, gradient) in self.rows.touched.iter().zip(self.rows.sums.chunks_exact(width)) {
            let state = Adam {
                parameters: table.row_mut(&mut self.parameters, row as usize),
                first: table.row_mut(first, row as usize),
                second: table.row_mut(second, row as usize),
            };
            kernels.adam(state, gradient, scale, size);
        }
        loss
    }

    fn finish(self, trees: &[Tree]) -> Model {
        let Trainer { network, parameters, keys, relations, settings, .. } = self;
        let embedding = Embedding::new(network.shape.embedding, network.embedding.of(&parameters));
        let record = Record {
            seed: settings.seed,
            epochs: settings.epochs,
            sentences: trees.len(),
            words: trees.iter().map(|tree| tree.words.len()).sum(),
            fingerprint: fingerprint(trees),
            meno: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let lexicon = Lexicon::new(&keys).expect("keys come from a map");
        Model { network, parameters, embedding, keys, lexicon, relations, record }
    }
}

/// Of all sentences, in their order.
fn fingerprint(trees: &[Tree]) -> String {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for tree in trees {
        for byte in utterance_key(&tree.words).bytes().chain([b'\n']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
    format!("{hash:016x}")
}

impl RowGradient {
    fn sum(&mut self, network: &Network, shards: &[Shard]) {
        for &row in &self.touched {
            self.places[row as usize] = NO_ROW;
        }
        self.touched.clear();
        for &row in shards.iter().flat_map(|shard| &shard.words).flatten().filter(|&&row| row != NO_ROW) {
            if self.places[row as usize] == NO_ROW {
                self.places[row as usize] = self.touched.len() as u32;
                self.touched.push(row);
            }
        }
        let width = network.shape.embedding;
        let sums = self.sums.clear(self.touched.len() * width);
        for shard in shards {
            for (rows, d_x) in shard.words.iter().zip(shard.d_x.chunks_exact(row_of(width))) {
                for &row in rows.iter().filter(|&&row| row != NO_ROW) {
                    let at = self.places[row as usize] as usize * width;
                    add(&mut sums[at..at + width], &d_x[..width]);
                }
            }
        }
    }

    fn sums(&self, network: &Network) -> &[f32] {
        &self.sums[..self.touched.len() * network.shape.embedding]
    }
}

/// What the treebanks are made of.
struct Inventory {
    /// The fingerprints of rows 1, 2, 3 and so on.
    keys: Vec<u64>,
    /// How often each row occurs.
    counts: Vec<usize>,
    lexicon: Lexicon,
    relations: Vec<Arc<str>>,
    relation_ids: HashMap<String, u8>,
}

impl Inventory {
    fn new(trees: &[Tree], settings: &SyntaxSettings) -> Self {
        let (mut reader, mut keys) = (Reader::default(), Vec::new());
        // In the order of fingerprints, so that the same treebanks give the same rows.
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        let mut relation_counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (idx, tree) in trees.iter().enumerate() {
            let spoken = tree.spoken(idx % 2 == 0);
            reader.read(&tree.words, &mut keys);
            let mut count = |keys: &[Keys], first: usize| {
                for key in keys.iter().flat_map(|keys| &keys[first..]) {
                    *counts.entry(*key).or_default() += 1;
                }
            };
            count(&keys, 0);
            if let Some(spoken) = spoken {
                // Its words are the same, but not their shapes.
                reader.read(&spoken.words, &mut keys);
                count(&keys, super::lexicon::N_FEATURES - 1);
            }
            for relation in &tree.relations {
                *relation_counts.entry(relation).or_default() += 1;
            }
        }
        counts.retain(|_, count| *count >= settings.least);
        let (keys, counts): (Vec<u64>, Vec<usize>) = counts.into_iter().unzip();
        let mut relations = vec!["root"];
        let is_frequent =
            |relation: &str| relation_counts.get(relation).is_some_and(|&n| n >= settings.least_relation);
        relations
            .extend(relation_counts.keys().filter(|&&relation| relation != "root" && is_frequent(relation)));
        if !relations.contains(&"dep") {
            relations.push("dep");
        }
        let ids: HashMap<&str, u8> = relations.iter().zip(0..).map(|(&name, id)| (name, id)).collect();
        let id = |relation: &str| {
            let kind_of = relation.split(':').next().unwrap_or_default();
            *ids.get(relation).or_else(|| ids.get(kind_of)).unwrap_or(&ids["dep"])
        };
        let relation_ids =
            relation_counts.keys().map(|&relation| (relation.to_owned(), id(relation))).collect();
        Inventory {
            lexicon: Lexicon::new(&keys).expect("keys come from a map"),
            counts: [vec![0], counts].concat(),
            keys,
            relations: relations.into_iter().map(Arc::from).collect(),
            relation_ids,
        }
    }

    fn example(&self, tree: &Tree) -> Example {
        let mut keys = Vec::new();
        Reader::default().read(&tree.words, &mut keys);
        let relation = |relation: &String| self.relation_ids.get(relation).copied().unwrap_or(0);
        Example {
            rows: keys.iter().map(|keys| self.lexicon.rows(keys)).collect(),
            tags: tree.upos.iter().map(|&upos| upos as u8).collect(),
            heads: [0].into_iter().chain(tree.heads.iter().map(|&head| head as u32)).collect(),
            relations: [0].into_iter().chain(tree.relations.iter().map(relation)).collect(),
        }
    }
}
