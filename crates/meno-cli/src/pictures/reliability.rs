//! Whether a confidence of 80 % is right 80 times in 100.

use meno::Result;
use meno::metrics::calibration_error::{Bin, Reliability};

use super::axis::{Frame, Scale};
use super::color::{INK, nth};
use super::legend::{self, Sample};
use super::scene::{Anchor, Rect, Scene, Stroke, Text};
use super::{demand_finite, refuse};

/// Accuracy over confidence, with the diagonal on which they agree and the number of words in each bin.
#[derive(Clone, Debug)]
pub struct ReliabilityDiagram {
    /// What is shown.
    pub title: String,
    /// The bins.
    pub reliability: Reliability,
}

const OPACITY: f64 = 0.75;
const COUNT_SIZE: f64 = 10.5;
/// From the chart to the counts above it.
const COUNT_GAP: f64 = 9.0;
const DASHES: &[f64] = &[7.0, 4.0];

impl ReliabilityDiagram {
    /// Draws the chart.
    pub fn scene(&self) -> Result<Scene> {
        let bins = &self.reliability.bins;
        let numbers = bins.iter().flat_map(|bin| [bin.lower, bin.upper, bin.confidence, bin.accuracy]);
        demand_finite(&self.title, "a bin", numbers)?;
        let Some(ece) = self.reliability.ece() else {
            return Err(refuse(&self.title, "there are no words in the bins"));
        };
        let mut scene = Scene::new(620.0, 620.0, &self.title, self.describe(ece));
        let diagonal = Stroke { color: INK, width: 1.5, dashes: DASHES };
        let accuracy = format!("accuracy (ECE {:.2} %)", 100.0 * ece);
        let entries = [
            (accuracy.as_str(), Sample::Block { color: nth(0), opacity: OPACITY }),
            ("mean confidence", Sample::Line { stroke: Stroke::solid(nth(1), 2.5), marker: None }),
            ("perfectly calibrated", Sample::Line { stroke: diagonal, marker: None }),
        ];
        let top = legend::draw(&mut scene, &entries) + 16.0;
        let unit = Scale::exact(0.0, 1.0);
        let frame =
            Frame::draw(&mut scene, top, (unit, "confidence"), (unit, "share of the words that are right"));
        for bin in bins.iter().filter(|bin| bin.count > 0) {
            draw_bin(&mut scene, &frame, bin);
        }
        scene.line(vec![frame.at(0.0, 0.0), frame.at(1.0, 1.0)], diagonal);
        let at = (frame.area.x - 8.0, frame.area.y - COUNT_GAP);
        scene.text(Text::new("words", at, COUNT_SIZE, Anchor::End));
        Ok(scene)
    }

    fn describe(&self, ece: f64) -> String {
        let filled = self.reliability.bins.iter().filter(|bin| bin.count > 0);
        let bins: Vec<String> = filled
            .map(|bin| format!("{} words at {:.3} are right {:.3}", bin.count, bin.confidence, bin.accuracy))
            .collect();
        format!("Reliability diagram, expected calibration error {ece:.4}. {}.", bins.join("; "))
    }
}

fn draw_bin(scene: &mut Scene, frame: &Frame, bin: &Bin) {
    let (left, top) = frame.at(bin.lower, bin.accuracy);
    let (right, bottom) = frame.at(bin.upper, 0.0);
    let rect = Rect { x: left + 1.0, y: top, width: right - left - 2.0, height: bottom - top };
    scene.rect(rect, nth(0), OPACITY);
    let y = frame.at(0.0, bin.confidence).1;
    scene.line(vec![(left + 1.0, y), (right - 1.0, y)], Stroke::solid(nth(1), 2.5));
    let at = ((left + right) / 2.0, frame.area.y - COUNT_GAP);
    scene.text(Text::new(abbreviated(bin.count), at, COUNT_SIZE, Anchor::Middle));
}

/// `873`, `12k`, `3M`: as wide as a bin.
fn abbreviated(count: usize) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}
