//! `meno logits`: unknown words for a tagger that was made elsewhere, from its logits alone.

use std::fmt::{self, Display};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Subcommand;
use meno::decision::NamedThreshold;
use meno::external::{Calibration, Companion, FitSettings, Input, Table, TableSettings};
use meno::external::{Temperature, read_label_names, unseen_labels};
use meno::label::UNKNOWN;
use meno::uncertainty::Score;
use meno::{Annotation, Error, Result};

use crate::output::{count, note, written};
use crate::style::{self, Style, paint};

const EXAMPLES: &str = "\
Examples:
  meno logits fit valid.jsonl -o my.cal.json
  meno logits fit valid.npz --corpus DIR/valid --score energy --budget 0.5 -o my.cal.json
  meno logits tag my.cal.json new.jsonl > tagged.jsonl
  meno logits tag my.cal.json new.safetensors --words new.txt

Logits come as .npz, .safetensors or .jsonl; docs/logits.md says what is in them. A line of .jsonl is
  {\"tokens\": [\"play\", \"x\"], \"logits\": [[2.1, -1.0], [0.3, 0.9]], \"labels\": [\"O\", \"B-artist\"]}
and the first line {\"label_names\": [\"O\", \"B-artist\"]}.";

/// What was typed after `meno logits`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Choose a threshold on in-domain utterances that the tagger was not trained on.
    Fit(FitArgs),
    /// Label new utterances, words over the threshold as unknown.
    Tag(TagArgs),
}

#[derive(clap::Args)]
struct FitArgs {
    /// The logits of in-domain utterances with gold labels.
    #[arg(value_name = "VALID")]
    valid: PathBuf,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What measures the uncertainty: confidence, entropy, entropy-plus-one, top-variance, softmax-entropy, max-logit,
    /// energy or mutual-information.
    #[arg(long, value_name = "NAME", default_value = Score::EntropyPlusOne.name())]
    score: String,
    /// How many points of slot F1 the unknown words may cost on VALID.
    #[arg(long, value_name = "POINTS", default_value_t = meno::decision::BUDGET, allow_negative_numbers = true)]
    budget: f64,
    /// Divide the logits by this; `fit` finds the one that makes the gold labels likeliest.
    #[arg(long, value_name = "fit|T", default_value = "1")]
    temperature: TemperatureArg,
    /// Multiply exp(logit) by this; for entropy, entropy-plus-one and mutual-information.
    #[arg(long, value_name = "M", default_value_t = 1.0)]
    scale: f64,
    /// The numbers are probabilities, such as the marginals of a CRF.
    #[arg(long)]
    probabilities: bool,
    /// A file with the name of a label on each line, in the order of the logits.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Words and gold labels: a folder with seq.in and seq.out, or a file of any format that `meno data` reads.
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
}

#[derive(clap::Args)]
struct TagArgs {
    /// A file that `meno logits fit` wrote.
    #[arg(value_name = "CALIBRATION")]
    calibration: PathBuf,
    /// The logits of new utterances, by the same tagger.
    #[arg(value_name = "LOGITS")]
    logits: PathBuf,
    /// A text file with the words of an utterance on each line.
    #[arg(long, value_name = "FILE")]
    words: Option<PathBuf>,
    /// Print JSON even on a terminal.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy)]
struct TemperatureArg(Temperature);

impl FromStr for TemperatureArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fit" => Ok(TemperatureArg(Temperature::Likeliest)),
            text => match text.parse() {
                Ok(temperature) => Ok(TemperatureArg(Temperature::Stated(temperature))),
                Err(_) => Err("a temperature is `fit` or a number from 0.01 to 100".to_owned()),
            },
        }
    }
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    match args.command {
        Command::Fit(args) => fit(args)?,
        Command::Tag(args) => tag(&args, style)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn fit(args: FitArgs) -> Result<()> {
    let input = if args.probabilities { Input::Probabilities } else { Input::Logits };
    let label_names = args.labels.as_deref().map(read_label_names).transpose()?;
    let companion = args.corpus.map_or(Companion::None, Companion::Corpus);
    let table = Table::read(&args.valid, &TableSettings { input, label_names, companion })?;
    let unseen = unseen_labels(&table);
    if !unseen.is_empty() {
        let (labels, names) = (count(unseen.len(), "gold label"), unseen.join(", "));
        note(format_args!("{labels} that the tagger does not have, counted as missed: {names}"));
    }
    let TemperatureArg(temperature) = args.temperature;
    let settings =
        FitSettings { score: args.score.parse()?, budget: args.budget, temperature, scale: args.scale };
    let calibration = Calibration::fit(&table, input, &settings)?;
    calibration.save(&args.output)?;
    let NamedThreshold { score, threshold } = &calibration.threshold;
    let unknown = match threshold.value {
        f64::MIN => "every word is unknown, since the budget is not below the F1".to_owned(),
        value => {
            format!("a word is unknown if its uncertainty ({score}) is over {}", short(value))
        }
    };
    note(format_args!("temperature {:.4}; {unknown}", calibration.temperature));
    note(format_args!(
        "slot F1 on {}: {:.2} before, {:.2} after, within a budget of {}; written to {}",
        count(table.utterances.len(), "utterance"),
        threshold.f1_before,
        threshold.f1_after,
        threshold.budget,
        args.output.display()
    ));
    Ok(())
}

/// Six decimals, or six digits and a power of ten: the entropy of a Dirichlet can have three hundred before the point.
fn short(value: f64) -> String {
    if value.abs() < 1e9 { format!("{value:.6}") } else { format!("{value:.6e}") }
}

fn tag(args: &TagArgs, style: Style) -> Result<()> {
    let calibration = Calibration::load(&args.calibration)?;
    let companion = args.words.clone().map_or(Companion::None, Companion::Words);
    let (input, label_names) = (calibration.input, Some(calibration.labels.clone()));
    let mut table = Table::read(&args.logits, &TableSettings { input, label_names, companion })?;
    let readable = !args.json && (io::stdout().is_terminal() || style.always);
    let mut out = BufWriter::new(io::stdout().lock());
    let result = calibration.apply(&mut table, |annotation| {
        match readable {
            true => writeln!(out, "{}", Line { annotation: &annotation, color: style.stdout })?,
            false => {
                serde_json::to_writer(&mut out, &annotation).map_err(io::Error::from)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    });
    match result {
        Err(Failure::Engine(error)) => Err(error),
        Err(Failure::Output(error)) => written(Err(error)),
        Ok(()) => written(out.flush()),
    }
}

enum Failure {
    Engine(Error),
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Engine(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

/// `play [x|artist] by [the bee sharps|unknown]`
struct Line<'a> {
    annotation: &'a Annotation<'a>,
    color: bool,
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.annotation.text;
        let mut done = 0;
        for span in &self.annotation.spans {
            let code = if span.slot == UNKNOWN { style::UNKNOWN } else { style::SLOTS[0] };
            let name = format!("|{}]", span.slot);
            write!(f, "{}{}", &text[done..span.start], paint("[", style::DIM, self.color))?;
            write!(f, "{}{}", paint(span.text, code, self.color), paint(name, style::DIM, self.color))?;
            done = span.end;
        }
        f.write_str(&text[done..])
    }
}
