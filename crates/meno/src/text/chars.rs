//! What a character is to the tokenizer, and its plain form.
//!
//! By hand instead of Unicode's category tables: the standard library knows letters, digits and white space;
//! what matters of the rest are some forty marks and the blocks of symbols.

/// What a character is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A letter, a digit or a sign such as `&` that belongs to the word it is in.
    Word,
    /// Punctuation, treated as the ASCII mark named here.
    Mark(char),
    /// Separates words.
    Space,
    /// Emoji and the like: a word apart from the letters around it.
    Symbol,
    /// Accents, joiners and whatever else goes with the character before it.
    Extend,
    /// Not to be seen: soft hyphens, writing directions.
    Ignored,
}

/// The class of a character, in its plain form or not.
pub(crate) fn class(c: char) -> Class {
    match plain(c) {
        c if c.is_alphanumeric() => Class::Word,
        c @ ('.' | ',' | ';' | ':' | '!' | '?' | '\'' | '"' | '-' | '/' | '*' | '$' | '%') => Class::Mark(c),
        c @ ('(' | ')' | '[' | ']' | '{' | '}') => Class::Mark(c),
        '\u{200b}' => Class::Space,
        c if c.is_whitespace() || c.is_control() => Class::Space,
        c if c.is_ascii() => Class::Word,
        '\u{ad}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => Class::Ignored,
        '¢'..='¥' | '\u{20a0}'..='\u{20cf}' => Class::Mark('$'),
        '\u{200c}' | '\u{200d}' => Class::Extend,
        // Other marks never join two words: like `!`.
        '¡' | '§' | '¶' | '·' | '¿' | '\u{2014}'..='\u{205f}' | '\u{3001}'..='\u{3003}' => {
            Class::Mark('!')
        }
        '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{30fb}' => Class::Mark('!'),
        '¦' | '©' | '¬' | '®' | '°' | '±' | '×' | '÷' | '\u{2100}'..='\u{2bff}' => Class::Symbol,
        '\u{3004}'..='\u{3036}' | '\u{e000}'..='\u{f8ff}' | '\u{fffc}' | '\u{fffd}' => Class::Symbol,
        '\u{1f000}'..='\u{1faff}' => Class::Symbol,
        _ => Class::Extend,
    }
}

/// A number for the script of a letter, roughly: most have a block of 256 characters to themselves.
pub(crate) fn script(c: char) -> u32 {
    match c as u32 {
        0..=0x2ff | 0x1e00..=0x1eff | 0xff01..=0xff5e => 0,
        0x3000..=0x9fff | 0xf900..=0xfaff | 0xff66..=0xff9f | 0x20000..=0x3ffff => 0x30,
        0xac00..=0xd7ff | 0x1100..=0x11ff => 0x11,
        code => code >> 8,
    }
}

/// The mark that a word is.
pub(super) fn lone_mark(word: &str) -> Option<char> {
    let mut chars = word.chars();
    match (chars.next().map(class), chars.next()) {
        (Some(Class::Mark(mark)), None) => Some(mark),
        _ => None,
    }
}

/// Typographic quotes, dashes, full-width forms and other alphabets' full stops, commas and question marks as
/// ASCII; every other character itself.
pub(crate) fn plain(c: char) -> char {
    match c {
        '`' => '\'',
        c if c.is_ascii() => c,
        '´' | 'ʹ' | 'ʻ' | 'ʼ' | '\u{2018}'..='\u{201b}' | '′' => '\'',
        '«' | '»' | '\u{201c}'..='\u{201f}' | '″' => '"',
        '\u{2010}'..='\u{2013}' | '−' => '-',
        '。' | '۔' | '।' => '.',
        '、' | '،' => ',',
        '؛' => ';',
        '؟' => '?',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).expect("the range is that of ASCII"),
        _ => c,
    }
}
