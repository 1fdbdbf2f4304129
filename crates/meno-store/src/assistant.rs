//! One turn of a conversation: a model hears, memory knows, the dialogue answers, memory learns.

use std::cell::RefCell;
use std::ops::Range;

use jiff::Zoned;
use meno::dialogue::{
    Answers, Dialogue, Engine, Heard, Lesson, Outcome, Phrasebook, Reply, Settings, Slot, State,
};
use meno::engine::Tokenization;
use meno::label::{self, TokenSpan};
use meno::memory::{Concept, Draft, Owner, Remembered, Source, visible};

use meno::resolve::Shape;
use meno::{Model, Worker};

use crate::memory::Known;
use crate::store::Edit;
use crate::{Memory, Result, Scope};

/// How conversations are led.
#[derive(Clone, Debug)]
pub struct Assistant {
    /// When it asks.
    pub settings: Settings,
    /// What it says and understands.
    pub book: Phrasebook,
    /// What people say between requests; rules alone understand answers if there is none.
    pub answers: Option<&'static Answers>,
}

/// What became of a turn.
#[derive(Clone, Debug)]
pub struct Turn<'t> {
    /// Where the conversation stands now.
    pub state: State,
    /// What a model and memory made of the text.
    pub heard: Remembered<'t>,
    /// What is said in return.
    pub reply: Reply,
    /// What was learnt; it is on disk.
    pub concepts: Vec<Concept>,
}

impl Default for Assistant {
    fn default() -> Self {
        Assistant { settings: Settings::default(), book: Phrasebook::english(), answers: Answers::english() }
    }
}

impl Turn<'_> {
    /// Says what the words of slots are, where those declare it: in what was heard, and in the request if it is understood.
    pub fn resolve(&mut self, model: &Model, shape: Shape, now: impl Fn() -> Zoned) {
        model.resolve_remembered(&mut self.heard, shape, &now);
        if let Outcome::Act { slots, .. } = &mut self.reply.outcome {
            for slot in slots {
                let words = slot.value.as_deref().unwrap_or(&slot.text);
                slot.resolved = model.resolve_slot(&slot.slot, words, shape, &now);
            }
        }
    }
}

/// What a dialogue asks of a model and memory.
struct Listener<'a> {
    worker: RefCell<&'a mut Worker>,
    memory: &'a Memory,
    owner: &'a Owner,
}

impl Listener<'_> {
    /// The concepts of just these words.
    fn concepts(&self, phrase: &str) -> Vec<Known> {
        let mut found = self.memory.find(phrase, self.owner.user());
        found.retain(|known| (known.start, known.end) == (0, phrase.len()));
        found
    }
}

impl Engine for Listener<'_> {
    fn slot_of(&self, value: &str) -> Option<String> {
        let taught = self.concepts(value).into_iter().map(|known| known.slot).next();
        taught.or_else(|| self.worker.borrow().model().slot_of(value).map(str::to_owned))
    }

    fn is_plain(&self, words: &str) -> bool {
        let worker = self.worker.borrow();
        let model = worker.model();
        let resolves =
            |slot: &str| model.description().slots.get(slot).is_some_and(|slot| slot.resolve.is_some());
        model.slot_of(words).is_some_and(resolves) || model.is_value(words)
    }

    fn is_value(&self, slot: &str, words: &str) -> bool {
        let is_taught = |known: &Known| known.slot == slot;
        self.concepts(words).iter().any(is_taught) || self.worker.borrow().model().is_value_of(slot, words)
    }

    fn remembers(&self, phrase: &str) -> bool {
        !self.concepts(phrase).is_empty()
    }

    fn read(&self, text: &str, known: &[(Range<usize>, String)]) -> Heard {
        let mut worker = self.worker.borrow_mut();
        Heard::of(&self.memory.annotate_knowing(&mut worker, text, self.owner.user(), known))
    }
}

impl Assistant {
    /// Takes a turn for a user. If what it taught cannot be kept, the turn has not happened: it may be taken again from
    /// the same state.
    pub fn turn<'t>(
        &self,
        worker: &mut Worker,
        memory: &Memory,
        owner: &Owner,
        state: State,
        text: &'t str,
    ) -> Result<Turn<'t>> {
        let (turn, edits) = self.listen(worker, memory, owner, state, text);
        if edits.is_empty() {
            return Ok(turn);
        }
        let changes = memory.edit(&Scope::own(owner.clone()), edits)?;
        Ok(Turn { concepts: changes.into_iter().filter_map(|change| change.after).collect(), ..turn })
    }

    /// As [`Assistant::turn`], but nothing is learnt yet: the edits are what memory is to learn before the reply is given.
    /// This waits for no disk.
    pub fn listen<'t>(
        &self,
        worker: &mut Worker,
        memory: &Memory,
        owner: &Owner,
        state: State,
        text: &'t str,
    ) -> (Turn<'t>, Vec<Edit>) {
        let heard = memory.annotate(worker, None, text, Tokenization::Raw, owner.user());
        let types = worker.model().slots();
        let book = self.book.clone().describing(worker.model().description());
        let listener = Listener { worker: RefCell::new(worker), memory, owner };
        let dialogue = Dialogue {
            settings: &self.settings,
            book: &book,
            answers: self.answers,
            types: &types,
            engine: &listener,
        };
        let (state, reply) = dialogue.advance(state, Heard::of(&heard));
        let forgotten = reply.forget.iter().flat_map(|phrase| listener.concepts(phrase));
        // What everyone was taught is not a user's to forget.
        let is_own =
            |known: &Known| matches!(memory.concept(&Scope::own(owner.clone()), known.id), Ok(Some(_)));
        let mut edits: Vec<Edit> =
            forgotten.filter(is_own).map(|known| Edit::Remove { id: known.id }).collect();
        edits.extend(
            reply.lessons.iter().map(|lesson| Edit::Add(draft(lesson, owner, &listener.worker.borrow()))),
        );
        (Turn { state, heard, reply, concepts: Vec::new() }, edits)
    }
}

fn draft(lesson: &Lesson, owner: &Owner, worker: &Worker) -> Draft {
    let Lesson { phrase, slot, value, request, intent, slots } = lesson;
    let tokens = worker.model().normalizer().read(request);
    let span = |filled: &Slot| {
        let first = tokens.iter().position(|token| filled.place.start <= token.start)?;
        let end = tokens.iter().take_while(|token| token.end <= filled.place.end).count();
        (first < end).then(|| TokenSpan { start: first, end, slot: filled.slot.clone() })
    };
    let spans: Vec<TokenSpan> = slots.iter().filter_map(span).collect();
    let words: Vec<String> = tokens.iter().map(|token| visible(token.word)).collect();
    let is_seen = !words.iter().any(String::is_empty);
    Draft {
        // Of what was said, the characters that nobody sees are nobody's intention.
        phrase: visible(phrase),
        slot: slot.clone(),
        value: value.as_deref().map(visible),
        owner: owner.clone(),
        // What was taught out of the blue stood in no request.
        source: (!spans.is_empty() && is_seen).then(|| Source {
            words,
            labels: label::labels(&spans, tokens.len()),
            intent: intent.clone(),
        }),
    }
}
