//! What the program was taught: concepts, found again in any sentence, at once and without training.
//!
//! A text enters; the concepts whose phrases stand in it leave ([`Index::find`]), and with what a tagger made of the same
//! words, those that hold there ([`reconcile()`]). Whoever stores concepts keeps an [`Index`] in step with them; the engine
//! has no clock and no disk.
//!
//! - `concept`: what is known of a concept.
//! - `normal`: the words of a phrase or a text as they are compared.
//! - `table`, `index`: a million concepts in about 100 bytes each, searched in microseconds.
//! - `spelling`: words that one slip makes of others.
//! - `reconcile`: memory or the tagger, by a rule that is written down there.
//! - `reread`: what the tagger makes of the rest, with known values in the places of concepts.
//! - `known`: the values that a training corpus names, which a model has without a store.
//! - `corpus`: concepts as utterances to train on.
//!
//! Invariant: the concepts of one user are never found for another.

mod concept;
mod corpus;
mod index;
mod known;
mod normal;
mod reconcile;
mod reread;
mod spelling;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use concept::taken_name;
pub use concept::{
    Concept, Draft, EVERYONE, MAX_BYTES, MAX_SLOTS, MAX_WORDS, Owner, Source, is_hidden, visible,
};
pub use corpus::{Exported, label_in, source_of, to_corpus};
pub use index::{Entry, Found, Index, Kept};
pub(crate) use known::KnownValues;
pub use normal::normal_form;
pub use reconcile::{Recalled, Remembered, Rule, Seen, TaggedWord, reconcile};
pub(crate) use reread::Rereading;
pub use spelling::Spelling;
pub(crate) use spelling::slips;
