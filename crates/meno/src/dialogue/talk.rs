//! What is said between requests: greetings, help, why it asks; teaching, forgetting and correcting by talking.

use std::ops::Range;

use super::answer::{Answer, Meaning, Understood};
use super::narrow::words;
use super::{Dialogue, Heard, Lesson, Outcome, Pending, Reply, Slot, State, Thread, find_words, finished};
use crate::label::UNKNOWN;

/// So many words a change has at most that nothing else is said in.
const MAX_CHANGE: usize = 5;

/// How many examples help gives.
const EXAMPLES: usize = 3;

impl Dialogue<'_> {
    /// A turn that no question is before.
    pub(super) fn talk(&self, understood: Understood, thread: Thread, heard: Heard) -> (State, Reply) {
        let Understood { answer, is_sure } = understood;
        match answer {
            Answer::Greet => self.chat(thread, "greet"),
            Answer::Thank => self.chat(thread, "thank"),
            Answer::Bye => self.chat(thread, "bye"),
            Answer::Why | Answer::Repeat => self.chat(thread, "nothing_asked"),
            Answer::Cancel => finished(thread, self.book.say("dropped", &[]), Outcome::Drop),
            Answer::Help => {
                let said = self.help();
                finished(thread, said, Outcome::Talk)
            }
            Answer::Undo => self.undo(thread),
            Answer::Forget(phrase) => self.forget(thread, phrase),
            Answer::Teach(Some(phrase), meaning) => {
                self.teach(thread, phrase, Understood { answer: meaning, is_sure }, heard)
            }
            Answer::Teach(None, Meaning::Type(slot)) => self.correct_last(thread, slot, is_sure, heard),
            Answer::Change(value) => self.change(thread, &value, heard),
            _ => self.request(thread, heard),
        }
    }

    /// The same while a question is open, which is then asked again.
    pub(super) fn talk_in_between(&self, answer: Answer, pending: Pending, thread: Thread) -> (State, Reply) {
        let mut forget = Vec::new();
        let mut learnt = thread.learnt.clone();
        let said = match answer {
            Answer::Greet => Some(self.book.say("greet", &[])),
            Answer::Thank => Some(self.book.say("thank", &[])),
            Answer::Bye => return self.chat(thread, "bye"),
            Answer::Why => Some(self.book.say("why", &[("phrase", pending.phrase())])),
            Answer::Help => {
                let names = pending.options.iter().map(|slot| self.book.type_with_article(slot));
                let options = names.collect::<Vec<_>>().join(", ");
                Some(match options.is_empty() {
                    true => self.help(),
                    false => self.book.say("help_question", &[("options", &options)]),
                })
            }
            Answer::Undo => {
                let (said, phrases) = self.undone(&std::mem::take(&mut learnt));
                forget = phrases;
                Some(said)
            }
            Answer::Forget(phrase) => {
                let (said, phrases) = self.forgotten(phrase);
                forget = phrases;
                Some(said)
            }
            _ => None,
        };
        let said: Vec<String> = said.into_iter().chain([self.question(&pending)]).collect();
        let (state, reply) = pending.wait(Thread { learnt, ..thread }, said, Vec::new());
        (state, Reply { forget, ..reply })
    }

    /// A yes takes the type that was offered; of several it does not say which.
    pub(super) fn agree(&self, pending: Pending, thread: Thread) -> (State, Reply) {
        match pending.options.first().cloned() {
            None => self.miss(pending, thread),
            Some(slot) if pending.options.len() == 1 => self.learn(pending, thread, slot),
            Some(slot) => self.confirm(pending, thread, slot),
        }
    }

    pub(super) fn is_request(&self, heard: &Heard) -> bool {
        self.may_be_request(heard) && heard.text.split_whitespace().nth(1).is_some()
    }

    pub(super) fn may_be_request(&self, heard: &Heard) -> bool {
        !heard.rejected && !heard.intent.is_empty() && heard.probability >= self.settings.request
    }

    /// Whether it is a request with slots that begins with a word which says what to do: `start Vroomhilda tomorrow`.
    pub(super) fn is_command(&self, heard: &Heard) -> bool {
        let text = &heard.text;
        if !self.may_be_request(heard) || heard.slots.is_empty() {
            return false;
        }
        let first = words(text).map(|word| &text[word]).find(|word| !self.book.is_lead(word));
        first.is_some_and(|word| self.book.intent_words(&heard.intent).contains(&word.to_lowercase()))
    }

    fn chat(&self, thread: Thread, name: &str) -> (State, Reply) {
        finished(thread, self.book.say(name, &[]), Outcome::Talk)
    }

    fn help(&self) -> String {
        let examples: Vec<String> =
            self.book.examples().take(EXAMPLES).map(|example| format!("*{example}*")).collect();
        match examples.is_empty() {
            true => self.book.say("help_bare", &[]),
            false => self.book.say("help", &[("examples", &examples.join(", "))]),
        }
    }

    fn undo(&self, mut thread: Thread) -> (State, Reply) {
        let (said, forget) = self.undone(&std::mem::take(&mut thread.learnt));
        let (state, reply) = finished(thread, said, Outcome::Talk);
        (state, Reply { forget, ..reply })
    }

    /// What was learnt last is taken back.
    fn undone(&self, learnt: &[Lesson]) -> (String, Vec<String>) {
        let said = learnt.iter().map(|lesson| {
            let name = lesson.value.clone().unwrap_or_else(|| self.book.type_with_article(&lesson.slot));
            self.book.say("undone", &[("phrase", &lesson.phrase), ("type", &name)])
        });
        match learnt {
            [] => (self.book.say("nothing_undone", &[]), Vec::new()),
            learnt => {
                let phrases = learnt.iter().map(|lesson| lesson.phrase.clone());
                (said.collect::<Vec<_>>().join(" "), phrases.collect())
            }
        }
    }

    fn forget(&self, mut thread: Thread, phrase: String) -> (State, Reply) {
        let (said, forget) = self.forgotten(phrase);
        thread.learnt.retain(|lesson| !forget.contains(&lesson.phrase));
        let (state, reply) = finished(thread, said, Outcome::Talk);
        (state, Reply { forget, ..reply })
    }

    fn forgotten(&self, phrase: String) -> (String, Vec<String>) {
        match self.engine.remembers(&phrase) {
            true => (self.book.say("forgotten", &[("phrase", &phrase)]), vec![phrase]),
            false => (self.book.say("not_known", &[("phrase", &phrase)]), Vec::new()),
        }
    }

    /// Something is explained out of the blue, or about the last request, which is then completed anew.
    fn teach(
        &self,
        thread: Thread,
        phrase: String,
        Understood { answer: meaning, is_sure }: Understood<Meaning>,
        heard: Heard,
    ) -> (State, Reply) {
        let about_last = thread.last.clone().and_then(|last| {
            let place = find_words(&last.text, &phrase)?;
            Some(Pending::about(last, place))
        });
        let Some(pending) = about_last.or_else(|| Pending::apart(&heard.text, &phrase)) else {
            return self.request(thread, heard);
        };
        match meaning {
            Meaning::Type(slot) if is_sure => self.learn(pending, thread, slot),
            Meaning::Type(slot) => self.confirm(pending, thread, slot),
            Meaning::Alias(value) => self.name(pending, thread, value, is_sure),
            Meaning::NewType(slot) => self.confirm(pending, thread, slot),
        }
    }

    /// What was taught out of the blue is learnt, and nothing is done.
    pub(super) fn learn_apart(
        &self,
        thread: Thread,
        phrase: String,
        slot: String,
        value: Option<String>,
    ) -> (State, Reply) {
        let said = self.learnt(&phrase, &slot, value.as_deref());
        let lesson =
            Lesson { phrase, slot, value, request: String::new(), intent: String::new(), slots: Vec::new() };
        let thread = Thread { learnt: vec![lesson.clone()], ..thread };
        let (state, reply) = finished(thread, said, Outcome::Talk);
        (state, Reply { lessons: vec![lesson], ..reply })
    }

    /// `I meant the band`: of the last request, the slot that may be that.
    fn correct_last(&self, thread: Thread, slot: String, is_sure: bool, heard: Heard) -> (State, Reply) {
        let Some(last) = thread.last.clone() else { return self.request(thread, heard) };
        let may_be = |other: &&Slot| other.slot != slot && !self.engine.is_plain(&other.text);
        let mut doubtful: Vec<&Slot> = last.slots.iter().filter(may_be).collect();
        doubtful.sort_by(|a, b| b.uncertainty.total_cmp(&a.uncertainty));
        let fits = |other: &&&Slot| other.guesses.iter().any(|(guess, _)| *guess == slot);
        // It may be so already.
        let is_so = last.slots.iter().any(|other| other.slot == slot);
        let place = doubtful.iter().find(fits).or(doubtful.first()).filter(|_| !is_so);
        let place = place.map(|slot| slot.place.clone());
        match place.map(|place| Pending::about(last, place)) {
            Some(pending) if is_sure => self.learn(pending, thread, slot),
            Some(pending) => self.confirm(pending, thread, slot),
            None if is_so => {
                let said = thread.last.as_ref().map(|last| self.done(&last.intent, &last.slots));
                finished(thread, said.unwrap_or_default(), Outcome::Talk)
            }
            None => self.request(thread, heard),
        }
    }

    /// Other boundaries of a name of the last request, if that is all that is said: `just Wonk`, `the whole thing: ...`.
    pub(super) fn rebounded(&self, thread: &Thread, text: &str) -> Option<(Heard, Slot, Range<usize>)> {
        let last = thread.last.as_ref().filter(|_| self.answers.is_some())?;
        let place = find_words(&last.text, self.book.name_alone(text)?)?;
        let touches = |slot: &&Slot| slot.place.start < place.end && place.start < slot.place.end;
        let slot = last.slots.iter().find(touches).filter(|slot| slot.place != place)?;
        let is_name = !self.book.resolves(&slot.slot) && !self.engine.is_plain(&last.text[place.clone()]);
        is_name.then(|| (last.clone(), slot.clone(), place))
    }

    /// A name of the last request gets its boundaries: what was learnt of the others is forgotten.
    pub(super) fn rebound(
        &self,
        thread: Thread,
        (last, before, place): (Heard, Slot, Range<usize>),
    ) -> (State, Reply) {
        let is_learnt = thread.learnt.iter().any(|lesson| lesson.phrase == before.text);
        let phrase = last.text[place.clone()].to_owned();
        let mut request = self.fill(last, place, before.slot.clone(), None);
        // The words that it had before are nothing.
        let is_apart = |other: &Slot| {
            other.explained || other.place.end <= before.place.start || before.place.end <= other.place.start
        };
        request.slots.retain(is_apart);
        let (state, reply) = self.complete(request, thread, 0, (phrase, before.slot.clone(), None));
        let forget = if is_learnt { vec![before.text.clone()] } else { Vec::new() };
        (state, Reply { forget, ..reply })
    }

    /// What is said and no more, if it is a value of a slot that the last request has: `and London?`, `nah, Nobu`.
    pub(super) fn changed_value(&self, thread: &Thread, text: &str) -> Option<String> {
        // `he's my brother` says what somebody is.
        let last =
            thread.last.as_ref().filter(|_| self.answers.is_some() && !self.book.begins_intro(text))?;
        let value = &text[self.core_words(text)?];
        let slot = self.engine.slot_of(value)?;
        let has = |filled: &Slot| filled.slot == slot && filled.text.to_lowercase() != value.to_lowercase();
        let is_short = text.split_whitespace().count() <= MAX_CHANGE;
        (is_short && last.slots.iter().any(has)).then(|| value.to_owned())
    }

    /// A text without the words around it that only lead to what is said.
    fn core_words(&self, text: &str) -> Option<Range<usize>> {
        let says = |place: &Range<usize>| !self.book.is_lead(&text[place.clone()]);
        let words: Vec<Range<usize>> = words(text).collect();
        let (first, last) = (words.iter().find(|&word| says(word))?, words.iter().rfind(|&word| says(word))?);
        Some(first.start..last.end)
    }

    /// `make it fifteen`, of minutes.
    fn with_unit(&self, last: &Heard, value: &str) -> Option<String> {
        last.slots.iter().find_map(|slot| {
            let (_, unit) = slot.text.rsplit_once(' ').filter(|_| self.book.has_unit(&slot.slot))?;
            let value = Some(format!("{value} {unit}")).filter(|_| !value.contains(' '))?;
            self.engine.is_value(&slot.slot, &value).then_some(value)
        })
    }

    /// One slot of the last request gets another value, or one more is said.
    pub(super) fn change(&self, thread: Thread, value: &str, heard: Heard) -> (State, Reply) {
        let Some(last) = thread.last.clone() else { return self.request(thread, heard) };
        // Another name of the same kind is a request of its own: `start Vroomhilda at nine`.
        let is_other_name = |slot: &Slot| {
            let is_of_kind = |other: &Slot| slot.may_be(&other.slot) && !self.book.resolves(&other.slot);
            !value.contains(&slot.text) && last.slots.iter().any(is_of_kind)
        };
        if heard.slots.iter().any(is_other_name) {
            return self.request(thread, heard);
        }
        if let Some(value) = self.with_unit(&last, value) {
            return self.change(thread, &value, heard);
        }
        let replaced = last.slots.iter().map(|slot| {
            let text = [&last.text[..slot.place.start], value, &last.text[slot.place.end..]].concat();
            (text, slot.place.start, Some(slot.slot.as_str()))
        });
        // What was said around the value says how it is joined on.
        let joined =
            [value.to_owned(), heard.text.trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned()];
        let joined = joined.into_iter().filter_map(|said| {
            let text = format!("{} {said}", last.text.trim_end_matches(|c: char| !c.is_alphanumeric()));
            let start = text.len() - said.len() + said.find(value)?;
            Some((text, start, None))
        });
        let slot_of_value = self.engine.slot_of(value);
        // `make it five` is about a number where there is one.
        let counts = |slot: &&Slot| self.book.counts(&slot.slot) && self.engine.is_value(&slot.slot, value);
        let counted = last.slots.iter().find(counts).map(|slot| slot.slot.clone());
        let slot_of_value = counted.or(slot_of_value);
        let may_be = |slot: &str| slot_of_value.as_ref().is_none_or(|of_value| of_value == slot);
        let mut best: Option<(f32, Heard)> = None;
        for (text, start, slot) in replaced.chain(joined) {
            let read = self.engine.read(&text, &[]);
            let is_it = |found: &Slot| {
                // `five people` has the number five.
                let is_within = found.place.end < start + value.len() && self.book.resolves(&found.slot);
                found.place.start == start
                    && may_be(&found.slot)
                    && (found.place.len() == value.len() || is_within)
                    && match slot {
                        Some(slot) => found.slot == slot,
                        None => {
                            last.slots.iter().all(|other| other.slot != found.slot) && found.slot != UNKNOWN
                        }
                    }
            };
            let n_slots = last.slots.len() + usize::from(slot.is_none());
            let is_same = read.intent == last.intent && read.slots.len() == n_slots;
            let confidence = read.confidence.unwrap_or(read.probability);
            if is_same
                && !read.rejected
                && read.slots.iter().any(is_it)
                && best.as_ref().is_none_or(|(best, _)| confidence > *best)
            {
                best = Some((confidence, read));
            }
        }
        match best {
            Some((_, read)) => {
                self.go_on(Heard { intents: Vec::new(), ..read }, thread, 0, Vec::new(), Vec::new())
            }
            // It may be a request all the same.
            None if self.is_request(&heard) => self.request(thread, heard),
            None => self.chat(thread, "not_changed"),
        }
    }
}

impl Pending {
    /// Words of a request that are explained after it was acted upon.
    fn about(mut request: Heard, place: Range<usize>) -> Self {
        let is_apart = |other: &Slot| other.place.end <= place.start || place.end <= other.place.start;
        request.slots.retain(is_apart);
        let slot_idx = request.slots.partition_point(|other| other.place.start < place.start);
        let slot = unknown(&request.text, place);
        request.slots.insert(slot_idx, slot);
        Pending::of(request, slot_idx)
    }

    /// A phrase that stands in no request.
    fn apart(text: &str, phrase: &str) -> Option<Self> {
        let slot = unknown(text, find_words(text, phrase)?);
        let request = Heard { text: text.to_owned(), slots: vec![slot], ..Heard::default() };
        Some(Pending::of(request, 0))
    }
}

fn unknown(text: &str, place: Range<usize>) -> Slot {
    Slot { slot: UNKNOWN.to_owned(), text: text[place.clone()].to_owned(), place, ..Slot::default() }
}
