//! The colours: a palette for things, ramps for numbers.

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Color(pub u8, pub u8, pub u8);

pub const WHITE: Color = Color(255, 255, 255);
pub const INK: Color = Color(0x22, 0x22, 0x22);
pub const SOFT_INK: Color = Color(0x55, 0x55, 0x55);
pub const GRID: Color = Color(0xe2, 0xe2, 0xe2);

/// Okabe and Ito's colours that are dark enough for lines on white.
pub const PALETTE: [Color; 6] = [
    Color(0x00, 0x72, 0xb2),
    Color(0xd5, 0x5e, 0x00),
    Color(0x00, 0x9e, 0x73),
    Color(0xcc, 0x79, 0xa7),
    Color(0xe6, 0x9f, 0x00),
    Color(0x56, 0xb4, 0xe9),
];

/// The colour of the n-th thing.
pub fn nth(idx: usize) -> Color {
    PALETTE[idx % PALETTE.len()]
}

/// From white through yellow, green and blue to nearly black (ColorBrewer YlGnBu): order is seen in lightness alone.
const SEQUENTIAL: [Color; 9] = [
    WHITE,
    Color(0xed, 0xf8, 0xb1),
    Color(0xc7, 0xe9, 0xb4),
    Color(0x7f, 0xcd, 0xbb),
    Color(0x41, 0xb6, 0xc4),
    Color(0x1d, 0x91, 0xc0),
    Color(0x22, 0x5e, 0xa8),
    Color(0x25, 0x34, 0x94),
    Color(0x08, 0x1d, 0x58),
];

/// From red through white to blue (ColorBrewer RdBu), for numbers on both sides of 0.
const DIVERGING: [Color; 9] = [
    Color(0xb2, 0x18, 0x2b),
    Color(0xd6, 0x60, 0x4d),
    Color(0xf4, 0xa5, 0x82),
    Color(0xfd, 0xdb, 0xc7),
    WHITE,
    Color(0xd1, 0xe5, 0xf0),
    Color(0x92, 0xc5, 0xde),
    Color(0x43, 0x93, 0xc3),
    Color(0x21, 0x66, 0xac),
];

/// The steps of a ramp: more could not be told apart, and each costs bytes. Even, so that the middle is one.
const LEVELS: f64 = 64.0;

/// Numbers to colours.
#[derive(Clone, Copy, Debug)]
pub struct Ramp {
    pub low: f64,
    pub high: f64,
    anchors: &'static [Color],
}

impl Ramp {
    /// From 0, which is white, to the largest number; with negative ones as far to the other side.
    pub fn over(values: impl Iterator<Item = f64> + Clone) -> Self {
        let largest = values.clone().map(f64::abs).fold(0.0, f64::max);
        let high = if largest > 0.0 { largest } else { 1.0 };
        if values.clone().any(|value| value < 0.0) {
            Ramp { low: -high, high, anchors: &DIVERGING }
        } else {
            Ramp { low: 0.0, high, anchors: &SEQUENTIAL }
        }
    }

    /// The colour of a number.
    pub fn color(&self, value: f64) -> Color {
        // Divided before subtracted: the range of the largest numbers is not a number.
        let share = (value / self.high - self.low / self.high) / (1.0 - self.low / self.high);
        let share = (share.clamp(0.0, 1.0) * LEVELS).round() / LEVELS;
        let place = share * (self.anchors.len() - 1) as f64;
        let idx = (place as usize).min(self.anchors.len() - 2);
        mix(self.anchors[idx], self.anchors[idx + 1], place - idx as f64)
    }
}

fn mix(from: Color, to: Color, share: f64) -> Color {
    let mix = |from: u8, to: u8| (f64::from(from) + share * (f64::from(to) - f64::from(from))).round() as u8;
    Color(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}
