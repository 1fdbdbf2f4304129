//! The syntax model and its file.
//!
//! The file is in the safetensors format, with one JSON document in its metadata: matrices and vectors as 16-bit
//! whole numbers with a scale for each, the embedding table as bytes with a scale for each row, and the fingerprints
//! of the rows. Nothing in it is believed: shapes and counts are compared before anything is allocated by them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::lexicon::Lexicon;
use super::network::{Network, Shape};
use super::upos::Upos;
use crate::nn::{Parameters, Tensor};
use crate::tensors::{RawTensor, check_widths, find};

/// The version of the file format.
const FORMAT: u32 = 1;
const METADATA_KEY: &str = "meno.syntax";
/// Sizes beyond these are not believed.
const MAX_WIDTH: usize = 1024;
const MAX_RELATIONS: usize = 200;
const MAX_ROWS: usize = 10_000_000;

/// A trained network, ready to be used.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub network: Network,
    /// All but the embeddings.
    pub parameters: Parameters,
    pub embedding: Embedding,
    pub keys: Vec<u64>,
    pub lexicon: Lexicon,
    pub relations: Vec<Arc<str>>,
    pub record: Record,
}

/// How a model came to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What all randomness came from.
    pub seed: u64,
    /// Passes over the treebanks.
    pub epochs: usize,
    /// Sentences, each counted once.
    pub sentences: usize,
    /// Their words.
    pub words: usize,
    /// FNV-1a over the [`super::utterance_key`] of each, with a line break after it.
    pub fingerprint: String,
    /// The version of the program.
    pub meno: String,
}

/// Rows of bytes, each with what its largest stands for over 127.
#[derive(Clone, Debug)]
pub(crate) struct Embedding {
    width: usize,
    rows: Vec<i8>,
    scales: Vec<f32>,
}

impl Embedding {
    /// Rounds a table of floats.
    pub(super) fn new(width: usize, floats: &[f32]) -> Self {
        let mut embedding = Embedding { width, rows: Vec::with_capacity(floats.len()), scales: Vec::new() };
        for row in floats.chunks_exact(width) {
            let scale = scale_of(row, 127.0);
            embedding.scales.push(scale);
            embedding.rows.extend(row.iter().map(|x| (x / scale).round() as i8));
        }
        embedding
    }

    /// Adds a row.
    pub(super) fn add(&self, row: usize, x: &mut [f32]) {
        let scale = self.scales[row];
        for (x, &value) in x.iter_mut().zip(&self.rows[row * self.width..][..self.width]) {
            *x += scale * f32::from(value);
        }
    }
}

/// What 1 stands for if the largest number is to become `top`.
fn scale_of(values: &[f32], top: f32) -> f32 {
    let largest = values.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
    if largest > 0.0 { largest / top } else { 1.0 }
}

#[derive(Serialize, Deserialize)]
struct Document {
    format: u32,
    embedding: usize,
    hidden: [usize; 2],
    action: usize,
    relation: usize,
    rows: usize,
    tags: Vec<String>,
    relations: Vec<String>,
    training: Record,
}

