//! Axes: from numbers to places, with ticks at round numbers.

use super::color::{GRID, INK, SOFT_INK};
use super::scene::{Anchor, MARGIN, Point, Rect, Scene, Stroke, Text};

/// About so many ticks an axis has.
const TICKS: f64 = 6.0;
pub(super) const TICK_SIZE: f64 = 12.0;
pub(super) const LABEL_SIZE: f64 = 13.0;

/// A range of numbers with ticks at multiples of `step`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    step: f64,
}

impl Scale {
    /// Exactly this range. A range too narrow to be drawn is widened.
    pub(super) fn exact(low: f64, high: f64) -> Self {
        // The difference of the largest numbers is not a number.
        let [low, high] = [low, high].map(|limit| limit.clamp(-1e307, 1e307));
        let least = 1e-9 * low.abs().max(high.abs()).max(1e-290);
        let pad = if high - low > least { 0.0 } else { 0.5_f64.max(0.1 * low.abs()) };
        let (low, high) = (low - pad, high + pad);
        Scale { low, high, step: round_step((high - low) / TICKS) }
    }

    /// This range, widened to ticks on both sides.
    pub(super) fn around(low: f64, high: f64) -> Self {
        let Scale { low, high, step } = Self::exact(low, high);
        Scale { low: (low / step).floor() * step, high: (high / step).ceil() * step, step }
    }

    /// The ticks inside the range, with their names.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let slack = 1e-6;
        let (first, last) = ((self.low / self.step - slack).ceil(), (self.high / self.step + slack).floor());
        let n_ticks = ((last - first) as usize).min(3 * TICKS as usize);
        let value = |idx: usize| (first + idx as f64) * self.step;
        (0..=n_ticks).map(value).map(|value| (value, self.name(value))).collect()
    }

    /// Where a number lies, 0 to 1; numbers outside lie on the nearer edge.
    pub(super) fn share(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// A number with as many digits as ticks need to differ.
    fn name(&self, value: f64) -> String {
        let largest = self.low.abs().max(self.high.abs());
        let magnitude = |value: f64| value.abs().log10().floor();
        if value.abs() < 1e-9 * self.step {
            return "0".to_owned();
        }
        let text = if largest >= 1e5 || self.step < 1e-4 {
            let digits = (magnitude(value) - magnitude(self.step)).clamp(0.0, 15.0) as usize;
            let text = format!("{value:.digits$e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let digits = match digits.contains('.') {
                true => digits.trim_end_matches('0').trim_end_matches('.'),
                false => digits,
            };
            format!("{digits}e{exponent}")
        } else {
            format!("{value:.*}", (-magnitude(self.step)).max(0.0) as usize)
        };
        text.replace('-', "−")
    }
}

/// A number for people: four digits.
pub(super) fn short(value: f64) -> String {
    let text = if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        format!("{value:.2e}")
    } else {
        let digits = (3.0 - value.abs().max(1.0).log10().floor()).max(0.0) as usize;
        format!("{value:.digits$}")
    };
    text.replace('-', "−")
}

/// As [`short`], without zeros at its end.
pub(super) fn trimmed(value: f64) -> String {
    let text = short(value);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The next of 1, 2, 5, 10, 20, 50 and so on.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|&round| round >= step * 0.999)
        .unwrap_or(10.0 * power)
}

