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
use crate::memory::told;
use crate::output::{count, print};
use crate::progress::Watcher;
use crate::readable::Palette;
use crate::settings::threads;
use crate::shipped;
use crate::style::{self, Style, paint};
use crate::train::scores;

/// What is said to it, with the answer that is given if it asks. None of it stands in the corpus.
const TALK: [(&str, &str); 6] = [
    ("What's the weather like in Oslo tomorrow?", "a place"),
    ("Play Burpees and Regrets in the kitchen", "it's a playlist, the one I run to"),
    ("Wake me at six with Burpees and Regrets", "a playlist"),
    ("make it half past seven", "a time"),
    ("Call Moomin tomorrow", "a person, my little sister"),
    ("no, Moomin is a place", "yes"),
];

/// A request of which the words are looked at.
const LOOKED_AT: &str = "Put flumplets on the snugglebarn list";

const EXAMPLES: &str = "\
Examples:
  meno demo
  meno demo --seed 7 --threads 1

Trains for some seconds on a corpus that is part of the program, tests the model, shows how it talks, asks and learns, and then
talks with you. Nothing is written; `meno train` makes a model to keep, and `meno chat` is the same
conversation with it. Without a terminal it ends by itself.";

/// Nobody waits long for a demo: `meno train` takes more passes, and reads more requests rightly.
const EPOCHS: usize = 12;

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
    #[arg(long, value_name = "N", default_value_t = EPOCHS, hide = true)]
    epochs: usize,
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    let dataset = shipped::dataset()?;
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

    print("\nIt does what it understands, asks about what it does not know, and remembers the answer:\n")?;
    let memory = Memory::volatile().map_err(told)?;
    let mut chat = Chat::new(&model, Assistant::default(), memory, Owner::Everyone, style);
    talk(&mut chat, style.stdout)?;
    print("\nWhat it thinks of each word of something that it has never heard:\n")?;
    let palette = Palette::new(&model, style.stdout);
    let mut worker = model.worker();
    let annotation = worker.annotate(LOOKED_AT, Tokenization::Raw);
    print(format_args!("  {}\n", palette.show(&annotation)))?;
    print(format_args!("  {}", indented(palette.thoughts(&annotation))))?;
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
    let options = Options { threads, parts: 0, ..Options::default() };
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
    let mut new = shipped::new_concepts()?.utterances;
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

/// A conversation: it acts, asks, is told in a sentence, remembers, is changed and corrected.
fn talk(chat: &mut Chat, color: bool) -> Result<()> {
    let say = |chat: &mut Chat, text: &str| -> Result<()> {
        print(format_args!("{} {text}", paint(">", style::BOLD, color)))?;
        chat.turn(text)
    };
    for (request, answer) in TALK {
        say(chat, request)?;
        if chat.asks() {
            say(chat, answer)?;
        }
        // A model of another seed may have more to ask.
        while chat.asks() {
            say(chat, "never mind")?;
        }
    }
    Ok(())
}
