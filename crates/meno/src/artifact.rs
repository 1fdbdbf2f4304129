//! The model file: safetensors weights with one JSON document in their metadata. `docs/format.md` describes it.
//!
//! Nothing in a file is believed: names, shapes and counts are compared with each other before anything is
//! allocated by them.

mod digest;
#[cfg(feature = "onnx")]
mod onnx;
mod transformer;
mod weights;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::decision::{Doubt, Growth, N_ASKED, NamedThreshold, Policy, Threshold, Trust};
use crate::description::Description;
use crate::encoder::{Encoder, SlotGated, SlotGatedEncoder, SlotGatedShape};
use crate::encoder::{SpanTagger, SpanTaggerEncoder, SpanTaggerShape};
use crate::engine::{English, Model, Record};
use crate::features::{Alphabet, Features, Forms, Lexicon, Ngrams, Vectors, Wordings};
use crate::label::{self, LabelSet, Names};
use crate::memory::KnownValues;
use crate::nn::Network;
use crate::tensors::{RawTensor, check_widths, find};
use crate::text::Normalizer;
use crate::uncertainty::{OutOfScopeScore, Score, Scorer, SpanScore};
use crate::utterance::KnownValue;
use crate::{Error, Result};
use transformer::PieceDocument;

/// The latest version of the file format; this program reads it and all earlier ones.
const FORMAT: u32 = 4;
/// What a model is written as that has known values, but says not how sure it is of its readings; and one without either. So
/// earlier programs read them.
const FORMAT_WITH_VALUES: u32 = 3;
const FORMAT_PLAIN: u32 = 2;

const METADATA_KEY: &str = "meno";
pub(crate) const SLOT_GATED: &str = "slot_gated.v1";
pub(crate) const SPAN_TAGGER: &str = "span_tagger.v1";
const TRANSFORMER: &str = "transformer.v1";
const TRANSFORMER_INT8: &str = "transformer_int8.v1";
const SPAN_TAGGER_INT8: &str = "span_tagger_int8.v1";
const ONNX: &str = "onnx.v1";
const WORDINGS: &str = "wordings.keys";
const NOT_BUILT_IN: &str =
    "not built into this program (feature `english` of meno, or `Model::from_bytes_with`)";

#[derive(Serialize, Deserialize)]
struct Document {
    format: u32,
    /// Early in the document, so that it is soon found. Models of an earlier program have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    architecture: String,
    shape: serde_json::Value,
    id2label: BTreeMap<u32, String>,
    intents: Vec<String>,
    vocabulary: Vec<String>,
    text: Normalizer,
    training: Record,
    /// From version 2 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<PolicyDocument>,
    /// Only in version 1, and so is the growth.
    #[serde(default, skip_serializing)]
    threshold: Option<NamedThreshold>,
    #[serde(default, skip_serializing)]
    growth: Option<Growth>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concepts: Option<ConceptDocument>,
    /// From version 3 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    known_values: Vec<KnownValue>,
    /// Earlier programs pass it over.
    #[serde(default, skip_serializing_if = "Description::is_empty")]
    description: Description,
    /// The name of the second opinion on intents, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ngrams: Option<String>,
    /// The name of the set of wordings, if there is one: from version 4 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wordings: Option<String>,
}

/// What only a tagger that finds spans has.
#[derive(Serialize, Deserialize)]
struct ConceptDocument {
    alphabet: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vectors: Option<String>,
    /// Only of a transformer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pieces: Option<PieceDocument>,
    outside_penalty: f64,
    /// Models of an earlier program have none.
    #[serde(default, skip_serializing_if = "crate::tensors::is_zero")]
    joint_slots: f64,
    lexicon: Lexicon,
    /// Only in version 1.
    #[serde(default, skip_serializing)]
    reject: Option<f64>,
}

impl ConceptDocument {
    fn has_finite_numbers(&self) -> bool {
        self.outside_penalty.is_finite() && self.joint_slots.is_finite()
    }
}

