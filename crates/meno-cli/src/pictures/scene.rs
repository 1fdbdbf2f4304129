//! What a picture consists of: shapes and texts at places, the origin at the top left, y downwards, in pixels.

use super::color::{Color, INK, SOFT_INK};
use super::font::Fonts;

/// A picture, ready to be written as SVG or PNG.
pub struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) items: Vec<Item>,
    fonts: Fonts,
}

pub(super) type Point = (f64, f64);

/// A rectangle by its top left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

#[derive(Clone, Debug)]
pub(super) enum Item {
    /// Rectangles of one colour that share edges: drawn without smoothing, which would show seams.
    Cells {
        cells: Vec<Rect>,
        fill: Color,
    },
    /// A filled polygon.
    Area {
        points: Vec<Point>,
        fill: Color,
        opacity: f64,
    },
    Line {
        points: Vec<Point>,
        stroke: Stroke,
    },
    Text(Text),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    pub(super) color: Color,
    pub(super) width: f64,
    /// Lengths of a dash and of the gap after it, and so on; empty for a solid line.
    pub(super) dashes: &'static [f64],
}

impl Stroke {
    pub(super) fn solid(color: Color, width: f64) -> Self {
        Stroke { color, width, dashes: &[] }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) text: String,
    /// The place of the anchor on the base line.
    pub(super) at: Point,
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) color: Color,
    pub(super) anchor: Anchor,
    /// Whether it runs upwards.
    pub(super) upright: bool,
}

/// Which part of a text lies at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Text {
    pub(super) fn new(text: impl Into<String>, at: Point, size: f64, anchor: Anchor) -> Self {
        Text { text: text.into(), at, size, bold: false, color: SOFT_INK, anchor, upright: false }
    }

    pub(super) fn upright(self) -> Self {
        Text { upright: true, ..self }
    }
}

/// The space around everything.
pub(super) const MARGIN: f64 = 20.0;
/// Where the title ends.
pub(super) const TITLE_BOTTOM: f64 = 44.0;
const TITLE_SIZE: f64 = 17.0;

impl Scene {
    /// A white ground with a title; `description` is for those who hear the picture.
    pub(super) fn new(width: f64, height: f64, title: &str, description: String) -> Self {
        let fonts = Fonts::new();
        let shown = fit(title, |text| fonts.width(text, TITLE_SIZE, true) <= width - 2.0 * MARGIN);
        let title_text = Text {
            bold: true,
            color: INK,
            ..Text::new(shown, (MARGIN, MARGIN + 14.0), TITLE_SIZE, Anchor::Start)
        };
        let items = vec![Item::Text(title_text)];
        Scene { width, height, title: title.to_owned(), description, items, fonts }
    }

    pub(super) fn cells(&mut self, cells: Vec<Rect>, fill: Color) {
        self.items.push(Item::Cells { cells, fill });
    }

    pub(super) fn rect(&mut self, Rect { x, y, width, height }: Rect, fill: Color, opacity: f64) {
        self.area(vec![(x, y), (x + width, y), (x + width, y + height), (x, y + height)], fill, opacity);
    }

    pub(super) fn area(&mut self, points: Vec<Point>, fill: Color, opacity: f64) {
        self.items.push(Item::Area { points, fill, opacity });
    }

    pub(super) fn line(&mut self, points: Vec<Point>, stroke: Stroke) {
        self.items.push(Item::Line { points, stroke });
    }

    pub(super) fn text(&mut self, text: Text) {
        self.items.push(Item::Text(text));
    }

    /// How wide a text is.
    pub(super) fn text_width(&self, text: &str, size: f64) -> f64 {
        self.fonts.width(text, size, false)
    }

    /// The text, or its beginning and an ellipsis if it is wider than `width`.
    pub(super) fn fit(&self, text: &str, size: f64, width: f64) -> String {
        fit(text, |text| self.fonts.width(text, size, false) <= width)
    }

    pub(super) fn fonts(&self) -> &Fonts {
        &self.fonts
    }
}

fn fit(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let mut letters: Vec<char> = text.chars().collect();
    loop {
        letters.pop();
        let short: String = letters.iter().collect::<String>().trim_end().to_owned() + "…";
        if letters.is_empty() || fits(&short) {
            return short;
        }
    }
}
