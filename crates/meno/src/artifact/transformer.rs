//! What the file of a transformer has that others have not: its sizes and its pieces.

use std::sync::Arc;

use safetensors::tensor::SafeTensors;
use serde::{Deserialize, Serialize};

use super::{Document, TRANSFORMER_INT8, alphabet, check_counts, damaged, demand_paired, n_paired, weights};
use crate::encoder::{Encoder, TransformerEncoder, TransformerTagger, TransformerTaggerShape};
use crate::features::{Forms, PieceSettings, WordPieces};
use crate::nn::Network;

/// What a transformer cuts words into. Another way to cut them is another name.
#[derive(Serialize, Deserialize)]
pub(super) struct PieceDocument {
    name: String,
    #[serde(flatten)]
    settings: PieceSettings,
    /// By their ids, a line feed between two.
    vocabulary: String,
}

impl From<&WordPieces> for PieceDocument {
    fn from(pieces: &WordPieces) -> Self {
        PieceDocument {
            name: WordPieces::NAME.to_owned(),
            settings: pieces.settings().clone(),
            vocabulary: pieces.names().to_owned(),
        }
    }
}

/// The encoder of a transformer, and how words look to it.
pub(super) fn read(
    document: &Document,
    tensors: &SafeTensors<'_>,
) -> Result<(Encoder, Option<Forms>), String> {
    let shape: TransformerTaggerShape = serde_json::from_value(document.shape.clone()).map_err(damaged)?;
    let concepts = document.concepts.as_ref().ok_or_else(|| damaged("nothing on concepts"))?;
    let n_words = document.vocabulary.len();
    let n_labels = n_paired(shape.slots);
    check_counts(document, [n_words, n_labels, shape.intents])?;
    shape.check().map_err(damaged)?;
    demand_paired(document)?;
    let alphabet = alphabet(concepts)?;
    let pieces = match &concepts.pieces {
        None => return Err(damaged("nothing on pieces")),
        Some(PieceDocument { name, .. }) if name != WordPieces::NAME => {
            return Err(damaged(format!("unknown pieces {name:?}")));
        }
        Some(PieceDocument { settings, vocabulary, .. }) => {
            WordPieces::new(vocabulary.clone(), settings.clone()).map_err(damaged)?
        }
    };
    let whole = pieces.len() <= shape.encoder.vocabulary
        && shape.labels.is_none_or(|labels| labels.n == n_labels)
        && concepts.has_finite_numbers()
        && concepts.lexicon.is_whole(n_words, shape.slots);
    if !whole {
        return Err(damaged("what is said of concepts does not fit"));
    }
    let has_8_bits = document.architecture == TRANSFORMER_INT8;
    let network =
        if has_8_bits { TransformerTagger::in_8_bits(shape) } else { TransformerTagger::new(shape) };
    let mut parameters = weights::read(network.layout(), tensors)?;
    network.pad(&mut parameters);
    let int8 = has_8_bits.then(|| weights::read_int8(network.int8(), tensors)).transpose()?;
    let forms = Forms { alphabet, vectors: None, pieces: Some(Arc::new(pieces)) };
    let bounds = document.training.settings.calibration().map(|calibration| calibration.bounds);
    let encoder = TransformerEncoder::new(network, parameters, int8, bounds.unwrap_or_default());
    Ok((Encoder::Transformer(Arc::new(encoder)), Some(forms)))
}
