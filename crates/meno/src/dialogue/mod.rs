//! Ask about what is unknown, understand the answer, complete the request.
//!
//! A turn enters: what a person said and what the engine made of it ([`Heard`]). A [`Reply`] leaves, and a [`State`] that
//! the caller keeps until the next turn; both are plain values. Nothing is remembered here: what was learnt leaves as
//! [`Lesson`]s.
//!
//! Unknown phrases are asked about one by one, the most uncertain first, at most [`Settings::max_questions`] for a request.
//! A phrase that nobody wanted to explain is not asked about again. An answer is read by rules (`answer`); what is no
//! answer but a request of its own ends the question. All that is said and understood stands in a [`Phrasebook`].

mod answer;
mod choice;
mod phrasebook;

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::answer::{About, Annotation, Decision, Guess, Part, Span, TokenLabel, slot_options};
use crate::label::UNKNOWN;
use crate::memory::Remembered;

use answer::{Answer, Asked};
use choice::Choosing;
pub use phrasebook::Phrasebook;

/// How a dialogue is led.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// How many questions a request is worth.
    pub max_questions: usize,
    /// How many answers that are not understood a question is worth.
    pub max_misses: usize,
    /// How likely the intent of a turn must be for it to be a new request and not an answer.
    pub request: f32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { max_questions: 3, max_misses: 2, request: 0.8 }
    }
}

/// What the engine made of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// What was said.
    pub text: String,
    /// The likeliest intent; empty if there is none.
    pub intent: String,
    /// Its probability.
    pub probability: f32,
    /// Whether it is about something else than the engine knows.
    pub rejected: bool,
    /// The slots, in the order of the text; those called `unknown` are asked about.
    pub slots: Vec<Slot>,
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
            Slot {
                slot: span.slot.clone(),
                text: span.text.to_owned(),
                value: remembered.value_of(span).map(str::to_owned),
                place: span.start..span.end,
                guesses: guesses(span.start..span.end, span.guess.as_ref(), annotation),
                uncertainty: span.guess.as_ref().map_or(worst, |guess| guess.uncertainty) as f32,
                outside: false,
            }
        };
        let mut heard = Heard {
            text: annotation.text.to_owned(),
            intent,
            probability,
            rejected: matches!(annotation.decision, Decision::Reject { .. }),
            slots: annotation.spans.iter().map(slot).collect(),
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
}

/// Where a dialogue stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    pending: Option<Pending>,
    /// A request whose intent is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    choosing: Option<Choosing>,
    /// Phrases, in lower case, that were asked about and not explained.
    left: BTreeSet<String>,
}

/// A request that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pending {
    request: Heard,
    /// The slot that is asked about.
    slot_idx: usize,
    /// The types that were offered.
    options: Vec<String>,
    /// A new type that waits for a yes.
    proposed: Option<String>,
    n_asked: usize,
    n_missed: usize,
}

/// What is said in return.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reply {
    /// In words.
    pub text: String,
    /// What became of the request.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What is to be remembered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lessons: Vec<Lesson>,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// It waits for an answer.
    Ask {
        /// The words in question; none if it is about the intent.
        #[serde(skip_serializing_if = "Option::is_none")]
        phrase: Option<String>,
        /// Where they stand in the request, in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        place: Option<Range<usize>>,
        /// The types, or the intents, that are offered.
        options: Vec<String>,
    },
    /// It is understood.
    Act {
        /// The intent.
        intent: String,
        /// The slots, in the order of the text.
        slots: Vec<Slot>,
    },
    /// The person let it go.
    Drop,
    /// It is about something else than the engine knows.
    Reject,
    /// There was no request.
    Nothing,
}

/// Something that was explained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// The phrase as it was said.
    pub phrase: String,
    /// What it is.
    pub slot: String,
    /// What it stands for, if it is another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The request in which it stood.
    pub request: String,
    /// Its intent.
    pub intent: String,
    /// What else is known of it: its slots, that of the phrase among them, without those that are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
}

/// All that answers are read with, beside the state.
pub struct Dialogue<'a> {
    /// How it is led.
    pub settings: &'a Settings,
    /// What is said and understood.
    pub book: &'a Phrasebook,
    /// The slot types that the engine knows.
    pub types: &'a [String],
    /// The slot type of a value that is known, from memory.
    pub known: &'a dyn Fn(&str) -> Option<String>,
}

