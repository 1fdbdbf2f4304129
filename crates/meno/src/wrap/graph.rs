//! A graph from a file: its bytes with all weights in them, what enters it and what leaves it.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path};

use rten_onnx::onnx::{DataLocation, GraphProto, ModelProto, TensorProto, ValueInfoProto};

use super::{HINT_DAMAGED, WrapSettings};
use crate::encoder::onnx::check::{self, MAX_BYTES};
use crate::encoder::onnx::{Input, Output, Role};
use crate::{Error, Result};

/// Names under which inputs are known, by what they are for.
const INPUTS: [(Role, &[&str]); 5] = [
    (Role::Ids, &["input_ids", "ids", "token_ids", "word_ids", "words", "tokens", "input", "inputs"]),
    (Role::Mask, &["attention_mask", "input_mask", "mask"]),
    (Role::Segments, &["token_type_ids", "segment_ids", "token_types"]),
    (Role::Positions, &["position_ids", "positions"]),
    (Role::Length, &["lengths", "length", "sequence_lengths", "sequence_length", "seq_lens", "seq_len"]),
];
const LABEL_OUTPUTS: &[&str] = &["logits", "labels", "label_logits", "slots", "slot_logits", "token_logits"];
const INTENT_OUTPUTS: &[&str] = &["intents", "intent", "intent_logits", "class_logits", "cls_logits"];

/// A graph as it will stand in the model file.
pub(super) struct GraphFile {
    pub bytes: Vec<u8>,
    pub inputs: Vec<Input>,
    pub labels: Output,
    pub intents: Option<Output>,
}

/// Reads a graph whose output has so many numbers a row, and so many intents.
pub(super) fn read(path: &Path, settings: &WrapSettings, sizes: [usize; 2]) -> Result<GraphFile> {
    let too_large = |n: u64| n > MAX_BYTES as u64;
    let about = fs::metadata(path).map_err(|source| Error::read(path, source))?;
    if too_large(about.len()) {
        return Err(unfit(path, "more than 2 GB, which no ONNX file can have", HINT_DAMAGED));
    }
    let mut bytes = fs::read(path).map_err(|source| Error::read(path, source))?;
    let mut model = check::read(&bytes).map_err(|problem| unfit(path, problem, HINT_DAMAGED))?;
    if bring_weights(path, &mut model)? {
        let whole = model.write_buf();
        bytes = whole.map_err(|error| unfit(path, error.to_string(), HINT_DAMAGED))?;
        check::read(&bytes).map_err(|problem| unfit(path, problem, HINT_DAMAGED))?;
    }
    let graph = model.graph.unwrap_or_default();
    let inputs = inputs(path, &graph)?;
    let (labels, intents) = outputs(path, &graph, settings, sizes)?;
    Ok(GraphFile { bytes, inputs, labels, intents })
}

pub(super) fn unfit(path: &Path, problem: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::pretrained(path, problem, hint)
}

/// Takes weights that stand in files beside the graph into it; whether there were any.
fn bring_weights(path: &Path, model: &mut ModelProto) -> Result<bool> {
    let mut beside = Beside { folder: path.parent().unwrap_or(Path::new("")), files: HashMap::new() };
    let mut n_bytes = 0;
    let mut has_any = false;
    for tensor in model.graph.iter_mut().flat_map(|graph| &mut graph.initializer) {
        if tensor.data_location != Some(DataLocation::EXTERNAL) {
            continue;
        }
        let data = beside.weights(tensor).map_err(|problem| {
            let name = tensor.name.as_deref().unwrap_or_default();
            let hint = "keep the files that were written with the graph beside it";
            unfit(path, format!("the weights {name:?} stand in another file: {problem}"), hint)
        })?;
        n_bytes += data.len();
        if n_bytes > MAX_BYTES {
            let hint = "quantize the weights, or take a smaller model";
            return Err(unfit(path, "more than 2 GB with the weights beside it", hint));
        }
        tensor.raw_data = Some(data.into());
        (tensor.data_location, tensor.external_data) = (None, Vec::new());
        has_any = true;
    }
    Ok(has_any)
}

/// The files beside a graph, each read once.
struct Beside<'a> {
    folder: &'a Path,
    files: HashMap<String, Vec<u8>>,
}