/// All that a decision depends on, so that no later program decides otherwise.
#[derive(Serialize, Deserialize)]
struct PolicyDocument {
    scorer: ScorerDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threshold: Option<Threshold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    doubt: Option<Doubt>,
    out_of_scope: OutOfScopeDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    growth: Option<Growth>,
    /// From version 4 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trust: Option<TrustDocument>,
}

/// When a reading is acted upon. Another formula is another name.
#[derive(Serialize, Deserialize)]
#[serde(tag = "name")]
enum TrustDocument {
    #[serde(rename = "confidence.v1")]
    Reading(Trust),
}

/// What measures the uncertainty. Another formula is another name.
#[derive(Serialize, Deserialize)]
#[serde(tag = "name")]
enum ScorerDocument {
    #[serde(rename = "token.v1")]
    Token { score: Score },
    #[serde(rename = "concept.v2")]
    Span(SpanScore),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "name")]
enum OutOfScopeDocument {
    #[serde(rename = "out_of_scope.v1")]
    Utterance {
        intent: f64,
        tokens: f64,
        floor: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reject: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reject_foreign: Option<f64>,
    },
}

impl From<&Policy> for PolicyDocument {
    fn from(policy: &Policy) -> Self {
        let OutOfScopeScore { intent, tokens, floor } = policy.out_of_scope;
        PolicyDocument {
            scorer: match policy.scorer {
                Scorer::Token(score) => ScorerDocument::Token { score },
                Scorer::Span(score) => ScorerDocument::Span(score),
            },
            threshold: policy.threshold.clone(),
            doubt: policy.doubt,
            out_of_scope: OutOfScopeDocument::Utterance {
                intent,
                tokens,
                floor,
                reject: policy.reject,
                reject_foreign: policy.reject_foreign,
            },
            growth: policy.growth,
            trust: policy.trust.clone().map(TrustDocument::Reading),
        }
    }
}

impl From<&PolicyDocument> for Policy {
    fn from(document: &PolicyDocument) -> Self {
        let OutOfScopeDocument::Utterance { intent, tokens, floor, reject, reject_foreign } =
            document.out_of_scope;
        Policy {
            scorer: match document.scorer {
                ScorerDocument::Token { score } => Scorer::Token(score),
                ScorerDocument::Span(score) => Scorer::Span(score),
            },
            threshold: document.threshold.clone(),
            doubt: document.doubt,
            out_of_scope: OutOfScopeScore { intent, tokens, floor },
            reject,
            reject_foreign,
            growth: document.growth,
            trust: document.trust.as_ref().map(|TrustDocument::Reading(trust)| trust.clone()),
        }
    }
}

/// Only what tells whether the rest can be understood, of a document that cannot.
#[derive(Deserialize)]
struct Version {
    format: u32,
    architecture: String,
    #[serde(default)]
    digest: Option<String>,
}

