//! `meno experiment paper`: the tables and pictures of Shen, Chen and Jin (2020) for a data set.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

use meno::metrics::t_test::{TTest, paired};
use meno::{Result, atomic};
use meno_experiment::paper::{Kind, ModelRun, PaperSettings};
use serde::Serialize;

use super::cells::{Cell, Cells, markdown, quantile};
use super::figures::{self, Figure};
use super::published::{Published, ROWS};
use super::runs::{Fingerprints, RunArgs, Runs, Task};
use super::typed;
use crate::interrupt;
use crate::output::{note, pretty, print};
use crate::style::Style;

pub const EXAMPLES: &str = "\
Examples:
  meno experiment paper --data data/atis --seeds 10 --out atis
  meno experiment paper --data data/atis --seeds 1 --quick --out look    a first look
  meno experiment paper --data data/concepts --out concepts --ood new
  meno experiment paper --data data/atis --encoder minilm --quick --epochs 12 --seeds 3 --out atis-minilm

DIR has train, valid, test and a set of new concepts, whose words are labelled `B-unknown I-unknown` in seq.out and
have their true slots in seq.true. For each seed a calibrated and a plain model are trained; each method's threshold is
chosen on valid, and what is reported comes from test and the set of new concepts.

OUT gets README.md with all tables and pictures, results.json, results.csv, pictures, models and runs. After Ctrl-C, or
to add seeds, type the command again: what is in OUT and has the same settings and data is not done again.";

/// What was typed after `meno experiment paper`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How many seeds: 1, 2, and so on.
    #[arg(long, value_name = "N", default_value = "10")]
    seeds: NonZeroUsize,
    /// Leave out what takes long: perturbed passes, comparisons of states, and half of the epochs.
    #[arg(long)]
    quick: bool,
    /// Whose numbers of the paper stand beside ours; by default those that DIR has its name from.
    #[arg(long, value_name = "NAME")]
    paper: Option<Published>,
    // Last, because its heading would stand above what follows.
    #[command(flatten)]
    run: RunArgs,
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    let encoder = args.run.encoder()?;
    let mut settings = args.run.settings(args.quick, encoder.as_deref())?;
    if args.quick {
        settings.train.epochs = settings.train.epochs.div_ceil(2);
    }
    let runs = Runs::new(&args.run, encoder)?;
    let seeds: Vec<u64> = (1..=args.seeds.get() as u64).collect();
    let task = |&seed: &u64, kind: Kind| Task {
        name: format!("{seed}-{}", kind.name()),
        kind,
        seed,
        settings: settings.clone(),
        with_sample: seed == 1,
    };
    let tasks: Vec<Task> = seeds.iter().flat_map(|seed| Kind::ALL.map(|kind| task(seed, kind))).collect();
    let Some(evaluated) = runs.run(&tasks, style.stderr)? else {
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    };
    let folder = args.run.data.canonicalize().unwrap_or_else(|_| args.run.data.clone());
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let published = args.paper.or_else(|| Published::of_name(&folder));
    let report = Report {
        title: published.map_or(folder.to_string(), |published| published.title().to_owned()),
        args: &args,
        settings: &settings,
        ood: &runs.ood,
        data: &runs.data,
        seeds,
        published,
        methods: methods(&evaluated),
        cells: Cells::of(&evaluated, published),
    };
    report.write(&evaluated)?;
    print(report.table("strict"))?;
    note(format_args!("{}: tables, numbers and pictures", args.run.out.join("README.md").display()));
    Ok(ExitCode::SUCCESS)
}

/// The rows of the paper, then those of ours that were evaluated.
fn methods(runs: &[ModelRun]) -> Vec<String> {
    let mut methods: Vec<String> = ROWS.iter().map(|(method, _)| (*method).to_owned()).collect();
    for method in runs.iter().flat_map(|run| &run.methods) {
        if !methods.contains(&method.method) {
            methods.push(method.method.clone());
        }
    }
    methods
}

