//! Pretrained encoders of the BERT family, as Hugging Face has them.
//!
//! Enters: a folder with `config.json`, `model.safetensors` and `tokenizer.json` or `vocab.txt`. Leaves: a [`Pretrained`], its
//! weights under the names of BERT, whatever the model calls them. Nothing in the folder is believed: every shape is compared with
//! `config.json` before anything is allocated by it. Nothing is ever fetched.

mod config;
mod tokenizer;

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use crate::features::WordPieces;
use crate::{Error, Result};
use config::Family;

/// The sizes of a transformer encoder.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransformerShape {
    /// Pieces that have an embedding.
    pub vocabulary: usize,
    /// Numbers that stand for a piece, in every layer.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// Attention heads of a layer; they share `hidden`.
    pub heads: usize,
    /// Width of the feed-forward network inside of a layer.
    pub intermediate: usize,
    /// The longest input, in pieces.
    pub positions: usize,
    /// Kinds of pieces: those of a first and of a second text.
    pub types: usize,
    /// What is added to the variance where rows are normalised.
    pub norm_epsilon: f32,
}

impl TransformerShape {
    /// The names of all tensors, with their shapes. Matrices stand output dimension first.
    pub(crate) fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, wide) = (self.hidden, self.intermediate);
        let mut tensors: Vec<(String, Vec<usize>)> = Vec::new();
        for (name, rows) in [
            ("word_embeddings", self.vocabulary),
            ("position_embeddings", self.positions),
            ("token_type_embeddings", self.types),
        ] {
            tensors.push((format!("embeddings.{name}.weight"), vec![rows, hidden]));
        }
        let norm = |name: String, tensors: &mut Vec<_>| {
            tensors.push((format!("{name}.weight"), vec![hidden]));
            tensors.push((format!("{name}.bias"), vec![hidden]));
        };
        norm("embeddings.LayerNorm".to_owned(), &mut tensors);
        for layer in 0..self.layers {
            let at = format!("encoder.layer.{layer}");
            for (name, rows, columns) in [
                ("attention.self.query", hidden, hidden),
                ("attention.self.key", hidden, hidden),
                ("attention.self.value", hidden, hidden),
                ("attention.output.dense", hidden, hidden),
                ("intermediate.dense", wide, hidden),
                ("output.dense", hidden, wide),
            ] {
                tensors.push((format!("{at}.{name}.weight"), vec![rows, columns]));
                tensors.push((format!("{at}.{name}.bias"), vec![rows]));
            }
            norm(format!("{at}.attention.output.LayerNorm"), &mut tensors);
            norm(format!("{at}.output.LayerNorm"), &mut tensors);
        }
        tensors
    }
}

/// A pretrained encoder: its sizes, its vocabulary and its weights.
#[derive(Debug)]
pub struct Pretrained {
    /// Its sizes.
    pub shape: TransformerShape,
    /// Its vocabulary; ids are below `shape.vocabulary`.
    pub(crate) pieces: WordPieces,
    tensors: HashMap<String, Vec<f32>>,
}

/// Reads a vocabulary of word pieces: `tokenizer.json`, or a text with one a line.
#[cfg(feature = "onnx")]
pub(crate) fn read_vocabulary(path: &Path) -> Result<WordPieces> {
    tokenizer::read_from(path)
}

/// Larger files are refused.
const MAX_BYTES: u64 = 2 << 30;

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
const HINT_FOLDER: &str =
    "give a folder with config.json, model.safetensors and tokenizer.json; scripts/get_minilm.sh fetches one";
const HINT_FAMILY: &str = "encoders of the BERT family can be used: BERT, MiniLM, DistilBERT";
const HINT_DAMAGED: &str = "fetch the folder again";

impl Pretrained {
    /// Reads a folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let listed = fs::metadata(folder).map_err(|source| Error::read(folder, source))?;
        if !listed.is_dir() {
            return Err(Error::pretrained(folder, "this is a file, not a folder", HINT_FOLDER));
        }
        let (shape, family) = config::read(&folder.join(CONFIG))?;
        let pieces = tokenizer::read(folder)?;
        if pieces.len() > shape.vocabulary {
            let problem =
                format!("\"vocab_size\" is {}, but the tokenizer has {}", shape.vocabulary, pieces.len());
            return Err(Error::pretrained(&folder.join(CONFIG), problem, HINT_DAMAGED));
        }
        let path = folder.join(WEIGHTS);
        if let (false, Some(other)) = (path.exists(), other_weights(folder)) {
            return Err(Error::pretrained(
                folder,
                format!("there is {other}, but no {WEIGHTS}"),
                HINT_CONVERT,
            ));
        }
        let bytes = read(&path)?;
        let tensors = weights(&bytes, &shape, family)
            .map_err(|problem| Error::pretrained(&path, problem, HINT_DAMAGED))?;
        Ok(Pretrained { shape, pieces, tensors })
    }

    /// A number that tells one encoder from another, as 16 hexadecimal digits: FNV-1a over its pieces, sizes and weights.
    pub fn fingerprint(&self) -> String {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |number: u32| hash = (hash ^ u64::from(number)).wrapping_mul(PRIME);
        self.pieces.names().bytes().for_each(|byte| add(byte.into()));
        for (name, shape) in self.shape.tensors() {
            shape.iter().for_each(|&size| add(size as u32));
            self.tensor(&name).iter().for_each(|value| add(value.to_bits()));
        }
        format!("{hash:016x}")
    }

    /// The numbers of a tensor by its name in BERT, row by row, matrices output dimension first.
    ///
    /// # Panics
    ///
    /// If the name is none of BERT's encoder with as many layers.
    pub fn tensor(&self, name: &str) -> &[f32] {
        self.tensors.get(name).unwrap_or_else(|| panic!("an encoder has no tensor {name:?}"))
    }
}

