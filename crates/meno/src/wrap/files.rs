//! What stands beside a graph: the names of its labels and intents, and what cuts text for it.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::HINT_DAMAGED;
use super::graph::unfit;
use crate::encoder::onnx::Tokens;
use crate::features::WordPieces;
use crate::label;
use crate::pretrained;
use crate::{Error, Result};

/// What stands for words that a vocabulary does not have, by its usual names.
const UNKNOWN: &[&str] = &["[UNK]", "<unk>", "<UNK>", "UNK", "<unknown>", "<oov>", "<OOV>"];
const START: &[&str] = &["[CLS]", "<s>"];
const END: &[&str] = &["[SEP]", "</s>"];

/// `config.json` of a tagger, as far as it concerns labels.
#[derive(Default, Deserialize)]
struct Config {
    id2label: Option<BTreeMap<String, String>>,
    max_position_embeddings: Option<usize>,
}

/// Names by their ids, and the most ids that the tagger takes if the file says so.
pub(super) fn read_names(path: &Path) -> Result<(Vec<String>, Option<usize>)> {
    let text = read_text(path)?;
    if !text.trim_start().starts_with(['{', '[']) {
        let names = text.lines().map(str::trim_end).filter(|name| !name.is_empty());
        return Ok((names.map(str::to_owned).collect(), None));
    }
    let hint = "a config.json with id2label, a JSON list, or a name a line";
    let json: Value = serde_json::from_str(&text).map_err(|error| unfit(path, error.to_string(), hint))?;
    if json.is_array() {
        let names = serde_json::from_value(json).map_err(|error| unfit(path, error.to_string(), hint));
        return Ok((names?, None));
    }
    let config: Config =
        serde_json::from_value(json).map_err(|error| unfit(path, error.to_string(), hint))?;
    let by_id = config.id2label.ok_or_else(|| unfit(path, "there are no labels: no `id2label`", hint))?;
    let name = |id: usize| {
        let name = by_id.get(&id.to_string()).cloned();
        name.ok_or_else(|| {
            unfit(path, format!("`id2label` has {} names, but none for {id}", by_id.len()), hint)
        })
    };
    let names = (0..by_id.len()).map(name).collect::<Result<_>>()?;
    Ok((names, config.max_position_embeddings))
}

/// The labels of a tagger as ours, `O` first, and for each of its columns which of them it speaks for.
///
/// Tags of BILOU and BIOES become those of IOB2: the last word of a span goes on with it, a single word begins it.
pub(super) fn columns(path: &Path, names: &[String]) -> Result<(Vec<String>, Vec<u32>)> {
    let hint =
        "labels are O, B-slot and I-slot, also with the last (L, E) and the single (U, S) words of a span";
    let ours = names.iter().map(|name| match label::split(name) {
        _ if name == "O" => Ok(name.clone()),
        ("B" | "U" | "S", slot) if !slot.is_empty() => Ok(label::iob(slot, true)),
        ("I" | "L" | "E", slot) if !slot.is_empty() => Ok(label::iob(slot, false)),
        _ => Err(unfit(path, format!("the label {name:?} is none of IOB"), hint)),
    });
    let ours = ours.collect::<Result<Vec<String>>>()?;
    if names.iter().collect::<HashSet<_>>().len() < names.len() {
        return Err(unfit(path, "a label is listed twice", hint));
    }
    if !ours.iter().any(|name| name == "O") || names.len() < 2 {
        return Err(unfit(path, "there is no label `O`, or nothing else", hint));
    }
    let mut labels = vec!["O".to_owned()];
    let mut columns = Vec::new();
    for name in ours {
        let known = labels.iter().position(|label| *label == name);
        let label = known.unwrap_or(labels.len());
        if known.is_none() {
            labels.push(name);
        }
        columns.push(label as u32);
    }
    Ok((labels, columns))
}

/// What cuts text for a graph.
pub(super) enum Vocabulary {
    Pieces(WordPieces),
    /// The words by their ids.
    Words(Vec<String>, Tokens),
}

/// Reads a `tokenizer.json` or `vocab.txt` of word pieces, or the words of a vocabulary: a JSON list, a JSON object with the id
/// of each, or one a line.
pub(super) fn read_vocabulary(path: &Path) -> Result<Vocabulary> {
    let text = read_text(path)?;
    if !text.trim_start().starts_with(['{', '[']) {
        let is_pieces =
            text.lines().any(|line| line == "[CLS]") && text.lines().any(|line| line.starts_with("##"));
        return match is_pieces {
            true => pretrained::read_vocabulary(path).map(Vocabulary::Pieces),
            false => words(path, text.lines().map(|line| line.trim_end().to_owned()).collect(), None),
        };
    }
    let json: Value =
        serde_json::from_str(&text).map_err(|error| unfit(path, error.to_string(), HINT_DAMAGED))?;
    let model = &json["model"];
    match (&json, model["type"].as_str()) {
        (Value::Array(_), _) => {
            let list: Vec<String> =
                serde_json::from_value(json).map_err(|error| unfit(path, error.to_string(), HINT_DAMAGED))?;
            words(path, list, None)
        }
        (_, Some("WordLevel")) => {
            let unknown = model["unk_token"].as_str();
            words(path, in_order(path, &model["vocab"])?, unknown)
        }
        (_, Some(_)) => pretrained::read_vocabulary(path).map(Vocabulary::Pieces),
        (_, None) => words(path, in_order(path, &json)?, None),
    }
}

/// The words of an object by the ids that it gives them.
fn in_order(path: &Path, ids: &Value) -> Result<Vec<String>> {
    let hint = "a vocabulary gives each word its id, from 0 on";
    let ids: BTreeMap<String, usize> =
        BTreeMap::deserialize(ids).map_err(|error| unfit(path, error.to_string(), hint))?;
    let mut words = vec![None; ids.len()];
    for (word, id) in ids {
        match words.get_mut(id) {
            Some(place @ None) => *place = Some(word),
            _ => {
                return Err(unfit(path, format!("the id {id} of {word:?} is too high or given twice"), hint));
            }
        }
    }
    Ok(words.into_iter().flatten().collect())
}

fn words(path: &Path, words: Vec<String>, unknown: Option<&str>) -> Result<Vocabulary> {
    let hint = "each word once; one is called [UNK] or <unk>";
    let mut seen = HashSet::new();
    if let Some(twice) = words.iter().find(|word| !seen.insert(word.as_str())) {
        return Err(unfit(path, format!("the word {twice:?} is listed twice"), hint));
    }
    if let Some(word) = words.iter().find(|word| word.contains('\n')) {
        return Err(unfit(path, format!("the word {word:?} goes over two lines"), hint));
    }
    let find = |names: &[&str]| {
        let place = names.iter().find_map(|name| words.iter().position(|word| word == name));
        place.map(|id| id as u32)
    };
    let unknown = unknown.map_or_else(|| find(UNKNOWN), |name| find(&[name]));
    let unknown = unknown.ok_or_else(|| unfit(path, "no word stands for those that are not in it", hint))?;
    let tokens = Tokens::Words { unknown, start: find(START), end: find(END) };
    Ok(Vocabulary::Words(words, tokens))
}

fn read_text(path: &Path) -> Result<String> {
    let about = fs::metadata(path).map_err(|source| Error::read(path, source))?;
    if about.len() > MAX_TEXT {
        return Err(unfit(path, format!("{} bytes are too many for it", about.len()), HINT_DAMAGED));
    }
    fs::read_to_string(path).map_err(|source| Error::read(path, source))
}

/// The vocabularies of the largest taggers have some ten megabytes.
const MAX_TEXT: u64 = 100 << 20;
