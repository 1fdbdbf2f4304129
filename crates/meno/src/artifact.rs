//! The model file: safetensors weights with one JSON document in their metadata. `docs/format.md` describes it.
//!
//! Nothing in a file is believed: names, shapes and counts are compared with each other before anything is
//! allocated by them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::OnceLock;

use safetensors::tensor::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};

use crate::decision::Threshold;
use crate::encoder::{Parameters, SlotGated, SlotGatedShape, SpanTagger, SpanTaggerShape, Tensor};
use crate::engine::{CONCEPT_SCORE, Lexicon, Model, Phrases, Record, SpanModel, Tagger};
use crate::features::{Alphabet, Features, Names};
use crate::syntax::Growth;
use crate::text::Normalizer;
use crate::uncertainty::Score;
use crate::vectors::Vectors;
use crate::{Error, Result};

/// The version of the file format that this program writes; it reads this and all earlier ones.
pub const FORMAT: u32 = 1;

const METADATA_KEY: &str = "meno";
const SLOT_GATED: &str = "slot_gated.v1";
const SPAN_TAGGER: &str = "span_tagger.v1";
/// The name of the frozen vectors that come with the program.
const ENGLISH: &str = "english.v1";

#[derive(Serialize, Deserialize)]
struct Document {
    format: u32,
    architecture: String,
    shape: serde_json::Value,
    id2label: BTreeMap<u32, String>,
    intents: Vec<String>,
    vocabulary: Vec<String>,
    text: Normalizer,
    training: Record,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threshold: Option<Threshold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    growth: Option<Growth>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concepts: Option<ConceptDocument>,
}

/// What only a span tagger has.
#[derive(Serialize, Deserialize)]
struct ConceptDocument {
    alphabet: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vectors: Option<String>,
    outside_penalty: f64,
    lexicon: Lexicon,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reject: Option<f64>,
}

/// Only what tells whether the rest can be understood.
#[derive(Deserialize)]
struct Version {
    format: u32,
    architecture: String,
}

impl Model {
    /// The bytes of the model file; the same model gives the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (architecture, shape, concepts) = match &self.tagger {
            Tagger::SlotGated(network) => (SLOT_GATED, serde_json::to_value(network.shape()), None),
            Tagger::Span(model) => {
                (SPAN_TAGGER, serde_json::to_value(model.network.shape()), Some((&**model).into()))
            }
        };
        let document = Document {
            format: FORMAT,
            architecture: architecture.to_owned(),
            shape: shape.expect("a shape of plain numbers can be written"),
            concepts,
            id2label: (0..).zip(self.features.labels.names().iter().cloned()).collect(),
            intents: self.features.intents.names().to_vec(),
            vocabulary: self.features.words.names().to_vec(),
            text: self.normalizer.clone(),
            training: self.record.clone(),
            threshold: self.threshold.clone(),
            growth: self.growth().copied(),
        };
        let json = serde_json::to_string(&document).expect("a document of plain data can be written");
        let metadata = HashMap::from([(METADATA_KEY.to_owned(), json)]);
        let tensors = self.tagger.layout().tensors().map(|(name, tensor)| {
            let shape = shape_of(tensor);
            let data = self.parameters.values(tensor).iter().flat_map(|x| x.to_le_bytes()).collect();
            (name, RawTensor { shape, data })
        });
        safetensors::serialize(tensors, Some(metadata)).expect("named tensors of known shape can be written")
    }

    /// Reads what [`Model::to_bytes`] gave; `path` is only for messages.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        parse(bytes).map_err(|problem| Error::Model { path: path.to_owned(), problem })
    }

    /// Writes the model file; nothing is left half-written.
    pub fn save(&self, path: &Path) -> Result<()> {
        crate::atomic::write(path, &self.to_bytes())
    }

    /// Reads a model file.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| match source.kind() {
            ErrorKind::NotFound => {
                Error::Model { path: path.to_owned(), problem: "there is no such file".to_owned() }
            }
            _ => Error::read(path, source),
        })?;
        Model::from_bytes(&bytes, path)
    }
}