const HINT_CONVERT: &str =
    "save it as one file by save_pretrained(folder, max_shard_size=\"2GB\", safe_serialization=True)";

/// Weights in a form that is not read.
fn other_weights(folder: &Path) -> Option<&'static str> {
    let others = ["model.safetensors.index.json", "pytorch_model.bin", "tf_model.h5", "flax_model.msgpack"];
    others.into_iter().find(|name| folder.join(name).exists())
}

/// A file of the folder, unless it is too large.
fn read(path: &Path) -> Result<Vec<u8>> {
    let failed = |source: std::io::Error| match source.kind() {
        ErrorKind::NotFound => Error::pretrained(path, "there is no such file", HINT_FOLDER),
        _ => Error::read(path, source),
    };
    let n_bytes = fs::metadata(path).map_err(failed)?.len();
    if n_bytes > MAX_BYTES {
        let problem = format!("it has {n_bytes} bytes, more than {MAX_BYTES}");
        return Err(Error::pretrained(path, problem, "use a smaller encoder"));
    }
    fs::read(path).map_err(failed)
}

/// All tensors under the names of BERT.
fn weights(
    bytes: &[u8],
    shape: &TransformerShape,
    family: Family,
) -> Result<HashMap<String, Vec<f32>>, String> {
    let tensors = SafeTensors::deserialize(bytes)
        .map_err(|error| format!("truncated or damaged, or not a safetensors file: {error}"))?;
    let prefix = family.prefix(|name| tensors.tensor(name).is_ok());
    let mut views = Vec::new();
    for (name, shape) in shape.tensors() {
        let view = match family.lacks(&name) {
            true => None,
            false => Some(find(&tensors, &format!("{prefix}{}", family.name(&name)), &shape)?),
        };
        views.push((name, shape, view));
    }
    // The file holds as many numbers as are now allocated.
    let floats = |(name, shape, view): (String, Vec<usize>, Option<TensorView<'_>>)| {
        let values = match view {
            Some(view) => floats(&view),
            None => vec![0.0; shape.iter().product()],
        };
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(format!("number {at} of the tensor {name:?} is {}", values[at])),
            None => Ok((name, values)),
        }
    };
    views.into_iter().map(floats).collect()
}

/// The tensor of a name, or of the name that it has in older files, if it is of this shape.
fn find<'a>(tensors: &SafeTensors<'a>, name: &str, shape: &[usize]) -> Result<TensorView<'a>, String> {
    let older =
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
    let view = tensors.tensor(name).or_else(|_| tensors.tensor(&older));
    let view = view.map_err(|_| format!("the tensor {name:?} is missing"))?;
    let (is, has) = (view.dtype(), view.shape());
    if !matches!(is, Dtype::F32 | Dtype::F16 | Dtype::BF16) {
        return Err(format!("the tensor {name:?} is {is:?}, not F32, F16 or BF16"));
    }
    if has != shape {
        return Err(format!("the tensor {name:?} is of shape {has:?}, but {CONFIG} says {shape:?}"));
    }
    Ok(view)
}

/// The numbers of a tensor of one of the three types.
fn floats(view: &TensorView<'_>) -> Vec<f32> {
    let halves = || view.data().as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
    match view.dtype() {
        Dtype::F16 => halves().map(from_f16).collect(),
        Dtype::BF16 => halves().map(|bits| f32::from_bits(u32::from(bits) << 16)).collect(),
        _ => view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
    }
}

fn from_f16(bits: u16) -> f32 {
    let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    let value = match magnitude {
        0x7c00 => f32::INFINITY,
        0x7c01.. => f32::NAN,
        // The exponent is 112 too small; the product is exact, also of subnormal numbers.
        _ => f32::from_bits(magnitude << 13) * 2.0_f32.powi(112),
    };
    f32::from_bits(value.to_bits() | sign)
}

#[cfg(test)]
mod tests;
