//! The contract of conversations (`tests/contract` of the workspace), replayed by the assistant on two stores.

#[path = "../../../tests/contract/mod.rs"]
mod contract;

use std::collections::BTreeMap;
use std::fs;

use contract::{
    Annotations, Dialogue, Dialogues, Ledger, NOW, Taken, is_comparable, json, raw, records, timeless,
    workspace,
};
use meno::Model;
use meno::dialogue::{Phrasebook, State};
use meno::memory::{Draft, Owner, Spelling};
use meno::resolve::{Shape, reference};
use meno_store::{Access, Assistant, Memory, Scope};

fn assistant(dialogue: &Dialogue) -> Assistant {
    let Some(file) = &dialogue.phrases else { return Assistant::default() };
    let path = workspace().join(file);
    let book = Phrasebook::read(&fs::read_to_string(&path).unwrap(), &path).unwrap();
    Assistant { book, ..Assistant::default() }
}

/// What is answered to each turn.
fn answers(dialogue: &Dialogue, model: &Model, memory: Memory) -> Vec<String> {
    let spelling = if dialogue.misspellings { Spelling::Forgiving } else { Spelling::Strict };
    let (memory, assistant) = (memory.with_spelling(spelling), assistant(dialogue));
    let owner = Owner::from(dialogue.owner.clone());
    let scope = Scope::own(owner.clone());
    for contract::Lesson { phrase, slot, value } in dialogue.taught.clone() {
        memory.learn(&scope, Draft { phrase, slot, value, owner: owner.clone(), source: None }).unwrap();
    }
    let mut worker = model.worker();
    let mut state = State::default();
    let mut answer = |say: &Option<String>| {
        let Some(text) = say else {
            let changes = memory.undo(&scope).unwrap();
            return timeless(&serde_json::json!({ "changes": changes }).to_string());
        };
        let mut turn = assistant.turn(&mut worker, &memory, &owner, state.clone(), text).unwrap();
        turn.resolve(model, Shape::Duckling, || reference(NOW, None).unwrap());
        let concepts = turn.concepts.iter().map(|concept| concept.id).collect();
        state = turn.state;
        let (reply, annotation) = (raw(&json(&turn.reply)), raw(&json(&turn.heard)));
        Taken { reply: &reply, annotation: &annotation, concepts }.shortened()
    };
    dialogue.turns.iter().map(|turn| answer(&turn.say)).collect()
}

#[test]
fn dialogues() {
    if !is_comparable() {
        return;
    }
    let mut recorded = Dialogues::read();
    let mut models: BTreeMap<String, Model> = BTreeMap::new();
    for Dialogue { model, .. } in &recorded.dialogues {
        models.entry(model.clone()).or_insert_with(|| Annotations::read(model).model.model());
    }
    let model = |dialogue: &Dialogue| dialogue.unknown().apply(models[&dialogue.model].clone());
    if records() {
        for dialogue in &mut recorded.dialogues {
            let answers = answers(dialogue, &model(dialogue), Memory::volatile().unwrap());
            for (turn, answer) in dialogue.turns.iter_mut().zip(answers) {
                turn.expected = raw(&answer);
            }
        }
        recorded.write();
    }
    let mut ledger = Ledger::new("dialogues");
    let dir = tempfile::tempdir().unwrap();
    for (dialogue_idx, dialogue) in recorded.dialogues.iter().enumerate() {
        let file = dir.path().join(format!("{dialogue_idx}.db"));
        let kept = Memory::open(file.to_str().unwrap(), Access::Create).unwrap();
        for (store, memory) in [("in memory", Memory::volatile().unwrap()), ("in a file", kept)] {
            for (idx, answer) in answers(dialogue, &model(dialogue), memory).iter().enumerate() {
                let name = format!("{} {store}", dialogue.name(idx));
                ledger.check(name, dialogue.turns[idx].expected.get(), answer);
            }
        }
    }
    ledger.close();
}
