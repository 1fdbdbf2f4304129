//! Every way to measure how unsure a model is of a word, those included that look behind the logits.
//!
//! An [`Assessor`] is made for experiments and evaluations: it keeps the states of training words and runs perturbed
//! copies of the model. What a [`Worker`](super::Worker) uses at run time is [`Score`] alone.

use std::fmt;
use std::str::FromStr;

use super::Model;
use super::states::{Mahalanobis, Neighbours, States};
use crate::encoder::{LabelTagger, Labelled, Reading};
use crate::kernel::Kernels;
use crate::math::{largest, sum_exp_precisely};
use crate::nn::{Dropout, Parameters};
use crate::random::Random;
use crate::uncertainty::Score;
use crate::utterance::{Corpus, Utterance};
use crate::{Error, Result};

/// A way to measure how unsure a model is of a word; higher is less sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// From the logits, calibrated if the model is.
    Logits(Score),
    /// The variance of the first choice's probability over `PASSES` passes with dropout of a quarter.
    Dropout,
    /// The same with Gaussian noise of variance 0.01 on the parameters.
    Noise,
    /// The squared Mahalanobis distance of the hidden state from the nearest label's mean, under one covariance of all
    /// (Lee et al., 2018).
    Mahalanobis,
    /// The distance of the hidden state, normalised, from its tenth nearest neighbour among training words (Sun et al.,
    /// 2022).
    Neighbours,
}

/// Perturbed passes.
pub(crate) const PASSES: usize = 30;
const DROPOUT: f32 = 0.25;
const NOISE: f32 = 0.1;

impl Measure {
    /// All of them, those of the logits first.
    pub fn all() -> impl Iterator<Item = Measure> {
        let behind = [Measure::Dropout, Measure::Noise, Measure::Mahalanobis, Measure::Neighbours];
        Score::ALL.into_iter().map(Measure::Logits).chain(behind)
    }

    /// Whether it needs the states of the words of the training.
    pub fn compares_states(self) -> bool {
        matches!(self, Measure::Mahalanobis | Measure::Neighbours)
    }

    /// The name it has in commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::Logits(score) => score.name(),
            Measure::Dropout => "dropout",
            Measure::Noise => "noise",
            Measure::Mahalanobis => "mahalanobis",
            Measure::Neighbours => "neighbours",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Measure {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Measure::all().find(|measure| measure.name() == name).ok_or_else(|| Error::Name {
            problem: format!("`{name}` is no score"),
            hint: format!(
                "the scores are {}",
                Measure::all().map(Measure::name).collect::<Vec<_>>().join(", ")
            ),
        })
    }
}

/// What a model thinks of the words of an utterance, by several measures.
#[derive(Clone, Debug, Default)]
pub struct Assessed {
    /// The id of each word's likeliest label.
    pub first_choices: Vec<u32>,
    /// Its probability.
    pub probabilities: Vec<f32>,
    /// The squared distance of the probabilities from 1 for the gold label and 0 for all others; 0 without such a label.
    pub brier: Vec<f64>,
    /// For each measure, in the order in which they were asked for, the uncertainty of each word.
    pub uncertainty: Vec<Vec<f64>>,
}

/// Assesses utterances by several measures at once.
pub struct Assessor<'m> {
    model: &'m Model,
    tagger: LabelTagger<'m>,
    kernels: Kernels,
    measures: Vec<Measure>,
    mahalanobis: Option<Mahalanobis>,
    neighbours: Option<Neighbours>,
    seed: u64,
}

impl<'m> Assessor<'m> {
    /// For these measures; those that compare states with the ones of training words need `train`.
    pub fn new(model: &'m Model, measures: &[Measure], train: &Corpus, seed: u64) -> Result<Self> {
        let Some(tagger) = LabelTagger::of(&model.encoder, &model.features) else {
            return Err(Error::Architecture {
                problem: "the measures are of words, but the model scores whole spans".to_owned(),
                hint: "train a slot-gated model".to_owned(),
            });
        };
        let kernels = Kernels::best();
        let mut assessor = Assessor {
            model,
            tagger,
            kernels,
            measures: measures.to_vec(),
            mahalanobis: None,
            neighbours: None,
            seed,
        };
        let wants = |measure| measures.contains(&measure);
        if measures.iter().any(|measure| measure.compares_states()) {
            let states = assessor.states(train);
            let n_labels = model.features.labels.len();
            assessor.mahalanobis =
                wants(Measure::Mahalanobis).then(|| Mahalanobis::fit(&states, n_labels)).transpose()?;
            let random = &mut Random::new(seed).fork(7);
            assessor.neighbours =
                wants(Measure::Neighbours).then(|| Neighbours::fit(&states, random)).transpose()?;
        }
        Ok(assessor)
    }

    fn read(&self, utterance: &Utterance) -> Vec<Reading> {
        self.tagger.read(&utterance.words, &self.model.normalizer, &self.model.features)
    }

    /// What it assesses by.
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// The hidden states of the words of a corpus with the ids of their labels.
    fn states(&self, corpus: &Corpus) -> States {
        let mut states = States::new(self.tagger.width());
        let mut labelled = Labelled::default();
        for utterance in &corpus.utterances {
            let mut labels = utterance.labels.iter();
            for reading in self.read(utterance) {
                self.tagger.label(self.kernels, &reading, &mut labelled);
                for (state, label) in labelled.states.rows().zip(&mut labels) {
                    if let Some(label) = self.model.features.labels.id(label) {
                        states.push(label, state);
                    }
                }
            }
        }
        states
    }

