//! The `meno` command: arguments to settings to the engine, and results to standard output.
//!
//! Each command has a file of its own. Standard output is data that can be piped; progress, notes and errors go to
//! standard error. Exit codes: 0 done, 1 done and something was found, 2 failed, 130 stopped by Ctrl-C.

mod backup;
mod chat;
mod completions;
mod shipped;
mod config;
mod data;
mod demo;
mod eval;
mod experiment;
mod export;
mod health;
mod hints;
mod interrupt;
mod licenses;
mod logits;
mod man;
mod memory;
mod output;
mod pictures;
mod progress;
mod quantize;
mod readable;
mod serve;
mod settings;
mod style;
mod syntax;
mod tag;
mod token;
mod train;
mod training_data;
mod trusted;
#[cfg(feature = "onnx")]
mod wrap;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use style::{Color, Style};

const EXAMPLES: &str = "\
First steps:
  meno demo                                  watch it learn, then type your own requests
  meno data check DIR                        find what is wrong with your corpus
  meno train DIR -o my.model                 DIR has the folders or files train, valid and test
  meno eval my.model DIR                     how good is it?
  echo 'wake me at six' | meno tag my.model  one JSON object a line
  meno chat my.model                         it asks about what it does not know, and learns

`meno help COMMAND` tells more about each.";

/// Intent classification and slot filling that knows what it does not know.
#[derive(Parser)]
#[command(name = "meno", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    /// When to use colour; `auto` means on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: Color,
    /// Print the licences of meno and of all that is in it.
    #[arg(long, exclusive = true)]
    licenses: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Train on a corpus that comes with meno, then tag what you type.
    Demo(demo::Args),
    /// Look into corpora, find what is wrong with them, and convert them.
    Data(data::Args),
    /// Train a model on a corpus.
    Train(train::Args),
    /// Make the weights of a model on a pretrained encoder smaller, and the model faster.
    Quantize(quantize::Args),
    /// Measure how good a model is on labelled utterances.
    Eval(eval::Args),
    /// Tag lines of text: their intent, their slots, a label for each word.
    Tag(tag::Args),
    /// Talk with it: it asks about what it does not know, and learns the answer.
    Chat(chat::Args),
    /// Make a model of a tagger that was made elsewhere and is an ONNX graph.
    #[cfg(feature = "onnx")]
    Wrap(wrap::Args),
    /// Write a model as an ONNX graph, for programs that are not Rust.
    Export(export::Args),
    /// Find unknown words for a tagger that was made elsewhere, from its logits.
    Logits(logits::Args),
    /// Look after the concepts that were taught.
    Memory(memory::Args),
    /// Write everything that was taught to a file, while servers go on.
    Backup(backup::Args),
    /// Put a backup in the place of everything that a store has.
    Restore(backup::Args),
    /// Answer over HTTP, with a page to play with.
    Serve(serve::Args),
    /// Ask a server whether it can answer and learn.
    Health(health::Args),
    /// Make a token for the users of a server.
    Token(token::Args),
    /// Find parts of speech and dependency trees, and train what does.
    Syntax(syntax::Args),
    /// Repeat what the documentation claims.
    Experiment(experiment::Args),
    /// Print what a shell needs to complete the arguments of meno.
    Completions(completions::Args),
    /// Write the manual pages.
    #[command(hide = true)]
    Man(man::Args),
}

fn main() -> ExitCode {
    meno_server::survive_full_files();
    std::panic::set_hook(Box::new(|panic| {
        output::note(format_args!("error: a mistake in meno itself: {panic}"));
        output::note("hint: please report it with the command that you typed");
        std::process::exit(2);
    }));
    let cli = Cli::try_parse().unwrap_or_else(|error| by_variable(error).exit());
    let style = Style::new(cli.color);
    let result = match (cli.licenses, cli.command) {
        (false, Some(command)) => run(command, style),
        (true, None) => licenses::run(),
        (true, Some(_)) => refuse(ErrorKind::ArgumentConflict, "--licenses stands alone, without a command"),
        (false, None) => refuse(ErrorKind::MissingSubcommand, "which command? `meno help` lists them"),
    };
    result.unwrap_or_else(|error| {
        output::complain(&error);
        ExitCode::from(2)
    })
}

/// Names the variable of the environment where a bad value was not typed but stands there.
fn by_variable(mut error: clap::Error) -> clap::Error {
    let [argument, value] =
        [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| match error.get(kind) {
            Some(ContextValue::String(text)) => text.clone(),
            _ => String::new(),
        });
    let flag = argument.split([' ', '[']).next().unwrap_or_default();
    let is_typed = std::env::args_os().any(|arg| arg.to_string_lossy().split('=').next() == Some(flag));
    let command = Cli::command();
    let args = command
        .get_subcommands()
        .filter(|command| command.get_name() == "serve")
        .flat_map(|serve| serve.get_arguments());
    let mut variables =
        args.filter(|arg| arg.get_long().map(|long| format!("--{long}")).as_deref() == Some(flag));
    if let Some(name) = variables.find_map(|arg| arg.get_env())
        && !is_typed
        && std::env::var(name).is_ok_and(|found| found == value)
    {
        let name = name.to_string_lossy();
        error.insert(ContextKind::InvalidArg, ContextValue::String(format!("{name} ({argument})")));
    }
    error
}

/// Ends as bad arguments do.
fn refuse(kind: ErrorKind, what: &str) -> ! {
    Cli::command().error(kind, what).exit()
}

fn run(command: Command, style: Style) -> meno::Result<ExitCode> {
    match command {
        Command::Demo(args) => demo::run(args, style),
        Command::Data(args) => data::run(args),
        Command::Train(args) => train::run(args, style),
        Command::Quantize(args) => quantize::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Tag(args) => tag::run(args, style),
        Command::Chat(args) => chat::run(args, style),
        #[cfg(feature = "onnx")]
        Command::Wrap(args) => wrap::run(args),
        Command::Export(args) => export::run(&args),
        Command::Logits(args) => logits::run(args, style),
        Command::Memory(args) => memory::run(args),
        Command::Backup(args) => backup::backup(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Serve(args) => serve::run(args),
        Command::Health(args) => health::run(&args),
        Command::Token(args) => token::run(args),
        Command::Syntax(args) => syntax::run(args, style),
        Command::Experiment(args) => experiment::run(args, style),
        Command::Completions(args) => completions::run(args, Cli::command()),
        Command::Man(args) => man::run(args, Cli::command()),
    }
}
