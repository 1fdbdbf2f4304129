//! The transformer against PyTorch and against finite differences, on every variant of the kernels.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::weights::{Bf16Weights, Weights};
use super::*;
use crate::encoder::label_head::Calibration;
use crate::encoder::tests::{Formula, Golden};
use crate::kernel::Kernels;
use crate::kernel::tests::variants;
use crate::nn::gradient_check::{check_gradient, fill, gradient, transposed};
use crate::nn::optimizer::{Gradient, Replica};
use crate::nn::{Dropout, LossWeights};

#[derive(Deserialize)]
struct GoldenTransformer {
    shape: TransformerTaggerShape,
    tensors: Vec<GoldenTensor>,
    utterances: Vec<GoldenUtterance>,
    place_logits: Vec<Golden>,
    slot_logits: Vec<Golden>,
    intent_logits: Vec<Golden>,
    loss: f64,
    gradients: BTreeMap<String, Golden>,
    training: GoldenTraining,
    gelu: GoldenGelu,
}

#[derive(Deserialize)]
struct GoldenTensor {
    name: String,
    #[serde(flatten)]
    formula: Formula,
}

#[derive(Deserialize)]
struct GoldenUtterance {
    words: Vec<Vec<u32>>,
    labels: Vec<u32>,
    intent: u32,
}

#[derive(Deserialize)]
struct GoldenTraining {
    rate: f32,
    head_rate: f32,
    piece_rate: f32,
    weight_decay: f32,
    beta2: f32,
    losses: Vec<f64>,
    parameters: BTreeMap<String, Golden>,
}

#[derive(Deserialize)]
struct GoldenGelu {
    x: Vec<f32>,
    y: Vec<f64>,
    slope: Vec<f64>,
}

impl GoldenTransformer {
    fn read() -> Self {
        serde_json::from_str(include_str!("../../../tests/goldens/transformer.json")).expect("of this form")
    }

    fn network(&self) -> (TransformerTagger, Parameters) {
        let network = TransformerTagger::new(self.shape);
        let mut parameters = Parameters::zeros(network.layout());
        assert_eq!(network.layout().tensors().count(), self.tensors.len());
        for (name, tensor) in network.layout().tensors() {
            let golden = self.tensors.iter().find(|golden| golden.name == name).expect("named alike");
            fill(&mut parameters, tensor, &golden.formula.values());
        }
        network.pad(&mut parameters);
        (network, parameters)
    }

    fn batch(&self) -> Utterances {
        let sequences = self.utterances.iter().map(|utterance| sequence(&utterance.words));
        let answers = self.utterances.iter().map(|utterance| (utterance.labels.clone(), utterance.intent));
        Utterances { sequences: sequences.collect(), answers: answers.collect() }
    }
}

fn sequence(words: &[Vec<u32>]) -> Sequence {
    let mut sequence = Sequence::default();
    sequence.begin(1);
    assert!(words.iter().all(|word| sequence.push(word, 512)));
    sequence.end(2);
    sequence
}

struct Utterances {
    sequences: Vec<Sequence>,
    answers: Vec<(Vec<u32>, u32)>,
}

impl Utterances {
    fn loss(
        &self,
        network: &TransformerTagger,
        kernels: Kernels,
        parameters: &[f32],
        dropout: bool,
        w: &mut TransformerWorkspace,
    ) -> f64 {
        let mut dropout = dropout.then(|| Dropout { rate: 0.3, random: Random::new(3) });
        network.forward(kernels, parameters, self.sequences.iter(), dropout.as_mut(), w);
        let weight = 1.0 / self.sequences.len() as f32;
        let answers = self.answers.iter().map(|(labels, intent)| (&labels[..], *intent));
        let weights = LossWeights { slots: weight, intent: weight };
        network.loss(kernels, parameters, answers, weights, (|_| true, None), w)
    }

    fn passed(
        &self,
        network: &TransformerTagger,
        kernels: Kernels,
        parameters: &[f32],
        dropout: bool,
    ) -> TransformerWorkspace {
        let mut w = TransformerWorkspace::default();
        self.loss(network, kernels, parameters, dropout, &mut w);
        let transposed = transposed(network, kernels, parameters);
        network.backward(kernels, parameters, &transposed, &mut w, dropout);
        w
    }
}