impl Model {
    /// The bytes of the model file; the same model gives the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (architecture, shape) = match &self.encoder {
            Encoder::SlotGated(encoder) => (SLOT_GATED, serde_json::to_value(encoder.network.shape())),
            Encoder::SpanTagger(encoder) => (
                if encoder.int8.is_some() { SPAN_TAGGER_INT8 } else { SPAN_TAGGER },
                serde_json::to_value(encoder.network.shape()),
            ),
            Encoder::Transformer(encoder) => (
                if encoder.int8.is_some() { TRANSFORMER_INT8 } else { TRANSFORMER },
                serde_json::to_value(encoder.network.shape()),
            ),
            #[cfg(feature = "onnx")]
            Encoder::Onnx(encoder) => (ONNX, serde_json::to_value(&encoder.shape)),
        };
        let known_values = self.known_values().to_vec();
        let document = Document {
            format: match (&self.policy.trust, known_values.is_empty()) {
                (Some(_), _) => FORMAT,
                (None, false) => FORMAT_WITH_VALUES,
                (None, true) => FORMAT_PLAIN,
            },
            digest: Some(digest::unknown()),
            architecture: architecture.to_owned(),
            shape: shape.expect("a shape of plain numbers can be written"),
            concepts: self.concepts(),
            id2label: (0..).zip(self.features.labels.names().iter().map(|name| name.to_string())).collect(),
            intents: texts(&self.features.intents),
            vocabulary: if architecture == ONNX { Vec::new() } else { texts(&self.features.words) },
            text: self.normalizer.clone(),
            training: self.record.clone(),
            policy: Some(PolicyDocument::from(&*self.policy)),
            threshold: None,
            growth: None,
            known_values,
            description: self.description().clone(),
            ngrams: self.features.ngrams.as_ref().map(|_| Ngrams::NAME.to_owned()),
            wordings: self.wordings().map(|_| Wordings::NAME.to_owned()),
        };
        let json = serde_json::to_string(&document).expect("a document of plain data can be written");
        let metadata = HashMap::from([(METADATA_KEY.to_owned(), json)]);
        let ngrams = self.features.ngrams.iter().flat_map(Ngrams::tensors);
        let ngrams = ngrams.map(|(name, shape, values)| (name.to_owned(), weights::f32(shape, values)));
        let wordings = self.wordings().map(|wordings| {
            let data = wordings.keys().iter().flat_map(|key| key.to_le_bytes()).collect();
            (WORDINGS.to_owned(), RawTensor { dtype: Dtype::U32, shape: vec![wordings.keys().len()], data })
        });
        let tensors = weights::stored(&self.encoder).into_iter().chain(ngrams).chain(wordings);
        #[cfg(feature = "onnx")]
        let tensors = tensors.chain(onnx::tensors(self));
        let mut file = safetensors::serialize(tensors, Some(metadata))
            .expect("named tensors of known shape can be written");
        digest::write(&mut file);
        file
    }

    /// Only what asks for them needs them.
    fn wordings(&self) -> Option<&Wordings> {
        self.features.wordings.as_ref().filter(|_| self.policy.trust.is_some())
    }

    fn concepts(&self) -> Option<ConceptDocument> {
        let (forms, lexicon) = (self.features.forms.as_ref()?, self.features.lexicon.as_ref()?);
        Some(ConceptDocument {
            alphabet: forms.alphabet.characters().iter().collect(),
            vectors: forms.vectors.as_ref().map(|vectors| vectors.name().to_owned()),
            pieces: forms.pieces.as_deref().map(PieceDocument::from),
            outside_penalty: self.outside_penalty,
            joint_slots: self.joint_slots,
            lexicon: lexicon.clone(),
            reject: None,
        })
    }

    /// Reads what [`Model::to_bytes`] gave; `path` is only for messages.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        Model::from_bytes_with(bytes, path, &English::default())
    }

    /// As [`Model::from_bytes`], for a program in which the data for English is not built in, or for other data of the kind.
    pub fn from_bytes_with(bytes: &[u8], path: &Path, english: &English) -> Result<Self> {
        parse(bytes, english).map_err(|problem| Error::Model { path: path.to_owned(), problem })
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

fn parse(bytes: &[u8], english: &English) -> Result<Model, String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|_| not_a_model(bytes))?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|_| not_a_model(bytes))?;
    let json = header.metadata().as_ref().and_then(|metadata| metadata.get(METADATA_KEY));
    let json = json.ok_or("a safetensors file, but not one that meno wrote")?;
    let document: Result<Document, _> = serde_json::from_str(json);
    let version = match &document {
        Ok(Document { format, architecture, digest, .. }) => {
            Version { format: *format, architecture: architecture.clone(), digest: digest.clone() }
        }
        Err(_) => serde_json::from_str(json).map_err(damaged)?,
    };
    if version.format > FORMAT {
        let newer = version.format;
        return Err(format!(
            "format version {newer}, but this program reads up to version {FORMAT}; update meno"
        ));
    }
    if let Some(held) = &version.digest {
        digest::check(bytes, held)?;
    }
    if version.format == 0 {
        return Err("damaged description of the model: there is no format version 0".to_owned());
    }
    if version.architecture == ONNX && cfg!(not(feature = "onnx")) {
        return Err("it is an ONNX graph, which this program cannot run (feature `onnx` of meno)".to_owned());
    }
    const KNOWN: [&str; 6] = [SLOT_GATED, SPAN_TAGGER, SPAN_TAGGER_INT8, TRANSFORMER, TRANSFORMER_INT8, ONNX];
    if !KNOWN.contains(&&*version.architecture) {
        let known = KNOWN.map(|name| format!("{name:?}")).join(", ");
        return Err(format!("unknown architecture {:?}; this program has {known}", version.architecture));
    }
    assemble(document.map_err(damaged)?, &tensors, english)
}

