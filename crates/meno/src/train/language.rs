//! Whether a corpus is English, since some of what a model may use is for English only (`docs/languages.md`).
//!
//! The table of English words says how frequent each is. Of the words of English corpora more than half are frequent ones,
//! whatever the corpus is about; of those of other languages less than a quarter, though the table has many of their words.

use crate::corpus::Corpus;
use crate::features::Vectors;
use crate::{Error, Result};

/// From this on a word of the table is frequent: some 1,500 are.
const FREQUENT: u8 = 160;
/// The share of frequent words that makes a corpus English.
const ENGLISH_SHARE: f64 = 0.4;
/// Fewer words than these show nothing.
const MIN_WORDS: usize = 30;

/// The code (BCP 47) of a language that nobody stated and that is not English.
pub const UNDETERMINED: &str = "und";

/// The language of a corpus by its code (BCP 47), if it is not English: the one that is stated, or else what its words show.
pub fn language(corpus: &Corpus, stated: Option<&str>) -> Result<Option<String>> {
    match stated {
        Some(code) => {
            let code = checked(code)?;
            Ok((code.split('-').next() != Some("en")).then_some(code))
        }
        None => Ok((!looks_english(corpus)).then(|| UNDETERMINED.to_owned())),
    }
}

fn checked(code: &str) -> Result<String> {
    let mut parts = code.split('-');
    let is_language =
        |part: &str| (2..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphabetic());
    let is_rest =
        |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric());
    match parts.next().is_some_and(is_language) && parts.all(is_rest) {
        true => Ok(code.to_ascii_lowercase()),
        false => Err(Error::Setting {
            problem: format!("`{code}` is no code of a language"),
            hint: "codes are those of BCP 47, such as en, es or zh-Hans".to_owned(),
        }),
    }
}

/// Where too little is said, or the table is not there, what is not shown is assumed: English.
fn looks_english(corpus: &Corpus) -> bool {
    let Some(vectors) = Vectors::built_in() else { return true };
    let is_frequent =
        |word: &str| vectors.frequency(&word.to_lowercase()).is_some_and(|frequency| frequency >= FREQUENT);
    let words = corpus.utterances.iter().flat_map(|utterance| &utterance.words);
    let (mut n_words, mut n_frequent) = (0, 0);
    for word in words.filter(|word| word.contains(char::is_alphabetic)) {
        n_words += 1;
        n_frequent += usize::from(is_frequent(word));
    }
    n_words < MIN_WORDS || n_frequent as f64 >= ENGLISH_SHARE * n_words as f64
}

#[cfg(all(test, feature = "english"))]
mod tests {
    use super::*;
    use crate::utterance::Utterance;

    fn corpus(text: &str) -> Corpus {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        let utterances = text.lines().map(|line| Utterance { words: words(line), ..Utterance::default() });
        Corpus { utterances: utterances.collect(), ..Corpus::default() }
    }

    const ENGLISH: &str = "Wake me up at half past six\nwhat is the weather like in Oslo on Friday
add milk and eggs to my shopping list\ndelete all my alarms\nplay some jazz in the kitchen\ntell Anna I am late";
    const SPANISH: &str = "despiértame a las seis y media\nqué tiempo hace en Oslo el viernes
añade leche y huevos a mi lista de la compra\ncancela mi alarma de mañana\npon una alarma para las siete";
    const GERMAN: &str = "weck mich bitte um halb sieben\nwie wird das Wetter am Freitag in Oslo
setz Milch und Eier auf meine Einkaufsliste\nstell einen Wecker auf sieben Uhr\nwird es heute Nachmittag regnen";
    const CHINESE: &str = "明 天 早 上 七 点 叫 醒 我\n北 京 明 天 的 天 气 怎 么 样\n把 牛 奶 加 到 购 物 清 单\n今 天 下 雨 吗";

    #[test]
    fn english_is_told_from_other_languages() {
        let found = |text: &str| language(&corpus(text), None).unwrap();
        assert_eq!(found(ENGLISH), None);
        for other in [SPANISH, GERMAN, CHINESE] {
            assert_eq!(found(other).as_deref(), Some(UNDETERMINED), "{other}");
        }
        // Too little to tell.
        assert_eq!(found("cancela mi alarma de mañana"), None);
    }

    #[test]
    fn what_is_stated_goes_before_what_is_found() {
        let stated = |code: &str| language(&corpus(SPANISH), Some(code));
        assert_eq!(stated("en").unwrap(), None);
        assert_eq!(stated("en-GB").unwrap(), None);
        assert_eq!(stated("zh-Hans").unwrap().as_deref(), Some("zh-hans"));
        for wrong in ["", "e", "english", "es_ES", "es-", "日本"] {
            assert!(stated(wrong).is_err(), "{wrong}");
        }
    }
}