impl Model {
    /// The bytes of the file; the same model gives the same bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let shape = self.network.shape;
        let document = Document {
            format: FORMAT,
            embedding: shape.embedding,
            hidden: shape.hidden,
            action: shape.action,
            relation: shape.relation,
            rows: shape.rows,
            tags: Upos::ALL.map(|upos| upos.name().to_owned()).to_vec(),
            relations: self.relations.iter().map(|relation| relation.to_string()).collect(),
            training: self.record.clone(),
        };
        let (mut values, mut scales) = (Vec::new(), Vec::new());
        for tensor in dense_tensors(&self.network) {
            let floats = self.parameters.values(tensor);
            let scale = scale_of(&floats, 32767.0);
            scales.extend(scale.to_le_bytes());
            values.extend(floats.iter().flat_map(|x| ((x / scale).round() as i16).to_le_bytes()));
        }
        let row_scales: Vec<u8> = self.embedding.scales.iter().flat_map(|x| x.to_le_bytes()).collect();
        let rows: Vec<u8> = self.embedding.rows.iter().map(|&x| x.cast_unsigned()).collect();
        let keys: Vec<u8> = self.keys.iter().flat_map(|key| key.to_le_bytes()).collect();
        let raw = |dtype, shape: &[usize], data| RawTensor { dtype, shape: shape.to_vec(), data };
        let tensors = [
            ("dense", raw(Dtype::I16, &[values.len() / 2], values)),
            ("dense_scales", raw(Dtype::F32, &[scales.len() / 4], scales)),
            ("embedding", raw(Dtype::I8, &[shape.rows, shape.embedding], rows)),
            ("embedding_scales", raw(Dtype::F32, &[shape.rows], row_scales)),
            ("lexicon", raw(Dtype::U64, &[shape.rows - 1], keys)),
        ];
        let json = serde_json::to_string(&document).expect("a document of plain data can be written");
        let metadata = HashMap::from([(METADATA_KEY.to_owned(), json)]);
        safetensors::serialize(tensors, Some(metadata)).expect("named tensors of known shape can be written")
    }

    /// Reads what [`Model::to_bytes`] gave, or says what is wrong with it.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let damaged = |_| "not a syntax model, or a damaged one".to_owned();
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let json = header.metadata().as_ref().and_then(|metadata| metadata.get(METADATA_KEY));
        let json = json.ok_or("a safetensors file, but not a syntax model")?;
        let document: Document =
            serde_json::from_str(json).map_err(|e| format!("damaged description of the model: {e}"))?;
        let shape = document.shape()?;
        let network = Network::new(shape);
        let n_dense: usize = dense_tensors(&network).map(|tensor| tensor.rows() * tensor.columns()).sum();
        let find = |name: &str, dtype: Dtype, shape: &[usize]| find(&tensors, name, dtype, shape);
        let dense = find("dense", Dtype::I16, &[n_dense])?;
        let scales = floats(&find("dense_scales", Dtype::F32, &[dense_tensors(&network).count()])?)?;
        let rows = find("embedding", Dtype::I8, &[shape.rows, shape.embedding])?;
        let row_scales = floats(&find("embedding_scales", Dtype::F32, &[shape.rows])?)?;
        let keys = find("lexicon", Dtype::U64, &[shape.rows - 1])?;
        // The file holds as many numbers as are now allocated.
        let mut parameters = Parameters::first(network.layout.dense());
        let mut values = dense.data().as_chunks::<2>().0.iter().map(|bytes| i16::from_le_bytes(*bytes));
        for (tensor, scale) in dense_tensors(&network).zip(scales) {
            parameters.fill(tensor, || scale * f32::from(values.next().unwrap_or_default()));
        }
        let keys: Vec<u64> =
            keys.data().as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok(Model {
            embedding: Embedding {
                width: shape.embedding,
                rows: rows.data().iter().map(|&byte| byte.cast_signed()).collect(),
                scales: row_scales,
            },
            lexicon: Lexicon::new(&keys).ok_or("a fingerprint is listed twice")?,
            keys,
            relations: document.relations.iter().map(|name| Arc::from(name.as_str())).collect(),
            record: document.training,
            network,
            parameters,
        })
    }
}

impl Document {
    fn shape(&self) -> Result<Shape, String> {
        if self.format != FORMAT {
            let format = self.format;
            return Err(format!("format version {format}, but this program reads version {FORMAT}"));
        }
        let widths = [
            ("embedding", self.embedding),
            ("hidden", self.hidden[0]),
            ("hidden", self.hidden[1]),
            ("action", self.action),
            ("relation", self.relation),
        ];
        check_widths(&widths, MAX_WIDTH)?;
        if self.rows == 0 || self.rows > MAX_ROWS {
            return Err(format!("{} rows of embeddings", self.rows));
        }
        if !self.tags.iter().map(String::as_str).eq(Upos::ALL.map(Upos::name)) {
            return Err("other tags than the 17 universal ones".to_owned());
        }
        let n_relations = self.relations.len();
        let distinct: HashSet<&String> = self.relations.iter().collect();
        if !(2..=MAX_RELATIONS).contains(&n_relations) || distinct.len() != n_relations {
            return Err(format!("{n_relations} relations, {} of them different", distinct.len()));
        }
        let is_name = |name: &String| !name.is_empty() && !name.contains(char::is_whitespace);
        if self.relations[0] != "root" || !self.relations.iter().all(is_name) {
            return Err("relations that are none".to_owned());
        }
        Ok(Shape {
            embedding: self.embedding,
            hidden: self.hidden,
            action: self.action,
            relation: self.relation,
            rows: self.rows,
            tags: self.tags.len(),
            relations: n_relations,
        })
    }
}

/// All tensors but the embedding table.
fn dense_tensors(network: &Network) -> impl Iterator<Item = Tensor> + '_ {
    network.layout.tensors().map(|(_, tensor)| tensor).filter(|&tensor| tensor != network.embedding)
}

fn floats(view: &TensorView<'_>) -> Result<Vec<f32>, String> {
    let floats: Vec<f32> =
        view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    // Sums of products of such numbers stay finite.
    if floats.iter().all(|x| x.abs() < 1e6) { Ok(floats) } else { Err("a scale out of range".to_owned()) }
}
