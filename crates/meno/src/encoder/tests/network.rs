//! The whole network.

use super::*;

struct Utterances {
    words: Vec<Vec<u32>>,
    labels: Vec<Vec<u32>>,
    intents: Vec<u32>,
}

impl Utterances {
    fn of_lengths(lengths: &[usize], shape: SlotGatedShape, random: &mut Random) -> Self {
        let mut ids = |n: usize, below: usize| (0..n).map(|_| random.below(below) as u32).collect::<Vec<_>>();
        Utterances {
            words: lengths.iter().map(|&n| ids(n, shape.words)).collect(),
            labels: lengths.iter().map(|&n| ids(n, shape.labels)).collect(),
            intents: ids(lengths.len(), shape.intents),
        }
    }

    fn words(&self) -> impl Iterator<Item = &[u32]> + Clone {
        self.words.iter().map(|words| &words[..])
    }

    fn loss(
        &self,
        network: &SlotGated,
        kernels: Kernels,
        parameters: &[f32],
        dropout: bool,
        w: &mut Workspace,
    ) -> f64 {
        let mut dropout = dropout.then(|| Dropout { rate: 0.3, random: Random::new(3) });
        network.forward(kernels, parameters, self.words(), dropout.as_mut(), w);
        let answers = self.labels.iter().zip(&self.intents).map(|(labels, &intent)| (&labels[..], intent));
        let weight = 1.0 / self.words.len() as f32;
        network.loss(kernels, answers, LossWeights { slots: weight, intent: weight }, None, w)
    }

    /// The gradient of all parameters, laid out as they are.
    fn gradient(&self, network: &SlotGated, kernels: Kernels, parameters: &[f32], dropout: bool) -> Vec<f32> {
        let mut w = Workspace::default();
        self.loss(network, kernels, parameters, dropout, &mut w);
        let transposed = transposed(network, kernels, parameters);
        network.backward(kernels, parameters, &transposed, &mut w, dropout);
        gradient(network, kernels, &w)
    }
}

#[test]
fn network_agrees_with_pytorch() {
    let golden = GoldenNetwork::read();
    let network = SlotGated::new(golden.sizes);
    let parameters = golden.parameters(&network);
    let batch = &golden.batches[0];
    let order = batch.sorted();
    let utterances = Utterances {
        words: order.iter().map(|&i| batch.ids[i].clone()).collect(),
        labels: order.iter().map(|&i| batch.labels[i].clone()).collect(),
        intents: order.iter().map(|&i| batch.intents[i]).collect(),
    };
    for kernels in variants() {
        let mut w = Workspace::default();
        network.forward(kernels, &parameters, utterances.words(), None, &mut w);
        let mut slots = network.slot_logits(&w);
        for &i in &order {
            let rows = slots.by_ref().take(batch.ids[i].len()).flatten().copied().collect::<Vec<_>>();
            golden.pass.slot_logits[i].check(&format!("{kernels:?}, slot logits of {i}"), &rows);
        }
        let mut intents = vec![0.0; batch.ids.len() * golden.sizes.intents];
        for (&i, row) in order.iter().zip(network.intent_logits(&w)) {
            intents[i * row.len()..][..row.len()].copy_from_slice(row);
        }
        golden.pass.intent_logits.check(&format!("{kernels:?}, intent logits"), &intents);
        drop(slots);
        let loss = utterances.loss(&network, kernels, &parameters, false, &mut w);
        assert!((loss - golden.pass.loss).abs() < 1e-6, "{kernels:?}: loss {loss}, not {}", golden.pass.loss);
        let gradient = utterances.gradient(&network, kernels, &parameters, false);
        for (name, tensor) in network.layout().tensors() {
            let what = format!("{kernels:?}, gradient of {name}");
            golden.pass.gradients[name].check(&what, &values(&gradient, tensor));
        }
    }
}

