//! Training against PyTorch; the same bytes for any number of threads and after any number of stops.

use std::path::Path;

use super::*;
use crate::corpus::Utterance;
use crate::encoder::tests::GoldenNetwork;
use crate::encoder::{Calibration, Workspace};
use crate::kernel::tests::variants;
use crate::nn::LossWeights;
use crate::nn::optimizer::Replica;
use crate::random::Random;

/// Five steps on three batches, some of whose words are in one batch only: their embeddings move by momentum while
/// they are away, in PyTorch at every step, here when they are next needed.
///
/// A step moves a parameter by the rate, 1e-3, times a ratio that does not depend on the gradient's size; entries
/// whose gradient is below the rounding error of `f32` can move by a different share of it, up to 5e-3 in five
/// steps. Only attention has such entries, so everything else is held to 2e-6 and attention to 1e-4.
#[test]
fn five_steps_agree_with_pytorch() {
    let golden = GoldenNetwork::read();
    let network = SlotGated::new(golden.sizes);
    let examples: Vec<Example> = (golden.batches.iter())
        .flat_map(|batch| {
            (0..batch.ids.len()).map(|i| Example {
                words: batch.ids[i].clone(),
                labels: batch.labels[i].clone(),
                intent: batch.intents[i],
            })
        })
        .collect();
    let settings = TrainSettings {
        dropout: 0.0,
        rate: 1e-3,
        slot_weight: 1.0,
        clip: 5.0,
        batch: 3,
        ..TrainSettings::slot_gated()
    };
    for kernels in variants() {
        let mut trainer = trainer(&network, kernels, &examples, &settings);
        *trainer.replica() = Replica::new(kernels, &network, golden.parameters(&network));
        for step in &golden.training.steps {
            let mut batch: Vec<usize> = (step.batch * 3..step.batch * 3 + 3).collect();
            batch.sort_by_key(|&i| std::cmp::Reverse(examples[i].words.len()));
            let before = trainer.step(&batch, &Random::new(1));
            let after = loss(&network, kernels, &trainer.replica().parameters, &batch, &examples);
            assert!(
                (before - step.loss_before).abs() < 2e-6,
                "{kernels:?}: {before} for {}",
                step.loss_before
            );
            assert!((after - step.loss_after).abs() < 2e-6, "{kernels:?}: {after} for {}", step.loss_after);
            assert!(step.gradient_norm < 5.0, "nothing to clip; the golden of Adam alone has it");
        }
        let parameters = trainer.parameters();
        for (name, tensor) in network.layout().tensors() {
            let (what, found) = (format!("{kernels:?}, {name}"), parameters.values(tensor));
            let floor = if name.contains("attention") { 1e-4 } else { 2e-6 };
            golden.training.parameters[name].check_within(&what, &found, 0.0, floor);
            if name == "embedding" {
                golden.training.embedding.check_within(&what, &found, 0.0, floor);
            }
        }
    }
}

fn trainer<'a>(
    network: &'a SlotGated,
    kernels: Kernels,
    examples: &'a [Example],
    settings: &'a TrainSettings,
) -> Trainer<SlotGatedTask<'a>> {
    Trainer::new(SlotGatedTask::new(network, examples, settings), kernels, settings.schedule())
}

/// The loss of a batch of utterances of falling length.
fn loss(network: &SlotGated, kernels: Kernels, parameters: &[f32], batch: &[usize], all: &[Example]) -> f64 {
    let mut w = Workspace::default();
    network.forward(kernels, parameters, batch.iter().map(|&i| &all[i].words[..]), None, &mut w);
    let answers = batch.iter().map(|&i| (&all[i].labels[..], all[i].intent));
    let weight = 1.0 / batch.len() as f32;
    network.loss(kernels, answers, LossWeights { slots: weight, intent: weight }, None, &mut w)
}

