//! From words to tags and a tree: parts of speech and dependencies of English, after Universal Dependencies.
//!
//! Enters: the words of an utterance. Leaves: a [`Parse`], always a tree with one root. It may extend a span, never
//! relabel one; leaving it out leaves valid output.
//!
//! - `conllu`, `treebank`: files of trees; a sentence as it would be spoken.
//! - `tokens`, `clitics`: text to words; words of an utterance to words of a tree and back.
//! - `lexicon`, `memory`, `network`, `transitions`, `parser`, `model`: what finds the trees.
//! - `gradient`, `train`: how it learns that.
//! - `evaluate`: how good it is.
//! - `phrase`, `yardstick`: from unknown words to phrases, and how well that works.

mod clitics;
pub mod conllu;
pub mod evaluate;
#[cfg(feature = "train")]
mod gradient;
mod lexicon;
mod memory;
mod model;
mod network;
mod parser;
pub mod phrase;
pub mod tokens;
#[cfg(feature = "train")]
mod train;
mod transitions;
pub mod tree;
mod treebank;
mod upos;
pub mod yardstick;

use std::sync::Arc;

pub use evaluate::Scores;
pub use model::Record;
#[cfg(feature = "train")]
pub use train::SyntaxSettings;
pub use treebank::{Tree, utterance_key};
pub use upos::Upos;

use conllu::Sentence;

use crate::kernel::Kernels;
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
    model: Arc<model::Model>,
}

impl Syntax {
    /// Reads the bytes of a model file.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let model = model::Model::from_bytes(bytes);
        let model = model.map_err(|problem| Error::Model { path: "syntax model".into(), problem })?;
        Ok(Syntax { model: Arc::new(model) })
    }

    /// The model for English that comes with meno, trained on UD English EWT and UD English ATIS: see `meno-english-syntax`,
    /// also for its licence, which is not that of the program.
    #[cfg(feature = "english")]
    pub fn english() -> Self {
        static SYNTAX: std::sync::OnceLock<Syntax> = std::sync::OnceLock::new();
        SYNTAX.get_or_init(|| Syntax::load(meno_english_syntax::SYNTAX).expect("a test loads it")).clone()
    }

    /// The model for English, where it is built in.
    pub(crate) fn built_in() -> Option<Self> {
        #[cfg(feature = "english")]
        return Some(Syntax::english());
        #[cfg(not(feature = "english"))]
        None
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
    pub fn worker(&self) -> SyntaxWorker {
        SyntaxWorker {
            model: self.model.clone(),
            kernels: Kernels::best(),
            parser: parser::Parser::default(),
        }
    }
}

/// Parses sentence after sentence.
pub struct SyntaxWorker {
    model: Arc<model::Model>,
    kernels: Kernels,
    parser: parser::Parser,
}

impl SyntaxWorker {
    /// Tags and tree of the words of an utterance, in which clitics may be part of a word (`what's`) or bare (`what s`).
    pub fn parse(&mut self, words: &[&str]) -> Parse {
        let mut pieces = Vec::with_capacity(words.len());
        clitics::split(words, &mut pieces);
        let parse = self.parse_words(&pieces);
        clitics::join(parse, &pieces, words.len())
    }

    /// Tags and tree of the words of a treebank: clitics are words of their own.
    pub fn parse_words<S: AsRef<str>>(&mut self, words: &[S]) -> Parse {
        let configuration = self.parser.parse(&self.model, self.kernels, words);
        let nodes = (1..=words.len() as u32).map(|word| configuration.node(word));
        let (mut heads, mut relations) = (Vec::new(), Vec::new());
        for node in nodes {
            heads.push(node.head as usize);
            relations.push(Arc::clone(&self.model.relations[usize::from(node.relation)]));
        }
        Parse { upos: self.parser.tags.clone(), heads, relations }
    }

    /// A text as a sentence of CoNLL-U, with clitics as words and multi-word tokens around them.
    pub fn annotate(&mut self, text: &str) -> Sentence {
        let places = tokens::words(text);
        let words: Vec<&str> = places.iter().map(|place| &text[place.clone()]).collect();
        let mut pieces = Vec::new();
        clitics::split(&words, &mut pieces);
        let parse = self.parse_words(&pieces);
        let line = text.split(['\n', '\r']).collect::<Vec<_>>().join(" ");
        let mut sentence = Sentence { comments: vec![format!("# text = {line}")], ..Sentence::default() };
        let is_glued = |word: usize| places.get(word + 1).is_some_and(|next| next.start == places[word].end);
        for (idx, piece) in pieces.iter().enumerate() {
            let is_first = idx == 0 || pieces[idx - 1].word != piece.word;
            let n_pieces = pieces[idx..].iter().take_while(|other| other.word == piece.word).count();
            let misc = if is_glued(piece.word) { "SpaceAfter=No" } else { "_" };
            let is_split = !is_first || n_pieces > 1;
            if is_first && n_pieces > 1 {
                let (form, rest) = (words[piece.word].to_owned(), format!("_\t_\t_\t_\t_\t_\t_\t{misc}"));
                let (first, last) = (idx + 1, idx + n_pieces);
                sentence.multiword.push(conllu::Multiword { first, last, form, rest });
            }
            sentence.words.push(conllu::Word {
                upos: Some(parse.upos[idx]),
                head: Some(parse.heads[idx]),
                relation: parse.relations[idx].to_string(),
                misc: if is_split { "_" } else { misc }.to_owned(),
                ..conllu::Word::bare(piece.text)
            });
        }
        sentence
    }

    /// Gives the words of a sentence new tags and a new tree; their enhanced graph, which would not fit, is dropped.
    pub fn annotate_again(&mut self, sentence: &mut Sentence) {
        let forms: Vec<&str> = sentence.words.iter().map(|word| word.form.as_str()).collect();
        let Parse { upos, heads, relations } = self.parse_words(&forms);
        sentence.empty.clear();
        for (idx, word) in sentence.words.iter_mut().enumerate() {
            word.upos = Some(upos[idx]);
            word.head = Some(heads[idx]);
            word.relation = relations[idx].to_string();
            word.deps = "_".to_owned();
        }
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
