//! Cases as a table of text, style and tokens; then what holds for any text; then real corpora.

#[path = "../../../../tests/left_out.rs"]
pub(crate) mod left_out;

use std::path::{Path, PathBuf};

use left_out::left_out;
use proptest::prelude::*;

use super::*;

/// Words of corpora with different habits; an utterance a line.
const ATIS: &str = "what's the fare to st. louis
    i'd like a flight after 530 pm
    flights to washington dc arriving before 9 am
    round trip fares under 1000 dollars";
const SNIPS: &str = "what s the weather in top-rated places
    i don t like betsy s playlist
    add the r&b song to folk – jigs & reels
    a movie at 06:50 am or 7 p m
    she-devil and k-pop on 1/20/2023 at 13:19 pm
    play ii: and iii: and iv: and v: and vi: and vii: and viii: and ix: now";
const TOKENIZED: &str = "Do n't book John 's table , please .
    It costs $ 5 , does it ?
    Come at 5 : 30 pm .";
const CASED: &str = "Play Gimme Shelter by the Rolling Stones
    Book a table at McDonald's for 5pm";
const UPPER: &str = "SHOW ME FLIGHTS FROM BOSTON";

/// Cut at spaces, and at the edges of slots.
const AT_SPACES: &str = "how are you?
    who is it? what is that? is it me? can i stay? do you know? why not? may i? in rome ?
    hello. thanks. bye. good. fine. okay. sure. yes. in rome .";

fn fitted(corpus: &str) -> Normalizer {
    let utterances: Vec<Vec<&str>> = corpus.lines().map(|line| line.split_whitespace().collect()).collect();
    Normalizer::fit(utterances.iter().map(Vec::as_slice))
}

/// `expected` are words with a space between them; a word that differs from its text in more than case is
/// `text=word`.
fn check(corpus: &str, text: &str, expected: &str) {
    let tokens = fitted(corpus).read(text);
    let found: Vec<String> = tokens
        .iter()
        .map(|token| match &text[token.start..token.end] {
            slice if slice.eq_ignore_ascii_case(token.word) => token.word.to_owned(),
            slice => format!("{slice}={}", token.word),
        })
        .collect();
    assert_eq!(found.join(" "), expected, "{text:?}");
}

#[test]
fn offsets_are_bytes_of_the_original() {
    let tokens = fitted(ATIS).read("  “Où” est\tSt. Louis?");
    let found: Vec<_> = tokens.iter().map(|token| (token.word, token.start, token.end)).collect();
    assert_eq!(found, [("où", 5, 8), ("est", 12, 15), ("st.", 16, 19), ("louis", 20, 25)]);
}

#[test]
fn lower_case_without_marks() {
    check(ATIS, "Play 'Gimme Shelter', please!", "play gimme shelter please");
    check(ATIS, "What’s the fare?", "What’s=what's the fare");
    check(ATIS, "AT&T (O'Hare) \"St. Louis\".", "at&t o'hare st. louis");
    check(ATIS, "to St., or st.?", "to st. or st.");
    check(ATIS, "5:30pm, 9 a.m. or 10p.m.", "5:30=530 pm 9 a.m=am or 10 p.m=pm");
    check(ATIS, "Washington D.C. for $1,000", "washington D.C=dc for $1,000=1000");
    check(ATIS, "a round-trip — cheap...", "a round trip cheap");
    check(ATIS, "wait,what? 3.5 ... - !", "wait what 3.5");
    check(ATIS, "U.S.A. travelers' 'til", "U.S.A=usa travelers til");
    check(ATIS, "50% of $ 5 or €7", "50%=50 of $ 5 or €7=7");
}

#[test]
fn apostrophes_as_spaces() {
    check(SNIPS, "I don't like Betsy's playlist", "i don t like betsy s playlist");
    check(SNIPS, "the top-rated She–Devil: now", "the top-rated She–Devil:=she-devil: now");
    check(SNIPS, "folk – jigs & reels, R&B …", "folk – jigs & reels r&b …");
    check(SNIPS, "thanks: :-) / ...", "thanks: /");
    check(SNIPS, "at 7 p.m. or 06:50 on 2/7/2021!", "at 7 p m or 06:50 on 2/7/2021");
}

#[test]
fn marks_as_words() {
    check(TOKENIZED, "Don't book John’s table, please.", "Do n't book John ’s='s table , please .");
    check(TOKENIZED, "Is it $5?! At 5:30 o'clock", "Is it $ 5 ? At 5 : 30 o'clock");
}

#[test]
fn marks_at_the_words_that_the_corpus_has_with_them() {
    check(AT_SPACES, "how are you?", "how are you?");
    check(AT_SPACES, "is it in oslo?", "is it in oslo ?");
    check(AT_SPACES, "i stay in oslo. Sure.", "i stay in oslo . sure.");
    check(AT_SPACES, "in oslo!", "in oslo");
}

