//! How to talk about a corpus: what its slots and intents are called, what is said once a request is understood, what values are.
//!
//! Enters: `corpus.toml` beside the splits of a corpus. It goes into the model, and from there to dialogues. A corpus without
//! the file says what the names of its slots tell.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What a corpus says of its slots and intents; all of it may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SlotDescription {
    /// The kind in a question, with its article: `a place`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
    /// How it is asked for where a request lacks it: `For when?`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Whether its requests are none of the bot's business, and are rejected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reject: bool,
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
    /// In percent.
    Percentage,
}

/// What is wrong with a description, and where: `["slots", "time", "names", "2"]`.
#[derive(Debug)]
pub(crate) struct Flaw {
    pub(crate) place: Vec<String>,
    pub(crate) problem: String,
    pub(crate) hint: String,
}

impl Flaw {
    fn new(place: &[&str], problem: String, hint: impl Into<String>) -> Self {
        Flaw { place: place.iter().map(|&step| step.to_owned()).collect(), problem, hint: hint.into() }
    }
}

impl Description {
    /// The most that it may take, written as JSON.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.intents.is_empty()
    }

    /// Whether requests of an intent are rejected.
    pub fn rejects(&self, intent: &str) -> bool {
        self.intents.get(intent).is_some_and(|intent| intent.reject)
    }

    /// What a corpus without a description is taken to say: what the values of a slot are, where its name tells it.
    pub fn guess<'a>(slots: impl IntoIterator<Item = &'a str>) -> Self {
        let described =
            |slot: &str| SlotDescription { resolve: Dimension::guess(slot), ..Default::default() };
        let slots = slots.into_iter().map(|slot| (slot.to_owned(), described(slot)));
        Description {
            slots: slots.filter(|(_, slot)| slot.resolve.is_some()).collect(),
            ..Description::default()
        }
    }

    /// Only what is said of these slots and intents.
    pub(crate) fn only(&self, slots: &BTreeSet<&str>, intents: &BTreeSet<&str>) -> Self {
        let mut kept = self.clone();
        kept.slots.retain(|slot, _| slots.contains(slot.as_str()));
        kept.intents.retain(|intent, _| intents.contains(intent.as_str()));
        for intent in kept.intents.values_mut() {
            let fits = |text: &String| {
                places(text).is_some_and(|places| places.iter().all(|place| slots.contains(place)))
            };
            intent.reply.retain(fits);
            intent.required.retain(|slot| slots.contains(slot.as_str()));
        }
        kept
    }

    /// Finds what does not fit the slots and intents of the data, what is ambiguous and what is too much.
    pub(crate) fn check(&self, slots: &BTreeSet<&str>, intents: &BTreeSet<&str>) -> Result<(), Flaw> {
        self.check_size()?;
        self.check_slots(slots)?;
        self.check_intents(slots, intents)
    }

    /// Whether it is not more than a model may have.
    #[cfg(feature = "train")]
    pub(crate) fn is_small(&self) -> bool {
        self.check_size().is_ok()
    }

    fn check_size(&self) -> Result<(), Flaw> {
        let n_bytes = serde_json::to_string(self).map_or(usize::MAX, |json| json.len());
        if n_bytes > Self::MAX_BYTES {
            let problem = format!("{n_bytes} bytes of description, and {} are the most", Self::MAX_BYTES);
            return Err(Flaw::new(&[], problem, "leave out some names or examples"));
        }
        Ok(())
    }

    fn check_slots(&self, slots: &BTreeSet<&str>) -> Result<(), Flaw> {
        let mut owners: BTreeMap<String, &str> = BTreeMap::new();
        for (slot, SlotDescription { say, ask, names, examples, .. }) in &self.slots {
            if !slots.contains(slot.as_str()) {
                return Err(Flaw::new(
                    &["slots", slot],
                    format!("the data has no slot `{slot}`"),
                    listed("slots", slots),
                ));
            }
            check_texts(&["slots", slot, "say"], say)?;
            check_texts(&["slots", slot, "ask"], ask)?;
            check_texts(&["slots", slot, "names"], names)?;
            check_texts(&["slots", slot, "examples"], examples)?;
            for (name_idx, name) in names.iter().enumerate() {
                let other = *owners.entry(name.to_lowercase()).or_insert(slot);
                if other != slot {
                    let problem = format!("`{name}` is a name of `{slot}`, and of `{other}` too");
                    let place = ["slots", slot, "names", &name_idx.to_string()];
                    return Err(Flaw::new(
                        &place,
                        problem,
                        "leave it to one of them: an answer must tell them apart",
                    ));
                }
            }
        }
        Ok(())
    }

    fn check_intents(&self, slots: &BTreeSet<&str>, intents: &BTreeSet<&str>) -> Result<(), Flaw> {
        for (intent, IntentDescription { say, reply, required, examples, .. }) in &self.intents {
            if !intents.contains(intent.as_str()) {
                let problem = format!("the data has no intent `{intent}`");
                return Err(Flaw::new(&["intents", intent], problem, listed("intents", intents)));
            }
            check_texts(&["intents", intent, "say"], say)?;
            check_texts(&["intents", intent, "reply"], reply)?;
            check_texts(&["intents", intent, "examples"], examples)?;
            for (text_idx, text) in reply.iter().enumerate() {
                let place = ["intents", intent, "reply", &text_idx.to_string()];
                let Some(places) = places(text) else {
                    let problem = format!("braces of `{text}` do not pair up");
                    return Err(Flaw::new(&place, problem, "a slot stands in braces: `{time}`"));
                };
                if let Some(slot) = places.iter().find(|slot| !slots.contains(*slot)) {
                    let problem = format!("`{{{slot}}}` in `{text}` is no slot of the data");
                    return Err(Flaw::new(&place, problem, listed("slots", slots)));
                }
            }
            if let Some(slot) = required.iter().find(|slot| !slots.contains(slot.as_str())) {
                let problem = format!("`{intent}` requires `{slot}`, which is no slot of the data");
                return Err(Flaw::new(&["intents", intent, "required"], problem, listed("slots", slots)));
            }
        }
        Ok(())
    }
}

