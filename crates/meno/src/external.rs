//! Taggers made elsewhere: from a table of their logits to a threshold, and from the threshold to unknown spans.
//!
//! [`Calibration::fit`] takes the logits of in-domain valid utterances with their gold labels; [`Calibration::apply`]
//! takes new logits of the same tagger and gives labels with reasons. Between the two lies a small JSON file, described
//! in `docs/logits.md`. Before a score is taken a logit m becomes m / T + ln M:
//!
//! - T, the temperature, divides all logits and so changes no first choice. It is stated, or the one under which the gold
//!   labels are likeliest: the minimum of NLL(T) = -sum ln softmax(m / T)\[gold\] (Guo et al., 2017). Either way it lies
//!   between 0.01 and 100.
//! - M, the scale, multiplies the concentrations alpha = M exp(m / T) that the Dirichlet scores read; likelihood knows
//!   nothing of it, so it is stated, 1 if it is not.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Annotation;
use crate::answer::Parts;
use crate::decision::{BUDGET, NamedThreshold, Policy, ScoredUtterance, Threshold};
use crate::decoding::{Decoded, Decoder, SpanRules};
use crate::emissions::{Emissions, Logits, demand_labels};
use crate::label::{LabelSet, Names};
use crate::math::Softmax;
use crate::uncertainty::{Assessment, Precision, Score, Scorer};
use crate::{Error, Missing, Result, atomic};

pub use crate::emissions::{Companion, Input, Table, TableSettings, TableUtterance, read_label_names};

/// What turns the logits of a certain tagger into decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    format: Format,
    version: u32,
    /// What the numbers of the tagger are.
    pub input: Input,
    /// Its labels, in the order of the numbers.
    pub labels: Vec<String>,
    /// T.
    pub temperature: f64,
    /// M.
    pub scale: f64,
    /// When a word is unknown.
    pub threshold: NamedThreshold,
}

/// The first thing in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Format {
    #[serde(rename = "meno-logits")]
    MenoLogits,
}

/// The version of the file that is written.
const VERSION: u32 = 1;

/// How to fit a [`Calibration`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitSettings {
    /// The score that measures the uncertainty.
    pub score: Score,
    /// The points of slot F1 that the threshold may cost.
    pub budget: f64,
    /// T, or how it is found.
    pub temperature: Temperature,
    /// M.
    pub scale: f64,
}

/// Where T comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Temperature {
    /// It is this.
    Stated(f64),
    /// It is the one that makes the gold labels likeliest.
    Likeliest,
}

impl Default for FitSettings {
    fn default() -> Self {
        let (score, temperature) = (Score::default(), Temperature::Stated(1.0));
        FitSettings { score, budget: BUDGET, temperature, scale: 1.0 }
    }
}

impl Calibration {
    /// Fits temperature and threshold to the logits of in-domain utterances with gold labels.
    ///
    /// A gold label that the tagger does not have is counted as missed by the threshold, and passed over by the
    /// temperature ([`unseen_labels`]).
    pub fn fit(table: &Table, input: Input, settings: &FitSettings) -> Result<Calibration> {
        demand_gold(table)?;
        let temperature = match settings.temperature {
            Temperature::Stated(temperature) => demand_temperature(temperature)?,
            Temperature::Likeliest => likeliest_temperature(table)?,
        };
        let scale = demand_scale(settings.scale)?;
        let mut table = table.clone();
        table.map(transform(temperature, scale));
        let threshold = choose(&table, settings).map_err(|error| match error {
            Error::Setting { problem, hint }
            | Error::Threshold { problem, hint }
            | Error::Evaluation { problem, hint } => Error::logits(&table.path, problem, hint),
            error => error,
        })?;
        let threshold = NamedThreshold { score: settings.score.name().to_owned(), threshold };
        let labels = table.label_names;
        Ok(Calibration {
            format: Format::MenoLogits,
            version: VERSION,
            input,
            labels,
            temperature,
            scale,
            threshold,
        })
    }

