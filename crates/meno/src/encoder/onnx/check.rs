//! What must hold of the bytes of a graph before anything is built from them.
//!
//! A file is read by `rten-onnx` and run by `rten`; neither looks for what would take the program down (graphs inside graphs
//! without end, numbers that never end) or what would go unnoticed (weights that are no numbers). Every problem names the node or the tensor.

use std::collections::HashSet;

use rten_onnx::onnx::{DataType, GraphProto, ModelProto, NodeProto, TensorProto};

/// No message of protocol buffers is longer, and so no ONNX file.
pub(crate) const MAX_BYTES: usize = i32::MAX as usize;
/// Graphs in branches of graphs.
const MAX_DEPTH: usize = 8;

/// Reads a graph that can be built: it has no graphs without end, each node reads what is there before it, all weights are
/// finite.
pub(crate) fn read(bytes: &[u8]) -> Result<ModelProto, String> {
    if bytes.len() > MAX_BYTES {
        return Err("more than 2 GB, which no ONNX file can have".to_owned());
    }
    check_wire(bytes, &MODEL, 0)?;
    let model = ModelProto::parse_buf(bytes).map_err(|error| format!("not an ONNX file: {error}"))?;
    let graph = model.graph.as_ref().filter(|graph| !graph.node.is_empty());
    let graph = graph.ok_or("not an ONNX file: there is no graph in it")?;
    check_graph(graph, &HashSet::new())?;
    Ok(model)
}

/// How a node is called where something is wrong with it.
pub(crate) fn title(node: &NodeProto) -> String {
    let operator = node.op_type.as_deref().unwrap_or("?");
    let name = node.name.as_deref().filter(|name| !name.is_empty());
    let name = name.or_else(|| node.output.first().map(String::as_str)).unwrap_or_default();
    format!("node {name:?} ({operator})")
}

/// What a message is made of, as far as a reader goes into it.
struct Message {
    /// Fields that are messages.
    fields: &'static [(u64, &'static Message)],
    /// Fields that are rows of numbers of varying length.
    packed: &'static [u64],
    /// Whether it can be inside of itself.
    nests: bool,
}

const fn message(fields: &'static [(u64, &'static Message)]) -> Message {
    Message { fields, packed: &[], nests: false }
}

static MODEL: Message = message(&[(7, &GRAPH), (8, &ENTRY), (14, &ENTRY)]);
static GRAPH: Message =
    Message { nests: true, ..message(&[(1, &NODE), (5, &TENSOR), (11, &INFO), (12, &INFO), (13, &INFO)]) };
static NODE: Message = message(&[(5, &ATTRIBUTE)]);
static ATTRIBUTE: Message =
    Message { packed: &[8], ..message(&[(5, &TENSOR), (6, &GRAPH), (10, &TENSOR), (11, &GRAPH)]) };
static TENSOR: Message = Message { packed: &[1, 5, 7, 11], ..message(&[(13, &ENTRY)]) };
static INFO: Message = message(&[(2, &TYPE)]);
static TYPE: Message =
    Message { nests: true, ..message(&[(1, &TENSOR_TYPE), (4, &SEQUENCE), (9, &SEQUENCE)]) };
static SEQUENCE: Message = message(&[(1, &TYPE)]);
static TENSOR_TYPE: Message = message(&[(2, &SHAPE)]);
static SHAPE: Message = message(&[(1, &ENTRY)]);
static ENTRY: Message = message(&[]);

/// Refuses bytes on which a reader would never end: numbers that go on and on, messages inside of messages without end.
fn check_wire(mut bytes: &[u8], of: &Message, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("graphs inside of graphs, more than {MAX_DEPTH} deep"));
    }
    let damaged = || "not an ONNX file: damaged, or cut off".to_owned();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes).ok_or_else(damaged)?;
        let n = match tag & 7 {
            0 => varint(&mut bytes).map(|_| 0),
            1 => Some(8),
            2 => varint(&mut bytes),
            5 => Some(4),
            _ => None,
        };
        let n = n.and_then(|n| usize::try_from(n).ok()).ok_or_else(damaged)?;
        let mut field = bytes.split_off(..n).ok_or_else(damaged)?;
        if tag & 7 != 2 {
            continue;
        }
        if let Some((_, inner)) = of.fields.iter().find(|(number, _)| *number == tag >> 3) {
            check_wire(field, inner, depth + usize::from(inner.nests))?;
        } else if of.packed.contains(&(tag >> 3)) {
            while !field.is_empty() {
                varint(&mut field).ok_or_else(damaged)?;
            }
        }
    }
    Ok(())
}

