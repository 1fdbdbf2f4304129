//! The span tagger and its chain.

use super::*;
use crate::encoder::chain::{Chain, N_PLACES};
use crate::encoder::{Form, SpanTagger, SpanTaggerShape, TaggerWorkspace, Token};

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
            })
            .collect();
        let tokens = |&n: &usize| {
            (0..n)
                .map(|_| Token {
                    word: random.below(SHAPE.words) as u32,
                    form: random.below(forms.len()) as u32,
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
        let mut transposed = Buffer::zeros(network.layout().dense());
        transpose(kernels, &network.matrices(), parameters, &mut transposed);
        network.backward(kernels, &transposed, &mut w, dropout);
        let mut all = vec![0.0; network.layout().len()];
        for product in network.products(&w) {
            let to = product.weight.of_mut(&mut all);
            Product::sum(kernels, &[product], 0, to);
        }
        all[network.layout().matrices()..network.layout().dense()].copy_from_slice(network.d_vectors(&w));
        for (word, d) in network.d_words(&w) {
            let to = network.embedding().row_mut(&mut all, word as usize);
            to.iter_mut().zip(d).for_each(|(to, from)| *to += from);
        }
        all
    }
}

#[test]
fn span_tagger_agrees_with_finite_differences() {
    let network = SpanTagger::new(SHAPE);
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
            for kernels in variants() {
                let gradient = utterances.gradient(&network, kernels, &parameters, dropout);
                for (name, tensor) in network.layout().tensors() {
                    // A single word has no state before it, and follows none.
                    if lengths == [1] && (name.contains("recurrent") || name.contains("transitions")) {
                        assert!(values(&gradient, tensor).iter().all(|g| g.abs() < 1e-6), "{name}");
                        continue;
                    }
                    let mut w = TaggerWorkspace::default();
                    let what = format!("{kernels:?}, {name}, lengths {lengths:?}, dropout {dropout}");
                    let at = parameters.values(tensor);
                    check_slope(&what, &at, &values(&gradient, tensor), |moved| {
                        let mut parameters = parameters.clone();
                        fill(&mut parameters, tensor, moved);
                        utterances.loss(&network, kernels, &parameters, dropout, &mut w)
                    });
                }
            }
        }
    }
}

/// What is said about an utterance does not depend on what else is in the batch, nor on what was prepared, nor on whether
/// the rounded matrices are read in half the bytes.
#[test]
fn span_tagger_alone_and_in_a_batch_gives_the_same_bits() {
    let network = SpanTagger::new(SHAPE);
    let parameters = network.initial(&mut Random::new(8));
    let mut rounded = parameters.clone();
    network.round(&mut rounded);
    let same = parameters.iter().zip(&*rounded).filter(|(exact, rounded)| exact == rounded).count();
    assert!(same < parameters.len() && parameters.len() - same <= 4 * 4 * SHAPE.hidden * SHAPE.hidden);
    [parameters, rounded].iter().for_each(|parameters| check_alone_and_in_a_batch(&network, parameters));
}