    /// Annotates every utterance of a table of the same tagger; `annotated` receives one after the other.
    pub fn apply<E: From<Error>>(
        &self,
        table: &mut Table,
        mut annotated: impl FnMut(Annotation<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let scorer = Scorer::Token(self.threshold.score.parse()?);
        let policy = Policy { threshold: Some(self.threshold.threshold.clone()), ..Policy::never(scorer) };
        let labels = LabelSet::new(Names::new(self.labels.iter().map(String::as_str)));
        table.map(transform(self.temperature, self.scale));
        let mut read = Read::default();
        let mut text = String::new();
        for utterance in &table.utterances {
            read.utterance(scorer, table, utterance);
            let verdict = policy.decide(&read.assessment, &read.decoded);
            let parts = Parts {
                labels: &labels,
                intents: Vec::new(),
                decoded: &read.decoded,
                probabilities: &read.probabilities,
                assessment: &read.assessment,
                policy: &policy,
                verdict: &verdict,
                grown: Vec::new(),
            };
            let places = join(&utterance.words, &mut text);
            annotated(parts.assemble(&text, &places))?;
        }
        Ok(())
    }

    /// Reads a file that [`Calibration::save`] wrote.
    pub fn load(path: &Path) -> Result<Calibration> {
        let bytes = fs::read(path).map_err(|source| Error::read(path, source))?;
        let unfit = |problem: String| Error::Calibration { path: path.to_owned(), problem };
        let calibration: Calibration = serde_json::from_slice(&bytes)
            .map_err(|error| unfit(format!("not a calibration of logits: {error}")))?;
        if calibration.version != VERSION {
            let found = calibration.version;
            return Err(unfit(format!(
                "version {found} of the format; this program reads version {VERSION}"
            )));
        }
        demand_labels(&calibration.labels).map_err(unfit)?;
        let Calibration { temperature, scale, threshold, .. } = &calibration;
        demand_temperature(*temperature)
            .and(demand_scale(*scale))
            .and(threshold.score.parse::<Score>())
            .map_err(|error| unfit(error.to_string()))?;
        Ok(calibration)
    }

    /// Writes the file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut json = serde_json::to_string_pretty(self).expect("numbers and strings are JSON");
        json.push('\n');
        atomic::write(path, json.as_bytes())
    }
}

/// The gold labels that the tagger does not have, sorted, each once.
pub fn unseen_labels(table: &Table) -> Vec<&str> {
    let gold = table.utterances.iter().filter_map(|utterance| utterance.gold.as_ref()).flatten();
    let mut unseen: Vec<&str> =
        gold.map(String::as_str).filter(|gold| table.label_names.iter().all(|name| name != gold)).collect();
    unseen.sort_unstable();
    unseen.dedup();
    unseen
}

fn transform(temperature: f64, scale: f64) -> impl Fn(f32) -> f32 {
    let ln_scale = scale.ln();
    move |logit| (f64::from(logit) / temperature + ln_scale) as f32
}

fn demand_temperature(temperature: f64) -> Result<f64> {
    let (lowest, highest) = TEMPERATURES;
    if (lowest..=highest).contains(&temperature) {
        return Ok(temperature);
    }
    let hint = format!("a temperature is a number from {lowest} to {highest}; 1 changes nothing");
    Err(Error::Setting { problem: format!("a temperature of {temperature:?}"), hint })
}

fn demand_scale(scale: f64) -> Result<f64> {
    if scale.is_finite() && scale > 0.0 {
        return Ok(scale);
    }
    let hint = "a scale is a number above 0; 1 changes nothing".to_owned();
    Err(Error::Setting { problem: format!("a scale of {scale:?}"), hint })
}

fn demand_gold(table: &Table) -> Result<()> {
    match table.utterances.iter().all(|utterance| utterance.gold.is_some()) {
        true => Ok(()),
        false => Err(Error::Incomplete { path: table.path.clone(), lacks: Missing::GoldLabels }),
    }
}

fn choose(table: &Table, settings: &FitSettings) -> Result<Threshold> {
    let mut read = Read::default();
    let mut parts: Vec<(&[String], Vec<&str>, Vec<f64>)> = Vec::with_capacity(table.utterances.len());
    for utterance in &table.utterances {
        read.utterance(Scorer::Token(settings.score), table, utterance);
        let name = |&label: &u32| table.label_names[label as usize].as_str();
        let first_choices = read.decoded.labels.iter().map(name).collect();
        let gold = utterance.gold.as_deref().unwrap_or_default();
        parts.push((gold, first_choices, read.assessment.tokens.clone()));
    }
    let scored: Vec<_> = parts
        .iter()
        .map(|(gold, first_choices, uncertainty)| ScoredUtterance { gold, first_choices, uncertainty })
        .collect();
    Threshold::choose(settings.budget, &scored)
}

