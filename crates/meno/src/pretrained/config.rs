//! `config.json`: the sizes of an encoder, and what it must be for its arithmetic to be the one that there is.

use std::path::Path;

use serde_json::Value;

use super::{HINT_DAMAGED, HINT_FAMILY, TransformerShape, read as read_file};
use crate::tensors::check_widths;
use crate::{Error, Result};

/// Who named the tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Bert,
    DistilBert,
}

/// What DistilBERT calls the parts of a layer.
const DISTILBERT: [(&str, &str); 9] = [
    ("encoder.layer", "transformer.layer"),
    ("attention.self.query", "attention.q_lin"),
    ("attention.self.key", "attention.k_lin"),
    ("attention.self.value", "attention.v_lin"),
    ("attention.output.dense", "attention.out_lin"),
    ("attention.output.LayerNorm", "sa_layer_norm"),
    ("intermediate.dense", "ffn.lin1"),
    ("output.dense", "ffn.lin2"),
    ("output.LayerNorm", "output_layer_norm"),
];

impl Family {
    /// What the names of the file begin with: nothing, or the name of the encoder inside of a larger network.
    pub(super) fn prefix(self, is_there: impl Fn(&str) -> bool) -> &'static str {
        let prefix = match self {
            Family::Bert => "bert.",
            Family::DistilBert => "distilbert.",
        };
        let first = "embeddings.word_embeddings.weight";
        if !is_there(first) && is_there(&format!("{prefix}{first}")) { prefix } else { "" }
    }

    /// What the file calls a tensor of BERT.
    pub(super) fn name(self, name: &str) -> String {
        match self {
            Family::Bert => name.to_owned(),
            Family::DistilBert => {
                DISTILBERT.iter().fold(name.to_owned(), |name, (bert, own)| name.replace(bert, own))
            }
        }
    }

    /// Whether it has no such tensor, and does as if it were zero.
    pub(super) fn lacks(self, name: &str) -> bool {
        self == Family::DistilBert && name == "embeddings.token_type_embeddings.weight"
    }
}

/// Reads the sizes; whatever would need another arithmetic is refused.
pub(super) fn read(path: &Path) -> Result<(TransformerShape, Family)> {
    let bytes = read_file(path)?;
    let values: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Error::pretrained(path, format!("not JSON: {error}"), HINT_DAMAGED))?;
    let config = Config { path, values };
    let family = match config.values.get("model_type").and_then(Value::as_str) {
        Some("bert") => Family::Bert,
        Some("distilbert") => Family::DistilBert,
        _ => return Err(config.refused("model_type", "\"bert\" or \"distilbert\"")),
    };
    config.demand("is_decoder", Value::Bool(false))?;
    config.demand("add_cross_attention", Value::Bool(false))?;
    config.demand("position_embedding_type", "absolute".into())?;
    config.demand(if family == Family::Bert { "hidden_act" } else { "activation" }, "gelu".into())?;
    Ok((config.shape(family)?, family))
}

struct Config<'p> {
    path: &'p Path,
    values: Value,
}

/// Greater sizes are not believed.
const MAX_WIDTH: usize = 4096;
const MAX_LAYERS: usize = 64;
const MAX_POSITIONS: usize = 1 << 16;
const MAX_PIECES: usize = 1 << 20;
const MAX_TYPES: usize = 16;

impl Config<'_> {
    fn shape(&self, family: Family) -> Result<TransformerShape> {
        let [hidden, layers, heads, intermediate] = match family {
            Family::Bert => ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"],
            Family::DistilBert => ["dim", "n_layers", "n_heads", "hidden_dim"],
        };
        let shape = TransformerShape {
            vocabulary: self.size("vocab_size", MAX_PIECES)?,
            hidden: self.width(hidden, MAX_WIDTH)?,
            layers: self.size(layers, MAX_LAYERS)?,
            heads: self.size(heads, MAX_WIDTH)?,
            intermediate: self.width(intermediate, 4 * MAX_WIDTH)?,
            positions: self.size("max_position_embeddings", MAX_POSITIONS)?,
            types: if family == Family::Bert { self.size("type_vocab_size", MAX_TYPES)? } else { 1 },
            norm_epsilon: self.epsilon()?,
        };
        if !shape.hidden.is_multiple_of(shape.heads) {
            return Err(self.refused(heads, &format!("a divisor of {:?}, {}", hidden, shape.hidden)));
        }
        Ok(shape)
    }

    /// A whole number from 1 on.
    fn size(&self, key: &str, most: usize) -> Result<usize> {
        let size = self.values.get(key).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
        size.filter(|size| (1..=most).contains(size))
            .ok_or_else(|| self.refused(key, &format!("a whole number from 1 to {most}")))
    }

    /// A size that the kernels can work on.
    fn width(&self, key: &str, most: usize) -> Result<usize> {
        let width = self.size(key, most)?;
        check_widths(&[(key, width)], most)
            .map_err(|_| self.refused(key, &format!("a multiple of 16 up to {most}")))?;
        Ok(width)
    }

    fn epsilon(&self) -> Result<f32> {
        let epsilon = match self.values.get("layer_norm_eps") {
            None => Some(1e-12),
            Some(value) => value.as_f64().map(|value| value as f32),
        };
        epsilon
            .filter(|&epsilon| epsilon > 0.0 && epsilon < 1.0)
            .ok_or_else(|| self.refused("layer_norm_eps", "a number between 0 and 1"))
    }

    /// What is missing has this value by itself.
    fn demand(&self, key: &str, needed: Value) -> Result<()> {
        match self.values.get(key) {
            None => Ok(()),
            Some(value) if *value == needed => Ok(()),
            Some(_) => Err(self.refused(key, &needed.to_string())),
        }
    }

    fn refused(&self, key: &str, needed: &str) -> Error {
        let problem = match self.values.get(key) {
            None => format!("there is no {key:?}"),
            Some(value) => format!("{key:?} is {value}, not {needed}"),
        };
        Error::pretrained(self.path, problem, HINT_FAMILY)
    }
}
