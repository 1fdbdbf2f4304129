//! How likely readings are right: what models make of utterances that they were not trained on, some with slot values that they have
//! never seen.
//!
//! Two further models are trained, each on a part of the corpus without some of the values, for half the epochs. How they read
//! what was held out shows how the model of the whole will read what is new to it.

use super::folds::train_on;
use super::{Options, Part, TrainSettings, fit, intents};
use crate::corpus::{Corpus, WithoutValues};
use crate::decision::Trust;
use crate::engine::{HeldOut, Readings};
use crate::pretrained::Pretrained;
use crate::uncertainty::Confidence;
use crate::{Error, Model, Result};

/// Parts without some values, unless something else is said.
pub(super) const PARTS: usize = 2;

/// Epochs of a model of a part.
pub(super) fn epochs(settings: &TrainSettings) -> usize {
    settings.epochs.div_ceil(2)
}

/// Epochs of all of them.
pub(super) fn n_epochs(settings: &TrainSettings, parts: usize) -> usize {
    parts * epochs(settings)
}

/// When readings of a model are trusted; `natural` are held-out utterances like those to come. None if a training was stopped.
pub(super) fn trust(
    model: &Model,
    train: &Corpus,
    natural: &[HeldOut<'_>],
    settings: &TrainSettings,
    options: &Options,
    part: &mut Part<'_>,
) -> Result<Option<Trust>> {
    let encoder = options.encoder.as_deref();
    match readings(model, train, natural, (settings, encoder), (options.parts, part))? {
        Some(readings) => Ok(Some(readings.trust(&options.policy))),
        None => Ok(None),
    }
}

/// What models of a corpus make of what was held out, for what several corpora have in common.
#[doc(hidden)]
pub struct HeldOutReadings(Readings);

impl HeldOutReadings {
    /// Trains a model on a corpus, and those of its parts.
    pub fn of(train: &Corpus, valid: &Corpus, settings: &TrainSettings, threads: usize) -> Result<Self> {
        let options = Options { threads, trust: false, ..Options::default() };
        let model = fit(train, valid, settings, options, &mut ())?.finished()?;
        let natural = [HeldOut { model: &model, utterances: &valid.utterances }];
        let mut watch = ();
        let mut part = Part { watch: &mut watch, done: 0, epochs: 0 };
        readings(&model, train, &natural, (settings, None), (PARTS, &mut part))?
            .map(HeldOutReadings)
            .ok_or(Error::Stopped)
    }

    /// The weights that suit several corpora, as the source of `uncertainty` has them.
    pub fn prior(corpora: &[HeldOutReadings]) -> String {
        Confidence::pooled(&corpora.iter().map(|readings| readings.0.all().collect()).collect::<Vec<_>>())
    }
}

fn readings(
    model: &Model,
    train: &Corpus,
    natural: &[HeldOut<'_>],
    (settings, encoder): (&TrainSettings, Option<&Pretrained>),
    (n_parts, part): (usize, &mut Part<'_>),
) -> Result<Option<Readings>> {
    let settings = TrainSettings { epochs: epochs(settings), ..settings.clone() };
    let mut trained: Vec<(Model, WithoutValues)> = Vec::new();
    for cut in train.without_values(n_parts, settings.seed) {
        // So little is left that nothing can be learnt of it.
        if cut.rest.utterances.iter().all(|utterance| utterance.words.is_empty()) {
            continue;
        }
        let Some(mut of_part) = train_on(&cut.rest, &settings, encoder, part)? else { return Ok(None) };
        part.done += settings.epochs;
        if model.features().ngrams.is_some() {
            let ngrams = intents::ngrams(&of_part, &cut.rest);
            of_part = of_part.with_ngrams(Some(ngrams));
        }
        trained.push((of_part, cut));
    }
    let held_out = |utterances: fn(&WithoutValues) -> &Corpus| -> Vec<HeldOut<'_>> {
        trained
            .iter()
            .map(|(model, cut)| HeldOut { model, utterances: &utterances(cut).utterances })
            .collect()
    };
    let (new, beside) = (held_out(|cut| &cut.new), held_out(|cut| &cut.known));
    Ok(Some(Readings::of(model.policy(), natural, &new, &beside)))
}
