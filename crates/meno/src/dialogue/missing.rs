//! Asking for what a request cannot be carried out without.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::answer::{Answer, Asked};
use super::narrow::words;
use super::{Dialogue, Heard, Lesson, Outcome, Reply, State, Thread, finished};

/// A request that lacks a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Missing {
    request: Heard,
    slot: String,
    n_asked: usize,
    n_missed: usize,
}

/// Longer answers are taken for a value only if the tagger finds one in them.
const MAX_VALUE_WORDS: usize = 6;

impl Dialogue<'_> {
    /// The first slot that the intent requires and the request does not have.
    pub(super) fn missing(&self, request: &Heard) -> Option<String> {
        let required = self.book.required(&request.intent);
        let is_there = |slot: &String| request.slots.iter().any(|filled| filled.may_be(slot));
        required.into_iter().find(|slot| self.types.contains(slot) && !is_there(slot))
    }

    pub(super) fn ask_missing(
        &self,
        request: Heard,
        slot: String,
        n_asked: usize,
        thread: Thread,
        said: Vec<String>,
        lessons: Vec<Lesson>,
    ) -> (State, Reply) {
        let missing = Missing { request, slot, n_asked, n_missed: 0 };
        let said = said.into_iter().chain([self.book.ask_for(&missing.slot)]);
        missing.wait(thread, said.collect(), lessons)
    }

    /// A turn after such a question.
    pub(super) fn supply(&self, missing: Missing, thread: Thread, heard: Heard) -> (State, Reply) {
        if let Some(request) = self.supplied(&missing, &heard.text, false) {
            return self.go_on(request, thread, missing.n_asked, Vec::new(), Vec::new());
        }
        let understood = Asked { filled: Vec::new(), ..self.asked(&missing.request) }.understand(&heard.text);
        let aside = match understood.answer {
            Answer::Cancel | Answer::No | Answer::DontKnow => {
                return finished(thread, self.book.say("dropped", &[]), Outcome::Drop);
            }
            Answer::Why => {
                let name = self.book.type_with_article(&missing.slot);
                Some(self.book.say("why_missing", &[("type", &name)]))
            }
            Answer::Help => self.book.values_of(&missing.slot),
            Answer::Repeat => Some(String::new()),
            Answer::Greet => Some(self.book.say("greet", &[])),
            Answer::Thank => Some(self.book.say("thank", &[])),
            Answer::Bye => return finished(thread, self.book.say("bye", &[]), Outcome::Talk),
            _ if self.is_request(&heard) => return self.request(thread, heard),
            _ => None,
        };
        match aside {
            Some(aside) => {
                let question = self.book.ask_for(&missing.slot);
                let said = [aside, question].into_iter().filter(|said| !said.is_empty()).collect();
                missing.wait(thread, said, Vec::new())
            }
            None => match self.supplied(&missing, &heard.text, true) {
                Some(request) => self.go_on(request, thread, missing.n_asked, Vec::new(), Vec::new()),
                None => self.not_supplied(missing, thread),
            },
        }
    }

    fn not_supplied(&self, mut missing: Missing, thread: Thread) -> (State, Reply) {
        missing.n_missed += 1;
        if missing.n_missed >= self.settings.max_misses {
            return finished(thread, self.book.say("dropped", &[]), Outcome::Drop);
        }
        let question = self.book.ask_for(&missing.slot);
        let said = self.book.say("again", &[("question", &question)]);
        missing.wait(thread, vec![said], Vec::new())
    }

    /// The request with an answer behind it, if that has the slot: a known value, one that the tagger finds, or any few words where
    /// nothing else is left.
    fn supplied(&self, missing: &Missing, answer: &str, takes_anything: bool) -> Option<Heard> {
        let is_mark = |c: char| !c.is_alphanumeric();
        let answer = answer.trim_end_matches(is_mark);
        let before = missing.request.text.trim_end_matches(is_mark);
        let text = format!("{before} {answer}");
        let place = |words: &Range<usize>| before.len() + 1 + words.start..before.len() + 1 + words.end;
        let value = self.value_words(answer)?;
        let request = Heard { text, ..missing.request.clone() };
        let words = &answer[value.clone()];
        if self.engine.is_value(&missing.slot, words) {
            return Some(self.fill(request, place(&value), missing.slot.clone(), None));
        }
        let read = self.engine.read(&request.text, &[]);
        let found =
            read.slots.iter().find(|slot| slot.place.start > before.len() && slot.may_be(&missing.slot));
        if let Some(slot) = found {
            return Some(self.fill(request, slot.place.clone(), missing.slot.clone(), None));
        }
        let is_short = words.split_whitespace().count() <= MAX_VALUE_WORDS;
        let is_free = takes_anything && is_short && !self.book.resolves(&missing.slot);
        is_free.then(|| self.fill(request, place(&value), missing.slot.clone(), None))
    }

    /// An answer without the words in front that only lead to a value: `for`, `it's`, `um the`.
    fn value_words(&self, answer: &str) -> Option<Range<usize>> {
        let mut words = words(answer).skip_while(|place| self.book.is_lead(&answer[place.clone()]));
        let first = words.next()?;
        let last = words.last().map_or(first.end, |last| last.end);
        Some(first.start..last)
    }
}

impl Missing {
    fn wait(self, thread: Thread, said: Vec<String>, lessons: Vec<Lesson>) -> (State, Reply) {
        let outcome = Outcome::Ask {
            phrase: None,
            place: None,
            slot: Some(self.slot.clone()),
            options: Vec::new(),
            proposed: None,
        };
        let state = State { missing: Some(self), thread, ..State::default() };
        (state, Reply { text: said.join(" "), outcome, lessons, forget: Vec::new() })
    }
}
