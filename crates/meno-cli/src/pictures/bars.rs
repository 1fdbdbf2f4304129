//! Results of methods side by side, with how far they stray.

use meno::Result;

use super::axis::{LABEL_SIZE, Scale, TICK_SIZE, short};
use super::color::{GRID, INK, SOFT_INK, nth};
use super::legend::{self, Marker, Sample};
use super::scene::{Anchor, MARGIN, Rect, Scene, Stroke, Text};
use super::{demand_finite, refuse};

/// Horizontal bars in rows.
#[derive(Clone, Debug)]
pub struct Bars {
    /// What is shown.
    pub title: String,
    /// What the bars measure, with the unit.
    pub x_label: String,
    /// What is compared within a row, such as models; the names of the colours.
    pub series: Vec<String>,
    /// From the top.
    pub rows: Vec<BarRow>,
    /// What the diamond on a bar is, such as a published result.
    pub mark_name: String,
}

/// A row, such as a method.
#[derive(Clone, Debug)]
pub struct BarRow {
    /// Its name.
    pub name: String,
    /// For each of the series a bar, or none.
    pub bars: Vec<Option<Bar>>,
}

/// One result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bar {
    /// Its length.
    pub mean: f64,
    /// How far it strays; 0 for no whiskers.
    pub deviation: f64,
    /// A number to compare with.
    pub mark: Option<f64>,
}

const THICKNESS: f64 = 14.0;
const ROW_GAP: f64 = 10.0;
const NAME_WIDTH: f64 = 260.0;
const VALUE_WIDTH: f64 = 46.0;

impl Bars {
    /// Draws the chart.
    pub fn scene(&self) -> Result<Scene> {
        self.check()?;
        let pitch = THICKNESS * self.series.len() as f64 + ROW_GAP;
        let chart_height = pitch * self.rows.len() as f64;
        let height = chart_height + 190.0;
        let mut scene = Scene::new(800.0, height, &self.title, self.describe());
        let top = legend::draw(&mut scene, &self.legend()) + 4.0;
        scene.height = top + chart_height + 64.0;
        let widths = self.rows.iter().map(|row| scene.text_width(&row.name, TICK_SIZE));
        let left = MARGIN + 10.0 + widths.fold(0.0, f64::max).min(NAME_WIDTH);
        let width = scene.width - MARGIN - VALUE_WIDTH - left;
        let frame =
            BarFrame { area: Rect { x: left, y: top, width, height: chart_height }, scale: self.scale() };
        frame.draw(&mut scene, &self.x_label);
        for (row_idx, row) in self.rows.iter().enumerate() {
            let y = top + pitch * row_idx as f64 + ROW_GAP / 2.0;
            let middle = y + (pitch - ROW_GAP) / 2.0 + 0.36 * TICK_SIZE;
            let name = scene.fit(&row.name, TICK_SIZE, NAME_WIDTH);
            let name = Text::new(name, (left - 8.0, middle), TICK_SIZE, Anchor::End);
            scene.text(Text { color: INK, ..name });
            for (idx, bar) in row.bars.iter().enumerate() {
                if let Some(bar) = bar {
                    frame.draw_bar(&mut scene, bar, idx, y + THICKNESS * idx as f64);
                }
            }
        }
        Ok(scene)
    }

    fn legend(&self) -> Vec<(&str, Sample)> {
        let blocks = self.series.iter().enumerate();
        let blocks =
            blocks.map(|(idx, name)| (name.as_str(), Sample::Block { color: nth(idx), opacity: 1.0 }));
        let has_marks = self.bars().any(|(_, bar)| bar.mark.is_some());
        let mark = (self.mark_name.as_str(), Sample::Marker { marker: Marker::Diamond, color: INK });
        let deviation =
            ("± standard deviation", Sample::Line { stroke: Stroke::solid(INK, 1.5), marker: None });
        let has_deviations = self.bars().any(|(_, bar)| bar.deviation > 0.0);
        blocks.chain(has_deviations.then_some(deviation)).chain(has_marks.then_some(mark)).collect()
    }

    fn bars(&self) -> impl Iterator<Item = (&str, &Bar)> {
        self.rows.iter().flat_map(|row| row.bars.iter().flatten().map(|bar| (row.name.as_str(), bar)))
    }

