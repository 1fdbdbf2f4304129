//! `meno memory`: the concepts that were taught, listed, changed, brought in and taken out.

use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use meno::corpus::{self, Format};
use meno::memory::{Concept, Draft, Owner, Source, to_corpus};
use meno::{Error, Result, atomic};
use meno_store::{
    Access, Amendment, Change, Edit, OwnJournal, Query, Scope, Store, now, open, read_concepts, write_lines,
};

use crate::hints::store_hint;
use crate::output::{count, escaped, note, print, shown, written};

const EXAMPLES: &str = "\
Examples:
  meno memory add 'Burpees and Regrets' playlist --value 'workout mix' --owner anna
  meno memory list --slot playlist
  meno memory search regrets --json
  meno memory edit 3 --slot album
  meno memory remove 3
  meno memory undo                                take the last change back, and the one before
  meno memory erase --owner anna                  everything about a user, for good
  meno memory export --owner anna --as everything the same, to be given to her
  meno memory export backup.jsonl
  meno memory import backup.jsonl --store postgres://anna@db/meno
  meno memory export learnt --as corpus           utterances to train on: seq.in, seq.out, label

A store is the file of an SQLite database, or the address of a PostgreSQL one: postgres://USER@HOST/DATABASE. With --json
each concept is one JSON object on a line: id, phrase, normal, slot, value, owner (null is everyone), source, created,
updated (milliseconds since 1970), uses. To import, phrase and slot are enough.";