fn parse(bytes: &[u8]) -> Result<Model, String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|_| not_a_model(bytes))?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|_| not_a_model(bytes))?;
    let json = header.metadata().as_ref().and_then(|metadata| metadata.get(METADATA_KEY));
    let json = json.ok_or("a safetensors file, but not one that meno wrote")?;
    let damaged = |e: serde_json::Error| format!("damaged description of the model: {e}");
    let version: Version = serde_json::from_str(json).map_err(damaged)?;
    if version.format > FORMAT {
        let newer = version.format;
        return Err(format!(
            "format version {newer}, but this program reads up to version {FORMAT}; update meno"
        ));
    }
    if version.format == 0 {
        return Err("damaged description of the model: there is no format version 0".to_owned());
    }
    if version.architecture != SLOT_GATED && version.architecture != SPAN_TAGGER {
        return Err(format!(
            "unknown architecture {:?}; this program has {SLOT_GATED:?} and {SPAN_TAGGER:?}",
            version.architecture
        ));
    }
    let document: Document = serde_json::from_str(json).map_err(damaged)?;
    assemble(document, &tensors)
}

fn assemble(document: Document, tensors: &SafeTensors<'_>) -> Result<Model, String> {
    let tagger = tagger(&document)?;
    let mut views = Vec::new();
    for (name, tensor) in tagger.layout().tensors() {
        let view = tensors.tensor(name).map_err(|_| format!("tensor {name:?} is missing"))?;
        if view.dtype() != Dtype::F32 || view.shape() != shape_of(tensor) {
            let (dtype, shape) = (view.dtype(), view.shape());
            return Err(format!("tensor {name:?} is {dtype:?} {shape:?}, not F32 {:?}", shape_of(tensor)));
        }
        views.push((name, tensor, view));
    }
    // The file holds as many floats as are now allocated.
    let mut parameters = Parameters::zeros(tagger.layout());
    for (name, tensor, view) in views {
        let (floats, _) = view.data().as_chunks::<4>();
        let mut floats = floats.iter().map(|bytes| f32::from_le_bytes(*bytes));
        if !floats.clone().all(f32::is_finite) {
            return Err(format!("tensor {name:?} holds a value that is not finite"));
        }
        parameters.fill(tensor, || floats.next().unwrap_or_default());
    }
    tagger.pad(&mut parameters);
    let features = Features {
        words: Names::new(document.vocabulary),
        labels: Names::new(document.id2label.into_values().collect()),
        intents: Names::new(document.intents),
    };
    Ok(Model {
        normalizer: document.text,
        features,
        tagger,
        parameters,
        record: document.training,
        threshold: document.threshold,
        phrases: document.growth.map(Phrases::new),
    })
}

/// Widths of the network beyond this are not believed.
const MAX_WIDTH: usize = 4096;

/// The tagger whose parameters are to follow.
fn tagger(document: &Document) -> Result<Tagger, String> {
    let damaged = |e: serde_json::Error| format!("damaged description of the model: {e}");
    check_names(document)?;
    if document.architecture == SLOT_GATED {
        let shape: SlotGatedShape = serde_json::from_value(document.shape.clone()).map_err(damaged)?;
        check_counts(document, [shape.words, shape.labels, shape.intents])?;
        check_widths(&[("embedding", shape.embedding), ("hidden", shape.hidden)])?;
        check_threshold(document, |score| score.parse::<Score>().is_ok())?;
        return Ok(Tagger::SlotGated(Box::new(SlotGated::new(shape))));
    }
    let shape: SpanTaggerShape = serde_json::from_value(document.shape.clone()).map_err(damaged)?;
    let concepts =
        document.concepts.as_ref().ok_or("damaged description of the model: nothing on concepts")?;
    let n_labels = shape.slots.checked_mul(2).and_then(|n| n.checked_add(1)).unwrap_or(0);
    check_counts(document, [shape.words, n_labels, shape.intents])?;
    check_widths(&[
        ("embedding", shape.embedding),
        ("character", shape.character),
        ("filters", shape.filters),
        ("hidden", shape.hidden),
    ])?;
    check_threshold(document, |score| score == CONCEPT_SCORE)?;
    let slots = document.id2label.values().skip(1).collect::<Vec<_>>();
    let is_pair = |pair: &[&String]| {
        let [begin, inside] = [pair[0].strip_prefix("B-"), pair[1].strip_prefix("I-")];
        begin.is_some() && begin == inside
    };
    if document.id2label.values().next().is_none_or(|label| label != "O") || !slots.chunks(2).all(is_pair) {
        return Err("damaged description of the model: labels are not O and pairs of B- and I-".to_owned());
    }
    let alphabet: Vec<char> = concepts.alphabet.chars().collect();
    demand_distinct("character", alphabet.iter().map(char::to_string).collect::<Vec<_>>().iter())?;
    let width = match concepts.vectors.as_deref() {
        None => 0,
        Some(ENGLISH) => Vectors::english().width(),
        Some(name) => return Err(format!("unknown word vectors {name:?}; this program has {ENGLISH:?}")),
    };
    let whole = alphabet.len() <= Alphabet::MAX
        && Alphabet::new(alphabet.clone()).len() == shape.characters
        && shape.vector == width
        && (1..=2).contains(&shape.layers)
        && concepts.outside_penalty.is_finite()
        && concepts.reject.is_none_or(f64::is_finite)
        && concepts.lexicon.is_whole(shape.words, shape.slots);
    if !whole {
        return Err("damaged description of the model: what is said of concepts does not fit".to_owned());
    }
    Ok(Tagger::Span(Box::new(SpanModel {
        network: SpanTagger::new(shape),
        alphabet: Alphabet::new(alphabet),
        lexicon: concepts.lexicon.clone(),
        penalty: concepts.outside_penalty,
        reject: concepts.reject,
        prepared: OnceLock::new(),
    })))
}

