//! The experiments of Shen, Chen and Jin (2020): every method of their tables on both of their models.
//!
//! Enters: a data set with a set of new concepts, and settings. Leaves: a model, and for it and each method the slot F1
//! on in-domain test after the threshold and the four ways of counting new concepts ([`meno::metrics::new_concepts`]), and
//! for each measure how well it tells words of new concepts from others. Thresholds come from the valid set alone.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use meno::corpus::Corpus;
use meno::decision::{Growth, MaskedSlots, Phrases as PhraseRules, PolicySettings, Predictions};
use meno::engine::{Assessor, Measure};
use meno::label::{self, UNKNOWN};
use meno::metrics::Mode;
use meno::metrics::calibration_error::Reliability;
use meno::metrics::new_concepts::NewConceptScores;
use meno::pretrained::Pretrained;
use meno::syntax::{Syntax, phrase};
use meno::train::{CalibrationSettings, EpochReport, Options, Outcome, Progress, TrainSettings, Watch, fit};
use meno::uncertainty::Score;
use meno::{Error, Model, Result};

use crate::Dataset;
use crate::assessment::{Assessment, Rule, rank, ranking, risk_coverage};

/// Which of the two models of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Trained with the entropy regularizer, its scores on calibrated concentrations.
    Calibrated,
    /// The tagger as it is.
    Plain,
}

impl Kind {
    /// Both, in the order of the paper's columns.
    pub const ALL: [Kind; 2] = [Kind::Calibrated, Kind::Plain];

    /// The name it has in results.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Calibrated => "calibrated",
            Kind::Plain => "plain",
        }
    }
}

/// How the experiment is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperSettings {
    /// Settings of both trainings, but for the entropy regularizer.
    pub train: TrainSettings,
    /// The entropy regularizer of the calibrated model.
    pub calibrate: CalibrationSettings,
    /// Points of valid F1 that a threshold may cost.
    pub budget: f64,
    /// Whether to leave out what takes long: the perturbed passes and the comparisons of states.
    pub quick: bool,
}

impl Default for PaperSettings {
    fn default() -> Self {
        PaperSettings {
            train: TrainSettings::slot_gated(),
            calibrate: CalibrationSettings::default(),
            budget: meno::decision::BUDGET,
            quick: false,
        }
    }
}

impl PaperSettings {
    /// The measures that are taken.
    pub fn measures(&self) -> Vec<Measure> {
        let is_slow = |measure: &Measure| !matches!(measure, Measure::Logits(_));
        Measure::all().filter(|measure| !self.quick || !is_slow(measure)).collect()
    }

    /// The methods that are evaluated: the paper's, then ours.
    pub fn methods(&self) -> Vec<Method> {
        let measures = self.measures();
        let is_taken = |method: &Method| method.measure.is_none_or(|measure| measures.contains(&measure));
        Method::of_the_paper().into_iter().chain(Method::of_ours()).filter(is_taken).collect()
    }

    /// The settings of one training.
    pub fn training(&self, kind: Kind, seed: u64) -> TrainSettings {
        let calibrate = (kind == Kind::Calibrated).then_some(self.calibrate);
        TrainSettings { seed, ..self.train.clone().with_calibration(calibrate) }
    }
}

/// How words become unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// Words over the threshold of this measure.
    pub measure: Option<Measure>,
    /// Phrases around unknown words.
    pub syntax: Option<Phrases>,
    /// Words that are labelled `O` and never were in training.
    pub oov: bool,
}

/// How phrases are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phrases {
    /// By the rule that is best on valid, or not at all if that is best.
    Chosen,
    /// By this rule, with the walls that are best on valid.
    By(phrase::Rule),
}

impl Phrases {
    fn rules(&self) -> &[phrase::Rule] {
        match self {
            Phrases::Chosen => &phrase::Rule::ALL,
            Phrases::By(rule) => std::slice::from_ref(rule),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Phrases::Chosen => "syntax",
            Phrases::By(rule) => rule.name(),
        }
    }
}

const CONFIDENCE: Option<Measure> = Some(Measure::Logits(Score::Confidence));
const ENTROPY: Option<Measure> = Some(Measure::Logits(Score::Entropy));

impl Method {
    const fn of(measure: Option<Measure>) -> Self {
        Method { measure, syntax: None, oov: false }
    }

    /// The rows of the paper's tables, from the top.
    pub fn of_the_paper() -> Vec<Method> {
        let alone = [Some(Measure::Dropout), Some(Measure::Noise), Some(Measure::Logits(Score::TopVariance))];
        let with = |measure, oov, syntax| Method { measure, syntax, oov };
        let syntax = Some(Phrases::Chosen);
        let mut methods: Vec<Method> = alone.map(Method::of).to_vec();
        methods.extend([with(None, true, None), with(None, true, syntax)]);
        for measure in [CONFIDENCE, ENTROPY] {
            for oov in [false, true] {
                methods.extend([with(measure, oov, None), with(measure, oov, syntax)]);
            }
        }
        methods
    }

