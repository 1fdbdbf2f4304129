//! How a score is spread over two classes, and where the threshold lies.

use meno::Result;

use super::axis::{Frame, Scale, short};
use super::color::{INK, nth};
use super::legend::{self, Sample};
use super::scene::{Anchor, Scene, Stroke, Text};
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
/// So much at each end is left out if it would squeeze the rest: a few scores may be a thousand times the others.
const TAIL: f64 = 0.005;
const OPACITY: f64 = 0.35;
const DASHES: &[f64] = &[7.0, 4.0];

impl Histogram {
    /// Draws the chart.
    pub fn scene(&self) -> Result<Scene> {
        self.check()?;
        let range = self.range();
        let densities = self.classes.each_ref().map(|class| densities(&class.values, range));
        let outside = self.share_outside(range);
        let mut scene = Scene::new(800.0, 460.0, &self.title, self.describe());
        let names = self.classes.each_ref().map(|class| format!("{} ({})", class.name, class.values.len()));
        let mut entries: Vec<(&str, Sample)> = names
            .iter()
            .enumerate()
            .map(|(idx, name)| (name.as_str(), Sample::Block { color: nth(idx), opacity: OPACITY }))
            .collect();
        let threshold_stroke = Stroke { color: INK, width: 1.5, dashes: DASHES };
        let threshold = self.threshold.map(|threshold| format!("threshold {}", short(threshold)));
        if let Some(name) = &threshold {
            entries.push((name, Sample::Line { stroke: threshold_stroke, marker: None }));
        }
        let top = legend::draw(&mut scene, &entries);
        let highest = densities.iter().flatten().copied().fold(0.0, f64::max);
        let (x, y) = (Scale::exact(range.0, range.1), Scale::around(0.0, highest));
        let frame = Frame::draw(&mut scene, top, (x, &self.x_label), (y, "density"));
        for (idx, densities) in densities.iter().enumerate() {
            draw_steps(&mut scene, &frame, densities, idx);
        }
        if let Some(threshold) = self.threshold {
            let line = vec![frame.at(threshold, y.low), frame.at(threshold, y.high)];
            scene.line(line, threshold_stroke);
        }
        if outside > 0.0 {
            let at = (frame.area.x + frame.area.width - 6.0, frame.area.y + 16.0);
            let text = format!("{} % of the values lie beyond the axis", short(100.0 * outside));
            scene.text(Text::new(text, at, 11.5, Anchor::End));
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

    /// From a low to a high value, without long tails but with the threshold.
    fn range(&self) -> (f64, f64) {
        let mut values: Vec<f64> =
            self.classes.iter().flat_map(|class| class.values.iter().copied()).collect();
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        let tail = (TAIL * last as f64).round() as usize;
        let (low, high) = (values[tail], values[last - tail]);
        let width = high / 2.0 - low / 2.0;
        let (whole_low, whole_high) = (values[0], values[last]);
        let squeezed = whole_high / 2.0 - whole_low / 2.0 > 1.5 * width && width > 0.0;
        let (low, high) = if squeezed { (low, high) } else { (whole_low, whole_high) };
        let (low, high) = match self.threshold {
            Some(threshold) => (low.min(threshold), high.max(threshold)),
            None => (low, high),
        };
        let scale = Scale::exact(low, high);
        (scale.low, scale.high)
    }

    fn share_outside(&self, (low, high): (f64, f64)) -> f64 {
        let values = || self.classes.iter().flat_map(|class| &class.values);
        let outside = values().filter(|value| !(low..=high).contains(*value)).count();
        outside as f64 / values().count() as f64
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
