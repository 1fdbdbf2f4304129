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
    /// The same model with smaller weights, which answers nearly the same. Only one on a pretrained encoder is large enough.
    pub fn with_weights(&self, format: WeightFormat) -> Result<Model> {
        let Encoder::Transformer(encoder) = &self.encoder else {
            return Err(Error::Setting {
                problem: "only the weights of a pretrained encoder can be made smaller".to_owned(),
                hint: "the model is small as it is".to_owned(),
            });
        };
        let smaller = match format {
            WeightFormat::Bf16 => encoder.rounded_to_bf16(),
            WeightFormat::Int8 => encoder.quantized(),
        };
        let encoder = smaller.ok_or_else(|| Error::Setting {
            problem: "the weights of the model have 8 bits already".to_owned(),
            hint: "make it of the model that was trained".to_owned(),
        })?;
        Ok(Model { encoder: Encoder::Transformer(Arc::new(encoder)), ..self.clone() })
    }
}
