//! Random edits and undos against a model that keeps every state it was in.

mod support;

use std::collections::BTreeMap;

use meno::memory::normal_form;
use meno_store::{Amendment, Edit, Query, Scope, Store};
use proptest::prelude::*;
use support::{create, draft, on_every_store};

/// What the model knows of a concept: phrase, slot and owner.
type Known = (String, String, String);
type State = BTreeMap<u64, Known>;

#[derive(Clone, Debug)]
enum Step {
    Add(Known),
    /// A concept by its place among those that are there, and its new slot.
    Amend(usize, String),
    Remove(usize),
    Undo,
}

fn any_step() -> impl Strategy<Value = Step> {
    let known = ("(a|A|b|a b)", "[xy]", "[uv]?");
    prop_oneof![
        4 => known.prop_map(Step::Add),
        2 => (0..9usize, "[xyz]").prop_map(|(at, slot)| Step::Amend(at, slot)),
        2 => (0..9usize).prop_map(Step::Remove),
        3 => Just(Step::Undo),
    ]
}

fn stored(store: &mut dyn Store) -> State {
    let concepts = store.list(&Scope::admin("admin"), &Query::default()).unwrap();
    let known = |c: meno::memory::Concept| (c.phrase, c.slot, c.owner.user().unwrap_or("").to_owned());
    concepts.into_iter().map(|concept| (concept.id, known(concept))).collect()
}

/// Does a step on the store and says what the state must be afterwards; `None` if it must fail.
fn expected(state: &State, edit: &Edit, new_id: u64) -> Option<State> {
    let same = |a: &Known, b: &Known| normal_form(&a.0) == normal_form(&b.0) && (&a.1, &a.2) == (&b.1, &b.2);
    let mut next = state.clone();
    match edit {
        Edit::Add(draft) => {
            let known =
                (draft.phrase.clone(), draft.slot.clone(), draft.owner.user().unwrap_or("").to_owned());
            let id = state.iter().find(|(_, other)| same(other, &known)).map_or(new_id, |(id, _)| *id);
            next.insert(id, known);
        }
        Edit::Amend { id, to } => {
            let known = next.get_mut(id)?;
            known.1 = to.slot.clone()?;
            let known = known.clone();
            if state.iter().any(|(other, there)| other != id && same(there, &known)) {
                return None;
            }
        }
        Edit::Remove { id } => drop(next.remove(id)?),
        Edit::Import(_) => unreachable!("it is not among the steps"),
    }
    Some(next)
}

fn run(location: &str, steps: &[Step]) {
    let mut store = create(location);
    // Stores of earlier cases are used again; what they left cannot be undone here.
    let first = stored(&mut *store);
    let removes = first.keys().map(|&id| Edit::Remove { id }).collect::<Vec<_>>();
    if !removes.is_empty() {
        store.edit(&Scope::admin("admin"), removes, 1).unwrap();
    }
    let mut states: Vec<State> = vec![State::new()];
    for step in steps {
        let state = states.last().unwrap().clone();
        let at = |at: usize| state.keys().nth(at).copied().unwrap_or(u64::MAX >> 1);
        let edit = match step {
            Step::Add((phrase, slot, owner)) => Edit::Add(draft(&format!("{phrase}|{slot}|{owner}"))),
            Step::Amend(place, slot) => {
                let to = Amendment { slot: Some(slot.clone()), ..Amendment::default() };
                Edit::Amend { id: at(*place), to }
            }
            Step::Remove(place) => Edit::Remove { id: at(*place) },
            Step::Undo => {
                if states.len() > 1 {
                    states.pop();
                    assert!(!store.undo(&Scope::admin("admin"), 2).unwrap().is_empty());
                }
                assert_eq!(&stored(&mut *store), states.last().unwrap(), "after {step:?} of {steps:?}");
                continue;
            }
        };
        let done = store.edit(&Scope::admin("admin"), vec![edit.clone()], 2);
        let new_id = done.as_ref().ok().and_then(|done| done[0].after.as_ref()).map_or(0, |after| after.id);
        match expected(&state, &edit, new_id) {
            Some(next) => {
                assert!(done.is_ok(), "{step:?} of {steps:?}");
                states.push(next);
            }
            None => assert!(done.is_err(), "{step:?} of {steps:?}"),
        }
        assert_eq!(&stored(&mut *store), states.last().unwrap(), "after {step:?} of {steps:?}");
    }
}

#[test]
fn a_store_is_its_model() {
    on_every_store(|location| {
        let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(steps in prop::collection::vec(any_step(), 0..25))| run(location, &steps));
    });
}