/// A clipped gradient is the same gradient, shorter: with a clip of a quarter of the norm, the first moment, a tenth
/// of the gradient after one step, is a quarter of what it is without.
#[test]
fn clipping_shortens_the_gradient() {
    let golden = GoldenNetwork::read();
    let network = SlotGated::new(golden.sizes);
    let batch = &golden.batches[0];
    let example = |i: usize| Example {
        words: batch.ids[i].clone(),
        labels: batch.labels[i].clone(),
        intent: batch.intents[i],
    };
    let examples: Vec<Example> = (0..3).map(example).collect();
    let norm = golden.training.steps[0].gradient_norm as f32;
    for kernels in variants() {
        let moments: Vec<Vec<f32>> = [1e3, norm / 4.0]
            .into_iter()
            .map(|clip| {
                let settings =
                    TrainSettings { dropout: 0.0, slot_weight: 1.0, clip, ..TrainSettings::slot_gated() };
                let mut trainer = trainer(&network, kernels, &examples, &settings);
                *trainer.replica() = Replica::new(kernels, &network, golden.parameters(&network));
                trainer.step(&[0, 1, 2], &Random::new(1));
                trainer.replica().first.to_vec()
            })
            .collect();
        let size = moments[0].iter().map(|m| f64::from(*m).powi(2)).sum::<f64>().sqrt();
        assert!((size * 10.0 - f64::from(norm)).abs() < 1e-4, "{kernels:?}: norm {size}, not {norm}");
        for (whole, clipped) in moments[0].iter().zip(&moments[1]) {
            assert!((whole / 4.0 - clipped).abs() < 1e-6, "{kernels:?}: {clipped} of {whole}");
        }
    }
}

fn random_examples(n: usize, shape: SlotGatedShape) -> Vec<Example> {
    let mut random = Random::new(21);
    (0..n)
        .map(|_| {
            let len = 1 + random.below(12);
            let mut ids = |below: usize| (0..len).map(|_| random.below(below) as u32).collect();
            Example { words: ids(shape.words), labels: ids(shape.labels), intent: ids(shape.intents)[0] }
        })
        .collect()
}

#[test]
fn number_of_threads_does_not_change_a_bit() {
    let shape =
        SlotGatedShape { words: 300, labels: 7, intents: 4, embedding: 32, hidden: 32, calibrated: false };
    let network = SlotGated::new(shape);
    let examples = random_examples(90, shape);
    let settings = TrainSettings { batch: 40, ..TrainSettings::slot_gated() };
    for kernels in variants() {
        let trained: Vec<Vec<u32>> = (1..=3)
            .map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let mut trainer = trainer(&network, kernels, &examples, &settings);
                    for _ in 0..2 {
                        assert!(trainer.run_epoch(|_, _| ControlFlow::Continue(())).is_continue());
                    }
                    trainer.parameters().iter().map(|x| x.to_bits()).collect()
                })
            })
            .collect();
        assert_eq!(trained[0], trained[1], "{kernels:?}: two threads");
        assert_eq!(trained[0], trained[2], "{kernels:?}: three threads");
    }
}

// --- stopping and going on -------------------------------------------------------------------------------

const SETTINGS: TrainSettings = TrainSettings {
    epochs: 3,
    batch: 4,
    rate: 5e-3,
    slot_weight: 4.0,
    dropout: 0.2,
    clip: 5.0,
    embedding: 16,
    hidden: 16,
    architecture: Architecture::SlotGated(Some(CalibrationSettings {
        lambda: 1e-3,
        unknown_words: 0.1,
        bounds: Calibration { delta: 0.1, scale: 1.0 },
    })),
    seed: 7,
};

fn tagger_settings() -> TrainSettings {
    let tagger =
        SpanTaggerSettings { layers: 2, character: 16, filters: 16, ..SpanTaggerSettings::default() };
    TrainSettings { architecture: Architecture::SpanTagger(tagger), ..SETTINGS }
}

