//! Cross-validation: how good a model is, and what its policy is fitted on, where a corpus is too small to set a part aside.
//!
//! The model is trained on everything. Then the corpus is cut into parts that are alike, and a model is trained without each of
//! them and evaluated on it; what they find, taken together, stands for a valid set.

use super::intents::{self, Trained};
use super::{Best, Ended, Fit, Options, Outcome, Part, TrainSettings, Watch, cross_fit, language};
use crate::corpus::Corpus;
use crate::engine::HeldOut;
use crate::pretrained::Pretrained;
use crate::{Error, Model, Result};

pub(super) fn fit(
    train: &Corpus,
    n_folds: usize,
    settings: &TrainSettings,
    mut options: Options,
    watch: &mut (dyn Watch + Send),
) -> Result<Outcome> {
    demand_folds(train, n_folds, settings)?;
    let n_epochs = (n_folds + 1) * settings.epochs
        + if options.trust { cross_fit::n_epochs(settings, options.parts) } else { 0 };
    let mut part = Part { watch, done: 0, epochs: n_epochs };
    let language = language(train, options.language.as_deref())?;
    let encoder = options.encoder.clone();
    let whole = Fit { language, ..Fit::new(train, None, settings, encoder.as_deref())? };
    let (best, checkpoint) = match whole.run(options.resume.take(), &mut part)? {
        Ended::Done { best, checkpoint } => (best, checkpoint),
        // Nothing is known of it yet, so there is no policy for it.
        Ended::Stopped { checkpoint, .. } => return Ok(Outcome::Stopped { best: None, checkpoint }),
    };
    let mut folds = Vec::new();
    for (rest, held_out) in train.folds(n_folds, settings.seed) {
        part.done += settings.epochs;
        match train_on(&rest, settings, encoder.as_deref(), &mut part)? {
            Some(model) => folds.push((model, rest, held_out)),
            None => return Ok(Outcome::Stopped { best: None, checkpoint }),
        }
    }
    part.done += settings.epochs;
    let finished = finish(&whole, train, best, &folds, &options, &mut part)?;
    Ok(match finished {
        Some(model) => Outcome::Finished(Box::new(model)),
        None => Outcome::Stopped { best: None, checkpoint },
    })
}

fn demand_folds(train: &Corpus, n_folds: usize, settings: &TrainSettings) -> Result<()> {
    let n_utterances = train.utterances.len();
    let (problem, hint) = if !settings.is_span_level() {
        (
            "cross-validation is for taggers that find spans".to_owned(),
            "set a part of the corpus aside to validate on",
        )
    } else if n_folds < 2 || n_folds > n_utterances {
        (
            format!("{n_folds} folds of {n_utterances} utterances"),
            "there are at least 2, and an utterance for each",
        )
    } else {
        return Ok(());
    };
    Err(Error::Setting { problem, hint: hint.to_owned() })
}

/// A model of one part of the corpus; none if its training was stopped.
pub(super) fn train_on(
    rest: &Corpus,
    settings: &TrainSettings,
    encoder: Option<&Pretrained>,
    watch: &mut (dyn Watch + Send),
) -> Result<Option<Model>> {
    let fit = Fit::new(rest, None, settings, encoder)?;
    match fit.run(None, watch)? {
        Ended::Done { best, .. } => Ok(Some(fit.model(best))),
        Ended::Stopped { .. } => Ok(None),
    }
}

/// The model that was trained on everything, with what the folds say of it; none if that was stopped.
fn finish(
    whole: &Fit<'_>,
    train: &Corpus,
    mut best: Best,
    folds: &[(Model, Corpus, Corpus)],
    options: &Options,
    part: &mut Part<'_>,
) -> Result<Option<Model>> {
    let mut trained: Vec<Trained<'_>> = (folds.iter())
        .map(|(model, on, held_out)| Trained { model: model.clone(), on, held_out: &held_out.utterances })
        .collect();
    let report = intents::consult(&mut trained, train.utterances.len())?;
    best.record.valid_slot_f1 = report.slot_f1;
    best.record.valid_intent_accuracy = report.intent_accuracy;
    let mut model = whole.model(best);
    if trained.iter().any(|trained| trained.model.features().ngrams.is_some()) {
        let ngrams = intents::ngrams(&model, train);
        model = model.with_ngrams(Some(ngrams));
    }
    let held_out: Vec<HeldOut<'_>> =
        trained.iter().map(|part| HeldOut { model: &part.model, utterances: part.held_out }).collect();
    let policy = model.fit_policy_on_folds(&options.policy, &held_out)?;
    let model = model.with_fitted_policy(policy);
    if !options.trust {
        return Ok(Some(model));
    }
    let trust = cross_fit::trust(&model, train, &held_out, whole.settings, options, part)?;
    Ok(trust.map(|trust| model.with_trust(trust)))
}
