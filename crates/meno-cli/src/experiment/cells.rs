//! Numbers over seeds, by model, method and measure; and tables of them.

use std::collections::HashMap;
use std::fmt::Write;

use meno_experiment::Spread;
use meno_experiment::paper::{Kind, ModelRun};
use serde::Serialize;

use super::published::Published;

/// One measure of a method, or of a whole model, over all seeds.
#[derive(Debug, Serialize)]
pub struct Cell {
    pub model: Kind,
    /// Empty for what no method changes.
    pub method: String,
    pub measure: String,
    #[serde(flatten)]
    pub spread: Spread,
    /// In the order of the seeds.
    pub values: Vec<f64>,
    /// What the paper has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<f64>,
}

/// Model, method and measure.
type Key<'a> = (Kind, &'a str, &'a str);

/// All of them, in the order in which they are evaluated.
pub struct Cells {
    pub cells: Vec<Cell>,
    published: Option<Published>,
}

impl Cells {
    pub fn of(runs: &[ModelRun], published: Option<Published>) -> Self {
        let mut places: HashMap<Key<'_>, usize> = HashMap::new();
        let mut columns: Vec<(Key<'_>, Vec<f64>)> = Vec::new();
        for run in runs {
            for (method, measure, value) in numbers(run) {
                let key = (run.kind, method, measure);
                let place = *places.entry(key).or_insert_with(|| {
                    columns.push((key, Vec::new()));
                    columns.len() - 1
                });
                columns[place].1.push(value);
            }
        }
        let cell = |((model, method, measure), values): (Key<'_>, Vec<f64>)| {
            Some(Cell {
                model,
                method: method.to_owned(),
                measure: measure.to_owned(),
                spread: Spread::of(values.iter().copied())?,
                values,
                paper: published.and_then(|published| published.number(model, method, measure)),
            })
        };
        Cells { cells: columns.into_iter().filter_map(cell).collect(), published }
    }

    pub fn find(&self, model: Kind, method: &str, measure: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.model == model && cell.method == method && cell.measure == measure)
    }

    /// The cells of a measure, those of all methods and models.
    pub fn of_measure(&self, measure: &str) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.measure == measure)
    }

    /// Mean and deviation, or a dash, with what the paper has.
    pub fn show(&self, model: Kind, method: &str, measure: &str, digits: usize) -> String {
        let ours = self.find(model, method, measure);
        let ours = ours.map_or("-".to_owned(), |cell| show(cell.spread, cell.values.len(), digits));
        let paper = self.published.and_then(|published| published.number(model, method, measure));
        format!("{ours}{}", paper.map_or(String::new(), |paper| format!(" ({paper:.2})")))
    }

    /// One line for each.
    pub fn csv(&self) -> String {
        let mut csv = "model,method,measure,mean,deviation,n,paper\n".to_owned();
        for Cell { model, method, measure, spread, values, paper } in &self.cells {
            let paper = paper.map_or(String::new(), |paper| paper.to_string());
            let (model, Spread { mean, deviation }, n) = (model.name(), spread, values.len());
            let _ = writeln!(csv, "{model},{method},{measure},{mean},{deviation},{n},{paper}");
        }
        csv
    }
}

/// A mean, with its deviation if there is one.
pub fn show(spread: Spread, n: usize, digits: usize) -> String {
    let Spread { mean, deviation } = spread;
    if n > 1 { format!("{mean:.digits$} ± {deviation:.digits$}") } else { format!("{mean:.digits$}") }
}

/// What a run measured: method, measure, value.
fn numbers(run: &ModelRun) -> Vec<(&str, &'static str, f64)> {
    let mut numbers = vec![
        ("", "slot_f1", run.test_f1),
        ("", "valid_slot_f1", run.valid_f1),
        ("", "ece", run.ece),
        ("", "brier", run.brier),
    ];
    numbers.extend(run.intent_accuracy.map(|accuracy| ("", "intent_accuracy", accuracy)));
    for method in &run.methods {
        let (name, scores) = (method.method.as_str(), &method.new_concepts);
        numbers.push((name, "test_f1", method.test_f1));
        numbers.extend(method.threshold.map(|threshold| (name, "threshold", threshold)));
        for (names, scores) in [
            (["unknown_precision", "unknown_recall", "unknown_f1"], scores.unknown),
            (["all_slots_precision", "all_slots_recall", "all_slots_f1"], scores.all_slots),
            (["strict_precision", "strict_recall", "strict_f1"], scores.strict),
            (["any_precision", "any_recall", "any_f1"], scores.any),
        ] {
            let values = [scores.precision, scores.recall, scores.f1];
            numbers.extend(names.into_iter().zip(values).map(|(measure, value)| (name, measure, value)));
        }
        for (measure, spans) in [
            ("unknown_spans", scores.unknown_spans),
            ("found_unknown", scores.found_unknown),
            ("found_named", scores.found_named),
        ] {
            numbers.push((name, measure, spans as f64));
        }
    }
    for measure in &run.measures {
        for (name, value) in [
            ("auroc", measure.auroc),
            ("aupr", measure.aupr),
            ("fpr_at_95_recall", measure.fpr_at_95_recall),
            ("aurc", measure.aurc),
        ] {
            numbers.extend(value.map(|value| (measure.measure.as_str(), name, value)));
        }
    }
    numbers
}

/// A Markdown table whose columns stand one below the other in the text too: names to the left, numbers to the right.
pub fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|&name| name.to_owned()).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&header).chain(rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = widths.iter().enumerate().map(|(column, &width)| {
            let cell = row.get(column).map_or("", String::as_str);
            if column == 0 { format!(" {cell:<width$} |") } else { format!(" {cell:>width$} |") }
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = widths.iter().enumerate().map(|(column, &width)| {
        let dashes = "-".repeat(width);
        if column == 0 { format!(" {dashes} |") } else { format!(" {dashes}:|") }
    });
    let rule = format!("|{}\n", rule.collect::<String>());
    std::iter::once(line(&header)).chain([rule]).chain(rows.iter().map(line)).collect()
}

/// The value below which a share of the numbers lies, between two of them if need be.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len().saturating_sub(1)) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    match (sorted.get(below), sorted.get(above)) {
        (Some(low), Some(high)) => low + (high - low) * (place - below as f64),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `numpy.quantile`.
    #[test]
    fn quantiles_are_those_of_numpy() {
        let values = [4.0, 1.0, 3.0, 2.0];
        for (share, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 2.5), (0.75, 3.25), (1.0, 4.0)] {
            assert_eq!(quantile(&values, share), expected);
        }
        assert_eq!(quantile(&[5.0], 0.25), 5.0);
    }

    #[test]
    fn columns_of_a_table_are_as_wide_as_their_longest_cell() {
        let rows =
            [vec!["α".to_owned(), "1.5 ± 0.1".to_owned()], vec!["long name".to_owned(), "-".to_owned()]];
        let expected = "\
| method    |        F1 |
| --------- | ---------:|
| α         | 1.5 ± 0.1 |
| long name |         - |
";
        assert_eq!(markdown(&["method", "F1"], &rows), expected);
    }
}