    /// Ours: the entropy with each phrase rule, never saying unknown, and the other measures.
    pub fn of_ours() -> impl Iterator<Item = Method> {
        let paper = Method::of_the_paper();
        let known = move |measure: &Measure| paper.iter().any(|method| method.measure == Some(*measure));
        let measures = Measure::all().filter(move |measure| !known(measure));
        let by_rule = |rule| Method { measure: ENTROPY, syntax: Some(Phrases::By(rule)), oov: false };
        let alone = std::iter::once(None).chain(measures.map(Some)).map(Method::of);
        phrase::Rule::ALL.into_iter().map(by_rule).chain(alone)
    }

    /// The name it has in results.
    pub fn name(self) -> String {
        let measure = self.measure.map(Measure::name);
        let parts = [measure, self.syntax.map(Phrases::name), self.oov.then_some("oov")];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "never".to_owned() } else { parts.join("+") }
    }
}

/// One model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ModelRun {
    /// Which.
    pub kind: Kind,
    /// What all randomness came from.
    pub seed: u64,
    /// The epoch that was the best on valid.
    pub epoch: usize,
    /// Slot F1 on valid, in percent, without a threshold.
    pub valid_f1: f64,
    /// Slot F1 on in-domain test, without a threshold.
    pub test_f1: f64,
    /// Intent accuracy on in-domain test.
    pub intent_accuracy: Option<f64>,
    /// Expected calibration error of the labels on in-domain test, from 0 to 1.
    pub ece: f64,
    /// Mean Brier score of the labels on in-domain test, from 0 to 2.
    pub brier: f64,
    /// What each method gave.
    pub methods: Vec<MethodRun>,
    /// How each measure ranks words.
    pub measures: Vec<MeasureRun>,
    /// What pictures are drawn from, if they were asked for.
    pub sample: Option<Sample>,
}

/// One method on one model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MethodRun {
    /// Its name.
    pub method: String,
    /// The threshold, if it has one.
    pub threshold: Option<f64>,
    /// How phrases grow, if they do.
    pub growth: Option<Growth>,
    /// Slot F1 on in-domain test, in percent; unknown spans count as wrong.
    pub test_f1: f64,
    /// How new concepts were found.
    pub new_concepts: NewConceptScores,
}

/// How a measure ranks the words of new concepts above those of in-domain test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasureRun {
    /// Its name.
    pub measure: String,
    /// Area under the ROC curve.
    pub auroc: Option<f64>,
    /// Area under the precision-recall curve.
    pub aupr: Option<f64>,
    /// The share of in-domain words above the score that 95 % of new concepts' words have.
    pub fpr_at_95_recall: Option<f64>,
    /// Area under the risk-coverage curve of the labels of the new-concept set, words of new concepts being wrong
    /// unless they have their true label.
    pub aurc: Option<f64>,
}

/// What pictures of a model are drawn from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    /// For each measure: its name, scores of in-domain words, scores of words of new concepts.
    pub scores: Vec<(String, Vec<f32>, Vec<f32>)>,
    /// For each measure points of its curves: recall and precision, coverage and risk.
    pub curves: Vec<Curves>,
    /// How often labels of a probability are right, in-domain.
    pub reliability: Reliability,
    /// The names of the labels.
    pub labels: Vec<String>,
    /// The calibration matrix of the labels without what its ReLU cuts off, row by row; empty for the plain model.
    pub matrix: Vec<Vec<f32>>,
}

/// Points of the curves of a measure.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Curves {
    /// Its name.
    pub measure: String,
    /// Recall and precision.
    pub precision_recall: Vec<(f64, f64)>,
    /// Coverage and risk.
    pub risk_coverage: Vec<(f64, f64)>,
}

/// At most this many scores and points are kept for pictures.
const SAMPLE: usize = 1000;

/// Trains a model on one thread, on a pretrained encoder if the settings want one. `step` is told the share that is done, and stops the training by `false`.
pub fn train(
    dataset: &Dataset,
    settings: &TrainSettings,
    encoder: Option<Arc<Pretrained>>,
    step: &mut (dyn FnMut(f64) -> bool + Send),
) -> Result<Option<Box<Model>>> {
    let policy = PolicySettings { phrases: PhraseRules::None, ..PolicySettings::default() };
    let options = Options { policy, trust: false, encoder, ..Options::default() };
    match fit(&dataset.train, &dataset.valid, settings, options, &mut Share(step))? {
        Outcome::Finished(model) => Ok(Some(model)),
        Outcome::Stopped { .. } => Ok(None),
    }
}

