//! `meno data`: statistics, checks and conversion of corpora. Results go to standard output, notes to standard error.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use meno::corpus::conll::Layout;
use meno::corpus::stats::Stats;
use meno::corpus::{self, Corpus, Finding, Format, NewValues, Scheme, Split};
use meno::label::{self, UNKNOWN};
use meno::train::TrainSettings;
use meno::{Error, Result, atomic};
use serde::Serialize;

use crate::output::{count, note, pretty, print, written};
use crate::settings::ColumnsArgs;

const EXAMPLES: &str = "\
Examples:
  meno data stats data/concepts
  meno data check DIR                     exit 1 if something is found
  meno data convert DIR/train train.conll
  meno data convert nlu.yml OUT --to folder
  meno data split nlu.yml OUT --test 0.2  train, valid and test, alike in intents and slots
  meno data new-concepts DIR/test --values cities.tsv --train DIR --out DIR/new

  meno data convert xsid.conll - --to jsonl --columns 2,4

Read and written are folders with seq.in, seq.out and label, CoNLL, JSONL with tokens and ner_tags, lines of word:tag,
Snips JSON, Rasa NLU in YAML and Markdown, MASSIVE JSONL. Read are also SLURP, HWU64 and other tables, Snips YAML, the
sentences of Home Assistant (hassil), and exports of Dialogflow, LUIS, CLU, wit.ai and Label Studio. The format is found
out by itself; docs/corpora.md says how.";

