//! `meno eval`: how good a model is on labelled utterances.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meno::corpus::{self, Corpus, Split};
use meno::engine::Measure;
use meno::metrics::new_concepts::NewConceptScores;
use meno::metrics::{Mode, Report, Scores};
use meno::syntax::phrase::Rule;
use meno::{Error, Model, Result};
use meno_experiment::concepts::{self, KnownReport, NewReport};
use meno_experiment::paper::demand_new_concepts;
use meno_experiment::trust::TrustReport;
use meno_experiment::unknown::{Cost, Evaluator, Gain};
use serde::Serialize;

use crate::output::{note, pretty, print};
use crate::settings::OverrideArgs;
use crate::trusted::{self, Format, Trusted};

const EXAMPLES: &str = "\
Examples:
  meno eval my.model DIR                 the test split of a dataset
  meno eval my.model DIR/valid --json    any split, as JSON
  meno eval my.model a.conll b.jsonl     files of any format
  meno eval my.model DIR --ood DIR/new   and how it finds concepts that it never saw
  meno eval my.model DIR --ood DIR/new --score energy --budget 0.5
  meno eval my.model DIR --picture curve.svg

A slot counts as right only if its first word, its last word and its name are (as conlleval and seqeval count).
All figures are percentages. In JSON: slot_precision, slot_recall, slot_f1, intent_accuracy (null if there are no
intents), utterance_accuracy, token_accuracy, utterances, and slots with the scores of each; for one DIR an object,
for several an array of them.

A model with a threshold also says what calling words unknown costs: slot F1 with unknown spans counted as wrong. With
--ood it says what that gives: precision, recall and F1 of the new concepts, which are B-unknown, I-unknown in seq.out
and have their true slots in seq.true, counted in four ways (docs/math.md; strict is the one to quote), and how well the
uncertainty tells their words from others. In JSON: unknown with score, threshold, phrases (the rule by which
unknown words grow, if they do), slot_f1_before, slot_f1 and new_concepts.

A model that says how sure it is (docs/trust.md) also says what it does about it: on how many utterances it acts, how many of
these it reads wrongly (risk), about how many it asks, how many of these needlessly, the area under the curve of risk against
coverage (AURC), and the calibration error of its confidence; with --ood that of the set with new concepts too. In JSON: trust.";

const UNKNOWN: &str = "What is unknown";

