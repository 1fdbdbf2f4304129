//! The names of what is shown, in a row above the chart, where they hide nothing.

use super::color::{Color, INK, WHITE};
use super::scene::{Anchor, MARGIN, Point, Scene, Stroke, TITLE_BOTTOM, Text};

const SIZE: f64 = 12.5;
const ROW: f64 = 20.0;
/// From a sample to its name.
const SPACE: f64 = 8.0;
const GAP: f64 = 22.0;

/// What stands before a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sample {
    Block { color: Color, opacity: f64 },
    Line { stroke: Stroke, marker: Option<Marker> },
    Marker { marker: Marker, color: Color },
}

/// A sign at a point of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Marker {
    /// The sign of the n-th line.
    pub(super) fn nth(idx: usize) -> Self {
        [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond][idx % 4]
    }

    /// Draws the sign around a place, with a white rim.
    pub(super) fn draw(self, scene: &mut Scene, at: Point, color: Color) {
        for (radius, color) in [(5.5, WHITE), (4.5, color)] {
            scene.area(self.outline(at, radius), color, 1.0);
        }
    }

    fn outline(self, (x, y): Point, radius: f64) -> Vec<Point> {
        let (corners, turn, stretch) = match self {
            Marker::Circle => (20, 0.0, 1.0),
            Marker::Square => (4, 0.5, 1.2),
            Marker::Triangle => (3, 0.0, 1.25),
            Marker::Diamond => (4, 0.0, 1.25),
        };
        let corner = |idx: u32| {
            let angle = (f64::from(idx) + turn) / f64::from(corners) * std::f64::consts::TAU;
            (x + radius * stretch * angle.sin(), y - radius * stretch * angle.cos())
        };
        (0..corners).map(corner).collect()
    }
}

/// Draws the names under the title, in as many rows as they need; where the chart may begin.
pub(super) fn draw(scene: &mut Scene, entries: &[(&str, Sample)]) -> f64 {
    let right = scene.width - MARGIN;
    let (mut x, mut y) = (MARGIN, TITLE_BOTTOM + ROW / 2.0);
    for (name, sample) in entries {
        let indent = sample.width() + SPACE;
        let name = scene.fit(name, SIZE, right - MARGIN - indent);
        let width = indent + scene.text_width(&name, SIZE);
        if x + width > right && x > MARGIN {
            (x, y) = (MARGIN, y + ROW);
        }
        sample.draw(scene, (x, y));
        let at = (x + indent, y + 4.5);
        scene.text(Text { color: INK, ..Text::new(name, at, SIZE, Anchor::Start) });
        x += width + GAP;
    }
    if entries.is_empty() { TITLE_BOTTOM + 6.0 } else { y + ROW }
}

impl Sample {
    fn width(&self) -> f64 {
        match self {
            Sample::Block { .. } => 18.0,
            Sample::Line { .. } => 30.0,
            Sample::Marker { .. } => 12.0,
        }
    }

    /// `y` is the middle of the row.
    fn draw(&self, scene: &mut Scene, (x, y): Point) {
        let (right, middle) = (x + self.width(), x + self.width() / 2.0);
        match *self {
            Sample::Block { color, opacity } => {
                let (top, bottom) = (y - 6.0, y + 6.0);
                let corners = vec![(x, top), (right, top), (right, bottom), (x, bottom), (x, top)];
                scene.area(corners.clone(), color, opacity);
                scene.line(corners, Stroke::solid(color, 1.0));
            }
            Sample::Line { stroke, marker } => {
                scene.line(vec![(x, y), (right, y)], stroke);
                if let Some(marker) = marker {
                    marker.draw(scene, (middle, y), stroke.color);
                }
            }
            Sample::Marker { marker, color } => marker.draw(scene, (middle, y), color),
        }
    }
}
