//! `meno chat`: a conversation in the terminal, in which what is not known is asked about and learnt.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meno::dialogue::{Outcome, Phrasebook, State};
use meno::engine::Tokenization;
use meno::memory::Owner;
use meno::resolve::Shape;
use meno::{Error, Model, Result, Worker};
use meno_store::{Access, Assistant, Clock, Memory, Query, Scope};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::memory::{change_line, concept_line, table, told};
use crate::output::{complain, count, note, print, shown};
use crate::readable::Palette;
use crate::settings::{OverrideArgs, SpellingArgs, ValueArgs};
use crate::style::{self, Style, paint};

const EXAMPLES: &str = "\
Examples:
  meno chat my.model                                   what is learnt is forgotten at the end
  meno chat my.model --store concepts.db --owner anna
  meno chat my.model --phrases german.toml             other questions, or another language: docs/dialogue.md
  meno chat my.model < requests.txt                    a line is a turn

It shows what it makes of a request, asks about what it does not know, and learns the answer: a type by its name or number,
yes or no, another name for something (`it's what I call my workout mix`), other boundaries (`no, just regrets`), a new type (`it's
a podcast`), or `never mind`.

";

const COMMANDS: &str = "\
:concepts [TEXT]  list what was taught
:undo             take the last change back
:why              what it thinks of each word of the last request
:help             this
:quit             end, as Ctrl-D, `quit` and `exit` do

Words do it too: `help`, `why do you ask`, `undo that`, `forget Moomin`, `never mind`.";

/// What was typed after `meno chat`.
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}{COMMANDS}"))]
pub struct Args {
    /// A model file that `meno train` wrote.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Where concepts are kept: a file, which is made if it is not there, or postgres://...
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Who talks: knows everyone's concepts and its own, and learns for itself. By default all is for everyone.
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
    #[command(flatten)]
    spelling: SpellingArgs,
    /// What is said and understood, in place of plain English.
    #[arg(long, value_name = "FILE")]
    phrases: Option<PathBuf>,
    #[command(flatten)]
    threshold: OverrideArgs,
    #[command(flatten)]
    values: ValueArgs,
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    let assistant = Assistant { book: phrasebook(args.phrases.as_deref())?, ..Assistant::default() };
    let clock = args.values.clock()?;
    let model = args.threshold.apply(Model::load(&args.model)?)?;
    let owner = args.owner.as_deref().map_or(Ok(Owner::Everyone), Owner::named)?;
    let memory = match &args.store {
        Some(store) => Memory::open(store, Access::Create),
        None => Memory::volatile(),
    };
    let memory = memory.map_err(told)?.with_spelling(args.spelling.into());
    let mut chat = Chat::new(&model, assistant, memory, owner, style).telling(clock);
    if io::stdin().is_terminal() {
        note("type a request; :help tells more, Ctrl-D ends");
    }
    chat.converse()?;
    Ok(ExitCode::SUCCESS)
}

/// The phrasebook of a file, or the one that comes with the program.
pub fn phrasebook(file: Option<&Path>) -> Result<Phrasebook> {
    let Some(path) = file else { return Ok(Phrasebook::english()) };
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Phrasebook::read(&text, path)
}

/// A conversation and all that it needs.
pub struct Chat {
    worker: Worker,
    palette: Palette,
    assistant: Assistant,
    memory: Memory,
    owner: Owner,
    state: State,
    /// What tells when something is said, if values are shown.
    clock: Option<Clock>,
    /// Whether it waits for an answer.
    asks: bool,
    /// The last request, as it was said.
    request: String,
    color: bool,
}

impl Chat {
    pub fn new(model: &Model, assistant: Assistant, memory: Memory, owner: Owner, style: Style) -> Self {
        Chat {
            worker: model.worker(),
            palette: Palette::new(model, style.stdout),
            assistant,
            memory,
            owner,
            state: State::default(),
            clock: None,
            asks: false,
            request: String::new(),
            color: style.stdout,
        }
    }

    /// It shows what times, numbers and the like stand for.
    pub fn telling(self, clock: Clock) -> Self {
        Chat { clock: Some(clock), ..self }
    }

    /// Takes turns until the input ends or it is told to.
    pub fn converse(&mut self) -> Result<()> {
        let mut lines = Lines::open(self.color)?;
        while let Some(line) = lines.next()? {
            let line = line.trim();
            if matches!(lines, Lines::Piped(_)) {
                print(format_args!("{} {}", paint(">", style::BOLD, self.color), shown(line)))?;
            }
            match line.strip_prefix(':') {
                None if ["quit", "exit"].contains(&line.to_lowercase().as_str()) => break,
                None => self.turn(line)?,
                Some("quit" | "q") => break,
                Some(command) => self.execute(command)?,
            }
        }
        Ok(())
    }

