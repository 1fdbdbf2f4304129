//! Intent classification and slot filling with a calibrated notion of what it does not know.
//!
//! A text enters; the intent, a label and a probability for each word, the slots that they form and a decision leave: act, ask
//! about a phrase that is unknown, or reject the text. What a person says a phrase is can be remembered at once, without
//! training. All of it is synchronous and offline, and the same seed gives the same model, byte for byte.
//!
//! # Tagging
//!
//! A [`Model`] is read from a file and never changes; a [`Worker`] has the buffers of one thread.
//!
//! ```
//! use meno::{Model, Tokenization};
//!
//! # fn main() -> meno::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/format-2.meno");
//! let model = Model::load(path.as_ref())?; // "my-bot.meno"
//! let mut worker = model.worker();
//! let annotation = worker.annotate("Weather in New York!", Tokenization::Raw);
//! assert_eq!(&*annotation.intent.unwrap().name, "weather");
//! assert_eq!((annotation.spans[0].text, &*annotation.spans[0].slot), ("New York", "city"));
//!
//! // It was never told of this, and says so; it has a guess all the same.
//! let annotation = worker.annotate("play zorblax road now", Tokenization::Raw);
//! let span = &annotation.spans[0];
//! assert_eq!((span.text, &*span.slot), ("zorblax road", "unknown"));
//! assert_eq!(&*span.guess.as_ref().unwrap().slot, "album");
//! # Ok(())
//! # }
//! ```
//!
//! # Training
//!
//! [`train()`] makes a finished model of two corpora; the second chooses when something is unknown. [`corpus::read_split`]
//! reads them from a folder.
//!
//! ```
//! use meno::corpus::FolderText;
//! use meno::train::TrainSettings;
//!
//! # fn main() -> meno::Result<()> {
//! let corpus = FolderText {
//!     words: "wake me at six\nwake me at noon\ncall anna\nplease call peter",
//!     labels: "O O O B-time\nO O O B-time\nO B-person\nO O B-person",
//!     intents: Some("alarm\nalarm\ncall\ncall"),
//!     ..FolderText::default()
//! };
//! let corpus = corpus.read("four utterances".as_ref())?;
//! let settings = TrainSettings { epochs: 20, ..TrainSettings::default() };
//! let model = meno::train(&corpus, &corpus, &settings)?;
//! let (labels, intent) = model.worker().tag(&["wake", "me", "at", "noon"]);
//! assert_eq!((&*intent, &*labels[3]), ("alarm", "B-time"));
//! # Ok(())
//! # }
//! ```
//!
//! # Memory
//!
//! An [`memory::Index`] finds the phrases that were taught; the crate `meno-store` keeps them on disk and in step with it.
//!
//! ```
//! use meno::memory::{Entry, Index};
//!
//! let mut index = Index::default();
//! index.insert(Entry { id: 1, phrase: "Burpees and Regrets", slot: "playlist", value: None, user: Some("anna") });
//! let found = index.find("wake me with burpees and regrets", Some("anna"));
//! assert_eq!((found[0].slot, found[0].start), ("playlist", 13));
//! assert!(index.find("wake me with burpees and regrets", Some("peter")).is_empty());
//! ```
//!
//! [`memory::Remembered`] is an annotation in which memory has had its say, and [`dialogue`] asks about what is left.
//!
//! # Features
//!
//! All but `onnx` are on by default. Without them a program opens models, reads text, remembers and leads dialogues.
//!
//! - `train`: [`train`](mod@train), the training of models and of syntax models; it brings `corpora`.
//! - `corpora`: [`corpus`], reading and writing corpora of many formats, and [`external`], taggers made elsewhere.
//! - `english`: what is known of English before any training, 5 MB of data in the program. Most models need it; without the
//!   feature [`Model::from_bytes_with`] takes it from the caller. The syntax model is under CC BY-SA 4.0.
//! - `onnx`: models that are ONNX graphs made elsewhere and, with `train`, `wrap`, which makes them (`docs/onnx.md`).
//!
//! # Modules
//!
//! The list of modules is the flow of the data: a stage imports earlier stages only.

#![cfg_attr(feature = "train", warn(unreachable_pub))]
// Without training and corpora much is not used: backward passes stand beside the forward passes.
#![cfg_attr(not(feature = "train"), allow(dead_code, unused_imports))]

mod error;
// For the other crates of this repository.
#[doc(hidden)]
pub mod atomic;
// For experiments, benches and tests.
#[doc(hidden)]
pub mod random;
mod tensors;
mod math;

pub mod text;
pub mod label;
pub mod description;
mod utterance;
#[cfg(feature = "corpora")]
pub mod corpus;
pub mod metrics;
mod features;
pub mod pretrained;
mod kernel;
mod nn;
mod emissions;
mod encoder;
mod decoding;
// Its numbers are compared with those of SciPy.
#[doc(hidden)]
pub mod dirichlet;
pub mod uncertainty;
pub mod syntax;
pub mod decision;
pub mod resolve;
pub mod answer;

#[cfg(feature = "corpora")]
pub mod external;
pub mod settings;
pub mod memory;
pub mod engine;
pub mod dialogue;
mod artifact;
mod export;
#[cfg(feature = "train")]
pub mod train;
#[cfg(all(feature = "onnx", feature = "train"))]
pub mod wrap;
#[cfg(feature = "train")]
#[doc(hidden)]
pub mod bench;

pub use answer::Annotation;
pub use engine::{Model, Tokenization, Worker};
pub use error::{Error, ErrorKind, Missing, Result};
#[cfg(feature = "train")]
pub use train::train;
pub use utterance::{Corpus, KnownValue, Utterance};
