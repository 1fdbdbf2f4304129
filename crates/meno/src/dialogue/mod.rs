//! Ask about what is unknown, understand the answer, complete the request.
//!
//! A turn enters: what a person said and what the engine made of it ([`Heard`]). A [`Reply`] leaves, and a [`State`] that
//! the caller keeps until the next turn; both are plain values. Nothing is remembered here: what was learnt leaves as
//! [`Lesson`]s.
//!
//! Unknown phrases are asked about one by one, the most uncertain first, at most [`Settings::max_questions`] for a request.
//! A phrase that nobody wanted to explain is not asked about again. An answer is read by rules (`answer`); what is no
//! answer but a request of its own ends the question. All that is said and understood stands in a [`Phrasebook`].

mod act;
mod answer;
mod bounds;
mod choice;
mod heard;
mod missing;
mod narrow;
mod nouns;
mod phrasebook;
// For experiments.
#[doc(hidden)]
pub mod probe;
mod remark;
mod talk;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::label::UNKNOWN;

pub use act::Answers;
use answer::{Answer, Asked, Meaning, Understood};
use choice::Choosing;
pub use heard::{Heard, Slot};
use missing::Missing;
use narrow::find_words;
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
    /// How likely a guess must be to go on with where nobody knows what a phrase is.
    pub safe: f32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { max_questions: 3, max_misses: 2, request: 0.8, safe: 0.6 }
    }
}

/// Where a dialogue stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    pending: Option<Pending>,
    /// A request whose intent is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    choosing: Option<Choosing>,
    /// A request that lacks something.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Missing>,
    #[serde(flatten)]
    thread: Thread,
}

/// What outlives a question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Thread {
    /// Phrases, in lower case, that were asked about and not explained.
    left: BTreeSet<String>,
    /// The request that was acted upon last.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<Heard>,
    /// What was learnt last, which can be taken back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    learnt: Vec<Lesson>,
}

impl Thread {
    fn leave(mut self, phrase: &str) -> Self {
        self.left.insert(phrase.to_lowercase());
        self
    }
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
    /// What the phrase stands for, if only its type is still asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alias: Option<String>,
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
    /// Phrases whose concepts are to be forgotten, before that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forget: Vec<String>,
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
        /// The slot that the request lacks, if that is asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        slot: Option<String>,
        /// The types, or the intents, that are offered.
        options: Vec<String>,
        /// A new type that waits for a yes.
        #[serde(skip_serializing_if = "Option::is_none")]
        proposed: Option<String>,
    },
    /// It is understood.
    Act {
        /// The intent.
        intent: String,
        /// The slots, in the order of the text.
        slots: Vec<Slot>,
    },
    /// Something was said in return; there is nothing to do.
    Talk,
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

/// What a dialogue asks of the engine.
pub trait Engine {
    /// The slot type of a value that is known, from memory or from training.
    fn slot_of(&self, value: &str) -> Option<String>;
    /// Whether some words are a known time, number or the like, which need not be asked about.
    fn is_plain(&self, words: &str) -> bool;
    /// Whether some words are a value of this slot that is known, or a time, a number or the like where the slot has such.
    fn is_value(&self, slot: &str, words: &str) -> bool;
    /// Whether memory has a concept of just these words.
    fn remembers(&self, phrase: &str) -> bool;
    /// What is made of a text in which some words are known to be of these slots.
    fn read(&self, text: &str, known: &[(Range<usize>, String)]) -> Heard;
}

/// All that answers are read with, beside the state.
pub struct Dialogue<'a> {
    /// How it is led.
    pub settings: &'a Settings,
    /// What is said and understood.
    pub book: &'a Phrasebook,
    /// What people say between requests, if there is a model of it.
    pub answers: Option<&'a Answers>,
    /// The slot types that the engine knows.
    pub types: &'a [String],
    /// What reads requests.
    pub engine: &'a dyn Engine,
}