    /// Takes a turn, and shows what was made of it, the reply, and what was learnt.
    pub fn turn(&mut self, text: &str) -> Result<()> {
        let was_asked = self.asks;
        let state = self.state.clone();
        let mut turn = match self.assistant.turn(&mut self.worker, &self.memory, &self.owner, state, text) {
            Ok(turn) => turn,
            Err(error) => {
                // The turn has not happened; the conversation goes on.
                complain(&told(error));
                return Ok(());
            }
        };
        if let Some(clock) = &self.clock {
            turn.resolve(self.worker.model(), Shape::Duckling, || clock.now());
        }
        // What is said in return tells what became of an answer.
        if !was_asked && !turn.heard.annotation.tokens.is_empty() {
            print(format_args!("  {}", self.palette.show(&turn.heard.annotation)))?;
            text.clone_into(&mut self.request);
        }
        print(format_args!("  {}", self.reply(&turn.reply.text)))?;
        for concept in &turn.concepts {
            print(format_args!("  {}", paint(concept_line("learnt", concept), style::DIM, self.color)))?;
        }
        self.asks = matches!(turn.reply.outcome, Outcome::Ask { .. });
        self.state = turn.state;
        Ok(())
    }

    /// Whether the last reply was a question.
    pub fn asks(&self) -> bool {
        self.asks
    }

    /// In colour the words in question are bold; without it they have their asterisks.
    fn reply(&self, text: &str) -> String {
        let text = shown(text);
        let pieces: Vec<&str> = text.split('*').collect();
        if !self.color || pieces.len().is_multiple_of(2) {
            return text;
        }
        let piece = |(idx, piece): (usize, &&str)| paint(*piece, style::BOLD, idx % 2 == 1).to_string();
        pieces.iter().enumerate().map(piece).collect()
    }

    fn execute(&mut self, command: &str) -> Result<()> {
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        let done = match name {
            "help" | "h" => return print(COMMANDS),
            "concepts" => self.list(rest.trim()),
            "undo" => self.undo(),
            "why" => return self.explain(),
            _ => {
                note(format_args!("there is no command `:{name}`; :help lists them"));
                return Ok(());
            }
        };
        done.or_else(|error| {
            complain(&error);
            Ok(())
        })
    }

    fn explain(&mut self) -> Result<()> {
        let annotation = self.worker.annotate(&self.request, Tokenization::Raw);
        if annotation.tokens.is_empty() {
            note("nothing was asked for yet");
            return Ok(());
        }
        let lines = format!("{}{}", self.palette.thoughts(&annotation), self.palette.decision(&annotation));
        print(format_args!("  {}", lines.replace('\n', "\n  ")))
    }

    fn list(&self, text: &str) -> Result<()> {
        self.memory.flush().map_err(told)?;
        let query = Query { text: text.to_owned(), limit: LISTED, ..Query::default() };
        let concepts = self.memory.list(&self.scope(), &query).map_err(told)?;
        if !concepts.is_empty() {
            print(table(&concepts, true).trim_end())?;
        }
        let more = if concepts.len() as u64 == LISTED { ", and perhaps more" } else { "" };
        note(format_args!("{}{more}", count(concepts.len(), "concept")));
        Ok(())
    }

    fn undo(&self) -> Result<()> {
        let changes = self.memory.undo(&self.scope()).map_err(told)?;
        if changes.is_empty() {
            note("there is nothing to undo");
        }
        changes.iter().filter_map(change_line).try_for_each(print)
    }

    fn scope(&self) -> Scope {
        Scope::own(self.owner.clone())
    }
}

/// How many concepts are listed at once.
const LISTED: u64 = 100;

/// Where turns come from.
enum Lines {
    /// A person who may edit a line and go back to earlier ones; with the prompt.
    Typed(Box<DefaultEditor>, String),
    /// A file or a pipe.
    Piped(io::StdinLock<'static>),
}

impl Lines {
    fn open(color: bool) -> Result<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Ok(Lines::Piped(io::stdin().lock()));
        }
        let editor = DefaultEditor::new().map_err(unreadable)?;
        Ok(Lines::Typed(Box::new(editor), format!("{} ", paint(">", style::BOLD, color))))
    }

    /// The next line; `None` at the end.
    fn next(&mut self) -> Result<Option<String>> {
        match self {
            Lines::Typed(editor, prompt) => match editor.readline(prompt) {
                Ok(line) => {
                    // It refuses nothing but what cannot be kept, and then only the history is poorer.
                    let _ = editor.add_history_entry(line.trim());
                    Ok(Some(line))
                }
                Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
                Err(error) => Err(unreadable(error)),
            },
            Lines::Piped(input) => {
                let mut line = Vec::new();
                let n_read = input
                    .read_until(b'\n', &mut line)
                    .map_err(|source| Error::Read { path: STDIN.into(), source })?;
                Ok((n_read > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
            }
        }
    }
}

const STDIN: &str = "standard input";

fn unreadable(error: ReadlineError) -> Error {
    let source = match error {
        ReadlineError::Io(source) => source,
        other => io::Error::other(other),
    };
    Error::Read { path: STDIN.into(), source }
}