const SHAPE: SlotGatedShape =
    SlotGatedShape { words: 40, labels: 5, intents: 3, embedding: 16, hidden: 16, calibrated: false };

#[test]
fn network_agrees_with_finite_differences() {
    let network = SlotGated::new(SHAPE);
    for lengths in [&[7, 4, 1][..], &[33, 17, 7, 7, 4, 1], &[1]] {
        let utterances = Utterances::of_lengths(lengths, SHAPE, &mut Random::new(9));
        for dropout in [false, true] {
            let mut parameters = network.initial(&mut Random::new(5));
            // Larger than at the start of training, so that attention is far from uniform and its gradient from zero.
            for x in parameters.iter_mut().filter(|x| x.abs() < 2.0) {
                *x *= 2.5;
            }
            for kernels in variants() {
                let gradient = utterances.gradient(&network, kernels, &parameters, dropout);
                let what = format!("{kernels:?}, lengths {lengths:?}, dropout {dropout}");
                // The attention over a single word is 1, and there is no state before it.
                let is_still =
                    |name: &str| lengths == [1] && (name.contains("attention") || name.contains("recurrent"));
                let mut w = Workspace::default();
                check_gradient(&what, &network, &parameters, &gradient, is_still, |parameters| {
                    utterances.loss(&network, kernels, parameters, dropout, &mut w)
                });
            }
        }
    }
}

/// What is said about an utterance does not depend on what else is in the batch.
#[test]
fn utterance_alone_and_in_a_batch_give_the_same_bits() {
    let network = SlotGated::new(SHAPE);
    let parameters = network.initial(&mut Random::new(8));
    let bits = |rows: &mut dyn Iterator<Item = &[f32]>| -> Vec<u32> {
        rows.flatten().map(|x| x.to_bits()).collect()
    };
    let utterances = Utterances::of_lengths(&[40, 33, 17, 17, 16, 7, 4, 2, 1, 1], SHAPE, &mut Random::new(4));
    for kernels in variants() {
        let (mut together, mut alone) = (Workspace::default(), Workspace::default());
        network.forward(kernels, &parameters, utterances.words(), None, &mut together);
        let mut slots = network.slot_logits(&together);
        let mut intents = network.intent_logits(&together);
        for words in utterances.words() {
            let n = words.len();
            network.forward(kernels, &parameters, std::iter::once(words), None, &mut alone);
            let logits = bits(&mut network.slot_logits(&alone));
            // Words whose gates are prepared, some of them or none, change nothing either.
            for prepared in
                [0, 20, 40].map(|words| network.prepare(kernels, &parameters, Calibration::default(), words))
            {
                network.infer(kernels, &parameters, &prepared, words, &mut alone);
                assert_eq!(logits, bits(&mut network.slot_logits(&alone)), "{kernels:?}, {n} words inferred");
            }
            assert_eq!(
                bits(&mut slots.by_ref().take(n)),
                bits(&mut network.slot_logits(&alone)),
                "{kernels:?}, {n}"
            );
            assert_eq!(bits(&mut intents.by_ref().take(1)), bits(&mut network.intent_logits(&alone)));
        }
    }
}

/// Finite parameters of any size give probabilities, never NaN: a model file may hold them.
#[test]
fn huge_parameters_do_not_spoil_probabilities() {
    let network = SlotGated::new(SHAPE);
    let utterances = Utterances::of_lengths(&[17, 4, 1], SHAPE, &mut Random::new(4));
    for scale in [1e3, 1e19, 1e38] {
        let mut parameters = network.initial(&mut Random::new(8));
        parameters.iter_mut().filter(|x| x.abs() < 2.0).for_each(|x| *x *= scale);
        for kernels in variants() {
            let mut w = Workspace::default();
            let loss = utterances.loss(&network, kernels, &parameters, false, &mut w);
            assert!(loss.is_finite(), "{kernels:?}, {scale}: {loss}");
        }
    }
}