/// What was typed after `meno eval`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A model file that `meno train` wrote.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Splits (a folder with seq.in, or a file of any format), or datasets, whose test split is taken.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Count a slot only if it begins with a B- label (seqeval's strict mode).
    #[arg(long)]
    strict: bool,
    /// A set with new concepts: a folder with seq.in, seq.out and seq.true.
    #[arg(long, value_name = "DIR", help_heading = UNKNOWN)]
    ood: Option<PathBuf>,
    /// Another measure of uncertainty than the model's: confidence, entropy, entropy-plus-one, top-variance,
    /// softmax-entropy, max-logit, energy, mutual-information, dropout, noise, mahalanobis or neighbours; its threshold is
    /// chosen on the valid split beside the test split.
    #[arg(long, value_name = "NAME", help_heading = UNKNOWN)]
    score: Option<String>,
    /// What the randomness of dropout and noise comes from.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = UNKNOWN)]
    seed: u64,
    #[command(flatten)]
    threshold: OverrideArgs,
    /// Draw the curve of risk against coverage into a file, .svg or .png.
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Take the words of the corpus as they are; always so here, and understood because `meno tag` has it.
    #[arg(long, hide = true)]
    words: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let picture = args.picture.as_deref().map(|path| Picture::of(path, &args.dirs)).transpose()?;
    let model = Model::load(&args.model)?;
    let model = if model.policy().is_span_level() {
        args.threshold.apply(model)?
    } else {
        args.threshold.without_growth(model)
    };
    let mode = if args.strict { Mode::Strict } else { Mode::Conlleval };
    let splits: Vec<Split> = args.dirs.iter().map(|dir| choose(dir)).collect::<Result<_>>()?;
    let new = args.ood.as_deref().map(read_new_concepts).transpose()?;
    let mut worker = model.worker();
    let mut results = Vec::new();
    for split in &splits {
        let corpus = split.read()?;
        let report = worker.evaluate(&corpus.utterances, mode)?.report();
        let (unknown, concepts) = if model.policy().is_span_level() {
            (None, evaluate_spans(&args, &model, &corpus, new.as_ref())?)
        } else {
            (evaluate_words(&args, &model, &split.path, &corpus, new.as_ref())?, None)
        };
        let trusted = Trusted::if_said(&model, &corpus)?;
        if let Some(picture) = &picture {
            picture.draw(trusted.as_ref(), &split.path)?;
        }
        let trust = trusted.map(|trusted| trust(&model, trusted.report, new.as_ref())).transpose()?;
        results.push(Evaluated { path: &split.path, report, unknown, concepts, trust });
    }
    match results.as_slice() {
        [result] if args.json => print(pretty(result))?,
        results if args.json => print(pretty(&results))?,
        results => {
            let tables: Vec<String> = results.iter().map(Evaluated::table).collect();
            print(tables.join("\n\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A picture that was asked for.
struct Picture<'a> {
    path: &'a Path,
    format: Format,
}

impl<'a> Picture<'a> {
    fn of(path: &'a Path, dirs: &[PathBuf]) -> Result<Self> {
        if dirs.len() > 1 {
            let problem = format!("--picture shows one set, but there are {}", dirs.len());
            return Err(Error::Setting { problem, hint: "name one".to_owned() });
        }
        Ok(Picture { path, format: Format::of(path)? })
    }

    fn draw(&self, trusted: Option<&Trusted>, split: &Path) -> Result<()> {
        let Some(trusted) = trusted else {
            let problem = format!("{}: there is no confidence to draw a curve by", split.display());
            let hint = "models of the span tagger have it if they were trained by this version, and a set needs utterances";
            return Err(Error::Setting { problem, hint: hint.to_owned() });
        };
        self.format.write(&trusted.picture(&last_two(split).display().to_string()), self.path)?;
        note(format_args!("{}: risk and coverage", self.path.display()));
        Ok(())
    }
}

/// The name of a split and of the data that it is of.
fn last_two(split: &Path) -> PathBuf {
    let names: Vec<_> = split.components().collect();
    names[names.len().saturating_sub(2)..].iter().collect()
}

/// What the model does about how sure it is.
fn trust(model: &Model, report: TrustReport, new: Option<&Corpus>) -> Result<Trust> {
    let of_new = new.map(|new| Trusted::if_said(model, new)).transpose()?.flatten();
    Ok(Trust {
        act_from: model.policy().trust.as_ref().map_or(0.0, |trust| trust.act_from),
        report,
        new: of_new.map(|trusted| trusted.report),
    })
}

fn read_new_concepts(path: &Path) -> Result<Corpus> {
    let corpus = corpus::read(path, None)?;
    demand_new_concepts(&corpus)?;
    Ok(corpus)
}

/// Which concepts the model calls unknown, and how good that is; nothing if it has no threshold.
fn evaluate_spans(
    args: &Args,
    model: &Model,
    test: &Corpus,
    new: Option<&Corpus>,
) -> Result<Option<Concepts>> {
    if args.score.is_some() {
        let problem = "--score is a measure of words, but the model scores whole spans".to_owned();
        return Err(Error::Setting { problem, hint: "leave it out".to_owned() });
    }
    let policy = model.policy();
    let Some(threshold) = &policy.threshold else { return Ok(None) };
    let (known, new) = concepts::evaluate(model, test, new)?;
    Ok(Some(Concepts { score: policy.scorer.name(), threshold: threshold.value, known, new }))
}

/// What the model or the arguments call unknown, and how good that is; nothing if neither does.
fn evaluate_words(
    args: &Args,
    model: &Model,
    split: &Path,
    test: &Corpus,
    new: Option<&Corpus>,
) -> Result<Option<Unknown>> {
    if model.is_graph() {
        return match (&args.score, new) {
            (None, None) => Ok(None),
            _ => Err(Error::Setting {
                problem: "what is unknown to a tagger made elsewhere cannot be measured here".to_owned(),
                hint: "leave out --score and --ood; `meno logits` does it for its logits".to_owned(),
            }),
        };
    }
    let policy = model.policy();
    let measure = match &args.score {
        Some(name) => name.parse()?,
        None if policy.threshold.is_none() && new.is_none() && !args.threshold.is_typed() => return Ok(None),
        None => policy.scorer.name().parse::<Measure>()?,
    };
    // A split stands beside others of its data set.
    let folder = match split.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => split,
    };
    let beside = |name: &str| corpus::read_split(folder, name);
    let train = if measure.compares_states() { beside("train")? } else { Corpus::default() };
    let evaluator = Evaluator::new(model, measure, &train, args.seed)?;
    let stored = policy.threshold.as_ref().filter(|_| policy.scorer.name() == measure.name());
    let chosen = |budget: f64| beside("valid").and_then(|valid| evaluator.threshold(budget, &valid));
    let threshold = args.threshold.threshold(stored, chosen)?;
    let (cost, gain) = evaluator.evaluate(&threshold, test, new)?;
    Ok(Some(Unknown {
        score: measure.name(),
        threshold: threshold.value,
        phrases: policy.growth.map(|growth| growth.rule),
        cost,
        new_concepts: gain,
    }))
}

#[derive(Serialize)]
struct Evaluated<'a> {
    path: &'a Path,
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<Unknown>,
    #[serde(rename = "unknown", skip_serializing_if = "Option::is_none")]
    concepts: Option<Concepts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
}

/// What a model that says how sure it is does about it.
#[derive(Serialize)]
struct Trust {
    /// The least confidence with which it acts.
    act_from: f64,
    #[serde(flatten)]
    report: TrustReport,
    #[serde(rename = "new_concepts", skip_serializing_if = "Option::is_none")]
    new: Option<TrustReport>,
}

impl Trust {
    fn table(&self) -> String {
        let mut lines = vec![String::new(), format!("acts from a confidence of {:.2}", self.act_from)];
        lines.extend(trusted::lines(&self.report));
        if let Some(new) = &self.new {
            lines.extend([String::new(), "with new concepts".to_owned()]);
            lines.extend(trusted::lines(new));
        }
        lines.join("\n")
    }
}

/// What a model that scores whole spans calls unknown.
#[derive(Serialize)]
struct Concepts {
    score: &'static str,
    threshold: f64,
    #[serde(flatten)]
    known: KnownReport,
    #[serde(rename = "new_concepts", skip_serializing_if = "Option::is_none")]
    new: Option<NewReport>,
}

impl Concepts {
    fn table(&self) -> String {
        let KnownReport {
            report,
            slot_f1_after,
            flagged,
            flagged_interval: (low, high),
            questions,
            rejected,
        } = &self.known;
        let mut lines = vec![
            String::new(),
            format!("unknown above          {} {:.4}", self.score, self.threshold),
            format!("slot f1 with that      {slot_f1_after:6.2}, without {:.2}", report.slot_f1),
            format!(
                "concepts called unknown {flagged:.2} % ({low:.2} to {high:.2}), utterances refused {rejected:.2} %"
            ),
            format!("needless questions in  {:6.2} % of the utterances", questions.needless_utterances),
        ];
        if let Some(NewReport { scores, boundaries, auroc, questions }) = &self.new {
            lines.push(String::new());
            lines.push(new_concepts_table(scores));
            lines.push(format!("boundaries found       {boundaries:6.2} %"));
            lines.push(format!("silent errors          {:6.2} %", questions.silent_errors));
            lines.push(format!(
                "asked about            {:6.2} %, needlessly {:.2} %",
                questions.asked, questions.needless
            ));
            lines.extend(
                auroc.map(|auroc| format!("AUROC                  {auroc:6.3}, new against known concepts")),
            );
        }
        lines.join("\n")
    }
}

#[derive(Serialize)]
struct Unknown {
    score: &'static str,
    threshold: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    phrases: Option<Rule>,
    #[serde(flatten)]
    cost: Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_concepts: Option<Gain>,
}

impl Evaluated<'_> {
    fn table(&self) -> String {
        let concepts = self.concepts.as_ref().map(Concepts::table);
        let unknown = self.unknown.as_ref().map(Unknown::table).or(concepts).unwrap_or_default();
        let trust = self.trust.as_ref().map(|trust| format!("\n{}", trust.table())).unwrap_or_default();
        format!("{}\n\n{}{unknown}{trust}", self.path.display(), self.report).trim_end().to_owned()
    }
}