#[test]
fn case_of_the_corpus() {
    check(CASED, "Book McDonald's at 5pm, please", "Book McDonald's at 5pm please");
    check(UPPER, "Show me flights!", "SHOW ME FLIGHTS");
    check("", "Hello, World", "hello world");
}

#[test]
fn unicode() {
    check(ATIS, "cafe\u{301}, CAFÉ!", "cafe\u{301} CAFÉ=café");
    check(ATIS, "jazz🎵👩‍👩‍👧 now", "jazz 🎵👩‍👩‍👧 now");
    check(ATIS, "a\u{a0}b\u{200b}c\u{3000}d\u{feff}", "a b c d");
    check(ATIS, "co\u{ad}op", "co\u{ad}op=coop");
    check(ATIS, "東京、大阪。 ｈｉ！", "東京 大阪 ｈｉ=hi");
    check(ATIS, "हिन्दी है।", "हिन्दी है");
    check(ATIS, "!\u{301} \u{301}", "\u{301}");
    check(ATIS, "\0 \u{7f} \u{feff}", "");
}

/// Cut by others, as their corpora are.
const JAPANESE: &str = "明日 の 天気 は
    明日 7 時 に アラーム を 設定 し て
    東京 の 明日 の 天気
    京都 に 行く 日";
const THAI: &str = "ตั้ง เวลา ปลุก 7 โมง
    พรุ่งนี้ อากาศ เป็น อย่างไร
    ปลุก ฉัน พรุ่งนี้";
const CHARACTERS: &str = "明 天 早 上 七 点 叫 我\n    北 京 的 天 气";

#[test]
fn words_of_the_corpus_in_text_without_spaces() {
    check(JAPANESE, "東京の明日の天気は？", "東京 の 明日 の 天気 は");
    // `日` and `明` alone are rarer than `明日`; a name that nobody knows stays whole.
    check(JAPANESE, "明日トトロに行く日", "明日 トトロ に 行く 日");
    check(JAPANESE, "７時にSpotifyを設定して", "７=7 時 に spotify を 設定 し て");
    check(JAPANESE, "東京 の 天気", "東京 の 天気");
    check(THAI, "ตั้งเวลาปลุก 9โมง", "ตั้ง เวลา ปลุก 9 โมง");
    check(THAI, "พรุ่งนี้ปลุกสมชาย", "พรุ่งนี้ ปลุก สมชาย");
    check(JAPANESE, "明日.東京,京都", "明日 東京 京都");
    check(CHARACTERS, "明天张伟来北京", "明 天 张 伟 来 北 京");
    // Text with spaces is read as it always was.
    check(JAPANESE, "It's 5:30, jazz🎵!", "it's 5:30 jazz 🎵");
}

#[test]
fn a_corpus_says_nothing_of_scripts_it_has_not() {
    for corpus in [
        ATIS,
        SNIPS,
        TOKENIZED,
        CASED,
        UPPER,
        "",
        "play 東京 or any other song that there is in this long list of mine by the band with the odd name",
    ] {
        let json = serde_json::to_string(&fitted(corpus)).expect("settings are plain data");
        assert!(!json.contains("unspaced"), "{corpus}: {json}");
    }
    for corpus in [JAPANESE, THAI, CHARACTERS] {
        let json = serde_json::to_string(&fitted(corpus)).expect("settings are plain data");
        assert!(json.contains("unspaced"), "{corpus}: {json}");
    }
}

#[test]
fn words_are_left_alone() {
    let text = " What's  up? 12\tSt. ";
    let tokens = fitted(ATIS).words(text);
    let found: Vec<_> = tokens.iter().map(|token| (token.word, token.start, token.end)).collect();
    assert_eq!(found, [("What's", 1, 7), ("up?", 9, 12), ("12", 13, 15), ("St.", 16, 19)]);
}

#[test]
fn numbers_are_one_word_to_the_vocabulary() {
    let normalizer = fitted(ATIS);
    assert_eq!(normalizer.read("530").get(0).map(|token| token.word), Some("530"));
    for (word, form) in [("530", "0"), ("0", "0"), ("5:30", "5:30"), ("dc10", "dc10"), ("", "")] {
        assert_eq!(normalizer.vocabulary_form(word), form);
        assert_eq!(normalizer.clone().with_digits(false).vocabulary_form(word), word);
    }
}

#[test]
fn settings_survive_json() {
    for corpus in [ATIS, SNIPS, TOKENIZED, CASED, UPPER, JAPANESE, THAI, CHARACTERS, ""] {
        let normalizer = fitted(corpus);
        let json = serde_json::to_string(&normalizer).expect("settings are plain data");
        assert_eq!(serde_json::from_str::<Normalizer>(&json).expect("reads back"), normalizer);
    }
    assert_eq!(serde_json::from_str::<Normalizer>("{}").expect("all have defaults"), Normalizer::default());
}