fn assemble(document: Document, tensors: &SafeTensors<'_>, english: &English) -> Result<Model, String> {
    check_names(&document)?;
    let labels = LabelSet::new(Names::new(document.id2label.values().map(String::as_str)));
    let intents = Names::new(document.intents.iter().map(String::as_str));
    let (encoder, features) = match document.architecture.as_str() {
        #[cfg(feature = "onnx")]
        ONNX => onnx::read(&document.shape, labels, intents, tensors)?,
        architecture => {
            let (encoder, forms) = match architecture {
                SLOT_GATED => (slot_gated(&document, tensors)?, None),
                TRANSFORMER | TRANSFORMER_INT8 => transformer::read(&document, tensors)?,
                _ => span_tagger(&document, tensors, english)?,
            };
            let words = Names::new(document.vocabulary.iter().map(String::as_str));
            (encoder, Features { words, labels, intents, forms, ..Features::default() })
        }
    };
    let policy = policy(&document, Model::default_scorer(&encoder))?;
    if policy.growth.is_some() && !english.has_syntax() {
        return Err(format!("it needs the syntax model for English, which is {NOT_BUILT_IN}"));
    }
    let known_values = known_values(&document)?;
    check_description(&document)?;
    let ngrams = ngrams(&document, tensors)?;
    let wordings = wordings(&document, tensors)?;
    if policy.trust.is_some() != wordings.is_some() {
        return Err(damaged("a confidence without wordings, or wordings without one"));
    }
    let concepts = document.concepts;
    let outside_penalty = concepts.as_ref().map_or(0.0, |concepts| concepts.outside_penalty);
    let joint_slots = concepts.as_ref().map_or(0.0, |concepts| concepts.joint_slots);
    let lexicon = concepts.map(|concepts| concepts.lexicon);
    let features = Features { lexicon, ngrams, wordings, ..features };
    Ok(Model {
        normalizer: document.text,
        features: Arc::new(features),
        encoder,
        outside_penalty,
        joint_slots,
        policy: Arc::new(policy),
        known_values: Arc::new(known_values),
        description: Arc::new(document.description),
        syntax: english.syntax.clone(),
        record: document.training,
    })
}

fn ngrams(document: &Document, tensors: &SafeTensors<'_>) -> Result<Option<Ngrams>, String> {
    match document.ngrams.as_deref() {
        None => Ok(None),
        Some(Ngrams::NAME) => Ngrams::read(document.intents.len(), |name, shape| {
            let view = find(tensors, name, Dtype::F32, shape)?;
            weights::floats(name, &view)
        })
        .map(Some),
        Some(other) => Err(damaged(format!("unknown n-grams {other:?}"))),
    }
}

fn wordings(document: &Document, tensors: &SafeTensors<'_>) -> Result<Option<Wordings>, String> {
    match document.wordings.as_deref() {
        None => Ok(None),
        Some(Wordings::NAME) => {
            let view = tensors.tensor(WORDINGS).map_err(|_| format!("tensor {WORDINGS:?} is missing"))?;
            let view = find(tensors, WORDINGS, Dtype::U32, &[view.shape().iter().product()])?;
            let (keys, _) = view.data().as_chunks::<4>();
            let wordings = Wordings::new(keys.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect());
            wordings.map(Some).ok_or_else(|| format!("tensor {WORDINGS:?} is not in rising order"))
        }
        Some(other) => Err(damaged(format!("unknown wordings {other:?}"))),
    }
}

/// Widths of the network beyond this are not believed.
const MAX_WIDTH: usize = 4096;

fn damaged(error: impl std::fmt::Display) -> String {
    format!("damaged description of the model: {error}")
}

