//! An ONNX graph that is being put together, node after node. Opset 17.

use super::protobuf::Message;

/// The version of the operators.
const OPSET: i64 = 17;
/// The version of the file format that has it.
const IR_VERSION: i64 = 8;

/// Types of numbers (`TensorProto.DataType`).
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    Float = 1,
    Integer = 7,
}

/// A side of a tensor.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Of(usize),
    /// As long as it comes, the same for all of the same name.
    Named(&'static str),
}

/// What nodes hand to each other, by name.
#[derive(Clone, Debug)]
pub(super) struct Value(String);

/// What an operator is told besides its inputs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attribute<'a> {
    Integer(i64),
    Integers(&'a [i64]),
    Text(&'a str),
}

/// Nodes, constants, inputs and outputs; every name is given once.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    n_names: usize,
}

impl Graph {
    pub(super) fn input(&mut self, name: &str, of: Type, sides: &[Side]) -> Value {
        self.inputs.push(described(name, of, sides));
        Value(name.to_owned())
    }

    /// Hands a value to the outside under a name.
    pub(super) fn output(&mut self, name: &str, value: &Value, sides: &[Side]) {
        let node = node("Identity", name, &[value], &[name], &[]);
        self.nodes.push(node);
        self.outputs.push(described(name, Type::Float, sides));
    }

    /// A tensor of floats.
    pub(super) fn floats(&mut self, name: &str, sides: &[usize], values: &[f32]) -> Value {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, Type::Float, sides, &bytes)
    }

    /// A row of whole numbers, such as axes.
    pub(super) fn integers(&mut self, values: &[i64]) -> Value {
        let name = self.fresh("integers");
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(&name, Type::Integer, &[values.len()], &bytes)
    }

    /// A single float.
    pub(super) fn float(&mut self, value: f32) -> Value {
        let name = self.fresh("float");
        self.floats(&name, &[], &[value])
    }

    fn constant(&mut self, name: &str, of: Type, sides: &[usize], bytes: &[u8]) -> Value {
        let tensor = Message::default()
            .integers(1, sides.iter().map(|&side| side as i64))
            .integer(2, of as i64)
            .text(8, name)
            .bytes(9, bytes);
        self.constants.push(tensor);
        Value(name.to_owned())
    }

    /// An operator with one output.
    pub(super) fn node(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attributes: &[(&str, Attribute<'_>)],
    ) -> Value {
        let [output] = self.nodes(operator, inputs, attributes);
        output
    }

    /// An operator with several outputs.
    pub(super) fn nodes<const N: usize>(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attributes: &[(&str, Attribute<'_>)],
    ) -> [Value; N] {
        let name = self.fresh(operator);
        let outputs: [String; N] =
            std::array::from_fn(|i| if N == 1 { name.clone() } else { format!("{name}.{i}") });
        let output_names: Vec<&str> = outputs.iter().map(String::as_str).collect();
        self.nodes.push(node(operator, &name, inputs, &output_names, attributes));
        outputs.map(Value)
    }

    /// `x W + b`
    pub(super) fn linear(&mut self, x: &Value, weight: &Value, bias: &Value) -> Value {
        let product = self.node("MatMul", &[x, weight], &[]);
        self.node("Add", &[&product, bias], &[])
    }

    /// A value in another shape; -1 is what is left.
    pub(super) fn reshape(&mut self, x: &Value, sides: &[i64]) -> Value {
        let sides = self.integers(sides);
        self.node("Reshape", &[x, &sides], &[])
    }

    pub(super) fn concat(&mut self, axis: i64, values: &[&Value]) -> Value {
        self.node("Concat", values, &[("axis", Attribute::Integer(axis))])
    }

    /// The file.
    pub(super) fn into_bytes(self, name: &str) -> Vec<u8> {
        let graph = Message::default()
            .messages(1, self.nodes)
            .text(2, name)
            .messages(5, self.constants)
            .messages(11, self.inputs)
            .messages(12, self.outputs);
        let operators = Message::default().text(1, "").integer(2, OPSET);
        Message::default()
            .integer(1, IR_VERSION)
            .text(2, "meno")
            .text(3, env!("CARGO_PKG_VERSION"))
            .message(7, graph)
            .message(8, operators)
            .into_bytes()
    }

    fn fresh(&mut self, what: &str) -> String {
        self.n_names += 1;
        format!("{what}_{}", self.n_names)
    }
}

fn node(
    operator: &str,
    name: &str,
    inputs: &[&Value],
    outputs: &[&str],
    attributes: &[(&str, Attribute<'_>)],
) -> Message {
    Message::default()
        .texts(1, inputs.iter().map(|Value(name)| name.as_str()))
        .texts(2, outputs.iter().copied())
        .text(3, name)
        .text(4, operator)
        .messages(5, attributes.iter().map(|(name, attribute)| attribute.message(name)))
}

impl Attribute<'_> {
    fn message(self, name: &str) -> Message {
        const INTEGER: i64 = 2;
        const TEXT: i64 = 3;
        const INTEGERS: i64 = 7;
        let message = Message::default().text(1, name);
        match self {
            Attribute::Integer(value) => message.integer(3, value).integer(20, INTEGER),
            Attribute::Text(text) => message.text(4, text).integer(20, TEXT),
            Attribute::Integers(values) => message.integers(8, values.iter().copied()).integer(20, INTEGERS),
        }
    }
}

/// The name, type and shape of an input or output.
fn described(name: &str, of: Type, sides: &[Side]) -> Message {
    let sides = sides.iter().map(|side| match side {
        Side::Of(n) => Message::default().integer(1, *n as i64),
        Side::Named(name) => Message::default().text(2, name),
    });
    let shape = Message::default().messages(1, sides);
    let tensor = Message::default().integer(1, of as i64).message(2, shape);
    Message::default().text(1, name).message(2, Message::default().message(1, tensor))
}
