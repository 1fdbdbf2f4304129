//! `meno syntax yardstick`: how well phrases are recovered from one of their words.

use std::path::PathBuf;
use std::process::ExitCode;

use meno::Result;
use meno::syntax::yardstick::{Method, Row, Tally, Walls, measure};
use serde_json::{Value, json};

use super::load;
use crate::eval::choose;
use crate::output::{pretty, print};

const EXAMPLES: &str = "\
Examples:
  meno syntax yardstick data/snips               the test split of a dataset
  meno syntax yardstick data/atis/valid --slots  any split, slot by slot

Of each gold slot of two or more words one word is marked, each in turn, and a rule has to find the others. Exact: the
phrase is the slot. Over: it has a word outside. Under: it lacks a word. In per cent of the words marked.
Walls are words whose label is certain, which no phrase grows over: none, those of other slots, or all words outside
the slot. `fill` takes everything up to the next wall but function words at its ends: the most a rule could reach.";

/// What was typed after `meno syntax yardstick`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A split (a folder with seq.in, or a file of any format), or a dataset, whose test split is taken.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// A model that `meno syntax train` wrote; by default the one that comes with meno.
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Show each slot.
    #[arg(long)]
    slots: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let corpus = choose(&args.dir)?.read()?;
    let rows = measure(&mut load(args.model.as_deref())?.worker(), &corpus.utterances);
    if args.json {
        print(pretty(&rows.iter().map(json_row).collect::<Vec<_>>()))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(format_args!(
        "{:<8} {:<12} {:>7} {:>7} {:>7} {:>7}",
        "rule", "walls", "marked", "exact", "over", "under"
    ))?;
    for row in rows.iter().filter(|row| is_shown(row)) {
        print(format_args!("{:<8} {:<12} {}", row.method.name(), row.walls.name(), line(&row.all)))?;
    }
    if args.slots {
        for row in rows.iter().filter(|row| is_shown(row)) {
            print(format_args!("\n{}, walls: {}", row.method.name(), row.walls.name()))?;
            for (slot, tally) in &row.slots {
                print(format_args!("{slot:<32} {}", line(tally)))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Without walls there is nothing to fill up to.
fn is_shown(row: &Row) -> bool {
    !(row.method == Method::Fill && row.walls == Walls::None)
}

fn line(tally: &Tally) -> String {
    let [exact, over, under] = percents(tally);
    format!("{:>7} {exact:>7.1} {over:>7.1} {under:>7.1}", tally.marked)
}

fn percents(tally: &Tally) -> [f64; 3] {
    [tally.exact, tally.over, tally.under].map(|n| 100.0 * n as f64 / tally.marked.max(1) as f64)
}

fn json_row(row: &Row) -> Value {
    let tally = |tally: &Tally| {
        let [exact, over, under] = percents(tally);
        json!({ "marked": tally.marked, "exact": exact, "over": over, "under": under })
    };
    let slots: serde_json::Map<String, Value> =
        row.slots.iter().map(|(slot, of_slot)| (slot.clone(), tally(of_slot))).collect();
    json!({ "rule": row.method.name(), "walls": row.walls.name(), "all": tally(&row.all), "slots": slots })
}
