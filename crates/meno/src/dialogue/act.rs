//! What people say between requests, by a model of answers: `data/answers` has the acts and the words.

use std::ops::Range;
#[cfg(feature = "english")]
use std::path::Path;
#[cfg(feature = "english")]
use std::sync::OnceLock;

use crate::label;
use crate::{Error, Model, Result};

/// Stands for a mention of the phrase in question, or of a slot of the request.
pub(super) const PHRASE: &str = "xphrase";
/// Stands for a mention of a kind that is known.
pub(super) const TYPE: &str = "xtype";

/// What something that is said is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Type,
    NotType,
    Alias,
    Boundaries,
    Yes,
    No,
    DontKnow,
    Why,
    Help,
    Repeat,
    Cancel,
    Undo,
    Forget,
    Teach,
    Correct,
    Change,
    Greet,
    Thank,
    Bye,
    Request,
}

impl Act {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "type" => Act::Type,
            "not_type" => Act::NotType,
            "alias" => Act::Alias,
            "boundaries" => Act::Boundaries,
            "yes" => Act::Yes,
            "no" => Act::No,
            "dont_know" => Act::DontKnow,
            "why" => Act::Why,
            "help" => Act::Help,
            "repeat" => Act::Repeat,
            "cancel" => Act::Cancel,
            "undo" => Act::Undo,
            "forget" => Act::Forget,
            "teach" => Act::Teach,
            "correct" => Act::Correct,
            "change" => Act::Change,
            "greet" => Act::Greet,
            "thank" => Act::Thank,
            "bye" => Act::Bye,
            "request" => Act::Request,
            _ => return None,
        })
    }
}

/// A model of answers.
#[derive(Clone, Debug)]
pub struct Answers(Model);

/// What such a model makes of some words.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    /// How likely each act is, the likeliest first.
    acts: Vec<(Act, f32)>,
    /// Words by what they are: `phrase`, `type` or `value`.
    spans: Vec<(String, Range<usize>)>,
}

impl Answers {
    /// A model that was trained on acts: its intents are theirs.
    pub fn new(model: Model) -> Result<Self> {
        let intents = model.features().intents.names();
        match intents.iter().find(|intent| Act::named(intent).is_none()) {
            None => Ok(Answers(model)),
            Some(intent) => Err(Error::Setting {
                problem: format!("`{intent}` is no act of an answer"),
                hint: "data/answers has the acts".to_owned(),
            }),
        }
    }

    /// The one that comes with the program; none if the data for English is not built in.
    pub fn english() -> Option<&'static Self> {
        #[cfg(feature = "english")]
        {
            static ENGLISH: OnceLock<Option<Answers>> = OnceLock::new();
            let read = || {
                let model = Model::from_bytes(meno_answers::MODEL, Path::new("answers.meno"));
                model.and_then(Answers::new).ok()
            };
            ENGLISH.get_or_init(read).as_ref()
        }
        #[cfg(not(feature = "english"))]
        None
    }

    /// What some words are for, with [`PHRASE`] and [`TYPE`] in the places of what the context knows.
    pub(super) fn read(&self, words: &[&str]) -> Said {
        let mut worker = self.0.worker();
        let (labels, _) = worker.tag(words);
        let acts = worker.intents().into_iter();
        let spans = label::iter_spans(&labels).map(|span| (span.slot.to_owned(), span.start..span.end));
        Said {
            acts: acts.filter_map(|act| Some((Act::named(&act.name)?, act.probability))).collect(),
            spans: spans.collect(),
        }
    }
}

impl Said {
    /// The likeliest of the acts that can be, and how likely it is beside the others that can.
    pub(super) fn act(&self, can_be: impl Fn(Act) -> bool) -> Option<(Act, f32)> {
        let possible = || self.acts.iter().filter(|(act, _)| can_be(*act));
        let all: f32 = possible().map(|(_, probability)| probability).sum();
        possible().max_by(|a, b| a.1.total_cmp(&b.1)).map(|&(act, probability)| (act, probability / all))
    }

    /// The words that are of this kind.
    pub(super) fn words(&self, kind: &str) -> Option<Range<usize>> {
        self.spans.iter().find(|(name, _)| name == kind).map(|(_, words)| words.clone())
    }
}

#[cfg(all(test, feature = "english"))]
mod tests {
    use super::*;

    #[test]
    fn the_model_that_comes_with_the_program_reads_acts() {
        let answers = Answers::english().expect("it can be read");
        for (words, act) in [
            (&["it's", "a", TYPE][..], Act::Type),
            (&["i", "don't", "know"], Act::DontKnow),
            (&["never", "mind"], Act::Cancel),
            (&["thanks", "a", "lot"], Act::Thank),
            (&["wake", "me", "at", "seven"], Act::Request),
        ] {
            let (likeliest, likelihood) = answers.read(words).act(|_| true).expect("there are acts");
            assert!(likeliest == act && likelihood > 0.5, "{words:?}: {likeliest:?} {likelihood}");
        }
    }
}
