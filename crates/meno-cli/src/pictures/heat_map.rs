//! A matrix in colours, with a name for each row and column.

use std::collections::BTreeMap;

use meno::Result;

use super::axis::{Scale, short};
use super::color::{Color, INK, Ramp, SOFT_INK, WHITE};
use super::scene::{Anchor, MARGIN, Rect, Scene, Stroke, TITLE_BOTTOM, Text};
use super::{demand_finite, refuse};

/// Numbers by row and column; 0 is white.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// What is shown.
    pub title: String,
    /// What a number means, beside the colour bar.
    pub value_label: String,
    /// What the rows are.
    pub row_label: String,
    /// What the columns are.
    pub column_label: String,
    /// The names of the rows, from the top.
    pub rows: Vec<String>,
    /// The names of the columns, from the left.
    pub columns: Vec<String>,
    /// Row after row.
    pub values: Vec<f64>,
}

/// More names could not be read at any size, and the picture would not fit anywhere.
const LARGEST: usize = 400;
/// A name takes no more room.
const NAME_WIDTH: f64 = 190.0;
const BAR_WIDTH: f64 = 16.0;

impl HeatMap {
    /// Draws the chart.
    pub fn scene(&self) -> Result<Scene> {
        self.check()?;
        let layout = Layout::of(self);
        let ramp = Ramp::over(self.values.iter().copied());
        let mut scene = Scene::new(layout.width, layout.height, &self.title, self.describe());
        self.draw_names(&mut scene, &layout);
        self.draw_cells(&mut scene, &layout, ramp);
        draw_edge(&mut scene, layout.area);
        self.draw_bar(&mut scene, &layout, ramp);
        Ok(scene)
    }

    fn check(&self) -> Result<()> {
        let (n_rows, n_columns, n_values) = (self.rows.len(), self.columns.len(), self.values.len());
        let sides = [n_rows, n_columns];
        if sides.contains(&0) || sides.iter().any(|&side| side > LARGEST) {
            let problem =
                format_args!("a matrix of {n_rows} x {n_columns} cannot be shown, 1 to {LARGEST} can");
            return Err(refuse(&self.title, problem));
        }
        if n_rows * n_columns != n_values {
            let problem = format_args!("{n_rows} rows and {n_columns} columns but {n_values} numbers");
            return Err(refuse(&self.title, problem));
        }
        demand_finite(&self.title, "the matrix", self.values.iter().copied())
    }

    fn draw_names(&self, scene: &mut Scene, layout: &Layout) {
        let Rect { x, y, width, height } = layout.area;
        let (cell, size) = (layout.cell, layout.name_size);
        for (idx, name) in self.rows.iter().enumerate() {
            let at = (x - 5.0, y + (idx as f64 + 0.5) * cell + 0.36 * size);
            let name = scene.fit(name, size, NAME_WIDTH);
            scene.text(Text::new(name, at, size, Anchor::End));
        }
        for (idx, name) in self.columns.iter().enumerate() {
            let at = (x + (idx as f64 + 0.5) * cell + 0.36 * size, y + height + 5.0);
            let name = scene.fit(name, size, NAME_WIDTH);
            scene.text(Text::new(name, at, size, Anchor::End).upright());
        }
        let below = (x + width / 2.0, layout.height - MARGIN);
        let label = scene.fit(&self.column_label, 13.0, width.max(120.0));
        scene.text(Text { color: INK, ..Text::new(label, below, 13.0, Anchor::Middle) });
        let label = scene.fit(&self.row_label, 13.0, height.max(120.0));
        // A label longer than the matrix is high must not reach up into the title.
        let beside = (MARGIN + 8.0, y + height.max(scene.text_width(&label, 13.0)) / 2.0);
        scene.text(Text { color: INK, ..Text::new(label, beside, 13.0, Anchor::Middle).upright() });
    }

    /// One shape for each colour, white left out: a matrix of mostly zeros is a small file.
    fn draw_cells(&self, scene: &mut Scene, layout: &Layout, ramp: Ramp) {
        let cell = layout.cell;
        let mut shapes: BTreeMap<Color, Vec<Rect>> = BTreeMap::new();
        for (row_idx, row) in self.values.chunks_exact(self.columns.len()).enumerate() {
            for (column_idx, &value) in row.iter().enumerate() {
                let x = layout.area.x + column_idx as f64 * cell;
                let y = layout.area.y + row_idx as f64 * cell;
                let color = ramp.color(value);
                if color != WHITE {
                    shapes.entry(color).or_default().push(Rect { x, y, width: cell, height: cell });
                }
            }
        }
        for (color, cells) in shapes {
            scene.cells(cells, color);
        }
    }

