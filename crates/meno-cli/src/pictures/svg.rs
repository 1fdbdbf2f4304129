//! A scene as SVG 1.1: well-formed, scalable, with a title and a description for screen readers.

use std::fmt::Write;

use super::color::{Color, WHITE};
use super::font::FAMILY;
use super::scene::{Anchor, Item, Point, Scene, Text};

impl Scene {
    /// The text of an SVG file.
    pub fn svg(&self) -> String {
        let (width, height) = (number(self.width), number(self.height));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title desc\" font-family=\"{FAMILY}\">\n"
        );
        let _ = writeln!(out, "<title id=\"title\">{}</title>", escape(&self.title));
        let _ = writeln!(out, "<desc id=\"desc\">{}</desc>", escape(&self.description));
        let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>", hex(WHITE));
        for item in &self.items {
            element(&mut out, item);
        }
        out += "</svg>\n";
        out
    }
}

/// Writing to a string cannot fail, so the results of `write!` are dropped.
fn element(out: &mut String, item: &Item) {
    let _ = match item {
        Item::Cells { cells, fill } => {
            let mut path = String::new();
            for cell in cells {
                let [x, y, width, height] = [cell.x, cell.y, cell.width, cell.height].map(number);
                let _ = write!(path, "M{x} {y}h{width}v{height}h-{width}z");
            }
            writeln!(out, "<path d=\"{path}\" fill=\"{}\" shape-rendering=\"crispEdges\"/>", hex(*fill))
        }
        Item::Area { points, fill, opacity } => {
            let (fill, opacity) = (hex(*fill), opacity_of(*opacity));
            writeln!(out, "<path d=\"{}z\" fill=\"{fill}\"{opacity}/>", path(points))
        }
        Item::Line { points, stroke } => {
            let dashes: Vec<String> = stroke.dashes.iter().map(|&length| number(length)).collect();
            let dashes = match dashes.as_slice() {
                [] => String::new(),
                dashes => format!(" stroke-dasharray=\"{}\"", dashes.join(" ")),
            };
            writeln!(
                out,
                "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dashes}/>",
                path(points),
                hex(stroke.color),
                number(stroke.width)
            )
        }
        Item::Text(text) => writeln!(out, "{}", text_element(text)),
    };
}

fn text_element(text: &Text) -> String {
    let (x, y) = (number(text.at.0), number(text.at.1));
    let place = if text.upright {
        format!("transform=\"translate({x} {y}) rotate(-90)\"")
    } else {
        format!("x=\"{x}\" y=\"{y}\"")
    };
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let weight = if text.bold { " font-weight=\"bold\"" } else { "" };
    let (size, fill) = (number(text.size), hex(text.color));
    format!(
        "<text {place} font-size=\"{size}\" fill=\"{fill}\"{anchor}{weight}>{}</text>",
        escape(&text.text)
    )
}

fn path(points: &[Point]) -> String {
    let mut path = String::new();
    for (idx, &(x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{} {}", if idx == 0 { 'M' } else { 'L' }, number(x), number(y));
    }
    path
}

fn hex(Color(red, green, blue): Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn opacity_of(opacity: f64) -> String {
    if opacity < 1.0 { format!(" fill-opacity=\"{}\"", number(opacity)) } else { String::new() }
}

/// A hundredth of a pixel is seen by no one.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text for XML, in which most control characters must not even be escaped.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\t' | '\n' | '\r' => out.push(' '),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            letter => out.push(letter),
        }
    }
    out
}