/// The slots in the braces of a reply; `None` if braces do not pair up.
pub(crate) fn places(text: &str) -> Option<Vec<&str>> {
    let mut pieces = text.split('{');
    let is_closed = |piece: &str| !piece.contains('}');
    pieces.next().filter(|before| is_closed(before))?;
    pieces
        .map(|piece| piece.split_once('}').filter(|(_, after)| is_closed(after)).map(|(slot, _)| slot))
        .collect()
}

/// Texts are shown to people and stand on one line.
fn check_texts<'a>(place: &[&str], texts: impl IntoIterator<Item = &'a String>) -> Result<(), Flaw> {
    for (text_idx, text) in texts.into_iter().enumerate() {
        let problem = if text.trim().is_empty() {
            "is empty"
        } else if text.contains(char::is_control) {
            "has a control character in it"
        } else {
            continue;
        };
        let text_idx = text_idx.to_string();
        let place = [place, &[&text_idx]].concat();
        return Err(Flaw::new(&place, format!("the text {text:?} {problem}"), "write words on one line"));
    }
    Ok(())
}

fn listed(what: &str, names: &BTreeSet<&str>) -> String {
    match names.iter().copied().filter(|name| !name.is_empty()).collect::<Vec<_>>() {
        names if names.is_empty() => format!("the data has no {what}"),
        names => format!("the {what} are {}", names.join(", ")),
    }
}

impl Dimension {
    /// What the name of a slot tells of its values: `depart_date.day_name`, `party_size_number`.
    fn guess(slot: &str) -> Option<Self> {
        let name = slot.to_lowercase();
        if name.starts_with("depart_time.") {
            return Some(Dimension::Time);
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        // Its month and year are elsewhere.
        if last == "day_number" {
            return Some(Dimension::Ordinal);
        }
        let has = |words: &[&str]| last.split('_').any(|word| words.contains(&word));
        let kinds: [(Dimension, &[&str]); 7] = [
            (Dimension::Duration, &["duration"]),
            (Dimension::Time, &["time", "timerange", "datetime"]),
            (Dimension::Date, &["date", "day"]),
            (Dimension::Number, &["number", "count", "rating"]),
            (Dimension::Temperature, &["temperature"]),
            (Dimension::Amount, &["amount", "price"]),
            (Dimension::Percentage, &["percent", "percentage"]),
        ];
        kinds.iter().find(|(_, words)| has(words)).map(|(dimension, _)| *dimension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_slots_tell_what_their_values_are() {
        for (slot, expected) in [
            ("time", Some(Dimension::Time)),
            ("timeRange", Some(Dimension::Time)),
            ("time_range", Some(Dimension::Time)),
            ("depart_time.period_of_day", Some(Dimension::Time)),
            ("arrive_time.start_time", Some(Dimension::Time)),
            ("date", Some(Dimension::Date)),
            ("depart_date.day_name", Some(Dimension::Date)),
            ("depart_date.day_number", Some(Dimension::Ordinal)),
            ("humidity_percent", Some(Dimension::Percentage)),
            ("time_duration", Some(Dimension::Duration)),
            ("party_size_number", Some(Dimension::Number)),
            ("best_rating", Some(Dimension::Number)),
            ("Temperature", Some(Dimension::Temperature)),
            ("amount_of_money", Some(Dimension::Amount)),
            ("price", Some(Dimension::Amount)),
            ("account", None),
            ("sometimes", None),
            ("object_name", None),
        ] {
            assert_eq!(Dimension::guess(slot), expected, "{slot}");
        }
        let guess = Description::guess(["city", "time"]);
        assert_eq!(guess.slots.keys().collect::<Vec<_>>(), ["time"]);
        assert!(guess.intents.is_empty());
    }

    #[test]
    fn places_of_replies() {
        assert_eq!(places("Alarm set for {date}, {time}."), Some(vec!["date", "time"]));
        assert_eq!(places("Done."), Some(vec![]));
        for text in ["{", "}", "{a", "a}", "{a}}", "{{a}", "{a} b}"] {
            assert_eq!(places(text), None, "{text}");
        }
    }

    #[test]
    fn only_what_a_model_has_is_kept() {
        let intent = IntentDescription {
            reply: vec!["{time} {date}".to_owned(), "{time}".to_owned()],
            required: BTreeSet::from(["date".to_owned(), "time".to_owned()]),
            ..IntentDescription::default()
        };
        let described = Description {
            slots: ["date", "time"].map(|slot| (slot.to_owned(), SlotDescription::default())).into(),
            intents: ["alarm", "call"].map(|name| (name.to_owned(), intent.clone())).into(),
        };
        let kept = described.only(&BTreeSet::from(["time"]), &BTreeSet::from(["alarm"]));
        assert_eq!(kept.slots.keys().collect::<Vec<_>>(), ["time"]);
        assert_eq!(kept.intents.keys().collect::<Vec<_>>(), ["alarm"]);
        assert_eq!(kept.intents["alarm"].reply, ["{time}"]);
        assert!(kept.check(&BTreeSet::from(["time"]), &BTreeSet::from(["alarm"])).is_ok());
    }
}
