//! The model of answers that comes with Meno: what people say to an assistant between requests.
//!
//! This is data for the `meno` crate, in a package of its own because its licence is not that of the program: it is CC0-1.0.
//! The README says what it was trained on and how.

/// A model file.
pub const MODEL: &[u8] = include_bytes!("answers.meno");
