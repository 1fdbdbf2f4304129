//! What a model thinks of the words of a corpus, and which of them a method calls unknown.

use std::collections::HashSet;

use crate::paper::MeasureRun;
use meno::corpus::Utterance;
use meno::decision::{Growth, Predictions, ScoredUtterance, Threshold};
use meno::engine::{Assessed, Assessor, Measure};
use meno::label::{self, UNKNOWN, mark};
use meno::metrics::calibration_error::Reliability;
use meno::metrics::detection::Ranking;
use meno::metrics::new_concepts::{NewConceptScores, NewConcepts};
use meno::metrics::risk_coverage::RiskCoverage;
use meno::metrics::{Evaluation, Mode};
use meno::syntax::{Parse, SyntaxWorker};
use meno::{Model, Result};

/// Utterances and what a model thinks of their words.
pub(crate) struct Assessment<'a> {
    utterances: &'a [Utterance],
    measures: &'a [Measure],
    assessed: Vec<Assessed>,
    first_choices: Vec<Vec<&'a str>>,
    parses: Vec<Parse>,
}

impl<'a> Assessment<'a> {
    pub(crate) fn new(model: &'a Model, assessor: &'a Assessor<'a>, utterances: &'a [Utterance]) -> Self {
        let assessed = assessor.assess(utterances);
        let name = |&label: &u32| &**model.features().labels.name(label);
        let first_choices =
            assessed.iter().map(|assessed| assessed.first_choices.iter().map(name).collect()).collect();
        let measures = assessor.measures();
        Assessment { utterances, measures, assessed, first_choices, parses: Vec::new() }
    }

    /// The same with trees, which phrases need.
    pub(crate) fn parsed(self, syntax: &mut SyntaxWorker) -> Self {
        let mut parse = |utterance: &Utterance| {
            syntax.parse(&utterance.words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        Assessment { parses: self.utterances.iter().map(&mut parse).collect(), ..self }
    }

    fn uncertainty(&self, i: usize, measure: Measure) -> &[f64] {
        let measure_idx = self.measures.iter().position(|&other| other == measure);
        measure_idx.map_or(&[], |measure_idx| &self.assessed[i].uncertainty[measure_idx])
    }

    pub(crate) fn threshold(&self, measure: Measure, budget: f64) -> Result<Threshold> {
        let scored: Vec<_> = (self.utterances.iter().zip(&self.first_choices).enumerate())
            .map(|(i, (utterance, first_choices))| ScoredUtterance {
                gold: &utterance.labels,
                first_choices,
                uncertainty: self.uncertainty(i, measure),
            })
            .collect();
        Threshold::choose(budget, &scored)
    }

    /// Slot F1 with the words unknown that `unknown` says for an utterance.
    pub(crate) fn evaluate(&self, unknown: impl Fn(usize) -> Vec<bool>) -> Result<Evaluation> {
        let mut evaluation = Evaluation::new(Mode::Conlleval);
        for (i, utterance) in self.utterances.iter().enumerate() {
            evaluation.add(&utterance.labels, &mark(&self.first_choices[i], &unknown(i)), "", "")?;
        }
        Ok(evaluation)
    }

    /// Slot F1 without a threshold.
    pub(crate) fn evaluate_first_choices(&self) -> Result<Evaluation> {
        self.evaluate(|i| vec![false; self.first_choices[i].len()])
    }

    /// How new concepts are found with the words unknown that `unknown` says.
    pub(crate) fn new_concepts(&self, unknown: impl Fn(usize) -> Vec<bool>) -> Result<NewConceptScores> {
        let mut found = NewConcepts::default();
        for (i, utterance) in self.utterances.iter().enumerate() {
            found.add(utterance, &mark(&self.first_choices[i], &unknown(i)))?;
        }
        Ok(found.scores())
    }

    /// The words with whether the tagger's own label is right.
    fn words(&self) -> impl Iterator<Item = (usize, usize, bool)> {
        self.utterances.iter().enumerate().flat_map(move |(i, utterance)| {
            let truth = utterance.truth.as_ref().unwrap_or(&utterance.labels);
            truth.iter().enumerate().map(move |(word, label)| (i, word, self.first_choices[i][word] == label))
        })
    }

    pub(crate) fn reliability(&self) -> Result<Reliability> {
        Reliability::new(
            self.words().map(|(i, word, right)| (f64::from(self.assessed[i].probabilities[word]), right)),
        )
    }

    pub(crate) fn brier(&self) -> f64 {
        let all = self.assessed.iter().flat_map(|assessed| &assessed.brier);
        let n = all.clone().count();
        if n == 0 { 0.0 } else { all.sum::<f64>() / n as f64 }
    }

    /// The scores of all words, or of those of new concepts.
    pub(crate) fn scores(&self, measure_idx: usize, only_new: bool) -> impl Iterator<Item = f64> {
        self.utterances.iter().zip(&self.assessed).flat_map(move |(utterance, assessed)| {
            let words = assessed.uncertainty[measure_idx].iter().zip(&utterance.labels);
            words
                .filter(move |(_, label)| !only_new || label::split(label).1 == UNKNOWN)
                .map(|(&score, _)| score)
        })
    }
}

/// When a word is unknown.
pub(crate) struct Rule<'a> {
    pub(crate) model: &'a Model,
    pub(crate) threshold: Option<(Measure, Threshold)>,
    pub(crate) outside: Option<&'a HashSet<&'a str>>,
    pub(crate) growth: Option<Growth>,
}

impl Rule<'_> {
    /// Which words of an utterance are unknown.
    pub(crate) fn unknown(&self, assessment: &Assessment<'_>, i: usize) -> Vec<bool> {
        let Predictions { unknown, probabilities } = self.prediction(assessment, i);
        match &self.growth {
            Some(growth) if unknown.contains(&true) => {
                growth.grow(&assessment.parses[i], &unknown, &probabilities)
            }
            _ => unknown,
        }
    }