#[test]
fn long_lines_take_linear_time() {
    let japanese = fitted(JAPANESE);
    for unit in ["明日", "ト", "ー", "明a", "เ", "า"] {
        let text = unit.repeat(1_000_000 / unit.len());
        assert!(japanese.read(&text).iter().all(|token| token.end <= text.len()), "{unit}");
    }
    let normalizer = fitted(SNIPS);
    for unit in ["a", "'", "!", "a.", "a'", "5,", "\u{301}", "!\u{301}", "🎵", "st.", "A:", "- ", "(a)"] {
        let text = unit.repeat(1_000_000 / unit.len());
        let tokens = normalizer.read(&text);
        assert!(tokens.iter().all(|token| token.end <= text.len()), "{unit}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "\\PC{0,6}",
        "[a-zA-Z0-9]{0,4}",
        "[ .,:;!?'’\"$%/\\-–—…&()*`]{0,3}",
        "[0-9]{1,2}([:.,/][0-9]{2})?( ?[ap]\\.?m\\.?)?",
        "[nN]['’][tT]|['’](s|ll|re)|st\\.|[uU]\\.[sS]\\.",
        "[明日の東京をっー々เวลาตั้ง\u{17d2}\u{1039}\u{103a}က]{1,5}",
        "[\u{300}-\u{303}\u{200b}-\u{200f}\u{ad}\u{a0}\u{feff}\u{1f3b5}\u{20ac}\u{ff21}İßſKΣ]{1,3}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn any_corpus() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![ATIS, SNIPS, TOKENIZED, CASED, UPPER, JAPANESE, THAI, CHARACTERS, ""])
}

proptest! {
    #[test]
    fn offsets_are_sound(text in any_text(), corpus in any_corpus()) {
        let normalizer = fitted(corpus);
        for tokens in [normalizer.read(&text), normalizer.words(&text)] {
            let mut last = 0;
            for token in tokens.iter() {
                prop_assert!(last <= token.start && token.start < token.end && token.end <= text.len());
                prop_assert!(text.is_char_boundary(token.start) && text.is_char_boundary(token.end));
                prop_assert!(!token.word.is_empty());
                last = token.end;
            }
        }
    }

    #[test]
    fn the_text_of_a_token_is_its_word(text in any_text(), corpus in any_corpus()) {
        let normalizer = fitted(corpus);
        for token in normalizer.read(&text).iter() {
            let slice = &text[token.start..token.end];
            let again = normalizer.read(slice);
            let words: Vec<&str> = again.iter().map(|token| token.word).collect();
            // A mark that is a word only beside others (`'s`, `:`) may not be one when alone.
            let is_mark = slice.starts_with(|c| matches!(chars::class(c), chars::Class::Mark(_)));
            prop_assert!(is_mark || words == [token.word], "{:?}: {:?} is not {:?}", slice, words, token.word);
        }
    }

    #[test]
    fn words_of_the_corpus_come_back(
        corpus in prop::collection::vec(
            prop::collection::vec("[a-zA-Z0-9.,:'’$/é\u{301}🎵\u{a0}-]{1,6}|[明日のーเวลา7a]{1,4}", 0..6),
            0..6,
        ),
    ) {
        let normalizer = Normalizer::fit(corpus.iter().map(Vec::as_slice));
        for utterance in &corpus {
            let text = utterance.join(" ");
            prop_assert_eq!(normalizer.read(&text).iter().map(|t| t.word.to_owned()).collect::<Vec<_>>(), utterance.clone());
        }
    }
}

/// Where the corpora for development are, if anywhere.
fn data() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::env::var_os("MENO_DATA").map_or(default, PathBuf::from)
}

#[test]
fn real_corpora_come_back() {
    let data = data();
    if !data.is_dir() {
        return left_out("ATIS and Snips word for word", &format!("{} is not there", data.display()));
    }
    for corpus in ["atis", "snips"] {
        let read = |part: &str| {
            std::fs::read_to_string(data.join(corpus).join(part).join("seq.in"))
                .expect("the corpus has this part")
        };
        let train = read("train");
        let normalizer = fitted(&train);
        for part in ["train", "valid", "test", "ood-dev", "ood-test"] {
            let text = read(part);
            let changed: Vec<&str> = text
                .lines()
                .filter(|line| {
                    !normalizer.read(line).iter().map(|token| token.word).eq(line.split_whitespace())
                })
                .collect();
            let allowed = if part == "train" { 0 } else { text.lines().count() / 1000 };
            assert!(changed.len() <= allowed, "{corpus}/{part}: {changed:?}");
        }
    }
}