/// The part of a scene in which numbers are shown, between two axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) area: Rect,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Frame {
    /// Draws axes with their labels and a grid, from `top` to the lower edge of the scene.
    pub(super) fn draw(scene: &mut Scene, top: f64, x: (Scale, &str), y: (Scale, &str)) -> Self {
        Self::draw_with(scene, top, x, &x.0.ticks(), y)
    }

    /// As [`Self::draw`], with other ticks from left to right.
    pub(super) fn draw_with(
        scene: &mut Scene,
        top: f64,
        x: (Scale, &str),
        x_ticks: &[(f64, String)],
        y: (Scale, &str),
    ) -> Self {
        let widths = y.0.ticks().into_iter().map(|(_, name)| scene.text_width(&name, TICK_SIZE));
        let left = MARGIN + 26.0 + widths.fold(0.0, f64::max);
        let bottom = scene.height - MARGIN - 40.0;
        let area = Rect { x: left, y: top, width: scene.width - MARGIN - 8.0 - left, height: bottom - top };
        let frame = Frame { area, x: x.0, y: y.0 };
        frame.draw_x(scene, x.1, x_ticks);
        frame.draw_y(scene, y.1);
        frame
    }

    /// The place of a pair of numbers.
    pub(super) fn at(&self, x: f64, y: f64) -> Point {
        let Rect { x: left, y: top, width, height } = self.area;
        (left + self.x.share(x) * width, top + (1.0 - self.y.share(y)) * height)
    }

    fn draw_x(&self, scene: &mut Scene, label: &str, ticks: &[(f64, String)]) {
        let Rect { x: left, y: top, width, height } = self.area;
        let bottom = top + height;
        for (value, name) in ticks {
            let x = self.at(*value, self.y.low).0;
            scene.line(vec![(x, top), (x, bottom)], Stroke::solid(GRID, 1.0));
            scene.line(vec![(x, bottom), (x, bottom + 4.0)], Stroke::solid(SOFT_INK, 1.0));
            scene.text(Text::new(name.clone(), (x, bottom + 18.0), TICK_SIZE, Anchor::Middle));
        }
        scene.line(vec![(left, bottom), (left + width, bottom)], Stroke::solid(SOFT_INK, 1.0));
        let label = scene.fit(label, LABEL_SIZE, width);
        let at = (left + width / 2.0, bottom + 40.0);
        scene.text(Text { color: INK, ..Text::new(label, at, LABEL_SIZE, Anchor::Middle) });
    }

    fn draw_y(&self, scene: &mut Scene, label: &str) {
        let Rect { x: left, y: top, width, height } = self.area;
        for (value, name) in self.y.ticks() {
            let y = self.at(self.x.low, value).1;
            scene.line(vec![(left, y), (left + width, y)], Stroke::solid(GRID, 1.0));
            scene.text(Text::new(name, (left - 8.0, y + 4.0), TICK_SIZE, Anchor::End));
        }
        scene.line(vec![(left, top), (left, top + height)], Stroke::solid(SOFT_INK, 1.0));
        let label = scene.fit(label, LABEL_SIZE, height);
        let at = (MARGIN + 8.0, top + height / 2.0);
        scene.text(Text { color: INK, ..Text::new(label, at, LABEL_SIZE, Anchor::Middle).upright() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scale: Scale, expected: &[&str]) {
        let names: Vec<String> = scale.ticks().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn ticks_are_round_numbers() {
        check(Scale::exact(0.0, 1.0), &["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        check(Scale::exact(0.05, 0.5), &["0.1", "0.2", "0.3", "0.4", "0.5"]);
        check(Scale::around(41.3, 74.7), &["40", "50", "60", "70", "80"]);
        check(Scale::exact(-5.1e6, 10.0), &["−5e6", "−4e6", "−3e6", "−2e6", "−1e6", "0"]);
        check(Scale::exact(-7e-6, 3e-6), &["−6e−6", "−4e−6", "−2e−6", "0", "2e−6"]);
        check(Scale::exact(3.0, 3.0), &["2.6", "2.8", "3.0", "3.2", "3.4"]);
    }

    #[test]
    fn any_finite_range_has_a_few_ticks() {
        let values = [-f64::MAX, -1e300, -1.0, -1e-300, 0.0, 1e-300, 0.3, 1e16, f64::MAX];
        for (idx, &low) in values.iter().enumerate() {
            for &high in &values[idx..] {
                for scale in [Scale::exact(low, high), Scale::around(low, high)] {
                    let ticks = scale.ticks();
                    assert!((1..=20).contains(&ticks.len()), "{low} {high} {ticks:?}");
                    assert!(ticks.iter().all(|(value, _)| value.is_finite()), "{low} {high}");
                    assert!(scale.share(low) <= scale.share(high), "{low} {high}");
                }
            }
        }
    }
}