impl Dialogue<'_> {
    /// Takes a turn.
    pub fn advance(&self, state: State, heard: Heard) -> (State, Reply) {
        let heard = self.bounded(self.narrow(self.without_remark(heard)));
        let answers = self.answers.filter(|_| self.book.hears_english());
        Dialogue { answers, ..*self }.take_turn(state, heard)
    }

    fn take_turn(&self, state: State, heard: Heard) -> (State, Reply) {
        let State { pending, choosing, missing, thread } = state;
        if let Some(choosing) = choosing {
            return self.choose(choosing, thread, heard);
        }
        if let Some(missing) = missing {
            return self.supply(missing, thread, heard);
        }
        // A state may come from a store that somebody wrote to.
        match pending.filter(|pending| pending.slot_idx < pending.request.slots.len()) {
            Some(pending) => self.answer(pending, thread, heard),
            None => self.turn(thread, heard),
        }
    }

    /// A turn without a question before it.
    fn turn(&self, thread: Thread, heard: Heard) -> (State, Reply) {
        if let Some(value) = self.changed_value(&thread, &heard.text) {
            return self.change(thread, &value, heard);
        }
        if let Some(other) = self.rebounded(&thread, &heard.text) {
            return self.rebound(thread, other);
        }
        if self.answers.is_none() {
            return self.request(thread, heard);
        }
        let nothing = Heard::default();
        let is_request = self.may_be_request(&heard);
        let has_slots = is_request && !heard.slots.is_empty();
        let understood = Asked {
            is_open: false,
            is_request,
            has_slots,
            is_command: self.is_command(&heard),
            ..self.asked(thread.last.as_ref().unwrap_or(&nothing))
        }
        .understand(&heard.text);
        self.talk(understood, thread, heard)
    }

    /// What the answer to a question about a request is read against.
    fn asked<'a>(&'a self, request: &'a Heard) -> Asked<'a> {
        Asked {
            request: &request.text,
            phrase: 0..0,
            slots: request.slots.iter().map(|slot| slot.place.clone()).collect(),
            filled: request.slots.iter().map(|slot| slot.slot.clone()).collect(),
            options: &[],
            types: self.types,
            book: self.book,
            names: OnceCell::new(),
            answers: self.answers,
            slot_of: Box::new(|value| self.engine.slot_of(value)),
            is_open: true,
            is_request: false,
            has_slots: false,
            is_command: false,
        }
    }

    /// A request of its own.
    fn request(&self, thread: Thread, heard: Heard) -> (State, Reply) {
        let has_words = heard.text.contains(char::is_alphanumeric);
        if !has_words && heard.intent.is_empty() && heard.slots.is_empty() {
            return finished(thread, self.book.say("nothing", &[]), Outcome::Nothing);
        }
        if heard.rejected {
            return finished(thread, self.book.say("rejected", &[]), Outcome::Reject);
        }
        self.go_on(heard, thread, 0, Vec::new(), Vec::new())
    }

    /// Asks the next question, or ends.
    fn go_on(
        &self,
        mut request: Heard,
        mut thread: Thread,
        n_asked: usize,
        mut said: Vec<String>,
        lessons: Vec<Lesson>,
    ) -> (State, Reply) {
        let is_open = |slot: &Slot| slot.slot == UNKNOWN && !thread.left.contains(&slot.text.to_lowercase());
        let open = request.slots.iter().enumerate().filter(|(_, slot)| is_open(slot));
        let worst = open.max_by(|a, b| a.1.uncertainty.total_cmp(&b.1.uncertainty).then(b.0.cmp(&a.0)));
        if let Some((slot_idx, slot)) = worst.filter(|_| n_asked < self.settings.max_questions) {
            let options = self.options(slot);
            let n_asked = n_asked + 1;
            let pending =
                Pending { slot_idx, options, proposed: None, alias: None, n_asked, n_missed: 0, request };
            said.push(self.question(&pending));
            return pending.wait(thread, said, lessons);
        }
        request.intents.retain(|intent| !self.book.rejects(intent));
        if !request.intents.is_empty() && n_asked < self.settings.max_questions {
            return self.ask_intent(Choosing::new(request, n_asked + 1), thread, said, lessons);
        }
        let lacks = self.missing(&request).filter(|_| n_asked < self.settings.max_questions);
        if let Some(slot) = lacks {
            return self.ask_missing(request, slot, n_asked + 1, thread, said, lessons);
        }
        let explained = |slot: &Slot| slot.slot != UNKNOWN || !slot.outside;
        let slots = request.slots.iter().filter(|slot| explained(slot)).cloned();
        let slots: Vec<Slot> = slots.map(Slot::guessed).collect();
        said.push(self.done(&request.intent, &slots));
        let outcome = Outcome::Act { intent: request.intent.clone(), slots: slots.clone() };
        thread.last = Some(Heard { slots, ..request });
        let state = State { thread, ..State::default() };
        (state, Reply { text: said.join(" "), outcome, lessons, forget: Vec::new() })
    }

    /// What is said of a request that is carried out.
    fn done(&self, intent: &str, slots: &[Slot]) -> String {
        if let Some(reply) = self.book.reply(intent, slots) {
            return reply;
        }
        let shown: Vec<String> = slots.iter().map(Slot::shown).collect();
        let places = [("intent", intent), ("slots", &shown.join(", "))];
        self.book.say(if slots.is_empty() { "done_bare" } else { "done" }, &places)
    }

    /// The likeliest types that are not called the same.
    fn options(&self, slot: &Slot) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        for (guess, _) in &slot.guesses {
            let name = self.book.type_with_article(guess);
            if options.iter().all(|option| self.book.type_with_article(option) != name) {
                options.push(guess.clone());
            }
        }
        options.truncate(MAX_OPTIONS);
        options
    }

    fn question(&self, pending: &Pending) -> String {
        let name = |slot: &String| self.book.type_with_article(slot);
        let phrase = pending.phrase();
        if let Some(slot) = &pending.proposed {
            let how = if self.types.contains(slot) { "confirm" } else { "new_type" };
            let what = pending.alias.clone().unwrap_or_else(|| name(slot));
            return self.book.say(how, &[("phrase", phrase), ("type", &what)]);
        }
        match &pending.options[..] {
            [] => self.book.say("ask_open", &[("phrase", phrase)]),
            [one] => self.book.say("ask_one", &[("phrase", phrase), ("a", &name(one))]),
            [others @ .., last] => {
                let others = others.iter().map(name).collect::<Vec<_>>().join(", ");
                self.book.say("ask_two", &[("phrase", phrase), ("a", &others), ("b", &name(last))])
            }
        }
    }

    /// A turn after a question.
    fn answer(&self, mut pending: Pending, thread: Thread, heard: Heard) -> (State, Reply) {
        let Understood { answer, is_sure } = Asked {
            phrase: pending.slot().place.clone(),
            options: &pending.options,
            is_command: self.is_command(&heard),
            ..self.asked(&pending.request)
        }
        .understand(&heard.text);
        match (answer, pending.proposed.take()) {
            (Answer::Cancel, _) => self.cancel(&pending, thread),
            (Answer::Yes, Some(slot)) => self.learn(pending, thread, slot),
            (Answer::Yes, None) => self.agree(pending, thread),
            (Answer::No, proposed) => {
                if proposed.is_none() {
                    pending.options.clear();
                }
                let said = self.book.say("ask_then", &[("phrase", pending.phrase())]);
                self.ask_again(pending, thread, said)
            }
            (Answer::DontKnow, _) => self.leave(pending, thread),
            (Answer::NotType(types), _) => self.rule_out(pending, thread, &types),
            (Answer::Type(slot), _) if is_sure => self.learn(pending, thread, slot),
            (Answer::Type(slot), _) => self.confirm(pending, thread, slot),
            (Answer::Teach(phrase, meaning), _) => {
                self.explain(pending, thread, phrase, Understood { answer: meaning, is_sure })
            }
            (Answer::Alias(value), _) => self.name(pending, thread, value, is_sure),
            (Answer::Boundaries(place, slot), _) => {
                self.correct(pending, thread, place, slot.filter(|_| is_sure))
            }
            (Answer::NewType(slot), _) if self.answers.is_some() || !self.is_request(&heard) => {
                self.confirm(pending, thread, slot)
            }
            (Answer::Request | Answer::Unclear | Answer::NewType(_), _) if self.is_request(&heard) => {
                let said = self.book.say("left", &[("phrase", pending.phrase())]);
                let thread = thread.leave(pending.phrase());
                self.go_on(heard, thread, 0, vec![said], Vec::new())
            }
            (
                answer @ (Answer::Greet
                | Answer::Thank
                | Answer::Bye
                | Answer::Why
                | Answer::Help
                | Answer::Repeat
                | Answer::Undo
                | Answer::Forget(_)),
                proposed,
            ) => {
                pending.proposed = proposed;
                self.talk_in_between(answer, pending, thread)
            }
            _ => self.miss(pending, thread),
        }
    }

    /// What was not said plainly, and a new type, are learnt only after a yes.
    fn confirm(&self, mut pending: Pending, thread: Thread, slot: String) -> (State, Reply) {
        pending.proposed = Some(slot);
        let said = self.question(&pending);
        self.ask_again(pending, thread, said)
    }

    fn cancel(&self, pending: &Pending, thread: Thread) -> (State, Reply) {
        finished(thread.leave(pending.phrase()), self.book.say("dropped", &[]), Outcome::Drop)
    }

    /// Nobody knows what the phrase is: it is what it most likely is, if that is safe, and else left out.
    fn leave(&self, mut pending: Pending, thread: Thread) -> (State, Reply) {
        let thread = thread.leave(pending.phrase());
        let is_safe = |(_, probability): &(String, f32)| *probability >= self.settings.safe;
        let said = match pending.slot().guesses.first().is_some_and(is_safe) {
            true => self.book.say("left", &[("phrase", pending.phrase())]),
            false => {
                let said = self.book.say("left_out", &[("phrase", pending.phrase())]);
                pending.request.slots.remove(pending.slot_idx);
                said
            }
        };
        self.go_on(pending.request, thread, pending.n_asked, vec![said], Vec::new())
    }

    /// The phrase is none of these types.
    fn rule_out(&self, mut pending: Pending, thread: Thread, types: &[String]) -> (State, Reply) {
        pending.options.retain(|option| !types.contains(option));
        let guesses = &mut pending.request.slots[pending.slot_idx].guesses;
        guesses.retain(|(guess, _)| !types.contains(guess));
        let said = match pending.options.is_empty() {
            true => self.book.say("ask_then", &[("phrase", pending.phrase())]),
            false => self.question(&pending),
        };
        self.ask_again(pending, thread, said)
    }

    /// A phrase is explained in a sentence of its own; it may be that in question or another one.
    fn explain(
        &self,
        pending: Pending,
        thread: Thread,
        phrase: Option<String>,
        Understood { answer: meaning, is_sure }: Understood<Meaning>,
    ) -> (State, Reply) {
        let asked = pending.phrase().to_lowercase();
        if let Some(phrase) = phrase.filter(|phrase| phrase.to_lowercase() != asked) {
            let place = find_words(&pending.request.text, &phrase);
            let is_part = |place: &Range<usize>| {
                let asked = &pending.slot().place;
                place.start < asked.end && asked.start < place.end
            };
            return match (place.filter(is_part), meaning) {
                (Some(place), Meaning::Type(slot)) => {
                    self.correct(pending, thread, place, Some(slot).filter(|_| is_sure))
                }
                _ => self.miss(pending, thread),
            };
        }
        match meaning {
            Meaning::Type(slot) if is_sure => self.learn(pending, thread, slot),
            Meaning::Type(slot) => self.confirm(pending, thread, slot),
            Meaning::NewType(slot) => self.confirm(pending, thread, slot),
            Meaning::Alias(value) => self.name(pending, thread, value, is_sure),
        }
    }

    /// The phrase is another name for something: what that is decides what the phrase is.
    fn name(&self, mut pending: Pending, thread: Thread, value: String, is_sure: bool) -> (State, Reply) {
        match self.engine.slot_of(&value) {
            Some(slot) => {
                pending.alias = Some(value);
                if is_sure { self.learn(pending, thread, slot) } else { self.confirm(pending, thread, slot) }
            }
            None => {
                let said = self.book.say("ask_type_of", &[("value", &value)]);
                pending.alias = Some(value);
                self.ask_again(pending, thread, said)
            }
        }
    }

    /// The phrase is explained, and the request read anew with what it is.
    fn learn(&self, pending: Pending, thread: Thread, slot: String) -> (State, Reply) {
        let phrase = pending.phrase().to_owned();
        let Pending { mut request, slot_idx, n_asked, alias: value, .. } = pending;
        // It was taught out of the blue: there is nothing to complete.
        if request.intent.is_empty() {
            return self.learn_apart(thread, phrase, slot, value);
        }
        let place = request.slots[slot_idx].place.clone();
        request = self.fill(request, place, slot.clone(), value.clone());
        self.complete(request, thread, n_asked, (phrase, slot, value))
    }

    /// Goes on with a request in which a phrase was explained.
    fn complete(
        &self,
        request: Heard,
        mut thread: Thread,
        n_asked: usize,
        (phrase, slot, value): (String, String, Option<String>),
    ) -> (State, Reply) {
        let said = self.learnt(&phrase, &slot, value.as_deref());
        let lesson = Lesson {
            phrase,
            slot,
            value,
            request: request.text.clone(),
            intent: request.intent.clone(),
            slots: request
                .slots
                .iter()
                .filter(|slot| slot.slot != UNKNOWN)
                .cloned()
                .map(Slot::guessed)
                .collect(),
        };
        thread.learnt = vec![lesson.clone()];
        self.go_on(request, thread, n_asked, vec![said], vec![lesson])
    }

    fn learnt(&self, phrase: &str, slot: &str, value: Option<&str>) -> String {
        match value {
            Some(value) => self.book.say("learnt_value", &[("phrase", phrase), ("value", value)]),
            None => {
                let name = self.book.type_with_article(slot);
                self.book.say("learnt", &[("phrase", phrase), ("type", &name)])
            }
        }
    }

    /// A request with some words in a slot; the rest is read anew, and what was explained before stays.
    fn fill(&self, request: Heard, place: Range<usize>, slot: String, value: Option<String>) -> Heard {
        let is_apart = |other: &&Slot| other.place.end <= place.start || place.end <= other.place.start;
        let explained = request.slots.iter().filter(|slot| slot.explained).filter(is_apart);
        let mut filled: Vec<Slot> = explained.cloned().collect();
        filled.push(Slot {
            slot,
            text: request.text[place.clone()].to_owned(),
            value,
            place,
            explained: true,
            ..Slot::default()
        });
        let known: Vec<_> = filled.iter().map(|slot| (slot.place.clone(), slot.slot.clone())).collect();
        let mut read = self.engine.read(&request.text, &known);
        let overlaps = |slot: &Slot| {
            filled
                .iter()
                .any(|filled| slot.place.start < filled.place.end && filled.place.start < slot.place.end)
        };
        let is_worth_it = |slot: &Slot| slot.slot != UNKNOWN || self.is_worth_asking(&request.text, slot);
        read.slots.retain(|slot| !overlaps(slot) && is_worth_it(slot));
        read.slots.extend(filled);
        read.slots.sort_by_key(|slot| slot.place.start);
        if request.is_chosen || read.rejected || read.intent.is_empty() {
            read = Heard { intent: request.intent, intents: Vec::new(), ..read };
        }
        Heard { rejected: false, is_chosen: request.is_chosen, ..read }
    }

    /// The phrase has other boundaries.
    fn correct(
        &self,
        mut pending: Pending,
        thread: Thread,
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
            Some(slot) => self.learn(pending, thread, slot),
            None => {
                let said = self.question(&pending);
                self.ask_again(pending, thread, said)
            }
        }
    }

    /// The answer was not understood: once more, or not at all.
    fn miss(&self, mut pending: Pending, thread: Thread) -> (State, Reply) {
        pending.n_missed += 1;
        if pending.n_missed >= self.settings.max_misses {
            let said = self.book.say("left", &[("phrase", pending.phrase())]);
            let thread = thread.leave(pending.phrase());
            return self.go_on(pending.request, thread, pending.n_asked, vec![said], Vec::new());
        }
        let said = self.book.say("again", &[("question", &self.question(&pending))]);
        pending.wait(thread, vec![said], Vec::new())
    }

    /// Another question about the same phrase, if it is worth one.
    fn ask_again(&self, mut pending: Pending, thread: Thread, said: String) -> (State, Reply) {
        pending.n_asked += 1;
        if pending.n_asked > self.settings.max_questions {
            return self.miss(Pending { n_missed: usize::MAX - 1, ..pending }, thread);
        }
        pending.wait(thread, vec![said], Vec::new())
    }
}