impl Dialogue<'_> {
    /// Takes a turn.
    pub fn advance(&self, state: State, heard: Heard) -> (State, Reply) {
        let State { pending, choosing, left } = state;
        if let Some(choosing) = choosing {
            return self.choose(choosing, left, heard);
        }
        // A state may come from a store that somebody wrote to.
        match pending.filter(|pending| pending.slot_idx < pending.request.slots.len()) {
            Some(pending) => self.answer(pending, left, heard),
            None => self.request(left, heard),
        }
    }

    /// A request of its own.
    fn request(&self, left: BTreeSet<String>, heard: Heard) -> (State, Reply) {
        let has_words = heard.text.contains(char::is_alphanumeric);
        if !has_words && heard.intent.is_empty() && heard.slots.is_empty() {
            return finished(left, self.book.say("nothing", &[]), Outcome::Nothing);
        }
        if heard.rejected {
            return finished(left, self.book.say("rejected", &[]), Outcome::Reject);
        }
        self.go_on(heard, left, 0, Vec::new(), Vec::new())
    }

    /// Asks the next question, or ends.
    fn go_on(
        &self,
        request: Heard,
        left: BTreeSet<String>,
        n_asked: usize,
        mut said: Vec<String>,
        lessons: Vec<Lesson>,
    ) -> (State, Reply) {
        let is_open = |slot: &Slot| slot.slot == UNKNOWN && !left.contains(&slot.text.to_lowercase());
        let open = request.slots.iter().enumerate().filter(|(_, slot)| is_open(slot));
        let worst = open.max_by(|a, b| a.1.uncertainty.total_cmp(&b.1.uncertainty).then(b.0.cmp(&a.0)));
        if let Some((slot_idx, slot)) = worst.filter(|_| n_asked < self.settings.max_questions) {
            let options = self.options(slot);
            let pending =
                Pending { slot_idx, options, proposed: None, n_asked: n_asked + 1, n_missed: 0, request };
            said.push(self.question(&pending));
            return pending.wait(left, said, lessons);
        }
        if !request.intents.is_empty() && n_asked < self.settings.max_questions {
            return self.ask_intent(Choosing::new(request, n_asked + 1), left, said, lessons);
        }
        let explained = |slot: &Slot| slot.slot != UNKNOWN || !slot.outside;
        let slots: Vec<Slot> = request.slots.into_iter().filter(explained).map(Slot::guessed).collect();
        let shown: Vec<String> = slots.iter().map(Slot::shown).collect();
        let places = [("intent", request.intent.as_str()), ("slots", &shown.join(", "))];
        said.push(self.book.say(if slots.is_empty() { "done_bare" } else { "done" }, &places));
        let outcome = Outcome::Act { intent: request.intent, slots };
        (State { left, ..State::default() }, Reply { text: said.join(" "), outcome, lessons })
    }

    /// The likeliest types, at most two, that are not called the same.
    fn options(&self, slot: &Slot) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        for (guess, _) in &slot.guesses {
            let name = self.book.type_with_article(guess);
            if options.iter().all(|option| self.book.type_with_article(option) != name) {
                options.push(guess.clone());
            }
        }
        options.truncate(2);
        options
    }

    fn question(&self, pending: &Pending) -> String {
        let name = |idx: usize| pending.options.get(idx).map(|slot| self.book.type_with_article(slot));
        let phrase = pending.phrase();
        match (name(0), name(1)) {
            (Some(a), Some(b)) => self.book.say("ask_two", &[("phrase", phrase), ("a", &a), ("b", &b)]),
            (Some(a), None) => self.book.say("ask_one", &[("phrase", phrase), ("a", &a)]),
            _ => self.book.say("ask_open", &[("phrase", phrase)]),
        }
    }

    /// A turn after a question.
    fn answer(&self, mut pending: Pending, left: BTreeSet<String>, heard: Heard) -> (State, Reply) {
        let asked = Asked {
            request: &pending.request.text,
            phrase: pending.slot().place.clone(),
            options: &pending.options,
            types: self.types,
            book: self.book,
        };
        match (asked.understand(&heard.text), pending.proposed.take()) {
            (Answer::Cancel, _) => self.cancel(&pending, left),
            (Answer::Yes, Some(slot)) => self.learn(pending, left, slot, None),
            (Answer::Yes, None) => match pending.options.first().cloned() {
                Some(slot) => self.learn(pending, left, slot, None),
                None => self.miss(pending, left),
            },
            (Answer::No, _) => {
                pending.options.clear();
                let said = self.book.say("ask_then", &[("phrase", pending.phrase())]);
                self.ask_again(pending, left, said)
            }
            (Answer::Type(slot) | Answer::NewType(slot), _) => self.learn(pending, left, slot, None),
            (Answer::Alias(value), _) => {
                let slot = (self.known)(&value).or_else(|| pending.options.first().cloned());
                match slot {
                    Some(slot) => self.learn(pending, left, slot, Some(value)),
                    None => self.miss(pending, left),
                }
            }
            (Answer::Boundaries(place, slot), _) => self.correct(pending, left, place, slot),
            (Answer::PerhapsType(_) | Answer::Unclear, _) if self.is_request(&heard) => {
                let said = self.book.say("left", &[("phrase", pending.phrase())]);
                let left = with(left, pending.phrase());
                self.go_on(heard, left, 0, vec![said], Vec::new())
            }
            (Answer::PerhapsType(slot), _) => {
                let name = self.book.type_with_article(&slot);
                let said = self.book.say("new_type", &[("phrase", pending.phrase()), ("type", &name)]);
                pending.proposed = Some(slot);
                self.ask_again(pending, left, said)
            }
            (Answer::Empty | Answer::Unclear, _) => self.miss(pending, left),
        }
    }

    fn is_request(&self, heard: &Heard) -> bool {
        let is_long = heard.text.split_whitespace().nth(2).is_some();
        !heard.rejected && !heard.intent.is_empty() && heard.probability >= self.settings.request && is_long
    }

    fn cancel(&self, pending: &Pending, left: BTreeSet<String>) -> (State, Reply) {
        finished(with(left, pending.phrase()), self.book.say("dropped", &[]), Outcome::Drop)
    }

    /// The phrase is explained.
    fn learn(
        &self,
        pending: Pending,
        left: BTreeSet<String>,
        slot: String,
        value: Option<String>,
    ) -> (State, Reply) {
        let phrase = pending.phrase().to_owned();
        let said = match &value {
            Some(value) => self.book.say("learnt_value", &[("phrase", &phrase), ("value", value)]),
            None => {
                let name = self.book.type_with_article(&slot);
                self.book.say("learnt", &[("phrase", &phrase), ("type", &name)])
            }
        };
        let Pending { mut request, slot_idx, n_asked, .. } = pending;
        let filled = &mut request.slots[slot_idx];
        filled.slot = slot.clone();
        filled.value = value.clone();
        let lesson = Lesson {
            phrase,
            slot,
            value,
            request: request.text.clone(),
            intent: request.intent.clone(),
            slots: request.slots.iter().filter(|slot| slot.slot != UNKNOWN).cloned().collect(),
        };
        self.go_on(request, left, n_asked, vec![said], vec![lesson])
    }

    /// The phrase has other boundaries: it loses what else it was, and slots that it now covers give way.
    fn correct(
        &self,
        mut pending: Pending,
        left: BTreeSet<String>,
        place: Range<usize>,
        slot: Option<String>,
    ) -> (State, Reply) {
        let corrected = Slot {
            text: pending.request.text[place.clone()].to_owned(),
            place: place.clone(),
            ..pending.slot().clone()
        };
        let is_asked = |idx: usize| idx == pending.slot_idx;
        let is_apart = |other: &Slot| other.place.end <= place.start || place.end <= other.place.start;
        let slots = std::mem::take(&mut pending.request.slots).into_iter().enumerate();
        let mut slots: Vec<Slot> =
            slots.filter(|(idx, other)| !is_asked(*idx) && is_apart(other)).map(|(_, slot)| slot).collect();
        pending.slot_idx = slots.partition_point(|other| other.place.start < place.start);
        slots.insert(pending.slot_idx, corrected);
        pending.request.slots = slots;
        match slot {
            Some(slot) => self.learn(pending, left, slot, None),
            None => {
                let said = self.question(&pending);
                self.ask_again(pending, left, said)
            }
        }
    }

    /// The answer was not understood: once more, or not at all.
    fn miss(&self, mut pending: Pending, left: BTreeSet<String>) -> (State, Reply) {
        pending.n_missed += 1;
        if pending.n_missed >= self.settings.max_misses {
            let said = self.book.say("left", &[("phrase", pending.phrase())]);
            let left = with(left, pending.phrase());
            return self.go_on(pending.request, left, pending.n_asked, vec![said], Vec::new());
        }
        let said = self.book.say("again", &[("question", &self.question(&pending))]);
        pending.wait(left, vec![said], Vec::new())
    }

    /// Another question about the same phrase, if it is worth one.
    fn ask_again(&self, mut pending: Pending, left: BTreeSet<String>, said: String) -> (State, Reply) {
        pending.n_asked += 1;
        if pending.n_asked > self.settings.max_questions {
            return self.miss(Pending { n_missed: usize::MAX - 1, ..pending }, left);
        }
        pending.wait(left, vec![said], Vec::new())
    }
}

