//! Weights in the model file: floats, and what taggers may have instead: floats of 16 bits, and 8 bits with scales.

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::encoder::{Encoder, Int8Weights};
use crate::kernel::round_to_bf16;
use crate::nn::{Layout, Parameters, Tensor};
use crate::tensors::{RawTensor, find};

/// What follows the name of a tensor of 8 bits in the name of its scales.
const SCALE: &str = ".scale";

/// All weights of an encoder, by name. What a transformer has that fits 16 bits is stored in 16 bits.
pub(super) fn stored(encoder: &Encoder) -> Vec<(String, RawTensor)> {
    let Some((layout, parameters)) = encoder.weights() else { return Vec::new() };
    let may_be_short = matches!(encoder, Encoder::Transformer(_));
    let floats = layout.tensors().map(|(name, tensor)| {
        let values = parameters.values(tensor);
        let is_short = may_be_short && tensor.rows() > 1 && values.iter().all(|&x| round_to_bf16(x) == x);
        let stored = if is_short { bf16(shape_of(tensor), &values) } else { f32(shape_of(tensor), &values) };
        (name.to_owned(), stored)
    });
    let mut stored: Vec<(String, RawTensor)> = floats.collect();
    for tensor in encoder.int8().iter().flat_map(|(layout, int8)| int8.tensors(layout)) {
        let data = tensor.weights.iter().map(|weight| weight.cast_unsigned()).collect();
        stored.push((
            tensor.name.to_owned(),
            RawTensor { dtype: Dtype::I8, shape: tensor.shape.to_vec(), data },
        ));
        stored.push((format!("{}{SCALE}", tensor.name), f32(vec![tensor.scales.len()], tensor.scales)));
    }
    stored
}

/// Floats, to be stored.
pub(super) fn f32(shape: Vec<usize>, values: &[f32]) -> RawTensor {
    RawTensor { dtype: Dtype::F32, shape, data: values.iter().flat_map(|x| x.to_le_bytes()).collect() }
}

fn bf16(shape: Vec<usize>, values: &[f32]) -> RawTensor {
    let halves = values.iter().flat_map(|x| ((x.to_bits() >> 16) as u16).to_le_bytes());
    RawTensor { dtype: Dtype::BF16, shape, data: halves.collect() }
}

/// The weights of a network that are floats, each tensor of the shape that it has there.
pub(super) fn read(layout: &Layout, tensors: &SafeTensors<'_>) -> Result<Parameters, String> {
    let mut views = Vec::new();
    for (name, tensor) in layout.tensors() {
        let dtype = match tensors.tensor(name).map(|view| view.dtype()) {
            Ok(Dtype::BF16) => Dtype::BF16,
            _ => Dtype::F32,
        };
        views.push((name, tensor, find(tensors, name, dtype, &shape_of(tensor))?));
    }
    // The file holds as many floats as are now allocated.
    let mut parameters = Parameters::zeros(layout);
    for (name, tensor, view) in views {
        parameters.set(tensor, &floats(name, &view)?);
    }
    Ok(parameters)
}

/// The weights of a network that have 8 bits.
pub(super) fn read_int8(layout: &Layout, tensors: &SafeTensors<'_>) -> Result<Int8Weights, String> {
    Int8Weights::read(layout, |name, shape, n_scales| {
        let view = find(tensors, name, Dtype::I8, &shape)?;
        let scale = format!("{name}{SCALE}");
        let scales = floats(&scale, &find(tensors, &scale, Dtype::F32, &[n_scales])?)?;
        Ok((view.data().iter().map(|byte| byte.cast_signed()).collect(), scales))
    })
}

/// No weight that was ever trained is near it, and what is computed from weights up to it stays finite.
const LARGEST: f32 = 1e6;

/// The numbers of a tensor of 32 or 16 bits, none of them beyond [`LARGEST`].
pub(super) fn floats(name: &str, view: &TensorView<'_>) -> Result<Vec<f32>, String> {
    let floats: Vec<f32> = match view.dtype() {
        Dtype::BF16 => {
            let (halves, _) = view.data().as_chunks::<2>();
            halves.iter().map(|&[low, high]| f32::from_le_bytes([0, 0, low, high])).collect()
        }
        _ => {
            let (floats, _) = view.data().as_chunks::<4>();
            floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        }
    };
    // Without an early end the compiler looks at many at once.
    match floats.iter().fold(true, |all, x| all & (x.abs() <= LARGEST)) {
        true => Ok(floats),
        false => Err(format!("tensor {name:?} holds a value that is not finite, or beyond {LARGEST}")),
    }
}

fn shape_of(tensor: Tensor) -> Vec<usize> {
    if tensor.rows() == 1 { vec![tensor.columns()] } else { vec![tensor.rows(), tensor.columns()] }
}
