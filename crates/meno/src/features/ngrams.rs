//! A second opinion on the intent: logistic regression on hashed n-grams.
//!
//! ```text
//! x = words of n = 1, 2 and characters of n = 2 to 5 inside of a word, each (1 + ln count) idf, each kind of length 1
//! intent = W x + b,      minimising  C sum -ln p(intent) + |W|^2 / 2
//! ```
//! On a few hundred utterances an LSTM and this err on different ones; together they are better than either
//! (`docs/corpora.md`). N-grams share [`BUCKETS`] by a hash, so that the size does not grow with the corpus.

use crate::math::log_softmax;

/// What n-grams are hashed to.
pub(crate) const BUCKETS: usize = 2048;

/// How much an error costs beside the size of the weights.
const C: f32 = 20.0;

/// What counts of the network's log probabilities beside these: it is too sure of itself.
pub(crate) const NETWORK: f32 = 0.5;

/// Kinds of n-grams: of words, of characters.
const KINDS: usize = 2;

/// The classifier, as the model file has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ngrams {
    /// The inverse document frequency of each bucket, for each kind.
    pub idf: Vec<f32>,
    /// For each bucket a weight for each intent.
    pub weights: Vec<f32>,
    /// For each intent.
    pub bias: Vec<f32>,
}

/// The n-grams of an utterance: buckets, sorted, and what they weigh.
pub(crate) type Bag = Vec<(u32, f32)>;

/// How often each bucket occurs in an utterance, for each kind; sorted.
fn counts<'w>(words: impl Iterator<Item = &'w str> + Clone) -> [Vec<(u32, u32)>; KINDS] {
    let mut of_words: Vec<u32> = Vec::new();
    let mut previous = None;
    for word in words.clone() {
        let key = hash(START, word.bytes());
        of_words.push(bucket(key));
        of_words.extend(previous.map(|previous| bucket(hash(hash(previous, [b' ']), word.bytes()))));
        previous = Some(key);
    }
    let mut of_characters = Vec::new();
    let (mut padded, mut starts) = (String::new(), Vec::new());
    for word in words {
        padded.clear();
        padded.extend([" ", word, " "]);
        starts.clear();
        starts.extend(padded.char_indices().map(|(at, _)| at).chain([padded.len()]));
        let mut letters = starts.windows(2).map(|at| &padded.as_bytes()[at[0]..at[1]]);
        while let Some(first) = letters.next() {
            let mut key = hash(!START, first.iter().copied());
            of_characters.extend(letters.clone().take(4).map(|letter| {
                key = hash(key, letter.iter().copied());
                bucket(key)
            }));
        }
    }
    [tally(of_words), tally(of_characters)]
}

fn tally(mut buckets: Vec<u32>) -> Vec<(u32, u32)> {
    buckets.sort_unstable();
    let runs = buckets.chunk_by(|a, b| a == b);
    runs.map(|run| (run[0], run.len() as u32)).collect()
}

/// FNV-1a, of 32 bits.
const START: u32 = 0x811c_9dc5;

