//! A model with smaller weights.

use std::sync::Arc;

use super::Model;
use crate::encoder::Encoder;
use crate::{Error, Result};

/// How many bits a weight has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightFormat {
    /// 16 bits: half the size, computed with as floats.
    Bf16,
    /// 8 bits: a quarter of the size, and computed with as such, which is faster.
    Int8,
}

impl Model {
    /// The same model with smaller weights, which answers nearly the same: of a span tagger the LSTMs in 8 bits, of a pretrained
    /// encoder the layers and pieces in 8 or 16.
    pub fn with_weights(&self, format: WeightFormat) -> Result<Model> {
        let has_8_bits = || Error::Setting {
            problem: "the weights of the model have 8 bits already".to_owned(),
            hint: "make it of the model that was trained".to_owned(),
        };
        let encoder = match (&self.encoder, format) {
            (Encoder::Transformer(encoder), WeightFormat::Bf16) => {
                Encoder::Transformer(Arc::new(encoder.rounded_to_bf16().ok_or_else(has_8_bits)?))
            }
            (Encoder::Transformer(encoder), WeightFormat::Int8) => {
                Encoder::Transformer(Arc::new(encoder.quantized().ok_or_else(has_8_bits)?))
            }
            (Encoder::SpanTagger(encoder), WeightFormat::Int8) => {
                Encoder::SpanTagger(Arc::new(encoder.quantized().ok_or_else(has_8_bits)?))
            }
            (Encoder::SpanTagger(_), WeightFormat::Bf16) => {
                return Err(Error::Setting {
                    problem: "the default tagger has no weights of 16 bits".to_owned(),
                    hint: "take 8 bits, which are smaller and faster".to_owned(),
                });
            }
            _ => {
                return Err(Error::Setting {
                    problem: "the weights of such a tagger cannot be made smaller".to_owned(),
                    hint: "the default tagger and those on pretrained encoders can have 8 bits".to_owned(),
                });
            }
        };
        Ok(Model { encoder, ..self.clone() })
    }
}