    fn check(&self) -> Result<()> {
        if self.bars().next().is_none() {
            return Err(refuse(&self.title, "there is no bar to draw"));
        }
        for row in &self.rows {
            if row.bars.len() > self.series.len() {
                let (bars, series) = (row.bars.len(), self.series.len());
                return Err(refuse(
                    &self.title,
                    format_args!("`{}` has {bars} bars for {series} names", row.name),
                ));
            }
        }
        for (name, bar) in self.bars() {
            let numbers = [bar.mean, bar.deviation, bar.mark.unwrap_or(0.0)];
            demand_finite(&self.title, &format!("`{name}`"), numbers)?;
        }
        Ok(())
    }

    /// From 0, so that lengths can be compared.
    fn scale(&self) -> Scale {
        let ends = self.bars().flat_map(|(_, bar)| {
            [bar.mean - bar.deviation, bar.mean + bar.deviation, bar.mark.unwrap_or(bar.mean)]
        });
        let (low, high) = ends.fold((0.0, 0.0), |(low, high): (f64, f64), end| (low.min(end), high.max(end)));
        // Whiskers of a short bar may reach below 0, where a share cannot be.
        let low = if self.bars().all(|(_, bar)| bar.mean >= 0.0) { 0.0 } else { low };
        Scale::around(low, high)
    }

    fn describe(&self) -> String {
        let rows: Vec<String> = self
            .rows
            .iter()
            .map(|row| {
                let bars = self.series.iter().zip(&row.bars);
                let bars: Vec<String> = bars
                    .filter_map(|(name, bar)| {
                        bar.map(|bar| format!("{name} {} ± {}", short(bar.mean), short(bar.deviation)))
                    })
                    .collect();
                format!("{}: {}", row.name, bars.join(", "))
            })
            .collect();
        format!("{}. {}.", self.x_label, rows.join("; "))
    }
}

struct BarFrame {
    area: Rect,
    scale: Scale,
}

impl BarFrame {
    fn draw(&self, scene: &mut Scene, label: &str) {
        let Rect { x, y, width, height } = self.area;
        for (value, name) in self.scale.ticks() {
            let x = self.at(value);
            scene.line(vec![(x, y), (x, y + height)], Stroke::solid(GRID, 1.0));
            scene.text(Text::new(name, (x, y + height + 18.0), TICK_SIZE, Anchor::Middle));
        }
        let zero = self.at(0.0);
        scene.line(vec![(zero, y), (zero, y + height)], Stroke::solid(SOFT_INK, 1.0));
        let label = scene.fit(label, LABEL_SIZE, width);
        let at = (x + width / 2.0, y + height + 42.0);
        scene.text(Text { color: INK, ..Text::new(label, at, LABEL_SIZE, Anchor::Middle) });
    }

    fn draw_bar(&self, scene: &mut Scene, bar: &Bar, idx: usize, y: f64) {
        let (zero, end) = (self.at(0.0), self.at(bar.mean));
        let middle = y + THICKNESS / 2.0;
        let rect = Rect { x: zero.min(end), y: y + 1.0, width: (end - zero).abs(), height: THICKNESS - 2.0 };
        scene.rect(rect, nth(idx), 1.0);
        if bar.deviation > 0.0 {
            let (low, high) = (self.at(bar.mean - bar.deviation), self.at(bar.mean + bar.deviation));
            for (from, to) in [
                ((low, middle), (high, middle)),
                ((low, y + 3.0), (low, y + 11.0)),
                ((high, y + 3.0), (high, y + 11.0)),
            ] {
                scene.line(vec![from, to], Stroke::solid(INK, 1.5));
            }
        }
        if let Some(mark) = bar.mark {
            Marker::Diamond.draw(scene, (self.at(mark), middle), INK);
        }
        let at = (scene.width - MARGIN, middle + 4.0);
        scene.text(Text { color: INK, ..Text::new(short(bar.mean), at, 11.5, Anchor::End) });
    }

    fn at(&self, value: f64) -> f64 {
        self.area.x + self.scale.share(value) * self.area.width
    }
}
