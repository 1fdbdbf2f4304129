//! The pictures of the paper's experiment, drawn from the run of one seed; only the bars are means over all.

use std::f64::consts::LN_10;
use std::path::Path;

use meno::Result;
use meno_experiment::paper::{Curves, Kind, ModelRun, Sample};

use super::cells::Cells;
use super::paper::title_of;
use crate::pictures::{
    Axis, Bar, BarRow, Bars, Class, HeatMap, Histogram, Lines, ReliabilityDiagram, Series, save,
};

/// A picture that was drawn: its heading, and its name without an ending.
pub struct Figure {
    pub heading: String,
    pub name: String,
}

/// The measures whose curves are drawn: more could not be told apart.
const CURVES: [&str; 6] =
    ["entropy", "confidence", "top-variance", "dropout", "max-logit", "entropy-plus-one"];

/// Draws the pictures of a model into `folder`.
pub fn of_model(run: &ModelRun, sample: &Sample, data: &str, folder: &Path) -> Result<Vec<Figure>> {
    let kind = run.kind.name();
    let about = format!("{kind} model, {data}, seed {}", run.seed);
    let mut figures = Vec::new();
    let mut draw = |heading: &str, name: String, scene: Result<crate::pictures::Scene>| {
        save(&scene?, &folder.join(&name))?;
        figures.push(Figure { heading: format!("{heading}, {kind} model"), name });
        Ok(())
    };
    let (precision_recall, risk_coverage) =
        (precision_recall(run, sample, &about), risk_coverage(run, sample, &about));
    draw(
        "Precision and recall of words of new concepts",
        format!("precision-recall-{kind}"),
        precision_recall.scene(),
    )?;
    draw("Risk and coverage", format!("risk-coverage-{kind}"), risk_coverage.scene())?;
    let reliability = ReliabilityDiagram {
        title: format!("Reliability: {about}"),
        reliability: sample.reliability.clone(),
    };
    draw("Reliability", format!("reliability-{kind}"), reliability.scene())?;
    if run.kind == Kind::Calibrated {
        draw("Calibration matrix", "calibration-matrix".to_owned(), matrix(sample, data).scene())?;
    }
    for (measure, known, new) in &sample.scores {
        let threshold = run.methods.iter().find(|run| run.method == *measure).and_then(|run| run.threshold);
        let histogram = histogram(measure, [known, new], threshold, &about);
        draw(&title_of(measure), format!("scores-{measure}-{kind}"), histogram.scene())?;
    }
    Ok(figures)
}

/// Bars of new-concept F1 for all methods of both models.
pub fn bars(cells: &Cells, methods: &[String], data: &str, folder: &Path) -> Result<Figure> {
    let bar = |kind: Kind, method: &str| {
        let cell = cells.find(kind, method, "strict_f1")?;
        Some(Bar { mean: cell.spread.mean, deviation: cell.spread.deviation, mark: cell.paper })
    };
    let row = |method: &String| BarRow {
        name: title_of(method),
        bars: Kind::ALL.map(|kind| bar(kind, method)).to_vec(),
    };
    let bars = Bars {
        title: format!("New concepts found by each method: {data}"),
        x_label: "strict F1 of new concepts, in percent".to_owned(),
        series: Kind::ALL.map(|kind| format!("{} model", kind.name())).to_vec(),
        rows: methods.iter().map(row).filter(|row| row.bars.iter().any(Option::is_some)).collect(),
        mark_name: "Shen, Chen and Jin (2020)".to_owned(),
    };
    save(&bars.scene()?, &folder.join("f1"))?;
    Ok(Figure { heading: "F1 of new concepts".to_owned(), name: "f1".to_owned() })
}

fn histogram(measure: &str, scores: [&Vec<f32>; 2], threshold: Option<f64>, about: &str) -> Histogram {
    let all = || scores.into_iter().flatten().map(|&score| f64::from(score)).chain(threshold);
    // Read literally, the entropy runs to -1e12 and more: its order of magnitude is what can be seen.
    let is_wide = all().any(|score| score.abs() > 1e4);
    let place = |score: f64| if is_wide { score.signum() * score.abs().ln_1p() / LN_10 } else { score };
    let class = |name: &str, scores: &[f32]| Class {
        name: name.to_owned(),
        values: scores.iter().map(|&score| place(f64::from(score))).collect(),
    };
    let scale = if is_wide { "; sign(x) log10(1 + |x|)" } else { "" };
    Histogram {
        title: format!("{}: {about}", title_of(measure)),
        x_label: format!("{measure} (higher is less sure{scale})"),
        classes: [class("words of in-domain test", scores[0]), class("words of new concepts", scores[1])],
        threshold: threshold.map(place),
    }
}

fn precision_recall(run: &ModelRun, sample: &Sample, about: &str) -> Lines {
    let series = |curves: &Curves| Series {
        name: named(run, &curves.measure, "AUPR", |run| run.aupr),
        points: curves.precision_recall.clone(),
        spread: Vec::new(),
    };
    Lines {
        title: format!("Precision and recall of words of new concepts: {about}"),
        x: unit("recall"),
        y: unit("precision"),
        series: drawn(sample).map(series).collect(),
        marks: Vec::new(),
    }
}

fn risk_coverage(run: &ModelRun, sample: &Sample, about: &str) -> Lines {
    let series = |curves: &Curves| Series {
        name: named(run, &curves.measure, "AURC", |run| run.aurc),
        points: curves.risk_coverage.clone(),
        spread: Vec::new(),
    };
    Lines {
        title: format!("Risk and coverage on the new-concept set: {about}"),
        x: unit("coverage: share of the words that are labelled, the surest first"),
        y: Axis { label: "risk: share of wrong labels among them".to_owned(), ..Axis::default() },
        series: drawn(sample).map(series).collect(),
        marks: Vec::new(),
    }
}

fn drawn(sample: &Sample) -> impl Iterator<Item = &Curves> {
    CURVES.iter().filter_map(|measure| sample.curves.iter().find(|curves| curves.measure == *measure))
}

fn named(
    run: &ModelRun,
    measure: &str,
    area: &str,
    of: impl Fn(&meno_experiment::paper::MeasureRun) -> Option<f64>,
) -> String {
    let value = run.measures.iter().find(|run| run.measure == measure).and_then(of);
    let value = value.map_or(String::new(), |value| format!(" ({area} {value:.3})"));
    format!("{}{value}", title_of(measure))
}

fn unit(label: &str) -> Axis {
    Axis { label: label.to_owned(), range: Some((0.0, 1.0)), ..Axis::default() }
}

/// The labels that have a weight; the others would be white.
fn matrix(sample: &Sample, data: &str) -> HeatMap {
    let n_labels = sample.labels.len();
    let has_weight = |&label: &usize| {
        let row = sample.matrix[label].iter();
        row.chain(sample.matrix.iter().map(|row| &row[label])).any(|&weight| weight > 0.0)
    };
    let mut shown: Vec<usize> = (0..n_labels).filter(has_weight).collect();
    if shown.is_empty() {
        shown = (0..n_labels).collect();
    }
    let names: Vec<String> = shown.iter().map(|&label| sample.labels[label].clone()).collect();
    let weights = |&row: &usize| shown.iter().map(move |&column| f64::from(sample.matrix[row][column]));
    HeatMap {
        title: format!("Calibration matrix: {data}, {} of {n_labels} labels", shown.len()),
        value_label: "weight".to_owned(),
        row_label: "label that loses".to_owned(),
        column_label: "by whose concentration (others: 0)".to_owned(),
        rows: names.clone(),
        columns: names,
        values: shown.iter().flat_map(weights).collect(),
    }
}