fn corpus(name: &str, skip: usize) -> Corpus {
    let cities = ["paris", "rome", "new york", "san jose"];
    let patterns = ["fly to # now", "what is the weather in #", "# please", "book a room in # today"];
    let utterances = (0..16).skip(skip).map(|i| {
        let mut utterance = Utterance { intent: format!("intent{}", i % 4), ..Utterance::default() };
        for word in patterns[i % 4].split(' ') {
            let words: Vec<&str> = if word == "#" { cities[i / 4].split(' ').collect() } else { vec![word] };
            for (position, part) in words.into_iter().enumerate() {
                let label = if word != "#" { "O" } else { ["B-city", "I-city"][position.min(1)] };
                utterance.words.push(part.to_owned());
                utterance.labels.push(label.to_owned());
            }
        }
        utterance
    });
    Corpus { path: name.into(), utterances: utterances.collect(), ..Corpus::default() }
}

/// A model that asks "is it an O?" cannot be told so.
#[test]
fn slots_that_cannot_be_taught_are_refused() {
    for (slot, problem) in [
        ("O", "a slot cannot be called `O`, which is no slot"),
        ("B-place", "a slot cannot be called `B-place`, which is a label"),
        ("unknown", "a slot cannot be called `unknown`"),
        ("ci\u{202e}ty", "there is a hidden character, \\u{202e}, in a slot"),
    ] {
        let mut train = corpus("toy", 0);
        train.utterances[3].line = 4;
        train.utterances[3].labels = vec![format!("B-{slot}"); train.utterances[3].words.len()];
        let refused =
            check(&train, &corpus("valid", 1), &tagger_settings(), &PolicySettings::default()).unwrap_err();
        assert_eq!(refused.to_string(), format!("toy:4: {problem}"));
        assert!(refused.hint().is_some());
    }
}

/// Stops after so many steps.
struct StopAfter(usize);