/// Tells the share that is done.
struct Share<'a>(&'a mut (dyn FnMut(f64) -> bool + Send));

impl Watch for Share<'_> {
    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        let done = (progress.epoch as f64 - 1.0 + progress.share) / progress.epochs as f64;
        if (self.0)(done) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
    fn epoch(&mut self, _: &EpochReport) {}
}

/// Fails if there is no new concept in the corpus.
pub fn demand_new_concepts(corpus: &Corpus) -> Result<()> {
    let labels = corpus.utterances.iter().flat_map(|utterance| &utterance.labels);
    if labels.into_iter().any(|label| label::split(label).1 == UNKNOWN) {
        return Ok(());
    }
    Err(Error::Corpus {
        path: corpus.path.clone(),
        line: 1,
        problem: "no new concept in it: no word is labelled `B-unknown`".to_owned(),
        hint: "`meno data new-concepts` makes such a set from a test set".to_owned(),
    })
}

/// What a model gives, with a sample for pictures if that is asked for.
pub fn evaluate(
    model: &Model,
    dataset: &Dataset,
    new_concepts: &Corpus,
    settings: &PaperSettings,
    with_sample: bool,
) -> Result<ModelRun> {
    let settings_of_model = &model.record().settings;
    let seed = settings_of_model.seed;
    let measures = settings.measures();
    let assessor = Assessor::new(model, &measures, &dataset.train, seed)?;
    let syntax = Syntax::english();
    let mut syntax = syntax.worker();
    let masked = MaskedSlots::new(&mut syntax, &dataset.valid.utterances);
    let grown: Vec<Measure> = [CONFIDENCE, ENTROPY].into_iter().flatten().collect();
    let mask_assessor = Assessor::new(model, &grown, &dataset.train, seed)?;
    let on_masked = Assessment::new(model, &mask_assessor, &masked.utterances);
    let [valid, test, new] = [&dataset.valid, &dataset.test, new_concepts]
        .map(|corpus| Assessment::new(model, &assessor, &corpus.utterances));
    let [test, new] = [test, new].map(|assessment| assessment.parsed(&mut syntax));
    let outside = words_outside_slots(&dataset.train, model);
    let evaluate_method = |method: Method| {
        let choose =
            |measure| valid.threshold(measure, settings.budget).map(|threshold| (measure, threshold));
        let threshold = method.measure.map(choose).transpose()?;
        let rule = Rule { model, threshold, outside: method.oov.then_some(&outside), growth: None };
        let growth = method.syntax.and_then(|phrases| {
            let predictions: Vec<Predictions> =
                (0..masked.utterances.len()).map(|i| rule.prediction(&on_masked, i)).collect();
            masked.choose(phrases.rules(), &predictions)
        });
        let rule = Rule { growth, ..rule };
        Ok(MethodRun {
            method: method.name(),
            threshold: rule.threshold.as_ref().map(|(_, threshold)| threshold.value),
            growth,
            test_f1: test.evaluate(|i| rule.unknown(&test, i))?.report().slot_f1,
            new_concepts: new.new_concepts(|i| rule.unknown(&new, i))?,
        })
    };
    let methods = settings.methods().into_iter().map(evaluate_method).collect::<Result<Vec<_>>>()?;
    let plain = test.evaluate_first_choices()?.report();
    let reliability = test.reliability()?;
    let with_sample = with_sample.then(|| sample(model, &measures, &test, &new, &reliability));
    Ok(ModelRun {
        kind: if settings_of_model.calibration().is_some() { Kind::Calibrated } else { Kind::Plain },
        seed,
        epoch: model.record().epoch,
        valid_f1: model.record().valid_slot_f1,
        test_f1: plain.slot_f1,
        intent_accuracy: model
            .worker()
            .evaluate(&dataset.test.utterances, Mode::Conlleval)?
            .report()
            .intent_accuracy,
        ece: reliability.ece().unwrap_or(0.0),
        brier: test.brier(),
        methods,
        measures: rank(&measures, &test, &new)?,
        sample: with_sample.transpose()?,
    })
}

/// The words that occur outside slots in training, in the form of the vocabulary.
fn words_outside_slots<'c>(train: &'c Corpus, model: &'c Model) -> HashSet<&'c str> {
    let words = train.utterances.iter().flat_map(|utterance| utterance.words.iter().zip(&utterance.labels));
    words
        .filter(|(_, label)| *label == "O")
        .map(|(word, _)| model.normalizer().vocabulary_form(word))
        .collect()
}

