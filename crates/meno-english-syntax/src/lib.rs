//! A tagger and dependency parser for English, as bytes.
//!
//! This is data for the crate `meno`, in a package of its own because its licence is not that of the program: it is CC
//! BY-SA 4.0, that of the treebanks it was trained on (NOTICE). The README says how it was made.

/// The model file that `meno::syntax::Syntax::load` reads.
pub static SYNTAX: &[u8] = include_bytes!("../english.syntax");

/// What it was made from, and by whom.
pub const NOTICE: &str = include_str!("../NOTICE");

/// Its licence, CC BY-SA 4.0.
pub const LICENSE: &str = include_str!("../LICENSE-CC-BY-SA-4.0");
