//! Scripts that are written without spaces between words, and the smallest units in which their text is read.
//!
//! A *cluster* is what no word of such a script begins or ends inside of: a Han character; a kana with the small kana and the
//! length mark after it; a Thai or Lao consonant with the vowels and tones around it; a Khmer consonant with all that is
//! stacked under it; a Burmese syllable. By rules on single characters instead of the dictionaries of ICU (`icu_segmenter`
//! has 5 MB of them): wherever a slot of raw text begins or ends, a cluster does, so that training and use see the same
//! units; what a dictionary would cut depends on the text around it.

/// The scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    /// Chinese characters and kana.
    Han,
    /// Thai and Lao.
    Thai,
    Burmese,
    Khmer,
}

/// The script of a character, if it is one without spaces. Digits of these scripts are numbers like all others.
fn script(c: char) -> Option<Script> {
    match c {
        '\0'..'\u{e01}' => None,
        '\u{3005}'..='\u{3007}' => Some(Script::Han),
        c if c.is_numeric() => None,
        '\u{e01}'..='\u{eff}' => Some(Script::Thai),
        '\u{1000}'..='\u{109f}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' => Some(Script::Burmese),
        '\u{1780}'..='\u{17ff}' => Some(Script::Khmer),
        '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' => Some(Script::Han),
        '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' => Some(Script::Han),
        '\u{20000}'..='\u{3ffff}' => Some(Script::Han),
        _ => None,
    }
}

/// Whether a character is of a script without spaces.
pub(crate) fn is_unspaced(c: char) -> bool {
    script(c).is_some()
}

/// Whether a cluster begins with `c`, which stands in a word after `before`. `rest` is what follows.
///
/// Between two characters of scripts with spaces none does.
pub(crate) fn begins(before: char, c: char, rest: &str) -> bool {
    let (Some(script), before_script) = (script(c), script(before)) else { return is_unspaced(before) };
    if before_script != Some(script) {
        return true;
    }
    let goes_with_before = match script {
        Script::Han => is_small_kana(c),
        Script::Thai => is_leading_vowel(before) || is_thai_sign(c),
        Script::Khmer => is_stacker(before) || matches!(c, '\u{17b4}'..='\u{17d3}' | '\u{17dd}'),
        Script::Burmese => {
            let closes_syllable = rest.starts_with(['\u{1039}', '\u{103a}']);
            is_stacker(before) || is_burmese_sign(c) || closes_syllable
        }
    };
    !goes_with_before
}

/// A sign that puts the consonant after it under the one before, in Khmer and Burmese.
pub(super) fn is_stacker(c: char) -> bool {
    matches!(c, '\u{17d2}' | '\u{1039}')
}

/// Whether text has a space between two words: not where a cluster begins.
pub(crate) fn space_between(before: &str, word: &str) -> bool {
    let mut word = word.chars();
    let (Some(before), Some(c)) = (before.chars().next_back(), word.next()) else { return true };
    !begins(before, c, word.as_str())
}

/// Words as they stand in text.
pub(crate) fn join<S: AsRef<str>>(words: &[S]) -> String {
    let mut text = String::new();
    for word in words.iter().map(AsRef::as_ref) {
        if !text.is_empty() && space_between(&text, word) {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}

/// Small kana but those that count months (`ヵ`, `ヶ`), marks of length, voice and repetition.
fn is_small_kana(c: char) -> bool {
    matches!(
        c,
        'ぁ' | 'ぃ' | 'ぅ' | 'ぇ' | 'ぉ' | 'っ' | 'ゃ' | 'ゅ' | 'ょ' | 'ゎ' | '\u{3099}'..='\u{309e}'
            | 'ァ' | 'ィ' | 'ゥ' | 'ェ' | 'ォ' | 'ッ' | 'ャ' | 'ュ' | 'ョ' | 'ヮ' | '\u{30fc}'..='\u{30fe}'
            | '々' | '\u{31f0}'..='\u{31ff}' | '\u{ff67}'..='\u{ff70}' | '\u{ff9e}' | '\u{ff9f}'
    )
}

/// A vowel that is written before its consonant.
fn is_leading_vowel(c: char) -> bool {
    matches!(c, '\u{e40}'..='\u{e44}' | '\u{ec0}'..='\u{ec4}')
}

/// A vowel after, above or below its consonant, or a tone.
fn is_thai_sign(c: char) -> bool {
    matches!(c, '\u{e30}'..='\u{e3a}' | '\u{e45}' | '\u{e47}'..='\u{e4e}')
        || matches!(c, '\u{eb0}'..='\u{ebc}' | '\u{ec8}'..='\u{ece}')
}

fn is_burmese_sign(c: char) -> bool {
    matches!(c, '\u{102b}'..='\u{103e}' | '\u{1056}'..='\u{1059}' | '\u{105e}'..='\u{1060}')
        || matches!(c, '\u{1062}'..='\u{1064}' | '\u{1067}'..='\u{106d}' | '\u{1071}'..='\u{1074}')
        || matches!(c, '\u{1082}'..='\u{108d}' | '\u{108f}' | '\u{109a}'..='\u{109d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` has bars between clusters.
    fn check(expected: &str) {
        let text = expected.replace('|', "");
        let mut found = String::new();
        for (at, c) in text.char_indices() {
            if found.chars().next_back().is_some_and(|before| begins(before, c, &text[at + c.len_utf8()..])) {
                found.push('|');
            }
            found.push(c);
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn clusters_of_each_script() {
        check("明|天|早|上|7|点");
        check("明|日|の|きょ|う|と|の|サッ|カー|を|見|る");
        check("人々|は|一|ヶ|月");
        check("ตั้|ง|เว|ลา|7|โม|ง");
        check("๑๒|โม|ง");
        check("ຕັ້|ງ|ໂມ|ງ");
        check("ភ្នំ|ពេ|ញ");
        check("မြန်|မာ|နိုင်|ငံ");
        check("T|シャ|ツ");
        check("weather");
        check("날씨");
        check("погода");
    }

    #[test]
    fn words_as_they_stand_in_text() {
        for (words, text) in [
            ("wake me", "wake me"),
            ("明日 の 天気", "明日の天気"),
            ("7 時 に spotify を", "7時にspotifyを"),
            ("", ""),
        ] {
            assert_eq!(join(&words.split(' ').collect::<Vec<_>>()), text);
        }
    }
}
