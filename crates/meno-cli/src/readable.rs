//! Annotations for people: `alarm  99%  wake me at [six|time]`, and how unsure the model is of each word.

use std::fmt::{self, Display};

use meno::answer::{Decision, RunnerUp, TokenLabel, TokenVerdict};
use meno::decision::{Rejection, Threshold};
use meno::label::{self, UNKNOWN};
use meno::syntax::phrase::{Link, Why};
use meno::{Annotation, Model};

use crate::output::shown;
use crate::style::{self, paint};

/// How the annotations of a model are shown: every slot in its own colour, intents in one column.
pub struct Palette {
    slots: Vec<String>,
    intent_width: usize,
    threshold: Option<Threshold>,
    color: bool,
}

impl Palette {
    pub fn new(model: &Model, color: bool) -> Self {
        let features = model.features();
        Palette {
            slots: model.slots(),
            intent_width: features
                .intents
                .names()
                .iter()
                .map(|intent| intent.chars().count())
                .max()
                .unwrap_or(0),
            threshold: model.policy().threshold.clone(),
            color,
        }
    }

    /// The annotation on one line.
    pub fn show<'a>(&'a self, annotation: &'a Annotation<'a>) -> impl Display + use<'a> {
        Line { palette: self, annotation }
    }

    /// The text as a heat map of the uncertainty; nothing if the model does not say how unsure it is.
    pub fn heat<'a>(&'a self, annotation: &'a Annotation<'a>) -> impl Display + use<'a> {
        Heat { palette: self, annotation }
    }

    /// A line for each word that is unknown because it belongs to a phrase, with the reason.
    pub fn growth<'a>(&'a self, annotation: &'a Annotation<'a>) -> impl Display + use<'a> {
        Grown { palette: self, annotation }
    }

    /// What is done about it, on a line of its own.
    pub fn decision<'a>(&'a self, annotation: &'a Annotation<'a>) -> impl Display + use<'a> {
        Decided { palette: self, annotation }
    }

    /// A line for each word: its label, what else it might be, how unsure the model is.
    pub fn thoughts<'a>(&'a self, annotation: &'a Annotation<'a>) -> impl Display + use<'a> {
        Thoughts { palette: self, annotation }
    }

    /// From 0, as sure as of most words, over 1, the threshold, to 2. What is not unknown stays below the threshold, however
    /// unsure the model is: a word outside of all spans.
    fn heat_of(&self, token: &TokenLabel<'_>) -> Option<f64> {
        let (threshold, verdict) = (self.threshold.as_ref()?, token.verdict.as_ref()?);
        let heat = threshold.heat(verdict.uncertainty);
        Some(if verdict.unknown { heat } else { heat.min(1.0) })
    }

    fn slot_color(&self, slot: &str) -> &'static str {
        if slot == UNKNOWN {
            return style::UNKNOWN;
        }
        let slot_idx = self.slots.iter().position(|name| name == slot).unwrap_or(0);
        style::SLOTS[slot_idx % style::SLOTS.len()]
    }
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
            let words = paint(shown(span.text), self.palette.slot_color(&span.slot), color);
            let resolved = span.resolved.iter().flatten().map(|shaped| shaped.resolved.to_string()).next();
            let resolved = resolved.filter(|value| value != span.text);
            let value = resolved.or_else(|| span.value.clone()).map(|value| format!("={value}"));
            let name = shown(&format!("|{}{}]", span.slot, value.unwrap_or_default()));
            write!(f, "{}{}", shown(&text[done..span.start]), paint("[", style::DIM, color))?;
            write!(f, "{words}{}", paint(name, style::DIM, color))?;
            done = span.end;
        }
        f.write_str(&shown(&text[done..]))
    }
}

/// With colour the words on a ground of their heat, without it bars under the words.
struct Heat<'a> {
    palette: &'a Palette,
    annotation: &'a Annotation<'a>,
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The index of a heat in `n` steps.
fn step(heat: f64, n: usize) -> usize {
    ((heat / 2.0 * n as f64) as usize).min(n - 1)
}

impl Display for Heat<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Annotation { text, intent, tokens, .. } = self.annotation;
        let Palette { intent_width, color, .. } = *self.palette;
        if tokens.is_empty() {
            return Ok(());
        }
        let indent = if intent.is_some() { intent_width + 8 } else { 0 };
        let (mut words, mut bars) = (String::new(), String::new());
        let mut done = 0;
        for token in tokens {
            let Some(heat) = self.palette.heat_of(token) else { return Ok(()) };
            let gap = &text[done..token.start];
            words.push_str(&shown(gap));
            bars.extend(gap.chars().map(|_| ' '));
            words += &paint(shown(token.text), style::HEAT[step(heat, style::HEAT.len())], color).to_string();
            bars.extend(token.text.chars().map(|_| BARS[step(heat, BARS.len())]));
            done = token.end;
        }
        words.push_str(&shown(&text[done..]));
        write!(f, "\n{:indent$}{words}", "")?;
        if color { Ok(()) } else { write!(f, "\n{:indent$}{}", "", bars.trim_end()) }
    }
}