fn slot_gated(document: &Document, tensors: &SafeTensors<'_>) -> Result<Encoder, String> {
    let shape: SlotGatedShape = serde_json::from_value(document.shape.clone()).map_err(damaged)?;
    check_counts(document, [shape.words, shape.labels, shape.intents])?;
    check_widths(&[("embedding", shape.embedding), ("hidden", shape.hidden)], MAX_WIDTH)?;
    let network = SlotGated::new(shape);
    let mut parameters = weights::read(network.layout(), tensors)?;
    network.pad(&mut parameters);
    let bounds = document.training.settings.calibration().map(|calibration| calibration.bounds);
    Ok(Encoder::SlotGated(Arc::new(SlotGatedEncoder::new(network, parameters, bounds.unwrap_or_default()))))
}

fn span_tagger(
    document: &Document,
    tensors: &SafeTensors<'_>,
    english: &English,
) -> Result<(Encoder, Option<Forms>), String> {
    let shape: SpanTaggerShape = serde_json::from_value(document.shape.clone()).map_err(damaged)?;
    let concepts = document.concepts.as_ref().ok_or_else(|| damaged("nothing on concepts"))?;
    check_counts(document, [shape.words, n_paired(shape.slots), shape.intents])?;
    let widths = [
        ("embedding", shape.embedding),
        ("character", shape.character),
        ("filters", shape.filters),
        ("hidden", shape.hidden),
    ];
    check_widths(&widths, MAX_WIDTH)?;
    shape.scored_spans().check()?;
    demand_paired(document)?;
    let alphabet = alphabet(concepts)?;
    let vectors = match (concepts.vectors.as_deref(), english.vectors()) {
        (None, _) => None,
        (Some(_), None) => {
            return Err(format!("it needs the vectors of English words, which are {NOT_BUILT_IN}"));
        }
        (Some(name), Some(vectors)) => Some(vectors.named(name)?),
    };
    let whole = alphabet.len() == shape.characters
        && shape.vector == vectors.as_ref().map_or(0, Vectors::width)
        && (1..=2).contains(&shape.layers)
        && concepts.has_finite_numbers()
        && concepts.lexicon.is_whole(shape.words, shape.slots);
    if !whole {
        return Err(damaged("what is said of concepts does not fit"));
    }
    let has_8_bits = document.architecture == SPAN_TAGGER_INT8;
    let network = if has_8_bits { SpanTagger::in_8_bits(shape) } else { SpanTagger::new(shape) };
    let mut parameters = weights::read(network.layout(), tensors)?;
    network.heads().pad(&mut parameters);
    let int8 = has_8_bits.then(|| weights::read_int8(network.int8(), tensors)).transpose()?;
    let forms = Forms { alphabet, vectors, pieces: None };
    Ok((Encoder::SpanTagger(Arc::new(SpanTaggerEncoder::new(network, parameters, int8))), Some(forms)))
}

/// How many labels so many slots have, if each has two.
fn n_paired(slots: usize) -> usize {
    slots.checked_mul(2).and_then(|n| n.checked_add(1)).unwrap_or(0)
}

fn demand_paired(document: &Document) -> Result<(), String> {
    match LabelSet::new(Names::new(document.id2label.values().map(String::as_str))).is_paired() {
        true => Ok(()),
        false => Err(damaged("labels are not O and pairs of B- and I-")),
    }
}

fn alphabet(concepts: &ConceptDocument) -> Result<Alphabet, String> {
    let characters: Vec<char> = concepts.alphabet.chars().collect();
    demand_distinct("character", characters.iter().map(char::to_string).collect::<Vec<_>>().iter())?;
    match characters.len() <= Alphabet::MAX {
        true => Ok(Alphabet::new(characters)),
        false => Err(damaged("what is said of concepts does not fit")),
    }
}

