//! What Meno knows of English words before any training, as bytes.
//!
//! This is data for the crate `meno`, in a package of its own so that it can be left out. The README says what is in it and
//! how it was made; NOTICE has the licences of what it was made from.

/// Vectors of 20,741 pieces of words; for 90,000 words a cluster, how often they are capitalised and how frequent they are.
///
/// A safetensors file. A model refers to it as `english.v1`.
pub static VECTORS: &[u8] = include_bytes!("../english.vectors");

/// GloVe vectors of 321,000 words, compressed.
///
/// A safetensors file. A model refers to both tables together as `english.v2`.
pub static GLOVE: &[u8] = include_bytes!("../english.glove");

/// Nouns by the kind of thing that they name: a line for each kind, `place: abbey, airport, ...`.
pub static NOUNS: &str = include_str!("../nouns.txt");

/// The licences of what it was made from.
pub const NOTICE: &str = include_str!("../NOTICE");