struct Grown<'a> {
    palette: &'a Palette,
    annotation: &'a Annotation<'a>,
}

impl Display for Grown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Palette { intent_width, color, .. } = *self.palette;
        let Annotation { intent, tokens, .. } = self.annotation;
        let indent = if intent.is_some() { intent_width + 8 } else { 0 };
        for token in tokens {
            let grown = token.verdict.as_ref().and_then(|verdict| verdict.grown.as_ref());
            let Some(Why { from, link }) = grown else { continue };
            let (word, from) = (shown(token.text), shown(tokens[*from].text));
            let why = match link {
                Link::Head(relation) => format!("`{word}` is the head of `{from}` ({relation})"),
                Link::Child(relation) => format!("`{word}` belongs to `{from}` ({relation})"),
                Link::Neighbour(upos) => format!("`{word}` stands beside `{from}` ({upos})"),
            };
            write!(f, "\n{:indent$}{}", "", paint(why, style::DIM, color))?;
        }
        Ok(())
    }
}

struct Decided<'a> {
    palette: &'a Palette,
    annotation: &'a Annotation<'a>,
}

impl Display for Decided<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Palette { intent_width, color, .. } = *self.palette;
        let Annotation { text, intent, decision, confidence, tokens, .. } = self.annotation;
        if tokens.is_empty() {
            return Ok(());
        }
        let indent = if intent.is_some() { intent_width + 8 } else { 0 };
        let mut said = match decision {
            Decision::Act => "acts".to_owned(),
            Decision::Ask { about } => {
                let options: Vec<&str> = about.options.iter().map(|option| &*option.name).collect();
                let options = options.join(", ");
                match &about.place {
                    Some(place) => format!("asks what *{}* is: {options}", shown(&text[place.clone()])),
                    None => format!("asks what is meant: {options}"),
                }
            }
            Decision::Reject { because: Rejection::OutOfScope } => "rejects it: out of scope".to_owned(),
            Decision::Reject { because: Rejection::Language } => "rejects it: another language".to_owned(),
        };
        if let Some(confidence) = confidence {
            said += &format!(" ({:.0}% sure of the whole)", 100.0 * confidence);
        }
        write!(f, "\n{:indent$}{}", "", paint(said, style::DIM, color))
    }
}

struct Thoughts<'a> {
    palette: &'a Palette,
    annotation: &'a Annotation<'a>,
}

/// Cells of the bar of a word's heat; the threshold is in the middle.
const CELLS: usize = 12;

impl Display for Thoughts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let color = self.palette.color;
        let tokens = &self.annotation.tokens;
        let width = |text: &dyn Fn(&TokenLabel<'_>) -> usize| tokens.iter().map(text).max().unwrap_or(0);
        let word_width = width(&|token| token.text.chars().count());
        let label_width = width(&|token| token.label.chars().count());
        for (token_idx, token) in tokens.iter().enumerate() {
            let (Some(heat), Some(verdict)) = (self.palette.heat_of(token), &token.verdict) else {
                return Ok(());
            };
            let TokenVerdict { first_choice, reason, .. } = verdict;
            let label = format!("{:label_width$}", token.label);
            let label = paint(label, self.palette.slot_color(label::split(&token.label).1), color);
            let filled = ((heat / 2.0 * CELLS as f64).round() as usize).min(CELLS);
            let bar: String = (0..CELLS)
                .map(|cell| match (cell < filled, cell == CELLS / 2) {
                    (true, _) => '█',
                    (false, true) => '│',
                    (false, false) => '·',
                })
                .collect();
            let bar = paint(bar, style::HEAT_TEXT[step(heat, style::HEAT_TEXT.len())], color);
            let line_end = if token_idx == 0 { "" } else { "\n" };
            let percent = 100.0 * token.probability;
            write!(f, "{line_end}{:word_width$}  {bar}  {label}  ", shown(token.text))?;
            let mut choices = format!("{first_choice} {percent:.0}%");
            for RunnerUp { label, probability } in &reason.runners_up {
                if *probability >= 0.005 {
                    choices += &format!(", {label} {:.0}%", 100.0 * probability);
                }
            }
            write!(f, "{}", paint(choices, style::DIM, color))?;
        }
        Ok(())
    }
}