/// When something is unknown.
fn policy(document: &Document, default: Scorer) -> Result<Policy, String> {
    let policy = match &document.policy {
        Some(policy) => Policy::from(policy),
        None if document.format > 1 => return Err(damaged("missing field `policy`")),
        None => policy_of_version_1(document, default)?,
    };
    if policy.is_span_level() != matches!(default, Scorer::Span(_)) {
        return Err(damaged(format!("the score {:?} is not for this architecture", policy.scorer.name())));
    }
    let Policy { scorer, threshold, doubt, out_of_scope, reject, reject_foreign, growth, trust } = &policy;
    let is_sound = |trust: &Trust| {
        let Trust { confidence, out_of_scope, reject_above, act_from, asked, .. } = trust;
        confidence.is_whole()
            && out_of_scope.is_whole()
            && reject_above.is_none_or(f64::is_finite)
            && (0.0..=1.0).contains(act_from)
            && (asked.is_empty() || asked.len() == N_ASKED)
            && asked.iter().all(|share| (0.0..=1.0).contains(share))
    };
    if trust.as_ref().is_some_and(|trust| !is_sound(trust) || !policy.is_span_level()) {
        return Err(damaged("a confidence with other weights than it needs"));
    }
    if doubt.is_some_and(|doubt| !doubt.above.is_finite()) || (doubt.is_some() && !policy.is_span_level()) {
        return Err(damaged("a doubt that is not finite, or not of spans"));
    }
    if threshold.as_ref().is_some_and(|threshold| !threshold.value.is_finite()) {
        return Err(damaged("a threshold that is not finite"));
    }
    if growth.is_some_and(|growth| !growth.sure.is_finite()) {
        return Err(damaged("a wall that is not finite"));
    }
    let is_whole = match scorer {
        Scorer::Token(_) => true,
        Scorer::Span(score) => score.is_whole(),
    };
    let are_finite = [reject, reject_foreign].iter().all(|limit| limit.is_none_or(f64::is_finite));
    if !is_whole || !out_of_scope.is_whole() || !are_finite {
        return Err(damaged("a weight of a score that is not finite"));
    }
    Ok(policy)
}

/// Models of version 1 name their score; its weights were in the program.
fn policy_of_version_1(document: &Document, default: Scorer) -> Result<Policy, String> {
    let scorer = match (&document.threshold, default) {
        (None, scorer) => scorer,
        (Some(stored), Scorer::Span(_)) if stored.score == SpanScore::NAME => {
            Scorer::Span(SpanScore::FORMAT_1)
        }
        (Some(stored), Scorer::Token(_)) if let Ok(score) = stored.score.parse() => Scorer::Token(score),
        (Some(stored), _) => return Err(format!("a threshold of unknown kind {:?}", stored.score)),
    };
    let threshold = document.threshold.as_ref().map(|stored| stored.threshold.clone());
    let reject = document.concepts.as_ref().and_then(|concepts| concepts.reject);
    let out_of_scope = OutOfScopeScore::FORMAT_1;
    let growth = document.growth;
    let never = Policy::never(scorer);
    Ok(Policy { threshold, out_of_scope, reject, growth, ..never })
}

/// Only of slots that there are labels for; before version 3 nothing is known.
fn known_values(document: &Document) -> Result<KnownValues, String> {
    if document.format < FORMAT_WITH_VALUES {
        return Ok(KnownValues::default());
    }
    let slots: HashSet<&str> = document.id2label.values().map(|label| label::split(label).1).collect();
    for KnownValue { slot, phrase, .. } in &document.known_values {
        if let Some(slot) = slot.as_deref().filter(|slot| slot.is_empty() || !slots.contains(slot)) {
            return Err(damaged(format!("the value {phrase:?} is of a slot {slot:?} that it does not have")));
        }
    }
    Ok(KnownValues::new(document.known_values.clone()))
}

/// It speaks of slots and intents that there are, in texts that can be shown, and is small.
fn check_description(document: &Document) -> Result<(), String> {
    let slots = document.id2label.values().map(|label| label::split(label).1);
    let intents = document.intents.iter().map(String::as_str);
    let checked = document.description.check(&slots.collect(), &intents.collect());
    checked.map_err(|flaw| damaged(flaw.problem))
}

fn texts(names: &Names) -> Vec<String> {
    names.names().iter().map(|name| name.to_string()).collect()
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

fn check_names(document: &Document) -> Result<(), String> {
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
