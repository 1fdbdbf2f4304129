//! How likely a whole reading is right, and each part of it: the intent, every span, every stretch of words outside of all spans.
//!
//! Each is a logistic regression on what the model knows of it ([`Signals`]). It is fitted on utterances that the model was not
//! trained on, in some of which it meets slot values that it has never seen (`docs/trust.md`), and stored in the model.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::decoding::Decoded;
use crate::features::{Lexicon, NewWording, Novelty, Token, UNKNOWN_WORD};
use crate::math::logistic::{self, Observation, linear, sigmoid};
use crate::math::{largest, sum_exp_precisely};

/// What is measured of a reading, a span, a stretch outside, an intent.
const READING: usize = 19;
const SPAN: usize = 5;
const OUTSIDE: usize = 4;
const INTENT: usize = 6;

/// Added before a logarithm is taken, so that what is as good as certain has an end.
const FLOOR: f64 = 1e-4;

/// How strongly the weights of the many corpora hold those of one, in utterances or parts.
const STRENGTH: f64 = 30.0;
/// The bias is that of the corpus: how much is right differs most.
const BIAS_STRENGTH: f64 = 3.0;

/// What speaks for and against a reading and its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Signals {
    pub reading: [f64; READING],
    /// Of each span.
    pub spans: Vec<[f64; SPAN]>,
    /// Of each stretch of words outside of all spans.
    pub outside: Vec<(Range<usize>, [f64; OUTSIDE])>,
    /// Of each such stretch the words that are most likely in a span after all.
    pub suspects: Vec<Range<usize>>,
    /// If there are intents to choose from.
    pub intent: Option<[f64; INTENT]>,
}

/// How likely a reading and its parts are right, from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Confidences {
    pub reading: f64,
    /// Of each span: of its boundaries and its slot.
    pub spans: Vec<f64>,
    /// Of each stretch of words outside of all spans: that nothing of it belongs into one.
    pub outside: Vec<(Range<usize>, f64)>,
    /// Of each such stretch the words that are most likely in a span after all.
    pub suspects: Vec<Range<usize>>,
    /// If there are intents to choose from.
    pub intent: Option<f64>,
}

/// The weights, `confidence.v1` in the model file; the bias of each is the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    reading: Vec<f64>,
    spans: Vec<f64>,
    outside: Vec<f64>,
    intent: Vec<f64>,
}

/// Minus the log of a probability, as its log.
fn ln(minus_ln: f64) -> f64 {
    // Rounding may take what is certain below 0.
    (minus_ln.max(0.0) + FLOOR).ln()
}

fn minus_ln(probability: f32) -> f64 {
    -f64::from(probability.max(f32::MIN_POSITIVE)).ln()
}

impl Signals {
    /// Of a reading of these words, whose posteriors are log probabilities; `novelty` is that of each span.
    pub(crate) fn of(
        decoded: &Decoded,
        tokens: &[Token],
        novelty: &[Novelty],
        lexicon: &Lexicon,
        wording: NewWording,
    ) -> Self {
        let labels = decoded.posteriors.rows().zip(&decoded.labels);
        let of_words: f64 = labels.map(|(row, &label)| -f64::from(row[label as usize])).sum();
        let of_intent = unlikeliness_of_intent(decoded);
        let outside = outside_signals(decoded, tokens, lexicon);
        let suspects =
            outside.iter().map(|(range, _)| suspects(decoded, tokens, lexicon, range.clone())).collect();
        let sum =
            |of: &dyn Fn(&[f64; OUTSIDE]) -> f64| outside.iter().map(|(_, signals)| of(signals)).sum::<f64>();
        let (n_new, n_never) = (sum(&|signals| signals[1]), sum(&|signals| signals[2]));
        let of_outside = sum(&|signals| signals[0].exp() - FLOOR);
        let boundaries: f64 = decoded.spans.iter().map(|span| minus_ln(span.boundaries)).sum();
        let slots: f64 = decoded.spans.iter().map(|span| minus_ln(span.probability)).sum();
        let total = |of: fn(&Novelty) -> f64| novelty.iter().map(of).sum::<f64>();
        let (pairs, triples) = (wording.pairs as f64, wording.triples as f64);
        let pieces = wording.pieces.max(3) as f64;
        let flag = |is: bool| f64::from(u8::from(is));
        Signals {
            reading: [
                ln(of_words + of_intent),
                ln(of_words),
                ln(of_intent),
                ln(of_outside),
                ln(boundaries),
                ln(slots),
                total(|novelty| novelty.words),
                total(|novelty| novelty.value),
                total(|novelty| novelty.surprise),
                n_new,
                n_never,
                (tokens.len() as f64 + 1.0).ln(),
                pairs,
                triples,
                pairs / (pieces - 1.0),
                triples / (pieces - 2.0),
                flag(wording.is_known),
                wording.slots as f64,
                flag(wording.slot_set),
            ],
            spans: (decoded.spans.iter().zip(novelty))
                .map(|(span, novelty)| {
                    [
                        ln(minus_ln(span.boundaries)),
                        ln(span.disagreement.into()),
                        novelty.words,
                        novelty.value,
                        novelty.surprise,
                    ]
                })
                .collect(),
            outside,
            suspects,
            intent: (decoded.intents.n_columns() > 1).then_some([
                ln(of_intent),
                n_new,
                pairs / (pieces - 1.0),
                flag(wording.is_known),
                wording.slots as f64,
                flag(wording.slot_set),
            ]),
        }
    }
}

