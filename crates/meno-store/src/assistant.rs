//! One turn of a conversation: a model hears, memory knows, the dialogue answers, memory learns.

use meno::Worker;
use meno::dialogue::{Dialogue, Heard, Lesson, Phrasebook, Reply, Settings, Slot, State};
use meno::engine::Tokenization;
use meno::label::{self, TokenSpan};
use meno::memory::{Concept, Draft, Owner, Remembered, Source};

use crate::store::Edit;
use crate::{Memory, Result, Scope};

/// How conversations are led.
#[derive(Clone, Debug)]
pub struct Assistant {
    /// When it asks.
    pub settings: Settings,
    /// What it says and understands.
    pub book: Phrasebook,
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
        Assistant { settings: Settings::default(), book: Phrasebook::english() }
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
        let changes = memory.edit(&Scope::Of(owner.clone()), edits)?;
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
        let known = |value: &str| {
            let whole = memory.find(value, owner.user()).into_iter();
            whole.filter(|known| (known.start, known.end) == (0, value.len())).map(|known| known.slot).next()
        };
        let types = worker.model().slots();
        let dialogue = Dialogue { settings: &self.settings, book: &self.book, types: &types, known: &known };
        let (state, reply) = dialogue.advance(state, Heard::of(&heard));
        let edits = reply.lessons.iter().map(|lesson| Edit::Add(draft(lesson, owner, worker))).collect();
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
    Draft {
        phrase: phrase.clone(),
        slot: slot.clone(),
        value: value.clone(),
        owner: owner.clone(),
        source: Some(Source {
            words: tokens.iter().map(|token| token.word.to_owned()).collect(),
            labels: label::labels(&spans, tokens.len()),
            intent: intent.clone(),
        }),
    }
}
