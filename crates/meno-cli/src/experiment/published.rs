//! What Shen, Chen and Jin (2020) published, to stand beside what is measured here.

use clap::ValueEnum;
use meno_experiment::paper::Kind;

/// The data sets of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Published {
    Atis,
    Snips,
    Concepts,
}

/// The rows of the paper's tables, from the top: the name in results and the name in print.
pub const ROWS: [(&str, &str); 13] = [
    ("dropout", "Dropout perturbation"),
    ("noise", "Gaussian noise"),
    ("top-variance", "Variance of top candidates"),
    ("oov", "OOV"),
    ("syntax+oov", "Syntax + OOV"),
    ("confidence", "Confidence"),
    ("confidence+syntax", "Confidence + Syntax"),
    ("confidence+oov", "Confidence + OOV"),
    ("confidence+syntax+oov", "Confidence + Syntax + OOV"),
    ("entropy", "Dirichlet entropy"),
    ("entropy+syntax", "Dirichlet entropy + Syntax"),
    ("entropy+oov", "Dirichlet entropy + OOV"),
    ("entropy+syntax+oov", "Dirichlet entropy + Syntax + OOV"),
];

/// A table: the calibrated model first, then the plain one.
struct Table {
    /// Slot F1 on in-domain test without a threshold.
    slot_f1: [f64; 2],
    /// The same with the threshold, for all rows.
    test_f1: [f64; 2],
    /// Precision, recall and F1 of new concepts in each of [`ROWS`].
    new_concepts: [[Option<[f64; 3]>; 2]; 13],
}

impl Published {
    /// The data set that a folder has its name from.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::from_str(name, true).ok()
    }

    /// What the paper calls it.
    pub fn title(self) -> &'static str {
        match self {
            Published::Atis => "ATIS",
            Published::Snips => "Snips",
            Published::Concepts => "Concept Learning",
        }
    }

    /// How its data differs from what is at hand.
    pub fn difference(self) -> &'static str {
        match self {
            Published::Atis | Published::Snips => "with new concepts of their own",
            Published::Concepts => "which is another corpus",
        }
    }

    /// The number for a measure of a method, or of a model if `method` is empty.
    pub fn number(self, kind: Kind, method: &str, measure: &str) -> Option<f64> {
        let table = self.table();
        let kind_idx = usize::from(kind == Kind::Plain);
        if method.is_empty() {
            return (measure == "slot_f1").then_some(table.slot_f1[kind_idx]);
        }
        let row_idx = ROWS.iter().position(|(name, _)| *name == method)?;
        let [precision, recall, f1] = table.new_concepts[row_idx][kind_idx]?;
        // Which of the four ways of counting it has is not said, so it stands beside each.
        match measure.split_once('_')? {
            ("test", "f1") => Some(table.test_f1[kind_idx]),
            ("unknown" | "all_slots" | "strict" | "any", "precision") => Some(precision),
            ("unknown" | "all_slots" | "strict" | "any", "recall") => Some(recall),
            ("unknown" | "all_slots" | "strict" | "any", "f1") => Some(f1),
            _ => None,
        }
    }

    fn table(self) -> &'static Table {
        match self {
            Published::Atis => &ATIS,
            Published::Snips => &SNIPS,
            Published::Concepts => &CONCEPTS,
        }
    }
}

const ATIS: Table = Table {
    slot_f1: [95.06, 95.19],
    test_f1: [94.14, 94.26],
    new_concepts: [
        [None, Some([32.23, 63.54, 42.77])],
        [None, Some([31.99, 64.12, 42.68])],
        [None, Some([34.61, 68.18, 45.91])],
        [None, Some([31.83, 68.71, 43.51])],
        [None, Some([31.53, 67.35, 42.95])],
        [Some([35.64, 68.25, 46.83]), Some([34.27, 68.93, 45.78])],
        [Some([35.73, 68.71, 47.01]), Some([34.73, 69.21, 45.98])],
        [Some([31.92, 68.48, 43.54]), Some([32.38, 69.27, 44.13])],
        [Some([30.32, 66.89, 41.73]), Some([30.74, 67.23, 42.19])],
        [Some([38.20, 70.29, 49.50]), Some([37.06, 70.63, 48.61])],
        [Some([38.31, 70.32, 49.60]), Some([37.06, 70.75, 48.64])],
        [Some([32.51, 69.95, 44.39]), Some([32.96, 70.29, 44.88])],
        [Some([31.03, 68.25, 42.66]), Some([31.50, 68.71, 43.20])],
    ],
};

