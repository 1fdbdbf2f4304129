//! How well one model, by one measure and threshold, tells what is unknown.

use serde::Serialize;

use super::paper::{Assessment, MeasureRun, Rule, rank};
use crate::Result;
use crate::corpus::Corpus;
use crate::decision::Threshold;
use crate::engine::{Assessor, Measure, Model};
use crate::metrics::new_concepts::{NewConceptScores, NewConcepts};

/// A model that is judged by one measure.
pub struct Judge<'m> {
    model: &'m Model,
    measure: Measure,
    assessor: Assessor<'m>,
}

/// What saying unknown costs on in-domain utterances.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Slot F1 without a threshold, in percent.
    pub slot_f1_before: f64,
    /// Slot F1 with it; unknown spans count as wrong.
    pub slot_f1: f64,
}

/// What saying unknown gives on utterances with new concepts.
#[derive(Clone, Debug, Serialize)]
pub struct Gain {
    /// How new concepts were found.
    #[serde(flatten)]
    pub new_concepts: NewConceptScores,
    /// How their words are ranked above those of in-domain utterances.
    pub words: MeasureRun,
}

impl<'m> Judge<'m> {
    /// `train` is needed by measures that compare states with those of training words, `seed` by perturbed passes.
    pub fn new(model: &'m Model, measure: Measure, train: &Corpus, seed: u64) -> Result<Self> {
        Ok(Judge { model, measure, assessor: Assessor::new(model, &[measure], train, seed)? })
    }

    /// The lowest threshold that costs at most `budget` points of slot F1 on `valid`.
    pub fn threshold(&self, budget: f64, valid: &Corpus) -> Result<Threshold> {
        Assessment::new(self.model, &self.assessor, valid).threshold(&[self.measure], 0, budget)
    }

    /// The cost of a threshold on in-domain utterances, and its gain on those with new concepts, if there are any.
    pub fn judge(
        &self,
        threshold: &Threshold,
        test: &Corpus,
        new_concepts: Option<&Corpus>,
    ) -> Result<(Cost, Option<Gain>)> {
        let rule = Rule::over(self.model, threshold.clone());
        let test = Assessment::new(self.model, &self.assessor, test);
        let f1 = |is_unknown: &dyn Fn(usize, usize) -> bool| -> Result<f64> {
            Ok(test.evaluate(is_unknown)?.report().slot_f1)
        };
        let cost = Cost {
            slot_f1_before: f1(&|_, _| false)?,
            slot_f1: f1(&|i, word| rule.is_unknown(&test, i, word))?,
        };
        let gain = |corpus: &Corpus| -> Result<Gain> {
            let new = Assessment::new(self.model, &self.assessor, corpus);
            let mut found = NewConcepts::default();
            for (i, utterance) in corpus.utterances.iter().enumerate() {
                found.add(utterance, &new.labels(i, |i, word| rule.is_unknown(&new, i, word)))?;
            }
            let words = rank(&[self.measure], &test, &new)?.swap_remove(0);
            Ok(Gain { new_concepts: found.scores(), words })
        };
        Ok((cost, new_concepts.map(gain).transpose()?))
    }
}