fn hash(start: u32, bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().fold(start, |key, byte| (key ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn bucket(key: u32) -> u32 {
    (key ^ (key >> 15)) % BUCKETS as u32
}

impl Ngrams {
    /// Their name in model files; another arithmetic is another name.
    pub(crate) const NAME: &str = "ngrams.v1";

    /// What it is made of, with the names and shapes that model files have.
    pub(crate) fn tensors(&self) -> [(&'static str, Vec<usize>, &[f32]); 3] {
        let n_intents = self.bias.len();
        [
            ("ngrams.idf", vec![KINDS, BUCKETS], &self.idf),
            ("ngrams.weight", vec![BUCKETS, n_intents], &self.weights),
            ("ngrams.bias", vec![n_intents], &self.bias),
        ]
    }

    /// From tensors of these names and shapes.
    pub(crate) fn read<E>(
        n_intents: usize,
        mut tensor: impl FnMut(&str, &[usize]) -> Result<Vec<f32>, E>,
    ) -> Result<Self, E> {
        Ok(Ngrams {
            idf: tensor("ngrams.idf", &[KINDS, BUCKETS])?,
            weights: tensor("ngrams.weight", &[BUCKETS, n_intents])?,
            bias: tensor("ngrams.bias", &[n_intents])?,
        })
    }

    /// The n-grams of an utterance.
    pub(crate) fn bag<'w>(&self, words: impl Iterator<Item = &'w str> + Clone) -> Bag {
        weigh(&self.idf, &counts(words))
    }

    /// The intents by both opinions: the network's logits become those of both together.
    pub(crate) fn join(&self, bag: &[(u32, f32)], network: &mut [f32]) {
        let mut logits = self.bias.clone();
        add_product(&self.weights, bag, &mut logits);
        let mut own = vec![0.0; logits.len()];
        log_softmax(&logits, &mut own);
        logits.copy_from_slice(network);
        log_softmax(&logits, network);
        for (logit, own) in network.iter_mut().zip(own) {
            *logit = NETWORK * *logit + own;
        }
    }
}

fn weigh(idf: &[f32], counts: &[Vec<(u32, u32)>; KINDS]) -> Bag {
    let mut bag = Bag::new();
    for (idf, counts) in idf.chunks_exact(BUCKETS).zip(counts) {
        let first = bag.len();
        let weight = |&(bucket, n): &(u32, u32)| (bucket, (1.0 + (n as f32).ln()) * idf[bucket as usize]);
        bag.extend(counts.iter().map(weight));
        let length = bag[first..].iter().map(|(_, weight)| weight.powi(2)).sum::<f32>().sqrt();
        bag[first..].iter_mut().for_each(|(_, weight)| *weight /= length);
    }
    bag
}

fn add_product(weights: &[f32], bag: &[(u32, f32)], logits: &mut [f32]) {
    let n = logits.len();
    for &(bucket, x) in bag {
        let row = &weights[bucket as usize * n..][..n];
        logits.iter_mut().zip(row).for_each(|(logit, weight)| *logit += x * weight);
    }
}

#[cfg(feature = "train")]
pub(crate) mod fit {
    //! Training, by L-BFGS (Nocedal and Wright 2006, algorithm 7.5).

    use super::*;

    const ITERATIONS: usize = 100;
    /// Steps that the curvature is remembered of.
    const MEMORY: usize = 10;
    /// Where no weight pulls harder than this, it is done.
    const TOLERANCE: f32 = 1e-3;

    impl Ngrams {
        /// Learns the intents of these utterances.
        pub(crate) fn fit<'w, W: Iterator<Item = &'w str> + Clone>(
            utterances: impl Iterator<Item = (W, u32)>,
            n_intents: usize,
        ) -> Ngrams {
            let counted: Vec<_> = utterances.map(|(words, intent)| (counts(words), intent)).collect();
            let idf = idf(counted.iter().map(|(counts, _)| counts), counted.len());
            let examples: Vec<(Bag, u32)> =
                counted.iter().map(|(counts, intent)| (weigh(&idf, counts), *intent)).collect();
            let mut weights =
                minimize((BUCKETS + 1) * n_intents, |at, gradient| loss(&examples, n_intents, at, gradient));
            let bias = weights.split_off(BUCKETS * n_intents);
            Ngrams { idf, weights, bias }
        }
    }

    fn idf<'c>(counts: impl Iterator<Item = &'c [Vec<(u32, u32)>; KINDS]>, n: usize) -> Vec<f32> {
        let mut found = vec![0u32; KINDS * BUCKETS];
        for (kind, (bucket, _)) in counts.flat_map(|counts| {
            counts
                .iter()
                .enumerate()
                .flat_map(|(kind, counts)| counts.iter().map(move |count| (kind, *count)))
        }) {
            found[kind * BUCKETS + bucket as usize] += 1;
        }
        found.into_iter().map(|found| ((1 + n) as f32 / (1 + found) as f32).ln() + 1.0).collect()
    }

    /// The loss at some weights, and its gradient.
    fn loss(examples: &[(Bag, u32)], n_intents: usize, at: &[f32], gradient: &mut [f32]) -> f64 {
        let (weights, bias) = at.split_at(BUCKETS * n_intents);
        let (d_weights, d_bias) = gradient.split_at_mut(BUCKETS * n_intents);
        d_weights.copy_from_slice(weights);
        d_bias.fill(0.0);
        let mut loss = 0.5 * weights.iter().map(|&weight| f64::from(weight).powi(2)).sum::<f64>();
        let (mut logits, mut p) = (vec![0.0; n_intents], vec![0.0; n_intents]);
        for (bag, intent) in examples {
            logits.copy_from_slice(bias);
            add_product(weights, bag, &mut logits);
            log_softmax(&logits, &mut p);
            loss -= f64::from(C * p[*intent as usize]);
            p.iter_mut().for_each(|p| *p = C * p.exp());
            p[*intent as usize] -= C;
            d_bias.iter_mut().zip(&p).for_each(|(d, p)| *d += p);
            for &(bucket, x) in bag {
                let row = &mut d_weights[bucket as usize * n_intents..][..n_intents];
                row.iter_mut().zip(&p).for_each(|(d, p)| *d += x * p);
            }
        }
        loss
    }

    /// Where a convex function is smallest, begun at zero.
    fn minimize(n: usize, mut function: impl FnMut(&[f32], &mut [f32]) -> f64) -> Vec<f32> {
        let (mut at, mut gradient) = (vec![0.0; n], vec![0.0; n]);
        let mut value = function(&at, &mut gradient);
        let mut past: Vec<Step> = Vec::new();
        for _ in 0..ITERATIONS {
            if gradient.iter().all(|g| g.abs() <= TOLERANCE) {
                break;
            }
            let direction = descent(&gradient, &past);
            let slope = dot(&direction, &gradient);
            let mut length = if past.is_empty() { 1.0 / dot(&gradient, &gradient).sqrt() } else { 1.0 };
            let mut there = (Vec::new(), vec![0.0; n], value);
            while length > 1e-10 {
                there.0 = at.iter().zip(&direction).map(|(x, d)| x + length as f32 * d).collect();
                there.2 = function(&there.0, &mut there.1);
                if there.2 <= value + 1e-4 * length * slope {
                    break;
                }
                length /= 2.0;
            }
            // As low as these numbers can tell.
            if there.2 >= value {
                break;
            }
            past.push(Step::between(&at, &there.0, &gradient, &there.1));
            past.drain(..past.len().saturating_sub(MEMORY));
            past.retain(|step| step.curvature > 0.0);
            (at, gradient, value) = there;
        }
        at
    }

    /// A step that was taken, and what it did to the gradient.
    struct Step {
        moved: Vec<f32>,
        turned: Vec<f32>,
        curvature: f64,
    }

    impl Step {
        fn between(from: &[f32], to: &[f32], before: &[f32], after: &[f32]) -> Step {
            let minus = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f32>>();
            let (moved, turned) = (minus(to, from), minus(after, before));
            let curvature = dot(&moved, &turned);
            Step { moved, turned, curvature }
        }
    }

    /// The direction in which to go down, by what the last steps told of the curvature.
    fn descent(gradient: &[f32], past: &[Step]) -> Vec<f32> {
        let mut direction: Vec<f32> = gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::new();
        for step in past.iter().rev() {
            let share = dot(&step.moved, &direction) / step.curvature;
            add(-share, &step.turned, &mut direction);
            shares.push(share);
        }
        if let Some(step) = past.last() {
            let scale = step.curvature / dot(&step.turned, &step.turned);
            direction.iter_mut().for_each(|d| *d *= scale as f32);
        }
        for (step, share) in past.iter().zip(shares.into_iter().rev()) {
            let back = dot(&step.turned, &direction) / step.curvature;
            add(share - back, &step.moved, &mut direction);
        }
        direction
    }

    fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    fn add(share: f64, x: &[f32], to: &mut [f32]) {
        to.iter_mut().zip(x).for_each(|(to, x)| *to += share as f32 * x);
    }
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use super::*;

    const UTTERANCES: [(&str, u32); 8] = [
        ("wake me at six", 0),
        ("wake me up at noon please", 0),
        ("set an alarm for six", 0),
        ("call anna", 1),
        ("please call peter at noon", 1),
        ("ring up anna", 1),
        ("what is the weather in rome", 2),
        ("is it cold in rome at noon", 2),
    ];

    fn fitted() -> Ngrams {
        Ngrams::fit(UTTERANCES.iter().map(|(text, intent)| (text.split(' '), *intent)), 3)
    }

    #[test]
    fn ngrams_of_words_and_characters_are_counted() {
        let [words, characters] = counts("go go".split(' '));
        // `go` twice and `go go`; of ` go ` each word has 3 of two, 2 of three and 1 of four characters.
        assert_eq!(words.iter().map(|(_, n)| n).sum::<u32>(), 3);
        assert!(words.contains(&(bucket(hash(START, "go".bytes())), 2)));
        assert_eq!(characters.iter().map(|(_, n)| n).sum::<u32>(), 12);
        assert!(counts("".split_whitespace()).iter().all(Vec::is_empty));
    }

    /// Of `scripts/goldens/ngrams_goldens.py`: scikit-learn on the same features.
    #[test]
    fn weights_are_those_of_another_program() {
        let ngrams = fitted();
        let golden = include_str!("ngrams_golden.txt");
        for line in golden.lines() {
            let (text, expected) = line.split_once('\t').unwrap();
            let expected: Vec<f32> = expected.split(' ').map(|p| p.parse().unwrap()).collect();
            let mut network = [0.0; 3];
            ngrams.join(&ngrams.bag(text.split(' ')), &mut network);
            // A network that says nothing leaves the other opinion as it is.
            let mut found = [0.0; 3];
            log_softmax(&network, &mut found);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found.exp() - expected).abs() < 2e-3, "{text}: {found:?}, not {expected:?}");
            }
        }
    }

    #[test]
    fn both_opinions_count() {
        let ngrams = fitted();
        let bag = ngrams.bag("wake me".split(' '));
        let (mut unsure, mut sure) = ([0.0, 1.0, 0.0], [0.0, 50.0, 0.0]);
        ngrams.join(&bag, &mut unsure);
        ngrams.join(&bag, &mut sure);
        assert!(unsure[0] > unsure[1] && sure[1] > sure[0]);
    }
}
