//! A tagger made elsewhere that is an ONNX graph, version `onnx.v1`: run by `rten`.
//!
//! ```text
//! ids     = [start, pieces of the first word, ..., pieces of the last word, end]
//! labels  = graph(ids), the row of the first piece of each word
//! logits  = ln sum exp of the columns of a label / temperature
//! ```
//! A graph is a program that nobody here wrote. It is looked at and tried before it is taken; where it fails all the same, or
//! gives what is no number, all labels of the words are equally likely: it is as unsure as can be.

pub(crate) mod check;
mod session;

use std::sync::Arc;

use rten::{Dimension, NodeId, OpRegistry, RunOptions, ThreadPool, Value, ValueOrView, op_registry};
use serde::{Deserialize, Serialize};

use crate::features::PieceSettings;
pub(crate) use session::OnnxSession;

/// How words enter a graph and what leaves it, as the model file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnnxShape {
    /// What each input is for, by its name.
    pub inputs: Vec<Input>,
    /// The output with a row for each piece.
    pub labels: Output,
    /// The output with the intents, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intents: Option<Output>,
    /// For each number of a row the label that it speaks for.
    pub columns: Vec<u32>,
    /// What words are cut into.
    pub tokens: Tokens,
    /// The most ids of a run, those of start and end included.
    pub max_pieces: usize,
    /// What logits are divided by, for labels and for intents.
    pub temperature: f32,
    pub intent_temperature: f32,
}

/// An input of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Input {
    pub name: String,
    pub role: Role,
}

/// What an input is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// The ids themselves.
    Ids,
    /// 1 where there is an id, 0 where it is filled up.
    Mask,
    /// 0 everywhere: the first of two texts.
    Segments,
    /// 0, 1, 2, ...
    Positions,
    /// How many ids there are.
    Length,
}

/// An output of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Output {
    pub name: String,
    /// Whether it went through a softmax.
    pub probabilities: bool,
}

/// What words are cut into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name")]
pub(crate) enum Tokens {
    /// Pieces; their vocabulary stands beside the graph.
    #[serde(rename = "word_pieces.v1")]
    Pieces(PieceSettings),
    /// Words; ids are places in the vocabulary.
    #[serde(rename = "words.v1")]
    Words {
        /// What stands for a word that the vocabulary does not have.
        unknown: u32,
        /// What stands before and after an utterance.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<u32>,
    },
}

impl Tokens {
    fn ends(&self) -> [Option<u32>; 2] {
        match self {
            Tokens::Pieces(pieces) => [Some(pieces.cls), Some(pieces.sep)],
            Tokens::Words { start, end, .. } => [*start, *end],
        }
    }

    fn unknown(&self) -> u32 {
        match self {
            Tokens::Pieces(pieces) => pieces.unknown,
            Tokens::Words { unknown, .. } => *unknown,
        }
    }
}

/// A graph that can be run.
#[derive(Clone)]
pub(crate) struct OnnxEncoder {
    pub(crate) shape: OnnxShape,
    /// The file.
    pub(crate) bytes: Arc<[u8]>,
    graph: Arc<rten::Model>,
    /// In the order of the shape.
    inputs: Vec<(NodeId, Form)>,
    outputs: Vec<NodeId>,
    n_labels: usize,
    n_intents: usize,
}

/// How an input lies in memory.
#[derive(Clone, Copy, Debug)]
struct Form {
    role: Role,
    /// Whether utterances are rows of a table, here of one row.
    is_batch: bool,
    is_float: bool,
    /// How many ids there must be, where the graph says so.
    fixed: Option<usize>,
}

impl std::fmt::Debug for OnnxEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OnnxEncoder({} bytes)", self.bytes.len())
    }
}

/// What a graph says of some ids.
pub(crate) struct Answer {
    /// Logits, a row of columns for each id.
    pub labels: Vec<f32>,
    pub intents: Vec<f32>,
}

impl OnnxEncoder {
    /// A graph that was tried: with ids up to `n_ids` it gives rows for as many labels and intents as there are.
    pub(crate) fn new(
        bytes: Vec<u8>,
        shape: OnnxShape,
        [n_ids, n_labels, n_intents]: [usize; 3],
    ) -> Result<Self, String> {
        check::read(&bytes)?;
        let graph = Arc::new(load(&bytes)?);
        let inputs = shape.inputs.iter().map(|input| form(&graph, input)).collect::<Result<Vec<_>, _>>()?;
        demand_all_inputs(&graph, &inputs)?;
        let node = |output: &Output| {
            graph.node_id(&output.name).map_err(|_| format!("the graph has no output {:?}", output.name))
        };
        let outputs = std::iter::once(&shape.labels).chain(&shape.intents).map(node);
        let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
        let bytes = bytes.into();
        let encoder = OnnxEncoder { shape, bytes, graph, inputs, outputs, n_labels, n_intents };
        encoder.check_shape(n_ids)?;
        let last = (n_ids as u32).saturating_sub(1);
        encoder.attempt(&[encoder.shape.tokens.unknown(), last, last])?;
        encoder.attempt(&[last])?;
        Ok(encoder)
    }