fn check_alone_and_in_a_batch(network: &SpanTagger, parameters: &[f32]) {
    let bits = |network: &SpanTagger, w: &TaggerWorkspace, skip: usize, n: usize| -> Vec<u32> {
        let places = network.place_logits(w).skip(skip).take(n).flatten();
        places.chain(network.slot_logits(w).skip(skip).take(n).flatten()).map(|x| x.to_bits()).collect()
    };
    let mut utterances = Utterances::of_lengths(&[40, 33, 17, 17, 4, 2, 1, 1], &mut Random::new(4));
    // As with words of a vocabulary, which have one form each.
    for token in utterances.tokens.iter_mut().flatten() {
        token.form = token.word;
    }
    for kernels in variants() {
        let (mut together, mut alone) = (TaggerWorkspace::default(), TaggerWorkspace::default());
        let tokens = utterances.tokens.iter().map(Vec::as_slice);
        network.forward(kernels, parameters, tokens, &utterances.forms, None, &mut together);
        let prepared = [0, 10, 30].map(|n| network.prepare(kernels, parameters, &utterances.forms[..n]));
        let mut first = 0;
        for tokens in &utterances.tokens {
            for prepared in &prepared {
                network.infer(kernels, parameters, prepared, tokens, &utterances.forms, &mut alone);
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
    network.pad(&mut parameters);
    let vectors = golden.vectors.values();
    let vectors = vectors.chunks_exact(golden.sizes.vector);
    let utterances = Utterances {
        tokens: (golden.utterances.iter())
            .map(|u| u.words.iter().zip(&u.forms).map(|(&word, &form)| Token { word, form }).collect())
            .collect(),
        labels: golden.utterances.iter().map(|u| u.labels.clone()).collect(),
        intents: golden.utterances.iter().map(|u| u.intent).collect(),
        forms: (golden.forms.iter().zip(vectors))
            .map(|(characters, vector)| Form { characters: characters.clone(), vector: vector.to_vec() })
            .collect(),
    };
    assert_eq!(golden.slot_weight, 2.0, "that of `Utterances::loss`");
    for kernels in variants() {
        let mut w = TaggerWorkspace::default();
        let tokens = utterances.tokens.iter().map(Vec::as_slice);
        network.forward(kernels, &parameters, tokens, &utterances.forms, None, &mut w);
        let (mut places, mut slots) = (network.place_logits(&w), network.slot_logits(&w));
        for (i, (tokens, intent)) in utterances.tokens.iter().zip(network.intent_logits(&w)).enumerate() {
            let rows = |rows: &mut dyn Iterator<Item = &[f32]>| {
                rows.take(tokens.len()).flatten().copied().collect::<Vec<f32>>()
            };
            golden.place_logits[i].check(&format!("{kernels:?}, places of {i}"), &rows(&mut places));
            golden.slot_logits[i].check(&format!("{kernels:?}, slots of {i}"), &rows(&mut slots));
            golden.intent_logits[i].check(&format!("{kernels:?}, intents of {i}"), intent);
        }
        drop((places, slots));
        let loss = utterances.loss(&network, kernels, &parameters, false, &mut w);
        assert!((loss - golden.loss).abs() < 2e-6, "{kernels:?}: loss {loss}, not {}", golden.loss);
        let gradient = utterances.gradient(&network, kernels, &parameters, false);
        for (name, tensor) in network.layout().tensors() {
            let what = format!("{kernels:?}, gradient of {name}");
            golden.gradients[name].check(&what, &values(&gradient, tensor));
        }
    }
}

/// Sums over sequences, done one sequence after the other.
#[test]
fn chain_agrees_with_enumeration() {
    let mut random = Random::new(6);
    for n in 1..=5 {
        let logits: Vec<Vec<f32>> =
            (0..n).map(|_| (0..N_PLACES).map(|_| 2.0 * random.normal()).collect()).collect();
        let transitions: Vec<f32> = (0..9).map(|_| random.normal()).collect();
        let weight = |places: &[usize]| -> f64 {
            let mut sum = 0.0;
            for t in 0..n {
                let before = if t == 0 { 0 } else { places[t - 1] };
                if !Chain::allows(before, places[t]) {
                    return 0.0;
                }
                sum += f64::from(logits[t][places[t]]);
                sum += if t == 0 { 0.0 } else { f64::from(transitions[before * N_PLACES + places[t]]) };
            }
            sum.exp()
        };
        let all: Vec<(Vec<usize>, f64)> = (0..N_PLACES.pow(n as u32))
            .map(|code| (0..n).map(|t| code / N_PLACES.pow(t as u32) % N_PLACES).collect::<Vec<_>>())
            .map(|places| (places.clone(), weight(&places)))
            .collect();
        let z: f64 = all.iter().map(|(_, weight)| weight).sum();
        let share = |is: &dyn Fn(&[usize]) -> bool| {
            all.iter().filter(|(places, _)| is(places)).map(|(_, weight)| weight / z).sum::<f64>()
        };
        let mut chain = Chain::default();
        chain.read(logits.iter().map(Vec::as_slice), &transitions);
        let close = |found: f64, expected: f64, what: &str| {
            assert!((found - expected).abs() < 1e-9, "{n} words, {what}: {found} for {expected}");
        };
        for t in 0..n {
            for to in 0..N_PLACES {
                close(chain.marginal(t, to), share(&|places| places[t] == to), "marginal");
                for from in 0..N_PLACES {
                    if t > 0 {
                        let expected = share(&|places| places[t - 1] == from && places[t] == to);
                        close(chain.pair(t, from, to), expected, "pair");
                    }
                }
            }
            for end in t + 1..=n {
                let is = |places: &[usize]| {
                    places[t] == 1
                        && places[t + 1..end].iter().all(|&place| place == 2)
                        && places.get(end) != Some(&2)
                };
                close(chain.concept(t, end), share(&is), "concept");
            }
        }
        let best = all.iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there is one");
        let mut places = Vec::new();
        chain.best(|_| 0.0, &mut places);
        assert_eq!(places, best.0, "{n} words");
        let mut d = vec![vec![0.0; N_PLACES]; n];
        let loss =
            chain.loss(best.0.iter().copied(), 1.0, d.iter_mut().map(Vec::as_mut_slice), &mut [0.0; 9]);
        close(loss, -(best.1 / z).ln(), "loss");
    }
}