impl Unknown {
    fn table(&self) -> String {
        let Cost { slot_f1_before, slot_f1 } = self.cost;
        let mut lines = vec![
            String::new(),
            format!(
                "unknown above          {} {:.4}{}",
                self.score,
                self.threshold,
                self.phrases.map_or(String::new(), |rule| format!(", phrases by the rule `{rule}`"))
            ),
            format!("slot f1 with that      {slot_f1:6.2}, without {slot_f1_before:.2}"),
        ];
        if let Some(Gain { new_concepts: found, words }) = &self.new_concepts {
            lines.push(String::new());
            lines.push(new_concepts_table(found));
            let share = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
            lines.push(format!(
                "words: AUROC {}, AUPR {}, FPR at 95 % recall {}, AURC {}",
                share(words.auroc),
                share(words.aupr),
                share(words.fpr_at_95_recall),
                share(words.aurc)
            ));
        }
        lines.join("\n")
    }
}

fn new_concepts_table(found: &NewConceptScores) -> String {
    let NewConceptScores { unknown, all_slots, strict, any, unknown_spans, found_unknown, found_named } =
        found;
    let mut lines = vec!["new concepts        precision  recall      f1  support".to_owned()];
    for (name, scores) in [("strict", strict), ("all slots", all_slots), ("unknown", unknown), ("any", any)] {
        let Scores { precision, recall, f1, support } = scores;
        lines.push(format!("{name:20} {precision:8.2} {recall:7.2} {f1:7.2} {support:8}"));
    }
    lines.push(format!(
        "{unknown_spans} spans called unknown; of the new concepts {found_unknown} found so, {found_named} by their \
         true slot"
    ));
    lines.join("\n")
}

/// The split that a path means: itself, or the test split of a dataset.
pub fn choose(path: &Path) -> Result<Split> {
    let splits = corpus::splits(path)?;
    if let [split] = splits.as_slice()
        && split.path == path
    {
        return Ok(split.clone());
    }
    match splits.iter().find(|split| split.name == "test") {
        Some(test) => {
            note(format_args!("{}: taking its test split, {}", path.display(), test.path.display()));
            Ok(test.clone())
        }
        None => {
            let names: Vec<&str> = splits.iter().map(|split| split.name.as_str()).collect();
            Err(Error::Dataset {
                problem: format!("{} has no `test` split", path.display()),
                hint: format!("name one of its splits: {}", names.join(", ")),
            })
        }
    }
}
