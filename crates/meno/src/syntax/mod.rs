//! From words to tags and a tree: parts of speech and dependencies of English, after Universal Dependencies.
//!
//! Enters: the words of an utterance. Leaves: a [`Parse`], always a tree with one root. It may extend a span, never
//! relabel one; leaving it out leaves valid output.
//!
//! - `conllu`, `treebank`: files of trees; a sentence as it would be spoken.
//! - `lexicon`, `network`, `transitions`, `parser`, `model`: what finds the trees.
//! - `gradient`, `train`: how it learns that.
//! - `evaluate`: how good it is.

pub mod conllu;
pub mod evaluate;
mod gradient;
mod lexicon;
mod model;
mod network;
mod parser;
mod train;
mod transitions;
pub mod tree;
mod treebank;
mod upos;

use std::ops::ControlFlow;
use std::sync::Arc;

pub use evaluate::Scores;
pub use model::Record;
pub use train::SyntaxSettings;
pub use treebank::Tree;
pub use upos::Upos;

use crate::encoder::Kernels;
use crate::{Error, Result};

/// Tags and tree of a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parse {
    /// The part of speech of each word.
    pub upos: Vec<Upos>,
    /// The number of the head of each word, from 1; 0 for the root.
    pub heads: Vec<usize>,
    /// How each word relates to its head, such as `nsubj` or `nmod:poss`.
    pub relations: Vec<Arc<str>>,
}

/// A tagger and parser.
#[derive(Clone, Debug)]
pub struct Syntax {
    model: model::Model,
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
        let model = train::train(trees, settings, watch)?;
        // What is kept is what the file holds, so that a model is the same before and after it was saved.
        Ok(model.continue_value().map(|model| Syntax {
            model: model::Model::from_bytes(&model.to_bytes()).expect("what was written can be read"),
        }))
    }

    /// Reads the bytes of a model file.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let model = model::Model::from_bytes(bytes);
        let model = model.map_err(|problem| Error::Model { path: "syntax model".into(), problem })?;
        Ok(Syntax { model })
    }

    /// The bytes of the model file; the same model gives the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.model.to_bytes()
    }

    /// How it came to be.
    pub fn record(&self) -> &Record {
        &self.model.record
    }

    /// Something that parses, with buffers of its own.
    pub fn worker(&self) -> SyntaxWorker<'_> {
        SyntaxWorker { model: &self.model, kernels: Kernels::best(), parser: parser::Parser::default() }
    }
}

/// Parses sentence after sentence.
pub struct SyntaxWorker<'a> {
    model: &'a model::Model,
    kernels: Kernels,
    parser: parser::Parser,
}

impl SyntaxWorker<'_> {
    /// Tags and tree of the words of a treebank: clitics are words of their own.
    pub fn parse_words<S: AsRef<str>>(&mut self, words: &[S]) -> Parse {
        let configuration = self.parser.parse(self.model, self.kernels, words);
        let nodes = (1..=words.len() as u32).map(|word| configuration.node(word));
        let (mut heads, mut relations) = (Vec::new(), Vec::new());
        for node in nodes {
            heads.push(node.head as usize);
            relations.push(Arc::clone(&self.model.relations[usize::from(node.relation)]));
        }
        Parse { upos: self.parser.tags.clone(), heads, relations }
    }

    /// Parses the words of each tree and compares.
    pub fn evaluate<'t>(&mut self, trees: impl IntoIterator<Item = &'t Tree>) -> Scores {
        let mut scores = Scores::default();
        for (gold, number) in trees.into_iter().zip(1..) {
            let Parse { upos, heads, relations } = self.parse_words(&gold.words);
            let relations = relations.iter().map(|relation| relation.to_string()).collect();
            let found = Tree { words: gold.words.clone(), upos, heads, relations };
            scores.compare(number, gold, &found).expect("the words are the same");
        }
        scores
    }
}
