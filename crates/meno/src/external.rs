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

use crate::corpus::tags;
use crate::decision::{BUDGET, Decision, Judged, Threshold};
use crate::logits::{Input, Table, demand_labels};
use crate::uncertainty::{Assessment, Score};
use crate::{Error, Result, atomic};

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
    pub threshold: Threshold,
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
            Error::Setting { problem, hint } => Error::logits(&table.path, problem, hint),
            error => error,
        })?;
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

    /// Decides every word of a table of the same tagger; `decided` receives one utterance after the other.
    pub fn apply<E: From<Error>>(
        &self,
        table: &mut Table,
        mut decided: impl FnMut(&[String], Vec<Decision<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let score: Score = self.threshold.score.parse()?;
        table.map(transform(self.temperature, self.scale));
        let mut assessment = Assessment::default();
        for utterance in &table.utterances {
            assessment.assess(score, table.rows(utterance));
            let decisions = self.threshold.decide(&assessment, table.rows(utterance), &self.labels);
            decided(&utterance.words, decisions)?;
        }
        Ok(())
    }

    /// Reads a file that [`Calibration::save`] wrote.
    pub fn load(path: &Path) -> Result<Calibration> {
        let bytes = fs::read(path).map_err(|source| Error::read(path, source))?;
        let hint = "such a file is made by `meno logits fit VALID -o FILE`";
        let unfit = |problem: String| Error::logits(path, problem, hint);
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
        false => {
            let hint = "put `labels` into the file, or say `--corpus DIR`";
            Err(Error::logits(&table.path, "there are no gold labels in it", hint))
        }
    }
}

fn choose(table: &Table, settings: &FitSettings) -> Result<Threshold> {
    let mut assessment = Assessment::default();
    let mut parts: Vec<(&[String], Vec<&str>, Vec<f64>)> = Vec::with_capacity(table.utterances.len());
    for utterance in &table.utterances {
        assessment.assess(settings.score, table.rows(utterance));
        let name = |&label: &u32| table.label_names[label as usize].as_str();
        let first_choices = assessment.first_choices.iter().map(name).collect();
        parts.push((
            utterance.gold.as_deref().unwrap_or_default(),
            first_choices,
            assessment.uncertainty.clone(),
        ));
    }
    let judged: Vec<_> = parts
        .iter()
        .map(|(gold, first_choices, uncertainty)| Judged { gold, first_choices, uncertainty })
        .collect();
    Threshold::choose(settings.score.name(), settings.budget, &judged)
}

/// The lowest and the highest temperature: beyond them f32 no longer tells the labels of a usual tagger apart.
const TEMPERATURES: (f64, f64) = (0.01, 100.0);

/// The minimum of the NLL, which is convex in b = 1 / T: where its slope, sum_words (E_p\[m\] - m_gold), passes 0.
///
/// If it lies outside 0.01 .. 100 the nearer end is taken: a tagger without a mistake would have 0.
fn likeliest_temperature(table: &Table) -> Result<f64> {
    let words = gold_rows(table);
    if words.is_empty() {
        let hint = "the gold labels must be among the label names";
        return Err(Error::logits(&table.path, "no word has a gold label that the tagger knows", hint));
    }
    let slope = |inverse: f64| words.iter().map(|&(row, gold)| excess(row, gold, inverse)).sum::<f64>();
    let (mut low, mut high) = (1.0 / TEMPERATURES.1, 1.0 / TEMPERATURES.0);
    if slope(low) >= 0.0 {
        return Ok(TEMPERATURES.1);
    }
    if slope(high) <= 0.0 {
        return Ok(TEMPERATURES.0);
    }
    // Halving the logarithm 50 times leaves 1e-14 of it.
    for _ in 0..50 {
        let middle = (low * high).sqrt();
        *(if slope(middle) < 0.0 { &mut low } else { &mut high }) = middle;
    }
    Ok(1.0 / (low * high).sqrt())
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

/// An utterance as `meno logits tag` writes it; the names are those of [`Annotation`](crate::Annotation).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer<'a> {
    /// The words with a space between them.
    pub text: &'a str,
    /// Always none: the table knows nothing of intents.
    pub intent: Option<()>,
    /// The words.
    pub tokens: Vec<AnswerToken<'a>>,
    /// The slots, unknown ones included, in the order of the text.
    pub spans: Vec<crate::spans::Span<'a>>,
}

/// A word of an [`Answer`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerToken<'a> {
    /// The word.
    pub text: &'a str,
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What became of it.
    #[serde(flatten)]
    pub decision: Decision<'a>,
}

impl<'a> Answer<'a> {
    /// Puts words and decisions together; `text` is a buffer for the words.
    pub fn new(words: &[String], decisions: Vec<Decision<'a>>, text: &'a mut String) -> Self {
        text.clear();
        text.push_str(&words.join(" "));
        let text: &'a str = text;
        let mut start = 0;
        let mut tokens = Vec::with_capacity(words.len());
        for (word, decision) in words.iter().zip(decisions) {
            let end = start + word.len();
            tokens.push(AnswerToken { text: &text[start..end], start, end, decision });
            start = end + 1;
        }
        let labels: Vec<&str> = tokens.iter().map(|token| &*token.decision.label).collect();
        let span = |span: tags::TokenSpanRef<'_>| {
            let (start, end) = (tokens[span.start].start, tokens[span.end - 1].end);
            crate::spans::Span {
                slot: span.slot.to_owned(),
                text: &text[start..end],
                start,
                end,
                guess: None,
            }
        };
        let spans = tags::iter_spans(&labels).map(span).collect();
        Answer { text, intent: None, tokens, spans }
    }
}
