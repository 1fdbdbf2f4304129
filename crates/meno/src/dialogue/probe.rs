//! What an answer is understood as, in words: for experiments.

use std::cell::OnceCell;
use std::ops::Range;

use super::answer::{Answer, Asked, Meaning, Understood};
use super::{Answers, Phrasebook, find_words};

/// What an answer is an answer to.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The request that it is about; empty if there is none.
    pub request: String,
    /// The phrase in question.
    pub phrase: Option<String>,
    /// Other words of the request that fill slots.
    pub slots: Vec<String>,
    /// What slots these fill.
    pub filled: Vec<String>,
    /// What was offered.
    pub options: Vec<String>,
    /// Whether a question is open.
    pub is_open: bool,
    /// Whether it is about the intent.
    pub is_about_intent: bool,
}

impl Context {
    /// What an answer is understood as, in the notation of `data/answers/hand`.
    pub fn understand(
        &self,
        types: &[String],
        book: &Phrasebook,
        answers: &Answers,
        slot_of: &dyn Fn(&str) -> Option<String>,
        text: &str,
    ) -> String {
        let place = |words: &String| find_words(&self.request, words);
        let slots: Vec<Range<usize>> = self.slots.iter().filter_map(place).collect();
        let asked = Asked {
            request: &self.request,
            phrase: self.phrase.as_ref().and_then(place).unwrap_or(0..0),
            slots,
            filled: self.filled.clone(),
            options: &self.options,
            types: if self.is_about_intent { &[] } else { types },
            book,
            names: OnceCell::new(),
            answers: Some(answers),
            slot_of: Box::new(slot_of),
            is_open: self.is_open,
            is_request: false,
            has_slots: false,
            is_command: false,
        };
        let meaning = |meaning: &Meaning| match meaning {
            Meaning::Type(slot) => format!("= {slot}"),
            Meaning::NewType(name) => format!("= new {name}"),
            Meaning::Alias(value) => format!("-> {value}"),
        };
        let Understood { answer, is_sure } = asked.understand(text);
        let said = match answer {
            Answer::Empty | Answer::Unclear => "unclear".to_owned(),
            Answer::Cancel => "cancel".to_owned(),
            Answer::Yes => "yes".to_owned(),
            Answer::No => "no".to_owned(),
            Answer::DontKnow => "dont_know".to_owned(),
            Answer::Why => "why".to_owned(),
            Answer::Help => "help".to_owned(),
            Answer::Repeat => "repeat".to_owned(),
            Answer::Undo => "undo".to_owned(),
            Answer::Greet => "greet".to_owned(),
            Answer::Thank => "thank".to_owned(),
            Answer::Bye => "bye".to_owned(),
            Answer::Request => "request".to_owned(),
            Answer::Type(slot) => format!("type {slot}"),
            Answer::NotType(types) => format!("not_type {}", types.join(", ")),
            Answer::NewType(name) => format!("new {}", name.replace('_', " ")),
            Answer::Alias(value) => format!("alias {value}"),
            Answer::Boundaries(place, None) => format!("boundaries {}", &self.request[place]),
            Answer::Boundaries(place, Some(slot)) => format!("boundaries {} = {slot}", &self.request[place]),
            Answer::Forget(phrase) => format!("forget {phrase}"),
            Answer::Teach(Some(phrase), taught) => format!("teach {phrase} {}", meaning(&taught)),
            Answer::Teach(None, taught) => format!("teach {}", meaning(&taught)),
            Answer::Change(value) => format!("change {value}"),
        };
        if is_sure { said } else { format!("perhaps {said}") }
    }
}