impl Pending {
    fn slot(&self) -> &Slot {
        &self.request.slots[self.slot_idx]
    }

    fn phrase(&self) -> &str {
        &self.slot().text
    }

    fn wait(self, left: BTreeSet<String>, said: Vec<String>, lessons: Vec<Lesson>) -> (State, Reply) {
        let outcome = Outcome::Ask {
            phrase: Some(self.phrase().to_owned()),
            place: Some(self.slot().place.clone()),
            options: self.options.clone(),
        };
        let state = State { pending: Some(self), left, ..State::default() };
        (state, Reply { text: said.join(" "), outcome, lessons })
    }
}

impl Slot {
    /// What was not explained is what it most likely is.
    fn guessed(self) -> Self {
        match self.guesses.first() {
            Some((guess, _)) if self.slot == UNKNOWN => Slot { slot: guess.clone(), ..self },
            _ => self,
        }
    }

    fn shown(&self) -> String {
        format!("{} = {}", self.slot, self.value.as_ref().unwrap_or(&self.text))
    }
}

fn finished(left: BTreeSet<String>, text: String, outcome: Outcome) -> (State, Reply) {
    (State { left, ..State::default() }, Reply { text, outcome, lessons: Vec::new() })
}

fn with(mut left: BTreeSet<String>, phrase: &str) -> BTreeSet<String> {
    left.insert(phrase.to_lowercase());
    left
}
