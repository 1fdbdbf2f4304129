//! The pieces of words against the Python package `tokenizers`; `scripts/goldens/pieces_goldens.py` made the files.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::text::tests::left_out::left_out;

const VOCABULARY: &str = include_str!("vocabulary.txt");
const WORDS: &str = include_str!("words.txt");
const MINILM: &str = include_str!("minilm.txt");
const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const BARE: PieceSettings = PieceSettings {
    clean_text: true,
    split_ideographs: true,
    strip_accents: true,
    lowercase: true,
    max_characters: 100,
    unknown: 1,
    cls: 2,
    sep: 3,
};

fn small(settings: PieceSettings) -> WordPieces {
    WordPieces::new(VOCABULARY.trim_end_matches('\n').to_owned(), settings).unwrap()
}

fn pieces(vocabulary: &WordPieces, word: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    vocabulary.pieces(word, &mut ids);
    ids
}

/// Two digits of base 64 for each piece.
fn decode(code: &str) -> Vec<u32> {
    let digit = |byte: u8| DIGITS.bytes().position(|digit| digit == byte).unwrap() as u32;
    code.as_bytes().chunks_exact(2).map(|pair| 64 * digit(pair[0]) + digit(pair[1])).collect()
}

/// A word and its pieces.
type Cut = (String, Vec<u32>);

/// The words of the file with their pieces, by how they are cut.
fn goldens() -> Vec<(PieceSettings, Vec<Cut>)> {
    let mut sections = Vec::new();
    for line in WORDS.lines() {
        if let Some(bits) = line.strip_prefix("# ") {
            let on: Vec<bool> = bits.chars().map(|bit| bit == '1').collect();
            let settings = PieceSettings {
                clean_text: on[0],
                split_ideographs: on[1],
                strip_accents: on[2],
                lowercase: on[3],
                ..BARE
            };
            sections.push((settings, Vec::new()));
            continue;
        }
        let (word, code) = line.rsplit_once('\t').unwrap();
        let words = &mut sections.last_mut().unwrap().1;
        words.push((serde_json::from_str(word).unwrap(), decode(code)));
    }
    sections
}

#[test]
fn words_of_many_scripts_are_cut_as_tokenizers_cuts_them() {
    let sections = goldens();
    assert_eq!(sections[0].1.len(), 10_000);
    assert_eq!(sections.len(), 6);
    for (settings, words) in sections {
        let vocabulary = small(settings.clone());
        for (word, expected) in words {
            assert_eq!(pieces(&vocabulary, &word), expected, "{word:?} {settings:?}");
        }
    }
}

/// Where the weights were fetched.
fn minilm() -> Option<PathBuf> {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/minilm");
    let folder = std::env::var_os("MENO_MINILM").map_or(fetched, PathBuf::from);
    folder.join("vocab.txt").exists().then_some(folder)
}

#[test]
fn the_vocabulary_of_minilm_gives_the_ids_of_tokenizers() {
    let Some(folder) = minilm() else {
        let why = "neither $MENO_MINILM nor target/minilm is there (scripts/get_minilm.sh target/minilm)";
        return left_out("the vocabulary of MiniLM", why);
    };
    let names = std::fs::read_to_string(folder.join("vocab.txt")).unwrap();
    let settings = PieceSettings { unknown: 100, cls: 101, sep: 102, ..BARE };
    let vocabulary = WordPieces::new(names.trim_end_matches('\n').to_owned(), settings).unwrap();
    assert_eq!(vocabulary.len(), 30522);
    let words: Vec<String> = goldens().swap_remove(0).1.into_iter().map(|(word, _)| word).collect();
    for (words, expected) in words.chunks(100).zip(MINILM.lines()) {
        let bytes = words.iter().flat_map(|word| pieces(&vocabulary, word)).flat_map(u32::to_le_bytes);
        let key = bytes.fold(0x811c_9dc5_u32, |key, byte| (key ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        assert_eq!(format!("{key:08x}"), expected, "{words:?}");
    }
}

#[test]
fn cut_by_hand() {
    let names =
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "##affa", "a", "##a", "[", "]", "cls"];
    let vocabulary = WordPieces::new(names.join("\n"), BARE).unwrap();
    let cut = |word: &str| -> Vec<&'static str> {
        pieces(&vocabulary, word).into_iter().map(|id| names[id as usize]).collect()
    };
    // The longest piece is taken, though it leaves a rest that is none.
    assert_eq!(cut("unaffable"), ["[UNK]"]);
    assert_eq!(cut("unaffaable"), ["un", "##affa", "##able"]);
    assert_eq!(cut("ÜNAFFAABLE"), ["un", "##affa", "##able"]);
    assert_eq!(cut("un able a"), ["un", "[UNK]", "a"]);
    assert_eq!(cut("[CLS]"), ["[", "cls", "]"]);
    assert_eq!(cut("\u{200b}\u{7}"), ["[UNK]"]);
    assert_eq!(cut(&"a".repeat(100)), ["a", "##a", "##a", "##a", "##a", "##a", "##a", "##a"]);
    assert_eq!(cut(&"a".repeat(101)), ["[UNK]"]);
}

#[test]
fn of_two_pieces_that_are_the_same_the_later_counts() {
    let vocabulary = WordPieces::new("a\nb\n\na\n".to_owned(), PieceSettings { unknown: 1, ..BARE }).unwrap();
    assert_eq!((vocabulary.len(), pieces(&vocabulary, "a")), (5, vec![3]));
}

#[test]
fn special_pieces_must_be_there() {
    let problem = WordPieces::new("a\nb\nc".to_owned(), BARE).unwrap_err();
    assert_eq!(problem, "the piece \"sep\" is 3, but there are only 3");
}

#[test]
fn what_is_stored_comes_back() {
    let vocabulary = small(PieceSettings { lowercase: false, ..BARE });
    let settings = serde_json::from_str(&serde_json::to_string(vocabulary.settings()).unwrap()).unwrap();
    assert_eq!(WordPieces::new(vocabulary.names().to_owned(), settings).unwrap(), vocabulary);
}

proptest! {
    #[test]
    fn any_text_has_pieces_of_the_vocabulary(text in "\\PC*|.*", bits in 0..16_u8) {
        let on = |bit: u8| bits >> bit & 1 == 1;
        let settings = PieceSettings {
            clean_text: on(0), split_ideographs: on(1), strip_accents: on(2), lowercase: on(3), ..BARE
        };
        let vocabulary = small(settings);
        let ids = pieces(&vocabulary, &text);
        prop_assert!((1..=MAX_PIECES).contains(&ids.len()));
        prop_assert!(ids.iter().all(|&id| (id as usize) < vocabulary.len()));
    }

    #[test]
    fn any_vocabulary_can_be_searched(names in proptest::collection::vec("#{0,2}[ab]{0,3}", 4..40), word in "[ab]{1,12}") {
        let vocabulary = WordPieces::new(names.join("\n"), BARE).unwrap();
        let (mut expected, mut at) = (Vec::new(), 0);
        while at < word.len() {
            let begin = if at == 0 { "" } else { CONTINUED };
            let fits = |end: &usize| names.iter().rposition(|name| *name == format!("{begin}{}", &word[at..*end]));
            let Some(end) = (at + 1..=word.len()).rev().find(|end| fits(end).is_some()) else {
                expected = vec![1];
                break;
            };
            expected.push(fits(&end).unwrap() as u32);
            at = end;
        }
        expected.truncate(MAX_PIECES);
        prop_assert_eq!(pieces(&vocabulary, &word), expected);
    }
}
