//! A tagger made elsewhere becomes a model: an ONNX graph with its vocabulary and labels enters, a [`Model`] leaves that every
//! command and the server take. `docs/onnx.md` describes it.

mod files;
mod graph;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Result;
use crate::corpus::Corpus;
use crate::decision::{Policy, PolicySettings};
use crate::description::Description;
use crate::emissions::Tags;
use crate::encoder::Encoder;
use crate::encoder::onnx::{OnnxEncoder, OnnxShape, Tokens};
use crate::engine::{MAX_WORDS, Model, Record, Worker};
use crate::external;
use crate::features::{Features, first_intent};
use crate::label::{LabelSet, Names};
use crate::memory::KnownValues;
use crate::metrics::{Mode, Report};
use crate::settings::TrainSettings;
use crate::text::{Case, Normalizer, Settings};
use crate::train::language;
use files::Vocabulary;
use graph::{GraphFile, unfit};

const HINT_DAMAGED: &str = "take the file as it was exported, whole";

/// The most ids of a run, unless something else is said.
const MAX_PIECES: usize = 512;

/// The files of a tagger.
#[derive(Clone, Debug, Default)]
pub struct WrapFiles {
    /// The graph, `.onnx`.
    pub graph: PathBuf,
    /// What cuts text for it: `tokenizer.json`, `vocab.txt`, or a list of words.
    pub tokenizer: PathBuf,
    /// The names of its labels: `config.json`, or a list.
    pub labels: PathBuf,
    /// The names of its intents, if it has any.
    pub intents: Option<PathBuf>,
}

/// How to wrap a tagger.
#[derive(Clone, Debug, Default)]
pub struct WrapSettings {
    /// The output of the graph with the labels; found by its name and width by default.
    pub label_output: Option<String>,
    /// The output with the intents.
    pub intent_output: Option<String>,
    /// The most ids of a run; by default what `config.json` says, or 512.
    pub max_pieces: Option<usize>,
    /// The language of the tagger by its code; by default whether it is English is found on the valid set.
    pub language: Option<String>,
    /// When words are unknown.
    pub policy: PolicySettings,
}

/// A tagger that was wrapped.
#[derive(Clone, Debug)]
pub struct Wrapped {
    /// The model.
    pub model: Model,
    /// What its logits are divided by.
    pub temperature: f64,
    /// How it does on the valid set, if there is one.
    pub report: Option<Report>,
}

/// Makes a model of a tagger. Temperatures and policy are fitted on a valid set; without one nothing is ever unknown.
pub fn wrap(files: &WrapFiles, valid: Option<&Corpus>, settings: &WrapSettings) -> Result<Wrapped> {
    settings.policy.check()?;
    let (label_names, longest) = files::read_names(&files.labels)?;
    let (labels, columns) = files::columns(&files.labels, &label_names)?;
    let intents = files.intents.as_deref().map(files::read_names).transpose()?;
    let intents = intents.map_or(Vec::new(), |(names, _)| names);
    let vocabulary = files::read_vocabulary(&files.tokenizer)?;
    let sizes = [columns.len(), intents.len()];
    let GraphFile { bytes, inputs, labels: label_output, intents: intent_output } =
        graph::read(&files.graph, settings, sizes)?;
    let (tokens, n_ids) = match &vocabulary {
        Vocabulary::Pieces(pieces) => (Tokens::Pieces(pieces.settings().clone()), pieces.len()),
        Vocabulary::Words(words, tokens) => (tokens.clone(), words.len()),
    };
    let shape = OnnxShape {
        inputs,
        labels: label_output,
        intents: intent_output,
        columns,
        tokens,
        max_pieces: settings.max_pieces.or(longest).unwrap_or(MAX_PIECES),
        temperature: 1.0,
        intent_temperature: 1.0,
    };
    let encoder = OnnxEncoder::new(bytes, shape, [n_ids, labels.len(), intents.len()]);
    let encoder = encoder.map_err(|problem| {
        let hint = "graph, tokenizer and labels are those of one tagger; docs/onnx.md says what can be run";
        unfit(&files.graph, problem, hint)
    })?;
    encoder.attempt_longest().map_err(|problem| {
        let most = encoder.shape.max_pieces;
        unfit(&files.graph, problem, format!("it was tried with {most} ids; state fewer as the most pieces"))
    })?;
    let model = assemble(encoder, &vocabulary, labels, intents, valid, settings)?;
    match valid {
        Some(valid) => calibrate(&files.graph, model, valid, settings),
        None => Ok(Wrapped { model, temperature: 1.0, report: None }),
    }
}

