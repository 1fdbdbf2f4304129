//! Curves: precision against recall, risk against coverage, a result against a setting.

use meno::Result;

use super::axis::{Frame, Scale, short};
use super::color::{INK, nth};
use super::legend::{self, Marker, Sample};
use super::scene::{Point, Scene, Stroke};
use super::{demand_finite, refuse};

/// Several curves over one pair of axes.
#[derive(Clone, Debug)]
pub struct Lines {
    /// What is shown.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// The curves; the first is drawn last, on top.
    pub series: Vec<Series>,
    /// Points by themselves, drawn over all curves.
    pub marks: Vec<Mark>,
}

/// A point by itself, such as where a model stands.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its name in the legend.
    pub name: String,
    /// Where it is.
    pub at: (f64, f64),
}

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: String,
    /// The names of the places 0, 1, 2 and so on; empty for an axis of numbers.
    pub names: Vec<String>,
    /// What it shows; by default all points.
    pub range: Option<(f64, f64)>,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// In the order in which they are joined.
    pub points: Vec<(f64, f64)>,
    /// How far y strays at each point, drawn as a band; empty for no band.
    pub spread: Vec<f64>,
}

/// A curve with no more points has a sign at each.
const MARKED: usize = 30;
const MARK: Marker = Marker::Diamond;
const DASHES: [&[f64]; 4] = [&[], &[9.0, 4.0], &[2.5, 3.0], &[10.0, 3.0, 2.5, 3.0]];

impl Lines {
    /// Draws the chart.
    pub fn scene(&self) -> Result<Scene> {
        self.check()?;
        let x = scale(&self.x, self.points().map(|(x, _)| x), false);
        let y = scale(&self.y, self.heights(), true);
        let mut scene = Scene::new(800.0, 500.0, &self.title, self.describe());
        let top = legend::draw(&mut scene, &self.entries());
        let x_ticks = match self.x.names.as_slice() {
            [] => x.ticks(),
            names => names.iter().enumerate().map(|(idx, name)| (idx as f64, name.clone())).collect(),
        };
        let frame = Frame::draw_with(&mut scene, top, (x, &self.x.label), &x_ticks, (y, &self.y.label));
        for (idx, series) in self.series.iter().enumerate().rev() {
            series.draw_band(&mut scene, &frame, idx);
        }
        for (idx, series) in self.series.iter().enumerate().rev() {
            series.draw(&mut scene, &frame, idx);
        }
        for mark in &self.marks {
            MARK.draw(&mut scene, frame.at(mark.at.0, mark.at.1), INK);
        }
        Ok(scene)
    }

    /// The names of all that is drawn, with what it looks like.
    fn entries(&self) -> Vec<(&str, Sample)> {
        let line = |(idx, series): (usize, &Series)| {
            let marker = series.is_marked().then(|| Marker::nth(idx));
            Sample::Line { stroke: stroke(idx), marker }
        };
        let lines = self.series.iter().enumerate().map(|(idx, series)| (&*series.name, line((idx, series))));
        let marks = self.marks.iter().map(|mark| (&*mark.name, Sample::Marker { marker: MARK, color: INK }));
        lines.chain(marks).collect()
    }

    fn check(&self) -> Result<()> {
        if self.series.is_empty() {
            return Err(refuse(&self.title, "there is no curve to draw"));
        }
        for Series { name, points, spread } in &self.series {
            if points.is_empty() {
                return Err(refuse(&self.title, format_args!("`{name}` has no points")));
            }
            if !spread.is_empty() && spread.len() != points.len() {
                let (points, spread) = (points.len(), spread.len());
                return Err(refuse(
                    &self.title,
                    format_args!("`{name}` has {points} points but {spread} spreads"),
                ));
            }
            let numbers = points.iter().flat_map(|&(x, y)| [x, y]).chain(spread.iter().copied());
            demand_finite(&self.title, &format!("`{name}`"), numbers)?;
        }
        for Mark { name, at } in &self.marks {
            demand_finite(&self.title, &format!("`{name}`"), [at.0, at.1])?;
        }
        for axis in [&self.x, &self.y] {
            let limits = axis.range.into_iter().flat_map(|(low, high)| [low, high]);
            demand_finite(&self.title, &format!("the range of `{}`", axis.label), limits)?;
        }
        Ok(())
    }

    fn points(&self) -> impl Iterator<Item = Point> {
        let marks = self.marks.iter().map(|mark| mark.at);
        self.series.iter().flat_map(|series| series.points.iter().copied()).chain(marks)
    }

    /// Everything that y has to show, bands too.
    fn heights(&self) -> impl Iterator<Item = f64> {
        let marks = self.marks.iter().map(|mark| mark.at.1);
        let bands = self.series.iter().flat_map(|series| {
            let spreads = series.spread.iter().copied().chain(std::iter::repeat(0.0));
            series.points.iter().zip(spreads).flat_map(|(&(_, y), spread)| [y - spread, y + spread])
        });
        bands.chain(marks)
    }

    fn describe(&self) -> String {
        let series: Vec<String> = self
            .series
            .iter()
            .map(|series| {
                let last = series.points.len() - 1;
                let [from, to] = [series.points[0], series.points[last]].map(|(x, y)| (short(x), short(y)));
                format!("{}: from ({}, {}) to ({}, {})", series.name, from.0, from.1, to.0, to.1)
            })
            .collect();
        let marks = self
            .marks
            .iter()
            .map(|Mark { name, at: (x, y) }| format!("{name}: at ({}, {})", short(*x), short(*y)));
        let all: Vec<String> = series.into_iter().chain(marks).collect();
        format!("{} against {}. {}.", self.y.label, self.x.label, all.join("; "))
    }
}

impl Series {
    fn is_marked(&self) -> bool {
        self.points.len() <= MARKED
    }

    fn draw_band(&self, scene: &mut Scene, frame: &Frame, idx: usize) {
        if self.spread.is_empty() {
            return;
        }
        let pairs = || self.points.iter().zip(&self.spread);
        let upper = pairs().map(|(&(x, y), spread)| frame.at(x, y + spread));
        let lower = pairs().rev().map(|(&(x, y), spread)| frame.at(x, y - spread));
        scene.area(upper.chain(lower).collect(), nth(idx), 0.16);
    }

    fn draw(&self, scene: &mut Scene, frame: &Frame, idx: usize) {
        let points: Vec<Point> = self.points.iter().map(|&(x, y)| frame.at(x, y)).collect();
        scene.line(thin(&points), stroke(idx));
        if self.is_marked() {
            for &point in &points {
                Marker::nth(idx).draw(scene, point, nth(idx));
            }
        }
    }
}

fn stroke(idx: usize) -> Stroke {
    Stroke { color: nth(idx), width: 2.0, dashes: DASHES[idx % DASHES.len()] }
}

fn scale(axis: &Axis, values: impl Iterator<Item = f64>, widen: bool) -> Scale {
    if let Some((low, high)) = axis.range {
        return Scale::exact(low.min(high), high.max(low));
    }
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if widen { Scale::around(low, high) } else { Scale::exact(low, high) }
}

/// Leaves out points that lie within half a pixel of the one before: a curve over ten thousand words has no more to show.
fn thin(points: &[Point]) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for (idx, &(x, y)) in points.iter().enumerate() {
        let near = kept.last().is_some_and(|last| (x - last.0).abs() < 0.5 && (y - last.1).abs() < 0.5);
        if !near || idx + 1 == points.len() {
            kept.push((x, y));
        }
    }
    kept
}