    /// What the model thinks of each utterance.
    pub fn assess(&self, utterances: &[Utterance]) -> Vec<Assessed> {
        let mut assessed = self.assess_unperturbed(utterances);
        for (measure_idx, &measure) in self.measures.iter().enumerate() {
            if matches!(measure, Measure::Dropout | Measure::Noise) {
                self.perturb(measure, measure_idx, utterances, &mut assessed);
            }
        }
        assessed
    }

    fn assess_unperturbed(&self, utterances: &[Utterance]) -> Vec<Assessed> {
        let mut labelled = Labelled::default();
        let mut row = Vec::new();
        utterances
            .iter()
            .map(|utterance| {
                let mut assessed =
                    Assessed { uncertainty: vec![Vec::new(); self.measures.len()], ..Assessed::default() };
                let mut labels = &utterance.labels[..];
                for reading in self.read(utterance) {
                    let (these, rest) = labels.split_at(reading.len());
                    labels = rest;
                    self.tagger.label(self.kernels, &reading, &mut labelled);
                    self.choose(&labelled, these, &mut assessed);
                    for state in labelled.states.rows() {
                        self.assess_state(state, &mut assessed);
                    }
                    // As precise as a worker, so that a threshold means the same to both.
                    for (measure, uncertainty) in self.measures.iter().zip(&mut assessed.uncertainty) {
                        if *measure == Measure::Logits(Score::Entropy) {
                            uncertainty.extend(labelled.entropies.iter().map(|&entropy| f64::from(entropy)));
                        }
                    }
                    for ln_alpha in labelled.concentrations.rows() {
                        for (measure, uncertainty) in self.measures.iter().zip(&mut assessed.uncertainty) {
                            if let Measure::Logits(score) = measure
                                && *score != Score::Entropy
                            {
                                uncertainty.push(f64::from(score.of_with(ln_alpha, &mut row) as f32));
                            }
                        }
                    }
                }
                assessed
            })
            .collect()
    }

    fn choose(&self, labelled: &Labelled, labels: &[String], assessed: &mut Assessed) {
        for (logits, label) in labelled.logits.rows().zip(labels) {
            let Some((choice, largest)) = largest(logits) else { continue };
            let exponentials = logits.iter().map(|&m| f64::from(m - largest).exp());
            let sum: f64 = exponentials.clone().sum();
            assessed.first_choices.push(choice);
            assessed.probabilities.push((1.0 / sum) as f32);
            let gold = self.model.features.labels.id(label);
            let squares = exponentials.enumerate().map(|(id, e)| {
                let right = f64::from(u8::from(gold == Some(id as u32)));
                (e / sum - right).powi(2)
            });
            assessed.brier.push(squares.sum());
        }
    }

    fn assess_state(&self, state: &[f32], assessed: &mut Assessed) {
        for (measure, uncertainty) in self.measures.iter().zip(&mut assessed.uncertainty) {
            match (measure, &self.mahalanobis, &self.neighbours) {
                (Measure::Mahalanobis, Some(mahalanobis), _) => uncertainty.push(mahalanobis.distance(state)),
                (Measure::Neighbours, _, Some(neighbours)) => {
                    uncertainty.push(neighbours.distance(self.kernels, state));
                }
                _ => {}
            }
        }
    }

    /// The variance of the first choices' probabilities when the model is disturbed.
    fn perturb(
        &self,
        measure: Measure,
        measure_idx: usize,
        utterances: &[Utterance],
        assessed: &mut [Assessed],
    ) {
        let readings: Vec<Vec<Reading>> = utterances.iter().map(|utterance| self.read(utterance)).collect();
        let mut moments: Vec<Vec<(f64, f64)>> =
            utterances.iter().map(|utterance| vec![(0.0, 0.0); utterance.words.len()]).collect();
        let mut labelled = Labelled::default();
        for pass in 0..PASSES as u64 {
            let random = Random::new(self.seed).fork(100 + pass);
            let noisy = (measure == Measure::Noise).then(|| self.noisy(random.fork(0)));
            let parameters = noisy.as_ref().unwrap_or(self.tagger.parameters());
            let mut dropout =
                (measure == Measure::Dropout).then(|| Dropout { rate: DROPOUT, random: random.fork(1) });
            for ((readings, assessed), moments) in readings.iter().zip(&*assessed).zip(&mut moments) {
                let mut words = assessed.first_choices.iter().zip(moments);
                for reading in readings {
                    let dropout = dropout.as_mut();
                    self.tagger.disturb(self.kernels, parameters, dropout, reading, &mut labelled);
                    for (logits, (&choice, (sum, squares))) in labelled.logits.rows().zip(&mut words) {
                        let top = largest(logits).map_or(0.0, |(_, top)| top);
                        let p =
                            f64::from(logits[choice as usize] - top).exp() / sum_exp_precisely(logits, top);
                        *sum += p;
                        *squares += p * p;
                    }
                }
            }
        }
        for (assessed, moments) in assessed.iter_mut().zip(moments) {
            let n = PASSES as f64;
            assessed.uncertainty[measure_idx] =
                moments.iter().map(|(sum, squares)| (squares / n - (sum / n).powi(2)).max(0.0)).collect();
        }
    }

    fn noisy(&self, mut random: Random) -> Parameters {
        self.tagger.changed(|value| value + NOISE * random.normal())
    }
}
