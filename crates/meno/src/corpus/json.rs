//! What the readers of JSON documents share: errors on their line in the whole, objects in their order.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::finding::Log;
use super::raw::Collector;
use super::source::{Lines, Source, json_problem_at};

/// A document whose parts are parsed one after the other.
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    pub(super) found: Collector<'a>,
    lines: Lines<'a>,
}

impl<'a> Document<'a> {
    pub(super) fn new(path: &'a Path, source: &'a Source, log: &'a mut Log) -> Self {
        Document { text: &source.text, found: Collector::new(path, log), lines: Lines::new(&source.text) }
    }

    /// The line on which a part begins.
    pub(super) fn line_of(&self, part: &str) -> usize {
        self.lines.line_of(part)
    }

    /// Parses a part of the document; an error is noted on its line in the whole.
    pub(super) fn parse<T: Deserialize<'a>>(&mut self, part: &'a str) -> Option<T> {
        serde_json::from_str(part)
            .map_err(|error| {
                let (line, before) = self.lines.place_of(part);
                let line = line + error.line().saturating_sub(1);
                self.found.note(line, json_problem_at(&error, before));
            })
            .ok()
    }

    /// Parses a list whose items are parsed by themselves, each with its line.
    pub(super) fn items<T: Deserialize<'a>>(&mut self, part: &'a str) -> Vec<(usize, T)> {
        let Some(rows) = self.parse::<Vec<&'a RawValue>>(part) else { return Vec::new() };
        let mut items = Vec::with_capacity(rows.len());
        for row in rows {
            let line = self.line_of(row.get());
            items.extend(self.parse(row.get()).map(|item| (line, item)));
        }
        items
    }
}

/// An object with its keys in order and its values unread.
pub(super) struct Pairs<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
