//! How a score is spread over two classes, and where the threshold lies.

use meno::Result;

use super::axis::{Frame, Scale, short, trimmed};
use super::color::{INK, nth};
use super::legend::{self, Sample};
use super::scene::{Scene, Stroke};
use super::{demand_finite, refuse};

/// Two densities over one axis.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// What is shown.
    pub title: String,
    /// The name of the score.
    pub x_label: String,
    /// What is compared, such as words of known and of new concepts.
    pub classes: [Class; 2],
    /// A line across.
    pub threshold: Option<f64>,
}

/// The values of one class.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// In any order.
    pub values: Vec<f64>,
}

const BINS: usize = 50;
/// So much of a class at each end is left out if it would squeeze the rest: a few scores may be a thousand times the others.
const TAIL: f64 = 0.005;
/// A tail squeezes if it is longer than this share of the rest.
const LONG: f64 = 0.5;
/// The limits of nothing.
const EMPTY: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);
const OPACITY: f64 = 0.35;
const DASHES: &[f64] = &[7.0, 4.0];

impl Histogram {
    /// Draws the chart.
    pub fn scene(&self) -> Result<Scene> {
        self.check()?;
        let range = self.range();
        let densities = self.classes.each_ref().map(|class| densities(&class.values, range));
        let mut scene = Scene::new(800.0, 460.0, &self.title, self.describe());
        let names = self.classes.each_ref().map(|class| format!("{} ({})", class.name, class.values.len()));
        let mut entries: Vec<(&str, Sample)> = names
            .iter()
            .enumerate()
            .map(|(idx, name)| (name.as_str(), Sample::Block { color: nth(idx), opacity: OPACITY }))
            .collect();
        let threshold_stroke = Stroke { color: INK, width: 1.5, dashes: DASHES };
        let threshold = self.threshold.map(|threshold| format!("threshold {}", trimmed(threshold)));
        if let Some(name) = &threshold {
            entries.push((name, Sample::Line { stroke: threshold_stroke, marker: None }));
        }
        let top = legend::draw(&mut scene, &entries);
        let highest = densities.iter().flatten().copied().fold(0.0, f64::max);
        let (x, y) = (Scale::exact(range.0, range.1), Scale::around(0.0, highest));
        let frame = Frame::draw(&mut scene, top, (x, &self.x_label(range)), (y, "density"));
        for (idx, densities) in densities.iter().enumerate() {
            draw_steps(&mut scene, &frame, densities, idx);
        }
        if let Some(threshold) = self.threshold {
            let line = vec![frame.at(threshold, y.low), frame.at(threshold, y.high)];
            scene.line(line, threshold_stroke);
        }
        Ok(scene)
    }

    fn check(&self) -> Result<()> {
        for Class { name, values } in &self.classes {
            if values.is_empty() {
                return Err(refuse(&self.title, format_args!("there are no values of `{name}`")));
            }
            demand_finite(&self.title, name, values.iter().copied())?;
        }
        demand_finite(&self.title, "the threshold", self.threshold)
    }

    /// From a low to a high value, without a long tail on either side but with the threshold.
    fn range(&self) -> (f64, f64) {
        let (mut whole, mut most) = (EMPTY, EMPTY);
        for class in &self.classes {
            let mut values = class.values.clone();
            values.sort_by(f64::total_cmp);
            let last = values.len() - 1;
            let tail = (TAIL * last as f64).round() as usize;
            whole = (whole.0.min(values[0]), whole.1.max(values[last]));
            most = (most.0.min(values[tail]), most.1.max(values[last - tail]));
        }
        let is_long = |tail: f64| tail > LONG * (most.1 - most.0) && most.1 > most.0;
        let low = if is_long(most.0 - whole.0) { most.0 } else { whole.0 };
        let high = if is_long(whole.1 - most.1) { most.1 } else { whole.1 };
        let threshold = self.threshold.unwrap_or(low);
        let scale = Scale::exact(low.min(threshold), high.max(threshold));
        (scale.low, scale.high)
    }

    /// The name of the score, with the share of the values that are not shown.
    fn x_label(&self, (low, high): (f64, f64)) -> String {
        let values = || self.classes.iter().flat_map(|class| &class.values);
        let outside = values().filter(|value| !(low..=high).contains(*value)).count();
        match 100.0 * outside as f64 / values().count() as f64 {
            0.0 => self.x_label.clone(),
            percent => format!("{} ({} % of the values lie beyond)", self.x_label, trimmed(percent)),
        }
    }

    fn describe(&self) -> String {
        let classes = self.classes.each_ref().map(|Class { name, values }| {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            format!("{name}: {} values, median {}", values.len(), short(sorted[sorted.len() / 2]))
        });
        let threshold =
            self.threshold.map_or(String::new(), |threshold| format!("; threshold {}", short(threshold)));
        format!("Histogram of {}. {}{threshold}.", self.x_label, classes.join("; "))
    }
}

/// The share of the values in each bin, over its width relative to the range; values outside are in no bin.
fn densities(values: &[f64], (low, high): (f64, f64)) -> Vec<f64> {
    let mut counts = vec![0usize; BINS];
    let width = high - low;
    for value in values.iter().filter(|value| (low..=high).contains(*value)) {
        let bin_idx = ((value - low) / width * BINS as f64) as usize;
        counts[bin_idx.min(BINS - 1)] += 1;
    }
    let unit = values.len() as f64 * width / BINS as f64;
    counts.into_iter().map(|count| count as f64 / unit).collect()
}

fn draw_steps(scene: &mut Scene, frame: &Frame, densities: &[f64], idx: usize) {
    let Scale { low, high, .. } = frame.x;
    let limit = |idx: usize| low + (high - low) * idx as f64 / densities.len() as f64;
    let mut points = vec![frame.at(low, 0.0)];
    for (bin_idx, &density) in densities.iter().enumerate() {
        points.push(frame.at(limit(bin_idx), density));
        points.push(frame.at(limit(bin_idx + 1), density));
    }
    points.push(frame.at(high, 0.0));
    scene.area(points.clone(), nth(idx), OPACITY);
    scene.line(points, Stroke::solid(nth(idx), 1.75));
}