/// Minus the log probability of the likeliest intent.
fn unlikeliness_of_intent(decoded: &Decoded) -> f64 {
    let intents = decoded.intents.rows().next().unwrap_or(&[]);
    let highest = largest(intents).map_or(0.0, |(_, highest)| highest);
    sum_exp_precisely(intents, highest).max(1.0).ln()
}

fn outside_signals(
    decoded: &Decoded,
    tokens: &[Token],
    lexicon: &Lexicon,
) -> Vec<(Range<usize>, [f64; OUTSIDE])> {
    let ends = decoded.spans.iter().map(|span| span.end);
    let starts = decoded.spans.iter().map(|span| span.start).chain([tokens.len()]);
    let stretches = [0].into_iter().chain(ends).zip(starts).filter(|(start, end)| start < end);
    stretches
        .map(|(start, end)| {
            let words = &tokens[start..end];
            let unlikely: f64 = decoded.outside[start..end].iter().map(|&outside| minus_ln(outside)).sum();
            let n_new = words.iter().filter(|token| token.word == UNKNOWN_WORD).count();
            let is_odd = |token: &&Token| token.word != UNKNOWN_WORD && !lexicon.was_outside(token.word);
            let n_odd = words.iter().filter(is_odd).count();
            (start..end, [ln(unlikely), n_new as f64, n_odd as f64, (words.len() as f64).ln()])
        })
        .collect()
}

/// Of words outside of all spans those that training did not have, or never had outside; if there are none, the one that is least
/// surely outside. Of several stretches of such words that with the least sure one.
fn suspects(decoded: &Decoded, tokens: &[Token], lexicon: &Lexicon, words: Range<usize>) -> Range<usize> {
    let is_odd = |token_idx: &usize| {
        let word = tokens[*token_idx].word;
        word == UNKNOWN_WORD || !lexicon.was_outside(word)
    };
    let outside = |token_idx: usize| decoded.outside[token_idx];
    let least_sure =
        |words: &mut dyn Iterator<Item = usize>| words.min_by(|&a, &b| outside(a).total_cmp(&outside(b)));
    let Some(odd) = least_sure(&mut words.clone().filter(is_odd)) else {
        let least = least_sure(&mut words.clone()).unwrap_or(words.start);
        return least..least + 1;
    };
    let start = (words.start..odd).rev().take_while(is_odd).last().unwrap_or(odd);
    let end = (odd + 1..words.end).take_while(is_odd).last().unwrap_or(odd);
    start..end + 1
}

impl Confidence {
    /// How likely all of it is right.
    pub(crate) fn of(&self, signals: &Signals) -> Confidences {
        Confidences {
            reading: sigmoid(linear(&self.reading, &signals.reading)),
            spans: signals.spans.iter().map(|x| sigmoid(linear(&self.spans, x))).collect(),
            outside: (signals.outside.iter())
                .map(|(range, x)| (range.clone(), sigmoid(linear(&self.outside, x))))
                .collect(),
            suspects: signals.suspects.clone(),
            intent: signals.intent.map(|x| sigmoid(linear(&self.intent, &x))),
        }
    }

    /// Whether there is a finite weight for everything.
    pub(crate) fn is_whole(&self) -> bool {
        let Confidence { reading, spans, outside, intent } = self;
        [(reading, READING), (spans, SPAN), (outside, OUTSIDE), (intent, INTENT)]
            .iter()
            .all(|(weights, n)| weights.len() == n + 1 && weights.iter().all(|weight| weight.is_finite()))
    }
}

/// What a model made of an utterance that it was not trained on.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub signals: Signals,
    /// Whether the reading is right, and each of its parts.
    pub reading: bool,
    pub spans: Vec<bool>,
    pub outside: Vec<bool>,
    pub intent: bool,
    /// How foreign its words are to the training set.
    pub foreignness: f64,
    /// Whether a span in it is over the threshold.
    pub has_unknown: bool,
    /// How much it counts.
    pub weight: f64,
}

