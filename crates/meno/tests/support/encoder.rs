//! A tiny random BERT, as a folder of Hugging Face's kind.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use meno::random::Random;
use safetensors::tensor::{Dtype, TensorView};

const HIDDEN: usize = 32;
const WIDE: usize = 64;
const LAYERS: usize = 2;
const POSITIONS: usize = 24;

/// All letters and digits, and some words.
fn vocabulary() -> Vec<String> {
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "in", "weather", "play", "please"];
    let letters = ('a'..='z').chain('0'..='9').flat_map(|c| [c.to_string(), format!("##{c}")]);
    special.map(str::to_owned).into_iter().chain(letters).collect()
}

/// Writes the folder of an encoder.
pub fn write_encoder(folder: &Path, seed: u64) {
    let vocabulary = vocabulary();
    let config = format!(
        r#"{{"model_type": "bert", "vocab_size": {}, "hidden_size": {HIDDEN}, "num_hidden_layers": {LAYERS},
            "num_attention_heads": 2, "intermediate_size": {WIDE}, "max_position_embeddings": {POSITIONS},
            "type_vocab_size": 2, "hidden_act": "gelu"}}"#,
        vocabulary.len()
    );
    fs::write(folder.join("config.json"), config).unwrap();
    fs::write(folder.join("vocab.txt"), vocabulary.join("\n") + "\n").unwrap();
    let mut shapes: Vec<(String, Vec<usize>)> = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![vocabulary.len(), HIDDEN]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![POSITIONS, HIDDEN]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, HIDDEN]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![HIDDEN]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![HIDDEN]),
    ];
    for layer in 0..LAYERS {
        for (name, rows, columns) in [
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("attention.output.LayerNorm", HIDDEN, 0),
            ("intermediate.dense", WIDE, HIDDEN),
            ("output.dense", HIDDEN, WIDE),
            ("output.LayerNorm", HIDDEN, 0),
        ] {
            let shape = if columns == 0 { vec![rows] } else { vec![rows, columns] };
            shapes.push((format!("encoder.layer.{layer}.{name}.weight"), shape));
            shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![rows]));
        }
    }
    let mut random = Random::new(seed);
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = shapes
        .into_iter()
        .map(|(name, shape)| {
            let shift = f32::from(u8::from(name.ends_with("LayerNorm.weight")));
            let n = shape.iter().product::<usize>();
            let data = (0..n).flat_map(|_| (shift + 0.2 * random.normal()).to_le_bytes()).collect();
            (name, shape, data)
        })
        .collect();
    let views: HashMap<&str, TensorView<'_>> = tensors
        .iter()
        .map(|(name, shape, data)| (&**name, TensorView::new(Dtype::F32, shape.clone(), data).unwrap()))
        .collect();
    fs::write(folder.join("model.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
}
