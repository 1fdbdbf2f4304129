//! `GET /v1/concepts/export?as=corpus`: the utterances in which concepts were learnt.
//!
//! Concepts that were learnt in one utterance may be far apart, and all of them are more than memory should hold. So they are read twice: first
//! to find which belong together, of which numbers alone are kept; then each utterance is made where the first of its concepts stands.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::response::Response;
use meno::corpus::{Corpus, Utterance, to_jsonl};
use meno::memory::{Concept, Source, label_in, source_of};
use meno_store::Scope;

use super::concepts::page;
use crate::App;
use crate::bodies::Held;
use crate::engine::CallerId;
use crate::problem::Problem;
use crate::stream::{self, Pages};

/// So many concepts of one utterance are read at a time.
const PORTION: usize = 1000;

/// Answers with the utterances that a scope sees.
pub(super) async fn export(
    app: Arc<App>,
    caller: CallerId,
    mut room: Held,
    scope: Scope,
) -> Result<Response, Problem> {
    let together = Together::read(app.clone(), caller, &mut room, scope.clone()).await?;
    let utterances = Pages::new(app, caller, move |app, after| {
        let (concepts, next) = page(app, &scope, after)?;
        let led =
            concepts.iter().map(|concept| together.led_by(concept)).filter(|members| !members.is_empty());
        let utterances = led.map(|members| utterance(app, &scope, members)).collect::<Result<Vec<_>, _>>()?;
        let is_wanted = |utterance: &Utterance| !together.has_intents || !utterance.intent.is_empty();
        let utterances: Vec<Utterance> = utterances.into_iter().flatten().filter(is_wanted).collect();
        Ok((rendered(utterances)?, next))
    });
    stream::lines(room, vec![utterances]).await
}

/// Which concepts were learnt in one utterance.
#[derive(Default)]
struct Together {
    /// A hash of the utterance, and the number of a concept; in their order.
    members: Vec<Member>,
    /// Whether some utterance has an intent; then those without are left out.
    has_intents: bool,
}

type Member = (u64, u64);

impl Together {
    async fn read(app: Arc<App>, caller: CallerId, room: &mut Held, scope: Scope) -> Result<Self, Problem> {
        let mut found = Pages::new(app, caller, move |app, after| {
            let (concepts, next) = page(app, &scope, after)?;
            let member = |concept: &Concept| {
                let source = source_of(concept)?;
                Some(((hash(source), concept.id), !source.intent.is_empty()))
            };
            Ok((concepts.iter().filter_map(member).collect::<Vec<_>>(), next))
        });
        let mut together = Together::default();
        while let Some(page) = found.next().await? {
            room.grow(page.len() * size_of::<Member>());
            for (member, has_intent) in page {
                together.members.push(member);
                together.has_intents |= has_intent;
            }
        }
        together.members.sort_unstable();
        Ok(together)
    }

    /// The concepts of an utterance, if this is the first of them.
    fn led_by(&self, concept: &Concept) -> &[Member] {
        let Some(key) = source_of(concept).map(hash) else { return &[] };
        let from = &self.members[self.members.partition_point(|(other, _)| *other < key)..];
        match from.first() {
            Some(first) if *first == (key, concept.id) => {
                &from[..from.partition_point(|(other, _)| *other == key)]
            }
            _ => &[],
        }
    }
}

fn hash(source: &Source) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&source.words, &source.intent).hash(&mut hasher);
    hasher.finish()
}

/// The utterance of some concepts; `None` if they are gone by now.
fn utterance(app: &App, scope: &Scope, members: &[Member]) -> Result<Option<Utterance>, Problem> {
    let mut utterance = None;
    for portion in members.chunks(PORTION) {
        let ids: Vec<u64> = portion.iter().map(|(_, id)| *id).collect();
        app.memory.concepts(scope, &ids)?.iter().for_each(|concept| label_in(&mut utterance, concept));
    }
    Ok(utterance)
}

fn rendered(utterances: Vec<Utterance>) -> Result<Vec<u8>, Problem> {
    if utterances.is_empty() {
        return Ok(Vec::new());
    }
    let corpus = Corpus { utterances, ..Corpus::default() };
    Ok(to_jsonl(&corpus).map_err(meno_store::Error::from)?.into_bytes())
}
