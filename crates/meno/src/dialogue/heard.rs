//! What the engine made of a turn.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::answer::{About, Annotation, Decision, Guess, Part, Span, TokenLabel, slot_options};
use crate::label::UNKNOWN;
use crate::memory::{Recalled, Remembered};
use crate::resolve::Shaped;

/// What the engine made of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// What was said.
    pub text: String,
    /// The likeliest intent; empty if there is none.
    pub intent: String,
    /// Its probability.
    pub probability: f32,
    /// How likely intent and slots are all right, if the model says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
    /// Whether it is about something else than the engine knows.
    pub rejected: bool,
    /// The slots, in the order of the text; those called `unknown` are asked about.
    pub slots: Vec<Slot>,
    /// Whether a person said what the intent is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_chosen: bool,
    /// The intents to choose from, the likeliest first, if that is what to ask about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intents: Vec<String>,
}

impl Heard {
    /// What a model and memory make of a text.
    pub fn of(remembered: &Remembered<'_>) -> Self {
        let annotation = &remembered.annotation;
        let (intent, probability) = match &annotation.intent {
            Some(intent) => (intent.name.to_string(), intent.probability),
            None => Default::default(),
        };
        let slot = |span: &Span<'_>| {
            let tokens: Vec<&TokenLabel<'_>> = (annotation.tokens.iter())
                .filter(|token| span.start <= token.start && token.end <= span.end)
                .collect();
            let verdicts = tokens.iter().filter_map(|token| token.verdict.as_ref());
            let worst = verdicts.map(|verdict| verdict.uncertainty).fold(0.0, f64::max);
            // Where another slot is about as likely, it is asked which, unless somebody said it before.
            let overlaps = |recalled: &Recalled<'_>| recalled.start < span.end && span.start < recalled.end;
            let is_taught = remembered.memory.iter().any(overlaps);
            let is_unlikely = |guess: &Guess| guess.probability < LEAST_LIKELY;
            let is_open = !is_taught && span.guess.as_ref().is_some_and(is_unlikely);
            Slot {
                slot: if is_open { UNKNOWN.to_owned() } else { span.slot.clone() },
                text: span.text.to_owned(),
                value: remembered.value_of(span).map(str::to_owned),
                place: span.start..span.end,
                guesses: guesses(span.start..span.end, span.guess.as_ref(), annotation),
                uncertainty: span.guess.as_ref().map_or(worst, |guess| guess.uncertainty) as f32,
                ..Slot::default()
            }
        };
        let mut heard = Heard {
            text: annotation.text.to_owned(),
            intent,
            probability,
            confidence: annotation.confidence,
            rejected: matches!(annotation.decision, Decision::Reject { .. }),
            slots: annotation.spans.iter().map(slot).collect(),
            is_chosen: false,
            intents: Vec::new(),
        };
        if let Decision::Ask { about } = &annotation.decision {
            heard.ask_about(about);
        }
        heard
    }

    /// Takes over what a question is to be about, if it is no span.
    fn ask_about(&mut self, about: &About) {
        let options = about.options.iter().map(|option| (option.name.to_string(), option.probability));
        match (&about.part, &about.place) {
            (Part::Intent(_), _) => self.intents = options.map(|(intent, _)| intent).collect(),
            (Part::Outside(_), Some(place)) => {
                let slot = Slot {
                    slot: UNKNOWN.to_owned(),
                    text: self.text[place.clone()].to_owned(),
                    place: place.clone(),
                    guesses: options.collect(),
                    outside: true,
                    ..Slot::default()
                };
                let at = self.slots.partition_point(|other| other.place.start < place.start);
                self.slots.insert(at, slot);
            }
            _ => {}
        }
    }
}

/// A slot that is less likely is not taken for granted.
const LEAST_LIKELY: f32 = 0.6;

/// What some words might be.
fn guesses(place: Range<usize>, guess: Option<&Guess>, annotation: &Annotation<'_>) -> Vec<(String, f32)> {
    let options = slot_options(place, guess, &annotation.tokens);
    options.into_iter().map(|option| (option.name.to_string(), option.probability)).collect()
}

/// A slot of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// The slot type.
    pub slot: String,
    /// The words.
    pub text: String,
    /// What they stand for, if that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What they are, if the slot declares it and somebody asked; null where that is not known for sure.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Option<Box<Shaped>>>,
    /// The first byte in the text, and one past the last.
    #[serde(flatten)]
    pub place: Range<usize>,
    /// What the words might be, with probabilities, the likeliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guesses: Vec<(String, f32)>,
    /// How uncertain they are; higher is less sure.
    #[serde(default)]
    pub uncertainty: f32,
    /// Whether the tagger has it in no slot: if nobody says what it is, it is nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// Whether a person said what it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explained: bool,
}

impl Slot {
    /// What was not explained is what it most likely is.
    pub(super) fn guessed(self) -> Self {
        match self.guesses.first() {
            Some((guess, _)) if self.slot == UNKNOWN => Slot { slot: guess.clone(), ..self },
            _ => Slot { explained: false, ..self },
        }
    }

    /// Whether it is of this slot, or most likely is.
    pub(super) fn may_be(&self, slot: &str) -> bool {
        match self.slot == UNKNOWN {
            true => !self.outside && self.guesses.first().is_some_and(|(guess, _)| guess == slot),
            false => self.slot == slot,
        }
    }

    pub(super) fn shown(&self) -> String {
        format!("{} = {}", self.slot, self.value.as_ref().unwrap_or(&self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taught_is_not_asked_again() {
        let text = "play wonk";
        let guess = Guess { slot: "song".into(), probability: 0.5, boundaries: 0.9, uncertainty: 1.0 };
        let span = Span {
            slot: "artist".to_owned(),
            text: &text[5..],
            start: 5,
            end: 9,
            value: None,
            resolved: None,
            confidence: None,
            guess: Some(guess),
        };
        let annotation = Annotation {
            text,
            intent: None,
            confidence: None,
            decision: Decision::Act,
            tokens: Vec::new(),
            spans: vec![span],
            outside: Vec::new(),
        };
        let taught = Recalled {
            concept: 1,
            slot: "artist".to_owned(),
            value: None,
            text: &text[5..],
            start: 5,
            end: 9,
            token_span: 1..2,
        };
        let slot = |memory: Vec<Recalled<'static>>| {
            let heard = Heard::of(&Remembered { annotation: annotation.clone(), memory });
            heard.slots[0].slot.clone()
        };
        assert_eq!(slot(Vec::new()), UNKNOWN);
        assert_eq!(slot(vec![taught]), "artist");
    }
}
