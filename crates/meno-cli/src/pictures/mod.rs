//! Charts as SVG and PNG, readable without the text around them.
//!
//! Enters: plain numbers with names ([`Histogram`], [`Lines`], [`ReliabilityDiagram`], [`HeatMap`], [`Bars`], [`Arcs`]). Leaves: a
//! [`Scene`] of rectangles, lines and texts, from which both files are made, so that they show the same. The same numbers
//! give the same bytes. Colours are Okabe and Ito's, told apart by the colour-blind, and never the only difference; the
//! ground is white, so that a picture can be read on a dark page too.
//!
//! Numbers that are missing, not finite or do not fit together are an error, never an empty picture.

mod arcs;
mod axis;
mod bars;
mod color;
mod font;
mod heat_map;
mod histogram;
mod legend;
mod lines;
mod png;
mod reliability;
mod scene;
mod svg;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use meno::{Error, Result, atomic};

pub use arcs::{ArcWord, Arcs};
pub use bars::{Bar, BarRow, Bars};
pub use heat_map::HeatMap;
pub use histogram::{Class, Histogram};
pub use lines::{Axis, Lines, Mark, Series};
pub use reliability::ReliabilityDiagram;
pub use scene::Scene;

/// Writes `path` with `.svg` and with `.png` added; each file is whole or not there.
pub fn save(scene: &Scene, path: &Path) -> Result<()> {
    let png = scene.png()?;
    atomic::write(&with_ending(path, ".svg"), scene.svg().as_bytes())?;
    atomic::write(&with_ending(path, ".png"), &png)
}

/// Not `with_extension`, which would take the `.1` of `delta-0.1` for one.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The error of a picture that cannot be drawn.
fn refuse(title: &str, problem: impl std::fmt::Display) -> Error {
    Error::Setting {
        problem: format!("picture `{title}`: {problem}"),
        hint: "a picture needs at least one finite number for each thing that it shows".to_owned(),
    }
}

/// Fails on a number that is NaN or infinite.
fn demand_finite(title: &str, what: &str, values: impl IntoIterator<Item = f64>) -> Result<()> {
    match values.into_iter().find(|value| !value.is_finite()) {
        Some(value) => Err(refuse(title, format_args!("{what} holds {value}"))),
        None => Ok(()),
    }
}
