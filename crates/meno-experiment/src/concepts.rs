//! How well a model that scores whole spans does on what it knows and on what it has never seen.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use meno::corpus::Corpus;
use meno::decision::{ScoredSpan, Threshold};
use meno::label::{self, UNKNOWN};
use meno::metrics::detection::Ranking;
use meno::metrics::new_concepts::{NewConceptScores, NewConcepts};
use meno::metrics::questions::{Found, QuestionShares, Questions};
use meno::metrics::{Evaluation, Mode, Report};
use meno::uncertainty::{Evidence, Novelty, SpanScore};
use meno::{Model, Result, Worker};

/// On in-domain utterances.
#[derive(Clone, Debug, Serialize)]
pub struct KnownReport {
    /// Before the threshold.
    #[serde(flatten)]
    pub report: Report,
    /// Slot F1 after it, in percent; unknown spans count as wrong.
    pub slot_f1_after: f64,
    /// The share of the concepts found that are called unknown, in percent.
    pub flagged: f64,
    /// Where that share lies with a probability of 95 %: the interval of Wilson (1927).
    pub flagged_interval: (f64, f64),
    /// What is asked, in percent.
    pub questions: QuestionShares,
    /// The share of utterances that are rejected, in percent.
    pub rejected: f64,
}

/// On utterances with new concepts.
#[derive(Clone, Debug, Serialize)]
pub struct NewReport {
    /// How new concepts were found.
    #[serde(flatten)]
    pub scores: NewConceptScores,
    /// The share of new concepts whose boundaries were found, in percent.
    #[serde(flatten, serialize_with = "under_both_names")]
    pub boundaries: f64,
    /// How often the uncertainty of a new concept, found with its boundaries, is above that of an in-domain one.
    pub auroc: Option<f64>,
    /// What is asked, in percent.
    pub questions: QuestionShares,
}

/// Writes it as `boundaries`, and for one version as `limits`, as it was called before.
fn under_both_names<S: Serializer>(boundaries: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct("Boundaries", 2)?;
    fields.serialize_field("boundaries", boundaries)?;
    fields.serialize_field("limits", boundaries)?;
    fields.end()
}

/// A model on in-domain utterances and, if there are any, on utterances with new concepts.
pub fn evaluate(
    model: &Model,
    test: &Corpus,
    new: Option<&Corpus>,
) -> Result<(KnownReport, Option<NewReport>)> {
    let mut worker = model.worker();
    let (mut before, mut after) = (Evaluation::new(Mode::Conlleval), Evaluation::new(Mode::Conlleval));
    let mut questions = Questions::default();
    let mut ranked = Vec::new();
    let (mut n_unknown, mut n_rejected) = (0, 0);
    for utterance in &test.utterances {
        let (labels, intent) = worker.tag(&utterance.words);
        before.add(&utterance.labels, &labels, &utterance.intent, &intent)?;
        let found = worker.found();
        after.add(&utterance.labels, &labels_of(&found, labels.len()), &utterance.intent, &intent)?;
        questions.add(utterance, &found);
        n_unknown += found.iter().filter(|found| found.unknown).count();
        n_rejected += usize::from(worker.rejects());
        ranked.extend(found.iter().map(|found| (found.uncertainty, false)));
    }
    let percent = |n: usize, of: usize| 100.0 * n as f64 / of.max(1) as f64;
    let known = KnownReport {
        report: before.report(),
        slot_f1_after: after.report().slot_f1,
        flagged: percent(n_unknown, ranked.len()),
        flagged_interval: wilson(n_unknown, ranked.len()),
        questions: questions.shares(),
        rejected: percent(n_rejected, test.utterances.len()),
    };
    let Some(new) = new else { return Ok((known, None)) };
    let (mut scores, mut questions) = (NewConcepts::default(), Questions::default());
    let (mut n_concepts, mut n_exact) = (0, 0);
    for utterance in &new.utterances {
        worker.tag(&utterance.words);
        let found = worker.found();
        scores.add(utterance, &labels_of(&found, utterance.words.len()))?;
        questions.add(utterance, &found);
        for span in label::iter_spans(&utterance.labels).filter(|span| span.slot == UNKNOWN) {
            n_concepts += 1;
            if let Some(found) = found.iter().find(|found| (found.start, found.end) == (span.start, span.end))
            {
                n_exact += 1;
                ranked.push((found.uncertainty, true));
            }
        }
    }
    let new = NewReport {
        scores: scores.scores(),
        boundaries: percent(n_exact, n_concepts),
        auroc: Ranking::new(ranked)?.auroc(),
        questions: questions.shares(),
    };
    Ok((known, Some(new)))
}