/// How many types a question offers.
const MAX_OPTIONS: usize = 3;

impl Pending {
    /// Nothing was asked yet.
    fn of(request: Heard, slot_idx: usize) -> Self {
        Pending {
            request,
            slot_idx,
            options: Vec::new(),
            proposed: None,
            alias: None,
            n_asked: 0,
            n_missed: 0,
        }
    }

    fn slot(&self) -> &Slot {
        &self.request.slots[self.slot_idx]
    }

    fn phrase(&self) -> &str {
        &self.slot().text
    }

    fn wait(self, thread: Thread, said: Vec<String>, lessons: Vec<Lesson>) -> (State, Reply) {
        let outcome = Outcome::Ask {
            phrase: Some(self.phrase().to_owned()),
            place: Some(self.slot().place.clone()),
            slot: None,
            options: self.options.clone(),
            proposed: self.proposed.clone(),
        };
        let state = State { pending: Some(self), thread, ..State::default() };
        (state, Reply { text: said.join(" "), outcome, lessons, forget: Vec::new() })
    }
}

fn finished(thread: Thread, text: String, outcome: Outcome) -> (State, Reply) {
    let state = State { thread, ..State::default() };
    (state, Reply { text, outcome, lessons: Vec::new(), forget: Vec::new() })
}