    /// Whether a graph can be read and built.
    #[cfg(feature = "train")]
    pub(crate) fn try_graph(bytes: &[u8]) -> Result<(), String> {
        check::read(bytes)?;
        load(bytes).map(|_| ())
    }

    /// The same with other temperatures.
    pub(crate) fn with_temperatures(&self, temperature: f32, intent_temperature: f32) -> Self {
        let shape = OnnxShape { temperature, intent_temperature, ..self.shape.clone() };
        OnnxEncoder { shape, ..self.clone() }
    }

    fn check_shape(&self, n_ids: usize) -> Result<(), String> {
        let OnnxShape { columns, tokens, max_pieces, temperature, intent_temperature, .. } = &self.shape;
        let ids = tokens.ends().into_iter().flatten().chain([tokens.unknown()]);
        let is_whole = columns.iter().all(|&label| (label as usize) < self.n_labels)
            && (0..self.n_labels as u32).all(|label| columns.contains(&label))
            && ids.into_iter().all(|id| (id as usize) < n_ids)
            && (MIN_PIECES..=MAX_PIECES).contains(max_pieces)
            && [temperature, intent_temperature].iter().all(|t| t.is_finite() && **t > 0.0)
            && self.shape.intents.is_some() == (self.n_intents > 0);
        if is_whole { Ok(()) } else { Err("labels, ids or temperatures do not fit".to_owned()) }
    }

    /// Whether it can be run with so many ids that stand for nothing.
    pub(crate) fn attempt_longest(&self) -> Result<(), String> {
        let n = self.shape.max_pieces - self.shape.tokens.ends().iter().flatten().count();
        self.attempt(&vec![self.shape.tokens.unknown(); n])
    }

    fn attempt(&self, pieces: &[u32]) -> Result<(), String> {
        let [start, end] = self.shape.tokens.ends();
        let ids: Vec<u32> = start.into_iter().chain(pieces.iter().copied()).chain(end).collect();
        self.run(&ids, &ThreadPool::with_num_threads(1).into()).map(|_| ())
    }

    /// Runs the graph.
    pub(crate) fn run(&self, ids: &[u32], threads: &Arc<ThreadPool>) -> Result<Answer, String> {
        let inputs = self.inputs.iter().map(|(node, form)| Ok((*node, form.value(ids)?)));
        let inputs = inputs.collect::<Result<Vec<_>, String>>()?;
        let options = RunOptions::default().with_thread_pool(Some(threads.clone()));
        let values = self.graph.run(inputs, &self.outputs, Some(options));
        let mut values = values.map_err(|error| format!("the graph cannot be run: {error}"))?.into_iter();
        let OnnxShape { labels, intents, columns, .. } = &self.shape;
        let n_rows = self.fixed().unwrap_or(ids.len());
        let value = values.next().ok_or("the graph has no output")?;
        let mut found = floats(value, labels)?;
        if found.len() != n_rows * columns.len() {
            return Err(format!(
                "the output {:?} has {} numbers for {n_rows} ids, not {} for each, one a label",
                labels.name,
                found.len(),
                columns.len()
            ));
        }
        found.truncate(ids.len() * columns.len());
        let intents = match (intents, values.next()) {
            (Some(output), Some(value)) => floats(value, output)?,
            _ => Vec::new(),
        };
        match intents.len() == self.n_intents {
            true => Ok(Answer { labels: found, intents }),
            false => Err(format!("the graph gives {} intents, not {}", intents.len(), self.n_intents)),
        }
    }

    /// How many ids there must be, where the graph says so.
    fn fixed(&self) -> Option<usize> {
        self.inputs.iter().find_map(|(_, form)| form.fixed)
    }
}

/// No fewer ids than these fit into a run, and no more are tried.
const MIN_PIECES: usize = 8;
const MAX_PIECES: usize = 8192;

fn load(bytes: &[u8]) -> Result<rten::Model, String> {
    let mut options = rten::ModelOptions::with_ops(operators());
    options.prepack_weights(true);
    options.load(bytes.to_vec()).map_err(|error| match error.node() {
        Some(node) => format!("node {node:?}: {}", unsupported(&error.to_string())),
        None => unsupported(&error.to_string()),
    })
}

/// What `rten` says of a node, without the name of the node.
fn unsupported(message: &str) -> String {
    message.split_once("\": ").map_or(message, |(_, rest)| rest).to_owned()
}