/// The interval of a share, in percent.
fn wilson(n: usize, of: usize) -> (f64, f64) {
    const Z: f64 = 1.959963984540054;
    let (of, share) = (of.max(1) as f64, n as f64 / of.max(1) as f64);
    let centre = share + Z * Z / (2.0 * of);
    let half = Z * (share * (1.0 - share) / of + Z * Z / (4.0 * of * of)).sqrt();
    let scale = 100.0 / (1.0 + Z * Z / of);
    (scale * (centre - half), scale * (centre + half))
}

/// What a threshold gives, in percent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CurvePoint {
    /// Above which uncertainty a concept is unknown.
    pub threshold: f64,
    /// On in-domain utterances: those with a needless question.
    pub needless_utterances: f64,
    /// On new concepts.
    pub questions: QuestionShares,
}

/// Points of a curve.
const N_POINTS: usize = 50;

/// What thresholds from one that asks about everything to one that asks about nothing give.
pub fn curve(model: &Model, test: &Corpus, new: &Corpus) -> Vec<CurvePoint> {
    let mut worker = model.worker();
    let (on_test, on_new) = (find(&mut worker, test), find(&mut worker, new));
    let mut uncertainties: Vec<f64> = on_new.iter().flatten().map(|found| found.uncertainty).collect();
    uncertainties.sort_by(f64::total_cmp);
    let thresholds = (0..N_POINTS)
        .filter_map(|i| uncertainties.get(i * uncertainties.len().saturating_sub(1) / (N_POINTS - 1)));
    let points = thresholds.map(|&threshold| CurvePoint {
        threshold,
        needless_utterances: questions_at(threshold, test, &on_test).needless_utterances,
        questions: questions_at(threshold, new, &on_new),
    });
    points.collect()
}

/// What a model finds in each utterance.
fn find(worker: &mut Worker, corpus: &Corpus) -> Vec<Vec<Found>> {
    let mut all = Vec::with_capacity(corpus.utterances.len());
    for utterance in &corpus.utterances {
        worker.tag(&utterance.words);
        all.push(worker.found());
    }
    all
}

/// What is asked about if spans over this threshold are unknown.
fn questions_at(threshold: f64, corpus: &Corpus, found: &[Vec<Found>]) -> QuestionShares {
    let mut questions = Questions::default();
    for (utterance, found) in corpus.utterances.iter().zip(found) {
        let mut found = found.clone();
        for found in &mut found {
            found.unknown = found.uncertainty > threshold;
        }
        questions.add(utterance, &found);
    }
    questions.shares()
}

/// The final labels.
pub(crate) fn labels_of(found: &[Found], n_words: usize) -> Vec<String> {
    let span = |found: &Found| label::TokenSpan {
        start: found.start,
        end: found.end,
        slot: if found.unknown { UNKNOWN } else { &*found.slot }.to_owned(),
    };
    label::labels(&found.iter().map(span).collect::<Vec<_>>(), n_words)
}

/// The share of utterances that are rejected, in percent, and how often one of `other` is less sure than one of `test`.
pub fn evaluate_rejection(model: &Model, test: &Corpus, other: &Corpus) -> Result<(f64, Option<f64>)> {
    let mut worker = model.worker();
    let (mut ranked, mut n_rejected) = (Vec::new(), 0);
    for (corpus, is_other) in [(test, false), (other, true)] {
        for utterance in corpus.utterances.iter().filter(|utterance| !utterance.words.is_empty()) {
            worker.tag(&utterance.words);
            ranked.push((worker.out_of_scope(), is_other));
            n_rejected += usize::from(is_other && worker.rejects());
        }
    }
    let n_other = ranked.iter().filter(|(_, is_other)| *is_other).count();
    Ok((100.0 * n_rejected as f64 / n_other.max(1) as f64, Ranking::new(ranked)?.auroc()))
}

