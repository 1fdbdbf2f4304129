//! A YAML document as a tree whose nodes know their line. Aliases are refused, so a small file stays small in memory.

use std::mem;

use saphyr_parser::{Event, Parser, ScanError};

/// A value and the line it begins on, from 1.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    /// For a block scalar (`|` or `>`) the line is that of its first content line.
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// The value of a key, if this is a map that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Value::Map(pairs) = &self.value else { return None };
        pairs.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn map(&self) -> &[(Node, Node)] {
        match &self.value {
            Value::Map(pairs) => pairs,
            _ => &[],
        }
    }

    pub(super) fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(nodes) => Some(nodes),
            _ => None,
        }
    }
}

/// The first document of a file; `Ok(None)` if there is none, else the line and what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Option<Node>, (usize, String)> {
    documents(text, 1).map(|documents| documents.into_iter().next())
}

/// All documents of a file.
pub(super) fn parse_all(text: &str) -> Result<Vec<Node>, (usize, String)> {
    documents(text, usize::MAX)
}

fn documents(text: &str, most: usize) -> Result<Vec<Node>, (usize, String)> {
    let mut documents = Vec::new();
    let mut open: Vec<(Node, Option<Node>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error: ScanError| (error.marker().line(), error.info().to_owned()))?;
        let line = span.start.line();
        let done = match event {
            Event::Alias(_) => return Err((line, "YAML aliases are not supported".to_owned())),
            Event::SequenceStart(..) => {
                open.push((Node { line, value: Value::List(Vec::new()) }, None));
                None
            }
            Event::MappingStart(..) => {
                open.push((Node { line, value: Value::Map(Vec::new()) }, None));
                None
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(|(node, _)| node),
            Event::Scalar(text, ..) => {
                // A block scalar is placed at its first filled line, though its text has the blank ones before it.
                let blank = text.bytes().take_while(|&byte| byte == b'\n').count();
                Some(Node { line: line.saturating_sub(blank), value: Value::Scalar(text.into_owned()) })
            }
            _ => None,
        };
        let Some(node) = done else { continue };
        match open.last_mut() {
            None => documents.push(node),
            Some((Node { value: Value::List(nodes), .. }, _)) => nodes.push(node),
            Some((Node { value: Value::Map(pairs), .. }, key)) => match mem::take(key) {
                None => *key = Some(node),
                Some(key) => pairs.push((key, node)),
            },
            Some((Node { value: Value::Scalar(_), .. }, _)) => unreachable!("scalars are never open"),
        }
        if documents.len() >= most {
            break;
        }
    }
    Ok(documents)
}
