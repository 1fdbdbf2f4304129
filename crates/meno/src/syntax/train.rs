//! Training the tagger and the parser together on treebanks.
//!
//! Each sentence is learnt as it is and as it would be spoken.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::Syntax;
use super::gradient::{Example, Pass, TrainWorkspace};
use super::lexicon::{Keys, Lexicon, NO_ROW, Reader, UNKNOWN_ROW};
use super::model::{Embedding, Model, Record};
use super::network::{Network, Shape};
use super::treebank::{Tree, utterance_key};
use super::upos::Upos;
use crate::kernel::Kernels;
use crate::nn::optimizer::Replica;
use crate::nn::{Part, Schedule, Task, Trainer, WordDropout};
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

/// Gradients are cut down to this norm.
const CLIP: f32 = 2.0;

impl SyntaxSettings {
    fn schedule(&self) -> Schedule {
        Schedule {
            epochs: self.epochs,
            batch: self.batch,
            rate: self.rate,
            last_rate: 0.0,
            clip: CLIP,
            seed: self.seed,
            ..Schedule::default()
        }
    }
}

impl Syntax {
    /// Trains on trees, each as it is and as it would be spoken; `None` if `watch` stops it.
    ///
    /// `watch` is told the passes done, of how many, and the mean loss of a word in the last one.
    pub fn train(
        trees: &[Tree],
        settings: &SyntaxSettings,
        watch: impl FnMut(usize, usize, f64) -> ControlFlow<()>,
    ) -> Result<Option<Self>> {
        let ControlFlow::Continue(model) = train(trees, settings, watch)? else { return Ok(None) };
        // What is kept is what the file holds, so that a model is the same before and after it was saved.
        let model = Model::from_bytes(&model.to_bytes()).expect("what was written can be read");
        Ok(Some(Syntax { model: Arc::new(model) }))
    }
}

/// Trains a model. `watch` is told the passes done, of how many, and the mean loss of a word in the last one.
fn train(
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
    let inventory = Inventory::new(trees, settings);
    let network = Network::new(inventory.shape(settings));
    let examples = inventory.examples(trees);
    let task = SyntaxTask {
        network: &network,
        examples: &examples,
        settings,
        word_dropout: WordDropout::new(settings.unknown, &inventory.counts),
    };
    let mut trainer = Trainer::new(task, Kernels::best(), settings.schedule());
    for epoch in 1..=settings.epochs {
        let loss = pool.install(|| trainer.run_epoch(|_, _| ControlFlow::Continue(())));
        let ControlFlow::Continue(loss) = loss else { return Ok(ControlFlow::Break(())) };
        if watch(epoch, settings.epochs, loss).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    let parameters = trainer.parameters().clone();
    drop(trainer);
    let record = Record {
        seed: settings.seed,
        epochs: settings.epochs,
        sentences: trees.len(),
        words: trees.iter().map(|tree| tree.words.len()).sum(),
        fingerprint: fingerprint(trees),
        meno: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let Inventory { keys, lexicon, relations, .. } = inventory;
    let embedding = Embedding::new(network.shape.embedding, network.embedding.of(&parameters));
    Ok(ControlFlow::Continue(Model { network, parameters, embedding, keys, lexicon, relations, record }))
}

/// The sentences of treebanks.
struct SyntaxTask<'a> {
    network: &'a Network,
    examples: &'a [Example],
    settings: &'a SyntaxSettings,
    word_dropout: WordDropout,
}

impl Task for SyntaxTask<'_> {
    type Network = Network;

    fn network(&self) -> &Network {
        self.network
    }

    fn n_examples(&self) -> usize {
        self.examples.len()
    }

    fn n_words(&self, example_idx: usize) -> usize {
        self.examples[example_idx].rows.len()
    }

    fn begin_epoch(&mut self, _: usize, _: Random) {}

    fn words(&self, batch: &[usize]) -> impl Iterator<Item = u32> {
        let rows = batch.iter().flat_map(|&i| self.examples[i].rows.iter().flatten().copied());
        rows.filter(|&row| row != NO_ROW).chain([UNKNOWN_ROW])
    }

    fn run(&self, kernels: Kernels, replica: &Replica, part: &Part<'_>, w: &mut TrainWorkspace) -> f64 {
        let n_words: usize = part.batch.iter().map(|&i| self.n_words(i)).sum();
        let pass = Pass {
            network: self.network,
            kernels,
            parameters: &replica.parameters,
            transposed: &replica.transposed,
            word_dropout: &self.word_dropout,
            dropout: self.settings.dropout,
            exploration: if part.epoch == 0 { 0.0 } else { self.settings.exploration },
            weight: 1.0 / n_words as f32,
        };
        let examples: Vec<&Example> = part.examples.iter().map(|&i| &self.examples[i]).collect();
        pass.run(&examples, part.random.fork(part.shard_idx), w)
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

    fn shape(&self, settings: &SyntaxSettings) -> Shape {
        Shape {
            embedding: settings.embedding,
            hidden: settings.hidden,
            action: settings.decision,
            relation: settings.decision,
            rows: self.keys.len() + 1,
            tags: Upos::ALL.len(),
            relations: self.relations.len(),
        }
    }

    /// Each sentence as it is and as it would be spoken.
    fn examples(&self, trees: &[Tree]) -> Vec<Example> {
        let mut examples = Vec::new();
        for (idx, tree) in trees.iter().enumerate() {
            let spoken = tree.spoken(idx % 2 == 0);
            examples
                .extend([Some(tree), spoken.as_ref()].into_iter().flatten().map(|tree| self.example(tree)));
        }
        examples
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