/// A score of concepts, on one model.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreReport {
    /// What it is made of.
    pub score: &'static str,
    /// How often that of a new concept, found with its boundaries, is above that of an in-domain one.
    pub auroc: Option<f64>,
    /// How new concepts were found with the threshold that it gives.
    pub scores: NewConceptScores,
    /// What is asked then, in percent.
    pub questions: QuestionShares,
}

type ConceptScore = (&'static str, fn(&Evidence) -> f64);

/// The scores that are compared; the second is the one in use.
const SCORES: [ConceptScore; 11] = [
    ("never unknown", |_| 0.0),
    ("concept: logs of boundaries and slot, novelty", |e| {
        SpanScore::default().combine(e.boundaries, e.slot, e.novelty)
    }),
    ("logs of boundaries and slot", |e| {
        SpanScore::default().combine(e.boundaries, e.slot, Novelty::default())
    }),
    ("boundaries + slot + novelty", |e| e.boundaries + e.slot + 2.0 * e.novelty.words + e.novelty.value),
    ("boundaries + slot", |e| e.boundaries + e.slot),
    ("boundaries + entropy of slots", |e| e.boundaries + e.entropy),
    ("slot", |e| e.slot),
    ("entropy of slots", |e| e.entropy),
    ("mutual information of slot Dirichlets", |e| e.mutual_information),
    ("energy of slots", |e| e.energy),
    ("boundaries", |e| e.boundaries),
];

/// Several scores on one model, each with its own threshold within `budget` on `valid`; those that find most come first.
pub fn rank_scores(model: &Model, budget: f64, valid: &Corpus, new: &Corpus) -> Result<Vec<ScoreReport>> {
    let [on_valid, on_new] = [valid, new].map(|corpus| with_evidence(model, corpus));
    let n_gold = valid.utterances.iter().map(|utterance| label::iter_spans(&utterance.labels).count()).sum();
    let mut reports = Vec::new();
    for (name, score) in SCORES {
        let mut scored = Vec::new();
        for (utterance, found) in valid.utterances.iter().zip(&on_valid) {
            for (found, evidence) in found {
                let correct = label::spans(&utterance.labels).iter().any(|span| found.is(span));
                scored.push(ScoredSpan { uncertainty: score(evidence), correct });
            }
        }
        let threshold = Threshold::for_spans(budget, &scored, n_gold)?;
        let mut ranked: Vec<(f64, bool)> = scored.iter().map(|span| (span.uncertainty, false)).collect();
        let (mut scores, mut questions) = (NewConcepts::default(), Questions::default());
        for (utterance, found) in new.utterances.iter().zip(&on_new) {
            let found: Vec<Found> = (found.iter())
                .map(|(found, evidence)| Found {
                    unknown: threshold.is_unknown(score(evidence)),
                    uncertainty: score(evidence),
                    ..found.clone()
                })
                .collect();
            scores.add(utterance, &labels_of(&found, utterance.words.len()))?;
            questions.add(utterance, &found);
            for span in label::iter_spans(&utterance.labels).filter(|span| span.slot == UNKNOWN) {
                let exact = |found: &&Found| (found.start, found.end) == (span.start, span.end);
                ranked.extend(found.iter().find(exact).map(|found| (found.uncertainty, true)));
            }
        }
        let auroc = Ranking::new(ranked)?.auroc();
        reports.push(ScoreReport {
            score: name,
            auroc,
            scores: scores.scores(),
            questions: questions.shares(),
        });
    }
    reports.sort_by(|a, b| b.scores.strict.f1.total_cmp(&a.scores.strict.f1));
    Ok(reports)
}

/// What a model finds in each utterance, and the evidence for it.
fn with_evidence(model: &Model, corpus: &Corpus) -> Vec<Vec<(Found, Evidence)>> {
    let mut worker = model.worker();
    let mut all = Vec::with_capacity(corpus.utterances.len());
    for utterance in &corpus.utterances {
        worker.tag(&utterance.words);
        all.push(worker.found().into_iter().zip(worker.evidence()).collect());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_of_a_share() {
        // scipy.stats.binomtest(n, of).proportion_ci(0.95, method="wilson")
        for (n, of, low, high) in
            [(0, 10, 0.0, 27.753279986288927), (37, 1800, 1.4949532440004831, 2.8203627412294443)]
        {
            let (a, b) = wilson(n, of);
            assert!((a - low).abs() < 1e-9 && (b - high).abs() < 1e-9, "{n} of {of}: {a} {b}");
        }
    }
}
