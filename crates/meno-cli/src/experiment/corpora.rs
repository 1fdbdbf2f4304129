//! `meno experiment corpora`: the default tagger on corpora of every kind, beside what others reach on them.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use meno::metrics::Mode;
use meno::train::{Options, TrainSettings, fit, with_open_slots};
use meno::{Error, Result};
use meno_experiment::Spread;
use serde::{Deserialize, Serialize};

use crate::output::{note, pretty, print};
use crate::progress::Watcher;
use crate::settings::{TrainArgs, threads};
use crate::style::Style;
use crate::training_data::TrainingData;

const EXAMPLES: &str = "\
Examples:
  meno experiment corpora bot/ nlu.yml other/
  meno experiment corpora DIR... --seeds 3 --peers peers.jsonl

Each dataset is trained on as `meno train` does it, and needs a test split. `scripts/corpora.sh DIR...` writes the file of
peers and calls this. Prints a Markdown table.";

/// What was typed after `meno experiment corpora`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Datasets of any shape, with a test split.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,
    /// What others reach: on each line a JSON object with `data`, the name of a dataset, `slot_f1` and `intent_accuracy`.
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,
    /// How many seeds: 1, 2, and so on.
    #[arg(long, value_name = "N", default_value = "3")]
    seeds: NonZeroUsize,
    /// Threads to train on; by default one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    train: TrainArgs,
}

/// Runs the command.
pub fn run(args: &Args, style: Style) -> Result<ExitCode> {
    args.train.over(TrainSettings::default()).check()?;
    let mut peers = args.peers.as_deref().map(read_peers).transpose()?.unwrap_or_default();
    let mut rows = Vec::new();
    for path in &args.data {
        let name = name_of(path);
        let peer = peers.remove(&name);
        rows.push(Row::measure(args, path, name, peer, style)?);
    }
    print(if args.json { pretty(&rows).to_string() } else { table(&rows) })?;
    Ok(ExitCode::SUCCESS)
}

/// What somebody else reaches on a dataset, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Peer {
    slot_f1: f64,
    intent_accuracy: Option<f64>,
}

/// One dataset.
#[derive(Serialize)]
struct Row {
    data: String,
    utterances: usize,
    slot_f1: Option<Spread>,
    intent_accuracy: Option<Spread>,
    seconds: Option<Spread>,
    peer: Option<Peer>,
}

impl Row {
    fn measure(args: &Args, path: &Path, data: String, peer: Option<Peer>, style: Style) -> Result<Self> {
        let (mut reports, mut seconds, mut utterances) = (Vec::new(), Vec::new(), 0);
        for seed in 1..=args.seeds.get() as u64 {
            let settings = args.train.over(TrainSettings { seed, ..TrainSettings::default() });
            let dataset = TrainingData::read(path, None, None, &settings)?;
            utterances = dataset.train.utterances.len();
            let settings = args.train.for_corpus(settings, utterances);
            let test = dataset.test.as_ref().ok_or_else(|| Error::Dataset {
                problem: format!("{} has no test split", path.display()),
                hint: "`meno data split` makes one".to_owned(),
            })?;
            let (start, mut watcher) = (Instant::now(), Watcher::new(None, style.stderr));
            let options = Options { threads: threads(args.threads), trust: false, ..Options::default() };
            let settings = with_open_slots(&dataset.train, &settings, options.threads, &mut watcher)?;
            let model =
                fit(&dataset.train, dataset.validation(), &settings, options, &mut watcher)?.finished()?;
            watcher.finish();
            seconds.push(start.elapsed().as_secs_f64());
            let report = model.worker().evaluate(&test.utterances, Mode::Conlleval)?.report();
            note(format_args!("{data}, seed {seed}: slot F1 {:.2}", report.slot_f1));
            reports.push(report);
        }
        Ok(Row {
            data,
            utterances,
            slot_f1: Spread::of(reports.iter().map(|report| report.slot_f1)),
            intent_accuracy: Spread::of(reports.iter().filter_map(|report| report.intent_accuracy)),
            seconds: Spread::of(seconds),
            peer,
        })
    }

    fn cells(&self) -> String {
        let peer_intent = self.peer.and_then(|peer| peer.intent_accuracy);
        let peer_slot = self.peer.map(|peer| peer.slot_f1);
        [
            self.data.clone(),
            self.utterances.to_string(),
            spread(self.slot_f1),
            number(peer_slot),
            difference(self.slot_f1, peer_slot),
            spread(self.intent_accuracy),
            number(peer_intent),
            difference(self.intent_accuracy, peer_intent),
            self.seconds.map_or("-".to_owned(), |seconds| format!("{:.0}", seconds.mean)),
        ]
        .join(" | ")
    }
}

fn table(rows: &[Row]) -> String {
    let mut lines = vec![
        "| data | train | slot F1 | peer | difference | intent accuracy | peer | difference | seconds |"
            .to_owned(),
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|".to_owned(),
    ];
    lines.extend(rows.iter().map(|row| format!("| {} |", row.cells())));
    lines.join("\n")
}

fn spread(spread: Option<Spread>) -> String {
    spread.map_or("-".to_owned(), |spread| format!("{:.1} ± {:.1}", spread.mean, spread.deviation))
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.1}"))
}

fn difference(ours: Option<Spread>, theirs: Option<f64>) -> String {
    ours.zip(theirs).map_or("-".to_owned(), |(ours, theirs)| format!("{:+.1}", ours.mean - theirs))
}

/// What a dataset is called in the table: the last part of its path.
pub(super) fn name_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn read_peers(path: &Path) -> Result<BTreeMap<String, Peer>> {
    #[derive(Deserialize)]
    struct Line {
        data: String,
        #[serde(flatten)]
        peer: Peer,
    }
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let read = |(idx, line): (usize, &str)| {
        let line: Line = serde_json::from_str(line).map_err(|error| Error::Setting {
            problem: format!("{}, line {}: {error}", path.display(), idx + 1),
            hint: "a line is such as {\"data\": \"bot\", \"slot_f1\": 91.1, \"intent_accuracy\": 85.6}"
                .to_owned(),
        })?;
        Ok((line.data, line.peer))
    };
    text.lines().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_far_ours_is_from_the_peer() {
        let row = Row {
            data: "bot".to_owned(),
            utterances: 383,
            slot_f1: Some(Spread { mean: 92.55, deviation: 0.42 }),
            intent_accuracy: Some(Spread { mean: 85.0, deviation: 1.0 }),
            seconds: Some(Spread { mean: 41.6, deviation: 0.1 }),
            peer: Some(Peer { slot_f1: 91.1, intent_accuracy: Some(85.6) }),
        };
        assert_eq!(row.cells(), "bot | 383 | 92.5 ± 0.4 | 91.1 | +1.5 | 85.0 ± 1.0 | 85.6 | -0.6 | 42");
        assert_eq!(
            Row { peer: None, ..row }.cells(),
            "bot | 383 | 92.5 ± 0.4 | - | - | 85.0 ± 1.0 | - | - | 42"
        );
    }

    #[test]
    fn a_line_that_is_no_peer_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("peers.jsonl");
        fs::write(
            &path,
            "{\"data\": \"bot\", \"slot_f1\": 1.5, \"intent_accuracy\": null}\n{\"slot_f1\": 2}\n",
        )
        .unwrap();
        let error = read_peers(&path).unwrap_err().to_string();
        assert!(error.contains("peers.jsonl, line 2: missing field `data`"), "{error}");
    }
}
