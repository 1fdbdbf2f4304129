//! How to talk about a corpus: what its slots and intents are called, what is said once a request is understood, what values are.
//!
//! Enters: `corpus.toml` beside the splits of a corpus. It goes into the model, and from there to dialogues.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What a corpus says of its slots and intents; all of it may be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Description {
    /// By their names in the data.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub slots: BTreeMap<String, SlotDescription>,
    /// By their names in the data.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub intents: BTreeMap<String, IntentDescription>,
}

/// What is said of a slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SlotDescription {
    /// The kind in a question, with its article: `a place`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// What people call that kind in an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Some values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// What its values are turned into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve: Option<Dimension>,
}

/// What is said of an intent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IntentDescription {
    /// What follows *Did you mean to*: `set an alarm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// What is said once a request is understood, with slots in braces; the first whose slots the request has is taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reply: Vec<String>,
    /// The slots without which it cannot be carried out.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub required: BTreeSet<String>,
    /// Some requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// What a value is turned into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    /// A point in time.
    Time,
    /// A day or a longer stretch of the calendar.
    Date,
    /// How long something takes.
    Duration,
    /// A number.
    Number,
    /// A place in a row.
    Ordinal,
    /// An amount of money.
    Amount,
    /// A temperature.
    Temperature,
}