/// A model that never says unknown.
fn assemble(
    encoder: OnnxEncoder,
    vocabulary: &Vocabulary,
    labels: Vec<String>,
    intents: Vec<String>,
    valid: Option<&Corpus>,
    settings: &WrapSettings,
) -> Result<Model> {
    let labels = LabelSet::new(Names::new(labels));
    let intents = Names::new(intents);
    let (slots, nothing) = (labels.slots(), Corpus::default());
    let corpus = valid.unwrap_or(&nothing);
    let slot_names = slots.iter().map(String::as_str);
    let description = match corpus.description.is_empty() {
        true => Description::guess(slot_names),
        false => {
            let intents = intents.names().iter().map(|name| &**name);
            corpus.description.only(&slot_names.collect(), &intents.collect())
        }
    };
    let language = language(corpus, settings.language.as_deref())?;
    let record = Record { settings: TrainSettings::slot_gated(), language, ..Record::default() };
    let is_lowercase = match vocabulary {
        Vocabulary::Pieces(pieces) => pieces.settings().lowercase,
        Vocabulary::Words(words, _) => {
            words.iter().all(|word| word.to_lowercase() == *word || word.contains(['[', '<']))
        }
    };
    let features = match vocabulary {
        Vocabulary::Pieces(pieces) => Features::of_pieces(pieces.clone(), labels, intents),
        Vocabulary::Words(words, _) => Features::of_words(words, labels, intents),
    };
    let encoder = Encoder::Onnx(Arc::new(encoder));
    Ok(Model {
        normalizer: normalizer(valid, is_lowercase),
        features: Arc::new(features),
        policy: Arc::new(Policy::never(Model::default_scorer(&encoder))),
        encoder,
        outside_penalty: 0.0,
        joint_slots: 0.0,
        known_values: Arc::new(KnownValues::fit(&corpus.known_values, &slots)),
        description: Arc::new(description),
        syntax: None,
        record,
    })
}

/// How text is cut into words: as the valid set has them. Numbers keep their digits.
fn normalizer(valid: Option<&Corpus>, is_lowercase: bool) -> Normalizer {
    let fitted = valid.map(|valid| valid.normalizer().settings().clone());
    let fitted = fitted.unwrap_or(Settings { case: Case::Keep, ..Settings::default() });
    let case = if is_lowercase { Case::Lower } else { fitted.case };
    Normalizer::new(Settings { case, digits: false, ..fitted })
}

/// Fits temperatures and policy.
fn calibrate(path: &Path, model: Model, valid: &Corpus, settings: &WrapSettings) -> Result<Wrapped> {
    let Encoder::Onnx(encoder) = &model.encoder else { unreachable!("it was wrapped") };
    let mut worker = model.worker();
    let (words, intents) = gold_rows(&mut worker, valid);
    if words.is_empty() {
        let hint = format!("its labels are {}", join(model.features.labels.names()));
        return Err(unfit(path, format!("it has no label of {}", valid.path.display()), hint));
    }
    let temperature = external::likeliest(&words);
    let intent_temperature = if intents.is_empty() { 1.0 } else { external::likeliest(&intents) };
    let encoder = encoder.with_temperatures(temperature as f32, intent_temperature as f32);
    let model = Model { encoder: Encoder::Onnx(Arc::new(encoder)), ..model };
    let report = model.worker().evaluate(&valid.utterances, Mode::Conlleval)?.report();
    let policy = model.fit_policy(&settings.policy, &valid.utterances)?;
    let record = Record {
        corpus: valid.fingerprint(),
        valid_slot_f1: report.slot_f1,
        valid_intent_accuracy: report.intent_accuracy,
        ..model.record.clone()
    };
    let model = Model { record, ..model }.with_policy(policy);
    Ok(Wrapped { model, temperature, report: Some(report) })
}

/// Reads a graph and builds it; for tests of what reads bytes from outside.
#[doc(hidden)]
pub fn try_graph(bytes: &[u8]) -> Result<(), String> {
    OnnxEncoder::try_graph(bytes)
}

fn join(names: &[Arc<str>]) -> String {
    names.iter().map(|name| &**name).collect::<Vec<_>>().join(", ")
}

/// Logits with the place of what is right among them.
type GoldRow = (Vec<f32>, usize);

/// The logits of words and utterances whose gold label or intent the tagger has.
fn gold_rows(worker: &mut Worker, valid: &Corpus) -> (Vec<GoldRow>, Vec<GoldRow>) {
    let features = worker.model().features.clone();
    let (mut words, mut intents) = (Vec::new(), Vec::new());
    let is_whole = |n: usize| (1..=MAX_WORDS).contains(&n);
    for utterance in valid.utterances.iter().filter(|utterance| is_whole(utterance.words.len())) {
        let emissions = worker.emissions(&utterance.words);
        if let Tags::Labels { logits, .. } = &emissions.tags {
            for (row, gold) in logits.rows().zip(&utterance.labels) {
                words.extend(features.labels.id(gold).map(|gold| (row.to_vec(), gold as usize)));
            }
        }
        let gold = features.intents.id(first_intent(&utterance.intent));
        intents.extend(gold.map(|gold| (emissions.intents.clone(), gold as usize)));
    }
    (words, intents)
}