/// The name of a method or measure in print.
pub fn title_of(method: &str) -> String {
    const OURS: [(&str, &str); 11] = [
        ("entropy+literal", "Dirichlet entropy + Syntax by the rule `literal`"),
        ("entropy+tree", "Dirichlet entropy + Syntax by the rule `tree`"),
        ("entropy+run", "Dirichlet entropy + Syntax by the rule `run`"),
        ("never", "Never unknown"),
        ("entropy-plus-one", "Entropy of α + 1"),
        ("softmax-entropy", "Softmax entropy"),
        ("max-logit", "Largest logit"),
        ("energy", "Energy"),
        ("mutual-information", "Mutual information"),
        ("mahalanobis", "Mahalanobis distance"),
        ("neighbours", "Distance of neighbours"),
    ];
    let known = ROWS.iter().chain(&OURS).find(|(name, _)| *name == method);
    known.map_or(method, |(_, title)| title).to_owned()
}

struct Report<'a> {
    title: String,
    args: &'a Args,
    settings: &'a PaperSettings,
    ood: &'a str,
    data: &'a Fingerprints,
    seeds: Vec<u64>,
    published: Option<Published>,
    methods: Vec<String>,
    cells: Cells,
}

#[derive(Serialize)]
struct Results<'a> {
    data: &'a Path,
    new_concepts: &'a str,
    fingerprints: &'a Fingerprints,
    settings: &'a PaperSettings,
    seeds: &'a [u64],
    results: &'a [Cell],
    t_tests: Vec<Comparison<'a>>,
}

/// The best method against another, seed by seed.
#[derive(Serialize)]
struct Comparison<'a> {
    best: Name<'a>,
    other: Name<'a>,
    /// By how much the best is better in the mean.
    difference: f64,
    #[serde(flatten)]
    test: Option<TTest>,
}

/// A method on a model.
#[derive(Clone, Copy, PartialEq, Serialize)]
struct Name<'a> {
    model: Kind,
    method: &'a str,
}

impl Name<'_> {
    fn title(self) -> String {
        format!("{}, {}", title_of(self.method), self.model.name())
    }
}

/// What methods are compared by.
const HEADLINE: &str = "strict_f1";

