//! Annotations for people: `alarm  99%  wake me at [six|time]`.

use std::fmt::{self, Display};

use meno::corpus::tags;
use meno::{Annotation, Model};

use crate::style::{self, paint};

/// How the annotations of a model are shown: every slot in its own colour, intents in one column.
pub struct Palette {
    slots: Vec<String>,
    intent_width: usize,
    color: bool,
}

impl Palette {
    pub fn new(model: &Model, color: bool) -> Self {
        let features = model.features();
        let width = |intent: &String| intent.chars().count();
        Palette {
            slots: slots(model),
            intent_width: features.intents.names().iter().map(width).max().unwrap_or(0),
            color,
        }
    }

    /// The annotation on one line.
    pub fn show<'a>(&'a self, annotation: &'a Annotation<'a>) -> impl Display + use<'a> {
        Line { palette: self, annotation }
    }

    fn slot_color(&self, slot: &str) -> &'static str {
        let slot_idx = self.slots.iter().position(|name| name == slot).unwrap_or(0);
        style::SLOTS[slot_idx % style::SLOTS.len()]
    }
}

/// The slot types of a model in alphabetical order.
pub fn slots(model: &Model) -> Vec<String> {
    let labels = model.features().labels.names();
    let mut slots: Vec<String> =
        labels.iter().flat_map(|label| tags::spans(&[label])).map(|span| span.slot).collect();
    slots.sort();
    slots.dedup();
    slots
}

struct Line<'a> {
    palette: &'a Palette,
    annotation: &'a Annotation<'a>,
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Palette { intent_width, color, .. } = *self.palette;
        let Annotation { text, intent, spans, .. } = self.annotation;
        if let Some(intent) = intent {
            let name = format!("{:intent_width$}", intent.name);
            let percent = format!("{:3.0}%", 100.0 * intent.probability);
            write!(f, "{}  {}  ", paint(name, style::BOLD, color), paint(percent, style::DIM, color))?;
        }
        let mut done = 0;
        for span in spans {
            let words = paint(span.text, self.palette.slot_color(&span.slot), color);
            let name = format!("|{}]", span.slot);
            write!(f, "{}{}", &text[done..span.start], paint("[", style::DIM, color))?;
            write!(f, "{words}{}", paint(name, style::DIM, color))?;
            done = span.end;
        }
        f.write_str(&text[done..])
    }
}
