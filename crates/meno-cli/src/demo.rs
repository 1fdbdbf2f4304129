//! `meno demo`: the whole way in one command, on the corpus that ships with meno.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::process::ExitCode;

use meno::corpus::Utterance;
use meno::engine::Tokenization;
use meno::memory::Owner;
use meno::metrics::{Mode, Report};
use meno::train::{Options, TrainSettings, fit};
use meno::{Model, Result};
use meno_experiment::Dataset;
use meno_store::{Assistant, Memory};

use crate::chat::Chat;
use crate::concepts;
use crate::memory::told;
use crate::output::{count, print};
use crate::progress::Watcher;
use crate::readable::Palette;
use crate::settings::threads;
use crate::style::{self, Style, paint};
use crate::train::scores;

/// Requests as people type them; none stands in the corpus in this form.
const REQUESTS: [&str; 5] = [
    "Wake me up at half past six, please!",
    "Remind me to call my sister tomorrow morning.",
    "Um, how do I get to the airport from the office?",
    "Tell Maria I'm running late",
    "Add two pounds of ground beef to my shopping list",
];

/// A request with a concept that the corpus does not have.
const NEW_REQUEST: &str = "Wake me at six with Snugglebarn!";

/// A lesson: a request with a new concept, what it is, and a request that shows whether it was learnt.
const LESSON: &str = "What's the weather in Plimsoll Wharf tomorrow?";
const ANSWER: &str = "it's a place";
const TEST: &str = "Who am I meeting at Plimsoll Wharf?";

const EXAMPLES: &str = "\
Examples:
  meno demo
  meno demo --seed 7 --threads 1

Trains for a few seconds on a corpus that is part of the program, tests the model, tags some requests, shows how it asks
and learns, and then talks with you. Nothing is written; `meno train` makes a model to keep, and `meno chat` is the same
conversation with it. Without a terminal it ends by itself.";

/// What was typed after `meno demo`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What all randomness comes from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads to train on; by default one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Passes over the data.
    #[arg(long, value_name = "N", default_value_t = TrainSettings::default().epochs, hide = true)]
    epochs: usize,
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    let dataset = concepts::dataset()?;
    let heading = paint("Meno learns to understand requests to an assistant.", style::BOLD, style.stdout);
    print(format_args!("{heading}\n"))?;
    let [n_train, n_valid, n_test] =
        [&dataset.train, &dataset.valid, &dataset.test].map(|corpus| corpus.utterances.len());
    line(
        "corpus",
        format!("{n_train} utterances to learn from, {n_valid} to validate on, {n_test} to test on"),
    )?;

    let model = train(&args, &dataset, style)?;
    test(&model, &dataset)?;

    let palette = Palette::new(&model, style.stdout);
    let mut worker = model.worker();
    print("")?;
    for request in REQUESTS {
        print(format_args!("  {}", palette.show(&worker.annotate(request, Tokenization::Raw))))?;
    }
    print("\nSomething that it has never heard of, and what it thinks of each word:\n")?;
    let annotation = worker.annotate(NEW_REQUEST, Tokenization::Raw);
    print(format_args!("  {}\n", palette.show(&annotation)))?;
    print(format_args!("  {}", indented(palette.thoughts(&annotation))))?;
    let memory = Memory::volatile().map_err(told)?;
    let mut chat = Chat::new(&model, Assistant::default(), memory, Owner::Everyone, style);
    teach(&mut chat, style.stdout)?;
    if io::stdin().is_terminal() {
        print("\nNow you: type a request; :help tells more, Ctrl-D ends.")?;
        chat.converse()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn train(args: &Args, dataset: &Dataset, style: Style) -> Result<Model> {
    let settings = TrainSettings { seed: args.seed, epochs: args.epochs, ..TrainSettings::default() };
    let threads = threads(args.threads);
    let mut watcher = Watcher::new(None, style.stderr);
    let options = Options { threads, ..Options::default() };
    let outcome = fit(&dataset.train, &dataset.valid, &settings, options, &mut watcher)?;
    let seconds = watcher.finish().as_secs_f64();
    let model = outcome.finished()?;
    let n_intents = model.features().intents.len();
    let slots = model.slots();
    line("model", format!("{n_intents} intents; {} slots: {}", slots.len(), slots.join(", ")))?;
    let (threads, epoch) = (count(threads, "thread"), model.record().epoch);
    line("trained", format!("{seconds:.1} s on {threads}, {epoch} epochs"))?;
    Ok(model)
}

fn test(model: &Model, dataset: &Dataset) -> Result<()> {
    let report = |utterances: &[Utterance]| -> Result<Report> {
        Ok(model.worker().evaluate(utterances, Mode::Conlleval)?.report())
    };
    let test = report(&dataset.test.utterances)?;
    line("test", scores((test.slot_f1, test.intent_accuracy), test.utterances))?;
    let mut new = concepts::new_concepts()?.utterances;
    for utterance in &mut new {
        utterance.labels = utterance.truth.take().unwrap_or_default();
    }
    let new = report(&new)?;
    let new_scores = scores((new.slot_f1, new.intent_accuracy), new.utterances);
    line("new", format!("{new_scores} with concepts it never saw"))
}

fn indented(lines: impl Display) -> String {
    lines.to_string().replace('\n', "\n  ")
}

fn line(name: &str, text: String) -> Result<()> {
    print(format_args!("  {name:9}{text}"))
}

/// It is asked for something that it does not know, asks back, is told, and knows it in another sentence.
fn teach(chat: &mut Chat, color: bool) -> Result<()> {
    let say = |chat: &mut Chat, text: &str| -> Result<()> {
        print(format_args!("{} {text}", paint(">", style::BOLD, color)))?;
        chat.turn(text)
    };
    print("\nIt asks about what it does not know, and remembers the answer:\n")?;
    say(chat, LESSON)?;
    if chat.asks() {
        say(chat, ANSWER)?;
    }
    // A model of another seed may have more to ask.
    while chat.asks() {
        say(chat, "never mind")?;
    }
    say(chat, TEST)
}
