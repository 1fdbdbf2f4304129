//! Names with ids.

use std::collections::HashMap;
use std::sync::Arc;

/// Names with ids, the more frequent first.
///
/// A name is shared by all answers that have it, so that an answer may outlive its model.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, u32>,
}

impl Names {
    /// These names, in this order.
    pub fn new<S: Into<Arc<str>>>(names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<Arc<str>> = names.into_iter().map(Into::into).collect();
        let ids = names.iter().cloned().zip(0..).collect();
        Names { names, ids }
    }

    /// The distinct names after `first`, by falling frequency, then in order of appearance.
    pub(crate) fn count<'a>(first: &[&'a str], names: impl Iterator<Item = &'a str>) -> Self {
        let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
        for (position, name) in names.enumerate() {
            counts.entry(name).or_insert((0, position)).0 += 1;
        }
        let mut ranked: Vec<_> = counts.into_iter().filter(|(name, _)| !first.contains(name)).collect();
        ranked.sort_by_key(|&(_, (count, position))| (std::cmp::Reverse(count), position));
        Names::new(first.iter().copied().chain(ranked.into_iter().map(|(name, _)| name)))
    }

    /// The id of a name.
    pub fn id(&self, name: &str) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// The name of an id.
    pub fn name(&self, id: u32) -> &Arc<str> {
        &self.names[id as usize]
    }

    /// All names in the order of their ids.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