impl From<&SpanModel> for ConceptDocument {
    fn from(model: &SpanModel) -> Self {
        ConceptDocument {
            alphabet: model.alphabet.characters().iter().collect(),
            vectors: (model.network.shape().vector > 0).then(|| ENGLISH.to_owned()),
            outside_penalty: model.penalty,
            lexicon: model.lexicon.clone(),
            reject: model.reject,
        }
    }
}

fn check_counts(document: &Document, [words, labels, intents]: [usize; 3]) -> Result<(), String> {
    for (what, says, has) in [
        ("words", words, document.vocabulary.len()),
        ("labels", labels, document.id2label.len()),
        ("intents", intents, document.intents.len()),
    ] {
        if says != has || has == 0 {
            return Err(format!("damaged description of the model: {says} {what} stated, {has} listed"));
        }
    }
    Ok(())
}

fn check_widths(widths: &[(&str, usize)]) -> Result<(), String> {
    for &(what, width) in widths {
        if width == 0 || width > MAX_WIDTH || !width.is_multiple_of(16) {
            return Err(format!("{what} width {width} is not a multiple of 16 up to {MAX_WIDTH}"));
        }
    }
    Ok(())
}

fn check_threshold(document: &Document, is_known: impl Fn(&str) -> bool) -> Result<(), String> {
    match &document.threshold {
        Some(threshold) if !is_known(&threshold.score) => {
            Err(format!("a threshold of unknown kind {:?}", threshold.score))
        }
        Some(threshold) if !threshold.value.is_finite() => {
            Err("damaged description of the model: a threshold that is not finite".to_owned())
        }
        _ => Ok(()),
    }
}

fn check_names(document: &Document) -> Result<(), String> {
    if document.growth.is_some_and(|growth| !growth.sure.is_finite()) {
        return Err("damaged description of the model: a wall that is not finite".to_owned());
    }
    if document.id2label.keys().copied().ne(0..document.id2label.len() as u32) {
        return Err("damaged description of the model: label ids are not 0, 1, 2, ...".to_owned());
    }
    demand_distinct("word", document.vocabulary.iter())?;
    demand_distinct("label", document.id2label.values())?;
    demand_distinct("intent", document.intents.iter())
}

/// A name that stands for two ids would make one of them unreachable.
fn demand_distinct<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(format!("damaged description of the model: {what} {name:?} is listed twice"));
        }
    }
    Ok(())
}

/// Says what a file that is no safetensors file looks like instead.
fn not_a_model(bytes: &[u8]) -> String {
    let kind = match bytes {
        [] => "an empty file",
        [0xFF, 0xD8, 0xFF, ..] => "a JPEG picture",
        [0x89, b'P', b'N', b'G', ..] => "a PNG picture",
        [b'P', b'K', 3, 4, ..] => "a ZIP archive",
        [0x1F, 0x8B, ..] => "a gzip archive",
        [b'{' | b'[', ..] => "a JSON file",
        bytes if bytes.len() > 8 && bytes[8] == b'{' => return "truncated or damaged model file".to_owned(),
        _ => "some other file",
    };
    format!("not a meno model but {kind}")
}

fn shape_of(tensor: Tensor) -> Vec<usize> {
    if tensor.rows() == 1 { vec![tensor.columns()] } else { vec![tensor.rows(), tensor.columns()] }
}

struct RawTensor {
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl View for RawTensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.data)
    }
    fn data_len(&self) -> usize {
        self.data.len()
    }
}
