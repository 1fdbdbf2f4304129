//! The span tagger.

use super::*;
use crate::encoder::{SpanTagger, SpanTaggerEncoder, SpanTaggerShape, TaggerWorkspace};
use crate::features::{Form, Token};
use crate::kernel::Instructions;

const SHAPE: SpanTaggerShape = SpanTaggerShape {
    words: 30,
    characters: 9,
    slots: 4,
    intents: 3,
    embedding: 16,
    character: 16,
    filters: 16,
    vector: 16,
    hidden: 16,
    layers: 2,
    spans: 0,
    longest: 0,
};

struct Utterances {
    tokens: Vec<Vec<Token>>,
    labels: Vec<Vec<u32>>,
    intents: Vec<u32>,
    forms: Vec<Form>,
}

impl Utterances {
    fn of_lengths(lengths: &[usize], random: &mut Random) -> Self {
        let forms: Vec<Form> = (0..40)
            .map(|_| Form {
                characters: (0..3 + random.below(6)).map(|_| random.below(SHAPE.characters) as u8).collect(),
                vector: (0..SHAPE.vector).map(|_| random.normal()).collect(),
                ..Form::default()
            })
            .collect();
        let tokens = |&n: &usize| {
            (0..n)
                .map(|_| Token {
                    word: random.below(SHAPE.words) as u32,
                    form: random.below(forms.len()) as u32,
                    key: 0,
                })
                .collect()
        };
        let tokens: Vec<Vec<Token>> = lengths.iter().map(tokens).collect();
        let labels = |&n: &usize| {
            let mut labels: Vec<u32> = Vec::new();
            for _ in 0..n {
                let inside = labels.last().filter(|&&label| label > 0).map(|label| label + label % 2);
                labels.push(match (random.below(3), inside) {
                    (0, _) => 0,
                    (1, Some(inside)) => inside,
                    _ => 1 + 2 * random.below(SHAPE.slots) as u32,
                });
            }
            labels
        };
        let labels = lengths.iter().map(labels).collect();
        let intents = lengths.iter().map(|_| random.below(SHAPE.intents) as u32).collect();
        Utterances { tokens, labels, intents, forms }
    }

    fn loss(
        &self,
        network: &SpanTagger,
        kernels: Kernels,
        parameters: &[f32],
        dropout: bool,
        w: &mut TaggerWorkspace,
    ) -> f64 {
        let mut dropout = dropout.then(|| Dropout { rate: 0.3, random: Random::new(3) });
        let tokens = self.tokens.iter().map(Vec::as_slice);
        network.forward(kernels, parameters, tokens, &self.forms, dropout.as_mut(), w);
        let answers = self.labels.iter().zip(&self.intents).map(|(labels, &intent)| (&labels[..], intent));
        let weight = 1.0 / self.tokens.len() as f32;
        network.loss(kernels, parameters, answers, LossWeights { slots: 2.0 * weight, intent: weight }, w)
    }

    /// The gradient of all parameters, laid out as they are.
    fn gradient(
        &self,
        network: &SpanTagger,
        kernels: Kernels,
        parameters: &[f32],
        dropout: bool,
    ) -> Vec<f32> {
        let mut w = TaggerWorkspace::default();
        self.loss(network, kernels, parameters, dropout, &mut w);
        let transposed = transposed(network, kernels, parameters);
        network.backward(kernels, &transposed, &mut w, dropout);
        gradient(network, kernels, &w)
    }
}

#[test]
fn span_tagger_agrees_with_finite_differences() {
    for shape in [SHAPE, NEAR, FAR] {
        check_finite_differences(&SpanTagger::new(shape));
    }
}

/// With a head for whole spans.
const NEAR: SpanTaggerShape = SpanTaggerShape { spans: 16, longest: 3, ..SHAPE };
const FAR: SpanTaggerShape = SpanTaggerShape { spans: 32, longest: 9, ..SHAPE };