/// What many corpora have in common: weights, the bias last, and how much each signal varies.
#[derive(Clone, Debug, PartialEq)]
struct Prior<const N: usize> {
    weights: [f64; N],
    /// None for the bias.
    spread: [f64; N],
}

/// Those of a reading, spans, stretches outside and intents.
type Observations = [Vec<Observation>; 4];

fn observations<'a>(
    judged: impl Iterator<Item = &'a Judged>,
    weight: impl Fn(&Judged) -> f64,
) -> Observations {
    let (mut reading, mut spans, mut outside, mut intent) = (vec![], vec![], vec![], vec![]);
    for judged in judged {
        let (signals, weight) = (&judged.signals, weight(judged));
        let observe = |x: &[f64], y: bool| Observation { x: x.to_vec(), y, weight };
        reading.push(observe(&signals.reading, judged.reading));
        intent.extend(signals.intent.map(|x| observe(&x, judged.intent)));
        spans.extend(signals.spans.iter().zip(&judged.spans).map(|(x, &y)| observe(x, y)));
        outside.extend(signals.outside.iter().zip(&judged.outside).map(|((_, x), &y)| observe(x, y)));
    }
    [reading, spans, outside, intent]
}

impl Confidence {
    /// From readings of utterances that were not trained on.
    pub(crate) fn fit(judged: &[&Judged]) -> Self {
        let [reading, spans, outside, intent] = observations(judged.iter().copied(), |judged| judged.weight);
        Confidence {
            reading: PRIOR_OF_READING.fit(&reading),
            spans: PRIOR_OF_SPANS.fit(&spans),
            outside: PRIOR_OF_OUTSIDE.fit(&outside),
            intent: PRIOR_OF_INTENT.fit(&intent),
        }
    }

