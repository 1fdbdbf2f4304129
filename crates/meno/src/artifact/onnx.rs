//! What only the model file of a tagger has that is an ONNX graph: the graph, its vocabulary, and how they are used.

use std::sync::Arc;

use safetensors::tensor::{Dtype, SafeTensors};

use super::damaged;
use crate::encoder::Encoder;
use crate::encoder::onnx::{OnnxEncoder, OnnxShape, Tokens};
use crate::engine::Model;
use crate::features::{Features, WordPieces};
use crate::label::{LabelSet, Names};
use crate::tensors::{RawTensor, find};

/// The file.
const GRAPH: &str = "graph";
/// The names of its pieces or words by their ids, a line feed between two.
const VOCABULARY: &str = "vocabulary";

/// The tensors of such a model.
pub(super) fn tensors(model: &Model) -> Vec<(String, RawTensor)> {
    let Encoder::Onnx(encoder) = &model.encoder else { return Vec::new() };
    let pieces = model.features.forms.as_ref().and_then(|forms| forms.pieces.as_ref());
    // The first word is ours: the one that is unknown.
    let vocabulary = match pieces {
        Some(pieces) => pieces.names().to_owned(),
        None => model.features.words.names()[1..].join("\n"),
    };
    let bytes = [(GRAPH, encoder.bytes.to_vec()), (VOCABULARY, vocabulary.into_bytes())];
    bytes
        .map(|(name, data)| (name.to_owned(), RawTensor { dtype: Dtype::U8, shape: vec![data.len()], data }))
        .into()
}

/// The graph, tried, and what its words, labels and intents are.
pub(super) fn read(
    shape: &serde_json::Value,
    labels: LabelSet,
    intents: Names,
    tensors: &SafeTensors<'_>,
) -> Result<(Encoder, Features), String> {
    let shape: OnnxShape = serde_json::from_value(shape.clone()).map_err(damaged)?;
    let vocabulary = String::from_utf8(bytes(VOCABULARY, tensors)?).map_err(damaged)?;
    let (n_labels, n_intents) = (labels.len(), intents.len());
    let (features, n_ids) = match &shape.tokens {
        Tokens::Pieces(settings) => {
            let pieces = WordPieces::new(vocabulary, settings.clone()).map_err(damaged)?;
            let n_ids = pieces.len();
            (Features::of_pieces(pieces, labels, intents), n_ids)
        }
        Tokens::Words { .. } => {
            let words: Vec<String> = vocabulary.split('\n').map(str::to_owned).collect();
            (Features::of_words(&words, labels, intents), words.len())
        }
    };
    let encoder = OnnxEncoder::new(bytes(GRAPH, tensors)?, shape, [n_ids, n_labels, n_intents])
        .map_err(|problem| format!("a graph that cannot be used: {problem}"))?;
    Ok((Encoder::Onnx(Arc::new(encoder)), features))
}

fn bytes(name: &str, tensors: &SafeTensors<'_>) -> Result<Vec<u8>, String> {
    let view = tensors.tensor(name).map_err(|_| format!("tensor {name:?} is missing"))?;
    let view = find(tensors, name, Dtype::U8, &[view.shape().iter().product()])?;
    Ok(view.data().to_vec())
}
