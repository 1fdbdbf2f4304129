//! What a model that says how sure it is does about it: the figures of [`TrustReport`] as text, and its curves as a picture.

use std::path::Path;

use meno::corpus::Corpus;
use meno::{Error, Model, Result, atomic};
use meno_experiment::trust::{Curves, TrustReport, readings};

use crate::pictures::{Axis, Lines, Mark, Series};

/// What a set shows of a model.
pub struct Trusted {
    pub report: TrustReport,
    pub curves: Curves,
}

impl Trusted {
    /// Reads the set.
    pub fn of(model: &Model, corpus: &Corpus) -> Result<Self> {
        let readings = readings(model, corpus);
        Ok(Trusted { report: TrustReport::of(&readings)?, curves: Curves::of(&readings)? })
    }

    /// The same; nothing if the model does not say how sure it is, or there is nothing to read.
    pub fn if_said(model: &Model, corpus: &Corpus) -> Result<Option<Self>> {
        let is_said = model.policy().trust.is_some() && !corpus.utterances.is_empty();
        is_said.then(|| Self::of(model, corpus)).transpose()
    }

    /// The curve of risk against coverage, with where the model stands.
    pub fn picture(&self, about: &str) -> Lines {
        let Trusted { report, curves } = self;
        let series = |name: &str, area: f64, points: &[(f64, f64)]| Series {
            name: format!("{name} (AURC {area:.2})"),
            points: settled(points, report.utterances),
            spread: Vec::new(),
        };
        let stands = |at: (f64, f64)| Mark {
            name: format!("what it does: acts on {:.1} %, of which {:.1} % wrongly", at.0, at.1),
            at,
        };
        Lines {
            title: format!("Risk and coverage: {about}"),
            x: Axis {
                label: "coverage: utterances acted upon, the surest first, in percent".to_owned(),
                range: Some((0.0, 100.0)),
                ..Axis::default()
            },
            y: Axis { label: "risk: wrong readings among them, in percent".to_owned(), ..Axis::default() },
            series: vec![
                series("by confidence", report.aurc, &curves.confidence),
                series("by the probability of the reading", report.aurc_probability, &curves.probability),
                series("best possible", report.aurc_best, &curves.best),
            ],
            marks: curves.acts.map(stands).into_iter().collect(),
        }
    }
}

/// A share of fewer readings than this says little, and one wrong among the first would be all that is seen.
const SETTLED: usize = 10;

/// The points of a curve that are a share of enough readings, or all if there are few.
fn settled(points: &[(f64, f64)], utterances: usize) -> Vec<(f64, f64)> {
    let from = match utterances {
        0..100 => 0.0,
        n => 100.0 * SETTLED as f64 / n as f64,
    };
    points.iter().copied().filter(|(coverage, _)| *coverage >= from).collect()
}

/// The figures, a line each.
pub fn lines(report: &TrustReport) -> Vec<String> {
    let TrustReport { wrong, acts, risk, asks, rejects, needless, needless_questions, .. } = report;
    let TrustReport { aurc, aurc_probability, aurc_best, believed, calibration_error, .. } = report;
    vec![
        format!("read wrongly           {wrong:6.2} %"),
        format!("acted upon             {acts:6.2} %, of which {risk:.2} % wrongly"),
        format!(
            "asked about            {asks:6.2} %, rejected {rejects:.2} %, of both {needless_questions:.2} % needlessly"
        ),
        format!("right, not acted upon  {needless:6.2} % of what is read rightly"),
        format!("AURC                   {aurc:6.2}, by -log p {aurc_probability:.2}, at best {aurc_best:.2}"),
        format!(
            "confidence             {believed:6.2} % on average, calibration error {calibration_error:.2}"
        ),
    ]
}

/// Which of the two formats of pictures a file name asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Svg,
    Png,
}

impl Format {
    /// By the ending of the name.
    pub fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        match ending.as_deref() {
            Some("svg") => Ok(Format::Svg),
            Some("png") => Ok(Format::Png),
            _ => Err(Error::Setting {
                problem: format!("{}: a picture is a .svg or a .png", path.display()),
                hint: "let the name of the file end so".to_owned(),
            }),
        }
    }

    /// Writes a picture; the file is whole or not there.
    pub fn write(self, lines: &Lines, path: &Path) -> Result<()> {
        let scene = lines.scene()?;
        match self {
            Format::Svg => atomic::write(path, scene.svg().as_bytes()),
            Format::Png => atomic::write(path, &scene.png()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_is_the_format() {
        assert_eq!(Format::of(Path::new("a/b.svg")).unwrap(), Format::Svg);
        assert_eq!(Format::of(Path::new("b.PNG")).unwrap(), Format::Png);
        for bad in ["b", "b.jpg", ".svg", ""] {
            assert!(Format::of(Path::new(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn few_readings_begin_no_curve_of_many() {
        let points: Vec<(f64, f64)> = (1..=200).map(|n| (f64::from(n) / 2.0, 50.0)).collect();
        assert_eq!(settled(&points, 200)[0], (5.0, 50.0));
        assert_eq!(settled(&points[..5], 5), points[..5]);
    }
}