fn check_finite_differences(network: &SpanTagger) {
    for lengths in [&[7, 4, 1][..], &[33, 17, 7, 7, 4, 1], &[1]] {
        let mut utterances = Utterances::of_lengths(lengths, &mut Random::new(9));
        if lengths == [1] {
            // The only word is in a concept, and has a single window: no step changes which one a filter looks at.
            utterances.labels = vec![vec![1]];
            utterances.forms.iter_mut().for_each(|form| form.characters.truncate(3));
        }
        for dropout in [false, true] {
            let mut parameters = network.initial(&mut Random::new(5));
            let tensor = |tensor| {
                network.layout().tensors().find(|(name, _)| *name == tensor).expect("there is one").1
            };
            let mut random = Random::new(2);
            parameters.fill(tensor("place.transitions"), || random.normal());
            // Away from where the ReLU has no slope.
            parameters.fill(tensor("characters.bias"), || 1.0);
            if network.shape().spans > 0 {
                // Half of the units have a slope, the others none, and no step changes which.
                let mut sign = -1.0;
                parameters.fill(tensor("span.bias"), || {
                    sign = -sign;
                    sign
                });
                parameters.fill(tensor("span.lengths"), || 0.3 * random.normal());
                parameters.fill(tensor("span.prior"), || random.normal());
                parameters.fill(tensor("span.out"), || 0.5 * random.normal());
            }
            for kernels in variants() {
                let gradient = utterances.gradient(network, kernels, &parameters, dropout);
                let what = format!("{kernels:?}, lengths {lengths:?}, dropout {dropout}");
                // A single word has no state before it, and follows none.
                let is_still = |name: &str| {
                    lengths == [1] && (name.contains("recurrent") || name.contains("transitions"))
                };
                let mut w = TaggerWorkspace::default();
                check_gradient(&what, network, &parameters, &gradient, is_still, |parameters| {
                    utterances.loss(network, kernels, parameters, dropout, &mut w)
                });
            }
        }
    }
}

/// What is said about an utterance does not depend on what else is in the batch, nor on what was prepared, nor on whether
/// the rounded matrices are read in half the bytes.
#[test]
fn span_tagger_alone_and_in_a_batch_gives_the_same_bits() {
    for shape in [SHAPE, NEAR, FAR] {
        check_bits(&SpanTagger::new(shape));
    }
}

fn check_bits(network: &SpanTagger) {
    let parameters = network.initial(&mut Random::new(8));
    let mut rounded = parameters.clone();
    network.round(&mut rounded);
    let same = parameters.iter().zip(&*rounded).filter(|(exact, rounded)| exact == rounded).count();
    assert!(same < parameters.len() && parameters.len() - same <= 4 * 4 * SHAPE.hidden * SHAPE.hidden);
    [parameters, rounded].iter().for_each(|parameters| check_alone_and_in_a_batch(network, parameters));
}

/// All logits and scores of some of the words.
fn outputs(network: &SpanTagger, w: &TaggerWorkspace, skip: usize, n: usize) -> Vec<f32> {
    let (heads, state) = (network.heads(), &w.heads);
    let boundaries = heads.boundary_logits(state).skip(skip).take(n).flatten();
    let slots = heads.slot_logits(state).skip(skip).take(n).flatten().copied();
    let (longest, scores) = (heads.longest(), heads.span_scores(state));
    let spans = scores.iter().skip(skip * longest).take(n * longest).copied();
    boundaries.chain(slots).chain(spans).collect()
}

fn bits(network: &SpanTagger, w: &TaggerWorkspace, skip: usize, n: usize) -> Vec<u32> {
    outputs(network, w, skip, n).into_iter().map(f32::to_bits).collect()
}

/// Some utterances whose words have one form each, as those of a vocabulary.
fn utterances_of_a_vocabulary() -> Utterances {
    let mut utterances = Utterances::of_lengths(&[40, 33, 17, 17, 4, 2, 1, 1], &mut Random::new(4));
    for token in utterances.tokens.iter_mut().flatten() {
        token.form = token.word;
    }
    utterances
}

