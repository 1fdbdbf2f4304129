//! A scene as PNG, at twice its size, so that it is sharp where pixels are small.
//!
//! Drawn by tiny-skia from the scene itself and not from the SVG: that would need a second reader for what was just
//! written, and the letters' shaping with it.

use meno::Result;
use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect as SkiaRect, StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

use super::color::Color;
use super::font::Fonts;
use super::refuse;
use super::scene::{Anchor, Item, Point, Scene, Stroke, Text};

/// Pixels of the PNG for each of the scene.
pub const SCALE: f64 = 2.0;

impl Scene {
    /// The bytes of a PNG file.
    pub fn png(&self) -> Result<Vec<u8>> {
        let [width, height] = [self.width, self.height].map(|side| (side * SCALE).round() as u32);
        let mut pixmap = Pixmap::new(width, height).ok_or_else(|| {
            refuse(&self.title, format_args!("{width} x {height} is no size for a picture"))
        })?;
        pixmap.fill(tiny_skia::Color::WHITE);
        for item in &self.items {
            draw(&mut pixmap, item, self.fonts());
        }
        pixmap.encode_png().map_err(|error| refuse(&self.title, error))
    }
}

/// A path with nothing in it, such as that of a blank, is `None` and draws nothing.
fn draw(pixmap: &mut Pixmap, item: &Item, fonts: &Fonts) {
    let scale = Transform::from_scale(SCALE as f32, SCALE as f32);
    match item {
        Item::Cells { cells, fill } => {
            let paint = Paint { anti_alias: false, ..paint(*fill, 1.0) };
            for cell in cells {
                let [x, y, width, height] =
                    [cell.x, cell.y, cell.width, cell.height].map(|value| value as f32);
                if let Some(rect) = SkiaRect::from_xywh(x, y, width, height) {
                    pixmap.fill_rect(rect, &paint, scale, None);
                }
            }
        }
        Item::Area { points, fill, opacity } => {
            if let Some(path) = path(points, true) {
                pixmap.fill_path(&path, &paint(*fill, *opacity), FillRule::Winding, scale, None);
            }
        }
        Item::Line { points, stroke } => {
            if let Some(path) = path(points, false) {
                pixmap.stroke_path(&path, &paint(stroke.color, 1.0), &pen(stroke), scale, None);
            }
        }
        Item::Text(text) => {
            if let Some(path) = letters(text, fonts) {
                pixmap.fill_path(&path, &paint(text.color, 1.0), FillRule::Winding, scale, None);
            }
        }
    }
}

fn paint(Color(red, green, blue): Color, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, (opacity * 255.0).round() as u8);
    paint
}

fn pen(stroke: &Stroke) -> tiny_skia::Stroke {
    let dashes = stroke.dashes.iter().map(|&length| length as f32).collect();
    tiny_skia::Stroke {
        width: stroke.width as f32,
        line_cap: LineCap::Butt,
        line_join: LineJoin::Round,
        dash: StrokeDash::new(dashes, 0.0),
        ..tiny_skia::Stroke::default()
    }
}

fn path(points: &[Point], close: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (idx, &(x, y)) in points.iter().enumerate() {
        let (x, y) = (x as f32, y as f32);
        if idx == 0 { builder.move_to(x, y) } else { builder.line_to(x, y) }
    }
    if close {
        builder.close();
    }
    builder.finish()
}

fn letters(text: &Text, fonts: &Fonts) -> Option<Path> {
    let width = fonts.width(&text.text, text.size, text.bold);
    let start = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let unit = text.size / fonts.units_per_em(text.bold);
    let mut outline =
        Outline { builder: PathBuilder::new(), at: text.at, upright: text.upright, unit, start, x: 0.0 };
    fonts.outline(&text.text, text.bold, &mut outline, |outline, x| outline.x = x);
    outline.builder.finish()
}

/// From units of the font, y upwards, to places in the scene.
struct Outline {
    builder: PathBuilder,
    at: Point,
    upright: bool,
    unit: f64,
    start: f64,
    x: f64,
}

impl Outline {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        let along = self.start + (self.x + f64::from(x)) * self.unit;
        let above = f64::from(y) * self.unit;
        let (x, y) = if self.upright {
            (self.at.0 - above, self.at.1 - along)
        } else {
            (self.at.0 + along, self.at.1 - above)
        };
        (x as f32, y as f32)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let [(x1, y1), (x, y)] = [self.place(x1, y1), self.place(x, y)];
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let [(x1, y1), (x2, y2), (x, y)] = [self.place(x1, y1), self.place(x2, y2), self.place(x, y)];
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}
