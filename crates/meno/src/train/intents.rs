//! A second opinion on intents, for models that are better with it.
//!
//! Small corpora mostly are: a network of a few hundred utterances and logistic regression on n-grams err on different ones.
//! What decides are errors on utterances that were not trained on.

use crate::corpus::Corpus;
use crate::features::{Ngrams, first_intent};
use crate::metrics::{Evaluation, Mode, Report};
use crate::utterance::Utterance;
use crate::{Model, Result};

/// Of fewer utterances than this the second opinion is worth having if it does no harm beyond chance, of more if it does good.
const FEW: usize = 3000;

/// A model, what it was trained on, and what it was not.
pub(super) struct Trained<'a> {
    pub model: Model,
    pub on: &'a Corpus,
    pub held_out: &'a [Utterance],
}

/// Gives models of a corpus of so many utterances a second opinion, if that is better for them all together; how they then do on
/// what they were not trained on.
pub(super) fn consult(trained: &mut [Trained<'_>], n_utterances: usize) -> Result<Report> {
    let alone = evaluate(trained)?;
    let Some(accuracy) = alone.intent_accuracy else { return Ok(alone) };
    for trained in trained.iter_mut() {
        let ngrams = ngrams(&trained.model, trained.on);
        trained.model = trained.model.clone().with_ngrams(Some(ngrams));
    }
    let together = evaluate(trained)?;
    let gain = together.intent_accuracy.map_or(0.0, |together| together - accuracy);
    let n_held_out: usize = trained.iter().map(|trained| trained.held_out.len()).sum();
    let chance = 2.0 * (accuracy * (100.0 - accuracy) / n_held_out.max(1) as f64).sqrt();
    if gain > 0.0 || (gain >= -chance && n_utterances < FEW) {
        return Ok(together);
    }
    for trained in trained {
        trained.model = trained.model.clone().with_ngrams(None);
    }
    Ok(alone)
}

/// The same for one model with a valid set.
pub(super) fn consulted(model: Model, train: &Corpus, valid: &Corpus) -> Result<Model> {
    let mut trained = [Trained { model, on: train, held_out: &valid.utterances }];
    let report = consult(&mut trained, train.utterances.len())?;
    let [Trained { mut model, .. }] = trained;
    model.record.valid_intent_accuracy = report.intent_accuracy;
    Ok(model)
}

/// What logistic regression learns of the intents of a corpus.
pub(super) fn ngrams(model: &Model, train: &Corpus) -> Ngrams {
    let (normalizer, intents) = (model.normalizer(), &model.features().intents);
    let utterances = train.utterances.iter().filter_map(|utterance| {
        let words = utterance.words.iter().map(|word| normalizer.vocabulary_form(word));
        Some((words, intents.id(first_intent(&utterance.intent))?))
    });
    Ngrams::fit(utterances, intents.len())
}

fn evaluate(trained: &[Trained<'_>]) -> Result<Report> {
    let mut evaluation = Evaluation::default();
    for Trained { model, held_out, .. } in trained {
        evaluation = evaluation.merge(model.worker().evaluate(held_out, Mode::Conlleval)?);
    }
    Ok(evaluation.report())
}
