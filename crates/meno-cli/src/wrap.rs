//! `meno wrap`: a tagger made elsewhere, as an ONNX graph, becomes a model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meno::corpus::{self, Corpus};
use meno::decision::{BUDGET, PolicySettings};
use meno::wrap::{WrapFiles, WrapSettings, Wrapped, wrap};
use meno::{Result, atomic};

use crate::output::{count, note};

const EXAMPLES: &str = "\
Examples:
  meno wrap model.onnx --tokenizer tokenizer.json --labels config.json --valid DIR/valid -o my.meno
  meno wrap lstm.onnx --tokenizer words.txt --labels labels.txt --intents intents.txt --valid DIR -o my.meno

The graph takes the ids of pieces or words and gives a row of logits for each, one a label; docs/onnx.md says more.
Without --valid nothing is ever unknown.";

/// What was typed after `meno wrap`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The tagger, as an ONNX graph.
    #[arg(value_name = "GRAPH")]
    graph: PathBuf,
    /// What cuts text for it: tokenizer.json or vocab.txt of word pieces, or its words, as a JSON list or one a line.
    #[arg(long, value_name = "FILE")]
    tokenizer: PathBuf,
    /// The names of its labels: config.json with id2label, a JSON list, or one a line.
    #[arg(long, value_name = "FILE")]
    labels: PathBuf,
    /// The names of its intents, if it has any; in the same formats.
    #[arg(long, value_name = "FILE")]
    intents: Option<PathBuf>,
    /// In-domain utterances that it was not trained on, by which it is calibrated: a dataset with the split valid, or a split.
    #[arg(long, value_name = "DIR")]
    valid: Option<PathBuf>,
    /// How to talk about the slots and intents, in TOML (docs/corpora.md); by default the file corpus.toml of the dataset.
    #[arg(long, value_name = "FILE", requires = "valid")]
    describe: Option<PathBuf>,
    /// The model file to write.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    /// The language of the tagger by its code, such as en, es or zh-Hans; by default whether it is English is found.
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// The output of the graph with the labels; by default it is found by its name and width.
    #[arg(long, value_name = "NAME")]
    label_output: Option<String>,
    /// The output of the graph with the intents.
    #[arg(long, value_name = "NAME")]
    intent_output: Option<String>,
    /// The most pieces that the graph takes at once; by default what config.json says, or 512.
    #[arg(long, value_name = "N")]
    max_pieces: Option<usize>,
    /// What measures the uncertainty, as in `meno logits fit` (softmax-entropy).
    #[arg(long, value_name = "NAME")]
    score: Option<String>,
    /// How many points of slot F1 the unknown words may cost on the valid set.
    #[arg(long, value_name = "POINTS", default_value_t = BUDGET, allow_negative_numbers = true)]
    budget: f64,
}

/// The split `valid` of a dataset, or what is a single split.
fn read_valid(path: &Path) -> Result<Corpus> {
    let splits = corpus::splits(path)?;
    match &splits[..] {
        [only] => only.read(),
        splits => corpus::find_split(path, splits, "valid")?.read(),
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    atomic::demand_writable(&args.output)?;
    let score = args.score.as_deref().map(str::parse).transpose()?;
    let settings = WrapSettings {
        label_output: args.label_output,
        intent_output: args.intent_output,
        max_pieces: args.max_pieces,
        language: args.language,
        policy: PolicySettings { score, budget: Some(args.budget), ..PolicySettings::default() },
    };
    let valid = args.valid.as_deref().map(read_valid).transpose()?;
    let valid = match (valid, &args.describe) {
        (Some(valid), Some(file)) => Some(valid.described_by(file)?),
        (valid, _) => valid,
    };
    let files = WrapFiles {
        graph: args.graph,
        tokenizer: args.tokenizer,
        labels: args.labels,
        intents: args.intents,
    };
    let Wrapped { model, temperature, report } = wrap(&files, valid.as_ref(), &settings)?;
    model.save(&args.output)?;
    let n_labels = model.features().labels.len();
    note(format_args!("{}, {}", count(n_labels, "label"), count(model.features().intents.len(), "intent")));
    match (&report, &model.policy().threshold) {
        (Some(report), Some(threshold)) => note(format_args!(
            "temperature {temperature:.4}; slot F1 on {} is {:.2}, and {:.2} with what is unknown",
            count(report.utterances, "utterance"),
            threshold.f1_before,
            threshold.f1_after,
        )),
        _ => note("nothing is ever unknown: there is no valid set with slots to choose a threshold on"),
    }
    note(format_args!("written to {}", args.output.display()));
    Ok(ExitCode::SUCCESS)
}
