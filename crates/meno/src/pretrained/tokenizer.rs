//! The vocabulary of a pretrained encoder, from `tokenizer.json`, or from `vocab.txt` with `tokenizer_config.json`.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{HINT_DAMAGED, HINT_FAMILY, read as read_file};
use crate::features::{CONTINUED, PieceSettings, WordPieces};
use crate::{Error, Result};

const CLS: &str = "[CLS]";
const SEP: &str = "[SEP]";
const UNKNOWN: &str = "[UNK]";
const MAX_CHARACTERS: usize = 100;

/// Reads the vocabulary of a folder.
pub(super) fn read(folder: &Path) -> Result<WordPieces> {
    let (json, text) = (folder.join("tokenizer.json"), folder.join("vocab.txt"));
    if json.exists() || !text.exists() { read_json(&json) } else { read_text(&text) }
}

/// Reads the vocabulary of a file.
#[cfg(feature = "onnx")]
pub(super) fn read_from(path: &Path) -> Result<WordPieces> {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    if is_json { read_json(path) } else { read_text(path) }
}

/// Whatever a file has of what may be several things; which of them its `type` says.
#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// What a tokenizer is made of.
#[derive(Deserialize)]
struct Kinds {
    normalizer: Option<Kind>,
    pre_tokenizer: Option<Kind>,
    model: Option<Kind>,
}

#[derive(Deserialize)]
struct Tokenizer {
    normalizer: BertNormalizer,
    model: WordPiece,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
}

#[derive(Deserialize)]
struct BertNormalizer {
    clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
}

#[derive(Deserialize)]
struct WordPiece {
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
    vocab: HashMap<String, u32>,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
}

fn read_json(path: &Path) -> Result<WordPieces> {
    let bytes = read_file(path)?;
    let kinds: Kinds = parse(path, &bytes)?;
    for (key, part, needed) in [
        ("model.type", kinds.model, "WordPiece"),
        ("normalizer.type", kinds.normalizer, "BertNormalizer"),
        ("pre_tokenizer.type", kinds.pre_tokenizer, "BertPreTokenizer"),
    ] {
        let kind = part.and_then(|part| part.kind);
        if kind.as_deref() != Some(needed) {
            let is = kind.map_or("missing".to_owned(), |kind| format!("{kind:?}"));
            return Err(Error::pretrained(path, format!("{key:?} is {is}, not {needed:?}"), HINT_FAMILY));
        }
    }
    let Tokenizer { normalizer, model, added_tokens } = parse(path, &bytes)?;
    if model.continuing_subword_prefix != CONTINUED {
        let problem = format!(
            "\"model.continuing_subword_prefix\" is {:?}, not {CONTINUED:?}",
            model.continuing_subword_prefix
        );
        return Err(Error::pretrained(path, problem, HINT_FAMILY));
    }
    let mut pieces: HashMap<u32, String> =
        added_tokens.into_iter().map(|added| (added.id, added.content)).collect();
    pieces.extend(model.vocab.into_iter().map(|(piece, id)| (id, piece)));
    let settings = PieceSettings {
        clean_text: normalizer.clean_text,
        split_ideographs: normalizer.handle_chinese_chars,
        strip_accents: normalizer.strip_accents.unwrap_or(normalizer.lowercase),
        lowercase: normalizer.lowercase,
        max_characters: model.max_input_chars_per_word,
        ..PLAIN
    };
    collect(path, in_order(path, pieces)?, &model.unk_token, settings)
}

/// As the family's first tokenizer was; the special pieces are not known yet.
const PLAIN: PieceSettings = PieceSettings {
    clean_text: true,
    split_ideographs: true,
    strip_accents: true,
    lowercase: true,
    max_characters: MAX_CHARACTERS,
    unknown: 0,
    cls: 0,
    sep: 0,
};

/// `tokenizer_config.json`, as far as it concerns `vocab.txt`.
#[derive(Default, Deserialize)]
struct TokenizerConfig {
    do_lower_case: Option<bool>,
    strip_accents: Option<bool>,
    tokenize_chinese_chars: Option<bool>,
}

fn read_text(path: &Path) -> Result<WordPieces> {
    let bytes = read_file(path)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::pretrained(path, "it is not text in UTF-8", HINT_DAMAGED))?;
    let config_path = path.with_file_name("tokenizer_config.json");
    let config: TokenizerConfig = match config_path.exists() {
        true => parse(&config_path, &read_file(&config_path)?)?,
        false => TokenizerConfig::default(),
    };
    let lowercase = config.do_lower_case.unwrap_or(true);
    let settings = PieceSettings {
        split_ideographs: config.tokenize_chinese_chars.unwrap_or(true),
        strip_accents: config.strip_accents.unwrap_or(lowercase),
        lowercase,
        ..PLAIN
    };
    let pieces = text.lines().map(|line| line.trim_end().to_owned()).collect();
    collect(path, pieces, UNKNOWN, settings)
}

/// The pieces of ids from 0 on.
fn in_order(path: &Path, mut pieces: HashMap<u32, String>) -> Result<Vec<String>> {
    let n = pieces.len() as u32;
    let missing = |id: u32| {
        Error::pretrained(path, format!("there are {n} pieces, but none has the id {id}"), HINT_DAMAGED)
    };
    (0..n).map(|id| pieces.remove(&id).ok_or_else(|| missing(id))).collect()
}

fn collect(path: &Path, pieces: Vec<String>, unknown: &str, settings: PieceSettings) -> Result<WordPieces> {
    if let Some(piece) = pieces.iter().find(|piece| piece.contains('\n')) {
        return Err(Error::pretrained(
            path,
            format!("the piece {piece:?} has a line feed in it"),
            HINT_FAMILY,
        ));
    }
    let id = |name: &str| {
        let id = pieces.iter().rposition(|piece| piece == name);
        id.map(|id| id as u32)
            .ok_or_else(|| Error::pretrained(path, format!("there is no piece {name:?}"), HINT_FAMILY))
    };
    let settings = PieceSettings { unknown: id(unknown)?, cls: id(CLS)?, sep: id(SEP)?, ..settings };
    WordPieces::new(pieces.join("\n"), settings)
        .map_err(|problem| Error::pretrained(path, problem, HINT_DAMAGED))
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::pretrained(path, format!("not a tokenizer: {error}"), HINT_DAMAGED))
}