impl Watch for StopAfter {
    fn step(&mut self, _: &Progress) -> ControlFlow<()> {
        self.0 -= 1;
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    fn epoch(&mut self, _: &EpochReport) {}
}

fn finish(settings: &TrainSettings, resume: Option<Checkpoint>, threads: usize) -> Vec<u8> {
    let (train, valid) = (corpus("train", 0), corpus("valid", 3));
    let options = Options { threads, resume, ..Options::default() };
    fit(&train, &valid, settings, options, &mut ()).unwrap().finished().unwrap().to_bytes()
}

fn stop_after(
    settings: &TrainSettings,
    steps: usize,
    resume: Option<Checkpoint>,
) -> (Option<Result<Box<Model>>>, Checkpoint) {
    let (train, valid) = (corpus("train", 0), corpus("valid", 3));
    match fit(&train, &valid, settings, going_on(resume), &mut StopAfter(steps)).unwrap() {
        Outcome::Finished(_) => panic!("it was to stop after {steps} steps"),
        Outcome::Stopped { best, checkpoint } => (best, *checkpoint),
    }
}

fn going_on(resume: Option<Checkpoint>) -> Options {
    Options { resume, ..Options::default() }
}

fn through_a_file(checkpoint: &Checkpoint) -> Checkpoint {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    checkpoint.save(&path).unwrap();
    Checkpoint::load(&path).unwrap()
}

#[test]
fn stopped_and_resumed_gives_the_same_bytes() {
    for settings in [&SETTINGS, &tagger_settings()] {
        let whole = finish(settings, None, 1);
        assert!(whole == finish(settings, None, 2), "two threads");
        // Four steps make an epoch: in the first, at its end, in the second, and before the very last step.
        for steps in [1, 3, 4, 5, 11] {
            let (best, checkpoint) = stop_after(settings, steps, None);
            assert_eq!(best.is_some(), steps > 4, "a model once an epoch is done");
            let resumed = finish(settings, Some(through_a_file(&checkpoint)), 1);
            assert!(whole == resumed, "stopped after {steps} steps");
        }
        let (_, checkpoint) = stop_after(settings, 2, None);
        let (_, checkpoint) = stop_after(settings, 5, Some(through_a_file(&checkpoint)));
        assert!(whole == finish(settings, Some(through_a_file(&checkpoint)), 2), "stopped twice");
    }
}

#[test]
fn checkpoint_of_another_training_is_refused() {
    let (train, valid) = (corpus("train", 0), corpus("valid", 3));
    let (_, checkpoint) = stop_after(&SETTINGS, 5, None);
    let refusal = |train: &Corpus, settings: &TrainSettings, checkpoint: &Checkpoint| {
        fit(train, &valid, settings, going_on(Some(checkpoint.clone())), &mut ()).unwrap_err().to_string()
    };
    for settings in [
        TrainSettings { seed: 8, ..SETTINGS },
        TrainSettings { rate: 1e-3, ..SETTINGS },
        TrainSettings { batch: 8, ..SETTINGS },
        TrainSettings { hidden: 32, ..SETTINGS },
    ] {
        let refusal = refusal(&train, &settings, &checkpoint);
        assert_eq!(refusal, "the checkpoint is of a training with other settings");
    }
    let refused = refusal(&corpus("train", 1), &SETTINGS, &checkpoint);
    assert_eq!(refused, "the checkpoint is of a training on other data");
    let longer = TrainSettings { epochs: 4, ..SETTINGS };
    assert!(
        fit(&train, &valid, &longer, going_on(Some(checkpoint)), &mut ()).is_ok(),
        "more epochs are welcome"
    );
    // But not where the learning rate of every step depends on how many there will be.
    let (_, checkpoint) = stop_after(&tagger_settings(), 5, None);
    let longer = TrainSettings { epochs: 4, ..tagger_settings() };
    let refused = refusal(&train, &longer, &checkpoint);
    assert_eq!(refused, "the checkpoint is of a training with other settings");
}

#[test]
fn damaged_checkpoint_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    let (_, checkpoint) = stop_after(&SETTINGS, 5, None);
    checkpoint.save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let outcome = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let (train, valid) = (corpus("train", 0), corpus("valid", 3));
        let checkpoint = Checkpoint::load(&path)?;
        fit(&train, &valid, &SETTINGS, going_on(Some(checkpoint)), &mut ()).map(|_| ())
    };
    assert!(outcome(&whole).is_ok());
    for len in [0, 7, 8, 100, whole.len() / 2, whole.len() - 1] {
        assert!(outcome(&whole[..len]).is_err(), "cut to {len}");
    }
    assert!(outcome(b"\xFF\xD8\xFF\xE0 a picture").is_err());
    // Numbers by which something would be allocated or counted, replaced by others of the same length.
    for (from, to) in [
        ("\\\"steps\\\":5", "\\\"steps\\\":9"),
        ("\\\"steps\\\":5,\\\"seen\\\":[", "\\\"steps\\\":999999999999,["),
        ("\\\"epoch\\\":1,\\\"step\\\":1", "\\\"epoch\\\":7,\\\"step\\\":1"),
        ("\\\"epoch\\\":1,\\\"step\\\":1", "\\\"epoch\\\":1,\\\"step\\\":9"),
        ("\"F32\"", "\"I32\""),
    ] {
        let text = replace_in_header(&whole, from, to);
        assert!(text != whole, "{from} is not in the file");
        assert!(outcome(&text).is_err(), "{from} became {to}");
    }
    let mut not_finite = whole.clone();
    let len = not_finite.len();
    not_finite[len - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(outcome(&not_finite).is_err(), "a value that is not finite");
}

/// Replaces every occurrence in the header of a safetensors file and mends its length.
fn replace_in_header(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + len]).unwrap().replace(from, to);
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &bytes[8 + len..]].concat()
}

#[test]
fn missing_checkpoint_names_its_path() {
    let error = Checkpoint::load(Path::new("no/such/checkpoint")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read no/such/checkpoint: "), "{error}");
}
