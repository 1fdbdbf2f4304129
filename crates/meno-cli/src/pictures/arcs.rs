//! A dependency tree: words in a row, an arc from each head to its child.

use meno::Result;

use super::color::{INK, SOFT_INK, nth};
use super::refuse;
use super::scene::{Anchor, MARGIN, Point, Scene, Stroke, TITLE_BOTTOM, Text};

/// A sentence with its tree.
#[derive(Clone, Debug)]
pub struct Arcs {
    /// What is shown.
    pub title: String,
    /// In the order of the sentence.
    pub words: Vec<ArcWord>,
}

/// A word.
#[derive(Clone, Debug)]
pub struct ArcWord {
    /// As it is written.
    pub text: String,
    /// Its part of speech.
    pub tag: String,
    /// The number of its head, from 1; 0 for the root.
    pub head: usize,
    /// How it relates to its head.
    pub relation: String,
}

const WORD_SIZE: f64 = 15.0;
const TAG_SIZE: f64 = 11.0;
const RELATION_SIZE: f64 = 11.0;
const GAP: f64 = 22.0;
/// How much higher an arc is than the highest one under it.
const LEVEL: f64 = 26.0;
const ARROW: f64 = 4.5;
/// Corners of the polygon that an arc is drawn as.
const STEPS: usize = 32;

impl Arcs {
    /// Draws the tree.
    pub fn scene(&self) -> Result<Scene> {
        let n = self.words.len();
        if n == 0 {
            return Err(refuse(&self.title, "there is no word to draw"));
        }
        if let Some(word) = self.words.iter().find(|word| word.head > n) {
            return Err(refuse(&self.title, format_args!("the head {} is not in the sentence", word.head)));
        }
        let levels = self.levels();
        let highest = levels.iter().copied().max().unwrap_or(0);
        let mut scene = Scene::new(100.0, 100.0, "", self.describe());
        let places = self.places(&scene);
        let width = places.last().map_or(0.0, |&(_, end)| end) + MARGIN;
        let base = TITLE_BOTTOM + 8.0 + LEVEL * (highest as f64 + 1.0);
        scene = Scene::new(width.max(240.0), base + 52.0, &self.title, self.describe());
        for (idx, word) in self.words.iter().enumerate() {
            let middle = places[idx].0;
            let text = Text::new(&word.text, (middle, base + 20.0), WORD_SIZE, Anchor::Middle);
            scene.text(Text { color: INK, ..text });
            scene.text(Text::new(&word.tag, (middle, base + 38.0), TAG_SIZE, Anchor::Middle));
            if word.head == 0 {
                let top = base - LEVEL * (highest as f64 + 1.0);
                scene.line(vec![(middle, top), (middle, base - ARROW)], Stroke::solid(SOFT_INK, 1.5));
                arrow(&mut scene, (middle, base));
                scene.text(Text::new("root", (middle + 6.0, top + 8.0), RELATION_SIZE, Anchor::Start));
            } else {
                let from = places[word.head - 1].0;
                let shift = if from < middle { -5.0 } else { 5.0 };
                let height = LEVEL * levels[idx] as f64;
                draw_arc(&mut scene, (from - shift, base), (middle + shift, base), height, &word.relation);
            }
        }
        Ok(scene)
    }

    /// The middle of each word and where it ends.
    fn places(&self, scene: &Scene) -> Vec<(f64, f64)> {
        let mut at = MARGIN;
        let place = |word: &ArcWord| {
            let relation = scene.text_width(&word.relation, RELATION_SIZE) * 0.8;
            let widths =
                [scene.text_width(&word.text, WORD_SIZE), scene.text_width(&word.tag, TAG_SIZE), relation];
            let width = widths.into_iter().fold(0.0, f64::max);
            let middle = at + width / 2.0;
            at += width + GAP;
            (middle, at - GAP)
        };
        self.words.iter().map(place).collect()
    }

    /// How high the arc of each word is: above all arcs under it.
    fn levels(&self) -> Vec<usize> {
        let ends = |idx: usize| {
            let (one, other) = (idx, self.words[idx].head - 1);
            (one.min(other), one.max(other))
        };
        let mut arcs: Vec<usize> = (0..self.words.len()).filter(|&idx| self.words[idx].head > 0).collect();
        arcs.sort_by_key(|&idx| (ends(idx).1 - ends(idx).0, idx));
        let mut levels = vec![0; self.words.len()];
        // The highest arc so far over each gap between words.
        let mut skyline = vec![0; self.words.len()];
        for idx in arcs {
            let (low, high) = ends(idx);
            let level = skyline[low..high].iter().copied().max().unwrap_or(0) + 1;
            skyline[low..high].fill(level);
            levels[idx] = level;
        }
        levels
    }

    fn describe(&self) -> String {
        let words = self.words.iter().map(|word| match word.head {
            0 => format!("{} ({}) is the root", word.text, word.tag),
            head => {
                let head = self.words.get(head - 1).map_or("", |head| head.text.as_str());
                format!("{} ({}) is {} of {head}", word.text, word.tag, word.relation)
            }
        });
        words.collect::<Vec<_>>().join("; ") + "."
    }
}

fn draw_arc(scene: &mut Scene, from: Point, to: Point, height: f64, relation: &str) {
    let color = nth(0);
    let (middle, radius) = ((from.0 + to.0) / 2.0, (to.0 - from.0) / 2.0);
    let at = |step: usize| {
        let angle = std::f64::consts::PI * step as f64 / STEPS as f64;
        // Flat on top, so that labels have room.
        (middle - radius * angle.cos(), from.1 - ARROW - (height - ARROW) * angle.sin().powf(0.5))
    };
    scene.line((0..=STEPS).map(at).collect(), Stroke::solid(color, 1.3));
    arrow(scene, to);
    let text = Text::new(relation, (middle, from.1 - height - 4.0), RELATION_SIZE, Anchor::Middle);
    scene.text(Text { color: INK, ..text });
}

fn arrow(scene: &mut Scene, (x, y): Point) {
    scene.area(vec![(x, y), (x - ARROW, y - 2.0 * ARROW), (x + ARROW, y - 2.0 * ARROW)], SOFT_INK, 1.0);
}