fn form(graph: &rten::Model, input: &Input) -> Result<(NodeId, Form), String> {
    let Input { name, role } = input;
    let node = graph.node_id(name).map_err(|_| format!("the graph has no input {name:?}"))?;
    let info = graph.node_info(node);
    let sides = info.as_ref().and_then(|info| info.shape());
    let is_float = info
        .and_then(|info| info.dtype())
        .is_some_and(|of| matches!(of, rten::ValueType::Tensor(rten::DataType::Float)));
    let (is_batch, last) = match sides.as_deref() {
        // What says nothing of its shape is taken to be as most are.
        None => (true, None),
        Some([last]) => (false, Some(last)),
        Some([Dimension::Fixed(1) | Dimension::Symbolic(_), last]) => (true, Some(last)),
        Some(sides) => {
            let n = sides.len();
            return Err(format!(
                "the input {name:?} is no row of ids: it has {n} sides, or more than one row"
            ));
        }
    };
    let fixed = match last {
        Some(Dimension::Fixed(n)) if *role != Role::Length => Some(*n),
        _ => None,
    };
    Ok((node, Form { role: *role, is_batch, is_float, fixed }))
}

fn demand_all_inputs(graph: &rten::Model, inputs: &[(NodeId, Form)]) -> Result<(), String> {
    let known = |node: &NodeId| inputs.iter().any(|(known, _)| known == node);
    let Some(other) = graph.input_ids().iter().find(|node| !known(node)) else { return Ok(()) };
    let name = graph.node_info(*other).and_then(|info| info.name().map(str::to_owned));
    Err(format!("nothing is known of the input {:?}", name.unwrap_or_default()))
}

impl Form {
    fn value(&self, ids: &[u32]) -> Result<ValueOrView<'static>, String> {
        let n = self.fixed.unwrap_or(ids.len());
        let at = |i: usize| match self.role {
            Role::Ids => ids.get(i).map_or(0, |&id| id as i32),
            Role::Mask => i32::from(i < ids.len()),
            Role::Segments => 0,
            Role::Positions => i as i32,
            Role::Length => ids.len() as i32,
        };
        let n = if self.role == Role::Length { 1 } else { n };
        let values: Vec<i32> = (0..n).map(at).collect();
        let sides: &[usize] = if self.is_batch { &[1, n] } else { &[n] };
        let value = match self.is_float {
            true => Value::from_shape(sides, values.into_iter().map(|x| x as f32).collect::<Vec<f32>>()).ok(),
            false => Value::from_shape(sides, values).ok(),
        };
        Ok(value.ok_or("an input that cannot be made")?.into())
    }
}

/// The numbers of an output as logits, in the order of its rows.
fn floats(value: Value, output: &Output) -> Result<Vec<f32>, String> {
    let mut floats = None;
    // The rank is not known; a tensor is copied at most twice.
    if let Ok((_, found)) = value.clone().into_shape_vec::<f32, 3>() {
        floats = Some(found);
    } else if let Ok((_, found)) = value.clone().into_shape_vec::<f32, 2>() {
        floats = Some(found);
    } else if let Ok((_, found)) = value.into_shape_vec::<f32, 1>() {
        floats = Some(found);
    }
    let mut floats = floats.ok_or_else(|| format!("the output {:?} is no table of floats", output.name))?;
    if output.probabilities {
        floats.iter_mut().for_each(|p| *p = p.max(f32::MIN_POSITIVE).ln());
    }
    Ok(floats)
}

/// The operators of taggers of text. Those that can go on without end are not among them, nor those of pictures and sounds.
#[rustfmt::skip]
fn operators() -> OpRegistry {
    op_registry!(
        Abs, Add, And, ArgMax, BatchNormalization, Cast, CastLike, Ceil, Clip, Concat, ConstantOfShape, Conv, Cos,
        CumSum, DequantizeLinear, Div, DynamicQuantizeLinear, Einsum, Elu, Equal, Erf, Exp, Expand, Flatten, Floor, GRU, Gather,
        GatherElements, GatherND, Gelu, Gemm, GlobalAveragePool, Greater, GreaterOrEqual, Identity, If, IsInf,
        IsNaN, LSTM, LayerNormalization, LeakyRelu, Less, LessOrEqual, Log, LogSoftmax, MatMul, MatMulInteger, Max, MaxPool,
        Mean, Min, Mod, Mul, Neg, Not, OneHot, Or, PRelu, Pad, Pow, QuantizeLinear, Range, Reciprocal,
        ReduceL2, ReduceLogSumExp, ReduceMax, ReduceMean, ReduceMin, ReduceProd, ReduceSum, ReduceSumSquare, Relu, Reshape,
        ReverseSequence, RotaryEmbedding, Round, ScatterElements, ScatterND, Shape, Sigmoid, Sign, Sin, Size, Slice, Softmax,
        Softplus, Split, Sqrt, Squeeze, Sub, Sum, Tanh, Tile, Transpose, Trilu, Unsqueeze, Where, Xor
    )
}
