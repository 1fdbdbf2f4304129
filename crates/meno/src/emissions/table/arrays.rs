//! Logits as arrays: `.npz` and `.safetensors`.
//!
//! | array | shape | |
//! |---|---|---|
//! | `logits` | words x labels | f32 or f64, the words of all utterances one after the other |
//! | `lengths` | utterances | integers: the words of each; or `offsets`, one longer, where each begins and the last ends |
//! | `labels` | words | gold labels: integers that count `label_names` from 0, or strings; may be left out |
//! | `tokens` | words | strings; may be left out |
//! | `label_names` | labels | strings; may be left out |
//!
//! safetensors has no strings: `label_names` is an entry of its metadata there, a JSON list.

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::npy::{Archive, Array, Values};
use super::{Label, Raw};

pub(super) fn read_npz(bytes: &[u8]) -> Result<Raw, String> {
    let mut archive = Archive::new(bytes)?;
    let there = archive.names();
    let mut arrays = Arrays { there, ..Arrays::default() };
    for (name, place) in arrays.places() {
        *place = archive.array(name)?;
    }
    arrays.into_raw()
}

pub(super) fn read_safetensors(bytes: &[u8]) -> Result<Raw, String> {
    let not_safetensors = |error| format!("not a safetensors file: {error}");
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(not_safetensors)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(not_safetensors)?;
    let there = tensors.names().into_iter().map(str::to_owned).collect();
    let mut arrays = Arrays { there, ..Arrays::default() };
    for (name, place) in arrays.places() {
        if let Ok(tensor) = tensors.tensor(name) {
            *place = Some(array(&tensor).map_err(|problem| format!("the tensor `{name}`: {problem}"))?);
        }
    }
    let names = header.metadata().as_ref().and_then(|metadata| metadata.get("label_names"));
    if let Some(names) = names {
        let names: Vec<String> = serde_json::from_str(names)
            .map_err(|_| "`label_names` in its metadata is not a JSON list of strings")?;
        arrays.label_names = Some(Array { shape: vec![names.len()], values: Values::Texts(names) });
    }
    arrays.into_raw()
}

fn array(tensor: &TensorView<'_>) -> Result<Array, String> {
    let data = tensor.data();
    let values = match tensor.dtype() {
        Dtype::F32 => Values::Floats(numbers(data, f32::from_le_bytes)),
        Dtype::F64 => Values::Floats(numbers(data, |bytes| f64::from_le_bytes(bytes) as f32)),
        Dtype::I64 => Values::Integers(numbers(data, i64::from_le_bytes)),
        Dtype::I32 => Values::Integers(numbers(data, |bytes| i32::from_le_bytes(bytes).into())),
        dtype => return Err(format!("the type {dtype:?} is not read")),
    };
    Ok(Array { shape: tensor.shape().to_vec(), values })
}

fn numbers<T, const N: usize>(data: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
    data.as_chunks::<N>().0.iter().map(|&bytes| number(bytes)).collect()
}

#[derive(Default)]
struct Arrays {
    logits: Option<Array>,
    lengths: Option<Array>,
    offsets: Option<Array>,
    labels: Option<Array>,
    tokens: Option<Array>,
    label_names: Option<Array>,
    /// The names of all arrays in the file.
    there: Vec<String>,
}

impl Arrays {
    fn places(&mut self) -> [(&'static str, &mut Option<Array>); 6] {
        [
            ("logits", &mut self.logits),
            ("lengths", &mut self.lengths),
            ("offsets", &mut self.offsets),
            ("labels", &mut self.labels),
            ("tokens", &mut self.tokens),
            ("label_names", &mut self.label_names),
        ]
    }

    fn into_raw(self) -> Result<Raw, String> {
        let Some(logits) = self.logits else {
            let there = self.there.join(", ");
            return Err(format!("there is no array `logits`, only {there}"));
        };
        let (&[n_words, n_labels], Values::Floats(values)) = (&logits.shape[..], logits.values) else {
            return Err("`logits` is not a matrix of floats, words x labels".to_owned());
        };
        let lengths = lengths(self.lengths, self.offsets)?;
        let total = lengths.iter().try_fold(0usize, |total, &length| total.checked_add(length));
        if total != Some(n_words) {
            let total = total.map_or("more than can be".to_owned(), |total| total.to_string());
            let n = lengths.len();
            return Err(format!(
                "the {n} lengths add up to {total} words, but there are {n_words} rows of logits"
            ));
        }
        let gold = self.labels.map(|array| match flat("labels", array, n_words)? {
            Values::Integers(ids) => Ok(ids.into_iter().map(Label::Id).collect()),
            Values::Texts(names) => Ok(names.into_iter().map(Label::Name).collect()),
            Values::Floats(_) => Err("`labels` are floats; they are integers or strings".to_owned()),
        });
        Ok(Raw {
            lines: None,
            label_names: self.label_names.map(|array| texts("label_names", array, n_labels)).transpose()?,
            n_labels,
            values,
            lengths,
            words: self.tokens.map(|array| texts("tokens", array, n_words)).transpose()?,
            gold: gold.transpose()?,
        })
    }
}

fn lengths(lengths: Option<Array>, offsets: Option<Array>) -> Result<Vec<usize>, String> {
    let integers = |name: &str, array: Array| match (array.shape.len(), array.values) {
        (1, Values::Integers(values)) => values
            .into_iter()
            .map(|value| usize::try_from(value).map_err(|_| format!("`{name}` has {value} in it")))
            .collect::<Result<Vec<usize>, _>>(),
        _ => Err(format!("`{name}` is not a list of integers")),
    };
    match (lengths, offsets) {
        (Some(array), _) => integers("lengths", array),
        (None, None) => Err("there is neither an array `lengths` nor one `offsets`".to_owned()),
        (None, Some(array)) => {
            let offsets = integers("offsets", array)?;
            if offsets.first() != Some(&0) {
                return Err("`offsets` does not begin with 0".to_owned());
            }
            let length = |pair: &[usize]| pair[1].checked_sub(pair[0]);
            let lengths = offsets.windows(2).map(length).collect::<Option<_>>();
            lengths.ok_or_else(|| "`offsets` does not rise".to_owned())
        }
    }
}

fn flat(name: &str, array: Array, length: usize) -> Result<Values, String> {
    match array.shape[..] {
        [found] if found == length => Ok(array.values),
        [found] => Err(format!("`{name}` has {found} entries instead of {length}")),
        _ => Err(format!("`{name}` has the shape {:?}; it is a list", array.shape)),
    }
}

fn texts(name: &str, array: Array, length: usize) -> Result<Vec<String>, String> {
    match flat(name, array, length)? {
        Values::Texts(texts) => Ok(texts),
        _ => Err(format!("`{name}` are not strings")),
    }
}