/// With LSTMs of 8 bits an utterance gives the same bits on all kernels, alone and among others, prepared or not, and nearly the
/// logits that floats give.
#[test]
fn span_tagger_of_8_bits_gives_the_same_bits_everywhere() {
    for shape in [SHAPE, NEAR, FAR, SpanTaggerShape { layers: 1, ..SHAPE }] {
        let floats = SpanTagger::new(shape);
        let parameters = floats.initial(&mut Random::new(8));
        let encoder = SpanTaggerEncoder::new(floats.clone(), parameters.clone(), None);
        let small = encoder.quantized().expect("it is in floats");
        assert!(small.quantized().is_none());
        let (network, weights) = (&small.network, (&small.parameters[..], small.int8.as_ref()));
        let utterances = utterances_of_a_vocabulary();
        let all: Vec<_> =
            utterances.tokens.iter().map(|tokens| (&tokens[..], &utterances.forms[..])).collect();
        let n_words = utterances.tokens.iter().map(Vec::len).sum();
        let mut of_vectors = Vec::new();
        for kernels in variants() {
            let [mut exact, mut together, mut alone] = std::array::from_fn(|_| TaggerWorkspace::default());
            floats.infer(kernels, (&parameters, None), &floats.prepare(&parameters, 0), &all, &mut exact);
            let prepared = network.prepare(&small.parameters, 10);
            network.infer(kernels, weights, &prepared, &all, &mut together);
            let exact = outputs(&floats, &exact, 0, n_words);
            for (exact, rounded) in exact.into_iter().zip(outputs(network, &together, 0, n_words)) {
                assert!((exact - rounded).abs() < 0.05, "{kernels:?}: {exact} became {rounded}");
            }
            let mut first = 0;
            for utterance in &all {
                let n = utterance.0.len();
                network.infer(kernels, weights, &prepared, &[*utterance], &mut alone);
                assert_eq!(bits(network, &together, first, n), bits(network, &alone, 0, n), "{kernels:?}");
                first += n;
            }
            if kernels.instructions() != Instructions::Portable {
                of_vectors.push(bits(network, &together, 0, n_words));
            }
        }
        assert!(of_vectors.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

fn check_alone_and_in_a_batch(network: &SpanTagger, parameters: &[f32]) {
    let utterances = utterances_of_a_vocabulary();
    for kernels in variants() {
        let (mut together, mut alone) = (TaggerWorkspace::default(), TaggerWorkspace::default());
        let tokens = utterances.tokens.iter().map(Vec::as_slice);
        network.forward(kernels, parameters, tokens, &utterances.forms, None, &mut together);
        let all: Vec<_> =
            utterances.tokens.iter().map(|tokens| (&tokens[..], &utterances.forms[..])).collect();
        let n_words = utterances.tokens.iter().map(Vec::len).sum();
        let prepared = [0, 10, 30].map(|n| network.prepare(parameters, n));
        for prepared in prepared.iter().chain(&prepared) {
            let mut inferred = TaggerWorkspace::default();
            network.infer(kernels, (parameters, None), prepared, &all, &mut inferred);
            assert_eq!(
                bits(network, &together, 0, n_words),
                bits(network, &inferred, 0, n_words),
                "{kernels:?}"
            );
            let intents = |w: &TaggerWorkspace| {
                network.heads().intent_logits(&w.heads).flatten().map(|x| x.to_bits()).collect::<Vec<_>>()
            };
            assert_eq!(intents(&together), intents(&inferred), "{kernels:?}");
        }
        let prepared = [0, 10, 30].map(|n| network.prepare(parameters, n));
        let mut first = 0;
        for tokens in &utterances.tokens {
            // What is said twice is prepared the second time.
            for prepared in prepared.iter().chain(&prepared) {
                network.infer(
                    kernels,
                    (parameters, None),
                    prepared,
                    &[(tokens, &utterances.forms)],
                    &mut alone,
                );
                let (expected, found) =
                    (bits(network, &together, first, tokens.len()), bits(network, &alone, 0, tokens.len()));
                assert_eq!(expected, found, "{kernels:?}, {} words", tokens.len());
            }
            first += tokens.len();
        }
    }
}

#[derive(Deserialize)]
struct GoldenTagger {
    sizes: SpanTaggerShape,
    tensors: Vec<GoldenTensor>,
    vectors: Formula,
    forms: Vec<Vec<u8>>,
    utterances: Vec<GoldenUtterance>,
    slot_weight: f32,
    place_logits: Vec<Golden>,
    slot_logits: Vec<Golden>,
    intent_logits: Vec<Golden>,
    loss: f64,
    gradients: BTreeMap<String, Golden>,
}

#[derive(Deserialize)]
struct GoldenUtterance {
    words: Vec<u32>,
    forms: Vec<u32>,
    labels: Vec<u32>,
    intent: u32,
}

#[test]
fn span_tagger_agrees_with_jax() {
    let golden: GoldenTagger =
        serde_json::from_str(include_str!("../../../tests/goldens/span_tagger.json")).expect("of this form");
    let network = SpanTagger::new(golden.sizes);
    let mut parameters = Parameters::zeros(network.layout());
    assert_eq!(network.layout().tensors().count(), golden.tensors.len());
    for (name, tensor) in network.layout().tensors() {
        let of_name = golden.tensors.iter().find(|golden| golden.name == name).expect("named alike");
        fill(&mut parameters, tensor, &of_name.formula.values());
    }
    network.heads().pad(&mut parameters);
    let vectors = golden.vectors.values();
    let vectors = vectors.chunks_exact(golden.sizes.vector);
    let utterances = Utterances {
        tokens: (golden.utterances.iter())
            .map(|u| {
                u.words.iter().zip(&u.forms).map(|(&word, &form)| Token { word, form, key: 0 }).collect()
            })
            .collect(),
        labels: golden.utterances.iter().map(|u| u.labels.clone()).collect(),
        intents: golden.utterances.iter().map(|u| u.intent).collect(),
        forms: (golden.forms.iter().zip(vectors))
            .map(|(characters, vector)| Form {
                characters: characters.clone(),
                vector: vector.to_vec(),
                ..Form::default()
            })
            .collect(),
    };
    assert_eq!(golden.slot_weight, 2.0, "that of `Utterances::loss`");
    for kernels in variants() {
        let mut w = TaggerWorkspace::default();
        let tokens = utterances.tokens.iter().map(Vec::as_slice);
        network.forward(kernels, &parameters, tokens, &utterances.forms, None, &mut w);
        let heads = network.heads();
        let (mut boundaries, mut slots) = (heads.boundary_logits(&w.heads), heads.slot_logits(&w.heads));
        for (i, (tokens, intent)) in utterances.tokens.iter().zip(heads.intent_logits(&w.heads)).enumerate() {
            let of_boundaries: Vec<f32> = boundaries.by_ref().take(tokens.len()).flatten().collect();
            golden.place_logits[i].check(&format!("{kernels:?}, boundaries of {i}"), &of_boundaries);
            let of_slots: Vec<f32> = slots.by_ref().take(tokens.len()).flatten().copied().collect();
            golden.slot_logits[i].check(&format!("{kernels:?}, slots of {i}"), &of_slots);
            golden.intent_logits[i].check(&format!("{kernels:?}, intents of {i}"), intent);
        }
        drop((boundaries, slots));
        let loss = utterances.loss(&network, kernels, &parameters, false, &mut w);
        assert!((loss - golden.loss).abs() < 2e-6, "{kernels:?}: loss {loss}, not {}", golden.loss);
        let gradient = utterances.gradient(&network, kernels, &parameters, false);
        for (name, tensor) in network.layout().tensors() {
            let what = format!("{kernels:?}, gradient of {name}");
            golden.gradients[name].check(&what, &values(&gradient, tensor));
        }
    }
}
