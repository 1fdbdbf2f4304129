//! The letters of the PNG, and how wide a text is in both files.
//!
//! A subset of Noto Sans (`fonts/README.md`); a letter that it does not have is drawn as a box.

use ttf_parser::{Face, GlyphId, OutlineBuilder};

static REGULAR: &[u8] = include_bytes!("../../fonts/NotoSans-Regular.subset.ttf");
static BOLD: &[u8] = include_bytes!("../../fonts/NotoSans-Bold.subset.ttf");

/// What a viewer of the SVG may use; the first one that it has.
pub const FAMILY: &str = "'Noto Sans', 'Open Sans', 'Helvetica Neue', Arial, sans-serif";

/// Both weights.
pub struct Fonts {
    regular: Face<'static>,
    bold: Face<'static>,
}

impl Fonts {
    pub fn new() -> Self {
        let face = |bytes| Face::parse(bytes, 0).expect("the fonts of the program are sound");
        Fonts { regular: face(REGULAR), bold: face(BOLD) }
    }

    /// The width of a text, for letters of `size`.
    pub fn width(&self, text: &str, size: f64, bold: bool) -> f64 {
        let face = self.face(bold);
        let units: f64 = text.chars().map(|letter| advance(face, glyph(face, letter))).sum();
        units * size / f64::from(face.units_per_em())
    }

    /// Gives the outline of each letter to `builder`, told first where the letter begins, in units of the font;
    /// `units_per_em` of them are `size`.
    pub fn outline<B: OutlineBuilder>(
        &self,
        text: &str,
        bold: bool,
        builder: &mut B,
        mut begin: impl FnMut(&mut B, f64),
    ) {
        let face = self.face(bold);
        let mut x = 0.0;
        for letter in text.chars() {
            let glyph = glyph(face, letter);
            begin(builder, x);
            face.outline_glyph(glyph, builder);
            x += advance(face, glyph);
        }
    }

    pub fn units_per_em(&self, bold: bool) -> f64 {
        f64::from(self.face(bold).units_per_em())
    }

    fn face(&self, bold: bool) -> &Face<'static> {
        if bold { &self.bold } else { &self.regular }
    }
}

fn glyph(face: &Face<'_>, letter: char) -> GlyphId {
    face.glyph_index(letter).unwrap_or(GlyphId(0))
}

fn advance(face: &Face<'_>, glyph: GlyphId) -> f64 {
    f64::from(face.glyph_hor_advance(glyph).unwrap_or(0))
}