/// What was typed after `meno data`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Count utterances, words, labels and new concepts.
    Stats {
        #[command(flatten)]
        data: DataArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List everything that spoils training; exit with 1 if there is something.
    Check {
        #[command(flatten)]
        data: DataArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a split, or all splits of a dataset, in another format.
    Convert {
        /// A file, a folder with seq.in, or a dataset.
        #[arg(value_name = "IN")]
        input: PathBuf,
        /// The file or folder to write, `-` for standard output; for a dataset the folder that gets one file or folder
        /// for each split.
        #[arg(value_name = "OUT")]
        output: PathBuf,
        /// The format of IN: folder, conll, jsonl, snips, rasa, massive, word-tag, rasa-md, slurp, csv, snips-yaml,
        /// hassil, dialogflow, luis, clu, wit or label-studio; detected by default.
        #[arg(long, value_name = "FORMAT")]
        from: Option<String>,
        /// The format of OUT; by default from its extension.
        #[arg(long, value_name = "FORMAT")]
        to: Option<String>,
        /// The tags of a folder, CoNLL, JSONL or word:tag: iob1, iob2 or bilou.
        #[arg(long, value_name = "SCHEME")]
        scheme: Option<String>,
        #[command(flatten)]
        columns: ColumnsArgs,
    },
    /// Cut a corpus into train, valid and test, each with its share of every intent and slot.
    Split(SplitArgs),
    /// Put new values into a labelled set, to measure whether they are found.
    #[command(after_help = NEW_CONCEPTS)]
    NewConcepts(NewConceptsArgs),
}

/// Datasets to look at.
#[derive(clap::Args)]
struct DataArgs {
    /// Datasets (folders with train, valid, test) or single splits.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    #[command(flatten)]
    columns: ColumnsArgs,
}

#[derive(clap::Args)]
struct SplitArgs {
    /// A file of any format, a folder with seq.in, or a dataset, whose train split is cut.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The folder to write; it must not be there, or be empty.
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// The share to validate on; 0 for none.
    #[arg(long, value_name = "SHARE", default_value = "0.1")]
    valid: f64,
    /// The share to test on; 0 for none.
    #[arg(long, value_name = "SHARE", default_value = "0.1")]
    test: f64,
    /// The format of what is written.
    #[arg(long, value_name = "FORMAT", default_value = "folder")]
    to: String,
    #[command(flatten)]
    columns: ColumnsArgs,
    /// What all randomness comes from.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

const NEW_CONCEPTS: &str = "\
Every value of a slot that FILE has values for is replaced by one of them, as Shen, Chen and Jin (2020) do; utterances
without such a slot are left out. OUT gets seq.in, seq.out with the new values as B-unknown I-unknown, seq.true with
their slots, and label: a set for `meno experiment paper --ood`.

FILE has lines of a slot, a tab and a value, or is JSON: {\"city\": [\"Oslo\", \"San José\"], ...}. Values are written as
TEST writes its words. Those of a slot are used in random order, none twice before all were used.";

#[derive(clap::Args)]
struct NewConceptsArgs {
    /// The labelled set: a folder with seq.in, a file, or a dataset with a test split.
    #[arg(value_name = "TEST")]
    test: PathBuf,
    /// The new values, by slot.
    #[arg(long, value_name = "FILE")]
    values: PathBuf,
    /// The folder to write; it must not be there, or be empty.
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
    /// What the tagger is trained on, a set or a dataset: a value that stands there in its slot is refused.
    #[arg(long, value_name = "DIR")]
    train: Option<PathBuf>,
    /// Leave values that training has out, instead of refusing them.
    #[arg(long, requires = "train")]
    skip_seen: bool,
    /// Utterances to make of each, with other values.
    #[arg(long, value_name = "N", default_value = "1")]
    copies: NonZeroUsize,
    /// What all randomness comes from.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Stats { data, json } => stats(&data, json),
        Command::Check { data, json } => check(&data, json),
        Command::Convert { input, output, from, to, scheme, columns } => {
            let conversion = Conversion {
                from: from.map(|name| name.parse()).transpose()?,
                to: to.map(|name| name.parse()).transpose()?,
                scheme: scheme.map(|name| name.parse()).transpose()?,
                columns: columns.layout()?,
            };
            conversion.run(&input, &output)
        }
        Command::Split(args) => split(&args),
        Command::NewConcepts(args) => new_concepts(&args),
    }
}

fn stats(DataArgs { dirs, columns }: &DataArgs, json: bool) -> Result<ExitCode> {
    let columns = columns.layout()?;
    let mut of_datasets = Vec::new();
    for dir in dirs {
        let splits = corpus::splits_with(dir, columns)?;
        let open = match splits.iter().find(|split| split.name == "train").or(splits.first()) {
            Some(split) => open_slots(&split.read()?)?,
            None => Vec::new(),
        };
        of_datasets.push(DatasetStats { stats: Stats::of_splits(dir, &splits)?, open });
    }
    if json {
        print(pretty(&of_datasets))?;
    } else {
        let tables: Vec<String> = of_datasets.iter().map(DatasetStats::to_string).collect();
        print(tables.join("\n").trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What a dataset has, and which of its slots look open.
#[derive(Serialize)]
struct DatasetStats {
    #[serde(flatten)]
    stats: Stats,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    open: Vec<String>,
}

impl std::fmt::Display for DatasetStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.stats)?;
        match &self.open[..] {
            [] => Ok(()),
            open => {
                writeln!(f, "\nslots that look open, with more values than the data: {}", open.join(", "))
            }
        }
    }
}

/// The slots that look open to the default tagger; none where nothing can be trained.
fn open_slots(train: &Corpus) -> Result<Vec<String>> {
    match train.utterances.iter().all(|utterance| utterance.words.is_empty()) {
        true => Ok(Vec::new()),
        false => meno::train::looks_open(train, &TrainSettings::default()),
    }
}

fn check(DataArgs { dirs, columns }: &DataArgs, json: bool) -> Result<ExitCode> {
    let columns = columns.layout()?;
    let mut findings: Vec<Finding> = Vec::new();
    for dir in dirs {
        findings.extend(corpus::check::check_splits(corpus::splits_with(dir, columns)?)?);
    }
    if json {
        print(pretty(&findings))?;
    } else if !findings.is_empty() {
        let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
        print(lines.join("\n"))?;
    }
    match findings.len() {
        0 => note("nothing found"),
        1 => note("1 finding"),
        n => note(format_args!("{n} findings")),
    }
    Ok(ExitCode::from(u8::from(!findings.is_empty())))
}

fn split(args: &SplitArgs) -> Result<ExitCode> {
    let shares = [1.0 - args.valid - args.test, args.valid, args.test];
    if !(shares[0] > 0.0 && args.valid >= 0.0 && args.test >= 0.0) {
        return Err(Error::Setting {
            problem: format!("{} to validate on and {} to test on", args.valid, args.test),
            hint: "both are shares such as 0.1, and something must be left to train on".to_owned(),
        });
    }
    let format: Format = args.to.parse()?;
    demand_empty(&args.output)?;
    let corpus = read_split(&args.input, "train", args.columns.layout()?)?;
    for (part, name) in corpus.split(&shares, args.seed).iter().zip(["train", "valid", "test"]) {
        if part.utterances.is_empty() {
            continue;
        }
        let mut path = args.output.join(name);
        if let Some(extension) = format.extension() {
            path.set_extension(extension);
        }
        std::fs::create_dir_all(&args.output)
            .map_err(|source| Error::Write { path: args.output.clone(), source })?;
        corpus::write(part, &path, format)?;
        note(format_args!("{}: {}", path.display(), count(part.utterances.len(), "utterance")));
    }
    copy_description(&args.input, &args.output)?;
    note_lost_values(&corpus, format);
    Ok(ExitCode::SUCCESS)
}

fn new_concepts(args: &NewConceptsArgs) -> Result<ExitCode> {
    demand_empty(&args.out)?;
    let test = read_split(&args.test, "test", None)?;
    let mut values = NewValues::read(&args.values, &test)?;
    match &args.train {
        None => note("note: without --train nobody knows whether the values are new"),
        Some(train) => values = unseen(&values, &read_split(train, "train", None)?, args)?,
    }
    let made = values.substitute(&test, args.seed, args.copies.get());
    corpus::write(&made, &args.out, Format::Folder)?;
    let spans = made.utterances.iter().flat_map(|utterance| label::iter_spans(&utterance.labels));
    let n_new = spans.filter(|span| span.slot == UNKNOWN).count();
    let n_utterances = made.utterances.len();
    note(format_args!(
        "{}: {} with {}, from {} of {} and {}",
        args.out.display(),
        count(n_utterances, "utterance"),
        count(n_new, "new concept"),
        count(values.values().len(), "value"),
        count(slots(&values), "slot"),
        count(test.utterances.len(), "utterance")
    ));
    Ok(ExitCode::SUCCESS)
}

fn slots(values: &NewValues) -> usize {
    values.values().iter().map(|value| value.slot.as_str()).collect::<BTreeSet<_>>().len()
}

/// The values that training has not; if it has some, that is an error unless they are to be left out.
fn unseen(values: &NewValues, train: &Corpus, args: &NewConceptsArgs) -> Result<NewValues> {
    let seen = values.seen_in(train);
    if seen.is_empty() {
        return Ok(values.clone());
    }
    let (path, n_seen) = (args.values.display(), count(seen.len(), "value"));
    if args.skip_seen {
        note(format_args!("{path}: {n_seen} left out, which training has"));
        return values.unseen_in(train);
    }
    for (value, line) in &seen {
        let train = train.path.display();
        note(format_args!("{path}:{}: {value} is not new: training has it, {train}:{line}", value.line));
    }
    Err(Error::Setting {
        problem: format!("{path}: training has {n_seen} of {}", values.values().len()),
        hint: "take these lines away, or leave them out with --skip-seen".to_owned(),
    })
}

fn demand_empty(out: &Path) -> Result<()> {
    match std::fs::read_dir(out).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(Error::Setting {
            problem: format!("{} is there and not empty", out.display()),
            hint: "name another folder".to_owned(),
        }),
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::Write { path: out.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// The set that a path means: itself, or the split of this name of a dataset.
fn read_split(path: &Path, name: &str, columns: Option<Layout>) -> Result<Corpus> {
    match corpus::splits_with(path, columns)?.as_slice() {
        [split] if split.path == path => split.read(),
        splits => corpus::find_split(path, splits, name)?.read(),
    }
}

struct Conversion {
    from: Option<Format>,
    to: Option<Format>,
    scheme: Option<Scheme>,
    columns: Option<Layout>,
}

impl Conversion {
    fn run(&self, input: &Path, output: &Path) -> Result<ExitCode> {
        if self.columns.is_some() && self.from.is_some_and(|format| format != Format::Conll) {
            return Err(Error::Setting {
                problem: "`--columns` is for CoNLL".to_owned(),
                hint: "leave it or `--from` out".to_owned(),
            });
        }
        // A stated format leaves nothing to look for, so IN is one split.
        if let Some(format) = self.from.filter(|_| self.columns.is_none()) {
            self.write(&corpus::read(input, Some(format))?, output, self.target(output)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let splits = corpus::splits_with(input, self.columns)?;
        match splits.as_slice() {
            [split] if split.path == input => {
                let format = self.target(output)?;
                self.write(&split.read()?, output, format)?;
                if format == Format::Folder {
                    copy_description(input, output)?;
                }
            }
            _ if same_folder(input, output) => {
                return Err(Error::Setting {
                    problem: format!("{} is both IN and OUT", input.display()),
                    hint: "write the dataset into another folder".to_owned(),
                });
            }
            splits => {
                self.dataset(splits, output)?;
                copy_description(input, output)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn dataset(&self, splits: &[Split], output: &Path) -> Result<()> {
        if is_stdout(output) {
            return Err(Error::Setting {
                problem: format!("a dataset of {} splits does not fit into standard output", splits.len()),
                hint: "name a folder to write, or one split to read".to_owned(),
            });
        }
        let Some(format) = self.to else {
            return Err(Error::Setting {
                problem: "the format of a dataset cannot be told from the name of its folder".to_owned(),
                hint: format!("say `--to conll`, or another of {}", Format::written_names()),
            });
        };
        // All are read and found fit before the first is written, so a bad split leaves no half of a dataset.
        let corpora: Vec<Corpus> = splits.iter().map(Split::read).collect::<Result<_>>()?;
        corpora.iter().try_for_each(|corpus| corpus::demand_fit(corpus, format))?;
        std::fs::create_dir_all(output).map_err(|source| Error::Write { path: output.to_owned(), source })?;
        for (split, corpus) in splits.iter().zip(&corpora) {
            let name = match format.extension() {
                Some(extension) => format!("{}.{extension}", split.name),
                None => split.name.clone(),
            };
            self.write(corpus, &output.join(name), format)?;
        }
        Ok(())
    }

    fn target(&self, output: &Path) -> Result<Format> {
        let of_name = || Format::from_extension(output).filter(|_| !is_stdout(output));
        self.to.or_else(of_name).ok_or_else(|| Error::Setting {
            problem: format!("no format is known for the name {}", output.display()),
            hint: format!("say `--to conll`, or another of {}", Format::written_names()),
        })
    }

    fn write(&self, corpus: &Corpus, path: &Path, format: Format) -> Result<()> {
        if self.scheme.is_some() && !format.has_tags() {
            return Err(Error::Setting {
                problem: format!("the format {format} has no tags, so `--scheme` means nothing"),
                hint: "leave `--scheme` out, or write folder, conll, jsonl or word-tag".to_owned(),
            });
        }
        if is_stdout(path) {
            let text = corpus::to_text(corpus, format, self.scheme.unwrap_or_default())?;
            note_lost_values(corpus, format);
            return written(io::stdout().lock().write_all(text.as_bytes()));
        }
        match corpus::write_with(corpus, path, format, self.scheme.unwrap_or_default()) {
            Err(Error::Write { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
        note(format_args!("{}: {} utterances", path.display(), corpus.utterances.len()));
        note_lost_values(corpus, format);
        Ok(())
    }
}

/// Takes what a dataset says of itself along, with its comments.
fn copy_description(input: &Path, output: &Path) -> Result<()> {
    let Some(file) = corpus::description_file(input).filter(|_| !same_folder(input, output)) else {
        return Ok(());
    };
    let copy = output.join(corpus::DESCRIPTION);
    let text = std::fs::read(&file).map_err(|source| Error::Read { path: file, source })?;
    atomic::write(&copy, &text)?;
    note(format_args!("{}: how to talk about it", copy.display()));
    Ok(())
}

/// Says what does not come back from what was written.
fn note_lost_values(corpus: &Corpus, format: Format) {
    let n_values = corpus.known_values.len();
    if n_values > 0 && !format.holds_values() {
        let values = count(n_values, "known value");
        note(format_args!(
            "note: {values} left out, for which {format} has no place; `--to rasa` keeps them"
        ));
    }
}

/// Whether a path means standard output.
fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn same_folder(input: &Path, output: &Path) -> bool {
    let canonical = |path: &Path| std::fs::canonicalize(path).ok();
    canonical(input).is_some_and(|input| canonical(output) == Some(input))
}