impl Report<'_> {
    fn write(&self, runs: &[ModelRun]) -> Result<()> {
        let out = &self.args.run.out;
        let pictures = out.join("pictures");
        let mut figures = vec![figures::bars(&self.cells, &self.methods, &self.about(), &pictures)?];
        for (run, sample) in runs.iter().filter_map(|run| Some((run, run.sample.as_ref()?))) {
            figures.extend(figures::of_model(run, sample, &self.title, &pictures)?);
        }
        let results = Results {
            data: &self.args.run.data,
            new_concepts: self.ood,
            fingerprints: self.data,
            settings: self.settings,
            seeds: &self.seeds,
            results: &self.cells.cells,
            t_tests: self.contests().into_iter().flatten().collect(),
        };
        atomic::write(&out.join("results.json"), (pretty(&results) + "\n").as_bytes())?;
        atomic::write(&out.join("results.csv"), self.cells.csv().as_bytes())?;
        atomic::write(&out.join("README.md"), self.text(&figures).as_bytes())
    }

    fn about(&self) -> String {
        let n = self.seeds.len();
        format!("{}, {n} seed{}", self.title, if n == 1 { "" } else { "s" })
    }

    fn text(&self, figures: &[Figure]) -> String {
        let budget = self.settings.budget;
        let beside = self.published.map_or(String::new(), |published| {
            let (title, difference) = (published.title(), published.difference());
            format!(
                " In parentheses stands what Shen, Chen and Jin (2020) published for {title}, {difference}."
            )
        });
        let pictures: Vec<String> = figures
            .iter()
            .skip(1)
            .map(|Figure { heading, name }| format!("### {heading}\n\n![{heading}](pictures/{name}.svg)\n"))
            .collect();
        let parts = [
            format!("# New concepts: {}\n", self.about()),
            format!(
                "Mean and standard deviation over the seeds, in percent.{beside} Thresholds are chosen on valid, where \
                 they may cost {budget} point{} of F1 before phrases grow; Syntax is the phrase rule that finds most \
                 slots of valid when word dropout takes all their words, or none if that is better. IND F1 is slot F1 on \
                 test with the threshold, P, R and F1 are of the new concepts in `{}`. A dash is what was not measured.\n",
                if budget == 1.0 { "" } else { "s" },
                self.ood
            ),
            "## Strict\n".to_owned(),
            "A prediction is right if its boundaries are exact and it is `unknown` or has the true slot; precision counts \
             predicted unknown spans, true slots on new concepts, and wrong slots that overlap one.\n"
                .to_owned(),
            self.table("strict"),
            "![F1 of new concepts](pictures/f1.svg)\n".to_owned(),
            "## Words\n".to_owned(),
            "How each measure ranks words of new concepts above those of in-domain test, from 0 to 1; AURC is the area \
             under the risk-coverage curve of the labels of the new-concept set.\n"
                .to_owned(),
            self.words(),
            "Slot F1 without a threshold, intent accuracy, and how far probabilities can be believed, on in-domain test:\n"
                .to_owned(),
            self.models(),
            "## Unknown\n\nPrecision counts predicted unknown spans and true slots on new concepts: who never says \
             unknown has 100.\n"
                .to_owned(),
            self.table("unknown"),
            "## All slots\n\nAll slots of the utterances are to be found, unknown being right for a new concept.\n"
                .to_owned(),
            self.table("all_slots"),
            "## Any\n\nPrecision counts all predicted spans, though only new concepts are to be found.\n"
                .to_owned(),
            self.table("any"),
            self.tests(),
            self.spreads(),
            format!("## Pictures\n\nOf seed {}; histograms of at most 1000 words each.\n", self.seeds[0]),
            pictures.join("\n"),
            format!("## Settings\n\n```json\n{}\n```\n", pretty(self.settings)),
            format!("Made by\n\n```sh\n{}\n```\n", typed()),
        ];
        parts.join("\n")
    }

    /// The paper's table by one way of counting.
    fn table(&self, count: &str) -> String {
        let measures = ["precision", "recall", "f1"].map(|name| format!("{count}_{name}"));
        let best = Kind::ALL.map(|kind| {
            let means = self.cells.of_measure(&measures[2]).filter(|cell| cell.model == kind);
            means.map(|cell| cell.spread.mean).fold(f64::NEG_INFINITY, f64::max)
        });
        let row = |method: &String| {
            let mut row = vec![title_of(method)];
            for (kind, best) in Kind::ALL.into_iter().zip(best) {
                row.push(self.cells.show(kind, method, "test_f1", 2));
                for measure in &measures {
                    let shown = self.cells.show(kind, method, measure, 2);
                    let cell = self.cells.find(kind, method, measure);
                    let is_best =
                        *measure == measures[2] && cell.is_some_and(|cell| cell.spread.mean == best);
                    row.push(if is_best { format!("**{shown}**") } else { shown });
                }
            }
            row
        };
        let (paper, ours) = self.methods.split_at(ROWS.len());
        let rows: Vec<Vec<String>> = paper
            .iter()
            .map(row)
            .chain([vec!["*not in the paper*".to_owned()]])
            .chain(ours.iter().map(row))
            .collect();
        let header = ["method", "calibrated: IND F1", "P", "R", "F1", "plain: IND F1", "P", "R", "F1"];
        markdown(&header, &rows)
    }

    fn words(&self) -> String {
        let measures = ["auroc", "aupr", "fpr_at_95_recall", "aurc"];
        let row = |method: &&String| {
            let cells =
                Kind::ALL.map(|kind| measures.map(|measure| self.cells.show(kind, method, measure, 3)));
            std::iter::once(title_of(method)).chain(cells.into_iter().flatten()).collect()
        };
        let is_measure = |method: &&String| self.cells.find(Kind::Plain, method, "auroc").is_some();
        let rows: Vec<Vec<String>> =
            self.methods.iter().filter(is_measure).map(|method| row(&method)).collect();
        let header = [
            "measure",
            "calibrated: AUROC",
            "AUPR",
            "FPR at 95 % recall",
            "AURC",
            "plain: AUROC",
            "AUPR",
            "FPR at 95 % recall",
            "AURC",
        ];
        markdown(&header, &rows)
    }

    fn models(&self) -> String {
        let row = |kind: Kind| {
            let measures = [("slot_f1", 2), ("intent_accuracy", 2), ("ece", 4), ("brier", 4)];
            let cells = measures.map(|(measure, digits)| self.cells.show(kind, "", measure, digits));
            std::iter::once(kind.name().to_owned()).chain(cells).collect()
        };
        markdown(&["model", "slot F1", "intent accuracy", "ECE", "Brier score"], &Kind::ALL.map(row))
    }

    /// The best of all methods against every other, then the best of the paper's rows if that is another one.
    fn contests(&self) -> Vec<Vec<Comparison<'_>>> {
        let is_of_paper = |cell: &&Cell| ROWS.iter().any(|(method, _)| *method == cell.method);
        let by_mean = |a: &&Cell, b: &&Cell| a.spread.mean.total_cmp(&b.spread.mean);
        let of_all = self.cells.of_measure(HEADLINE).max_by(by_mean);
        let of_paper = self.cells.of_measure(HEADLINE).filter(is_of_paper).max_by(by_mean);
        let mut winners: Vec<&Cell> = of_all.into_iter().chain(of_paper).collect();
        winners.dedup_by(|a, b| (a.model, &a.method) == (b.model, &b.method));
        winners.into_iter().map(|best| self.contest(best)).collect()
    }

    fn contest<'c>(&'c self, best: &'c Cell) -> Vec<Comparison<'c>> {
        let name = |cell: &'c Cell| Name { model: cell.model, method: &cell.method };
        let others = self.cells.of_measure(HEADLINE).filter(|cell| name(cell) != name(best));
        others
            .map(|other| Comparison {
                best: name(best),
                other: name(other),
                difference: best.spread.mean - other.spread.mean,
                test: paired(&best.values, &other.values),
            })
            .collect()
    }

    fn tests(&self) -> String {
        let mut text =
            "## Is the best method better?\n\nStudent's t-test of pairs over the seeds, two-sided, on F1 of \
                        new concepts (strict); p below 0.01 is marked.\n"
                .to_owned();
        for contest in self.contests() {
            let rows: Vec<Vec<String>> = contest.iter().map(Comparison::row).collect();
            if let Some(first) = contest.first() {
                text += &format!("\n**{}** against:\n\n", first.best.title());
                text += &markdown(&["method", "difference", "t", "p", "p < 0.01"], &rows);
            }
        }
        text
    }

    /// How F1 by the strict count is spread over the seeds.
    fn spreads(&self) -> String {
        let row = |cell: &Cell| {
            let name = Name { model: cell.model, method: &cell.method };
            let quantiles = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| quantile(&cell.values, share));
            std::iter::once(name.title()).chain(quantiles.map(|value| format!("{value:.2}"))).collect()
        };
        let rows: Vec<Vec<String>> = self.cells.of_measure(HEADLINE).map(row).collect();
        let header = ["method", "least", "lower quartile", "median", "upper quartile", "most"];
        format!("## Spread over the seeds\n\nStrict F1 of new concepts.\n\n{}", markdown(&header, &rows))
    }
}

impl Comparison<'_> {
    fn row(&self) -> Vec<String> {
        let number =
            |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |x| format!("{x:.digits$}"));
        let p = self.test.map(|test| test.p);
        let shown =
            p.map_or("-".to_owned(), |p| if p < 1e-4 { "< 0.0001".to_owned() } else { format!("{p:.4}") });
        vec![
            self.other.title(),
            format!("{:+.2}", self.difference),
            number(self.test.map(|test| test.t), 2),
            shown,
            if p.is_some_and(|p| p < 0.01) { "yes" } else { "" }.to_owned(),
        ]
    }
}
