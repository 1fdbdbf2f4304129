//! `meno data`: statistics, checks and conversion of corpora. Results go to standard output, notes to standard error.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use meno::corpus::stats::Stats;
use meno::corpus::{self, Corpus, Finding, Format, Scheme, Split};
use meno::{Error, Result};

use crate::output::{note, pretty, print};

const EXAMPLES: &str = "\
Examples:
  meno data stats data/concepts
  meno data check DIR                     exit 1 if something is found
  meno data convert DIR/train train.conll
  meno data convert nlu.yml OUT --to folder

Read and written are folders with seq.in, seq.out and label, CoNLL, JSONL with tokens and ner_tags, Snips JSON, Rasa
NLU YAML and MASSIVE JSONL; the format is found out by itself.";

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
        /// Datasets (folders with train, valid, test) or single splits.
        #[arg(required = true, value_name = "DIR")]
        dirs: Vec<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List everything that spoils training; exit with 1 if there is something.
    Check {
        /// Datasets (folders with train, valid, test) or single splits.
        #[arg(required = true, value_name = "DIR")]
        dirs: Vec<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a split, or all splits of a dataset, in another format.
    Convert {
        /// A file, a folder with seq.in, or a dataset.
        #[arg(value_name = "IN")]
        input: PathBuf,
        /// The file or folder to write; for a dataset the folder that gets one file or folder for each split.
        #[arg(value_name = "OUT")]
        output: PathBuf,
        /// The format of IN: folder, conll, jsonl, snips, rasa or massive; detected by default.
        #[arg(long, value_name = "FORMAT")]
        from: Option<String>,
        /// The format of OUT; by default from its extension.
        #[arg(long, value_name = "FORMAT")]
        to: Option<String>,
        /// The tags of a folder, CoNLL or JSONL: iob1, iob2 or bilou.
        #[arg(long, value_name = "SCHEME")]
        scheme: Option<String>,
    },
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Stats { dirs, json } => stats(&dirs, json),
        Command::Check { dirs, json } => check(&dirs, json),
        Command::Convert { input, output, from, to, scheme } => {
            let conversion = Conversion {
                from: from.map(|name| name.parse()).transpose()?,
                to: to.map(|name| name.parse()).transpose()?,
                scheme: scheme.map(|name| name.parse()).transpose()?,
            };
            conversion.run(&input, &output)
        }
    }
}

fn stats(dirs: &[PathBuf], json: bool) -> Result<ExitCode> {
    let stats: Vec<Stats> = dirs.iter().map(|dir| Stats::of(dir)).collect::<Result<_>>()?;
    if json {
        print(pretty(&stats))?;
    } else {
        let tables: Vec<String> = stats.iter().map(Stats::to_string).collect();
        print(tables.join("\n").trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(dirs: &[PathBuf], json: bool) -> Result<ExitCode> {
    let mut findings: Vec<Finding> = Vec::new();
    for dir in dirs {
        findings.extend(corpus::check::check(dir)?);
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

struct Conversion {
    from: Option<Format>,
    to: Option<Format>,
    scheme: Option<Scheme>,
}

impl Conversion {
    fn run(&self, input: &Path, output: &Path) -> Result<ExitCode> {
        // A stated format leaves nothing to look for, so IN is one split.
        if let Some(format) = self.from {
            self.write(&corpus::read(input, Some(format))?, output, self.target(output)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let splits = corpus::splits(input)?;
        match splits.as_slice() {
            [split] if split.path == input => self.write(&split.read()?, output, self.target(output)?)?,
            _ if same_folder(input, output) => {
                return Err(Error::Setting {
                    problem: format!("{} is both IN and OUT", input.display()),
                    hint: "write the dataset into another folder".to_owned(),
                });
            }
            splits => self.dataset(splits, output)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn dataset(&self, splits: &[Split], output: &Path) -> Result<()> {
        let Some(format) = self.to else {
            return Err(Error::Setting {
                problem: "the format of a dataset cannot be told from the name of its folder".to_owned(),
                hint: "say `--to conll`, or another of folder, jsonl, snips, rasa, massive".to_owned(),
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
        self.to.or_else(|| Format::from_extension(output)).ok_or_else(|| Error::Setting {
            problem: format!("no format is known for the name {}", output.display()),
            hint: "say `--to conll`, or another of folder, jsonl, snips, rasa, massive".to_owned(),
        })
    }

    fn write(&self, corpus: &Corpus, path: &Path, format: Format) -> Result<()> {
        if self.scheme.is_some() && !format.has_tags() {
            return Err(Error::Setting {
                problem: format!("the format {format} has no tags, so `--scheme` means nothing"),
                hint: "leave `--scheme` out, or write folder, conll or jsonl".to_owned(),
            });
        }
        match corpus::write_with(corpus, path, format, self.scheme.unwrap_or_default()) {
            Err(Error::Write { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
        note(format_args!("{}: {} utterances", path.display(), corpus.utterances.len()));
        Ok(())
    }
}

fn same_folder(input: &Path, output: &Path) -> bool {
    let canonical = |path: &Path| std::fs::canonicalize(path).ok();
    canonical(input).is_some_and(|input| canonical(output) == Some(input))
}
