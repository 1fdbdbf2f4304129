//! The contract, replayed by the engine (`tests/contract` of the workspace).

#[path = "../../../tests/contract/mod.rs"]
mod contract;

use contract::{Annotations, Ledger, NOW, Origin, hash, is_comparable, json, records};
use meno::Model;
use meno::engine::Instructions;
use meno::resolve::{Shape, reference};

/// What a worker with these instructions says of every case, as `meno tag` prints it.
fn answers(recorded: &Annotations, model: &Model, instructions: Instructions) -> Option<Vec<String>> {
    model.worker_with(instructions)?;
    let mut answers = vec![String::new(); recorded.annotations.len()];
    for (unknown, cases) in recorded.by_settings() {
        let model = unknown.apply(model.clone());
        let mut worker = model.worker_with(instructions)?;
        for (idx, case) in cases {
            let text = case.text.whole();
            let mut annotation = worker.annotate(&text, case.reading.of_engine());
            model.resolve(&mut annotation, Shape::Duckling, || reference(NOW, None).unwrap());
            answers[idx] = json(&annotation);
        }
    }
    Some(answers)
}

fn replay(name: &str) {
    if !is_comparable() {
        return;
    }
    let mut recorded = Annotations::read(name);
    let bytes = recorded.model.bytes();
    let model = Model::from_bytes(&bytes, name.as_ref()).unwrap();
    if records() {
        let best = Instructions::best();
        let answers = answers(&recorded, &model, best).unwrap();
        for (case, answer) in recorded.annotations.iter_mut().zip(answers) {
            case.expected = case.recorded(&answer);
        }
        if let Origin::Trained { hash: recorded, .. } = &mut recorded.model {
            *recorded = hash(&bytes);
        }
        recorded.write(name);
    }
    let mut ledger = Ledger::new(name);
    if let Origin::Trained { hash: recorded, .. } = &recorded.model {
        ledger.check("the bytes of the model", recorded, &hash(&bytes));
    }
    for instructions in [Instructions::Avx2, Instructions::Avx512] {
        let Some(answers) = answers(&recorded, &model, instructions) else { continue };
        for (idx, (case, answer)) in recorded.annotations.iter().zip(answers).enumerate() {
            let name = format!("{} on {instructions:?}", case.name(idx));
            ledger.check(name, case.expected.get(), &answer);
        }
    }
    ledger.close();
}

contract::tests_of_models!(replay);