fn sample(
    model: &Model,
    measures: &[Measure],
    test: &Assessment<'_>,
    new: &Assessment<'_>,
    reliability: &Reliability,
) -> Result<Sample> {
    let (mut scores, mut curves) = (Vec::new(), Vec::new());
    for (measure_idx, measure) in measures.iter().enumerate() {
        let measure = measure.name().to_owned();
        let [known, unknown] = [(test, false), (new, true)].map(|(assessment, only_new)| {
            thinned(assessment.scores(measure_idx, only_new).map(|score| score as f32).collect())
        });
        scores.push((measure.clone(), known, unknown));
        let points = ranking(measure_idx, test, new)?.precision_recall();
        let risks = risk_coverage(measure_idx, new)?.curve();
        curves.push(Curves {
            measure,
            precision_recall: thinned(points.iter().map(|point| (point.recall, point.precision)).collect()),
            risk_coverage: thinned(risks.iter().map(|point| (point.coverage, point.risk)).collect()),
        });
    }
    Ok(Sample {
        scores,
        curves,
        reliability: reliability.clone(),
        labels: model.features().labels.names().iter().map(|label| label.to_string()).collect(),
        matrix: model.calibration_matrix(),
    })
}

/// About [`SAMPLE`] of the values, evenly spread, with the first and the last.
fn thinned<T: Copy>(values: Vec<T>) -> Vec<T> {
    if values.len() <= SAMPLE {
        return values;
    }
    (0..SAMPLE).map(|i| values[i * (values.len() - 1) / (SAMPLE - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use meno::corpus::FolderText;

    fn corpus(words: &str, labels: &str, truth: Option<&str>) -> Corpus {
        FolderText { words, labels, truth, ..FolderText::default() }.read("toy".as_ref()).unwrap()
    }

    fn dataset() -> Dataset {
        let words = "play blue\nstop\nplay red moon\nplay blue moon please\nstop it\nwake me at six\n";
        let labels = "O B-song\nO\nO B-song I-song\nO B-song I-song O\nO O\nO O O B-time\n";
        let corpus = corpus(words, labels, None);
        Dataset { train: corpus.clone(), valid: corpus.clone(), test: corpus }
    }

    fn new_concepts() -> Corpus {
        corpus(
            "play golden river\nwake me at dusk\n",
            "O B-unknown I-unknown\nO O O B-unknown\n",
            Some("O B-song I-song\nO O O B-time\n"),
        )
    }

    #[test]
    fn thresholds_keep_to_the_budget() {
        let train_settings =
            TrainSettings { epochs: 12, embedding: 16, hidden: 16, ..TrainSettings::slot_gated() };
        let settings = PaperSettings { train: train_settings, budget: 20.0, ..PaperSettings::default() };
        for kind in Kind::ALL {
            let model = train(&dataset(), &settings.training(kind, 3), None, &mut |_| true).unwrap().unwrap();
            let run = evaluate(&model, &dataset(), &new_concepts(), &settings, true).unwrap();
            assert_eq!((run.kind, run.seed), (kind, 3));
            let names: Vec<String> = settings.methods().into_iter().map(Method::name).collect();
            assert!(run.methods.iter().map(|method| &method.method).eq(&names));
            for method in &run.methods {
                let NewConceptScores { unknown, all_slots, strict, any, .. } = method.new_concepts;
                // Valid is test here. The rule of words never seen outside slots has no budget.
                let is_within = method.test_f1 >= run.test_f1 - settings.budget - 1e-9;
                assert!(is_within || method.method.ends_with("oov"), "{method:?}");
                assert_eq!([unknown, all_slots, strict, any].map(|scores| scores.support), [2; 4]);
                assert!(
                    unknown.precision >= strict.precision && strict.precision >= any.precision,
                    "{method:?}"
                );
            }
            let never = run.methods.iter().find(|method| method.method == "never").unwrap();
            assert_eq!(
                (never.test_f1, never.threshold, never.new_concepts.unknown_spans),
                (run.test_f1, None, 0)
            );
            let sample = run.sample.unwrap();
            assert_eq!(sample.matrix.len(), if kind == Kind::Calibrated { sample.labels.len() } else { 0 });
            assert!(sample.scores.iter().all(|(_, known, new)| (known.len(), new.len()) == (16, 3)));
        }
    }

    #[test]
    fn a_training_can_be_stopped_and_a_set_without_new_concepts_is_refused() {
        let settings = PaperSettings::default().training(Kind::Plain, 1);
        assert!(train(&dataset(), &settings, None, &mut |_| false).unwrap().is_none());
        let error = demand_new_concepts(&dataset().test).unwrap_err();
        assert_eq!(error.to_string(), "toy:1: no new concept in it: no word is labelled `B-unknown`");
        demand_new_concepts(&new_concepts()).unwrap();
    }
}