/// An utterance of a table, decoded and assessed; buffers for the next one.
#[derive(Default)]
struct Read {
    decoder: Decoder,
    decoded: Decoded,
    probabilities: Logits,
    assessment: Assessment,
}

impl Read {
    fn utterance(&mut self, scorer: Scorer, table: &Table, utterance: &TableUtterance) {
        self.decoded.clear();
        let rules = SpanRules { outside_penalty: |_| 0.0, slot_weight: 0.0, joins: |_, _| false };
        self.decoder.decode(&Emissions::of_table(table, utterance), &rules, &mut self.decoded);
        self.assessment.assess(&scorer, &mut self.decoded, std::iter::empty(), Precision::Double);
        self.probabilities.clear(table.label_names.len());
        for logits in self.decoded.posteriors.rows() {
            let logits: Vec<f64> = logits.iter().map(|&logit| logit.into()).collect();
            let softmax = Softmax::new(&logits);
            let row: Vec<f32> = logits.iter().map(|&logit| softmax.probability(logit) as f32).collect();
            self.probabilities.extend(std::iter::once(&row[..]));
        }
    }
}

/// Writes words into a buffer with a space between them; gives the first byte of each and one past its last.
fn join(words: &[String], text: &mut String) -> Vec<(usize, usize)> {
    text.clear();
    let mut places = Vec::with_capacity(words.len());
    for (idx, word) in words.iter().enumerate() {
        text.push_str(if idx == 0 { "" } else { " " });
        places.push((text.len(), text.len() + word.len()));
        text.push_str(word);
    }
    places
}

/// The lowest and the highest temperature: beyond them f32 no longer tells the labels of a usual tagger apart.
const TEMPERATURES: (f64, f64) = (0.01, 100.0);

fn likeliest_temperature(table: &Table) -> Result<f64> {
    let words = gold_rows(table);
    if words.is_empty() {
        let hint = "the gold labels must be among the label names";
        return Err(Error::logits(&table.path, "no word has a gold label that the tagger knows", hint));
    }
    Ok(likeliest(&words))
}

/// The temperature under which what is right is likeliest, of rows of logits with the place of that in each.
///
/// It is the minimum of the NLL, which is convex in b = 1 / T: where its slope, sum_words (E_p\[m\] - m_gold), passes 0.
///
/// If it lies outside 0.01 .. 100 the nearer end is taken: a tagger without a mistake would have 0.
pub(crate) fn likeliest<R: AsRef<[f32]>>(rows: &[(R, usize)]) -> f64 {
    let slope =
        |inverse: f64| rows.iter().map(|(row, gold)| excess(row.as_ref(), *gold, inverse)).sum::<f64>();
    let (mut low, mut high) = (1.0 / TEMPERATURES.1, 1.0 / TEMPERATURES.0);
    if slope(low) >= 0.0 {
        return TEMPERATURES.1;
    }
    if slope(high) <= 0.0 {
        return TEMPERATURES.0;
    }
    // Halving the logarithm 50 times leaves 1e-14 of it.
    for _ in 0..50 {
        let middle = (low * high).sqrt();
        *(if slope(middle) < 0.0 { &mut low } else { &mut high }) = middle;
    }
    1.0 / (low * high).sqrt()
}

/// The logits of every word whose gold label the tagger has, and that label.
fn gold_rows(table: &Table) -> Vec<(&[f32], usize)> {
    let mut words = Vec::new();
    for utterance in &table.utterances {
        for (row, gold) in table.rows(utterance).zip(utterance.gold.iter().flatten()) {
            words.extend(table.label_names.iter().position(|name| name == gold).map(|gold| (row, gold)));
        }
    }
    words
}

/// E_p\[m\] - m_gold with p = softmax(m / T).
fn excess(row: &[f32], gold: usize, inverse: f64) -> f64 {
    let largest = row.iter().copied().fold(f32::MIN, f32::max);
    let (mut total, mut sum) = (0.0, 0.0);
    for &logit in row {
        let below = f64::from(logit) - f64::from(largest);
        let weight = (below * inverse).exp();
        total += weight;
        sum += weight * below;
    }
    sum / total - (f64::from(row[gold]) - f64::from(largest))
}