#[test]
fn transformer_agrees_with_pytorch() {
    let golden = GoldenTransformer::read();
    let ((network, parameters), utterances) = (golden.network(), golden.batch());
    for kernels in variants() {
        let mut w = TransformerWorkspace::default();
        network.forward(kernels, &parameters, utterances.sequences.iter(), None, &mut w);
        let heads = network.spans().expect("it finds spans");
        let mut boundaries = heads.boundary_logits(&w.heads.spans);
        let mut slots = heads.slot_logits(&w.heads.spans);
        for (i, intent) in heads.intent_logits(&w.heads.spans).enumerate() {
            let n = golden.utterances[i].words.len();
            let of_boundaries: Vec<f32> = boundaries.by_ref().take(n).flatten().collect();
            golden.place_logits[i].check(&format!("{kernels:?}, boundaries of {i}"), &of_boundaries);
            let of_slots: Vec<f32> = slots.by_ref().take(n).flatten().copied().collect();
            golden.slot_logits[i].check(&format!("{kernels:?}, slots of {i}"), &of_slots);
            golden.intent_logits[i].check(&format!("{kernels:?}, intents of {i}"), intent);
        }
        drop((boundaries, slots));
        let loss = utterances.loss(&network, kernels, &parameters, false, &mut w);
        assert!((loss - golden.loss).abs() < 5e-6, "{kernels:?}: loss {loss}, not {}", golden.loss);
        let w = utterances.passed(&network, kernels, &parameters, false);
        let gradient = gradient(&network, kernels, &w);
        for (name, tensor) in network.layout().tensors() {
            let found = crate::nn::values(&gradient, tensor);
            // The bias of the keys changes no softmax: its gradient is rounding.
            golden.gradients[name].check_within(
                &format!("{kernels:?}, gradient of {name}"),
                &found,
                2e-5,
                2e-6,
            );
        }
    }
}

#[test]
fn steps_with_groups_agree_with_pytorch() {
    let golden = GoldenTransformer::read();
    let ((network, parameters), utterances) = (golden.network(), golden.batch());
    let GoldenTraining { rate, head_rate, piece_rate, weight_decay, beta2, .. } = golden.training;
    let groups = network.groups(head_rate / rate, piece_rate / rate, weight_decay);
    for kernels in variants() {
        for on_threads in [false, true] {
            let replica = Replica::new(kernels, &network, parameters.clone());
            let mut replica = replica.with(groups.clone(), beta2);
            let mut gradient = Gradient::new(&network);
            for &expected in &golden.training.losses {
                let all = utterances.sequences.iter().flat_map(|sequence| sequence.pieces.iter().copied());
                gradient.begin(all);
                replica.begin(kernels, &gradient);
                let mut w = TransformerWorkspace::default();
                let loss = utterances.loss(&network, kernels, &replica.parameters, false, &mut w);
                assert!((loss - expected).abs() < 2e-5, "{kernels:?}: loss {loss}, not {expected}");
                network.backward(kernels, &replica.parameters, &replica.transposed, &mut w, false);
                gradient.sum(kernels, &network, &replica.parameters, &[&w]);
                match on_threads {
                    true => replica.step_on_threads(kernels, rate, &gradient, 1.0),
                    false => replica.step(kernels, rate, &gradient, 1.0),
                }
            }
            replica.settle(kernels);
            for (name, tensor) in network.layout().tensors() {
                // The gradient of the bias of the keys is rounding, which Adam makes as large as any other.
                if !name.ends_with("qkv.bias") {
                    let found = replica.parameters.values(tensor);
                    let what = format!("{kernels:?}, {name} after the steps");
                    golden.training.parameters[name].check_within(&what, &found, 0.0, 1e-4);
                }
            }
        }
    }
}

