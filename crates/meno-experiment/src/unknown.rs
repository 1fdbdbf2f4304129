//! How well one model, by one measure and threshold, tells what is unknown.

use serde::Serialize;

use crate::assessment::{Assessment, Rule, rank};
use crate::paper::MeasureRun;
use meno::corpus::Corpus;
use meno::decision::Threshold;
use meno::engine::{Assessor, Measure};
use meno::metrics::new_concepts::NewConceptScores;
use meno::syntax::Syntax;
use meno::{Model, Result};

/// A model that is evaluated by one measure.
pub struct Evaluator<'m> {
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

impl<'m> Evaluator<'m> {
    /// `train` is needed by measures that compare states with those of training words, `seed` by perturbed passes.
    pub fn new(model: &'m Model, measure: Measure, train: &Corpus, seed: u64) -> Result<Self> {
        Ok(Evaluator { model, measure, assessor: Assessor::new(model, &[measure], train, seed)? })
    }

    /// The lowest threshold that costs at most `budget` points of slot F1 on `valid`, before phrases grow.
    pub fn threshold(&self, budget: f64, valid: &Corpus) -> Result<Threshold> {
        self.assess(valid).threshold(self.measure, budget)
    }

    /// The cost of a threshold on in-domain utterances, and its gain on those with new concepts, if there are any; both
    /// with the growth of the model.
    pub fn evaluate(
        &self,
        threshold: &Threshold,
        test: &Corpus,
        new_concepts: Option<&Corpus>,
    ) -> Result<(Cost, Option<Gain>)> {
        let syntax = Syntax::english();
        let mut syntax = syntax.worker();
        let rule = Rule {
            model: self.model,
            threshold: Some((self.measure, threshold.clone())),
            outside: None,
            growth: self.model.policy().growth,
        };
        let test = self.assess(test).parsed(&mut syntax);
        let cost = Cost {
            slot_f1_before: test.evaluate_first_choices()?.report().slot_f1,
            slot_f1: test.evaluate(|i| rule.unknown(&test, i))?.report().slot_f1,
        };
        let gain = |corpus: &Corpus| -> Result<Gain> {
            let new = self.assess(corpus).parsed(&mut syntax);
            let words = rank(&[self.measure], &test, &new)?.swap_remove(0);
            Ok(Gain { new_concepts: new.new_concepts(|i| rule.unknown(&new, i))?, words })
        };
        Ok((cost, new_concepts.map(gain).transpose()?))
    }

    fn assess<'a>(&'a self, corpus: &'a Corpus) -> Assessment<'a> {
        Assessment::new(self.model, &self.assessor, &corpus.utterances)
    }
}
