//! What a training starts from: the weights of a pretrained encoder below new heads.

use super::TransformerTagger;
use crate::nn::optimizer::Group;
use crate::nn::{Network, Parameters, Tensor};
use crate::pretrained::Pretrained;
use crate::random::Random;

impl TransformerTagger {
    /// The weights of an encoder of the same sizes; the heads are random.
    pub(crate) fn pretrained(&self, encoder: &Pretrained, random: &mut Random) -> Parameters {
        let mut parameters = self.initial(random);
        for (name, tensor) in self.layout.tensors() {
            let sources = sources(name);
            if !sources.is_empty() {
                let floats: Vec<&[f32]> = sources.iter().map(|source| encoder.tensor(source)).collect();
                copy(&mut parameters, tensor, &floats, name.starts_with("layer.") && tensor.rows() > 1);
            }
        }
        parameters
    }

    /// The groups of parameters: how fast heads and embeddings of pieces learn beside the encoder, whose matrices decay.
    pub(crate) fn groups(&self, heads: f32, pieces: f32, decay: f32) -> Vec<Group> {
        let first = self.heads.weights()[0];
        let head = |start| Group { start, rate: heads, decay: 0.0 };
        vec![
            Group { start: 0, rate: 1.0, decay },
            head(first.offset()),
            Group { start: self.layout.matrices(), rate: 1.0, decay: 0.0 },
            head(self.heads.first_vector().offset()),
            Group { start: self.layout.dense(), rate: pieces, decay: 0.0 },
        ]
    }
}

/// What the encoder calls a tensor of ours; those that lie side by side, several; those of the heads, nothing.
fn sources(name: &str) -> Vec<String> {
    match name {
        "embeddings.pieces" => return vec!["embeddings.word_embeddings.weight".to_owned()],
        "embeddings.positions" => return vec!["embeddings.position_embeddings.weight".to_owned()],
        "embeddings.type" => return vec!["embeddings.token_type_embeddings.weight".to_owned()],
        "embeddings.norm.weight" => return vec!["embeddings.LayerNorm.weight".to_owned()],
        "embeddings.norm.bias" => return vec!["embeddings.LayerNorm.bias".to_owned()],
        _ => {}
    }
    let Some((layer, part)) = name.strip_prefix("layer.").and_then(|rest| rest.split_once('.')) else {
        return Vec::new();
    };
    let Some((part, kind)) = part.rsplit_once('.') else { return Vec::new() };
    let names: &[&str] = match part {
        "attention.qkv" => &["attention.self.query", "attention.self.key", "attention.self.value"],
        "attention.output" => &["attention.output.dense"],
        "attention.norm" => &["attention.output.LayerNorm"],
        "intermediate" => &["intermediate.dense"],
        "output" => &["output.dense"],
        "output.norm" => &["output.LayerNorm"],
        _ => &[],
    };
    names.iter().map(|name| format!("encoder.layer.{layer}.{name}.{kind}")).collect()
}

/// Fills a tensor from others that lie side by side in it; matrices come output dimension first.
fn copy(parameters: &mut Parameters, tensor: Tensor, sources: &[&[f32]], is_transposed: bool) {
    let (rows, columns) = (tensor.rows(), tensor.columns());
    let width = columns / sources.len();
    let mut at = 0;
    parameters.fill(tensor, || {
        let (row, column) = (at / columns, at % columns);
        at += 1;
        let (source, column) = (sources[column / width], column % width);
        if is_transposed { source[column * rows + row] } else { source[row * width + column] }
    });
}