#[test]
fn gelu_agrees_with_pytorch() {
    let GoldenGelu { x, y, slope } = GoldenTransformer::read().gelu;
    let n = x.len().next_multiple_of(LANES);
    for kernels in variants() {
        let mut padded = x.clone();
        padded.resize(n, 0.0);
        let (mut alone, mut slopes, mut found) = (padded.clone(), padded, vec![0.0; n]);
        kernels.gelu(&mut alone);
        kernels.gelu_with_slope(&mut slopes, &mut found);
        assert_eq!(alone, found);
        for i in 0..x.len() {
            for (found, expected) in [(found[i], y[i]), (slopes[i], slope[i])] {
                let difference = (f64::from(found) - expected).abs();
                assert!(difference < 2e-6, "{kernels:?}, {}: {found}, not {expected}", x[i]);
            }
        }
    }
}

/// Utterances of words of some pieces.
fn random_utterances(lengths: &[usize], shape: &TransformerTaggerShape, random: &mut Random) -> Utterances {
    let mut word =
        || (0..1 + random.below(3)).map(|_| random.below(shape.encoder.vocabulary) as u32).collect();
    let mut sequences: Vec<Sequence> =
        lengths.iter().map(|&n| sequence(&(0..n).map(|_| word()).collect::<Vec<_>>())).collect();
    sequences.sort_by_key(|sequence| std::cmp::Reverse(sequence.pieces.len()));
    let answers = sequences.iter().map(|sequence| {
        let mut labels: Vec<u32> = Vec::new();
        for _ in &sequence.firsts {
            let inside = labels.last().filter(|&&label| label > 0).map(|label| label + label % 2);
            labels.push(match (random.below(3), inside) {
                (0, _) => 0,
                (1, Some(inside)) => inside,
                _ => 1 + 2 * random.below(shape.slots) as u32,
            });
        }
        (labels, random.below(shape.intents) as u32)
    });
    let answers = answers.collect();
    Utterances { sequences, answers }
}

#[test]
fn transformer_agrees_with_finite_differences() {
    let golden = GoldenTransformer::read();
    let (network, parameters) = golden.network();
    for lengths in [&[6, 3, 1][..], &[13, 9, 4, 4, 2]] {
        let utterances = random_utterances(lengths, &golden.shape, &mut Random::new(4));
        for dropout in [false, true] {
            for kernels in variants() {
                let w = utterances.passed(&network, kernels, &parameters, dropout);
                let gradient = gradient(&network, kernels, &w);
                let what = format!("{kernels:?}, lengths {lengths:?}, dropout {dropout}");
                let mut w = TransformerWorkspace::default();
                check_gradient(
                    &what,
                    &network,
                    &parameters,
                    &gradient,
                    |_| false,
                    |parameters| utterances.loss(&network, kernels, parameters, dropout, &mut w),
                );
            }
        }
    }
}

/// The same with a label for each word in place of spans, and with scores of whole spans.
#[test]
fn other_heads_of_a_transformer_agree_with_finite_differences() {
    let shape = GoldenTransformer::read().shape;
    let labels = Some(Labels { n: 1 + 2 * shape.slots, is_calibrated: false });
    for shape in [
        TransformerTaggerShape { labels, ..shape },
        TransformerTaggerShape { spans: 16, longest: 3, ..shape },
    ] {
        let (network, mut random, mut sign) = (TransformerTagger::new(shape), Random::new(5), -1.0);
        let mut parameters = network.initial(&mut random);
        for (name, tensor) in network.layout().tensors() {
            let noisy = |x: f32| match name {
                // Half of the units have a slope, the others none, and no step changes which.
                "span.bias" => {
                    sign = -sign;
                    sign
                }
                _ => x + 0.2 * random.normal(),
            };
            let noisy: Vec<f32> = parameters.values(tensor).into_iter().map(noisy).collect();
            fill(&mut parameters, tensor, &noisy);
        }
        network.pad(&mut parameters);
        let utterances = random_utterances(&[6, 3, 1], &shape, &mut Random::new(4));
        for kernels in variants() {
            let w = utterances.passed(&network, kernels, &parameters, false);
            let gradient = gradient(&network, kernels, &w);
            let mut w = TransformerWorkspace::default();
            let loss =
                |parameters: &Parameters| utterances.loss(&network, kernels, parameters, false, &mut w);
            check_gradient(&format!("{kernels:?}"), &network, &parameters, &gradient, |_| false, loss);
        }
    }
}