/// What was typed after `meno memory`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The store: a file, or postgres://...
    // There may be a password in it.
    #[arg(
        long,
        global = true,
        value_name = "STORE",
        default_value = "concepts.db",
        env = "MENO_STORE",
        hide_env_values = true
    )]
    store: String,
    /// The user who asks: sees everyone's concepts and its own, changes its own. By default all are seen and changed, and
    /// what is learnt is everyone's.
    #[arg(long, global = true, value_name = "USER")]
    owner: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List concepts.
    List(ListArgs),
    /// List concepts that have a text in their phrase, slot or value.
    Search {
        /// The text.
        #[arg(value_name = "TEXT")]
        text: String,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Learn a concept; one of the same words and slot is changed.
    Add(AddArgs),
    /// Change a concept.
    Edit {
        /// Its number.
        #[arg(value_name = "ID")]
        id: u64,
        #[command(flatten)]
        to: EditArgs,
    },
    /// Forget concepts.
    Remove {
        /// Their numbers.
        #[arg(value_name = "ID", required = true)]
        ids: Vec<u64>,
    },
    /// Take back the last change that was not taken back yet.
    Undo,
    /// Erase everything about the --owner: concepts and the journal of their changes, from the disk too. It cannot be undone.
    Erase,
    /// Learn the concepts of a file with lines of JSON, all or none.
    Import {
        /// The file; standard input if it is `-`.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Write concepts to a file, as lines of JSON, or as utterances to train on.
    Export {
        /// The file, or the folder of a corpus; standard output if it is left out or `-`.
        #[arg(value_name = "OUT")]
        out: Option<PathBuf>,
        /// What to write.
        #[arg(long = "as", value_enum, default_value_t, value_name = "WHAT")]
        form: Form,
    },
}

#[derive(Clone, clap::Args)]
struct AddArgs {
    /// The words, as they are said.
    #[arg(value_name = "PHRASE")]
    phrase: String,
    /// The slot that they fill.
    #[arg(value_name = "SLOT")]
    slot: String,
    /// The known value that they are another name for.
    #[arg(long, value_name = "VALUE")]
    value: Option<String>,
    /// An utterance with the phrase in it, to train on later.
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// The intent of that utterance.
    #[arg(long, value_name = "INTENT", requires = "source", default_value = "")]
    intent: String,
}

impl AddArgs {
    fn draft(self, owner: Owner) -> Draft {
        let AddArgs { phrase, slot, value, source, intent } = self;
        let source = source.map(|text| Source::of_text(&text, &intent));
        Draft { phrase, slot, value, owner, source }
    }
}

#[derive(clap::Args)]
struct ListArgs {
    /// Only this slot.
    #[arg(long, value_name = "SLOT", default_value = "")]
    slot: String,
    /// Only ids above this one: that of the last concept of the page before.
    #[arg(long, value_name = "ID", default_value = "0")]
    after: u64,
    /// At most so many.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

#[derive(clap::Args)]
#[group(required = true, multiple = true)]
struct EditArgs {
    /// Other words.
    #[arg(long, value_name = "PHRASE")]
    phrase: Option<String>,
    /// Another slot.
    #[arg(long, value_name = "SLOT")]
    slot: Option<String>,
    /// Another value that it is a name for.
    #[arg(long, value_name = "VALUE", conflicts_with = "no_value")]
    value: Option<String>,
    /// It is a name for itself.
    #[arg(long)]
    no_value: bool,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Form {
    /// Lines of JSON.
    #[default]
    Jsonl,
    /// A folder with seq.in, seq.out and label, from the utterances in which concepts were learnt.
    Corpus,
    /// Everything about the --owner: its concepts and the journal of their changes, as lines of JSON.
    Everything,
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    let owner = args.owner.as_deref().map(Owner::named).transpose()?;
    let mut imported = Vec::new();
    // Read and checked first: a bad file or concept makes no store.
    let access = match &args.command {
        Command::Import { file } => {
            imported = read(file)?;
            Access::Create
        }
        Command::Add(add) => {
            add.clone().draft(owner.clone().unwrap_or_default()).check()?;
            Access::Create
        }
        _ => Access::Existing,
    };
    let store = open(&args.store, access).map_err(told)?;
    let scope = owner.clone().map_or(Scope::admin(ADMIN), Scope::own);
    let mut session = Session { store, scope, owner: owner.unwrap_or_default(), json: args.json };
    match args.command {
        Command::List(list) => session.list(String::new(), list)?,
        Command::Search { text, list } => session.list(text, list)?,
        Command::Add(add) => {
            let draft = add.draft(session.owner.clone());
            session.edit(vec![Edit::Add(draft)])?;
        }
        Command::Edit { id, to } => {
            let value = if to.no_value { Some(None) } else { to.value.map(Some) };
            let to = Amendment { phrase: to.phrase, slot: to.slot, value };
            session.edit(vec![Edit::Amend { id, to }])?;
        }
        Command::Remove { ids } => session.edit(ids.into_iter().map(|id| Edit::Remove { id }).collect())?,
        Command::Undo => session.undo()?,
        Command::Erase => session.erase()?,
        Command::Import { file } => session.import(&file, imported)?,
        Command::Export { out, form } => session.export(out.filter(|out| out.as_os_str() != "-"), form)?,
    }
    Ok(ExitCode::SUCCESS)
}

struct Session {
    store: Box<dyn Store>,
    scope: Scope,
    owner: Owner,
    json: bool,
}

/// The name under which the command makes changes that are not a user's.
const ADMIN: &str = "meno memory";

/// How many concepts are read at a time.
const PAGE: u64 = 10_000;

impl Session {
    fn list(&mut self, text: String, args: ListArgs) -> Result<()> {
        let mut stdout = io::stdout().lock();
        let (mut after, mut left) = (args.after, args.limit.unwrap_or(u64::MAX));
        let mut n = 0;
        loop {
            let limit = left.min(PAGE);
            let (text, slot) = (text.clone(), args.slot.clone());
            let query = Query { text, slot, after, limit, ..Query::default() };
            let page = self.store.list(&self.scope, &query).map_err(told)?;
            match self.json {
                true => written(stdout.write_all(&json_lines(&page)))?,
                false => written(write!(stdout, "{}", table(&page, n == 0)))?,
            }
            n += page.len();
            left -= page.len() as u64;
            after = page.last().map_or(after, |concept| concept.id);
            if page.len() as u64 != PAGE || left == 0 {
                break;
            }
        }
        note(count(n, "concept"));
        Ok(())
    }

    fn edit(&mut self, edits: Vec<Edit>) -> Result<()> {
        let changes = self.store.edit(&self.scope, edits, now()).map_err(told)?;
        self.tell(&changes)
    }

    fn undo(&mut self) -> Result<()> {
        let changes = self.store.undo(&self.scope, now()).map_err(told)?;
        if changes.is_empty() {
            let is_cut = self.store.is_journal_cut().map_err(told)?;
            let older = if is_cut { "; older changes are not kept" } else { "" };
            note(format_args!("there is nothing to undo{older}"));
        }
        self.tell(&changes)
    }

    fn erase(&mut self) -> Result<()> {
        let owner = self.demand_owner("erase")?;
        let erased = self.store.erase(&self.scope, &owner, now()).map_err(told)?;
        if self.json {
            return print(serde_json::json!({ "concepts": erased.concepts, "changes": erased.changes }));
        }
        let (concepts, changes) =
            (count(erased.concepts as usize, "concept"), count(erased.changes as usize, "row"));
        note(format_args!("erased {concepts} and {changes} of the journal"));
        Ok(())
    }

    fn import(&mut self, file: &Path, mut concepts: Vec<Concept>) -> Result<()> {
        if self.scope.owner().is_some() {
            concepts.iter_mut().for_each(|concept| concept.owner = self.owner.clone());
        }
        let edits = concepts.into_iter().map(|concept| Edit::Import(Box::new(concept))).collect();
        let changes = self.store.edit(&self.scope, edits, now()).map_err(told)?;
        let new = changes.iter().filter(|change| change.before.is_none()).count();
        if self.json {
            return print(serde_json::json!({ "concepts": changes.len(), "new": new }));
        }
        note(format_args!("{}: {}, {new} of them new", file.display(), count(changes.len(), "concept")));
        Ok(())
    }

    fn export(&mut self, out: Option<PathBuf>, form: Form) -> Result<()> {
        if let Form::Corpus = form {
            let out = out.ok_or_else(|| Error::Setting {
                problem: "a corpus is a folder, and none is named".to_owned(),
                hint: "say for example `meno memory export learnt --as corpus`".to_owned(),
            })?;
            return self.export_corpus(&out);
        }
        let Some(out) = out else {
            let mut stdout = io::stdout().lock();
            self.lines(form, |lines| written(stdout.write_all(lines)))?;
            return Ok(());
        };
        let mut bytes = Vec::new();
        let n = self.lines(form, |lines| {
            bytes.extend_from_slice(lines);
            Ok(())
        })?;
        atomic::write_private(&out, &bytes)?;
        note(format_args!("{}: {}", out.display(), count(n, "concept")));
        Ok(())
    }

    /// Concepts as lines of JSON, some at a time, and the journal too if it is wanted; how many concepts there are.
    fn lines(&mut self, form: Form, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<usize> {
        let mut n = 0;
        let Form::Everything = form else {
            self.pages(|page| {
                n += page.len();
                each(&json_lines(page))
            })?;
            return Ok(n);
        };
        let owner = self.demand_owner("export")?;
        let own = owner.clone();
        self.pages(|page| {
            let page: Vec<_> = page.iter().filter(|concept| concept.owner == own).collect();
            n += page.len();
            let lines = page.into_iter().map(|concept| serde_json::json!({ "concept": concept }));
            each(&json_lines(&lines.collect::<Vec<_>>()))
        })?;
        let (mut after, mut own) = (0, OwnJournal::default());
        loop {
            let rows = self.store.journal(&owner, after, PAGE).map_err(told)?;
            let Some(last) = rows.last() else { return Ok(n) };
            after = last.seq;
            let lines = rows.into_iter().map(|row| serde_json::json!({ "change": own.row(row) }));
            each(&json_lines(&lines.collect::<Vec<_>>()))?;
        }
    }

    fn demand_owner(&self, command: &str) -> Result<Owner> {
        self.scope.owner().cloned().ok_or_else(|| Error::Setting {
            problem: "it is not said about whom".to_owned(),
            hint: format!("say for example `meno memory {command} --owner anna`"),
        })
    }

    fn export_corpus(&mut self, out: &Path) -> Result<()> {
        let mut concepts = Vec::new();
        self.pages(|page| {
            concepts.extend_from_slice(page);
            Ok(())
        })?;
        let exported = to_corpus(&concepts);
        let without = [
            (exported.without_source, "concept", "utterance"),
            (exported.without_intent, "utterance", "intent"),
        ];
        for (n, what, missing) in without.into_iter().filter(|(n, ..)| *n > 0) {
            note(format_args!("left out: {} without {missing}", count(n, what)));
        }
        if exported.corpus.utterances.is_empty() {
            return Err(Error::Setting {
                problem: format!("none of {} was learnt from an utterance", count(concepts.len(), "concept")),
                hint: "`meno memory add --source TEXT` says from which".to_owned(),
            });
        }
        make_private(out).map_err(|source| Error::Write { path: out.to_owned(), source })?;
        corpus::write(&exported.corpus, out, Format::Folder)?;
        note(format_args!("{}: {}", out.display(), count(exported.corpus.utterances.len(), "utterance")));
        Ok(())
    }

    /// All concepts that are seen, some at a time.
    fn pages(&mut self, mut each: impl FnMut(&[Concept]) -> Result<()>) -> Result<()> {
        let mut query = Query { limit: PAGE, ..Query::default() };
        loop {
            let page = self.store.list(&self.scope, &query).map_err(told)?;
            let Some(last) = page.last() else { return Ok(()) };
            query.after = last.id;
            each(&page)?;
        }
    }

    /// Prints what changes did.
    fn tell(&self, changes: &[Change]) -> Result<()> {
        for (verb, concept) in changes.iter().filter_map(deed) {
            if self.json {
                print(escaped(&serde_json::json!({ "change": verb, "concept": concept }).to_string()))?;
            } else {
                print(concept_line(verb, concept))?;
            }
        }
        Ok(())
    }
}

/// Makes a folder that is its owner's alone, unless it is there: what was said is private.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Things as lines of JSON that a terminal can show.
fn json_lines(things: &[impl serde::Serialize]) -> Vec<u8> {
    let mut lines = Vec::new();
    write_lines(&mut lines, things).expect("they are plain data, and there is room");
    escaped(&String::from_utf8_lossy(&lines)).into_bytes()
}

/// What a change did, and to what.
fn deed(change: &Change) -> Option<(&'static str, &Concept)> {
    match (&change.before, &change.after) {
        (None, Some(after)) => Some(("learnt", after)),
        (Some(_), Some(after)) => Some(("changed", after)),
        (Some(before), None) => Some(("forgot", before)),
        (None, None) => None,
    }
}

/// What a change did, in words.
pub fn change_line(change: &Change) -> Option<String> {
    deed(change).map(|(verb, concept)| concept_line(verb, concept))
}

/// The concepts of a file.
fn read(file: &Path) -> Result<Vec<Concept>> {
    let mut bytes = Vec::new();
    let read = match file.as_os_str() == "-" {
        true => {
            if io::stdin().is_terminal() {
                note("type a JSON object and Enter; Ctrl-D ends");
            }
            io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
        }
        false => std::fs::read(file).map(|read| bytes = read),
    };
    read.map_err(|source| Error::Read { path: file.to_owned(), source })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        let hint = "text must be UTF-8, for example by `iconv -f latin1 -t utf-8`".to_owned();
        Error::Corpus { path: file.to_owned(), line, problem: "not UTF-8".to_owned(), hint }
    })?;
    read_concepts(file, &text, now())
}

/// `learnt 3: red moon | song, meaning Moon (red), for anna`.
pub fn concept_line(verb: &str, concept: &Concept) -> String {
    let value = concept.value.as_ref().map_or(String::new(), |value| format!(", meaning {}", shown(value)));
    let owner = concept.owner.user().map_or(String::new(), |user| format!(", for {}", shown(user)));
    format!("{verb} {}: {} | {}{value}{owner}", concept.id, shown(&concept.phrase), shown(&concept.slot))
}

/// Concepts in columns.
pub fn table(concepts: &[Concept], has_head: bool) -> String {
    let head = ["id", "phrase", "slot", "value", "owner", "uses"].map(str::to_owned);
    let row = |concept: &Concept| {
        [
            concept.id.to_string(),
            shown(&concept.phrase),
            shown(&concept.slot),
            concept.value.as_deref().map_or(String::new(), shown),
            concept.owner.user().map_or(String::new(), shown),
            concept.uses.to_string(),
        ]
    };
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(concepts.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let skipped = if has_head && !concepts.is_empty() { 0 } else { 1 };
    let line = |row: &[String; 6]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().skip(skipped).map(line).collect()
}

/// An error of a store as one of the engine, which is what all commands give.
pub fn told(error: meno_store::Error) -> Error {
    match error {
        meno_store::Error::Engine(error) => error,
        other => Error::Setting {
            problem: other.to_string(),
            hint: store_hint(&other).unwrap_or_default().into_owned(),
        },
    }
}
