//! What model files have in common: safetensors, of which nothing is believed.

use std::borrow::Cow;

use safetensors::tensor::{Dtype, SafeTensors, TensorView, View};

/// Refuses widths that no network has.
pub(crate) fn check_widths(widths: &[(&str, usize)], most: usize) -> Result<(), String> {
    for &(what, width) in widths {
        if width == 0 || width > most || !width.is_multiple_of(16) {
            return Err(format!("{what} width {width} is not a multiple of 16 up to {most}"));
        }
    }
    Ok(())
}

/// The tensor of a name, if it is of this type and shape.
pub(crate) fn find<'a>(
    tensors: &SafeTensors<'a>,
    name: &str,
    dtype: Dtype,
    shape: &[usize],
) -> Result<TensorView<'a>, String> {
    let view = tensors.tensor(name).map_err(|_| format!("tensor {name:?} is missing"))?;
    if view.dtype() != dtype || view.shape() != shape {
        let (has, is) = (view.dtype(), view.shape());
        return Err(format!("tensor {name:?} is {has:?} {is:?}, not {dtype:?} {shape:?}"));
    }
    Ok(view)
}

/// A tensor to be written.
pub(crate) struct RawTensor {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub data: Vec<u8>,
}

impl View for RawTensor {
    fn dtype(&self) -> Dtype {
        self.dtype
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

/// What a setting is that older models did not have, so that their bytes stay what they were.
pub(crate) fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