    /// What many corpora have in common, each counting the same, as the constants of this file are written.
    pub(crate) fn pooled(corpora: &[Vec<&Judged>]) -> String {
        let mut all: Observations = Default::default();
        for judged in corpora {
            let total: f64 = judged.iter().map(|judged| judged.weight).sum();
            let part = observations(judged.iter().copied(), |judged| EACH * judged.weight / total.max(1.0));
            all.iter_mut().zip(part).for_each(|(all, part)| all.extend(part));
        }
        let names = ["READING", "SPANS", "OUTSIDE", "INTENT"].iter().zip(all);
        let lines = names.map(|(name, observations)| {
            let n = observations.first().map_or(0, |observation| observation.x.len());
            let spread = spread(&observations, n);
            let strength: Vec<f64> = spread.iter().map(|spread| spread * spread).collect();
            let weights = logistic::fit(&observations, &vec![0.0; n + 1], &strength);
            let list =
                |numbers: &[f64]| numbers.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ");
            format!("PRIOR_OF_{name}\n    weights: [{}],\n    spread: [{}],", list(&weights), list(&spread))
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// What a corpus counts among several, in utterances.
const EACH: f64 = 300.0;

/// The standard deviation of each signal, and 0 for the bias.
fn spread(observations: &[Observation], n: usize) -> Vec<f64> {
    let total: f64 = observations.iter().map(|observation| observation.weight).sum();
    let mean = |of: &dyn Fn(&Observation) -> f64| {
        observations.iter().map(|observation| observation.weight * of(observation)).sum::<f64>()
            / total.max(1e-9)
    };
    let deviation = |j: usize| {
        let centre = mean(&|observation| observation.x[j]);
        mean(&|observation| (observation.x[j] - centre).powi(2)).sqrt()
    };
    (0..n).map(deviation).chain([0.0]).collect()
}

impl<const N: usize> Prior<N> {
    fn fit(&self, observations: &[Observation]) -> Vec<f64> {
        let mut strength = self.spread.map(|spread| STRENGTH * spread * spread);
        strength[N - 1] = BIAS_STRENGTH;
        logistic::fit(observations, &self.weights, &strength)
    }
}

// What `meno experiment trust --prior` prints for the corpora of `docs/trust.md`.
const PRIOR_OF_READING: Prior<{ READING + 1 }> = Prior {
    weights: [
        -0.529, -0.211, -0.008, -0.000, 0.149, 0.009, -0.373, 0.097, 0.033, -0.192, 0.047, 0.232, -0.471,
        0.035, 1.233, -0.731, 0.388, -0.227, 0.039, -0.436,
    ],
    spread: [
        3.099, 3.386, 3.038, 2.597, 3.414, 3.119, 0.514, 0.614, 2.085, 0.589, 0.064, 0.504, 1.632, 2.322,
        0.249, 0.351, 0.397, 0.221, 0.295, 0.000,
    ],
};
const PRIOR_OF_SPANS: Prior<{ SPAN + 1 }> = Prior {
    weights: [-0.262, -0.307, -0.796, -0.064, 0.017, -0.748],
    spread: [2.952, 2.872, 0.397, 0.468, 1.581, 0.000],
};
const PRIOR_OF_OUTSIDE: Prior<{ OUTSIDE + 1 }> =
    Prior { weights: [-0.543, -1.120, -0.403, -0.576, 0.147], spread: [2.327, 0.464, 0.050, 0.725, 0.000] };
const PRIOR_OF_INTENT: Prior<{ INTENT + 1 }> = Prior {
    weights: [-0.620, -0.054, -0.580, 1.018, 0.090, -0.445, -0.410],
    spread: [3.038, 0.589, 0.249, 0.397, 0.221, 0.295, 0.000],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::Hypothesis;
    use crate::emissions::Logits;

    fn is_close(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6)
    }

    /// Four words, of which the last two are a span; the second is outside with 1/2 only and was never seen.
    #[test]
    fn signals_by_hand() {
        let ln2 = std::f64::consts::LN_2;
        let row = |p: f32| [p.ln(), (1.0 - p).ln()];
        let rows = [row(1.0), row(0.5), row(0.25), row(0.75)];
        let mut posteriors = Logits::new(2);
        posteriors.extend(rows.iter().map(|row| &row[..]));
        let span =
            Hypothesis { start: 2, end: 4, slot: 0, boundaries: 0.5, probability: 0.25, disagreement: 1.5 };
        let decoded = Decoded {
            labels: vec![0, 0, 1, 1],
            posteriors,
            spans: vec![span],
            outside: vec![1.0, 0.5, 0.1, 0.1],
            intents: Logits::of(&[&[3f32.ln(), 0.0]]),
            ..Decoded::default()
        };
        let token = |word| Token { word, ..Token::default() };
        let tokens = [token(1), token(UNKNOWN_WORD), token(2), token(3)];
        let novelty = [Novelty { words: 0.5, value: 1.0, surprise: 2.0 }];
        let wording =
            NewWording { pairs: 2, triples: 1, pieces: 5, is_known: false, slots: 1, slot_set: true };
        let signals = Signals::of(&decoded, &tokens, &novelty, &Lexicon::default(), wording);
        // ln 1 + ln 2 + ln (4/3) + ln 4 for the words, ln (4/3) for the intent.
        let (words, intent) = (3.0 * ln2 + (4.0 / 3.0f64).ln(), (4.0 / 3.0f64).ln());
        let log = |x: f64| (x + 1e-4).ln();
        let expected = [
            log(words + intent),
            log(words),
            log(intent),
            log(ln2),
            log(ln2),
            log(2.0 * ln2),
            0.5,
            1.0,
            2.0,
            1.0,
            0.0,
            5f64.ln(),
            2.0,
            1.0,
            0.5,
            1.0 / 3.0,
            0.0,
            1.0,
            1.0,
        ];
        assert!(is_close(&signals.reading, &expected), "{:?}, not {expected:?}", signals.reading);
        assert!(is_close(&signals.spans[0], &[log(ln2), log(1.5), 0.5, 1.0, 2.0]));
        let [(range, outside)] = &signals.outside[..] else { panic!("{:?}", signals.outside) };
        assert_eq!(*range, 0..2);
        assert!(is_close(outside, &[log(ln2), 1.0, 0.0, ln2]));
        assert_eq!(signals.suspects, vec![1..2]);
        assert!(is_close(&signals.intent.unwrap(), &[log(intent), 1.0, 0.5, 0.0, 1.0, 1.0]));
    }

    #[test]
    fn without_evidence_the_weights_are_those_of_many_corpora() {
        let confidence = Confidence::fit(&[]);
        assert!(confidence.is_whole());
        assert!(is_close(&confidence.reading, &PRIOR_OF_READING.weights));
        // Sure, known, of a known wording; and the opposite.
        let mut sure = Signals { reading: [0.0; READING], ..Signals::default() };
        sure.reading[..6].fill(-8.0);
        sure.reading[16] = 1.0;
        let mut unsure = Signals { reading: [0.0; READING], ..Signals::default() };
        unsure.reading[..3].fill(1.0);
        unsure.reading[9] = 2.0;
        assert!(confidence.of(&sure).reading > 0.95, "{:?}", confidence.of(&sure));
        assert!(confidence.of(&unsure).reading < 0.4, "{:?}", confidence.of(&unsure));
    }
}