    fn draw_bar(&self, scene: &mut Scene, layout: &Layout, ramp: Ramp) {
        const STEPS: usize = 64;
        let bar = layout.bar;
        let height = bar.height / STEPS as f64;
        for idx in 0..STEPS {
            let share = 1.0 - (idx as f64 + 0.5) / STEPS as f64;
            let value = ramp.low + share * (ramp.high - ramp.low);
            // Each reaches under the next, so that rounding leaves no gap.
            let reach = if idx + 1 == STEPS { height } else { height + 1.0 };
            let cell = Rect { y: bar.y + idx as f64 * height, height: reach, ..bar };
            scene.cells(vec![cell], ramp.color(value));
        }
        draw_edge(scene, bar);
        let scale = Scale::exact(ramp.low, ramp.high);
        for (value, name) in scale.ticks() {
            let y = bar.y + (1.0 - scale.share(value)) * bar.height;
            scene.line(
                vec![(bar.x + bar.width, y), (bar.x + bar.width + 4.0, y)],
                Stroke::solid(SOFT_INK, 1.0),
            );
            scene.text(Text::new(name, (bar.x + bar.width + 8.0, y + 4.0), 11.0, Anchor::Start));
        }
        let label = scene.fit(&self.value_label, 12.0, bar.height.max(120.0));
        let at = (bar.x + bar.width + 66.0, bar.y + bar.height / 2.0);
        scene.text(Text { color: INK, ..Text::new(label, at, 12.0, Anchor::Middle).upright() });
    }

    fn describe(&self) -> String {
        let mut largest: Vec<(usize, f64)> = self.values.iter().copied().enumerate().collect();
        largest.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let named: Vec<String> = largest
            .iter()
            .take(5)
            .map(|&(idx, value)| {
                let (row, column) =
                    (&self.rows[idx / self.columns.len()], &self.columns[idx % self.columns.len()]);
                format!("{row}, {column}: {}", short(value))
            })
            .collect();
        let (n_rows, n_columns) = (self.rows.len(), self.columns.len());
        format!("Heat map of {n_rows} x {n_columns} numbers. The largest: {}.", named.join("; "))
    }
}

/// Where the parts lie; the size of the picture follows from the number of cells and the length of their names.
struct Layout {
    width: f64,
    height: f64,
    area: Rect,
    bar: Rect,
    /// Whole pixels, so that cells meet.
    cell: f64,
    name_size: f64,
}

impl Layout {
    fn of(map: &HeatMap) -> Self {
        let largest = map.rows.len().max(map.columns.len()) as f64;
        let cell = (900.0 / largest).floor().clamp(7.0, 34.0);
        let name_size = (0.92 * cell).clamp(6.5, 11.5);
        let fonts = super::font::Fonts::new();
        let room = |names: &[String]| {
            let widths = names.iter().map(|name| fonts.width(name, name_size, false));
            widths.fold(0.0, f64::max).min(NAME_WIDTH).ceil()
        };
        let x = (MARGIN + 26.0 + room(&map.rows)).ceil();
        let y = TITLE_BOTTOM + 10.0;
        let (width, height) = (cell * map.columns.len() as f64, cell * map.rows.len() as f64);
        let area = Rect { x, y, width, height };
        let bar_height = height.clamp(140.0, 420.0);
        let bar = Rect { x: x + width.max(120.0) + 24.0, y, width: BAR_WIDTH, height: bar_height };
        let below = y + height + 5.0 + room(&map.columns) + 28.0;
        Layout {
            width: (bar.x + BAR_WIDTH + 72.0 + MARGIN).max(420.0),
            height: below.max(y + bar_height + 10.0) + MARGIN,
            area,
            bar,
            cell,
            name_size,
        }
    }
}

fn draw_edge(scene: &mut Scene, Rect { x, y, width, height }: Rect) {
    let corners =
        vec![(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y), (x + width, y)];
    scene.line(corners, Stroke::solid(SOFT_INK, 1.0));
}