    /// Which words are unknown before phrases grow, and the probabilities of all labels.
    pub(crate) fn prediction(&self, assessment: &Assessment<'_>, i: usize) -> Predictions {
        let words = &assessment.utterances[i].words;
        let mut unknown = vec![false; words.len()];
        if let Some((measure, threshold)) = &self.threshold {
            for (unknown, &uncertainty) in unknown.iter_mut().zip(assessment.uncertainty(i, *measure)) {
                *unknown = threshold.is_unknown(uncertainty);
            }
        }
        if let Some(outside) = self.outside {
            let labels = &assessment.first_choices[i];
            for ((unknown, word), &label) in unknown.iter_mut().zip(words).zip(labels) {
                let form = self.model.normalizer().vocabulary_form(word);
                *unknown |= label == "O" && !outside.contains(form);
            }
        }
        Predictions { unknown, probabilities: assessment.assessed[i].probabilities.clone() }
    }
}

pub(crate) fn rank(
    measures: &[Measure],
    test: &Assessment<'_>,
    new: &Assessment<'_>,
) -> Result<Vec<MeasureRun>> {
    let mut runs = Vec::with_capacity(measures.len());
    for (measure_idx, measure) in measures.iter().enumerate() {
        let detection = ranking(measure_idx, test, new)?.detection();
        runs.push(MeasureRun {
            measure: measure.name().to_owned(),
            auroc: detection.auroc,
            aupr: detection.aupr,
            fpr_at_95_recall: detection.fpr_at_95_recall,
            aurc: risk_coverage(measure_idx, new)?.aurc(),
        });
    }
    Ok(runs)
}

pub(crate) fn ranking(measure_idx: usize, test: &Assessment<'_>, new: &Assessment<'_>) -> Result<Ranking> {
    let known = test.scores(measure_idx, false).map(|score| (score, false));
    Ranking::new(known.chain(new.scores(measure_idx, true).map(|score| (score, true))))
}

pub(crate) fn risk_coverage(measure_idx: usize, new: &Assessment<'_>) -> Result<RiskCoverage> {
    let words = new.words();
    RiskCoverage::new(words.map(|(i, word, right)| (new.assessed[i].uncertainty[measure_idx][word], !right)))
}
