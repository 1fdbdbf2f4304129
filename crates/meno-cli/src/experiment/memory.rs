//! `meno experiment memory`: what learning concepts breaks, and what it finds.

use std::path::PathBuf;
use std::process::ExitCode;

use meno::corpus::read_split;
use meno::memory::Rule;
use meno::{Model, Result};
use meno_experiment::memory::{harm, help};
use serde_json::json;

use crate::output::{pretty, print};

const EXAMPLES: &str = "\
Examples:
  meno experiment memory my.model data/concepts --new new
  meno experiment memory snips.model data/snips --on valid --new ood-dev --long 2

harm   slot F1 on an in-domain set, before and after random phrases were learnt: made of words of slot values, as long as
       these, each with the slot of some value
help   each concept of a new-concept set is learnt from the first utterance that has it and looked for in the others:
       how many have their true slot and boundaries, before and after";

/// What was typed after `meno experiment memory`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A model file that `meno train` wrote.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The dataset that it was trained on.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The in-domain set.
    #[arg(long, value_name = "SPLIT", default_value = "test")]
    on: String,
    /// The new-concept set.
    #[arg(long, value_name = "SPLIT", default_value = "ood-test")]
    new: String,
    /// How many random concepts are learnt.
    #[arg(long, value_name = "N", default_value = "10000")]
    concepts: usize,
    /// How many words make a phrase so long that it is not there by chance.
    #[arg(long, value_name = "N", default_value_t = Rule::default().long)]
    long: usize,
    /// What all randomness comes from.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode> {
    let model = Model::load(&args.model)?;
    let rule = Rule { long: args.long };
    let [train, test, new] = ["train", &args.on, &args.new].map(|split| read_split(&args.dir, split));
    let harm = harm(&model, rule, &train?, &test?, args.concepts, args.seed)?;
    let help = help(&model, rule, &new?)?;
    print(pretty(&json!({ "long": args.long, "harm": harm, "help": help })))?;
    Ok(ExitCode::SUCCESS)
}