const SNIPS: Table = Table {
    slot_f1: [88.56, 88.76],
    test_f1: [87.67, 87.81],
    new_concepts: [
        [None, Some([31.56, 60.15, 41.40])],
        [None, Some([30.89, 61.09, 41.03])],
        [None, Some([44.81, 64.78, 52.44])],
        [None, Some([33.66, 63.02, 43.88])],
        [None, Some([31.80, 57.23, 40.88])],
        [Some([46.34, 71.26, 56.16]), Some([45.22, 62.25, 52.39])],
        [Some([46.50, 71.07, 56.22]), Some([45.27, 63.29, 52.56])],
        [Some([33.20, 62.45, 43.35]), Some([32.93, 61.70, 42.94])],
        [Some([30.95, 56.29, 39.94]), Some([30.53, 69.06, 42.34])],
        [Some([47.44, 72.26, 57.28]), Some([46.60, 69.25, 55.71])],
        [Some([47.86, 73.51, 57.97]), Some([46.62, 70.33, 56.07])],
        [Some([33.54, 63.94, 44.00]), Some([33.29, 62.08, 43.34])],
        [Some([31.56, 57.01, 40.63]), Some([31.45, 56.42, 40.39])],
    ],
};

const CONCEPTS: Table = Table {
    slot_f1: [80.76, 80.89],
    test_f1: [79.24, 79.96],
    new_concepts: [
        [None, Some([25.62, 36.04, 29.95])],
        [None, Some([24.98, 36.65, 29.71])],
        [None, Some([29.66, 39.97, 34.05])],
        [None, Some([29.35, 41.59, 34.41])],
        [None, Some([35.12, 38.96, 36.94])],
        [Some([45.22, 45.47, 45.34]), Some([28.66, 36.75, 32.20])],
        [Some([48.09, 48.72, 48.40]), Some([41.11, 39.62, 40.35])],
        [Some([33.13, 44.64, 38.03]), Some([30.50, 40.00, 34.61])],
        [Some([40.73, 53.22, 46.14]), Some([36.12, 40.23, 38.06])],
        [Some([46.78, 45.19, 45.97]), Some([40.90, 43.39, 42.11])],
        [Some([49.05, 48.03, 48.53]), Some([44.02, 46.85, 45.39])],
        [Some([33.02, 44.22, 37.81]), Some([31.67, 43.11, 36.51])],
        [Some([40.72, 42.87, 41.77]), Some([39.74, 41.97, 40.82])],
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A digit that was copied wrongly would break this; three rows of the paper itself break it.
    #[test]
    fn f1_is_the_harmonic_mean() {
        let mut broken = Vec::new();
        for published in Published::value_variants() {
            for ((_, title), models) in ROWS.iter().zip(published.table().new_concepts) {
                for [precision, recall, f1] in models.into_iter().flatten() {
                    let mean: f64 = 2.0 * precision * recall / (precision + recall);
                    if (mean - f1).abs() > 0.02 {
                        broken.push(format!("{}: {title}: {f1}, not {mean:.2}", published.title()));
                    }
                }
            }
        }
        assert_eq!(
            broken,
            [
                "ATIS: Confidence + Syntax: 45.98, not 46.25",
                "Snips: Variance of top candidates: 52.44, not 52.98",
                "Snips: Confidence + Syntax: 52.56, not 52.78"
            ]
        );
    }

    #[test]
    fn numbers_are_found_by_name() {
        let atis = Published::of_name("atis").unwrap();
        assert_eq!(atis.number(Kind::Calibrated, "entropy+syntax", "strict_f1"), Some(49.60));
        assert_eq!(atis.number(Kind::Plain, "entropy", "unknown_precision"), Some(37.06));
        assert_eq!(atis.number(Kind::Plain, "entropy", "test_f1"), Some(94.26));
        assert_eq!(atis.number(Kind::Plain, "", "slot_f1"), Some(95.19));
        assert_eq!(atis.number(Kind::Calibrated, "dropout", "strict_f1"), None);
        assert_eq!(atis.number(Kind::Plain, "max-logit", "strict_f1"), None);
        assert_eq!(atis.number(Kind::Plain, "entropy", "fpr_at_95_recall"), None);
        assert_eq!(Published::of_name("kitchen"), None);
    }
}