/// What is said about an utterance does not depend on what else is in the batch.
#[test]
fn transformer_alone_and_in_a_batch_gives_the_same_bits() {
    let shape = TransformerTaggerShape { spans: 16, longest: 3, ..GoldenTransformer::read().shape };
    let network = TransformerTagger::new(shape);
    let parameters = network.initial(&mut Random::new(8));
    let utterances = random_utterances(&[13, 9, 9, 5, 4, 2, 1], &shape, &mut Random::new(7));
    let bits = |w: &TransformerWorkspace, skip: usize, n: usize| -> Vec<u32> {
        let heads = network.spans().expect("it finds spans");
        let boundaries = heads.boundary_logits(&w.heads.spans).skip(skip).take(n).flatten();
        let slots = heads.slot_logits(&w.heads.spans).skip(skip).take(n).flatten().copied();
        let spans = heads.span_scores(&w.heads.spans)[skip * shape.longest..][..n * shape.longest].iter();
        boundaries.chain(slots).chain(spans.copied()).map(f32::to_bits).collect()
    };
    for kernels in variants() {
        let (mut together, mut alone) = (TransformerWorkspace::default(), TransformerWorkspace::default());
        network.forward(kernels, &parameters, utterances.sequences.iter(), None, &mut together);
        let mut first = 0;
        for (i, sequence) in utterances.sequences.iter().enumerate() {
            let n = sequence.firsts.len();
            network.infer(kernels, &parameters, Weights::Floats, sequence, &mut alone);
            assert_eq!(bits(&together, first, n), bits(&alone, 0, n), "{kernels:?}, {n} words");
            let intents = network.intent_logits(i, &together);
            assert_eq!(intents, network.intent_logits(0, &alone), "{kernels:?}, {n} words");
            first += n;
        }
    }
}

/// Weights of 16 bits give the same bits as the same weights in 32.
#[test]
fn transformer_of_16_bits_is_that_of_rounded_weights() {
    let mut shape = GoldenTransformer::read().shape;
    shape.encoder.intermediate = 64;
    let (network, mut random) = (TransformerTagger::new(shape), Random::new(9));
    let mut parameters = Parameters::zeros(network.layout());
    parameters.iter_mut().for_each(|weight| *weight = random.uniform() - 0.5);
    network.pad(&mut parameters);
    assert!(Bf16Weights::of(&network, &parameters).is_none(), "they are not rounded");
    let exact = TransformerEncoder::new(network, parameters, None, Calibration::default());
    let TransformerEncoder { network, parameters, .. } = exact.rounded_to_bf16().expect("it has floats");
    let bf16 = Bf16Weights::of(&network, &parameters).expect("they are rounded");
    let utterances = random_utterances(&[17, 9, 1], &shape, &mut random);
    for (kernels, sequence) in variants().flat_map(|k| utterances.sequences.iter().map(move |s| (k, s))) {
        let states = |weights: Weights<'_>| {
            let mut w = TransformerWorkspace::default();
            network.infer(kernels, &parameters, weights, sequence, &mut w);
            w.words.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(states(Weights::Floats), states(Weights::Bf16(&bf16)), "{kernels:?}");
    }
}

/// Both kinds of vectors give the same bits, forward and backward, with dropout.
#[test]
fn transformer_has_the_same_bits_on_all_vectors() {
    let golden = GoldenTransformer::read();
    let (network, parameters) = golden.network();
    let utterances = random_utterances(&[13, 9, 5, 1], &golden.shape, &mut Random::new(5));
    let bits: Vec<Vec<u32>> = variants()
        .map(|kernels| {
            let w = utterances.passed(&network, kernels, &parameters, true);
            gradient(&network, kernels, &w).iter().map(|x| x.to_bits()).collect()
        })
        .collect();
    if let [_, avx2, avx512] = &bits[..] {
        assert!(avx2 == avx512, "avx2 and avx512 give different bits");
    }
}