/// At most ten bytes, of which all but the last have their highest bit set.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Each node reads inputs, weights, or what nodes before it give, in this graph or in one around it.
fn check_graph(graph: &GraphProto, around: &HashSet<String>) -> Result<(), String> {
    let mut given = around.clone();
    given.extend(graph.input.iter().filter_map(|input| input.name.clone()));
    for tensor in &graph.initializer {
        check_weights(tensor, tensor.name.as_deref().unwrap_or_default())?;
        given.extend(tensor.name.clone());
    }
    for node in &graph.node {
        if let Some(missing) = node.input.iter().find(|name| !name.is_empty() && !given.contains(*name)) {
            return Err(format!(
                "{} reads {missing:?}, which nothing before it gives: the graph has a cycle or a gap",
                title(node)
            ));
        }
        for attribute in &node.attribute {
            attribute.t.iter().try_for_each(|tensor| check_weights(tensor, &title(node)))?;
            attribute.g.iter().try_for_each(|inner| check_graph(inner, &given))?;
        }
        given.extend(node.output.iter().cloned());
    }
    let outputs = graph.output.iter().filter_map(|output| output.name.as_ref());
    match outputs.into_iter().find(|name| !given.contains(*name)) {
        Some(missing) => Err(format!("the output {missing:?} is given by no node")),
        None => Ok(()),
    }
}

fn check_weights(tensor: &TensorProto, name: &str) -> Result<(), String> {
    let raw = tensor.raw_data.as_ref().map(|raw| raw.borrow());
    let raw = raw.as_ref().map_or(&[][..], |raw| &raw[..]);
    let is_finite = match tensor.data_type {
        Some(DataType::FLOAT) => raw.as_chunks::<4>().0.iter().all(|x| f32::from_le_bytes(*x).is_finite()),
        Some(DataType::DOUBLE) => raw.as_chunks::<8>().0.iter().all(|x| f64::from_le_bytes(*x).is_finite()),
        // Where all bits of the exponent are set.
        Some(DataType::FLOAT16) => {
            raw.as_chunks::<2>().0.iter().all(|x| u16::from_le_bytes(*x) & 0x7C00 != 0x7C00)
        }
        _ => true,
    };
    let is_finite = is_finite && tensor.float_data.iter().all(|x| x.is_finite());
    // Masks are filled with what is as low as can be: a single number may be infinite.
    let is_single = tensor.dims.iter().product::<i64>() <= 1;
    let is_number = is_single || (is_finite && tensor.double_data.iter().all(|x| x.is_finite()));
    match is_number {
        true => Ok(()),
        false => Err(format!("the weights {name:?} hold a value that is not finite")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message in a field of another.
    fn inside(field: u8, inner: &[u8]) -> Vec<u8> {
        let mut bytes = vec![field << 3 | 2];
        let mut n = inner.len();
        while n >= 0x80 {
            bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        bytes.push(n as u8);
        bytes.extend_from_slice(inner);
        bytes
    }

    #[test]
    fn graphs_without_end_are_refused() {
        let nested = |depth: usize| {
            let graph = (0..depth).fold(Vec::new(), |graph, _| inside(1, &inside(5, &inside(6, &graph))));
            inside(7, &graph)
        };
        assert!(check_wire(&nested(MAX_DEPTH - 1), &MODEL, 0).is_ok());
        for depth in [MAX_DEPTH, 100, 20_000] {
            let problem = read(&nested(depth)).err().unwrap_or_default();
            assert!(problem.contains("graphs inside of graphs"), "{depth}: {problem}");
        }
    }

    #[test]
    fn damaged_bytes_are_refused() {
        for bytes in [&b""[..], b"\x3a", b"\x3a\xff\xff\xff\xff\xff", b"PK\x03\x04", &[0xFF; 100]] {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
        // A number that never ends, at each place where one may stand: the version, the sides and the numbers of a tensor, those of
        // an attribute, a side of an input.
        let endless = [0xFF; 20];
        let tensor = |field: u8| inside(7, &inside(5, &inside(field, &endless)));
        let attribute = inside(7, &inside(1, &inside(5, &inside(8, &endless))));
        let side = inside(7, &inside(11, &inside(2, &inside(1, &inside(2, &inside(1, &endless))))));
        let version = [&[0x08][..], &endless].concat();
        for bytes in [tensor(1), tensor(5), tensor(7), tensor(13), attribute, side, version] {
            assert!(read(&bytes).is_err_and(|problem| problem.contains("damaged")), "{bytes:?}");
        }
    }
}