impl Beside<'_> {
    fn weights(&mut self, tensor: &TensorProto) -> Result<Vec<u8>, String> {
        let entry = |key: &str| {
            let found = tensor.external_data.iter().find(|entry| entry.key.as_deref() == Some(key));
            found.and_then(|entry| entry.value.as_deref())
        };
        let number = |key: &str| entry(key).map(|text| text.parse::<usize>()).transpose();
        let place = entry("location").ok_or("it is not said in which")?;
        let bad = |_| "its place there is no number".to_owned();
        let (offset, length) = (number("offset").map_err(bad)?.unwrap_or(0), number("length").map_err(bad)?);
        let bytes = self.read(place)?;
        let end = length.map_or(Some(bytes.len()), |length| offset.checked_add(length));
        let data = end.and_then(|end| bytes.get(offset..end));
        data.map(<[u8]>::to_vec).ok_or_else(|| format!("{place} is too short"))
    }

    fn read(&mut self, place: &str) -> Result<&[u8], String> {
        let is_beside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(place).components().all(is_beside) {
            return Err(format!("{place} is not beside it"));
        }
        if !self.files.contains_key(place) {
            let path = self.folder.join(place);
            let failed = |error: std::io::Error| format!("{place}: {error}");
            if fs::metadata(&path).map_err(failed)?.len() > MAX_BYTES as u64 {
                return Err(format!("{place} has more than 2 GB"));
            }
            self.files.insert(place.to_owned(), fs::read(path).map_err(failed)?);
        }
        Ok(&self.files[place])
    }
}

fn name(info: &ValueInfoProto) -> &str {
    info.name.as_deref().unwrap_or_default()
}

/// What the inputs are for. Weights may be listed among them and are none.
fn inputs(path: &Path, graph: &GraphProto) -> Result<Vec<Input>> {
    let is_weight = |info: &&ValueInfoProto| graph.initializer.iter().any(|tensor| tensor.name == info.name);
    let found: Vec<&str> = graph.input.iter().filter(|info| !is_weight(info)).map(name).collect();
    let role = |name: &str| {
        let by_name = INPUTS.iter().find(|(_, names)| names.contains(&name)).map(|(role, _)| *role);
        // What enters alone can only be the ids.
        by_name.or((found.len() == 1).then_some(Role::Ids))
    };
    let inputs = found.iter().map(|&name| {
        role(name).map(|role| Input { name: name.to_owned(), role }).ok_or_else(|| {
            let names: Vec<&str> = INPUTS.iter().map(|(_, names)| names[0]).collect();
            let hint = format!("inputs are called {}", names.join(", "));
            unfit(path, format!("nothing is known of the input {name:?}"), hint)
        })
    });
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    match inputs.iter().filter(|input| input.role == Role::Ids).count() {
        1 => Ok(inputs),
        n => Err(unfit(path, format!("it has {n} inputs for ids"), "one input is called input_ids")),
    }
}

/// The outputs with labels and intents: those that are named, else those of a known name or the right width.
fn outputs(
    path: &Path,
    graph: &GraphProto,
    settings: &WrapSettings,
    [n_columns, n_intents]: [usize; 2],
) -> Result<(Output, Option<Output>)> {
    let all: Vec<&ValueInfoProto> = graph.output.iter().collect();
    let choose = |what: &str, stated: Option<&str>, names: &[&str], n: usize, not: Option<&str>| {
        let others: Vec<&&ValueInfoProto> = all.iter().filter(|info| Some(name(info)) != not).collect();
        let found = match stated {
            Some(stated) => others.iter().find(|info| name(info) == stated),
            None if others.len() == 1 => others.first(),
            None => {
                let by_name =
                    others.iter().find(|info| names.contains(&name(info)) && width(info) != Some(0));
                by_name.or_else(|| others.iter().find(|info| width(info) == Some(n as i64)))
            }
        };
        found.map(|info| output(graph, name(info))).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|info| name(info)).collect();
            let hint = format!("name the output; the graph has {}", names.join(", "));
            unfit(path, format!("no output is known to be that of the {what}s"), hint)
        })
    };
    let stated = settings.intent_output.as_deref();
    let labels = choose("label", settings.label_output.as_deref(), LABEL_OUTPUTS, n_columns, stated)?;
    let intents = (n_intents > 0)
        .then(|| choose("intent", stated, INTENT_OUTPUTS, n_intents, Some(&labels.name)))
        .transpose()?;
    Ok((labels, intents))
}

/// The last side of an output, if it is stated.
fn width(info: &ValueInfoProto) -> Option<i64> {
    info.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?.dim.last()?.dim_value
}

fn output(graph: &GraphProto, name: &str) -> Output {
    let maker = graph.node.iter().find(|node| node.output.iter().any(|output| output == name));
    let probabilities = maker.is_some_and(|node| node.op_type.as_deref() == Some("Softmax"));
    Output { name: name.to_owned(), probabilities }
}
